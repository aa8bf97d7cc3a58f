//! The plain sequential model of one pool: sets, maps and a queue, written from the rules of the documentation and sharing no code with
//! the crate. It is slow and has no threads, no words and no hashes: content is found by comparing content.
//!
//! What it promises to reproduce exactly: ids, order of reclaim, results, errors, figures and events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The looks that a worker may spend on second chances before it takes what it finds.
fn allowance(blocks: usize) -> usize {
    (blocks / 4).clamp(512, 16_384)
}
/// Steps down to a leaf for one look after that.
const STEPS_DOWN: usize = 16;
/// What each reclaimed block gives back to the allowance.
pub(crate) const REFUND: usize = 8;
/// Places that a key has in the index, two buckets of eight. Other keys and other depths may use them too.
pub(crate) const PLACES: usize = 16;

/// What a block holds: its tokens and the caller's extra key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Page {
    pub(crate) tokens: Vec<u32>,
    pub(crate) extra: u128,
}

/// Where a block hangs: at the root of a namespace, or under a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Under {
    Root(u8),
    Block(u32),
}

/// What a published block adds to the tree.
#[derive(Clone, Debug)]
struct Node {
    under: Under,
    page: Page,
    depth: u32,
    cut: bool,
}

#[derive(Clone, Debug, Default)]
struct Block {
    references: usize,
    /// Of these, fences'.
    fences: usize,
    node: Option<Node>,
    touched: bool,
    queued: bool,
    generation: u64,
    last_child: Option<u32>,
}

/// A worker's twin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hand {
    word: u32,
    allowance: usize,
    most: usize,
    /// Where the last way down to a leaf ended: a block and its generation.
    descent: Option<(u32, u64)>,
    /// Tokens looked at when nothing of the allowance was left; and how often that gave a leaf beneath.
    pub(crate) looks_past_the_cap: usize,
    pub(crate) leaves_beneath: usize,
}

impl Hand {
    /// Of a pool of so many blocks.
    pub(crate) fn new(blocks: usize) -> Self {
        Self {
            word: 0,
            allowance: allowance(blocks),
            most: allowance(blocks),
            descent: None,
            looks_past_the_cap: 0,
            leaves_beneath: 0,
        }
    }

    /// Whether nothing of the allowance is left for the look that comes.
    fn past_the_cap(&mut self) -> bool {
        self.looks_past_the_cap += usize::from(self.allowance == 0);
        self.allowance == 0
    }

    fn spend(&mut self) {
        self.allowance = self.allowance.saturating_sub(1);
    }

    fn refund(&mut self) {
        self.hit(REFUND);
    }

    /// Blocks were hit: each may have its second chance.
    fn hit(&mut self, blocks: usize) {
        self.allowance = (self.allowance + blocks).min(self.most);
    }
}

/// A chain's twin: the blocks above its table that it holds, its table, and for each published position the block that others find.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: u8,
    pub(crate) head: Vec<u32>,
    pub(crate) table: Vec<u32>,
    pub(crate) found: Vec<u32>,
    /// Split off beyond what was published: it hangs nowhere.
    pub(crate) adrift: bool,
    /// Behind `found`, by place: what blocks that are no longer counted as published hang under.
    pub(crate) left: Vec<(usize, u32)>,
}

impl Line {
    pub(crate) fn new(name: u8) -> Self {
        Self {
            name,
            head: Vec::new(),
            table: Vec::new(),
            found: Vec::new(),
            adrift: false,
            left: Vec::new(),
        }
    }

    /// Every reference on the table from a place on and beside it, in order of release.
    pub(crate) fn references(&self, places: core::ops::Range<usize>) -> Vec<u32> {
        let mut references = Vec::new();
        for at in places.rev() {
            let own = self.table[at];
            references.push(own);
            references.extend(self.beside(at).filter(|&found| found != own));
        }
        references
    }

    fn beside(&self, at: usize) -> Option<u32> {
        let left = self.left.iter().find(|(place, _)| *place == at);
        let found = self.found.get(at).copied();
        found.or(left.map(|&(_, id)| id))
    }

    fn under(&self) -> Under {
        match self.found.last().or(self.head.last()) {
            Some(&block) => Under::Block(block),
            None => Under::Root(self.name),
        }
    }

    fn depth(&self) -> u32 {
        u32::try_from(self.head.len() + self.found.len())
            .expect("a chain has fewer blocks than ids")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Never {
        needed: usize,
        capacity: usize,
    },
    Shortfall {
        needed: usize,
        available: usize,
        quarantined: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond {
    pub(crate) asked: usize,
    pub(crate) left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Tokens,
    Extra,
    Keys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongLength {
    pub(crate) part: Part,
    pub(crate) expected: usize,
    pub(crate) got: usize,
}

/// What `find` and `probe` are asked. Of the engine's keys only the number matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) name: u8,
    pub(crate) tokens: &'a [u32],
    pub(crate) extra: &'a [u128],
    pub(crate) keys: usize,
    pub(crate) full_hit: bool,
    /// Blocks that are found at most, whatever matches.
    pub(crate) limit: usize,
}

/// What `publish` is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) tokens: &'a [u32],
    pub(crate) extra: &'a [u128],
    pub(crate) keys: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Unpaid,
    IndexFull,
    Cut,
    Gap,
    /// Another owner holds the private block too.
    Shared,
    /// The block is to go offline.
    Draining,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) stored: usize,
    pub(crate) duplicates: usize,
    pub(crate) stopped: Option<Stop>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) positions: usize,
    pub(crate) held: usize,
    pub(crate) idle: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unpublishable {
    OutOfRange { block: u32, capacity: usize },
    NotPublished { block: u32 },
}

/// Why the limit stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmoved {
    Beyond { asked: usize, max: usize },
    NothingLeft { asked: usize, online: usize },
    Short(Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Stored,
    Removed,
    Cleared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) news: News,
    pub(crate) block: u32,
    pub(crate) generation: u64,
    pub(crate) under: Option<u32>,
    pub(crate) depth: u32,
}

/// The figures of a report that follow from the calls alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) capacity: usize,
    pub(crate) online: usize,
    pub(crate) draining: usize,
    pub(crate) offline: usize,
    pub(crate) free: usize,
    pub(crate) idle: usize,
    pub(crate) held: usize,
    pub(crate) quarantined: usize,
    pub(crate) reserved: usize,
    pub(crate) available: usize,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) stored: u64,
    pub(crate) duplicates: u64,
    pub(crate) unpaid: u64,
    pub(crate) declined: u64,
    pub(crate) reclaims: u64,
    pub(crate) second_chances: u64,
    pub(crate) sweeps: u64,
    pub(crate) refused_never: u64,
    pub(crate) refused_shortfall: u64,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    hits: u64,
    misses: u64,
    stored: u64,
    duplicates: u64,
    unpaid: u64,
    declined: u64,
    reclaims: u64,
    second_chances: u64,
    refused_never: u64,
    refused_shortfall: u64,
}

/// The pool's twin.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    block_size: usize,
    blocks: Vec<Block>,
    /// Blocks below it are online.
    limit: usize,
    /// Blocks above it that are gone.
    offline: BTreeSet<u32>,
    free: BTreeSet<u32>,
    idle: BTreeSet<u32>,
    line: VecDeque<u32>,
    /// What can be found: published and not cut.
    content: BTreeMap<(Under, Page), u32>,
    /// Published children, cut ones included.
    children: BTreeMap<u32, BTreeSet<u32>>,
    reserved: usize,
    counts: Counts,
    /// All events since the start.
    pub(crate) notices: Vec<Notice>,
}

fn count(n: usize) -> u64 {
    u64::try_from(n).expect("a count fits")
}

impl Model {
    /// Of so many blocks, the first `limit` of which are online.
    pub(crate) fn new(blocks: usize, limit: usize, block_size: usize) -> Self {
        let id = |n| u32::try_from(n).expect("a pool has fewer blocks than ids");
        Self {
            limit,
            offline: (id(limit)..id(blocks)).collect(),
            block_size,
            // The pool counts generations from 1.
            blocks: vec![
                Block {
                    generation: 1,
                    ..Block::default()
                };
                blocks
            ],
            free: (0..id(limit)).collect(),
            idle: BTreeSet::new(),
            line: VecDeque::new(),
            content: BTreeMap::new(),
            children: BTreeMap::new(),
            reserved: 0,
            counts: Counts::default(),
            notices: Vec::new(),
        }
    }

    // ---- what there is

    pub(crate) fn capacity(&self) -> usize {
        self.limit
    }

    pub(crate) fn max_blocks(&self) -> usize {
        self.blocks.len()
    }

    fn is_above(&self, id: u32) -> bool {
        usize::try_from(id).expect("an id is an index") >= self.limit
    }

    fn block(&self, id: u32) -> &Block {
        &self.blocks[usize::try_from(id).expect("an id is an index")]
    }

    fn block_mut(&mut self, id: u32) -> &mut Block {
        &mut self.blocks[usize::try_from(id).expect("an id is an index")]
    }

    pub(crate) fn available(&self) -> usize {
        let there = self.free.len() + self.idle.len();
        there
            .checked_sub(self.reserved)
            .expect("more is promised than there is")
    }

    pub(crate) fn reserved(&self) -> usize {
        self.reserved
    }

    fn held(&self) -> usize {
        let held = self.blocks.iter().filter(|block| block.references > 0);
        held.count()
    }

    /// Blocks that only fences hold.
    fn quarantined(&self) -> usize {
        let waiting = self
            .blocks
            .iter()
            .filter(|block| block.fences > 0 && block.fences == block.references);
        waiting.count()
    }

    pub(crate) fn figures(&self) -> Figures {
        let counts = &self.counts;
        Figures {
            capacity: self.blocks.len() - self.offline.len(),
            online: self.limit,
            draining: self.draining(),
            offline: self.offline.len(),
            free: self.free.len(),
            idle: self.idle.len(),
            held: self.held() - self.quarantined(),
            quarantined: self.quarantined(),
            reserved: self.reserved,
            available: self.available(),
            hits: counts.hits,
            misses: counts.misses,
            stored: counts.stored,
            duplicates: counts.duplicates,
            unpaid: counts.unpaid,
            declined: counts.declined,
            reclaims: counts.reclaims,
            second_chances: counts.second_chances,
            sweeps: 0,
            refused_never: counts.refused_never,
            refused_shortfall: counts.refused_shortfall,
        }
    }

    /// Every findable copy: block, generation, the block it hangs under, depth.
    pub(crate) fn findable(&self) -> BTreeMap<(u32, u64), (Option<u32>, u32)> {
        let found = self.content.values().map(|&id| {
            let block = self.block(id);
            let node = block.node.as_ref().expect("what is found is published");
            ((id, block.generation), (parent(node.under), node.depth))
        });
        found.collect()
    }

    /// The namespace and the pages of a findable block and of all above it, first page first.
    pub(crate) fn path(&self, id: u32) -> (u8, Vec<Page>) {
        let node = self
            .block(id)
            .node
            .as_ref()
            .expect("only published blocks have a path");
        let (name, mut pages) = match node.under {
            Under::Root(name) => (name, Vec::new()),
            Under::Block(above) => self.path(above),
        };
        pages.push(node.page.clone());
        (name, pages)
    }

    /// Published blocks, cut ones included: each has a place in the index.
    pub(crate) fn published(&self) -> usize {
        self.blocks
            .iter()
            .filter(|block| block.node.is_some())
            .count()
    }

    /// What must hold after every call.
    pub(crate) fn check(&self) {
        let figures = self.figures();
        assert_eq!(
            figures.free + figures.idle + figures.held + figures.quarantined,
            figures.capacity,
            "the model lost a block"
        );
        let mut tokens = BTreeSet::new();
        for &id in &self.line {
            assert!(tokens.insert(id), "block {id} has two tokens");
        }
        for (index, block) in self.blocks.iter().enumerate() {
            let id = u32::try_from(index).expect("an index is an id");
            assert_eq!(
                block.queued,
                tokens.contains(&id),
                "queued says something else than the queue for block {id}"
            );
            assert_eq!(
                self.free.contains(&id),
                block.references == 0 && block.node.is_none() && !self.offline.contains(&id),
                "block {id}: free or not"
            );
            assert_eq!(
                self.idle.contains(&id),
                block.references == 0 && block.node.is_some(),
                "block {id}: idle or not"
            );
            if self.offline.contains(&id) {
                assert!(self.is_above(id), "block {id} is offline below the limit");
                assert!(
                    block.references == 0 && block.node.is_none(),
                    "block {id} is offline and in use"
                );
            }
            let Some(node) = &block.node else { continue };
            assert!(
                node.cut || !self.is_above(id),
                "block {id} can be found above the limit"
            );
            assert!(
                block.references > 0 || block.queued,
                "idle block {id} is in no queue"
            );
            if let Under::Block(above) = node.under {
                let parent = self.block(above);
                assert!(
                    parent.node.is_some(),
                    "block {id} outlived its parent {above}"
                );
                assert!(
                    block.references == 0 || parent.references > 0,
                    "idle block {above} has the held child {id}"
                );
            }
        }
    }

    // ---- promises

    pub(crate) fn ask(&self, n: usize) -> Result<(), Refusal> {
        self.ask_in_all(n, n)
    }

    fn ask_in_all(&self, more: usize, in_all: usize) -> Result<(), Refusal> {
        if in_all > self.capacity() {
            return Err(Refusal::Never {
                needed: in_all,
                capacity: self.capacity(),
            });
        }
        if more > self.available() {
            return Err(self.shortfall(more, self.available()));
        }
        Ok(())
    }

    pub(crate) fn shortfall(&self, needed: usize, available: usize) -> Refusal {
        Refusal::Shortfall {
            needed,
            available,
            quarantined: self.quarantined(),
        }
    }

    /// `reserve` for `held = 0`, `grow` otherwise. Answers the new length.
    pub(crate) fn reserve(&mut self, held: usize, more: usize) -> Result<usize, Refusal> {
        match self.ask_in_all(more, held.saturating_add(more)) {
            Ok(()) => {
                self.reserved += more;
                Ok(held + more)
            }
            Err(refusal) => {
                self.count_refusal(refusal);
                Err(refusal)
            }
        }
    }

    pub(crate) fn give_back(&mut self, n: usize) {
        self.reserved -= n;
    }

    pub(crate) fn count_refusal(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::Never { .. } => self.counts.refused_never += 1,
            Refusal::Shortfall { .. } => self.counts.refused_shortfall += 1,
        }
    }

    pub(crate) fn take(
        &mut self,
        hand: &mut Hand,
        promise: &mut usize,
        n: usize,
    ) -> Result<Vec<u32>, Beyond> {
        if n > *promise {
            return Err(Beyond {
                asked: n,
                left: *promise,
            });
        }
        let mut taken = Vec::new();
        for _ in 0..n {
            let id = match self.next_free(hand.word) {
                Some(id) => {
                    self.free.remove(&id);
                    hand.word = id / 64;
                    id
                }
                None => self.reclaim(hand),
            };
            self.block_mut(id).references = 1;
            taken.push(id);
        }
        *promise -= n;
        self.reserved -= n;
        Ok(taken)
    }

    /// The lowest free id from the word on, else the lowest of all.
    fn next_free(&self, word: u32) -> Option<u32> {
        self.free
            .range(word * 64..)
            .next()
            .or_else(|| self.free.first())
            .copied()
    }

    // ---- reclaim

    /// One idle block, in reclaim order. It is nobody's afterwards.
    fn reclaim(&mut self, hand: &mut Hand) -> u32 {
        let mut looks = 0;
        loop {
            looks += 1;
            assert!(
                looks <= 2 * self.max_blocks() + 2 * hand.most,
                "a promised block cannot be reached: no idle leaf"
            );
            let past_the_cap = hand.past_the_cap();
            let id = self.line.pop_front().expect("an idle block has a token");
            if self.block(id).node.is_none() {
                self.send_to_the_tail(hand, id);
                continue;
            }
            if self.block(id).references > 0 {
                self.block_mut(id).queued = false;
                continue;
            }
            if self.block(id).touched {
                self.block_mut(id).touched = false;
                if !past_the_cap {
                    self.send_to_the_tail(hand, id);
                    continue;
                }
            }
            if self.has_child(id) {
                let leaf = if past_the_cap {
                    self.leaf_beneath(hand, id)
                } else {
                    None
                };
                self.send_to_the_tail(hand, id);
                match leaf {
                    Some(leaf) => {
                        hand.leaves_beneath += 1;
                        return self.reclaimed(hand, leaf);
                    }
                    None => continue,
                }
            }
            self.block_mut(id).queued = false;
            return self.reclaimed(hand, id);
        }
    }

    fn reclaimed(&mut self, hand: &mut Hand, id: u32) -> u32 {
        self.claim(id);
        self.counts.reclaims += 1;
        hand.refund();
        id
    }

    fn send_to_the_tail(&mut self, hand: &mut Hand, id: u32) {
        self.line.push_back(id);
        self.counts.second_chances += 1;
        hand.spend();
    }

    fn has_child(&self, id: u32) -> bool {
        self.children
            .get(&id)
            .is_some_and(|below| !below.is_empty())
    }

    /// The idle leaf to which the memories of last children lead, if they do, in a few steps from where the last way down ended, or
    /// from the block.
    fn leaf_beneath(&self, hand: &mut Hand, id: u32) -> Option<u32> {
        let begun = hand.descent.take().filter(|&(at, generation)| {
            let block = self.block(at);
            self.is_idle(at) && block.generation == generation
        });
        let mut id = begun.map_or(id, |(at, _)| at);
        for _ in 0..STEPS_DOWN {
            if !self.has_child(id) {
                if let Some(Under::Block(above)) = self.block(id).node.as_ref().map(|n| n.under) {
                    hand.descent = Some((above, self.block(above).generation));
                }
                return Some(id);
            }
            let next = self.block(id).last_child?;
            let child = self.block(next);
            let hangs = child
                .node
                .as_ref()
                .is_some_and(|n| n.under == Under::Block(id));
            if !hangs || !self.is_idle(next) {
                return None;
            }
            id = next;
        }
        hand.descent = Some((id, self.block(id).generation));
        None
    }

    fn is_idle(&self, id: u32) -> bool {
        self.block(id).node.is_some() && self.block(id).references == 0
    }

    /// The block loses its identity. Its token, if it has one, is another matter.
    fn claim(&mut self, id: u32) {
        let block = self.block_mut(id);
        assert_eq!(block.references, 0, "block {id} is held");
        let node = block
            .node
            .take()
            .expect("only published blocks are claimed");
        let was_idle = self.idle.remove(&id);
        assert!(was_idle, "block {id} was not idle");
        let block = self.block_mut(id);
        let generation = block.generation;
        block.touched = false;
        block.last_child = None;
        block.generation += 1;
        assert!(!self.has_child(id), "block {id} has a child");
        if !node.cut {
            self.forget(id, generation, &node, News::Removed);
        }
        if let Under::Block(above) = node.under {
            self.children
                .get_mut(&above)
                .expect("a parent knows its children")
                .remove(&id);
        }
    }

    fn forget(&mut self, id: u32, generation: u64, node: &Node, news: News) {
        let known = self.content.remove(&(node.under, node.page.clone()));
        assert_eq!(
            known,
            Some(id),
            "another block was found in the place of block {id}"
        );
        self.notices.push(Notice {
            news,
            block: id,
            generation,
            under: parent(node.under),
            depth: node.depth,
        });
    }

    pub(crate) fn evict(&mut self, hand: &mut Hand, n: usize) -> usize {
        let most = n.min(self.available()).min(self.idle.len());
        for _ in 0..most {
            let id = self.reclaim(hand);
            self.put_back(id);
        }
        most
    }

    pub(crate) fn invalidate(&mut self, id: u32) -> Result<usize, Unpublishable> {
        if usize::try_from(id).expect("an id is an index") >= self.max_blocks() {
            return Err(Unpublishable::OutOfRange {
                block: id,
                capacity: self.max_blocks(),
            });
        }
        if self.block(id).node.as_ref().is_none_or(|node| node.cut) {
            return Err(Unpublishable::NotPublished { block: id });
        }
        self.cut(BTreeSet::from([id]), News::Removed);
        Ok(self.free_what_is_cut(&mut 0))
    }

    pub(crate) fn clear(&mut self, name: Option<u8>) -> usize {
        let first = self
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| match &block.node {
                Some(Node {
                    under: Under::Root(of),
                    cut: false,
                    ..
                }) => name.is_none_or(|name| name == *of),
                _ => false,
            });
        let first = first
            .map(|(index, _)| u32::try_from(index).expect("an index is an id"))
            .collect();
        self.cut(first, News::Cleared);
        self.free_what_is_cut(&mut 0)
    }

    /// Cuts these findable blocks and all findable ones below them, deepest first.
    fn cut(&mut self, roots: BTreeSet<u32>, news: News) {
        let mut below = BTreeSet::new();
        let mut open: Vec<u32> = roots.into_iter().collect();
        while let Some(id) = open.pop() {
            let node = self.block(id).node.as_ref().expect("the tree is published");
            if !node.cut {
                below.insert((core::cmp::Reverse(node.depth), id));
                open.extend(self.children.get(&id).into_iter().flatten());
            }
        }
        for &(_, id) in &below {
            let block = self.block_mut(id);
            let generation = block.generation;
            let node = block.node.as_mut().expect("the tree is published");
            node.cut = true;
            let node = node.clone();
            self.forget(id, generation, &node, news);
        }
    }

    /// Goes round the queue for idle blocks that are cut, as long as any is freed. Each needs a credit while that is done: one of those
    /// set aside, or an available one. Blocks above the limit take it with them.
    fn free_what_is_cut(&mut self, aside: &mut usize) -> usize {
        let mut freed = 0;
        loop {
            let (before, mut inner) = (freed, false);
            for id in self.line.clone() {
                let is_cut = self.block(id).node.as_ref().is_some_and(|node| node.cut);
                if !is_cut || self.block(id).references > 0 {
                    continue;
                }
                if *aside + self.available() == 0 {
                    continue;
                }
                if self.has_child(id) {
                    self.block_mut(id).touched = false;
                    inner = true;
                    continue;
                }
                self.claim(id);
                // Its place in the order goes with it.
                self.line.retain(|&token| token != id);
                self.block_mut(id).queued = false;
                if self.put_back(id) && *aside > 0 {
                    *aside -= 1;
                    self.reserved -= 1;
                }
                freed += 1;
            }
            if !inner || freed == before {
                return freed;
            }
        }
    }

    /// A block that holds nothing is free, or offline if it is above the limit: true.
    fn put_back(&mut self, id: u32) -> bool {
        let above = self.is_above(id);
        if above {
            self.offline.insert(id);
        } else {
            self.free.insert(id);
        }
        above
    }

    // ---- the limit

    pub(crate) fn draining(&self) -> usize {
        self.blocks.len() - self.limit - self.offline.len()
    }

    /// How many came online; the others were still draining.
    pub(crate) fn grow(&mut self, n: usize) -> Result<usize, Unmoved> {
        let asked = self.limit.saturating_add(n);
        if asked > self.blocks.len() {
            return Err(Unmoved::Beyond {
                asked,
                max: self.blocks.len(),
            });
        }
        self.limit = asked;
        let back: Vec<u32> = self.offline.iter().copied().collect();
        let back: Vec<u32> = back.into_iter().filter(|&id| !self.is_above(id)).collect();
        for id in &back {
            self.offline.remove(id);
            self.free.insert(*id);
        }
        Ok(back.len())
    }

    /// How many went offline.
    pub(crate) fn shrink(&mut self, n: usize) -> Result<usize, Unmoved> {
        if n >= self.limit {
            return Err(Unmoved::NothingLeft {
                asked: n,
                online: self.limit,
            });
        }
        let to = u32::try_from(self.limit - n).expect("a limit is an id");
        let needed = self.free.range(to..).count() + self.idle.range(to..).count();
        if needed > self.available() {
            return Err(Unmoved::Short(self.shortfall(needed, self.available())));
        }
        self.limit -= n;
        let findable = |id: &u32| {
            let node = self.block(*id).node.as_ref();
            node.is_some_and(|node| !node.cut)
        };
        let most = u32::try_from(self.blocks.len()).expect("a size is an id");
        self.cut((to..most).filter(findable).collect(), News::Removed);
        let before = self.offline.len();
        let gone = self.free.split_off(&to);
        let mut aside = needed - gone.len();
        self.offline.extend(gone);
        self.reserved += aside;
        self.free_what_is_cut(&mut aside);
        self.reserved -= aside;
        Ok(self.offline.len() - before)
    }

    /// Drops the tokens at the head of the queue whose blocks are published and held.
    pub(crate) fn maintain(&mut self, steps: usize) -> usize {
        for dropped in 0..steps {
            let stale = self.line.front().copied().filter(|&id| {
                let block = self.block(id);
                block.node.is_some() && block.references > 0
            });
            let Some(id) = stale else { return dropped };
            self.line.pop_front();
            self.block_mut(id).queued = false;
        }
        steps
    }

    // ---- references

    /// One reference less.
    pub(crate) fn let_go(&mut self, id: u32) {
        let block = self.block_mut(id);
        block.references -= 1;
        if block.references > 0 {
            return;
        }
        let Some(node) = &block.node else {
            self.put_back(id);
            return;
        };
        if node.cut && !self.has_child(id) {
            // Nobody can find it any more. Its token, if it has one, stays in the queue.
            self.idle.insert(id);
            self.claim(id);
            self.put_back(id);
            return;
        }
        let block = self.block_mut(id);
        if !block.queued {
            block.queued = true;
            block.touched = false;
            self.line.push_back(id);
        }
        self.idle.insert(id);
    }

    pub(crate) fn release_blocks(&mut self, ids: &[u32]) {
        for &id in ids.iter().rev() {
            self.let_go(id);
        }
    }

    pub(crate) fn release(&mut self, line: Line) {
        for id in line.references(0..line.table.len()) {
            self.let_go(id);
        }
        for &id in line.head.iter().rev() {
            self.let_go(id);
        }
    }

    pub(crate) fn fork(&mut self, line: &Line) -> Line {
        self.hold_again(&line.head);
        self.hold_again(&line.references(0..line.table.len()));
        line.clone()
    }

    pub(crate) fn hold_again(&mut self, ids: &[u32]) {
        for &id in ids {
            let block = self.block_mut(id);
            assert!(block.references > 0, "block {id} is held by nobody");
            block.references += 1;
        }
    }

    /// The line keeps `[0, at)`; the rest comes back with references of its own on what is published above it.
    pub(crate) fn split(&mut self, line: &mut Line, at: usize) -> Result<Line, Beyond> {
        if at > line.table.len() {
            return Err(Beyond {
                asked: at,
                left: line.table.len(),
            });
        }
        let adrift = line.adrift || at > line.found.len();
        let table = line.table.split_off(at);
        let found = line.found.split_off(at.min(line.found.len()));
        let head: Vec<u32> = line.head.iter().chain(&line.found).copied().collect();
        self.hold_again(&head);
        Ok(Line {
            name: line.name,
            head,
            table,
            found,
            adrift,
            left: Vec::new(),
        })
    }

    pub(crate) fn adopt_duplicates(&mut self, line: &mut Line) -> usize {
        let mut adopted = 0;
        for at in 0..line.found.len() {
            if line.table[at] != line.found[at] {
                let private = core::mem::replace(&mut line.table[at], line.found[at]);
                self.let_go(private);
                adopted += 1;
            }
        }
        adopted
    }

    // ---- content

    fn pages(&self, tokens: &[u32], extra: &[u128]) -> Vec<Page> {
        let pages = tokens.chunks_exact(self.block_size).enumerate();
        pages
            .map(|(at, tokens)| Page {
                tokens: tokens.to_vec(),
                extra: extra.get(at).copied().unwrap_or(0),
            })
            .collect()
    }

    /// The blocks that match, first one first, whatever they cost.
    fn matching(&self, question: &Question<'_>) -> Result<(Vec<u32>, usize), WrongLength> {
        let whole = question.tokens.len() / self.block_size;
        lengths(question.extra.len(), question.keys, whole)?;
        let most = if question.full_hit {
            whole
        } else {
            question.tokens.len().saturating_sub(1) / self.block_size
        };
        let mut under = Under::Root(question.name);
        let mut matched = Vec::new();
        for page in self
            .pages(question.tokens, question.extra)
            .into_iter()
            .take(most.min(question.limit))
        {
            let Some(&id) = self.content.get(&(under, page)) else {
                break;
            };
            matched.push(id);
            under = Under::Block(id);
        }
        Ok((matched, most))
    }

    pub(crate) fn probe(&self, question: &Question<'_>) -> Result<Seen, WrongLength> {
        let (matched, _) = self.matching(question)?;
        let held = matched
            .iter()
            .filter(|&&id| self.block(id).references > 0)
            .count();
        Ok(Seen {
            positions: matched.len() * self.block_size,
            held,
            idle: matched.len() - held,
        })
    }

    pub(crate) fn find(
        &mut self,
        hand: &mut Hand,
        question: &Question<'_>,
        promise: &mut usize,
    ) -> Result<Line, WrongLength> {
        let (matched, most) = self.matching(question)?;
        let mut line = Line::new(question.name);
        for id in matched {
            if self.block(id).references == 0 {
                if *promise == 0 {
                    break;
                }
                *promise -= 1;
                self.reserved -= 1;
            }
            let under = line.under();
            self.hit(under, id);
            line.table.push(id);
            line.found.push(id);
        }
        hand.hit(line.table.len());
        self.counts.hits += count(line.table.len());
        self.counts.misses += count(most - line.table.len());
        Ok(line)
    }

    /// One reference more, a second chance, and the parent remembers it.
    fn hit(&mut self, under: Under, id: u32) {
        let block = self.block_mut(id);
        block.references += 1;
        block.touched = true;
        self.idle.remove(&id);
        self.remember(under, id);
    }

    fn remember(&mut self, under: Under, child: u32) {
        if let Under::Block(above) = under {
            self.block_mut(above).last_child = Some(child);
        }
    }

    /// `full_at`: at this page of the call the pool found no place in its index. The model follows, where that is allowed.
    pub(crate) fn publish(
        &mut self,
        hand: &mut Hand,
        line: &mut Line,
        text: &Text<'_>,
        mut promise: Option<&mut usize>,
        full_at: Option<usize>,
    ) -> Result<Outcome, WrongLength> {
        let whole = text.tokens.len() / self.block_size;
        let left = line.table.len() - line.found.len();
        if text.tokens.len() % self.block_size != 0 || whole > left {
            // The longest that would do.
            let expected = whole.min(left) * self.block_size;
            return Err(WrongLength {
                part: Part::Tokens,
                expected,
                got: text.tokens.len(),
            });
        }
        lengths(text.extra.len(), text.keys, whole)?;
        let mut outcome = Outcome {
            stored: 0,
            duplicates: 0,
            stopped: None,
        };
        for (at, page) in self.pages(text.tokens, text.extra).into_iter().enumerate() {
            match self.publish_one(line, page, promise.as_deref_mut(), full_at == Some(at)) {
                Ok(true) => outcome.stored += 1,
                Ok(false) => outcome.duplicates += 1,
                Err(stop) => {
                    outcome.stopped = Some(stop);
                    break;
                }
            }
        }
        self.counts.stored += count(outcome.stored);
        self.counts.duplicates += count(outcome.duplicates);
        hand.hit(outcome.duplicates);
        match outcome.stopped {
            Some(Stop::Unpaid) => self.counts.unpaid += 1,
            Some(Stop::IndexFull) => self.counts.declined += 1,
            _ => {}
        }
        Ok(outcome)
    }

    /// `true`: stored, `false`: a duplicate.
    fn publish_one(
        &mut self,
        line: &mut Line,
        page: Page,
        promise: Option<&mut usize>,
        full: bool,
    ) -> Result<bool, Stop> {
        let held = line.head.iter().chain(&line.found);
        if held
            .into_iter()
            .any(|&id| self.block(id).node.as_ref().is_some_and(|node| node.cut))
        {
            return Err(Stop::Cut);
        }
        if line.adrift {
            return Err(Stop::Gap);
        }
        let own = line.table[line.found.len()];
        let under = line.under();
        let place = (under, page);
        let known = self.content.get(&place).copied();
        if let Some(known) = known.filter(|&known| known != own) {
            self.pay(known, promise)?;
            self.hit(under, known);
            line.found.push(known);
            return Ok(false);
        }
        // Its other owners do not hold what it would hang under. And what was taken back after it was published is published once.
        if self.block(own).references > 1 || self.block(own).node.is_some() {
            return Err(Stop::Shared);
        }
        if self.is_above(own) {
            return Err(Stop::Draining);
        }
        let depth = line.depth();
        if full {
            let there = self.published();
            assert!(
                there >= PLACES,
                "the index had no place for block {own} with {there} published blocks"
            );
            return Err(Stop::IndexFull);
        }
        let block = self.block_mut(own);
        block.touched = block.queued;
        block.node = Some(Node {
            under,
            page: place.1.clone(),
            depth,
            cut: false,
        });
        let generation = block.generation;
        self.content.insert(place, own);
        if let Under::Block(above) = under {
            self.children.entry(above).or_default().insert(own);
        }
        self.remember(under, own);
        self.notices.push(Notice {
            news: News::Stored,
            block: own,
            generation,
            under: parent(under),
            depth,
        });
        line.found.push(own);
        Ok(true)
    }

    fn pay(&mut self, id: u32, promise: Option<&mut usize>) -> Result<(), Stop> {
        if self.block(id).references > 0 {
            return Ok(());
        }
        match promise {
            Some(0) => Err(Stop::Unpaid),
            Some(left) => {
                *left -= 1;
                self.reserved -= 1;
                Ok(())
            }
            None if self.available() == 0 => Err(Stop::Unpaid),
            None => Ok(()),
        }
    }
}

/// For what is built on the pool.
#[allow(dead_code, reason = "the pool's own test needs none of it")]
impl Line {
    /// What hangs behind the first places of the table hangs under these, or is below the last one found.
    pub(crate) fn path(&self, places: usize) -> Vec<u32> {
        let beside = (0..places).map(|at| self.beside(at).unwrap_or(self.table[at]));
        beside.collect()
    }
}

/// For what is built on the pool.
#[allow(dead_code, reason = "the pool's own test needs none of it")]
impl Model {
    pub(crate) fn references(&self, id: u32) -> usize {
        self.block(id).references
    }

    pub(crate) fn is_published(&self, id: u32) -> bool {
        self.block(id).node.is_some()
    }

    pub(crate) fn free(&self) -> impl Iterator<Item = u32> {
        self.free.iter().copied()
    }

    /// The published blocks from the root to this one; only itself if it is not published.
    pub(crate) fn path_to(&self, id: u32) -> Vec<u32> {
        let mut path = match &self.block(id).node {
            Some(Node {
                under: Under::Block(above),
                ..
            }) => self.path_to(*above),
            _ => Vec::new(),
        };
        path.push(id);
        path
    }

    /// Whether a device may be the only one who still touches it.
    pub(crate) fn is_quarantined(&self, id: u32) -> bool {
        let block = self.block(id);
        block.fences > 0 && block.fences == block.references
    }

    /// A reference becomes a fence's.
    pub(crate) fn fence_in(&mut self, id: u32) {
        self.block_mut(id).fences += 1;
    }

    /// A fence has passed: what it held is given back.
    pub(crate) fn fence_out(&mut self, id: u32) {
        self.block_mut(id).fences -= 1;
        self.let_go(id);
    }

    /// Sets aside what was asked for before.
    pub(crate) fn set_aside(&mut self, n: usize) {
        self.reserved += n;
        // Checks that there was so much.
        let _ = self.available();
    }
}

fn parent(under: Under) -> Option<u32> {
    match under {
        Under::Root(_) => None,
        Under::Block(id) => Some(id),
    }
}

fn lengths(extra: usize, keys: usize, whole: usize) -> Result<(), WrongLength> {
    if extra != 0 && extra != whole {
        return Err(WrongLength {
            part: Part::Extra,
            expected: whole,
            got: extra,
        });
    }
    if keys != 0 && keys != whole {
        return Err(WrongLength {
            part: Part::Keys,
            expected: whole,
            got: keys,
        });
    }
    Ok(())
}
