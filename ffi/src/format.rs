//! How the content of blocks is laid out.

use kvblock::{ElementType, KvFormat, LayoutError};

use crate::arg::{self, Argument};
use crate::error::{self, kvb_error, refused};
use crate::object;
use crate::status::{KVB_ERR_NO_MEMORY, kvb_status};

/// How the content of one shard's blocks is laid out. It does not change once it is made.
#[derive(Debug)]
pub struct kvb_format {
    pub(crate) inner: KvFormat,
}

impl kvb_format {
    /// A copy that needs memory.
    pub(crate) fn copy(&self) -> Result<KvFormat, Argument> {
        let copy = self.inner.try_clone();
        copy.ok_or(Argument(KVB_ERR_NO_MEMORY))
    }
}

/// Says how blocks are laid out: positions of a block, a number of yours for the type of their elements, and the bytes of a block in each
/// plane (K and V of each layer, say).
///
/// Ownership: the list is copied; `*out` is the caller's, to be given to `kvb_format_destroy`; nothing refers to it after the calls that
/// it is given to. Threads: any. O(planes). Errors: `KVB_ERR_LAYOUT`, `KVB_ERR_NO_MEMORY`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_format_create(
    block_size: usize,
    element: u32,
    plane_bytes: *const u64,
    plane_count: usize,
    out: *mut *mut kvb_format,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (planes, out) = unsafe { (arg::slice(plane_bytes, plane_count)?, arg::place(out)?) };
        let inner = KvFormat::new(
            block_size,
            ElementType::new(element),
            planes.iter().copied(),
        );
        let inner = inner.map_err(refused::<LayoutError>)?;
        Ok(object::give(kvb_format { inner }, out)?)
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Bytes of a block in all planes.
///
/// Threads: any. O(planes). NULL: 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_format_block_bytes(format: *const kvb_format) -> u64 {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { format.as_ref() }.map_or(0, |format| format.inner.block_bytes())
}

/// Gives a format back.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_format_destroy(format: *mut kvb_format) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(format) });
}
