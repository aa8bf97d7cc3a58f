//! Lists of pairs on their way to the device.
//!
//! A list is written to pinned memory and copied from there, in stream order, into device memory where the kernels read it. Neither may be
//! written again before that is done, so a list keeps its place in both until its fence has passed. Places are used in turn.

use alloc::collections::VecDeque;
use core::mem::size_of;

use super::buffer::{DeviceBuffer, PinnedBuffer};
use super::device::Current;
use super::driver::DevicePtr;
use super::error::CudaError;
use super::kernels::Pair;
use super::stream::CudaStream;
use crate::error::OutOfMemory;
use crate::pool::Fence;

/// Bytes of an entry: a pair, or two counts.
const ENTRY: usize = size_of::<Pair>();

/// Part of the memory for lists: counts first, then pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    start: usize,
    entries: usize,
    counts: usize,
}

impl Place {
    /// Entries that a list with so many counts and pairs takes.
    const fn entries(counts: usize, pairs: usize) -> usize {
        counts.div_ceil(2) + pairs
    }
}

/// A ring of entries, in order of use.
#[derive(Debug)]
struct Ring {
    capacity: usize,
    /// Places that are in use, the oldest first: start, end, and the fence after which they are free.
    used: VecDeque<(usize, usize, Fence)>,
}

impl Ring {
    /// Where so many entries can go.
    fn find(&self, entries: usize) -> Option<usize> {
        let (Some(&(first, _, _)), Some(&(_, last, _))) = (self.used.front(), self.used.back())
        else {
            return (entries <= self.capacity).then_some(0);
        };
        if last <= first {
            return (first - last >= entries).then_some(last);
        }
        if self.capacity - last >= entries {
            return Some(last);
        }
        (first >= entries).then_some(0)
    }

    fn free_up_to(&mut self, completed: Fence) {
        while self
            .used
            .front()
            .is_some_and(|&(_, _, fence)| fence <= completed)
        {
            self.used.pop_front();
        }
    }

    fn in_use(&self) -> usize {
        self.used.iter().map(|(start, end, _)| end - start).sum()
    }
}

#[derive(Debug)]
pub(super) struct Lists {
    pairs: usize,
    ring: Ring,
    host: PinnedBuffer,
    device: DeviceBuffer,
}

impl Lists {
    /// Memory for lists of so many pairs in all.
    pub(super) fn new(current: &Current<'_>, pairs: usize) -> Result<Self, CudaError> {
        // A count for each pair at worst: every pair a wave of its own.
        let capacity = Place::entries(pairs, pairs);
        let bytes = (capacity * ENTRY) as u64;
        let host = PinnedBuffer::new(current, bytes)?;
        let device = DeviceBuffer::new(current, bytes)?;
        Ok(Self {
            pairs,
            ring: Ring {
                capacity,
                used: VecDeque::new(),
            },
            host,
            device,
        })
    }

    /// A place for a list, which is the caller's until it is [kept](Self::keep) or forgotten.
    pub(super) fn find(
        &mut self,
        counts: usize,
        pairs: usize,
        completed: Fence,
    ) -> Result<Place, CudaError> {
        if pairs > self.pairs {
            return Err(CudaError::TooManyPairs {
                pairs,
                capacity: self.pairs,
            });
        }
        let entries = Place::entries(counts, pairs);
        self.ring.used.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.ring.free_up_to(completed);
        let start = self.ring.find(entries).ok_or(CudaError::Busy {
            under_way: self.ring.in_use(),
            capacity: self.ring.capacity,
        })?;
        Ok(Place {
            start,
            entries,
            counts,
        })
    }

    /// The place is free again when the fence has passed.
    pub(super) fn keep(&mut self, place: Place, fence: Fence) {
        // There is room: `find` made it.
        self.ring
            .used
            .push_back((place.start, place.start + place.entries, fence));
    }

    /// Writes the list of one count.
    pub(super) fn write(
        &mut self,
        place: Place,
        count: usize,
        first: usize,
        pairs: impl ExactSizeIterator<Item = Pair>,
    ) {
        debug_assert!(count < place.counts && first + pairs.len() <= place.entries);
        let number = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        let counts = self.host.address().cast::<u32>().as_ptr();
        // SAFETY: the place is within the buffer, and no list that is under way has it: `find` saw to both.
        unsafe { counts.wrapping_add(place.start * 2 + count).write(number) };
        let entries = self.host.address().cast::<Pair>().as_ptr();
        for (at, pair) in pairs.enumerate() {
            let at = place.start + place.counts.div_ceil(2) + first + at;
            // SAFETY: as above.
            unsafe { entries.wrapping_add(at).write(pair) };
        }
    }

    /// Puts the copy of a written list into a stream.
    pub(super) fn send(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
        place: Place,
    ) -> Result<(), CudaError> {
        let entries = self.host.address().cast::<Pair>().as_ptr();
        let from = entries.wrapping_add(place.start).cast_const();
        let to = self.device.address() + (place.start * ENTRY) as u64;
        let bytes = place.entries * ENTRY;
        // SAFETY: both buffers have the place, the host's is pinned, and both live until the mover has seen the stream end.
        unsafe { stream.copy_to_device(current, to, from.cast(), bytes) }
    }

    /// Where the kernels find the list of one count, of so many pairs.
    pub(super) fn on_device(
        &self,
        place: Place,
        count: usize,
        first: usize,
        pairs: usize,
    ) -> DeviceList {
        let at = place.start + place.counts.div_ceil(2) + first;
        let start = self.device.address() + (place.start * ENTRY) as u64;
        DeviceList {
            pairs: self.device.address() + (at * ENTRY) as u64,
            count: start + (count * size_of::<u32>()) as u64,
            capacity: u32::try_from(pairs).unwrap_or(u32::MAX),
        }
    }
}

/// A list as a kernel finds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceList {
    pub(super) pairs: DevicePtr,
    pub(super) count: DevicePtr,
    pub(super) capacity: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ring: &mut Ring, entries: usize, fence: u64) -> Option<usize> {
        let start = ring.find(entries)?;
        ring.used.push_back((start, start + entries, Fence(fence)));
        Some(start)
    }

    #[test]
    fn places_are_used_in_turn_and_never_twice_at_once() {
        let mut ring = Ring {
            capacity: 10,
            used: VecDeque::new(),
        };
        assert_eq!(ring.find(11), None);
        assert_eq!(taken(&mut ring, 4, 1), Some(0));
        assert_eq!(taken(&mut ring, 4, 2), Some(4));
        assert_eq!(ring.find(3), None, "two are left at the end, none before");
        assert_eq!(taken(&mut ring, 2, 3), Some(8));
        assert_eq!(ring.find(1), None);
        ring.free_up_to(Fence(1));
        assert_eq!(taken(&mut ring, 4, 4), Some(0));
        assert_eq!((ring.find(1), ring.in_use()), (None, 10), "full again");
        ring.free_up_to(Fence(3));
        assert_eq!(taken(&mut ring, 5, 5), Some(4));
        ring.free_up_to(Fence(5));
        assert_eq!(ring.find(10), Some(0));
    }
}
