//! Memory from the caller's hooks, or from the C library.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

use super::hooks::{count_allocated, count_freed, current};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// What `malloc` aligns to.
const MALLOC_ALIGN: usize = 2 * size_of::<usize>();

struct Hooked;

// SAFETY: `malloc`, `aligned_alloc` and `free`, or the hooks, whose contract in the header is that of this trait, each paired with its
// own: hooks are exchanged only while nothing is allocated.
unsafe impl GlobalAlloc for Hooked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        let memory = match current().and_then(|hooks| Some((hooks.alloc?, hooks.user))) {
            // SAFETY: the caller gave this function for this purpose; size and alignment are a layout's.
            Some((alloc, user)) => unsafe { alloc(size, align, user) },
            // SAFETY: any size will do.
            None if align <= MALLOC_ALIGN => unsafe { malloc(size) },
            // SAFETY: a power of two, and a multiple of it; no overflow, as a layout is at most `isize::MAX` with its padding.
            None => unsafe { aligned_alloc(align, layout.pad_to_align().size()) },
        };
        if !memory.is_null() {
            count_allocated();
        }
        memory.cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count_freed();
        match current().and_then(|hooks| Some((hooks.free?, hooks.user))) {
            // SAFETY: from the hook's counterpart, with this layout.
            Some((free, user)) => unsafe {
                free(memory.cast(), layout.size(), layout.align(), user)
            },
            // SAFETY: from `malloc` or `aligned_alloc`.
            None => unsafe { free(memory.cast()) },
        }
    }
}

#[global_allocator]
static ALLOCATOR: Hooked = Hooked;
