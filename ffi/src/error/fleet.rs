//! The errors of fleets in C.

use kvblock::{
    AbortError, AddError, FinishError, LendError, LoanError, MoveError, MoveOver, NoPlace,
    NoService, NoSuchInstance, NoSuchLoan, NotEmpty, RemoveError, SameInstance, SettleError,
    SharedName, SharedPool,
};

use super::pool::told_by_its_parts;
use super::{Figures, Told};
use crate::status::*;

told_by_its_parts! {
    AddError { NoService, SharedPool, SharedName, Create, OutOfMemory };
    RemoveError { NoSuchInstance, NotEmpty };
    FinishError { Over, NoSuchInstance, Commit, Lane };
    AbortError { Over, NoSuchInstance, NotOpen };
    LoanError { NoSuchLoan, NoSuchInstance, Resize };
}

impl Told for NoService {
    fn status(&self) -> kvb_status {
        KVB_ERR_NO_SERVICE
    }
}

impl Told for MoveOver {
    fn status(&self) -> kvb_status {
        KVB_ERR_MOVE_OVER
    }
}

impl Told for NoSuchInstance {
    fn status(&self) -> kvb_status {
        KVB_ERR_NO_SUCH_INSTANCE
    }
    fn figures(&self) -> Figures {
        Figures::NONE.at(self.instance)
    }
}

impl Told for SameInstance {
    fn status(&self) -> kvb_status {
        KVB_ERR_SAME_INSTANCE
    }
    fn figures(&self) -> Figures {
        Figures::NONE.at(self.instance)
    }
}

impl Told for SharedPool {
    fn status(&self) -> kvb_status {
        KVB_ERR_SHARED_POOL
    }
    fn figures(&self) -> Figures {
        Figures::NONE.on(self.shard).at(self.instance)
    }
}

impl Told for SharedName {
    fn status(&self) -> kvb_status {
        KVB_ERR_SHARED_NAME
    }
    fn figures(&self) -> Figures {
        Figures::NONE.on(self.shard).at(self.instance)
    }
}

impl Told for NotEmpty {
    fn status(&self) -> kvb_status {
        KVB_ERR_NOT_EMPTY
    }
    fn figures(&self) -> Figures {
        Figures::needed(self.sequences)
            .of(self.loading)
            .at_most(self.leases.saturating_add(self.loans))
    }
}

impl Told for NoSuchLoan {
    fn status(&self) -> kvb_status {
        KVB_ERR_NO_SUCH_LOAN
    }
    fn figures(&self) -> Figures {
        asked(self.loan.get())
    }
}

impl Told for SettleError {
    fn status(&self) -> kvb_status {
        self.error.status()
    }
    fn figures(&self) -> Figures {
        self.error.figures().at(self.instance)
    }
}

const fn asked(needed: u64) -> Figures {
    Figures {
        needed,
        ..Figures::NONE
    }
}

const fn service_full(needed: u64, demanded: u64, max_service: u64) -> Figures {
    Figures {
        available: max_service.saturating_sub(demanded),
        limit: max_service,
        ..asked(needed)
    }
}

impl Told for NoPlace {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchModel { .. } => KVB_ERR_NO_SUCH_MODEL,
            Self::NotReady { .. } => KVB_ERR_NOT_READY,
            Self::Never { .. } => KVB_ERR_NEVER_FITS,
            Self::Later { refused, .. } => refused.status(),
            Self::ServiceFull { .. } => KVB_ERR_SERVICE_FULL,
            Self::Admit(error) => error.status(),
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchModel { model } => asked(model),
            Self::NotReady { model, instances } => asked(model).at_most(instances),
            Self::Never {
                instance,
                shard,
                needed,
                largest_capacity,
                sum_capacity,
            } => Figures::needed(needed)
                .at_most(largest_capacity)
                .on(shard)
                .at(instance)
                .in_sum(sum_capacity),
            Self::Later {
                instance,
                refused,
                available_sum,
                ..
            } => refused.figures().at(instance).in_sum(available_sum),
            Self::ServiceFull {
                instance,
                needed,
                demanded,
                max_service,
            } => service_full(needed, demanded, max_service).at(instance),
            Self::Admit(error) => error.figures(),
            _ => Figures::NONE,
        }
    }
}

impl Told for MoveError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchInstance(error) => error.status(),
            Self::SameInstance(error) => error.status(),
            Self::OtherModel { .. } => KVB_ERR_OTHER_MODEL,
            Self::NotReady { .. } => KVB_ERR_NOT_READY,
            Self::Shorter { .. } => KVB_ERR_LENGTH_MISMATCH,
            Self::OtherTokens { .. } => KVB_ERR_OTHER_TOKENS,
            Self::ServiceFull { .. } => KVB_ERR_SERVICE_FULL,
            Self::Export(error) => error.status(),
            Self::Import(error) => error.status(),
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchInstance(error) => error.figures(),
            Self::SameInstance(error) => error.figures(),
            Self::OtherModel { from, to } => Figures {
                available: to,
                ..asked(from)
            },
            Self::NotReady { instance } => Figures::NONE.at(instance),
            Self::Shorter { tokens, positions } => Figures::needed(positions).of(tokens),
            Self::OtherTokens { block } => Figures::needed(block),
            Self::ServiceFull {
                instance,
                needed,
                demanded,
                max_service,
            } => service_full(needed, demanded, max_service).at(instance),
            Self::Export(error) => error.figures(),
            Self::Import(error) => error.figures(),
            _ => Figures::NONE,
        }
    }
}

impl Told for LendError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchInstance(error) => error.status(),
            Self::SameInstance(error) => error.status(),
            Self::Crossed { .. } => KVB_ERR_LOAN_CROSSES,
            Self::Ranks { .. } => KVB_ERR_INCOMPATIBLE,
            Self::UnknownFormat { .. } => KVB_ERR_UNKNOWN_FORMAT,
            Self::TooFew { .. } => KVB_ERR_TOO_FEW_BYTES,
            Self::Lender(error) | Self::Borrower(error) => error.status(),
            Self::OutOfMemory => KVB_ERR_NO_MEMORY,
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchInstance(error) => error.figures(),
            Self::SameInstance(error) => error.figures(),
            Self::Crossed { instance, loan } => asked(loan.get()).at(instance),
            Self::Ranks { from, to } => Figures::needed(from).of(to),
            Self::UnknownFormat { instance, shard } => Figures::NONE.on(shard).at(instance),
            Self::TooFew {
                shard,
                bytes,
                block_bytes,
            } => Figures {
                available: bytes,
                ..asked(block_bytes)
            }
            .on(shard),
            Self::Lender(error) | Self::Borrower(error) => error.figures(),
            _ => Figures::NONE,
        }
    }
}
