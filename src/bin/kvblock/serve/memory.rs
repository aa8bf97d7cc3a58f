//! The registry of sequences as the simulated engine uses it: errors that cannot occur end the run, and a copy is reported
//! as done one step after it was asked for, as from a device that works behind.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use kvblock::{
    Admit, AdmitError, Admitted, AppendError, BlockPool, BranchError, Contents, CopyTicket, Handle,
    PoolConfig, Refused, Sequences, SequencesConfig, Step, Victim,
};

use crate::failure::{Failure, cannot_fail};

/// What an append or an admission lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lack {
    pub(crate) blocks: usize,
}

/// The pool, its registry, and the copies under way.
#[derive(Debug)]
pub(crate) struct Memory {
    sequences: Sequences,
    step: Step,
    /// Copies that the step at hand asked for.
    asked: Vec<CopyTicket>,
    /// Copies that the step before asked for, which the device does in this one.
    under_way: Vec<CopyTicket>,
    /// Counts what may let an admission succeed that was refused before.
    changes: u64,
}

/// What the tables of some sequences hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) entries: u64,
    /// Positions of last blocks that nothing uses.
    pub(crate) tail_waste: u64,
}

/// What became of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fork {
    Made,
    /// There is no memory for their promises.
    NoMemory,
    /// So many sequences may not live at once.
    NoSlot,
}

impl Memory {
    pub(crate) fn new(config: &PoolConfig, sequences: &SequencesConfig) -> Result<Self, Failure> {
        let cannot = |option: &'static str| {
            move |error| {
                Failure::Input(format!(
                    "no such pool can be made: {error}: name fewer with {option}"
                ))
            }
        };
        let pool = BlockPool::new(config).map_err(cannot("--blocks"))?;
        let sequences = Sequences::new(pool, sequences).map_err(cannot("--max-sequences"))?;
        Ok(Self {
            sequences,
            step: Step::default(),
            asked: Vec::new(),
            under_way: Vec::new(),
            changes: 0,
        })
    }

    pub(crate) fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    pub(crate) fn pool(&self) -> &BlockPool {
        self.sequences.pool()
    }

    /// What an admission that was refused can be compared with: as long as this does not grow, neither field, the same
    /// admission is refused again.
    pub(crate) fn prospects(&self) -> (u64, usize) {
        (self.changes, self.pool().available())
    }

    /// Blocks with a holder.
    pub(crate) fn held(&self) -> usize {
        let pool = self.pool();
        pool.capacity() - pool.available() - pool.reserved()
    }

    /// Whether the registry has room for another sequence.
    pub(crate) fn has_slot(&self, max_sequences: usize) -> bool {
        self.sequences.len() < max_sequences
    }

    pub(crate) fn admit(
        &mut self,
        admit: &Admit<'_>,
    ) -> Result<Result<Admitted, Refused>, Failure> {
        match self.sequences.admit(admit) {
            Ok(admitted) => Ok(Ok(admitted)),
            Err(AdmitError::Refused(refused)) => Ok(Err(refused)),
            Err(AdmitError::OutOfMemory(_)) => Err(Failure::Input(String::from(
                "no memory for the tables of another sequence: name fewer blocks with --blocks",
            ))),
            Err(other) => Err(cannot_fail("admit")(other)),
        }
    }

    /// Appends to all of the batch; adds those to `short` that there was no memory for.
    pub(crate) fn grow(
        &mut self,
        batch: &[(Handle, usize)],
        short: &mut Vec<Handle>,
    ) -> Result<(), Failure> {
        self.sequences.step(batch, &mut self.step);
        self.keep_copies();
        for failure in self.step.failures() {
            match failure.error {
                AppendError::Refused(_) => short.push(batch[failure.index].0),
                other => return Err(cannot_fail("step")(other)),
            }
        }
        Ok(())
    }

    /// Appends to one sequence, or says what it lacks.
    pub(crate) fn append(&mut self, handle: Handle, n: usize) -> Result<Result<(), Lack>, Failure> {
        match self.sequences.append(handle, n, &mut self.step) {
            Ok(()) => {
                self.keep_copies();
                Ok(Ok(()))
            }
            Err(AppendError::Refused(refused)) => Ok(Err(lack(refused))),
            Err(other) => Err(cannot_fail("append")(other)),
        }
    }

    fn keep_copies(&mut self) {
        self.asked.extend_from_slice(self.step.copies());
    }

    /// Says what the next positions contain.
    pub(crate) fn tokens(
        &mut self,
        handle: Handle,
        at: usize,
        tokens: &[u32],
    ) -> Result<(), Failure> {
        self.sequences
            .tokens(handle, at, &Contents::new(tokens))
            .map_err(cannot_fail("tokens"))
    }

    /// The first `n` positions of a prompt are computed: full blocks are published.
    pub(crate) fn computed_prompt(&mut self, handle: Handle, n: usize) -> Result<(), Failure> {
        self.changes += 1;
        self.computed(handle, n)
    }

    /// The same for an answer, of which no other prompt can have a part.
    pub(crate) fn computed(&mut self, handle: Handle, n: usize) -> Result<(), Failure> {
        self.sequences
            .computed(handle, n)
            .map_err(cannot_fail("computed"))
    }

    /// Gives blocks back whose content another sequence published first.
    pub(crate) fn adopt_duplicates(&mut self, handle: Handle) -> Result<(), Failure> {
        self.sequences
            .adopt_duplicates(handle)
            .map(drop)
            .map_err(cannot_fail("adopt_duplicates"))
    }

    /// Takes positions back that no other sequence sees, which cannot fail.
    pub(crate) fn truncate(&mut self, handle: Handle, positions: usize) -> Result<(), Failure> {
        self.sequences
            .truncate(handle, positions)
            .map_err(cannot_fail("truncate"))
    }

    /// Makes branches, if it can.
    pub(crate) fn fork(
        &mut self,
        parent: Handle,
        children: &mut [Handle],
    ) -> Result<Fork, Failure> {
        match self.sequences.fork(parent, children) {
            Ok(()) => Ok(Fork::Made),
            Err(BranchError::Refused(_) | BranchError::TooManyReferences(_)) => Ok(Fork::NoMemory),
            Err(BranchError::TooManySequences(_)) => Ok(Fork::NoSlot),
            Err(other) => Err(cannot_fail("fork")(other)),
        }
    }

    pub(crate) fn release(&mut self, handle: Handle) -> Result<(), Failure> {
        self.changes += 1;
        self.sequences
            .release(handle)
            .map_err(cannot_fail("release"))
    }

    pub(crate) fn preempt(&mut self, handle: Handle) -> Result<(), Failure> {
        self.changes += 1;
        self.sequences
            .preempt(handle)
            .map_err(cannot_fail("preempt"))
    }

    /// The first of `order` that together free `need` blocks, or all that free any; and how many come free.
    pub(crate) fn victims(
        &self,
        order: &[Handle],
        need: usize,
        victims: &mut Vec<Victim>,
    ) -> Result<usize, Failure> {
        victims.clear();
        self.sequences
            .select_victims(order, need, victims)
            .map_err(cannot_fail("select_victims"))
    }

    /// The device has done the copies of the step before.
    pub(crate) fn end_step(&mut self) -> Result<(), Failure> {
        self.changes += u64::from(!self.under_way.is_empty());
        for ticket in self.under_way.drain(..) {
            self.sequences
                .copied(ticket)
                .map_err(cannot_fail("copied"))?;
        }
        core::mem::swap(&mut self.asked, &mut self.under_way);
        Ok(())
    }

    /// Waits for the device; false if there was nothing to wait for.
    pub(crate) fn wait_for_copies(&mut self) -> Result<bool, Failure> {
        let waited = !self.asked.is_empty() || !self.under_way.is_empty();
        self.end_step()?;
        self.end_step()?;
        Ok(waited)
    }

    /// Sums over the tables of these sequences.
    pub(crate) fn tables(&self, handles: impl Iterator<Item = Handle>) -> Result<Tables, Failure> {
        let block_size = self.pool().block_size();
        let mut sums = Tables::default();
        for handle in handles {
            let state = self.sequences.state(handle).map_err(cannot_fail("state"))?;
            sums.entries += state.blocks as u64;
            sums.tail_waste += (state.blocks * block_size - state.positions) as u64;
        }
        Ok(sums)
    }

    /// Recounts everything; the first thing that disagrees, if there is one.
    pub(crate) fn audit(&self) -> Option<String> {
        self.sequences
            .audit(&[])
            .err()
            .map(|found| found.to_string())
    }
}

fn lack(refused: Refused) -> Lack {
    match refused {
        Refused::Shortfall {
            needed, available, ..
        } => Lack {
            blocks: needed.saturating_sub(available).max(1),
        },
        // Not even with all memory.
        _ => Lack { blocks: usize::MAX },
    }
}
