//! Sequences whose first positions come from elsewhere: a peer, a store, a host tier.
//!
//! Admission takes every block at once, those that the load fills and those for the rest, with the promise: so no two half-loaded
//! requests wait for each other. What arrives is computed from then on, and published; nothing is before.

use super::Sequences;
use super::admission::Admit;
use super::error::{
    AdmitError, Beyond, CommitError, ImportError, MoveAborted, NotArrived, OtherNamespace,
    SourceTaken, Stale, TooManyWriters, UnknownFormat,
};
use super::handle::Handle;
use super::sequence::Sequence;
use super::transit::{Load, Transit};
use crate::error::OutOfMemory;
use crate::transfer::{Export, Flights, Handover, Import, KvFormat, MAX_WRITERS, Parts, Phase};

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
        let block_size = self.core().block_size;
        let positions = request.prompt.tokens.len();
        let (asked, writers) = (incoming.positions, incoming.writers);
        if asked > positions {
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
        let block_bytes = format.map_or(0, KvFormat::block_bytes);
        let most = asked.div_ceil(block_size);
        self.loads.retain(|import| !import.is_settled());
        self.loads.try_reserve(1).map_err(|_| OutOfMemory)?;
        let mut import = Import::try_new(&self.pool, most).map_err(|_| OutOfMemory)?;
        // What is found here need not come; with others at work that may be less than is found in the end.
        let cost = self
            .check(request)
            .inspect_err(|&error| self.count(error))?;
        let come = most.saturating_sub(cost.hit_held + cost.hit_idle);
        let bytes = block_bytes.saturating_mul(come as u64);
        let flight = match incoming.flights {
            Some(flights) => Some(flights.take(bytes)?),
            None => None,
        };
        if incoming.source.is_some_and(|source| !source.link()) {
            return Err(SourceTaken.into());
        }
        let admitted = self.admit(request).map_err(|error| {
            if let Some(source) = incoming.source {
                source.unlink();
            }
            ImportError::from(error)
        })?;

        let sequence = self.registry.at(admitted.handle.slot());
        let first = admitted.hit / block_size;
        let filled = sequence.chain.ids.get(first..most).unwrap_or_default();
        import.begin(
            filled,
            Parts {
                writers,
                flight,
                source: incoming.source.cloned(),
            },
        );
        sequence.transit = Transit::Loading(Load {
            import: import.clone(),
            first,
            arrived: 0,
            positions: asked.max(admitted.hit),
            good: usize::MAX,
        });
        if incoming
            .source
            .is_some_and(|it| it.handover() == Handover::Move)
        {
            if let Some(cursor) = self.registry.cursor(admitted.handle) {
                cursor.close();
            }
        }
        self.statistics.imports += 1;
        if !import.is_settled() {
            self.loads.push(import.clone());
        }
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
        let Transit::Loading(load) = &sequence.transit else {
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
        if let Some(export) = load.moved() {
            export.commit().map_err(|_| MoveAborted)?;
        }
        sequence.transit = Transit::None;
        Ok(())
    }

    /// Blocks that writers may still touch, each once; for reports.
    pub(crate) fn loading_blocks(&self) -> usize {
        self.loads.iter().map(Import::left).sum()
    }

    /// Blocks that a move under way keeps twice, as far as they are here.
    pub(crate) fn duplicated_blocks(&self) -> usize {
        let moved = |(_, sequence): (_, &Sequence)| match &sequence.transit {
            Transit::Loading(load) if load.reads_source() => load.import.ids().len(),
            Transit::Leaving(export) if export.phase() == Phase::Linked => export.ids().len(),
            _ => 0,
        };
        self.registry.iter().map(moved).sum()
    }

    fn count(&self, error: AdmitError) {
        if let AdmitError::Refused(refused) = error {
            self.core().count_refusal(refused);
        }
    }

    /// Takes notice of what has arrived.
    pub(super) fn go_on_loading(&mut self, slot: usize) -> Loading {
        let core = &*self.pool.core;
        let sequence = self.registry.at(slot);
        let Transit::Loading(load) = &mut sequence.transit else {
            return Loading::over(sequence);
        };
        // Read before the arrivals: if nothing is left now, all of them are seen.
        let left = load.import.left();
        load.arrived += load.import.arrived_from(load.arrived);
        load.good = load.good.min(load.import.sound());
        let (arrived, positions) = (load.arrived_positions(core.block_size), load.positions);
        let failed = load.good < positions
            || (load.arrived..load.import.ids().len()).any(|at| load.import.has_failed(at));
        let aborted = load
            .moved()
            .is_some_and(|export| export.phase() == Phase::Aborted);
        let is_move = load.moved().is_some();
        sequence.seal.computed = sequence.seal.computed.max(arrived);
        let ended = sequence
            .seal
            .publish(core, &mut self.worker, &mut sequence.chain);
        self.statistics.unpublished += u64::from(ended);
        // Where something did not come it ends when the sequence has computed that itself.
        if left == 0 && !is_move && sequence.seal.computed >= positions {
            sequence.end_load(arrived >= positions);
            return Loading::over(sequence);
        }
        Loading {
            arrived,
            left,
            failed,
            aborted,
        }
    }
}
