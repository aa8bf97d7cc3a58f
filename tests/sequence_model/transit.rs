//! The plain sequential model of sequences that come from elsewhere or go there, and of bad content.

use std::rc::Rc;

use crate::reference::Model;
use crate::registry::{Asking, Cost, Fault, Grown, Growth, Name, Registry, Sequence};
use crate::traffic::{Bytes, Export, Import, Leases, Phase};

/// Most writers of an import.
const MOST_WRITERS: usize = 63;
/// Bytes of a block, of all that say how many.
const BLOCK_BYTES: u64 = 100;

/// Why a transfer does not allow something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    Loading { arrived: usize },
    Uncommitted,
    Leaving,
    Moved,
}

/// The transfer that a sequence takes part in.
#[derive(Clone, Debug, Default)]
pub(crate) enum Transit {
    #[default]
    None,
    Loading(Load),
    Leaving(Rc<Export>),
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) import: Rc<Import>,
    /// The entry of the table that its first block is.
    first: usize,
    /// Blocks that have come without a gap.
    arrived: usize,
    /// Positions that come at most.
    pub(crate) positions: usize,
    /// Of them, those before bad content.
    good: usize,
}

impl Load {
    fn arrived_positions(&self, block_size: usize) -> usize {
        ((self.first + self.arrived) * block_size).min(self.positions.min(self.good))
    }

    /// Whether its blocks are still the source's as well.
    fn reads_source(&self) -> bool {
        self.moved().is_some() || self.import.source.is_some() && self.import.left() > 0
    }

    fn moved(&self) -> Option<&Rc<Export>> {
        self.import.source.as_ref().filter(|export| export.moves)
    }
}

/// The layout of blocks that somebody names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Ours,
    OtherElement,
    OtherBlockSize,
}

/// What is to come.
#[derive(Clone, Debug)]
pub(crate) struct Coming<'a> {
    pub(crate) positions: usize,
    pub(crate) writers: usize,
    pub(crate) layout: Option<Layout>,
    pub(crate) source: Option<&'a Rc<Export>>,
    pub(crate) bytes: Option<&'a Rc<Bytes>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) arrived: usize,
    pub(crate) left: usize,
    pub(crate) failed: bool,
    pub(crate) aborted: bool,
}

impl Sequence {
    pub(crate) fn check_growth(&self) -> Result<(), Fault> {
        let hindrance = match &self.transit {
            Transit::Loading(load) if load.moved().is_some() => Hindrance::Uncommitted,
            Transit::Leaving(export) => match export.phase.get() {
                Phase::Offered | Phase::Linked => Hindrance::Leaving,
                Phase::Committed => Hindrance::Moved,
                Phase::Aborted => return Ok(()),
            },
            _ => return Ok(()),
        };
        Err(Fault::InTransit(hindrance))
    }

    pub(crate) fn check_loaded(&self, block_size: usize) -> Result<(), Fault> {
        match &self.transit {
            Transit::Loading(load) if load.import.left() > 0 => {
                let arrived = load.arrived_positions(block_size);
                Err(Fault::InTransit(Hindrance::Loading { arrived }))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn check_settled(&self, block_size: usize) -> Result<(), Fault> {
        self.check_growth()?;
        self.check_loaded(block_size)
    }

    pub(crate) fn leave_transit(&mut self, pool: &mut Model) {
        match core::mem::take(&mut self.transit) {
            Transit::None => {}
            Transit::Loading(load) => load.import.give_up(pool),
            Transit::Leaving(export) => {
                let _ = export.abort(pool);
            }
        }
    }
}

impl Registry {
    // ---- from elsewhere

    /// Name, hit and fresh blocks, and what the writers fill.
    pub(crate) fn import(
        &mut self,
        pool: &mut Model,
        asking: &Asking<'_>,
        coming: &Coming<'_>,
    ) -> Result<(Name, usize, usize, Rc<Import>), Fault> {
        let size = self.block_size;
        let (asked, positions) = (coming.positions, asking.question.tokens.len());
        if asked > positions {
            return Err(Fault::Beyond { asked, positions });
        }
        if coming.writers == 0 || coming.writers > MOST_WRITERS {
            let asked = coming.writers;
            return Err(Fault::TooManyWriters { asked });
        }
        match coming.layout {
            Some(Layout::OtherBlockSize) => return Err(Fault::Incompatible),
            Some(Layout::OtherElement) if self.formatted => return Err(Fault::Incompatible),
            _ => {}
        }
        if (coming.source).is_some_and(|export| export.space != asking.question.name) {
            return Err(Fault::OtherNamespace);
        }
        let known = self.formatted || coming.layout.is_some();
        if coming.bytes.is_some() && !known {
            return Err(Fault::UnknownFormat);
        }
        let Cost {
            hit_held, hit_idle, ..
        } = self.check_counted(pool, asking)?;
        let most = asked.div_ceil(size);
        let flight = BLOCK_BYTES * number(most.saturating_sub(hit_held + hit_idle));
        if let Some(bytes) = coming.bytes {
            bytes.take(flight)?;
        }
        if let Some(source) = coming.source {
            if source.phase.get() != Phase::Offered || !source.is_readable() {
                if let Some(bytes) = coming.bytes {
                    bytes.land(flight);
                }
                return Err(Fault::SourceTaken);
            }
            source.phase.set(Phase::Linked);
        }
        let (name, hit, fresh) = self
            .admit(pool, asking)
            .expect("it would have been admitted");
        let first = hit / size;
        let table = self.table(name)?;
        let ids = if first < most {
            table[first..most].to_vec()
        } else {
            Vec::new()
        };
        let flight = coming.bytes.map(|bytes| (bytes.clone(), flight));
        let import = Import::begin(pool, &ids, coming.writers, coming.source.cloned(), flight);
        let sequence = self.get_mut(name)?;
        sequence.open &= !coming.source.is_some_and(|export| export.moves);
        sequence.transit = Transit::Loading(Load {
            import: import.clone(),
            first,
            arrived: 0,
            positions: asked.max(hit),
            good: usize::MAX,
        });
        self.imports += 1;
        self.loads.push(import.clone());
        self.loading(pool, name, None)?;
        Ok((name, hit, fresh, import))
    }

    /// Takes notice of what has come.
    pub(crate) fn loading(
        &mut self,
        pool: &mut Model,
        name: Name,
        full_at: Option<usize>,
    ) -> Result<Progress, Fault> {
        let size = self.block_size;
        let sequence = self.get_mut(name)?;
        let Transit::Loading(load) = &mut sequence.transit else {
            return Ok(Progress {
                arrived: sequence.computed,
                left: 0,
                failed: false,
                aborted: false,
            });
        };
        let import = load.import.clone();
        while load.arrived < import.ids.len() && import.has_arrived(load.arrived) {
            load.arrived += 1;
        }
        let sound = import
            .source
            .as_ref()
            .map_or(usize::MAX, |it| it.sound.get());
        load.good = load.good.min(sound);
        let progress = Progress {
            arrived: load.arrived_positions(size),
            left: import.left(),
            failed: load.good < load.positions
                || (load.arrived..import.ids.len()).any(|at| import.has_failed(at)),
            aborted: load
                .moved()
                .is_some_and(|export| export.phase.get() == Phase::Aborted),
        };
        let (moved, positions) = (load.moved().is_some(), load.positions);
        sequence.computed = sequence.computed.max(progress.arrived);
        self.publish(pool, name, full_at);
        let sequence = self.get_mut(name)?;
        if progress.left > 0 || moved || sequence.computed < positions {
            return Ok(progress);
        }
        // All is there, or what did not come has been computed here.
        if progress.arrived < positions {
            sequence.leave_transit(pool);
        }
        sequence.transit = Transit::None;
        if let (Some(source), true) = (&import.source, progress.arrived >= positions) {
            if source.phase.get() == Phase::Linked {
                source.phase.set(Phase::Committed);
            }
        }
        Ok(Progress {
            arrived: sequence.computed,
            left: 0,
            failed: false,
            aborted: false,
        })
    }

    pub(crate) fn commit(
        &mut self,
        pool: &mut Model,
        name: Name,
        full_at: Option<usize>,
    ) -> Result<(), Fault> {
        let Progress {
            arrived,
            left,
            aborted,
            ..
        } = self.loading(pool, name, full_at)?;
        let sequence = self.get_mut(name)?;
        let Transit::Loading(load) = &sequence.transit else {
            return Ok(());
        };
        if aborted {
            return Err(Fault::MoveAborted);
        }
        let expected = load.positions;
        if arrived < expected || left > 0 {
            return Err(Fault::NotArrived {
                arrived,
                expected,
                left,
            });
        }
        if let Some(export) = load.moved() {
            export.phase.set(Phase::Committed);
        }
        sequence.transit = Transit::None;
        Ok(())
    }

    // ---- for elsewhere

    pub(crate) fn pin(
        &self,
        pool: &mut Model,
        name: Name,
        leases: &mut Leases,
        (owner, deadline): (u64, u64),
    ) -> Result<Rc<crate::traffic::Lease>, Fault> {
        let line = &self.get(name)?.line;
        leases.grant(pool, owner, deadline, line, line.found.len())
    }

    pub(crate) fn export(
        &mut self,
        pool: &mut Model,
        name: Name,
        space: u8,
        leases: &mut Leases,
        (owner, deadline, moves): (u64, u64, bool),
    ) -> Result<Rc<Export>, Fault> {
        let size = self.block_size;
        let sequence = self.get(name)?;
        sequence.check_settled(size)?;
        if sequence.space() != space {
            return Err(Fault::OtherNamespace);
        }
        let positions = sequence.computed;
        let blocks = positions.div_ceil(size);
        if self.copies_into(&sequence.line.table[..blocks]) {
            return Err(Fault::CopyPending);
        }
        let tail_too = blocks > sequence.positions / size
            && sequence.positions % size != 0
            && sequence.positions < sequence.cap;
        let copies = tail_too && sequence.growth != Growth::OnDemand && !sequence.copy_credit;
        pool.reserve(0, usize::from(copies))?;
        let table = sequence.line.table[..blocks].to_vec();
        let lease = leases
            .grant(pool, owner, deadline, &sequence.line, blocks)
            .inspect_err(|_| pool.give_back(usize::from(copies)))?;
        let export = Rc::new(Export {
            phase: core::cell::Cell::new(Phase::Offered),
            moves,
            lease,
            positions,
            space,
            table,
            block_size: size,
            sound: core::cell::Cell::new(usize::MAX),
        });
        self.exported.push(export.clone());
        let sequence = self.get_mut(name)?;
        sequence.copy_credit |= copies;
        if moves {
            sequence.leave_transit(pool);
            sequence.transit = Transit::Leaving(export.clone());
        }
        sequence.open &= !(moves || tail_too);
        self.exports += 1;
        Ok(export)
    }

    // ---- bad content

    /// Those that have it go back to before it, in this order.
    pub(crate) fn invalidate(
        &mut self,
        pool: &mut Model,
        id: u32,
        order: &[Name],
    ) -> Result<Vec<Name>, Fault> {
        let capacity = pool.max_blocks();
        if usize::try_from(id).expect("an id is an index") >= capacity {
            return Err(Fault::OutOfRange {
                block: id,
                capacity,
            });
        }
        // That nobody can find it is no error.
        let _ = pool.invalidate(id);
        let bad = self.copies_of(id);
        for export in &self.exported {
            if export.lease.is_live() {
                export.spoil(pool, &bad);
            }
        }
        let (size, digests) = (self.block_size, self.digests);
        let mut affected = Vec::new();
        for &name in order {
            let sequence = self.get_mut(name)?;
            let Some(entry) = sequence.first_entry_of(&bad) else {
                continue;
            };
            let spoiled = sequence.spoil_load(entry * size);
            if sequence.computed <= entry * size && !spoiled {
                continue;
            }
            sequence.roll_back(pool, entry, size, digests);
            affected.push(name);
        }
        Ok(affected)
    }

    /// Blocks of its own from where nothing is computed.
    pub(crate) fn renew(&mut self, pool: &mut Model, name: Name) -> Result<Grown, Fault> {
        let size = self.block_size;
        let sequence = self.get(name)?;
        sequence.check_growth()?;
        let from = sequence.computed.div_ceil(size);
        let table = &sequence.line.table;
        let mut others: Vec<usize> = (from..table.len())
            .filter(|&entry| !self.is_alone_from(pool, table[entry], 0))
            .collect();
        if others.len() > pool.available() {
            let refusal = pool.shortfall(others.len(), pool.available());
            pool.count_refusal(refusal);
            self.refused_appends += 1;
            return Err(refusal.into());
        }
        pool.set_aside(others.len());
        let mut credits = others.len();
        let fresh = pool
            .take(&mut self.hand, &mut credits, others.len())
            .expect("it was set aside");
        let sequence = self.sequences.get_mut(&name).expect("it was found");
        let mut old = Vec::new();
        let mut grown = Grown {
            fresh: fresh.clone(),
            ..Grown::default()
        };
        for (&entry, &id) in others.iter().zip(&fresh) {
            old.push(core::mem::replace(&mut sequence.line.table[entry], id));
            grown.changes.push((entry, id));
            sequence.changed_from = sequence.changed_from.min(entry);
        }
        for at in (from..sequence.line.table.len()).rev() {
            let mut own = sequence.line.table[at];
            if others.last() == Some(&at) {
                others.pop();
                own = old.pop().expect("one for each");
                pool.let_go(own);
            }
            let left = sequence.line.left.iter().find(|(place, _)| *place == at);
            if let Some(&(_, id)) = left.filter(|&&(_, id)| id != own) {
                pool.let_go(id);
            }
        }
        sequence.line.left.retain(|(place, _)| *place < from);
        if matches!(sequence.transit, Transit::Loading(_)) {
            sequence.leave_transit(pool);
        }
        if sequence.positions % size != 0 && sequence.positions / size >= from {
            sequence.open = true;
            if core::mem::take(&mut sequence.copy_credit) {
                pool.give_back(1);
            }
        }
        Ok(grown)
    }

    // ---- figures

    pub(crate) fn blocks_loading(&self) -> usize {
        self.loads.iter().map(|import| import.left()).sum()
    }

    pub(crate) fn blocks_twice(&self) -> usize {
        let twice = |sequence: &Sequence| match &sequence.transit {
            Transit::Loading(load) if load.reads_source() => load.import.ids.len(),
            Transit::Leaving(export) if export.phase.get() == Phase::Linked => {
                export.lease.table.len()
            }
            _ => 0,
        };
        self.sequences.values().map(twice).sum()
    }
}

impl Sequence {
    /// What a load brings from here on is bad; whether it brings anything there.
    fn spoil_load(&mut self, positions: usize) -> bool {
        match &mut self.transit {
            Transit::Loading(load) if positions < load.positions.min(load.good) => {
                load.good = positions;
                true
            }
            _ => false,
        }
    }

    /// The first entry that has one of these blocks, in the table or beside it.
    pub(crate) fn first_entry_of(&self, bad: &[u32]) -> Option<usize> {
        let line = &self.line;
        let has = |&at: &usize| {
            let here = line.references(at..at + 1);
            here.iter().any(|it| bad.contains(it))
        };
        (0..line.table.len()).find(has)
    }

    /// Nothing from an entry on is computed.
    pub(crate) fn roll_back(&mut self, pool: &mut Model, entry: usize, size: usize, digests: bool) {
        self.computed = self.computed.min(entry * size);
        if let Transit::Leaving(export) = &self.transit {
            let _ = export.abort(pool);
        }
        let published = self.line.found.len();
        if entry >= published {
            return;
        }
        // Of digests, and with keys of any kind, nothing can be had back.
        let keyed =
            self.keyed == Some(true) || self.extra[entry..published].iter().any(|&it| it != 0);
        if self.insert && !self.ended && (digests || keyed) {
            self.tokens.truncate(entry * size);
            self.extra.truncate(entry);
        }
        // What is in the table hangs under these.
        let found = (entry..published).map(|at| (at, self.line.found[at]));
        self.line.left.splice(..0, found.collect::<Vec<_>>());
        self.line.found.truncate(entry);
    }
}

fn number(n: usize) -> u64 {
    u64::try_from(n).expect("a count fits")
}
