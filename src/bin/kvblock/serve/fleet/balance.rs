//! Which sequences are to move: from a drained instance to the others, and from the fullest one to a new one.
//!
//! One at a time leaves an instance, so that the others go on.

use alloc::vec::Vec;
use core::cmp::Reverse;

use kvblock::Handle;

use crate::failure::Failure;
use crate::serve::engine::{Stage, Turn};
use crate::serve::running::Load;
use crate::serve::simulator::Simulator;

impl Simulator<'_> {
    /// Begins the moves that are wanted, from instances that are between two steps.
    pub(in crate::serve) fn begin_moves(&mut self) -> Result<(), Failure> {
        if !self.world.settings.fleet.migrate {
            return Ok(());
        }
        for from in 0..self.engines.len() {
            let busy = self.moves.iter().any(|it| it.leaves(from));
            if busy || self.engines[from].turn != Turn::Between {
                continue;
            }
            match self.engines[from].stage {
                Stage::Draining => self.empty(from)?,
                Stage::Ready => self.even_out(from)?,
                Stage::Starting(_) | Stage::Removed => {}
            }
        }
        self.note_moves();
        Ok(())
    }

    /// Moves a sequence from the fullest instance to the new one, if that brings them nearer to each other.
    fn even_out(&mut self, from: usize) -> Result<(), Failure> {
        let Some(to) = self.filled.filter(|to| *to != from) else {
            return Ok(());
        };
        let held = |at: usize| self.engines[at].memory.held();
        let others = self.engines.iter().filter(|it| it.stage == Stage::Ready);
        let fullest = others.map(|it| it.memory.held()).max();
        let is_written = self.engines[to].memory.moves.is_under_way();
        if fullest > Some(held(from)) || is_written {
            return Ok(());
        }
        let most = held(from).saturating_sub(held(to)) / 2;
        for (blocks, handle) in self.movable(from)? {
            if blocks <= most && self.begin(from, to, handle)? {
                return Ok(());
            }
        }
        // They are as even as whole sequences make them.
        if self.engines[from]
            .running
            .iter()
            .all(|it| it.prefill_left() == 0)
        {
            self.filled = None;
        }
        Ok(())
    }

    /// Moves a sequence away from an instance that is drained, to whoever has the most room.
    fn empty(&mut self, from: usize) -> Result<(), Failure> {
        let ready = self.engines.iter().filter(|it| it.stage == Stage::Ready);
        let mut to: Vec<_> = ready.map(|it| (it.memory.available(), it.number)).collect();
        to.sort_unstable_by_key(|(available, number)| (Reverse(*available), *number));
        for (_, handle) in self.movable(from)? {
            for (_, to) in &to {
                if self.begin(from, *to, handle)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The sequences of an instance that can be moved, those with the most blocks first.
    fn movable(&self, from: usize) -> Result<Vec<(usize, Handle)>, Failure> {
        let engine = &self.engines[from];
        let decoding = engine.running.iter().filter(|running| {
            let is_decoding = running.load == Load::None && running.prefill_left() == 0;
            is_decoding && !running.stays && !running.ended
        });
        let mut found = Vec::new();
        for running in decoding {
            found.push((engine.memory.blocks_of(running.handle)?, running.handle));
        }
        // Stable: of equals the oldest.
        found.sort_by_key(|(blocks, _)| Reverse(*blocks));
        Ok(found)
    }
}
