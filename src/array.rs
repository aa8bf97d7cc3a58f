//! Arrays that are made once and never move or grow.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::CreateError;

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
