//! Whom and where random calls name: mostly what there is, seldom what there is not.

use proptest::prelude::*;

use super::{Aim, Who};

/// Mostly few; sometimes more than there can be.
pub(crate) fn amount(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![60 => 0..=most, 2 => Just(8 * most), 1 => Just(usize::MAX)]
}

pub(crate) fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        25 => any::<u8>().prop_map(Who::Living),
        1 => any::<u8>().prop_map(Who::Any),
    ]
}

/// Mostly within, or a little beyond.
pub(crate) fn aim() -> impl Strategy<Value = Aim> {
    prop_oneof![
        12 => any::<u8>().prop_map(Aim::At),
        12 => Just(Aim::End),
        2 => (1_usize..4).prop_map(Aim::Over),
        1 => Just(Aim::Over(usize::MAX)),
    ]
}

pub(crate) fn ahead() -> impl Strategy<Value = Aim> {
    prop_oneof![
        8 => (0_usize..12).prop_map(Aim::Over),
        2 => any::<u8>().prop_map(Aim::At),
        1 => Just(Aim::Over(usize::MAX)),
    ]
}

/// How many positions at once: one, a few drafts, a chunk.
pub(crate) fn positions() -> impl Strategy<Value = usize> {
    prop_oneof![8 => Just(1_usize), 6 => 0_usize..6, 1 => 6_usize..20, 1 => amount(20)]
}
