//! Whom a call names and where it points, by small numbers, so that any list of calls means something.

/// Which sequence a call names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    /// A living one of the registry.
    Living(u8),
    /// Any that there ever was: stale, or another registry's.
    Any(u8),
}

/// Where a call points, seen from where it should.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim {
    /// So far from the start, modulo what there is.
    At(u8),
    /// So far beyond the end.
    Over(usize),
    /// The end.
    End,
}

impl Aim {
    pub(crate) fn of(self, end: usize) -> usize {
        match self {
            Self::At(at) => usize::from(at) % (end + 1),
            Self::Over(more) => end.saturating_add(more),
            Self::End => end,
        }
    }
}
