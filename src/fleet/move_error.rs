//! Why a sequence is not moved, or not yet.

use core::error::Error;
use core::fmt;

use super::answers::Answer;
use super::error::{NoSuchInstance, SameInstance};
use super::member::{Entry, InstanceId};
use crate::error::{ReleaseAfterError, one_of};
use crate::sequence::{CommitError, ExportError, ImportError};
use crate::transfer::NotOpen;

/// Why a move did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MoveError {
    /// No such instance.
    NoSuchInstance(NoSuchInstance),
    /// It is there already.
    SameInstance(SameInstance),
    /// The destination serves another model.
    OtherModel {
        /// The source's.
        from: u64,
        /// The destination's.
        to: u64,
    },
    /// The destination takes nothing, as it is starting or draining.
    NotReady {
        /// Which.
        instance: InstanceId,
    },
    /// The request has fewer tokens than the sequence has positions.
    Shorter {
        /// Tokens of the request.
        tokens: usize,
        /// Positions of the sequence.
        positions: usize,
    },
    /// The request has other tokens than were computed, or another extra key: what is read would be found as something else.
    OtherTokens {
        /// The first such block of its table.
        block: usize,
    },
    /// The destination has too little token service left.
    ServiceFull {
        /// Which.
        instance: InstanceId,
        /// Positions a step that the sequence would demand.
        needed: u64,
        /// Positions a step that are demanded already.
        demanded: u64,
        /// Positions a step that admissions may bring it to.
        max_service: u64,
    },
    /// The source does not offer it.
    Export(ExportError),
    /// The destination does not take it.
    Import(ImportError),
}

impl MoveError {
    pub(super) fn refused(entry: &Entry, answer: Answer) -> Self {
        match answer {
            Answer::Admit(error) => Self::Import(error.into()),
            Answer::ServiceFull { needed, demanded } => Self::ServiceFull {
                instance: entry.id,
                needed,
                demanded,
                max_service: entry.member.max_service,
            },
        }
    }
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSuchInstance(error) => error.fmt(f),
            Self::SameInstance(error) => error.fmt(f),
            Self::OtherModel { from, to } => {
                write!(
                    f,
                    "the source serves model {from}, the destination model {to}"
                )
            }
            Self::NotReady { instance } => write!(f, "instance {instance} takes no sequences"),
            Self::Shorter { tokens, positions } => write!(
                f,
                "the request has {tokens} tokens, the sequence {positions} positions"
            ),
            Self::OtherTokens { block } => write!(
                f,
                "block {block} of the sequence has other tokens, or another extra key"
            ),
            Self::ServiceFull {
                instance,
                needed,
                demanded,
                max_service,
            } => super::refusal::service_full(f, instance, [needed, demanded, max_service]),
            Self::Export(error) => error.fmt(f),
            Self::Import(error) => error.fmt(f),
        }
    }
}
impl Error for MoveError {}

impl From<NoSuchInstance> for MoveError {
    fn from(error: NoSuchInstance) -> Self {
        Self::NoSuchInstance(error)
    }
}
impl From<SameInstance> for MoveError {
    fn from(error: SameInstance) -> Self {
        Self::SameInstance(error)
    }
}
impl From<ExportError> for MoveError {
    fn from(error: ExportError) -> Self {
        Self::Export(error)
    }
}
impl From<ImportError> for MoveError {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

/// The move was finished or aborted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MoveOver;

impl fmt::Display for MoveOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the move was finished or aborted before")
    }
}
impl Error for MoveOver {}

one_of! {
    /// Why a move was not finished.
    FinishError {
        /// It is over.
        Over(MoveOver),
        /// An instance of it was removed, or is another fleet's.
        NoSuchInstance(NoSuchInstance),
        /// The destination can't take it over yet, or not at all.
        Commit(CommitError),
        /// The lanes can't take the source's blocks.
        Lane(ReleaseAfterError),
    }
}
one_of! {
    /// Why a move was not aborted.
    AbortError {
        /// It is over.
        Over(MoveOver),
        /// It is another fleet's.
        NoSuchInstance(NoSuchInstance),
        /// The destination has the sequence.
        NotOpen(NotOpen),
    }
}
