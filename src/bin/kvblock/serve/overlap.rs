//! The step that the device still computes when the engine has gone on: what is given back waits for it.
//!
//! With `--overlap` the engine runs one step ahead of the device. Ends, preemptions and truncations are then fenced with the last step
//! that was launched, and its fence passes when the step after it ends.

use alloc::vec::Vec;

use kvblock::{Fence, Instance, Lane};

use crate::failure::Failure;

/// The timeline of the device. Without overlap it has no lanes, and nothing waits.
#[derive(Debug)]
pub(crate) struct Overlap {
    /// One for each shard; none without overlap.
    lanes: Vec<Lane>,
    launched: u64,
}

impl Overlap {
    pub(crate) fn new(instance: &Instance, overlap: bool) -> Result<Self, Failure> {
        let lanes = match overlap {
            true => instance.lanes(),
            false => Ok(Vec::new()),
        };
        let lanes = lanes
            .map_err(|error| Failure::Input(alloc::format!("no lanes for --overlap: {error}")))?;
        Ok(Self { lanes, launched: 0 })
    }

    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Where to put what is given back, if the device may still touch it.
    pub(crate) fn fenced(&mut self) -> Option<(&mut [Lane], Fence)> {
        let fence = Fence(self.launched);
        (!self.lanes.is_empty()).then_some((&mut self.lanes[..], fence))
    }

    /// One more step is on its way.
    pub(crate) const fn launch(&mut self) {
        self.launched += 1;
    }

    /// The step before the last one is done. Gives how many blocks came back.
    pub(crate) fn end_step(&mut self) -> usize {
        match self.launched.checked_sub(1) {
            Some(done) => self.complete(done),
            None => 0,
        }
    }

    /// Waits until every step is done; false if nothing waited for one.
    pub(crate) fn wait(&mut self) -> bool {
        let waited = self.lanes.iter().any(|lane| !lane.is_empty());
        self.complete(self.launched);
        // What is fenced from now on belongs to a later point.
        self.launched += 1;
        waited
    }

    fn complete(&mut self, step: u64) -> usize {
        let lanes = self.lanes.iter_mut();
        lanes.map(|lane| lane.complete(Fence(step))).sum()
    }
}

#[cfg(test)]
mod tests {
    use kvblock::{BlockPool, PoolConfig, Sequences, SequencesConfig};

    use super::*;

    #[test]
    fn what_is_given_back_waits_for_one_step() {
        let pool = BlockPool::new(&PoolConfig::new(4, 1)).expect("a small pool");
        let mut worker = pool.worker().expect("a worker");
        let registry = Sequences::new(pool.clone(), &SequencesConfig::new(1)).expect("a registry");
        let instance = Instance::split(Vec::from([registry])).expect("one shard");
        let mut overlap = Overlap::new(&instance, true).expect("a lane");
        let mut give_back = |overlap: &mut Overlap| {
            let blocks = pool.reserve(1).expect("free").take(&mut worker, 1);
            let (lanes, fence) = overlap.fenced().expect("a lane");
            let blocks = blocks.expect("reserved");
            let released = blocks.release_after(&mut worker, &mut lanes[0], fence);
            assert!(released.is_ok());
        };
        // While the first step is planned nothing is under way; the second one is planned behind the first.
        overlap.launch();
        assert_eq!(overlap.end_step(), 0);
        give_back(&mut overlap);
        overlap.launch();
        assert_eq!((overlap.end_step(), pool.available()), (1, 4));
        give_back(&mut overlap);
        assert_eq!(pool.report().quarantined, 1);
        assert!(overlap.wait() && !overlap.wait());
        assert_eq!(pool.available(), 4);
        let mut none = Overlap::new(&instance, false).expect("nothing");
        assert!(none.fenced().is_none());
    }
}
