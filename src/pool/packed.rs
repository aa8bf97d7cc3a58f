//! Atomic words with typed fields.

use core::fmt::Debug;
use core::marker::PhantomData;

use crate::sync::AtomicU64;
use crate::sync::Ordering;

/// A value that lives in one 64-bit word.
pub(crate) trait Packed: Copy + Eq + Debug {
    fn to_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

/// For a type that is its word.
macro_rules! packed {
    ($name:ident) => {
        impl Packed for $name {
            #[inline]
            fn to_bits(self) -> u64 {
                self.0
            }
            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self(bits)
            }
        }
    };
}
pub(crate) use packed;

/// An atomic word that holds a `T`.
pub(crate) struct Atomic<T> {
    word: AtomicU64,
    holds: PhantomData<T>,
}

impl<T: Packed> Atomic<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            word: AtomicU64::new(value.to_bits()),
            holds: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> T {
        T::from_bits(self.word.load(order))
    }

    #[inline]
    pub(crate) fn store(&self, value: T, order: Ordering) {
        self.word.store(value.to_bits(), order);
    }

    /// On success the old value is returned, on failure the one found.
    #[inline]
    pub(crate) fn compare_exchange(
        &self,
        current: T,
        next: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        match self
            .word
            .compare_exchange(current.to_bits(), next.to_bits(), success, failure)
        {
            Ok(bits) => Ok(T::from_bits(bits)),
            Err(bits) => Err(T::from_bits(bits)),
        }
    }

    /// Adds to the bits as a whole; the type says which additions keep its fields apart.
    #[inline]
    pub(crate) fn fetch_add_bits(&self, bits: u64, order: Ordering) -> T {
        T::from_bits(self.word.fetch_add(bits, order))
    }

    /// Stores as a read-modify-write.
    #[cfg(loom)]
    pub(crate) fn swap(&self, value: T, order: Ordering) -> T {
        T::from_bits(self.word.swap(value.to_bits(), order))
    }
}

impl<T: Packed> Debug for Atomic<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}
