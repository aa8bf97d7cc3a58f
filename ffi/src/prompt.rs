//! What is looked up, and what blocks contain.

use alloc::vec::Vec;

use kvblock::{Contents, ExtraKey, Namespace, Prompt};

use crate::arg::{self, Argument};
use crate::namespace::kvb_namespace;
use crate::status::{KVB_ERR_NO_MEMORY, KVB_ERR_NULL};

/// 128 bits that tell blocks of equal tokens apart: your digest of what else decides their K/V, an image and its offset for instance.
/// Zero says that there is nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_extra_key {
    /// The lower half.
    pub low: u64,
    /// The upper half.
    pub high: u64,
}

/// All whole blocks of the prompt may match, even if nothing is left to compute then; otherwise at least one position is left.
pub const KVB_PROMPT_FULL_HIT: u32 = 1;

/// The namespace is not there: the prompt is refused as `KVB_ERR_NULL`. For wrappers whose objects can be empty, where a NULL that got into
/// `space` by accident must not become the bare model's.
pub const KVB_PROMPT_NO_SPACE: u32 = 0x4000_0000;

/// A prompt. Whole blocks match, and are compared token by token.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_prompt {
    /// Whose blocks may match; NULL is the bare model's namespace.
    pub space: *const kvb_namespace,
    /// The tokens, a partial last block included.
    pub tokens: *const u32,
    /// How many.
    pub token_count: usize,
    /// One for each whole block, or NULL.
    pub extra: *const kvb_extra_key,
    /// How many.
    pub extra_count: usize,
    /// Your own chain key for each whole block, or NULL to have them hashed.
    pub keys: *const u64,
    /// How many.
    pub key_count: usize,
    /// `KVB_PROMPT_*`, or 0.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// What some positions contain.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kvb_contents {
    /// The tokens.
    pub tokens: *const u32,
    /// How many.
    pub token_count: usize,
    /// One for each block that these tokens complete, or NULL.
    pub extra: *const kvb_extra_key,
    /// How many.
    pub extra_count: usize,
    /// Your own chain key for each of these blocks, or NULL to have them hashed.
    pub keys: *const u64,
    /// How many.
    pub key_count: usize,
}

static BARE: Namespace = Namespace::new();

/// The namespace behind a pointer; null is the bare model's.
///
/// # Safety
/// * Null, or a live namespace.
pub(crate) unsafe fn space<'a>(space: *const kvb_namespace) -> &'a Namespace {
    // SAFETY: this function's contract.
    match unsafe { space.as_ref() } {
        Some(space) => &space.inner,
        None => &BARE,
    }
}

/// Extra keys, which C lays out otherwise. Allocates if there are any.
///
/// # Safety
/// * As of [`arg::slice`].
unsafe fn extra(first: *const kvb_extra_key, count: usize) -> Result<Vec<ExtraKey>, Argument> {
    // SAFETY: this function's contract.
    let keys = unsafe { arg::slice(first, count) }?;
    let mut extra = Vec::new();
    let enough = extra.try_reserve_exact(keys.len());
    enough.map_err(|_| Argument(KVB_ERR_NO_MEMORY))?;
    let key = |key: &kvb_extra_key| ExtraKey::new(u128::from(key.high) << 64 | u128::from(key.low));
    extra.extend(keys.iter().map(key));
    Ok(extra)
}

/// A prompt that was read, with what it needs to be lent.
pub(crate) struct ReadPrompt<'a> {
    space: &'a Namespace,
    tokens: &'a [u32],
    extra: Vec<ExtraKey>,
    keys: &'a [u64],
    full_hit: bool,
}

impl<'a> ReadPrompt<'a> {
    /// # Safety
    /// * What the prompt points to is there.
    pub(crate) unsafe fn new(prompt: &kvb_prompt) -> Result<Self, Argument> {
        arg::unused(prompt.reserved)?;
        let flags = arg::flags(prompt.flags, KVB_PROMPT_FULL_HIT | KVB_PROMPT_NO_SPACE)?;
        if flags & KVB_PROMPT_NO_SPACE != 0 {
            return Err(Argument(KVB_ERR_NULL));
        }
        // SAFETY: this function's contract, for each of these.
        unsafe {
            Ok(Self {
                full_hit: flags & KVB_PROMPT_FULL_HIT != 0,
                space: space(prompt.space),
                tokens: arg::slice(prompt.tokens, prompt.token_count)?,
                extra: extra(prompt.extra, prompt.extra_count)?,
                keys: arg::slice(prompt.keys, prompt.key_count)?,
            })
        }
    }

    pub(crate) fn lend(&self) -> Prompt<'_> {
        Prompt::new(self.space, self.tokens)
            .extra(&self.extra)
            .keys(self.keys)
            .full_hit(self.full_hit)
    }
}

/// Contents that were read, with what they need to be lent.
pub(crate) struct ReadContents<'a> {
    tokens: &'a [u32],
    extra: Vec<ExtraKey>,
    keys: &'a [u64],
}

impl ReadContents<'_> {
    /// # Safety
    /// * What the contents point to is there.
    pub(crate) unsafe fn new(contents: &kvb_contents) -> Result<Self, Argument> {
        // SAFETY: this function's contract, for each of these.
        unsafe {
            Ok(Self {
                tokens: arg::slice(contents.tokens, contents.token_count)?,
                extra: extra(contents.extra, contents.extra_count)?,
                keys: arg::slice(contents.keys, contents.key_count)?,
            })
        }
    }

    pub(crate) fn lend(&self) -> Contents<'_> {
        Contents::new(self.tokens)
            .extra(&self.extra)
            .keys(self.keys)
    }
}
