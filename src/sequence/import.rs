//! Sequences whose first positions come from elsewhere: a peer, a store, a host tier.
//!
//! Admission takes every block at once, those that the load fills and those for the rest, with the promise: so no two half-loaded
//! requests wait for each other. What arrives is computed from then on, and published; nothing is before.

use super::Sequences;
use super::admission::{Admit, Admitted, Cost};
use super::error::{
    Beyond, CommitError, ImportError, MoveAborted, NotArrived, OtherNamespace, SourceTaken, Stale,
    TooManyWriters, UnknownFormat,
};
use super::handle::Handle;
use super::sequence::Sequence;
use super::transit::{Load, Transit};
use crate::error::OutOfMemory;
use crate::transfer::{
    Export, Flight, Flights, Handover, Import, KvFormat, MAX_WRITERS, Parts, Phase,
};

/// What is to come for a sequence.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Incoming<'a> {
    /// Positions from the start that are stored elsewhere. What is found here of them does not come.
    pub positions: usize,
    /// Who fills the blocks, each its part of all of them: 1 to [`MAX_WRITERS`].
    pub writers: usize,
    /// How the content is laid out there. Compared with the [registry's](crate::SequencesConfig::format), if both are known.
    pub format: Option<&'a KvFormat>,
    /// The export of this process that is read.
    pub source: Option<&'a Export>,
    /// Where the bytes under way are counted. One end's format must be known.
    pub flights: Option<&'a Flights>,
}

impl<'a> Incoming<'a> {
    /// So many stored positions, filled by so many writers.
    #[must_use]
    pub const fn new(positions: usize, writers: usize) -> Self {
        Self {
            positions,
            writers,
            format: None,
            source: None,
            flights: None,
        }
    }

    /// What an export offers.
    #[must_use]
    pub fn from_export(source: &'a Export, writers: usize) -> Self {
        Self {
            format: source.format(),
            source: Some(source),
            ..Self::new(source.positions(), writers)
        }
    }

    /// With the layout that the content has there.
    #[must_use]
    pub const fn format(mut self, format: &'a KvFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Counted against a cap on bytes under way.
    #[must_use]
    pub const fn flights(mut self, flights: &'a Flights) -> Self {
        self.flights = Some(flights);
        self
    }
}

/// An admitted sequence that is being filled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Its name from now on.
    pub handle: Handle,
    /// Positions that were found here.
    pub hit: usize,
    /// Blocks that were taken for the rest: the last ones of its table. Those behind the import's are for positions that do not come.
    pub fresh: usize,
    /// For the writers.
    pub import: Import,
}

/// How far the load of a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loading {
    /// Positions from the start that are there. The engine computes the others, when nothing is left to come.
    pub arrived: usize,
    /// Blocks that some writer may still touch.
    pub left: usize,
    /// Something did not come, or was bad: no more than `arrived` will. If more is [computed](crate::SequenceState::computed)
    /// already, the source found that bad later: [invalidate](crate::Sequences::invalidate) the block behind `arrived`.
    pub failed: bool,
    /// The source of a move called it off, or found its content bad.
    pub aborted: bool,
}

impl Loading {
    /// Nothing is to come for the sequence.
    const fn over(sequence: &Sequence) -> Self {
        Self {
            arrived: sequence.seal.computed,
            left: 0,
            failed: false,
            aborted: false,
        }
    }
}

impl Sequence {
    fn check_commit(&self, state: &Loading) -> Result<(), CommitError> {
        let Transit::Loading(load) = &self.transit else {
            return Ok(());
        };
        if state.aborted {
            return Err(MoveAborted.into());
        }
        if state.arrived < load.positions || state.left > 0 {
            return Err(NotArrived {
                arrived: state.arrived,
                expected: load.positions,
                left: state.left,
            }
            .into());
        }
        Ok(())
    }

    fn take_over(&mut self) -> Result<(), MoveAborted> {
        if let Transit::Loading(load) = &self.transit {
            if let Some(export) = load.moved() {
                export.commit().map_err(|_| MoveAborted)?;
            }
            self.transit = Transit::None;
        }
        Ok(())
    }
}

impl Sequences {
    /// Admits a sequence whose first positions come from elsewhere: as [`admit`](Self::admit), and what is not found of them is
    /// filled by the writers of the [`Import`]. All of it or nothing. The tokens are the caller's word, as in
    /// [`tokens`](Self::tokens): they must be those of the content that comes.
    ///
    /// What has arrived without a gap counts as computed and is published, when [`loading`](Self::loading) is asked. The sequence
    /// can be released or preempted at any time: its blocks stay held until their writers have answered. If it comes from the
    /// export of a move it gets no further positions before that is [committed](Self::commit).
    ///
    /// # Errors
    /// [`ImportError`]; nothing is changed, but a refusal is counted.
    ///
    /// As [`admit`](Self::admit), and a read-modify-write for each block to be filled. Allocates 12 bytes for each block of the prompt.
    pub fn import(
        &mut self,
        request: &Admit<'_>,
        incoming: &Incoming<'_>,
    ) -> Result<Imported, ImportError> {
        self.check_incoming(request, incoming)?;
        // What is found here need not come; with others at work that may be less than is found in the end.
        let cost = self
            .check(request)
            .inspect_err(|error| self.count_refused(error))?;
        let prepared = self.prepare_import(incoming, &cost)?;
        let admitted = self
            .admit(request)
            .inspect_err(|_| Self::forget_import(incoming))?;
        let import = self.begin_import(&admitted, incoming, prepared);
        self.go_on_loading(admitted.handle.slot());
        Ok(Imported {
            handle: admitted.handle,
            hit: admitted.hit,
            fresh: admitted.fresh,
            import,
        })
    }

    /// How far the load of a sequence is. What has arrived is computed and published by this call.
    ///
    /// # Errors
    /// [`Stale`].
    ///
    /// A look at each block that has not been counted, and a publish for each that arrived.
    pub fn loading(&mut self, handle: Handle) -> Result<Loading, Stale> {
        let slot = self.registry.find(handle)?;
        Ok(self.go_on_loading(slot))
    }

    /// Takes over a sequence that was being moved here: everything has arrived, the source may not go on with it any more, and this
    /// registry does. Without a move it only says whether something is still to come, or failed and was not computed here.
    ///
    /// # Errors
    /// [`CommitError::NotArrived`]: wait, or release the sequence; without a move it may as well compute the rest itself.
    /// [`CommitError::Aborted`]: the source keeps it; release it here.
    /// [`CommitError::Stale`].
    pub fn commit(&mut self, handle: Handle) -> Result<(), CommitError> {
        let slot = self.registry.find(handle)?;
        let state = self.go_on_loading(slot);
        let sequence = self.registry.at(slot);
        sequence.check_commit(&state)?;
        Ok(sequence.take_over()?)
    }

    /// Whether a load with this state can be committed.
    pub(crate) fn check_commit(&self, handle: Handle, state: &Loading) -> Result<(), CommitError> {
        let (_, sequence) = self.registry.get(handle)?;
        sequence.check_commit(state)
    }

    /// The sequence goes on here: its source may not any more.
    pub(crate) fn take_over(&mut self, handle: Handle) -> Result<(), CommitError> {
        let (_, sequence) = self.registry.get_mut(handle)?;
        Ok(sequence.take_over()?)
    }

    /// The same, when another shard of its instance has decided that already.
    pub(crate) fn follow(&mut self, handle: Handle) {
        if let Ok((_, sequence)) = self.registry.get_mut(handle) {
            if sequence.take_over() == Err(MoveAborted) {
                // It has been called off by itself: it is here all the same.
                sequence.transit = Transit::None;
            }
        }
    }

    /// Blocks that writers may still touch, each once; for reports.
    pub(crate) fn loading_blocks(&self) -> usize {
        self.loads.iter().map(Import::left).sum()
    }

    /// Blocks that a move under way keeps twice, as far as they are here.
    pub(crate) fn duplicated_blocks(&self) -> usize {
        let moved = |(_, sequence): (_, &Sequence)| match &sequence.transit {
            Transit::Loading(load) if load.reads_source() => load.import.ids().len(),
            Transit::Leaving { export, .. } if export.phase() == Phase::Linked => {
                export.ids().len()
            }
            _ => 0,
        };
        self.registry.iter().map(moved).sum()
    }

    /// Takes notice of what has arrived for a sequence, without counting it as computed.
    pub(crate) fn notice(&mut self, handle: Handle) -> Result<Loading, Stale> {
        let slot = self.registry.find(handle)?;
        Ok(self.notice_in(slot))
    }

    /// The same for the sequence of a slot.
    pub(super) fn notice_in(&mut self, slot: usize) -> Loading {
        let block_size = self.pool.core.block_size;
        let sequence = self.registry.at(slot);
        let Transit::Loading(load) = &mut sequence.transit else {
            return Loading::over(sequence);
        };
        // Read before the arrivals: if nothing is left now, all of them are seen.
        let left = load.import.left();
        load.arrived += load.import.arrived_from(load.arrived);
        load.good = load.good.min(load.import.sound());
        let failed = load.good < load.positions
            || (load.arrived..load.import.ids().len()).any(|at| load.import.has_failed(at));
        let aborted = load
            .moved()
            .is_some_and(|export| export.phase() == Phase::Aborted);
        Loading {
            arrived: load.arrived_positions(block_size),
            left,
            failed,
            aborted,
        }
    }

    /// What was noticed of up to `arrived` positions counts as computed, and is published. Returns whether nothing is left to come.
    pub(super) fn accept(&mut self, slot: usize, arrived: usize) -> bool {
        let core = &*self.pool.core;
        let sequence = self.registry.at(slot);
        let Transit::Loading(load) = &sequence.transit else {
            return true;
        };
        let there = load.arrived_positions(core.block_size);
        let complete = there >= load.positions && arrived >= load.positions;
        let positions = load.positions;
        let may_end = load.import.is_settled() && load.moved().is_none();
        sequence.seal.computed = sequence.seal.computed.max(there.min(arrived));
        let ended = sequence
            .seal
            .publish(core, &mut self.worker, &mut sequence.chain);
        self.statistics.unpublished += u64::from(ended);
        // Where something did not come it ends when the sequence has computed that itself.
        let ends = may_end && sequence.seal.computed >= positions;
        if ends {
            sequence.end_load(complete);
        }
        ends
    }

    /// What was noticed of up to `arrived` positions counts as computed. Returns whether nothing is left to come.
    pub(crate) fn count_arrived(&mut self, handle: Handle, arrived: usize) -> bool {
        match self.registry.find(handle) {
            Ok(slot) => self.accept(slot, arrived),
            Err(Stale) => true,
        }
    }

    /// Takes notice of what has arrived, and counts it.
    fn go_on_loading(&mut self, slot: usize) -> Loading {
        let state = self.notice_in(slot);
        if self.accept(slot, state.arrived) {
            return Loading::over(self.registry.at(slot));
        }
        state
    }
}

/// An import that has its memory, its flight and its source.
#[derive(Debug)]
pub(crate) struct Prepared {
    import: Import,
    flight: Option<Flight>,
}

/// The steps of an import, each over all shards of an instance before the next one.
impl Sequences {
    /// Whether what is to come can come for this request.
    pub(crate) fn check_incoming(
        &self,
        request: &Admit<'_>,
        incoming: &Incoming<'_>,
    ) -> Result<(), ImportError> {
        let block_size = self.core().block_size;
        let positions = request.prompt.tokens.len();
        let (asked, writers) = (incoming.positions, incoming.writers);
        let offered = incoming.source.map_or(positions, Export::positions);
        if asked > positions.min(offered) {
            let positions = positions.min(offered);
            return Err(Beyond { asked, positions }.into());
        }
        if writers == 0 || writers > MAX_WRITERS {
            return Err(TooManyWriters { asked: writers }.into());
        }
        if let Some(theirs) = incoming.source.map(Export::block_size) {
            KvFormat::compare_block_size(block_size, theirs)?;
        }
        if let Some(theirs) = incoming.format {
            theirs.check_block_size(block_size)?;
            self.format().map_or(Ok(()), |ours| ours.check(theirs))?;
        }
        if incoming
            .source
            .is_some_and(|it| !it.is_of(request.prompt.namespace))
        {
            return Err(OtherNamespace.into());
        }
        let format = self.format().or(incoming.format);
        if incoming.flights.is_some() && format.is_none() {
            return Err(UnknownFormat.into());
        }
        Ok(())
    }

    /// Memory, flight and source for what is to come.
    pub(crate) fn prepare_import(
        &mut self,
        incoming: &Incoming<'_>,
        cost: &Cost,
    ) -> Result<Prepared, ImportError> {
        let format = self.format().or(incoming.format);
        let block_bytes = format.map_or(0, KvFormat::block_bytes);
        let most = incoming.positions.div_ceil(self.core().block_size);
        self.loads.retain(|import| !import.is_settled());
        self.loads.try_reserve(1).map_err(|_| OutOfMemory)?;
        let import = Import::try_new(&self.pool, most).map_err(|_| OutOfMemory)?;
        let come = most.saturating_sub(cost.hit_held + cost.hit_idle);
        let bytes = block_bytes.saturating_mul(come as u64);
        let flight = match incoming.flights {
            Some(flights) => Some(flights.take(bytes)?),
            None => None,
        };
        if incoming.source.is_some_and(|source| !source.link()) {
            return Err(SourceTaken.into());
        }
        Ok(Prepared { import, flight })
    }

    /// What was prepared does not come about.
    pub(crate) fn forget_import(incoming: &Incoming<'_>) {
        if let Some(source) = incoming.source {
            source.unlink();
        }
    }

    /// The sequence was admitted: its blocks are to be filled.
    pub(crate) fn begin_import(
        &mut self,
        admitted: &Admitted,
        incoming: &Incoming<'_>,
        prepared: Prepared,
    ) -> Import {
        let block_size = self.core().block_size;
        let most = incoming.positions.div_ceil(block_size);
        let Prepared { mut import, flight } = prepared;
        let sequence = self.registry.at(admitted.handle.slot());
        let first = admitted.hit / block_size;
        let filled = sequence.chain.ids.get(first..most).unwrap_or_default();
        import.begin(
            filled,
            Parts {
                writers: incoming.writers,
                flight,
                source: incoming.source.cloned(),
            },
        );
        sequence.transit = Transit::Loading(Load {
            import: import.clone(),
            first,
            arrived: 0,
            positions: incoming.positions.max(admitted.hit),
            good: usize::MAX,
        });
        let is_move = |source: &Export| source.handover() == Handover::Move;
        if incoming.source.is_some_and(is_move) {
            if let Some(cursor) = self.registry.cursor(admitted.handle) {
                cursor.close();
            }
        }
        self.statistics.imports += 1;
        if !import.is_settled() {
            self.loads.push(import.clone());
        }
        import
    }
}
