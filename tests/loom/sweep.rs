//! Reclaim without the token: the sweep, the child hints, and what races with them.

use loom::thread;

use crate::shard::{A, AMPLE, B, C, Shard, X, Y, id};
use crate::{three, two};

/// Two takers in the sweep: all tokens are in a stopped hand.
#[test]
fn sweep_sweep() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let lost = s.lose_tokens();
        let t = s.clone();
        let other = thread::spawn(move || t.grab(&mut t.worker(), 1)[0]);
        let mine = s.grab(&mut w, 1)[0];
        let theirs = other.join().unwrap();
        assert_ne!(mine, theirs);
        s.rest(&[mine, theirs], &lost, 0);
        s.drop_all(&[mine, theirs]);
        s.rest(&[], &lost, 0);
    });
}

#[test]
fn sweep_sweep_3() {
    two(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B, C]);
        let lost = s.lose_tokens();
        let t = s.clone();
        let other = thread::spawn(move || t.grab(&mut t.worker(), 1)[0]);
        let mine = s.grab(&mut w, 1)[0];
        let theirs = other.join().unwrap();
        s.rest(&[mine, theirs], &lost, 0);
        s.drop_all(&[mine, theirs]);
        s.rest(&[], &lost, 0);
    });
}

#[test]
fn hit_vs_sweep() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        s.touch(&w, &[A, B]);
        let lost = s.lose_tokens();
        let t = s.clone();
        let hitter = thread::spawn(move || {
            t.see(&t.worker(), &[A, B]);
        });
        let got = s.grab(&mut w, 1);
        hitter.join().unwrap();
        s.drop_all(&got);
        s.rest(&[], &lost, 0);
    });
}

/// A publisher of a new child against the sweep's decision that the parent is a leaf.
#[test]
fn publish_vs_sweep() {
    two(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let lost = s.lose_tokens();
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        assert!(s.withdraw(1));
        let block = loop {
            if let Some(block) = s.take_swept(&mut w) {
                break block;
            }
            thread::yield_now();
        };
        s.write(block, 7);
        publisher.join().unwrap();
        s.rest(&[block], &s.still_lost(&lost), 0);
        s.release(&[block]);
        s.rest(&[], &s.still_lost(&lost), 0);
    });
}

/// A claim by token against a publisher below the block that then sweeps the grandparent. `by_token`: or a claim by sweep.
fn claim_against_publish_and_sweep(by_token: bool) {
    let s = Shard::new(4, 0);
    let mut w = s.worker();
    s.idle_chain(&mut w, &[A, B]);
    s.touch(&w, &[A, B]);
    s.idle_chain(&mut w, &[X]);
    let y = s.private(&mut w);
    let token = s.pop().unwrap();
    assert_eq!(token, id(1));
    let lost = if by_token {
        vec![]
    } else {
        [vec![token], s.lose_tokens()].concat()
    };
    assert!(s.withdraw(1));
    let t = s.clone();
    let publisher = thread::spawn(move || {
        let mut w = t.worker();
        t.extend(&mut w, &[A, B], y, C);
        if !t.withdraw(1) {
            return (None, false);
        }
        (t.take_swept(&mut w), true)
    });
    let mine = if by_token {
        s.look(token, true)
    } else {
        s.claim_swept(&mut w, id(1))
    };
    let mine = mine.map(|claim| s.settle(claim));
    let (theirs, paid) = publisher.join().unwrap();
    let held: Vec<_> = mine.into_iter().chain(theirs).collect();
    let owed = 1 + usize::from(paid) - held.len();
    s.rest(&held, &s.still_lost(&lost), owed);
}

#[test]
fn restore_vs_sweep() {
    two(|| claim_against_publish_and_sweep(true));
}

#[test]
fn sweep_restore_vs_sweep() {
    two(|| claim_against_publish_and_sweep(false));
}

/// As above, on to the wrong hit: the grandparent's id is reused with other content, below which the child never was.
#[test]
fn restore_wrong_hit() {
    two(|| {
        let s = Shard::new(4, 0);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        s.touch(&w, &[A, B]);
        s.idle_chain(&mut w, &[X]);
        let y = s.private(&mut w);
        let token = s.pop().unwrap();
        assert!(s.withdraw(1));
        let t = s.clone();
        let publisher = thread::spawn(move || {
            let mut w = t.worker();
            t.extend(&mut w, &[A, B], y, C);
            if t.withdraw(1) {
                if let Some(block) = t.take_swept(&mut w) {
                    t.put(&mut w, &[], block, Y);
                    t.release(&[block]);
                }
            }
        });
        if let Some(claim) = s.look(token, true) {
            s.settle(claim);
        }
        publisher.join().unwrap();
        assert!(
            s.find(&w, &[Y, B].concat()).len() < 2,
            "a hit on what was never published"
        );
    });
}

/// Two sweepers of one parent, and a publisher below it.
#[test]
fn publish_sweep_sweep_3t() {
    three(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let lost = s.lose_tokens();
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let t = s.clone();
        let other = thread::spawn(move || t.sweep_paid(&mut t.worker(), id(0)));
        let mine = s.sweep_paid(&mut w, id(0));
        let theirs = other.join().unwrap();
        publisher.join().unwrap();
        let paid = [mine, theirs].into_iter().flatten();
        let held: Vec<_> = paid.clone().flatten().collect();
        s.rest(&held, &s.still_lost(&lost), paid.count() - held.len());
    });
}

/// A publisher, a sweep of the parent, and the holder of its token, who clears a flag in between.
#[test]
fn publish_sweep_token_3t() {
    three(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let token = s.pop().unwrap();
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let t = s.clone();
        let holder = thread::spawn(move || t.pass_by(token));
        let mine = s.sweep_paid(&mut w, id(0));
        publisher.join().unwrap();
        holder.join().unwrap();
        let held: Vec<_> = mine.into_iter().flatten().collect();
        let owed = usize::from(mine == Some(None));
        s.rest(&held, &s.still_lost(&[id(0), id(1)]), owed);
    });
}

/// The way of the child hints (no token, the count decides) against a publisher below the block.
#[test]
fn publish_vs_hint() {
    two(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let y = s.private(&mut w);
        assert!(s.withdraw(1));
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let mine = s.claim_hinted(id(0)).map(|claim| s.settle(claim));
        publisher.join().unwrap();
        s.rest(mine.as_slice(), &[], usize::from(mine.is_none()));
    });
}

/// A cut parent whose child was published before the cut: not found any more, and still reclaimed, child first.
#[test]
fn cut_with_child() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        assert!(s.cut(id(0)));
        let lost = s.lose_tokens();
        let t = s.clone();
        let other = thread::spawn(move || {
            let mut w = t.worker();
            assert_eq!(t.see(&w, &[A]), 0, "a hit on a cut block");
            t.grab(&mut w, 1)
        });
        let mine = s.grab(&mut w, 1);
        let theirs = other.join().unwrap();
        s.rest(&[mine[0], theirs[0]], &lost, 0);
    });
}

#[test]
fn hit_sweep_sweep_3t() {
    three(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let lost = s.lose_tokens();
        let t = s.clone();
        let hitter = thread::spawn(move || {
            t.see(&t.worker(), &[A, B]);
        });
        let t = s.clone();
        let other = thread::spawn(move || t.sweep_paid(&mut t.worker(), id(1)));
        let mine = s
            .sweep_paid(&mut w, id(1))
            .map(|block| block.or_else(|| s.take_swept(&mut w)));
        let theirs = other.join().unwrap();
        hitter.join().unwrap();
        let paid = [mine, theirs].into_iter().flatten();
        let held: Vec<_> = paid.clone().flatten().collect();
        s.rest(&held, &s.still_lost(&lost), paid.count() - held.len());
    });
}

/// The child hints' way, a publisher, and the token's holder passing by.
#[test]
fn publish_hint_token_3t() {
    three(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let token = s.pop().unwrap();
        let y = s.private(&mut w);
        assert!(s.withdraw(1));
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let t = s.clone();
        let holder = thread::spawn(move || t.pass_by(token));
        let mine = s.claim_hinted(id(0)).map(|claim| s.settle(claim));
        publisher.join().unwrap();
        holder.join().unwrap();
        s.rest(
            mine.as_slice(),
            &s.still_lost(&[id(0)]),
            usize::from(mine.is_none()),
        );
    });
}

/// A publisher, a claim with the token, and a sweep of the same parent.
#[test]
fn publish_claim_sweep_3t() {
    three(|| {
        let s = Shard::new(3, 0);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let token = s.pop().unwrap();
        let y = s.private(&mut w);
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let t = s.clone();
        let sweeper = thread::spawn(move || t.sweep_paid(&mut t.worker(), id(0)));
        let mut owed = 0;
        let mut held = vec![];
        if s.withdraw(1) {
            match s.look(token, true) {
                Some(claim) => held.push(s.settle(claim)),
                None => owed += 1,
            }
        } else {
            s.push(token);
        }
        match sweeper.join().unwrap() {
            Some(Some(block)) => held.push(block),
            Some(None) => owed += 1,
            None => {}
        }
        publisher.join().unwrap();
        s.rest(&held, &[], owed);
    });
}

/// Why a cut is never taken back: one sweeper cut the parent, saw a child (gone since) and takes the cut back; another claims the
/// parent in between; a publisher goes below it. Without the mutant nobody takes it back and no orphan appears.
#[test]
fn uncut_3t() {
    three(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.touch(&w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let y = s.private(&mut w);
        s.lose_tokens();
        assert!(s.cut(id(0)));
        let t = s.clone();
        let publisher = thread::spawn(move || t.extend(&mut t.worker(), &[A], y, B));
        let t = s.clone();
        let other = thread::spawn(move || {
            t.claim_hinted(id(0)).map(|claim| t.settle(claim));
        });
        if std::env::var("KVB_MUTANT").is_ok_and(|mutant| mutant == "uncut") {
            s.uncut(id(0));
        }
        s.claim_hinted(id(0)).map(|claim| s.settle(claim));
        publisher.join().unwrap();
        other.join().unwrap();
        assert!(!s.is_published(y) || s.is_published(id(0)), "an orphan");
    });
}
