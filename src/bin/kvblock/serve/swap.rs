//! Swaps: who loses its memory goes to host memory and comes back, instead of being computed again.
//!
//! Each rank has a bus to its host memory that carries so many blocks a step, in either direction as many: out and in don't wait for each
//! other, as on a full-duplex link. The swaps of a direction go one after another, and a swap is done at the end of the step in which its
//! last block was carried. What was swapped out stays in host memory until it comes back or its request ends.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use kvblock::{Fence, Handle, Instance, InstanceSwap, Leases, Owner};
use serde::Serialize;

use super::queue::Seniority;
use crate::failure::{Failure, cannot_fail};

/// The host tier of each instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SwapSettings {
    /// Blocks of host memory for each rank.
    pub(crate) host_blocks: usize,
    /// Blocks that a bus carries in a step, in each direction.
    pub(crate) rate: usize,
}

/// What swaps came to, beside what the two tiers' registries say.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct SwapFigures {
    /// Sequences that lost their memory by a swap.
    #[serde(rename = "preemptions_by_swap")]
    pub(crate) begun_out: u64,
    #[serde(rename = "swap_ins_begun")]
    pub(crate) begun_in: u64,
    /// Swaps whose request ended before they were done.
    pub(crate) swaps_called_off: u64,
    /// Sequences that were preempted to be computed again as the host tier was full, or as a copy into them was under way.
    pub(crate) host_was_full: u64,
    pub(crate) swaps_not_ready: u64,
    /// Appends that waited for blocks that were being swapped out.
    pub(crate) waits_for_swaps: u64,
    /// Steps that computed nothing, and only waited for swaps.
    pub(crate) swap_steps: u64,
    /// The most blocks with a holder in one instance's host tier, on the rank that has the most.
    pub(crate) host_held_most: usize,
}

impl SwapFigures {
    /// Adds those of another engine.
    pub(crate) fn add(&mut self, other: &Self) {
        self.begun_out += other.begun_out;
        self.begun_in += other.begun_in;
        self.swaps_called_off += other.swaps_called_off;
        self.host_was_full += other.host_was_full;
        self.swaps_not_ready += other.swaps_not_ready;
        self.waits_for_swaps += other.waits_for_swaps;
        self.swap_steps += other.swap_steps;
        self.host_held_most = self.host_held_most.max(other.host_held_most);
    }
}

/// Which way a swap goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Out = 0,
    In = 1,
}

/// One direction of the bus: its timeline counts blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Bus {
    queued: u64,
    carried: u64,
}

/// A swap under way.
#[derive(Debug)]
pub(crate) struct Swapping {
    pub(crate) swap: InstanceSwap,
    pub(crate) way: Way,
    pub(crate) who: Seniority,
    /// Blocks that the device has back when it is done.
    pub(crate) frees: usize,
    /// Whether somebody waits for it.
    pub(crate) wanted: bool,
}

/// The host tier of an instance, and the swaps to and from it.
#[derive(Debug)]
pub(crate) struct Swaps {
    pub(crate) host: Instance,
    /// What is read on the device, and on the host.
    pub(crate) leases: [Vec<Leases>; 2],
    /// The oldest first.
    pub(crate) under_way: Vec<Swapping>,
    /// Sequences in host memory.
    pub(crate) stored: BTreeMap<Seniority, Handle>,
    rate: u64,
    buses: [Bus; 2],
    owners: u64,
    pub(crate) figures: SwapFigures,
}

impl Swaps {
    pub(crate) fn new(
        settings: SwapSettings,
        device: &Instance,
        host: Instance,
    ) -> Result<Self, Failure> {
        let leases = |of: &Instance| {
            of.leases(usize::MAX)
                .map_err(|error| Failure::Input(alloc::format!("no swaps can be made: {error}")))
        };
        Ok(Self {
            leases: [leases(device)?, leases(&host)?],
            host,
            under_way: Vec::new(),
            stored: BTreeMap::new(),
            rate: settings.rate as u64,
            buses: [Bus::default(); 2],
            owners: 0,
            figures: SwapFigures::default(),
        })
    }

    /// A name for the lease of one more swap.
    pub(crate) const fn owner(&mut self) -> Owner {
        self.owners += 1;
        Owner::new(self.owners)
    }

    /// A swap's blocks are on their way, behind those before them.
    pub(crate) fn launch(&mut self, mut swapping: Swapping) -> Result<(), Failure> {
        let swap = &mut swapping.swap;
        let shards = swap.imports().count();
        let most = (0..shards).map(|shard| swap.pairs(shard).len()).max();
        let bus = &mut self.buses[swapping.way as usize];
        bus.queued += most.unwrap_or(0) as u64;
        for shard in 0..shards {
            swap.copying(shard, Fence(bus.queued))
                .map_err(cannot_fail("copying"))?;
        }
        let figures = &mut self.figures;
        *match swapping.way {
            Way::Out => &mut figures.begun_out,
            Way::In => &mut figures.begun_in,
        } += 1;
        self.under_way.push(swapping);
        self.note_held();
        Ok(())
    }

    /// A step passes for the buses.
    pub(crate) fn carry(&mut self) {
        for bus in &mut self.buses {
            bus.carried = bus.queued.min(bus.carried.saturating_add(self.rate));
        }
    }

    /// Everything is carried.
    pub(crate) const fn carry_all(&mut self) {
        let [out, back] = &mut self.buses;
        out.carried = out.queued;
        back.carried = back.queued;
    }

    /// Takes a swap that is done, the oldest first.
    pub(crate) fn take_done(&mut self) -> Option<Swapping> {
        let buses = self.buses;
        let at = self.under_way.iter_mut().position(|it| {
            let carried = Fence(buses[it.way as usize].carried);
            let shards = it.swap.imports().count();
            (0..shards).fold(shards == 0, |_, shard| it.swap.complete(shard, carried))
        });
        at.map(|at| self.under_way.remove(at))
    }

    /// Blocks that the device will have back.
    pub(crate) fn coming(&self) -> usize {
        let those = self.under_way.iter().filter(|it| it.wanted);
        those.map(|it| it.frees).sum()
    }

    /// Blocks of one rank that are still to be carried.
    pub(crate) fn left(&self) -> usize {
        let left = self.buses.iter().map(|bus| bus.queued - bus.carried);
        usize::try_from(left.sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// Blocks with a holder in host memory, on the rank that has the most.
    pub(crate) fn held(&self) -> usize {
        let pools = self.host.shards().iter().map(|it| it.pool());
        let held = pools.map(|it| it.in_service() - it.available() - it.reserved());
        held.max().unwrap_or(0)
    }

    fn note_held(&mut self) {
        self.figures.host_held_most = self.figures.host_held_most.max(self.held());
    }
}
