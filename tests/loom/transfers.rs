//! Both ends of a transfer and its writers at the same time.

use kvblock::{
    Admit, AnswerError, BlockPool, Export, Fence, Growth, Import, InTransit, Incoming, Leases,
    Namespace, NotOpen, Owner, Phase, PoolConfig, Prompt, Sequences, SequencesConfig, ShardId,
    Step, Terms,
};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::{three, two};

fn registry(shard: u32) -> Sequences {
    let pool = BlockPool::new(&PoolConfig::new(1, 1).shard(ShardId::new(shard))).unwrap();
    Sequences::new(pool, &SequencesConfig::new(1)).unwrap()
}

const PROMPT: [u32; 1] = [7];

fn request(space: &Namespace) -> Admit<'_> {
    Admit::new(Prompt::new(space, &PROMPT).full_hit(true), Growth::OnDemand)
}

/// A registry with a sequence of one block, which writers fill.
fn loading(writers: usize) -> (Sequences, kvblock::Handle, Import) {
    let mut sequences = registry(0);
    let space = Namespace::new();
    let imported = sequences
        .import(&request(&space), &Incoming::new(1, writers))
        .unwrap();
    (sequences, imported.handle, imported.import)
}

/// A writer answers while the sequence is given up: the block comes back once, and not before the writer is done with it.
#[test]
fn answer_vs_abort() {
    two(|| {
        let (mut sequences, handle, import) = loading(1);
        let memory = Arc::new(UnsafeCell::new(0));
        let writer = {
            let memory = memory.clone();
            thread::spawn(move || {
                // SAFETY: loom fails the model if another access is concurrent.
                memory.with_mut(|cell| unsafe { *cell = 1 });
                import.arrived(0, 0..1).unwrap();
            })
        };
        sequences.release(handle).unwrap();
        let pool = sequences.pool();
        if let Ok(mut promise) = pool.reserve(1) {
            let mut worker = pool.worker().unwrap();
            let next = promise.take(&mut worker, 1).unwrap();
            // SAFETY: as above.
            memory.with_mut(|cell| unsafe { *cell = 2 });
            drop(next);
        }
        writer.join().unwrap();
        assert_eq!(sequences.audit(&[]), Ok(()));
        assert_eq!(sequences.pool().available(), 1);
    });
}

/// Two writers finish a block while its registry looks: it is published after both, and whoever finds it sees what they wrote.
#[test]
fn writers_vs_publish() {
    three(|| {
        let (mut sequences, handle, import) = loading(2);
        let halves = [Arc::new(UnsafeCell::new(0)), Arc::new(UnsafeCell::new(0))];
        let writers = [0, 1].map(|writer| {
            let (import, half) = (import.clone(), halves[writer].clone());
            thread::spawn(move || {
                // SAFETY: loom fails the model if another access is concurrent.
                half.with_mut(|cell| unsafe { *cell = 1 });
                import.arrived(writer, 0..1).unwrap();
            })
        });
        if sequences.loading(handle).unwrap().arrived == 1 {
            for half in &halves {
                // SAFETY: as above.
                assert_eq!(half.with(|cell| unsafe { *cell }), 1);
            }
        }
        for writer in writers {
            writer.join().unwrap();
        }
        let state = sequences.loading(handle).unwrap();
        assert_eq!((state.arrived, state.left), (1, 0));
        assert_eq!(sequences.state(handle).unwrap().published, 1);
        assert_eq!(sequences.audit(&[]), Ok(()));
    });
}

/// One answer is given twice at the same time: it is obeyed once.
#[test]
fn the_same_answer_twice() {
    two(|| {
        let (sequences, _, import) = loading(1);
        let other = {
            let import = import.clone();
            thread::spawn(move || import.end(0).is_ok())
        };
        let mine = import.arrived(0, 0..1);
        let ended = other.join().unwrap();
        assert!(ended);
        assert!(matches!(mine, Ok(_) | Err(AnswerError::Repeated { .. })));
        assert!(import.is_settled());
        assert_eq!(sequences.audit(&[]), Ok(()));
    });
}

/// Who sees that nothing is left sees the blocks given back.
#[test]
fn settled_after_blocks() {
    two(|| {
        let (mut sequences, handle, import) = loading(1);
        sequences.release(handle).unwrap();
        let writer = {
            let import = import.clone();
            thread::spawn(move || import.end(0).unwrap())
        };
        if import.is_settled() {
            assert_eq!(
                sequences.pool().available(),
                1,
                "settled before the block is back"
            );
        }
        assert_eq!(writer.join().unwrap(), 1);
        assert_eq!(sequences.audit(&[]), Ok(()));
    });
}

/// Two threads of a writer read two blocks of an export: both have, before the source's next owner writes to either.
#[test]
fn readers_vs_source() {
    three(|| {
        let prompt = [7, 8];
        let space = Namespace::new();
        let request = Admit::new(
            Prompt::new(&space, &prompt).full_hit(true),
            Growth::OnDemand,
        );
        let registry = |shard| {
            let pool = BlockPool::new(&PoolConfig::new(2, 1).shard(ShardId::new(shard))).unwrap();
            Sequences::new(pool, &SequencesConfig::new(1)).unwrap()
        };
        let (mut source, mut there) = (registry(0), registry(1));
        let here = source.admit(&request).unwrap().handle;
        source.computed(here, 2).unwrap();
        let mut leases = Leases::new(source.pool(), 9).unwrap();
        let terms = Terms::copy(Owner::new(1), 10);
        let export = source.export(here, &space, &mut leases, &terms).unwrap();
        let import = there.import(&request, &Incoming::from_export(&export, 1));
        let import = import.unwrap().import;
        source.release(here).unwrap();
        let memory = [Arc::new(UnsafeCell::new(0)), Arc::new(UnsafeCell::new(0))];
        let readers = [0, 1].map(|at| {
            let (import, block) = (import.clone(), memory[at].clone());
            thread::spawn(move || {
                // SAFETY: loom fails the model if a write is concurrent.
                block.with(|cell| unsafe { *cell });
                import.arrived(0, at..at + 1).unwrap();
            })
        });
        let pool = source.pool();
        if let Ok(mut promise) = pool.reserve(2) {
            let mut worker = pool.worker().unwrap();
            let next = promise.take(&mut worker, 2).unwrap();
            for block in &memory {
                // SAFETY: as above.
                block.with_mut(|cell| unsafe { *cell = 1 });
            }
            drop(next);
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert!(leases.is_empty());
        assert_eq!(source.audit(&[&leases]), Ok(()));
    });
}

/// A move with everything arrived.
fn arrived() -> (Sequences, Leases, Export, Sequences, kvblock::Handle) {
    let (mut source, mut there) = (registry(0), registry(1));
    let space = Namespace::new();
    let here = source.admit(&request(&space)).unwrap().handle;
    source.computed(here, 1).unwrap();
    let mut leases = Leases::new(source.pool(), 9).unwrap();
    let terms = Terms::moving(Owner::new(1), 10);
    let export = source.export(here, &space, &mut leases, &terms).unwrap();
    let incoming = Incoming::from_export(&export, 1);
    let imported = there.import(&request(&space), &incoming).unwrap();
    imported.import.arrived(0, 0..1).unwrap();
    (source, leases, export, there, imported.handle)
}

/// The source calls a move off while the other side commits it: one of them goes on with the sequence.
#[test]
fn commit_vs_abort() {
    two(|| {
        let (source, leases, export, mut there, handle) = arrived();
        let output = Arc::new(UnsafeCell::new(0));
        let aborter = {
            let (export, output) = (export.clone(), output.clone());
            thread::spawn(move || {
                // SAFETY: loom fails the model if another access is concurrent.
                output.with(|cell| unsafe { *cell });
                export.abort()
            })
        };
        let committed = there.commit(handle).is_ok();
        if !committed {
            // What the source did with the output before it took it back is done.
            // SAFETY: as above.
            output.with_mut(|cell| unsafe { *cell = 1 });
        }
        let aborted = aborter.join().unwrap();
        assert_eq!(
            aborted,
            if committed {
                Err(NotOpen::Committed)
            } else {
                Ok(())
            }
        );
        let phase = if committed {
            Phase::Committed
        } else {
            Phase::Aborted
        };
        assert_eq!(export.phase(), phase);
        assert!(leases.is_empty(), "nobody reads any more");
        assert_eq!(source.audit(&[&leases]), Ok(()));
        assert_eq!(there.audit(&[]), Ok(()));
    });
}

/// A copy that was called off is answered for while the source goes on: as soon as it may it writes to its own block, and needs none for
/// a copy, for which it has no promise.
#[test]
fn swap_answer_vs_append() {
    two(|| {
        let registry = |shard| {
            let pool = BlockPool::new(&PoolConfig::new(1, 2).shard(ShardId::new(shard))).unwrap();
            Sequences::new(pool, &SequencesConfig::new(1)).unwrap()
        };
        let (mut device, mut host) = (registry(0), registry(1));
        let mut leases = Leases::new(device.pool(), 1).unwrap();
        let space = Namespace::new();
        let source = Admit::new(Prompt::new(&space, &PROMPT), Growth::Cap(1));
        let handle = device.admit(&source).unwrap().handle;
        device.computed(handle, 1).unwrap();
        let stored = Admit::new(Prompt::new(&space, &PROMPT), Growth::OnDemand);
        let swap = device.swap_to(handle, &mut host, &stored, &mut leases, Owner::new(1));
        let mut swap = swap.unwrap();
        swap.copying(Fence(1)).unwrap();
        swap.abort(&mut host).unwrap();
        let copies = thread::spawn(move || assert!(swap.complete(Fence(1))));
        let mut step = Step::new();
        while let Err(error) = device.append(handle, 1, &mut step) {
            assert_eq!(error, InTransit::Leaving.into());
            thread::yield_now();
        }
        assert_eq!(step.copies(), []);
        copies.join().unwrap();
        assert_eq!(device.audit(&[&leases]), Ok(()));
        assert_eq!(host.audit(&[]), Ok(()));
    });
}
