//! Loads the stand-in driver and asks it what tests want to know.
//!
//! Whoever opens libcuda.so later in the process gets the stand-in, whatever the search path says: call [`StandIn::lock`]
//! before the first call of cudarc. There is one device for the process, so one test at a time uses it.

use core::ffi::{c_char, c_int};
use core::ops::Range;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::{Library, Symbol};

/// How many of each kind are live.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Live {
    pub allocations: u64,
    pub host_allocations: u64,
    pub registrations: u64,
    pub streams: u64,
    pub events: u64,
    pub modules: u64,
    pub graphs: u64,
    pub executables: u64,
    pub contexts: u64,
}

/// The stand-in, held by one test.
#[derive(Debug)]
pub struct StandIn {
    library: &'static Library,
    _held: MutexGuard<'static, ()>,
}

/// Where cargo puts the library: beside the test programs.
pub fn path() -> PathBuf {
    let program = std::env::current_exe().expect("the test's own path");
    program.parent().expect("a directory").join("libcuda.so")
}

/// The library, loaded once.
pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        // SAFETY: the stand-in runs nothing when it is loaded.
        unsafe { Library::new(path()) }.expect("the stand-in driver")
    })
}

impl StandIn {
    /// Takes the device, as new, with a seed.
    pub fn lock(seed: u64) -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        let held = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let stand_in = Self {
            library: library(),
            _held: held,
        };
        stand_in.reset(seed);
        stand_in
    }

    /// A function of the library.
    ///
    /// # Safety
    ///
    /// - `T` is the function's type.
    pub unsafe fn find<T>(&self, name: &str) -> Symbol<'static, T> {
        let name = CString::new(name).expect("a name");
        // SAFETY: the caller knows the type.
        unsafe { self.library.get(name.as_bytes_with_nul()) }
            .unwrap_or_else(|error| panic!("{name:?}: {error}"))
    }

    pub fn reset(&self, seed: u64) {
        // SAFETY: the function's type.
        let reset = unsafe { self.find::<extern "C" fn(u64)>("standin_reset") };
        reset(seed);
    }

    fn number(&self, name: &str) -> u64 {
        // SAFETY: the type of all that answer a count.
        let count = unsafe { self.find::<extern "C" fn() -> u64>(name) };
        count()
    }

    fn text(&self, name: &str) -> String {
        // SAFETY: the type of all that answer a text.
        let text = unsafe { self.find::<unsafe extern "C" fn(*mut c_char, usize) -> usize>(name) };
        written(|to, room| {
            // SAFETY: `to` has `room` bytes.
            unsafe { text(to, room) }
        })
    }

    pub fn set_total_memory(&self, bytes: usize) {
        // SAFETY: the function's type.
        let set = unsafe { self.find::<extern "C" fn(usize)>("standin_set_total_memory") };
        set(bytes);
    }

    /// Memory of at least so many bytes is sparse from now on, and what is written is remembered.
    pub fn set_sparse_from(&self, bytes: usize) {
        // SAFETY: the function's type.
        let set = unsafe { self.find::<extern "C" fn(usize)>("standin_set_sparse_from") };
        set(bytes);
    }

    /// The pages of these addresses that something was written to.
    pub fn written(&self, addresses: Range<u64>) -> Vec<u64> {
        // SAFETY: the function's type.
        let next = unsafe { self.find::<extern "C" fn(u64) -> u64>("standin_next_written") };
        let after = |page: &u64| Some(next(page + 4096));
        core::iter::successors(Some(next(addresses.start)), after)
            .take_while(|&page| page != 0 && page < addresses.end)
            .collect()
    }

    pub fn set_instruction_limit(&self, instructions: u64) {
        // SAFETY: the function's type.
        let set = unsafe { self.find::<extern "C" fn(u64)>("standin_set_instruction_limit") };
        set(instructions);
    }

    pub fn set_multiprocessors(&self, count: c_int) {
        // SAFETY: the function's type.
        let set = unsafe { self.find::<extern "C" fn(c_int)>("standin_set_multiprocessors") };
        set(count);
    }

    pub fn set_driver_version(&self, version: c_int) {
        // SAFETY: the function's type.
        let set = unsafe { self.find::<extern "C" fn(c_int)>("standin_set_driver_version") };
        set(version);
    }

    pub fn set_device(&self, there: bool) {
        // SAFETY: the function's type.
        let set = unsafe { self.find::<extern "C" fn(bool)>("standin_set_device") };
        set(there);
    }

    /// The `nth` call from now on (1: the next) of a function, or of any for "", fails with a code.
    pub fn fail(&self, function: &str, nth: u64, code: c_int) {
        // SAFETY: the function's type.
        let fail =
            unsafe { self.find::<unsafe extern "C" fn(*const c_char, u64, c_int)>("standin_fail") };
        let name = CString::new(function).expect("a name");
        let name = if function.is_empty() {
            core::ptr::null()
        } else {
            name.as_ptr()
        };
        // SAFETY: null or a text that ends with a zero.
        unsafe { fail(name, nth, code) };
    }

    pub fn forget_failures(&self) {
        // SAFETY: the function's type.
        let forget = unsafe { self.find::<extern "C" fn()>("standin_forget_failures") };
        forget();
    }

    /// Failures asked for that have happened.
    pub fn failed(&self) -> u64 {
        self.number("standin_failed")
    }

    /// Calls of a function since the reset, or of all for "".
    pub fn calls(&self, function: &str) -> u64 {
        // SAFETY: the function's type.
        let calls =
            unsafe { self.find::<unsafe extern "C" fn(*const c_char) -> u64>("standin_calls") };
        let name = CString::new(function).expect("a name");
        let name = if function.is_empty() {
            core::ptr::null()
        } else {
            name.as_ptr()
        };
        // SAFETY: null or a text that ends with a zero.
        unsafe { calls(name) }
    }

    /// The name of the `nth` call since the reset, counted from 0.
    pub fn call(&self, nth: u64) -> String {
        // SAFETY: the function's type.
        let call = unsafe {
            self.find::<unsafe extern "C" fn(u64, *mut c_char, usize) -> usize>("standin_call")
        };
        written(|to, room| {
            // SAFETY: `to` has `room` bytes.
            unsafe { call(nth, to, room) }
        })
    }

    pub fn live(&self) -> Live {
        // SAFETY: the function's type.
        let live = unsafe { self.find::<unsafe extern "C" fn(*mut Live)>("standin_live") };
        let mut found = Live::default();
        // SAFETY: a place for the answer.
        unsafe { live(&raw mut found) };
        found
    }

    pub fn races(&self) -> u64 {
        self.number("standin_races")
    }

    pub fn first_race(&self) -> String {
        self.text("standin_first_race")
    }

    pub fn faults(&self) -> u64 {
        self.number("standin_faults")
    }

    pub fn first_fault(&self) -> String {
        self.text("standin_first_fault")
    }

    /// What was wrong with the module loaded last.
    pub fn module_log(&self) -> String {
        self.text("standin_module_log")
    }

    /// Operations queued that have not run.
    pub fn queued(&self) -> u64 {
        self.number("standin_queued")
    }

    /// Device memory as it is now, whatever is queued.
    pub fn peek(&self, address: u64, bytes: usize) -> Vec<u8> {
        // SAFETY: the function's type.
        let peek = unsafe {
            self.find::<unsafe extern "C" fn(u64, *mut u8, usize) -> c_int>("standin_peek")
        };
        let mut found = vec![0; bytes];
        // SAFETY: the place has `bytes` bytes.
        let code = unsafe { peek(address, found.as_mut_ptr(), bytes) };
        assert_eq!(code, 0, "no memory at {address:#x}");
        found
    }

    /// Writes device memory now, whatever is queued.
    pub fn poke(&self, address: u64, bytes: &[u8]) {
        // SAFETY: the function's type.
        let poke = unsafe {
            self.find::<unsafe extern "C" fn(u64, *const u8, usize) -> c_int>("standin_poke")
        };
        // SAFETY: the place has the bytes.
        let code = unsafe { poke(address, bytes.as_ptr(), bytes.len()) };
        assert_eq!(code, 0, "no memory at {address:#x}");
    }

    /// The host reads or writes pinned memory now.
    pub fn host_access(&self, address: *const u8, bytes: usize, write: bool) {
        // SAFETY: the function's type.
        let access =
            unsafe { self.find::<extern "C" fn(usize, usize, bool)>("standin_host_access") };
        access(address as usize, bytes, write);
    }

    /// Runs everything that is queued: the first code of a fault, or 0.
    pub fn run_all(&self) -> c_int {
        // SAFETY: the function's type.
        let run = unsafe { self.find::<extern "C" fn() -> c_int>("standin_run_all") };
        run()
    }

    /// Nothing was found that a test must not provoke.
    pub fn assert_clean(&self) {
        assert_eq!(self.races(), 0, "{}", self.first_race());
        assert_eq!(self.faults(), 0, "{}", self.first_fault());
    }

    /// Everything was given back.
    pub fn assert_nothing_live(&self) {
        assert_eq!(self.live(), Live::default());
    }
}

/// A text of any length that a function writes into a buffer.
fn written(write: impl Fn(*mut c_char, usize) -> usize) -> String {
    let length = write(core::ptr::null_mut(), 0);
    let mut text = vec![0u8; length + 1];
    write(text.as_mut_ptr().cast(), text.len());
    text.pop();
    String::from_utf8(text).expect("a text")
}
