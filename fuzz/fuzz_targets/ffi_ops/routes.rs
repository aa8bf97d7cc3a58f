//! Routes between layouts, beside where each vector must go.

use kvblock_c::copy::*;
use kvblock_c::status::*;

use crate::arguments::{Bytes, Place, Told};
use crate::layouts::{self, Part, Shape, is_tile, pick_two};
use crate::world::{MOST, World};

pub(crate) struct Route {
    pub(crate) it: *mut kvb_copy_route,
    pub(crate) model: Path,
}

/// What a route must do: heads `first.0..` of the source become heads `first.1..`, `heads` of them; whole blocks without.
#[derive(Clone)]
pub(crate) struct Path {
    pub(crate) source: Shape,
    pub(crate) destination: Shape,
    pub(crate) slice: Option<((u32, u32), u32)>,
    pub(crate) in_place: bool,
}

impl Path {
    /// What making the route must answer.
    fn status(&self) -> kvb_status {
        let (from, to) = (&self.source.parts, &self.destination.parts);
        if self.slice.is_some_and(|(_, heads)| heads == 0) {
            return KVB_ERR_INVALID;
        }
        if from.len() != to.len() {
            return KVB_ERR_INCOMPATIBLE;
        }
        for (from, to) in from.iter().zip(to) {
            let status = self.plane_status(from, to);
            if status != KVB_OK {
                return status;
            }
        }
        let touches = |part: &Part| {
            let others = &self.destination.parts;
            let touches = |other| self.source.touches(part, &self.destination, other);
            others.iter().any(touches)
        };
        if self.source.memory == self.destination.memory
            && !self.in_place
            && from.iter().any(touches)
        {
            return KVB_ERR_LAYOUT;
        }
        KVB_OK
    }

    fn plane_status(&self, from: &Part, to: &Part) -> kvb_status {
        let vectors = |it: &kvb_tile| (it.parts, it.positions, it.head_bytes);
        let tiled = is_tile(&from.tile) && is_tile(&to.tile);
        let alike = vectors(&from.tile) == vectors(&to.tile);
        match self.slice {
            Some(_) if !tiled => KVB_ERR_UNKNOWN_FORMAT,
            _ if tiled && !alike => KVB_ERR_INCOMPATIBLE,
            Some((first, heads)) => {
                let fits =
                    |first: u32, all: u32| first.checked_add(heads).is_some_and(|end| end <= all);
                if fits(first.0, from.tile.heads) && fits(first.1, to.tile.heads) {
                    KVB_OK
                } else {
                    KVB_ERR_OUT_OF_RANGE
                }
            }
            None if tiled && from.tile.heads != to.tile.heads
                || from.plane.block_bytes != to.plane.block_bytes =>
            {
                KVB_ERR_INCOMPATIBLE
            }
            None => KVB_OK,
        }
    }

    /// The vectors that are copied in a plane: from where in a block, to where, and how many bytes.
    pub(crate) fn vectors(&self, plane: usize) -> Vec<(u64, u64, u64)> {
        let (from, to) = (&self.source.parts[plane], &self.destination.parts[plane]);
        if !is_tile(&from.tile) || !is_tile(&to.tile) {
            return vec![(0, 0, from.plane.block_bytes)];
        }
        let (first, heads) = self.slice.unwrap_or(((0, 0), from.tile.heads));
        let mut found = Vec::new();
        for part in 0..from.tile.parts {
            for position in 0..from.tile.positions {
                for head in 0..heads {
                    let source = vector(&from.tile, part, position, first.0 + head);
                    let destination = vector(&to.tile, part, position, first.1 + head);
                    found.push((source, destination, from.tile.head_bytes.into()));
                }
            }
        }
        found
    }

    /// Bytes that are copied of a block.
    pub(crate) fn block_bytes(&self) -> u64 {
        let planes = 0..self.source.parts.len();
        planes
            .flat_map(|plane| self.vectors(plane))
            .map(|(.., bytes)| bytes)
            .sum()
    }
}

/// Where a vector is in a block, as the documentation of the orders says.
fn vector(tile: &kvb_tile, part: u32, position: u32, head: u32) -> u64 {
    let row = if tile.order == KVB_ORDER_NHD {
        (part * tile.positions + position) * tile.heads + head
    } else {
        (part * tile.heads + head) * tile.positions + position
    };
    u64::from(row * tile.head_bytes)
}

/// Makes a route, or gives one back if there are many.
pub(crate) fn create(world: &mut World, bytes: &mut Bytes<'_>) {
    if world.copies.routes.len() >= MOST {
        let gone = bytes.below(MOST);
        let gone = world.copies.routes.swap_remove(gone);
        // SAFETY: made by its create function; nobody else has it.
        unsafe { kvb_copy_route_destroy(gone.it) };
        return;
    }
    if world.copies.layouts.is_empty() {
        return layouts::create(world, bytes);
    }
    let [(from, source), (to, destination)] = pick_two(world, bytes);
    let kind = bytes.byte();
    let slice = (kind & 1 == 0).then(|| {
        let first = (u32::from(kind >> 1 & 3), u32::from(kind >> 3 & 1));
        match bytes.byte() {
            255 => ((u32::MAX, first.1), 2),
            254 => (first, 0),
            byte => (first, 1 + u32::from(byte) % 3),
        }
    });
    let (mut told, mut place) = (Told::new(bytes), Place::<*mut kvb_copy_route>::new(bytes));
    // SAFETY: as above.
    let status = unsafe {
        match slice {
            None => kvb_copy_route_create(from, to, place.pointer(), told.pointer()),
            Some((first, heads)) => kvb_copy_route_create_heads(
                from,
                to,
                first.0,
                first.1,
                heads,
                place.pointer(),
                told.pointer(),
            ),
        }
    };
    let made = place.result(told.check(status));
    let (Some(source), Some(destination)) = (source, destination) else {
        assert!(made.is_none(), "a route without a layout");
        return;
    };
    let in_place = source.is_same(&destination);
    let model = Path {
        source,
        destination,
        slice,
        in_place,
    };
    if told.is_usable() && !place.pointer().is_null() {
        assert_eq!(status, model.status(), "a route");
    }
    if let Some(it) = made {
        // SAFETY: it was made just now.
        unsafe {
            assert_eq!(kvb_copy_route_is_in_place(it), in_place);
            assert_eq!(kvb_copy_route_block_bytes(it), model.block_bytes());
        }
        world.copies.routes.push(Route { it, model });
    }
}
