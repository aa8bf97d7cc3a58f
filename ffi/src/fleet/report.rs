//! The figures of a fleet: each instance for itself, and for each model the largest request that fits on one beside the sum.

use core::ffi::c_char;
use core::fmt::Write;

use kvblock::{FleetReport, FleetStatistics, MemberReport, ModelReport, OutOfMemory};

use super::kvb_fleet;
use super::member::number_of;
use super::placement::{kvb_largest, kvb_share};
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Problem, plain, refused};
use crate::object;
use crate::seqs::kvb_seqs_report;
use crate::status::{KVB_ERR_OUT_OF_RANGE, kvb_status};
use crate::text::Buffer;

/// Requests that a fleet was asked to admit, by what became of them. Each call counts once.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_fleet_statistics {
    /// `sizeof(kvb_fleet_statistics)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Admitted.
    pub placed: u64,
    /// Refused, as they fit on no instance whatever leaves.
    pub never: u64,
    /// Refused for now, for want of memory.
    pub later: u64,
    /// Those of them that would have fit in what is available in sum.
    pub later_fits_in_sum: u64,
    /// Refused for now, for want of token service.
    pub service_full: u64,
    /// Not admitted for another reason.
    pub otherwise: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_fleet_statistics {}

impl From<FleetStatistics> for kvb_fleet_statistics {
    fn from(statistics: FleetStatistics) -> Self {
        Self {
            struct_size: 0,
            reserved: 0,
            placed: statistics.placed,
            never: statistics.never,
            later: statistics.later,
            later_fits_in_sum: statistics.later_fits_in_sum,
            service_full: statistics.service_full,
            otherwise: statistics.otherwise,
        }
    }
}

/// Reads what became of the requests so far.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(1). Errors: `KVB_ERR_STRUCT_SIZE`.
/// NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_get_statistics(
    fleet: *const kvb_fleet,
    out: *mut kvb_fleet_statistics,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, Answer::new(out)?) };
        out.put(&fleet.inner.statistics().into());
        Ok(())
    })
}

/// The figures of a fleet at one look. It does not change.
#[derive(Debug)]
pub struct kvb_fleet_report {
    inner: FleetReport,
}

/// Takes the figures of a fleet.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_fleet_report_destroy`. Threads: the fleet's. As `kvb_seqs_get_report` for each
/// instance. Errors: `KVB_ERR_NO_MEMORY`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_create(
    fleet: *const kvb_fleet,
    out: *mut *mut kvb_fleet_report,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, arg::place(out)?) };
        let inner = fleet.inner.try_report().map_err(refused)?;
        Ok::<_, Problem<OutOfMemory>>(object::give(kvb_fleet_report { inner }, out)?)
    };
    // SAFETY: null.
    unsafe { error::call(core::ptr::null_mut(), body) }
}

/// Instances of the report, in the order in which they were added.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_instances(report: *const kvb_fleet_report) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { report.as_ref() }.map_or(0, |report| report.inner.instances.len())
}

/// The figures of one instance as a member of a fleet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_member_report {
    /// `sizeof(kvb_member_report)`.
    pub struct_size: u32,
    /// `KVB_INSTANCE_*`: whether it takes requests.
    pub state: u32,
    /// Which.
    pub instance: u64,
    /// The model that it serves.
    pub model: u64,
    /// How much of its memory is in use, and of its token service.
    pub share: kvb_share,
    /// Blocks that it has lent on each rank: those that the borrower has, or that drain for it.
    pub lent: u64,
    /// Blocks that it has borrowed on each rank.
    pub borrowed: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_member_report {}

impl From<&MemberReport> for kvb_member_report {
    fn from(report: &MemberReport) -> Self {
        Self {
            struct_size: 0,
            state: number_of(report.state),
            instance: report.id.get(),
            model: report.model,
            share: report.share.into(),
            lent: report.lent as u64,
            borrowed: report.borrowed as u64,
        }
    }
}

/// Reads the figures of one instance as a member; `at` is below `kvb_fleet_report_instances`.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`,
/// `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_get_member(
    report: *const kvb_fleet_report,
    at: usize,
    out: *mut kvb_member_report,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (report, out) = unsafe { (arg::get(report)?, Answer::new(out)?) };
        let member = report.inner.instances.get(at);
        out.put(&member.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?.into());
        Ok(())
    })
}

/// Reads the figures of one instance, as `kvb_seqs_get_report` does.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`,
/// `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_get_instance(
    report: *const kvb_fleet_report,
    at: usize,
    out: *mut kvb_seqs_report,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (report, out) = unsafe { (arg::get(report)?, Answer::new(out)?) };
        let member = report.inner.instances.get(at);
        let member = member.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?;
        out.put(&kvb_seqs_report::from(&member.report));
        Ok(())
    })
}

/// Models of the report, by their numbers.
///
/// Threads: any. O(1). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_models(report: *const kvb_fleet_report) -> usize {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { report.as_ref() }.map_or(0, |report| report.inner.models.len())
}

/// The figures of one model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_model_report {
    /// `sizeof(kvb_model_report)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// Which.
    pub model: u64,
    /// Instances that serve it.
    pub instances: u64,
    /// Those of them that take requests.
    pub ready: u64,
    /// The largest request that fits on one of these, beside what they have in sum.
    pub largest: kvb_largest,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_model_report {}

impl From<&ModelReport> for kvb_model_report {
    fn from(report: &ModelReport) -> Self {
        Self {
            struct_size: 0,
            reserved: 0,
            model: report.model,
            instances: report.instances as u64,
            ready: report.ready as u64,
            largest: report.largest.into(),
        }
    }
}

/// Reads the figures of one model; `at` is below `kvb_fleet_report_models`.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_OUT_OF_RANGE`,
/// `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_get_model(
    report: *const kvb_fleet_report,
    at: usize,
    out: *mut kvb_model_report,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (report, out) = unsafe { (arg::get(report)?, Answer::new(out)?) };
        let model = report.inner.models.get(at);
        out.put(&model.ok_or(Argument(KVB_ERR_OUT_OF_RANGE))?.into());
        Ok(())
    })
}

/// Reads what had become of the requests.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: any. O(1). Errors: `KVB_ERR_STRUCT_SIZE`. NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_get_statistics(
    report: *const kvb_fleet_report,
    out: *mut kvb_fleet_statistics,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (report, out) = unsafe { (arg::get(report)?, Answer::new(out)?) };
        out.put(&report.inner.statistics.into());
        Ok(())
    })
}

/// Writes the figures for a person to read, as UTF-8 with a zero at its end, into `capacity` bytes. `*length` is what all of it takes
/// without the zero: where that is not below `capacity` the text was cut off.
///
/// Threads: any. O(instances + models), no allocation. Errors: none but those of pointers. NULL: `text` if `capacity` is 0; `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_text(
    report: *const kvb_fleet_report,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let report = unsafe { arg::get(report) }?;
        // SAFETY: as above.
        let mut buffer = unsafe { Buffer::of(text, capacity) }?;
        // A buffer takes everything.
        let _ = write!(buffer, "{}", report.inner);
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(length, buffer.finish()) };
        Ok(())
    })
}

/// Gives the figures back.
///
/// Threads: no other call may use them meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_report_destroy(report: *mut kvb_fleet_report) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(report) });
}
