//! Recounts a registry and the pool below it.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use super::Sequences;
use super::end::Detached;
use super::growth::Growth;
use super::handle::Handle;
use super::sequence::{Cursor, Sequence, count};
use super::ticket::Tickets;
use crate::block::BlockId;
use crate::pool::{Core, Holder, Holds, Inconsistency, address};
use crate::transfer::Import;

impl Holder for Sequences {}
impl Holder for Detached {}

impl Holds for Sequences {
    fn pool(&self) -> *const () {
        address(self.core())
    }
    fn credits(&self) -> usize {
        self.promised()
    }
    fn references(&self, visit: &mut dyn FnMut(BlockId)) {
        for (_, sequence) in self.registry.iter() {
            sequence.chain.held().for_each(&mut *visit);
        }
        self.tickets.held().for_each(&mut *visit);
        self.loads.iter().flat_map(Import::held).for_each(visit);
    }
}

impl Holds for Detached {
    fn pool(&self) -> *const () {
        address(&self.pool.core)
    }
    fn credits(&self) -> usize {
        self.sequence.credits() as usize
    }
    fn references(&self, visit: &mut dyn FnMut(BlockId)) {
        self.sequence.chain.held().for_each(visit);
    }
}

/// The first thing that an audit of a registry found not to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequencesInconsistency {
    /// The pool's own account.
    Pool(Inconsistency),
    /// Its watermarks are not in order, or its tokens do not match them.
    Watermarks {
        /// Whose.
        handle: Handle,
    },
    /// Its table is too short for its positions, or its next position goes to a block that others see.
    Table {
        /// Whose.
        handle: Handle,
    },
    /// Its promise is not what its growth says.
    Promise {
        /// Whose.
        handle: Handle,
    },
}

impl fmt::Display for SequencesInconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(found) => found.fmt(f),
            Self::Watermarks { handle } => write!(f, "{handle:?}: watermarks out of order"),
            Self::Table { handle } => write!(f, "{handle:?}: the table is not as its end needs it"),
            Self::Promise { handle } => write!(f, "{handle:?}: the promise is not its growth's"),
        }
    }
}
impl Error for SequencesInconsistency {}

impl From<Inconsistency> for SequencesInconsistency {
    fn from(found: Inconsistency) -> Self {
        Self::Pool(found)
    }
}

impl Sequences {
    /// Recounts every sequence of this registry, and the pool with it; `others` are all other holders of the pool. Only at rest: no
    /// other thread may use the pool meanwhile.
    ///
    /// # Errors
    /// The first thing that does not add up.
    ///
    /// Looks at everything. Allocates.
    pub fn audit(&self, others: &[&dyn Holder]) -> Result<(), SequencesInconsistency> {
        for (cursor, sequence) in self.registry.iter() {
            check(self.core(), &self.tickets, cursor, sequence)?;
        }
        let mut holders: Vec<&dyn Holder> = Vec::new();
        let room = holders.try_reserve_exact(1 + others.len());
        room.map_err(|_| SequencesInconsistency::Pool(Inconsistency::OutOfMemory))?;
        holders.push(self);
        holders.extend_from_slice(others);
        self.pool
            .audit(&holders)
            .map_err(SequencesInconsistency::Pool)
    }
}

fn check(
    core: &Core,
    tickets: &Tickets,
    cursor: &Cursor,
    sequence: &Sequence,
) -> Result<(), SequencesInconsistency> {
    let handle = cursor.handle;
    let block_size = core.block_size;
    let (chain, positions) = (&sequence.chain, cursor.positions);
    if !sequence
        .seal
        .adds_up(positions, chain.published, block_size)
    {
        return Err(SequencesInconsistency::Watermarks { handle });
    }
    let table = &chain.ids;
    let long_enough = table.len() >= positions.div_ceil(block_size) && positions <= sequence.end;
    // A copy under way refers to the destination as well.
    let open = !cursor.is_open() || {
        let state = core
            .state(table[positions / block_size])
            .load(crate::sync::Ordering::Acquire);
        !state.is_published()
    };
    if !long_enough || !open {
        return Err(SequencesInconsistency::Table { handle });
    }
    let kept = match sequence.growth {
        Growth::Cap(_) => {
            sequence.promise == count(sequence.end.div_ceil(block_size)) - count(table.len())
        }
        Growth::Ahead(blocks) => sequence.promise <= count(blocks),
        Growth::OnDemand => sequence.promise == 0,
    };
    // The next write makes a copy: it is paid, if anything is promised.
    let (entry, offset) = (positions / block_size, positions % block_size);
    // What is being filled is not copied: the load ends first.
    let copies = sequence.has_partial_tail(positions, block_size)
        && sequence.check_loaded(block_size).is_ok()
        && !sequence.waits_for_reader()
        && !tickets.is_alone_in(core, table[entry], offset);
    let paid = sequence.copy_credit || sequence.growth == Growth::OnDemand;
    if !kept || copies && !paid {
        return Err(SequencesInconsistency::Promise { handle });
    }
    Ok(())
}
