//! A thread stops anywhere: the others must still get every block that their credits promise.

use kvblock::steps::Looked;
use loom::thread;

use crate::shard::{A, AMPLE, B, C, Shard, X, Y, id};
use crate::two;

/// A reclaimer stopped between its claim of the leaf and the parent's count. The other gets the parent, reuses it, and the
/// late decrement races with the reuse.
#[test]
fn stall_decrement() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        assert!(s.withdraw(1));
        let token = s.pop().unwrap();
        let Looked::Claimed(claim) = s.examine(token, false) else {
            panic!("no claim")
        };
        assert_eq!(claim.block(), id(1));
        // The stopped thread's own block is put to use below the reused parent, so it must be out of the index first: that
        // part of settling is done; only the decrement is late.
        s.unindex(&claim);
        let t = s.clone();
        let late = thread::spawn(move || t.lower_parent(&claim));
        let got = s.grab(&mut w, 1);
        assert_eq!(got, [id(0)]);
        s.own_claimed(id(1));
        s.fill(id(0), C);
        s.put(&mut w, &[], id(0), C);
        s.fill(id(1), Y);
        s.put(&mut w, &[id(0)], id(1), Y);
        s.release(&[id(0), id(1)]);
        let got = s.grab(&mut w, 1);
        late.join().unwrap();
        s.rest(&got, &[], 0);
        s.drop_all(&got);
        s.at_rest();
    });
}

/// Stops anywhere while the taker runs: the spawned thread claims and stops.
#[test]
fn stall_decrement_live() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let t = s.clone();
        let stopped = thread::spawn(move || {
            if !t.withdraw(1) {
                return None;
            }
            let token = t.pop();
            Some((token, token.map(|token| t.examine(token, false))))
        });
        let got = s.grab(&mut w, 1);
        match stopped.join().unwrap() {
            None => {
                s.drop_all(&got);
                s.at_rest();
            }
            Some((_, Some(Looked::Claimed(claim)))) => {
                let held: Vec<_> = got.iter().map(|&block| (block, 1)).collect();
                s.audit(&held, &[], 1, &[&claim])
                    .map_err(|e| panic!("{e}"))
                    .ok();
                let block = s.settle(claim);
                s.drop_all(&got);
                s.release(&[block]);
                s.at_rest();
            }
            Some((token, looked)) => {
                let lost: Vec<_> = match looked {
                    Some(Looked::Dropped) => vec![],
                    _ => token.into_iter().collect(),
                };
                s.drop_all(&got);
                s.rest(&[], &s.still_lost(&lost), 1);
            }
        }
    });
}

/// A popper stopped with every token in its hand.
#[test]
fn stall_popper() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let t = s.clone();
        let stopped = thread::spawn(move || [t.pop(), t.pop()]);
        let got = s.grab(&mut w, 2);
        assert_eq!(got.len(), 2);
        let lost: Vec<_> = stopped.join().unwrap().into_iter().flatten().collect();
        s.rest(&got, &lost, 0);
        s.drop_all(&got);
        s.rest(&[], &lost, 0);
    });
}

/// It comes back late with tokens of blocks that were swept, reused and published again.
#[test]
fn stall_popper_returns() {
    two(|| {
        let s = Shard::new(1, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        let lost = s.lose_tokens();
        let t = s.clone();
        let late = thread::spawn(move || {
            let paid = t.withdraw(1);
            let mine = match paid {
                true => t.look(lost[0], false).map(|claim| t.settle(claim)),
                false => {
                    t.push(lost[0]);
                    None
                }
            };
            if let Some(block) = mine {
                t.write(block, 5);
            }
            (mine, paid)
        });
        let got = s.grab(&mut w, 1);
        if let [block] = got[..] {
            s.fill(block, C);
            s.put(&mut w, &[], block, C);
            s.release(&[block]);
        }
        let (mine, paid) = late.join().unwrap();
        s.rest(mine.as_slice(), &[], usize::from(paid && mine.is_none()));
    });
}

/// A pusher stopped between its place in the ring and its store: what is behind it is out of the ring's reach.
#[test]
fn stall_pusher() {
    two(|| {
        let s = Shard::new(3, AMPLE);
        let mut w = s.worker();
        let a = s.seed(&mut w, &[], A);
        s.idle_chain(&mut w, &[B, X]);
        let t = s.clone();
        let stopped = thread::spawn(move || t.stop_while_releasing(a));
        let first = s.grab(&mut w, 1);
        let second = s.grab(&mut w, 1);
        for &block in first.iter().chain(&second) {
            s.fill(block, [Y[0], block.get()]);
            s.put(&mut w, &[], block, [Y[0], block.get()]);
            s.release(&[block]);
        }
        assert_eq!(first.len() + second.len(), 2);
        let got = s.grab(&mut w, 2);
        stopped.join().unwrap();
        let lost: Vec<_> = (0..3).map(id).collect();
        s.rest(&got, &s.still_lost(&lost), 1);
    });
}

/// A sweeper stopped between its cut and its claim.
#[test]
fn stall_after_cut() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A, B]);
        let lost = s.lose_tokens();
        let t = s.clone();
        let stopped = thread::spawn(move || {
            t.cut(id(1));
        });
        let got = s.grab(&mut w, 2);
        assert_eq!(got.len(), 2);
        stopped.join().unwrap();
        s.drop_all(&got);
        s.rest(&[], &lost, 0);
    });
}

/// A popper with a stale token of a private block leaves its owner's plain stores alone.
#[test]
fn private_token_vs_owner() {
    two(|| {
        let s = Shard::new(2, AMPLE);
        let mut w = s.worker();
        s.idle_chain(&mut w, &[A]);
        s.idle_chain(&mut w, &[X]);
        let token = s.pop().unwrap();
        let block = s.sweep_paid(&mut w, token).unwrap().unwrap();
        let t = s.clone();
        let popper = thread::spawn(move || {
            if let Some(claim) = t.look(token, false) {
                let block = t.settle(claim);
                t.release(&[block]);
            }
        });
        s.fill(block, C);
        s.put(&mut w, &[], block, C);
        popper.join().unwrap();
        s.release(&[block]);
        s.at_rest();
    });
}
