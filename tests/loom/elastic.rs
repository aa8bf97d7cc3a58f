//! The limit moves: what is retired just then comes online exactly once, and nothing findable is left above it. And the last release of
//! what is cut.

use loom::thread;

use crate::shard::{A, AMPLE, B, Shard, id};
use crate::two;

/// A block above the limit is released just when the pool grows: it is free in the end, once, with one credit.
#[test]
fn grow_vs_retire() {
    two(|| {
        let s = Shard::elastic(2, 2);
        let mut w = s.worker();
        let held = s.grab(&mut w, 2);
        s.0.shrink(&mut w, 1).unwrap();
        s.release(&[id(0)]);
        let t = s.clone();
        let releaser = thread::spawn(move || {
            t.write(id(1), 1);
            t.release(&[id(1)]);
        });
        s.0.grow(1).unwrap();
        releaser.join().unwrap();
        s.at_rest();
        assert_eq!(s.0.report().free, held.len(), "a block stayed offline");
        let got = s.grab(&mut w, 2);
        s.drop_all(&got);
    });
}

/// The only block that is not held comes online just when somebody looks for one. What its last owner did is done.
#[test]
fn grow_vs_take() {
    two(|| {
        let s = Shard::elastic(2, 2);
        let mut w = s.worker();
        s.grab(&mut w, 2);
        s.0.shrink(&mut w, 1).unwrap();
        s.release(&[id(1)]);
        let t = s.clone();
        let taker = thread::spawn(move || t.grab(&mut t.worker(), 1));
        s.0.grow(1).unwrap();
        let got = taker.join().unwrap();
        s.rest(&[&[id(0)], &got[..]].concat(), &[], 0);
    });
}

/// A block above the new limit is released during the shrink. It is offline then, or the next shrink takes it; what its owner did to
/// it is done when it comes back.
#[test]
fn shrink_vs_release() {
    two(|| {
        let s = Shard::elastic(2, 2);
        let mut w = s.worker();
        s.grab(&mut w, 2);
        let t = s.clone();
        let releaser = thread::spawn(move || {
            t.write(id(1), 1);
            t.release(&[id(1)]);
        });
        let shrunk = s.0.shrink(&mut w, 1);
        releaser.join().unwrap();
        s.rest(&[id(0)], &[], 0);
        assert!(shrunk.is_ok() || s.0.capacity() == 2);
        let more = 1 - usize::from(shrunk.is_ok());
        let after = s.0.shrink(&mut w, more).unwrap();
        assert_eq!(after.draining, 0, "a straggler that no shrink takes");
        s.0.grow(1).unwrap();
        let got = s.grab(&mut w, 1);
        assert_eq!(got, [id(1)]);
        s.rest(&[id(0), id(1)], &[], 0);
    });
}

/// Two blocks are free; one is taken and given back while the upper one is to go.
#[test]
fn shrink_vs_take() {
    two(|| {
        let s = Shard::elastic(2, 2);
        let mut w = s.worker();
        let t = s.clone();
        let taker = thread::spawn(move || {
            let mut w = t.worker();
            let got = t.grab(&mut w, 1);
            t.drop_all(&got);
            got.len()
        });
        let shrunk = s.0.shrink(&mut w, 1);
        taker.join().unwrap();
        s.at_rest();
        let more = 1 - usize::from(shrunk.is_ok());
        assert_eq!(s.0.shrink(&mut w, more).unwrap().draining, 0);
        s.at_rest();
        assert_eq!(s.0.available(), 1);
    });
}

/// A block above the new limit is published during the shrink: it can't be found in the end.
#[test]
fn shrink_vs_publish() {
    two(|| {
        let s = Shard::elastic(2, 2);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        let b = s.private(&mut w);
        assert_eq!(b, id(1));
        let t = s.clone();
        let publisher = thread::spawn(move || {
            let mut w = t.worker();
            t.fill(b, B);
            let _ = t.publish(&mut w, &[a], &[b], &B);
        });
        s.0.shrink(&mut w, 1).unwrap();
        publisher.join().unwrap();
        assert!(!s.is_findable(b), "a findable block above the limit");
        s.rest(&[a, b], &[], 0);
        s.release(&[a, b]);
        s.at_rest();
        assert_eq!(s.0.report().draining, 0, "it was released after the shrink");
    });
}

/// The last owner of a cut block claims it while another thread has its token.
#[test]
fn cut_release_vs_token() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        let held = s.find(&w, &A);
        s.0.invalidate(&mut w, held[0]).unwrap();
        let t = s.clone();
        let reclaimer = thread::spawn(move || {
            if let Some(token) = t.pop() {
                assert!(t.look(token, true).is_none(), "a held block was claimed");
            }
        });
        s.release(&held);
        reclaimer.join().unwrap();
        s.at_rest();
        assert_eq!(s.free_blocks(), 2);
    });
}

/// The last release against the cut: whichever comes first, the block's content goes once, and so does its event.
#[test]
fn cut_release_vs_invalidate() {
    two(|| {
        let s = Shard::with_events(1, AMPLE, 4);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        let t = s.clone();
        let cutter = thread::spawn(move || t.0.invalidate(&mut t.worker(), a).unwrap());
        s.release(&[a]);
        cutter.join().unwrap();
        s.at_rest();
        assert_eq!(s.see(&w, &[A]), 0);
        let mut events = vec![];
        s.0.events().unwrap().read(&mut events);
        assert_eq!(events.len(), 2, "{events:?}");
        let got = s.grab(&mut w, 1);
        s.rest(&got, &[], 0);
    });
}

/// The last release of a cut block whose idle child is reclaimed just then: it goes after the child.
#[test]
fn cut_release_vs_child() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let held = s.find(&w, &A);
        // Without a credit the child stays.
        assert!(s.withdraw(1));
        s.0.invalidate(&mut w, held[0]).unwrap();
        s.deposit(1);
        let t = s.clone();
        let taker = thread::spawn(move || t.grab(&mut t.worker(), 1));
        s.release(&held);
        let theirs = taker.join().unwrap();
        assert_eq!(theirs.len(), 1);
        s.rest(&theirs, &[], 0);
        let mine = s.grab(&mut w, 1);
        s.rest(&[theirs, mine].concat(), &[], 0);
    });
}
