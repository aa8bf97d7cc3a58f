//! Whether a request to go on elsewhere names the content that goes along.
//!
//! What is copied will be found under the tokens and extra keys of the request: so they are compared with what the source knows of its
//! computed positions, in its published blocks and in what it keeps of the others. Of positions that it was told nothing about, or of which
//! it kept nothing as it does not publish, the caller's word counts.

use super::Sequences;
use super::error::Stale;
use super::handle::Handle;
use super::sequence::Sequence;
use crate::pool::Core;
use crate::prefix::Prompt;

impl Sequences {
    /// The first block of which other tokens are computed than a prompt has, or another extra key, as far as that is known. The prompt
    /// has all positions.
    ///
    /// One look at each computed token. No allocation.
    pub(crate) fn first_other(
        &self,
        handle: Handle,
        prompt: &Prompt<'_>,
    ) -> Result<Option<usize>, Stale> {
        let (core, (_, sequence)) = (self.core(), self.registry.get(handle)?);
        if prompt.matchable(core.block_size).is_err() {
            // Not a key for each block: whoever is to take it says so.
            return Ok(None);
        }
        Ok(sequence.first_other(core, prompt))
    }
}

impl Sequence {
    fn first_other(&self, core: &Core, prompt: &Prompt<'_>) -> Option<usize> {
        let mut published = 0..self.chain.published;
        let other = published.find(|&block| !self.has_published(core, block, prompt));
        other.or_else(|| self.first_other_kept(core.block_size, prompt))
    }

    fn has_published(&self, core: &Core, block: usize, prompt: &Prompt<'_>) -> bool {
        let contents = prompt.contents();
        let extra = contents.extra_of(block);
        let extra = if block == 0 {
            self.chain.space.first(extra, core.secret)
        } else {
            extra
        };
        let identity = core.identity(contents.tokens_of(block, core.block_size), extra);
        let node = self.chain.node(block);
        // It is held, so it stays what and where it is.
        core.nodes
            .matches(node, core.nodes.get(node).parent(), &identity)
    }

    /// The same of the blocks that are not published.
    fn first_other_kept(&self, block_size: usize, prompt: &Prompt<'_>) -> Option<usize> {
        let (contents, first) = (prompt.contents(), self.chain.published);
        let (tokens, extra) = self.seal.kept();
        let whole = tokens.len() / block_size;
        let computed = self.seal.computed.saturating_sub(first * block_size);
        let ours = tokens[..computed.min(tokens.len())].chunks(block_size);
        let theirs = contents.tokens[first * block_size..].chunks(block_size);
        let other = ours.zip(theirs).enumerate().find(|&(at, (ours, theirs))| {
            let key = extra.get(at).copied().unwrap_or_default();
            // A block that is not whole has no key yet.
            let is_other_key = at < whole && key != contents.extra_of(first + at);
            is_other_key || !theirs.starts_with(ours)
        });
        other.map(|(at, _)| first + at)
    }
}
