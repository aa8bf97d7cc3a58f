//! A word to the processor about memory that is soon needed.

/// Asks for `slice[index]`, both cache lines if it may lie across two; nothing happens beyond the end, or where there is no such
/// instruction.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse", not(loom)))]
    if let Some(item) = slice.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = core::ptr::from_ref(item).cast::<i8>();
        // SAFETY: a prefetch of an address inside a live slice; it reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first) };
        if align_of::<T>() < size_of::<T>() {
            let last = first.wrapping_add(size_of::<T>() - 1);
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(last) };
        }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse", not(loom))))]
    let _ = (slice, index);
}
