//! Objects that C holds by pointer: made with an error instead of an abort where there is no memory, and given back once.

use alloc::alloc::{alloc, dealloc};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use kvblock::Returned;

use crate::arg::Argument;
use crate::status::KVB_ERR_NO_MEMORY;

/// Puts a value on the heap and its address into `out`. Where there is no memory the value is dropped, and the place as it was.
pub(crate) fn give<T>(value: T, out: &mut MaybeUninit<*mut T>) -> Result<(), Argument> {
    let room = room::<T>()?;
    out.write(room.fill(value));
    Ok(())
}

/// Memory for a `T`, had before the value is made: so that the making of it need not be undone.
pub(crate) struct Room<T> {
    memory: NonNull<T>,
}

pub(crate) fn room<T>() -> Result<Room<T>, Argument> {
    const { assert!(size_of::<T>() > 0, "there is no memory of size zero") };
    // SAFETY: not of size zero.
    let memory = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
    let memory = NonNull::new(memory).ok_or(Argument(KVB_ERR_NO_MEMORY))?;
    Ok(Room { memory })
}

impl<T> Room<T> {
    pub(crate) fn fill(self, value: T) -> *mut T {
        let memory = ManuallyDrop::new(self).memory;
        // SAFETY: fresh memory of this layout, which nobody else knows.
        unsafe { memory.write(value) };
        memory.as_ptr()
    }
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        // SAFETY: from `alloc` with this layout, and not filled.
        unsafe { dealloc(self.memory.as_ptr().cast(), Layout::new::<T>()) };
    }
}

/// Handles of what each shard has.
pub(crate) fn handles<'a, T: Clone + 'a>(
    of: impl Iterator<Item = &'a T> + Clone,
) -> Result<Vec<T>, Argument> {
    let mut list = Vec::new();
    let enough = list.try_reserve_exact(of.clone().count());
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    list.extend(of.cloned());
    Ok(list)
}

/// What came back, as C knows it.
pub(crate) fn returned<T, U, E>(back: Returned<T, E>, wrap: impl FnOnce(T) -> U) -> Returned<U, E> {
    Returned {
        error: back.error,
        value: wrap(back.value),
    }
}

/// The value behind an address that [`give`] made; the memory is given back. `None` for null.
///
/// # Safety
/// * Null, or from [`give`] and not taken before.
pub(crate) unsafe fn take<T>(object: *mut T) -> Option<T> {
    if object.is_null() {
        return None;
    }
    // SAFETY: `give` allocated it as a box would have: with the global allocator, for the layout of `T`.
    let object = unsafe { Box::from_raw(object) };
    Some(*object)
}

/// Gives the value behind an address away. Where the receiver refuses it the object is as it was; otherwise its memory is given back.
///
/// # Safety
/// * From [`give`] and not taken before; nobody else uses it meanwhile.
pub(crate) unsafe fn consume<T, R, E>(
    object: NonNull<T>,
    receiver: impl FnOnce(T) -> Result<R, Returned<T, E>>,
) -> Result<R, E> {
    // SAFETY: this function's contract; from here to one of the two writes below nobody looks at it.
    let value = unsafe { object.read() };
    match receiver(value) {
        Ok(result) => {
            // SAFETY: allocated for the layout of a `T`, whose value has been moved out: a `ManuallyDrop` of it has the same layout.
            drop(unsafe { Box::from_raw(object.cast::<ManuallyDrop<T>>().as_ptr()) });
            Ok(result)
        }
        Err(Returned { error, value }) => {
            // SAFETY: the memory is there, and its value was moved out.
            unsafe { object.write(value) };
            Err(error)
        }
    }
}
