//! The errors of leases in C.

use kvblock::{LeaseError, PinError};

use super::pool::told_by_its_parts;
use super::{Figures, Told};
use crate::status::*;

told_by_its_parts! {
    PinError { Stale, Lease };
}

impl Told for LeaseError {
    fn status(&self) -> kvb_status {
        match self {
            Self::WrongPool => KVB_ERR_WRONG_POOL,
            Self::OwnerTaken { .. } => KVB_ERR_OWNER_TAKEN,
            Self::AlreadyOver { .. } => KVB_ERR_ALREADY_OVER,
            Self::OverBudget { .. } => KVB_ERR_OVER_BUDGET,
            Self::TooManyReferences(error) => error.status(),
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::OwnerTaken { owner } => Figures {
                needed: owner.get(),
                ..Figures::NONE
            },
            Self::AlreadyOver { deadline, now } => Figures {
                needed: deadline,
                available: now,
                ..Figures::NONE
            },
            Self::OverBudget { needed, left } => Figures::needed(needed).of(left),
            Self::TooManyReferences(error) => error.figures(),
            _ => Figures::NONE,
        }
    }
}
