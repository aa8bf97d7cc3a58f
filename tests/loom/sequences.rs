//! Registries of two threads over one pool: branches, copies, admissions and preemptions against each other.

use kvblock::{
    Admit, AdmitError, BlockId, BlockPool, CopyTicket, Growth, Handle, Holder, Namespace,
    PoolConfig, Prompt, Sequences, SequencesConfig, Step,
};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::{explore, two};

/// Positions of a block.
const SIZE: usize = 3;
/// A prompt of one whole block and two positions of the next.
const PROMPT: [u32; 5] = [1, 2, 3, 4, 5];

/// The device memory behind the blocks: a cell for each position.
struct Memory(Vec<UnsafeCell<u32>>);
// Loom itself checks every access to the cells.
unsafe impl Sync for Memory {}
unsafe impl Send for Memory {}

impl Memory {
    fn write(&self, slot: i64, token: u32) {
        let cell = &self.0[usize::try_from(slot).unwrap()];
        // SAFETY: loom fails the model if any other access is concurrent.
        cell.with_mut(|cell| unsafe { *cell = token });
    }
    fn read(&self, slot: i64) -> u32 {
        let cell = &self.0[usize::try_from(slot).unwrap()];
        // SAFETY: loom fails the model if any write is concurrent.
        cell.with(|cell| unsafe { *cell })
    }
    fn copy(&self, ticket: CopyTicket) {
        let slot = |block: BlockId, offset| i64::from(block.get()) * SIZE as i64 + offset;
        for offset in 0..ticket.positions as i64 {
            self.write(
                slot(ticket.dst, offset),
                self.read(slot(ticket.src, offset)),
            );
        }
    }
}

/// One thread's registry and the memory.
struct Engine {
    sequences: Sequences,
    memory: Arc<Memory>,
}

impl Engine {
    fn pair(blocks: usize) -> (Self, Self) {
        let pool = BlockPool::new(&PoolConfig::new(blocks, SIZE)).unwrap();
        let cells = (0..blocks * SIZE).map(|_| UnsafeCell::new(0)).collect();
        let memory = Arc::new(Memory(cells));
        let engine = |pool| Self {
            sequences: Sequences::new(pool, &SequencesConfig::new(2)).unwrap(),
            memory: memory.clone(),
        };
        (engine(pool.clone()), engine(pool))
    }

    /// Admits the prompt, reads what was found of it and computes the rest.
    fn start(&mut self, growth: Growth) -> Option<Handle> {
        self.admit(&PROMPT, growth)
    }

    fn admit(&mut self, prompt: &[u32], growth: Growth) -> Option<Handle> {
        let space = Namespace::new();
        let prompt = Prompt::new(&space, prompt).full_hit(true);
        let admitted = match self.sequences.admit(&Admit::new(prompt, growth)) {
            Ok(admitted) => admitted,
            Err(AdmitError::Refused(_)) => return None,
            Err(error) => panic!("{error}"),
        };
        let handle = admitted.handle;
        self.check(handle, admitted.hit);
        let len = prompt.tokens.len();
        let mut slots = [0; PROMPT.len()];
        self.sequences
            .slots(handle, admitted.hit..len, &mut slots)
            .unwrap();
        for (&slot, &token) in slots.iter().zip(&prompt.tokens[admitted.hit..]) {
            self.memory.write(slot, token);
        }
        self.sequences.computed(handle, len).unwrap();
        Some(handle)
    }

    /// The first positions are the prompt's.
    fn check(&self, handle: Handle, positions: usize) {
        let mut slots = [0; PROMPT.len()];
        self.sequences
            .slots(handle, 0..positions, &mut slots)
            .unwrap();
        for (&slot, &token) in slots[..positions].iter().zip(&PROMPT) {
            assert_eq!(self.memory.read(slot), token, "wrong content");
        }
    }

    /// Appends one position, makes the copies that this needs, and writes.
    fn write_one(&mut self, handle: Handle, token: u32) -> Option<CopyTicket> {
        let mut step = Step::new();
        self.sequences.append(handle, 1, &mut step).ok()?;
        let ticket = step.copies().first().copied();
        if let Some(ticket) = ticket {
            self.memory.copy(ticket);
        }
        self.memory.write(step.slots()[0], token);
        ticket
    }

    fn finish(&mut self, handle: Handle) {
        self.check(handle, PROMPT.len());
        self.sequences.release(handle).unwrap();
    }
}

/// Nothing is left of either, and all adds up.
fn at_rest(one: &Engine, other: &Engine) {
    let others: [&dyn Holder; 1] = [&other.sequences];
    one.sequences
        .audit(&others)
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!((one.sequences.len(), other.sequences.len()), (0, 0));
    let report = one.sequences.pool().report();
    assert_eq!((report.held, report.reserved), (0, 0));
}

/// A branch is made of a sequence while another one of the same prefix is released.
#[test]
fn fork_vs_release() {
    two(|| {
        let (mut one, mut other) = Engine::pair(4);
        let parent = one.start(Growth::OnDemand).unwrap();
        let shares = other.start(Growth::OnDemand).unwrap();
        let there = thread::spawn(move || {
            other.finish(shares);
            other
        });
        let mut child = [Handle::NONE];
        one.sequences.fork(parent, &mut child).unwrap();
        one.finish(parent);
        one.finish(child[0]);
        let other = there.join().unwrap();
        at_rest(&one, &other);
    });
}

/// Two branches of one sequence, each in a registry of its own.
fn branches(blocks: usize) -> ((Engine, Handle), (Engine, Handle)) {
    let (mut one, mut other) = Engine::pair(blocks);
    let parent = one.start(Growth::OnDemand).unwrap();
    let mut child = [Handle::NONE];
    one.sequences.fork(parent, &mut child).unwrap();
    let detached = one.sequences.detach(child[0]).unwrap();
    let child = other.sequences.attach(detached).unwrap();
    ((one, parent), (other, child))
}

/// One branch copies the block that both share; the other one ends, and the last free block is written to by the next sequence: it is
/// not the one that is being copied.
#[test]
fn ticket_vs_write() {
    explore(Some(3), || {
        let ((mut one, parent), (mut other, child)) = branches(3);
        let there = thread::spawn(move || {
            other.finish(child);
            if let Some(next) = other.admit(&[8], Growth::OnDemand) {
                other.sequences.release(next).unwrap();
            }
            other
        });
        if let Some(ticket) = one.write_one(parent, 7) {
            one.sequences.copied(ticket).unwrap();
        }
        one.finish(parent);
        let other = there.join().unwrap();
        at_rest(&one, &other);
    });
}

/// One branch reads the shared block and ends; the other one takes a position back and writes it anew: in place if it is alone, else
/// to a copy.
#[test]
fn read_vs_rewrite() {
    two(|| {
        let ((mut one, parent), (mut other, child)) = branches(3);
        let there = thread::spawn(move || {
            other
                .sequences
                .truncate(child, PROMPT.len() - 1)
                .expect("nothing is promised or published");
            let ticket = other.write_one(child, 8).into_iter();
            ticket.for_each(|ticket| other.sequences.copied(ticket).unwrap());
            other.check(child, PROMPT.len() - 1);
            other.sequences.release(child).unwrap();
            other
        });
        one.finish(parent);
        let other = there.join().unwrap();
        at_rest(&one, &other);
    });
}

/// Two compute and publish one content.
#[test]
fn publish_by_two_registries() {
    explore(Some(3), || {
        let (mut one, mut other) = Engine::pair(4);
        let there = thread::spawn(move || {
            let handle = other.start(Growth::OnDemand).unwrap();
            other.finish(handle);
            other
        });
        let handle = one.start(Growth::OnDemand).unwrap();
        one.finish(handle);
        let other = there.join().unwrap();
        at_rest(&one, &other);
        let space = Namespace::new();
        let found = one.sequences.pool().probe(&Prompt::new(&space, &PROMPT));
        assert_eq!(found.unwrap().positions, SIZE);
    });
}

/// A sequence is preempted while another admission finds its block, or does not any more.
#[test]
fn preempt_vs_hit() {
    two(|| {
        let (mut one, mut other) = Engine::pair(3);
        let handle = one.start(Growth::OnDemand).unwrap();
        let there = thread::spawn(move || {
            if let Some(handle) = other.start(Growth::OnDemand) {
                other.finish(handle);
            }
            other
        });
        one.sequences.preempt(handle).unwrap();
        let other = there.join().unwrap();
        at_rest(&one, &other);
    });
}

/// An admission counts on an idle hit, and before it holds that the block is taken for an older promise: it takes another block
/// instead.
#[test]
fn admit_vs_take() {
    explore(Some(3), || {
        let (mut one, other) = Engine::pair(3);
        for prompt in [[1, 2, 3], [6, 7, 8]] {
            let handle = one.admit(&prompt, Growth::OnDemand).unwrap();
            one.sequences.release(handle).unwrap();
        }
        let there = thread::spawn(move || {
            let pool = other.sequences.pool().clone();
            let mut worker = pool.worker().unwrap();
            if let Ok(mut promise) = pool.reserve(2) {
                let blocks = promise.take(&mut worker, 2).unwrap();
                for &block in blocks.ids() {
                    other.memory.write(i64::from(block.get()) * SIZE as i64, 9);
                }
                blocks.release(&mut worker).unwrap();
            }
            other
        });
        let handle = one.admit(&[1, 2, 3], Growth::OnDemand);
        let handle = handle.expect("there is one more than promised");
        one.check(handle, SIZE);
        one.sequences.release(handle).unwrap();
        let other = there.join().unwrap();
        at_rest(&one, &other);
    });
}

/// An admission counts on a hit that another sequence holds, while that one ends: then it has to pay for it, or undoes all.
#[test]
fn admit_vs_release() {
    two(|| {
        let (mut one, mut other) = Engine::pair(3);
        let handle = other.start(Growth::OnDemand).unwrap();
        let there = thread::spawn(move || {
            other.finish(handle);
            other
        });
        // Refused, if the block is idle already and its credit is not there yet.
        if let Some(handle) = one.start(Growth::OnDemand) {
            one.finish(handle);
        }
        let other = there.join().unwrap();
        at_rest(&one, &other);
    });
}
