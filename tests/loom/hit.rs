//! Hits, releases and rewrites against a reclaimer that works by tokens.

use loom::thread;

use crate::shard::{A, AMPLE, B, C, Shard, X, id};
use crate::{three, two};

fn hit_against_reclaim_of_both(allowance: u32) {
    let s = Shard::new(2, allowance);
    let mut w = s.worker();
    s.idle_chain(&mut w, &[A, B]);
    s.touch(&w, &[A, B]);
    let t = s.clone();
    let hitter = thread::spawn(move || {
        t.see(&t.worker(), &[A, B]);
    });
    let got = s.grab(&mut w, 2);
    s.drop_all(&got);
    hitter.join().unwrap();
    s.at_rest();
}

#[test]
fn hit_vs_reclaim() {
    two(|| hit_against_reclaim_of_both(AMPLE));
}

#[test]
fn hit_vs_reclaim_pastcap() {
    two(|| hit_against_reclaim_of_both(0));
}

#[test]
fn hit_vs_two_takes() {
    two(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B, C]);
        let t = s.clone();
        let hitter = thread::spawn(move || {
            t.see(&t.worker(), &[A, B]);
        });
        let first = s.grab(&mut w, 1);
        let second = s.grab(&mut w, 1);
        s.drop_all(&first);
        s.drop_all(&second);
        hitter.join().unwrap();
        s.at_rest();
    });
}

#[test]
fn hit_reclaim_reclaim_3t() {
    three(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let t = s.clone();
        let hitter = thread::spawn(move || t.find(&t.worker(), &[A, B].concat()));
        let t = s.clone();
        let taker = thread::spawn(move || t.grab(&mut t.worker(), 1));
        let mine = s.grab(&mut w, 1);
        let found = hitter.join().unwrap();
        let theirs = taker.join().unwrap();
        for (&block, tokens) in found.iter().zip([A, B]) {
            s.check(block, tokens);
        }
        s.rest(&[&mine[..], &theirs, &found].concat(), &[], 0);
    });
}

/// A probe pins nothing: what it compares may be rewritten under it, and must not be taken for a match.
#[test]
fn probe_vs_rewrite() {
    two(|| {
        let s = Shard::of_two_words(1);
        let mut w = s.worker();
        let block = s.private(&mut w);
        let _ = s.publish(&mut w, &[], &[block], &[1, 1, 2, 2]);
        s.release(&[block]);
        let t = s.clone();
        let reader = thread::spawn(move || assert_eq!(t.probe(&[1, 1, 3, 3]), 0, "torn"));
        let block = s.grab(&mut w, 1)[0];
        let _ = s.publish(&mut w, &[], &[block], &[4, 4, 3, 3]);
        s.release(&[block]);
        reader.join().unwrap();
        s.at_rest();
    });
}

/// The same for a lookup that pins.
#[test]
fn find_vs_rewrite() {
    two(|| {
        let s = Shard::of_two_words(1);
        let mut w = s.worker();
        let block = s.private(&mut w);
        let _ = s.publish(&mut w, &[], &[block], &[1, 1, 2, 2]);
        s.release(&[block]);
        let t = s.clone();
        let reader =
            thread::spawn(move || assert_eq!(t.find(&t.worker(), &[1, 1, 3, 3]), [], "torn"));
        if s.withdraw(1) {
            let block = s.take(&mut w, 1)[0];
            let _ = s.publish(&mut w, &[], &[block], &[4, 4, 3, 3]);
            s.release(&[block]);
        }
        reader.join().unwrap();
        s.at_rest();
    });
}

/// The parent's id is reused with another content, and the child's tokens published below it.
#[test]
fn reuse_parent_id() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let t = s.clone();
        let reader = thread::spawn(move || {
            let w = t.worker();
            t.see(&w, &[C, B]);
            t.see(&w, &[A, B]);
        });
        let got = s.grab(&mut w, 2);
        if got.len() == 2 {
            s.fill(id(0), C);
            s.put(&mut w, &[], id(0), C);
            s.fill(id(1), B);
            s.put(&mut w, &[id(0)], id(1), B);
            s.release(&[id(0), id(1)]);
        }
        reader.join().unwrap();
        s.at_rest();
    });
}

/// A block is compared, then reclaimed and published with other content: the pin must not follow.
#[test]
fn compare_then_reused() {
    two(|| {
        let s = Shard::new(1, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        let t = s.clone();
        let reader = thread::spawn(move || {
            t.see(&t.worker(), &[A]);
        });
        if s.withdraw(1) {
            let block = s.take(&mut w, 1)[0];
            s.fill(block, C);
            s.put(&mut w, &[], block, C);
            s.release(&[block]);
        }
        reader.join().unwrap();
        s.at_rest();
    });
}

/// The release of a chain against a taker of all that is granted.
#[test]
fn release_vs_take() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        let b = s.seed(&mut w, &[a], B);
        let t = s.clone();
        let releaser = thread::spawn(move || t.release(&[a, b]));
        let first = s.grab(&mut w, 1);
        let second = s.grab(&mut w, 1);
        releaser.join().unwrap();
        s.drop_all(&first);
        s.drop_all(&second);
        s.at_rest();
    });
}

#[test]
fn release_release_take_3t() {
    three(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        let b = s.seed(&mut w, &[a], B);
        let again = s.find(&w, &[A, B].concat());
        assert_eq!(again.len(), 2);
        let t = s.clone();
        let first = thread::spawn(move || t.release(&[a, b]));
        let t = s.clone();
        let second = thread::spawn(move || t.release(&again));
        let got = s.grab(&mut w, 1);
        first.join().unwrap();
        second.join().unwrap();
        s.drop_all(&got);
        s.at_rest();
    });
}

/// A popper drops the token of a held block, against that block's last release.
#[test]
fn drop_token_vs_release() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        let held = s.find(&w, &A);
        s.idle_chain(&mut w, &[X]);
        let t = s.clone();
        let releaser = thread::spawn(move || t.release(&held));
        let got = s.grab(&mut w, 1);
        releaser.join().unwrap();
        s.drop_all(&got);
        s.at_rest();
    });
}

/// The last owner's use of a free block's memory happens before the next one's.
#[test]
fn free_then_take() {
    two(|| {
        let s = Shard::new(1, AMPLE);
        let mut w = s.worker();
        let block = s.private(&mut w);
        s.write(block, 1);
        let t = s.clone();
        let other = thread::spawn(move || {
            let got = t.grab(&mut t.worker(), 1);
            t.drop_all(&got);
        });
        s.write(block, 2);
        s.release(&[block]);
        other.join().unwrap();
        s.at_rest();
    });
}

/// Forks of a private block: the last of two owners frees it, once, after both have used it.
#[test]
fn shared_private_release_vs_release() {
    two(|| {
        let s = Shard::new(1, AMPLE);
        let mut w = s.worker();
        let block = s.private(&mut w);
        s.fill(block, A);
        assert!(s.hold(block));
        let t = s.clone();
        let other = thread::spawn(move || {
            t.check(block, A);
            t.release(&[block]);
            let got = t.grab(&mut t.worker(), 1);
            t.drop_all(&got);
        });
        s.check(block, A);
        s.release(&[block]);
        other.join().unwrap();
        s.at_rest();
    });
}

/// A mismatch takes no credit, no reference and no touch.
#[test]
fn mismatch_takes_nothing() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let t = s.clone();
        let reader = thread::spawn(move || assert!(!t.offer(id(1), &X)));
        assert!(s.withdraw(2), "a mismatch took a credit");
        for block in [0, 1] {
            assert!(
                s.is_untouched_and_unheld(id(block)),
                "a mismatch took a reference"
            );
        }
        reader.join().unwrap();
        s.rest(&[], &[], 2);
    });
}

/// A head released before its tail leaves a credit that nobody can spend: why every holder of a block holds its ancestors.
#[test]
#[should_panic(expected = "a credit and no block")]
fn head_released_first() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        let _b = s.seed(&mut w, &[a], B);
        s.release(&[a]);
        assert!(s.withdraw(1));
        let got = s.take_in_order(&mut w).or_else(|| s.take_swept(&mut w));
        assert!(got.is_some(), "a credit and no block");
    });
}
