//! What borrows a pool in Rust, as an object that keeps the pool in C.

use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr;

use kvblock::{BlockPool, Blocks, Chain, Reservation, Returned};

/// What borrows a pool, for any lifetime.
pub(crate) trait Borrows {
    type From<'p>;
    /// It borrows for no longer than it is looked at.
    fn shorten<'a>(it: &'a Self::From<'static>) -> &'a Self::From<'a>;
}

impl Borrows for Reservation<'static> {
    type From<'p> = Reservation<'p>;
    fn shorten<'a>(it: &'a Self) -> &'a Reservation<'a> {
        it
    }
}

impl Borrows for Blocks<'static> {
    type From<'p> = Blocks<'p>;
    fn shorten<'a>(it: &'a Self) -> &'a Blocks<'a> {
        it
    }
}

impl Borrows for Chain<'static> {
    type From<'p> = Chain<'p>;
    fn shorten<'a>(it: &'a Self) -> &'a Chain<'a> {
        it
    }
}

/// Tells the compiler the lifetime of what a function is called with, where its result has it, too.
#[derive(Clone, Copy)]
pub(crate) struct Of<'p>(PhantomData<&'p BlockPool>);

impl Of<'_> {
    const fn it() -> Self {
        Self(PhantomData)
    }
}

/// A value that borrows a pool, beside a handle that keeps this pool. The lifetime within is longer than it is true, which does not get
/// out: callers meet the value under a lifetime that they know nothing of, or no longer than the handle's.
///
/// What is borrowed is not the `BlockPool` but what all handles of a pool share on the heap: `kvblock` stores a reference to that in
/// these three types and nothing else (`Reservation::new(&self.core, ..)` and the like, where `core` is counted). So the pool's handle may
/// move together with the value, and any handle keeps it.
pub(crate) struct Held<T: Borrows> {
    /// Always there until it is dropped or taken, which it is before the handle. As a `MaybeUninit` it makes no claim that what it refers
    /// to outlives the call that it is moved into.
    value: MaybeUninit<T::From<'static>>,
    pool: BlockPool,
}

impl<T: Borrows> Held<T> {
    /// What is made of a pool.
    pub(crate) fn make<E>(
        pool: &BlockPool,
        make: impl for<'p> FnOnce(&'p BlockPool) -> Result<T::From<'p>, E>,
    ) -> Result<Self, E> {
        let handle: *const BlockPool = pool;
        // SAFETY: `make` takes any lifetime, so it keeps nothing of this but what it returns; and that refers to what the handle below
        // keeps alive for as long as the value is there.
        let value = make(unsafe { &*handle })?;
        Ok(Self::beside(value, pool))
    }

    fn beside(value: T::From<'static>, pool: &BlockPool) -> Self {
        Self {
            value: MaybeUninit::new(value),
            pool: pool.clone(),
        }
    }

    pub(crate) fn get(&self) -> &T::From<'_> {
        // SAFETY: the value is there.
        T::shorten(unsafe { self.value.assume_init_ref() })
    }

    /// Changes it.
    pub(crate) fn change<R>(&mut self, change: impl for<'p> FnOnce(&mut T::From<'p>) -> R) -> R {
        // SAFETY: the value is there. `change` takes any lifetime, so what it puts in place of the value is of the same pool.
        change(unsafe { self.value.assume_init_mut() })
    }

    /// Makes something that borrows the same pool, and changes it by that.
    pub(crate) fn split<U: Borrows, E>(
        &mut self,
        split: impl for<'p> FnOnce(&mut T::From<'p>, Of<'p>) -> Result<U::From<'p>, E>,
    ) -> Result<Held<U>, E> {
        // SAFETY: as in `change`; what is made borrows what the value does, of which the new holder gets a handle.
        let made = split(unsafe { self.value.assume_init_mut() }, Of::it())?;
        Ok(Held::beside(made, &self.pool))
    }

    /// Makes something that borrows the same pool.
    pub(crate) fn derive<U: Borrows, E>(
        &self,
        derive: impl for<'p> FnOnce(&T::From<'p>, Of<'p>) -> Result<U::From<'p>, E>,
    ) -> Result<Held<U>, E> {
        // SAFETY: as in `split`.
        let made = derive(unsafe { self.value.assume_init_ref() }, Of::it())?;
        Ok(Held::beside(made, &self.pool))
    }

    /// Gives it away; a receiver that refuses it gives it back.
    pub(crate) fn consume<R, E>(
        self,
        receiver: impl for<'p> FnOnce(T::From<'p>, Of<'p>) -> Result<R, Returned<T::From<'p>, E>>,
    ) -> Result<R, Returned<Self, E>> {
        self.give_away(|it| receiver(it, Of::it()))
    }

    /// Puts another value into it.
    ///
    /// # Safety
    /// * `join` refuses what is of another pool.
    pub(crate) unsafe fn join<U: Borrows, E>(
        &mut self,
        other: Held<U>,
        join: impl for<'p> FnOnce(
            &mut T::From<'p>,
            U::From<'p>,
            Of<'p>,
        ) -> Result<(), Returned<U::From<'p>, E>>,
    ) -> Result<(), Returned<Held<U>, E>> {
        // SAFETY: the value is there. What it takes in is of its own pool, by this function's contract.
        let own = unsafe { self.value.assume_init_mut() };
        other.give_away(|other| join(own, other, Of::it()))
    }

    /// The handle outlives the call of the receiver.
    fn give_away<R, E>(
        self,
        receiver: impl FnOnce(T::From<'static>) -> Result<R, Returned<T::From<'static>, E>>,
    ) -> Result<R, Returned<Self, E>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the value is there; both are moved out once, as what they are moved out of is not dropped.
        let (value, pool) = unsafe { (this.value.assume_init_read(), ptr::read(&this.pool)) };
        receiver(value).map_err(|back| Returned {
            error: back.error,
            value: Self {
                value: MaybeUninit::new(back.value),
                pool,
            },
        })
    }
}

impl<T: Borrows> Drop for Held<T> {
    fn drop(&mut self) {
        // SAFETY: the value is there, and nobody looks at it again. The handle is dropped after this.
        unsafe { self.value.assume_init_drop() };
    }
}

impl<T: Borrows> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}
