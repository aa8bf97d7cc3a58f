//! Calls on two registries over one pool, and the driver that runs each beside the model and compares everything that can be seen.
//!
//! As in `tests/model/ops.rs`, calls name what they act on by small numbers, so that any list of them means something.

#[path = "../support/names.rs"]
mod names;

use std::collections::BTreeSet;

use kvblock::{
    Admit, AppendError, AttachError, BlockPool, Budget, Contents, CopyTicket, Detached, ExtraKey,
    Growth, Handle, Holder, KvFormat, Namespace, PoolConfig, Proof, Sequences, SequencesConfig,
    Stale, Step, VictimsError,
};

pub(crate) use names::{Aim, Who};

use crate::faults::{
    admit_fault, append_fault, branch_fault, computed_fault, detach_fault, read_fault,
    tokens_fault, truncate_fault,
};
use crate::fences::{FenceCall, Lanes};
use crate::figures::same_registry;
use crate::memory::Memory;
use crate::ops::{
    Asked, Driver, Keys, Op, Place, Setup, Slices, Symbol, Tally, Wrong, config, engine_key, index,
    numbers, prompt, question, tokens_of,
};
use crate::reference::{Model, PLACES, Text};
use crate::registry::{self, Asking, Fault, Grown, Name, Registry, Sequence, TicketName};
use crate::transfers::{TransferCall, World};

/// Registries over the pool.
pub(crate) const REGISTRIES: usize = 2;
/// Handles and tickets that calls may still name after their end.
const REMEMBERED: usize = 24;

/// The registries of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheduling {
    pub(crate) pool: Setup,
    pub(crate) max_sequences: usize,
    pub(crate) watermark: usize,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) asked: Asked,
    pub(crate) growth: registry::Growth,
    pub(crate) conservative: bool,
    pub(crate) insert: bool,
    pub(crate) returning: bool,
    pub(crate) label: u8,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Pool(Op),
    Check(Request),
    Admit(Request),
    Step(Vec<(Who, usize)>),
    Append(Who, usize),
    CheckAppend(Who, usize),
    Ensure(Who, Aim),
    /// So many tokens, of this symbol; how far from the next unknown position; a wrong length.
    Tokens {
        who: Who,
        n: Aim,
        symbol: Symbol,
        off: usize,
        wrong: Option<Wrong>,
    },
    Computed(Who, Aim),
    Truncate(Who, Aim),
    Fork(Who, u8),
    /// A ticket: pending or done, of this registry or not.
    Copied(u8),
    Release(Who),
    Preempt(Who),
    Adopt(Who),
    Detach(Who),
    /// Attaches the sequence that has been detached longest, or drops it.
    Attach {
        dropped: bool,
    },
    CopyTable(Who, Aim),
    Slots(Who, Aim, Aim),
    Victims(Vec<Who>, usize),
    Fence(FenceCall),
    Transfer(TransferCall),
}

/// Runs the calls, each on the registry beside it, on a new pool and a new model. Panics where they differ.
pub(crate) fn run(scheduling: &Scheduling, calls: &[(u8, Call)]) -> Tally {
    let pool = BlockPool::new(&config(&scheduling.pool)).expect("the setup is sound");
    let other = BlockPool::new(&PoolConfig::new(4, scheduling.pool.block_size))
        .expect("the other setup is sound");
    let mut scene = Scene::new(scheduling, &pool, &other);
    for (step, (on, call)) in calls.iter().enumerate() {
        let at = Place {
            setup: scheduling,
            step,
            op: &(on, call),
        };
        scene.run(usize::from(*on) % REGISTRIES, call);
        scene.check();
        drop(at);
    }
    let at = Place {
        setup: scheduling,
        step: calls.len(),
        op: &"the end",
    };
    let tally = scene.finish();
    drop(at);
    tally
}

/// A registry and its twin.
pub(crate) struct Twin {
    pub(crate) real: Sequences,
    pub(crate) model: Registry,
    /// In the order of their admission.
    pub(crate) living: Vec<(Handle, Name)>,
}

pub(crate) struct Scene<'p> {
    pub(crate) scheduling: Scheduling,
    pub(crate) under: Driver<'p>,
    pub(crate) twins: Vec<Twin>,
    /// Ended or not; which registry, which twin.
    pub(crate) handles: Vec<(Handle, usize, Name)>,
    pub(crate) tickets: Vec<(CopyTicket, usize, TicketName, registry::Copy)>,
    pub(crate) detached: Vec<(Detached, Sequence, Name)>,
    pub(crate) step: Step,
    pub(crate) epochs: BTreeSet<u64>,
    pub(crate) memory: Memory,
    pub(crate) lanes: Lanes,
    pub(crate) world: World,
}

impl<'p> Scene<'p> {
    fn new(scheduling: &Scheduling, pool: &'p BlockPool, other: &'p BlockPool) -> Self {
        let setup = scheduling.pool;
        let twin = |first: Name| {
            let mut config =
                SequencesConfig::new(scheduling.max_sequences).watermark(scheduling.watermark);
            if first == 1 {
                config = config.format(layout(setup.block_size, 1));
            }
            Twin {
                real: Sequences::new(pool.clone(), &config).expect("a sound configuration"),
                model: Registry::new(
                    first << 32,
                    setup.block_size,
                    scheduling.max_sequences,
                    scheduling.watermark,
                    setup.proof == Proof::Digest,
                    first == 1,
                ),
                living: Vec::new(),
            }
        };
        Self {
            scheduling: *scheduling,
            under: Driver::new(&setup, pool, other),
            twins: (1..).take(REGISTRIES).map(twin).collect(),
            handles: Vec::new(),
            tickets: Vec::new(),
            detached: Vec::new(),
            step: Step::default(),
            epochs: BTreeSet::new(),
            memory: Memory::new(setup.blocks, setup.block_size),
            lanes: Lanes::new(pool, other),
            world: World::new(pool, setup.blocks),
        }
    }

    pub(crate) fn saw(&mut self, what: &'static str) {
        self.under.saw(what);
    }

    /// The handle that a call names, and who that is in the model of this registry, if it is anybody.
    pub(crate) fn who(&self, on: usize, who: Who) -> Option<(Handle, Name)> {
        match who {
            Who::Living(which) => {
                let living = &self.twins[on].living;
                index(living.len(), which).map(|at| living[at])
            }
            Who::Any(which) => index(self.handles.len(), which).map(|at| {
                let (handle, of, name) = self.handles[at];
                // A name that this registry never gave.
                (handle, if of == on { name } else { Name::MAX })
            }),
        }
    }

    /// A sequence has begun.
    pub(crate) fn met(&mut self, on: usize, handle: Handle, name: Name) {
        assert!(
            self.epochs.insert(handle.epoch()),
            "{handle:?} had been given before"
        );
        assert!(handle.slot() < self.scheduling.max_sequences, "{handle:?}");
        assert_eq!(Handle::from_bits(handle.to_bits()), handle);
        let slots = self.twins[on].living.iter().map(|(other, _)| other.slot());
        assert!(
            !slots.into_iter().any(|slot| slot == handle.slot()),
            "{handle:?} has another's slot"
        );
        self.twins[on].living.push((handle, name));
        self.handles.push((handle, on, name));
        if self.handles.len() > REMEMBERED {
            self.handles.remove(0);
        }
    }

    /// A sequence has ended.
    pub(crate) fn parted(&mut self, on: usize, handle: Handle) {
        self.twins[on].living.retain(|(other, _)| *other != handle);
    }

    fn run(&mut self, on: usize, call: &Call) {
        match *call {
            // Its checks between the calls know nothing of the registries.
            Call::Pool(Op::Admit { .. }) => {}
            Call::Pool(ref op) => self.under.run(op),
            Call::Check(ref request) => self.ask(on, request, false),
            Call::Admit(ref request) => self.ask(on, request, true),
            Call::Step(ref batch) => self.step(on, batch),
            Call::Append(who, n) => self.append(on, who, n),
            Call::CheckAppend(who, n) => self.check_append(on, who, n),
            Call::Ensure(who, aim) => self.ensure(on, who, aim),
            Call::Tokens {
                who,
                n,
                symbol,
                off,
                wrong,
            } => self.tokens(on, who, n, symbol, off, wrong),
            Call::Computed(who, aim) => self.computed(on, who, aim),
            Call::Truncate(who, aim) => self.truncate(on, who, aim),
            Call::Fork(who, children) => self.fork(on, who, usize::from(children)),
            Call::Copied(which) => self.copied(on, which),
            Call::Release(who) => self.release(on, who, false),
            Call::Preempt(who) => self.release(on, who, true),
            Call::Adopt(who) => self.adopt(on, who),
            Call::Detach(who) => self.detach(on, who),
            Call::Attach { dropped } => self.attach(on, dropped),
            Call::CopyTable(who, aim) => self.copy_table(on, who, aim),
            Call::Slots(who, from, to) => self.slots(on, who, from, to),
            Call::Victims(ref order, need) => self.victims(on, order, need),
            Call::Fence(ref call) => self.fence_call(on, call),
            Call::Transfer(ref call) => self.transfer_call(on, call),
        }
    }

    // ---- admission

    fn ask(&mut self, on: usize, request: &Request, admit: bool) {
        let slices = self.under.prompt_slices(&request.asked);
        let extra = slices.extra_keys();
        let name = self.under.name(request.asked.name);
        let asking = asking(name, &slices, request);
        let namespace = &self.under.names[usize::from(name)];
        let real = admission(namespace, &slices, &extra, request);
        let twin = &mut self.twins[on];
        let predicted = twin.model.check(&self.under.model, &asking);
        let got = twin.real.check(&real).map(|cost| {
            assert_eq!(
                cost.charge(),
                cost.fresh + cost.promised + cost.hit_idle,
                "charge"
            );
            registry::Cost {
                blocks: cost.blocks,
                hit_held: cost.hit_held,
                hit_idle: cost.hit_idle,
                fresh: cost.fresh,
                promised: cost.promised,
            }
        });
        assert_eq!(got.map_err(admit_fault), predicted, "check");
        if !admit {
            return;
        }
        let expected = twin.model.admit(&mut self.under.model, &asking);
        let got = twin.real.admit(&real);
        match (got, expected) {
            (Ok(admitted), Ok((name, hit, fresh))) => {
                assert_eq!((admitted.hit, admitted.fresh), (hit, fresh), "admit");
                let table = self.twins[on].model.table(name).expect("it lives").to_vec();
                let mut written = self.memory.read(&table, 0..hit);
                for &id in &table[hit / self.scheduling.pool.block_size..] {
                    self.memory.block(id).fill(0);
                }
                for position in hit..slices.tokens.len() {
                    let slot = registry::slot(&table, position, self.scheduling.pool.block_size);
                    written.push(self.memory.write(slot));
                }
                self.memory.written.insert(name, written);
                self.met(on, admitted.handle, name);
                self.saw("admitted");
                if hit > 0 {
                    self.saw("admitted with a hit");
                }
            }
            (Err(got), Err(expected)) => {
                assert_eq!(admit_fault(got), expected, "admit");
                self.saw(match expected {
                    Fault::Refused(_) if request.conservative => {
                        "refused by the conservative budget or less"
                    }
                    Fault::Refused(_) => "admission refused",
                    Fault::Length(_) => "prompt of a wrong length",
                    _ => "no slot for an admission",
                });
            }
            (got, expected) => panic!("admit: {got:?}, expected {expected:?}"),
        }
    }

    // ---- growth

    fn step(&mut self, on: usize, batch: &[(Who, usize)]) {
        let batch: Vec<_> = batch
            .iter()
            .filter_map(|&(who, n)| self.who(on, who).map(|(handle, name)| (handle, name, n)))
            .collect();
        let calls: Vec<_> = batch.iter().map(|&(handle, _, n)| (handle, n)).collect();
        let twin = &mut self.twins[on];
        twin.real.step(&calls, &mut self.step);
        let mut all = Grown::default();
        let mut changes = Vec::new();
        let mut failures = Vec::new();
        let mut writers = Vec::new();
        for (index, &(_, name, n)) in batch.iter().enumerate() {
            match twin.model.append(&mut self.under.model, name, n) {
                Ok(grown) => {
                    writers.push((name, n));
                    all.slots.extend(grown.slots);
                    all.copies.extend(grown.copies);
                    all.fresh.extend(grown.fresh);
                    changes.extend(
                        grown
                            .changes
                            .iter()
                            .map(|&(entry, block)| (index, entry, block)),
                    );
                }
                Err(fault) => failures.push((index, name, fault)),
            }
        }
        let got: Vec<_> = self
            .step
            .failures()
            .iter()
            .map(|failure| (failure.index, append_fault(failure.error)))
            .collect();
        let expected: Vec<_> = failures
            .iter()
            .map(|&(index, _, fault)| (index, fault))
            .collect();
        assert_eq!(got, expected, "failures of a step");
        for &(_, name, fault) in &failures {
            self.is_no_broken_promise(on, name, fault);
        }
        self.stepped(on, all, &changes, &writers);
        if !failures.is_empty() {
            self.saw("failure in a step");
        }
    }

    /// Compares what a step says, and keeps its tickets.
    pub(crate) fn stepped(
        &mut self,
        on: usize,
        grown: Grown,
        changes: &[(usize, usize, u32)],
        writers: &[(Name, usize)],
    ) {
        let step = &self.step;
        assert_eq!(step.slots(), grown.slots, "slots of a step");
        assert_eq!(numbers(step.fresh()), grown.fresh, "fresh blocks of a step");
        let got: Vec<_> = step
            .changes()
            .iter()
            .map(|change| (change.index, change.entry, change.block.get()))
            .collect();
        assert_eq!(got, changes, "changes of tables");
        let got: Vec<_> = step
            .copies()
            .iter()
            .map(|ticket| registry::Copy {
                src: ticket.src.get(),
                dst: ticket.dst.get(),
                positions: ticket.positions,
            })
            .collect();
        let expected: Vec<_> = grown.copies.iter().map(|(_, copy)| *copy).collect();
        assert_eq!(got, expected, "copies of a step");
        self.memory.step(on, &grown, writers);
        let tickets = step.copies().iter().zip(&grown.copies);
        let tickets: Vec<_> = tickets
            .map(|(&ticket, &(name, copy))| (ticket, on, name, copy))
            .collect();
        if !tickets.is_empty() {
            self.saw("copy at a write");
        }
        if !grown.fresh.is_empty() {
            self.saw("blocks for an append");
        }
        self.tickets.extend(tickets);
        self.forget_tickets();
    }

    /// Forgets the oldest tickets that are done.
    fn forget_tickets(&mut self) {
        while self.tickets.len() > REMEMBERED {
            let done = self
                .tickets
                .iter()
                .position(|(_, on, name, _)| !self.twins[*on].model.is_pending(*name));
            let Some(done) = done else { return };
            let _ = self.tickets.remove(done);
        }
    }

    fn appended(
        &mut self,
        on: usize,
        what: &str,
        (name, n): (Name, usize),
        got: Result<(), AppendError>,
        expected: Result<Grown, Fault>,
    ) {
        match (got, expected) {
            (Ok(()), Ok(grown)) => {
                let changes: Vec<_> = grown
                    .changes
                    .iter()
                    .map(|&(entry, block)| (0, entry, block))
                    .collect();
                self.stepped(on, grown, &changes, &[(name, n)]);
            }
            (Err(got), Err(expected)) => {
                assert_eq!(append_fault(got), expected, "{what}");
                self.stepped(on, Grown::default(), &[], &[]);
                self.is_no_broken_promise(on, name, expected);
                self.saw(match expected {
                    Fault::Stale => "append to nobody",
                    Fault::CapReached { .. } => "append beyond the cap",
                    Fault::InTransit(_) => "append in a transfer",
                    _ => "append refused",
                });
            }
            (got, expected) => panic!("{what}: {got:?}, expected {expected:?}"),
        }
    }

    /// A growth within a cap does not fail.
    fn is_no_broken_promise(&self, on: usize, name: Name, fault: Fault) {
        let state = self.twins[on].model.state(name);
        if let (Ok(state), Fault::Refused(refusal)) = (state, fault) {
            let capped = matches!(state.growth, registry::Growth::Cap(_));
            assert!(!capped, "{refusal:?} within the cap of {state:?}");
        }
    }

    fn append(&mut self, on: usize, who: Who, n: usize) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let predicted = twin.model.check_append(&self.under.model, name, n);
        let got = twin.real.check_append(handle, n);
        assert_eq!(got.map_err(append_fault), predicted, "check_append({n})");
        let expected = twin.model.append(&mut self.under.model, name, n);
        let got = twin.real.append(handle, n, &mut self.step);
        assert_eq!(
            predicted.is_ok(),
            expected.is_ok(),
            "the model's predictor is its append"
        );
        self.appended(on, "append", (name, n), got, expected);
    }

    fn check_append(&mut self, on: usize, who: Who, n: usize) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &self.twins[on];
        let got = twin.real.check_append(handle, n);
        let expected = twin.model.check_append(&self.under.model, name, n);
        assert_eq!(got.map_err(append_fault), expected, "check_append({n})");
    }

    fn ensure(&mut self, on: usize, who: Who, aim: Aim) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let positions = aim.of(twin.model.positions(name));
        let expected = twin.model.ensure(&mut self.under.model, name, positions);
        let got = twin.real.ensure(handle, positions, &mut self.step);
        self.appended(on, "ensure", (name, 0), got, expected);
    }

    // ---- what is known and computed

    fn tokens(
        &mut self,
        on: usize,
        who: Who,
        n: Aim,
        symbol: Symbol,
        off: usize,
        wrong: Option<Wrong>,
    ) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let size = self.scheduling.pool.block_size;
        let sequence = self.twins[on].model.sequences.get(&name);
        let (known, positions, space) = sequence.map_or((0, 0, 0), |sequence| {
            (sequence.known(), sequence.positions(), sequence.space())
        });
        let n = n.of(positions - known).min(40 * size);
        let page = tokens_of(symbol, size);
        let tokens: Vec<u32> = (known..known + n).map(|at| page[at % size]).collect();
        let filled = (known + n) / size - known / size;
        let mut extra = vec![u128::from(symbol.extra) << 70; filled];
        if symbol.extra == 0 && symbol.tokens != 1 {
            extra.clear();
        }
        let mut keys = match self.scheduling.pool.keys {
            Keys::Engine => {
                let path = sequence
                    .map_or_else(Vec::new, |sequence| sequence.pages(&tokens, &extra, size));
                (path.len() - filled.min(path.len())..path.len())
                    .map(|at| engine_key(space, &path[..=at]))
                    .collect()
            }
            Keys::EngineConstant => vec![crate::ops::EQUAL_KEY; filled],
            Keys::Hashed | Keys::Constant => Vec::new(),
        };
        match wrong {
            Some(Wrong::Extra) => extra = vec![0; filled + 1],
            Some(Wrong::Keys) => keys = vec![0; filled + 1],
            Some(Wrong::Tokens) | None => {}
        }
        let at = known.saturating_add(off);
        let keyed: Vec<_> = extra
            .iter()
            .map(|&bits| kvblock::ExtraKey::new(bits))
            .collect();
        let contents = Contents::new(&tokens).extra(&keyed).keys(&keys);
        let twin = &mut self.twins[on];
        let got = twin.real.tokens(handle, at, &contents);
        let text = Text {
            tokens: &tokens,
            extra: &extra,
            keys: keys.len(),
        };
        let full = full_index(&self.scheduling, twin, handle, name, &self.under.model);
        let expected = twin
            .model
            .tokens(&mut self.under.model, name, at, &text, full);
        assert_eq!(got.map_err(tokens_fault), expected, "tokens");
        self.saw(match expected {
            Ok(()) => "tokens told",
            Err(Fault::Stale) => "tokens for nobody",
            Err(Fault::NotNext { .. }) => "tokens at the wrong place",
            Err(Fault::Beyond { .. }) => "tokens beyond the positions",
            Err(_) => "tokens of a wrong length",
        });
    }

    fn computed(&mut self, on: usize, who: Who, aim: Aim) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let n = aim.of(twin.model.positions(name));
        let got = twin.real.computed(handle, n).map_err(computed_fault);
        let full = full_index(&self.scheduling, twin, handle, name, &self.under.model);
        let expected = twin.model.computed(&mut self.under.model, name, n, full);
        assert_eq!(got, expected.map(|_| ()), "computed({n})");
        match expected {
            Ok(outcome) => self.under.saw_outcome(outcome),
            Err(_) => self.saw("computed refused"),
        }
    }

    fn truncate(&mut self, on: usize, who: Who, aim: Aim) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let to = aim.of(twin.model.positions(name));
        let got = twin.real.truncate(handle, to).map_err(truncate_fault);
        let expected = (twin.model).truncate(&mut self.under.model, name, to, None);
        assert_eq!(got, expected, "truncate({to})");
        if expected.is_ok() {
            self.memory.written.entry(name).or_default().truncate(to);
        }
        self.saw(match expected {
            Ok(()) => "truncated",
            Err(Fault::Refused(_)) => "truncation refused",
            Err(_) => "nothing to truncate",
        });
    }

    // ---- branches and copies

    fn fork(&mut self, on: usize, who: Who, children: usize) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let mut handles = vec![Handle::NONE; children];
        let twin = &mut self.twins[on];
        let got = twin.real.fork(handle, &mut handles);
        let expected = twin.model.fork(&mut self.under.model, name, children);
        match (got, expected) {
            (Ok(()), Ok(names)) => {
                for (&handle, &child) in handles.iter().zip(&names) {
                    let written = self.memory.written[&name].clone();
                    self.memory.written.insert(child, written);
                    self.met(on, handle, child);
                }
                self.saw("forked");
            }
            (Err(got), Err(expected)) => {
                assert_eq!(branch_fault(got), expected, "fork");
                assert_eq!(
                    handles,
                    vec![Handle::NONE; children],
                    "a refused fork wrote handles"
                );
                self.saw(match expected {
                    Fault::Refused(_) => "fork refused",
                    Fault::Stale => "fork of nobody",
                    Fault::InTransit(_) => "fork in a transfer",
                    _ => "no slot for a fork",
                });
            }
            (got, expected) => panic!("fork: {got:?}, expected {expected:?}"),
        }
    }

    fn copied(&mut self, on: usize, which: u8) {
        let Some(at) = index(self.tickets.len(), which) else {
            return;
        };
        let (ticket, of, name, copy) = self.tickets[at];
        let name = if of == on { name } else { TicketName::MAX };
        if self.twins[on].model.is_pending(name) {
            self.memory.copied((on, name), copy);
        }
        let twin = &mut self.twins[on];
        let got = twin.real.copied(ticket);
        let full = twin.model.owner(name).and_then(|owner| {
            let (handle, _) = twin.living.iter().find(|(_, other)| *other == owner)?;
            full_index(&self.scheduling, twin, *handle, owner, &self.under.model)
        });
        let expected = twin.model.copied(&mut self.under.model, name, full);
        assert_eq!(got.map_err(|Stale| Fault::Stale), expected, "copied");
        self.saw(match expected {
            Ok(()) => "copy done",
            Err(_) => "ticket twice, or of another registry",
        });
    }

    pub(crate) fn full_index_of(&self, on: usize, handle: Handle, name: Name) -> Option<usize> {
        let twin = &self.twins[on];
        full_index(&self.scheduling, twin, handle, name, &self.under.model)
    }

    pub(crate) fn full_index_now(&self, on: usize) -> Option<usize> {
        full_index_now(&self.scheduling, &self.twins[on], &self.under.model)
    }

    fn adopt(&mut self, on: usize, who: Who) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let got = twin
            .real
            .adopt_duplicates(handle)
            .map_err(|Stale| Fault::Stale);
        let expected = twin.model.adopt(&mut self.under.model, name);
        assert_eq!(got, expected, "adopt_duplicates");
        if expected.is_ok_and(|adopted| adopted > 0) {
            // The content is the same, the engine's words for it are others.
            let sequence = &self.twins[on].model.sequences[&name];
            let again = self.memory.read(sequence.table(), 0..sequence.positions());
            let published = self.twins[on]
                .model
                .state(name)
                .expect("it lives")
                .published;
            let same = published * self.scheduling.pool.block_size;
            let written = self.memory.written.get_mut(&name).expect("it lives");
            written[..same].copy_from_slice(&again[..same]);
            self.saw("duplicates adopted");
        }
    }

    // ---- the end

    fn release(&mut self, on: usize, who: Who, preempt: bool) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let got = if preempt {
            twin.real.preempt(handle)
        } else {
            twin.real.release(handle)
        };
        let full = full_index_now(&self.scheduling, twin, &self.under.model);
        let expected = twin
            .model
            .release(&mut self.under.model, name, preempt, None, full);
        assert_eq!(got.map_err(|Stale| Fault::Stale), expected, "release");
        if expected.is_ok() {
            self.parted(on, handle);
        } else {
            self.saw("release of nobody");
        }
    }

    fn detach(&mut self, on: usize, who: Who) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let got = twin.real.detach(handle).map_err(detach_fault);
        match (got, twin.model.detach(name)) {
            (Ok(real), Ok(model)) => {
                self.detached.push((real, model, name));
                self.parted(on, handle);
                self.saw("detached");
            }
            (Err(got), Err(expected)) => {
                assert_eq!(got, expected, "detach");
                self.saw(match expected {
                    Fault::CopyPending => "detach refused",
                    Fault::InTransit(_) => "detach in a transfer",
                    _ => "detach of nobody",
                });
            }
            (got, expected) => panic!("detach: {:?}, expected {expected:?}", got.map(|_| ())),
        }
    }

    fn attach(&mut self, on: usize, dropped: bool) {
        if self.detached.is_empty() {
            return;
        }
        let (real, model, before) = self.detached.remove(0);
        if dropped {
            drop(real);
            model.give_back(&mut self.under.model);
            return;
        }
        let twin = &mut self.twins[on];
        match (twin.real.attach(real), twin.model.attach(model)) {
            (Ok(handle), Ok(name)) => {
                let written = self.memory.written.remove(&before).expect("it was kept");
                self.memory.written.insert(name, written);
                self.met(on, handle, name);
                self.saw("attached");
            }
            (Err(back), Err((Fault::TooManySequences { max }, model))) => {
                let AttachError::TooManySequences(error) = back.error else {
                    panic!("{:?}", back.error)
                };
                assert_eq!(error.max, max, "attach");
                self.detached.insert(0, (back.value, *model, before));
            }
            (got, expected) => panic!(
                "attach: {:?}, expected {:?}",
                got.map_err(|back| back.error),
                expected.map_err(|(fault, _)| fault)
            ),
        }
    }

    // ---- what is read

    fn copy_table(&mut self, on: usize, who: Who, aim: Aim) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &mut self.twins[on];
        let expected = twin.model.table(name);
        let length = aim.of(expected.map_or(0, <[u32]>::len)).min(200);
        let mut row = vec![-7; length];
        let got = twin.real.copy_table(handle, &mut row);
        let expected = match expected {
            Err(fault) => Err(fault),
            Ok(table) if table.len() > length => Err(Fault::TooShort {
                needed: table.len(),
                got: length,
            }),
            Ok(table) => Ok(table.to_vec()),
        };
        match (got, expected) {
            (Ok(n), Ok(table)) => {
                let written: Vec<i32> = table
                    .iter()
                    .map(|&id| i32::try_from(id).expect("an id has 25 bits"))
                    .collect();
                assert_eq!((n, &row[..n]), (table.len(), &written[..]), "copy_table");
                assert!(
                    row[n..].iter().all(|&entry| entry == -7),
                    "copy_table wrote beyond"
                );
                twin.model.table_was_read(name);
            }
            (Err(got), Err(expected)) => {
                assert_eq!(read_fault(got), expected, "copy_table");
                assert!(row.iter().all(|&entry| entry == -7), "a refused call wrote");
                self.saw("copy_table refused");
            }
            (got, expected) => panic!("copy_table: {got:?}, expected {expected:?}"),
        }
    }

    fn slots(&mut self, on: usize, who: Who, from: Aim, to: Aim) {
        let Some((handle, name)) = self.who(on, who) else {
            return;
        };
        let twin = &self.twins[on];
        let positions = twin.model.positions(name);
        let (from, to) = (from.of(positions), to.of(positions));
        let length = to.saturating_sub(from).min(400);
        for length in [length, length.saturating_sub(1)] {
            let mut out = vec![-7; length];
            let got = twin.real.slots(handle, from..to, &mut out);
            let expected = twin.model.slots(name, from..to, length);
            match (got, expected) {
                (Ok(()), Ok(slots)) => {
                    assert_eq!(out[..slots.len()], slots, "slots");
                }
                (Err(got), Err(expected)) => {
                    assert_eq!(read_fault(got), expected, "slots({from}..{to})");
                    assert!(out.iter().all(|&slot| slot == -7), "a refused call wrote");
                }
                (got, expected) => panic!("slots({from}..{to}): {got:?}, expected {expected:?}"),
            }
        }
    }

    fn victims(&mut self, on: usize, order: &[Who], need: usize) {
        let order: Vec<_> = order.iter().filter_map(|&who| self.who(on, who)).collect();
        let handles: Vec<_> = order.iter().map(|&(handle, _)| handle).collect();
        let names: Vec<_> = order.iter().map(|&(_, name)| name).collect();
        let twin = &self.twins[on];
        let mut victims = Vec::new();
        let got = twin.real.select_victims(&handles, need, &mut victims);
        let expected = twin.model.victims(&self.under.model, &names, need);
        match (got, expected) {
            (Ok(free), Ok((expected, expected_free))) => {
                let of = |name: Name| order.iter().find(|(_, other)| *other == name).map(|o| o.0);
                let expected: Vec<_> = expected
                    .into_iter()
                    .map(|(name, blocks)| (of(name).expect("it is among them"), blocks))
                    .collect();
                let got: Vec<_> = victims
                    .iter()
                    .map(|victim| (victim.handle, victim.blocks))
                    .collect();
                assert_eq!(
                    (got, free),
                    (expected, expected_free),
                    "select_victims({need})"
                );
                if free > 0 {
                    self.saw("victims");
                }
            }
            (Err(VictimsError::Stale(_)), Err(Fault::Stale)) => {
                self.saw("victims among them nobody")
            }
            (got, expected) => panic!("select_victims: {got:?}, expected {expected:?}"),
        }
    }

    // ---- comparison

    fn check(&mut self) {
        let mut holders: Vec<&dyn Holder> = Vec::new();
        holders.extend(self.twins.iter().map(|twin| &twin.real as &dyn Holder));
        holders.extend(self.detached.iter().map(|(real, ..)| real as &dyn Holder));
        holders.extend(self.lanes.own.iter().map(|(lane, _)| lane as &dyn Holder));
        holders.push(&self.world.leases.0);
        self.under.check_beside(&holders);
        self.lanes.check();
        self.world.check();
        for twin in &self.twins {
            same_registry(&twin.real, &twin.model, &twin.living, &self.under.model);
        }
        self.memory.check(
            &self.under.model,
            &self.twins,
            &self.detached,
            &self.lanes,
            &self.world,
        );
        for (on, twin) in self.twins.iter().enumerate() {
            let mut others = self.under.holders();
            others.extend(
                holders
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != on)
                    .map(|(_, holder)| *holder),
            );
            assert_eq!(twin.real.audit(&others), Ok(()), "audit of registry {on}");
        }
    }

    fn finish(mut self) -> Tally {
        // All but one copy and one sequence of each registry, which go with it.
        for (ticket, on, name, copy) in core::mem::take(&mut self.tickets) {
            let twin = &mut self.twins[on];
            if twin.model.is_pending(name) && twin.model.pending() > 1 {
                self.memory.copied((on, name), copy);
                assert_eq!(twin.real.copied(ticket), Ok(()), "copied");
                let full = twin.model.owner(name).and_then(|owner| {
                    let (handle, _) = twin.living.iter().find(|(_, other)| *other == owner)?;
                    full_index(&self.scheduling, twin, *handle, owner, &self.under.model)
                });
                twin.model
                    .copied(&mut self.under.model, name, full)
                    .expect("it is pending");
            }
        }
        self.check();
        for on in 0..REGISTRIES {
            while self.twins[on].living.len() > 1 {
                self.release(on, Who::Living(0), false);
            }
        }
        self.check();
        for (real, model, _) in self.detached.drain(..) {
            drop(real);
            model.give_back(&mut self.under.model);
        }
        self.end_imports(true);
        for (on, twin) in self.twins.drain(..).enumerate() {
            drop(twin.real);
            twin.model.close(&mut self.under.model);
            self.world.drop_loads(&mut self.under.model, on);
        }
        self.end_imports(false);
        self.world.close(&mut self.under.model);
        Self::drop_lanes(self.lanes, &mut self.under.model);
        self.under.finish();
        self.under.tally
    }
}

/// What is asked of the model.
pub(crate) fn asking<'a>(name: u8, slices: &'a Slices, request: &Request) -> Asking<'a> {
    Asking {
        question: question(name, slices, request.asked.full_hit),
        growth: request.growth,
        conservative: request.conservative,
        insert: request.insert,
        returning: request.returning,
        label: u64::from(request.label),
    }
}

/// And what is asked of the registry.
pub(crate) fn admission<'a>(
    namespace: &'a Namespace,
    slices: &'a Slices,
    extra: &'a [ExtraKey],
    request: &Request,
) -> Admit<'a> {
    let growth = match request.growth {
        registry::Growth::Cap(positions) => Growth::Cap(positions),
        registry::Growth::Ahead(blocks) => Growth::Ahead(blocks),
        registry::Growth::OnDemand => Growth::OnDemand,
    };
    let budget = if request.conservative {
        Budget::Conservative
    } else {
        Budget::Physical
    };
    let prompt = prompt(namespace, slices, extra, request.asked.full_hit);
    Admit::new(prompt, growth)
        .budget(budget)
        .insert(request.insert)
        .returning(request.returning)
        .label(u64::from(request.label))
}

/// How blocks are laid out; by what their elements are.
pub(crate) fn layout(block_size: usize, element: u32) -> KvFormat {
    let element = kvblock::ElementType::new(element);
    KvFormat::new(block_size, element, [60, 40]).expect("two planes")
}

/// Where publishing stopped for lack of a place in the index, which only the library can know: as many blocks of this call as it
/// published before. `None` where keys differ.
fn full_index(
    scheduling: &Scheduling,
    twin: &Twin,
    handle: Handle,
    name: Name,
    pool: &Model,
) -> Option<usize> {
    let equal = matches!(scheduling.pool.keys, Keys::Constant | Keys::EngineConstant);
    if !equal || pool.published() < PLACES {
        return None;
    }
    let before = twin.model.state(name).ok()?.published;
    let now = twin.real.state(handle).ok()?.published;
    Some(now.saturating_sub(before))
}

/// The same for a sequence that is gone: by what the pool has counted.
fn full_index_now(scheduling: &Scheduling, twin: &Twin, pool: &Model) -> Option<usize> {
    let equal = matches!(scheduling.pool.keys, Keys::Constant | Keys::EngineConstant);
    if !equal || pool.published() < PLACES {
        return None;
    }
    let (now, before) = (twin.real.pool().report(), pool.figures());
    let published = now.stored + now.duplicates - before.stored - before.duplicates;
    usize::try_from(published).ok()
}
