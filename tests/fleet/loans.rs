//! Memory lent between two models on the same devices: never more bytes in use than there are.

use kvblock::{
    ElementType, Fleet, Instance, InstanceId, InstanceResizeError, KvFormat, LendError, Loan,
    LoanError, LoanStage, LoanState, Member, PoolConfig, Rank, Refused, RemoveError, ResizeError,
    Sequences, SequencesConfig, SettleError, ShardId,
};

use crate::support::says;
use crate::words::{add, audit, free, release, run_on};

/// 100 bytes a block, one model; 260 the other.
const FINE: u64 = 100;
const COARSE: u64 = 260;

fn config(block_bytes: u64) -> SequencesConfig {
    let format = KvFormat::new(4, ElementType::new(1), [block_bytes]).unwrap();
    SequencesConfig::new(8).format(format)
}

/// Two ranks in lockstep with so many blocks each, and room for `max` on both.
fn ranks(first: u32, blocks: [usize; 2], max: usize, block_bytes: u64) -> Instance {
    let rank = |at: u32, blocks| Rank::new(ShardId::new(first + at), blocks).max_blocks(max);
    let ranks = [rank(0, blocks[0]), rank(1, blocks[1])];
    Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &config(block_bytes)).unwrap()
}

/// 16 blocks, and never more.
pub(crate) fn fine() -> Instance {
    ranks(0, [16, 16], 16, FINE)
}

/// 4 blocks, and room for 16.
pub(crate) fn coarse() -> Instance {
    ranks(10, [4, 4], 16, COARSE)
}

/// A fine model with 16 blocks on each of two ranks, and a coarse one with 4.
fn two_models() -> (Fleet, InstanceId, InstanceId) {
    let mut fleet = Fleet::new();
    let fine = add(&mut fleet, fine(), Member::new(1, 64));
    let coarse = add(&mut fleet, coarse(), Member::new(2, 64));
    (fleet, fine, coarse)
}

/// Bytes of the blocks that are in service on a rank, those that drain included; never more than at first.
#[track_caller]
fn bytes(fleet: &Fleet, fine: InstanceId, coarse: InstanceId) -> u64 {
    let of = |id, block_bytes| {
        let instance = fleet.get(id).unwrap();
        instance.shards()[0].pool().in_service() as u64 * block_bytes
    };
    let bytes = of(fine, FINE) + of(coarse, COARSE);
    assert!(bytes <= 16 * FINE + 4 * COARSE, "{bytes}");
    audit(fleet);
    bytes
}

fn stage(state: LoanState) -> LoanStage {
    state.stage
}

#[test]
fn a_loan_waits_for_what_drains_and_comes_back_the_same_way() {
    let (mut fleet, fine, coarse) = two_models();
    assert_eq!(bytes(&fleet, fine, coarse), 2640);
    // Blocks 0 to 3 and 4 to 13; the upper ones are in use.
    let low = run_on(&mut fleet, fine, "A16");
    let high = run_on(&mut fleet, fine, "B40");
    let loan = fleet.lend(fine, coarse, 8).unwrap();
    let state = fleet.loan(loan).unwrap();
    // 800 bytes on each rank are 3 blocks of 260, and 20 bytes on each remain.
    assert_eq!((state.from, state.to), (fine, coarse));
    assert_eq!(
        (state.given, state.taken, state.left_over_bytes),
        (8, 3, 40)
    );
    assert_eq!(state.stage, LoanStage::Draining { left: 6 });
    assert_eq!(bytes(&fleet, fine, coarse), 2440);
    // The borrower has nothing of it yet.
    assert_eq!(free(&fleet, &[fine, coarse]), [0, 4]);
    let waits = fleet.settle(loan).unwrap();
    assert_eq!(waits.stage, LoanStage::Draining { left: 6 });
    release(&mut fleet, fine, low);
    assert_eq!(fleet.settle(loan).unwrap(), waits, "these stay in service");

    release(&mut fleet, fine, high);
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
    assert_eq!(bytes(&fleet, fine, coarse), 8 * FINE + 7 * COARSE);
    assert_eq!(free(&fleet, &[fine, coarse]), [8, 7]);
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));

    // All 7 are in use when it is called back: 3 of them drain.
    let all = run_on(&mut fleet, coarse, "C28");
    let back = fleet.give_back(loan).unwrap();
    assert_eq!(back.stage, LoanStage::Returning { left: 3 });
    assert_eq!(bytes(&fleet, fine, coarse), 8 * FINE + 7 * COARSE);
    assert_eq!(free(&fleet, &[fine, coarse]), [8, 0]);
    assert_eq!(fleet.give_back(loan), Ok(back), "it is under way");
    release(&mut fleet, coarse, all);
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Over));
    assert_eq!(free(&fleet, &[fine, coarse]), [16, 4]);
    assert_eq!(bytes(&fleet, fine, coarse), 2640);
    let LoanError::NoSuchLoan(over) = fleet.settle(loan).unwrap_err() else {
        panic!("it is over");
    };
    assert_eq!(over.loan, loan);
    says(&over, &[0]);
    assert_eq!(Loan::new(over.loan.get()), loan);
    assert!(fleet.give_back(loan).is_err() && fleet.loan(loan).is_err());
    assert_eq!(fleet.loans().count(), 0);
}

#[test]
fn a_loan_that_has_not_reached_the_borrower_is_taken_back_at_once() {
    let (mut fleet, fine, coarse) = two_models();
    let all = run_on(&mut fleet, fine, "A64");
    let loan = fleet.lend(fine, coarse, 5).unwrap();
    assert_eq!(fleet.get(fine).unwrap().capacity(0), 11);
    assert_eq!(fleet.give_back(loan).map(stage), Ok(LoanStage::Over));
    assert_eq!(fleet.get(fine).unwrap().capacity(0), 16);
    release(&mut fleet, fine, all);
    assert_eq!(free(&fleet, &[fine, coarse]), [16, 4]);
    bytes(&fleet, fine, coarse);
}

#[test]
fn several_loans_may_live_and_come_back_in_any_order() {
    let (mut fleet, fine, coarse) = two_models();
    // 3 and 6 fine blocks are 1 and 2 coarse ones: 9 at once would be 3 as well.
    let first = fleet.lend(fine, coarse, 3).unwrap();
    let second = fleet.lend(fine, coarse, 6).unwrap();
    for loan in [second, first] {
        assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
    }
    assert_eq!(free(&fleet, &[fine, coarse]), [7, 7]);
    bytes(&fleet, fine, coarse);
    assert_eq!(fleet.loans().collect::<Vec<_>>(), [first, second]);
    for (loan, left) in [(first, [10, 6]), (second, [16, 4])] {
        assert_eq!(fleet.give_back(loan).map(stage), Ok(LoanStage::Over));
        assert_eq!(free(&fleet, &[fine, coarse]), left);
        bytes(&fleet, fine, coarse);
    }
}

#[test]
fn who_has_borrowed_lends_nothing_and_who_has_lent_borrows_nothing() {
    let mut fleet = Fleet::new();
    let ids: Vec<_> = (0..3)
        .map(|at| {
            let instance = ranks(10 * at, [8, 8], 16, FINE);
            add(&mut fleet, instance, Member::new(at.into(), 64))
        })
        .collect();
    let (a, b, c) = (ids[0], ids[1], ids[2]);
    let loan = fleet.lend(a, b, 3).unwrap();
    for (from, to, instance) in [(b, a, b), (b, c, b), (c, a, a)] {
        let crossed = fleet.lend(from, to, 1).unwrap_err();
        assert_eq!(crossed, LendError::Crossed { instance, loan });
        says(&crossed, &[0]);
    }
    let other = fleet.lend(a, c, 2).unwrap();
    assert_eq!(free(&fleet, &ids), [3, 8, 8]);
    for loan in [loan, other] {
        assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
        assert_eq!(fleet.give_back(loan).map(stage), Ok(LoanStage::Over));
    }
    // Now the other way round.
    let back = fleet.lend(b, a, 3).unwrap();
    assert_eq!(fleet.settle(back).map(stage), Ok(LoanStage::Lent));
    assert_eq!(free(&fleet, &ids), [11, 5, 8]);
}

#[test]
fn who_has_lent_or_borrowed_is_not_removed() {
    let (mut fleet, fine, coarse) = two_models();
    let loan = fleet.lend(fine, coarse, 3).unwrap();
    for id in [fine, coarse] {
        let Err(RemoveError::NotEmpty(busy)) = fleet.remove(id) else {
            panic!("a loan lives");
        };
        assert_eq!((busy.sequences, busy.loans), (0, 1));
    }
    fleet.give_back(loan).unwrap();
    assert!(fleet.remove(fine).is_ok() && fleet.remove(coarse).is_ok());
}

#[test]
fn what_is_promised_can_be_neither_lent_nor_called_back() {
    let (mut fleet, fine, coarse) = two_models();
    let promised = |fleet: &mut Fleet, id: InstanceId, cap| {
        crate::words::with_growth("P4", kvblock::Growth::Cap(cap), |request| {
            fleet.get_mut(id).unwrap().admit(request).unwrap().handle
        })
    };
    // 1 held and 14 promised: 1 is left, and 2 free blocks are among the upper ones.
    let full = promised(&mut fleet, fine, 56);
    let Err(LendError::Lender(InstanceResizeError::Shard { shard, error, .. })) =
        fleet.lend(fine, coarse, 3)
    else {
        panic!("they are promised");
    };
    assert_eq!(shard, ShardId::new(0));
    assert!(matches!(
        error,
        ResizeError::Refused(Refused::Shortfall {
            needed: 3,
            available: 1,
            ..
        })
    ));
    assert_eq!((fleet.loans().count(), free(&fleet, &[fine])), (0, vec![1]));
    release(&mut fleet, fine, full);
    let loan = fleet.lend(fine, coarse, 3).unwrap();
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
    let full = promised(&mut fleet, coarse, 16);
    let refused = fleet.give_back(loan).unwrap_err();
    let LoanError::Resize(SettleError {
        instance, error, ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert!(matches!(
        (instance, error),
        (
            id,
            InstanceResizeError::Shard {
                error: ResizeError::Refused(_),
                ..
            }
        ) if id == coarse
    ));
    assert_eq!(fleet.loan(loan).map(stage), Ok(LoanStage::Lent));
    bytes(&fleet, fine, coarse);
    release(&mut fleet, coarse, full);
    assert_eq!(fleet.give_back(loan).map(stage), Ok(LoanStage::Over));
    bytes(&fleet, fine, coarse);
}

#[test]
fn what_cannot_be_lent_changes_nothing() {
    let (mut fleet, fine, coarse) = two_models();
    let single = {
        let rank = [Rank::new(ShardId::new(20), 4)];
        let instance = Instance::lockstep(&rank, &PoolConfig::new(1, 4), &config(FINE));
        add(&mut fleet, instance.unwrap(), Member::new(3, 64))
    };
    let unknown = {
        let ranks = [30, 31].map(|it| Rank::new(ShardId::new(it), 4));
        let config = SequencesConfig::new(8);
        let instance = Instance::lockstep(&ranks, &PoolConfig::new(1, 4), &config);
        add(&mut fleet, instance.unwrap(), Member::new(4, 64))
    };
    let before = free(&fleet, &[fine, coarse, single, unknown]);
    let refused = |fleet: &mut Fleet, from, to, blocks| {
        let refused = fleet.lend(from, to, blocks).unwrap_err();
        assert_eq!(free(fleet, &[fine, coarse, single, unknown]), before);
        assert_eq!(fleet.loans().count(), 0);
        refused
    };
    // More than there is; all of it; to itself.
    for blocks in [16, 17] {
        let error = refused(&mut fleet, fine, coarse, blocks);
        assert!(
            matches!(
                error,
                LendError::Lender(InstanceResizeError::Shard {
                    error: ResizeError::NothingLeft { online: 16, .. },
                    ..
                })
            ),
            "{error:?}"
        );
    }
    let error = refused(&mut fleet, fine, fine, 1);
    assert!(matches!(error, LendError::SameInstance(_)), "{error:?}");
    // Too few for a block.
    for (blocks, bytes) in [(0, 0), (2, 200)] {
        let error = refused(&mut fleet, fine, coarse, blocks);
        assert_eq!(
            error,
            LendError::TooFew {
                shard: ShardId::new(10),
                bytes,
                block_bytes: 260
            }
        );
        says(&error, &[10, blocks * 100, 260]);
    }
    // More than the borrower has bookkeeping for: the fine model has all it can have.
    let error = refused(&mut fleet, coarse, fine, 1);
    assert_eq!(
        error,
        LendError::Borrower(InstanceResizeError::Shard {
            shard: ShardId::new(0),
            error: ResizeError::BeyondMax { asked: 18, max: 16 }
        })
    );
    says(&error, &[18, 16]);
    // Not the same devices; nobody knows how many bytes.
    let error = refused(&mut fleet, fine, single, 1);
    assert_eq!(error, LendError::Ranks { from: 2, to: 1 });
    says(&error, &[2, 1]);
    for (from, to) in [(unknown, fine), (fine, unknown)] {
        let error = refused(&mut fleet, from, to, 1);
        assert_eq!(
            error,
            LendError::UnknownFormat {
                instance: unknown,
                shard: ShardId::new(30)
            }
        );
        says(&error, &[3, 30]);
    }
    fleet.remove(single).unwrap();
    for (from, to) in [(single, fine), (fine, single)] {
        let error = fleet.lend(from, to, 1);
        assert!(matches!(error, Err(LendError::NoSuchInstance(_))));
    }
}

#[test]
fn what_is_on_its_way_counts_against_the_borrowers_room() {
    let mut fleet = Fleet::new();
    let fine = add(&mut fleet, fine(), Member::new(1, 64));
    let coarse = add(&mut fleet, ranks(10, [4, 4], 6, COARSE), Member::new(2, 64));
    let all = run_on(&mut fleet, fine, "A64");
    let first = fleet.lend(fine, coarse, 3).unwrap();
    let second = fleet.lend(fine, coarse, 3).unwrap();
    let full = LendError::Borrower(InstanceResizeError::Shard {
        shard: ShardId::new(10),
        error: ResizeError::BeyondMax { asked: 7, max: 6 },
    });
    assert_eq!(fleet.lend(fine, coarse, 3), Err(full));
    release(&mut fleet, fine, all);
    for loan in [first, second] {
        assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
    }
    assert_eq!(fleet.lend(fine, coarse, 3), Err(full));
    assert_eq!(free(&fleet, &[fine, coarse]), [10, 6]);
}

#[test]
fn each_shard_of_a_split_instance_counts_its_own_bytes() {
    let split = |first: u32, blocks: usize, bytes: [u64; 2]| {
        let shards = bytes.iter().zip(first..).map(|(&bytes, shard)| {
            let pool = PoolConfig::new(blocks, 4).max_blocks(32);
            let pool = kvblock::BlockPool::new(&pool.shard(ShardId::new(shard))).unwrap();
            Sequences::new(pool, &config(bytes)).unwrap()
        });
        Instance::split(shards.collect()).unwrap()
    };
    let mut fleet = Fleet::new();
    // 10 blocks are 500 and 1000 bytes: 4 blocks of 120 on the first shard, 5 of 200 on the second.
    let from = add(&mut fleet, split(0, 16, [50, 100]), Member::new(1, 64));
    let to = add(&mut fleet, split(10, 2, [120, 200]), Member::new(2, 64));
    let loan = fleet.lend(from, to, 10).unwrap();
    let state = fleet.settle(loan).unwrap();
    assert_eq!((state.taken, state.stage), (4, LoanStage::Lent));
    // 20 on the first, 200 on the second.
    assert_eq!(state.left_over_bytes, 220);
    assert_eq!(free(&fleet, &[from, to]), [6, 6]);
    assert_eq!(fleet.give_back(loan).map(stage), Ok(LoanStage::Over));
    assert_eq!(free(&fleet, &[from, to]), [16, 2]);
    audit(&fleet);
}

#[test]
fn the_surplus_of_a_larger_rank_is_neither_lent_nor_lost() {
    let mut fleet = Fleet::new();
    let fine = add(&mut fleet, ranks(0, [18, 16], 18, FINE), Member::new(1, 64));
    let coarse = add(&mut fleet, coarse(), Member::new(2, 64));
    let stranded = |fleet: &Fleet| fleet.get(fine).unwrap().stranded(0);
    assert_eq!(stranded(&fleet), 2);
    let loan = fleet.lend(fine, coarse, 8).unwrap();
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
    assert_eq!(
        (free(&fleet, &[fine, coarse]), stranded(&fleet)),
        (vec![8, 7], 2)
    );
    fleet.give_back(loan).unwrap();
    assert_eq!(
        (free(&fleet, &[fine, coarse]), stranded(&fleet)),
        (vec![16, 4], 2)
    );
}

#[test]
fn a_lender_that_cannot_have_its_memory_back_says_so_when_it_is_asked_again() {
    let (mut fleet, fine, coarse) = two_models();
    let loan = fleet.lend(fine, coarse, 8).unwrap();
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Lent));
    // It has got other memory in the place of what it lent.
    fleet.get_mut(fine).unwrap().grow(8).unwrap();
    let given = fleet.give_back(loan).unwrap();
    assert_eq!(given.stage, LoanStage::Returning { left: 0 });
    assert_eq!(fleet.loan(loan), Ok(given));
    let error = ResizeError::BeyondMax { asked: 24, max: 16 };
    let shard = ShardId::new(0);
    let error = InstanceResizeError::Shard { shard, error };
    for refused in [fleet.settle(loan), fleet.give_back(loan)] {
        let Err(LoanError::Resize(refused)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((refused.instance, refused.error), (fine, error));
    }
    assert_eq!(fleet.loan(loan), Ok(given));
    assert_eq!(free(&fleet, &[fine, coarse]), [16, 4]);
    fleet.get_mut(fine).unwrap().shrink(8).unwrap();
    assert_eq!(fleet.settle(loan).map(stage), Ok(LoanStage::Over));
    assert_eq!(bytes(&fleet, fine, coarse), 2640);
}
