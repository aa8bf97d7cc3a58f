//! What is known and computed of a sequence, and so what of it can be published.
//!
//! A block is *sealed* when it is full and its positions are both known (`tokens`) and computed (`computed`), told in either
//! order: a scheduler that overlaps steps learns a token after the step that computed its position. A sealed block is published
//! at once; its tokens are kept only until then.

use super::pending::Pending;
use crate::error::{Field, LengthMismatch, OutOfMemory};
use crate::pool::{Core, Purse, RawChain, Stopped, Worker};
use crate::prefix::{Contents, ExtraKey, Prompt, Proof};

/// Whether sealed blocks are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Publishing {
    /// Yes.
    On,
    /// The caller did not want it.
    Off,
    /// Not any more: the chain can't go on.
    Ended,
}

/// The watermarks of a sequence, and the tokens of its positions that are not published.
#[derive(Debug)]
pub(super) struct Seal {
    /// Positions whose tokens are known.
    pub(super) known: usize,
    /// Positions whose K/V is written.
    pub(super) computed: usize,
    pub(super) publishing: Publishing,
    /// While publishing is on: the tokens of the known positions behind the published blocks.
    tokens: Pending<u32>,
    /// One for each whole known block behind the published ones, or empty for none.
    extra: Pending<ExtraKey>,
    /// Likewise, if the engine supplies chain keys.
    keys: Pending<u64>,
    /// Whether it does; not known before the first whole block.
    keyed: Option<bool>,
}

impl Seal {
    pub(super) const fn new() -> Self {
        Self {
            known: 0,
            computed: 0,
            publishing: Publishing::Off,
            tokens: Pending::new(),
            extra: Pending::new(),
            keys: Pending::new(),
            keyed: None,
        }
    }

    /// Room for all of a vacant sequence of so many positions.
    pub(super) fn make_room(
        &mut self,
        positions: usize,
        block_size: usize,
    ) -> Result<(), OutOfMemory> {
        let blocks = positions / block_size;
        self.tokens.try_reserve_exact(positions + block_size)?;
        self.extra.try_reserve_exact(blocks)?;
        self.keys.try_reserve_exact(blocks)
    }

    /// Room for the tokens of a prompt of which `published` blocks are found at most, and for the block that is being filled.
    pub(super) fn reserve(
        &mut self,
        prompt: &Prompt<'_>,
        block_size: usize,
    ) -> Result<(), OutOfMemory> {
        self.clear();
        self.tokens.try_reserve(prompt.tokens.len() + block_size)?;
        self.extra.try_reserve(prompt.extra.len())?;
        self.keys.try_reserve(prompt.keys.len())
    }

    /// A new sequence, whose first `hit` blocks were found. There is room.
    pub(super) fn begin(
        &mut self,
        prompt: &Prompt<'_>,
        hit: usize,
        block_size: usize,
        insert: bool,
    ) {
        self.clear();
        let len = prompt.tokens.len();
        self.known = len;
        self.computed = hit * block_size;
        self.keyed = (len >= block_size).then_some(!prompt.keys.is_empty());
        self.publishing = if insert {
            self.tokens
                .extend_from_slice(&prompt.tokens[hit * block_size..]);
            self.extra
                .extend_from_slice(prompt.extra.get(hit..).unwrap_or_default());
            self.keys
                .extend_from_slice(prompt.keys.get(hit..).unwrap_or_default());
            Publishing::On
        } else {
            Publishing::Off
        };
    }

    /// Whether what the next unknown positions are can be taken down; makes room for it.
    #[inline]
    pub(super) fn prepare(
        &mut self,
        contents: &Contents<'_>,
        published: usize,
        block_size: usize,
    ) -> Result<Telling, Untold> {
        let known = self.known + contents.tokens.len();
        // Whole known blocks behind the published ones, and those that these tokens fill. Most fill none: no division then.
        let (before, filled) = if known < (published + 1) * block_size {
            (0, 0)
        } else {
            let whole = self.known / block_size;
            (whole - published, known / block_size - whole)
        };
        let keyed = self.keyed.unwrap_or(!contents.keys.is_empty());
        // One for each filled block. Extra keys may be left out; chain keys may not, where there are any.
        let extra = contents.extra.len();
        check(Field::Extra, extra, if extra == 0 { 0 } else { filled })?;
        check(
            Field::Keys,
            contents.keys.len(),
            if keyed { filled } else { 0 },
        )?;
        if self.publishing == Publishing::On {
            self.tokens.try_reserve(contents.tokens.len())?;
            if filled > 0 {
                let extra = before + filled - self.extra.len().min(before);
                self.extra.try_reserve(extra)?;
                self.keys.try_reserve(contents.keys.len())?;
            }
        }
        Ok(Telling {
            known,
            before,
            filled,
            keyed,
        })
    }

    /// Takes it down.
    #[inline]
    pub(super) fn tell(&mut self, contents: &Contents<'_>, telling: Telling) {
        let Telling { before, filled, .. } = telling;
        if self.publishing == Publishing::On {
            self.keep(contents, before, filled);
        }
        self.known = telling.known;
        if filled > 0 {
            self.keyed = Some(telling.keyed);
        }
    }

    /// Puts tokens and keys to the others. There is room.
    #[inline]
    fn keep(&mut self, contents: &Contents<'_>, before: usize, filled: usize) {
        if filled > 0 {
            let none = |n| core::iter::repeat_n(ExtraKey::NONE, n);
            if !contents.extra.is_empty() {
                // Blocks told before without a key of their own have none.
                self.extra.extend(none(before - self.extra.len()));
                self.extra.extend_from_slice(contents.extra);
            } else if !self.extra.is_empty() {
                self.extra.extend(none(filled));
            }
            self.keys.extend_from_slice(contents.keys);
        }
        self.tokens.extend_from_slice(contents.tokens);
    }

    /// Publishes what is sealed and not published. Duplicates are paid from what is available. Returns whether publishing ended
    /// with this.
    #[inline]
    pub(super) fn publish(
        &mut self,
        core: &Core,
        worker: &mut Worker,
        chain: &mut RawChain,
    ) -> bool {
        let sealed = self.known.min(self.computed);
        sealed >= (chain.published + 1) * core.block_size
            && self.publishing == Publishing::On
            && !chain.is_spoiled()
            && self.publish_some(
                core,
                worker,
                chain,
                sealed / core.block_size - chain.published,
            )
    }

    fn publish_some(
        &mut self,
        core: &Core,
        worker: &mut Worker,
        chain: &mut RawChain,
        blocks: usize,
    ) -> bool {
        let contents = Contents {
            tokens: &self.tokens.as_slice()[..blocks * core.block_size],
            extra: self.extra.as_slice().get(..blocks).unwrap_or_default(),
            keys: self.keys.as_slice().get(..blocks).unwrap_or_default(),
        };
        let mut purse = Purse::available(&core.credits);
        let published = core.publish(worker, chain, &contents, blocks, &mut purse);
        purse.close();
        self.consume(published.stored + published.duplicates, core.block_size);
        match published.stopped {
            // A fork or a copy under way refers to the block, there is no memory, or a shrink may be taken back: tried again later.
            None | Some(Stopped::Shared | Stopped::OutOfMemory | Stopped::Draining) => false,
            Some(_) => {
                self.publishing = Publishing::Ended;
                self.forget();
                true
            }
        }
    }

    /// The first `blocks` are published: nothing of them is needed any more.
    fn consume(&mut self, blocks: usize, block_size: usize) {
        self.tokens.consume(blocks * block_size);
        self.extra.consume(blocks);
        self.keys.consume(blocks);
    }

    /// The sequence has `to` positions now, and its chain `published` blocks. `restored` gives the tokens between them, if the
    /// chain had published them and they can be had.
    pub(super) fn truncate(
        &mut self,
        to: usize,
        published: usize,
        restored: Option<impl Iterator<Item = u32>>,
        unpublished: bool,
        block_size: usize,
    ) {
        self.computed = self.computed.min(to);
        self.known = self.known.min(to);
        if self.publishing != Publishing::On {
            return;
        }
        let base = published * block_size;
        if unpublished {
            self.forget();
            match restored {
                Some(tokens) => self.tokens.extend(tokens),
                None => self.known = base,
            }
        } else {
            self.tokens.truncate(self.known - base);
            let whole = self.known / block_size - published;
            self.extra.truncate(whole);
            self.keys.truncate(whole);
        }
    }

    /// What positions from `known` on are is not known any more. None of them is in a published block.
    pub(super) fn forget_from(&mut self, known: usize, published: usize, block_size: usize) {
        if known < self.known {
            let (tokens, computed) = (None::<core::iter::Empty<u32>>, self.computed);
            self.truncate(known, published, tokens, false, block_size);
            self.computed = computed;
        }
    }

    /// Tokens of the known positions behind the published blocks, and the extra keys of the whole known blocks among them, or none. Nothing
    /// if they are not kept, as they will not be published.
    pub(super) fn kept(&self) -> (&[u32], &[ExtraKey]) {
        (self.tokens.as_slice(), self.extra.as_slice())
    }

    /// Room to [roll back](Self::roll_back) to an entry of the chain's table.
    pub(super) fn reserve_roll_back(
        &mut self,
        core: &Core,
        chain: &RawChain,
        entry: usize,
    ) -> Result<(), OutOfMemory> {
        if !self.can_restore(core, chain, entry) {
            return Ok(());
        }
        let blocks = chain.published - entry;
        self.tokens.try_reserve_before(blocks * core.block_size)?;
        self.extra.try_reserve_before(blocks)
    }

    /// The content from an entry of the chain's table on is bad. What was published of it waits to be published again; if that can't be
    /// read back, it has to be told again.
    pub(super) fn roll_back(&mut self, core: &Core, chain: &RawChain, entry: usize) {
        let positions = entry * core.block_size;
        self.computed = self.computed.min(positions);
        if self.can_restore(core, chain, entry) {
            let bad = entry..chain.published;
            if !self.extra.is_empty() {
                let none = core::iter::repeat_n(ExtraKey::NONE, bad.len());
                self.extra.prepend(none);
            }
            let tokens = |at| core.nodes.tokens(chain.node(at), core.block_size);
            self.tokens.prepend(bad.flat_map(tokens));
        } else if self.publishing == Publishing::On && entry < chain.published {
            self.forget();
            self.known = positions;
        }
    }

    /// Whether the published blocks from an entry on tell all that was told of them.
    fn can_restore(&self, core: &Core, chain: &RawChain, entry: usize) -> bool {
        let extra = |at| {
            let extra = core.nodes.get(chain.node(at)).extra();
            if at == 0 {
                extra != chain.space.first(ExtraKey::NONE, core.secret)
            } else {
                extra != ExtraKey::NONE
            }
        };
        self.publishing == Publishing::On
            && core.proof == Proof::Tokens
            && self.keyed != Some(true)
            && entry < chain.published
            && !(entry..chain.published).any(extra)
    }

    /// A branch's copy, with room for the block that is being filled.
    pub(super) fn copy_from(&mut self, other: &Self, block_size: usize) -> Result<(), OutOfMemory> {
        self.clear();
        let tokens = other.tokens.as_slice();
        self.tokens.try_reserve(tokens.len() + block_size)?;
        self.extra.try_reserve(other.extra.len())?;
        self.keys.try_reserve(other.keys.len())?;
        self.tokens.extend_from_slice(tokens);
        self.extra.extend_from_slice(other.extra.as_slice());
        self.keys.extend_from_slice(other.keys.as_slice());
        self.known = other.known;
        self.computed = other.computed;
        self.publishing = other.publishing;
        self.keyed = other.keyed;
        Ok(())
    }

    /// Forgets everything but its buffers.
    pub(super) fn clear(&mut self) {
        self.forget();
        self.known = 0;
        self.computed = 0;
        self.publishing = Publishing::Off;
        self.keyed = None;
    }

    fn forget(&mut self) {
        self.tokens.clear();
        self.extra.clear();
        self.keys.clear();
    }

    /// Whether the lists have the lengths that the watermarks say.
    pub(super) fn adds_up(&self, positions: usize, published: usize, block_size: usize) -> bool {
        let marks = self.known.max(self.computed) <= positions
            && published * block_size <= self.known.min(self.computed);
        let on = self.publishing == Publishing::On;
        marks && (!on || self.tokens.len() == self.known - published * block_size)
    }
}

/// Tokens that can be taken down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Telling {
    /// Positions that are known then.
    known: usize,
    /// Whole known blocks behind the published ones, and those that these tokens fill.
    before: usize,
    filled: usize,
    /// Whether the engine supplies chain keys.
    keyed: bool,
}

/// Why tokens were not taken down.
#[derive(Debug)]
pub(super) enum Untold {
    LengthMismatch(LengthMismatch),
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for Untold {
    fn from(none: OutOfMemory) -> Self {
        Self::OutOfMemory(none)
    }
}

fn check(what: Field, got: usize, expected: usize) -> Result<(), Untold> {
    if got == expected {
        return Ok(());
    }
    Err(Untold::LengthMismatch(LengthMismatch {
        what,
        expected,
        got,
    }))
}
