//! The errors of layouts and runs in C.

use kvblock::RunsError;

use super::{Figures, Told};
use crate::status::*;

impl Told for RunsError {
    fn status(&self) -> kvb_status {
        match self {
            Self::NoSuchPlane { .. } => KVB_ERR_OUT_OF_RANGE,
            Self::OutOfRange { .. } => KVB_ERR_NO_SUCH_BLOCK,
            Self::LengthMismatch { .. } => KVB_ERR_LENGTH_MISMATCH,
            Self::PlaneCount { .. } | Self::PlaneBytes { .. } | Self::Inner { .. } => {
                KVB_ERR_INCOMPATIBLE
            }
            _ => KVB_ERR_UNKNOWN,
        }
    }
    fn figures(&self) -> Figures {
        match *self {
            Self::NoSuchPlane { plane, planes } => Figures::needed(plane).at_most(planes),
            Self::OutOfRange { block, blocks } => {
                Figures::needed(block.get() as usize).at_most(blocks)
            }
            Self::LengthMismatch {
                sources,
                destinations,
            } => Figures::needed(sources).of(destinations),
            Self::PlaneCount {
                source,
                destination,
            } => Figures::needed(source)
                .of(destination)
                .which_place(source.min(destination)),
            Self::PlaneBytes {
                plane,
                source,
                destination,
            } => Figures {
                needed: source,
                available: destination,
                ..Figures::NONE
            }
            .which_place(plane),
            Self::Inner { plane } => Figures::NONE.which_place(plane),
            _ => Figures::NONE,
        }
    }
}
