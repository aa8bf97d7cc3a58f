//! What must be true after each call, and in the end.

use kvblock::{AppendError, SequencesReport, Step};

use crate::chance::{Saw, contents};
use crate::device::SIZE;
use crate::world::{Known, Tier, World};

impl World {
    /// What both tiers have, but for counts of refusals.
    pub(crate) fn figures(&self) -> [(SequencesReport, usize, usize); 2] {
        [0, 1].map(|tier| {
            let Tier { seqs, leases } = &self.tiers[tier];
            let mut report = seqs.report();
            report.pool.refused_never = 0;
            report.pool.refused_shortfall = 0;
            (report, leases.used(), leases.len())
        })
    }

    /// Every sequence is where it should be, and has what was computed of it; both tiers' accounts are exact.
    pub(crate) fn check(&self) {
        for (tier, lane) in self.tiers.iter().zip(&self.lanes) {
            tier.seqs.audit(&[&tier.leases, lane]).unwrap();
            let report = tier.seqs.pool().report();
            let parts = report.free + report.idle + report.held + report.quarantined;
            assert_eq!(parts, report.capacity);
        }
        for known in &self.known {
            let seqs = &self.tiers[known.tier].seqs;
            let state = seqs.state(known.handle).expect("it lives");
            assert_eq!(
                (state.positions, state.computed, state.label, state.growth),
                (
                    known.tokens.len(),
                    known.computed,
                    known.label,
                    known.growth
                )
            );
            self.check_contents(known, known.computed);
        }
        for moving in self
            .moving
            .iter()
            .filter(|it| !it.aborted && !it.destination_gone)
        {
            // What counts as computed there is there, before the end too.
            let seqs = &self.tiers[moving.arrives.tier].seqs;
            let state = seqs.state(moving.arrives.handle).expect("it lives");
            self.check_contents(&moving.arrives, state.computed);
        }
        let [device, host] = self.tiers.each_ref().map(|it| it.seqs.report());
        let [out, back] = self.finished;
        assert_eq!((device.swapped_out, device.swapped_in), (out, back));
        assert_eq!((host.swapped_out, host.swapped_in), (back, out));
    }

    fn check_contents(&self, known: &Known, computed: usize) {
        let seqs = &self.tiers[known.tier].seqs;
        let table = seqs.table(known.handle).unwrap();
        let memory = self.device.memory(known.tier);
        for (at, content) in contents(known.space, &known.tokens[..computed]).enumerate() {
            let there = memory.block(table[at / SIZE])[at % SIZE];
            assert_eq!(there, content, "position {at} of {:?}", known.handle);
        }
    }

    /// Everything is given back.
    pub(crate) fn finish(mut self) -> Saw {
        for at in 0..self.moving.len() {
            let moving = &mut self.moving[at];
            if !moving.aborted {
                let to = &mut self.tiers[1 - moving.from].seqs;
                moving.swap.abort(to).unwrap();
                moving.aborted = true;
                moving.complete |= moving.launched.is_none();
            }
            self.check();
        }
        self.device.run(usize::MAX);
        self.tell();
        assert!(self.moving.is_empty());
        self.answer_orphans();
        assert!(self.orphans.is_empty());
        while let Some(ticket) = self.tickets.pop() {
            self.tiers[0].seqs.copied(ticket).unwrap();
        }
        // Nothing keeps a sequence that was called off from growing any more.
        for known in &self.known {
            let seqs = &mut self.tiers[known.tier].seqs;
            let mut step = Step::new();
            let grown = seqs.append(known.handle, 1, &mut step);
            assert!(
                !matches!(grown, Err(AppendError::InTransit(_))),
                "{grown:?}"
            );
            for ticket in step.copies().to_vec() {
                seqs.copied(ticket).unwrap();
            }
            seqs.release(known.handle).unwrap();
        }
        self.known.clear();
        self.end_upsets();
        for tier in &self.tiers {
            let report = tier.seqs.pool().report();
            let left = (report.held, report.quarantined, report.reserved);
            assert_eq!(left, (0, 0, 0), "{report:?}");
            assert_eq!((tier.leases.used(), tier.seqs.len()), (0, 0));
        }
        self.saw
    }
}
