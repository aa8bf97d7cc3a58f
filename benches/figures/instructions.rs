//! The workload of `benches/instructions.sh`: runs under callgrind, which counts what is inside [`measured`].

use core::hint::black_box;

use crate::workload::{Branching, CHAIN, Desk, pool, text};

/// Chains that are found, and so many that branch: at each size as many, in a pool that is half idle.
const CHAINS: usize = 8;
/// Blocks of a chain that is reclaimed. Every idle chain of that pool is as long, from the start on.
const RECLAIMED: usize = 64;

/// Prints a line for each operation: how many units were counted, and its name. Callgrind writes two files for each, in the same
/// order; the second one counts.
pub(crate) fn run(blocks: usize, rounds: usize) {
    free_and_found(blocks, rounds);
    reclaimed(blocks, rounds);
}

fn free_and_found(blocks: usize, rounds: usize) {
    let pool = pool(blocks);
    let mut desk = Desk::new(&pool);
    let mut branching = Branching::several(&mut desk, CHAINS);
    let texts = desk.warm(CHAINS);
    desk.fill(CHAIN, blocks / 2);

    for n in [1, 64] {
        let name = format!("reserve + take + release of {n}");
        operation(&name, n, rounds, || {
            measured(|| desk.take_and_release(n));
        });
    }
    let mut turn = texts.iter().cycle();
    operation("find of 128 by child hint", CHAIN, rounds, || {
        let tokens = turn.next().expect("a cycle");
        let chain = measured(|| desk.find(tokens));
        assert_eq!(chain.len(), CHAIN);
        desk.release(chain);
    });
    operation("find of 128 with hashing", CHAIN, rounds, || {
        branching.rotate_left(1);
        branching[0].spoil_hints(&mut desk);
        let chain = measured(|| desk.find(branching[0].tokens()));
        assert_eq!(chain.len(), CHAIN);
        desk.release(chain);
    });
    operation("release of 128 found", CHAIN, rounds, || {
        let chain = desk.find(&texts[0]);
        measured(|| desk.release(chain));
    });
}

fn reclaimed(blocks: usize, rounds: usize) {
    let pool = pool(blocks);
    let mut desk = Desk::new(&pool);
    desk.fill(RECLAIMED, 0);
    let mut tokens = text(0, RECLAIMED);
    // Some times around, so that the index has its holes where a long run leaves them.
    for _ in 0..4 * blocks / RECLAIMED {
        desk.renew(&mut tokens);
        desk.store(&tokens);
    }
    for (n, rounds) in [(RECLAIMED, rounds), (1, 16 * rounds)] {
        let name = format!("reserve + take of {n} reclaimed");
        let mut tokens = text(0, n);
        operation(&name, n, rounds, || {
            let mut chain = desk.pool.chain(&desk.space);
            let blocks = measured(|| desk.take(n));
            desk.renew(&mut tokens);
            chain.push(blocks).expect("its own pool");
            desk.publish(&mut chain, &tokens);
            desk.release(chain);
        });
    }
    operation("publish of 64", RECLAIMED, rounds, || {
        let mut chain = desk.pool.chain(&desk.space);
        chain.push(desk.take(RECLAIMED)).expect("its own pool");
        desk.renew(&mut tokens);
        measured(|| desk.publish(&mut chain, &tokens));
        desk.release(chain);
    });
    operation("release of 64 new", RECLAIMED, rounds, || {
        let mut chain = desk.pool.chain(&desk.space);
        chain.push(desk.take(RECLAIMED)).expect("its own pool");
        desk.renew(&mut tokens);
        desk.publish(&mut chain, &tokens);
        measured(|| desk.release(chain));
    });
    let name = "reclaim + take + publish + release of 64";
    operation(name, RECLAIMED, rounds, || {
        desk.renew(&mut tokens);
        measured(|| desk.store(&tokens));
    });
}

/// Some rounds first, so that buffers are there.
fn operation(name: &str, units: usize, rounds: usize, mut round: impl FnMut()) {
    for _ in 0..rounds.min(CHAINS) {
        round();
    }
    boundary();
    for _ in 0..rounds {
        round();
    }
    boundary();
    println!("{}\t{name}", units * rounds);
}

/// Callgrind counts in here (`--toggle-collect`).
#[inline(never)]
fn measured<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

/// Callgrind writes its counters and sets them to zero here (`--dump-before`).
#[inline(never)]
fn boundary() {
    black_box(());
}
