//! The registry of sequences as the simulated engine uses it: errors that cannot occur end the run, and a copy is reported
//! as done one step after it was asked for, as from a device that works behind.
//!
//! Beside the sequences, blocks are held by the device's last step (`overlap`), by writers (`fetch`), and by pins. With swaps there is a
//! host tier, of which this is the device's side (`swap`).

mod end;
mod lack;
mod make;
pub(crate) mod moves;
mod swaps;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use kvblock::{
    Admit, AdmitError, AppendError, BlockPool, BranchError, Contents, CopyTicket, Handle, Holder,
    ImportError, Instance, InstanceIncoming, InstanceStep, Leases, Refused, Sequences,
    TruncateAfterError, TruncateError,
};

use crate::failure::{Failure, cannot_fail};
use crate::serve::fetch::{Fate, Fetches, News};
use crate::serve::overlap::Overlap;
use crate::serve::pins::Pins;
use crate::serve::settings::Settings;
use crate::serve::step_time::Nanos;
use crate::serve::swap::Swaps;
use lack::Lack;

/// An admission that was granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    pub(crate) handle: Handle,
    pub(crate) hit: usize,
    /// Its first positions are under way.
    pub(crate) loads: bool,
}

/// What an admission would find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) hit: usize,
    pub(crate) available: usize,
}

/// The pool, its registry, and the copies under way.
#[derive(Debug)]
pub(crate) struct Memory {
    instance: Instance,
    step: InstanceStep,
    /// Copies that the step at hand asked for, each with its shard.
    asked: Vec<(usize, CopyTicket)>,
    /// Copies that the step before asked for, which the device does in this one.
    under_way: Vec<(usize, CopyTicket)>,
    /// Counts what may let an admission succeed that was refused before.
    changes: u64,
    overlap: Overlap,
    pub(crate) fetches: Fetches,
    /// Moves to this memory.
    pub(crate) moves: Fetches,
    /// What is offered to be moved away.
    exports: Option<Vec<Leases>>,
    pins: Option<Pins>,
    swaps: Option<Swaps>,
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
    /// That of the instance with this number.
    pub(crate) fn new(settings: &Settings, number: usize) -> Result<Self, Failure> {
        let instance = make::instance(settings, number)?;
        let exports = settings.fleet.migrate.then(|| moves::exports(&instance));
        let pins = settings.pins.map(|pins| Pins::new(&instance, pins));
        let swaps = settings.swap.map(|swap| {
            let host = make::host(settings, swap.host_blocks, number)?;
            Swaps::new(swap, &instance, host)
        });
        Ok(Self {
            overlap: Overlap::new(&instance, settings.overlap)?,
            fetches: Fetches::new(settings.fetch, settings.seed),
            moves: Fetches::new(settings.fetch, settings.seed),
            exports: exports.transpose()?,
            pins: pins.transpose()?,
            swaps: swaps.transpose()?,
            instance,
            step: InstanceStep::new(),
            asked: Vec::new(),
            under_way: Vec::new(),
            changes: 0,
        })
    }

    /// One in lockstep, else one for each shard.
    pub(crate) fn shards(&self) -> &[Sequences] {
        self.instance.shards()
    }

    /// The first one's pool: the only one, unless it is split.
    pub(crate) fn pool(&self) -> &BlockPool {
        self.instance.shards()[0].pool()
    }

    /// Sequences that live.
    pub(crate) fn len(&self) -> usize {
        self.instance.len()
    }

    /// Blocks that a sequence can have at most.
    pub(crate) fn capacity(&self) -> usize {
        self.least(BlockPool::capacity)
    }

    /// Blocks promised to nobody, of the shard that has the fewest.
    pub(crate) fn available(&self) -> usize {
        self.least(BlockPool::available)
    }

    /// Blocks that only the device's last step holds, on the shard that has the most.
    pub(crate) fn quarantined(&self) -> usize {
        self.most(BlockPool::quarantined)
    }

    fn least(&self, of: fn(&BlockPool) -> usize) -> usize {
        let all = self.shards().iter().map(|it| of(it.pool()));
        all.min().unwrap_or(0)
    }

    fn most(&self, of: fn(&BlockPool) -> usize) -> usize {
        let all = self.shards().iter().map(|it| of(it.pool()));
        all.max().unwrap_or(0)
    }

    /// Blocks of all ranks beyond what the smallest one has.
    pub(crate) fn stranded(&self) -> usize {
        (0..self.instance.width())
            .map(|at| self.instance.stranded(at))
            .sum()
    }

    /// What an admission that was refused can be compared with: as long as this does not grow, neither field, the same
    /// admission is refused again.
    pub(crate) fn prospects(&self) -> (u64, usize) {
        (self.changes, self.available())
    }

    /// Blocks with a holder, on the shard that has the most.
    pub(crate) fn held(&self) -> usize {
        self.most(|pool| pool.in_service() - pool.available() - pool.reserved())
    }

    pub(crate) const fn pins(&self) -> Option<&Pins> {
        self.pins.as_ref()
    }

    /// An admission that was refused may be granted now.
    pub(crate) const fn changed(&mut self) {
        self.changes += 1;
    }

    /// Whether the registry has room for another sequence.
    pub(crate) fn has_slot(&self, max_sequences: usize) -> bool {
        self.instance.len() < max_sequences
    }

    /// What an admission would cost, or why it would be refused.
    pub(crate) fn check(&self, admit: &Admit<'_>) -> Result<Result<Room, Refused>, Failure> {
        match self.instance.check(admit) {
            Ok(costs) => Ok(Ok(Room {
                hit: costs.hit(),
                available: self.available(),
            })),
            Err(AdmitError::Refused(refused)) => Ok(Err(refused)),
            Err(other) => Err(cannot_fail("check")(other)),
        }
    }

    /// Admits a sequence, or says why not now or never.
    pub(crate) fn admit(&mut self, admit: &Admit<'_>) -> Result<Result<Entered, Refused>, Failure> {
        let admitted = self.instance.admit(admit).map(|admitted| Entered {
            handle: admitted.handle,
            hit: admitted.hit,
            loads: false,
        });
        entered(admitted)
    }

    /// The same, and the whole blocks of its prompt but for the last position come from a store.
    pub(crate) fn import(
        &mut self,
        admit: &Admit<'_>,
        request: u64,
        fate: Fate,
    ) -> Result<Result<Entered, Refused>, Failure> {
        let block_size = self.pool().block_size();
        let stored = admit.prompt.tokens.len().saturating_sub(1) / block_size * block_size;
        let incoming = InstanceIncoming::new(stored, self.fetches.writers());
        let imported = match self.instance.import(admit, &incoming) {
            Ok(imported) => imported,
            Err(ImportError::Admit(error)) => return entered(Err(error)),
            Err(other) => return Err(cannot_fail("import")(other)),
        };
        let loads = self
            .fetches
            .begin(imported.handle, imported.imports, request, fate);
        Ok(Ok(Entered {
            handle: imported.handle,
            hit: imported.hit,
            loads,
        }))
    }

    /// Whether some writer has not answered.
    pub(crate) fn is_loading(&self) -> bool {
        self.fetches.is_under_way() || self.moves.is_under_way() || self.is_swapping()
    }

    /// Blocks of a shard that late writers may touch, of transfers and of moves.
    pub(crate) fn late(&self, shard: usize) -> usize {
        self.fetches.late(shard) + self.moves.late(shard)
    }

    /// A step passes for the writers; adds what it brings.
    pub(crate) fn load(&mut self, news: &mut Vec<News>) -> Result<(), Failure> {
        news.clear();
        if self.fetches.is_under_way() {
            self.changes += 1;
            news.extend_from_slice(self.fetches.step()?);
        }
        Ok(())
    }

    /// Positions of a sequence that have arrived, which are computed and published by that.
    pub(crate) fn arrived(&mut self, handle: Handle) -> Result<usize, Failure> {
        self.changes += 1;
        let loading = self.instance.loading(handle);
        Ok(loading.map_err(cannot_fail("loading"))?.arrived)
    }

    /// Gives a sequence blocks of its own for what has not arrived, and how many positions have; `None` if there is no memory.
    pub(crate) fn fall_back(&mut self, handle: Handle) -> Result<Option<usize>, Failure> {
        let arrived = self.arrived(handle)?;
        match self.instance.renew(handle, &mut self.step) {
            Ok(()) => Ok(Some(arrived)),
            Err(AppendError::Refused(_)) => Ok(None),
            Err(other) => Err(cannot_fail("renew")(other)),
        }
    }

    /// Pins what is published of a sequence for the turn with this number, if turns are pinned.
    pub(crate) fn pin(&mut self, handle: Handle, turn: u64, now: Nanos) -> Result<(), Failure> {
        match &mut self.pins {
            Some(pins) => pins.pin(&self.instance, handle, turn, now),
            None => Ok(()),
        }
    }

    /// The turn with this number is there.
    pub(crate) fn unpin(&self, turn: u64) {
        if let Some(pins) = &self.pins {
            pins.unpin(turn);
        }
    }

    /// It is so late.
    pub(crate) fn tick(&mut self, now: Nanos) {
        if let Some(pins) = &mut self.pins {
            pins.tick(now);
        }
    }

    /// Appends to all of the batch; adds those to `short` that there was no memory for.
    pub(crate) fn grow(
        &mut self,
        batch: &[(Handle, usize)],
        short: &mut Vec<Handle>,
    ) -> Result<(), Failure> {
        self.instance.step(batch, &mut self.step);
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
        match self.instance.append(handle, n, &mut self.step) {
            Ok(()) => {
                self.keep_copies();
                Ok(Ok(()))
            }
            Err(AppendError::Refused(refused)) => Ok(Err(Lack::of(refused))),
            Err(other) => Err(cannot_fail("append")(other)),
        }
    }

    fn keep_copies(&mut self) {
        for (shard, step) in self.step.shards().iter().enumerate() {
            let copies = step.copies().iter();
            self.asked.extend(copies.map(|ticket| (shard, *ticket)));
        }
    }

    /// Says what the next positions contain.
    pub(crate) fn tokens(
        &mut self,
        handle: Handle,
        at: usize,
        tokens: &[u32],
    ) -> Result<(), Failure> {
        self.instance
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
        self.instance
            .computed(handle, n)
            .map_err(cannot_fail("computed"))
    }

    /// Gives blocks back whose content another sequence published first, when the device's next step has read them.
    pub(crate) fn adopt_duplicates(&mut self, handle: Handle) -> Result<(), Failure> {
        if let Some((lanes, fence)) = self.overlap.fenced() {
            let adopted = self.instance.adopt_duplicates_after(handle, lanes, fence);
            return adopted
                .map(drop)
                .map_err(cannot_fail("adopt_duplicates_after"));
        }
        self.instance
            .adopt_duplicates(handle)
            .map(drop)
            .map_err(cannot_fail("adopt_duplicates"))
    }

    /// Takes positions back that no other sequence sees, which cannot fail; if the device may still write them, only that there is no
    /// memory for the promise in their place until it is done.
    pub(crate) fn truncate(&mut self, handle: Handle, positions: usize) -> Result<(), Failure> {
        if let Some((lanes, fence)) = self.overlap.fenced() {
            match self
                .instance
                .truncate_after(handle, positions, lanes, fence)
            {
                Ok(()) => return Ok(()),
                Err(TruncateAfterError::Truncate(TruncateError::Refused(_))) => {
                    self.overlap.wait();
                }
                Err(other) => return Err(cannot_fail("truncate_after")(other)),
            }
        }
        self.instance
            .truncate(handle, positions)
            .map_err(cannot_fail("truncate"))
    }

    /// Makes branches, if it can.
    pub(crate) fn fork(
        &mut self,
        parent: Handle,
        children: &mut [Handle],
    ) -> Result<Fork, Failure> {
        match self.instance.fork(parent, children) {
            Ok(()) => Ok(Fork::Made),
            Err(BranchError::Refused(_) | BranchError::TooManyReferences(_)) => Ok(Fork::NoMemory),
            Err(BranchError::TooManySequences(_)) => Ok(Fork::NoSlot),
            Err(other) => Err(cannot_fail("fork")(other)),
        }
    }

    /// The first of `order` that together free what is lacked, or all that free any of it; and whether that is enough.
    pub(crate) fn victims(
        &self,
        order: &[Handle],
        lack: Lack,
        victims: &mut Vec<Handle>,
    ) -> Result<bool, Failure> {
        let shards = self.shards().iter();
        let here = |it: &Sequences| lack.shard.is_none_or(|shard| it.pool().shard() == shard);
        let need: Vec<_> = shards
            .map(|it| if here(it) { lack.blocks } else { 0 })
            .collect();
        self.instance
            .select_victims(order, &need, victims)
            .map_err(cannot_fail("select_victims"))
    }

    /// Sums over the tables of these sequences.
    pub(crate) fn tables(&self, handles: impl Iterator<Item = Handle>) -> Result<Tables, Failure> {
        let block_size = self.pool().block_size();
        let mut sums = Tables::default();
        for handle in handles {
            let state = self.instance.state(handle).map_err(cannot_fail("state"))?;
            sums.entries += state.blocks as u64;
            sums.tail_waste += (state.blocks * block_size - state.positions) as u64;
        }
        Ok(sums)
    }

    /// Recounts everything; the first thing that disagrees, if there is one.
    pub(crate) fn audit(&self) -> Option<String> {
        let mut others: Vec<&dyn Holder> = Vec::new();
        others.extend(self.overlap.lanes().iter().map(|lane| lane as &dyn Holder));
        let exports = self.exports.iter().flatten();
        let pins = self.pins.iter().flat_map(|pins| pins.leases());
        let swaps = self.swaps.iter().flat_map(|it| &it.leases[0]);
        let leases = exports.chain(pins).chain(swaps);
        others.extend(leases.map(|leases| leases as &dyn Holder));
        let found = self.instance.audit(&others).err();
        found
            .map(|found| found.to_string())
            .or_else(|| self.audit_host())
    }
}

fn entered(admitted: Result<Entered, AdmitError>) -> Result<Result<Entered, Refused>, Failure> {
    match admitted {
        Ok(entered) => Ok(Ok(entered)),
        Err(AdmitError::Refused(refused)) => Ok(Err(refused)),
        Err(AdmitError::OutOfMemory(_)) => Err(Failure::Input(String::from(
            "no memory for the tables of another sequence: name fewer blocks with --blocks",
        ))),
        Err(other) => Err(cannot_fail("admit")(other)),
    }
}
