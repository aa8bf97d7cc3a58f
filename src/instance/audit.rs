//! Recounts every shard, and whether all of them have the same sequences.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use super::Instance;
use crate::array::try_push;
use crate::block::ShardId;
use crate::pool::{Holder, Inconsistency, address};
use crate::sequence::{Handle, Sequences, SequencesInconsistency};

/// The first thing that an audit of an instance found not to add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceInconsistency {
    /// A shard's own account.
    Shard {
        /// Which.
        shard: ShardId,
        /// What.
        found: SequencesInconsistency,
    },
    /// A shard has other sequences than the first one.
    Sequences {
        /// Which.
        shard: ShardId,
    },
    /// A sequence has other positions or watermarks than on the first shard, or a table of another length.
    Differs {
        /// Where.
        shard: ShardId,
        /// Whose.
        handle: Handle,
    },
    /// The pool of a lockstep instance has more blocks than its smallest rank.
    Ranks {
        /// The smallest rank.
        shard: ShardId,
    },
}

impl fmt::Display for InstanceInconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shard { shard, found } => write!(f, "shard {shard}: {found}"),
            Self::Sequences { shard } => {
                write!(f, "shard {shard} has other sequences than the first one")
            }
            Self::Differs { shard, handle } => {
                write!(
                    f,
                    "{handle:?}: shard {shard} has it otherwise than the first one"
                )
            }
            Self::Ranks { shard } => write!(f, "rank {shard} has fewer blocks than are in use"),
        }
    }
}
impl Error for InstanceInconsistency {}

impl Instance {
    /// Recounts every shard, and compares them; `others` are all other holders of their pools. Only at rest: no other thread may use
    /// the pools meanwhile.
    ///
    /// # Errors
    /// The first thing that does not add up.
    ///
    /// Looks at everything. Allocates.
    pub fn audit(&self, others: &[&dyn Holder]) -> Result<(), InstanceInconsistency> {
        self.audit_beside(others.iter().copied())
    }

    pub(crate) fn audit_beside<'h>(
        &self,
        others: impl Iterator<Item = &'h dyn Holder> + Clone,
    ) -> Result<(), InstanceInconsistency> {
        for it in &self.shards {
            let (shard, pool) = (it.pool().shard(), address(it.core()));
            let own = others.clone().filter(|other| other.pool() == pool);
            audit_shard(it, own).map_err(|found| InstanceInconsistency::Shard { shard, found })?;
            if it.len() != self.len() {
                return Err(InstanceInconsistency::Sequences { shard });
            }
            for handle in self.handles() {
                let (Ok(first), Ok(state)) = (self.first().state(handle), it.state(handle)) else {
                    return Err(InstanceInconsistency::Sequences { shard });
                };
                let marks = |it: crate::SequenceState| {
                    (it.positions, it.known, it.computed, it.blocks, it.label)
                };
                if marks(first) != marks(state) {
                    return Err(InstanceInconsistency::Differs { shard, handle });
                }
            }
        }
        match &self.ranks {
            Some(ranks) if ranks.common().0 < self.capacity(0) => {
                Err(InstanceInconsistency::Ranks {
                    shard: ranks.smallest(),
                })
            }
            _ => Ok(()),
        }
    }
}

fn audit_shard<'a>(
    shard: &Sequences,
    holders: impl Iterator<Item = &'a dyn Holder>,
) -> Result<(), SequencesInconsistency> {
    let mut own = Vec::new();
    for holder in holders {
        try_push(&mut own, holder).map_err(Inconsistency::from)?;
    }
    shard.audit(&own)
}
