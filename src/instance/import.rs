//! Sequences whose first positions come from elsewhere, on all shards: each shard's blocks are written by themselves, and what arrives
//! counts up to where it has arrived on every shard.

use alloc::vec::Vec;

use super::Instance;
use super::export::InstanceExport;
use crate::error::OutOfMemory;
use crate::sequence::{
    Admit, CommitError, Handle, ImportError, Incoming, Loading, Sequences, Stale,
};
use crate::sync::mutant;
use crate::transfer::{Flights, Import, Incompatible, KvFormat};

/// What is to come for a sequence, on every shard.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InstanceIncoming<'a> {
    /// Positions from the start that are stored elsewhere. What is found here of them does not come.
    pub positions: usize,
    /// Who fills the blocks of each shard.
    pub writers: usize,
    /// How the content of each shard is laid out there: one for each, or none.
    pub formats: &'a [KvFormat],
    /// The export of this process that is read.
    pub source: Option<&'a InstanceExport>,
    /// Where the bytes under way are counted. One end's format must be known.
    pub flights: Option<&'a Flights>,
}

impl<'a> InstanceIncoming<'a> {
    /// So many stored positions, filled by so many writers on each shard.
    #[must_use]
    pub const fn new(positions: usize, writers: usize) -> Self {
        Self {
            positions,
            writers,
            formats: &[],
            source: None,
            flights: None,
        }
    }

    /// What an export of an instance with as many shards offers: each shard reads its own kind.
    #[must_use]
    pub fn from_export(source: &'a InstanceExport, writers: usize) -> Self {
        Self {
            source: Some(source),
            ..Self::new(source.positions(), writers)
        }
    }

    /// With the layout that the content of each shard has there.
    #[must_use]
    pub const fn formats(mut self, formats: &'a [KvFormat]) -> Self {
        self.formats = formats;
        self
    }

    /// Counted against a cap on bytes under way.
    #[must_use]
    pub const fn flights(mut self, flights: &'a Flights) -> Self {
        self.flights = Some(flights);
        self
    }

    fn check_shards(&self, ours: usize) -> Result<(), Incompatible> {
        let source = self.source.map(|it| it.shards().len());
        let formats = (!self.formats.is_empty()).then_some(self.formats.len());
        match source.into_iter().chain(formats).find(|&it| it != ours) {
            Some(theirs) => Err(Incompatible::Shards { ours, theirs }),
            None => Ok(()),
        }
    }

    fn of_shard(&self, at: usize) -> Incoming<'a> {
        let mut incoming = match self.source.and_then(|it| it.shards().get(at)) {
            Some(source) => Incoming::from_export(source, self.writers),
            None => Incoming::new(self.positions, self.writers),
        };
        incoming.positions = self.positions;
        if let Some(format) = self.formats.get(at) {
            incoming.format = Some(format);
        }
        incoming.flights = self.flights;
        incoming
    }
}

/// An admitted sequence that is being filled on every shard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstanceImported {
    /// Its name from now on.
    pub handle: Handle,
    /// Positions that were found on every shard.
    pub hit: usize,
    /// Blocks that were taken on each shard for the rest.
    pub fresh: usize,
    /// For the writers of each shard; one in lockstep.
    pub imports: Vec<Import>,
}

impl Instance {
    /// Admits a sequence whose first positions come from elsewhere, on every shard or on none. As [`Sequences::import`]: what has arrived
    /// on all shards counts.
    ///
    /// # Errors
    /// [`ImportError`]; nothing is changed on any shard, but a refusal is counted. [`ImportError::Incompatible`]: also if the other side
    /// has another number of shards.
    pub fn import(
        &mut self,
        request: &Admit<'_>,
        incoming: &InstanceIncoming<'_>,
    ) -> Result<InstanceImported, ImportError> {
        incoming.check_shards(self.shards.len())?;
        self.look(|at, it| it.check_incoming(request, &incoming.of_shard(at)))?;
        let mut imports = Vec::new();
        let enough = imports.try_reserve_exact(self.shards.len());
        enough.map_err(|_| OutOfMemory)?;
        let costs = self
            .check(request)
            .inspect_err(|error| self.count_refused(error))?;
        let prepared = self.on_all(
            |at, it| it.prepare_import(&incoming.of_shard(at), &costs.shards()[at]),
            |at, _, _| Sequences::forget_import(&incoming.of_shard(at)),
        )?;
        let admitted = self.admit(request).inspect_err(|_| {
            for at in 0..costs.shards().len() {
                Sequences::forget_import(&incoming.of_shard(at));
            }
        })?;
        for (at, (it, prepared)) in self.shards.iter_mut().zip(prepared).enumerate() {
            imports.push(it.begin_import(&admitted, &incoming.of_shard(at), prepared));
        }
        // Where nothing is to come it is there already. It was admitted just now.
        let _ = self.loading(admitted.handle);
        Ok(InstanceImported {
            handle: admitted.handle,
            hit: admitted.hit,
            fresh: admitted.fresh,
            imports,
        })
    }

    /// How far the load of a sequence is: what has arrived on every shard is computed and published by this call. `left` is the sum over
    /// the shards. As [`Sequences::loading`].
    ///
    /// # Errors
    /// [`Stale`].
    pub fn loading(&mut self, handle: Handle) -> Result<Loading, Stale> {
        let state = self.notice(handle)?;
        let mut over = true;
        for it in &mut self.shards {
            over &= it.count_arrived(handle, state.arrived);
        }
        if over {
            return Ok(Loading {
                arrived: self.first().state(handle)?.computed,
                left: 0,
                failed: false,
                aborted: false,
            });
        }
        Ok(state)
    }

    /// Takes notice of what has arrived, without counting it as computed.
    pub(super) fn notice(&mut self, handle: Handle) -> Result<Loading, Stale> {
        let mut all = Loading {
            arrived: usize::MAX,
            left: 0,
            failed: false,
            aborted: false,
        };
        for it in &mut self.shards {
            let state = it.notice(handle)?;
            all.arrived = all.arrived.min(state.arrived);
            all.left += state.left;
            all.failed |= state.failed;
            all.aborted |= state.aborted;
        }
        Ok(all)
    }

    /// Takes over a sequence that was being moved here: everything has arrived on every shard, and the source may not go on with it any
    /// more. As [`Sequences::commit`].
    ///
    /// # Errors
    /// [`CommitError`]; nothing is changed on any shard.
    pub fn commit(&mut self, handle: Handle) -> Result<(), CommitError> {
        let state = self.loading(handle)?;
        self.look(|_, it| it.check_commit(handle, &state))?;
        let decided = usize::from(!mutant("shards-decide-alone"));
        for it in &mut self.shards[..decided] {
            it.take_over(handle)?;
        }
        for it in &mut self.shards[decided..] {
            it.follow(handle);
        }
        Ok(())
    }
}
