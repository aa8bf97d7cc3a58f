//! The instances of a fleet, and whether they take requests.

use kvblock::{AddError, InstanceId, InstanceState, Member, NoSuchInstance, RemoveError};

use super::{kvb_fleet, list};
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Problem, kvb_error, plain, refused};
use crate::object;
use crate::seqs::kvb_seqs;
use crate::status::kvb_status;

/// It takes no requests until `kvb_fleet_set_ready`; it is charged and reported.
pub const KVB_MEMBER_STARTING: u32 = 1;

/// It takes no requests yet.
pub const KVB_INSTANCE_STARTING: u32 = 0;
/// It takes requests.
pub const KVB_INSTANCE_READY: u32 = 1;
/// It takes no requests any more: those that it has go on.
pub const KVB_INSTANCE_DRAINING: u32 = 2;

/// What an instance is to a fleet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_member {
    /// `sizeof(kvb_member)`.
    pub struct_size: u32,
    /// `KVB_MEMBER_*`, or 0.
    pub flags: u32,
    /// The model that it serves, a number of yours. Requests for another are never placed on it.
    pub model: u64,
    /// Positions that it can compute in a step, at least 1: its token service.
    pub service: u64,
    /// Positions a step that admissions may bring its demand to; 0 for no cap. Who finds nothing demanded is admitted in any case.
    pub max_service: u64,
    /// References that the leases of moves from it may hold together on each shard; 0 for no cap.
    pub lease_budget: usize,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_member {}

impl kvb_member {
    fn read(&self) -> Result<Member, Argument> {
        let flags = arg::flags(self.flags, KVB_MEMBER_STARTING)?;
        let mut member =
            Member::new(self.model, self.service).ready(flags & KVB_MEMBER_STARTING == 0);
        if self.max_service > 0 {
            member = member.max_service(self.max_service);
        }
        if self.lease_budget > 0 {
            member = member.lease_budget(self.lease_budget);
        }
        Ok(member)
    }
}

impl From<&Member> for kvb_member {
    fn from(member: &Member) -> Self {
        Self {
            struct_size: 0,
            flags: if member.ready { 0 } else { KVB_MEMBER_STARTING },
            model: member.model,
            service: member.service,
            max_service: match member.max_service {
                u64::MAX => 0,
                cap => cap,
            },
            lease_budget: match member.lease_budget {
                usize::MAX => 0,
                budget => budget,
            },
        }
    }
}

/// The number of a state.
pub(super) const fn number_of(state: InstanceState) -> u32 {
    match state {
        InstanceState::Starting => KVB_INSTANCE_STARTING,
        InstanceState::Draining => KVB_INSTANCE_DRAINING,
        _ => KVB_INSTANCE_READY,
    }
}

/// Takes a registry in as an instance, and names it: names are never given twice by one fleet. Its shards, or ranks, need names that no
/// other instance of the fleet has for its own, and its pools must be no other instance's.
///
/// Ownership: on success the registry is the fleet's, and the pointer `seqs` is not to be used any more: see `kvb_fleet_get`. Otherwise it
/// is as it was. Threads: the fleet's and the registry's. O(instances * shards); allocates. Errors: `KVB_ERR_NO_SERVICE`,
/// `KVB_ERR_SHARED_POOL`, `KVB_ERR_SHARED_NAME` (both with `error->instance`), `KVB_ERR_INVALID`, `KVB_ERR_NO_MEMORY`,
/// `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_add(
    fleet: *mut kvb_fleet,
    seqs: *mut kvb_seqs,
    member: *const kvb_member,
    out: *mut u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, member) = unsafe { (arg::get_mut(fleet)?, arg::versioned(member)?) };
        // SAFETY: as above.
        let out = unsafe { arg::place(out) }?;
        let (seqs, member) = (arg::not_null(seqs)?, member.read()?);
        let add = |seqs: kvb_seqs| {
            let added = fleet.inner.add(seqs.inner, member);
            added.map_err(|back| object::returned(back, |inner| kvb_seqs { inner }))
        };
        // SAFETY: made by its create function, and not given away or destroyed before.
        let added = unsafe { object::consume(seqs, add) };
        out.write(added.map_err(refused::<AddError>)?.get());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Takes an instance out: the registry is the caller's again.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_seqs_destroy`. Threads: the fleet's. O(instances).
/// Errors, after which nothing has changed: `KVB_ERR_NO_SUCH_INSTANCE`; `KVB_ERR_NOT_EMPTY`: it has `error->needed` sequences, writers may
/// still touch `available` of its blocks, and moves and loans hold it `limit` times: drain it first; `KVB_ERR_NO_MEMORY`.
/// NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_remove(
    fleet: *mut kvb_fleet,
    instance: u64,
    out: *mut *mut kvb_seqs,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get_mut(fleet)?, arg::place(out)?) };
        let room = object::room::<kvb_seqs>()?;
        let inner = fleet.inner.remove(InstanceId::new(instance));
        let inner = inner.map_err(refused::<RemoveError>)?;
        out.write(room.fill(kvb_seqs { inner }));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lends an instance, for the calls on its sequences; NULL if there is no such. It is not yours to destroy, to close or to add to a fleet.
/// While it has lent memory do not grow it, as what is lent would be there twice.
///
/// Ownership: the fleet's, until the next `kvb_fleet_add`, `kvb_fleet_remove` or `kvb_fleet_destroy`. Threads: the fleet's. O(log
/// instances). NULL: NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_get(fleet: *mut kvb_fleet, instance: u64) -> *mut kvb_seqs {
    // SAFETY: the head of the header says what pointers must be.
    let fleet = unsafe { fleet.as_mut() };
    let instance = fleet.and_then(|it| it.inner.get_mut(InstanceId::new(instance)).ok());
    instance.map_or(core::ptr::null_mut(), |it| {
        core::ptr::from_mut(kvb_seqs::of_mut(it))
    })
}

/// Does something to an instance.
///
/// # Safety
/// * As of the two below.
unsafe fn on_instance(
    fleet: *mut kvb_fleet,
    error: *mut kvb_error,
    change: impl FnOnce(&mut kvblock::Fleet) -> Result<(), NoSuchInstance>,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract.
        let fleet = unsafe { arg::get_mut(fleet) }?;
        change(&mut fleet.inner).map_err(refused)
    };
    // SAFETY: this function's contract.
    unsafe { error::call(error, body) }
}

/// An instance takes requests from now on: a new one, or one that was draining.
///
/// Threads: the fleet's. O(log instances). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_set_ready(
    fleet: *mut kvb_fleet,
    instance: u64,
    error: *mut kvb_error,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { on_instance(fleet, error, |it| it.set_ready(InstanceId::new(instance))) }
}

/// An instance takes no requests, and no moves, from now on. Its sequences go on.
///
/// Threads: the fleet's. O(log instances). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_drain(
    fleet: *mut kvb_fleet,
    instance: u64,
    error: *mut kvb_error,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { on_instance(fleet, error, |it| it.drain(InstanceId::new(instance))) }
}

/// Whether an instance takes requests: `*state` is `KVB_INSTANCE_*`.
///
/// Threads: the fleet's. O(log instances). Errors: `KVB_ERR_NO_SUCH_INSTANCE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_state(
    fleet: *const kvb_fleet,
    instance: u64,
    state: *mut u32,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, arg::place(state)?) };
        let state = fleet.inner.state(InstanceId::new(instance));
        out.write(number_of(state.map_err(refused::<NoSuchInstance>)?));
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Reads what an instance was added as.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(log instances).
/// Errors: `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_get_member(
    fleet: *const kvb_fleet,
    instance: u64,
    out: *mut kvb_member,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, Answer::new(out)?) };
        let member = fleet.inner.member(InstanceId::new(instance));
        out.put(&member.map_err(refused)?.into());
        Ok::<_, Problem<NoSuchInstance>>(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lists the instances in the order in which they were added: the first `capacity` of them. `*count` is how many there are.
///
/// Ownership: `out` has room for `capacity`. Threads: the fleet's. O(instances), no allocation. Errors: none but those of pointers.
/// NULL: `out` if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_list(
    fleet: *const kvb_fleet,
    out: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, out) = unsafe { (arg::get(fleet)?, arg::places(out, capacity)?) };
        // SAFETY: as above.
        let count = unsafe { arg::place(count) }?;
        count.write(list(out, fleet.inner.ids().map(InstanceId::get)));
        Ok(())
    })
}
