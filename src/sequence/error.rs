//! What can be wrong with a call to a registry. After each of these, registry and pool are as they were before the call.

use core::error::Error;
use core::fmt;

use super::transit::InTransit;
use crate::block::ShardId;
use crate::error::{
    LengthMismatch, OutOfMemory, Refused, ReleaseAfterError, TooManyReferences, WrongPool, one_of,
};
use crate::lease::LeaseError;
use crate::transfer::{Incompatible, MAX_WRITERS, TooManyBytes};

/// The handle or ticket names nothing in this registry: it was released, preempted, detached or done, or is another registry's (one of
/// the same pool, or of a pool with another [`ShardId`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stale;

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it names nothing in this registry, or no longer")
    }
}
impl Error for Stale {}

/// The registry has no slot left for another sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManySequences {
    /// Slots of the registry.
    pub max: usize,
}

impl fmt::Display for TooManySequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the registry has {} slots, and too few are vacant",
            self.max
        )
    }
}
impl Error for TooManySequences {}

/// The append would go beyond the cap that was asked for at admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapReached {
    /// Positions that the sequence may have in all.
    pub cap: usize,
    /// Positions that it would have.
    pub asked: usize,
}

impl fmt::Display for CapReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} positions are over the sequence's cap of {}",
            self.asked, self.cap
        )
    }
}
impl Error for CapReached {}

/// More positions were named than the sequence has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beyond {
    /// The end that was named.
    pub asked: usize,
    /// Positions of the sequence.
    pub positions: usize,
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "position {} is beyond the sequence's {}",
            self.asked, self.positions
        )
    }
}
impl Error for Beyond {}

/// Tokens must be told in order: these do not continue those that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotNext {
    /// Where the given ones would begin.
    pub at: usize,
    /// Where the next unknown position is.
    pub known: usize,
}

impl fmt::Display for NotNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tokens given for position {}, the next unknown one is {}",
            self.at, self.known
        )
    }
}
impl Error for NotNext {}

/// A copy into one of the sequence's blocks is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CopyPending;

impl fmt::Display for CopyPending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a copy into one of its blocks has not been reported as made")
    }
}
impl Error for CopyPending {}

/// The caller's slice has no room for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooShort {
    /// Entries to be written.
    pub needed: usize,
    /// Entries that there are.
    pub got: usize,
}

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries do not fit in {}", self.needed, self.got)
    }
}
impl Error for TooShort {}

/// The transfer would have no writer, or more than [`MAX_WRITERS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyWriters {
    /// Writers asked for.
    pub asked: usize,
}

impl fmt::Display for TooManyWriters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} writers are not between 1 and {MAX_WRITERS}",
            self.asked
        )
    }
}
impl Error for TooManyWriters {}

/// The export is read by another import, or it is over, or its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SourceTaken;

impl fmt::Display for SourceTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the export is read by another import, or it is over")
    }
}
impl Error for SourceTaken {}

/// Bytes are to be counted, and neither end says how the content is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes are to be counted, and neither end says how many a block has")
    }
}
impl Error for UnknownFormat {}

/// The content is of another namespace than the one named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OtherNamespace;

impl fmt::Display for OtherNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sequence is of another namespace")
    }
}
impl Error for OtherNamespace {}

/// Not everything has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotArrived {
    /// Positions that are there.
    pub arrived: usize,
    /// Positions that were to come.
    pub expected: usize,
    /// Blocks that writers may still touch.
    pub left: usize,
}

impl fmt::Display for NotArrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} positions have arrived, {} blocks are not settled",
            self.arrived, self.expected, self.left
        )
    }
}
impl Error for NotArrived {}

/// The move was aborted: its source keeps the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MoveAborted;

impl fmt::Display for MoveAborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the move was aborted, its source keeps the sequence")
    }
}
impl Error for MoveAborted {}

one_of! {
    /// Why victims could not be chosen.
    VictimsError {
        /// A handle names nothing.
        Stale(Stale),
        /// No memory to count what they would give back.
        OutOfMemory(OutOfMemory),
    }
}

one_of! {
    /// Why a sequence was not imported.
    ImportError {
        /// It was not admitted.
        Admit(AdmitError),
        /// More positions are to come than the prompt has, or the export offers.
        Beyond(Beyond),
        /// No writer, or too many.
        TooManyWriters(TooManyWriters),
        /// The two ends lay blocks out differently.
        Incompatible(Incompatible),
        /// The export is of another namespace than the prompt.
        OtherNamespace(OtherNamespace),
        /// The export is not to be had.
        SourceTaken(SourceTaken),
        /// Bytes are to be counted, and nobody says how many a block has.
        UnknownFormat(UnknownFormat),
        /// Too many bytes are under way.
        TooManyBytes(TooManyBytes),
        /// No memory for its lists.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why a moved sequence was not taken over.
    CommitError {
        /// No such sequence.
        Stale(Stale),
        /// Something is still to come, or will not.
        NotArrived(NotArrived),
        /// It was called off.
        Aborted(MoveAborted),
    }
}
one_of! {
    /// Why what is published of a sequence was not pinned.
    PinError {
        /// No such sequence.
        Stale(Stale),
        /// No lease on its blocks.
        Lease(LeaseError),
    }
}
one_of! {
    /// Why a sequence was not offered.
    ExportError {
        /// No such sequence.
        Stale(Stale),
        /// It takes part in another transfer.
        InTransit(InTransit),
        /// What is to be read has not been copied there yet.
        CopyPending(CopyPending),
        /// It is of another namespace than the one named.
        OtherNamespace(OtherNamespace),
        /// No lease on its blocks.
        Lease(LeaseError),
        /// No block for the copy that the next write behind a shared end will need.
        Refused(Refused),
        /// No memory for it.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why a sequence was not admitted.
    AdmitError {
        /// There is no room, now or ever.
        Refused(Refused),
        /// A slice of the prompt has a wrong length.
        LengthMismatch(LengthMismatch),
        /// No slot is left.
        TooManySequences(TooManySequences),
        /// No memory for its lists.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why positions were not appended.
    AppendError {
        /// No such sequence.
        Stale(Stale),
        /// There is no room, now or ever.
        Refused(Refused),
        /// They are over the sequence's cap.
        CapReached(CapReached),
        /// A transfer of the sequence does not allow it now.
        InTransit(InTransit),
        /// The prefix of a block to be copied cannot have one more owner.
        TooManyReferences(TooManyReferences),
        /// No memory for its lists.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why tokens were not taken down.
    TokensError {
        /// No such sequence.
        Stale(Stale),
        /// They do not continue the known ones.
        NotNext(NotNext),
        /// There are more than positions.
        Beyond(Beyond),
        /// Not one extra key or chain key for each block that they fill.
        LengthMismatch(LengthMismatch),
        /// No memory for them.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why positions were not marked as computed.
    ComputedError {
        /// No such sequence.
        Stale(Stale),
        /// There are fewer positions.
        Beyond(Beyond),
        /// Writers may still touch these positions, or the sequence is being swapped.
        InTransit(InTransit),
    }
}
one_of! {
    /// Why a sequence was not shortened.
    TruncateError {
        /// No such sequence.
        Stale(Stale),
        /// It is shorter.
        Beyond(Beyond),
        /// A transfer of the sequence does not allow it now.
        InTransit(InTransit),
        /// No block for the copy that its next append will need, or for a promise that stays.
        Refused(Refused),
    }
}
one_of! {
    /// Why a sequence was not ended after a fence.
    EndAfterError {
        /// No such sequence.
        Stale(Stale),
        /// The lane can't take its blocks.
        Lane(ReleaseAfterError),
    }
}
one_of! {
    /// Why a sequence was not shortened after a fence.
    TruncateAfterError {
        /// It can't be shortened.
        Truncate(TruncateError),
        /// The lane can't take the blocks.
        Lane(ReleaseAfterError),
        /// The published path above the given-back blocks cannot have one more owner.
        TooManyReferences(TooManyReferences),
    }
}
one_of! {
    /// Why a sequence was not forked.
    BranchError {
        /// No such sequence.
        Stale(Stale),
        /// A transfer of the sequence does not allow it now.
        InTransit(InTransit),
        /// The promises of the children have no room.
        Refused(Refused),
        /// A block cannot have so many owners more.
        TooManyReferences(TooManyReferences),
        /// Too few slots are left.
        TooManySequences(TooManySequences),
        /// No memory for their lists.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why a table or slots were not written.
    ReadError {
        /// No such sequence.
        Stale(Stale),
        /// It has fewer positions.
        Beyond(Beyond),
        /// The slice is too short.
        TooShort(TooShort),
    }
}
one_of! {
    /// Why a sequence was not taken out.
    DetachError {
        /// No such sequence.
        Stale(Stale),
        /// A copy is under way.
        CopyPending(CopyPending),
        /// A transfer of the sequence is under way.
        InTransit(InTransit),
        /// No memory for its list of shards.
        OutOfMemory(OutOfMemory),
    }
}
one_of! {
    /// Why a detached sequence was not taken in.
    AttachError {
        /// It is another pool's.
        WrongPool(WrongPool),
        /// No slot is left.
        TooManySequences(TooManySequences),
    }
}

/// An error that may be a refusal for want of blocks: those are counted.
pub(crate) trait MayRefuse {
    /// The refusal, if it is one.
    fn refused(&self) -> Option<Refused>;

    /// Whether it is one of this shard.
    fn is_of(&self, named: ShardId) -> bool {
        self.refused().is_some_and(|refused| {
            let (Refused::NeverFits { shard, .. } | Refused::Shortfall { shard, .. }) = refused;
            shard == named
        })
    }
}

macro_rules! may_refuse {
    ($($error:ident),+) => {
        $(impl MayRefuse for $error {
            fn refused(&self) -> Option<Refused> {
                match *self {
                    Self::Refused(refused) => Some(refused),
                    _ => None,
                }
            }
        })+
    };
}
may_refuse!(
    AdmitError,
    AppendError,
    BranchError,
    ExportError,
    TruncateError
);
