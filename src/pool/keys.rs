//! Chain keys made some blocks ahead of the walk that needs them, so that the hashes overlap and the buckets are on their way
//! from memory when the walk comes to them.

use super::core::Core;
use super::find::Place;
use super::index::Home;
use crate::block::BlockId;
use crate::prefix::{Contents, ExtraKey};

/// How many blocks ahead.
const WINDOW: usize = if cfg!(loom) { 1 } else { 16 };

/// What the walk will do with the buckets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    /// Look for a block: it is fetched too.
    Find,
    /// Enter a block.
    Publish,
}

/// What is known of one block ahead of the walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) key: u64,
    pub(crate) home: Home,
    /// The block that the index had there: fetched, and the first to be asked. Only for [`Ahead::Find`].
    pub(crate) likely: Option<BlockId>,
}

/// The keys of some blocks in a row.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    contents: Contents<'a>,
    /// Blocks of the contents that the walk goes through at most.
    most: usize,
    ahead: Ahead,
    /// Blocks that were prepared last time.
    prepared: usize,
    first: usize,
    len: usize,
    keys: [Ready; WINDOW],
}

impl<'a> Keys<'a> {
    pub(crate) const fn new(contents: Contents<'a>, most: usize, ahead: Ahead) -> Self {
        let nothing = Ready {
            key: 0,
            home: Home::NONE,
            likely: None,
        };
        Self {
            contents,
            most,
            ahead,
            prepared: 0,
            first: 0,
            len: 0,
            keys: [nothing; WINDOW],
        }
    }

    /// What is known of block `i` of the contents, if it was prepared.
    #[inline]
    pub(crate) fn ready(&self, i: usize) -> Option<&Ready> {
        self.keys[..self.len].get(i.wrapping_sub(self.first))
    }

    /// The same, prepared now if it was not, and the next ones with it. The block hangs at this place and has this extra key.
    #[inline]
    pub(crate) fn of(&mut self, core: &Core, i: usize, at: Place, extra: ExtraKey) -> Ready {
        if self.ready(i).is_none() {
            self.fill(core, i, at, extra);
        }
        self.keys[i - self.first]
    }

    /// The walk goes on below a block with another key than was expected: the next keys are made anew from there.
    #[inline]
    pub(crate) const fn forget(&mut self) {
        self.len = 0;
    }

    fn fill(&mut self, core: &Core, i: usize, at: Place, extra: ExtraKey) {
        let mut parent = at.link.block().map(|parent| core.nodes.get(parent).key());
        let (mut extra, contents) = (extra, &self.contents);
        // A lookup that has not got far may end soon, or go on by hints: it makes few at first.
        let window = match self.ahead {
            Ahead::Find => WINDOW.min((2 * self.prepared).max(1)),
            Ahead::Publish => WINDOW,
        };
        self.prepared = window;
        self.first = i;
        self.len = window.min(self.most - i);
        // Often needed by who enters blocks, and by who looks for the first one of many.
        let second_too = self.ahead == Ahead::Publish || window == 1;
        for (depth, slot) in (at.depth..).zip(&mut self.keys[..self.len]) {
            let n = i + (depth - at.depth) as usize;
            if n > i {
                extra = contents.extra_of(n);
            }
            let key = contents.keys.get(n).copied().unwrap_or_else(|| {
                core.hasher
                    .key(parent, contents.tokens_of(n, core.block_size), extra)
            });
            slot.key = key;
            slot.home = core.index.home(key, depth);
            core.index.prefetch(slot.home);
            if second_too {
                core.index.prefetch_second(slot.home);
            }
            parent = Some(key);
        }
        if self.ahead == Ahead::Find && WINDOW > 1 {
            for ready in &mut self.keys[..self.len] {
                ready.likely = core.index.likely(ready.home);
                if let Some(candidate) = ready.likely {
                    super::prefetch(&core.states, candidate.index());
                    core.nodes.prefetch(candidate);
                    core.nodes.prefetch_content(candidate);
                }
            }
        }
    }
}
