//! A reference-counted pointer whose creation can fail.
//!
//! `alloc::sync::Arc` aborts the process when there is no memory; a pool must answer with an error instead. This is the part of
//! it that the crate needs: create, clone, look, drop. No weak references.
//!
//! # Orderings
//! The count's decrement is Release and the last one's fence Acquire: every owner's accesses happen before the value is
//! dropped. The increment is Relaxed: whoever clones already has a reference.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::unmodelled::{AtomicUsize, fence};

struct Inner<T> {
    owners: AtomicUsize,
    value: T,
}

/// Shared ownership of a `T`.
pub(crate) struct Shared<T> {
    inner: NonNull<Inner<T>>,
    owns: PhantomData<Inner<T>>,
}

// SAFETY: as for `Arc`: any owner may read the value, and any owner may be the one that drops it.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: a `&Shared` can be cloned into an owner, so the same bounds are needed and suffice.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// `Err` with the value and the size that could not be had.
    pub(crate) fn try_new(value: T) -> Result<Self, (T, usize)> {
        let layout = Layout::new::<Inner<T>>();
        // SAFETY: `Inner` has a counter in it, so the layout is not of size zero.
        let raw = unsafe { alloc(layout) }.cast::<Inner<T>>();
        let Some(inner) = NonNull::new(raw) else {
            return Err((value, layout.size()));
        };
        // SAFETY: fresh memory of exactly this layout, which nobody else knows.
        unsafe {
            inner.as_ptr().write(Inner {
                owners: AtomicUsize::new(1),
                value,
            })
        };
        Ok(Self {
            inner,
            owns: PhantomData,
        })
    }

    /// The value, if this is the only handle.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        // Acquire: what other owners did with the value happened before they left.
        if self.inner().owners.load(Acquire) != 1 {
            return None;
        }
        // SAFETY: the only owner is borrowed mutably, so nobody else can look at the value or make another owner.
        Some(unsafe { &mut self.inner.as_mut().value })
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: the memory lives as long as an owner does, and `self` is one.
        unsafe { self.inner.as_ref() }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        // No overflow check as in `Arc`: 2^64 live handles do not fit in memory, and forgetting them one a nanosecond takes
        // 500 years (on the 64-bit targets this crate builds for).
        self.inner().owners.fetch_add(1, Relaxed);
        Self {
            inner: self.inner,
            owns: PhantomData,
        }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        if self.inner().owners.fetch_sub(1, Release) == 1 {
            fence(Acquire);
            // SAFETY: the last owner; the memory came from the global allocator with the layout that `Box` uses.
            drop(unsafe { Box::from_raw(self.inner.as_ptr()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
