//! What a rank keeps of a position in each layer.

use core::fmt;

use super::error::{PlanError, PlanInput, PlanStep};

/// What a rank keeps of a position in each layer: K and V of its heads or a latent vector, and scales.
///
/// Elements are counted in bits: 16 for bf16 and fp16, 8 for fp8, 4 for fp4. A block's K, its V and its latents are each
/// rounded up to whole bytes.
///
/// ```
/// use kvblock::KvShape;
/// // 8 K/V heads of 128 elements of 2 bytes; two ranks have 4 of them each, sixteen have a copy of one each.
/// let model = KvShape::heads(8, 128, 16);
/// assert_eq!(model.on_rank(2, 1)?, KvShape::heads(4, 128, 16));
/// assert_eq!(model.on_rank(16, 15)?, KvShape::heads(1, 128, 16));
/// # Ok::<(), kvblock::PlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "it says nothing until a plan is made from it"]
pub struct KvShape {
    #[cfg_attr(feature = "serde", serde(flatten))]
    kept: Kept,
    element_bits: u64,
    scale_bytes_per_position: u64,
    scale_bytes_per_block: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
enum Kept {
    Heads { kv_heads: u64, head_size: u64 },
    Latent { latent: u64 },
}

impl KvShape {
    /// K and V of so many heads, each of `head_size` elements.
    pub const fn heads(kv_heads: u64, head_size: u64, element_bits: u64) -> Self {
        Self::new(
            Kept::Heads {
                kv_heads,
                head_size,
            },
            element_bits,
        )
    }

    /// One latent vector in place of K and V, as multi-head latent attention keeps it: the compressed K/V and the rotary part
    /// together, 512 + 64 elements in DeepSeek-V3 ([arXiv 2412.19437](https://arxiv.org/abs/2412.19437)).
    pub const fn latent(elements: u64, element_bits: u64) -> Self {
        Self::new(Kept::Latent { latent: elements }, element_bits)
    }

    const fn new(kept: Kept, element_bits: u64) -> Self {
        Self {
            kept,
            element_bits,
            scale_bytes_per_position: 0,
            scale_bytes_per_block: 0,
        }
    }

    /// Bytes of scales that each position has in each layer on the rank, of K and V together. 0 otherwise.
    pub const fn scale_bytes_per_position(mut self, bytes: u64) -> Self {
        self.scale_bytes_per_position = bytes;
        self
    }

    /// Bytes of scales that each block has in each layer on the rank, of K and V together. 0 otherwise.
    pub const fn scale_bytes_per_block(mut self, bytes: u64) -> Self {
        self.scale_bytes_per_block = bytes;
        self
    }

    /// What is left of a model's shape on one of the `tensor_parallel` ranks that share its layers, counted from 0.
    ///
    /// The heads are spread evenly; of those that remain the first ranks have one more. With fewer heads than ranks each rank
    /// has a copy of one. A latent vector is on each rank. Scales stay as they are: they are those of a rank.
    ///
    /// # Errors
    /// [`PlanError::Zero`], [`PlanError::NoSuchRank`].
    pub const fn on_rank(mut self, tensor_parallel: u64, rank: u64) -> Result<Self, PlanError> {
        if tensor_parallel == 0 {
            return Err(PlanError::Zero {
                input: PlanInput::TensorParallel,
            });
        }
        if rank >= tensor_parallel {
            return Err(PlanError::NoSuchRank {
                rank,
                tensor_parallel,
            });
        }
        if let Kept::Heads { kv_heads, .. } = &mut self.kept {
            let all = *kv_heads;
            *kv_heads = if all == 0 {
                return Err(PlanError::Zero {
                    input: PlanInput::KvHeads,
                });
            } else if all < tensor_parallel {
                1
            } else if rank < all % tensor_parallel {
                all / tensor_parallel + 1
            } else {
                all / tensor_parallel
            };
        }
        Ok(self)
    }

    /// What a block of so many positions takes in one layer.
    pub(super) fn layer(&self, block_size: usize) -> Result<LayerBytes, PlanError> {
        let positions = block_size as u64;
        let (planes, sizes) = match self.kept {
            Kept::Heads {
                kv_heads,
                head_size,
            } => {
                nonzero(kv_heads, PlanInput::KvHeads)?;
                nonzero(head_size, PlanInput::HeadSize)?;
                (2, [kv_heads, head_size])
            }
            Kept::Latent { latent } => {
                nonzero(latent, PlanInput::Latent)?;
                (1, [latent, 1])
            }
        };
        nonzero(self.element_bits, PlanInput::ElementBits)?;
        let bits = sizes
            .into_iter()
            .chain([positions])
            .try_fold(self.element_bits, u64::checked_mul)
            .ok_or(overflow(PlanStep::PlaneBits))?;
        let scales = self
            .scale_bytes_per_position
            .checked_mul(positions)
            .and_then(|bytes| bytes.checked_add(self.scale_bytes_per_block))
            .ok_or(overflow(PlanStep::ScaleBytes))?;
        Ok(LayerBytes {
            planes,
            plane: bits.div_ceil(8),
            scales,
        })
    }
}

const fn nonzero(value: u64, input: PlanInput) -> Result<(), PlanError> {
    if value == 0 {
        return Err(PlanError::Zero { input });
    }
    Ok(())
}

pub(super) const fn overflow(step: PlanStep) -> PlanError {
    PlanError::Overflow { step }
}

/// What a block takes in one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerBytes {
    /// Planes of K and V, or of latents.
    planes: u64,
    /// Bytes of a block in each of them.
    plane: u64,
    /// Bytes of its scales; 0 if there are none.
    scales: u64,
}

impl LayerBytes {
    pub(super) fn sum(self) -> Result<u64, PlanError> {
        self.plane
            .checked_mul(self.planes)
            .and_then(|bytes| bytes.checked_add(self.scales))
            .ok_or(overflow(PlanStep::LayerBytes))
    }

    /// Bytes of a block in each plane of the layer.
    pub(super) fn planes(self) -> impl Iterator<Item = u64> + Clone {
        let scales = (self.scales > 0).then_some(self.scales);
        let second = (self.planes == 2).then_some(self.plane);
        [Some(self.plane), second, scales].into_iter().flatten()
    }
}

impl fmt::Display for KvShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kept {
            Kept::Heads {
                kv_heads,
                head_size,
            } => write!(f, "{kv_heads} K/V heads of {head_size}")?,
            Kept::Latent { latent } => write!(f, "a latent of {latent}")?,
        }
        write!(f, " elements of {} bits", self.element_bits)?;
        for (bytes, of) in [
            (self.scale_bytes_per_position, "position"),
            (self.scale_bytes_per_block, "block"),
        ] {
            if bytes > 0 {
                write!(f, ", {bytes} bytes of scales a {of}")?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn heads_are_spread_over_ranks() {
        for (kv_heads, degree, expected) in [
            (8, 4, &[2, 2, 2, 2][..]),
            (10, 4, &[3, 3, 2, 2]),
            (4, 4, &[1, 1, 1, 1]),
            (2, 3, &[1, 1, 1]),
        ] {
            let model = KvShape::heads(kv_heads, 128, 16);
            let ranks = (0..degree).map(|rank| model.on_rank(degree, rank).unwrap());
            let expected = expected.iter().map(|&n| KvShape::heads(n, 128, 16));
            assert_eq!(ranks.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
        let latent = KvShape::latent(576, 16);
        assert_eq!(latent.on_rank(8, 7), Ok(latent));
        assert_eq!(
            latent.on_rank(8, 8),
            Err(PlanError::NoSuchRank {
                rank: 8,
                tensor_parallel: 8
            })
        );
    }

    #[test]
    fn parts_of_a_byte_are_rounded_up_in_each_plane() {
        // 3 elements of 4 bits: 12 bits, twice.
        let odd = KvShape::heads(1, 3, 4).scale_bytes_per_position(5);
        let layer = odd.layer(1).unwrap();
        assert_eq!(layer.planes().collect::<Vec<_>>(), [2, 2, 5]);
        assert_eq!(layer.sum(), Ok(9));
        assert_eq!(
            odd.scale_bytes_per_block(7).to_string(),
            "1 K/V heads of 3 elements of 4 bits, 5 bytes of scales a position, 7 bytes of scales a block"
        );
    }
}
