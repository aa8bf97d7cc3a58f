//! The objects that a program has, and what must hold between its calls.

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr;

use kvblock_c::copy::{
    kvb_copy_plan_destroy, kvb_copy_route_destroy, kvb_fences_destroy, kvb_layout_destroy,
};
use kvblock_c::error::kvb_error;
use kvblock_c::holder::{
    KVB_HOLDER_BLOCKS, KVB_HOLDER_CHAIN, KVB_HOLDER_DETACHED, KVB_HOLDER_IMPORT, KVB_HOLDER_LANES,
    KVB_HOLDER_LEASE, KVB_HOLDER_LEASES, KVB_HOLDER_RESERVATION, KVB_HOLDER_SEQS, kvb_holder,
};
use kvblock_c::lanes::{kvb_lanes, kvb_lanes_destroy};
use kvblock_c::leases::{kvb_lease, kvb_lease_destroy, kvb_leases, kvb_leases_destroy};
use kvblock_c::namespace::{
    kvb_namespace, kvb_namespace_create, kvb_namespace_destroy, kvb_namespace_parts,
};
use kvblock_c::pool::*;
use kvblock_c::seqs::*;
use kvblock_c::status::{KVB_ERR_STALE, KVB_OK};
use kvblock_c::swap::kvb_swap_destroy;
use kvblock_c::transfer::kvb_import_destroy;

use crate::arguments::Bytes;
use crate::fences::Table;
use crate::imports::{self, Filled};
use crate::layouts::Layout;
use crate::plans::Plan;
use crate::routes::Route;
use crate::swaps::Transit;

/// Positions of a table that one call looks at.
pub(crate) const MOST_BLOCKS: usize = 64;
/// Objects of one kind.
pub(crate) const MOST: usize = 6;

/// Which pools an object is of, a bit each; those above the second one are in lockstep registries.
pub(crate) type Home = u64;

/// Something that lives, and of which pools it is.
pub(crate) struct Object<T> {
    pub(crate) it: *mut T,
    pub(crate) home: Home,
}

pub(crate) struct Registry {
    pub(crate) it: *mut kvb_seqs,
    /// A number that no other one gets.
    pub(crate) name: u64,
    pub(crate) step: *mut kvb_step,
    pub(crate) home: Home,
    /// What it named, and what may be over.
    pub(crate) handles: Vec<kvb_handle>,
}

pub(crate) struct World {
    pub(crate) pools: [*mut kvb_pool; 2],
    pub(crate) workers: [*mut kvb_worker; 2],
    pub(crate) block_size: usize,
    pub(crate) space: *mut kvb_namespace,
    pub(crate) registries: Vec<Registry>,
    pub(crate) lanes: Vec<Object<kvb_lanes>>,
    pub(crate) detached: Vec<Object<kvb_detached>>,
    pub(crate) reservations: Vec<Object<kvb_reservation>>,
    pub(crate) blocks: Vec<Object<kvb_blocks>>,
    pub(crate) chains: Vec<Object<kvb_chain>>,
    pub(crate) tables: Vec<Object<kvb_leases>>,
    pub(crate) leases: Vec<Object<kvb_lease>>,
    pub(crate) swaps: Vec<Transit>,
    pub(crate) swaps_begun: u64,
    pub(crate) imports: Vec<Filled>,
    /// The lease of each swap that was begun, and the table that names it to an audit; null if that is gone.
    pub(crate) read_by: Vec<(Object<kvb_lease>, *mut kvb_leases)>,
    pub(crate) copies: Copies,
    /// Where each pool's events were read up to.
    pub(crate) read: u64,
    pub(crate) time: u64,
    /// Names that nobody has any more.
    dead: Vec<kvb_handle>,
    pub(crate) locksteps: u32,
    /// Registries that there were.
    pub(crate) named: u64,
}

/// What copies are made with.
#[derive(Default)]
pub(crate) struct Copies {
    pub(crate) layouts: Vec<Layout>,
    pub(crate) routes: Vec<Route>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) tables: Vec<Table>,
}

impl Copies {
    /// Gives all back.
    ///
    /// # Safety
    /// * Every object lives.
    unsafe fn end(self) {
        // SAFETY: this function's contract.
        unsafe {
            for it in self.layouts {
                kvb_layout_destroy(it.it);
            }
            for it in self.routes {
                kvb_copy_route_destroy(it.it);
            }
            for it in self.plans {
                kvb_copy_plan_destroy(it.it);
            }
            for it in self.tables {
                kvb_fences_destroy(it.it);
            }
        }
    }
}

/// `sizeof`.
pub(crate) fn size<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("a small struct")
}

impl World {
    pub(crate) fn new(bytes: &mut Bytes<'_>) -> Self {
        let block_size = 1 + bytes.below(5);
        let make = |shard: u32, bytes: &mut Bytes<'_>| {
            let blocks = 1 + bytes.below(MOST_BLOCKS);
            let kind = bytes.byte();
            let config = kvb_pool_config {
                struct_size: size::<kvb_pool_config>(),
                shard,
                blocks,
                max_blocks: if kind & 1 == 0 {
                    0
                } else {
                    blocks + usize::from(kind >> 4)
                },
                block_size,
                events: if kind & 2 == 0 { 0 } else { 16 },
                secret: [7; 16],
                proof: u32::from(kind & 4 != 0),
                hash: u32::from(kind & 8 != 0),
                hash_seed: 1,
            };
            let (mut pool, mut worker) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: a configuration and two places.
            unsafe {
                assert_eq!(kvb_pool_create(&config, &mut pool, ptr::null_mut()), KVB_OK);
                assert_eq!(
                    kvb_worker_create(pool, &mut worker, ptr::null_mut()),
                    KVB_OK
                );
            }
            (pool, worker)
        };
        let ((first, a), (second, b)) = (make(0, bytes), make(1, bytes));
        let parts = kvb_namespace_parts {
            struct_size: size::<kvb_namespace_parts>(),
            reserved: 0,
            adapter: c"adapter".as_ptr().cast(),
            adapter_size: 7,
            adapter_version: 3,
            salt: ptr::null(),
            salt_size: 0,
            domain: ptr::null(),
            domain_size: 0,
        };
        let mut space = ptr::null_mut();
        // SAFETY: parts whose strings are static, and a place.
        assert_eq!(unsafe { kvb_namespace_create(&parts, &mut space) }, KVB_OK);
        Self {
            pools: [first, second],
            workers: [a, b],
            block_size,
            space,
            registries: Vec::new(),
            lanes: Vec::new(),
            detached: Vec::new(),
            reservations: Vec::new(),
            blocks: Vec::new(),
            chains: Vec::new(),
            tables: Vec::new(),
            leases: Vec::new(),
            swaps: Vec::new(),
            swaps_begun: 0,
            imports: Vec::new(),
            read_by: Vec::new(),
            copies: Copies::default(),
            read: 0,
            time: 0,
            dead: Vec::new(),
            locksteps: 0,
            named: 0,
        }
    }

    /// A pool, rarely null, and its bit.
    pub(crate) fn pool(&self, bytes: &mut Bytes<'_>) -> (*mut kvb_pool, Home) {
        match bytes.byte() {
            255 => (ptr::null_mut(), 0),
            byte => (self.pools[usize::from(byte & 1)], 1 << (byte & 1)),
        }
    }

    /// A worker, rarely null or another pool's.
    pub(crate) fn worker(&self, home: Home, bytes: &mut Bytes<'_>) -> *mut kvb_worker {
        let own = usize::from(home & 1 == 0);
        match bytes.byte() {
            255 => ptr::null_mut(),
            240.. => self.workers[1 - own],
            _ => self.workers[own],
        }
    }

    pub(crate) fn a_space(&self, bytes: &mut Bytes<'_>) -> *const kvb_namespace {
        if bytes.byte() & 1 == 0 {
            ptr::null()
        } else {
            self.space
        }
    }

    /// The place of a registry.
    pub(crate) fn registry(&self, bytes: &mut Bytes<'_>) -> Option<usize> {
        let count = self.registries.len();
        (count > 0).then(|| bytes.below(count.max(1)))
    }

    /// A name: of this registry, of another one, of nobody any more, or any bits.
    pub(crate) fn handle(&self, registry: usize, bytes: &mut Bytes<'_>) -> kvb_handle {
        let none = kvb_handle { bits: u64::MAX };
        let choice = bytes.byte();
        let from = match choice {
            250.. => return kvb_handle { bits: bytes.word() },
            240.. => &self.dead,
            230.. => &self.registries[bytes.below(self.registries.len())].handles,
            _ => &self.registries[registry].handles,
        };
        from.get(usize::from(choice) % from.len().max(1))
            .copied()
            .unwrap_or(none)
    }

    pub(crate) fn named(&mut self, registry: usize, handle: kvb_handle) {
        self.registries[registry].handles.push(handle);
    }

    pub(crate) fn over(&mut self, registry: usize, handle: kvb_handle) {
        let handles = &mut self.registries[registry].handles;
        if handles.contains(&handle) {
            handles.retain(|&it| it != handle);
            self.dead.push(handle);
        }
    }

    pub(crate) fn gone(&mut self, registry: Registry) {
        self.dead.extend(registry.handles);
        // SAFETY: made by its create function; nobody else has it.
        unsafe { kvb_step_destroy(registry.step) };
    }

    /// What holds after every call.
    pub(crate) fn check(&self) {
        for &pool in &self.pools {
            check_figures(pool);
        }
        for registry in &self.registries {
            // SAFETY: the registry lives.
            unsafe {
                // Those of the others were looked at.
                if registry.home & 3 == 0 {
                    check_figures(kvb_seqs_pool(registry.it, 0));
                }
                let mut state = no_state();
                for &handle in self.dead.iter().rev().take(4) {
                    let status = kvb_seqs_get_state(registry.it, handle, &mut state);
                    assert_eq!(status, KVB_ERR_STALE, "a name that was over is somebody's");
                }
            }
        }
    }

    /// Recounts all, and gives all back.
    pub(crate) fn end(mut self) {
        // SAFETY: every object below lives, is of its kind, and is used no more after it was given back.
        unsafe {
            for lease in self.leases.drain(..) {
                kvb_lease_destroy(lease.it);
            }
            imports::take(&mut self);
            self.audit();
            for (lease, _) in self.read_by.drain(..) {
                kvb_lease_destroy(lease.it);
            }
            core::mem::take(&mut self.copies).end();
            // Some swaps end while both sides are there, and some when nobody is left.
            let later = self.swaps.split_off(self.swaps.len() / 2);
            for swap in self.swaps.drain(..) {
                kvb_swap_destroy(swap.it);
            }
            for it in self.chains.drain(..) {
                kvb_chain_destroy(it.it);
            }
            for it in self.blocks.drain(..) {
                kvb_blocks_destroy(it.it);
            }
            for it in self.reservations.drain(..) {
                kvb_reservation_destroy(it.it);
            }
            for registry in core::mem::take(&mut self.registries) {
                kvb_seqs_destroy(registry.it);
                self.gone(registry);
            }
            for it in self.detached.drain(..) {
                kvb_detached_destroy(it.it);
            }
            for it in self.lanes.drain(..) {
                kvb_lanes_destroy(it.it);
            }
            for it in self.tables.drain(..) {
                kvb_leases_destroy(it.it);
            }
            kvb_namespace_destroy(self.space);
            for swap in later {
                kvb_swap_destroy(swap.it);
            }
            for import in self.imports {
                kvb_import_destroy(import.it);
            }
            for (pool, worker) in self.pools.into_iter().zip(self.workers) {
                let report = check_figures(pool);
                let kept = (
                    report.held,
                    report.quarantined,
                    report.reserved,
                    report.shared_references,
                );
                assert_eq!(kept, (0, 0, 0, 0), "not all was given back");
                kvb_worker_destroy(worker);
                kvb_pool_destroy(pool);
            }
        }
    }

    /// Everybody who has some of the pools of a home.
    fn holders(&self, home: Home) -> Vec<kvb_holder> {
        fn of<T>(kind: u32, all: &[Object<T>], home: Home) -> impl Iterator<Item = kvb_holder> {
            let of_home = all.iter().filter(move |it| it.home & home != 0);
            of_home.map(move |it| holder(kind, it.it.cast()))
        }
        let seqs = self.registries.iter().filter(|it| it.home & home != 0);
        seqs.map(|it| holder(KVB_HOLDER_SEQS, it.it.cast()))
            .chain(of(KVB_HOLDER_LANES, &self.lanes, home))
            .chain(of(KVB_HOLDER_DETACHED, &self.detached, home))
            .chain(of(KVB_HOLDER_RESERVATION, &self.reservations, home))
            .chain(of(KVB_HOLDER_BLOCKS, &self.blocks, home))
            .chain(of(KVB_HOLDER_CHAIN, &self.chains, home))
            .chain(of(KVB_HOLDER_LEASES, &self.tables, home))
            .chain(
                self.read_by
                    .iter()
                    .filter(|(lease, table)| lease.home & home != 0 && table.is_null())
                    .map(|(lease, _)| holder(KVB_HOLDER_LEASE, lease.it.cast())),
            )
            .chain(
                imports::left_behind(self)
                    .into_iter()
                    .map(|it| holder(KVB_HOLDER_IMPORT, it.cast())),
            )
            .collect()
    }

    fn audit(&mut self) {
        // A registry over both, to ask.
        let config = seqs_config(1, 0, 0);
        let pools = [self.pools[0].cast_const(), self.pools[1].cast_const()];
        let mut both = ptr::null_mut();
        // SAFETY: two pools, a configuration, a place; what is named lives and is of its kind.
        unsafe {
            let status = kvb_seqs_create(pools.as_ptr(), 2, &config, &mut both, ptr::null_mut());
            assert_eq!(status, KVB_OK);
            require_audit(both, &self.holders(3));
            kvb_seqs_destroy(both);
            for registry in self.registries.iter().filter(|it| it.home & 3 == 0) {
                let mut others = self.holders(registry.home);
                others.retain(|it| it.object != registry.it.cast_const().cast());
                require_audit(registry.it, &others);
            }
        }
    }
}

fn holder(kind: u32, object: *mut c_void) -> kvb_holder {
    kvb_holder {
        kind,
        reserved: 0,
        object,
    }
}

/// # Safety
/// * The registry and the holders live, and are of their kinds.
unsafe fn require_audit(seqs: *const kvb_seqs, others: &[kvb_holder]) {
    // SAFETY: integers.
    let mut error: kvb_error = unsafe { core::mem::zeroed() };
    error.struct_size = size::<kvb_error>();
    // SAFETY: this function's contract.
    let status = unsafe { kvb_seqs_audit(seqs, others.as_ptr(), others.len(), &mut error) };
    let message: Vec<u8> = error
        .message
        .iter()
        .map(|&byte| byte.to_ne_bytes()[0])
        .collect();
    assert_eq!(status, KVB_OK, "{}", String::from_utf8_lossy(&message));
}

pub(crate) fn seqs_config(max: usize, watermark: usize, positions: usize) -> kvb_seqs_config {
    kvb_seqs_config {
        struct_size: size::<kvb_seqs_config>(),
        reserved: 0,
        max_sequences: max,
        watermark,
        positions,
        formats: ptr::null(),
        format_count: 0,
    }
}

pub(crate) fn no_state() -> kvb_state {
    // SAFETY: integers.
    let mut state: kvb_state = unsafe { core::mem::zeroed() };
    state.struct_size = size::<kvb_state>();
    state
}

/// The identity of the figures of a pool.
fn check_figures(pool: *const kvb_pool) -> kvb_pool_report {
    // SAFETY: integers.
    let mut it: kvb_pool_report = unsafe { core::mem::zeroed() };
    it.struct_size = size::<kvb_pool_report>();
    // SAFETY: the pool lives.
    assert_eq!(unsafe { kvb_pool_get_report(pool, &mut it) }, KVB_OK);
    assert_eq!(it.free + it.idle + it.held + it.quarantined, it.capacity);
    assert_eq!(it.online + it.draining, it.capacity);
    assert_eq!(it.capacity + it.offline, it.max_blocks);
    assert_eq!(it.available + it.reserved, it.free + it.idle);
    it
}
