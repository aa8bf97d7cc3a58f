//! The errors of transfers in C.

use kvblock::{
    AnswerError, CommitError, ExportError, ImportError, Incompatible, MAX_WRITERS, MoveAborted,
    NotArrived, NotOpen, OtherNamespace, SourceTaken, TooManyBytes, TooManyWriters, UnknownFormat,
};

use super::pool::told_by_its_parts;
use super::{Figures, Told};
use crate::status::*;

told_by_its_parts! {
    ExportError { Stale, InTransit, CopyPending, OtherNamespace, Lease, Refused, OutOfMemory };
    ImportError {
        Admit, Beyond, TooManyWriters, Incompatible, OtherNamespace, SourceTaken, UnknownFormat, TooManyBytes, OutOfMemory,
    };
    CommitError { Stale, NotArrived, Aborted };
}

impl Told for OtherNamespace {
    fn status(&self) -> kvb_status {
        KVB_ERR_OTHER_NAMESPACE
    }
}

impl Told for SourceTaken {
    fn status(&self) -> kvb_status {
        KVB_ERR_SOURCE_TAKEN
    }
}

impl Told for UnknownFormat {
    fn status(&self) -> kvb_status {
        KVB_ERR_UNKNOWN_FORMAT
    }
}

impl Told for MoveAborted {
    fn status(&self) -> kvb_status {
        KVB_ERR_MOVE_ABORTED
    }
}

impl Told for TooManyWriters {
    fn status(&self) -> kvb_status {
        KVB_ERR_TOO_MANY_WRITERS
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.asked).at_most(MAX_WRITERS)
    }
}

impl Told for TooManyBytes {
    fn status(&self) -> kvb_status {
        KVB_ERR_TOO_MANY_BYTES
    }
    fn figures(&self) -> Figures {
        Figures {
            needed: self.asked,
            available: self.max.saturating_sub(self.in_flight),
            limit: self.max,
            ..Figures::NONE
        }
    }
}

impl Told for NotArrived {
    fn status(&self) -> kvb_status {
        KVB_ERR_NOT_ARRIVED
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.expected)
            .of(self.arrived)
            .at_most(self.left)
    }
}

impl Told for Incompatible {
    fn status(&self) -> kvb_status {
        KVB_ERR_INCOMPATIBLE
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::Shards { ours, theirs }
            | Self::BlockSize { ours, theirs }
            | Self::Planes { ours, theirs } => Figures::needed(ours).of(theirs),
            Self::Element { ours, theirs } => Figures {
                needed: ours.get().into(),
                available: theirs.get().into(),
                ..Figures::NONE
            },
            Self::PlaneBytes {
                plane,
                ours,
                theirs,
            } => Figures {
                needed: ours,
                available: theirs,
                ..Figures::NONE
            }
            .which_place(plane),
            Self::Inner { plane, .. } => Figures::NONE.which_place(plane),
            _ => Figures::NONE,
        }
    }
}

impl Told for AnswerError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchWriter { .. } => KVB_ERR_NO_SUCH_WRITER,
            Self::OutOfRange { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::Repeated { .. } => KVB_ERR_ANSWERED,
            Self::Ended { .. } => KVB_ERR_WRITER_ENDED,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchWriter { writer, writers } => {
                Figures::NONE.at_most(writers).which_place(writer)
            }
            Self::OutOfRange { end, blocks } => Figures::needed(end).at_most(blocks),
            Self::Repeated { writer, at } => Figures::needed(at).which_place(writer),
            Self::Ended { writer } => Figures::NONE.which_place(writer),
            _ => Figures::NONE,
        }
    }
}

impl Told for NotOpen {
    fn status(&self) -> kvb_status {
        match self {
            Self::Linked => KVB_ERR_LINKED,
            Self::Committed => KVB_ERR_COMMITTED,
            Self::Aborted => KVB_ERR_ABORTED,
            Self::LeaseOver => KVB_ERR_LEASE_ENDED,
            _ => KVB_ERR_UNKNOWN,
        }
    }
}
