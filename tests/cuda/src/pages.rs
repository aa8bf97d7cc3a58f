//! Memory of which only the pages that are written cost anything: of pools as large as real ones a test touches little.
//!
//! The pages come from the system and are zero. They are Linux's: so is the stand-in, by its name.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

const READ_AND_WRITE: c_int = 1 | 2;
/// Private, without a file, and not counted before they are written.
const UNRESERVED: c_int = 0x02 | 0x20 | 0x4000;
/// `MADV_DONTNEED`.
const FORGET: c_int = 4;
/// `MADV_NOHUGEPAGE`.
const SMALL: c_int = 15;

unsafe extern "C" {
    fn mmap(at: *mut c_void, n: usize, access: c_int, kind: c_int, fd: c_int, from: i64) -> isize;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
}

/// Zero bytes at a page.
#[derive(Debug)]
pub(crate) struct Pages {
    place: usize,
    bytes: usize,
}

impl Pages {
    /// `None` when the system has no place for so many.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        // SAFETY: new pages at a place of the system's choice, which nothing else has.
        let place = unsafe { mmap(null_mut(), bytes, READ_AND_WRITE, UNRESERVED, -1, 0) };
        let pages = Self {
            place: usize::try_from(place).ok()?,
            bytes,
        };
        // Else a byte could cost 2 MiB. That is all that a refusal means.
        pages.advise(SMALL);
        Some(pages)
    }

    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// They are zero again.
    pub(crate) fn forget(&self) {
        self.advise(FORGET);
    }

    fn advise(&self, advice: c_int) {
        // SAFETY: the pages are this value's.
        unsafe { madvise(self.place as *mut c_void, self.bytes, advice) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pages are this value's, and nobody uses them any more.
        unsafe { munmap(self.place as *mut c_void, self.bytes) };
    }
}
