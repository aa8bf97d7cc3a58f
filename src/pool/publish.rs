//! Making sealed blocks findable.
//!
//! From the root to the leaf, for each block: look whether this content already is findable below this parent; if so, pin that
//! one (*canonical*) and chain on it; if not, write the node and its content, enter it in the index, count it as a child of its
//! parent, announce it, and last store *published* into the state word.
//!
//! Inside one call a block's count of children starts at one for the next block to come, which saves a read-modify-write for each; if
//! the next one is not stored after all, the count is lowered again.
//!
//! Only a block with one owner is published, with plain stores. Forks share private blocks, and what a fork holds of the path
//! above them may be other blocks than those this chain goes on below (a duplicate's own copy, or nothing, for a tail that
//! was split off): it would hold a published block without its parent. Nobody but the one owner could make it two, so the count that
//! is seen stays.
//!
//! # Orderings
//! A Release fence stands before the content's stores (see `node.rs`), a Release store of the state after them: whoever finds
//! the block sees its content, and the device memory behind it (`publish-vs-hit`). The SeqCst fence at the end belongs to
//! `cut.rs`.

use super::chain::RawChain;
use super::core::Core;
use super::find::{Pin, Place, Purse};
use super::index::Home;
use super::keys::{Ahead, Keys, Ready};
use super::state::State;
use super::tally::Counter;
use super::worker::Worker;
use crate::block::BlockId;
use crate::event::EventKind;
use crate::prefix::{Contents, ExtraKey, Identity};
use crate::sync::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::sync::{fence, mutant};

/// What became of the blocks to publish. The chain's published part has grown by `stored + duplicates`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "publishing may stop early"]
pub struct Published {
    /// Blocks that became findable.
    pub stored: usize,
    /// Blocks whose content already was findable: the chain goes on below that copy, and keeps its own block private.
    pub duplicates: usize,
    /// Why not all were published. The chain can try again, except after [`Stopped::Cut`] and [`Stopped::Gap`].
    pub stopped: Option<Stopped>,
}

/// Why publishing ended before the last block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Stopped {
    /// The content is findable as an idle block, and there is no credit to hold that.
    Unpaid,
    /// Both buckets of the block's key are full: too many blocks of this depth have keys that fall together.
    IndexFull,
    /// A block of the chain was invalidated or cleared: what comes after it can't be found.
    Cut,
    /// The block has other owners (forks): it can be published when it has one again.
    Shared,
    /// The chain is a tail that was split off behind the end of its published head.
    Gap,
    /// The host's allocator had no memory for the chain's list of duplicates.
    OutOfMemory,
    /// The block is to go offline when it is released: [`shrink`](crate::BlockPool::shrink) has lowered the limit to below it.
    Draining,
}

/// Blocks ahead that are fetched while one is published.
const AHEAD: usize = 4;

/// What to do with one block.
enum Next {
    Stored(u64),
    Duplicate(BlockId, u64),
    Stop(Stopped),
}

impl Core {
    /// Publishes the next `n` blocks of the chain, which has them.
    pub(crate) fn publish(
        &self,
        worker: &mut Worker,
        chain: &mut RawChain,
        contents: &Contents<'_>,
        n: usize,
        purse: &mut Purse<'_>,
    ) -> Published {
        let mut done = Published::default();
        if n == 0 {
            return done;
        }
        let cuts = self.cuts.0.load(Acquire);
        if chain.cuts_seen != cuts {
            chain.cut |= self.cut_what_hangs(chain.nodes()) > 0;
            chain.cuts_seen = cuts;
        }
        if chain.cut || chain.gap {
            done.stopped = Some(if chain.cut {
                Stopped::Cut
            } else {
                Stopped::Gap
            });
            return done;
        }
        if chain.has_duplicates() && !chain.reserve_canonical(worker) {
            done.stopped = Some(Stopped::OutOfMemory);
            return done;
        }
        let mut at = chain.place(self);
        // Whether the parent already counts the child to come.
        let mut counted = false;
        let mut keys = Keys::new(*contents, n, Ahead::Publish);
        for i in 0..n {
            let block = chain.ids[chain.published];
            let extra = contents.extra_of(i);
            let extra = if chain.published == 0 {
                chain.space.first(extra, self.secret)
            } else {
                extra
            };
            let identity = self.identity(contents.tokens_of(i, self.block_size), extra);
            let more = i + 1 < n;
            if let Some(&later) = chain.ids.get(chain.published + AHEAD) {
                self.nodes.prefetch(later);
                self.nodes.prefetch_content(later);
            }
            let ready = keys.of(self, i, at, extra);
            let next = self.publish_one(at, block, ready, &identity, counted, more, purse);
            if !matches!(next, Next::Stored(_)) && counted {
                self.uncount(at);
                counted = false;
            }
            match next {
                Next::Stored(generation) => {
                    done.stored += 1;
                    chain.grow_published(block);
                    at = at.below(block, generation);
                    counted = more;
                }
                Next::Duplicate(canonical, generation) => {
                    if !chain.reserve_canonical(worker) {
                        purse.refund(self.release_keeping_credits(core::iter::once(canonical)));
                        done.stopped = Some(Stopped::OutOfMemory);
                        break;
                    }
                    done.duplicates += 1;
                    chain.grow_published(canonical);
                    if self.nodes.get(canonical).key() != ready.key {
                        keys.forget();
                    }
                    at = at.below(canonical, generation);
                }
                Next::Stop(why) => {
                    done.stopped = Some(why);
                    break;
                }
            }
        }
        fence(SeqCst);
        if self.cuts.0.load(Acquire) != cuts
            && !mutant("publisher-ignores-cuts")
            && self.cut_what_hangs(chain.nodes()) > 0
        {
            chain.cut = true;
            done.stopped = Some(Stopped::Cut);
        }
        worker.count(Counter::Stored, done.stored);
        worker.count(Counter::Duplicates, done.duplicates);
        worker.hit(done.duplicates);
        match done.stopped {
            Some(Stopped::Unpaid) => worker.count(Counter::Unpaid, 1),
            Some(Stopped::IndexFull) => worker.count(Counter::Declined, 1),
            _ => {}
        }
        done
    }

    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of the loop above, taken out to be read alone"
    )]
    fn publish_one(
        &self,
        at: Place,
        block: BlockId,
        Ready { key, home, .. }: Ready,
        identity: &Identity<'_>,
        counted: bool,
        more: bool,
        purse: &mut Purse<'_>,
    ) -> Next {
        if self.may_have(at, counted) {
            match self.find_below(at, home, identity, purse) {
                (Some(canonical), Pin::Hit(state)) => {
                    self.remember(at, canonical);
                    return Next::Duplicate(canonical, state.generation());
                }
                (_, Pin::Unpaid) => return Next::Stop(Stopped::Unpaid),
                _ => {}
            }
        }
        // Acquire: what other owners did with the block happened before they left.
        let current = self.state(block).load(Acquire);
        if !current.is_private_alone() {
            return Next::Stop(Stopped::Shared);
        }
        // Relaxed: who misses a shrink here sees that `cuts` has changed.
        if block.index() >= self.capacity() && !mutant("publish-above-limit") {
            return Next::Stop(Stopped::Draining);
        }
        self.write(at, block, current, key, identity, more);
        if !self.index.insert(home, block) {
            return Next::Stop(Stopped::IndexFull);
        }
        if let (Some(parent), false) = (at.link.block(), counted) {
            self.nodes.get(parent).child_comes();
        }
        let begun = self.events.as_ref().map(|events| (events, events.begin()));
        let order = if mutant("publish-relaxed") {
            Relaxed
        } else {
            Release
        };
        self.state(block).store(current.published(), order);
        if let Some((events, begun)) = begun {
            events.commit(
                begun,
                EventKind::Stored,
                &self.findable(block, current.generation()),
            );
        }
        self.remember(at, block);
        Next::Stored(current.generation())
    }

    /// Whether the place can have children that are not this call's own.
    #[inline]
    fn may_have(&self, at: Place, counted: bool) -> bool {
        at.link
            .block()
            .is_none_or(|parent| self.nodes.get(parent).children().count() > u64::from(counted))
    }

    /// A findable block with this identity at this place, pinned.
    fn find_below(
        &self,
        at: Place,
        home: Home,
        identity: &Identity<'_>,
        purse: &mut Purse<'_>,
    ) -> (Option<BlockId>, Pin) {
        for candidate in self.index.candidates(home) {
            match self.pin(candidate, at.link, identity, purse) {
                Pin::Miss => {}
                found => return (Some(candidate), found),
            }
        }
        (None, Pin::Miss)
    }

    #[inline]
    fn remember(&self, at: Place, child: BlockId) {
        if let Some(parent) = at.link.block() {
            self.nodes.get(parent).set_hint(child);
        }
    }

    #[cold]
    fn uncount(&self, at: Place) {
        if let Some(parent) = at.link.block() {
            self.nodes.get(parent).child_goes(at.link.generation());
        }
    }

    /// Everything about the block but that it is published.
    #[inline]
    fn write(
        &self,
        at: Place,
        block: BlockId,
        current: State,
        key: u64,
        identity: &Identity<'_>,
        more: bool,
    ) {
        if !mutant("no-rewrite-fence") {
            fence(Release);
        }
        self.nodes.write_content(block, identity);
        let extra: ExtraKey = identity.extra;
        self.nodes.get(block).write(
            at.link,
            current.generation(),
            u64::from(more),
            key,
            at.depth,
            extra,
        );
    }
}
