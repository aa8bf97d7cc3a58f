//! Who loses its memory: it goes to the host tier if there is one and it has room, and else it is computed again.

use alloc::vec::Vec;

use kvblock::Handle;

use super::engine::{Engine, Stage};
use super::queue::Branch;
use super::running::{Load, Running};
use super::swap::Swaps;
use super::world::World;
use crate::failure::Failure;

impl Engine {
    /// Takes the memory of a sequence that runs no more. What it has generated is kept, and it waits ahead of all that are newer.
    pub(super) fn lose(&mut self, world: &mut World<'_>, running: &Running) -> Result<(), Failure> {
        let mut branch = Branch {
            returning: true,
            joins: false,
            ..running.branch
        };
        if !self.swap_out(world, running)? {
            self.memory.preempt(running.handle)?;
            world.log.figures.preemptions += 1;
            branch.lost = branch.lost.max(running.computed);
        }
        self.wait(world, branch);
        Ok(())
    }

    fn swap_out(&mut self, world: &World<'_>, running: &Running) -> Result<bool, Failure> {
        if !self.memory.swaps() || self.stage != Stage::Ready || running.load != Load::None {
            return Ok(false);
        }
        let tokens = world.text(&running.branch, running.positions)?;
        let who = running.branch.seniority;
        self.memory
            .swap_out(running.handle, who, &tokens, &world.namespace)
    }

    /// Whether blocks that are being swapped out are enough for one more that lacks so many.
    pub(super) fn awaits(&mut self, blocks: usize) -> bool {
        let coming = self.memory.swapping().map_or(0, Swaps::coming);
        let comes = blocks <= coming.saturating_sub(self.awaited);
        self.awaited += if comes { blocks } else { 0 };
        comes
    }

    /// A sequence gets its positions when some swap is done; nobody is admitted before.
    pub(super) fn wait_for_swap(&mut self, at: usize) {
        self.running[at].grows = 0;
        self.short = true;
        self.memory.count_wait_for_swaps();
    }

    /// A step has ended: who has come back from the host tier goes on.
    pub(super) fn end_swaps(&mut self) -> Result<(), Failure> {
        let mut back: Vec<Handle> = Vec::new();
        self.memory.carry_swaps(&mut back)?;
        for handle in back {
            let arrived = self.memory.arrived(handle)?;
            let mut those = self.running.iter_mut();
            if let Some(running) = those.find(|it| it.handle == handle) {
                running.load = Load::None;
                running.computed = arrived;
            }
        }
        Ok(())
    }
}
