//! Lists of blocks that one thread takes, splits and joins: without memory they stay as they are.

use kvblock::{
    BlockPool, Blocks, Chain, Contents, FindError, ForkError, Holder, JoinError, Namespace,
    OutOfMemory, Prompt, Reservation, SplitError, TakeError, Worker,
};

use super::{LIVE, Refuse, armed, cache, config, create};

const NONE: OutOfMemory = OutOfMemory;

/// Runs `call` with the n-th request refused, for n = 1, 2, ... until it needs no more, each time on a pool of its own, with a chain
/// of 20 blocks, of which 12 are duplicates of idle ones, and with 14 blocks. `call` says whether it succeeded, or ran out of memory.
fn fails_cleanly(
    at_least: u64,
    call: impl for<'p> Fn(&mut Scene<'p>, &'p BlockPool, &mut Worker) -> bool,
) {
    let mut n = 1;
    loop {
        let before = LIVE.get();
        let done = fails_at(n, &call);
        assert_eq!(LIVE.get(), before, "request {n}: bytes left behind");
        if done {
            break;
        }
        n += 1;
    }
    assert!(n > at_least, "only {} requests", n - 1);
}

/// True: it succeeds with fewer requests.
fn fails_at(
    n: u64,
    call: &impl for<'p> Fn(&mut Scene<'p>, &'p BlockPool, &mut Worker) -> bool,
) -> bool {
    let (pool, mut worker) = create(&config(128, 4)).expect("memory");
    let space = Namespace::new();
    let tokens: Vec<u32> = (0..20 * 4).collect();
    cache(&pool, &mut worker, &space, &tokens[..12 * 4]);
    let mut promise = pool.reserve(80).expect("room");
    let mut chain = pool.chain(&space);
    chain.take(&mut worker, &mut promise, 20).expect("memory");
    let contents = Contents::new(&tokens);
    let published = chain.publish(&mut worker, &contents, None);
    assert_eq!(published.expect("whole blocks").duplicates, 12);
    let blocks = promise.take(&mut worker, 14).expect("memory");
    let mut scene = Scene {
        blocks: Some(blocks),
        chain,
        promise,
        tokens,
        space,
        made: None,
    };
    let before = scene.sight(&pool);
    let (done, requests) = armed(Refuse::Nth(n), || call(&mut scene, &pool, &mut worker));
    if done {
        assert!(requests < n, "request {n} was refused and nobody said so");
        return true;
    }
    assert!(requests >= n, "an error, but request {n} was never made");
    assert_eq!(scene.sight(&pool), before, "request {n}");
    scene.audit(&pool);
    let done = call(&mut scene, &pool, &mut worker);
    assert!(done, "with memory it succeeds");
    scene.audit(&pool);
    false
}

struct Scene<'p> {
    blocks: Option<Blocks<'p>>,
    chain: Chain<'p>,
    promise: Reservation<'p>,
    tokens: Vec<u32>,
    space: Namespace,
    made: Option<Made<'p>>,
}

enum Made<'p> {
    Blocks(Blocks<'p>),
    Chain(Chain<'p>),
}

impl Scene<'_> {
    fn sight(&self, pool: &BlockPool) -> String {
        let (blocks, chain) = (self.blocks.as_ref().map(Blocks::ids), self.chain.ids());
        let (report, promised) = (pool.report(), self.promise.len());
        let published = self.chain.published();
        format!("{blocks:?} {chain:?} {published} {promised} {report:?}")
    }

    fn audit(&self, pool: &BlockPool) {
        let mut holders: Vec<&dyn Holder> = vec![&self.chain, &self.promise];
        holders.extend(self.blocks.iter().map(|it| it as &dyn Holder));
        match &self.made {
            Some(Made::Blocks(blocks)) => holders.push(blocks),
            Some(Made::Chain(chain)) => holders.push(chain),
            None => {}
        }
        assert_eq!(pool.audit(&holders), Ok(()));
    }
}

#[test]
fn blocks_out_of_memory_stay_where_they_are() {
    fails_cleanly(1, |scene, _, worker| match scene.promise.take(worker, 40) {
        Ok(blocks) => {
            assert_eq!(blocks.len(), 40);
            scene.made = Some(Made::Blocks(blocks));
            true
        }
        Err(error) => {
            assert_eq!(error, TakeError::OutOfMemory(NONE));
            false
        }
    });
    fails_cleanly(1, |scene, _, _| {
        let blocks = scene.blocks.as_mut().expect("they are here");
        match blocks.split_off(2) {
            Ok(rest) => {
                assert_eq!((blocks.len(), rest.len()), (2, 12));
                scene.made = Some(Made::Blocks(rest));
                true
            }
            Err(error) => {
                assert_eq!(error, SplitError::OutOfMemory(NONE));
                false
            }
        }
    });
    fails_cleanly(1, |scene, _, worker| {
        let blocks = scene.blocks.as_mut().expect("they are here");
        let few = scene.promise.take(worker, 8).expect("few need no list");
        match blocks.append(few) {
            Ok(()) => blocks.len() == 22,
            Err(returned) => {
                assert_eq!(returned.error, JoinError::OutOfMemory(NONE));
                // As before.
                assert!(returned.value.release(worker).is_ok());
                assert!(scene.promise.grow(8).is_ok());
                false
            }
        }
    });
}

#[test]
fn chains_out_of_memory_stay_as_they_are() {
    fails_cleanly(1, |scene, _, worker| {
        match scene.chain.take(worker, &mut scene.promise, 40) {
            Ok(()) => scene.chain.len() == 60,
            Err(error) => {
                assert_eq!(error, TakeError::OutOfMemory(NONE));
                false
            }
        }
    });
    fails_cleanly(1, |scene, _, _| {
        let blocks = scene.blocks.take().expect("they are here");
        match scene.chain.push(blocks) {
            Ok(()) => scene.chain.len() == 34,
            Err(returned) => {
                assert_eq!(returned.error, JoinError::OutOfMemory(NONE));
                scene.blocks = Some(returned.value);
                false
            }
        }
    });
    fails_cleanly(2, |scene, _, worker| match scene.chain.fork(worker) {
        Ok(twin) => {
            assert_eq!(twin.len(), 20);
            scene.made = Some(Made::Chain(twin));
            true
        }
        Err(error) => {
            assert_eq!(error, ForkError::OutOfMemory(NONE));
            false
        }
    });
    fails_cleanly(2, |scene, _, _| match scene.chain.split_off(11) {
        Ok(tail) => {
            assert_eq!((scene.chain.len(), tail.len()), (11, 9));
            scene.made = Some(Made::Chain(tail));
            true
        }
        Err(error) => {
            assert_eq!(error, SplitError::OutOfMemory(NONE));
            false
        }
    });
}

#[test]
fn a_prefix_is_not_looked_up_without_memory() {
    fails_cleanly(1, |scene, pool, worker| {
        // All of it is held, and nothing is paid.
        let prompt = Prompt::new(&scene.space, &scene.tokens).full_hit(true);
        let mut nothing = pool.reserve(0).expect("nothing always fits");
        match pool.find(worker, &prompt, &mut nothing) {
            Ok(found) => {
                assert_eq!(found.len(), 20);
                scene.made = Some(Made::Chain(found));
                true
            }
            Err(error) => {
                assert_eq!(error, FindError::OutOfMemory(NONE));
                false
            }
        }
    });
}
