//! What can be seen of a registry beside what its model has.

use kvblock::{Growth, Handle, Sequences};

use crate::ops::{figures, numbers};
use crate::reference::Model;
use crate::registry::{self, Name, Registry};

/// A registry is as its model; `living` are its sequences in the order of their admission.
pub(crate) fn same_registry(
    real: &Sequences,
    model: &Registry,
    living: &[(Handle, Name)],
    pool: &Model,
) {
    let report = real.report();
    let reads = |hits: kvblock::HitStatistics| registry::Reads {
        requests: hits.requests,
        queried: hits.queried,
        hit: hits.hit,
    };
    let got = registry::Figures {
        pool: figures(&report.pool),
        sequences: report.sequences,
        max_sequences: report.max_sequences,
        held_blocks: report.held_blocks,
        table_entries: report.table_entries,
        shared_entries: report.shared_entries,
        promised: report.promised,
        positions: report.positions,
        used_positions: report.used_positions,
        unused_positions: report.unused_positions,
        pending_copies: report.pending_copies,
        loading: report.loading,
        duplicated: report.duplicated,
        physical: report.physical,
        conservative: report.conservative,
        watermark: report.watermark,
        first: reads(report.first),
        returned: reads(report.returned),
        preemptions: report.preemptions,
        refused_appends: report.refused_appends,
        copies: report.copies,
        imports: report.imports,
        exports: report.exports,
        adopted: report.adopted,
        unpublished: report.publishing_ended,
    };
    assert_eq!(got, model.figures(pool), "report");
    assert_eq!(
        (real.len(), real.is_empty()),
        (model.sequences.len(), model.sequences.is_empty())
    );
    let mut handles: Vec<_> = living.iter().map(|(handle, _)| *handle).collect();
    handles.sort_by_key(|handle| handle.slot());
    assert_eq!(
        real.handles().collect::<Vec<_>>(),
        handles,
        "handles by slot"
    );
    for label in 0..4 {
        let got: Vec<_> = real.labelled(label).collect();
        let expected: Vec<_> = living
            .iter()
            .rev()
            .filter(|(_, name)| model.sequences[name].label() == label)
            .map(|(handle, _)| *handle)
            .collect();
        assert_eq!(
            got, expected,
            "sequences labelled {label}, the latest first"
        );
    }
    for &(handle, name) in living {
        let state = real.state(handle).expect("it lives");
        let got = registry::State {
            positions: state.positions,
            known: state.known,
            computed: state.computed,
            published: state.published,
            blocks: state.blocks,
            promised: state.promised,
            label: state.label,
            growth: match state.growth {
                Growth::Cap(positions) => registry::Growth::Cap(positions),
                Growth::Ahead(blocks) => registry::Growth::Ahead(blocks),
                Growth::OnDemand => registry::Growth::OnDemand,
            },
        };
        let expected = model.state(name).expect("it lives");
        assert_eq!(got, expected, "state of {handle:?}");
        let table = numbers(real.table(handle).expect("it lives"));
        assert_eq!(Ok(&table[..]), model.table(name), "table of {handle:?}");
        assert_eq!(
            real.dirty(handle),
            Ok(model.dirty(name).expect("it lives")),
            "dirty entries of {handle:?}"
        );
    }
}
