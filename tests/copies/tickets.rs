//! Copy tickets of sequences: made by a mover, and acknowledged when the fence of the copy has passed.

use kvblock::{
    Admit, BlockId, BlockLayout, BlockPool, CopyQueue, CopyQueueError, CopyRoute, CopyTicket,
    Fence, Growth, Handle, MemoryId, Mover, Namespace, Plane, PoolConfig, Prompt, Sequences,
    SequencesConfig, Step,
};

use super::bench::{Bench, Pairs};
use super::support::says;

const SIZE: usize = 4;
const BLOCKS: usize = 8;

/// Sequences whose positions are bytes of plain memory.
struct Engine {
    sequences: Sequences,
    bench: Bench,
    route: CopyRoute,
    queue: CopyQueue<CopyTicket>,
}

impl Engine {
    fn new() -> Self {
        let pool = BlockPool::new(&PoolConfig::new(BLOCKS, SIZE)).expect("it is sound");
        let layout = BlockLayout::new(&[Plane::new(0, 4, 4)], BLOCKS).expect("it is sound");
        let config = SequencesConfig::new(4);
        Self {
            sequences: Sequences::new(pool, &config).expect("it is sound"),
            bench: Bench::of(&[&layout]),
            route: CopyRoute::new(&layout, &layout).expect("it is one layout"),
            queue: CopyQueue::new(),
        }
    }

    /// The bytes of a sequence's positions.
    fn content(&self, handle: Handle) -> Vec<u8> {
        let known = self.sequences.state(handle).expect("it lives").known;
        let table = self.sequences.table(handle).expect("it lives");
        let block = |id: &BlockId| &self.bench.memory(0)[SIZE * id.get() as usize..][..SIZE];
        let mut bytes: Vec<u8> = table.iter().flat_map(block).copied().collect();
        bytes.truncate(known);
        bytes
    }

    fn write(&mut self, handle: Handle, position: usize, byte: u8) {
        let table = self.sequences.table(handle).expect("it lives");
        let address = SIZE * table[position / SIZE].get() as usize + position % SIZE;
        let place = self
            .bench
            .mover
            .bytes_mut(MemoryId::new(0), address as u64, 1);
        place.expect("it is there")[0] = byte;
    }

    /// A position more for each: the copies that it takes are made, and wait for their fence.
    fn step(&mut self, handles: &[Handle]) -> usize {
        let requests: Vec<_> = handles.iter().map(|&handle| (handle, 1)).collect();
        let mut step = Step::new();
        self.sequences.step(&requests, &mut step);
        assert!(step.failures().is_empty());
        let pairs: Pairs = step.copies().iter().map(|it| (it.src, it.dst)).collect();
        let plan = self.route.plan(&pairs).expect("every destination is new");
        let fence = self.bench.copy(&plan);
        self.queue.push(fence, step.copies()).expect("in order");
        pairs.len()
    }

    fn acknowledge(&mut self) -> usize {
        let passed = self.bench.mover.completed().expect("it never fails");
        let sequences = &mut self.sequences;
        self.queue.complete(passed, |ticket| {
            sequences.copied(ticket).expect("it was not before");
        })
    }
}

#[test]
fn branches_have_their_own_content_once_the_copies_are_made() {
    let mut engine = Engine::new();
    let (space, prompt) = (Namespace::new(), [1, 2, 3, 4, 5, 6]);
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
    let parent = engine.sequences.admit(&request).expect("it fits").handle;
    for (position, byte) in (0..6).zip(1..) {
        engine.write(parent, position, byte);
    }
    engine.sequences.computed(parent, 6).expect("they are");
    let mut children = [parent; 2];
    engine
        .sequences
        .fork(parent, &mut children)
        .expect("it fits");
    let all = [parent, children[0], children[1]];

    // Each writes its seventh position. The half full block is held until its copies are made, so each of them gets one.
    assert_eq!(engine.step(&all), 3);
    assert_eq!(engine.queue.len(), 3);
    for (byte, handle) in (70..).zip(all) {
        engine.write(handle, 6, byte);
        let contents = kvblock::Contents::new(&[70]);
        engine
            .sequences
            .tokens(handle, 6, &contents)
            .expect("it is next");
    }
    for (byte, handle) in (70..).zip(all) {
        assert_eq!(engine.content(handle), [1, 2, 3, 4, 5, 6, byte]);
    }
    // Until the tickets are back the blocks are held for them.
    for handle in all {
        engine.sequences.release(handle).expect("it lives");
    }
    let figures = |engine: &Engine| {
        let report = engine.sequences.report();
        (report.pending_copies, report.pool.held)
    };
    // A source and three destinations.
    assert_eq!(figures(&engine), (3, 4));
    assert_eq!(engine.acknowledge(), 3);
    assert_eq!(engine.acknowledge(), 0);
    assert_eq!(figures(&engine), (0, 0));
    assert_eq!(engine.sequences.audit(&[]), Ok(()));
}

#[test]
fn tickets_come_back_in_order_and_no_earlier_than_their_fence() {
    let mut queue = CopyQueue::new();
    assert_eq!(
        (queue.next(), queue.len(), queue.is_empty()),
        (None, 0, true)
    );
    queue.push(Fence(2), &[1, 2]).expect("it is the first");
    queue.push(Fence(2), &[3]).expect("as late as the last");
    queue.push(Fence(5), &[]).expect("nothing");
    queue.push(Fence(7), &[4]).expect("later");
    let earlier = CopyQueueError::Earlier {
        fence: Fence(6),
        last: Fence(7),
    };
    assert_eq!(queue.push(Fence(6), &[9]), Err(earlier));
    says(&earlier, &[6, 7]);
    let mut out = Vec::new();
    assert_eq!(queue.complete(Fence(1), |it| out.push(it)), 0);
    assert_eq!(queue.complete(Fence(6), |it| out.push(it)), 3);
    assert_eq!(
        (&out[..], queue.next(), queue.len()),
        (&[1, 2, 3][..], Some(Fence(7)), 1)
    );
    assert_eq!(queue.complete(Fence(u64::MAX), |it| out.push(it)), 1);
    assert_eq!(out, [1, 2, 3, 4]);
    // An empty queue begins anew.
    queue.push(Fence(1), &[5]).expect("nothing waits");
}
