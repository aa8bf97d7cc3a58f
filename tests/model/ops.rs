//! Operations, and the driver that runs each on the pool and on the model and compares everything that can be seen.
//!
//! Operations name what they act on by a small number that is taken modulo what there is, so that any list of them means something:
//! proptest may shrink it and the fuzzer may make it from bytes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kvblock::{
    BlockId, BlockPool, Blocks, Chain, ConstantHasher, Contents, Event, EventKind, EventReader,
    ExtraKey, Field, FindError, Findable, Holder, InvalidateError, LengthMismatch, Namespace,
    PoolConfig, PoolReport, Probe, Prompt, Proof, PublishError, Published, Refused, Reservation,
    ResizeError, Stopped, TakeError, Worker, WrongPool,
};

use crate::reference::{
    Beyond, Figures, Hand, Line, Model, News, Notice, Outcome, Page, Part, Question, Refusal, Seen,
    Stop, Text, Unmoved, Unpublishable, WrongLength,
};

/// At most so many reservations, batches of blocks and chains live at a time.
pub(crate) const SLOTS: usize = 10;
/// The key of all blocks where all keys are equal.
pub(crate) const EQUAL_KEY: u64 = 7;

/// Where the chain keys come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// The pool hashes.
    Hashed,
    /// The pool hashes with a hasher under which all keys are equal.
    Constant,
    /// The engine gives a key for each content.
    Engine,
    /// The engine gives one key for all.
    EngineConstant,
}

/// The pool of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Online from the start, and how many more there is bookkeeping for.
    pub(crate) blocks: usize,
    pub(crate) spare: usize,
    pub(crate) block_size: usize,
    pub(crate) keys: Keys,
    pub(crate) proof: Proof,
    /// Slots of the event ring. A ring below 1024 is read only when an operation says so.
    pub(crate) events: usize,
}

/// One block of a text: which tokens, which extra key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) tokens: u32,
    pub(crate) extra: u8,
}

/// A length that is off by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Tokens,
    Extra,
    Keys,
}

/// A prompt.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) name: u8,
    pub(crate) symbols: Vec<Symbol>,
    /// Tokens after the last whole block.
    pub(crate) rest: usize,
    pub(crate) full_hit: bool,
    pub(crate) wrong: Option<Wrong>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Worker(u8),
    Drop,
}

/// A call that is given something of another pool.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Foreign {
    FindWorker,
    FindPay,
    TakeWorker,
    Append,
    ReleaseBlocks,
    Push,
    PublishWorker,
    PublishPay,
    Fork,
    Adopt,
    ReleaseChain,
    Evict,
    Clear,
    Invalidate,
    Maintain,
}

impl Foreign {
    pub(crate) const ALL: [Self; 15] = [
        Self::FindWorker,
        Self::FindPay,
        Self::TakeWorker,
        Self::Append,
        Self::ReleaseBlocks,
        Self::Push,
        Self::PublishWorker,
        Self::PublishPay,
        Self::Fork,
        Self::Adopt,
        Self::ReleaseChain,
        Self::Evict,
        Self::Clear,
        Self::Invalidate,
        Self::Maintain,
    ];
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Check(usize),
    Reserve(usize),
    Grow {
        which: u8,
        n: usize,
    },
    Shrink {
        which: u8,
        n: usize,
    },
    SplitReservation {
        which: u8,
        n: usize,
    },
    DropReservation {
        which: u8,
    },
    Take {
        from: u8,
        n: usize,
        worker: u8,
    },
    Append {
        to: u8,
        what: u8,
    },
    SplitBlocks {
        which: u8,
        at: usize,
    },
    ReleaseBlocks {
        which: u8,
        by: By,
    },
    Start {
        name: u8,
    },
    Find {
        asked: Asked,
        pay: u8,
        worker: u8,
    },
    Push {
        chain: u8,
        blocks: u8,
    },
    Publish {
        chain: u8,
        symbols: Vec<Symbol>,
        wrong: Option<Wrong>,
        pay: Option<u8>,
        worker: u8,
    },
    Fork {
        chain: u8,
        worker: u8,
    },
    SplitChain {
        chain: u8,
        at: usize,
    },
    Adopt {
        chain: u8,
        worker: u8,
    },
    ReleaseChain {
        chain: u8,
        by: By,
    },
    /// Reserve for the whole prompt, find, take the rest, push; publish what is whole.
    Admit {
        asked: Asked,
        publish: bool,
        worker: u8,
    },
    /// The same for chains of numbered contents, each released at once: leaves of a tree with `fan` children a block, or for a
    /// fan of one chains that share nothing.
    Flood {
        first: u32,
        chains: u32,
        length: u32,
        fan: u32,
        worker: u8,
    },
    Evict {
        n: usize,
        worker: u8,
    },
    Clear {
        name: Option<u8>,
        worker: u8,
    },
    Invalidate {
        block: u32,
        worker: u8,
    },
    Maintain {
        steps: usize,
        worker: u8,
    },
    /// `BlockPool::grow`, as `Grow` is that of a reservation.
    Widen(usize),
    /// `BlockPool::shrink`.
    Narrow {
        n: usize,
        worker: u8,
    },
    Probe {
        asked: Asked,
    },
    ReadEvents,
    Foreign {
        call: Foreign,
        which: u8,
    },
}

/// How often something worth reaching was reached.
pub(crate) type Tally = BTreeMap<&'static str, u64>;

/// Runs the operations on a new pool and a new model. Panics where they differ.
pub(crate) fn run(setup: &Setup, ops: &[Op]) -> Tally {
    let pool = BlockPool::new(&config(setup)).expect("the setup is sound");
    let other =
        BlockPool::new(&PoolConfig::new(4, setup.block_size)).expect("the other setup is sound");
    let mut driver = Driver::new(setup, &pool, &other);
    for (step, op) in ops.iter().enumerate() {
        let at = Place { setup, step, op };
        driver.run(op);
        driver.check();
        drop(at);
    }
    let at = Place {
        setup,
        step: ops.len(),
        op: &Op::ReadEvents,
    };
    driver.finish();
    drop(at);
    driver.tally
}

/// Says where the run was if it panics.
pub(crate) struct Place<'a> {
    pub(crate) setup: &'a dyn Debug,
    pub(crate) step: usize,
    pub(crate) op: &'a dyn Debug,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        eprintln!(
            "pool and model differ at step {} of {:?}: {:?}",
            self.step, self.setup, self.op
        );
    }
}

pub(crate) fn config(setup: &Setup) -> PoolConfig {
    let config = PoolConfig::new(setup.blocks, setup.block_size)
        .max_blocks(setup.blocks + setup.spare)
        .proof(setup.proof)
        .events(setup.events);
    match setup.keys {
        Keys::Constant => config.hasher(Arc::new(ConstantHasher(EQUAL_KEY))),
        _ => config,
    }
}

pub(crate) fn names() -> [Namespace; 3] {
    [
        Namespace::new(),
        Namespace::new().adapter("a", 1),
        Namespace::new().salt("a"),
    ]
}

/// The tokens of a symbol: those of the first three differ in the first or in the last place only.
pub(crate) fn tokens_of(symbol: Symbol, block_size: usize) -> Vec<u32> {
    let mut tokens = vec![0; block_size];
    match symbol.tokens {
        0 => {}
        1 => tokens[block_size - 1] = 1,
        2 => tokens[0] = 2,
        number => tokens.fill(number),
    }
    tokens
}

/// The slices of a call.
pub(crate) struct Slices {
    pub(crate) tokens: Vec<u32>,
    pub(crate) extra: Vec<u128>,
    pub(crate) keys: Vec<u64>,
}

impl Slices {
    pub(crate) fn extra_keys(&self) -> Vec<ExtraKey> {
        self.extra.iter().map(|&bits| ExtraKey::new(bits)).collect()
    }
}

pub(crate) struct Driver<'p> {
    pub(crate) setup: Setup,
    pub(crate) pool: &'p BlockPool,
    pub(crate) names: [Namespace; 3],
    pub(crate) model: Model,
    workers: Vec<(Worker, Hand)>,
    reservations: Vec<(Reservation<'p>, usize)>,
    blocks: Vec<(Blocks<'p>, Vec<u32>)>,
    chains: Vec<(Chain<'p>, Line)>,
    other: Other<'p>,
    reader: Option<EventReader<'p>>,
    /// Notices of the model that were compared with events, or missed.
    told: usize,
    /// The cache as the events tell it.
    replayed: BTreeMap<(u32, u64), (Findable, Option<u32>)>,
    /// The key under which a content was stored first.
    keys_seen: BTreeMap<(u8, Vec<Page>), u64>,
    pub(crate) tally: Tally,
}

/// Another pool, from which foreign arguments come.
struct Other<'p> {
    pool: &'p BlockPool,
    worker: Worker,
    reservation: Reservation<'p>,
    blocks: Option<Blocks<'p>>,
    figures: Figures,
}

impl<'p> Other<'p> {
    fn new(pool: &'p BlockPool) -> Self {
        let mut worker = pool.worker().expect("a worker");
        let mut reservation = pool.reserve(3).expect("three of four");
        let blocks = reservation.take(&mut worker, 1).expect("one of three");
        Self {
            pool,
            worker,
            reservation,
            blocks: Some(blocks),
            figures: figures(&pool.report()),
        }
    }

    fn check(&self) {
        assert_eq!(
            figures(&self.pool.report()),
            self.figures,
            "the other pool changed"
        );
        let blocks = self.blocks.as_ref().expect("they came back");
        let holders: [&dyn Holder; 2] = [&self.reservation, blocks];
        assert_eq!(self.pool.audit(&holders), Ok(()), "audit of the other pool");
    }
}

impl<'p> Driver<'p> {
    pub(crate) fn new(setup: &Setup, pool: &'p BlockPool, other: &'p BlockPool) -> Self {
        let workers = (0..2)
            .map(|_| {
                let hand = Hand::new(setup.blocks + setup.spare);
                (pool.worker().expect("a worker"), hand)
            })
            .collect();
        let driver = Self {
            setup: *setup,
            pool,
            names: names(),
            model: Model::new(setup.blocks + setup.spare, setup.blocks, setup.block_size),
            workers,
            reservations: Vec::new(),
            blocks: Vec::new(),
            chains: Vec::new(),
            other: Other::new(other),
            reader: pool.events(),
            told: 0,
            replayed: BTreeMap::new(),
            keys_seen: BTreeMap::new(),
            tally: Tally::new(),
        };
        assert_eq!(
            driver.reader.is_some(),
            setup.events > 0,
            "events are there when asked for"
        );
        driver
    }

    pub(crate) fn saw(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    // ---- operations

    pub(crate) fn run(&mut self, op: &Op) {
        match *op {
            Op::Check(n) => {
                assert_eq!(refused(self.pool.check(n)), self.model.ask(n), "check({n})")
            }
            Op::Reserve(n) => self.reserve(n),
            Op::Grow { which, n } => self.grow(which, n),
            Op::Shrink { which, n } => self.shrink(which, n),
            Op::SplitReservation { which, n } => self.split_reservation(which, n),
            Op::DropReservation { which } => self.drop_reservation(which),
            Op::Take { from, n, worker } => self.take(from, n, worker),
            Op::Append { to, what } => self.append(to, what),
            Op::SplitBlocks { which, at } => self.split_blocks(which, at),
            Op::ReleaseBlocks { which, by } => self.release_blocks(which, by),
            Op::Start { name } => self.start(name),
            Op::Find {
                ref asked,
                pay,
                worker,
            } => self.find(asked, pay, worker),
            Op::Push { chain, blocks } => self.push(chain, blocks),
            Op::Publish {
                chain,
                ref symbols,
                wrong,
                pay,
                worker,
            } => {
                self.publish(chain, symbols, wrong, pay, worker);
            }
            Op::Fork { chain, worker } => self.fork(chain, worker),
            Op::SplitChain { chain, at } => self.split_chain(chain, at),
            Op::Adopt { chain, worker } => self.adopt(chain, worker),
            Op::ReleaseChain { chain, by } => self.release_chain(chain, by),
            Op::Admit {
                ref asked,
                publish,
                worker,
            } => self.admit(asked, publish, worker),
            Op::Flood {
                first,
                chains,
                length,
                fan,
                worker,
            } => {
                for chain in first..first + chains {
                    self.flood(chain, length, fan, worker);
                }
            }
            Op::Evict { n, worker } => {
                let (worker, hand) = pick(&mut self.workers, worker).expect("there are workers");
                assert_eq!(
                    self.pool.evict(worker, n),
                    Ok(self.model.evict(hand, n)),
                    "evict({n})"
                );
            }
            Op::Clear { name, worker } => self.clear(name, worker),
            Op::Invalidate { block, worker } => self.invalidate(block, worker),
            Op::Maintain { steps, worker } => {
                let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
                let dropped = self.model.maintain(steps);
                assert_eq!(
                    self.pool.maintain(worker, steps),
                    Ok(dropped),
                    "maintain({steps})"
                );
                if dropped > 0 {
                    self.saw("stale token dropped by maintain");
                }
            }
            Op::Widen(n) => self.widen(n),
            Op::Narrow { n, worker } => self.narrow(n, worker),
            Op::Probe { ref asked } => self.probe(asked),
            Op::ReadEvents => self.read_events(),
            Op::Foreign { call, which } => self.foreign(call, which),
        }
    }

    fn reserve(&mut self, n: usize) {
        if self.reservations.len() == SLOTS {
            return;
        }
        let expected = self.model.reserve(0, n);
        match (self.pool.reserve(n), expected) {
            (Ok(reservation), Ok(length)) => self.reservations.push((reservation, length)),
            (got, expected) => assert_eq!(
                refused(got.map(|_| ())),
                expected.map(|_| ()),
                "reserve({n})"
            ),
        }
    }

    fn grow(&mut self, which: u8, n: usize) {
        let Some((reservation, length)) = pick(&mut self.reservations, which) else {
            return;
        };
        let expected = self.model.reserve(*length, n);
        assert_eq!(
            refused(reservation.grow(n)),
            expected.map(|_| ()),
            "grow({n})"
        );
        *length = expected.unwrap_or(*length);
    }

    fn shrink(&mut self, which: u8, n: usize) {
        let Some((reservation, length)) = pick(&mut self.reservations, which) else {
            return;
        };
        let expected = within(n, *length);
        assert_eq!(
            reservation.shrink(n).map_err(beyond),
            expected,
            "shrink({n})"
        );
        if expected.is_ok() {
            *length -= n;
            self.model.give_back(n);
        }
    }

    fn split_reservation(&mut self, which: u8, n: usize) {
        if self.reservations.len() == SLOTS {
            return;
        }
        let Some((reservation, length)) = pick(&mut self.reservations, which) else {
            return;
        };
        let expected = within(n, *length);
        match (reservation.split(n), expected) {
            (Ok(part), Ok(())) => {
                *length -= n;
                self.reservations.push((part, n));
            }
            (got, expected) => assert_eq!(got.map(|_| ()).map_err(beyond), expected, "split({n})"),
        }
    }

    fn drop_reservation(&mut self, which: u8) {
        let Some((reservation, length)) = pull(&mut self.reservations, which) else {
            return;
        };
        drop(reservation);
        self.model.give_back(length);
    }

    fn take(&mut self, from: u8, n: usize, worker: u8) {
        if self.blocks.len() == SLOTS {
            return;
        }
        let Some((reservation, length)) = pick(&mut self.reservations, from) else {
            return;
        };
        let (worker, hand) = pick(&mut self.workers, worker).expect("there are workers");
        let expected = self.model.take(hand, length, n);
        match (reservation.take(worker, n), expected) {
            (Ok(blocks), Ok(ids)) => {
                assert_eq!(numbers(blocks.ids()), ids, "take({n})");
                self.blocks.push((blocks, ids));
            }
            (Err(TakeError::Exceeds(exceeds)), Err(expected)) => {
                assert_eq!(beyond(exceeds), expected, "take({n})")
            }
            (got, expected) => panic!("take({n}): {:?}, expected {expected:?}", got.map(|_| ())),
        }
    }

    fn append(&mut self, to: u8, what: u8) {
        if self.blocks.len() < 2 {
            return;
        }
        let (more, ids) = pull(&mut self.blocks, what).expect("there are two");
        let (blocks, known) = pick(&mut self.blocks, to).expect("there is one left");
        blocks.append(more).expect("both are of this pool");
        known.extend(ids);
    }

    fn split_blocks(&mut self, which: u8, at: usize) {
        if self.blocks.len() == SLOTS {
            return;
        }
        let Some((blocks, ids)) = pick(&mut self.blocks, which) else {
            return;
        };
        let expected = within(at, ids.len());
        match (blocks.split_off(at), expected) {
            (Ok(tail), Ok(())) => {
                let rest = ids.split_off(at);
                self.blocks.push((tail, rest));
            }
            (Err(kvblock::SplitError::Exceeds(got)), Err(expected)) => {
                assert_eq!(beyond(got), expected, "split_off({at})");
            }
            (got, expected) => panic!(
                "split_off({at}): {:?}, expected {expected:?}",
                got.map(|_| ())
            ),
        }
    }

    fn release_blocks(&mut self, which: u8, by: By) {
        let Some((blocks, ids)) = pull(&mut self.blocks, which) else {
            return;
        };
        match by {
            By::Drop => drop(blocks),
            By::Worker(worker) => {
                let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
                blocks.release(worker).expect("the worker is of this pool");
            }
        }
        self.model.release_blocks(&ids);
    }

    fn start(&mut self, name: u8) {
        if self.chains.len() < SLOTS {
            let name = self.name(name);
            self.chains.push((
                self.pool.chain(&self.names[usize::from(name)]),
                Line::new(name),
            ));
        }
    }

    pub(crate) fn name(&self, name: u8) -> u8 {
        name % u8::try_from(self.names.len()).expect("few names")
    }

    fn find(&mut self, asked: &Asked, pay: u8, worker: u8) {
        if self.chains.len() == SLOTS {
            return;
        }
        let mut nothing = (self.pool.reserve(0).expect("nothing always fits"), 0);
        self.model.reserve(0, 0).expect("nothing always fits");
        let slices = self.prompt_slices(asked);
        let extra = slices.extra_keys();
        let name = self.name(asked.name);
        let prompt = prompt(
            &self.names[usize::from(name)],
            &slices,
            &extra,
            asked.full_hit,
        );
        let (reservation, length) = pick(&mut self.reservations, pay).unwrap_or(&mut nothing);
        let (worker, hand) = pick(&mut self.workers, worker).expect("there are workers");
        let expected = self
            .model
            .find(hand, &question(name, &slices, asked.full_hit), length);
        match (self.pool.find(worker, &prompt, reservation), expected) {
            (Ok(chain), Ok(line)) => {
                assert_eq!(numbers(chain.ids()), line.table, "find");
                let hit = !line.table.is_empty();
                self.chains.push((chain, line));
                if hit {
                    self.saw("hit");
                }
            }
            (Err(FindError::LengthMismatch(got)), Err(expected)) => {
                assert_eq!(wrong_length(got), expected, "find")
            }
            (got, expected) => panic!("find: {:?}, expected {expected:?}", got.map(|_| ())),
        }
    }

    fn push(&mut self, chain: u8, blocks: u8) {
        if self.chains.is_empty() {
            return;
        }
        let Some((blocks, ids)) = pull(&mut self.blocks, blocks) else {
            return;
        };
        let (chain, line) = pick(&mut self.chains, chain).expect("there is one");
        chain.push(blocks).expect("both are of this pool");
        line.table.extend(ids);
    }

    fn publish(
        &mut self,
        chain: u8,
        symbols: &[Symbol],
        wrong: Option<Wrong>,
        pay: Option<u8>,
        worker: u8,
    ) {
        let Some(at) = index(self.chains.len(), chain) else {
            return;
        };
        // As many as there is room for, unless the length is to be wrong.
        let line = &self.chains[at].1;
        let room = line.table.len() - line.found.len();
        let symbols = if wrong == Some(Wrong::Tokens) {
            symbols
        } else {
            &symbols[..symbols.len().min(room)]
        };
        let slices = self.contents_slices(at, symbols, wrong);
        let extra = slices.extra_keys();
        let contents = Contents::new(&slices.tokens)
            .extra(&extra)
            .keys(&slices.keys);
        let text = Text {
            tokens: &slices.tokens,
            extra: &slices.extra,
            keys: slices.keys.len(),
        };
        let (worker, hand) = pick(&mut self.workers, worker).expect("there are workers");
        let (chain, line) = &mut self.chains[at];
        let (pay, promise) = match pay.and_then(|pay| pick(&mut self.reservations, pay)) {
            Some((reservation, length)) => (Some(reservation), Some(length)),
            None => (None, None),
        };
        let got = chain.publish(worker, &contents, pay);
        let full_at = match got {
            Ok(Published {
                stored,
                duplicates,
                stopped: Some(Stopped::IndexFull),
                ..
            }) if matches!(self.setup.keys, Keys::Constant | Keys::EngineConstant) => {
                Some(stored + duplicates)
            }
            _ => None,
        };
        let expected = self.model.publish(hand, line, &text, promise, full_at);
        match (got, expected) {
            (Ok(got), Ok(expected)) => {
                assert_eq!(outcome(got), expected, "publish");
                self.saw_outcome(expected);
            }
            (Err(PublishError::LengthMismatch(got)), Err(expected)) => {
                assert_eq!(wrong_length(got), expected, "publish");
                self.saw("publish refused for a length");
            }
            (got, expected) => panic!("publish: {got:?}, expected {expected:?}"),
        }
    }

    pub(crate) fn saw_outcome(&mut self, outcome: Outcome) {
        if outcome.stored > 0 {
            self.saw("stored");
        }
        if outcome.duplicates > 0 {
            self.saw("duplicate");
        }
        match outcome.stopped {
            Some(Stop::Unpaid) => self.saw("stopped unpaid"),
            Some(Stop::IndexFull) => self.saw("stopped by a full index"),
            Some(Stop::Cut) => self.saw("stopped by a cut"),
            Some(Stop::Gap) => self.saw("stopped by a gap"),
            Some(Stop::Shared) => self.saw("stopped by another owner"),
            Some(Stop::Draining) => self.saw("stopped above the limit"),
            None => {}
        }
    }

    fn fork(&mut self, chain: u8, worker: u8) {
        if self.chains.len() == SLOTS {
            return;
        }
        let Some((chain, line)) = pick(&mut self.chains, chain) else {
            return;
        };
        let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
        let twin = chain.fork(worker).expect("few references");
        let line = self.model.fork(line);
        self.chains.push((twin, line));
    }

    fn split_chain(&mut self, chain: u8, at: usize) {
        if self.chains.len() == SLOTS {
            return;
        }
        let Some((chain, line)) = pick(&mut self.chains, chain) else {
            return;
        };
        let expected = self.model.split(line, at);
        match (chain.split_off(at), expected) {
            (Ok(tail), Ok(rest)) => {
                let adrift = rest.adrift;
                self.chains.push((tail, rest));
                if adrift {
                    self.saw("tail adrift");
                }
            }
            (Err(kvblock::SplitError::Exceeds(got)), Err(expected)) => {
                assert_eq!(beyond(got), expected, "split_off({at})");
            }
            (got, expected) => panic!(
                "split_off({at}): {:?}, expected {expected:?}",
                got.map(|_| ())
            ),
        }
    }

    fn adopt(&mut self, chain: u8, worker: u8) {
        let Some((chain, line)) = pick(&mut self.chains, chain) else {
            return;
        };
        let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
        let adopted = self.model.adopt_duplicates(line);
        assert_eq!(
            chain.adopt_duplicates(worker),
            Ok(adopted),
            "adopt_duplicates"
        );
        if adopted > 0 {
            self.saw("duplicate adopted");
        }
    }

    fn release_chain(&mut self, chain: u8, by: By) {
        let Some((chain, line)) = pull(&mut self.chains, chain) else {
            return;
        };
        match by {
            By::Drop => drop(chain),
            By::Worker(worker) => {
                let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
                chain.release(worker).expect("the worker is of this pool");
            }
        }
        self.model.release(line);
    }

    fn admit(&mut self, asked: &Asked, publish: bool, worker: u8) {
        if self.reservations.len() == SLOTS
            || self.blocks.len() == SLOTS
            || self.chains.len() == SLOTS
        {
            return;
        }
        let asked = Asked {
            wrong: None,
            ..asked.clone()
        };
        let (promises, chains) = (self.reservations.len(), self.chains.len());
        self.reserve(asked.symbols.len() + usize::from(asked.rest > 0));
        self.check();
        let Some(last) = last_if_more(self.reservations.len(), promises) else {
            return;
        };
        self.find(&asked, last, worker);
        self.check();
        let chain = last_if_more(self.chains.len(), chains)
            .expect("an admission finds a chain, be it empty");
        let (left, hit) = (
            self.reservations[usize::from(last)].1,
            self.chains[usize::from(chain)].1.table.len(),
        );
        let blocks = last_if_more(self.blocks.len() + 1, self.blocks.len()).expect("one more");
        let missing = left.min(asked.symbols.len() + usize::from(asked.rest > 0) - hit);
        self.take(last, missing, worker);
        self.check();
        self.push(chain, blocks);
        if publish {
            self.publish(chain, &asked.symbols[hit..], None, Some(last), worker);
            self.check();
        }
        self.drop_reservation(last);
    }

    fn flood(&mut self, chain: u32, length: u32, fan: u32, worker: u8) {
        let symbol = |at: u32| {
            let leaves_below = fan.saturating_pow(length - 1 - at);
            let tokens = 100 + length * 1_000_000 + at * 10_000 + chain / leaves_below;
            Symbol { tokens, extra: 0 }
        };
        let asked = Asked {
            name: 0,
            symbols: (0..length).map(symbol).collect(),
            rest: 0,
            full_hit: true,
            wrong: None,
        };
        let before = self.chains.len();
        self.admit_unchecked(&asked, worker);
        if let Some(last) = last_if_more(self.chains.len(), before) {
            self.release_chain(last, By::Worker(worker));
        }
    }

    /// `admit` without a check after each call, for hundreds of them.
    fn admit_unchecked(&mut self, asked: &Asked, worker: u8) {
        let (promises, chains) = (self.reservations.len(), self.chains.len());
        if self.blocks.len() == SLOTS {
            return;
        }
        self.reserve(asked.symbols.len());
        let Some(last) = last_if_more(self.reservations.len(), promises) else {
            return;
        };
        self.find(asked, last, worker);
        if let Some(chain) = last_if_more(self.chains.len(), chains) {
            let blocks = last_if_more(self.blocks.len() + 1, self.blocks.len()).expect("one more");
            let hit = self.chains[usize::from(chain)].1.table.len();
            self.take(last, asked.symbols.len() - hit, worker);
            self.push(chain, blocks);
            self.publish(chain, &asked.symbols[hit..], None, Some(last), worker);
        }
        self.drop_reservation(last);
    }

    fn clear(&mut self, name: Option<u8>, worker: u8) {
        let name = name.map(|name| self.name(name));
        let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
        let namespace = name.map(|name| &self.names[usize::from(name)]);
        let freed = self.model.clear(name);
        assert_eq!(
            self.pool.clear(worker, namespace),
            Ok(freed),
            "clear({name:?})"
        );
        if freed > 0 {
            self.saw("freed by clear");
        }
    }

    fn invalidate(&mut self, block: u32, worker: u8) {
        let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
        let got = self
            .pool
            .invalidate(worker, BlockId::new(block))
            .map_err(|error| match error {
                InvalidateError::OutOfRange { block, capacity } => Unpublishable::OutOfRange {
                    block: block.get(),
                    capacity,
                },
                InvalidateError::NotPublished { block } => {
                    Unpublishable::NotPublished { block: block.get() }
                }
                error => panic!("invalidate({block}): {error}"),
            });
        let expected = self.model.invalidate(block);
        assert_eq!(got, expected, "invalidate({block})");
        if expected.is_ok_and(|freed| freed > 0) {
            self.saw("freed by invalidate");
        }
    }

    /// `BlockPool::grow`; `Grow` is that of a reservation.
    fn widen(&mut self, n: usize) {
        let got = self.pool.grow(n).map_err(unmoved);
        let expected = self.model.grow(n);
        let counts = got.map(|grown| (grown.online, grown.taken_back));
        assert_eq!(
            counts,
            expected.map(|online| (online, n - online)),
            "grow({n})"
        );
        match expected {
            Ok(online) if online > 0 => self.saw("came online"),
            Ok(_) if n > 0 => self.saw("taken back"),
            Ok(_) => {}
            Err(_) => self.saw("grow refused"),
        }
    }

    /// `BlockPool::shrink`.
    fn narrow(&mut self, n: usize, worker: u8) {
        let (worker, _) = pick(&mut self.workers, worker).expect("there are workers");
        let got = self.pool.shrink(worker, n).map_err(unmoved);
        let (draining, expected) = (self.model.draining(), self.model.shrink(n));
        assert_eq!(
            got.map(|shrunk| (shrunk.offline, shrunk.draining)),
            expected.map(|offline| (offline, self.model.draining())),
            "shrink({n})"
        );
        match expected {
            Ok(0) => {}
            Ok(_) if n == 0 => self.saw("collected"),
            Ok(_) => self.saw("went offline"),
            Err(Unmoved::Short(_)) => self.saw("shrink refused"),
            Err(_) => {}
        }
        if expected.is_ok() && self.model.draining() > draining {
            self.saw("left draining");
        }
    }

    fn probe(&mut self, asked: &Asked) {
        let slices = self.prompt_slices(asked);
        let extra = slices.extra_keys();
        let name = self.name(asked.name);
        let prompt = prompt(
            &self.names[usize::from(name)],
            &slices,
            &extra,
            asked.full_hit,
        );
        let got = self.pool.probe(&prompt).map(seen).map_err(wrong_length);
        assert_eq!(
            got,
            self.model.probe(&question(name, &slices, asked.full_hit)),
            "probe"
        );
    }

    fn foreign(&mut self, call: Foreign, which: u8) {
        let other = &mut self.other;
        let nothing = [0; 4];
        let contents = Contents::new(&nothing[..0]);
        let prompt = Prompt::new(&self.names[0], &nothing);
        let (worker, _) = pick(&mut self.workers, which).expect("there are workers");
        match call {
            Foreign::FindWorker => {
                let Some((pay, _)) = pick(&mut self.reservations, which) else {
                    return;
                };
                let got = self.pool.find(&mut other.worker, &prompt, pay).map(|_| ());
                assert_eq!(got, Err(FindError::WrongPool), "{call:?}");
            }
            Foreign::FindPay => {
                let got = self
                    .pool
                    .find(worker, &prompt, &mut other.reservation)
                    .map(|_| ());
                assert_eq!(got, Err(FindError::WrongPool), "{call:?}");
            }
            Foreign::TakeWorker => {
                let Some((reservation, length)) = pick(&mut self.reservations, which) else {
                    return;
                };
                let got = reservation.take(&mut other.worker, *length + 1).map(|_| ());
                assert_eq!(got, Err(TakeError::WrongPool), "{call:?}");
            }
            Foreign::Append => {
                let Some((blocks, _)) = pick(&mut self.blocks, which) else {
                    return;
                };
                let foreign = other.blocks.take().expect("they came back");
                let back = blocks.append(foreign).expect_err("foreign blocks");
                assert_eq!(back.error, kvblock::JoinError::WrongPool, "{call:?}");
                other.blocks = Some(back.value);
            }
            Foreign::ReleaseBlocks => {
                let Some((blocks, ids)) = pull(&mut self.blocks, which) else {
                    return;
                };
                let back = blocks
                    .release(&mut other.worker)
                    .expect_err("a foreign worker");
                self.blocks.push((back.value, ids));
            }
            Foreign::Push => {
                let Some((chain, _)) = pick(&mut self.chains, which) else {
                    return;
                };
                let foreign = other.blocks.take().expect("they came back");
                other.blocks = Some(chain.push(foreign).expect_err("foreign blocks").value);
            }
            Foreign::PublishWorker => {
                let Some((chain, _)) = pick(&mut self.chains, which) else {
                    return;
                };
                let got = chain.publish(&mut other.worker, &contents, None);
                assert_eq!(got, Err(PublishError::WrongPool), "{call:?}");
            }
            Foreign::PublishPay => {
                let Some((chain, _)) = pick(&mut self.chains, which) else {
                    return;
                };
                let got = chain.publish(worker, &contents, Some(&mut other.reservation));
                assert_eq!(got, Err(PublishError::WrongPool), "{call:?}");
            }
            Foreign::Fork => {
                let Some((chain, _)) = pick(&mut self.chains, which) else {
                    return;
                };
                let got = chain.fork(&mut other.worker).map(|_| ());
                assert_eq!(got, Err(kvblock::ForkError::WrongPool), "{call:?}");
            }
            Foreign::Adopt => {
                let Some((chain, _)) = pick(&mut self.chains, which) else {
                    return;
                };
                assert_eq!(
                    chain.adopt_duplicates(&mut other.worker),
                    Err(WrongPool),
                    "{call:?}"
                );
            }
            Foreign::ReleaseChain => {
                let Some((chain, line)) = pull(&mut self.chains, which) else {
                    return;
                };
                let back = chain
                    .release(&mut other.worker)
                    .expect_err("a foreign worker");
                self.chains.push((back.value, line));
            }
            Foreign::Evict => assert_eq!(
                self.pool.evict(&mut other.worker, 1),
                Err(WrongPool),
                "{call:?}"
            ),
            Foreign::Clear => {
                let got = self.pool.clear(&mut other.worker, None);
                assert_eq!(got, Err(kvblock::ClearError::WrongPool), "{call:?}");
            }
            Foreign::Invalidate => {
                let got = self
                    .pool
                    .invalidate(&mut other.worker, BlockId::new(u32::from(which)));
                assert_eq!(got, Err(InvalidateError::WrongPool), "{call:?}");
            }
            Foreign::Maintain => assert_eq!(
                self.pool.maintain(&mut other.worker, 1),
                Err(WrongPool),
                "{call:?}"
            ),
        }
        self.other.check();
    }

    // ---- arguments

    pub(crate) fn prompt_slices(&self, asked: &Asked) -> Slices {
        let mut slices = self.slices(
            self.name(asked.name),
            Vec::new(),
            &asked.symbols,
            asked.wrong,
        );
        if asked.wrong != Some(Wrong::Tokens) {
            let rest = asked.rest % self.setup.block_size;
            slices.tokens.extend(std::iter::repeat_n(0, rest));
        }
        slices
    }

    fn contents_slices(&self, chain: usize, symbols: &[Symbol], wrong: Option<Wrong>) -> Slices {
        let line = &self.chains[chain].1;
        let above = line.found.last().or(line.head.last());
        let path = above.map_or_else(Vec::new, |&id| self.model.path(id).1);
        let mut slices = self.slices(line.name, path, symbols, wrong);
        // Blocks of one token can only be too many.
        if wrong == Some(Wrong::Tokens) && self.setup.block_size > 1 {
            slices.tokens.push(0);
        }
        slices
    }

    /// The slices for these blocks, which come after those of the path.
    fn slices(
        &self,
        name: u8,
        mut path: Vec<Page>,
        symbols: &[Symbol],
        wrong: Option<Wrong>,
    ) -> Slices {
        let mut slices = Slices {
            tokens: Vec::new(),
            extra: Vec::new(),
            keys: Vec::new(),
        };
        for &symbol in symbols {
            let page = Page {
                tokens: tokens_of(symbol, self.setup.block_size),
                extra: u128::from(symbol.extra) << 70,
            };
            slices.tokens.extend(&page.tokens);
            slices.extra.push(page.extra);
            path.push(page);
            match self.setup.keys {
                Keys::Engine => slices.keys.push(engine_key(name, &path)),
                Keys::EngineConstant => slices.keys.push(EQUAL_KEY),
                Keys::Hashed | Keys::Constant => {}
            }
        }
        // No extra keys at all and all of them NONE are one and the same; both forms are used.
        if slices.extra.iter().all(|&extra| extra == 0) && slices.tokens.first() != Some(&2) {
            slices.extra.clear();
        }
        match wrong {
            Some(Wrong::Extra) => slices.extra = vec![0; symbols.len() + 1],
            Some(Wrong::Keys) => slices.keys = vec![0; symbols.len() + 1],
            Some(Wrong::Tokens) | None => {}
        }
        slices
    }

    // ---- comparison

    fn check(&mut self) {
        self.check_beside(&[]);
    }

    /// Compares everything; `others` hold blocks and credits too.
    pub(crate) fn check_beside(&mut self, others: &[&dyn Holder]) {
        self.model.check();
        let report = self.pool.report();
        let expected = self.model.figures();
        assert_eq!(figures(&report), expected, "report");
        assert_eq!(
            report.free + report.idle + report.held + report.quarantined,
            report.capacity,
            "accounting identity"
        );
        assert_eq!(
            (
                report.online + report.draining,
                report.capacity + report.offline
            ),
            (report.capacity, report.max_blocks),
            "what is online, draining and offline"
        );
        assert_eq!(
            (self.pool.available(), self.pool.reserved()),
            (self.model.available(), self.model.reserved())
        );
        for (reservation, length) in &self.reservations {
            assert_eq!(
                (reservation.len(), reservation.is_empty()),
                (*length, *length == 0),
                "length of a reservation"
            );
        }
        for (blocks, ids) in &self.blocks {
            assert_eq!(
                (numbers(blocks.ids()), blocks.len()),
                (ids.clone(), ids.len()),
                "blocks"
            );
        }
        for (chain, line) in &self.chains {
            assert_eq!(
                (numbers(chain.ids()), chain.len()),
                (line.table.clone(), line.table.len()),
                "chain"
            );
            assert_eq!(
                chain.published(),
                line.found.len(),
                "published blocks of a chain"
            );
        }
        let mut holders = self.holders();
        holders.extend_from_slice(others);
        assert_eq!(self.pool.audit(&holders), Ok(()), "audit");
        if self.setup.events >= 1024 {
            self.read_events();
        }
        self.compare_snapshot();
        self.note_states();
    }

    /// Those of the pool's own calls.
    pub(crate) fn holders(&self) -> Vec<&dyn Holder> {
        let mut holders: Vec<&dyn Holder> = Vec::new();
        holders.extend(
            self.reservations
                .iter()
                .map(|(reservation, _)| reservation as &dyn Holder),
        );
        holders.extend(self.blocks.iter().map(|(blocks, _)| blocks as &dyn Holder));
        holders.extend(self.chains.iter().map(|(chain, _)| chain as &dyn Holder));
        holders
    }

    fn note_states(&mut self) {
        let figures = self.model.figures();
        let reached = [
            ("reclaimed", figures.reclaims > 0),
            ("second chance", figures.second_chances > 0),
            ("refused for ever", figures.refused_never > 0),
            ("refused for now", figures.refused_shortfall > 0),
            (
                "all free again after use",
                figures.stored > 0 && figures.free == figures.capacity,
            ),
            (
                "past the cap",
                self.workers
                    .iter()
                    .any(|(_, hand)| hand.looks_past_the_cap > 0),
            ),
            (
                "leaf beneath",
                self.workers.iter().any(|(_, hand)| hand.leaves_beneath > 0),
            ),
        ];
        for (what, _) in reached.into_iter().filter(|(_, reached)| *reached) {
            self.saw(what);
        }
    }

    /// What the snapshot lists is what the model can find, parents first.
    fn compare_snapshot(&self) {
        let snapshot = self.pool.snapshot();
        let events = if self.setup.events > 0 {
            self.model.notices.len()
        } else {
            0
        };
        let events = u64::try_from(events).expect("a count fits");
        assert_eq!(
            (snapshot.from, snapshot.to),
            (events, events),
            "range of the snapshot"
        );
        let findable = self.model.findable();
        let mut keys: BTreeMap<u32, u64> = BTreeMap::new();
        for copy in &snapshot.copies {
            let id = copy.block.get();
            let (under, depth) = *findable
                .get(&(id, copy.generation))
                .unwrap_or_else(|| panic!("not findable: {copy:?}"));
            assert_eq!(copy.depth, depth, "depth of block {id}");
            let above = under.map(|above| {
                *keys
                    .get(&above)
                    .expect("a parent comes before its children")
            });
            assert_eq!(copy.parent_key, above, "parent key of block {id}");
            assert!(
                keys.insert(id, copy.key).is_none(),
                "block {id} is listed twice"
            );
        }
        assert_eq!(keys.len(), findable.len(), "copies in the snapshot");
    }

    fn read_events(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        let mut events = Vec::new();
        let missed = usize::try_from(reader.read(&mut events)).expect("a count fits");
        assert_eq!(
            reader.position(),
            u64::try_from(self.model.notices.len()).expect("a count fits"),
            "position"
        );
        let news = self.model.notices.len() - self.told;
        assert_eq!(
            missed,
            news.saturating_sub(self.setup.events),
            "missed events"
        );
        assert_eq!(events.len(), news - missed, "events");
        self.told += missed;
        if missed > 0 {
            // What was missed is repaired by a snapshot; the events before it are in it.
            self.saw("gap in the events");
            for event in &events {
                compare_event(event, self.told, &self.model.notices[self.told]);
                self.told += 1;
            }
            let findable = self.model.findable();
            let copies = self.pool.snapshot().copies;
            let copies = copies
                .into_iter()
                .map(|copy| (copy_of(&copy), (copy, findable[&copy_of(&copy)].0)));
            self.replayed = copies.collect();
            return;
        }
        for event in &events {
            let notice = self.model.notices[self.told];
            compare_event(event, self.told, &notice);
            self.told += 1;
            self.replay(event, notice.under);
        }
        let replayed: Vec<_> = self.replayed.keys().copied().collect();
        let findable: Vec<_> = self.model.findable().into_keys().collect();
        assert_eq!(replayed, findable, "replayed events and what can be found");
    }

    fn replay(&mut self, event: &Event, under: Option<u32>) {
        let copy = copy_of(&event.copy);
        if event.kind != EventKind::Stored {
            assert!(
                self.replayed.remove(&copy).is_some(),
                "removed without having been stored: {event:?}"
            );
            let orphan = self
                .replayed
                .values()
                .find(|(_, above)| *above == Some(copy.0));
            assert_eq!(orphan, None, "removed before its child: {event:?}");
            return;
        }
        let above = under.map(|above| {
            let mut generations = self.replayed.range((above, 0)..=(above, u64::MAX));
            generations
                .next()
                .unwrap_or_else(|| panic!("stored before its parent: {event:?}"))
                .1
                .0
                .key
        });
        assert_eq!(event.copy.parent_key, above, "parent key of {event:?}");
        assert!(
            self.replayed.insert(copy, (event.copy, under)).is_none(),
            "stored twice: {event:?}"
        );
        if self.model.findable().contains_key(&copy) {
            let (name, path) = self.model.path(copy.0);
            match self.setup.keys {
                Keys::Constant | Keys::EngineConstant => {
                    assert_eq!(event.copy.key, EQUAL_KEY, "{event:?}")
                }
                Keys::Engine => assert_eq!(event.copy.key, engine_key(name, &path), "{event:?}"),
                Keys::Hashed => {}
            }
            let key = *self.keys_seen.entry((name, path)).or_insert(event.copy.key);
            assert_eq!(event.copy.key, key, "one content, two keys: {event:?}");
        }
    }

    /// Everything findable is found by its content, everything is given back, and what is idle can be reclaimed to the last block.
    pub(crate) fn finish(&mut self) {
        self.find_everything();
        while !self.chains.is_empty() {
            self.release_chain(0, By::Worker(0));
        }
        while !self.blocks.is_empty() {
            self.release_blocks(0, By::Drop);
        }
        while !self.reservations.is_empty() {
            self.drop_reservation(0);
        }
        self.check();
        if self.model.draining() > 0 {
            self.narrow(0, 0);
            self.check();
        }
        assert_eq!(self.model.draining(), 0, "nothing drains in the end");
        let online = self.model.capacity();
        assert_eq!(
            self.pool.available(),
            online,
            "everything is available in the end"
        );
        self.reserve(online);
        self.take(0, online, 0);
        self.drop_reservation(0);
        self.read_events();
        self.check();
        assert_eq!(
            self.pool.report().held,
            online,
            "every block can be taken in the end"
        );
        self.release_blocks(0, By::Worker(1));
        self.check();
    }

    fn find_everything(&self) {
        for ((id, _), _) in self.model.findable() {
            let (name, path) = self.model.path(id);
            let tokens: Vec<u32> = path.iter().flat_map(|page| page.tokens.clone()).collect();
            let extra: Vec<u128> = path.iter().map(|page| page.extra).collect();
            let keys = match self.setup.keys {
                Keys::Engine => (1..=path.len())
                    .map(|n| engine_key(name, &path[..n]))
                    .collect(),
                Keys::EngineConstant => vec![EQUAL_KEY; path.len()],
                Keys::Hashed | Keys::Constant => Vec::new(),
            };
            let slices = Slices {
                tokens,
                extra,
                keys,
            };
            let extra = slices.extra_keys();
            let prompt = prompt(&self.names[usize::from(name)], &slices, &extra, true);
            let expected = self
                .model
                .probe(&question(name, &slices, true))
                .expect("the lengths agree");
            assert_eq!(
                expected.positions,
                slices.tokens.len(),
                "the model finds block {id}"
            );
            assert_eq!(
                self.pool.probe(&prompt).map(seen),
                Ok(expected),
                "the pool finds block {id}"
            );
        }
    }
}

// ---- small helpers

pub(crate) fn index(length: usize, which: u8) -> Option<usize> {
    (length > 0).then(|| usize::from(which) % length)
}

pub(crate) fn pick<T>(slots: &mut [T], which: u8) -> Option<&mut T> {
    index(slots.len(), which).map(|at| &mut slots[at])
}

pub(crate) fn pull<T>(slots: &mut Vec<T>, which: u8) -> Option<T> {
    index(slots.len(), which).map(|at| slots.remove(at))
}

/// The number of the last slot if there are more than there were.
fn last_if_more(now: usize, before: usize) -> Option<u8> {
    (now > before).then(|| u8::try_from(now - 1).expect("few slots"))
}

fn within(n: usize, left: usize) -> Result<(), Beyond> {
    if n > left {
        Err(Beyond { asked: n, left })
    } else {
        Ok(())
    }
}

pub(crate) fn numbers(ids: &[BlockId]) -> Vec<u32> {
    ids.iter().map(|id| id.get()).collect()
}

fn copy_of(copy: &Findable) -> (u32, u64) {
    (copy.block.get(), copy.generation)
}

pub(crate) fn engine_key(name: u8, path: &[Page]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    for page in path {
        (&page.tokens, page.extra).hash(&mut hasher);
    }
    hasher.finish()
}

pub(crate) fn prompt<'a>(
    namespace: &'a Namespace,
    slices: &'a Slices,
    extra: &'a [ExtraKey],
    full_hit: bool,
) -> Prompt<'a> {
    Prompt::new(namespace, &slices.tokens)
        .extra(extra)
        .keys(&slices.keys)
        .full_hit(full_hit)
}

pub(crate) fn question(name: u8, slices: &Slices, full_hit: bool) -> Question<'_> {
    Question {
        name,
        tokens: &slices.tokens,
        extra: &slices.extra,
        keys: slices.keys.len(),
        full_hit,
        limit: usize::MAX,
    }
}

fn compare_event(event: &Event, sequence: usize, notice: &Notice) {
    let got = Notice {
        news: match event.kind {
            EventKind::Stored => News::Stored,
            EventKind::Removed => News::Removed,
            EventKind::Cleared => News::Cleared,
        },
        block: event.copy.block.get(),
        generation: event.copy.generation,
        under: notice.under,
        depth: event.copy.depth,
    };
    assert_eq!(got, *notice, "event {}", event.sequence);
    assert_eq!(
        event.copy.parent_key.is_some(),
        notice.under.is_some(),
        "parent key of event {}",
        event.sequence
    );
    assert_eq!(
        event.sequence,
        u64::try_from(sequence).expect("a count fits"),
        "sequence number"
    );
}

pub(crate) fn figures(report: &PoolReport) -> Figures {
    Figures {
        capacity: report.capacity,
        online: report.online,
        draining: report.draining,
        offline: report.offline,
        free: report.free,
        idle: report.idle,
        held: report.held,
        quarantined: report.quarantined,
        reserved: report.reserved,
        available: report.available,
        hits: report.hits,
        misses: report.misses,
        stored: report.stored,
        duplicates: report.duplicates,
        unpaid: report.unpaid,
        declined: report.declined,
        reclaims: report.reclaims,
        second_chances: report.second_chances,
        sweeps: report.sweeps,
        refused_never: report.refused_never,
        refused_shortfall: report.refused_shortfall,
    }
}

pub(crate) fn refused(result: Result<(), Refused>) -> Result<(), Refusal> {
    result.map_err(|refused| match refused {
        Refused::NeverFits {
            needed, capacity, ..
        } => Refusal::Never { needed, capacity },
        Refused::Shortfall {
            needed,
            available,
            quarantined,
            ..
        } => Refusal::Shortfall {
            needed,
            available,
            quarantined,
        },
        other => panic!("{other}"),
    })
}

fn unmoved(error: ResizeError) -> Unmoved {
    match error {
        ResizeError::BeyondMax { asked, max } => Unmoved::Beyond { asked, max },
        ResizeError::NothingLeft { asked, online } => Unmoved::NothingLeft { asked, online },
        ResizeError::Refused(error) => {
            Unmoved::Short(refused(Err(error)).expect_err("it is an error"))
        }
        other => panic!("{other}"),
    }
}

fn beyond(exceeds: kvblock::Exceeds) -> Beyond {
    Beyond {
        asked: exceeds.asked,
        left: exceeds.left,
    }
}

pub(crate) fn wrong_length(error: LengthMismatch) -> WrongLength {
    let part = match error.what {
        Field::Tokens => Part::Tokens,
        Field::Extra => Part::Extra,
        Field::Keys => Part::Keys,
        field => panic!("{field:?}"),
    };
    WrongLength {
        part,
        expected: error.expected,
        got: error.got,
    }
}

fn seen(probe: Probe) -> Seen {
    Seen {
        positions: probe.positions,
        held: probe.held,
        idle: probe.idle,
    }
}

pub(crate) fn outcome(published: Published) -> Outcome {
    let stopped = published.stopped.map(|stopped| match stopped {
        Stopped::Unpaid => Stop::Unpaid,
        Stopped::IndexFull => Stop::IndexFull,
        Stopped::Cut => Stop::Cut,
        Stopped::Gap => Stop::Gap,
        Stopped::Shared => Stop::Shared,
        Stopped::Draining => Stop::Draining,
        other => panic!("{other:?}"),
    });
    Outcome {
        stored: published.stored,
        duplicates: published.duplicates,
        stopped,
    }
}
