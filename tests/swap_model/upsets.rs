//! What happens beside swaps: tiers that shrink, grow and forget, sequences that change hands, are held for somebody, or end later.

use kvblock::{AppendError, DetachError, Fence, InTransit, Lease, Owner, Step};

use crate::world::{World, namespace};

/// Owners of leases that are no swap's.
const OTHERS: u64 = 100;

impl World {
    /// What has been published of a namespace is found no more.
    pub(crate) fn clear(&mut self) {
        if self.random.below(4) > 0 {
            return;
        }
        let (tier, space) = (self.random.below(2), self.random.next() % 2);
        let pool = self.tiers[tier].seqs.pool();
        let mut worker = pool.worker().unwrap();
        pool.clear(&mut worker, Some(&namespace(space))).unwrap();
        self.saw.note("a namespace cleared");
    }

    /// A tier has fewer blocks, or more again.
    pub(crate) fn resize(&mut self) {
        let (tier, n) = (self.random.below(2), 1 + self.random.below(2));
        let pool = self.tiers[tier].seqs.pool();
        let mut worker = pool.worker().unwrap();
        let resized = if self.random.below(3) == 0 {
            pool.shrink(&mut worker, n).is_ok()
        } else {
            pool.grow(pool.max_blocks() - pool.in_service()).is_ok()
        };
        if resized {
            self.saw.note("a tier resized");
        }
    }

    /// A sequence is taken out and put back.
    pub(crate) fn change_hands(&mut self) {
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let moving = self.is_moving(self.known[at].handle);
        let known = &mut self.known[at];
        let seqs = &mut self.tiers[known.tier].seqs;
        match seqs.detach(known.handle) {
            Ok(detached) => {
                assert!(!moving);
                let before = known.handle;
                known.handle = seqs.attach(detached).unwrap();
                assert_ne!(known.handle, before);
                // A swap that was called off does not know the new name.
                self.source_ends(before);
                self.saw.note("detached and attached");
            }
            Err(DetachError::InTransit(InTransit::Leaving)) => assert!(moving),
            Err(DetachError::CopyPending(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Own copies of what is found elsewhere are given back.
    pub(crate) fn adopt(&mut self) {
        for known in &self.known {
            let seqs = &mut self.tiers[known.tier].seqs;
            if seqs.adopt_duplicates(known.handle).unwrap() > 0 {
                self.saw.note("duplicates adopted");
            }
        }
    }

    /// A sequence ends when a fence has passed.
    pub(crate) fn release_later(&mut self) {
        let Some(known) = self.ending() else {
            return;
        };
        self.ends += 1;
        let (seqs, lane) = (
            &mut self.tiers[known.tier].seqs,
            &mut self.lanes[known.tier],
        );
        seqs.release_after(known.handle, lane, Fence(self.ends))
            .unwrap();
        self.saw.note("released after a fence");
    }

    /// Some of these fences pass.
    pub(crate) fn pass(&mut self) {
        let passed = self.random.next() % (self.ends + 1);
        for lane in &mut self.lanes {
            lane.complete(Fence(passed));
        }
    }

    /// What is published of a sequence is held, or no more.
    pub(crate) fn pin(&mut self) {
        let owner = Owner::new(OTHERS + self.random.next() % 2);
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let known = &self.known[at];
        let tier = &mut self.tiers[known.tier];
        match tier.leases.get(owner) {
            Some(lease) => lease.end().unwrap(),
            None => {
                tier.seqs
                    .pin(known.handle, &mut tier.leases, owner, Lease::NO_DEADLINE)
                    .unwrap();
            }
        }
    }

    /// Somebody else answers for blocks of a copy that has passed, before the swap hears of it.
    pub(crate) fn answer_for_some(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let completed = self.device.completed();
        let moving = &self.moving[at];
        let passed = moving.launched.is_some_and(|fence| fence <= completed);
        if !passed || moving.complete {
            return;
        }
        let import = moving.swap.import().clone();
        let from = self.random.below(import.ids().len());
        if import.arrived(0, from..from + 1).is_ok() {
            self.saw.note("answered for by somebody else");
        }
    }

    /// The content of a block turns out bad.
    pub(crate) fn spoil(&mut self) {
        let arriving = self.moving.iter().filter(|it| !it.aborted);
        let arriving = arriving.filter(|it| !it.destination_gone);
        let all = self.known.iter().chain(arriving.map(|it| &it.arrives));
        let all: Vec<_> = all.map(|it| (it.tier, it.handle)).collect();
        let Some(at) = self.pick(all.len()) else {
            return;
        };
        let (tier, handle) = all[at];
        let seqs = &mut self.tiers[tier].seqs;
        let table = seqs.table(handle).unwrap();
        let Some(&bad) = table.get(self.random.below(table.len().max(1))) else {
            return;
        };
        let mut affected = Vec::new();
        seqs.invalidate(bad, &mut affected).unwrap();
        self.device.spoil(tier, bad);
        for at in 0..self.known.len() {
            let known = &mut self.known[at];
            if known.tier != tier {
                continue;
            }
            let state = self.tiers[tier].seqs.state(known.handle).unwrap();
            if affected.contains(&known.handle) {
                assert!(state.computed < known.computed);
                (known.computed, known.stale) = (state.computed, true);
                self.saw.note("content that turned out bad");
            }
            self.tell_rest(at);
        }
        for moving in &mut self.moving {
            let (source, arrives) = (moving.swap.source(), moving.swap.handle());
            let read = moving.offered.contains(&bad) && !moving.swap.import().is_settled();
            if moving.from == tier {
                moving.spoiled |= affected.contains(&source) || read;
            } else {
                moving.spoiled_there |= affected.contains(&arrives);
            }
        }
    }

    /// Blocks of its own for what is computed again.
    pub(crate) fn renew(&mut self) {
        let stale: Vec<_> = (0..self.known.len())
            .filter(|&at| self.known[at].stale)
            .collect();
        for at in stale {
            let moving = self.is_moving(self.known[at].handle);
            let known = &mut self.known[at];
            let seqs = &mut self.tiers[known.tier].seqs;
            let before = seqs.table(known.handle).unwrap().to_vec();
            match seqs.renew(known.handle, &mut Step::new()) {
                Ok(()) => {
                    assert!(!moving);
                    let table = seqs.table(known.handle).unwrap();
                    let fresh = table.iter().zip(&before).filter(|(now, old)| now != old);
                    let fresh: Vec<_> = fresh.map(|(&now, _)| now).collect();
                    self.device.give(known.tier, &fresh);
                    known.stale = false;
                    self.saw.note("renewed");
                }
                Err(AppendError::InTransit(InTransit::Leaving)) => assert!(moving),
                Err(AppendError::Refused(_)) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    /// A sequence gets blocks for positions to come.
    pub(crate) fn look_ahead(&mut self) {
        let Some(at) = self.pick(self.known.len()) else {
            return;
        };
        let moving = self.is_moving(self.known[at].handle);
        let known = &self.known[at];
        let seqs = &mut self.tiers[known.tier].seqs;
        let before = seqs.table(known.handle).unwrap().len();
        let positions = known.tokens.len() + 1 + self.random.below(8);
        match seqs.ensure(known.handle, positions, &mut Step::new()) {
            Ok(()) => {
                assert!(!moving);
                let fresh = seqs.table(known.handle).unwrap()[before..].to_vec();
                self.device.give(known.tier, &fresh);
                self.saw.note("looked ahead");
            }
            Err(AppendError::InTransit(InTransit::Leaving)) => assert!(moving),
            Err(AppendError::Refused(_) | AppendError::CapReached(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// All of it is over.
    pub(crate) fn end_upsets(&mut self) {
        for (tier, lane) in self.tiers.iter().zip(&mut self.lanes) {
            lane.complete(Fence(u64::MAX));
            for lease in tier.leases.iter().filter(|it| it.owner().get() >= OTHERS) {
                lease.end().unwrap();
            }
        }
    }
}
