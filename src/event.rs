//! What became findable and what ceased to be: a bounded ring that routers are fed from.
//!
//! Each copy (a block at one generation) has exactly one `Stored` and at most one `Removed` or `Cleared`. Parents are stored before
//! their children and children removed before their parents, except that a block published while an ancestor is being cleared or
//! invalidated may be told of after that is gone; it is told gone too. Emitting never waits: when the ring is lapped the oldest
//! events are lost, the reader learns how many, and a [`Snapshot`] repairs what it knows.
//!
//! A slot is written in two steps, [`begin`](EventRing::begin) before the transition that makes a block findable and
//! [`commit`](EventRing::commit) after it. So a block's place in the stream is before that of anything built on it, and a
//! reader that has passed a `Stored` knows that the block was findable.
//!
//! # Orderings
//! `stamp` works as a sequence lock. The writer's CAS to odd and Release fence come before the words; its CAS to the even stamp
//! after them (Release) pairs with the reader's Acquire load. The reader's Acquire fence before its second look pairs with the
//! writer's Release fence: a word of a later event is never taken for one of this event.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::block::BlockId;
use crate::error::CreateError;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{AtomicU64, Padded, fence};

/// Most slots of an event ring.
pub(crate) const MAX_EVENTS: usize = 1 << 24;

/// What happened to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum EventKind {
    /// It became findable.
    Stored,
    /// It ceased to be: reclaimed, evicted or invalidated.
    Removed,
    /// It ceased to be because its namespace was cleared. What is published there during the call may be told as [`Removed`](Self::Removed).
    Cleared,
}

/// A block that became or ceased to be findable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Event {
    /// Counts all events of the pool, from 0. A step of more than one is a gap.
    pub sequence: u64,
    /// What happened.
    pub kind: EventKind,
    /// The copy.
    pub copy: Findable,
}

/// One findable copy of some content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Findable {
    /// Where it is.
    pub block: BlockId,
    /// Tells successive contents of one block apart.
    pub generation: u64,
    /// Its chain key.
    pub key: u64,
    /// The chain key of the block before it; `None` for a first block.
    pub parent_key: Option<u64>,
    /// Blocks before it.
    pub depth: u32,
}

/// Every copy that was findable at some moment of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Snapshot {
    /// The copies, parents before children.
    pub copies: Vec<Findable>,
    /// Events below this are contained.
    pub from: u64,
    /// Events from here on are not contained. Those between may or may not be: applying them again, by block and generation,
    /// is harmless.
    pub to: u64,
}

/// A place in the ring for an event that is about to happen.
#[derive(Debug)]
#[must_use]
pub(crate) struct Begun {
    sequence: u64,
    /// Whether a writer that is a lap behind still sits in the slot; then this event is lost.
    lost: bool,
}

/// Four words: block | depth, generation | kind | has parent, key, parent's key.
#[derive(Debug)]
struct Slot {
    stamp: AtomicU64,
    words: [AtomicU64; 4],
}

/// Who is in a slot.
///
/// ```text
///  63        48 47                       1   0
/// +------------+--------------------------+-----+
/// |  turned    |   sequence number + 1    | odd |   0: never written
/// |  away      |   (sequence, while odd)  |     |
/// +------------+--------------------------+-----+
/// ```
/// Odd: event `sequence` is being written. Writers of later laps that find it so turn away and leave a mark, so that the one who
/// sits here can say that their events are lost.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp(u64);

impl Stamp {
    const TURNED_AWAY: u64 = 1 << 48;

    const fn writing(sequence: u64) -> Self {
        Self(2 * sequence + 1)
    }
    const fn written(sequence: u64) -> Self {
        Self(2 * sequence + 2)
    }
    const fn is_writing(self) -> bool {
        self.0 & 1 == 1
    }
    const fn one_more_turned_away(self) -> Self {
        Self(self.0.saturating_add(Self::TURNED_AWAY))
    }
    /// Orders slots' states along the stream.
    const fn place(self) -> u64 {
        self.0 & (Self::TURNED_AWAY - 1)
    }
}

/// The kind field of a slot whose event is lost.
const LOST: u64 = 3;

/// What a reader finds at a place of the stream.
enum Look {
    Event(Event),
    Lost,
    Pending,
}

/// The ring of one pool. Written by every thread, read by any number of readers.
#[derive(Debug)]
pub(crate) struct EventRing {
    slots: Box<[Slot]>,
    next: Padded<AtomicU64>,
}

impl EventRing {
    pub(crate) fn new(capacity: usize) -> Result<Self, CreateError> {
        if capacity > MAX_EVENTS {
            return Err(CreateError::TooManyEvents {
                asked: capacity,
                max: MAX_EVENTS,
            });
        }
        let slots = crate::array::array(capacity, |_| Slot {
            stamp: AtomicU64::new(0),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
        })?;
        Ok(Self {
            slots,
            next: Padded(AtomicU64::new(0)),
        })
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val::<[Slot]>(&self.slots)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the remainder is below the number of slots"
    )]
    fn slot(&self, sequence: u64) -> &Slot {
        &self.slots[(sequence % self.slots.len() as u64) as usize]
    }

    /// Takes the next place. Must be followed by [`commit`](Self::commit).
    pub(crate) fn begin(&self) -> Begun {
        // AcqRel: whatever happened before the events before this one happened before it.
        let sequence = self.next.0.fetch_add(1, AcqRel);
        let slot = self.slot(sequence);
        let mut current = Stamp(slot.stamp.load(Relaxed));
        loop {
            let next = if current.is_writing() {
                current.one_more_turned_away()
            } else {
                Stamp::writing(sequence)
            };
            if current.place() > Stamp::writing(sequence).place() {
                // This thread stopped for a lap; the slot has a later event.
                return Begun {
                    sequence,
                    lost: true,
                };
            }
            match slot
                .stamp
                .compare_exchange(current.0, next.0, AcqRel, Relaxed)
            {
                Ok(_) => {
                    return Begun {
                        sequence,
                        lost: current.is_writing(),
                    };
                }
                // The writer in it has finished, or another turned away: a bounded number of laps.
                Err(actual) => current = Stamp(actual),
            }
        }
    }

    /// Fills the place.
    pub(crate) fn commit(&self, begun: Begun, kind: EventKind, copy: &Findable) {
        if begun.lost {
            return;
        }
        let slot = self.slot(begun.sequence);
        fence(Release);
        let kind = match kind {
            EventKind::Stored => 0,
            EventKind::Removed => 1,
            EventKind::Cleared => 2,
        };
        let words = [
            u64::from(copy.block.get()) << 32 | u64::from(copy.depth),
            copy.generation << 3 | kind << 1 | u64::from(copy.parent_key.is_some()),
            copy.key,
            copy.parent_key.unwrap_or(0),
        ];
        for (slot, word) in slot.words.iter().zip(words) {
            slot.store(word, Relaxed);
        }
        let mut current = Stamp::writing(begun.sequence);
        let mut next = Stamp::written(begun.sequence);
        while let Err(actual) = slot
            .stamp
            .compare_exchange(current.0, next.0, AcqRel, Acquire)
        {
            // Later events were turned away while this one was being written: the newest of them is marked as lost.
            current = Stamp(actual);
            let laps = (self.next() - 1 - begun.sequence) / self.slots.len() as u64;
            next = Stamp::written(begun.sequence + laps * self.slots.len() as u64);
            slot.words[1].store(LOST << 1, Relaxed);
        }
    }

    pub(crate) fn emit(&self, kind: EventKind, copy: &Findable) {
        let begun = self.begin();
        self.commit(begun, kind, copy);
    }

    /// Events below `.0` have happened in full, and none from `.1` on has begun.
    pub(crate) fn range(&self) -> (u64, u64) {
        let to = self.next();
        let first = to.saturating_sub(self.slots.len() as u64);
        let from = (first..to)
            .find(|&s| matches!(self.look(s), Look::Pending))
            .unwrap_or(to);
        (from, to)
    }

    fn next(&self) -> u64 {
        self.next.0.load(Acquire)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "fields are taken out of the words that hold them"
    )]
    fn look(&self, sequence: u64) -> Look {
        let slot = self.slot(sequence);
        let stamp = Stamp(slot.stamp.load(Acquire));
        let here = Stamp::written(sequence);
        if stamp != here {
            let lapped = self.next() - sequence > self.slots.len() as u64;
            return if stamp.place() > here.place() || lapped {
                Look::Lost
            } else {
                Look::Pending
            };
        }
        let [place, generation, key, parent] =
            core::array::from_fn(|i| slot.words[i].load(Relaxed));
        fence(Acquire);
        if Stamp(slot.stamp.load(Relaxed)) != here {
            return Look::Lost;
        }
        let kind = match generation >> 1 & 3 {
            0 => EventKind::Stored,
            1 => EventKind::Removed,
            2 => EventKind::Cleared,
            _ => return Look::Lost,
        };
        Look::Event(Event {
            sequence,
            kind,
            copy: Findable {
                block: BlockId::new((place >> 32) as u32),
                generation: generation >> 3,
                key,
                parent_key: (generation & 1 == 1).then_some(parent),
                depth: place as u32,
            },
        })
    }
}

/// Reads the events of a pool in order. Readers are independent of each other.
#[derive(Debug)]
pub struct EventReader<'p> {
    ring: &'p EventRing,
    position: u64,
}

impl<'p> EventReader<'p> {
    pub(crate) const fn new(ring: &'p EventRing) -> Self {
        Self { ring, position: 0 }
    }

    /// The sequence number of the next event to read.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Goes on from this sequence number, after a [`Snapshot`] for instance.
    pub const fn seek(&mut self, sequence: u64) {
        self.position = sequence;
    }

    /// Appends the events that are there and returns how many were lost before or between them: the ring was lapped.
    ///
    /// Stops at an event that another thread is still writing. Allocates in `out` only.
    pub fn read(&mut self, out: &mut Vec<Event>) -> u64 {
        self.read_some(usize::MAX, |event| out.push(event))
    }

    /// Gives up to `most` of the events that are there to `each`, one by one, and returns how many were lost before or between them. The
    /// next call goes on behind the last one.
    ///
    /// Stops at an event that another thread is still writing. No allocation.
    pub fn read_some(&mut self, most: usize, mut each: impl FnMut(Event)) -> u64 {
        let (mut given, mut missed) = (0, 0);
        let end = self.ring.next();
        let first = end.saturating_sub(self.ring.slots.len() as u64);
        if self.position < first && most > 0 {
            // The ring has them no more. Not one by one: a reader may begin after years.
            missed = first - self.position;
            self.position = first;
        }
        while self.position < end && given < most {
            match self.ring.look(self.position) {
                Look::Event(event) => {
                    given += 1;
                    self.position += 1;
                    each(event);
                }
                Look::Lost => {
                    missed += 1;
                    self.position += 1;
                }
                Look::Pending => break,
            }
        }
        missed
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn copy(block: u32) -> Findable {
        Findable {
            block: BlockId::new(block),
            generation: u64::from(block) + 7,
            key: 1,
            parent_key: (block > 0).then_some(9),
            depth: block,
        }
    }

    #[test]
    fn events_come_back_as_they_were_emitted() {
        let ring = EventRing::new(8).unwrap();
        for (i, kind) in [EventKind::Stored, EventKind::Removed, EventKind::Cleared]
            .into_iter()
            .enumerate()
        {
            ring.emit(kind, &copy(u32::try_from(i).unwrap()));
        }
        let mut out = Vec::new();
        assert_eq!(EventReader::new(&ring).read(&mut out), 0);
        assert_eq!(
            out.iter().map(|e| e.kind).collect::<Vec<_>>(),
            [EventKind::Stored, EventKind::Removed, EventKind::Cleared]
        );
        assert_eq!(
            out.iter().map(|e| e.copy).collect::<Vec<_>>(),
            [copy(0), copy(1), copy(2)]
        );
        assert_eq!(
            out.iter().map(|e| e.sequence).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_lapped_reader_gets_the_newest_and_the_number_of_the_lost() {
        let ring = EventRing::new(4).unwrap();
        (0..7).for_each(|b| ring.emit(EventKind::Stored, &copy(b)));
        let mut reader = EventReader::new(&ring);
        let mut out = Vec::new();
        assert_eq!(reader.read(&mut out), 3);
        assert_eq!(
            out.iter().map(|e| e.sequence).collect::<Vec<_>>(),
            [3, 4, 5, 6]
        );
        assert_eq!(reader.position(), 7);
    }

    #[test]
    fn a_reader_that_begins_late_does_not_look_for_what_is_long_gone() {
        let ring = EventRing::new(4).unwrap();
        let gone = 1 << 46;
        ring.next.0.store(gone, Relaxed);
        (0..4).for_each(|b| ring.emit(EventKind::Stored, &copy(b)));
        let mut reader = EventReader::new(&ring);
        let mut out = Vec::new();
        assert_eq!(reader.read(&mut out), gone);
        assert_eq!((out.len(), reader.position()), (4, gone + 4));
    }

    #[test]
    fn a_reader_with_little_room_goes_on_where_it_stopped() {
        let ring = EventRing::new(4).unwrap();
        (0..7).for_each(|b| ring.emit(EventKind::Stored, &copy(b)));
        let mut reader = EventReader::new(&ring);
        let mut got = Vec::new();
        let mut lost = Vec::new();
        for most in [0, 1, 2, 9, 9] {
            lost.push(reader.read_some(most, |event| got.push(event.sequence)));
        }
        assert_eq!(
            (got, lost),
            (alloc::vec![3, 4, 5, 6], alloc::vec![0, 3, 0, 0, 0])
        );
    }

    #[test]
    fn a_reader_waits_for_an_event_that_has_begun() {
        let ring = EventRing::new(4).unwrap();
        let begun = ring.begin();
        ring.emit(EventKind::Stored, &copy(1));
        let mut reader = EventReader::new(&ring);
        let mut out = Vec::new();
        assert_eq!(
            (reader.read(&mut out), out.len(), ring.range()),
            (0, 0, (0, 2))
        );
        ring.commit(begun, EventKind::Stored, &copy(0));
        assert_eq!(
            (reader.read(&mut out), out.len(), ring.range()),
            (0, 2, (2, 2))
        );
    }

    #[test]
    fn a_writer_that_stopped_for_a_lap_loses_events_and_harms_none() {
        let ring = EventRing::new(2).unwrap();
        let stopped = ring.begin();
        (1..4).for_each(|b| ring.emit(EventKind::Stored, &copy(b)));
        ring.commit(stopped, EventKind::Stored, &copy(0));
        let mut out = Vec::new();
        // Event 2 met the stopped writer in its slot, which says so when it goes on; 0 went with it.
        assert_eq!(EventReader::new(&ring).read(&mut out), 3);
        assert_eq!(
            out.iter().map(|e| (e.sequence, e.copy)).collect::<Vec<_>>(),
            [(3, copy(3))]
        );
    }
}
