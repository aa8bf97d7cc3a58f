//! The mover over plain memory: what it has, what it refuses, and that a refusal changes nothing.

use core::ptr::NonNull;

use kvblock::{
    Access, BlockId, BlockLayout, CopyRoute, Fence, FenceError, FenceTable, HostMemory, HostMover,
    HostMoverError, MemoryId, Mover, OutOfMemory, Plane, TimelineId,
};

use super::bench::{Bench, pairs};
use super::support::says;

const ZERO: MemoryId = MemoryId::new(0);
const ONE: MemoryId = MemoryId::new(1);

fn piece(base: u64, bytes: usize) -> HostMemory {
    HostMemory::new(bytes).expect("few").at(base)
}

fn mover() -> (HostMover, FenceTable) {
    let mut fences = FenceTable::new();
    let mover = HostMover::new(fences.add_timeline().expect("the first"));
    fences.track(ZERO, 8).expect("few");
    (mover, fences)
}

#[test]
fn memory_is_zero_aligned_and_has_the_addresses_that_it_is_given() {
    let memory = HostMemory::new(100).expect("few");
    assert_eq!((memory.len(), memory.is_empty()), (100, false));
    assert_eq!(memory.as_slice(), [0; 100]);
    assert_eq!(memory.base(), memory.as_slice().as_ptr().addr() as u64);
    assert_eq!(memory.base() % 64, 0);
    assert_eq!(memory.at(7).base(), 7);
    let none = HostMemory::new(0).expect("nothing");
    assert!(none.is_empty() && none.as_slice().is_empty());
    assert_eq!(HostMemory::new(usize::MAX).map(|_| ()), Err(OutOfMemory));
    let bytes: *mut [u8] = Box::into_raw(vec![1, 2, 3].into_boxed_slice());
    // SAFETY: nobody else has the bytes until they are freed below, when this borrow has ended.
    let forever: &'static mut [u8] = unsafe { &mut *bytes };
    let address = forever.as_ptr().addr() as u64;
    let mut memory = HostMemory::from_static(forever);
    memory.as_mut_slice()[1] = 9;
    assert_eq!(
        (memory.base(), memory.as_slice()),
        (address, &[1, 9, 3][..])
    );
    drop(memory);
    // SAFETY: it came from a box, and what borrowed it is gone.
    drop(unsafe { Box::from_raw(bytes) });
}

#[test]
fn memory_of_others_is_copied_where_it_is() {
    let mut bytes: Vec<u8> = (0..64).collect();
    let start = NonNull::new(bytes.as_mut_ptr()).expect("a vector has bytes");
    // SAFETY: the vector outlives the mover and is not touched meanwhile.
    let memory = unsafe { HostMemory::from_raw(start, bytes.len()) };
    let layout = BlockLayout::new(&[Plane::new(memory.base(), 8, 8)], 8).expect("it is sound");
    let (mut mover, mut fences) = mover();
    mover.register(ZERO, memory).expect("nothing is there");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let plan = route.plan(&pairs([(0, 7), (7, 1)])).expect("it is sound");
    assert_eq!(mover.copy(&plan, &mut fences), Ok(Fence(1)));
    drop(mover);
    let first: Vec<u8> = (0..8).collect();
    assert_eq!((&bytes[56..], &bytes[8..16]), (&first[..], &first[..]));
    assert_eq!(bytes[16..56], (16..56).collect::<Vec<u8>>());
}

#[test]
fn bytes_and_addresses_are_registered_once() {
    let (mut mover, _) = mover();
    mover
        .register(ZERO, piece(100, 50))
        .expect("nothing is there");
    mover.register(ZERO, piece(150, 50)).expect("behind it");
    mover.register(ONE, piece(120, 10)).expect("another memory");
    let taken = HostMoverError::Registered {
        memory: ZERO,
        base: 150,
    };
    assert_eq!(mover.register(ZERO, piece(199, 50)), Err(taken));
    says(&taken, &[0, 150]);
    // The same bytes, by other addresses and in another memory.
    let mut bytes = vec![0_u8; 100];
    let start = NonNull::new(bytes.as_mut_ptr()).expect("a vector has bytes");
    // SAFETY: the vector outlives both; neither is used for an access.
    let whole = unsafe { HostMemory::from_raw(start, 100) }.at(1000);
    let last = NonNull::from(&mut bytes[99]);
    // SAFETY: as above.
    let end = unsafe { HostMemory::from_raw(last, 1) }.at(5);
    mover.register(ONE, whole).expect("nobody has them");
    let twice = HostMoverError::Registered {
        memory: ONE,
        base: 1000,
    };
    assert_eq!(mover.register(MemoryId::new(2), end), Err(twice));
    assert_eq!(
        mover.bytes(MemoryId::new(2), 5, 1),
        Err(HostMoverError::Unregistered {
            memory: MemoryId::new(2)
        })
    );
}

#[test]
fn bytes_are_found_within_one_piece() {
    let (mut mover, _) = mover();
    mover
        .register(ZERO, piece(100, 50))
        .expect("nothing is there");
    mover.register(ZERO, piece(150, 50)).expect("behind it");
    mover.bytes_mut(ZERO, 149, 1).expect("it is there")[0] = 7;
    assert_eq!(mover.bytes(ZERO, 148, 2), Ok(&[0, 7][..]));
    assert_eq!(mover.bytes(ZERO, 200, 0), Ok(&[][..]));
    for (address, bytes) in [(149, 2), (99, 1), (200, 1), (0, u64::MAX), (u64::MAX, 2)] {
        let none = HostMoverError::NoSuchBytes {
            memory: ZERO,
            address,
            bytes,
        };
        assert_eq!(mover.bytes(ZERO, address, bytes), Err(none));
        assert_eq!(mover.bytes_mut(ZERO, address, bytes).map(|_| ()), Err(none));
    }
    let none = mover.bytes(ZERO, 149, 2).expect_err("it is in two");
    says(&none, &[0, 149, 2]);
}

#[test]
fn planes_in_several_pieces_are_found_and_those_in_none_are_named() {
    let (mut mover, mut fences) = mover();
    mover
        .register(ZERO, piece(0, 64))
        .expect("nothing is there");
    mover.register(ZERO, piece(1000, 64)).expect("apart");
    let of = |second| {
        let planes = [Plane::new(0, 8, 8), Plane::new(second, 8, 8)];
        let layout = BlockLayout::new(&planes, 8).expect("it is sound");
        let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
        route.plan(&pairs([(0, 1)])).expect("it is sound")
    };
    mover.bytes_mut(ZERO, 1000, 8).expect("it is there").fill(5);
    assert_eq!(mover.copy(&of(1000), &mut fences), Ok(Fence(1)));
    assert_eq!(
        mover.bytes(ZERO, 1008, 9),
        Ok(&[5, 5, 5, 5, 5, 5, 5, 5, 0][..])
    );
    mover.bytes_mut(ZERO, 0, 8).expect("it is there").fill(6);
    let outside = mover
        .copy(&of(1001), &mut fences)
        .expect_err("a byte too far");
    let HostMoverError::Outside {
        memory,
        outside: it,
    } = outside
    else {
        panic!("{outside:?}")
    };
    assert_eq!(memory, ZERO);
    assert_eq!((it.plane, it.start, it.end), (1, 1001, 1065));
    assert_eq!((it.memory_start, it.memory_end), (1000, 1064));
    says(&outside, &[0, 1, 1001, 1065, 1000, 1064]);
    assert!(std::error::Error::source(&outside).is_some());
    assert_eq!(
        mover.bytes(ZERO, 8, 1),
        Ok(&[0][..]),
        "plane 0 was not copied either"
    );
    assert_eq!(mover.completed(), Ok(Fence(1)));
    assert_eq!(fences.last(mover.timeline()), Ok(Fence(1)));
}

#[test]
fn memory_that_is_not_there_is_named() {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8)], 8).expect("it is sound");
    let there = layout.clone().in_memory(ONE);
    let plan = CopyRoute::new(&layout, &there).map(|it| it.plan(&pairs([(0, 1)])));
    let plan = plan.expect("they fit").expect("it is sound");
    let (mut mover, mut fences) = mover();
    mover
        .register(ZERO, piece(0, 64))
        .expect("nothing is there");
    let untracked = FenceError::Untracked { memory: ONE };
    assert_eq!(
        mover.copy(&plan, &mut fences),
        Err(HostMoverError::Fences(untracked))
    );
    fences.track(ONE, 8).expect("few");
    let unregistered = HostMoverError::Unregistered { memory: ONE };
    assert_eq!(mover.copy(&plan, &mut fences), Err(unregistered));
    says(&unregistered, &[1]);
    mover.register(ONE, piece(0, 64)).expect("nothing is there");
    assert_eq!(mover.copy(&plan, &mut fences), Ok(Fence(1)));
}

#[test]
fn a_copy_waits_for_nobody_and_so_is_refused_while_it_would_have_to() {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8)], 8).expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let plan = route.plan(&pairs([(0, 1)])).expect("it is sound");
    let mut bench = Bench::of(&[&layout]);
    let engine = bench.fences.add_timeline().expect("the second");
    let written = [BlockId::new(0)];
    let recorded = bench
        .fences
        .record_blocks(ZERO, &written, Access::Write, engine, Fence(3));
    recorded.expect("it is tracked");
    let waits = HostMoverError::NotPassed {
        timeline: engine,
        fence: Fence(3),
    };
    assert_eq!(bench.mover.copy(&plan, &mut bench.fences), Err(waits));
    says(&waits, &[1, 3]);
    bench
        .fences
        .completed(engine, Fence(2))
        .expect("it is known");
    assert_eq!(bench.mover.copy(&plan, &mut bench.fences), Err(waits));
    bench.check();
    bench
        .fences
        .completed(engine, Fence(3))
        .expect("it is known");
    assert_eq!(bench.mover.copy(&plan, &mut bench.fences), Ok(Fence(1)));
}

#[test]
fn fences_count_copies_and_pass_at_once() {
    let layout = BlockLayout::new(&[Plane::new(0, 8, 8)], 8).expect("it is sound");
    let route = CopyRoute::new(&layout, &layout).expect("it is one layout");
    let mut bench = Bench::of(&[&layout]);
    assert_eq!(bench.mover.completed(), Ok(Fence(0)));
    assert_eq!(bench.mover.wait(Fence(0)), Ok(()));
    for number in 1..5 {
        let plan = route.plan(&[]).expect("nothing is wrong with nothing");
        assert_eq!(bench.copy(&plan), Fence(number));
        assert_eq!(bench.mover.completed(), Ok(Fence(number)));
        assert_eq!(bench.mover.wait(Fence(number)), Ok(()));
    }
    let never = HostMoverError::NoSuchFence {
        fence: Fence(5),
        last: Fence(4),
    };
    assert_eq!(bench.mover.wait(Fence(5)), Err(never));
    says(&never, &[5, 4]);
    // A timeline that the table does not have.
    let mut stranger = HostMover::new(TimelineId::new(7));
    let plan = route.plan(&[]).expect("nothing is wrong with nothing");
    let unknown = FenceError::NoSuchTimeline {
        timeline: TimelineId::new(7),
        timelines: 1,
    };
    assert_eq!(
        stranger.copy(&plan, &mut bench.fences),
        Err(HostMoverError::Fences(unknown))
    );
}
