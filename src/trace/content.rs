//! The tokens of a request, made from its ids, and the blocks that they fill.
//!
//! A trace says which contents are equal, not what they are. So each id is given `id_tokens` tokens, always the same for
//! the same id and seed, and different for different ids: the second token is a bijection of the id's upper half, the
//! first, for each upper half, of its lower half (with one token an id: different below 2^32). What a prompt has beyond its
//! ids is its own.
//!
//! ```text
//! block_size = id_tokens:   one block an id, also where the trace lists a partial last one
//! otherwise:                | id 0 | id 1 | id 2 | own |     input_length tokens
//!                           |    block   |    block   |     cut anew, whole blocks only
//! ```

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use std::collections::HashSet;

use super::random::{mix, mix_32};
use super::request::{Listing, Request};

/// How contents are made and cut: the seed, the tokens of an id and the tokens of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    seed: u64,
    id_tokens: usize,
    block_size: usize,
}

impl Content {
    /// Past this many different blocks, [`distinct_blocks`](Self::distinct_blocks) gives up: 2^26.
    pub const MAX_DISTINCT: usize = 1 << 26;

    /// Contents of `id_tokens` tokens an id, cut into blocks of `block_size` tokens. Zero counts as one.
    #[must_use]
    pub const fn new(seed: u64, id_tokens: usize, block_size: usize) -> Self {
        let id_tokens = if id_tokens == 0 { 1 } else { id_tokens };
        let block_size = if block_size == 0 { 1 } else { block_size };
        Self {
            seed,
            id_tokens,
            block_size,
        }
    }

    /// How many blocks the request's prompt is: one an id, or as many whole ones as its tokens fill. Rows that could list
    /// ids and have none are of no block. O(1).
    #[must_use]
    pub const fn blocks(&self, request: &Request) -> u64 {
        let own = matches!(request.listing, Listing::Own);
        if !own && request.ids.is_empty() {
            0
        } else if !own && self.id_tokens == self.block_size {
            request.ids.len() as u64
        } else {
            request.input_length / self.block_size as u64
        }
    }

    /// Fills `tokens` with the first `blocks` blocks of the request's prompt. `index` is the request's place in the trace,
    /// which makes its own content different from all others'.
    ///
    /// O(tokens); allocates only if `tokens` has not the capacity.
    ///
    /// # Errors
    /// If the memory for that many tokens cannot be had; `tokens` is then empty.
    pub fn fill(
        &self,
        request: &Request,
        index: u64,
        blocks: usize,
        tokens: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        let wanted = blocks.saturating_mul(self.block_size);
        tokens.clear();
        tokens.try_reserve(wanted)?;
        for id in request.ids.iter() {
            let left = wanted - tokens.len();
            if left == 0 {
                return Ok(());
            }
            push_tokens(self.seed, id, left.min(self.id_tokens), tokens);
        }
        push_tokens(!mix(self.seed), index, wanted - tokens.len(), tokens);
        Ok(())
    }

    /// Appends what the request at `index` is answered in its branch `branch`, from token `from` on, `count` tokens. The same
    /// token always, however it is asked for; different in different answers.
    ///
    /// # Errors
    /// If the memory for that many tokens cannot be had; `tokens` is then unchanged.
    pub fn answer(
        &self,
        (index, branch): (u64, u64),
        from: u64,
        count: usize,
        tokens: &mut Vec<u32>,
    ) -> Result<(), TryReserveError> {
        tokens.try_reserve(count)?;
        let key = combine(combine(mix(self.seed), index), branch);
        tokens.extend((from..).take(count).map(|at| high(combine(key, at))));
        Ok(())
    }

    /// How many different blocks the trace has: different ids, or different cut blocks with different blocks before them.
    /// `None` if there are more than [`MAX_DISTINCT`](Self::MAX_DISTINCT) of the latter.
    #[must_use]
    pub fn distinct_blocks(&self, requests: &[Request]) -> Option<u64> {
        let own = requests
            .iter()
            .filter(|request| request.listing == Listing::Own)
            .fold(0_u64, |sum, request| {
                sum.saturating_add(self.blocks(request))
            });
        if self.id_tokens == self.block_size {
            Some(own.saturating_add(distinct_ids(requests)))
        } else {
            Some(own.saturating_add(self.distinct_cut(requests)?))
        }
    }

    /// Different cut blocks of requests with ids. A block is known by the block before it and by the ids it has part in.
    fn distinct_cut(&self, requests: &[Request]) -> Option<u64> {
        let mut seen = HashSet::new();
        let mut own = 0_u64;
        let mut ids = Vec::new();
        for request in requests.iter().filter(|request| !request.ids.is_empty()) {
            ids.clear();
            ids.extend(request.ids.iter());
            let blocks = self.blocks(request);
            let listed = (ids.len().saturating_mul(self.id_tokens) / self.block_size) as u64;
            let mut chain = 0;
            for block in 0..usize::try_from(blocks.min(listed)).ok()? {
                let first = block * self.block_size / self.id_tokens;
                let last = ((block + 1) * self.block_size - 1) / self.id_tokens;
                chain = ids[first..=last]
                    .iter()
                    .fold(combine(chain, BLOCK), |key, id| combine(key, *id));
                if seen.len() >= Self::MAX_DISTINCT || seen.try_reserve(1).is_err() {
                    return None;
                }
                seen.insert(chain);
            }
            own = own.saturating_add(blocks.saturating_sub(listed));
        }
        Some(own.saturating_add(seen.len() as u64))
    }
}

/// Stands for the start of a block in its key.
const BLOCK: u64 = 0xb10c;

/// A key for what `key` stands for, followed by `value`; the two are mixed apart, so that they cannot cancel each other.
const fn combine(key: u64, value: u64) -> u64 {
    mix(mix(key ^ 0x243f_6a88_85a3_08d3).wrapping_mul(5)
        ^ value.wrapping_add(0x1319_8a2e_0370_7344))
}

/// Different ids, by the union of all runs: O(r log r) in the number of runs, whatever their counts.
fn distinct_ids(requests: &[Request]) -> u64 {
    let mut runs: Vec<_> = requests
        .iter()
        .flat_map(|request| request.ids.runs())
        .map(|run| (run.first(), run.last()))
        .collect();
    runs.sort_unstable();
    let mut distinct = 0_u64;
    let mut covered: Option<u64> = None;
    for (first, last) in runs {
        let fresh = match covered {
            Some(end) if end >= last => continue,
            Some(end) if end >= first => last - end,
            _ => last - first + 1,
        };
        distinct = distinct.saturating_add(fresh);
        covered = Some(last);
    }
    distinct
}

/// Appends the first `count` tokens of `id`.
fn push_tokens(seed: u64, id: u64, count: usize, tokens: &mut Vec<u32>) {
    let key = mix(seed);
    let upper = mix_32(high(id) ^ high(key));
    // The upper half moves the first token too (not below 2^32), or ids that differ in it would begin alike.
    let leading = [mix_32(low(id) ^ low(key) ^ mix_32(high(id))), upper];
    tokens.extend_from_slice(&leading[..count.min(leading.len())]);
    let base = mix(id ^ key);
    tokens.extend((leading.len()..count).map(|at| {
        let step = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = base.wrapping_add(step);
        high((word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }));
}

const fn low(word: u64) -> u32 {
    (word & 0xffff_ffff) as u32
}

const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::super::request::Ids;
    use super::*;

    fn listed(ids: &[u64], input_length: u64) -> Request {
        let mut list = Ids::new();
        for id in ids {
            list.push_run(*id, 1).unwrap();
        }
        Request {
            input_length,
            ids: list,
            listing: Listing::HashIds,
            ..Request::default()
        }
    }

    fn tokens(content: &Content, request: &Request, index: u64) -> Vec<u32> {
        let mut tokens = Vec::new();
        let blocks = usize::try_from(content.blocks(request)).unwrap();
        content.fill(request, index, blocks, &mut tokens).unwrap();
        assert_eq!(tokens.len(), blocks * content.block_size);
        tokens
    }

    #[test]
    fn answers_are_the_same_in_one_piece_and_token_by_token() {
        let content = Content::new(3, 8, 8);
        let answer = |whose, from, count| {
            let mut tokens = Vec::new();
            content.answer(whose, from, count, &mut tokens).unwrap();
            tokens
        };
        let whole = answer((1, 0), 0, 9);
        let pieces: Vec<_> = (0..9).flat_map(|at| answer((1, 0), at, 1)).collect();
        assert_eq!(whole, pieces);
        assert_ne!(whole, answer((1, 1), 0, 9), "another branch");
        assert_ne!(whole, answer((2, 0), 0, 9), "another request");
    }

    #[test]
    fn an_id_has_the_same_tokens_wherever_it_appears() {
        let content = Content::new(3, 8, 8);
        let first = tokens(&content, &listed(&[5, 6, 7], 24), 0);
        let second = tokens(&content, &listed(&[9, 6], 10), 1);
        assert_eq!(first[8..16], second[8..16]);
        assert_eq!(second.len(), 16, "the partial last id is a whole block");
        assert_ne!(first[..8], second[..8]);
        assert_ne!(
            first,
            tokens(&Content::new(4, 8, 8), &listed(&[5, 6, 7], 24), 0),
            "another seed"
        );
    }

    #[test]
    fn different_ids_differ_in_their_first_two_tokens() {
        let content = Content::new(0, 2, 2);
        let ids: Vec<u64> = (0..20_000)
            .chain((0..20_000).map(|id| id << 32))
            .chain([u64::MAX])
            .collect();
        let made = tokens(&content, &listed(&ids, 0), 0);
        let different: HashSet<_> = made.chunks(2).collect();
        assert_eq!(
            different.len(),
            ids.len() - 1,
            "only 0 and 0 << 32 are the same id"
        );
    }

    #[test]
    fn ids_that_differ_in_their_upper_halves_only_differ_in_their_first_tokens() {
        let content = Content::new(0, 1, 1);
        let ids: Vec<u64> = (0..1_000).map(|session| session << 32 | 1).collect();
        let made = tokens(&content, &listed(&ids, 0), 0);
        let different: HashSet<_> = made.iter().collect();
        assert_eq!(different.len(), ids.len());
    }

    #[test]
    fn tokens_look_random_within_an_id() {
        let made = tokens(&Content::new(0, 4096, 4096), &listed(&[1], 0), 0);
        let different: HashSet<_> = made.iter().collect();
        assert!(
            different.len() >= 4090,
            "{} different tokens of 4096",
            different.len()
        );
    }

    #[test]
    fn another_block_size_cuts_the_same_stream() {
        let request = listed(&[1, 2, 3], 23);
        let by_id = tokens(&Content::new(0, 8, 8), &request, 0);
        for block_size in [1, 2, 5, 23] {
            let cut = Content::new(0, 8, block_size);
            assert_eq!(cut.blocks(&request), 23 / block_size as u64);
            let made = tokens(&cut, &request, 0);
            assert_eq!(made, by_id[..made.len()], "block size {block_size}");
        }
        assert_eq!(Content::new(0, 8, 24).blocks(&request), 0);
    }

    #[test]
    fn tokens_that_no_id_covers_are_the_requests_own() {
        let content = Content::new(0, 8, 4);
        let request = listed(&[1, 2], 23);
        assert_eq!(content.blocks(&request), 5);
        let (first, second) = (tokens(&content, &request, 0), tokens(&content, &request, 1));
        assert_eq!(first[..16], second[..16]);
        assert_ne!(first[16..], second[16..]);
    }

    #[test]
    fn requests_without_ids_have_no_blocks_and_azure_requests_their_own() {
        let content = Content::new(0, 16, 16);
        assert_eq!(content.blocks(&listed(&[], 4000)), 0);
        let own = Request {
            input_length: 50,
            listing: Listing::Own,
            ..Request::default()
        };
        assert_eq!(content.blocks(&own), 3);
        assert_ne!(
            tokens(&content, &own, 0)[..16],
            tokens(&content, &own, 1)[..16]
        );
        assert_eq!(content.distinct_blocks(&[own.clone(), own]), Some(6));
    }

    #[test]
    fn distinct_ids_are_counted_once() {
        let content = Content::new(0, 16, 16);
        let requests = [
            listed(&[1, 2, 3, 9], 64),
            listed(&[2, 3, 4], 48),
            listed(&[9], 16),
            listed(&[u64::MAX, 0], 32),
        ];
        assert_eq!(content.distinct_blocks(&requests), Some(7));
        assert_eq!(content.distinct_blocks(&[]), Some(0));
    }

    #[test]
    fn distinct_cut_blocks_are_those_that_differ_in_tokens_or_in_what_is_before_them() {
        let requests = [
            listed(&[0, 2, 3], 48),
            listed(&[0, 2, 4], 40),
            listed(&[7, 2], 36),
            listed(&[2, 0, 0], 48),
        ];
        for block_size in [1, 3, 5, 8, 15, 17, 32] {
            let content = Content::new(0, 16, block_size);
            let mut chains = HashSet::new();
            for (index, request) in requests.iter().enumerate() {
                let made = tokens(&content, request, index as u64);
                for end in (block_size..=made.len()).step_by(block_size) {
                    chains.insert(made[..end].to_vec());
                }
            }
            assert_eq!(
                content.distinct_blocks(&requests),
                Some(chains.len() as u64),
                "block size {block_size}"
            );
        }
    }

    #[test]
    fn absurd_lengths_are_counted_without_being_made() {
        let request = listed(&[1], u64::MAX);
        assert_eq!(
            Content::new(0, 16, 8).distinct_blocks(&[request.clone(), request]),
            Some(u64::MAX / 8 * 2 - 2)
        );
    }
}
