//! What can be wrong with a call to one end of a transfer. After each of these nothing has changed.

use core::error::Error;
use core::fmt;

/// An answer of a writer that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// No such writer.
    NoSuchWriter {
        /// The one named.
        writer: usize,
        /// Writers of the transfer, numbered from 0.
        writers: usize,
    },
    /// No such block.
    OutOfRange {
        /// The end of the range named.
        end: usize,
        /// Blocks of the transfer.
        blocks: usize,
    },
    /// The writer has answered for this block before, or has ended.
    Repeated {
        /// Who.
        writer: usize,
        /// The first such block, by its place in the transfer.
        at: usize,
    },
    /// The writer has ended before.
    Ended {
        /// Who.
        writer: usize,
    },
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSuchWriter { writer, writers } => {
                write!(f, "writer {writer} is none of the {writers}")
            }
            Self::OutOfRange { end, blocks } => {
                write!(f, "block {end} is beyond the transfer's {blocks}")
            }
            Self::Repeated { writer, at } => {
                write!(f, "writer {writer} has answered for block {at} before")
            }
            Self::Ended { writer } => write!(f, "writer {writer} has ended before"),
        }
    }
}
impl Error for AnswerError {}

/// An export does not end so, or has ended already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotOpen {
    /// An import of this process reads it: its registry commits.
    Linked,
    /// The other side goes on with the sequence.
    Committed,
    /// The source keeps it.
    Aborted,
    /// The lease was over before the end: the source keeps the sequence.
    LeaseOver,
}

impl fmt::Display for NotOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linked => "an import reads the export, and its registry commits",
            Self::Committed => "the export has been committed",
            Self::Aborted => "the export has been aborted",
            Self::LeaseOver => "the lease of the export was over before its end",
        })
    }
}
impl Error for NotOpen {}
