//! What C gives: pointers that may be null, lengths that may be absurd, structs of an older or a newer header.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::status::{
    KVB_ERR_INVALID, KVB_ERR_LENGTH, KVB_ERR_NULL, KVB_ERR_STRUCT_SIZE, kvb_status,
};

/// An argument that cannot be used, before anything was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument(pub(crate) kvb_status);

/// A reference to what a pointer points to.
///
/// # Safety
/// * Null, or a live `T` that nobody changes meanwhile.
pub(crate) unsafe fn get<'a, T>(pointer: *const T) -> Result<&'a T, Argument> {
    // SAFETY: this function's contract.
    unsafe { pointer.as_ref() }.ok_or(Argument(KVB_ERR_NULL))
}

/// A reference to what only this call may use.
///
/// # Safety
/// * Null, or a live `T` that nobody else uses meanwhile.
pub(crate) unsafe fn get_mut<'a, T>(pointer: *mut T) -> Result<&'a mut T, Argument> {
    // SAFETY: this function's contract.
    unsafe { pointer.as_mut() }.ok_or(Argument(KVB_ERR_NULL))
}

/// What a pointer points to, to be [given away](crate::object::consume).
pub(crate) fn not_null<T>(pointer: *mut T) -> Result<NonNull<T>, Argument> {
    NonNull::new(pointer).ok_or(Argument(KVB_ERR_NULL))
}

/// A place for a result, initialised or not.
///
/// # Safety
/// * Null, or room for a `T` that nobody else uses meanwhile.
pub(crate) unsafe fn place<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, Argument> {
    // SAFETY: this function's contract; any bytes are a `MaybeUninit`.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or(Argument(KVB_ERR_NULL))
}

/// A slice; null will do for no items.
///
/// # Safety
/// * `count` items at `first` that nobody changes meanwhile.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Argument> {
    if count == 0 {
        return Ok(&[]);
    }
    check::<T>(first, count)?;
    // SAFETY: this function's contract; not null, and not longer than memory can be.
    Ok(unsafe { core::slice::from_raw_parts(first, count) })
}

/// A slice of items that are initialised and that only this call may use; null will do for none.
///
/// # Safety
/// * `count` items at `first` that nobody else uses meanwhile.
pub(crate) unsafe fn slice_mut<'a, T>(
    first: *mut T,
    count: usize,
) -> Result<&'a mut [T], Argument> {
    if count == 0 {
        return Ok(&mut []);
    }
    check::<T>(first, count)?;
    // SAFETY: this function's contract; not null, and not longer than memory can be.
    Ok(unsafe { core::slice::from_raw_parts_mut(first, count) })
}

/// Places for results, initialised or not; null will do for none.
///
/// # Safety
/// * Room for `count` items at `first` that nobody else uses meanwhile.
pub(crate) unsafe fn places<'a, T>(
    first: *mut T,
    count: usize,
) -> Result<&'a mut [MaybeUninit<T>], Argument> {
    // SAFETY: this function's contract; any bytes are a `MaybeUninit`.
    unsafe { slice_mut(first.cast::<MaybeUninit<T>>(), count) }
}

/// These places with a zero in each.
pub(crate) fn zeroed<T: Copy + Default>(places: &mut [MaybeUninit<T>]) -> &mut [T] {
    for place in places.iter_mut() {
        place.write(T::default());
    }
    let places: *mut [MaybeUninit<T>] = places;
    // SAFETY: all of them were written just now, and a `MaybeUninit` is laid out as what it holds.
    unsafe { &mut *(places as *mut [T]) }
}

fn check<T>(first: *const T, count: usize) -> Result<(), Argument> {
    if first.is_null() {
        return Err(Argument(KVB_ERR_NULL));
    }
    let bytes = count.checked_mul(size_of::<T>());
    if bytes.is_none_or(|bytes| bytes > isize::MAX.unsigned_abs()) || !first.is_aligned() {
        return Err(Argument(KVB_ERR_LENGTH));
    }
    Ok(())
}

/// Flags, of which only those `known` may be set.
pub(crate) const fn flags(flags: u32, known: u32) -> Result<u32, Argument> {
    if flags & !known != 0 {
        return Err(Argument(KVB_ERR_INVALID));
    }
    Ok(flags)
}

/// A reserved field, which must be zero: a later version may give it a meaning.
pub(crate) const fn unused(reserved: u32) -> Result<(), Argument> {
    if reserved != 0 {
        return Err(Argument(KVB_ERR_STRUCT_SIZE));
    }
    Ok(())
}

/// More than the size of any struct, in any version: who says more has not set it.
const ABSURD_SIZE: usize = 4096;

/// A struct that begins with its size in a `u32`. Later versions of the header may put fields at its end, where zero has the meaning
/// that there was no such field.
///
/// # Safety
/// * `repr(C)`, begins with the `u32`, and zero bytes are a valid value of every field.
pub(crate) unsafe trait Versioned: Copy {
    /// The size in the first version of the header that had it.
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Reads such a struct of the size that it says: an older one has zeros behind its end, and a newer one must.
///
/// # Safety
/// * Null, or a struct of the size that its first field says.
pub(crate) unsafe fn versioned<T: Versioned>(pointer: *const T) -> Result<T, Argument> {
    if pointer.is_null() {
        return Err(Argument(KVB_ERR_NULL));
    }
    // SAFETY: the struct begins with its size.
    let size = unsafe { pointer.cast::<u32>().read() } as usize;
    if size < T::FIRST_SIZE || size > ABSURD_SIZE {
        return Err(Argument(KVB_ERR_STRUCT_SIZE));
    }
    let own = size.min(size_of::<T>());
    // SAFETY: the struct has as many bytes.
    let beyond = unsafe { core::slice::from_raw_parts(pointer.cast::<u8>().add(own), size - own) };
    if beyond.iter().any(|&byte| byte != 0) {
        return Err(Argument(KVB_ERR_STRUCT_SIZE));
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: both have as many bytes, and are two structs.
    unsafe {
        core::ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), own)
    };
    // SAFETY: zero bytes are valid, and so is what the caller put into its fields.
    Ok(unsafe { value.assume_init() })
}

/// A place for such a struct, in which the caller has said its size.
pub(crate) struct Answer<T> {
    place: *mut T,
    size: usize,
}

impl<T: Versioned> Answer<T> {
    /// Looks at the place.
    ///
    /// # Safety
    /// * Null, or room for a struct of the size that its first field says, which nobody else uses while this lives.
    pub(crate) unsafe fn new(place: *mut T) -> Result<Self, Argument> {
        if place.is_null() {
            return Err(Argument(KVB_ERR_NULL));
        }
        // SAFETY: the struct begins with its size.
        let size = unsafe { place.cast::<u32>().read() } as usize;
        if size < T::FIRST_SIZE || size > ABSURD_SIZE {
            return Err(Argument(KVB_ERR_STRUCT_SIZE));
        }
        Ok(Self { place, size })
    }

    /// Writes what fits of a value, but not its size. Fields that this version does not know become zero.
    pub(crate) fn put(self, value: &T) {
        let head = size_of::<u32>();
        let own = self.size.min(size_of::<T>());
        // SAFETY: the place has `size` bytes, the value has `own`, and both begin with the size, which stays.
        unsafe {
            let (from, to) = (
                core::ptr::from_ref(value).cast::<u8>(),
                self.place.cast::<u8>(),
            );
            core::ptr::copy_nonoverlapping(from.add(head), to.add(head), own - head);
            core::ptr::write_bytes(to.add(own), 0, self.size - own);
        }
    }
}

impl core::fmt::Display for Argument {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(crate::status::message(self.0))
    }
}

/// Writes a result that the caller need not want.
///
/// # Safety
/// * Null, or room for a `T` that nobody else uses meanwhile.
pub(crate) unsafe fn write_if_wanted<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: this function's contract.
        unsafe { pointer.write(value) };
    }
}
