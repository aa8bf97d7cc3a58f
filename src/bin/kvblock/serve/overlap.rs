//! The step that the device still computes when the engine has gone on: what is given back waits for it.
//!
//! With `--overlap` the engine runs one step ahead of the device. Ends, preemptions and truncations are then fenced with the last step
//! that was launched, and its fence passes when the step after it ends.

use kvblock::{BlockPool, Fence, Lane};

/// The timeline of the device. Without overlap it has no lane, and nothing waits.
#[derive(Debug)]
pub(crate) struct Overlap {
    lane: Option<Lane>,
    launched: u64,
}

impl Overlap {
    pub(crate) fn new(pool: &BlockPool, overlap: bool) -> Self {
        Self {
            lane: overlap.then(|| pool.lane()),
            launched: 0,
        }
    }

    pub(crate) const fn lane(&self) -> Option<&Lane> {
        self.lane.as_ref()
    }

    /// Where to put what is given back, if the device may still touch it.
    pub(crate) fn fenced(&mut self) -> Option<(&mut Lane, Fence)> {
        let fence = Fence(self.launched);
        self.lane.as_mut().map(|lane| (lane, fence))
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
        let waited = self.lane.as_ref().is_some_and(|lane| !lane.is_empty());
        self.complete(self.launched);
        // What is fenced from now on belongs to a later point.
        self.launched += 1;
        waited
    }

    fn complete(&mut self, step: u64) -> usize {
        self.lane
            .as_mut()
            .map_or(0, |lane| lane.complete(Fence(step)))
    }
}

#[cfg(test)]
mod tests {
    use kvblock::PoolConfig;

    use super::*;

    #[test]
    fn what_is_given_back_waits_for_one_step() {
        let pool = BlockPool::new(&PoolConfig::new(4, 1)).expect("a small pool");
        let mut worker = pool.worker().expect("a worker");
        let mut overlap = Overlap::new(&pool, true);
        let mut give_back = |overlap: &mut Overlap| {
            let blocks = pool.reserve(1).expect("free").take(&mut worker, 1);
            let (lane, fence) = overlap.fenced().expect("a lane");
            let blocks = blocks.expect("reserved");
            let released = blocks.release_after(&mut worker, lane, fence);
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
        assert!(Overlap::new(&pool, false).fenced().is_none());
    }
}
