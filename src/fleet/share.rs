//! How much of an instance is in use: of its memory, and apart from that of its token service.

use super::Fleet;
use super::error::NoSuchInstance;
use super::member::{Entry, InstanceId};
use crate::sequence::{Admit, Sequences};

/// A part of a whole, both counted. The part may be larger than the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Portion {
    /// What is in use.
    pub used: u64,
    /// What there is.
    pub whole: u64,
}

impl Portion {
    /// The part, where the whole is 1. Of nothing, 0.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio to read")]
    pub fn ratio(&self) -> f64 {
        self.used as f64 / self.whole.max(1) as f64
    }

    /// Whether it is more of its whole than the other of its own.
    fn exceeds(&self, other: &Self) -> bool {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.used, other.whole) > product(other.used, self.whole)
    }
}

/// How much of an instance is in use. Either may be used up while there is enough of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Share {
    /// Blocks that are held, quarantined or promised, of the shard's capacity: of the shard where that is the largest part. Idle blocks
    /// are not in use. What drains above the capacity is.
    pub memory: Portion,
    /// Positions demanded a step, of those that the instance can compute. A sequence demands what it has appended and not computed, no
    /// more than a whole step and no less than one position: one that decodes demands one. What a load is to bring is not demanded. A
    /// sequence that is being moved demands where it goes.
    pub service: Portion,
}

impl Fleet {
    /// How much of an instance is in use.
    ///
    /// # Errors
    /// [`NoSuchInstance`].
    ///
    /// A look at every slot for sequences, and a load for 64 blocks.
    pub fn share(&self, instance: InstanceId) -> Result<Share, NoSuchInstance> {
        Ok(self.entry(instance)?.share())
    }
}

impl Entry {
    pub(crate) fn share(&self) -> Share {
        let mut memory = Portion { used: 0, whole: 0 };
        for part in self.instance.shards().iter().map(in_use) {
            if memory.whole == 0 || part.exceeds(&memory) {
                memory = part;
            }
        }
        let service = Portion {
            used: self.demand(),
            whole: self.member.service,
        };
        Share { memory, service }
    }

    /// Positions demanded a step.
    pub(super) fn demand(&self) -> u64 {
        self.instance.demand(self.member.service)
    }

    /// Positions that a request demands of its first step, if so many are there or come by themselves.
    pub(super) fn needed(&self, request: &Admit<'_>, there: usize) -> u64 {
        let left = request.prompt.tokens.len().saturating_sub(there);
        (left as u64).min(self.member.service).max(1)
    }
}

fn in_use(it: &Sequences) -> Portion {
    let pool = it.pool();
    Portion {
        used: pool.in_service().saturating_sub(pool.available()) as u64,
        whole: pool.capacity() as u64,
    }
}
