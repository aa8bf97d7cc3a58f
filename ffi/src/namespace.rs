//! Which prompts may share blocks at all.

use core::ffi::c_uchar;

use kvblock::{Namespace, OutOfMemory};

use crate::arg::{self, Argument, Versioned};
use crate::error::{self, Problem, kvb_error, refused};
use crate::object;
use crate::status::{KVB_ERR_INVALID, kvb_status};

/// What decides K/V besides the tokens, for a whole prompt: the adapter and its version, a cache salt, a free domain. Prompts of two
/// different namespaces never share a block. It does not change once it is made.
#[derive(Debug)]
pub struct kvb_namespace {
    pub(crate) inner: Namespace,
}

/// The parts of a namespace, each a string of bytes. A part that is NULL was not set, and differs from an empty one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_namespace_parts {
    /// `sizeof(kvb_namespace_parts)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// The adapter's (LoRA's) name, or NULL for the bare model.
    pub adapter: *const c_uchar,
    /// Its bytes.
    pub adapter_size: usize,
    /// Its version: a later one is another namespace.
    pub adapter_version: u64,
    /// The cache salt, or NULL: prompts share blocks only under an equal one.
    pub salt: *const c_uchar,
    /// Its bytes.
    pub salt_size: usize,
    /// Anything else that keeps prompts apart (a tenant, a model revision), or NULL.
    pub domain: *const c_uchar,
    /// Its bytes.
    pub domain_size: usize,
}

// SAFETY: integers and pointers.
unsafe impl Versioned for kvb_namespace_parts {}

/// Makes a namespace of its parts. The bare model's is NULL wherever a namespace is asked for.
///
/// Ownership: the bytes are copied; `*out` is the caller's, to be given to `kvb_namespace_destroy`; nothing refers to it after the calls
/// that it is given to. Threads: any. O(bytes). Errors: `KVB_ERR_NO_MEMORY`, `KVB_ERR_STRUCT_SIZE`,
/// `KVB_ERR_INVALID` (the version of no adapter). NULL: neither.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_namespace_create(
    parts: *const kvb_namespace_parts,
    out: *mut *mut kvb_namespace,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (parts, out) = unsafe { (arg::versioned(parts)?, arg::place(out)?) };
        arg::unused(parts.reserved)?;
        // SAFETY: as above.
        let part = |first, size| unsafe { optional(first, size) };
        let adapter = part(parts.adapter, parts.adapter_size)?;
        let salt = part(parts.salt, parts.salt_size)?;
        let domain = part(parts.domain, parts.domain_size)?;
        if adapter.is_none() && parts.adapter_version != 0 {
            return Err(Argument(KVB_ERR_INVALID).into());
        }
        let adapter = adapter.map(|name| (name, parts.adapter_version));
        let inner = Namespace::try_new(adapter, salt, domain).map_err(refused)?;
        Ok::<_, Problem<OutOfMemory>>(object::give(kvb_namespace { inner }, out)?)
    };
    // SAFETY: null.
    unsafe { error::call(core::ptr::null_mut::<kvb_error>(), body) }
}

/// Bytes, if any are given.
///
/// # Safety
/// * As of [`arg::slice`].
unsafe fn optional<'a>(first: *const u8, size: usize) -> Result<Option<&'a [u8]>, Argument> {
    if first.is_null() && size == 0 {
        return Ok(None);
    }
    // SAFETY: this function's contract.
    unsafe { arg::slice(first, size) }.map(Some)
}

/// Gives a namespace back. What was admitted under it stays as it is.
///
/// Threads: no other call may use it meanwhile. NULL: nothing happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_namespace_destroy(space: *mut kvb_namespace) {
    // SAFETY: the head of the header: made by its create function, and not destroyed before.
    drop(unsafe { object::take(space) });
}
