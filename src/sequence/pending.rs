//! What waits to be published, in order: added at the end, consumed from the start.

use crate::error::OutOfMemory;
use alloc::vec::Vec;

/// A queue in one buffer, read as a slice. What is consumed is moved over later, so that each item is moved once on average.
#[derive(Debug)]
pub(super) struct Pending<T> {
    items: Vec<T>,
    /// Items before this are consumed.
    start: usize,
}

impl<T: Copy> Pending<T> {
    pub(super) const fn new() -> Self {
        Self {
            items: Vec::new(),
            start: 0,
        }
    }

    pub(super) fn as_slice(&self) -> &[T] {
        &self.items[self.start..]
    }

    pub(super) fn len(&self) -> usize {
        self.items.len() - self.start
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn try_reserve(&mut self, n: usize) -> Result<(), OutOfMemory> {
        self.items.try_reserve(n).map_err(|_| OutOfMemory)
    }

    /// The same, and not more than that.
    pub(super) fn try_reserve_exact(&mut self, n: usize) -> Result<(), OutOfMemory> {
        self.items.try_reserve_exact(n).map_err(|_| OutOfMemory)
    }

    /// Room for `n` items to be [put before](Self::prepend) the others.
    pub(super) fn try_reserve_before(&mut self, n: usize) -> Result<(), OutOfMemory> {
        self.try_reserve(n.saturating_sub(self.start))
    }

    /// There is room for them.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        self.items.extend(items);
    }

    /// There is room for them.
    pub(super) fn extend_from_slice(&mut self, items: &[T]) {
        self.items.extend_from_slice(items);
    }

    /// Puts items before all others. There is room for them.
    pub(super) fn prepend(&mut self, items: impl Iterator<Item = T>) {
        self.items.drain(..self.start);
        self.start = 0;
        let others = self.items.len();
        self.items.extend(items);
        self.items.rotate_left(others);
    }

    /// The first `n` are no longer needed.
    pub(super) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.items.len());
        if self.start * 2 >= self.items.len() {
            self.items.drain(..self.start);
            self.start = 0;
        }
    }

    /// Keeps the first `n`.
    pub(super) fn truncate(&mut self, n: usize) {
        self.items.truncate(self.start + n);
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.start = 0;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_order() {
        let mut pending = Pending::new();
        pending.extend(0..10);
        pending.consume(3);
        assert_eq!(pending.as_slice(), [3, 4, 5, 6, 7, 8, 9]);
        pending.truncate(5);
        pending.extend(20..22);
        assert_eq!(pending.as_slice(), [3, 4, 5, 6, 7, 20, 21]);
        pending.consume(4);
        assert_eq!(pending.as_slice(), [7, 20, 21]);
        pending.prepend([1, 2].into_iter());
        assert_eq!(pending.as_slice(), [1, 2, 7, 20, 21]);
        pending.consume(9);
        assert!(pending.is_empty());
        pending.prepend([3].into_iter());
        assert_eq!(pending.as_slice(), [3]);
    }
}
