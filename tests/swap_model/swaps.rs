//! Swaps that begin, are copied, finished, called off, and forgotten.

use kvblock::{
    Admit, AdmitError, CommitError, ExportError, Growth, Handle, ImportError, InTransit,
    LeaseError, Owner, Prompt, SwapError, SwapFinishError,
};

use crate::device::SIZE;
use crate::world::{Known, Moving, Orphan, World, namespace};

impl World {
    pub(crate) fn begin_swap(&mut self) {
        let Some(mut at) = self.pick(self.known.len()) else {
            return;
        };
        if self.random.below(3) == 0 {
            at = self.known.iter().position(|it| it.tier == 1).unwrap_or(at);
        }
        let (from, handle) = (self.known[at].tier, self.known[at].handle);
        let to = 1 - from;
        let owner = Owner::new(self.random.next() % 3);
        let growth = match from {
            0 => Growth::OnDemand,
            _ => self.growth(),
        };
        // Tokens may wait to be appended.
        let mut tokens = self.known[at].tokens.clone();
        if from == 1 {
            tokens.extend((0..self.random.below(3)).map(|_| 9));
        }
        let label = self.known[at].label;
        let number = self.known[at].space;
        let space = namespace(number);
        let request = Admit::new(Prompt::new(&space, &tokens), growth).label(label);
        let before = self.figures();
        let [device, host] = &mut self.tiers;
        let (source, destination) = match from {
            0 => (device, host),
            _ => (host, device),
        };
        let begun = source.seqs.swap_to(
            handle,
            &mut destination.seqs,
            &request,
            &mut source.leases,
            owner,
        );
        let swap = match begun {
            Ok(swap) => swap,
            Err(error) => {
                self.note_refusal(&error, (from, owner, handle));
                assert_eq!(self.figures(), before, "{error:?} changes nothing");
                return;
            }
        };
        let computed = self.known[at].computed;
        let table = destination.seqs.table(swap.handle()).unwrap();
        let offered = source.seqs.table(handle).unwrap();
        let hits = swap.hit() / SIZE;
        let last = computed.div_ceil(SIZE);
        let expected = (hits..last).map(|at| (offered[at], table[at]));
        assert_eq!(swap.pairs(), expected.collect::<Vec<_>>());
        let offered = offered[..last].to_vec();
        self.device.give(to, &table[hits..]);
        if hits > 0 {
            self.saw.note("found and not copied");
        }
        self.moving.push(Moving {
            arrives: Known {
                tier: to,
                handle: swap.handle(),
                space: number,
                tokens,
                computed: computed.max(swap.hit()),
                stale: false,
                growth,
                label,
            },
            complete: swap.pairs().is_empty(),
            swap,
            from,
            owner,
            launched: None,
            aborted: false,
            source_gone: false,
            offered,
            spoiled: false,
            spoiled_there: false,
            destination_gone: false,
        });
    }

    fn note_refusal(&mut self, error: &SwapError, (from, owner, handle): (usize, Owner, Handle)) {
        match error {
            SwapError::Destination(ImportError::Admit(AdmitError::Refused(refused))) => {
                assert_eq!(error.refused(), Some(*refused));
                self.saw.note("a destination that is full");
            }
            SwapError::Destination(ImportError::Admit(AdmitError::TooManySequences(_))) => {}
            SwapError::Source(ExportError::CopyPending(_)) => {
                self.saw.note("a copy pending into it");
            }
            SwapError::Source(ExportError::Lease(LeaseError::OwnerTaken { .. })) => {
                let swaps = self.moving.iter().map(|it| (it.from, it.owner));
                let orphans = self.orphans.iter().map(|it| (it.from, it.owner));
                assert!(swaps.chain(orphans).any(|it| it == (from, owner)));
                self.saw.note("the same owner");
            }
            SwapError::Source(ExportError::InTransit(InTransit::Leaving)) => {
                assert!(self.is_moving(handle));
                self.saw.note("on its way already");
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn launch(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let moving = &mut self.moving[at];
        if moving.aborted || moving.launched.is_some() || moving.swap.pairs().is_empty() {
            return;
        }
        // In one part or in two.
        let pairs = moving.swap.pairs();
        let (first, rest) = pairs.split_at(self.random.below(pairs.len()));
        let mut fences = Vec::new();
        if !first.is_empty() {
            fences.push(self.device.launch(moving.from, first));
        }
        fences.push(self.device.launch(moving.from, rest));
        for &fence in &fences {
            moving.swap.copying(fence).unwrap();
        }
        moving.launched = fences.last().copied();
    }

    /// The swaps hear how far the device is.
    pub(crate) fn tell(&mut self) {
        let completed = self.device.completed();
        for moving in &mut self.moving {
            let passed = moving.launched.is_some_and(|fence| fence <= completed);
            moving.complete |= passed;
            assert_eq!(moving.swap.complete(completed), moving.complete);
        }
        self.moving.retain(|it| !(it.aborted && it.complete));
    }

    pub(crate) fn finish_swap(&mut self) {
        let Some(mut at) = self.pick(self.moving.len()) else {
            return;
        };
        if self.random.below(3) > 0 {
            at = self.moving.iter().position(|it| it.complete).unwrap_or(at);
        }
        let moving = &mut self.moving[at];
        if moving.aborted {
            return;
        }
        let [device, host] = &mut self.tiers;
        let (from, to) = match moving.from {
            0 => (&mut device.seqs, &mut host.seqs),
            _ => (&mut host.seqs, &mut device.seqs),
        };
        let got = moving.swap.finish(from, to);
        match got {
            Ok(handle) => {
                let gone = moving.source_gone || moving.destination_gone;
                assert!(moving.complete && !gone && !moving.spoiled && !moving.spoiled_there);
                let mut done = self.moving.swap_remove(at);
                let source = done.swap.source();
                self.known.retain(|it| it.handle != source);
                // It may have been called off by its destination, and forgotten.
                let again = |it: &&mut Moving| it.swap.source() == source;
                let others = self.moving.iter_mut().filter(again);
                others.for_each(|it| it.source_gone = true);
                done.arrives.handle = handle;
                self.saw.note(["swapped out", "swapped in"][done.from]);
                self.finished[done.from] += 1;
                self.known.push(done.arrives);
            }
            Err(SwapFinishError::NotCopied(_)) => {
                assert!(!moving.complete);
                self.saw.note("not copied yet");
            }
            Err(SwapFinishError::Commit(CommitError::Aborted(_))) => {
                assert!(moving.complete && (moving.source_gone || moving.spoiled));
            }
            Err(SwapFinishError::Commit(CommitError::NotArrived(_))) => {
                assert!(moving.complete && (moving.spoiled || moving.spoiled_there));
                self.saw.note("not finished, as content was bad");
            }
            Err(SwapFinishError::Stale(_)) => assert!(moving.complete && moving.destination_gone),
            Err(other) => panic!("{other:?}"),
        }
    }

    pub(crate) fn abort(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let moving = &mut self.moving[at];
        if moving.aborted {
            return;
        }
        self.saw.note(match (moving.launched, moving.complete) {
            (_, true) => "aborted after the copy",
            (None, false) => "aborted before the copy",
            (Some(_), false) => "aborted amid the copy",
        });
        let to = &mut self.tiers[1 - moving.from].seqs;
        moving.swap.abort(to).unwrap();
        moving.aborted = true;
        moving.complete |= moving.launched.is_none();
        self.moving.retain(|it| !(it.aborted && it.complete));
    }

    pub(crate) fn drop_swap(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        if self.moving[at].aborted {
            return;
        }
        let dropped = self.moving.swap_remove(at);
        if let (Some(until), false) = (dropped.launched, dropped.complete) {
            self.saw.note("dropped amid the copy");
            self.orphans.push(Orphan {
                import: dropped.swap.import().clone(),
                source: dropped.swap.source(),
                owner: dropped.owner,
                from: dropped.from,
                until,
            });
        }
        let (handle, to) = (dropped.swap.handle(), 1 - dropped.from);
        drop(dropped.swap);
        if !dropped.destination_gone {
            self.tiers[to].seqs.release(handle).unwrap();
        }
    }

    pub(crate) fn release_destination(&mut self) {
        let Some(at) = self.pick(self.moving.len()) else {
            return;
        };
        let moving = &mut self.moving[at];
        if moving.aborted || moving.destination_gone {
            return;
        }
        moving.destination_gone = true;
        self.saw.note("destination released");
        let to = &mut self.tiers[1 - moving.from].seqs;
        to.release(moving.swap.handle()).unwrap();
    }

    pub(crate) fn answer_orphans(&mut self) {
        let completed = self.device.completed();
        self.orphans.retain(|it| {
            if it.until > completed {
                return true;
            }
            it.import.end(0).unwrap();
            false
        });
    }
}
