//! What a sequence is promised for its growth, and how its need is counted.

/// How the growth of a sequence beyond its prompt is provided for. An estimated length bounds nothing, so the caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Growth {
    /// At most so many positions beyond the prompt, and room for all of them is set aside at admission: an append within the cap
    /// never fails, one beyond it is refused.
    Cap(usize),
    /// So many blocks are set aside at admission. Appends draw on them, and at each block border they are made up to that number
    /// again, if there is room (else at the next). An append fails only if the promise and what is available do not cover it.
    Ahead(usize),
    /// Nothing is set aside: an append that needs a block may be refused. Then the engine preempts
    /// ([`select_victims`](crate::Sequences::select_victims)), waits, or ends the request.
    OnDemand,
}

/// How the need of an admission, and of its branches, is held against the capacity. What was admitted grows as its [`Growth`] says, with
/// either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Budget {
    /// A shared block counts once: as many sequences as there is memory for.
    #[default]
    Physical,
    /// A shared block counts once for each sequence that has it, as if nothing were shared: the tables and promises of the whole
    /// registry must fit in the capacity. It holds when branches part or hits are lost.
    Conservative,
}
