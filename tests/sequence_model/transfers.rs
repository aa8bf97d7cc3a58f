//! Calls for leases, exports, imports and bad content, beside the plain twins.

use std::rc::Rc;

use kvblock::{
    AnswerError, BlockId, BlockPool, CommitError, Export, ExportError, Flights, Handover, Import,
    ImportError, Incoming, InvalidateError, Lease, LeaseError, Leases, NotOpen, Owner, PinError,
    Stale, Terms,
};

use crate::calls::{Aim, Request, Scene, Who, admission, asking, layout};
use crate::faults::{admit_fault, append_fault, in_transit, refusal};
use crate::ops::{EQUAL_KEY, Keys, Slices, engine_key, index, numbers};
use crate::reference::{Model, Page};
use crate::registry::{Fault, Name};
use crate::traffic::{self, Bytes, LeaseFigures, MoveOver, NO_DEADLINE, NoAnswer, Phase, Taken};
use crate::transit::{Coming, Layout, Progress};

/// What is remembered of each kind beyond its end.
const REMEMBERED: usize = 16;
/// Bytes that may be under way: of so many blocks.
const BLOCKS_UNDER_WAY: u64 = 4;

/// When a lease is over, seen from the table's time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    In(u8),
    Never,
}

/// Where an import comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    Store,
    /// An export of either registry. With the content of another request, or its own.
    Export {
        which: u8,
        other_prompt: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum TransferCall {
    Pin {
        who: Who,
        owner: u8,
        until: Deadline,
    },
    Tick(u8),
    Extend {
        which: u8,
        until: Deadline,
    },
    CheckLease {
        which: u8,
        ahead: u8,
    },
    EndLease(u8),
    Export {
        who: Who,
        owner: u8,
        until: Deadline,
        moves: bool,
        other_space: bool,
    },
    Abort(u8),
    Finish(u8),
    Import {
        request: Request,
        from: Origin,
        positions: Aim,
        writers: usize,
        layout: Option<Layout>,
        counted: bool,
    },
    /// A writer of an import, a range of blocks.
    Answer {
        which: u8,
        writer: usize,
        blocks: (Aim, Aim),
        written: bool,
    },
    /// All of it by all.
    Arrive(u8),
    EndWriter {
        which: u8,
        writer: usize,
    },
    /// Drops the handle of an import: nobody will answer.
    Forget(u8),
    Loading(Who),
    Commit(Who),
    Invalidate {
        who: Who,
        entry: u8,
        beyond: bool,
    },
    Renew(Who),
}

/// A lease, and what its blocks held when it was granted.
pub(crate) struct Leased {
    real: Lease,
    pub(crate) twin: Rc<traffic::Lease>,
    pub(crate) content: Vec<u64>,
}

/// An export, and what its sequence was.
struct Exported {
    real: Export,
    twin: Rc<traffic::Export>,
    tokens: Vec<u32>,
    extra: Vec<u128>,
}

/// An import: whose, and where in its table.
pub(crate) struct Loaded {
    /// None: nobody can answer.
    real: Option<Import>,
    pub(crate) twin: Rc<traffic::Import>,
    pub(crate) on: usize,
    pub(crate) name: Name,
    pub(crate) first: usize,
    pub(crate) positions: usize,
}

/// What goes on between the registries and the world.
pub(crate) struct World {
    pub(crate) leases: (Leases, traffic::Leases),
    pub(crate) leased: Vec<Leased>,
    exports: Vec<Exported>,
    pub(crate) loads: Vec<Loaded>,
    flights: (Flights, Rc<Bytes>),
}

impl World {
    pub(crate) fn new(pool: &BlockPool, blocks: usize) -> Self {
        let budget = 2 + blocks / 3;
        let max = BLOCKS_UNDER_WAY * 100;
        Self {
            leases: (
                Leases::new(pool, budget).expect("a table"),
                traffic::Leases::new(budget),
            ),
            leased: Vec::new(),
            exports: Vec::new(),
            loads: Vec::new(),
            flights: (
                Flights::new(max).expect("a cap"),
                Rc::new(Bytes {
                    max,
                    under_way: core::cell::Cell::new(0),
                }),
            ),
        }
    }

    fn deadline(&self, until: Deadline) -> u64 {
        match until {
            Deadline::In(ahead) => self.leases.1.now + u64::from(ahead),
            Deadline::Never => NO_DEADLINE,
        }
    }

    pub(crate) fn check(&self) {
        let (real, twin) = &self.leases;
        let got: Vec<_> = real
            .iter()
            .map(|lease| (lease.owner().get(), lease.deadline(), numbers(lease.ids())))
            .collect();
        let expected: Vec<_> = twin
            .live()
            .map(|lease| (lease.owner, lease.deadline(), lease.table.clone()))
            .collect();
        assert_eq!(got, expected, "live leases");
        for owner in 0..5 {
            let found = real.get(Owner::new(owner)).map(Lease::deadline);
            let expected = twin.get(owner).map(|lease| lease.deadline());
            assert_eq!(found, expected, "lease of {owner}");
        }
        let report = real.report();
        let got = LeaseFigures {
            leases: report.leases,
            blocks: report.blocks,
            references: report.references,
            budget: report.budget,
            now: report.now,
            expired: report.expired,
        };
        assert_eq!(got, twin.figures(), "report of leases");
        assert_eq!(
            (real.used(), real.len(), real.is_empty(), real.now()),
            (twin.used(), got.leases, got.leases == 0, twin.now),
            "leases"
        );
        for Leased { real, twin, .. } in &self.leased {
            assert_eq!(
                (real.deadline(), real.references(), numbers(real.ids())),
                (twin.deadline(), twin.references.len(), twin.table.clone()),
                "lease of {}",
                twin.owner
            );
        }
        for Exported { real, twin, .. } in &self.exports {
            let moves = real.handover() == Handover::Move;
            assert_eq!(
                (phase(real), moves, real.positions(), numbers(real.ids())),
                (
                    twin.phase.get(),
                    twin.moves,
                    twin.positions,
                    twin.lease.table.clone()
                ),
                "export"
            );
        }
        for Loaded { real, twin, .. } in &self.loads {
            let Some(real) = real else { continue };
            assert_eq!(numbers(real.ids()), twin.ids, "blocks of an import");
            assert_eq!(
                (
                    real.left(),
                    real.is_settled(),
                    real.is_wanted(),
                    real.writers()
                ),
                (
                    twin.left(),
                    twin.left() == 0,
                    twin.wanted.get(),
                    twin.writers
                ),
                "import"
            );
        }
        let (real, twin) = &self.flights;
        assert_eq!(
            (real.in_flight(), real.max()),
            (twin.under_way.get(), twin.max),
            "bytes under way"
        );
    }

    /// Forgets the oldest that are over.
    fn forget(&mut self) {
        fn oldest<T>(list: &mut Vec<T>, over: impl Fn(&T) -> bool) {
            while list.len() > REMEMBERED {
                let Some(at) = list.iter().position(&over) else {
                    return;
                };
                list.remove(at);
            }
        }
        oldest(&mut self.leased, |it| !it.twin.is_live());
        oldest(&mut self.loads, |it| it.twin.left() == 0);
        oldest(&mut self.exports, |it| {
            matches!(it.twin.phase.get(), Phase::Committed | Phase::Aborted)
        });
    }

    /// A registry is gone, and with it what it alone knew of.
    pub(crate) fn drop_loads(&mut self, pool: &mut Model, on: usize) {
        for load in self.loads.iter().filter(|load| load.on == on) {
            if load.real.is_none() {
                load.twin.abandon(pool);
            }
        }
    }

    /// Ends all leases, by hand or with their table.
    pub(crate) fn close(mut self, pool: &mut Model) {
        let (real, twin) = self.leases;
        if twin.now % 2 == 1 {
            let live: Vec<Lease> = real.iter().cloned().collect();
            for lease in live {
                assert_eq!(lease.end().map_err(|_| ()), Ok(()), "end of a lease");
            }
        }
        self.exports.clear();
        self.loads.clear();
        self.leased.clear();
        drop(real);
        let live: Vec<_> = twin.live().cloned().collect();
        for lease in live {
            lease.end(pool).expect("it lives");
        }
        assert_eq!(self.flights.0.in_flight(), 0, "bytes under way in the end");
        assert_eq!(self.flights.1.under_way.get(), 0);
    }
}

impl Scene<'_> {
    pub(crate) fn transfer_call(&mut self, on: usize, call: &TransferCall) {
        match *call {
            TransferCall::Pin { who, owner, until } => self.pin(on, who, owner, until),
            TransferCall::Tick(ahead) => self.tick(ahead),
            TransferCall::Extend { which, until } => self.extend_lease(which, until),
            TransferCall::CheckLease { which, ahead } => self.check_lease(which, ahead),
            TransferCall::EndLease(which) => self.end_lease(which),
            TransferCall::Export {
                who,
                owner,
                until,
                moves,
                other_space,
            } => self.export(on, who, (owner, until, moves), other_space),
            TransferCall::Abort(which) => self.end_export(which, false),
            TransferCall::Finish(which) => self.end_export(which, true),
            TransferCall::Import {
                ref request,
                from,
                positions,
                writers,
                layout,
                counted,
            } => self.import(on, request, from, (positions, writers, layout, counted)),
            TransferCall::Answer {
                which,
                writer,
                blocks,
                written,
            } => self.answer(which, writer, blocks, written),
            TransferCall::Arrive(which) => self.arrive(which),
            TransferCall::EndWriter { which, writer } => self.end_writer(which, writer),
            TransferCall::Forget(which) => self.forget_import(which),
            TransferCall::Loading(who) => self.loading(on, who),
            TransferCall::Commit(who) => self.commit(on, who),
            TransferCall::Invalidate { who, entry, beyond } => {
                self.invalidate(on, who, entry, beyond);
            }
            TransferCall::Renew(who) => self.renew(on, who),
        }
    }

    // ---- leases

    fn leased(&mut self, real: Lease, twin: Rc<traffic::Lease>, positions: usize) {
        let content = self.memory.read(&twin.table, 0..positions);
        self.world.leased.push(Leased {
            real,
            twin,
            content,
        });
        self.world.forget();
    }

    fn pin(&mut self, on: usize, who: Who, owner: u8, until: Deadline) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let (owner, deadline) = (u64::from(owner), self.world.deadline(until));
        let twin = &mut self.twins[on];
        let (leases, model) = &mut self.world.leases;
        let got = twin.real.pin(handle, leases, Owner::new(owner), deadline);
        let pool = &mut self.under.model;
        let expected = twin.model.pin(pool, name, model, (owner, deadline));
        match (got, expected) {
            (Ok(real), Ok(model)) => {
                let positions = model.table.len() * self.scheduling.pool.block_size;
                self.leased(real, model, positions);
                self.saw("pinned");
            }
            (Err(got), Err(expected)) => {
                let got = match got {
                    PinError::Stale(Stale) => Fault::Stale,
                    PinError::Lease(error) => lease_fault(error),
                    other => panic!("{other:?}"),
                };
                assert_eq!(got, expected, "pin");
                self.saw(match expected {
                    Fault::OwnerTaken { .. } => "owner taken",
                    Fault::AlreadyOver { .. } => "lease over at its start",
                    Fault::OverBudget { .. } => "leases over budget",
                    _ => "pin of nobody",
                });
            }
            (got, expected) => panic!("pin: {got:?}, expected {expected:?}"),
        }
    }

    fn tick(&mut self, ahead: u8) {
        let (real, twin) = &mut self.world.leases;
        let now = (twin.now + u64::from(ahead)).saturating_sub(1);
        let got = real.tick(now);
        let expected = twin.tick(&mut self.under.model, now);
        assert_eq!(got, expected, "tick({now})");
        if expected > 0 {
            self.saw("leases expired");
        }
    }

    fn extend_lease(&mut self, which: u8, until: Deadline) {
        let deadline = self.world.deadline(until);
        let Some(at) = index(self.world.leased.len(), which) else {
            return;
        };
        let lease = &self.world.leased[at];
        let got = lease.real.extend(deadline).map_err(|_| Fault::LeaseEnded);
        assert_eq!(got, lease.twin.extend(deadline), "extend({deadline})");
        self.saw(if got.is_ok() {
            "lease extended"
        } else {
            "lease extended too late"
        });
    }

    fn check_lease(&mut self, which: u8, ahead: u8) {
        let Some(at) = index(self.world.leased.len(), which) else {
            return;
        };
        let now = self.world.leases.1.now + u64::from(ahead);
        let lease = &self.world.leased[at];
        let got = lease.real.check(now).map_err(|_| Fault::LeaseEnded);
        let expected = lease.twin.check(&mut self.under.model, now);
        assert_eq!(got, expected, "check({now})");
    }

    fn end_lease(&mut self, which: u8) {
        let Some(at) = index(self.world.leased.len(), which) else {
            return;
        };
        let lease = &self.world.leased[at];
        let got = lease.real.end().map_err(|_| Fault::LeaseEnded);
        let expected = lease.twin.end(&mut self.under.model);
        assert_eq!(got, expected, "end of a lease");
        self.saw(if got.is_ok() {
            "lease ended"
        } else {
            "lease ended twice"
        });
    }

    // ---- for elsewhere

    fn export(
        &mut self,
        on: usize,
        who: Who,
        (owner, until, moves): (u8, Deadline, bool),
        other_space: bool,
    ) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let (owner, deadline) = (u64::from(owner), self.world.deadline(until));
        let twin = &mut self.twins[on];
        let space = (twin.model.sequences.get(&name)).map_or(0, |sequence| sequence.space());
        let space = if other_space { (space + 1) % 3 } else { space };
        let namespace = &self.under.names[usize::from(space)];
        let (leases, model) = &mut self.world.leases;
        let terms = if moves {
            Terms::moving(Owner::new(owner), deadline)
        } else {
            Terms::copy(Owner::new(owner), deadline)
        };
        let got = twin.real.export(handle, namespace, leases, &terms);
        let pool = &mut self.under.model;
        let terms = (owner, deadline, moves);
        let expected = twin.model.export(pool, name, space, model, terms);
        match (got, expected) {
            (Ok(real), Ok(model)) => {
                let sequence = &self.twins[on].model.sequences[&name];
                self.world.exports.push(Exported {
                    real: real.clone(),
                    twin: model.clone(),
                    tokens: sequence.tokens.clone(),
                    extra: sequence.extra.clone(),
                });
                self.leased(real.lease().clone(), model.lease.clone(), model.positions);
                self.saw(if moves { "offered" } else { "exported" });
            }
            (Err(got), Err(expected)) => {
                let got = match got {
                    ExportError::Stale(Stale) => Fault::Stale,
                    ExportError::InTransit(error) => in_transit(error),
                    ExportError::CopyPending(_) => Fault::CopyPending,
                    ExportError::OtherNamespace(_) => Fault::OtherNamespace,
                    ExportError::Lease(error) => lease_fault(error),
                    ExportError::Refused(error) => refusal(error),
                    other => panic!("{other:?}"),
                };
                assert_eq!(got, expected, "export");
                self.saw(match expected {
                    Fault::InTransit(_) => "export in a transfer",
                    Fault::Refused(_) => "export refused",
                    _ => "nothing to export",
                });
            }
            (got, expected) => panic!("export: {got:?}, expected {expected:?}"),
        }
    }

    fn end_export(&mut self, which: u8, finish: bool) {
        let Some(at) = index(self.world.exports.len(), which) else {
            return;
        };
        let Exported { real, twin, .. } = &self.world.exports[at];
        let pool = &mut self.under.model;
        let (got, expected) = if finish {
            (real.finish(), twin.finish(pool))
        } else {
            (real.abort(), twin.abort(pool))
        };
        let got = got.map_err(|ended| match ended {
            NotOpen::LeaseOver => MoveOver::LeaseOver,
            NotOpen::Linked => MoveOver::Linked,
            NotOpen::Committed => MoveOver::Committed,
            NotOpen::Aborted => MoveOver::Aborted,
            other => panic!("{other:?}"),
        });
        assert_eq!(got, expected, "end of an export");
        self.saw(match expected {
            Ok(()) if finish => "export finished",
            Ok(()) => "export aborted",
            Err(_) => "export was over",
        });
    }

    // ---- from elsewhere

    fn import(
        &mut self,
        on: usize,
        request: &Request,
        from: Origin,
        (aim, writers, other, counted): (Aim, usize, Option<Layout>, bool),
    ) {
        let size = self.scheduling.pool.block_size;
        let mut slices = self.under.prompt_slices(&request.asked);
        let mut name = self.under.name(request.asked.name);
        let mut source = None;
        if let Origin::Export {
            which,
            other_prompt,
        } = from
        {
            let Some(at) = index(self.world.exports.len(), which) else {
                return;
            };
            source = Some(at);
            if !other_prompt {
                let export = &self.world.exports[at];
                name = export.twin.space;
                slices = self.all_of(export);
            }
        }
        let extra = slices.extra_keys();
        let asking = asking(name, &slices, request);
        let namespace = &self.under.names[usize::from(name)];
        let real = admission(namespace, &slices, &extra, request);
        let export = source.map(|at| &self.world.exports[at]);
        let format = other.map(|other| match other {
            Layout::Ours => layout(size, 1),
            Layout::OtherElement => layout(size, 2),
            Layout::OtherBlockSize => layout(size + 1, 1),
        });
        let mut incoming = match export {
            Some(export) => Incoming::from_export(&export.real, writers),
            None => Incoming::new(aim.of(slices.tokens.len()), writers),
        };
        let mut known = incoming.format.map(|_| Layout::Ours);
        if let Some(format) = &format {
            incoming = incoming.format(format);
            known = other;
        }
        if counted {
            incoming = incoming.flights(&self.world.flights.0);
        }
        let coming = Coming {
            positions: incoming.positions,
            writers,
            layout: known,
            source: export.map(|export| &export.twin),
            bytes: counted.then_some(&self.world.flights.1),
        };
        let twin = &mut self.twins[on];
        let got = twin.real.import(&real, &incoming);
        let expected = twin.model.import(&mut self.under.model, &asking, &coming);
        let positions = incoming.positions;
        match (got, expected) {
            (Ok(imported), Ok((name, hit, fresh, model))) => {
                assert_eq!((imported.hit, imported.fresh), (hit, fresh), "import");
                let table = self.twins[on].model.table(name).expect("it lives").to_vec();
                let mut written = self.memory.read(&table, 0..hit);
                for &id in &table[hit / size..] {
                    self.memory.block(id).fill(0);
                }
                for position in hit..slices.tokens.len() {
                    let slot = crate::registry::slot(&table, position, size);
                    written.push(self.memory.write(slot));
                }
                self.memory.written.insert(name, written);
                self.met(on, imported.handle, name);
                self.saw(match from {
                    Origin::Store => "imported from a store",
                    Origin::Export { .. } => "imported from an export",
                });
                if hit > 0 && !model.ids.is_empty() {
                    self.saw("imported behind a hit");
                }
                self.world.loads.push(Loaded {
                    real: Some(imported.import),
                    twin: model,
                    on,
                    name,
                    first: hit / size,
                    positions,
                });
                self.world.forget();
            }
            (Err(got), Err(expected)) => {
                assert_eq!(import_fault(got), expected, "import");
                self.saw(match expected {
                    Fault::Refused(_) => "import refused",
                    Fault::Incompatible => "import of another layout",
                    Fault::OtherNamespace => "import of another namespace",
                    Fault::UnknownFormat => "import of unknown size",
                    Fault::TooManyBytes { .. } => "import over the cap",
                    Fault::SourceTaken => "import of what is taken",
                    Fault::TooManyWriters { .. } => "import by too many",
                    _ => "no import",
                });
            }
            (got, expected) => panic!("import: {got:?}, expected {expected:?}"),
        }
    }

    /// All that was known of what is exported, as a prompt.
    fn all_of(&self, export: &Exported) -> Slices {
        let size = self.scheduling.pool.block_size;
        let whole = export.tokens.len() / size;
        let extra = export.extra[..whole].to_vec();
        let pages = export.tokens.chunks_exact(size).zip(&extra);
        let path: Vec<Page> = pages
            .map(|(tokens, &extra)| Page {
                tokens: tokens.to_vec(),
                extra,
            })
            .collect();
        let keys = match self.scheduling.pool.keys {
            Keys::Engine => (1..=whole)
                .map(|n| engine_key(export.twin.space, &path[..n]))
                .collect(),
            Keys::EngineConstant => vec![EQUAL_KEY; whole],
            Keys::Hashed | Keys::Constant => Vec::new(),
        };
        Slices {
            tokens: export.tokens.clone(),
            extra,
            keys,
        }
    }

    fn answer(&mut self, which: u8, writer: usize, (from, to): (Aim, Aim), written: bool) {
        let Some(at) = index(self.world.loads.len(), which) else {
            return;
        };
        let Loaded { real, twin, .. } = &self.world.loads[at];
        let Some(real) = real else { return };
        let blocks = from.of(twin.ids.len())..to.of(twin.ids.len());
        let got = if written {
            real.arrived(writer, blocks.clone())
        } else {
            real.failed(writer, blocks.clone())
        };
        let expected = twin.answer(&mut self.under.model, writer, &blocks, written);
        let got = got.map(taken).map_err(no_answer);
        assert_eq!(got, expected, "answer of {writer} for {blocks:?}");
        self.saw(match expected {
            Ok(Taken::Counts) => "answer taken",
            Ok(Taken::Unwanted) => "answer that nobody waits for",
            Ok(Taken::SourceGone) => "answer after the lease",
            Err(NoAnswer::Repeated { .. }) => "answer repeated",
            Err(_) => "answer of nobody, or for nothing",
        });
        if expected == Ok(Taken::SourceGone) {
            self.loading_of(at);
        }
    }

    /// What its sequence says, if that still is there.
    fn loading_of(&mut self, at: usize) {
        let Loaded { on, name, .. } = self.world.loads[at];
        let living = &self.twins[on].living;
        let place = living.iter().position(|&(_, other)| other == name);
        if let Some(Ok(place)) = place.map(u8::try_from) {
            self.loading(on, Who::Living(place));
        }
    }

    fn arrive(&mut self, which: u8) {
        let writers = match index(self.world.loads.len(), which) {
            Some(at) => self.world.loads[at].twin.writers,
            None => return,
        };
        for writer in (0..writers).rev() {
            self.answer(which, writer, (Aim::At(0), Aim::End), true);
        }
    }

    fn end_writer(&mut self, which: u8, writer: usize) {
        let Some(at) = index(self.world.loads.len(), which) else {
            return;
        };
        let Loaded { real, twin, .. } = &self.world.loads[at];
        let Some(real) = real else { return };
        let got = real.end(writer).map_err(no_answer);
        let expected = twin.end(&mut self.under.model, writer);
        assert_eq!(got, expected, "end of {writer}");
        self.saw(match expected {
            Ok(0) => "writer ended, nothing missing",
            Ok(_) => "writer ended early",
            Err(_) => "writer ended twice, or nobody",
        });
    }

    fn forget_import(&mut self, which: u8) {
        if let Some(at) = index(self.world.loads.len(), which) {
            self.world.loads[at].real = None;
        }
    }

    /// The writers of each second import, or of all, end.
    pub(crate) fn end_imports(&mut self, half: bool) {
        for (at, load) in self.world.loads.iter().enumerate() {
            let Some(real) = &load.real else { continue };
            if half && at % 2 == 0 {
                continue;
            }
            for writer in 0..load.twin.writers {
                let got = real.end(writer).map_err(no_answer);
                assert_eq!(got, load.twin.end(&mut self.under.model, writer), "end");
            }
        }
    }

    fn loading(&mut self, on: usize, who: Who) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let got = self.twins[on].real.loading(handle);
        let got = got
            .map(|loading| Progress {
                arrived: loading.arrived,
                left: loading.left,
                failed: loading.failed,
                aborted: loading.aborted,
            })
            .map_err(|Stale| Fault::Stale);
        let full = self.full_index_of(on, handle, name);
        let twin = &mut self.twins[on].model;
        let expected = twin.loading(&mut self.under.model, name, full);
        assert_eq!(got, expected, "loading");
        if let Ok(progress) = expected {
            if progress.failed {
                self.saw("load failed");
            }
            if progress.aborted {
                self.saw("load aborted");
            }
            if progress.left > 0 && progress.arrived > 0 {
                self.saw("loaded in part");
            }
        }
    }

    fn commit(&mut self, on: usize, who: Who) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let moving =
            (self.twins[on].model.get(name)).is_ok_and(|sequence| sequence.check_growth().is_err());
        let got = self.twins[on].real.commit(handle);
        let got = got.map_err(|error| match error {
            CommitError::Stale(Stale) => Fault::Stale,
            CommitError::NotArrived(error) => Fault::NotArrived {
                arrived: error.arrived,
                expected: error.expected,
                left: error.left,
            },
            CommitError::Aborted(_) => Fault::MoveAborted,
            other => panic!("{other:?}"),
        });
        let full = self.full_index_of(on, handle, name);
        let twin = &mut self.twins[on].model;
        let expected = twin.commit(&mut self.under.model, name, full);
        assert_eq!(got, expected, "commit");
        self.saw(match expected {
            Ok(()) if moving => "move committed",
            Ok(()) => "nothing to commit",
            Err(Fault::NotArrived { .. }) => "commit before all is there",
            Err(Fault::MoveAborted) => "commit after an abort",
            Err(_) => "commit for nobody",
        });
    }

    // ---- bad content

    fn invalidate(&mut self, on: usize, who: Who, entry: u8, beyond: bool) {
        let Some((_, name)) = self.who(on, who) else {
            return;
        };
        // Of a table, or what is found in the place of an entry, or any at all.
        let capacity = u32::try_from(self.scheduling.pool.blocks).expect("ids");
        let mut id = u32::from(entry) % (capacity + 1);
        if let (Ok(sequence), false) = (self.twins[on].model.get(name), beyond) {
            let line = &sequence.line;
            let all: Vec<u32> = line.table.iter().chain(&line.found).copied().collect();
            id = index(all.len(), entry).map_or(id, |at| all[at]);
        }
        let mut order = self.twins[on].living.clone();
        order.sort_by_key(|(handle, _)| handle.slot());
        let names: Vec<Name> = order.iter().map(|&(_, name)| name).collect();
        let twin = &mut self.twins[on];
        let mut affected = vec![kvblock::Handle::NONE];
        let got = twin.real.invalidate(BlockId::new(id), &mut affected);
        let expected = (twin.model).invalidate(&mut self.under.model, id, &names);
        match (got, expected) {
            (Ok(()), Ok(expected)) => {
                let of = |name: Name| order.iter().find(|(_, other)| *other == name);
                let expected: Vec<_> = expected
                    .into_iter()
                    .map(|name| of(name).expect("it lives").0)
                    .collect();
                assert_eq!(affected, expected, "sequences with a bad block");
                if !expected.is_empty() {
                    self.saw("sequences went back");
                }
            }
            (Err(InvalidateError::OutOfRange { block, capacity }), Err(expected)) => {
                let block = block.get();
                assert_eq!(Fault::OutOfRange { block, capacity }, expected);
            }
            (got, expected) => panic!("invalidate({id}): {got:?}, expected {expected:?}"),
        }
    }

    fn renew(&mut self, on: usize, who: Who) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let size = self.scheduling.pool.block_size;
        let twin = &mut self.twins[on];
        let got = twin.real.renew(handle, &mut self.step);
        let expected = twin.model.renew(&mut self.under.model, name);
        match (got, expected) {
            (Ok(()), Ok(grown)) => {
                let changes: Vec<_> = grown
                    .changes
                    .iter()
                    .map(|&(entry, block)| (0, entry, block))
                    .collect();
                let fresh = grown.fresh.clone();
                self.stepped(on, grown, &changes, &[]);
                let sequence = &self.twins[on].model.sequences[&name];
                let from = sequence.computed.div_ceil(size) * size;
                self.memory.renewed(name, sequence.table(), from, &fresh);
                self.saw(if fresh.is_empty() {
                    "nothing to renew"
                } else {
                    "renewed"
                });
            }
            (Err(got), Err(expected)) => {
                assert_eq!(append_fault(got), expected, "renew");
                self.saw(match expected {
                    Fault::Refused(_) => "renewal refused",
                    _ => "no renewal",
                });
            }
            (got, expected) => panic!("renew: {got:?}, expected {expected:?}"),
        }
    }
}

fn phase(export: &Export) -> Phase {
    match export.phase() {
        kvblock::Phase::Offered => Phase::Offered,
        kvblock::Phase::Linked => Phase::Linked,
        kvblock::Phase::Committed => Phase::Committed,
        kvblock::Phase::Aborted => Phase::Aborted,
        other => panic!("{other:?}"),
    }
}

fn taken(answer: kvblock::Answer) -> Taken {
    match answer {
        kvblock::Answer::Taken => Taken::Counts,
        kvblock::Answer::Unwanted => Taken::Unwanted,
        kvblock::Answer::SourceGone => Taken::SourceGone,
        other => panic!("{other:?}"),
    }
}

fn no_answer(error: AnswerError) -> NoAnswer {
    match error {
        AnswerError::NoSuchWriter { writer, writers } => NoAnswer::NoSuchWriter { writer, writers },
        AnswerError::OutOfRange { end, blocks } => NoAnswer::OutOfRange { end, blocks },
        AnswerError::Repeated { writer, at } => NoAnswer::Repeated { writer, at },
        AnswerError::Ended { writer } => NoAnswer::Ended { writer },
        other => panic!("{other:?}"),
    }
}

fn lease_fault(error: LeaseError) -> Fault {
    match error {
        LeaseError::WrongPool => Fault::WrongPool,
        LeaseError::OwnerTaken { owner } => Fault::OwnerTaken { owner: owner.get() },
        LeaseError::AlreadyOver { deadline, now } => Fault::AlreadyOver { deadline, now },
        LeaseError::OverBudget { needed, left } => Fault::OverBudget { needed, left },
        other => panic!("{other:?}"),
    }
}

fn import_fault(error: ImportError) -> Fault {
    match error {
        ImportError::Admit(error) => admit_fault(error),
        ImportError::Beyond(error) => Fault::Beyond {
            asked: error.asked,
            positions: error.positions,
        },
        ImportError::TooManyWriters(error) => Fault::TooManyWriters { asked: error.asked },
        ImportError::Incompatible(_) => Fault::Incompatible,
        ImportError::OtherNamespace(_) => Fault::OtherNamespace,
        ImportError::SourceTaken(_) => Fault::SourceTaken,
        ImportError::UnknownFormat(_) => Fault::UnknownFormat,
        ImportError::TooManyBytes(error) => Fault::TooManyBytes {
            asked: error.asked,
            in_flight: error.in_flight,
            max: error.max,
        },
        other => panic!("{other:?}"),
    }
}
