//! The shared structures by themselves: the bitmap's summaries, credits, events.

use loom::sync::Arc;
use loom::thread;

use kvblock::steps::{Bitmap, Credited, Events};

use crate::two;

/// A seeker lowers the summary of a word that it found empty, against an insert into that word: at rest nothing is hidden.
#[test]
fn bitmap_retract_vs_set() {
    two(|| {
        let map = Arc::new(Bitmap::new(4));
        assert_eq!(map.claim(4).len(), 4);
        let other = map.clone();
        let setter = thread::spawn(move || other.insert(3));
        let found = map.claim(1);
        setter.join().unwrap();
        assert!(map.is_announced(), "a free block is out of sight");
        assert_eq!(found.len() + map.claim(4).len(), 1);
    });
}

/// Two takers and an inserter of one word: each block goes to one.
#[test]
fn bitmap_claim_vs_claim() {
    two(|| {
        let map = Arc::new(Bitmap::new(4));
        let other = map.clone();
        let taker = thread::spawn(move || other.claim(2));
        let mut mine = map.claim(2);
        mine.extend(taker.join().unwrap());
        mine.sort_unstable();
        assert_eq!(mine, [0, 1, 2, 3]);
    });
}

/// Whoever has a credit finds the block behind it at once: it was visible before its credit came back.
#[test]
fn credit_after_block() {
    two(|| {
        let pool = Arc::new(Credited::new());
        let other = pool.clone();
        let releaser = thread::spawn(move || other.release());
        if pool.withdraw() {
            assert!(pool.has_free_block(), "a credit before its block");
        }
        releaser.join().unwrap();
    });
}

/// An event is read whole or not at all, and each is read or counted as lost.
#[test]
fn event_written_vs_read() {
    two(|| {
        let ring = Arc::new(Events::new(1));
        let other = ring.clone();
        let writer = thread::spawn(move || {
            other.emit(1);
            other.emit(2);
        });
        let mut seen = vec![];
        let mut lost = 0;
        let mut position = ring.read(0, &mut seen, &mut lost);
        writer.join().unwrap();
        position = ring.read(position, &mut seen, &mut lost);
        assert_eq!((position, seen.len() as u64 + lost), (2, 2));
        assert!(
            seen.iter().all(|&(block, key)| u64::from(block) == key),
            "torn: {seen:?}"
        );
    });
}

/// Two writers meet in one slot: neither waits, none of what is read is torn, and nothing is waited for at rest.
#[test]
fn event_writer_vs_writer() {
    two(|| {
        let ring = Arc::new(Events::new(1));
        let other = ring.clone();
        let writer = thread::spawn(move || other.emit(1));
        ring.emit(2);
        writer.join().unwrap();
        let (mut seen, mut lost) = (vec![], 0);
        let position = ring.read(0, &mut seen, &mut lost);
        assert_eq!(
            (position, seen.len() as u64 + lost),
            (2, 2),
            "a reader would wait for ever"
        );
        assert!(
            seen.iter().all(|&(block, key)| u64::from(block) == key),
            "torn: {seen:?}"
        );
    });
}
