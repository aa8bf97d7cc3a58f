//! Who used a block last, and what has to pass before somebody else may.

use core::fmt;

use kvblock::{Access, Fence, FenceError, FenceTable, MemoryId, TimelineId, Waits};

use super::{ids, kvb_copy_plan};
use crate::arg::{self, Answer, Argument, Versioned};
use crate::error::{self, Figures, Problem, Told, kvb_error, plain, refused};
use crate::object;
use crate::status::{KVB_ERR_INVALID, kvb_status};

/// Most timelines of a table of fences.
pub const KVB_MAX_TIMELINES: usize = 8;

const _: () = assert!(KVB_MAX_TIMELINES == kvblock::MAX_TIMELINES);

/// Bytes of a block are read.
pub const KVB_ACCESS_READ: u32 = 0;
/// Bytes of a block are written.
pub const KVB_ACCESS_WRITE: u32 = 1;

/// Who used a block last, on which timeline (a stream, or whatever else does things one after another), and what has to pass before somebody
/// else may. It waits for nothing by itself. What is recorded must have waited for what the table answered. One thread at a time may use it,
/// also for calls with a `const` pointer.
#[derive(Debug)]
pub struct kvb_fences {
    inner: FenceTable,
}

/// What has to pass before something may begin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_waits {
    /// `sizeof(kvb_waits)`.
    pub struct_size: u32,
    /// Timelines on which something has to pass: 0 if nothing is to be waited for.
    pub count: u32,
    /// On each timeline the fence that must have passed; 0 for none.
    pub fences: [u64; KVB_MAX_TIMELINES],
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_waits {}

impl From<Waits> for kvb_waits {
    fn from(waits: Waits) -> Self {
        let mut out = Self {
            struct_size: 0,
            count: 0,
            fences: [0; KVB_MAX_TIMELINES],
        };
        for (timeline, fence) in waits {
            if let Some(place) = out.fences.get_mut(usize::from(timeline.get())) {
                *place = fence.0;
                out.count += 1;
            }
        }
        out
    }
}

/// A timeline by its number; one that no table has for a number that is none.
fn timeline(number: u32) -> TimelineId {
    TimelineId::new(u8::try_from(number).unwrap_or(u8::MAX))
}

/// Why a call was refused that names a timeline: the number is told as it was given, also where it is too large for the library.
struct OnTimeline {
    asked: u32,
    error: FenceError,
}

fn on_timeline(asked: u32) -> impl Fn(FenceError) -> Problem<OnTimeline> {
    move |error| refused(OnTimeline { asked, error })
}

impl fmt::Display for OnTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            FenceError::NoSuchTimeline { timelines, .. } => {
                write!(f, "timeline {} is not one of {timelines}", self.asked)
            }
            error => error.fmt(f),
        }
    }
}

impl Told for OnTimeline {
    fn status(&self) -> kvb_status {
        self.error.status()
    }
    fn figures(&self) -> Figures {
        let figures = self.error.figures();
        match self.error {
            FenceError::NoSuchTimeline { .. } => Figures {
                needed: self.asked.into(),
                ..figures
            },
            _ => figures,
        }
    }
}

const fn access(access: u32) -> Result<Access, Argument> {
    match access {
        KVB_ACCESS_READ => Ok(Access::Read),
        KVB_ACCESS_WRITE => Ok(Access::Write),
        _ => Err(Argument(KVB_ERR_INVALID)),
    }
}

/// Makes a table without timelines and memories.
///
/// Ownership: `*out` is the caller's, to be given to `kvb_fences_destroy`. Threads: any. O(1). Errors: `KVB_ERR_NO_MEMORY`.
/// NULL: `KVB_ERR_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_create(out: *mut *mut kvb_fences) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be.
        let out = unsafe { arg::place(out) }?;
        let inner = FenceTable::new();
        object::give(kvb_fences { inner }, out)
    })
}

/// One timeline more. `*timeline` is its number: how many there were.
///
/// Threads: the table's. O(tracked blocks); allocates. Errors, after which nothing has changed: `KVB_ERR_TOO_MANY_TIMELINES`
/// (`KVB_MAX_TIMELINES`), `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_add_timeline(
    fences: *mut kvb_fences,
    timeline: *mut u32,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fences, out) = unsafe { (arg::get_mut(fences)?, arg::place(timeline)?) };
        let added = fences.inner.add_timeline().map_err(refused::<FenceError>)?;
        out.write(added.get().into());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Knows `blocks` blocks of a memory from now on, none of them in use. If there are as many already, nothing changes.
///
/// Threads: the table's. O(blocks * timelines); allocates. Errors, after which nothing has changed: `KVB_ERR_TOO_MANY_BLOCKS`,
/// `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_track(
    fences: *mut kvb_fences,
    memory: u32,
    blocks: usize,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |fences: &mut kvb_fences| fences.inner.track(MemoryId::new(memory), blocks);
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(fences, error, change) }
}

/// What has to pass on each other timeline before a plan may begin on `on`: a reader waits for writes, a writer for reads and writes.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the table's and the plan's. O(pairs * timelines), no
/// allocation. Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline), `KVB_ERR_UNTRACKED` (a memory of the plan's layouts, `error->needed`),
/// `KVB_ERR_NO_SUCH_BLOCK` (not all blocks of a layout are tracked: `error->needed` is its last one, `error->limit` are of its memory,
/// `error->which`),
/// `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_waits_for(
    fences: *const kvb_fences,
    plan: *const kvb_copy_plan,
    on: u32,
    out: *mut kvb_waits,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fences, plan) = unsafe { (arg::get(fences)?, arg::get(plan)?) };
        // SAFETY: as above.
        let out = unsafe { Answer::new(out) }?;
        let waits = fences.inner.waits_for(&plan.inner, timeline(on));
        out.put(&waits.map_err(on_timeline(on))?.into());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Says that a plan is done on the timeline `on` once `fence` of it has passed. It must have waited for what `kvb_fences_waits_for` answered.
///
/// Threads: the table's and the plan's. O(pairs * timelines), no allocation. Errors, after which nothing has changed: those of
/// `kvb_fences_waits_for`, and `KVB_ERR_NOT_LATER` (`error->needed` is before `error->limit`, the last fence of the timeline, or is 0: the
/// fences of a timeline may be equal but never go back). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_record(
    fences: *mut kvb_fences,
    plan: *const kvb_copy_plan,
    on: u32,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fences, plan) = unsafe { (arg::get_mut(fences)?, arg::get(plan)?) };
        let recorded = fences.inner.record(&plan.inner, timeline(on), Fence(fence));
        recorded.map_err(on_timeline(on))
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// What has to pass on each other timeline before something on `on` may read, or write (`KVB_ACCESS_*`), some blocks of a memory.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the table's. O(blocks * timelines), no allocation.
/// Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline), `KVB_ERR_UNTRACKED` (the memory), `KVB_ERR_NO_SUCH_BLOCK`, `KVB_ERR_INVALID`
/// (`access`), `KVB_ERR_STRUCT_SIZE`. NULL: no blocks; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_waits_for_blocks(
    fences: *const kvb_fences,
    memory: u32,
    blocks: *const u32,
    block_count: usize,
    access: u32,
    on: u32,
    out: *mut kvb_waits,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fences, blocks) = unsafe { (arg::get(fences)?, ids(blocks, block_count)?) };
        // SAFETY: as above.
        let out = unsafe { Answer::new(out) }?;
        let (memory, access) = (MemoryId::new(memory), self::access(access)?);
        let waits = fences
            .inner
            .waits_for_blocks(memory, blocks, access, timeline(on));
        out.put(&waits.map_err(on_timeline(on))?.into());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Says that something on the timeline `on` has read, or written (`KVB_ACCESS_*`), some blocks of a memory once `fence` of it has passed. It
/// must have waited for what `kvb_fences_waits_for_blocks` answered.
///
/// Threads: the table's. O(blocks * timelines), no allocation. Errors, after which nothing has changed: those of
/// `kvb_fences_waits_for_blocks`, and `KVB_ERR_NOT_LATER`. NULL: no blocks; `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_record_blocks(
    fences: *mut kvb_fences,
    memory: u32,
    blocks: *const u32,
    block_count: usize,
    access: u32,
    on: u32,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fences, blocks) = unsafe { (arg::get_mut(fences)?, ids(blocks, block_count)?) };
        let (memory, access) = (MemoryId::new(memory), self::access(access)?);
        let recorded =
            fences
                .inner
                .record_blocks(memory, blocks, access, timeline(on), Fence(fence));
        recorded.map_err(on_timeline(on))
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Says that a timeline has passed this fence, and with it every earlier one: nobody is told to wait for them any more. A fence that has
/// passed already changes nothing.
///
/// Threads: the table's. O(1). Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_completed(
    fences: *mut kvb_fences,
    timeline: u32,
    fence: u64,
    error: *mut kvb_error,
) -> kvb_status {
    let change = |fences: &mut kvb_fences| {
        let completed = fences
            .inner
            .completed(self::timeline(timeline), Fence(fence));
        completed.map_err(|error| OnTimeline {
            asked: timeline,
            error,
        })
    };
    // SAFETY: the head of the header says what pointers must be.
    unsafe { error::change(fences, error, change) }
}

/// The last fence recorded on a timeline; 0 if there is none.
///
/// Threads: the table's. O(1). Errors: `KVB_ERR_OUT_OF_RANGE` (no such timeline). NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_last(
    fences: *const kvb_fences,
    timeline: u32,
    fence: *mut u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fences, out) = unsafe { (arg::get(fences)?, arg::place(fence)?) };
        let last = fences.inner.last(self::timeline(timeline));
        out.write(last.map_err(on_timeline(timeline))?.0);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Gives a table back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fences_destroy(fences: *mut kvb_fences) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(fences) });
}
