//! The workload of `benches/instructions.sh`: runs under callgrind, which counts what is inside [`measured`].

use core::hint::black_box;

use kvblock::{
    Admit, BlockPool, Growth, Instance, Namespace, PoolConfig, Prompt, Sequences, SequencesConfig,
    ShardId,
};

use crate::workload::{BLOCK, Branching, CHAIN, Desk, pool, text};

/// Chains that are found, and so many that branch: at each size as many, in a pool that is half idle.
const CHAINS: usize = 8;
/// Blocks of a chain that is reclaimed. Every idle chain of that pool is as long, from the start on.
const RECLAIMED: usize = 64;

/// Prints a line for each operation: how many units were counted, and its name. Callgrind writes two files for each, in the same
/// order; the second one counts.
pub(crate) fn run(blocks: usize, rounds: usize) {
    free_and_found(blocks, rounds);
    reclaimed(blocks, rounds);
    admitted(blocks, rounds);
}

/// Admissions over one shard, as by a registry alone, and over eight: what is all or nothing should cost little beside the work on
/// each shard.
fn admitted(blocks: usize, rounds: usize) {
    for (found, all) in [(CHAIN, CHAIN), (0, CHAIN), (2, 4)] {
        for shards in [1, 8] {
            let mut instance = instance(shards, blocks / 8);
            let (space, mut tokens) = (Namespace::new(), text(0, all));
            warm(&mut instance, &space, &tokens[..found * BLOCK]);
            let mut number = 0;
            let plural = if shards == 1 { "" } else { "s" };
            let name = format!("admit of {all}, {found} found, {shards} shard{plural}");
            operation(&name, all, rounds, || {
                number += 1;
                // What is not found is new.
                if let Some(next) = tokens.get_mut(found * BLOCK) {
                    *next = number;
                }
                let prompt = Prompt::new(&space, &tokens).full_hit(true);
                let request = Admit::new(prompt, Growth::OnDemand);
                let admitted = measured(|| instance.admit(&request)).expect("room");
                assert_eq!(admitted.hit, found * BLOCK);
                instance.release(admitted.handle).expect("it lives");
            });
        }
    }
}

fn instance(shards: u32, blocks: usize) -> Instance {
    let registry = |shard| {
        let config = PoolConfig::new(blocks, BLOCK).shard(ShardId::new(shard));
        let pool = BlockPool::new(&config).expect("a sound configuration");
        Sequences::new(pool, &SequencesConfig::new(2)).expect("memory")
    };
    Instance::split((0..shards).map(registry).collect()).expect("alike")
}

/// Stores a text on every shard.
fn warm(instance: &mut Instance, space: &Namespace, tokens: &[u32]) {
    let request = Admit::new(Prompt::new(space, tokens), Growth::OnDemand);
    let handle = instance.admit(&request).expect("room").handle;
    instance.computed(handle, tokens.len()).expect("appended");
    instance.release(handle).expect("it lives");
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
