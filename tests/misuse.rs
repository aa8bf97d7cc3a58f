//! Every error of a pool's calls, provoked once: exact fields, a message that names the numbers, and nothing changed.
//!
//! Not here: `OutOfMemory` needs an allocator that fails; its tests have their own global allocator.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

mod support;

use kvblock::{
    BlockId, BlockPool, Blocks, Chain, ClearError, Contents, CreateError, Event, Exceeds, ExtraKey,
    Field, FindError, ForkError, Holder, InvalidateError, JoinError, MAX_BLOCK_SIZE, MAX_BLOCKS,
    Namespace, PoolConfig, Probe, Prompt, PublishError, Refused, Reservation, ResizeError,
    Returned, ShardId, SplitError, TakeError, TooManyReferences, Worker, WrongPool,
};

use support::{is_length, says};

const SIZE: usize = 4;
const TOKENS: [u32; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// The most references that a block can count.
const MOST_REFERENCES: usize = (1 << 20) - 1;

fn pool() -> BlockPool {
    BlockPool::new(&PoolConfig::new(10, SIZE).shard(ShardId::new(3)).events(64))
        .expect("a sound configuration")
}

/// A pool in use: three published blocks, the first two of them held by `chain` with one private block behind, two blocks
/// taken, two promised, four free.
struct Scene<'p> {
    pool: &'p BlockPool,
    worker: Worker,
    chain: Chain<'p>,
    blocks: Blocks<'p>,
    promise: Reservation<'p>,
    namespace: Namespace,
}

/// All that a caller can see of a pool.
#[derive(Debug, PartialEq)]
struct Sight {
    report: String,
    probe: Probe,
    findable: String,
    events: Vec<Event>,
    table: Vec<BlockId>,
    published: usize,
    blocks: Vec<BlockId>,
    promised: usize,
}

impl<'p> Scene<'p> {
    fn new(pool: &'p BlockPool) -> Self {
        let mut worker = pool.worker().expect("a worker");
        let namespace = Namespace::new();
        let mut promise = pool.reserve(8).expect("it fits");
        let mut first = pool.chain(&namespace);
        first
            .push(promise.take(&mut worker, 3).expect("promised"))
            .expect("of this pool");
        let published = first.publish(&mut worker, &Contents::new(&TOKENS), None);
        assert_eq!(published.expect("three blocks").stored, 3);
        first.release(&mut worker).expect("of this pool");
        let prompt = Prompt::new(&namespace, &TOKENS);
        let mut chain = pool
            .find(&mut worker, &prompt, &mut promise)
            .expect("of this pool");
        assert_eq!(chain.len(), 2);
        chain
            .push(promise.take(&mut worker, 1).expect("promised"))
            .expect("of this pool");
        let blocks = promise.take(&mut worker, 2).expect("promised");
        promise.shrink(promise.len()).expect("all of it");
        promise.grow(2).expect("it fits");
        Self {
            pool,
            worker,
            chain,
            blocks,
            promise,
            namespace,
        }
    }

    fn sight(&self) -> Sight {
        let mut events = Vec::new();
        self.pool.events().expect("events are on").read(&mut events);
        Sight {
            report: format!("{:?}", self.pool.report()),
            probe: self
                .pool
                .probe(&Prompt::new(&self.namespace, &TOKENS).full_hit(true))
                .expect("sound"),
            findable: format!("{:?}", self.pool.snapshot()),
            events,
            table: self.chain.ids().to_vec(),
            published: self.chain.published(),
            blocks: self.blocks.ids().to_vec(),
            promised: self.promise.len(),
        }
    }

    /// Runs a call that must be refused and must change nothing.
    #[track_caller]
    fn refused<E>(&mut self, call: impl FnOnce(&mut Self) -> E) -> E {
        let before = self.sight();
        let error = call(self);
        assert_eq!(self.sight(), before, "a refused call changed something");
        let holders: [&dyn Holder; 3] = [&self.chain, &self.blocks, &self.promise];
        assert_eq!(self.pool.audit(&holders), Ok(()), "audit");
        error
    }
}

#[track_caller]
fn is_exceeds(error: Exceeds, asked: usize, left: usize) {
    assert_eq!((error.asked, error.left), (asked, left));
    says(&error, &[asked, left]);
}

// ---- creation

#[track_caller]
fn not_created(config: &PoolConfig) -> CreateError {
    BlockPool::new(config)
        .map(|_| ())
        .expect_err("the configuration is unsound")
}

#[test]
fn a_pool_of_no_blocks_is_not_created() {
    let error = not_created(&PoolConfig::new(0, 16));
    assert_eq!(error, CreateError::NoBlocks);
    says(&error, &[]);
}

#[test]
fn a_pool_of_more_blocks_than_ids_is_not_created() {
    let error = not_created(&PoolConfig::new(MAX_BLOCKS + 1, 1));
    assert_eq!(
        error,
        CreateError::TooManyBlocks {
            asked: MAX_BLOCKS + 1,
            max: MAX_BLOCKS
        }
    );
    says(&error, &[MAX_BLOCKS + 1, MAX_BLOCKS]);
    let error = not_created(&PoolConfig::new(1, 1).max_blocks(usize::MAX));
    assert_eq!(
        error,
        CreateError::TooManyBlocks {
            asked: usize::MAX,
            max: MAX_BLOCKS
        }
    );
}

#[test]
fn a_pool_that_starts_with_more_than_its_maximum_is_not_created() {
    let error = not_created(&PoolConfig::new(5, 1).max_blocks(3));
    assert_eq!(
        error,
        CreateError::MaxBelowBlocks {
            blocks: 5,
            max_blocks: 3
        }
    );
    says(&error, &[5, 3]);
}

#[test]
fn a_pool_of_absurd_blocks_is_not_created() {
    for asked in [0, MAX_BLOCK_SIZE + 1, usize::MAX] {
        let error = not_created(&PoolConfig::new(1, asked));
        assert_eq!(
            error,
            CreateError::BlockSize {
                asked,
                max: MAX_BLOCK_SIZE
            }
        );
        says(&error, &[asked, MAX_BLOCK_SIZE]);
    }
}

#[test]
fn a_pool_with_an_absurd_event_ring_is_not_created() {
    match not_created(&PoolConfig::new(1, 1).events(usize::MAX)) {
        error @ CreateError::TooManyEvents {
            asked: usize::MAX,
            max,
        } => says(&error, &[usize::MAX, max]),
        error => panic!("{error:?}"),
    }
}

// ---- promises

#[test]
fn a_promise_larger_than_the_pool_never_fits() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    let expected = |needed| Refused::NeverFits {
        shard: ShardId::new(3),
        needed,
        capacity: 10,
    };
    for needed in [11, usize::MAX] {
        let error = scene.refused(|scene| scene.pool.check(needed).expect_err("too many"));
        assert_eq!(error, expected(needed));
        says(&error, &[3, needed, 10]);
    }
    // A refusal is counted; everything else stays.
    let before = (pool.report(), scene.sight().findable);
    assert_eq!(pool.reserve(11).map(|_| ()), Err(expected(11)));
    assert_eq!(scene.promise.grow(9), Err(expected(11)));
    assert_eq!(scene.promise.grow(usize::MAX), Err(expected(usize::MAX)));
    let after = (pool.report(), scene.sight().findable);
    assert_eq!(after.0.refused_never, before.0.refused_never + 3);
    assert_eq!(after.0.refused_shortfall, before.0.refused_shortfall);
    assert_eq!(
        (after.0.available, after.0.reserved, after.0.held),
        (3, 2, 5)
    );
    assert_eq!((after.1, scene.promise.len()), (before.1, 2));
}

#[test]
fn a_promise_larger_than_what_is_available_falls_short() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    let expected = |needed| Refused::Shortfall {
        shard: ShardId::new(3),
        needed,
        available: 2,
        quarantined: 0,
    };
    let promised = pool.reserve(1).expect("one of three");
    let error = pool.check(4).expect_err("two are available");
    assert_eq!(error, expected(4));
    says(&error, &[3, 4, 2, 0]);
    let before = pool.report();
    assert_eq!(pool.reserve(10).map(|_| ()), Err(expected(10)));
    assert_eq!(scene.promise.grow(3), Err(expected(3)));
    let after = pool.report();
    assert_eq!(after.refused_shortfall, before.refused_shortfall + 2);
    assert_eq!(after.refused_never, before.refused_never);
    assert_eq!(
        (after.free, after.idle, after.held),
        (before.free, before.idle, before.held)
    );
    assert_eq!(
        (after.available, after.reserved, scene.promise.len()),
        (2, 3, 2)
    );
    let holders: [&dyn Holder; 4] = [&scene.chain, &scene.blocks, &scene.promise, &promised];
    assert_eq!(pool.audit(&holders), Ok(()));
}

#[test]
fn no_more_is_taken_from_a_reservation_than_it_has() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    for asked in [3, usize::MAX] {
        let take = scene.refused(|scene| {
            scene
                .promise
                .take(&mut scene.worker, asked)
                .map(|_| ())
                .expect_err("two")
        });
        let TakeError::Exceeds(exceeds) = take else {
            panic!("{take:?}")
        };
        is_exceeds(exceeds, asked, 2);
        says(&take, &[asked, 2]);
        is_exceeds(
            scene.refused(|scene| scene.promise.shrink(asked).expect_err("two")),
            asked,
            2,
        );
        is_exceeds(
            scene.refused(|scene| scene.promise.split(asked).map(|_| ()).expect_err("two")),
            asked,
            2,
        );
    }
}

#[test]
fn nothing_is_split_beyond_its_end() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    for at in [4, usize::MAX] {
        let error = scene.refused(|scene| scene.blocks.split_off(at).map(|_| ()).expect_err("two"));
        let SplitError::Exceeds(exceeds) = error else {
            panic!("{error:?}")
        };
        is_exceeds(exceeds, at, 2);
        let error =
            scene.refused(|scene| scene.chain.split_off(at).map(|_| ()).expect_err("three"));
        let SplitError::Exceeds(exceeds) = error else {
            panic!("{error:?}")
        };
        is_exceeds(exceeds, at, 3);
        says(&error, &[at, 3]);
    }
}

// ---- lengths

#[test]
fn a_prompt_whose_slices_do_not_fit_its_blocks_is_not_looked_up() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    let namespace = Namespace::new();
    let keys = [0_u64; 4];
    let extra = [ExtraKey::NONE; 4];
    let sound = Prompt::new(&namespace, &TOKENS);
    for got in [1, 2, 4] {
        for full_hit in [false, true] {
            let wrong = [
                (Field::Extra, sound.extra(&extra[..got]).full_hit(full_hit)),
                (Field::Keys, sound.keys(&keys[..got]).full_hit(full_hit)),
                (
                    Field::Extra,
                    sound
                        .extra(&extra[..got])
                        .keys(&keys[..got])
                        .full_hit(full_hit),
                ),
            ];
            for (what, prompt) in wrong {
                let error =
                    scene.refused(|scene| scene.pool.probe(&prompt).expect_err("three blocks"));
                is_length(error, what, 3, got);
                let found = |scene: &mut Scene<'_>| {
                    scene
                        .pool
                        .find(&mut scene.worker, &prompt, &mut scene.promise)
                        .map(|_| ())
                        .expect_err("three")
                };
                let error = scene.refused(found);
                assert_eq!(
                    error,
                    FindError::LengthMismatch(scene.pool.probe(&prompt).expect_err("three"))
                );
                says(&error, &[3, got]);
            }
        }
    }
    // Of no whole block at all.
    let short = Prompt::new(&namespace, &TOKENS[..3]).extra(&extra[..1]);
    is_length(
        scene.refused(|scene| scene.pool.probe(&short).expect_err("no block")),
        Field::Extra,
        0,
        1,
    );
}

#[test]
fn contents_whose_slices_do_not_fit_the_chain_are_not_published() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    let keys = [0_u64; 2];
    let extra = [ExtraKey::NONE; 2];
    // The chain has one private block, so four tokens and one key of each kind fit.
    let sound = Contents::new(&TOKENS[..4]);
    let wrong = [
        (Contents::new(&TOKENS[..3]), Field::Tokens, 0, 3),
        (Contents::new(&TOKENS[..7]), Field::Tokens, 4, 7),
        (Contents::new(&TOKENS[..8]), Field::Tokens, 4, 8),
        (
            Contents::new(&TOKENS[..8]).extra(&extra).keys(&keys),
            Field::Tokens,
            4,
            8,
        ),
        (sound.extra(&extra), Field::Extra, 1, 2),
        (sound.keys(&keys), Field::Keys, 1, 2),
        (sound.extra(&extra).keys(&keys), Field::Extra, 1, 2),
        (Contents::new(&[]).extra(&extra[..1]), Field::Extra, 0, 1),
    ];
    for (contents, what, expected, got) in wrong {
        for paid in [false, true] {
            let error = scene.refused(|scene| {
                let pay = paid.then_some(&mut scene.promise);
                scene
                    .chain
                    .publish(&mut scene.worker, &contents, pay)
                    .expect_err("the lengths differ")
            });
            let PublishError::LengthMismatch(length) = error else {
                panic!("{error:?}")
            };
            is_length(length, what, expected, got);
            says(&error, &[expected, got]);
        }
    }
}

// ---- foreign arguments

#[test]
fn arguments_of_another_pool_are_refused_before_anything_else_is_looked_at() {
    let (pool, foreign_pool) = (pool(), self::pool());
    let mut scene = Scene::new(&pool);
    let mut foreign = Scene::new(&foreign_pool);
    let theirs = foreign.sight();
    let namespace = Namespace::new();
    let keys = [0_u64; 1];
    // Lengths are wrong, too.
    let prompt = Prompt::new(&namespace, &TOKENS).keys(&keys);
    let contents = Contents::new(&TOKENS[..3]);

    let error = scene.refused(|scene| {
        scene
            .pool
            .find(&mut foreign.worker, &prompt, &mut scene.promise)
            .map(|_| ())
            .expect_err("their worker")
    });
    assert_eq!(error, FindError::WrongPool);
    says(&error, &[]);
    let error = scene.refused(|scene| {
        scene
            .pool
            .find(&mut scene.worker, &prompt, &mut foreign.promise)
            .map(|_| ())
            .expect_err("their promise")
    });
    assert_eq!(error, FindError::WrongPool);
    let error = scene.refused(|scene| {
        scene
            .promise
            .take(&mut foreign.worker, 99)
            .map(|_| ())
            .expect_err("theirs")
    });
    assert_eq!(error, TakeError::WrongPool);
    says(&error, &[]);
    let error = scene.refused(|scene| {
        scene
            .chain
            .publish(&mut foreign.worker, &contents, None)
            .expect_err("their worker")
    });
    assert_eq!(error, PublishError::WrongPool);
    says(&error, &[]);
    let error = scene.refused(|scene| {
        scene
            .chain
            .publish(&mut scene.worker, &contents, Some(&mut foreign.promise))
            .expect_err("their promise")
    });
    assert_eq!(error, PublishError::WrongPool);
    let error = scene.refused(|scene| {
        scene
            .chain
            .fork(&mut foreign.worker)
            .map(|_| ())
            .expect_err("their worker")
    });
    assert_eq!(error, ForkError::WrongPool);
    says(&error, &[]);
    let error = scene.refused(|scene| {
        scene
            .chain
            .adopt_duplicates(&mut foreign.worker)
            .expect_err("their worker")
    });
    assert_eq!(error, WrongPool);
    says(&error, &[]);
    let error = scene.refused(|scene| {
        scene
            .pool
            .evict(&mut foreign.worker, 9)
            .expect_err("their worker")
    });
    assert_eq!(error, WrongPool);
    let error = scene.refused(|scene| {
        scene
            .pool
            .maintain(&mut foreign.worker, 9)
            .expect_err("their worker")
    });
    assert_eq!(error, WrongPool);
    let error = scene.refused(|scene| {
        scene
            .pool
            .clear(&mut foreign.worker, None)
            .expect_err("their worker")
    });
    assert_eq!(error, ClearError::WrongPool);
    says(&error, &[]);
    let error = scene.refused(|scene| {
        scene
            .pool
            .shrink(&mut foreign.worker, 1000)
            .expect_err("their worker")
    });
    assert_eq!(error, ResizeError::WrongPool);
    says(&error, &[]);
    let out_of_range = BlockId::new(1000);
    let error = scene.refused(|scene| {
        scene
            .pool
            .invalidate(&mut foreign.worker, out_of_range)
            .expect_err("theirs")
    });
    assert_eq!(error, InvalidateError::WrongPool);
    says(&error, &[]);
    assert_eq!(foreign.sight(), theirs, "the other pool changed");
}

#[test]
fn a_consuming_call_that_is_refused_gives_its_argument_back() {
    let (pool, foreign_pool) = (pool(), self::pool());
    let mut scene = Scene::new(&pool);
    let mut foreign = Scene::new(&foreign_pool);
    let (ours, theirs) = (scene.sight(), foreign.sight());
    let Scene {
        blocks: their_blocks,
        ..
    } = foreign;

    let Returned { error, value } = scene.blocks.append(their_blocks).expect_err("their blocks");
    assert_eq!(error, JoinError::WrongPool);
    let returned = scene.chain.push(value).expect_err("their blocks");
    says(&returned, &[]);
    foreign.blocks = returned.value;

    let returned = scene
        .blocks
        .release(&mut foreign.worker)
        .expect_err("their worker");
    assert_eq!(format!("{returned:?}").matches("WrongPool").count(), 1);
    scene.blocks = returned.value;
    let returned = scene
        .chain
        .release(&mut foreign.worker)
        .expect_err("their worker");
    assert_eq!(returned.error, WrongPool);
    scene.chain = returned.value;

    assert_eq!((scene.sight(), foreign.sight()), (ours, theirs));
    let holders: [&dyn Holder; 3] = [&foreign.chain, &foreign.blocks, &foreign.promise];
    assert_eq!(foreign_pool.audit(&holders), Ok(()));
    scene.refused(|_| ());
}

#[test]
fn nothing_of_another_pool_is_counted_by_an_audit() {
    let (pool, foreign_pool) = (pool(), self::pool());
    let (scene, foreign) = (Scene::new(&pool), Scene::new(&foreign_pool));
    let holders: [&dyn Holder; 3] = [&scene.chain, &scene.blocks, &foreign.promise];
    let error = pool.audit(&holders).expect_err("their promise");
    says(&error, &[]);
}

#[test]
fn an_audit_without_all_holders_names_what_disagrees() {
    let pool = pool();
    let scene = Scene::new(&pool);
    let without_blocks: [&dyn Holder; 2] = [&scene.chain, &scene.promise];
    let error = pool
        .audit(&without_blocks)
        .expect_err("two blocks are held by nobody");
    let first = usize::try_from(scene.blocks.ids()[0].get()).expect("an index");
    says(&error, &[first]);
    let without_promise: [&dyn Holder; 2] = [&scene.chain, &scene.blocks];
    let error = pool
        .audit(&without_promise)
        .expect_err("two credits are promised to nobody");
    says(&error, &[2, 0]);
    let twice: [&dyn Holder; 4] = [&scene.chain, &scene.blocks, &scene.promise, &scene.blocks];
    assert!(pool.audit(&twice).is_err(), "one holder was listed twice");
}

// ---- the limit

#[test]
fn a_pool_grows_no_further_than_there_is_bookkeeping() {
    let pool = BlockPool::new(&PoolConfig::new(10, SIZE).max_blocks(15).events(64))
        .expect("a sound configuration");
    let mut scene = Scene::new(&pool);
    for (n, asked) in [(6, 16), (usize::MAX, usize::MAX)] {
        let error = scene.refused(|scene| scene.pool.grow(n).expect_err("too many"));
        assert_eq!(error, ResizeError::BeyondMax { asked, max: 15 });
        says(&error, &[asked, 15]);
    }
    pool.grow(5).expect("as many as there are");
    let error = scene.refused(|scene| scene.pool.grow(1).expect_err("one too many"));
    assert_eq!(error, ResizeError::BeyondMax { asked: 16, max: 15 });
}

#[test]
fn a_pool_shrinks_by_no_more_than_it_has_and_keeps_its_promises() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    for asked in [10, 11, usize::MAX] {
        let error = scene.refused(|scene| {
            scene
                .pool
                .shrink(&mut scene.worker, asked)
                .expect_err("nothing would be left")
        });
        assert_eq!(error, ResizeError::NothingLeft { asked, online: 10 });
        says(&error, &[asked, 10]);
    }
    // Two of the five free and idle blocks are promised.
    let error = scene.refused(|scene| {
        scene
            .pool
            .shrink(&mut scene.worker, 9)
            .expect_err("promises stand")
    });
    let short = Refused::Shortfall {
        shard: ShardId::new(3),
        needed: 5,
        available: 3,
        quarantined: 0,
    };
    assert_eq!(error, ResizeError::Refused(short));
    says(&error, &[3, 5, 3, 0]);
    assert_eq!(
        pool.report().refused_shortfall,
        0,
        "no promise was asked for"
    );
}

// ---- blocks

#[test]
fn only_a_published_block_can_be_invalidated() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    for block in [BlockId::new(10), BlockId::new(u32::MAX)] {
        let error = scene.refused(|scene| {
            scene
                .pool
                .invalidate(&mut scene.worker, block)
                .expect_err("no such block")
        });
        assert_eq!(
            error,
            InvalidateError::OutOfRange {
                block,
                capacity: 10
            }
        );
        says(
            &error,
            &[usize::try_from(block.get()).expect("an index"), 10],
        );
    }
    let free = BlockId::new(9);
    for block in [scene.blocks.ids()[1], scene.chain.ids()[2], free] {
        let error = scene.refused(|scene| {
            scene
                .pool
                .invalidate(&mut scene.worker, block)
                .expect_err("private or free")
        });
        assert_eq!(error, InvalidateError::NotPublished { block });
        says(&error, &[usize::try_from(block.get()).expect("an index")]);
    }
}

#[test]
fn a_block_with_the_most_references_gets_no_other_and_is_a_miss() {
    let pool = pool();
    let mut scene = Scene::new(&pool);
    let (head, private) = (scene.chain.ids()[0], scene.chain.ids()[2]);
    let mut fresh = pool.reserve(1).expect("it fits");
    let mut late = pool.chain(&scene.namespace);
    late.push(fresh.take(&mut scene.worker, 1).expect("promised"))
        .expect("of this pool");
    // Forks of a chain of one block, kept in place of forgotten ones: what is forgotten is never given back.
    let mut short = scene.pool.find(
        &mut scene.worker,
        &Prompt::new(&scene.namespace, &TOKENS[..5]),
        &mut fresh,
    );
    let short = short.as_mut().expect("one held block");
    assert_eq!(short.ids(), [head]);
    for _ in 2..MOST_REFERENCES {
        core::mem::forget(short.fork(&mut scene.worker).expect("there is room"));
    }
    let before = pool.report();
    let expected = too_many(short.fork(&mut scene.worker).map(|_| ()));
    assert_eq!(expected.block, head);
    says(&expected, &[usize::try_from(head.get()).expect("an index")]);
    assert_eq!(
        scene.chain.fork(&mut scene.worker).map(|_| ()),
        Err(ForkError::TooManyReferences(expected))
    );
    match scene.chain.split_off(2).map(|_| ()) {
        Err(error @ SplitError::TooManyReferences(inner)) => {
            assert_eq!(inner, expected);
            says(&error, &[usize::try_from(head.get()).expect("an index")]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((scene.chain.len(), scene.chain.ids()[2]), (3, private));
    let published = late
        .publish(&mut scene.worker, &Contents::new(&TOKENS[..4]), None)
        .expect("one block");
    // The copy that is there can't be held once more, so there are two now.
    assert_eq!((published.stored, published.duplicates), (1, 0));
    assert_eq!(published.stopped, None);
    assert_eq!(late.published(), 1);
    let after = pool.report();
    assert_eq!(
        (after.held, after.idle, after.free),
        (before.held, before.idle, before.free)
    );
    assert_eq!(
        (after.available, after.reserved),
        (before.available, before.reserved)
    );
    // At the largest count a hit is a miss: what is found is the other copy, which has no child.
    let found = pool.find(
        &mut scene.worker,
        &Prompt::new(&scene.namespace, &TOKENS),
        &mut scene.promise,
    );
    assert_eq!(found.expect("of this pool").ids(), late.ids());
    let missed = pool.report();
    assert_eq!(
        (missed.hits - after.hits, missed.misses - after.misses),
        (1, 1)
    );
    assert_eq!(scene.promise.len(), 2);
}

#[track_caller]
fn too_many(result: Result<(), ForkError>) -> TooManyReferences {
    match result {
        Err(ForkError::TooManyReferences(error)) => error,
        other => panic!("{other:?}"),
    }
}
