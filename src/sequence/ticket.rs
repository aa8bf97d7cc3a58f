//! Copy tickets: a block's content is to be copied, and until it has been, both ends stay held.

use crate::error::{CreateError, OutOfMemory};
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::error::{AppendError, Stale};
use super::handle::{Handle, Name};
use crate::block::BlockId;
use crate::pool::{BlockList, Core, Fence, Lane, RawChain};
use crate::sync::Ordering::{Acquire, Relaxed};
use crate::sync::mutant;

/// A copy that the engine has to make before the destination is written to or read: the first `positions` of `src` go to `dst`.
///
/// Both blocks stay held until the ticket is given to [`copied`](crate::Sequences::copied), whatever becomes of the sequences;
/// the destination is not published before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(C)]
#[must_use = "the copy has to be made, and the ticket given to `copied`"]
pub struct CopyTicket {
    /// The shared or published block.
    pub src: BlockId,
    /// The sequence's own block in its place.
    pub dst: BlockId,
    /// Positions from the start of the block.
    pub positions: usize,
    pub(super) name: Name,
}

/// What a pending ticket refers to.
#[derive(Debug)]
struct Issued {
    name: Name,
    /// From the root down: the path of a published source, the source, the destination. Empty if the place is vacant.
    held: BlockList,
    /// Positions that are copied.
    positions: usize,
    /// Whose copy it is.
    owner: Handle,
}

/// Blocks that a ticket holds: a path, the source and the destination.
const fn held_for(path: usize) -> usize {
    path + 2
}

impl Issued {
    /// Whether it was told as this, unchanged.
    fn is(&self, ticket: &CopyTicket) -> bool {
        let ends = (ticket.src, ticket.dst);
        let told = self
            .held
            .iter()
            .rev()
            .nth(1)
            .copied()
            .zip(self.held.last().copied());
        self.name == ticket.name && told == Some(ends) && self.positions == ticket.positions
    }
}

/// The pending tickets of a registry.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    places: Vec<Issued>,
    /// The next place to be used is the last.
    vacant: Vec<u32>,
    /// The place of each destination: a block is taken for one copy.
    destinations: HashMap<BlockId, u32>,
}

impl Tickets {
    /// Room for so many pending copies in tables of so many entries.
    pub(super) fn with_room(copies: usize, entries: usize) -> Result<Self, CreateError> {
        let mut tickets = Self::default();
        let mut make = || {
            tickets.make_places(copies)?;
            for place in &mut tickets.places {
                let held = place.held.try_reserve_exact(held_for(entries));
                held.map_err(|_| OutOfMemory)?;
            }
            Ok(())
        };
        make().map_err(|_: OutOfMemory| CreateError::OutOfMemory {
            bytes: copies.saturating_mul(held_for(entries)) * size_of::<BlockId>(),
        })?;
        Ok(tickets)
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    /// Makes a place for one more, if all are taken.
    fn reserve(&mut self) -> Result<(), OutOfMemory> {
        if self.vacant.is_empty() {
            self.make_places(1)?;
        }
        Ok(())
    }

    /// Makes `n` places more, of which the first is used first. None is vacant.
    fn make_places(&mut self, n: usize) -> Result<(), OutOfMemory> {
        let (before, all) = (self.places.len(), self.places.len() + n);
        let lists = self.places.try_reserve(n);
        lists
            .and_then(|()| self.vacant.try_reserve(all))
            .map_err(|_| OutOfMemory)?;
        // Twice as many as there are: then places of removed ones are cleared in place, and it does not grow.
        self.destinations
            .try_reserve(2 * all - self.destinations.len())
            .map_err(|_| OutOfMemory)?;
        self.places.resize_with(all, || Issued {
            name: Name::NONE,
            held: BlockList::new(),
            positions: 0,
            owner: Handle::NONE,
        });
        let name = |place| u32::try_from(place).unwrap_or(u32::MAX);
        self.vacant.extend((before..all).rev().map(name));
        Ok(())
    }

    fn next(&mut self) -> Option<&mut Issued> {
        self.vacant
            .last()
            .map(|&place| &mut self.places[place as usize])
    }

    /// Prepares a ticket for the copy of a block of a chain's table: all that can fail. A published source needs its path,
    /// as no idle block may have a held one below it.
    pub(super) fn prepare(
        &mut self,
        core: &Core,
        chain: &RawChain,
        entry: usize,
    ) -> Result<(), AppendError> {
        self.reserve()?;
        let Some(next) = self.next() else {
            return Err(OutOfMemory.into());
        };
        let src = chain.ids[entry];
        let published = core.state(src).load(Acquire).is_published();
        let path = (0..if published { entry } else { 0 }).map(|above| chain.node(above));
        next.held
            .try_reserve(held_for(path.len()))
            .map_err(|_| OutOfMemory)?;
        core.hold_all(path.clone(), 1)?;
        next.held.extend(path);
        Ok(())
    }

    /// The prepared ticket is not wanted after all.
    pub(super) fn cancel(&mut self, core: &Core) {
        if let Some(next) = self.next() {
            core.release(next.held.drain(..).rev());
        }
    }

    /// Issues the prepared ticket. The sequence's reference on the source becomes the ticket's; the destination gets one more.
    pub(super) fn issue(
        &mut self,
        core: &Core,
        owner: Handle,
        (src, dst): (BlockId, BlockId),
        positions: usize,
    ) -> CopyTicket {
        debug_assert!(!self.vacant.is_empty(), "a ticket is prepared before");
        let place = self.vacant.pop().map_or(0, |place| place as usize);
        let name = Name::new(place, core.next_epoch());
        let pending = &mut self.places[place];
        pending.name = name;
        pending.owner = owner;
        pending.positions = positions;
        // The destination is the sequence's alone, so it can have one more owner.
        let counted = core.hold(dst, 1);
        debug_assert!(counted.is_ok());
        pending.held.extend([src, dst]);
        self.destinations
            .insert(dst, u32::try_from(place).unwrap_or(u32::MAX));
        if mutant("ticket-lets-source-go") {
            pending.held.retain(|&mut block| block != src);
            core.release(core::iter::once(src));
        }
        CopyTicket {
            src,
            dst,
            positions,
            name,
        }
    }

    /// Whether a block of a table can be written to from `offset` on: it is not published, and nobody refers to it but the sequence
    /// and copies that end before.
    ///
    /// Acquire: what other owners, branches and copies, did with the block happened before they left (`read_vs_rewrite`).
    pub(super) fn is_alone_in(&self, core: &Core, block: BlockId, offset: usize) -> bool {
        let order = if mutant("alone-relaxed") {
            Relaxed
        } else {
            Acquire
        };
        let state = core.state(block).load(order);
        state.is_private_alone()
            || !state.is_published() && state.references() == 2 && self.copies_into(block, offset)
    }

    /// Whether a pending copy goes to a block of a table.
    pub(super) fn copies_into_any(&self, table: &[BlockId]) -> bool {
        !self.destinations.is_empty() && table.iter().any(|it| self.destinations.contains_key(it))
    }

    /// Whether a pending copy to a block ends before an offset.
    fn copies_into(&self, block: BlockId, offset: usize) -> bool {
        let place = self.destinations.get(&block);
        place.is_some_and(|&place| self.places[place as usize].positions <= offset)
    }

    /// A block, and the destinations of pending copies of it, and of those.
    pub(super) fn copies_of(&self, block: BlockId) -> Result<Vec<BlockId>, OutOfMemory> {
        let mut blocks = Vec::new();
        blocks
            .try_reserve(1 + self.len())
            .map_err(|_| OutOfMemory)?;
        blocks.push(block);
        let mut at = 0;
        while let Some(&src) = blocks.get(at) {
            // The source and the destination are the last two that a ticket holds.
            let of = |pending: &&Issued| pending.held.iter().rev().nth(1) == Some(&src);
            let copies = self.places.iter().filter(of);
            blocks.extend(copies.filter_map(|pending| pending.held.last().copied()));
            at += 1;
        }
        Ok(blocks)
    }

    /// The copy has been made: gives the references back, and says whose it was.
    pub(super) fn settle(&mut self, core: &Core, ticket: &CopyTicket) -> Result<Handle, Stale> {
        let place = ticket.name.slot();
        let pending = self
            .places
            .get_mut(place)
            .filter(|pending| pending.is(ticket) && ticket.name != Name::NONE)
            .ok_or(Stale)?;
        pending.name = Name::NONE;
        if let Some(dst) = pending.held.last() {
            self.destinations.remove(dst);
        }
        core.release(pending.held.drain(..).rev());
        self.vacant.push(u32::try_from(place).unwrap_or(u32::MAX));
        Ok(pending.owner)
    }

    /// Every reference of a pending ticket.
    pub(super) fn held(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.places
            .iter()
            .flat_map(|pending| pending.held.iter().copied())
    }

    /// Gives everything back when a fence has passed; the lane has room for each ticket.
    pub(super) fn release_after(&mut self, lane: &mut Lane, fence: Fence) {
        for pending in self.places.iter_mut().filter(|it| !it.held.is_empty()) {
            let mut held = RawChain::vacant(lane.core());
            core::mem::swap(&mut held.ids, &mut pending.held);
            lane.push(fence, &mut held);
            pending.name = Name::NONE;
        }
    }

    /// Gives everything back.
    pub(super) fn release(&mut self, core: &Core) {
        for pending in &mut self.places {
            core.release(pending.held.drain(..).rev());
            pending.name = Name::NONE;
        }
    }
}
