//! Admission over all shards: credits on each first, in rising order; then hits are held, as many as the shortest shard has.

use super::{Instance, PerShard};
use crate::error::{LengthMismatch, OutOfMemory, Refused};
use crate::prefix::Prompt;
use crate::sequence::{Admit, AdmitError, Admitted, Cost, Draft};
use crate::sync::mutant;

/// What an admission takes on each shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    shards: PerShard<Cost>,
    block_size: usize,
}

impl Costs {
    /// One for each shard; one in lockstep.
    #[must_use]
    pub fn shards(&self) -> &[Cost] {
        &self.shards
    }

    /// Positions that are found on every shard.
    #[must_use]
    pub fn hit(&self) -> usize {
        let shortest = self.shards.iter().map(found).min();
        shortest.unwrap_or(0) * self.block_size
    }

    /// Blocks that must be available above the watermark, on the shard that needs the most.
    #[must_use]
    pub fn charge(&self) -> usize {
        self.shards.iter().map(Cost::charge).max().unwrap_or(0)
    }
}

const fn found(cost: &Cost) -> usize {
    cost.hit_held + cost.hit_idle
}

impl Instance {
    /// How much of a prompt is found at this instant: on every shard, so as much as on the one that has the least. Holds nothing and
    /// changes nothing.
    ///
    /// # Errors
    /// [`LengthMismatch`]: not one extra key or chain key for each whole block.
    pub fn probe(&self, prompt: &Prompt<'_>) -> Result<usize, LengthMismatch> {
        let mut shortest = usize::MAX;
        for shard in &self.shards {
            shortest = shortest.min(shard.pool().probe(prompt)?.positions);
        }
        Ok(shortest)
    }

    /// What [`admit`](Self::admit) would take at this instant, or the refusal that it would give. Changes nothing.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    ///
    /// As [`Sequences::check`](crate::Sequences::check) on each shard.
    pub fn check(&self, request: &Admit<'_>) -> Result<Costs, AdmitError> {
        let (shards, _) = self.quote(request)?;
        Ok(Costs {
            shards,
            block_size: self.block_size(),
        })
    }

    /// Admits a sequence on every shard or on none: holds what is found of its prompt on all of them, takes blocks for the rest, and sets
    /// aside what it is promised.
    ///
    /// # Errors
    /// As [`Sequences::admit`](crate::Sequences::admit). A refusal names the first shard that can't ever have it, else the first one that can't now; nothing has
    /// changed on any.
    ///
    /// As [`Sequences::admit`](crate::Sequences::admit) on each shard.
    pub fn admit(&mut self, request: &Admit<'_>) -> Result<Admitted, AdmitError> {
        if let [only] = &mut *self.shards {
            return only.admit(request);
        }
        let (costs, most) = self
            .quote(request)
            .inspect_err(|error| self.count_refused(error))?;
        self.on_all(|at, it| it.make_room(request, &costs[at]), |_, _, ()| {})?;
        let mut drafts = self.on_all(
            |at, it| it.promise(&costs[at]),
            |_, it, mut draft| it.give_up(&mut draft),
        )?;
        let mut shortest = most;
        for (it, draft) in self.shards.iter_mut().zip(&mut drafts) {
            it.pin_found(request, shortest, draft);
            shortest = draft.found;
        }
        self.settle(&mut drafts, shortest)?;
        let mut admitted = None;
        for (it, draft) in self.shards.iter_mut().zip(&drafts) {
            let name = admitted.map(|first: Admitted| first.handle);
            let entered = it.enter(request, draft, name);
            admitted = admitted.or(Some(entered));
        }
        // There is at least one shard.
        admitted.ok_or(OutOfMemory.into())
    }

    /// Keeps `found` pinned blocks on each shard, and has the credits for the rest; or gives everything back.
    fn settle(&mut self, drafts: &mut [Draft], found: usize) -> Result<(), Refused> {
        let mut refused = Ok(());
        for (it, draft) in self.shards.iter_mut().zip(drafts.iter_mut()) {
            if refused.is_ok() {
                let most = if mutant("shards-hold-unlike") {
                    usize::MAX
                } else {
                    found
                };
                refused = it.settle(draft, most);
            }
        }
        if refused.is_err() {
            for (it, draft) in self.shards.iter_mut().zip(drafts) {
                it.give_up(draft);
            }
        }
        refused
    }

    /// What a request takes on each shard, and how many blocks are found on all of them.
    fn quote(&self, request: &Admit<'_>) -> Result<(PerShard<Cost>, usize), AdmitError> {
        self.look(|_, it| it.check_never(request))?;
        self.first().check_slot()?;
        let mut costs = self.look(|_, it| it.count(request, usize::MAX))?;
        let most = costs.iter().map(found).min().unwrap_or(0);
        for (it, cost) in self.shards.iter().zip(&mut costs) {
            if found(cost) > most {
                *cost = it.count(request, most)?;
            }
        }
        self.look(|at, it| it.check_now(&costs[at], request.budget))?;
        Ok((costs, most))
    }
}
