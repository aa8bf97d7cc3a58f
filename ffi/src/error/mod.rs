//! Why a call failed, with the numbers that a caller needs to decide what to do next.
//!
//! Every error of the library tells its number and its figures through `Told`; `call` writes them to where the caller wants them.

mod copy;
mod fleet;
mod lease;
mod plan;
mod pool;
mod sequence;
mod swap;
mod transfer;

pub(crate) use self::plan::OnRank;

use core::ffi::c_char;
use core::fmt::{Display, Write};

use crate::arg::{self, Answer, Argument, Versioned};
use crate::status::{KVB_ERR_TOO_SHORT, KVB_OK, kvb_status};
use crate::text::Text;

/// `shard` of an error that is of no shard.
pub const KVB_NO_SHARD: u32 = u32::MAX;

/// `instance` of an error that is of no instance of a fleet.
pub const KVB_NO_INSTANCE: u64 = u64::MAX;

/// Bytes of a message, with the zero at its end.
pub const KVB_MESSAGE_BYTES: usize = 160;

/// What a failed call tells beside its status. Give NULL where you do not want it. On success it is not touched.
///
/// | status | `needed` | `available` | `limit` |
/// | --- | --- | --- | --- |
/// | `KVB_ERR_NEVER_FITS` | blocks needed | | blocks of the shard |
/// | `KVB_ERR_SHORTFALL` | blocks needed | blocks free or idle, promised to nobody | |
/// | `KVB_ERR_CAP_REACHED`, `KVB_ERR_BEYOND` | positions asked for | | positions that there may be |
/// | `KVB_ERR_TOO_SHORT`, `KVB_ERR_LENGTH_MISMATCH` | items that would do | items given | |
/// | `KVB_ERR_NOT_NEXT` | position where the known ones end | position given | |
/// | `KVB_ERR_NOT_ARRIVED` | positions that are to come | positions that are there | blocks that may still be touched |
/// | `KVB_ERR_NOT_COPIED` | blocks that are to be copied | | the fence of the copy |
/// | `KVB_ERR_ALREADY_COPIED` | blocks that count as copied | the fence behind which they do | the fence given |
/// | `KVB_ERR_OTHER_TOKENS` | the first block that has others | | |
/// | `KVB_ERR_SERVICE_FULL` | positions a step that it would demand | positions a step that are left | those that there may be |
/// | `KVB_ERR_NOT_EMPTY` | sequences | blocks being loaded | leases and loans |
/// | others | what was asked for | what there is | the most that there may be |
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_error {
    /// `sizeof(kvb_error)`.
    pub struct_size: u32,
    /// What the call returned.
    pub status: kvb_status,
    /// The shard where it failed, or `KVB_NO_SHARD`.
    pub shard: u32,
    /// Which of several the status is about, where it says so: a number of the input, a plane, a memory, a writer; otherwise 0.
    pub which: u32,
    /// See above; 0 where it says nothing.
    pub needed: u64,
    /// See above.
    pub available: u64,
    /// See above.
    pub limit: u64,
    /// Blocks of the shard that come back by themselves when a fence passes.
    pub quarantined: u64,
    /// The instance of a fleet where it failed, of several the one that comes nearest; or `KVB_NO_INSTANCE`.
    pub instance: u64,
    /// Blocks that all instances have together: ever for `KVB_ERR_NEVER_FITS`, now for `KVB_ERR_SHORTFALL`. They help nobody: a request
    /// runs on one. 0 outside of fleets.
    pub sum: u64,
    /// A sentence with the numbers, in UTF-8, ended by a zero.
    pub message: [c_char; KVB_MESSAGE_BYTES],
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_error {}

/// The figures of an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) shard: u32,
    pub(crate) needed: u64,
    pub(crate) available: u64,
    pub(crate) limit: u64,
    pub(crate) quarantined: u64,
    pub(crate) which: u32,
    pub(crate) instance: u64,
    pub(crate) sum: u64,
}

impl Figures {
    pub(crate) const NONE: Self = Self {
        shard: KVB_NO_SHARD,
        needed: 0,
        available: 0,
        limit: 0,
        quarantined: 0,
        which: 0,
        instance: KVB_NO_INSTANCE,
        sum: 0,
    };

    pub(crate) const fn needed(needed: usize) -> Self {
        Self {
            needed: needed as u64,
            ..Self::NONE
        }
    }

    pub(crate) const fn of(self, available: usize) -> Self {
        Self {
            available: available as u64,
            ..self
        }
    }

    pub(crate) const fn at_most(self, limit: usize) -> Self {
        Self {
            limit: limit as u64,
            ..self
        }
    }

    pub(crate) const fn on(self, shard: kvblock::ShardId) -> Self {
        Self {
            shard: shard.get(),
            ..self
        }
    }

    pub(crate) const fn at(self, instance: kvblock::InstanceId) -> Self {
        Self {
            instance: instance.get(),
            ..self
        }
    }

    pub(crate) const fn in_sum(self, blocks: usize) -> Self {
        Self {
            sum: blocks as u64,
            ..self
        }
    }

    pub(crate) const fn which(self, which: u32) -> Self {
        Self { which, ..self }
    }

    pub(crate) fn which_place(self, place: usize) -> Self {
        self.which(u32::try_from(place).unwrap_or(u32::MAX))
    }
}

/// An error that has a number in C.
pub(crate) trait Told: Display {
    fn status(&self) -> kvb_status;

    fn figures(&self) -> Figures {
        Figures::NONE
    }
}

/// The error of a call that does two things.
pub(crate) enum Either<A, B> {
    One(A),
    Other(B),
}

impl<A: Display, B: Display> Display for Either<A, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::One(error) => error.fmt(f),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl<A: Told, B: Told> Told for Either<A, B> {
    fn status(&self) -> kvb_status {
        match self {
            Self::One(error) => error.status(),
            Self::Other(error) => error.status(),
        }
    }
    fn figures(&self) -> Figures {
        match self {
            Self::One(error) => error.figures(),
            Self::Other(error) => error.figures(),
        }
    }
}

/// The caller's buffer has no room for all items.
pub(crate) struct NoRoom {
    pub(crate) needed: usize,
    pub(crate) got: usize,
}

impl Display for NoRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { needed, got } = self;
        write!(f, "a buffer for {needed} items is needed, {got} fit")
    }
}

impl Told for NoRoom {
    fn status(&self) -> kvb_status {
        KVB_ERR_TOO_SHORT
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.needed).of(self.got)
    }
}

/// Why a call failed: an argument cannot be used, or the library refuses.
pub(crate) enum Problem<E> {
    Argument(Argument),
    Refused(E),
}

impl<E> Problem<E> {
    /// As another error.
    pub(crate) fn map<F>(self, other: impl FnOnce(E) -> F) -> Problem<F> {
        match self {
            Self::Argument(argument) => Problem::Argument(argument),
            Self::Refused(error) => Problem::Refused(other(error)),
        }
    }
}

impl<E> From<Argument> for Problem<E> {
    fn from(argument: Argument) -> Self {
        Self::Argument(argument)
    }
}

/// The library refuses.
pub(crate) const fn refused<E>(error: E) -> Problem<E> {
    Problem::Refused(error)
}

/// Does a call whose only errors are those of its arguments.
pub(crate) fn plain(body: impl FnOnce() -> Result<(), Argument>) -> kvb_status {
    match body() {
        Ok(()) => KVB_OK,
        Err(Argument(status)) => status,
    }
}

/// Does a call and tells why it failed, if `error` is not null.
///
/// # Safety
/// * `error` is null or a `kvb_error` of the size that it says, which nobody else uses meanwhile.
pub(crate) unsafe fn call<E: Told>(
    error: *mut kvb_error,
    body: impl FnOnce() -> Result<(), Problem<E>>,
) -> kvb_status {
    let answer = if error.is_null() {
        None
    } else {
        // SAFETY: this function's contract.
        match unsafe { Answer::new(error) } {
            Ok(answer) => Some(answer),
            Err(Argument(status)) => return status,
        }
    };
    match body() {
        Ok(()) => KVB_OK,
        Err(problem) => tell(answer, &problem),
    }
}

/// Does a call that changes one object, and nothing else that it is given a pointer to.
///
/// # Safety
/// * The object is null, or lives and is used by nobody else meanwhile.
/// * As of [`call`].
pub(crate) unsafe fn change<T, E: Told>(
    object: *mut T,
    error: *mut kvb_error,
    body: impl FnOnce(&mut T) -> Result<(), E>,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract.
        let object = unsafe { arg::get_mut(object) }?;
        body(object).map_err(refused)
    };
    // SAFETY: this function's contract.
    unsafe { call(error, body) }
}

/// Does a call that changes two objects, and nothing else that it is given a pointer to.
///
/// # Safety
/// * As of [`change`], for each of them.
pub(crate) unsafe fn change_both<T, U, E: Told>(
    one: *mut T,
    other: *mut U,
    error: *mut kvb_error,
    body: impl FnOnce(&mut T, &mut U) -> Result<(), E>,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract, for both.
        let (one, other) = unsafe { (arg::get_mut(one)?, arg::get_mut(other)?) };
        body(one, other).map_err(refused)
    };
    // SAFETY: this function's contract.
    unsafe { call(error, body) }
}

#[cold]
fn tell<E: Told>(answer: Option<Answer<kvb_error>>, problem: &Problem<E>) -> kvb_status {
    let (status, figures) = match problem {
        Problem::Argument(argument) => (argument.0, Figures::NONE),
        Problem::Refused(error) => (error.status(), error.figures()),
    };
    if let Some(answer) = answer {
        let mut text = Text::<{ KVB_MESSAGE_BYTES - 1 }>::new();
        // What is too long is cut off.
        let _ = match problem {
            Problem::Argument(argument) => write!(text, "{argument}"),
            Problem::Refused(error) => write!(text, "{error}"),
        };
        answer.put(&kvb_error::new(status, &figures, text.as_bytes()));
    }
    status
}

impl kvb_error {
    fn new(status: kvb_status, figures: &Figures, text: &[u8]) -> Self {
        let mut message = [0; KVB_MESSAGE_BYTES];
        for (place, byte) in message.iter_mut().zip(text) {
            *place = c_char::from_ne_bytes([*byte]);
        }
        Self {
            struct_size: 0,
            status,
            shard: figures.shard,
            which: figures.which,
            needed: figures.needed,
            available: figures.available,
            limit: figures.limit,
            quarantined: figures.quarantined,
            instance: figures.instance,
            sum: figures.sum,
            message,
        }
    }
}
