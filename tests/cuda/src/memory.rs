//! Device memory and the host memory that the device can reach.
//!
//! Device addresses are made up and never given out twice, so that no use after free goes unseen; fresh memory is noise.
//! Freed regions stay as tombstones until the next reset, freed pinned memory even with its bytes.
//!
//! Where a test asks for it, large memory is sparse: zero, and only pages that are written cost anything. Which ones are is
//! remembered then, of all memory.

use std::collections::BTreeSet;

use crate::error::{
    Code, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, ILLEGAL_ADDRESS,
    INVALID_VALUE, MISALIGNED_ADDRESS, OUT_OF_MEMORY, Outcome,
};
use crate::random::Random;
use crate::region::{Kind, Region};

/// Below this lie host addresses, from here on device addresses.
pub(crate) const DEVICE_BASE: u64 = 0x00d0_0000_0000_0000;

/// Bytes of a page of the host.
const PAGE: u64 = 4096;

/// Everything that copies and kernels can reach.
#[derive(Debug)]
pub(crate) struct Memory {
    /// By base; only grows.
    device: Vec<Region>,
    host: Vec<Region>,
    total: usize,
    used: usize,
    next_base: u64,
    next_id: u64,
    noise: Random,
    sparse: Option<Sparse>,
}

#[derive(Debug)]
struct Sparse {
    /// Bytes from which on an allocation is sparse.
    from: usize,
    /// Numbers of the pages that something was written to.
    written: BTreeSet<u64>,
}

/// A region, for one look-up after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    Device(usize),
    Host(usize),
}

/// Why an access is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn illegal(text: String) -> Self {
        Self {
            code: ILLEGAL_ADDRESS,
            text,
        }
    }

    pub(crate) fn misaligned(address: u64, bytes: usize) -> Self {
        Self {
            code: MISALIGNED_ADDRESS,
            text: format!("misaligned access of {bytes} bytes at {address:#x}"),
        }
    }
}

impl Memory {
    pub(crate) fn new(total: usize, seed: u64) -> Self {
        Self {
            device: Vec::new(),
            host: Vec::new(),
            total,
            used: 0,
            next_base: DEVICE_BASE,
            next_id: 1,
            noise: Random::new(seed ^ 0x6e6f_6973_6500),
            sparse: None,
        }
    }

    pub(crate) fn set_sparse_from(&mut self, from: usize) {
        let written = BTreeSet::new();
        self.sparse = Some(Sparse { from, written });
    }

    fn is_sparse(&self, bytes: usize) -> bool {
        self.sparse
            .as_ref()
            .is_some_and(|sparse| bytes >= sparse.from)
    }

    /// Something was written here.
    pub(crate) fn note_written(&mut self, start: u64, end: u64) {
        if let Some(sparse) = &mut self.sparse {
            sparse.written.extend(start / PAGE..end.div_ceil(PAGE));
        }
    }

    /// The page of an address, or the first behind it, that something was written to.
    pub(crate) fn next_written(&self, address: u64) -> Option<u64> {
        let first = address / PAGE;
        let written = self.sparse.as_ref().map(|sparse| &sparse.written);
        written?.range(first..).next().map(|page| page * PAGE)
    }

    pub(crate) fn set_total(&mut self, total: usize) {
        self.total = total;
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }

    pub(crate) fn free_bytes(&self) -> usize {
        self.total.saturating_sub(self.used)
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Device memory full of noise.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Outcome<u64> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if bytes > self.free_bytes() {
            return Err(OUT_OF_MEMORY);
        }
        // As coarsely aligned as the driver's (256 bytes), sometimes no coarser; a gap before the next one.
        let base = self.next_base + 256 * self.noise.below(64) as u64;
        let (id, sparse) = (self.id(), self.is_sparse(bytes));
        let mut region = Region::device(base, bytes, id, sparse).ok_or(OUT_OF_MEMORY)?;
        fill(&mut region, &mut self.noise);
        self.next_base = (region.end() + (1 << 20)).next_multiple_of(256);
        self.used += bytes;
        self.device.push(region);
        Ok(base)
    }

    /// Frees device memory; answers its range.
    pub(crate) fn free(&mut self, base: u64) -> Outcome<(u64, u64)> {
        let region = self
            .device
            .iter_mut()
            .find(|region| region.base == base && region.live)
            .ok_or(INVALID_VALUE)?;
        region.live = false;
        region.give_back();
        self.used -= region.bytes;
        Ok((region.base, region.end()))
    }

    pub(crate) fn allocate_host(&mut self, bytes: usize) -> Outcome<u64> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let (id, sparse) = (self.id(), self.is_sparse(bytes));
        let mut region = Region::pinned(bytes, id, sparse).ok_or(OUT_OF_MEMORY)?;
        fill(&mut region, &mut self.noise);
        let base = region.base;
        self.host.push(region);
        Ok(base)
    }

    /// Frees pinned memory: from here on it is noise.
    pub(crate) fn free_host(&mut self, base: u64) -> Outcome<(u64, u64)> {
        let found = self
            .host
            .iter_mut()
            .find(|region| region.base == base && region.live && region.kind == Kind::Pinned);
        let region = found.ok_or(INVALID_VALUE)?;
        region.live = false;
        fill(region, &mut self.noise);
        Ok((region.base, region.end()))
    }

    pub(crate) fn register(&mut self, place: usize, bytes: usize) -> Outcome {
        if place == 0 || bytes == 0 || place as u64 >= DEVICE_BASE {
            return Err(INVALID_VALUE);
        }
        let end = (place as u64)
            .checked_add(bytes as u64)
            .ok_or(INVALID_VALUE)?;
        // Of memory that is registered the driver pins pages, and each of them once.
        let grain = |kind| if kind == Kind::Registered { PAGE } else { 1 };
        let pinned = |region: &Region| {
            let grain = grain(region.kind);
            let (first, behind) = (place as u64 / grain, end.div_ceil(grain));
            region.live && region.base / grain < behind && first < region.end().div_ceil(grain)
        };
        if self.host.iter().any(pinned) {
            return Err(HOST_MEMORY_ALREADY_REGISTERED);
        }
        let id = self.id();
        self.host.push(Region::registered(place, bytes, id));
        Ok(())
    }

    pub(crate) fn unregister(&mut self, place: usize) -> Outcome<(u64, u64)> {
        let known = self
            .host
            .iter_mut()
            .find(|region| region.base == place as u64 && region.live);
        let region = known.ok_or(HOST_MEMORY_NOT_REGISTERED)?;
        if region.kind != Kind::Registered {
            return Err(INVALID_VALUE);
        }
        region.live = false;
        region.give_back();
        Ok((region.base, region.end()))
    }

    /// The live region of a host range that a copy names: `None` for pageable memory.
    pub(crate) fn pinned_at(&self, address: u64, bytes: usize) -> Outcome<Option<u64>> {
        if address == 0 || address >= DEVICE_BASE {
            return Err(INVALID_VALUE);
        }
        let end = address.checked_add(bytes as u64).ok_or(INVALID_VALUE)?;
        let Some(region) = self
            .host
            .iter()
            .find(|region| region.live && region.base < end && address < region.end())
        else {
            return Ok(None);
        };
        if region.contains(address, bytes) {
            Ok(Some(region.id))
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// Where a copy's pinned memory lies, if it is still what it was.
    pub(crate) fn pinned_pointer(&self, id: u64, address: u64) -> Result<*mut u8, Fault> {
        match self.host.iter().find(|region| region.id == id) {
            Some(region) if region.live => Ok(region.pointer(address)),
            _ => Err(Fault::illegal(format!(
                "host memory at {address:#x} was freed or unregistered while a copy was in flight"
            ))),
        }
    }

    /// Whether a range lies in live device memory.
    pub(crate) fn check_device(&self, address: u64, bytes: usize) -> Outcome {
        match self.device_index(address) {
            Some(index)
                if self.device[index].live && self.device[index].contains(address, bytes) =>
            {
                Ok(())
            }
            _ => Err(INVALID_VALUE),
        }
    }

    fn device_index(&self, address: u64) -> Option<usize> {
        self.device
            .partition_point(|region| region.base <= address)
            .checked_sub(1)
    }

    /// Finds the region of an access of copies and kernels; `hint` makes the next look-up quick.
    #[inline]
    pub(crate) fn find(
        &self,
        address: u64,
        bytes: usize,
        hint: &mut Spot,
    ) -> Result<(), Box<Fault>> {
        let region = self.region(*hint);
        if region.is_some_and(|region| region.live && region.contains(address, bytes)) {
            return Ok(());
        }
        *hint = self.look_up(address, bytes)?;
        Ok(())
    }

    fn look_up(&self, address: u64, bytes: usize) -> Result<Spot, Fault> {
        if address < DEVICE_BASE {
            let known = self
                .host
                .iter()
                .rposition(|region| region.contains(address, bytes));
            return match known {
                Some(index) if self.host[index].live => Ok(Spot::Host(index)),
                Some(_) => Err(Fault::illegal(format!(
                    "use of freed host memory: {bytes} bytes at {address:#x}"
                ))),
                None => Err(Fault::illegal(format!(
                    "access outside of device memory: {bytes} bytes at {address:#x}"
                ))),
            };
        }
        let Some(index) = self.device_index(address) else {
            return Err(Fault::illegal(format!(
                "access outside of device memory: {bytes} bytes at {address:#x}"
            )));
        };
        let region = &self.device[index];
        if !region.contains(address, bytes) {
            return Err(Fault::illegal(format!(
                "out of bounds: {bytes} bytes at {address:#x}, {} bytes into {} bytes at {:#x}",
                address - region.base,
                region.bytes,
                region.base
            )));
        }
        if !region.live {
            return Err(Fault::illegal(format!(
                "use after free: {bytes} bytes at {address:#x}"
            )));
        }
        Ok(Spot::Device(index))
    }

    pub(crate) fn region(&self, spot: Spot) -> Option<&Region> {
        match spot {
            Spot::Device(index) => self.device.get(index),
            Spot::Host(index) => self.host.get(index),
        }
    }

    pub(crate) fn region_mut(&mut self, spot: Spot) -> Option<&mut Region> {
        match spot {
            Spot::Device(index) => self.device.get_mut(index),
            Spot::Host(index) => self.host.get_mut(index),
        }
    }

    /// Where device memory lies, for a copy.
    pub(crate) fn device_pointer(&self, address: u64, bytes: usize) -> Result<*mut u8, Fault> {
        let spot = self.look_up(address, bytes)?;
        self.region(spot)
            .map(|region| region.pointer(address))
            .ok_or_else(|| Fault::illegal(String::new()))
    }

    /// The live region that holds an address: base, bytes and kind.
    pub(crate) fn holder(&self, address: u64) -> Option<&Region> {
        self.device
            .iter()
            .chain(&self.host)
            .find(|region| region.live && region.contains(address, 1))
    }

    /// How many allocations, pinned allocations and registrations are live.
    pub(crate) fn live(&self) -> [usize; 3] {
        let count = |regions: &[Region], kind| {
            regions
                .iter()
                .filter(|region| region.live && region.kind == kind)
                .count()
        };
        [
            count(&self.device, Kind::Device),
            count(&self.host, Kind::Pinned),
            count(&self.host, Kind::Registered),
        ]
    }

    /// The end of the context: nothing is live any more.
    pub(crate) fn end(&mut self) {
        for region in self
            .device
            .iter_mut()
            .chain(&mut self.host)
            .filter(|region| region.live)
        {
            region.live = false;
            if region.kind != Kind::Pinned {
                region.give_back();
            }
        }
        self.used = 0;
    }
}

/// Noise, or zero in sparse memory.
fn fill(region: &mut Region, noise: &mut Random) {
    if let Some(pages) = region.pages() {
        return pages.forget();
    }
    let start = region.pointer(region.base);
    // SAFETY: a region that owns its memory has `bytes` bytes at its pointer, and nothing else refers to fresh or freed memory.
    noise.fill(unsafe { core::slice::from_raw_parts_mut(start, region.bytes) });
}
