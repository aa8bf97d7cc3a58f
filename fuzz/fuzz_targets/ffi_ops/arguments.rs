//! Arguments: what they are, and how they are wrong.

use core::mem::{MaybeUninit, size_of};
use core::ptr;

use kvblock_c::error::kvb_error;
use kvblock_c::namespace::kvb_namespace;
use kvblock_c::prompt::{KVB_PROMPT_FULL_HIT, kvb_contents, kvb_extra_key, kvb_prompt};
use kvblock_c::status::{KVB_ERR_PARTIAL, KVB_OK, kvb_status, kvb_status_message, kvb_status_name};

/// The input; zeros when it is used up.
pub(crate) struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(left: &'a [u8]) -> Self {
        Self { left }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, left)) = self.left.split_first() else {
            return 0;
        };
        self.left = left;
        first
    }

    /// Below `n`, which is at most 256.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub(crate) fn word(&mut self) -> u64 {
        let mut word = [0; 8];
        word.fill_with(|| self.byte());
        u64::from_le_bytes(word)
    }

    /// Mostly small; sometimes the largest, or one that is too large for any memory.
    pub(crate) fn count(&mut self, most: usize) -> usize {
        match self.byte() {
            255 => usize::MAX,
            254 => usize::MAX / 2,
            253 => isize::MAX.unsigned_abs() / 8,
            byte => usize::from(byte) % (most + 1),
        }
    }

    pub(crate) fn rarely(&mut self) -> bool {
        self.byte() >= 0xF0
    }
}

/// A list as C gives it: sometimes null, or longer than memory can be.
pub(crate) struct List<T> {
    items: Vec<T>,
    wrong: u8,
}

impl<T> List<T> {
    pub(crate) fn new(items: Vec<T>, bytes: &mut Bytes<'_>) -> Self {
        let wrong = bytes.byte();
        Self { items, wrong }
    }

    /// A list with nothing wrong.
    pub(crate) fn right(items: Vec<T>) -> Self {
        Self { items, wrong: 0 }
    }

    pub(crate) fn pointer(&mut self) -> *mut T {
        match self.wrong {
            255 => ptr::null_mut(),
            _ => self.items.as_mut_ptr(),
        }
    }

    /// A count with which the library may believe the pointer.
    pub(crate) fn count(&self) -> usize {
        match self.wrong {
            254 => usize::MAX,
            253 => isize::MAX.unsigned_abs() / size_of::<T>() + 1,
            _ => self.items.len(),
        }
    }

    /// Its items, if it is told as it is.
    pub(crate) fn told(&self) -> Option<&[T]> {
        (self.wrong < 253 || self.wrong == 255 && self.items.is_empty()).then_some(&self.items)
    }
}

const WORDS: usize = 128;
const CANARY: u64 = 0xA5A5_A5A5_A5A5_A5A5;

/// A struct in memory that is larger than it, of the size that it says.
pub(crate) struct Sized<T> {
    memory: [u64; WORDS],
    size: usize,
    null: bool,
    what: core::marker::PhantomData<T>,
}

impl<T: Copy> Sized<T> {
    /// An argument.
    pub(crate) fn given(value: T, bytes: &mut Bytes<'_>) -> Self {
        let mut it = Self::blank(bytes, 0);
        // SAFETY: the memory is larger than the struct, and aligned for any of them.
        unsafe { it.memory.as_mut_ptr().cast::<T>().write(value) };
        if it.size > size_of::<T>() && bytes.rarely() {
            it.memory[it.size / 8 - 1] = CANARY;
        }
        it.tell_size();
        it
    }

    /// A place for an answer.
    pub(crate) fn asked(bytes: &mut Bytes<'_>) -> Self {
        let mut it = Self::blank(bytes, CANARY);
        it.tell_size();
        it
    }

    fn blank(bytes: &mut Bytes<'_>, fill: u64) -> Self {
        let own = size_of::<T>();
        let size = match bytes.byte() {
            255 => 0,
            254 => 3,
            253 => own - 4,
            252 => own + 8,
            251 => WORDS * 8,
            _ => own,
        };
        Self {
            memory: [fill; WORDS],
            size,
            null: bytes.rarely() && bytes.rarely(),
            what: core::marker::PhantomData,
        }
    }

    fn tell_size(&mut self) {
        let size = u32::try_from(self.size).expect("a small struct");
        // SAFETY: the struct begins with its size.
        unsafe { self.memory.as_mut_ptr().cast::<u32>().write(size) };
    }

    pub(crate) fn pointer(&mut self) -> *mut T {
        if self.null {
            ptr::null_mut()
        } else {
            self.memory.as_mut_ptr().cast()
        }
    }

    /// What was written, if all of it could be.
    pub(crate) fn answer(&self) -> Option<T> {
        // SAFETY: integers, which the library has written.
        (self.size >= size_of::<T>() && !self.null)
            .then(|| unsafe { self.memory.as_ptr().cast::<T>().read() })
    }

    /// Calls for an answer, and checks it.
    pub(crate) fn ask(&mut self, call: impl FnOnce(*mut T) -> kvb_status) {
        let status = known(call(self.pointer()));
        self.check(status);
    }

    /// A call that failed has written nothing, one that succeeded nothing behind the end.
    fn check(&self, status: kvb_status) {
        let from = if status == KVB_OK {
            self.size.max(4).div_ceil(8)
        } else {
            1
        };
        let kept = self.memory[from..].iter().all(|&word| word == CANARY);
        assert!(kept, "{} wrote where it may not", name(status));
    }
}

/// A place for what a call tells of its failure; sometimes null.
pub(crate) struct Told(Sized<kvb_error>);

impl Told {
    pub(crate) fn new(bytes: &mut Bytes<'_>) -> Self {
        Self(Sized::asked(bytes))
    }

    pub(crate) fn pointer(&mut self) -> *mut kvb_error {
        self.0.pointer()
    }

    /// Whether the call can be done with it.
    pub(crate) fn is_usable(&self) -> bool {
        self.0.null || self.0.size >= size_of::<kvb_error>()
    }

    /// What was told, if all of it could be.
    pub(crate) fn answer(&self) -> Option<kvb_error> {
        self.0.answer()
    }

    /// Checks what was told, and gives the status back.
    pub(crate) fn check(&self, status: kvb_status) -> kvb_status {
        known(status);
        if status == KVB_OK {
            assert!(
                self.0.memory[1..].iter().all(|&word| word == CANARY),
                "success was told as a failure"
            );
        } else if let Some(error) = self.0.answer() {
            assert_eq!(error.status, status, "another status was told");
            assert!(
                error.message.contains(&0) && error.message[0] != 0,
                "no message"
            );
        }
        status
    }
}

/// A place for a result; sometimes null.
pub(crate) struct Place<T> {
    value: MaybeUninit<T>,
    before: [u8; 64],
    null: bool,
}

impl<T: Copy> Place<T> {
    pub(crate) fn new(bytes: &mut Bytes<'_>) -> Self {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: as many bytes as it has.
        unsafe { ptr::write_bytes(value.as_mut_ptr().cast::<u8>(), 0xA5, size_of::<T>()) };
        Self {
            value,
            before: [0xA5; 64],
            null: bytes.rarely() && bytes.rarely(),
        }
    }

    pub(crate) fn pointer(&mut self) -> *mut T {
        if self.null {
            ptr::null_mut()
        } else {
            self.value.as_mut_ptr()
        }
    }

    /// The result of a call, which wrote it on success only.
    pub(crate) fn result(&self, status: kvb_status) -> Option<T> {
        if status == KVB_OK && !self.null {
            // SAFETY: the call has written it.
            return Some(unsafe { self.value.assume_init() });
        }
        // SAFETY: every byte was written in `new`.
        let bytes = unsafe {
            core::slice::from_raw_parts(self.value.as_ptr().cast::<u8>(), size_of::<T>())
        };
        assert_eq!(
            bytes,
            &self.before[..size_of::<T>()],
            "{} wrote a result",
            name(status)
        );
        None
    }
}

/// A status that has a name and a message.
pub(crate) fn known(status: kvb_status) -> kvb_status {
    assert_ne!(name(status), "KVB_ERR_UNKNOWN", "status {status}");
    assert!(!text(kvb_status_message(status)).is_empty());
    status
}

/// Whether all of a batch, or a part of it, was done.
pub(crate) fn done_in_part(status: kvb_status) -> bool {
    status == KVB_OK || status == KVB_ERR_PARTIAL
}

fn name(status: kvb_status) -> &'static str {
    text(kvb_status_name(status))
}

fn text(text: *const core::ffi::c_char) -> &'static str {
    // SAFETY: static strings in ASCII, never null.
    unsafe { core::ffi::CStr::from_ptr(text) }
        .to_str()
        .expect("ASCII")
}

/// Tokens of few kinds, so that prefixes are found; extra and chain keys, rarely as many as they should be.
pub(crate) struct Text {
    tokens: List<u32>,
    extra: List<kvb_extra_key>,
    keys: List<u64>,
}

impl Text {
    pub(crate) fn new(most: usize, bytes: &mut Bytes<'_>) -> Self {
        let (count, kind) = (bytes.below(most + 1), bytes.byte());
        let token = |at: usize| u32::from(kind & 3 == 3 && at % 5 == usize::from(kind >> 5));
        let tokens = (0..count).map(token).collect();
        let keys = if kind & 16 == 0 { 0 } else { bytes.below(9) };
        let extra = if kind & 12 != 12 { 0 } else { bytes.below(9) };
        let key = |at: usize| kvb_extra_key {
            low: at as u64 & 1,
            high: 0,
        };
        Self {
            tokens: List::new(tokens, bytes),
            extra: List::new((0..extra).map(key).collect(), bytes),
            keys: List::new((0..keys as u64).collect(), bytes),
        }
    }

    pub(crate) fn prompt(
        &mut self,
        space: *const kvb_namespace,
        bytes: &mut Bytes<'_>,
    ) -> kvb_prompt {
        kvb_prompt {
            space,
            tokens: self.tokens.pointer(),
            token_count: self.tokens.count(),
            extra: self.extra.pointer(),
            extra_count: self.extra.count(),
            keys: self.keys.pointer(),
            key_count: self.keys.count(),
            flags: match bytes.byte() {
                255 => 2,
                byte => u32::from(byte) & KVB_PROMPT_FULL_HIT,
            },
            reserved: u32::from(bytes.byte() == 255),
        }
    }

    pub(crate) fn contents(&mut self) -> kvb_contents {
        kvb_contents {
            tokens: self.tokens.pointer(),
            token_count: self.tokens.count(),
            extra: self.extra.pointer(),
            extra_count: self.extra.count(),
            keys: self.keys.pointer(),
            key_count: self.keys.count(),
        }
    }

    pub(crate) fn tokens(&mut self) -> (*const u32, usize) {
        (self.tokens.pointer(), self.tokens.count())
    }
}
