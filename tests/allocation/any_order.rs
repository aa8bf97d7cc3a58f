//! Calls in any order on sequences within the room that was made at creation: none asks for memory.

use kvblock::{
    Admit, Contents, CopyTicket, ExtraKey, Fence, Growth, Handle, Lane, Namespace, Prompt, Proof,
    Sequences, SequencesConfig, Step,
};
use proptest::prelude::*;

use super::{LIVE, Refuse, armed, config, create, properties};

const SLOTS: usize = 4;
const SIZE: usize = 4;
const TEXTS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Call {
    /// A text and how much of it, growth, whether with keys for each block.
    Admit(usize, usize, Growth, bool),
    /// All of them get so many positions.
    Step(usize),
    /// A place among the living.
    Append(usize, usize),
    Ensure(usize, usize),
    /// Tells all tokens that are not known.
    Tell(usize),
    Computed(usize, usize),
    Fork(usize, usize),
    Truncate(usize, usize, bool),
    Adopt(usize, bool),
    Copied,
    Passed,
    End(usize, End),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Release,
    Preempt,
    After,
}

fn call() -> impl Strategy<Value = Call> {
    let who = 0..SLOTS;
    let n = 0..100_usize;
    let growth = prop_oneof![
        (0..30_usize).prop_map(Growth::Cap),
        (0..4_usize).prop_map(Growth::Ahead),
        Just(Growth::OnDemand),
    ];
    let end = prop_oneof![Just(End::Release), Just(End::Preempt), Just(End::After)];
    prop_oneof![
        4 => (0..TEXTS, n.clone(), growth, any::<bool>())
            .prop_map(|(text, n, growth, keyed)| Call::Admit(text, n, growth, keyed)),
        3 => (0..9_usize).prop_map(Call::Step),
        3 => (who.clone(), n.clone()).prop_map(|(who, n)| Call::Append(who, n)),
        1 => (who.clone(), n.clone()).prop_map(|(who, n)| Call::Ensure(who, n)),
        4 => who.clone().prop_map(Call::Tell),
        4 => (who.clone(), n.clone()).prop_map(|(who, n)| Call::Computed(who, n)),
        3 => (who.clone(), 1..3_usize).prop_map(|(who, n)| Call::Fork(who, n)),
        3 => (who.clone(), n, any::<bool>())
            .prop_map(|(who, n, later)| Call::Truncate(who, n, later)),
        2 => (who.clone(), any::<bool>()).prop_map(|(who, later)| Call::Adopt(who, later)),
        2 => Just(Call::Copied),
        2 => Just(Call::Passed),
        2 => (who, end).prop_map(|(who, end)| Call::End(who, end)),
    ]
}

/// All lists are made before anything is counted.
struct Scheduler {
    seqs: Sequences,
    step: Step,
    lane: Lane,
    longest: usize,
    space: Namespace,
    texts: Vec<Vec<u32>>,
    extra: Vec<ExtraKey>,
    keys: Vec<u64>,
    /// With text, and whether it has keys.
    living: Vec<(Handle, usize, bool)>,
    batch: Vec<(Handle, usize)>,
    copies: Vec<CopyTicket>,
    fence: u64,
    waiting: usize,
}

/// Releases that the lane has room for.
const RELEASES: usize = 6;

impl Scheduler {
    fn new(longest: usize, proof: Proof) -> Self {
        let (pool, _) = create(&config(48, SIZE).proof(proof)).expect("memory");
        let room = SequencesConfig::new(SLOTS).positions(longest);
        let seqs = Sequences::new(pool, &room).expect("memory");
        let text =
            |text| (0..longest).map(move |at| u32::try_from(text * 1_000 + at).expect("few"));
        Self {
            step: Step::with_room(SLOTS, SLOTS * longest, SIZE).expect("memory"),
            lane: seqs.lane(RELEASES).expect("memory"),
            seqs,
            longest,
            space: Namespace::new().salt("tenant 17"),
            texts: (0..TEXTS).map(|it| text(it).collect()).collect(),
            extra: vec![ExtraKey::new(7); longest / SIZE],
            keys: (0..).take(longest / SIZE).collect(),
            living: Vec::with_capacity(SLOTS),
            batch: Vec::with_capacity(SLOTS),
            copies: Vec::with_capacity(2 * SLOTS),
            fence: 1,
            waiting: 0,
        }
    }

    fn who(&self, who: usize) -> Option<(Handle, usize, bool)> {
        let living = self.living.len();
        (living > 0).then(|| self.living[who % living])
    }

    fn positions(&self, handle: Handle) -> usize {
        self.seqs.state(handle).map_or(0, |it| it.positions)
    }

    /// No more copies are pending than there are slots.
    fn copy_before(&mut self, more: usize) {
        if self.copies.len() + more > SLOTS {
            self.copied();
        }
    }

    fn copied(&mut self) {
        for ticket in self.copies.drain(..) {
            let _ = self.seqs.copied(ticket);
        }
    }

    /// No more releases wait than there is room for.
    fn wait(&mut self) -> Fence {
        if self.waiting == RELEASES {
            self.passed();
        }
        self.waiting += 1;
        Fence(self.fence)
    }

    fn passed(&mut self) {
        self.lane.complete(Fence(self.fence));
        self.fence += 1;
        self.waiting = 0;
    }

    /// What is refused is refused.
    fn call(&mut self, call: Call) {
        match call {
            Call::Admit(text, n, growth, keyed) => {
                let tokens = &self.texts[text][..n % (self.longest + 1)];
                let mut prompt = Prompt::new(&self.space, tokens).full_hit(n % 2 == 0);
                if keyed {
                    let blocks = tokens.len() / SIZE;
                    prompt = prompt
                        .extra(&self.extra[..blocks])
                        .keys(&self.keys[..blocks]);
                }
                let request = Admit::new(prompt, growth).insert(n % 7 != 0);
                if let Ok(admitted) = self.seqs.admit(&request) {
                    self.living.push((admitted.handle, text, keyed));
                }
            }
            Call::Step(n) => {
                self.copy_before(self.living.len());
                self.batch.clear();
                for at in 0..self.living.len() {
                    let handle = self.living[at].0;
                    let left = self.longest - self.positions(handle);
                    self.batch.push((handle, n.min(left)));
                }
                self.seqs.step(&self.batch, &mut self.step);
                self.copies.extend_from_slice(self.step.copies());
            }
            Call::Append(who, n) => {
                let Some((handle, ..)) = self.who(who) else {
                    return;
                };
                self.copy_before(1);
                let n = n.min(self.longest - self.positions(handle));
                if self.seqs.append(handle, n, &mut self.step).is_ok() {
                    self.copies.extend_from_slice(self.step.copies());
                }
            }
            Call::Ensure(who, n) => {
                if let Some((handle, ..)) = self.who(who) {
                    let n = n.min(self.longest);
                    let _ = self.seqs.ensure(handle, n, &mut self.step);
                }
            }
            Call::Tell(who) => self.tell(who),
            Call::Computed(who, n) => {
                if let Some((handle, ..)) = self.who(who) {
                    let n = n.min(self.positions(handle));
                    let _ = self.seqs.computed(handle, n);
                }
            }
            Call::Fork(who, n) => {
                let Some((handle, text, keyed)) = self.who(who) else {
                    return;
                };
                let mut children = [Handle::NONE; 2];
                let children = &mut children[..n];
                if self.seqs.fork(handle, children).is_ok() {
                    let children = children.iter().map(|&it| (it, text, keyed));
                    self.living.extend(children);
                }
            }
            Call::Truncate(who, n, later) => {
                let Some((handle, ..)) = self.who(who) else {
                    return;
                };
                let n = n.min(self.positions(handle));
                if later {
                    let fence = self.wait();
                    let _ = self.seqs.truncate_after(handle, n, &mut self.lane, fence);
                } else {
                    let _ = self.seqs.truncate(handle, n);
                }
            }
            Call::Adopt(who, later) => {
                let Some((handle, ..)) = self.who(who) else {
                    return;
                };
                if later {
                    let fence = self.wait();
                    let lane = &mut self.lane;
                    let _ = self.seqs.adopt_duplicates_after(handle, lane, fence);
                } else {
                    let _ = self.seqs.adopt_duplicates(handle);
                }
            }
            Call::Copied => self.copied(),
            Call::Passed => self.passed(),
            Call::End(who, end) => self.end(who, end),
        }
    }

    fn tell(&mut self, who: usize) {
        let Some((handle, text, keyed)) = self.who(who) else {
            return;
        };
        let Ok(state) = self.seqs.state(handle) else {
            return;
        };
        let (known, positions) = (state.known, state.positions);
        let mut contents = Contents::new(&self.texts[text][known..positions]);
        if keyed {
            let filled = known / SIZE..positions / SIZE;
            contents = contents
                .extra(&self.extra[filled.clone()])
                .keys(&self.keys[filled]);
        }
        let _ = self.seqs.tokens(handle, known, &contents);
    }

    fn end(&mut self, who: usize, end: End) {
        let Some((handle, ..)) = self.who(who) else {
            return;
        };
        match end {
            End::Release => {
                let _ = self.seqs.release(handle);
            }
            End::Preempt => {
                let _ = self.seqs.preempt(handle);
            }
            End::After => {
                let fence = self.wait();
                let _ = self.seqs.release_after(handle, &mut self.lane, fence);
            }
        }
        self.living.retain(|it| it.0 != handle);
    }
}

proptest! {
    #![proptest_config(properties::config(600, "proptest-regressions/allocation.txt", 100_000))]

    #[test]
    fn no_call_within_the_room_asks_for_memory(
        longest in 1..100_usize,
        digests in any::<bool>(),
        calls in prop::collection::vec(call(), 1..120),
    ) {
        let before = LIVE.get();
        let proof = if digests { Proof::Digest } else { Proof::Tokens };
        let mut scheduler = Scheduler::new(longest, proof);
        for (at, &call) in calls.iter().enumerate() {
            let ((), requests) = armed(Refuse::Nothing, || scheduler.call(call));
            prop_assert_eq!(requests, 0, "call {}: {:?}", at, call);
        }
        prop_assert_eq!(scheduler.seqs.audit(&[&scheduler.lane]), Ok(()));
        prop_assert_eq!(scheduler.seqs.len(), scheduler.living.len());
        drop(scheduler);
        prop_assert_eq!(LIVE.get(), before, "bytes left behind");
    }
}
