//! The shared library, and of its interface what is measured. The structs are those of `kvblock.h`; those with a size are refused by the
//! library if they differ.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// All symbols are looked up at once.
const RTLD_NOW: c_int = 2;

/// `kvb_pool`, `kvb_seqs` or `kvb_step`.
pub(crate) type Object = *mut c_void;
/// `kvb_error`, which nobody wants here.
pub(crate) type NoError = *mut c_void;

pub(crate) const NO_ERROR: NoError = ptr::null_mut();

#[repr(C)]
pub(crate) struct PoolConfig {
    pub(crate) struct_size: u32,
    pub(crate) shard: u32,
    pub(crate) blocks: usize,
    pub(crate) max_blocks: usize,
    pub(crate) block_size: usize,
    pub(crate) events: usize,
    pub(crate) secret: [u8; 16],
    pub(crate) proof: u32,
    pub(crate) hash: u32,
    pub(crate) hash_seed: u64,
}

#[repr(C)]
pub(crate) struct SeqsConfig {
    pub(crate) struct_size: u32,
    pub(crate) reserved: u32,
    pub(crate) max_sequences: usize,
    pub(crate) watermark: usize,
    pub(crate) positions: usize,
    pub(crate) formats: *const c_void,
    pub(crate) format_count: usize,
}

#[repr(C)]
pub(crate) struct Prompt {
    pub(crate) space: *const c_void,
    pub(crate) tokens: *const u32,
    pub(crate) token_count: usize,
    pub(crate) extra: *const c_void,
    pub(crate) extra_count: usize,
    pub(crate) keys: *const u64,
    pub(crate) key_count: usize,
    pub(crate) flags: u32,
    pub(crate) reserved: u32,
}

#[repr(C)]
pub(crate) struct Admit {
    pub(crate) struct_size: u32,
    pub(crate) flags: u32,
    pub(crate) prompt: Prompt,
    pub(crate) growth: u32,
    pub(crate) reserved: u32,
    pub(crate) growth_amount: usize,
    pub(crate) label: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Admitted {
    pub(crate) seq: u64,
    pub(crate) hit: usize,
    pub(crate) fresh: usize,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct State {
    pub(crate) struct_size: u32,
    pub(crate) growth: u32,
    pub(crate) growth_amount: usize,
    pub(crate) label: u64,
    pub(crate) positions: usize,
    pub(crate) known: usize,
    pub(crate) computed: usize,
    pub(crate) published: usize,
    pub(crate) blocks: usize,
    pub(crate) promised: usize,
}

#[repr(C)]
pub(crate) struct Append {
    pub(crate) seq: u64,
    pub(crate) positions: usize,
}

#[repr(C)]
pub(crate) struct Progress {
    pub(crate) seq: u64,
    pub(crate) at: usize,
    pub(crate) tokens: *const u32,
    pub(crate) token_count: usize,
    pub(crate) computed: usize,
}

/// Functions by their names without `kvb_`.
pub(crate) struct Library {
    pub(crate) pool_create: unsafe extern "C" fn(*const PoolConfig, *mut Object, NoError) -> i32,
    pub(crate) pool_destroy: unsafe extern "C" fn(Object),
    pub(crate) pool_available: unsafe extern "C" fn(Object) -> usize,
    pub(crate) pool_check: unsafe extern "C" fn(Object, usize, NoError) -> i32,
    pub(crate) seqs_create:
        unsafe extern "C" fn(*const Object, usize, *const SeqsConfig, *mut Object, NoError) -> i32,
    pub(crate) seqs_destroy: unsafe extern "C" fn(Object),
    pub(crate) step_create: unsafe extern "C" fn(Object, usize, usize, *mut Object) -> i32,
    pub(crate) step_destroy: unsafe extern "C" fn(Object),
    pub(crate) handle_slot: extern "C" fn(u64) -> u32,
    pub(crate) seqs_admit:
        unsafe extern "C" fn(Object, *const Admit, *mut Admitted, NoError) -> i32,
    pub(crate) seqs_release: unsafe extern "C" fn(Object, *const u64, usize) -> i32,
    pub(crate) seqs_append: unsafe extern "C" fn(Object, u64, usize, Object, NoError) -> i32,
    pub(crate) seqs_truncate: unsafe extern "C" fn(Object, u64, usize, NoError) -> i32,
    pub(crate) seqs_computed: unsafe extern "C" fn(Object, u64, usize, NoError) -> i32,
    pub(crate) seqs_get_state: unsafe extern "C" fn(Object, u64, *mut State) -> i32,
    pub(crate) seqs_step: unsafe extern "C" fn(Object, *const Append, usize, Object) -> i32,
    pub(crate) seqs_find: unsafe extern "C" fn(Object, *const u64, usize, *mut u64) -> i32,
    pub(crate) seqs_advance:
        unsafe extern "C" fn(Object, *const Progress, usize, *mut c_void, *mut usize) -> i32,
    #[allow(clippy::type_complexity, reason = "as the header has it")]
    pub(crate) seqs_copy_tables: unsafe extern "C" fn(
        Object,
        usize,
        *const u64,
        usize,
        *mut i32,
        usize,
        *mut usize,
        NoError,
    ) -> i32,
}

impl Library {
    /// Loads it for as long as the process runs.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let file = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: a string; what the library does when it is loaded is nothing.
        let library = unsafe { dlopen(file.as_ptr(), RTLD_NOW) };
        if library.is_null() {
            return Err(last_error());
        }
        macro_rules! functions {
            ($($field:ident: $name:literal),* $(,)?) => {
                Ok(Self { $($field: {
                    let found = find(library, $name)?;
                    // SAFETY: the function of this name in `kvblock.h`, which has this signature.
                    unsafe { core::mem::transmute_copy::<*mut c_void, _>(&found) }
                }),* })
            };
        }
        functions! {
            pool_create: c"kvb_pool_create",
            pool_destroy: c"kvb_pool_destroy",
            pool_available: c"kvb_pool_available",
            pool_check: c"kvb_pool_check",
            seqs_create: c"kvb_seqs_create",
            seqs_destroy: c"kvb_seqs_destroy",
            step_create: c"kvb_step_create",
            step_destroy: c"kvb_step_destroy",
            handle_slot: c"kvb_handle_slot",
            seqs_admit: c"kvb_seqs_admit",
            seqs_release: c"kvb_seqs_release",
            seqs_append: c"kvb_seqs_append",
            seqs_truncate: c"kvb_seqs_truncate",
            seqs_computed: c"kvb_seqs_computed",
            seqs_get_state: c"kvb_seqs_get_state",
            seqs_step: c"kvb_seqs_step",
            seqs_find: c"kvb_seqs_find",
            seqs_advance: c"kvb_seqs_advance",
            seqs_copy_tables: c"kvb_seqs_copy_tables",
        }
    }
}

fn find(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: a library that was loaded and stays, and a string.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    if found.is_null() {
        return Err(last_error());
    }
    Ok(found)
}

fn last_error() -> String {
    // SAFETY: takes nothing.
    let message = unsafe { dlerror() };
    if message.is_null() {
        return String::from("no reason given");
    }
    // SAFETY: a string that stays until the next call.
    let message = unsafe { CStr::from_ptr(message) };
    message.to_string_lossy().into_owned()
}
