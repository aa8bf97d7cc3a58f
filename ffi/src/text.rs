//! Text without an allocation: into a buffer of its own, or into the caller's.

use core::ffi::c_char;
use core::fmt;

use crate::arg::{self, Argument};

/// Up to `N` bytes of text. What does not fit is cut off, between two characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut fits = text.len().min(N - self.len);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[self.len..self.len + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits;
        if fits < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// The caller's buffer: as much as fits is written, all of it is counted.
pub(crate) struct Buffer<'a> {
    bytes: &'a mut [u8],
    written: usize,
    needed: usize,
}

impl<'a> Buffer<'a> {
    /// # Safety
    /// * `capacity` bytes that nobody else uses meanwhile, or null for none.
    pub(crate) unsafe fn of(text: *mut c_char, capacity: usize) -> Result<Self, Argument> {
        // SAFETY: this function's contract. A `c_char` is a byte.
        let bytes = unsafe { arg::slice_mut(text.cast::<u8>(), capacity) }?;
        Ok(Self {
            bytes,
            written: 0,
            needed: 0,
        })
    }

    /// Ends the text with a zero, before which it is cut off if it is too long. Returns its whole length without the zero.
    pub(crate) fn finish(self) -> usize {
        let last = self.bytes.len().checked_sub(1);
        if let Some(last) = last {
            let mut end = self.written.min(last);
            // Not within a character.
            while self.written > last && end > 0 && self.bytes[end] & 0xc0 == 0x80 {
                end -= 1;
            }
            self.bytes[end] = 0;
        }
        self.needed
    }
}

impl fmt::Write for Buffer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.len().min(self.bytes.len() - self.written);
        self.bytes[self.written..self.written + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.written += fits;
        self.needed += text.len();
        Ok(())
    }
}
