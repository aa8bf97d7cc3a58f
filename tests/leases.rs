//! Leases: who holds what for how long, and what becomes of it. Tests named after a case of `CASES.md` bear its id.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    BlockId, BlockPool, Chain, Contents, ForkError, Holder, Lease, LeaseError, Leases, Namespace,
    Owner, Prompt, Refused, Worker,
};

use support::{counts, distinct, pool, probe, says, shortfall, text};

const A: Owner = Owner::new(1);
const B: Owner = Owner::new(2);
const C: Owner = Owner::new(3);
const NEVER: u64 = Lease::NO_DEADLINE;

/// A pool, a thread's worker and a table of leases.
struct On<'p> {
    pool: &'p BlockPool,
    worker: Worker,
    leases: Leases,
}

impl<'p> On<'p> {
    fn new(pool: &'p BlockPool, budget: usize) -> Self {
        Self {
            pool,
            worker: pool.worker().expect("memory"),
            leases: Leases::new(pool, budget).expect("memory"),
        }
    }

    /// A chain of new blocks with these tokens, published where they fill a block.
    fn chain(&mut self, tokens: &str) -> Chain<'p> {
        let tokens = text(tokens);
        let size = self.pool.block_size();
        let blocks = tokens.len().div_ceil(size);
        let mut promise = self.pool.reserve(blocks).expect("there is room");
        let mut chain = self.pool.chain(&Namespace::new());
        chain
            .take(&mut self.worker, &mut promise, blocks)
            .expect("it is promised");
        let full = Contents::new(&tokens[..tokens.len() / size * size]);
        let published = chain
            .publish(&mut self.worker, &full, None)
            .expect("whole blocks");
        assert_eq!(published.stopped, None);
        chain
    }

    fn idle(&mut self, tokens: &str) {
        let chain = self.chain(tokens);
        self.release(chain);
    }

    /// All that is cached of a text.
    fn find(&mut self, tokens: &str) -> Chain<'p> {
        let tokens = text(tokens);
        let space = Namespace::new();
        let prompt = Prompt::new(&space, &tokens).full_hit(true);
        let idle = self.pool.probe(&prompt).expect("only tokens").idle;
        let mut pay = self.pool.reserve(idle).expect("there is room");
        self.pool
            .find(&mut self.worker, &prompt, &mut pay)
            .expect("only tokens")
    }

    /// What is cached of a text, leased until `deadline`.
    fn lease(&mut self, owner: Owner, deadline: u64, tokens: &str) -> Lease {
        let chain = self.find(tokens);
        self.leases.keep(owner, deadline, chain).expect("granted")
    }

    fn take(&mut self, n: usize) -> Result<Vec<BlockId>, Refused> {
        let mut promise = self.pool.reserve(n)?;
        let blocks = promise.take(&mut self.worker, n).expect("it is promised");
        let ids = blocks.ids().to_vec();
        blocks.release(&mut self.worker).expect("same pool");
        Ok(ids)
    }

    fn release(&mut self, chain: Chain<'p>) {
        chain.release(&mut self.worker).expect("same pool");
    }

    #[track_caller]
    fn counts(&self, free: usize, idle: usize, held: usize) {
        counts(self.pool, free, idle, held);
    }

    /// Leases, references they hold; and everything adds up.
    #[track_caller]
    fn leased(&self, leases: usize, references: usize, others: &[&dyn Holder]) {
        assert_eq!(
            (self.leases.len(), self.leases.used()),
            (leases, references),
            "leases, references"
        );
        let report = self.leases.report();
        assert_eq!((report.leases, report.references), (leases, references));
        let mut holders: Vec<&dyn Holder> = vec![&self.leases];
        holders.extend_from_slice(others);
        assert_eq!(self.pool.audit(&holders), Ok(()), "audit");
    }

    fn owners(&self) -> Vec<u64> {
        self.leases
            .iter()
            .map(|lease| lease.owner().get())
            .collect()
    }
}

#[test]
fn c027_batched_eviction_respects_a_pin() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool, 4);
    for tokens in ["P16", "Q16", "R16"] {
        on.idle(tokens);
    }
    let pin = on.lease(A, NEVER, "Q16");
    assert_eq!(pool.evict(&mut on.worker, 3), Ok(2));
    on.counts(3, 0, 1);
    let space = Namespace::new();
    assert_eq!(
        ["P17", "R17", "Q17"].map(|tokens| probe(&pool, &space, tokens)),
        [0, 0, 16]
    );
    assert_eq!(pin.end(), Ok(()));
    on.counts(3, 1, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn c028_pin_and_unpin_of_an_idle_block_leaves_one_queue_entry() {
    let pool = pool(3, 16);
    let mut on = On::new(&pool, 3);
    on.idle("P16");
    let pin = on.lease(A, NEVER, "P16");
    on.counts(2, 0, 1);
    assert_eq!(pin.end(), Ok(()));
    on.counts(2, 1, 0);
    on.leased(0, 0, &[]);
    let mut all = pool.reserve(3).expect("all are available");
    let blocks = all.take(&mut on.worker, 3).expect("it is promised");
    distinct(blocks.ids(), 3);
    assert_eq!(shortfall(pool.reserve(1)), 1);
}

#[test]
fn c051_a_lease_on_more_than_is_used() {
    let pool = pool(16, 16);
    let mut on = On::new(&pool, 16);
    on.idle("P160");
    let lease = on.lease(A, NEVER, "P160");
    on.counts(6, 0, 10);
    let mut request = on.find("P64");
    request
        .take(&mut on.worker, &mut pool.reserve(1).expect("5 are free"), 1)
        .expect("it is promised");
    on.counts(5, 0, 11);
    on.leased(1, 10, &[&request]);
    assert_eq!(lease.end(), Ok(()));
    on.counts(5, 6, 5);
    on.release(request);
    on.counts(6, 10, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn c052_sending_pins_what_is_sent() {
    let pool = pool(4, 16);
    let mut on = On::new(&pool, 4);
    on.idle("P32");
    let sent = on.lease(A, NEVER, "P32");
    on.counts(2, 0, 2);
    let mut others = pool.reserve(2).expect("two are free");
    let taken = others.take(&mut on.worker, 2).expect("it is promised");
    assert_eq!(shortfall(on.take(1)), 1);
    assert_eq!(sent.end(), Ok(()));
    on.counts(0, 2, 2);
    taken.release(&mut on.worker).expect("same pool");
    on.take(1).expect("two are free");
    assert_eq!(probe(&pool, &Namespace::new(), "P33"), 32);
    on.leased(0, 0, &[]);
}

#[test]
fn c056_lease_expiry_is_checked_at_use() {
    let pool = pool(2, 16);
    let mut on = On::new(&pool, 2);
    on.idle("P16");
    let lease = on.lease(A, 10, "P16");
    assert_eq!(on.leases.tick(9), 0);
    assert_eq!(lease.check(9), Ok(()));
    assert_eq!(shortfall(on.take(2)), 1);
    on.counts(1, 0, 1);
    assert_eq!(on.leases.tick(10), 1);
    let ended = lease.check(10).expect_err("it is over");
    assert_eq!(ended.owner, A);
    says(&ended, &[1]);
    on.counts(1, 1, 0);
    on.take(2).expect("both are available");
    on.leased(0, 0, &[]);
}

#[test]
fn c056_without_a_tick_the_use_ends_it() {
    let pool = pool(2, 16);
    let mut on = On::new(&pool, 2);
    on.idle("P16");
    let lease = on.lease(A, 10, "P16");
    assert_eq!(lease.check(9), Ok(()));
    on.counts(1, 0, 1);
    assert!(lease.check(10).is_err() && !lease.is_live());
    on.counts(1, 1, 0);
    on.leased(0, 0, &[]);
    assert_eq!(on.leases.tick(11), 0, "it is not ended again");
    assert_eq!(on.leases.report().expired, 1);
    assert!(lease.check(0).is_err(), "over is over");
}

#[test]
fn a_lease_on_a_chain_is_beside_the_chain() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool, 8);
    let chain = on.chain("P10");
    let lease = on.leases.grant(A, 100, &chain).expect("granted");
    assert_eq!(lease.ids(), chain.ids());
    assert_eq!(
        (lease.references(), pool.report().shared_references),
        (3, 3)
    );
    on.leased(1, 3, &[&chain]);
    on.release(chain);
    on.counts(5, 0, 3);
    on.leased(1, 3, &[]);
    assert_eq!(on.leases.tick(100), 1);
    // The third was never published.
    on.counts(6, 2, 0);
    assert_eq!(lease.ids().len(), 3, "what it listed can still be read");
}

#[test]
fn expiry_leaves_what_another_holder_has() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool, 8);
    let chain = on.chain("P8");
    let lease = on.leases.grant(A, 5, &chain).expect("granted");
    let other = on.leases.grant(B, 7, &chain).expect("granted");
    on.leased(2, 4, &[&chain]);
    assert_eq!(on.leases.report().blocks, 2);
    assert_eq!(on.leases.tick(5), 1);
    assert!(!lease.is_live() && other.is_live());
    on.leased(1, 2, &[&chain]);
    on.counts(6, 0, 2);
    on.release(chain);
    on.counts(6, 0, 2);
    assert_eq!(on.leases.tick(7), 1);
    on.counts(6, 2, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn a_lease_holds_a_duplicate_and_the_findable_copy() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool, 8);
    let first = on.chain("P8");
    let second = on.chain("P8+Q4");
    assert_ne!(first.ids()[0], second.ids()[0]);
    let lease = on.leases.grant(A, 5, &second).expect("granted");
    assert_eq!(lease.references(), 5, "three blocks and two copies");
    on.leased(1, 5, &[&first, &second]);
    on.release(second);
    on.release(first);
    on.counts(3, 0, 5);
    on.leased(1, 5, &[]);
    assert_eq!(on.leases.report().blocks, 5);
    assert_eq!(lease.end(), Ok(()));
    on.counts(5, 3, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn a_lease_on_a_tail_holds_the_head_too() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool, 8);
    let mut head = on.chain("P12");
    let tail = head.split_off(2).expect("it is longer");
    let lease = on.leases.keep(A, 5, tail).expect("granted");
    assert_eq!((lease.ids().len(), lease.references()), (1, 3));
    on.leased(1, 3, &[&head]);
    on.release(head);
    on.counts(5, 0, 3);
    assert_eq!(on.leases.tick(6), 1);
    on.counts(5, 3, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn nothing_is_a_lease_too() {
    let pool = pool(1, 4);
    let mut on = On::new(&pool, 0);
    let lease = on.lease(A, 5, "P4");
    assert!(lease.ids().is_empty() && lease.is_live());
    on.leased(1, 0, &[]);
    assert_eq!(on.leases.tick(5), 1);
    on.leased(0, 0, &[]);
}

#[test]
fn an_owner_has_one_live_lease() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool, 8);
    let chain = on.chain("P8");
    let first = on.leases.grant(A, 5, &chain).expect("granted");
    let refused = on.leases.grant(A, 9, &chain).expect_err("it has one");
    assert_eq!(refused, LeaseError::OwnerTaken { owner: A });
    says(&refused, &[1]);
    on.leased(1, 2, &[&chain]);
    let returned = on.leases.keep(A, 9, chain).expect_err("it has one");
    assert_eq!(returned.error, LeaseError::OwnerTaken { owner: A });
    let chain = returned.value;
    on.leased(1, 2, &[&chain]);
    assert_eq!(first.end(), Ok(()));
    let second = on.leases.keep(A, 9, chain).expect("the first is over");
    assert_eq!(on.leases.get(A).map(Lease::deadline), Some(Some(9)));
    assert!(first.end().is_err() && second.is_live());
    on.leased(1, 2, &[]);
}

#[test]
fn the_budget_is_the_most_that_leases_hold() {
    let pool = pool(8, 4);
    let mut on = On::new(&pool, 5);
    let chain = on.chain("P12");
    let first = on.leases.grant(A, 5, &chain).expect("3 of 5");
    let over = LeaseError::OverBudget { needed: 3, left: 2 };
    let refused = on.leases.grant(B, 5, &chain).expect_err("3 of 2");
    assert_eq!(refused, over);
    says(&refused, &[3, 2]);
    let returned = on.leases.keep(B, 5, chain).expect_err("3 of 2");
    assert_eq!(returned.error, over);
    on.leased(1, 3, &[&returned.value]);
    assert!(on.leases.get(B).is_none());
    assert_eq!(first.end(), Ok(()));
    let second = on.leases.keep(B, 5, returned.value).expect("3 of 5");
    assert_eq!((on.leases.budget(), on.leases.used()), (5, 3));
    assert_eq!(on.leases.tick(5), 1);
    assert!(!second.is_live());
    on.leased(0, 0, &[]);
}

#[test]
fn another_pools_chain_is_refused() {
    let (one, two) = (pool(4, 4), pool(4, 4));
    let mut on = On::new(&one, 4);
    let mut other = On::new(&two, 4);
    let chain = on.chain("P4");
    assert_eq!(
        other.leases.grant(A, 5, &chain).expect_err("another pool"),
        LeaseError::WrongPool
    );
    let returned = other.leases.keep(A, 5, chain).expect_err("another pool");
    assert_eq!(returned.error, LeaseError::WrongPool);
    on.leased(0, 0, &[&returned.value]);
    other.leased(0, 0, &[]);
}

#[test]
fn extension_is_for_longer_and_only_while_it_lives() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool, 4);
    on.idle("P4");
    let lease = on.lease(A, 10, "P4");
    assert_eq!(lease.extend(20), Ok(()));
    assert_eq!(lease.extend(15), Ok(()), "it would live longer anyway");
    assert_eq!(lease.deadline(), Some(20));
    assert_eq!(on.leases.tick(19), 0);
    on.leased(1, 1, &[]);
    assert_eq!(lease.extend(NEVER), Ok(()));
    assert_eq!(on.leases.tick(u64::MAX), 0, "it has no end");
    assert_eq!(lease.check(u64::MAX), Ok(()));
    on.counts(3, 0, 1);
    assert_eq!(lease.end(), Ok(()));
    assert!(lease.extend(30).is_err());
    assert_eq!(lease.deadline(), None);
    on.counts(3, 1, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn the_second_end_gives_nothing_back() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool, 4);
    let chain = on.chain("P4");
    let lease = on.leases.grant(A, 10, &chain).expect("granted");
    let twin = lease.clone();
    assert_eq!(lease.end(), Ok(()));
    assert_eq!(twin.end().expect_err("it is over").owner, A);
    assert!(lease.end().is_err());
    on.leased(0, 0, &[&chain]);
    on.counts(3, 0, 1);
    drop((lease, twin));
    on.leased(0, 0, &[&chain]);
    on.counts(3, 0, 1);
}

#[test]
fn time_does_not_go_back() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool, 4);
    on.idle("P4");
    assert_eq!(on.leases.tick(10), 0);
    let lease = on.lease(A, 20, "P4");
    assert_eq!((on.leases.tick(5), on.leases.now()), (0, 10));
    let chain = on.find("P4");
    let refused = on.leases.grant(B, 10, &chain).expect_err("over");
    let over = LeaseError::AlreadyOver {
        deadline: 10,
        now: 10,
    };
    assert_eq!(refused, over);
    says(&refused, &[10]);
    assert_eq!(
        Leases::new(&pool, 4)
            .expect("memory")
            .grant(B, 0, &chain)
            .err(),
        Some(LeaseError::AlreadyOver {
            deadline: 0,
            now: 0
        }),
        "no time is before 0"
    );
    assert_eq!(on.leases.tick(20), 1);
    assert_eq!((on.leases.tick(3), on.leases.now()), (0, 20));
    assert!(!lease.is_live());
    on.leased(0, 0, &[&chain]);
}

#[test]
fn the_last_handle_gives_back() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool, 4);
    on.idle("P8");
    drop(on.lease(A, 10, "P8"));
    // The table has a handle.
    on.leased(1, 2, &[]);
    let lease = on.leases.get(A).expect("it lives").clone();
    on.leases = Leases::new(&pool, 4).expect("memory");
    on.counts(2, 0, 2);
    assert_eq!(lease.extend(20), Ok(()));
    drop(lease);
    on.counts(2, 2, 0);
    on.leased(0, 0, &[]);
}

#[test]
fn leases_are_listed_in_the_order_granted() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool, 100);
    let chain = on.chain("P4");
    let owners: Vec<u64> = (0..40).map(|i| i * 7 % 40).collect();
    for &owner in &owners {
        let deadline = 100 + owner % 2;
        on.leases
            .grant(Owner::new(owner), deadline, &chain)
            .expect("granted");
    }
    assert_eq!(on.owners(), owners);
    on.leased(40, 40, &[&chain]);
    assert_eq!(on.leases.tick(100), 20);
    let odd: Vec<u64> = owners
        .iter()
        .copied()
        .filter(|owner| owner % 2 == 1)
        .collect();
    assert_eq!(on.owners(), odd);
    on.leases
        .get(Owner::new(odd[3]))
        .expect("it lives")
        .end()
        .expect("it lives");
    on.leases
        .grant(Owner::new(odd[3]), 200, &chain)
        .expect("granted");
    let mut rest = odd.clone();
    rest.remove(3);
    rest.push(odd[3]);
    assert_eq!(on.owners(), rest);
    assert_eq!(on.leases.tick(101), 19);
    assert_eq!(on.owners(), [odd[3]]);
    on.leased(1, 1, &[&chain]);
}

#[test]
fn an_extension_is_not_forgotten_by_later_ticks() {
    let pool = pool(4, 4);
    let mut on = On::new(&pool, 4);
    let chain = on.chain("P4");
    let first = on.leases.grant(A, 10, &chain).expect("granted");
    let second = on.leases.grant(B, 20, &chain).expect("granted");
    let third = on.leases.grant(C, NEVER, &chain).expect("granted");
    assert_eq!(first.extend(30), Ok(()));
    assert_eq!(
        [10, 20, 29, 30].map(|now| on.leases.tick(now)),
        [0, 1, 0, 1]
    );
    assert!(!first.is_live() && !second.is_live() && third.is_live());
    on.leased(1, 1, &[&chain]);
}

#[test]
fn the_most_references_are_the_most() {
    let pool = pool(2, 4);
    let mut on = On::new(&pool, usize::MAX);
    let chain = on.chain("P4");
    let mut forks = Vec::new();
    let refused = loop {
        match chain.fork(&mut on.worker) {
            Ok(fork) => forks.push(fork),
            Err(ForkError::TooManyReferences(error)) => break error,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(
        on.leases.grant(A, 5, &chain).err(),
        Some(LeaseError::TooManyReferences(refused))
    );
    assert_eq!((on.leases.len(), on.leases.used()), (0, 0));
    on.release(forks.pop().expect("there are many"));
    on.leases.grant(A, 5, &chain).expect("there is one more");
    assert_eq!(on.leases.tick(5), 1);
    forks.into_iter().for_each(|fork| on.release(fork));
    on.leased(0, 0, &[&chain]);
}

#[test]
fn threads_end_each_lease_once() {
    const ROUNDS: u64 = 300;
    let pool = pool(64, 4);
    let mut on = On::new(&pool, 64);
    let chain = on.chain("P32");
    let mut ends = 0;
    for round in 1..=ROUNDS {
        let end = 2 * round;
        let leases: Vec<Lease> = (0..8)
            .map(|owner| on.leases.grant(Owner::new(owner), end, &chain))
            .collect::<Result<_, _>>()
            .expect("those of the last round are over");
        let leases = &leases;
        let count = |ended: fn(&Lease, u64) -> bool| {
            move || leases.iter().filter(|lease| ended(lease, end)).count()
        };
        ends += std::thread::scope(|threads| {
            let enders = [
                threads.spawn(count(|lease, _| lease.end().is_ok())),
                threads.spawn(count(|lease, _| lease.clone().end().is_ok())),
                // Not longer than it lives anyway.
                threads.spawn(count(|lease, end| {
                    lease.extend(end).is_err() && lease.is_live()
                })),
            ];
            let expired = on.leases.tick(end);
            expired
                + enders
                    .map(|ender| ender.join().expect("no panic"))
                    .iter()
                    .sum::<usize>()
        });
        on.leased(0, 0, &[&chain]);
    }
    assert_eq!(ends as u64, 8 * ROUNDS);
    on.counts(56, 0, 8);
    on.release(chain);
    on.counts(56, 8, 0);
}

#[test]
fn the_report_says_what_is_leased() {
    let pool = pool(10, 4);
    let mut on = On::new(&pool, 20);
    let chain = on.chain("P12");
    on.leases.grant(A, 5, &chain).expect("granted");
    on.leases.grant(B, 9, &chain).expect("granted");
    on.leases.grant(C, 9, &chain).expect("granted");
    on.leases.tick(7);
    let report = on.leases.report();
    assert_eq!((report.capacity, report.leases, report.blocks), (10, 2, 3));
    assert_eq!((report.references, report.budget), (6, 20));
    assert_eq!((report.now, report.expired), (7, 1));
    assert_eq!(
        report.to_string(),
        "2 leases at 7
  leased                           3 blocks   30.0 %   shared ones once
  references                       6 of 20
  expired                          1"
    );
}
