//! The plain twins of what goes on between registries and the world: leases, exports, imports, bytes under way.

use core::cell::{Cell, RefCell};
use core::ops::Range;
use std::rc::Rc;

use crate::reference::{Line, Model};
use crate::registry::Fault;

/// For ever, until somebody ends it.
pub(crate) const NO_DEADLINE: u64 = u64::MAX;

// ---- leases

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) owner: u64,
    /// None: it is over.
    deadline: Cell<Option<u64>>,
    pub(crate) table: Vec<u32>,
    /// Tail first.
    pub(crate) references: Vec<u32>,
    account: Rc<Account>,
}

#[derive(Debug, Default)]
struct Account {
    used: Cell<usize>,
    expired: Cell<u64>,
}

#[derive(Debug)]
pub(crate) struct Leases {
    budget: usize,
    pub(crate) now: u64,
    granted: Vec<Rc<Lease>>,
    account: Rc<Account>,
}

/// The figures of a table of leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseFigures {
    pub(crate) leases: usize,
    pub(crate) blocks: usize,
    pub(crate) references: usize,
    pub(crate) budget: usize,
    pub(crate) now: u64,
    pub(crate) expired: u64,
}

fn is_over(deadline: u64, now: u64) -> bool {
    deadline != NO_DEADLINE && now >= deadline
}

impl Lease {
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.deadline.get()
    }

    pub(crate) fn is_live(&self) -> bool {
        self.deadline().is_some()
    }

    pub(crate) fn extend(&self, deadline: u64) -> Result<(), Fault> {
        let before = self.deadline().ok_or(Fault::LeaseEnded)?;
        self.deadline.set(Some(before.max(deadline)));
        Ok(())
    }

    pub(crate) fn end(&self, pool: &mut Model) -> Result<(), Fault> {
        self.deadline.take().ok_or(Fault::LeaseEnded)?;
        self.references.iter().for_each(|&id| pool.let_go(id));
        let used = &self.account.used;
        used.set(used.get() - self.references.len());
        Ok(())
    }

    pub(crate) fn check(&self, pool: &mut Model, now: u64) -> Result<(), Fault> {
        let deadline = self.deadline().ok_or(Fault::LeaseEnded)?;
        if !is_over(deadline, now) {
            return Ok(());
        }
        self.end(pool)?;
        self.account.expired.set(self.account.expired.get() + 1);
        Err(Fault::LeaseEnded)
    }
}

impl Leases {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            budget,
            now: 0,
            granted: Vec::new(),
            account: Rc::default(),
        }
    }

    /// Those that live, as they were granted.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Rc<Lease>> {
        self.granted.iter().filter(|lease| lease.is_live())
    }

    pub(crate) fn get(&self, owner: u64) -> Option<&Rc<Lease>> {
        self.live().find(|lease| lease.owner == owner)
    }

    pub(crate) fn used(&self) -> usize {
        self.account.used.get()
    }

    /// Holds the first blocks of a table, and what is found in their places.
    pub(crate) fn grant(
        &mut self,
        pool: &mut Model,
        owner: u64,
        deadline: u64,
        line: &Line,
        blocks: usize,
    ) -> Result<Rc<Lease>, Fault> {
        let references = line.references(0..blocks);
        if self.get(owner).is_some() {
            return Err(Fault::OwnerTaken { owner });
        }
        if is_over(deadline, self.now) {
            let now = self.now;
            return Err(Fault::AlreadyOver { deadline, now });
        }
        let (needed, left) = (references.len(), self.budget - self.used());
        if needed > left {
            return Err(Fault::OverBudget { needed, left });
        }
        pool.hold_again(&references);
        self.account.used.set(self.used() + needed);
        let lease = Rc::new(Lease {
            owner,
            deadline: Cell::new(Some(deadline)),
            table: line.table[..blocks].to_vec(),
            references,
            account: self.account.clone(),
        });
        self.granted.push(lease.clone());
        Ok(lease)
    }

    /// Answers how many ended.
    pub(crate) fn tick(&mut self, pool: &mut Model, now: u64) -> usize {
        if now <= self.now {
            return 0;
        }
        self.now = now;
        let before = self.live().count();
        for lease in &self.granted {
            let _ = lease.check(pool, now);
        }
        self.granted.retain(|lease| lease.is_live());
        before - self.granted.len()
    }

    pub(crate) fn figures(&self) -> LeaseFigures {
        let all = || self.live().flat_map(|lease| lease.references.iter());
        LeaseFigures {
            leases: self.live().count(),
            blocks: all().collect::<std::collections::BTreeSet<_>>().len(),
            references: all().count(),
            budget: self.budget,
            now: self.now,
            expired: self.account.expired.get(),
        }
    }
}

// ---- exports

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Offered,
    Linked,
    Committed,
    Aborted,
}

#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) phase: Cell<Phase>,
    pub(crate) moves: bool,
    pub(crate) lease: Rc<Lease>,
    pub(crate) positions: usize,
    pub(crate) space: u8,
    pub(crate) table: Vec<u32>,
    pub(crate) block_size: usize,
    /// Positions before the first that turned out bad.
    pub(crate) sound: Cell<usize>,
}

/// Why a move can't go another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveOver {
    Linked,
    Committed,
    Aborted,
    LeaseOver,
}

impl Export {
    pub(crate) fn is_readable(&self) -> bool {
        self.lease.is_live() && self.sound.get() >= self.positions
    }

    pub(crate) fn spoil(&self, pool: &mut Model, bad: &[u32]) {
        if let Some(entry) = self.table.iter().position(|it| bad.contains(it)) {
            self.sound
                .set(self.sound.get().min(entry * self.block_size));
            let _ = self.abort(pool);
        }
    }

    fn over(&self) -> MoveOver {
        match self.phase.get() {
            Phase::Linked => MoveOver::Linked,
            Phase::Committed => MoveOver::Committed,
            _ => MoveOver::Aborted,
        }
    }

    pub(crate) fn abort(&self, pool: &mut Model) -> Result<(), MoveOver> {
        match self.phase.get() {
            Phase::Offered => {
                let _ = self.lease.end(pool);
            }
            Phase::Linked => {}
            Phase::Committed | Phase::Aborted => return Err(self.over()),
        }
        self.phase.set(Phase::Aborted);
        Ok(())
    }

    pub(crate) fn finish(&self, pool: &mut Model) -> Result<(), MoveOver> {
        if self.phase.get() != Phase::Offered {
            return Err(self.over());
        }
        if !self.is_readable() {
            self.phase.set(Phase::Aborted);
            return Err(MoveOver::LeaseOver);
        }
        self.phase.set(Phase::Committed);
        let _ = self.lease.end(pool);
        Ok(())
    }
}

// ---- bytes under way

#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) max: u64,
    pub(crate) under_way: Cell<u64>,
}

impl Bytes {
    pub(crate) fn take(&self, asked: u64) -> Result<(), Fault> {
        let in_flight = self.under_way.get();
        if in_flight + asked > self.max {
            let max = self.max;
            return Err(Fault::TooManyBytes {
                asked,
                in_flight,
                max,
            });
        }
        self.under_way.set(in_flight + asked);
        Ok(())
    }

    pub(crate) fn land(&self, bytes: u64) {
        self.under_way.set(self.under_way.get() - bytes);
    }
}

// ---- imports

#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) ids: Vec<u32>,
    pub(crate) writers: usize,
    /// Of each block, what each writer said.
    answers: RefCell<Vec<Vec<Option<bool>>>>,
    ended: RefCell<Vec<bool>>,
    pub(crate) wanted: Cell<bool>,
    pub(crate) source: Option<Rc<Export>>,
    flight: Option<(Rc<Bytes>, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Counts,
    Unwanted,
    SourceGone,
}

/// Why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    NoSuchWriter { writer: usize, writers: usize },
    OutOfRange { end: usize, blocks: usize },
    Repeated { writer: usize, at: usize },
    Ended { writer: usize },
}

impl Import {
    /// Holds these blocks for the writers.
    pub(crate) fn begin(
        pool: &mut Model,
        ids: &[u32],
        writers: usize,
        source: Option<Rc<Export>>,
        flight: Option<(Rc<Bytes>, u64)>,
    ) -> Rc<Self> {
        pool.hold_again(ids);
        let import = Self {
            ids: ids.to_vec(),
            writers,
            answers: RefCell::new(vec![vec![None; writers]; ids.len()]),
            ended: RefCell::new(vec![false; writers]),
            wanted: Cell::new(true),
            source,
            flight,
        };
        if ids.is_empty() {
            import.land(pool);
        }
        Rc::new(import)
    }

    /// Whether some writer may still touch a block.
    pub(crate) fn is_under_way(&self, at: usize) -> bool {
        self.answers.borrow()[at].contains(&None)
    }

    pub(crate) fn has_arrived(&self, at: usize) -> bool {
        self.answers.borrow()[at].iter().all(|&it| it == Some(true))
    }

    pub(crate) fn has_failed(&self, at: usize) -> bool {
        !self.is_under_way(at) && !self.has_arrived(at)
    }

    pub(crate) fn left(&self) -> usize {
        let left = (0..self.ids.len()).filter(|&at| self.is_under_way(at));
        left.count()
    }

    pub(crate) fn answer(
        &self,
        pool: &mut Model,
        writer: usize,
        blocks: &Range<usize>,
        written: bool,
    ) -> Result<Taken, NoAnswer> {
        let (writers, len) = (self.writers, self.ids.len());
        if writer >= writers {
            return Err(NoAnswer::NoSuchWriter { writer, writers });
        }
        if blocks.end > len {
            let end = blocks.end;
            return Err(NoAnswer::OutOfRange { end, blocks: len });
        }
        let answered = |&at: &usize| self.answers.borrow()[at][writer].is_some();
        if let Some(at) = blocks.clone().find(answered) {
            return Err(NoAnswer::Repeated { writer, at });
        }
        let gone = self.source.as_ref().is_some_and(|it| !it.is_readable());
        let gone = gone && written;
        for at in blocks.clone() {
            self.note(pool, writer, at, written && !gone);
        }
        Ok(match (self.wanted.get(), gone) {
            (false, _) => Taken::Unwanted,
            (true, true) => Taken::SourceGone,
            (true, false) => Taken::Counts,
        })
    }

    pub(crate) fn end(&self, pool: &mut Model, writer: usize) -> Result<usize, NoAnswer> {
        self.answer(pool, writer, &(0..0), false)?;
        if core::mem::replace(&mut self.ended.borrow_mut()[writer], true) {
            return Err(NoAnswer::Ended { writer });
        }
        Ok(self.miss(pool, writer))
    }

    /// Nobody will answer any more.
    pub(crate) fn abandon(&self, pool: &mut Model) {
        for writer in 0..self.writers {
            self.miss(pool, writer);
        }
    }

    /// A writer has not written what it has not answered for. Says how much that was.
    fn miss(&self, pool: &mut Model, writer: usize) -> usize {
        let missing = |&at: &usize| self.answers.borrow()[at][writer].is_none();
        let missing: Vec<usize> = (0..self.ids.len()).filter(missing).collect();
        for &at in &missing {
            self.note(pool, writer, at, false);
        }
        missing.len()
    }

    fn note(&self, pool: &mut Model, writer: usize, at: usize, written: bool) {
        self.answers.borrow_mut()[at][writer] = Some(written);
        if self.is_under_way(at) {
            return;
        }
        pool.let_go(self.ids[at]);
        if self.left() == 0 {
            self.land(pool);
        }
    }

    fn land(&self, pool: &mut Model) {
        if let Some((bytes, flight)) = &self.flight {
            bytes.land(*flight);
        }
        if let Some(source) = &self.source {
            let _ = source.lease.end(pool);
        }
    }

    pub(crate) fn give_up(&self, pool: &mut Model) {
        self.wanted.set(false);
        if let Some(source) = &self.source {
            let _ = source.abort(pool);
        }
    }
}
