//! Chain keys made some blocks ahead of the walk that needs them, so that the hashes overlap and the buckets are on their way
//! from memory when the walk comes to them.

use super::core::Core;
use super::find::Place;
use super::index::Home;
use crate::prefix::{Contents, ExtraKey};

/// How many blocks ahead.
const WINDOW: usize = if cfg!(loom) { 1 } else { 8 };

/// What the walk will do with the buckets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    /// Look for a block: it is fetched too.
    Find,
    /// Enter a block.
    Publish,
}

/// The keys of some blocks in a row.
#[derive(Debug)]
pub(crate) struct Keys {
    ahead: Ahead,
    /// Blocks that were prepared last time.
    prepared: usize,
    first: usize,
    len: usize,
    keys: [(u64, Home); WINDOW],
}

impl Keys {
    pub(crate) const fn new(ahead: Ahead) -> Self {
        Self {
            ahead,
            prepared: 0,
            first: 0,
            len: 0,
            keys: [(0, Home::NONE); WINDOW],
        }
    }

    /// The key of block `i` of the contents, and its home. `extra` is that block's extra key; of `most` blocks at most, the
    /// next ones are prepared.
    #[inline]
    pub(crate) fn of(
        &mut self,
        core: &Core,
        at: Place,
        contents: &Contents<'_>,
        i: usize,
        most: usize,
        extra: ExtraKey,
    ) -> (u64, Home) {
        if i.wrapping_sub(self.first) >= self.len {
            self.fill(core, at, contents, i, most, extra);
        }
        self.keys[i - self.first]
    }

    /// The walk goes on below a block with another key than was expected, or without asking: the next keys are made anew from
    /// there.
    #[inline]
    pub(crate) const fn forget(&mut self) {
        self.len = 0;
    }

    fn fill(
        &mut self,
        core: &Core,
        at: Place,
        contents: &Contents<'_>,
        i: usize,
        most: usize,
        extra: ExtraKey,
    ) {
        let mut parent = at.link.block().map(|parent| core.nodes.get(parent).key());
        let mut extra = extra;
        // A lookup that has not got far may end soon, or go on by hints: it makes few at first.
        let window = match self.ahead {
            Ahead::Find => WINDOW.min((2 * self.prepared).max(1)),
            Ahead::Publish => WINDOW,
        };
        self.prepared = window;
        self.first = i;
        self.len = window.min(most - i);
        for (depth, slot) in (at.depth..).zip(&mut self.keys[..self.len]) {
            let n = i + (depth - at.depth) as usize;
            if n > i {
                extra = contents.extra_of(n);
            }
            let key = contents.keys.get(n).copied().unwrap_or_else(|| {
                core.hasher
                    .key(parent, contents.tokens_of(n, core.block_size), extra)
            });
            let home = core.index.home(key, depth);
            core.index.prefetch(home);
            *slot = (key, home);
            parent = Some(key);
        }
        if self.ahead == Ahead::Find && WINDOW > 1 {
            for &(_, home) in &self.keys[..self.len] {
                if let Some(candidate) = core.index.likely(home) {
                    super::prefetch(&core.states, candidate.index());
                    core.nodes.prefetch(candidate);
                    core.nodes.prefetch_content(candidate);
                }
            }
        }
    }
}
