//! Why a request has no place.

use core::error::Error;
use core::fmt;

use super::member::InstanceId;
use crate::block::ShardId;
use crate::error::{LengthMismatch, OutOfMemory, Refused};
use crate::sequence::AdmitError;

/// Why no instance takes a request. Blocks are those of the instance named, and sums are in blocks of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoPlace {
    /// No instance serves the model.
    NoSuchModel {
        /// The one asked for.
        model: u64,
    },
    /// Instances that could have it take no requests, as they are starting or draining.
    NotReady {
        /// The model asked for.
        model: u64,
        /// Instances that serve it.
        instances: usize,
    },
    /// It fits on no instance, whatever leaves.
    Never {
        /// The one with the largest capacity.
        instance: InstanceId,
        /// Its shard that is too small.
        shard: ShardId,
        /// Blocks needed there.
        needed: usize,
        /// Blocks that this shard has above its watermark.
        largest_capacity: usize,
        /// Blocks that the instances have above their watermarks together. They help nobody: a request runs on one.
        sum_capacity: usize,
    },
    /// It fits on no instance now. What is available in sum may be enough: it is not in one place.
    Later {
        /// The one that lacks the least.
        instance: InstanceId,
        /// Its answer.
        refused: Refused,
        /// Blocks that are available on the instances together: of each as many as its scarcest shard has.
        available_sum: usize,
        /// Whether that would be enough.
        fits_in_sum: bool,
    },
    /// There is memory, and too little token service is left.
    ServiceFull {
        /// The one that lacks the least.
        instance: InstanceId,
        /// Positions a step that the request would demand.
        needed: u64,
        /// Positions a step that are demanded already.
        demanded: u64,
        /// Positions a step that admissions may bring it to.
        max_service: u64,
    },
    /// Another answer of an instance, or other threads were faster.
    Admit(AdmitError),
}

impl NoPlace {
    /// Whether what the instances have together would be enough, now or, if it never fits, ever.
    #[must_use]
    pub const fn fits_in_sum(&self) -> bool {
        match *self {
            Self::Never {
                needed,
                sum_capacity,
                ..
            } => needed <= sum_capacity,
            Self::Later { fits_in_sum, .. } => fits_in_sum,
            _ => false,
        }
    }
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSuchModel { model } => write!(f, "no instance serves model {model}"),
            Self::NotReady { model, instances } => write!(
                f,
                "of {instances} instances of model {model} those that could have it take no requests"
            ),
            Self::Never {
                instance,
                shard,
                needed,
                largest_capacity,
                sum_capacity,
            } => write!(
                f,
                "{needed} blocks never fit: the largest instance, {instance}, has {largest_capacity} (shard {shard}), \
                 all together {sum_capacity}"
            ),
            Self::Later {
                instance,
                refused,
                available_sum,
                ..
            } => write!(
                f,
                "nearest is instance {instance}, {refused}; {available_sum} available on all together"
            ),
            Self::ServiceFull {
                instance,
                needed,
                demanded,
                max_service,
            } => service_full(f, instance, [needed, demanded, max_service]),
            Self::Admit(error) => error.fmt(f),
        }
    }
}
impl Error for NoPlace {}

impl From<AdmitError> for NoPlace {
    fn from(error: AdmitError) -> Self {
        Self::Admit(error)
    }
}
impl From<OutOfMemory> for NoPlace {
    fn from(error: OutOfMemory) -> Self {
        Self::Admit(error.into())
    }
}
impl From<LengthMismatch> for NoPlace {
    fn from(error: LengthMismatch) -> Self {
        Self::Admit(error.into())
    }
}

/// Which instance has too little token service left, in words.
pub(super) fn service_full(
    f: &mut fmt::Formatter<'_>,
    instance: InstanceId,
    [needed, demanded, max_service]: [u64; 3],
) -> fmt::Result {
    write!(
        f,
        "instance {instance}: {needed} positions a step needed, {demanded} of at most {max_service} demanded"
    )
}
