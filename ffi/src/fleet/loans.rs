//! Memory that one instance lends to another on the same devices.

use kvblock::{Fleet, InstanceId, LendError, Loan, LoanError, LoanStage, LoanState, NoSuchLoan};

use super::{kvb_fleet, list};
use crate::arg::{self, Answer, Versioned};
use crate::error::{self, Problem, kvb_error, plain, refused};
use crate::status::kvb_status;

/// The lender has the memory still: `left` of its blocks are held, and go offline when they are released.
pub const KVB_LOAN_DRAINING: u32 = 0;
/// The borrower has it.
pub const KVB_LOAN_LENT: u32 = 1;
/// The borrower has it still, and gives it back: `left` of its blocks are held.
pub const KVB_LOAN_RETURNING: u32 = 2;
/// The lender has it again.
pub const KVB_LOAN_OVER: u32 = 3;

/// A loan at one instant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_loan {
    /// `sizeof(kvb_loan)`.
    pub struct_size: u32,
    /// `KVB_LOAN_*`: who has the memory.
    pub stage: u32,
    /// Whose memory it is.
    pub from: u64,
    /// Who gets it.
    pub to: u64,
    /// Blocks that the lender gives on each rank or shard.
    pub given: u64,
    /// Blocks that the borrower gets for them on each rank or shard.
    pub taken: u64,
    /// Bytes over all ranks or shards that are left over, as they are too few for a block more on each.
    pub left_over_bytes: u64,
    /// Blocks above the limit that are still in service, over all shards of the one that is to give.
    pub left: u64,
}

// SAFETY: integers only.
unsafe impl Versioned for kvb_loan {}

impl From<LoanState> for kvb_loan {
    fn from(state: LoanState) -> Self {
        let (stage, left) = match state.stage {
            LoanStage::Draining { left } => (KVB_LOAN_DRAINING, left),
            LoanStage::Lent => (KVB_LOAN_LENT, 0),
            LoanStage::Returning { left } => (KVB_LOAN_RETURNING, left),
            _ => (KVB_LOAN_OVER, 0),
        };
        Self {
            struct_size: 0,
            stage,
            from: state.from.get(),
            to: state.to.get(),
            given: state.given as u64,
            taken: state.taken as u64,
            left_over_bytes: state.left_over_bytes,
            left: left as u64,
        }
    }
}

/// Lends `blocks` blocks of each rank or shard of an instance to another one on the same devices: takes them out of the lender's service at
/// once, and those that are held when they are released. When none is left, `kvb_fleet_settle` gives the borrower as many blocks as their
/// bytes are enough for. Rank for rank, the two are taken to be on the same device. Who has borrowed lends nothing, and who has lent
/// borrows nothing. `*loan` names the loan.
///
/// Threads: the fleet's. As `kvb_seqs_shrink`. Errors, after which nothing has changed: `KVB_ERR_NO_SUCH_INSTANCE`,
/// `KVB_ERR_SAME_INSTANCE`, `KVB_ERR_LOAN_CROSSES` (`error->instance` is the other side of loan `error->needed`), `KVB_ERR_INCOMPATIBLE`
/// (unlike numbers of ranks), `KVB_ERR_UNKNOWN_FORMAT` (bytes are those of the formats that the registries were made with),
/// `KVB_ERR_TOO_FEW_BYTES`, `KVB_ERR_BEYOND_MAX` (the borrower never has room), those of `kvb_seqs_shrink`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_lend(
    fleet: *mut kvb_fleet,
    from: u64,
    to: u64,
    blocks: usize,
    loan: *mut u64,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get_mut(fleet)?, arg::place(loan)?) };
        let lent = fleet
            .inner
            .lend(InstanceId::new(from), InstanceId::new(to), blocks);
        out.write(lent.map_err(refused::<LendError>)?.get());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lets a loan go on if nothing drains any more, and says how far it is. Ask again until the stage is the one that you wait for. One that is
/// over is known no more after that was said.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. As `kvb_seqs_shrink` while something drains,
/// and `kvb_seqs_grow` once. Errors, after which the loan is as it was: `KVB_ERR_NO_SUCH_LOAN`, `KVB_ERR_NO_SUCH_INSTANCE`, those of
/// `kvb_seqs_grow` with `error->instance`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_settle(
    fleet: *mut kvb_fleet,
    loan: u64,
    out: *mut kvb_loan,
    error: *mut kvb_error,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { go_on(fleet, out, error, |fleet| fleet.settle(Loan::new(loan))) }
}

/// Gives the memory of a loan back: takes the borrower's blocks out of its service, and lets `kvb_fleet_settle` give the lender its own when
/// none drains. If the borrower has not got them yet it is over at once.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. As `kvb_seqs_shrink`. Errors, after which the
/// loan is as it was: `KVB_ERR_NO_SUCH_LOAN`, `KVB_ERR_NO_SUCH_INSTANCE`, `KVB_ERR_SHORTFALL` and others of `kvb_seqs_shrink` with
/// `error->instance`: the borrower can't do without them now. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_give_back(
    fleet: *mut kvb_fleet,
    loan: u64,
    out: *mut kvb_loan,
    error: *mut kvb_error,
) -> kvb_status {
    // SAFETY: the head of the header says what pointers must be.
    unsafe { go_on(fleet, out, error, |fleet| fleet.give_back(Loan::new(loan))) }
}

/// # Safety
/// * As of the two above.
unsafe fn go_on(
    fleet: *mut kvb_fleet,
    out: *mut kvb_loan,
    error: *mut kvb_error,
    step: impl FnOnce(&mut Fleet) -> Result<LoanState, LoanError>,
) -> kvb_status {
    let body = || {
        // SAFETY: this function's contract, for both.
        let (fleet, out) = unsafe { (arg::get_mut(fleet)?, Answer::new(out)?) };
        out.put(&step(&mut fleet.inner).map_err(refused)?.into());
        Ok(())
    };
    // SAFETY: this function's contract.
    unsafe { error::call(error, body) }
}

/// How far a loan was when it was asked last. Changes nothing.
///
/// Ownership: `out->struct_size` is yours to set, the rest is written. Threads: the fleet's. O(log loans).
/// Errors: `KVB_ERR_NO_SUCH_LOAN`: it is over, or another fleet's; `KVB_ERR_STRUCT_SIZE`. NULL: only `error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_get_loan(
    fleet: *const kvb_fleet,
    loan: u64,
    out: *mut kvb_loan,
    error: *mut kvb_error,
) -> kvb_status {
    let body = || {
        // SAFETY: the head of the header says what pointers must be; so for both.
        let (fleet, out) = unsafe { (arg::get(fleet)?, Answer::new(out)?) };
        let state = fleet.inner.loan(Loan::new(loan));
        out.put(&state.map_err(refused)?.into());
        Ok::<_, Problem<NoSuchLoan>>(())
    };
    // SAFETY: as above.
    unsafe { error::call(error, body) }
}

/// Lists the loans that are not over, in the order in which they were given: the first `capacity` of them. `*count` is how many there are.
///
/// Ownership: `out` has room for `capacity`. Threads: the fleet's. O(loans), no allocation. Errors: none but those of pointers.
/// NULL: `out` if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kvb_fleet_list_loans(
    fleet: *const kvb_fleet,
    out: *mut u64,
    capacity: usize,
    count: *mut usize,
) -> kvb_status {
    plain(|| {
        // SAFETY: the head of the header says what pointers must be; so for each of these.
        let (fleet, out) = unsafe { (arg::get(fleet)?, arg::places(out, capacity)?) };
        // SAFETY: as above.
        let count = unsafe { arg::place(count) }?;
        count.write(list(out, fleet.inner.loans().map(Loan::get)));
        Ok(())
    })
}
