//! A branch that has memory.

use kvblock::Handle;

use super::queue::Branch;

/// Whether the first positions of a sequence are still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    None,
    UnderWay,
    /// It failed, and there is no memory yet to compute them instead.
    Failed,
    /// All of it is being moved to another instance.
    Leaving,
    /// All of it is being swapped in from the host tier.
    SwapsIn,
}

/// A branch with its sequence, and what the step at hand does with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) branch: Branch,
    pub(crate) handle: Handle,
    /// Positions that have a token which counts: the prompt, then those that decoding added.
    pub(crate) positions: usize,
    /// The first so many of them are computed.
    pub(crate) computed: usize,
    /// Positions that this step appends, drafts included.
    pub(crate) grows: usize,
    /// Positions of the prompt that this step computes.
    pub(crate) chunk: usize,
    /// Nothing is computed before that is over.
    pub(crate) load: Load,
    /// A move of it ended without success, and is not tried again.
    pub(crate) stays: bool,
    /// Its sequence is released; it leaves at the end of the step.
    pub(crate) ended: bool,
}

impl Running {
    pub(crate) const fn new(branch: Branch, handle: Handle, prompt: usize, hit: usize) -> Self {
        Self {
            branch,
            handle,
            positions: prompt,
            computed: hit,
            grows: 0,
            chunk: 0,
            load: Load::None,
            stays: false,
            ended: false,
        }
    }

    /// Positions of the prompt that are still to be computed; 0 if it is decoding.
    pub(crate) const fn prefill_left(&self) -> usize {
        self.positions - self.computed
    }

    /// Takes its share of the step's budget for its prefill.
    pub(crate) fn plan_chunk(&mut self, budget: &mut usize) {
        self.chunk = match self.load {
            Load::None => self.prefill_left().min(*budget),
            Load::UnderWay | Load::Failed | Load::Leaving | Load::SwapsIn => 0,
        };
        *budget -= self.chunk;
    }
}
