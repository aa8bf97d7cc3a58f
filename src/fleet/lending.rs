//! Two models on the same devices lend each other memory: the lender's blocks go offline first, and only then does the borrower get blocks
//! for their bytes; the same the other way round.
//!
//! ```text
//! lend ──> Draining ──> Lent ──> Returning ──> Over
//!             └────── give_back ──────────────> Over
//! ```
//! Bytes are counted for each rank, places are not: which ids go offline and come online is the pools' own, always the uppermost. The
//! engine maps memory behind the blocks that come online. If it can't map any memory behind any block, loans must be given back in the
//! reverse of their order.
//!
//! Who has borrowed lends nothing, and who has lent borrows nothing. So a loan always comes back when what is in use of it is released:
//! the borrower has its own blocks beside, and the lender has room for those that come back.

use super::Fleet;
use super::error::NoSuchInstance;
use super::loan::{Debt, Loan, LoanStage, LoanState};
use super::loan_error::{LendError, LoanError, NoSuchLoan, SettleError};
use super::member::{Entry, InstanceId};
use crate::error::ResizeError;
use crate::instance::{Instance, InstanceResizeError};
use crate::transfer::KvFormat;

impl Fleet {
    /// Lends `blocks` blocks of each rank or shard of an instance to another one on the same devices: takes them out of the lender's
    /// service at once, and those that are held when they are released. When none is left, [`settle`](Self::settle) gives the borrower
    /// as many blocks as their bytes are enough for, on each rank as many as on the one where they are the fewest. Rank for rank, the two
    /// are taken to be on the same device. Who has borrowed lends nothing, and who has lent borrows nothing. What is lent is not the
    /// lender's: who grows it by its own [calls](crate::Instance::grow) meanwhile has the memory twice, and leaves no room for what comes
    /// back.
    ///
    /// # Errors
    /// [`LendError`]; nothing is changed. What the borrower's [`max_blocks`](crate::Rank::max_blocks) leaves no room for is not lent.
    ///
    /// Bytes are those of each shard's [format](crate::SequencesConfig::format). Ranks in lockstep have one format: lend nothing between
    /// ranks whose blocks have not as many bytes as it says, as those with uneven heads.
    ///
    /// As [`Instance::shrink`](crate::Instance::shrink).
    pub fn lend(
        &mut self,
        from: InstanceId,
        to: InstanceId,
        blocks: usize,
    ) -> Result<Loan, LendError> {
        self.loans
            .try_reserve(1)
            .map_err(|_| LendError::OutOfMemory)?;
        let crosses = |it: &&Debt| it.state.to == from || it.state.from == to;
        if let Some(&Debt { loan, state }) = self.loans.iter().find(crosses) {
            let instance = if state.to == from { from } else { to };
            return Err(LendError::Crossed { instance, loan });
        }
        let coming = self.loans_of(to).filter(|it| it.is_coming(to));
        let coming = coming.fold(0, |sum: usize, it| sum.saturating_add(it.state.taken));
        let (lender, borrower) = self.two_mut::<LendError>(from, to)?;
        let widths = (lender.instance.width(), borrower.instance.width());
        if widths.0 != widths.1 {
            let (from, to) = widths;
            return Err(LendError::Ranks { from, to });
        }
        let taken = borrower.blocks_for(lender, blocks)?;
        borrower
            .check_room(taken.saturating_add(coming))
            .map_err(LendError::Borrower)?;
        let left_over_bytes = lender.bytes(blocks)?.saturating_sub(borrower.bytes(taken)?);
        lender.instance.shrink(blocks).map_err(LendError::Lender)?;
        let left = lender.instance.draining();
        let loan = Loan(self.lent);
        self.lent = self.lent.saturating_add(1);
        let state = LoanState {
            from,
            to,
            given: blocks,
            taken,
            left_over_bytes,
            stage: LoanStage::Draining { left },
        };
        self.loans.push(Debt { loan, state });
        Ok(loan)
    }

    /// Lets a loan go on if nothing drains any more, and says how far it is. Ask again until the stage is the one that is waited for. One
    /// that is over is known no more after that was said.
    ///
    /// # Errors
    /// [`LoanError`]; the loan is as it was.
    ///
    /// As [`Instance::shrink`](crate::Instance::shrink) while something drains, and as [`Instance::grow`](crate::Instance::grow) once.
    pub fn settle(&mut self, loan: Loan) -> Result<LoanState, LoanError> {
        let mut state = self.loan(loan)?;
        state.stage = match state.stage {
            LoanStage::Draining { .. } => match self.left_of(state.from)? {
                0 => {
                    self.grow(state.to, state.taken)?;
                    LoanStage::Lent
                }
                left => LoanStage::Draining { left },
            },
            LoanStage::Returning { .. } => match self.left_of(state.to)? {
                0 => {
                    self.grow(state.from, state.given)?;
                    LoanStage::Over
                }
                left => LoanStage::Returning { left },
            },
            stage @ (LoanStage::Lent | LoanStage::Over) => stage,
        };
        self.note(loan, state);
        Ok(state)
    }

    /// Gives the memory of a loan back: takes the borrower's blocks out of its service, and lets [`settle`](Self::settle) give the lender
    /// its own when none drains. If the borrower has not got them yet it is over at once.
    ///
    /// # Errors
    /// [`LoanError`]; the loan is as it was. [`LoanError::Resize`]: the borrower can't do without them now.
    ///
    /// As [`Instance::shrink`](crate::Instance::shrink).
    pub fn give_back(&mut self, loan: Loan) -> Result<LoanState, LoanError> {
        let mut state = self.loan(loan)?;
        match state.stage {
            LoanStage::Draining { .. } => {
                self.grow(state.from, state.given)?;
                state.stage = LoanStage::Over;
            }
            LoanStage::Lent => {
                let instance = state.to;
                let borrower = &mut self.entry_mut(instance)?.instance;
                let shrunk = borrower.shrink(state.taken);
                shrunk.map_err(|error| SettleError { instance, error })?;
                let left = borrower.draining();
                state.stage = LoanStage::Returning { left };
                self.note(loan, state);
                // If the lender can't have its own now, the next call says why.
                return Ok(self.settle(loan).unwrap_or(state));
            }
            LoanStage::Returning { .. } | LoanStage::Over => return self.settle(loan),
        }
        self.note(loan, state);
        Ok(state)
    }

    /// How far a loan was when it was asked last. Changes nothing.
    ///
    /// # Errors
    /// [`NoSuchLoan`].
    pub fn loan(&self, loan: Loan) -> Result<LoanState, NoSuchLoan> {
        let found = self.loans.binary_search_by_key(&loan, |it| it.loan);
        let debt = found.ok().and_then(|at| self.loans.get(at));
        debt.map(|it| it.state).ok_or(NoSuchLoan { loan })
    }

    /// The loans that are not over, in the order in which they were given.
    pub fn loans(&self) -> impl Iterator<Item = Loan> + '_ {
        self.loans.iter().map(|it| it.loan)
    }

    /// Those that an instance has given or taken.
    pub(super) fn loans_of(&self, instance: InstanceId) -> impl Iterator<Item = &Debt> {
        let is_of = move |it: &&Debt| it.state.from == instance || it.state.to == instance;
        self.loans.iter().filter(is_of)
    }

    /// Blocks that an instance has given away on each rank, and those that it has got.
    pub(crate) fn lent_and_borrowed(&self, instance: InstanceId) -> (usize, usize) {
        let (mut lent, mut borrowed) = (0_usize, 0_usize);
        for Debt { state, .. } in &self.loans {
            if state.from == instance {
                lent = lent.saturating_add(state.given);
            }
            let has = !matches!(state.stage, LoanStage::Draining { .. });
            if state.to == instance && has {
                borrowed = borrowed.saturating_add(state.taken);
            }
        }
        (lent, borrowed)
    }

    fn note(&mut self, loan: Loan, state: LoanState) {
        if let Ok(at) = self.loans.binary_search_by_key(&loan, |it| it.loan) {
            if state.stage == LoanStage::Over {
                self.loans.remove(at);
            } else if let Some(debt) = self.loans.get_mut(at) {
                debt.state = state;
            }
        }
    }

    /// Blocks of an instance that drain, after another look at them.
    fn left_of(&mut self, instance: InstanceId) -> Result<usize, NoSuchInstance> {
        let instance = &mut self.entry_mut(instance)?.instance;
        if instance.draining() > 0 {
            // What is promised, or being resized by another thread, drains on.
            let _ = instance.shrink(0);
        }
        Ok(instance.draining())
    }

    fn grow(&mut self, instance: InstanceId, blocks: usize) -> Result<(), LoanError> {
        let grown = self.entry_mut(instance)?.instance.grow(blocks);
        grown.map_err(|error| SettleError { instance, error }.into())
    }
}

impl Debt {
    /// Whether an instance is to get blocks by it that it has not got.
    fn is_coming(&self, to: InstanceId) -> bool {
        self.state.to == to && matches!(self.state.stage, LoanStage::Draining { .. })
    }
}

impl Entry {
    /// How many of its blocks the bytes of another's are enough for on every rank.
    fn blocks_for(&self, lender: &Self, blocks: usize) -> Result<usize, LendError> {
        let mut fewest = usize::MAX;
        for at in 0..self.instance.width() {
            let (given, block_bytes) = (lender.block_bytes(at)?, self.block_bytes(at)?);
            let bytes = given.saturating_mul(blocks as u64);
            let whole = usize::try_from(bytes / block_bytes).unwrap_or(usize::MAX);
            if whole == 0 {
                return Err(LendError::TooFew {
                    shard: name_of(&self.instance, at),
                    bytes,
                    block_bytes,
                });
            }
            fewest = fewest.min(whole);
        }
        Ok(fewest)
    }

    /// Bytes of so many blocks on all ranks.
    fn bytes(&self, blocks: usize) -> Result<u64, LendError> {
        let ranks = 0..self.instance.width();
        ranks
            .map(|at| self.block_bytes(at))
            .try_fold(0, |sum: u64, bytes| {
                Ok(sum.saturating_add(bytes?.saturating_mul(blocks as u64)))
            })
    }

    /// Bytes of a block on a rank or shard: no format has none.
    fn block_bytes(&self, at: usize) -> Result<u64, LendError> {
        let place = if self.instance.is_lockstep() { 0 } else { at };
        let format = self.instance.shards().get(place).and_then(|it| it.format());
        format
            .map(KvFormat::block_bytes)
            .ok_or(LendError::UnknownFormat {
                instance: self.id,
                shard: name_of(&self.instance, at),
            })
    }

    /// Whether it can have so many blocks more on every rank.
    fn check_room(&self, more: usize) -> Result<(), InstanceResizeError> {
        let mut ranks = (0..self.instance.width()).filter_map(|at| self.instance.rank(at));
        let asked = |blocks: usize| blocks.saturating_add(more);
        match ranks.find(|it| asked(it.blocks) > it.max_blocks) {
            Some(rank) => Err(InstanceResizeError::Shard {
                shard: rank.shard,
                error: ResizeError::BeyondMax {
                    asked: asked(rank.blocks),
                    max: rank.max_blocks,
                },
            }),
            None => Ok(()),
        }
    }
}

/// The name of a rank or shard.
fn name_of(instance: &Instance, at: usize) -> crate::block::ShardId {
    instance
        .rank(at)
        .map_or_else(Default::default, |it| it.shard)
}
