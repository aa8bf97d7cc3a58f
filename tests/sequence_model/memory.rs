//! What a device's memory would hold if the engine, its writers and the device did what they are told: each write leaves a mark of its
//! own. The model of the registry shares its author's view of when a block may be written; this does not.

use std::collections::BTreeMap;

use kvblock::Detached;

use crate::calls::Twin;
use crate::fences::Lanes;
use crate::reference::Model;
use crate::registry::{self, Grown, Name, Sequence, TicketName};
use crate::transfers::World;

#[derive(Default)]
pub(crate) struct Memory {
    block_size: usize,
    marks: Vec<u64>,
    last: u64,
    /// What each sequence wrote or found, position by position.
    pub(crate) written: BTreeMap<Name, Vec<u64>>,
    /// What was to be copied.
    copied: BTreeMap<(usize, TicketName), Vec<u64>>,
    /// What findable blocks held when they became findable.
    sealed: BTreeMap<(u32, u64), Vec<u64>>,
}

impl Memory {
    pub(crate) fn new(blocks: usize, block_size: usize) -> Self {
        Self {
            block_size,
            marks: vec![0; blocks * block_size],
            ..Self::default()
        }
    }

    pub(crate) fn block(&mut self, id: u32) -> &mut [u64] {
        let first = usize::try_from(id).expect("an id is an index") * self.block_size;
        &mut self.marks[first..][..self.block_size]
    }

    fn mark(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(crate) fn write(&mut self, slot: i64) -> u64 {
        let mark = self.mark();
        self.marks[usize::try_from(slot).expect("a slot is an index")] = mark;
        mark
    }

    /// What the table shows.
    pub(crate) fn read(&self, table: &[u32], positions: core::ops::Range<usize>) -> Vec<u64> {
        let slots = positions.map(|position| registry::slot(table, position, self.block_size));
        slots
            .map(|slot| self.marks[usize::try_from(slot).expect("a slot is an index")])
            .collect()
    }

    /// Zeroes and copies, then writes, as the step says.
    pub(crate) fn step(&mut self, on: usize, grown: &Grown, writers: &[(Name, usize)]) {
        for &id in &grown.fresh {
            self.block(id).fill(0);
        }
        for &(ticket, copy) in &grown.copies {
            let content = self.block(copy.src)[..copy.positions].to_vec();
            self.block(copy.dst)[..copy.positions].copy_from_slice(&content);
            self.copied.insert((on, ticket), content);
        }
        let mut slots = grown.slots.iter();
        for &(name, n) in writers {
            for _ in 0..n {
                let mark = self.write(*slots.next().expect("a slot for each position"));
                self.written.entry(name).or_default().push(mark);
            }
        }
        assert_eq!(slots.next(), None, "slots of nobody");
    }

    /// The copy is done at last: both ends must still be what they were.
    pub(crate) fn copied(&mut self, key: (usize, TicketName), copy: registry::Copy) {
        let content = self.copied.remove(&key).expect("it was pending");
        for id in [copy.src, copy.dst] {
            assert_eq!(
                self.block(id)[..copy.positions],
                content,
                "{copy:?}: an end was written to"
            );
        }
    }

    /// Anybody may write to free blocks. What sequences and the cache have must still be there.
    pub(crate) fn check(
        &mut self,
        pool: &Model,
        twins: &[Twin],
        detached: &[(Detached, Sequence, Name)],
        lanes: &Lanes,
        world: &World,
    ) {
        for id in pool.free() {
            let mark = self.mark();
            self.block(id).fill(mark);
        }
        for id in lanes.own.iter().flat_map(|(_, lane)| lane.waiting()) {
            // A device may be at work there still.
            if pool.is_quarantined(id) && !pool.is_published(id) {
                let mark = self.mark();
                self.block(id).fill(mark);
            }
        }
        self.writers_write(twins, world);
        let living = twins.iter().flat_map(|twin| &twin.model.sequences);
        let living = living.map(|(&name, sequence)| (name, sequence));
        let detached = detached.iter().map(|(_, sequence, name)| (*name, sequence));
        for (name, sequence) in living.chain(detached) {
            let got = self.read(sequence.table(), 0..sequence.positions());
            assert_eq!(
                Some(&got),
                self.written.get(&name),
                "what sequence {name} wrote is gone"
            );
        }
        for leased in world.leased.iter().filter(|leased| leased.twin.is_live()) {
            let now = self.read(&leased.twin.table, 0..leased.content.len());
            assert_eq!(leased.content, now, "what is leased was written to");
        }
        let findable = pool.findable();
        self.sealed.retain(|copy, _| findable.contains_key(copy));
        for &copy in findable.keys() {
            let now = self.block(copy.0).to_vec();
            let then = self.sealed.entry(copy).or_insert_with(|| now.clone());
            assert_eq!(*then, now, "findable block {copy:?} was written to");
        }
    }

    /// Writers write to what they have not answered for, whoever has it now.
    fn writers_write(&mut self, twins: &[Twin], world: &World) {
        let size = self.block_size;
        for load in &world.loads {
            let under_way = |&(at, _): &(usize, u32)| load.twin.is_under_way(at);
            let ids = load.twin.ids.iter().copied().enumerate();
            for (at, id) in ids.filter(under_way) {
                let mark = self.mark();
                let start = (load.first + at) * size;
                let end = (start + size).min(load.positions);
                self.block(id)[..end - start].fill(mark);
                let sequence = twins[load.on].model.sequences.get(&load.name);
                let table = sequence.map_or(&[][..], |sequence| sequence.table());
                if table.get(load.first + at) == Some(&id) {
                    let written = self.written.get_mut(&load.name).expect("it lives");
                    written[start..end].fill(mark);
                }
            }
        }
    }

    /// A sequence that got blocks writes all anew from a position on.
    pub(crate) fn renewed(&mut self, name: Name, table: &[u32], from: usize, fresh: &[u32]) {
        for &id in fresh {
            self.block(id).fill(0);
        }
        for position in from..self.written[&name].len() {
            let mark = self.write(registry::slot(table, position, self.block_size));
            self.written.get_mut(&name).expect("it lives")[position] = mark;
        }
    }
}
