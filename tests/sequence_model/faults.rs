//! Errors of a registry as its model tells them.

use kvblock::{
    AdmitError, AppendError, BranchError, ComputedError, DetachError, InTransit, ReadError, Stale,
    TokensError, TruncateError,
};

use crate::ops::{refused, wrong_length};
use crate::registry::Fault;
use crate::transit::Hindrance;

pub(crate) fn refusal(error: kvblock::Refused) -> Fault {
    Fault::Refused(refused(Err(error)).expect_err("it is an error"))
}

pub(crate) fn admit_fault(error: AdmitError) -> Fault {
    match error {
        AdmitError::Refused(error) => refusal(error),
        AdmitError::LengthMismatch(error) => Fault::Length(wrong_length(error)),
        AdmitError::TooManySequences(error) => Fault::TooManySequences { max: error.max },
        other => panic!("{other:?}"),
    }
}

pub(crate) fn append_fault(error: AppendError) -> Fault {
    match error {
        AppendError::Stale(Stale) => Fault::Stale,
        AppendError::Refused(error) => refusal(error),
        AppendError::InTransit(error) => in_transit(error),
        AppendError::CapReached(error) => Fault::CapReached {
            cap: error.cap,
            asked: error.asked,
        },
        other => panic!("{other:?}"),
    }
}

pub(crate) fn in_transit(error: InTransit) -> Fault {
    Fault::InTransit(match error {
        InTransit::Loading { arrived } => Hindrance::Loading { arrived },
        InTransit::Uncommitted => Hindrance::Uncommitted,
        InTransit::Leaving => Hindrance::Leaving,
        InTransit::Moved => Hindrance::Moved,
        other => panic!("{other:?}"),
    })
}

pub(crate) fn truncate_fault(error: TruncateError) -> Fault {
    match error {
        TruncateError::Stale(Stale) => Fault::Stale,
        TruncateError::Beyond(beyond) => Fault::Beyond {
            asked: beyond.asked,
            positions: beyond.positions,
        },
        TruncateError::InTransit(error) => in_transit(error),
        TruncateError::Refused(error) => refusal(error),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn tokens_fault(error: TokensError) -> Fault {
    match error {
        TokensError::Stale(Stale) => Fault::Stale,
        TokensError::NotNext(error) => Fault::NotNext {
            at: error.at,
            known: error.known,
        },
        TokensError::Beyond(error) => Fault::Beyond {
            asked: error.asked,
            positions: error.positions,
        },
        TokensError::LengthMismatch(error) => Fault::Length(wrong_length(error)),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn read_fault(error: ReadError) -> Fault {
    match error {
        ReadError::Stale(Stale) => Fault::Stale,
        ReadError::Beyond(error) => Fault::Beyond {
            asked: error.asked,
            positions: error.positions,
        },
        ReadError::TooShort(error) => Fault::TooShort {
            needed: error.needed,
            got: error.got,
        },
        other => panic!("{other:?}"),
    }
}

pub(crate) fn branch_fault(error: BranchError) -> Fault {
    match error {
        BranchError::Stale(Stale) => Fault::Stale,
        BranchError::Refused(error) => refusal(error),
        BranchError::InTransit(error) => in_transit(error),
        BranchError::TooManySequences(error) => Fault::TooManySequences { max: error.max },
        other => panic!("{other:?}"),
    }
}

pub(crate) fn computed_fault(error: ComputedError) -> Fault {
    match error {
        ComputedError::Stale(Stale) => Fault::Stale,
        ComputedError::Beyond(beyond) => Fault::Beyond {
            asked: beyond.asked,
            positions: beyond.positions,
        },
        ComputedError::InTransit(error) => in_transit(error),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn detach_fault(error: DetachError) -> Fault {
    match error {
        DetachError::Stale(Stale) => Fault::Stale,
        DetachError::CopyPending(_) => Fault::CopyPending,
        DetachError::InTransit(error) => in_transit(error),
        other => panic!("{other:?}"),
    }
}
