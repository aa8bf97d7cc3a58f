//! Arrays that are made once and never move or grow, and lists whose memory may be refused.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bitvec::vec::BitVec;

use crate::error::{CreateError, OutOfMemory};

/// An array made once; no memory is an error.
pub(crate) fn array<T>(
    n: usize,
    mut make: impl FnMut(usize) -> T,
) -> Result<Box<[T]>, CreateError> {
    let mut items = Vec::new();
    items
        .try_reserve_exact(n)
        .map_err(|_| CreateError::OutOfMemory {
            bytes: n.saturating_mul(size_of::<T>()),
        })?;
    items.extend((0..n).map(&mut make));
    Ok(items.into_boxed_slice())
}

/// `n` times the same.
pub(crate) fn try_repeat<T: Clone>(value: T, n: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut items = Vec::new();
    items.try_reserve_exact(n).map_err(|_| OutOfMemory)?;
    items.resize(n, value);
    Ok(items)
}

/// At least `n` bits that are not set.
pub(crate) fn try_bits(n: usize) -> Result<BitVec<usize>, OutOfMemory> {
    let words = n.div_ceil(usize::BITS as usize);
    // A vector of words becomes bits where it is.
    BitVec::try_from_vec(try_repeat(0, words)?).map_err(|_| OutOfMemory)
}

/// One more at the end.
pub(crate) fn try_push<T>(items: &mut Vec<T>, item: T) -> Result<(), OutOfMemory> {
    items.try_reserve(1).map_err(|_| OutOfMemory)?;
    items.push(item);
    Ok(())
}
