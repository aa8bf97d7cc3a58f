//! The shapes that are checked: layouts as engines have them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use kvblock::{BlockLayout, KvTensor, LayoutError, Order, Plane};

use crate::args::Scale;

/// A layout by its name. Addresses are offsets.
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) layout: BlockLayout,
}

/// Layers, heads and the like of a shape.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) layers: u32,
    pub(crate) positions: u32,
    pub(crate) heads: u32,
    pub(crate) head_bytes: u32,
    pub(crate) blocks: usize,
}

impl Size {
    /// Of a model of 70 billion parameters on four devices, or next to nothing.
    pub(crate) const fn of(scale: Scale) -> Self {
        match scale {
            Scale::Full => Self {
                layers: 80,
                positions: 16,
                heads: 2,
                head_bytes: 256,
                blocks: 40,
            },
            Scale::Tiny => Self {
                layers: 2,
                positions: 4,
                heads: 2,
                head_bytes: 32,
                blocks: 12,
            },
        }
    }

    pub(crate) const fn tensor(&self, order: Order) -> KvTensor {
        KvTensor::new(self.positions, self.heads, self.head_bytes, order)
    }

    /// Bytes of K of a layer, of all blocks.
    const fn tensor_bytes(&self) -> u64 {
        self.positions as u64 * self.heads as u64 * self.head_bytes as u64 * self.blocks as u64
    }

    /// A tensor for each layer, `parts` times K long, at multiples of 256 bytes and something more.
    fn layers(&self, parts: u64) -> Vec<u64> {
        let stride = (parts * self.tensor_bytes()).next_multiple_of(256) + 256;
        (0..u64::from(self.layers))
            .map(|layer| layer * stride)
            .collect()
    }

    pub(crate) fn separate(&self, order: Order) -> Result<BlockLayout, LayoutError> {
        let (keys, values): (Vec<_>, Vec<_>) = self
            .layers(2)
            .into_iter()
            .map(|base| (base, base + self.tensor_bytes()))
            .unzip();
        BlockLayout::separate(self.tensor(order), &keys, &values, self.blocks)
    }

    pub(crate) fn blocks_first(&self, order: Order) -> Result<BlockLayout, LayoutError> {
        BlockLayout::blocks_first(self.tensor(order), &self.layers(2), self.blocks)
    }

    pub(crate) fn cross_layer(&self, order: Order) -> Result<BlockLayout, LayoutError> {
        BlockLayout::cross_layer(self.tensor(order), self.layers, 0, self.blocks)
    }
}

/// All of them.
pub(crate) fn all(scale: Scale) -> Result<Vec<Shape>, LayoutError> {
    let size = Size::of(scale);
    let mut shapes = Vec::new();
    let mut add =
        |name: String, layout: Result<BlockLayout, LayoutError>| -> Result<(), LayoutError> {
            shapes.push(Shape {
                name,
                layout: layout?,
            });
            Ok(())
        };
    for order in [Order::Nhd, Order::Hnd] {
        add(format!("separate K and V, {order}"), size.separate(order))?;
        let keys_first = BlockLayout::keys_first(size.tensor(order), &size.layers(2), size.blocks);
        add(format!("[2, blocks, ...], {order}"), keys_first)?;
        add(
            format!("[blocks, 2, ...], {order}"),
            size.blocks_first(order),
        )?;
        add(format!("cross-layer, {order}"), size.cross_layer(order))?;
    }
    let (latent_bytes, blocks) = (scale.pick(1152, 36), size.blocks);
    let stride = u64::from(size.positions) * u64::from(latent_bytes) * blocks as u64 + 64;
    let latents: Vec<u64> = (0..u64::from(size.layers))
        .map(|layer| layer * stride)
        .collect();
    let end = u64::from(size.layers) * stride;
    let scales: Vec<u64> = (0..u64::from(size.layers))
        .map(|layer| end + layer * 16 * blocks as u64)
        .collect();
    let mla = || BlockLayout::latents(size.positions, latent_bytes, &latents, blocks);
    add(String::from("MLA latents"), mla())?;
    add(
        String::from("MLA latents and scales"),
        mla().and_then(|it| it.with_scales(&scales, 12)),
    )?;
    // Widths of 8, 4, 2 and 1 bytes, strides with gaps, one plane between another.
    let odd = [
        (0, 4096, 24),
        (24, 4096, 4),
        (32, 4096, 6),
        (48, 4096, 7),
        (64, 4096, 4000),
    ];
    let planes = odd.map(|(base, stride, bytes)| Plane::new(base, stride, bytes));
    add(
        String::from("odd planes"),
        BlockLayout::new(&planes, blocks),
    )?;
    Ok(shapes)
}
