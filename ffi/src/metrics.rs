//! Reports in the text format that Prometheus reads.

use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char};
use core::fmt::Write;

use kvblock::{Metrics, MetricsError, OutOfMemory};

use crate::arg::{self, Argument};
use crate::error::{self, Problem, Told, kvb_error, plain, refused};
use crate::fleet::kvb_fleet;
use crate::leases::kvb_leases;
use crate::object;
use crate::pool::kvb_pool;
use crate::seqs::kvb_seqs;
use crate::status::*;
use crate::text::Buffer;

/// The media type of the page, for the header Content-Type.
pub const KVB_METRICS_CONTENT_TYPE: &CStr = c"text/plain; version=0.0.4; charset=utf-8";

const _: () = {
    let (ours, its) = (
        KVB_METRICS_CONTENT_TYPE.to_bytes(),
        Metrics::CONTENT_TYPE.as_bytes(),
    );
    assert!(ours.len() == its.len());
    let mut at = 0;
    while at < its.len() {
        assert!(ours[at] == its[at]);
        at += 1;
    }
};

/// A page of metrics in the text exposition format 0.0.4 of Prometheus: figures as they were when they were added, each report under labels
/// that say whose it is. Make one for each answer.
#[derive(Debug)]
pub struct kvb_metrics {
    pub(crate) inner: Metrics,
    /// The page as it was lent last, with a zero at its end.
    page: String,
}

/// Says whose a report is. A label with an empty value is left out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_label {
    /// A letter or `_`, then letters, digits and `_`, ended by a zero.
    pub name: *const c_char,
    /// Any UTF-8, ended by a zero.
    pub value: *const c_char,
}

impl Told for MetricsError {
    fn status(&self) -> kvb_status {
        match self {
            Self::LabelName { .. } => KVB_ERR_LABEL_NAME,
            Self::Reserved { .. } => KVB_ERR_LABEL_RESERVED,
            Self::Repeated { .. } => KVB_ERR_LABEL_REPEATED,
            Self::Taken { .. } => KVB_ERR_LABELS_TAKEN,
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
}

/// Labels as the library takes them.
///
/// # Safety
/// * `count` labels, each of whose texts is null or ends with a zero, and that nobody changes meanwhile.
unsafe fn read_labels<'a>(
    labels: *const kvb_label,
    count: usize,
) -> Result<Vec<(&'a str, &'a str)>, Argument> {
    // SAFETY: this function's contract.
    let labels: &'a [kvb_label] = unsafe { arg::slice(labels, count) }?;
    let mut read = Vec::new();
    let enough = read.try_reserve_exact(labels.len());
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    for label in labels {
        // SAFETY: this function's contract.
        read.push(unsafe { (text(label.name)?, text(label.value)?) });
    }
    Ok(read)
}

/// # Safety
/// * Null, or a text that ends with a zero and that nobody changes meanwhile.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Argument> {
    if text.is_null() {
        return Err(Argument(KVB_ERR_NULL));
    }
    // SAFETY: this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map_err(|_| Argument(KVB_ERR_UTF8))
}

/// Makes an empty page.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_metrics_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
/// NULL: not allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_create(out: *mut *mut kvb_metrics) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let out = unsafe { arg::place(out) }?;
        let metrics = kvb_metrics {
            inner: Metrics::new(),
            page: String::new(),
        };
        object::give(metrics, out)
    })
}

/// Gives a page back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_destroy(metrics: *mut kvb_metrics) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(metrics) });
}

/// # Safety
/// * As of the functions that add a report.
unsafe fn add(
    metrics: *mut kvb_metrics,
    labels: *const kvb_label,
    label_count: usize,
    error: *mut kvb_error,
    report: impl FnOnce(&mut Metrics, &[(&str, &str)]) -> Result<(), Problem<MetricsError>>,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract; so for both.
        let (metrics, labels) =
            unsafe { (arg::get_mut(metrics)?, read_labels(labels, label_count)?) };
        report(&mut metrics.inner, &labels)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Adds the figures of a pool: metrics that begin with `kvblock_pool_`.
///
/// Ownership: labels and figures are copied. Threads: the page's. O(max_blocks); allocates. Errors, after which nothing is added:
/// `KVB_ERR_LABEL_NAME`, `KVB_ERR_LABEL_RESERVED`, `KVB_ERR_LABEL_REPEATED`, `KVB_ERR_LABELS_TAKEN` (by another pool), `KVB_ERR_UTF8`,
/// `KVB_ERR_NO_MEMORY`. NULL: no labels, `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_add_pool(
    metrics: *mut kvb_metrics,
    labels: *const kvb_label,
    label_count: usize,
    pool: *const kvb_pool,
    error: *mut kvb_error,
) -> kvb_status {
    let report = |metrics: &mut Metrics, labels: &[(&str, &str)]| {
        // SAFETY: the head of the header says what pointers must be.
        let pool = unsafe { arg::get(pool) }?;
        metrics.pool(labels, &pool.inner.report()).map_err(refused)
    };
    // SAFETY: as above.
    unsafe { add(metrics, labels, label_count, error, report) }
}

/// Adds the figures of a registry as an instance: its own (`kvblock_instance_`), those of each rank with a label `rank`
/// (`kvblock_rank_`), and of each shard the registry's and the pool's with a label `shard`. For registries that share pools,
/// `kvb_metrics_add_registry` and `kvb_metrics_add_pool` count each pool once.
///
/// Threads: the page's and the registry's. O(max_blocks + table entries); allocates. Otherwise as `kvb_metrics_add_pool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_add_seqs(
    metrics: *mut kvb_metrics,
    labels: *const kvb_label,
    label_count: usize,
    seqs: *const kvb_seqs,
    error: *mut kvb_error,
) -> kvb_status {
    let report = |metrics: &mut Metrics, labels: &[(&str, &str)]| {
        // SAFETY: the head of the header says what pointers must be.
        let seqs = unsafe { arg::get(seqs) }?;
        let report = seqs.inner.try_report().map_err(of_memory)?;
        metrics.instance(labels, &report).map_err(refused)
    };
    // SAFETY: as above.
    unsafe { add(metrics, labels, label_count, error, report) }
}

/// Adds the figures of a registry on one shard, without those of its pool: metrics that begin with `kvblock_sequences`.
///
/// Threads: the page's and the registry's. Errors: also `KVB_ERR_OUT_OF_RANGE`, no such shard. Otherwise as `kvb_metrics_add_seqs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_add_registry(
    metrics: *mut kvb_metrics,
    labels: *const kvb_label,
    label_count: usize,
    seqs: *const kvb_seqs,
    shard: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let report = |metrics: &mut Metrics, labels: &[(&str, &str)]| {
        // SAFETY: the head of the header says what pointers must be.
        let seqs = unsafe { arg::get(seqs) }?;
        let report = seqs.shard(shard)?.try_report().map_err(of_memory)?;
        metrics.sequences(labels, &report).map_err(refused)
    };
    // SAFETY: as above.
    unsafe { add(metrics, labels, label_count, error, report) }
}

/// Adds the figures of a table of leases on one shard: metrics that begin with `kvblock_leases`.
///
/// Threads: the page's and the table's. O(max_blocks + references); allocates. Errors: also `KVB_ERR_OUT_OF_RANGE`, no such shard.
/// Otherwise as `kvb_metrics_add_pool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_add_leases(
    metrics: *mut kvb_metrics,
    labels: *const kvb_label,
    label_count: usize,
    leases: *const kvb_leases,
    shard: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let report = |metrics: &mut Metrics, labels: &[(&str, &str)]| {
        // SAFETY: the head of the header says what pointers must be.
        let leases = unsafe { arg::get(leases) }?;
        let report = leases.shard(shard)?.try_report().map_err(of_memory)?;
        metrics.leases(labels, &report).map_err(refused)
    };
    // SAFETY: as above.
    unsafe { add(metrics, labels, label_count, error, report) }
}

/// Adds the figures of a fleet: what became of its requests (`kvblock_fleet_`); each model with a label `model` (`kvblock_model_`); and each
/// instance with labels `instance` and `model`, as a member (`kvblock_member_`) and as `kvb_metrics_add_seqs`. All of it or nothing.
///
/// Threads: the page's and the fleet's. O(max_blocks + table entries) an instance; allocates. Otherwise as `kvb_metrics_add_pool`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_add_fleet(
    metrics: *mut kvb_metrics,
    labels: *const kvb_label,
    label_count: usize,
    fleet: *const kvb_fleet,
    error: *mut kvb_error,
) -> kvb_status {
    let report = |metrics: &mut Metrics, labels: &[(&str, &str)]| {
        // SAFETY: the head of the header says what pointers must be.
        let fleet = unsafe { arg::get(fleet) }?;
        let report = fleet.inner.try_report().map_err(of_memory)?;
        metrics.fleet(labels, &report).map_err(refused)
    };
    // SAFETY: as above.
    unsafe { add(metrics, labels, label_count, error, report) }
}

fn of_memory(error: OutOfMemory) -> Problem<MetricsError> {
    refused(error.into())
}

/// Writes the page as UTF-8 with a zero at its end into `capacity` bytes. `*length` is what all of it takes without the zero: where that is
/// not below `capacity` the text was cut off.
///
/// Threads: the page's. O(samples), no allocation. Errors: none but those of pointers. NULL: `text` if `capacity` is 0; `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_text(
    metrics: *const kvb_metrics,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let metrics = unsafe { arg::get(metrics) }?;
        // SAFETY: as above.
        let mut buffer = unsafe { Buffer::of(text, capacity) }?;
        // A buffer takes everything.
        let _ = write!(buffer, "{}", metrics.inner);
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(length, buffer.finish()) };
        Ok(())
    })
}

/// Lends the page as UTF-8 with a zero at its end, behind `*length` bytes.
///
/// Ownership: the text is the page's, until the next call of this function for it. Threads: the page's. O(samples); allocates.
/// Errors: `KVB_ERR_NO_MEMORY`. NULL: `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_metrics_page(
    metrics: *mut kvb_metrics,
    text: *mut *const c_char,
    length: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (metrics, text) = unsafe { (arg::get_mut(metrics)?, arg::place(text)?) };
        let no_memory = Argument(KVB_ERR_NO_MEMORY);
        let mut page = metrics.inner.try_to_string().map_err(|_| no_memory)?;
        page.try_reserve(1).map_err(|_| no_memory)?;
        page.push('\0');
        metrics.page = page;
        text.write(metrics.page.as_ptr().cast());
        // SAFETY: as above.
        unsafe { arg::write_if_wanted(length, metrics.page.len() - 1) };
        Ok(())
    })
}
