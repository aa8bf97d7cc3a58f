//! Threads that stop for ever, at every point where they have something in their hands; then everything that the others' credits
//! promise is taken. No block may be out of reach for lack of a stopped thread's next step.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::steps::{Looked, Steps, Unsettled};
use crate::{BlockId, BlockPool, PoolConfig, Worker};

const BLOCKS: u32 = 300;
const CHAIN: u32 = 6;

/// A full pool of idle chains; every third was hit since.
fn idle_pool() -> (Steps, Worker) {
    let steps = Steps(BlockPool::new(&PoolConfig::new(BLOCKS as usize, 2)).unwrap());
    let mut worker = steps.0.worker().unwrap();
    for chain in 0..BLOCKS / CHAIN {
        assert!(steps.withdraw(CHAIN));
        let blocks = steps.take(&mut worker, CHAIN as usize);
        assert_eq!(
            steps
                .publish(&mut worker, &[], &blocks, &tokens(chain))
                .stored,
            CHAIN as usize
        );
        steps.release(&blocks);
    }
    for chain in (0..BLOCKS / CHAIN).step_by(3) {
        let found = steps.find(&worker, &tokens(chain));
        assert_eq!(found.len(), CHAIN as usize);
        steps.release(&found);
    }
    (steps, worker)
}

fn tokens(chain: u32) -> Vec<u32> {
    (0..2 * CHAIN).map(|i| chain * 100 + i).collect()
}

/// Takes every block for which there is a credit, one at a time and in batches, puts them to use, and takes them again.
fn everything_else_is_there(steps: &Steps, worker: &mut Worker, stopped: &[BlockId], credits: u32) {
    for batch in [1, 7, 64] {
        let mut mine = Vec::new();
        let mut left = BLOCKS - credits;
        while left > 0 {
            let n = left.min(batch);
            assert!(steps.withdraw(n), "{left} blocks left");
            mine.extend(steps.take(worker, n as usize));
            left -= n;
        }
        assert!(!steps.withdraw(1));
        let distinct: BTreeSet<BlockId> = mine.iter().copied().collect();
        assert_eq!(distinct.len(), mine.len(), "a block was given twice");
        assert!(
            stopped.iter().all(|block| !distinct.contains(block)),
            "a stopped thread's block was given away"
        );
        for (chain, blocks) in (1000 * (batch + 1)..).zip(mine.chunks(CHAIN as usize)) {
            let tokens = &tokens(chain)[..2 * blocks.len()];
            assert_eq!(
                steps.publish(worker, &[], blocks, tokens).stored,
                blocks.len()
            );
            steps.release(blocks);
        }
    }
}

#[test]
fn with_every_token_in_its_hand() {
    let (steps, mut worker) = idle_pool();
    let hand: Vec<BlockId> = core::iter::from_fn(|| steps.pop()).collect();
    assert_eq!(hand.len(), BLOCKS as usize);
    everything_else_is_there(&steps, &mut worker, &[], 0);
}

#[test]
fn with_some_tokens_in_its_hand() {
    let (steps, mut worker) = idle_pool();
    for _ in 0..100 {
        steps.pop().unwrap();
    }
    everything_else_is_there(&steps, &mut worker, &[], 0);
}

#[test]
fn after_claims_before_their_parents_counts() {
    let (steps, mut worker) = idle_pool();
    let claims: Vec<Unsettled> = (0..BLOCKS)
        .filter_map(|_| {
            let token = steps.pop()?;
            match steps.examine(token, true) {
                Looked::Claimed(claim) => Some(claim),
                Looked::Back => {
                    steps.push(token);
                    None
                }
                Looked::Dropped => None,
            }
        })
        .collect();
    // The leaf of each chain, since the counts above it are not lowered.
    let credits = BLOCKS / CHAIN;
    assert_eq!(claims.len(), credits as usize);
    assert!(steps.withdraw(credits));
    let stopped: Vec<BlockId> = claims.iter().map(Unsettled::block).collect();
    everything_else_is_there(&steps, &mut worker, &stopped, credits);
    // They go on after all: late decrements hit nobody.
    for claim in claims {
        let block = steps.settle(claim);
        steps.release(&[block]);
    }
    everything_else_is_there(&steps, &mut worker, &[], 0);
    steps.audit(&[], &[], 0, &[]).unwrap();
}

#[test]
fn after_a_cut() {
    let (steps, mut worker) = idle_pool();
    for block in (0..BLOCKS).step_by(5) {
        assert!(steps.cut(BlockId::new(block)));
    }
    everything_else_is_there(&steps, &mut worker, &[], 0);
    steps.audit(&[], &[], 0, &[]).unwrap();
}

#[test]
fn between_its_place_in_the_ring_and_its_token() {
    let (steps, mut worker) = idle_pool();
    let found = steps.find(&worker, &tokens(4));
    // The whole chain is released but for its credits and its tokens' stores.
    for &block in found.iter().rev() {
        steps.stop_while_releasing(block);
    }
    everything_else_is_there(&steps, &mut worker, &[], CHAIN);
}

#[test]
fn with_credits_and_no_blocks_yet() {
    let (steps, mut worker) = idle_pool();
    assert!(steps.withdraw(50));
    everything_else_is_there(&steps, &mut worker, &[], 50);
}
