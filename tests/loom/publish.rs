//! Publishing against reclaim, hits, other publishers and cuts.

use kvblock::{Event, EventKind, Published, Stopped};
use loom::thread;

use crate::shard::{A, AMPLE, B, C, Shard, X};
use crate::{three, two};

/// Publish below a held parent and release both, against the reclaim of the parent by its token. The parent is touched and the
/// allowance is used up.
#[test]
fn publish_vs_token() {
    two(|| {
        let s = Shard::new(3, 0);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let got = s.grab(&mut w, 1);
        publisher.join().unwrap();
        s.rest(&got, &[], 0);
        s.drop_all(&got);
        s.at_rest();
    });
}

/// A chain of two is published in one call, against takers.
#[test]
fn publish_chain_vs_take() {
    two(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[X]);
        let (a, b) = (s.private(&mut w), s.private(&mut w));
        let t = s.clone();
        let publisher = thread::spawn(move || {
            t.fill(a, A);
            t.fill(b, B);
            assert_eq!(
                t.publish(&mut t.worker(), &[], &[a, b], &[A, B].concat())
                    .stored,
                2
            );
            t.release(&[a, b]);
        });
        let first = s.grab(&mut w, 1);
        let second = s.grab(&mut w, 1);
        publisher.join().unwrap();
        s.drop_all(&first);
        s.drop_all(&second);
        s.at_rest();
    });
}

#[test]
fn publish_token_hit_3t() {
    three(|| {
        let s = Shard::new(3, 0);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let t = s.clone();
        let hitter = thread::spawn(move || {
            t.see(&t.worker(), &[A, B]);
        });
        let got = s.grab(&mut w, 1);
        publisher.join().unwrap();
        hitter.join().unwrap();
        s.drop_all(&got);
        s.at_rest();
    });
}

/// Who finds a block sees what its publisher wrote, in the node and in the device memory.
#[test]
fn publish_vs_hit() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        let a = s.private(&mut w);
        let t = s.clone();
        let hitter = thread::spawn(move || {
            let w = t.worker();
            t.see(&w, &[A]);
        });
        s.fill(a, A);
        s.put(&mut w, &[], a, A);
        s.release(&[a]);
        hitter.join().unwrap();
        s.at_rest();
    });
}

/// Published one way or the other; or the other's copy is idle, and its credit has not come back yet.
fn done(published: Published) -> bool {
    published.stored + published.duplicates == 1 || published.stopped == Some(Stopped::Unpaid)
}

/// Two owners publish one content: one copy or two, and every later lookup finds one.
#[test]
fn publish_vs_publish() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        let (a, b) = (s.private(&mut w), s.private(&mut w));
        s.fill(a, A);
        let t = s.clone();
        let other = thread::spawn(move || {
            let mut w = t.worker();
            t.fill(b, A);
            let published = t.publish(&mut w, &[], &[b], &A);
            assert!(done(published), "{published:?}");
            if published.duplicates == 1 {
                t.check(a, A);
                t.release(&[a]);
            }
            t.release(&[b]);
        });
        let published = s.publish(&mut w, &[], &[a], &A);
        assert!(done(published), "{published:?}");
        if published.duplicates == 1 {
            s.check(b, A);
            s.release(&[b]);
        }
        s.release(&[a]);
        other.join().unwrap();
        assert_eq!(s.see(&w, &[A]), 1);
        s.at_rest();
    });
}

/// Two owners of one private block (a fork) try to publish it and release it: whoever sees that it is alone does.
#[test]
fn shared_publish_vs_publish() {
    two(|| {
        let s = Shard::new(1, AMPLE);
        let mut w = s.worker();
        let a = s.private(&mut w);
        s.fill(a, A);
        assert!(s.hold(a));
        let t = s.clone();
        let other = thread::spawn(move || {
            t.check(a, A);
            let stored = t.publish(&mut t.worker(), &[], &[a], &A).stored;
            t.release(&[a]);
            stored
        });
        let stored = s.publish(&mut w, &[], &[a], &A).stored;
        s.release(&[a]);
        let stored = stored + other.join().unwrap();
        assert!(stored <= 1, "published twice");
        assert_eq!(s.see(&w, &[A]), stored);
        s.at_rest();
    });
}

/// A fork's other owner releases while the block is being published.
#[test]
fn shared_publish_vs_release() {
    two(|| {
        let s = Shard::new(1, AMPLE);
        let mut w = s.worker();
        let a = s.private(&mut w);
        s.fill(a, A);
        assert!(s.hold(a));
        let t = s.clone();
        let other = thread::spawn(move || {
            t.check(a, A);
            t.release(&[a]);
        });
        let published = s.publish(&mut w, &[], &[a], &A);
        assert!(published.stored == 1 || published.stopped == Some(Stopped::Shared));
        s.release(&[a]);
        other.join().unwrap();
        s.at_rest();
    });
}

/// Replays events: what is findable according to them.
fn replay(events: &[Event]) -> Vec<(u32, u64)> {
    let mut findable = vec![];
    for event in events {
        let copy = (event.copy.block.get(), event.copy.generation);
        if event.kind == EventKind::Stored {
            assert!(!findable.contains(&copy), "stored twice: {events:?}");
            findable.push(copy);
        } else {
            assert!(
                findable.contains(&copy),
                "removed before it was stored: {events:?}"
            );
            findable.retain(|&other| other != copy);
        }
    }
    findable
}

/// A child is published just when its parent is invalidated: neither is found after, and the events say so.
#[test]
fn publish_vs_invalidate() {
    two(|| {
        let s = Shard::with_events(2, AMPLE, 8);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        let b = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || {
            let mut w = t.worker();
            t.fill(b, B);
            let _ = t.publish(&mut w, &[a], &[b], &B);
        });
        s.0.invalidate(&mut w, a).unwrap();
        publisher.join().unwrap();
        assert_eq!(s.see(&w, &[A, B]), 0);
        let mut events = vec![];
        assert_eq!(s.0.events().unwrap().read(&mut events), 0);
        assert_eq!(replay(&events), [], "{events:?}");
        assert!(!s.is_findable(b), "a findable block below a cut one");
        s.rest(&[a, b], &[], 0);
        s.release(&[a, b]);
        s.at_rest();
    });
}

/// A reclaim against a publisher below the parent, with events: at rest they replay to what is findable.
#[test]
fn events_of_reclaim_and_publish() {
    two(|| {
        let s = Shard::with_events(2, AMPLE, 8);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let got = s.grab(&mut w, 1);
        publisher.join().unwrap();
        let mut events = vec![];
        assert_eq!(s.0.events().unwrap().read(&mut events), 0);
        let mut findable: Vec<(u32, u64)> =
            s.0.snapshot()
                .copies
                .iter()
                .map(|c| (c.block.get(), c.generation))
                .collect();
        let mut replayed = replay(&events);
        findable.sort_unstable();
        replayed.sort_unstable();
        assert_eq!(replayed, findable, "{events:?}");
        s.drop_all(&got);
    });
}

/// The same content, published, reclaimed and published again, against a reader of its child.
#[test]
fn republish_vs_hit() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        let t = s.clone();
        let hitter = thread::spawn(move || {
            t.see(&t.worker(), &[A, C]);
        });
        let got = s.grab(&mut w, 2);
        if let [a, c] = got[..] {
            s.fill(a, A);
            s.fill(c, C);
            assert_eq!(s.publish(&mut w, &[], &[a, c], &[A, C].concat()).stored, 2);
            s.release(&[a, c]);
        }
        hitter.join().unwrap();
        s.at_rest();
    });
}
