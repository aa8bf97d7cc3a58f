//! Where a request goes: every instance of its model is asked, and its answer is the proof; of those that can take it one is chosen.

use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use super::Fleet;
use super::answers::{Answer, Answers};
use super::member::{Entry, InstanceId, InstanceState};
use super::refusal::NoPlace;
use super::share::Portion;
use crate::error::OutOfMemory;
use crate::instance::Costs;
use crate::sequence::{Admit, AdmitError, Admitted, Cost, Sequences};

/// Which of the instances that can take a request is the first choice. Where two are equal, the one that was added before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// The one with the longest hit; of those, the one with the most left.
    #[default]
    Affinity,
    /// The one that has the most positions left then; of those, the one with the longest hit.
    MostFree,
    /// The one whose last admission by the fleet was the longest ago.
    RoundRobin,
}

/// An instance that can take a request at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Which.
    pub instance: InstanceId,
    /// Positions that are found on it.
    pub hit: usize,
    /// Blocks that it would charge, on the shard that needs the most.
    pub charge: usize,
    /// Blocks that an admission could have after that, on the shard where it is the fewest.
    pub free: usize,
    /// Positions in each of its blocks.
    pub block_size: usize,
    /// Positions a step that would be demanded then, of those that it can compute.
    pub service: Portion,
    /// The admission of the fleet that it had last.
    turn: u64,
}

impl Candidate {
    fn new(entry: &Entry, costs: &Costs) -> Self {
        let left = |(it, charge): (&Sequences, usize)| it.free_after(charge);
        let charges = costs.shards().iter().map(Cost::charge);
        let shards = entry.instance.shards().iter();
        Self {
            instance: entry.id,
            hit: costs.hit(),
            charge: costs.charge(),
            free: shards.zip(charges).map(left).min().unwrap_or(0),
            block_size: entry.instance.block_size(),
            service: Portion {
                used: 0,
                whole: entry.member.service,
            },
            turn: entry.turn,
        }
    }

    const fn free_positions(&self) -> usize {
        self.free.saturating_mul(self.block_size)
    }
}

impl Placement {
    /// The first choice is the least.
    fn compare(self, a: &Candidate, b: &Candidate) -> Ordering {
        let hit = |it: &Candidate| Reverse(it.hit);
        let free = |it: &Candidate| Reverse(it.free_positions());
        let by = match self {
            Self::Affinity => (hit(a), free(a)).cmp(&(hit(b), free(b))),
            Self::MostFree => (free(a), hit(a)).cmp(&(free(b), hit(b))),
            Self::RoundRobin => a.turn.cmp(&b.turn),
        };
        by.then(a.instance.cmp(&b.instance))
    }
}

/// A request that was admitted on an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// Where. Its [`get_mut`](Fleet::get_mut) takes the sequence's further calls.
    pub instance: InstanceId,
    /// What it got there.
    pub admitted: Admitted,
}

impl Fleet {
    /// The instances of a model that can take a request at this instant, the first choice first, in `out` (which is cleared first).
    /// Changes nothing.
    ///
    /// # Errors
    /// [`NoPlace`]: there is none.
    ///
    /// [`Instance::check`](crate::Instance::check) on each instance of the model, and a look at all its slots.
    pub fn candidates(
        &self,
        model: u64,
        request: &Admit<'_>,
        placement: Placement,
        out: &mut Vec<Candidate>,
    ) -> Result<(), NoPlace> {
        out.clear();
        out.try_reserve(self.members.len())
            .map_err(|_| OutOfMemory)?;
        let answers = self.ask(model, request, |candidate| out.push(candidate))?;
        if out.is_empty() {
            return Err(answers.sum(model));
        }
        for candidate in out.iter_mut() {
            self.fill_in(candidate, request);
        }
        out.sort_unstable_by(|a, b| placement.compare(a, b));
        Ok(())
    }

    /// Where [`admit`](Self::admit) would place a request at this instant, or the refusal that it would give. Changes nothing.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    ///
    /// As [`candidates`](Self::candidates), without a list.
    pub fn check(
        &self,
        model: u64,
        request: &Admit<'_>,
        placement: Placement,
    ) -> Result<Candidate, NoPlace> {
        let mut candidate = self.first_choice(model, request, placement)?;
        self.fill_in(&mut candidate, request);
        Ok(candidate)
    }

    fn first_choice(
        &self,
        model: u64,
        request: &Admit<'_>,
        placement: Placement,
    ) -> Result<Candidate, NoPlace> {
        let mut best = None;
        let answers = self.ask(model, request, |candidate| {
            let first = |it: &Candidate| placement.compare(it, &candidate).is_lt();
            best = best.filter(first).or(Some(candidate));
        })?;
        best.ok_or_else(|| answers.sum(model))
    }

    /// What would be demanded of it, which no placement looks at.
    fn fill_in(&self, candidate: &mut Candidate, request: &Admit<'_>) {
        if let Ok(entry) = self.entry(candidate.instance) {
            let needed = entry.needed(request, candidate.hit);
            candidate.service.used = entry.demand().saturating_add(needed);
        }
    }

    /// Admits a request on the first choice of the instances that can take it.
    ///
    /// # Errors
    /// [`NoPlace`] tells what is lacking; nothing has changed on any instance. A malformed prompt is [`NoPlace::Admit`].
    ///
    /// As [`check`](Self::check), but only the slots of instances with a cap on service are looked at; then
    /// [`Instance::admit`](crate::Instance::admit) on one. If another registry over its pool was faster
    /// all are asked again, at most once for each instance.
    pub fn admit(
        &mut self,
        model: u64,
        request: &Admit<'_>,
        placement: Placement,
    ) -> Result<Placed, NoPlace> {
        let placed = self.place(model, request, placement);
        match &placed {
            Ok(_) => self.statistics.placed += 1,
            Err(refused) => self.statistics.count(refused),
        }
        placed
    }

    fn place(
        &mut self,
        model: u64,
        request: &Admit<'_>,
        placement: Placement,
    ) -> Result<Placed, NoPlace> {
        let turn = self.statistics.placed.saturating_add(1);
        let mut refused = NoPlace::NoSuchModel { model };
        for _ in 0..self.members.len() {
            let instance = self.first_choice(model, request, placement)?.instance;
            let Ok(entry) = self.entry_mut(instance) else {
                continue;
            };
            match entry.instance.admit(request) {
                Ok(admitted) => {
                    entry.turn = turn;
                    return Ok(Placed { instance, admitted });
                }
                Err(error) => refused = error.into(),
            }
        }
        Err(refused)
    }

    /// Asks every instance of a model, and tells `can` of those that can take the request.
    fn ask(
        &self,
        model: u64,
        request: &Admit<'_>,
        mut can: impl FnMut(Candidate),
    ) -> Result<Answers, NoPlace> {
        let mut answers = Answers::default();
        for entry in self.members.iter().filter(|it| it.member.model == model) {
            answers.count(entry);
            let answer = match entry.state {
                InstanceState::Draining => continue,
                InstanceState::Starting | InstanceState::Ready => entry.can_take(request, 0),
            };
            match (entry.state, answer) {
                (_, Err(Answer::Admit(error @ AdmitError::LengthMismatch(_)))) => {
                    return Err(error.into());
                }
                (InstanceState::Ready, Ok(costs)) => can(Candidate::new(entry, &costs)),
                (InstanceState::Ready, Err(answer)) => answers.refuse(entry, answer),
                (_, answer) => answers.starting(entry, answer.err()),
            }
        }
        Ok(answers)
    }
}

impl Entry {
    /// What a request takes of it at this instant, if so many of its first positions come from elsewhere.
    pub(super) fn can_take(&self, request: &Admit<'_>, coming: usize) -> Result<Costs, Answer> {
        let costs = self.instance.check(request).map_err(Answer::Admit)?;
        if self.member.max_service < u64::MAX {
            let there = costs.hit().max(coming);
            let (needed, demanded) = (self.needed(request, there), self.demand());
            if demanded > 0 && needed.saturating_add(demanded) > self.member.max_service {
                return Err(Answer::ServiceFull { needed, demanded });
            }
        }
        Ok(costs)
    }
}
