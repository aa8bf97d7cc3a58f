//! A lease's word: its end, its extension and its deadline against each other; and what the end gives back.

use kvblock::{BlockPool, Contents, Lease, Leases, Namespace, Owner, PoolConfig};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::{three, two};

const OWNER: Owner = Owner::new(1);

/// A pool of one block, which is published and held by a lease until 10.
fn leased() -> (BlockPool, Leases, Lease) {
    let pool = BlockPool::new(&PoolConfig::new(1, 1)).unwrap();
    let mut worker = pool.worker().unwrap();
    let mut leases = Leases::new(&pool, 1).unwrap();
    let mut chain = pool.chain(&Namespace::new());
    chain
        .take(&mut worker, &mut pool.reserve(1).unwrap(), 1)
        .unwrap();
    let published = chain
        .publish(&mut worker, &Contents::new(&[7]), None)
        .unwrap();
    assert_eq!(published.stored, 1);
    let lease = leases
        .keep(OWNER, 10, chain)
        .unwrap_or_else(|returned| panic!("{returned}"));
    (pool, leases, lease)
}

fn adds_up(pool: &BlockPool, leases: &Leases, live: bool) {
    assert_eq!(pool.audit(&[leases]), Ok(()));
    assert_eq!(leases.used(), usize::from(live), "the budget");
    assert_eq!(pool.available(), usize::from(!live), "the block's credit");
}

/// An extension either comes before the end, which then does not happen, or is refused.
#[test]
fn expiry_vs_extension() {
    two(|| {
        let (pool, mut leases, lease) = leased();
        let holder = {
            let lease = lease.clone();
            thread::spawn(move || lease.extend(20).is_ok())
        };
        let expired = leases.tick(10);
        let extended = holder.join().unwrap();
        assert_eq!(extended, lease.is_live());
        assert_eq!(expired, usize::from(!extended));
        adds_up(&pool, &leases, extended);
        assert_eq!(leases.tick(20), usize::from(extended));
        adds_up(&pool, &leases, false);
    });
}

/// The holder ends the lease while its end comes: one of them gives the block back.
#[test]
fn end_vs_expiry() {
    two(|| {
        let (pool, mut leases, lease) = leased();
        let holder = {
            let lease = lease.clone();
            thread::spawn(move || lease.end().is_ok())
        };
        let expired = leases.tick(10);
        let ended = holder.join().unwrap();
        assert_eq!(expired, usize::from(!ended));
        assert!(!lease.is_live());
        adds_up(&pool, &leases, false);
    });
}

/// Two holders use it when its end has come: one of them gives the block back, both are told. A third extends it in time or not.
#[test]
fn check_vs_check_vs_extension() {
    three(|| {
        let (pool, leases, lease) = leased();
        let spawn = |call: fn(&Lease) -> bool| {
            let lease = lease.clone();
            thread::spawn(move || call(&lease))
        };
        let other = spawn(|lease| lease.check(10).is_ok());
        let extender = spawn(|lease| lease.extend(20).is_ok());
        let mine = lease.check(10).is_ok();
        let (other, extended) = (other.join().unwrap(), extender.join().unwrap());
        assert_eq!(extended, lease.is_live());
        assert!(extended || !mine && !other, "its end has come");
        adds_up(&pool, &leases, extended);
    });
}

/// What a holder read before it extended its lease was read before the block's next owner writes.
#[test]
fn extension_vs_next_use() {
    two(|| {
        let (pool, mut leases, lease) = leased();
        let memory = Arc::new(UnsafeCell::new(0));
        let holder = {
            let memory = memory.clone();
            thread::spawn(move || {
                // SAFETY: loom fails the model if a write is concurrent.
                memory.with(|cell| unsafe { *cell });
                lease.extend(20).is_ok()
            })
        };
        let extended = leases.tick(10) == 0;
        if extended {
            assert_eq!(leases.tick(20), 1);
            let mut worker = pool.worker().unwrap();
            let taken = pool.reserve(1).unwrap().take(&mut worker, 1).unwrap();
            // SAFETY: as above.
            memory.with_mut(|cell| unsafe { *cell = 1 });
            drop(taken);
        }
        assert_eq!(holder.join().unwrap(), extended);
        adds_up(&pool, &leases, false);
    });
}

/// A table that has room in its budget again sees the block back.
#[test]
fn budget_after_blocks() {
    two(|| {
        let (pool, leases, lease) = leased();
        let holder = thread::spawn(move || lease.end().unwrap());
        if leases.used() == 0 {
            assert_eq!(pool.available(), 1, "room before the block is back");
        }
        holder.join().unwrap();
        adds_up(&pool, &leases, false);
    });
}
