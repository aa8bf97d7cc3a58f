//! What must be the same at both ends before a block's bytes mean the same.

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use crate::copy::{BlockLayout, Inner, LayoutError};

/// The type of the elements of K/V, as the engine numbers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct ElementType(u32);

impl ElementType {
    /// The type with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element type {}", self.0)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The shape of a block's K/V: what two ends must agree on before blocks are moved between them. Where the bytes are is each end's own
/// matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KvFormat {
    block_size: usize,
    element: ElementType,
    plane_bytes: Vec<u64>,
    /// What is inside a block, of each plane.
    inner: Vec<Inner>,
}

/// Two ends do not agree: the first thing that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incompatible {
    /// How many shards have a part of the sequence.
    Shards {
        /// Here.
        ours: usize,
        /// There.
        theirs: usize,
    },
    /// Positions of a block.
    BlockSize {
        /// Here.
        ours: usize,
        /// There.
        theirs: usize,
    },
    /// The type of the elements.
    Element {
        /// Here.
        ours: ElementType,
        /// There.
        theirs: ElementType,
    },
    /// How many planes there are.
    Planes {
        /// Here.
        ours: usize,
        /// There.
        theirs: usize,
    },
    /// Bytes of a block in a plane.
    PlaneBytes {
        /// The first such plane.
        plane: usize,
        /// Here.
        ours: u64,
        /// There.
        theirs: u64,
    },
    /// The inside of a block in a plane: its heads, their order, or whether anything is known of them.
    Inner {
        /// The first such plane.
        plane: usize,
        /// Here.
        ours: Inner,
        /// There.
        theirs: Inner,
    },
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Shards { ours, theirs } => write!(f, "{ours} shards here, {theirs} there"),
            Self::BlockSize { ours, theirs } => {
                write!(f, "blocks of {ours} positions here, {theirs} there")
            }
            Self::Element { ours, theirs } => {
                write!(f, "element type {ours} here, {theirs} there")
            }
            Self::Planes { ours, theirs } => write!(f, "{ours} planes here, {theirs} there"),
            Self::PlaneBytes {
                plane,
                ours,
                theirs,
            } => write!(
                f,
                "plane {plane}: blocks of {ours} bytes here, {theirs} there"
            ),
            Self::Inner {
                plane,
                ours,
                theirs,
            } => write!(f, "plane {plane}: {ours} here, {theirs} there"),
        }
    }
}
impl Error for Incompatible {}

impl KvFormat {
    /// Blocks of `block_size` positions with so many bytes in each plane: those of a layout
    /// ([`BlockLayout::plane_bytes`]), or what the other end told. Nothing is said of their inside.
    ///
    /// # Errors
    /// [`LayoutError::NoPlanes`], [`LayoutError::NoBytes`], [`LayoutError::OutOfMemory`].
    ///
    /// Allocates.
    pub fn new(
        block_size: usize,
        element: ElementType,
        plane_bytes: impl IntoIterator<Item = u64>,
    ) -> Result<Self, LayoutError> {
        let opaque = |bytes| (bytes, Inner::Opaque);
        Self::of(block_size, element, plane_bytes.into_iter().map(opaque))
    }

    /// Blocks of `block_size` positions that are, inside, as the layout says: the other end must have its heads in the same order.
    ///
    /// # Errors
    /// [`LayoutError::OutOfMemory`].
    ///
    /// Allocates.
    pub fn of_layout(
        block_size: usize,
        element: ElementType,
        layout: &BlockLayout,
    ) -> Result<Self, LayoutError> {
        let planes = layout.planes().iter();
        let planes = planes.map(|plane| (plane.block_bytes, plane.inner));
        Self::of(block_size, element, planes)
    }

    fn of(
        block_size: usize,
        element: ElementType,
        planes: impl Iterator<Item = (u64, Inner)>,
    ) -> Result<Self, LayoutError> {
        let no_memory = |_| LayoutError::OutOfMemory;
        let (mut plane_bytes, mut insides) = (Vec::new(), Vec::new());
        let least = planes.size_hint().0;
        plane_bytes.try_reserve(least).map_err(no_memory)?;
        insides.try_reserve(least).map_err(no_memory)?;
        for (plane, (bytes, inner)) in planes.enumerate() {
            if bytes == 0 {
                return Err(LayoutError::NoBytes { plane });
            }
            plane_bytes.try_reserve(1).map_err(no_memory)?;
            insides.try_reserve(1).map_err(no_memory)?;
            plane_bytes.push(bytes);
            insides.push(inner);
        }
        if plane_bytes.is_empty() {
            return Err(LayoutError::NoPlanes);
        }
        Ok(Self {
            block_size,
            element,
            plane_bytes,
            inner: insides,
        })
    }

    /// A copy; `None` if the host's allocator has no memory for it.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        let (mut plane_bytes, mut inner) = (Vec::new(), Vec::new());
        let planes = self.plane_bytes.len();
        plane_bytes.try_reserve_exact(planes).ok()?;
        inner.try_reserve_exact(planes).ok()?;
        plane_bytes.extend_from_slice(&self.plane_bytes);
        inner.extend_from_slice(&self.inner);
        Some(Self {
            plane_bytes,
            inner,
            ..*self
        })
    }

    /// Positions of a block.
    #[must_use]
    pub const fn block_size(&self) -> usize {
        self.block_size
    }

    /// The type of the elements.
    #[must_use]
    pub const fn element(&self) -> ElementType {
        self.element
    }

    /// Bytes of a block in each plane.
    #[must_use]
    pub fn plane_bytes(&self) -> &[u64] {
        &self.plane_bytes
    }

    /// What is inside a block, in each plane.
    #[must_use]
    pub fn inner(&self) -> &[Inner] {
        &self.inner
    }

    /// Bytes of a block in all planes.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        let sum = |sum: u64, &bytes| sum.saturating_add(bytes);
        self.plane_bytes.iter().fold(0, sum)
    }

    /// Positions of a block must be as many as a pool's.
    pub(crate) const fn check_block_size(&self, ours: usize) -> Result<(), Incompatible> {
        Self::compare_block_size(ours, self.block_size)
    }

    pub(crate) const fn compare_block_size(ours: usize, theirs: usize) -> Result<(), Incompatible> {
        if ours != theirs {
            return Err(Incompatible::BlockSize { ours, theirs });
        }
        Ok(())
    }

    /// Whether the other end has the same format. Planes whose heads are in another order have another one, and so have those of which
    /// only one end says what is inside: bytes that are read in the wrong order look like any others.
    ///
    /// # Errors
    /// [`Incompatible`]: the first thing that differs. The planes are compared in order.
    ///
    /// A look at each plane. No allocation.
    pub fn check(&self, other: &Self) -> Result<(), Incompatible> {
        if self.block_size != other.block_size {
            return Err(Incompatible::BlockSize {
                ours: self.block_size,
                theirs: other.block_size,
            });
        }
        if self.element != other.element {
            return Err(Incompatible::Element {
                ours: self.element,
                theirs: other.element,
            });
        }
        if self.plane_bytes.len() != other.plane_bytes.len() {
            return Err(Incompatible::Planes {
                ours: self.plane_bytes.len(),
                theirs: other.plane_bytes.len(),
            });
        }
        let bytes = self.plane_bytes.iter().zip(&other.plane_bytes);
        let inner = self.inner.iter().zip(&other.inner);
        for (plane, ((&ours, &theirs), (our_inner, their_inner))) in bytes.zip(inner).enumerate() {
            if ours != theirs {
                return Err(Incompatible::PlaneBytes {
                    plane,
                    ours,
                    theirs,
                });
            }
            if our_inner != their_inner {
                return Err(Incompatible::Inner {
                    plane,
                    ours: *our_inner,
                    theirs: *their_inner,
                });
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::copy::{KvTensor, Order, Plane};
    use alloc::string::ToString;

    fn format(block_size: usize, element: u32, bytes: &[u64]) -> KvFormat {
        KvFormat::new(block_size, ElementType::new(element), bytes.iter().copied()).unwrap()
    }

    #[test]
    fn the_first_thing_that_differs_is_named_with_both_values() {
        let ours = format(16, 1, &[64, 32]);
        for (theirs, differs, says) in [
            (
                format(32, 2, &[64]),
                Incompatible::BlockSize {
                    ours: 16,
                    theirs: 32,
                },
                "blocks of 16 positions here, 32 there",
            ),
            (
                format(16, 2, &[64]),
                Incompatible::Element {
                    ours: ElementType::new(1),
                    theirs: ElementType::new(2),
                },
                "element type 1 here, 2 there",
            ),
            (
                format(16, 1, &[64]),
                Incompatible::Planes { ours: 2, theirs: 1 },
                "2 planes here, 1 there",
            ),
            (
                format(16, 1, &[64, 33]),
                Incompatible::PlaneBytes {
                    plane: 1,
                    ours: 32,
                    theirs: 33,
                },
                "plane 1: blocks of 32 bytes here, 33 there",
            ),
        ] {
            assert_eq!(ours.check(&theirs), Err(differs));
            assert_eq!(differs.to_string(), says);
        }
        assert_eq!(ours.check(&ours.clone()), Ok(()));
    }

    #[test]
    fn where_the_bytes_are_is_each_ends_own_matter() {
        let layout = |base, block_stride| {
            let plane = Plane::new(base, block_stride, 32);
            BlockLayout::new(&[plane], 4).unwrap()
        };
        let of =
            |layout: &BlockLayout| KvFormat::new(16, ElementType::new(1), layout.plane_bytes());
        let (one, two) = (of(&layout(0, 32)).unwrap(), of(&layout(1000, 64)).unwrap());
        assert_eq!((one.check(&two), one.plane_bytes()), (Ok(()), &[32][..]));
    }

    #[test]
    fn heads_in_another_order_are_another_format() {
        let layout = |order| {
            let tensor = KvTensor::new(4, 2, 8, order);
            BlockLayout::blocks_first(tensor, &[0, 1000], 4).unwrap()
        };
        let of =
            |layout: &BlockLayout| KvFormat::of_layout(4, ElementType::new(1), layout).unwrap();
        let (nhd, hnd) = (of(&layout(Order::Nhd)), of(&layout(Order::Hnd)));
        let error = nhd.check(&hnd).unwrap_err();
        assert_eq!(
            error.to_string(),
            "plane 0: 2 x 4 positions x 2 heads x 8 bytes NHD here, \
             2 x 4 positions x 2 heads x 8 bytes HND there"
        );
        let elsewhere = BlockLayout::like(&layout(Order::Nhd), 1 << 20, 9).unwrap();
        assert_eq!(nhd.check(&of(&elsewhere)), Ok(()));
        assert_eq!(nhd.try_clone().unwrap().check(&nhd), Ok(()));
        // Who says nothing of the inside cannot be known to have the same.
        let opaque = format(4, 1, &[128, 128]);
        assert_eq!(opaque.plane_bytes(), hnd.plane_bytes());
        assert_eq!(
            opaque.check(&hnd),
            Err(Incompatible::Inner {
                plane: 0,
                ours: Inner::Opaque,
                theirs: hnd.inner()[0],
            })
        );
    }

    #[test]
    fn nothing_is_no_format() {
        let new = |bytes: &[u64]| KvFormat::new(16, ElementType::new(1), bytes.iter().copied());
        assert_eq!(new(&[]), Err(LayoutError::NoPlanes));
        assert_eq!(new(&[8, 0]), Err(LayoutError::NoBytes { plane: 1 }));
    }
}
