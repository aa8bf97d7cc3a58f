//! A block's place in the tree of prefixes, and what a hit is compared with.
//!
//! A node names its parent by id and generation, which cannot be recycled while a child of it is published: so comparing one
//! block with its parent's name, block by block from the root, compares whole prefixes.
//!
//! ```text
//!  63                                   25 24                       0
//! +---------------------------------------+--------------------------+
//! |              generation               |        block id          |   Link: the parent; all ones: none, a first block,
//! +---------------------------------------+--------------------------+         whose "generation" is a tag of its namespace
//! |              generation               |    number of children    |   Children: of the node at this generation
//! +---------------------------------------+--------------------------+
//! ```
//!
//! Whose words they are: the publisher's, while it holds the block unpublished. After that `children` and `hint` change (by
//! whoever publishes below, or reclaims a child), the rest is constant until the block is claimed.
//!
//! # Orderings
//! Content is stored and loaded Relaxed. A writer's Release fence stands between its claim and its stores; a reader's Acquire
//! fence between its loads and its second look at the state. So a reader that saw any of the new content sees the new
//! generation too, and rejects it (models `find-vs-rewrite`, `compare-then-reused`, `probe-vs-rewrite`). The Release store that publishes
//! pairs with the Acquire load of the state before comparing (`publish-vs-hit`). `key`, `extra` and `depth` are written and read
//! exactly as `parent` and the content are; loom sees only those two, to explore less.

use alloc::boxed::Box;

use super::packed::{Atomic, Packed, packed};
use super::state::GENERATION_BITS;
use crate::block::{BlockId, MAX_BLOCKS};
use crate::error::CreateError;
use crate::prefix::{Evidence, ExtraKey, Identity, Proof, two_tokens};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::unmodelled;

const ID_BITS: u32 = u64::BITS - GENERATION_BITS;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
/// The id field of a first block's parent: no block has it.
const NO_ID: u64 = ID_MASK;
const _: () = assert!(
    MAX_BLOCKS as u64 == NO_ID,
    "every id is below the one that means none"
);

/// The name of a node: where it is, and which of the successive nodes there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Link(u64);

packed!(Link);

impl Link {
    #[inline]
    pub(crate) const fn new(block: BlockId, generation: u64) -> Self {
        Self(generation << ID_BITS | block.get() as u64)
    }
    /// The parent of first blocks of the namespace with this tag.
    #[inline]
    pub(crate) const fn root(tag: u64) -> Self {
        Self(tag << ID_BITS | NO_ID)
    }
    /// Any parent of first blocks.
    #[inline]
    pub(crate) const fn is_root(self) -> bool {
        self.0 & ID_MASK == NO_ID
    }
    /// The node, unless it is a root.
    #[inline]
    pub(crate) const fn block(self) -> Option<BlockId> {
        if self.is_root() {
            None
        } else {
            Some(BlockId::new((self.0 & ID_MASK) as u32))
        }
    }
    #[inline]
    pub(crate) const fn generation(self) -> u64 {
        self.0 >> ID_BITS
    }
}

/// How many published blocks name this node as their parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Children(u64);

packed!(Children);

impl Children {
    #[inline]
    pub(crate) const fn new(generation: u64, count: u64) -> Self {
        Self(generation << ID_BITS | count)
    }
    #[inline]
    pub(crate) const fn count(self) -> u64 {
        self.0 & ID_MASK
    }
    #[inline]
    pub(crate) const fn generation(self) -> u64 {
        self.0 >> ID_BITS
    }
}

/// What one block keeps beside its state and its tokens.
#[derive(Debug)]
pub(crate) struct Node {
    parent: Atomic<Link>,
    children: Atomic<Children>,
    /// The chain key: tells which buckets of the index have this node.
    key: unmodelled::AtomicU64,
    extra: [unmodelled::AtomicU64; 2],
    /// Blocks before this one in its chain.
    depth: unmodelled::AtomicU32,
    /// The child most recently stored or found below, plus one. A hint, confirmed by comparing.
    hint: unmodelled::AtomicU32,
}

impl Node {
    fn new() -> Self {
        Self {
            parent: Atomic::new(Link::root(0)),
            children: Atomic::new(Children::new(0, 0)),
            key: unmodelled::AtomicU64::new(0),
            extra: [const { unmodelled::AtomicU64::new(0) }; 2],
            depth: unmodelled::AtomicU32::new(0),
            hint: unmodelled::AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn parent(&self) -> Link {
        self.parent.load(Relaxed)
    }
    #[inline]
    pub(crate) fn key(&self) -> u64 {
        self.key.load(Relaxed)
    }
    #[inline]
    pub(crate) fn depth(&self) -> u32 {
        self.depth.load(Relaxed)
    }
    /// Acquire: whoever published below or reclaimed a child did so before (pairs with the Release of the changes).
    #[inline]
    pub(crate) fn children(&self) -> Children {
        self.children.load(Acquire)
    }

    #[inline]
    pub(crate) fn hint(&self) -> Option<BlockId> {
        self.hint.load(Relaxed).checked_sub(1).map(BlockId::new)
    }
    #[inline]
    pub(crate) fn set_hint(&self, child: BlockId) {
        let hint = child.get() + 1;
        if self.hint.load(Relaxed) != hint {
            self.hint.store(hint, Relaxed);
        }
    }

    /// One child more. The caller holds the node, so its generation stays.
    #[inline]
    pub(crate) fn child_comes(&self) -> Children {
        self.children.fetch_add_bits(1, AcqRel)
    }

    /// One child of `generation` less, if the node still is the one that had it.
    #[inline]
    pub(crate) fn child_goes(&self, generation: u64) {
        let mut current = self.children.load(Relaxed);
        while crate::sync::mutant("bare-count") || current.generation() == generation {
            debug_assert!(current.count() > 0, "children below zero");
            let next = Children(current.0.wrapping_sub(1));
            match self
                .children
                .compare_exchange(current, next, AcqRel, Relaxed)
            {
                Ok(_) => return,
                // Another child came or went.
                Err(actual) => current = actual,
            }
        }
    }

    /// Becomes the node of a block that is about to be published. The caller alone owns the block.
    #[inline]
    pub(crate) fn write(
        &self,
        parent: Link,
        generation: u64,
        children: u64,
        key: u64,
        depth: u32,
        extra: ExtraKey,
    ) {
        self.parent.store(parent, Relaxed);
        self.key.store(key, Relaxed);
        for (word, half) in self.extra.iter().zip(extra.halves()) {
            word.store(half, Relaxed);
        }
        self.depth.store(depth, Relaxed);
        self.hint.store(0, Relaxed);
        // A late `child_goes` of the last generation may still look at this word; it compares the generation and goes away.
        #[cfg(not(loom))]
        self.children
            .store(Children::new(generation, children), Relaxed);
        // Loom does not order a plain store after a concurrent read-modify-write that read the store before it, and would let
        // the owner read the late decrement over its own store.
        #[cfg(loom)]
        self.children
            .swap(Children::new(generation, children), Relaxed);
    }

    pub(crate) fn extra(&self) -> ExtraKey {
        let [low, high] = &self.extra;
        ExtraKey::from_halves([low.load(Relaxed), high.load(Relaxed)])
    }

    #[inline]
    fn has_extra(&self, extra: ExtraKey) -> bool {
        let [low, high] = extra.halves();
        self.extra[0].load(Relaxed) == low && self.extra[1].load(Relaxed) == high
    }
}

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// The nodes of one shard and what they are compared by.
#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: Box<[Node]>,
    /// `width` words a block: two tokens each, or the digest; after `skip` words, so that a block of 16 tokens is one line.
    content: Box<[AtomicU64]>,
    skip: usize,
    width: usize,
}

impl Nodes {
    pub(crate) fn new(blocks: usize, block_size: usize, proof: Proof) -> Result<Self, CreateError> {
        let width = match proof {
            Proof::Tokens => block_size.div_ceil(2),
            Proof::Digest => 2,
        };
        let words = blocks
            .checked_mul(width)
            .ok_or(CreateError::OutOfMemory { bytes: usize::MAX })?;
        let nodes = super::array(blocks, |_| Node::new())?;
        let content = super::array(words + LINE_WORDS, |_| AtomicU64::new(0))?;
        // Only speed depends on it; where the address is not known, nothing is skipped.
        let skip = content
            .as_ptr()
            .align_offset(LINE_WORDS * size_of::<AtomicU64>());
        let skip = if skip < LINE_WORDS { skip } else { 0 };
        Ok(Self {
            nodes,
            content,
            skip,
            width,
        })
    }

    pub(crate) const fn node_bytes(&self) -> usize {
        size_of_val::<[Node]>(&self.nodes)
    }
    pub(crate) const fn content_bytes(&self) -> usize {
        size_of_val::<[AtomicU64]>(&self.content)
    }

    #[inline]
    pub(crate) fn get(&self, block: BlockId) -> &Node {
        &self.nodes[block.index()]
    }

    /// The processor may fetch the node soon to be looked at.
    #[inline]
    pub(crate) fn prefetch(&self, block: BlockId) {
        super::prefetch(&self.nodes, block.index());
    }
    /// The same for what it is compared by.
    #[inline]
    pub(crate) fn prefetch_content(&self, block: BlockId) {
        super::prefetch(&self.content, self.skip + block.index() * self.width);
    }

    #[inline]
    fn content(&self, block: BlockId) -> &[AtomicU64] {
        &self.content[self.skip + block.index() * self.width..][..self.width]
    }

    /// Whether the block has this parent and identity. Binding only if its generation is the same afterwards.
    #[inline]
    pub(crate) fn matches(&self, block: BlockId, parent: Link, identity: &Identity<'_>) -> bool {
        let node = self.get(block);
        if node.parent() != parent || !node.has_extra(identity.extra) {
            return false;
        }
        let content = self.content(block);
        match identity.evidence {
            Evidence::Tokens(tokens) => equal_tokens(content, tokens),
            Evidence::Digest(digest) => content
                .iter()
                .zip(digest)
                .all(|(word, half)| word.load(Relaxed) == half),
        }
    }

    /// Stores what the block is compared by. The caller alone owns the block.
    #[inline]
    pub(crate) fn write_content(&self, block: BlockId, identity: &Identity<'_>) {
        let content = self.content(block);
        match identity.evidence {
            Evidence::Tokens(tokens) => write_tokens(content, tokens),
            Evidence::Digest(digest) => {
                for (word, half) in content.iter().zip(digest) {
                    word.store(half, Relaxed);
                }
            }
        }
    }

    /// The first `n` tokens of a published block that the caller holds, where it is compared by tokens.
    pub(crate) fn tokens(&self, block: BlockId, n: usize) -> impl Iterator<Item = u32> {
        #[expect(clippy::cast_possible_truncation, reason = "the halves are the tokens")]
        let pair = |word: &AtomicU64| {
            let pair = word.load(Relaxed);
            [pair as u32, (pair >> 32) as u32]
        };
        self.content(block).iter().flat_map(pair).take(n)
    }
}

/// Words that are compared or stored in straight-line code.
const FEW: usize = if cfg!(loom) { 1 } else { 8 };
/// Tokens in so many words.
const FEW_TOKENS: usize = 2 * FEW;

/// Cuts the first [`FEW`] words off, and the tokens that belong there. `None`: fewer are left.
#[inline]
fn next_few<'c, 't>(
    words: &mut &'c [AtomicU64],
    tokens: &mut &'t [u32],
) -> Option<(&'c [AtomicU64; FEW], &'t [u32; FEW_TOKENS])> {
    let (first_words, other_words) = words.split_first_chunk()?;
    let (first_tokens, other_tokens) = tokens.split_first_chunk()?;
    (*words, *tokens) = (other_words, other_tokens);
    Some((first_words, first_tokens))
}

#[inline]
fn equal_tokens(mut words: &[AtomicU64], mut tokens: &[u32]) -> bool {
    let is = |word: &AtomicU64, tokens: u64| word.load(Relaxed) == tokens;
    while let Some((words, tokens)) = next_few(&mut words, &mut tokens) {
        if !(0..FEW).all(|i| is(&words[i], two_tokens(tokens[2 * i], tokens[2 * i + 1]))) {
            return false;
        }
    }
    let mut last = words.iter().zip(tokens.chunks(2));
    tokens.is_empty() || last.all(|(word, pair)| is(word, one_word(pair)))
}

#[inline]
fn write_tokens(mut words: &[AtomicU64], mut tokens: &[u32]) {
    while let Some((words, tokens)) = next_few(&mut words, &mut tokens) {
        for (i, word) in words.iter().enumerate() {
            word.store(two_tokens(tokens[2 * i], tokens[2 * i + 1]), Relaxed);
        }
    }
    for (word, pair) in words.iter().zip(tokens.chunks(2)) {
        word.store(one_word(pair), Relaxed);
    }
}

/// The word of a pair of tokens, or of a last single one.
#[inline]
fn one_word(pair: &[u32]) -> u64 {
    two_tokens(pair[0], pair.get(1).copied().unwrap_or(0))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn links_and_counts_come_back(id in 0..u32::try_from(MAX_BLOCKS).unwrap(), generation in 0..1_u64 << GENERATION_BITS, count in 0..ID_MASK) {
            let link = Link::new(BlockId::new(id), generation);
            prop_assert_eq!((link.block(), link.generation(), link.is_root()), (Some(BlockId::new(id)), generation, false));
            let root = Link::root(generation);
            prop_assert_eq!((root.block(), root.generation(), root.is_root()), (None, generation, true));
            let children = Children::new(generation, count);
            prop_assert_eq!((children.generation(), children.count()), (generation, count));
            prop_assert_eq!(Link::from_bits(link.to_bits()), link);
            prop_assert_eq!(Children::from_bits(children.to_bits()), children);
        }
    }

    #[test]
    fn every_token_counts_at_every_block_size() {
        let secret = crate::prefix::Secret([1, 2]);
        for proof in [Proof::Tokens, Proof::Digest] {
            for block_size in 1..70_u32 {
                let nodes = Nodes::new(3, block_size as usize, proof).unwrap();
                let block = BlockId::new(1);
                let tokens: alloc::vec::Vec<u32> = (0..block_size).collect();
                let is = |tokens: &[u32]| {
                    let identity = Identity::new(tokens, ExtraKey::NONE, proof, secret);
                    nodes.matches(block, Link::root(0), &identity)
                };
                let identity = Identity::new(&tokens, ExtraKey::NONE, proof, secret);
                nodes.write_content(block, &identity);
                assert!(is(&tokens), "size {block_size}");
                for n in 0..=tokens.len() {
                    if proof == Proof::Tokens {
                        let kept: alloc::vec::Vec<u32> = nodes.tokens(block, n).collect();
                        assert_eq!(kept, tokens[..n], "size {block_size}");
                    }
                }
                for position in 0..tokens.len() {
                    let mut other = tokens.clone();
                    other[position] += 1000;
                    assert!(!is(&other), "size {block_size}, position {position}");
                }
            }
        }
    }

    #[test]
    fn a_late_decrement_of_an_earlier_generation_changes_nothing() {
        let node = Node::new();
        node.write(Link::root(0), 5, 2, 0, 0, ExtraKey::NONE);
        node.child_goes(4);
        assert_eq!(node.children().count(), 2);
        node.child_goes(5);
        assert_eq!(
            (node.children().count(), node.children().generation()),
            (1, 5)
        );
    }
}
