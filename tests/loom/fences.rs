//! Fences against what else changes a block's references: the account of quarantined blocks is exact at rest, and no block comes
//! back before its fence.

use kvblock::steps::Steps;
use kvblock::{BlockPool, Chain, Contents, Fence, Lane, Namespace, PoolConfig, Prompt, Worker};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::{three, two};

/// A pool of one block, which holds `[7]` and is published.
fn pool_of_one() -> (BlockPool, Worker) {
    let pool = BlockPool::new(&PoolConfig::new(1, 1)).unwrap();
    let mut worker = pool.worker().unwrap();
    let mut chain = pool.chain(&Namespace::new());
    chain
        .take(&mut worker, &mut pool.reserve(1).unwrap(), 1)
        .unwrap();
    let stored = chain.publish(&mut worker, &Contents::new(&[7]), None);
    assert_eq!(stored.unwrap().stored, 1);
    chain.release(&mut worker).unwrap();
    (pool, worker)
}

fn find<'p>(pool: &'p BlockPool, worker: &mut Worker) -> Chain<'p> {
    let space = Namespace::new();
    let prompt = Prompt::new(&space, &[7]).full_hit(true);
    // An idle block costs a credit; a quarantined one none.
    let mut pay = pool.reserve(1).or_else(|_| pool.reserve(0)).unwrap();
    pool.find(worker, &prompt, &mut pay).unwrap()
}

fn fenced(chain: Chain<'_>, worker: &mut Worker, lane: &mut Lane, fence: Fence) {
    chain
        .release_after(worker, lane, fence)
        .unwrap_or_else(|e| panic!("{e}"));
}

fn adds_up(pool: &BlockPool, lanes: &[&Lane], quarantined: usize) {
    let holders: Vec<&dyn kvblock::Holder> = lanes.iter().map(|it| *it as _).collect();
    assert_eq!(pool.audit(&holders), Ok(()));
    assert_eq!(pool.quarantined(), quarantined);
}

/// The last owner leaves after a fence while another one comes and goes.
#[test]
fn release_after_vs_hit() {
    two(|| {
        let (pool, mut worker) = pool_of_one();
        let held = find(&pool, &mut worker);
        let finder = {
            let pool = pool.clone();
            thread::spawn(move || {
                let mut worker = pool.worker().unwrap();
                let hit = find(&pool, &mut worker);
                assert_eq!(
                    hit.len(),
                    1,
                    "it is held or quarantined: a hit at no credit"
                );
                hit.release(&mut worker).unwrap();
            })
        };
        let mut lane = pool.lane();
        fenced(held, &mut worker, &mut lane, Fence(1));
        finder.join().unwrap();
        adds_up(&pool, &[&lane], 1);
        assert_eq!((pool.available(), lane.complete(Fence(1))), (0, 1));
        adds_up(&pool, &[&lane], 0);
    });
}

/// An owner leaves a block that a fence has too, while another one comes and stays.
#[test]
fn leave_vs_hit() {
    two(|| {
        let (pool, mut worker) = pool_of_one();
        let (owner, held) = (find(&pool, &mut worker), find(&pool, &mut worker));
        let mut lane = pool.lane();
        fenced(held, &mut worker, &mut lane, Fence(1));
        let steps = Steps(pool.clone());
        let finder = {
            let steps = steps.clone();
            thread::spawn(move || {
                let worker = steps.0.worker().unwrap();
                steps.find(&worker, &[7])
            })
        };
        owner.release(&mut worker).unwrap();
        let hit = finder.join().unwrap();
        assert_eq!((hit.len(), pool.quarantined()), (1, 0));
        steps.release(&hit);
        adds_up(&pool, &[&lane], 1);
        assert_eq!((pool.available(), lane.complete(Fence(1))), (0, 1));
    });
}

/// A fence passes while somebody finds the block: held by the finder or idle, in quarantine no more.
#[test]
fn complete_vs_hold() {
    two(|| {
        let (pool, mut worker) = pool_of_one();
        let held = find(&pool, &mut worker);
        let mut lane = pool.lane();
        fenced(held, &mut worker, &mut lane, Fence(1));
        adds_up(&pool, &[&lane], 1);
        let finder = {
            let pool = pool.clone();
            thread::spawn(move || {
                let mut worker = pool.worker().unwrap();
                let hit = find(&pool, &mut worker);
                let found = hit.len();
                hit.release(&mut worker).unwrap();
                found
            })
        };
        lane.complete(Fence(1));
        finder.join().unwrap();
        adds_up(&pool, &[&lane], 0);
        assert_eq!((pool.available(), pool.report().idle), (1, 1));
    });
}

/// One lane lets a block go while another one gets it.
#[test]
fn two_lanes() {
    two(|| {
        let (pool, mut worker) = pool_of_one();
        let (first, second) = (find(&pool, &mut worker), find(&pool, &mut worker));
        let mut early = pool.lane();
        fenced(first, &mut worker, &mut early, Fence(1));
        adds_up_with(&pool, &early, &second);
        let other = {
            let pool = pool.clone();
            thread::spawn(move || {
                early.complete(Fence(1));
                drop(pool);
                early
            })
        };
        let mut late = pool.lane();
        fenced(second, &mut worker, &mut late, Fence(1));
        let early = other.join().unwrap();
        adds_up(&pool, &[&early, &late], 1);
        assert_eq!(late.complete(Fence(1)), 1);
        adds_up(&pool, &[&early, &late], 0);
    });
}

fn adds_up_with(pool: &BlockPool, lane: &Lane, chain: &Chain<'_>) {
    assert_eq!(pool.audit(&[lane, chain]), Ok(()));
}

/// Two lanes let a block go, a third owner leaves: it comes back once.
#[test]
fn three_ends() {
    three(|| {
        let (pool, mut worker) = pool_of_one();
        let owner = find(&pool, &mut worker);
        let mut lanes = [pool.lane(), pool.lane()];
        for lane in &mut lanes {
            let held = find(&pool, &mut worker);
            fenced(held, &mut worker, lane, Fence(1));
        }
        let ends = lanes.map(|mut lane| thread::spawn(move || lane.complete(Fence(1))));
        owner.release(&mut worker).unwrap();
        let freed: usize = ends.map(|end| end.join().unwrap()).into_iter().sum();
        assert!(freed <= 1);
        adds_up(&pool, &[], 0);
        assert_eq!(pool.available(), 1);
    });
}

/// What a device read before its fence passed was read before the block's next owner writes.
#[test]
fn complete_vs_next_use() {
    two(|| {
        let pool = BlockPool::new(&PoolConfig::new(1, 1)).unwrap();
        let mut worker = pool.worker().unwrap();
        let memory = Arc::new(UnsafeCell::new(0));
        let block = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
        let mut lane = pool.lane();
        block
            .release_after(&mut worker, &mut lane, Fence(1))
            .unwrap();
        let device = {
            let memory = memory.clone();
            thread::spawn(move || {
                // SAFETY: loom fails the model if a write is concurrent.
                memory.with(|cell| unsafe { *cell });
                lane.complete(Fence(1))
            })
        };
        if let Ok(mut promise) = pool.reserve(1) {
            let next = promise.take(&mut worker, 1).unwrap();
            // SAFETY: as above.
            memory.with_mut(|cell| unsafe { *cell = 1 });
            drop(next);
        }
        assert_eq!(device.join().unwrap(), 1);
        adds_up(&pool, &[], 0);
    });
}
