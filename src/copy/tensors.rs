//! Layouts of the tensors that engines make for K and V, and of pools in host memory.

use alloc::vec::Vec;

use super::layout::BlockLayout;
use super::layout_error::LayoutError;
use super::plane::Plane;
use super::tile::{Inner, Order, Tile};
use super::width::AccessWidth;

/// A block of K or of V of one layer on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KvTensor {
    /// Positions of a block.
    pub block_size: u32,
    /// Heads on this device.
    pub heads: u32,
    /// Bytes of one head's vector of one position: its elements times their size.
    pub head_bytes: u32,
    /// Whether positions or heads come first.
    pub order: Order,
}

impl KvTensor {
    /// Blocks of `block_size` positions, of `heads` vectors of `head_bytes` bytes each.
    #[must_use]
    pub const fn new(block_size: u32, heads: u32, head_bytes: u32, order: Order) -> Self {
        Self {
            block_size,
            heads,
            head_bytes,
            order,
        }
    }

    /// So many of them one behind the other.
    const fn tile(&self, parts: u32) -> Tile {
        Tile {
            order: self.order,
            parts,
            positions: self.block_size,
            heads: self.heads,
            head_bytes: self.head_bytes,
        }
    }
}

/// All constructors allocate the list of planes, and have the errors and the complexity of [`new`](BlockLayout::new). The layouts are in
/// memory 0, with blocks one behind the other in each tensor.
///
/// ```
/// # use kvblock::{BlockLayout, KvTensor, Order};
/// // 16 positions, 8 heads of 128 elements of 2 bytes: 32 KiB for K, and as much for V.
/// let tensor = KvTensor::new(16, 8, 256, Order::Nhd);
/// const BYTES: u64 = 32 << 10;
/// let (blocks, layers) = (1000, [0x10_0000_0000, 0x20_0000_0000]);
///
/// // [blocks, ...] for K and again for V, in each of two layers: K, V, K, V.
/// let values = layers.map(|base| base + (8 << 30));
/// let separate = BlockLayout::separate(tensor, &layers, &values, blocks)?;
/// assert_eq!(separate.planes().len(), 4);
///
/// // [2, blocks, ...] a layer: V lies behind all of K.
/// let keys_first = BlockLayout::keys_first(tensor, &layers, blocks)?;
/// assert_eq!(keys_first.planes()[1].base, layers[0] + 1000 * BYTES);
///
/// // [blocks, 2, ...] a layer: V of a block lies behind its K.
/// let blocks_first = BlockLayout::blocks_first(tensor, &layers, blocks)?;
/// assert_eq!(blocks_first.planes()[1].block_bytes, 2 * BYTES);
///
/// // [blocks, layers, 2, ...]: all layers of a block lie together.
/// let cross_layer = BlockLayout::cross_layer(tensor, 2, layers[0], blocks)?;
/// assert_eq!(cross_layer.planes()[0].block_bytes, 4 * BYTES);
///
/// // [blocks, 576 * 2 bytes a position] a layer, and 4 bytes of scale a block beside each.
/// let latents = BlockLayout::latents(16, 1152, &layers, blocks)?.with_scales(&values, 4)?;
/// assert_eq!(latents.block_bytes(), 2 * (16 * 1152 + 4));
///
/// // Each of them has a twin whose blocks lie one behind the other with all of their planes: a pool in host memory.
/// let host = BlockLayout::like(&latents, 0, 5000)?;
/// assert_eq!(host.planes()[1].base, 16 * 1152);
/// assert_eq!(host.planes()[1].block_stride, latents.block_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl BlockLayout {
    /// A tensor of K and a tensor of V for each layer: `[blocks, ...]` at each address. The planes are K and V of the first layer, K and V
    /// of the second, and so on.
    ///
    /// # Errors
    /// [`LayoutError`]; [`LayoutError::TensorCount`]: not as many of V as of K.
    pub fn separate(
        tensor: KvTensor,
        keys: &[u64],
        values: &[u64],
        blocks: usize,
    ) -> Result<Self, LayoutError> {
        if keys.len() != values.len() {
            return Err(LayoutError::TensorCount {
                keys: keys.len(),
                values: values.len(),
            });
        }
        let bases = keys
            .iter()
            .zip(values)
            .flat_map(|(&key, &value)| [key, value]);
        dense(tensor.tile(1), bases.map(Ok), blocks)
    }

    /// One tensor for each layer, first all of K, then all of V: `[2, blocks, ...]`. Two planes a layer.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn keys_first(
        tensor: KvTensor,
        layers: &[u64],
        blocks: usize,
    ) -> Result<Self, LayoutError> {
        let tile = tensor.tile(1);
        let keys = tile
            .bytes()
            .and_then(|bytes| bytes.checked_mul(blocks as u64));
        let planes = layers.iter().enumerate().flat_map(|(layer, &base)| {
            let value = keys.and_then(|keys| base.checked_add(keys));
            let overflow = LayoutError::Overflow {
                plane: 2 * layer + 1,
            };
            [Ok(base), value.ok_or(overflow)]
        });
        dense(tile, planes, blocks)
    }

    /// One tensor for each layer, block by block K, then V: `[blocks, 2, ...]`. One plane a layer.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn blocks_first(
        tensor: KvTensor,
        layers: &[u64],
        blocks: usize,
    ) -> Result<Self, LayoutError> {
        dense(tensor.tile(2), layers.iter().copied().map(Ok), blocks)
    }

    /// One tensor for all layers, block by block: `[blocks, layers, 2, ...]`. One plane.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn cross_layer(
        tensor: KvTensor,
        layers: u32,
        base: u64,
        blocks: usize,
    ) -> Result<Self, LayoutError> {
        let parts = layers
            .checked_mul(2)
            .ok_or(LayoutError::Overflow { plane: 0 })?;
        dense(tensor.tile(parts), [Ok(base)], blocks)
    }

    /// Latents that all heads share (MLA), a tensor for each layer: `[blocks, block_size, latent_bytes]`. One plane a layer.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn latents(
        block_size: u32,
        latent_bytes: u32,
        layers: &[u64],
        blocks: usize,
    ) -> Result<Self, LayoutError> {
        let tensor = KvTensor::new(block_size, 1, latent_bytes, Order::Nhd);
        dense(tensor.tile(1), layers.iter().copied().map(Ok), blocks)
    }

    /// The same layout with scales beside the data, `bytes_a_block` of them for each block at each address: one opaque plane for each,
    /// behind those there are. Scales of which some are of one head and some of another go [with planes](Self::with_planes) that say so.
    ///
    /// # Errors
    /// [`LayoutError`]; the planes added are counted behind those there are.
    pub fn with_scales(self, bases: &[u64], bytes_a_block: u64) -> Result<Self, LayoutError> {
        let mut planes = Vec::new();
        let enough = planes.try_reserve_exact(bases.len());
        enough.map_err(|_| LayoutError::OutOfMemory)?;
        let plane = |&base| Plane::new(base, bytes_a_block, bytes_a_block);
        planes.extend(bases.iter().map(plane));
        self.with_planes(&planes)
    }

    /// Blocks that lie one behind the other from `base` on, each with all of its planes: so many bytes of each, of which nothing more is
    /// known.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn block_first(
        plane_bytes: impl IntoIterator<Item = u64>,
        base: u64,
        blocks: usize,
    ) -> Result<Self, LayoutError> {
        let planes = plane_bytes.into_iter().map(|bytes| (bytes, Inner::Opaque));
        together(planes, base, blocks, [None])
    }

    /// Blocks like those of another layout, with the same inside, that lie one behind the other from `base` on, each with all of its
    /// planes.
    ///
    /// In a block the planes come first whose bytes are multiples of 16, then those of 8, and so on: what is of 4 bytes moves nothing that
    /// is wider. There are no gaps, so that neighbours are one transfer, and a transfer writes nothing that its plan does not name. So if the
    /// bytes of a block are no multiple of 16 all its planes are copied with [narrower accesses](crate::AccessWidth): 61 layers of latents
    /// with a scale of 4 bytes each are copied 4 bytes at a time, 60 layers 16.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn like(layout: &Self, base: u64, blocks: usize) -> Result<Self, LayoutError> {
        let planes = layout.planes().iter();
        let planes = planes.map(|plane| (plane.block_bytes, plane.inner));
        let wide_first = AccessWidth::ALL.into_iter().rev().map(Some);
        together(planes, base, blocks, wide_first)
    }
}

/// A plane at each address, with blocks one behind the other.
fn dense(
    tile: Tile,
    bases: impl IntoIterator<Item = Result<u64, LayoutError>>,
    blocks: usize,
) -> Result<BlockLayout, LayoutError> {
    let bytes = tile.bytes().ok_or(LayoutError::Overflow { plane: 0 })?;
    let mut planes = Vec::new();
    for base in bases {
        planes
            .try_reserve(1)
            .map_err(|_| LayoutError::OutOfMemory)?;
        planes.push(Plane::new(base?, bytes, bytes).tile(tile));
    }
    BlockLayout::of(planes, blocks)
}

/// All planes of a block one behind the other, of one width after the other or of any, and blocks one behind the other.
fn together(
    parts: impl Iterator<Item = (u64, Inner)>,
    base: u64,
    blocks: usize,
    widths: impl IntoIterator<Item = Option<AccessWidth>>,
) -> Result<BlockLayout, LayoutError> {
    let mut planes = Vec::new();
    for (bytes, inner) in parts {
        planes
            .try_reserve(1)
            .map_err(|_| LayoutError::OutOfMemory)?;
        planes.push(Plane {
            inner,
            ..Plane::new(base, 0, bytes)
        });
    }
    let mut at = base;
    for width in widths {
        for (number, plane) in planes.iter_mut().enumerate() {
            if width.is_none_or(|width| width == AccessWidth::dividing([plane.block_bytes])) {
                plane.base = at;
                let next = at.checked_add(plane.block_bytes);
                at = next.ok_or(LayoutError::Overflow { plane: number })?;
            }
        }
    }
    for plane in &mut planes {
        plane.block_stride = at - base;
    }
    BlockLayout::of(planes, blocks)
}
