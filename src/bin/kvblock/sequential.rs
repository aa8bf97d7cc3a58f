//! Sequential mode: one request at a time, each released before the next comes.
//!
//! This is model A of the reference results: a request is exactly its blocks, all of them may be hits, and its output is
//! not cached. With nothing else running, every block is free or idle between two requests; so a pool that is large enough
//! for a request admits it, and what is held at the end has leaked.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use std::time::Instant;

use kvblock::trace::{Content, Request};
use kvblock::{BlockPool, Contents, Namespace, PoolReport, Prompt, Refused, Worker};

use crate::failure::{Failure, cannot_fail};

/// What a replay counted.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) requests: u64,
    /// Requests that have no blocks.
    pub(crate) without_blocks: u64,
    /// Requests with at least one hit.
    pub(crate) with_hit: u64,
    /// Blocks of all requests, the refused ones included.
    pub(crate) lookups: u64,
    /// Blocks that were found.
    pub(crate) hits: u64,
    pub(crate) refused_never: u64,
    pub(crate) refused_shortfall: u64,
    /// Blocks of the longest request among those that can never fit.
    pub(crate) longest_refused: u64,
    /// Blocks that were computed and could not be published.
    pub(crate) unpublished: u64,
    pub(crate) audits: u64,
    /// The first inconsistency that an audit found; the replay ends there.
    pub(crate) inconsistency: Option<String>,
    pub(crate) elapsed: Duration,
    /// The pool's figures after the last release.
    pub(crate) report: PoolReport,
}

/// Replays all requests. `step` is called after each one.
pub(crate) fn replay(
    pool: &BlockPool,
    requests: &[Request],
    content: &Content,
    audit_every: Option<u64>,
    mut step: impl FnMut(),
) -> Result<Figures, Failure> {
    let mut worker = pool
        .worker()
        .map_err(|error| Failure::Input(format!("the worker cannot be made: {error}")))?;
    let mut replay = Replay {
        pool,
        content,
        namespace: Namespace::default(),
        tokens: Vec::new(),
        figures: empty(pool),
    };
    let start = Instant::now();
    for (index, request) in (0..).zip(requests) {
        replay.one(&mut worker, index, request)?;
        step();
        let done = index + 1;
        if audit_every.is_some_and(|every| done % every == 0) && !replay.audit() {
            break;
        }
    }
    if replay.figures.inconsistency.is_none() {
        replay.audit();
    }
    replay.figures.elapsed = start.elapsed();
    replay.figures.report = pool.report();
    Ok(replay.figures)
}

fn empty(pool: &BlockPool) -> Figures {
    Figures {
        requests: 0,
        without_blocks: 0,
        with_hit: 0,
        lookups: 0,
        hits: 0,
        refused_never: 0,
        refused_shortfall: 0,
        longest_refused: 0,
        unpublished: 0,
        audits: 0,
        inconsistency: None,
        elapsed: Duration::ZERO,
        report: pool.report(),
    }
}

struct Replay<'a> {
    pool: &'a BlockPool,
    content: &'a Content,
    namespace: Namespace,
    /// The tokens of the request at hand; one buffer for all.
    tokens: Vec<u32>,
    figures: Figures,
}

impl Replay<'_> {
    /// Reserves, finds, takes, publishes and releases the blocks of one request.
    fn one(&mut self, worker: &mut Worker, index: u64, request: &Request) -> Result<(), Failure> {
        let blocks = self.content.blocks(request);
        self.figures.requests += 1;
        self.figures.lookups = self.figures.lookups.saturating_add(blocks);
        if blocks == 0 {
            self.figures.without_blocks += 1;
            return Ok(());
        }
        // More than any pool can have is refused like what this one has not.
        let needed = usize::try_from(blocks).unwrap_or(usize::MAX);
        let mut pay = match self.pool.reserve(needed) {
            Ok(pay) => pay,
            Err(refused) => {
                self.count_refusal(refused, blocks);
                return Ok(());
            }
        };
        self.content
            .fill(request, index, needed, &mut self.tokens)
            .map_err(|error| {
                Failure::Input(format!("request {} of the trace: {error}", index + 1))
            })?;

        let prompt = Prompt::new(&self.namespace, &self.tokens).full_hit(true);
        let mut chain = self
            .pool
            .find(worker, &prompt, &mut pay)
            .map_err(cannot_fail("find"))?;
        let found = chain.len();
        chain
            .take(worker, &mut pay, needed - found)
            .map_err(cannot_fail("take"))?;
        let rest = Contents::new(&self.tokens[found * self.pool.block_size()..]);
        let published = chain
            .publish(worker, &rest, Some(&mut pay))
            .map_err(cannot_fail("publish"))?;
        chain
            .release(worker)
            .map_err(|returned| cannot_fail("release")(returned.error))?;

        let unpublished = needed - found - published.stored - published.duplicates;
        self.figures.hits += found as u64;
        self.figures.with_hit += u64::from(found > 0);
        self.figures.unpublished += unpublished as u64;
        Ok(())
    }

    fn count_refusal(&mut self, refused: Refused, blocks: u64) {
        if let Refused::NeverFits { .. } = refused {
            self.figures.refused_never += 1;
            self.figures.longest_refused = self.figures.longest_refused.max(blocks);
        } else {
            self.figures.refused_shortfall += 1;
        }
    }

    /// Recounts the pool, which nobody holds anything of; false if it disagrees with itself.
    fn audit(&mut self) -> bool {
        self.figures.audits += 1;
        self.figures.inconsistency = self.pool.audit(&[]).err().map(|found| found.to_string());
        self.figures.inconsistency.is_none()
    }
}
