//! One range of memory that copies and kernels can reach, with the marks of the kernel that runs.

use std::alloc::{Layout, alloc, dealloc};

use crate::mark::Marks;
use crate::pages::Pages;

/// What a region is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    /// Host memory that the driver allocated.
    Pinned,
    /// The caller's host memory, registered.
    Registered,
}

/// A range of memory.
#[derive(Debug)]
pub(crate) struct Region {
    /// Address that callers know.
    pub(crate) base: u64,
    pub(crate) bytes: usize,
    pub(crate) kind: Kind,
    pub(crate) live: bool,
    /// Tells a region from a later one at the same address.
    pub(crate) id: u64,
    /// Where the bytes lie in this process; 0 when they have been given back.
    place: usize,
    owned: Option<Owned>,
    pub(crate) marks: Marks,
}

/// How a region's own memory was had.
#[derive(Debug)]
enum Owned {
    Allocated(Layout),
    /// Sparse: pages that are zero until they are written.
    Pages(Pages),
}

impl Region {
    /// Memory of its own at a place that nobody outside knows; `None` when the machine has no more.
    pub(crate) fn device(base: u64, bytes: usize, id: u64, sparse: bool) -> Option<Self> {
        let (place, owned) = reserve(bytes, sparse)?;
        Some(Self {
            base,
            bytes,
            kind: Kind::Device,
            live: true,
            id,
            place,
            owned: Some(owned),
            marks: Marks::default(),
        })
    }

    /// Host memory: its address is where it lies.
    pub(crate) fn pinned(bytes: usize, id: u64, sparse: bool) -> Option<Self> {
        let (place, owned) = reserve(bytes, sparse)?;
        Some(Self {
            base: place as u64,
            bytes,
            kind: Kind::Pinned,
            live: true,
            id,
            place,
            owned: Some(owned),
            marks: Marks::default(),
        })
    }

    /// The caller's memory.
    pub(crate) fn registered(place: usize, bytes: usize, id: u64) -> Self {
        Self {
            base: place as u64,
            bytes,
            kind: Kind::Registered,
            live: true,
            id,
            place,
            owned: None,
            marks: Marks::default(),
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.base + self.bytes as u64
    }

    pub(crate) fn contains(&self, address: u64, bytes: usize) -> bool {
        address >= self.base
            && address
                .checked_add(bytes as u64)
                .is_some_and(|end| end <= self.end())
    }

    /// Where the byte at `address`, which lies in the region, is in this process.
    pub(crate) fn pointer(&self, address: u64) -> *mut u8 {
        debug_assert!(self.place != 0 && address >= self.base && address <= self.end());
        (self.place + (address - self.base) as usize) as *mut u8
    }

    /// The pages of a sparse region.
    pub(crate) fn pages(&self) -> Option<&Pages> {
        match &self.owned {
            Some(Owned::Pages(pages)) => Some(pages),
            _ => None,
        }
    }

    /// Gives the bytes back; the region stays as a tombstone.
    pub(crate) fn give_back(&mut self) {
        if let Some(Owned::Allocated(layout)) = self.owned.take() {
            // SAFETY: `place` was allocated with this layout, and the layout was taken: this happens once.
            unsafe { dealloc(self.place as *mut u8, layout) };
        }
        self.place = 0;
        self.marks = Marks::default();
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn reserve(bytes: usize, sparse: bool) -> Option<(usize, Owned)> {
    if sparse {
        let pages = Pages::new(bytes)?;
        return Some((pages.place(), Owned::Pages(pages)));
    }
    let layout = Layout::from_size_align(bytes.max(1), 4096).ok()?;
    // SAFETY: the layout is not of size 0.
    let place = unsafe { alloc(layout) };
    (!place.is_null()).then_some((place as usize, Owned::Allocated(layout)))
}
