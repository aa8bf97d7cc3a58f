//! What a scheduler does with its device, at random.

use std::sync::Arc;

use kvblock::{
    Admit, AppendError, BlockId, BlockPool, ComputedError, ConstantHasher, Contents, CopyTicket,
    Fence, Growth, Handle, Import, InTransit, Lane, Leases, Namespace, Owner, PoolConfig, Prompt,
    Proof, Sequences, SequencesConfig, ShardId, Step, Swap,
};

use crate::chance::{Random, Saw, contents};
use crate::device::{Device, SIZE};

pub(crate) struct Tier {
    pub(crate) seqs: Sequences,
    pub(crate) leases: Leases,
}

/// A sequence as the scheduler knows it.
pub(crate) struct Known {
    pub(crate) tier: usize,
    pub(crate) handle: Handle,
    /// Of its namespace.
    pub(crate) space: u64,
    pub(crate) tokens: Vec<u32>,
    pub(crate) computed: usize,
    /// Its blocks from there on are to be renewed before they are written.
    pub(crate) stale: bool,
    pub(crate) growth: Growth,
    pub(crate) label: u64,
}

/// A swap that was begun.
pub(crate) struct Moving {
    pub(crate) swap: Swap,
    pub(crate) from: usize,
    pub(crate) owner: Owner,
    /// The sequence as it is to be at the destination.
    pub(crate) arrives: Known,
    pub(crate) launched: Option<Fence>,
    pub(crate) complete: bool,
    pub(crate) aborted: bool,
    pub(crate) source_gone: bool,
    /// What the source offered.
    pub(crate) offered: Vec<BlockId>,
    /// Some of that turned out bad before it was copied, or the sequence lost it.
    pub(crate) spoiled: bool,
    /// Some of what the destination has turned out bad.
    pub(crate) spoiled_there: bool,
    pub(crate) destination_gone: bool,
}

/// A swap that was dropped while its copy was under way.
pub(crate) struct Orphan {
    pub(crate) import: Import,
    pub(crate) source: Handle,
    pub(crate) owner: Owner,
    pub(crate) from: usize,
    pub(crate) until: Fence,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) tiers: [Tier; 2],
    pub(crate) device: Device,
    pub(crate) known: Vec<Known>,
    pub(crate) moving: Vec<Moving>,
    pub(crate) orphans: Vec<Orphan>,
    pub(crate) tickets: Vec<CopyTicket>,
    /// Releases that wait for a fence, by tier.
    pub(crate) lanes: [Lane; 2],
    /// The last of those fences.
    pub(crate) ends: u64,
    pub(crate) labels: u64,
    pub(crate) finished: [u64; 2],
    pub(crate) saw: Saw,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let blocks = [8 + random.below(10), 6 + random.below(14)];
        // Blocks are found by a hash or by looking at all of them, and compared by their tokens or by a digest.
        let (hashes, proofs) = (
            [0; 2].map(|_| random.below(3)),
            [0; 2].map(|_| random.below(2)),
        );
        let tier = |shard: usize| {
            let mut config = PoolConfig::new(blocks[shard], SIZE)
                .shard(ShardId::new(u32::try_from(shard).unwrap()))
                .proof([Proof::Tokens, Proof::Digest][proofs[shard]]);
            if hashes[shard] == 0 {
                config = config.hasher(Arc::new(ConstantHasher(0)));
            }
            let pool = BlockPool::new(&config).unwrap();
            Tier {
                leases: Leases::new(&pool, 1000).unwrap(),
                seqs: Sequences::new(pool, &SequencesConfig::new(6)).unwrap(),
            }
        };
        let tiers = [tier(0), tier(1)];
        Self {
            lanes: tiers.each_ref().map(|it| it.seqs.pool().lane()),
            ends: 0,
            tiers,
            device: Device::new(blocks),
            random,
            known: Vec::new(),
            moving: Vec::new(),
            orphans: Vec::new(),
            tickets: Vec::new(),
            labels: 0,
            finished: [0; 2],
            saw: Saw::default(),
        }
    }

    pub(crate) fn call(&mut self) {
        match self.random.below(44) {
            0..=4 => self.admit(),
            5..=7 => self.compute(),
            8..=10 => self.append(),
            11 => self.fork(),
            12 => self.truncate(),
            13 => self.release(),
            14 => self.copied(),
            15 => self.evict(),
            16..=18 => self.begin_swap(),
            19..=20 => self.launch(),
            21..=22 => {
                let blocks = self.random.below(4);
                self.device.run(blocks);
            }
            23..=25 => self.tell(),
            26..=27 => self.finish_swap(),
            28 => self.abort(),
            29 => match self.random.below(4) {
                0 => self.drop_swap(),
                1 => self.release_destination(),
                _ => self.answer_orphans(),
            },
            30 => self.clear(),
            31 => self.resize(),
            32..=33 => self.change_hands(),
            34 => self.adopt(),
            35 => self.release_later(),
            36 => self.pass(),
            37 => self.pin(),
            38..=39 => self.answer_for_some(),
            40 => self.spoil(),
            41 => self.look_ahead(),
            _ => self.renew(),
        }
    }

    pub(crate) fn pick(&mut self, len: usize) -> Option<usize> {
        (len > 0).then(|| self.random.below(len))
    }

    /// A sequence on the device.
    fn pick_running(&mut self) -> Option<usize> {
        let here: Vec<_> = (0..self.known.len())
            .filter(|&at| self.known[at].tier == 0)
            .collect();
        Some(here[self.pick(here.len())?])
    }

    /// Whether a swap keeps it from growing: one that is open, or has been called off while its copy is read.
    pub(crate) fn is_moving(&self, handle: Handle) -> bool {
        let keeps = |it: &Moving| {
            let called_off = it.aborted || it.destination_gone || it.spoiled;
            !(called_off && it.swap.import().is_settled())
        };
        let mut those = self.moving.iter().filter(|it| it.swap.source() == handle);
        let forgotten = |it: &Orphan| it.source == handle && !it.import.is_settled();
        those.any(keeps) || self.orphans.iter().any(forgotten)
    }

    pub(crate) fn growth(&mut self) -> Growth {
        match self.random.below(3) {
            0 => Growth::Cap(self.random.below(12)),
            1 => Growth::Ahead(self.random.below(3)),
            _ => Growth::OnDemand,
        }
    }

    fn admit(&mut self) {
        // Few texts, so that prompts share, and some go apart.
        let (length, text) = (1 + self.random.below(24), self.random.below(3));
        let first = u32::try_from(text << 16).unwrap();
        let mut tokens: Vec<_> = (first..).take(length).collect();
        if self.random.below(3) == 0 {
            tokens[length - 1] = self.random.token(u32::MAX);
        }
        let growth = self.growth();
        self.labels += 1;
        let space = u64::from(self.random.below(4) == 0);
        let (own, insert) = (namespace(space), self.random.below(6) > 0);
        let request = Admit::new(Prompt::new(&own, &tokens), growth)
            .label(self.labels)
            .insert(insert);
        let seqs = &mut self.tiers[0].seqs;
        let Ok(admitted) = seqs.admit(&request) else {
            return;
        };
        let table = seqs.table(admitted.handle).unwrap();
        self.device.give(0, &table[admitted.hit / SIZE..]);
        self.known.push(Known {
            tier: 0,
            handle: admitted.handle,
            space,
            tokens,
            computed: admitted.hit,
            stale: false,
            growth,
            label: self.labels,
        });
    }

    fn compute(&mut self) {
        let Some(at) = self.pick_running() else {
            return;
        };
        let left = self.known[at].tokens.len() - self.known[at].computed;
        let (handle, end) = (self.known[at].handle, self.known[at].tokens.len());
        if self.is_moving(handle) {
            let told = self.tiers[0].seqs.computed(handle, end);
            let refused = Err(ComputedError::InTransit(InTransit::Leaving));
            assert_eq!(told, if left == 0 { Ok(()) } else { refused });
            return;
        }
        if !self.known[at].stale {
            let n = self.random.below(left + 1);
            self.compute_some(at, n);
        }
    }

    fn compute_some(&mut self, at: usize, n: usize) {
        let known = &mut self.known[at];
        let seqs = &mut self.tiers[0].seqs;
        let end = known.computed + n;
        let table = seqs.table(known.handle).unwrap();
        for (at, content) in contents(known.space, &known.tokens[..end])
            .enumerate()
            .skip(known.computed)
        {
            self.device.write(0, table[at / SIZE], at % SIZE, content);
        }
        known.computed = end;
        seqs.computed(known.handle, end).unwrap();
    }

    fn append(&mut self) {
        let Some(at) = self.pick_running() else {
            return;
        };
        let n = 1 + self.random.below(5);
        let tokens: Vec<_> = (0..n).map(|_| self.random.token(2)).collect();
        let moving = self.is_moving(self.known[at].handle);
        let known = &mut self.known[at];
        let seqs = &mut self.tiers[0].seqs;
        let before = seqs.table(known.handle).unwrap().to_vec();
        let mut step = Step::new();
        match seqs.append(known.handle, n, &mut step) {
            Ok(()) => assert!(!moving, "a sequence on its way has no positions"),
            Err(AppendError::InTransit(InTransit::Leaving)) => {
                assert!(moving, "nothing keeps it from growing");
                return;
            }
            Err(AppendError::Refused(_)) => {
                let promised = seqs.state(known.handle).unwrap().promised;
                assert!(promised * SIZE < n + SIZE, "{promised} blocks are promised");
                return;
            }
            Err(AppendError::CapReached(_)) => return,
            Err(other) => panic!("{other:?}"),
        }
        let copies = step.copies().to_vec();
        let table = seqs.table(known.handle).unwrap();
        let fresh: Vec<_> = (before.len()..table.len()).map(|at| table[at]).collect();
        self.device.give(0, &fresh);
        for ticket in copies {
            let (from, to, positions) = parts(&ticket);
            self.device.copy(0, from, to, positions);
            self.tickets.push(ticket);
        }
        known.tokens.extend(tokens);
        if self.random.below(3) > 0 {
            self.tell_rest(at);
        }
        if self.random.below(3) > 0 && !self.known[at].stale {
            let left = self.known[at].tokens.len() - self.known[at].computed;
            self.compute_some(at, left);
        }
    }

    fn fork(&mut self) {
        let Some(at) = self.pick_running() else {
            return;
        };
        let known = &self.known[at];
        let mut child = [known.handle];
        if self.tiers[0].seqs.fork(known.handle, &mut child).is_err() {
            return;
        }
        // What is computed later by one would be the other's, too: so all of it is now.
        let child = Known {
            tier: 0,
            handle: child[0],
            tokens: known.tokens.clone(),
            ..*known
        };
        if child.computed < child.tokens.len() {
            self.tiers[0].seqs.release(child.handle).unwrap();
            return;
        }
        self.known.push(child);
    }

    fn truncate(&mut self) {
        let Some(at) = self.pick_running() else {
            return;
        };
        let length = self.known[at].tokens.len();
        let to = length - self.random.below(length.min(6));
        let known = &mut self.known[at];
        if self.tiers[0].seqs.truncate(known.handle, to).is_ok() {
            known.tokens.truncate(to);
            known.computed = known.computed.min(to);
            self.tell_rest(at);
        }
    }

    /// The scheduler says what it has not said yet of a sequence's tokens.
    pub(crate) fn tell_rest(&mut self, at: usize) {
        let known = &self.known[at];
        let seqs = &mut self.tiers[known.tier].seqs;
        let told = seqs.state(known.handle).unwrap().known;
        seqs.tokens(known.handle, told, &Contents::new(&known.tokens[told..]))
            .unwrap();
    }

    /// A sequence that is to end, which is known no more.
    pub(crate) fn ending(&mut self) -> Option<Known> {
        let at = self.pick(self.known.len())?;
        if self.is_spared(at) {
            return None;
        }
        let known = self.known.swap_remove(at);
        self.source_ends(known.handle);
        Some(known)
    }

    fn release(&mut self) {
        let Some(known) = self.ending() else {
            return;
        };
        self.tiers[known.tier].seqs.release(known.handle).unwrap();
    }

    /// Most of those that are on their way are to arrive.
    fn is_spared(&mut self, at: usize) -> bool {
        self.is_moving(self.known[at].handle) && self.random.below(4) > 0
    }

    /// A sequence ends, and with it the swap that would take it elsewhere.
    pub(crate) fn source_ends(&mut self, handle: Handle) {
        let open = |it: &&mut Moving| !it.aborted && it.swap.source() == handle;
        for moving in self.moving.iter_mut().filter(open) {
            moving.source_gone = true;
            self.saw.note("source released");
        }
    }

    fn copied(&mut self) {
        if let Some(at) = self.pick(self.tickets.len()) {
            let ticket = self.tickets.swap_remove(at);
            self.tiers[0].seqs.copied(ticket).unwrap();
        }
    }

    fn evict(&mut self) {
        let (tier, n) = (self.random.below(2), self.random.below(4));
        let pool = self.tiers[tier].seqs.pool();
        let mut worker = pool.worker().unwrap();
        pool.evict(&mut worker, n).unwrap();
    }
}

/// The namespace with this number.
pub(crate) fn namespace(number: u64) -> Namespace {
    Namespace::new().salt(number.to_le_bytes())
}

/// Source, destination, valid positions.
fn parts(ticket: &CopyTicket) -> (BlockId, BlockId, usize) {
    (ticket.src, ticket.dst, ticket.positions)
}
