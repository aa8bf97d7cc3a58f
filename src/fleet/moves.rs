//! Moving a sequence to another instance: its content is read where it is and written where it goes, and both sides are charged until one
//! of them has it alone.

use super::Fleet;
use super::answers::Answer;
use super::error::NoSuchInstance;
use super::member::{InstanceId, InstanceState};
use super::move_error::{AbortError, FinishError, MoveError};
use super::moving::{Move, MoveTerms, Stage};
use crate::instance::InstanceIncoming;
use crate::pool::{Fence, Lane};
use crate::sequence::{Admit, EndAfterError, ExportError, Handle, Terms};

impl Fleet {
    /// Begins to move a sequence to another instance of its model: offers what is computed of it to be read, and admits it there with all
    /// that it needs. `request` is the sequence as the destination is to have it: all its tokens at least, and what it is promised.
    /// The tokens and extra keys of what is computed are compared with those that are known of it, as others will find by them what is read.
    ///
    /// It gets no positions on either side until the move is [finished](Self::finish_move), and both are charged: reports count its
    /// blocks as duplicated on both. It is read before it is written over: the source's blocks are held until the writers have answered.
    ///
    /// # Errors
    /// [`MoveError`]; the source goes on as if nothing had been asked, but what had arrived for it counts. A refusal is counted at the destination.
    ///
    /// As [`Instance::export`](crate::Instance::export) and [`Instance::import`](crate::Instance::import).
    pub fn start_move(
        &mut self,
        from: InstanceId,
        source: Handle,
        to: InstanceId,
        request: &Admit<'_>,
        terms: &MoveTerms<'_>,
    ) -> Result<Move, MoveError> {
        let (here, there) = self.two_mut::<MoveError>(from, to)?;
        let models = (here.member.model, there.member.model);
        if models.0 != models.1 {
            let (from, to) = models;
            return Err(MoveError::OtherModel { from, to });
        }
        if there.state != InstanceState::Ready {
            return Err(MoveError::NotReady { instance: to });
        }
        // What has arrived for it by now goes along.
        here.instance.loading(source).map_err(ExportError::from)?;
        let state = here.instance.state(source).map_err(ExportError::from)?;
        let (positions, tokens) = (state.positions, request.prompt.tokens.len());
        if tokens < positions {
            return Err(MoveError::Shorter { tokens, positions });
        }
        let other = here.instance.first_other(source, &request.prompt);
        if let Some(block) = other.map_err(ExportError::from)? {
            return Err(MoveError::OtherTokens { block });
        }
        let taken = there.can_take(request, state.computed);
        taken.map_err(|answer| {
            if let Answer::Admit(error) = &answer {
                there.instance.count_refused(error);
            }
            MoveError::refused(there, answer)
        })?;
        let namespace = request.prompt.namespace;
        let lent = Terms::moving(terms.owner, terms.deadline);
        let (export, offers) = here
            .instance
            .offer(source, namespace, &mut here.leases, &lent)?;
        let mut incoming = InstanceIncoming::from_export(&export, terms.writers);
        incoming.flights = terms.flights;
        match there.instance.import(request, &incoming) {
            Ok(imported) => {
                here.instance.make_offer_known(source);
                Ok(Move {
                    from,
                    source,
                    to,
                    export,
                    imported,
                    stage: Stage::Open,
                })
            }
            Err(error) => {
                here.instance.take_back(source, &offers, export.shards());
                Err(error.into())
            }
        }
    }

    /// Ends a move whose content has all arrived: the sequence goes on at the destination, under the handle that is returned, and is
    /// released at the source. If it was released there since it had been committed that is all right.
    ///
    /// # Errors
    /// [`FinishError`]; nothing is changed but what has arrived counts. [`CommitError::NotArrived`](crate::CommitError::NotArrived): ask
    /// again, or, if a writer failed or the lease was over, [abort](Self::abort_move) it.
    /// [`CommitError::Aborted`](crate::CommitError::Aborted): the source was released, or went on: abort it.
    ///
    /// As [`Instance::commit`](crate::Instance::commit) and [`Instance::release`](crate::Instance::release).
    pub fn finish_move(&mut self, moving: &mut Move) -> Result<Handle, FinishError> {
        self.commit_move(moving)?;
        if let Ok(here) = self.entry_mut(moving.from) {
            // It may have been released already.
            let _ = here.instance.release(moving.source);
        }
        moving.stage = Stage::Over;
        Ok(moving.handle())
    }

    /// The same, where a step under way at the source may still touch its blocks: they are given back when the lanes of the source, one
    /// for each shard, have passed the fence.
    ///
    /// # Errors
    /// As [`finish_move`](Self::finish_move); [`FinishError::Lane`]. If the lanes have no memory the destination has the sequence
    /// already: ask again.
    pub fn finish_move_after(
        &mut self,
        moving: &mut Move,
        lanes: &mut [Lane],
        fence: Fence,
    ) -> Result<Handle, FinishError> {
        self.entry(moving.from)?.instance.check_lanes(lanes)?;
        self.commit_move(moving)?;
        let here = &mut self.entry_mut(moving.from)?.instance;
        match here.release_after(moving.source, lanes, fence) {
            // It may have been released already.
            Ok(()) | Err(EndAfterError::Stale(_)) => {}
            Err(EndAfterError::Lane(error)) => return Err(error.into()),
        }
        moving.stage = Stage::Over;
        Ok(moving.handle())
    }

    fn commit_move(&mut self, moving: &mut Move) -> Result<(), FinishError> {
        moving.check_open()?;
        self.check_own(moving)?;
        if moving.stage == Stage::Open {
            let there = self.entry_mut(moving.to)?;
            there.instance.commit(moving.handle())?;
            moving.stage = Stage::Committed;
        }
        Ok(())
    }

    /// Whether the instances of a move are those that have or had these names here.
    fn check_own(&self, moving: &Move) -> Result<(), NoSuchInstance> {
        for (instance, core) in [
            (moving.from, moving.read_core()),
            (moving.to, moving.filled_core()),
        ] {
            let is_own = match self.entry(instance) {
                Ok(entry) => core.is_none_or(|core| entry.shares_a_pool(core)),
                // It may have been removed since.
                Err(_) => instance.0 < self.added,
            };
            if !is_own {
                return Err(NoSuchInstance { instance });
            }
        }
        Ok(())
    }

    /// Calls a move off: the source keeps the sequence and goes on, if it has not been released meanwhile; the destination gives its
    /// blocks back, each when its writers have answered.
    ///
    /// # Errors
    /// [`AbortError`]: it is over, the destination has it, or it is another fleet's. Nothing is changed.
    pub fn abort_move(&mut self, moving: &mut Move) -> Result<(), AbortError> {
        moving.check_open()?;
        self.check_own(moving)?;
        moving.call_off()?;
        if let Ok(there) = self.entry_mut(moving.to) {
            // It may have been released already.
            let _ = there.instance.release(moving.handle());
        }
        moving.stage = Stage::Over;
        Ok(())
    }

    /// Tells the time by which moves end. Returns how many leases on what they read are over now. Time does not go back.
    ///
    /// As [`Leases::tick`](crate::Leases::tick) for each shard.
    pub fn tick(&mut self, now: u64) -> usize {
        let tables = self.members.iter_mut().flat_map(|it| &mut it.leases);
        tables.map(|table| table.tick(now)).sum()
    }
}
