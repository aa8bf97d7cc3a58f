//! The words of the known failures (`CASES.md`): pools, texts, what an error says. Shared by the tests of the pool and of the registry.
#![allow(dead_code, reason = "not every test needs every word")]

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use kvblock::{
    AdmitError, AppendError, BlockId, BlockPool, BranchError, ConstantHasher, EventKind,
    EventReader, Field, LengthMismatch, Namespace, PoolConfig, Prompt, Refused, TruncateError,
};

pub(crate) fn pool(blocks: usize, block_size: usize) -> BlockPool {
    BlockPool::new(&PoolConfig::new(blocks, block_size).events(1 << 10))
        .expect("a sound configuration")
}

pub(crate) fn pool_with_constant_hash(blocks: usize, block_size: usize) -> BlockPool {
    let config = PoolConfig::new(blocks, block_size).hasher(Arc::new(ConstantHasher(0)));
    BlockPool::new(&config).expect("a sound configuration")
}

/// `P48+Q5`: the first 48 tokens of list P, then the first 5 of list Q. Lists share no token.
pub(crate) fn text(parts: &str) -> Vec<u32> {
    let part = |part: &str| {
        let (letter, count) = part.split_at(1);
        let first = u32::from(letter.as_bytes()[0]) * 1_000_000;
        first..first + count.parse::<u32>().expect("a letter and a number")
    };
    parts.split('+').flat_map(part).collect()
}

/// An error that may be a refusal.
pub(crate) trait MayBeRefused: core::fmt::Debug {
    fn refused(&self) -> Option<Refused>;
}

impl MayBeRefused for Refused {
    fn refused(&self) -> Option<Refused> {
        Some(*self)
    }
}

impl MayBeRefused for AdmitError {
    fn refused(&self) -> Option<Refused> {
        match *self {
            Self::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

impl MayBeRefused for AppendError {
    fn refused(&self) -> Option<Refused> {
        match *self {
            Self::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

impl MayBeRefused for TruncateError {
    fn refused(&self) -> Option<Refused> {
        match *self {
            Self::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

impl MayBeRefused for BranchError {
    fn refused(&self) -> Option<Refused> {
        match *self {
            Self::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

/// The blocks that are missing.
#[track_caller]
pub(crate) fn shortfall<T>(result: Result<T, impl MayBeRefused>) -> usize {
    let error = result.map(|_| ()).expect_err("a shortfall was expected");
    match error.refused() {
        Some(Refused::Shortfall {
            needed, available, ..
        }) => needed - available,
        _ => panic!("a shortfall was expected, not {error:?}"),
    }
}

/// The blocks needed and the capacity.
#[track_caller]
pub(crate) fn never_fits<T>(result: Result<T, impl MayBeRefused>) -> (usize, usize) {
    let error = result
        .map(|_| ())
        .expect_err("that it never fits was expected");
    match error.refused() {
        Some(Refused::NeverFits {
            needed, capacity, ..
        }) => (needed, capacity),
        _ => panic!("that it never fits was expected, not {error:?}"),
    }
}

#[track_caller]
pub(crate) fn distinct(ids: &[BlockId], n: usize) {
    assert_eq!(ids.len(), n, "blocks");
    assert_eq!(
        ids.iter().collect::<BTreeSet<_>>().len(),
        n,
        "distinct blocks in {ids:?}"
    );
}

/// Free, idle, held; and the identities that hold at rest.
#[track_caller]
pub(crate) fn counts(pool: &BlockPool, free: usize, idle: usize, held: usize) {
    let report = pool.report();
    assert_eq!(
        (report.free, report.idle, report.held),
        (free, idle, held),
        "free, idle, held"
    );
    assert_eq!(
        report.free + report.idle + report.held + report.quarantined,
        report.capacity,
        "identity"
    );
    assert_eq!(
        report.available + report.reserved,
        report.free + report.idle,
        "credits"
    );
}

/// Matched tokens.
pub(crate) fn probe(pool: &BlockPool, namespace: &Namespace, tokens: &str) -> usize {
    pool.probe(&Prompt::new(namespace, &text(tokens)))
        .expect("no slices but the tokens")
        .positions
}

/// What was stored and removed since the last look.
pub(crate) fn news(reader: &mut EventReader<'_>) -> (Vec<BlockId>, Vec<BlockId>) {
    let mut events = Vec::new();
    assert_eq!(reader.read(&mut events), 0, "no event is missed");
    let of = |stored: bool| {
        let events = events
            .iter()
            .filter(move |event| (event.kind == EventKind::Stored) == stored);
        events.map(|event| event.copy.block).collect()
    };
    (of(true), of(false))
}

/// The message is plain words and has all the numbers.
#[track_caller]
pub(crate) fn says(error: &dyn Error, numbers: &[usize]) {
    let message = error.to_string();
    for number in numbers {
        let words = message.split(|c: char| !c.is_ascii_digit());
        assert!(
            words.into_iter().any(|word| word == number.to_string()),
            "{number} is not in {message:?}"
        );
    }
    assert!(message.contains(' '), "plain words: {message:?}");
}

#[track_caller]
pub(crate) fn is_length(error: LengthMismatch, what: Field, expected: usize, got: usize) {
    assert_eq!(
        (error.what, error.expected, error.got),
        (what, expected, got)
    );
    says(&error, &[expected, got]);
}
