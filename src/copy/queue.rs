//! Which copies have been made once a fence has passed.

use alloc::collections::VecDeque;
use core::error::Error;
use core::fmt;

use crate::pool::Fence;

/// What is to be said to somebody when a fence of one timeline has passed: the [`CopyTicket`](crate::CopyTicket)s of a step, say, which
/// are to be given to [`copied`](crate::Sequences::copied). In the order of the fences.
///
/// ```
/// # use kvblock::{CopyQueue, Fence};
/// let mut queue = CopyQueue::new();
/// queue.push(Fence(1), &["a", "b"])?;
/// queue.push(Fence(2), &["c"])?;
/// let mut made = Vec::new();
/// assert_eq!(queue.complete(Fence(1), |ticket| made.push(ticket)), 2);
/// assert_eq!((made, queue.len(), queue.next()), (vec!["a", "b"], 1, Some(Fence(2))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CopyQueue<T> {
    waiting: VecDeque<(Fence, T)>,
}

impl<T> Default for CopyQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> CopyQueue<T> {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
        }
    }

    /// Keeps tickets until a fence has passed.
    ///
    /// # Errors
    /// [`CopyQueueError::Earlier`] than one that waits, [`CopyQueueError::OutOfMemory`].
    ///
    /// O(tickets). Allocates only if there were never so many at once.
    pub fn push(&mut self, fence: Fence, tickets: &[T]) -> Result<(), CopyQueueError>
    where
        T: Clone,
    {
        if let Some(&(last, _)) = self.waiting.back().filter(|&&(last, _)| fence < last) {
            return Err(CopyQueueError::Earlier { fence, last });
        }
        let enough = self.waiting.try_reserve(tickets.len());
        enough.map_err(|_| CopyQueueError::OutOfMemory)?;
        let tickets = tickets.iter().cloned();
        self.waiting.extend(tickets.map(|ticket| (fence, ticket)));
        Ok(())
    }

    /// The timeline has passed this fence, and with it every earlier one: hands out what waited for them, in the order in which it came.
    /// Returns how many.
    ///
    /// O(1) for each, no allocation.
    pub fn complete(&mut self, fence: Fence, mut settle: impl FnMut(T)) -> usize {
        let mut settled = 0;
        while let Some(&(first, _)) = self.waiting.front() {
            if first > fence {
                break;
            }
            if let Some((_, ticket)) = self.waiting.pop_front() {
                settle(ticket);
                settled += 1;
            }
        }
        settled
    }

    /// The next fence that somebody waits for.
    #[must_use]
    pub fn next(&self) -> Option<Fence> {
        self.waiting.front().map(|&(fence, _)| fence)
    }

    /// How many tickets wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Why tickets are not kept. The queue is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyQueueError {
    /// The fence is before one that is waited for.
    Earlier {
        /// The fence named.
        fence: Fence,
        /// The last that is waited for.
        last: Fence,
    },
    /// The host's allocator had no memory.
    OutOfMemory,
}

impl fmt::Display for CopyQueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earlier { fence, last } => write!(
                f,
                "fence {} is before fence {}, which is waited for",
                fence.0, last.0
            ),
            Self::OutOfMemory => f.write_str("no memory for the tickets"),
        }
    }
}
impl Error for CopyQueueError {}
