//! Copies to check: planes of blocks in two memories as a kernel's table has them, and the same written plainly.
//!
//! The plain copy shares nothing with the kernels but the meaning: it goes through parts, positions and heads one by one
//! and computes each place from the whole tensor of a side.

use Placing::Apart;

/// Bytes of a plane that one unit of work moves.
pub const CHUNK: u64 = 16384;

const GIB: u64 = 1 << 30;

/// A pair of blocks: source and destination.
pub type Pair = (u32, u32);

/// A memory with blocks in it: offset of block 0 of each plane, and bytes from one block to the next.
#[derive(Debug, Clone)]
pub struct Side {
    pub blocks: u32,
    pub planes: Vec<(u64, u64)>,
    pub bytes: u64,
}

/// How planes lie in a memory.
#[derive(Debug, Clone, Copy)]
pub enum Placing {
    /// One plane behind the other, each block by block.
    Apart,
    /// All planes of a block, then the next block.
    BlockFirst,
}

impl Side {
    /// Places planes of so many bytes a block, with `gap` bytes free before each.
    pub fn new(placing: Placing, blocks: u32, gap: u64, planes: &[u64]) -> Self {
        let all: u64 = planes.iter().map(|bytes| bytes + gap).sum();
        let mut offset = gap;
        let mut placed = Vec::new();
        for bytes in planes {
            match placing {
                Placing::Apart => {
                    placed.push((offset, bytes + gap));
                    offset += (bytes + gap) * u64::from(blocks);
                }
                Placing::BlockFirst => {
                    placed.push((offset, all));
                    offset += bytes + gap;
                }
            }
        }
        Self {
            blocks,
            planes: placed,
            bytes: gap + all * u64::from(blocks),
        }
    }
}

/// The inside of a block: parts x (positions x heads, or heads x positions) x `head_bytes`, dense.
#[derive(Debug, Clone, Copy)]
pub struct Tile {
    pub heads_inner: bool,
    pub parts: u32,
    pub positions: u32,
    pub heads: u32,
    pub head_bytes: u32,
}

impl Tile {
    pub fn bytes(&self) -> u64 {
        self.at(self.parts, 0, 0)
    }

    /// Where the run of this part, position and head begins inside a block.
    pub fn at(&self, part: u32, position: u32, head: u32) -> u64 {
        let [part, position, head, positions, heads] =
            [part, position, head, self.positions, self.heads].map(u64::from);
        let run = if self.heads_inner {
            position * heads + head
        } else {
            head * positions + position
        };
        (part * positions * heads + run) * u64::from(self.head_bytes)
    }
}

/// Heads `source_first..` of each block go to heads `destination_first..`.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    pub source_first: u32,
    pub destination_first: u32,
    pub count: u32,
}

/// A run of bytes of a pair: offsets in the source's and the destination's memory, and its length.
type Run = (u64, u64, u64);

/// A copy: the words of a kernel's table, with offsets where addresses will be, and the runs that it must move.
#[derive(Debug)]
pub struct Copy {
    pub table: Vec<Vec<u64>>,
    pub chunks: u32,
    pub source: Side,
    pub destination: Side,
    /// Of pair (0, 0), with the strides of both planes.
    runs: Vec<(Run, u64, u64)>,
}

/// Index in a row of the table of the source's and the destination's base.
pub const BASES: [usize; 2] = [0, 2];
/// And of a plane's bytes and of its first chunk, where blocks are copied.
const BYTES: usize = 4;
const FIRST: usize = 5;

impl Copy {
    /// Block for block.
    pub fn blocks(
        planes: &[u64],
        source: (Placing, u32, u64),
        destination: (Placing, u32, u64),
    ) -> Self {
        let side = |(placing, blocks, gap)| Side::new(placing, blocks, gap, planes);
        let (source, destination) = (side(source), side(destination));
        let mut table = Vec::new();
        let mut runs = Vec::new();
        let mut first = 0;
        for ((from, to), bytes) in source.planes.iter().zip(&destination.planes).zip(planes) {
            table.push(vec![from.0, from.1, to.0, to.1, *bytes, first]);
            runs.push(((from.0, to.0, *bytes), from.1, to.1));
            first += bytes.div_ceil(CHUNK);
        }
        Self {
            table,
            chunks: first.try_into().expect("few chunks"),
            source,
            destination,
            runs,
        }
    }

    /// Between tiles of other orders or heads, the same in `planes` planes.
    pub fn tiles(
        planes: usize,
        tiles: [Tile; 2],
        heads: Heads,
        source: (Placing, u32, u64),
        destination: (Placing, u32, u64),
    ) -> Self {
        let [from, to] = tiles;
        let side = |(placing, blocks, gap), tile: Tile| {
            Side::new(placing, blocks, gap, &vec![tile.bytes(); planes])
        };
        let (source, destination) = (side(source, from), side(destination, to));
        let packed = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let bytes = from.bytes() / u64::from(from.heads) * u64::from(heads.count);
        let mut table = Vec::new();
        let mut runs = Vec::new();
        let mut first = 0;
        for (read, write) in source.planes.iter().zip(&destination.planes) {
            let mut row = vec![read.0 + from.at(0, 0, heads.source_first), read.1];
            row.extend([
                write.0 + to.at(0, 0, heads.destination_first),
                write.1,
                first,
            ]);
            row.extend([
                packed(from.parts, from.positions),
                packed(heads.count, from.head_bytes),
            ]);
            row.extend([from.at(1, 0, 0), from.at(0, 1, 0), from.at(0, 0, 1)]);
            row.extend([to.at(1, 0, 0), to.at(0, 1, 0), to.at(0, 0, 1)]);
            table.push(row);
            first += bytes.div_ceil(CHUNK);
            for part in 0..from.parts {
                for position in 0..from.positions {
                    for head in 0..heads.count {
                        let out = read.0 + from.at(part, position, heads.source_first + head);
                        let into = write.0 + to.at(part, position, heads.destination_first + head);
                        runs.push(((out, into, u64::from(from.head_bytes)), read.1, write.1));
                    }
                }
            }
        }
        Self {
            table,
            chunks: first.try_into().expect("few chunks"),
            source,
            destination,
            runs,
        }
    }

    /// The first chunk of a plane that has 4 GiB and a word of each block. The other chunks are left out.
    pub fn first_of_many(width: u64) -> Self {
        let mut copy = Self::blocks(&[CHUNK + width], (Apart, 2, width), (Apart, 2, 0));
        copy.table[0][BYTES] = GIB * 4 + width;
        copy.chunks = 1;
        copy.runs[0].0.2 = CHUNK;
        copy
    }

    /// The last chunk, which is not a whole one, of a plane that has 4 GiB and some of each block. Those before it are left
    /// out: the kernel counts chunks from `first` on, and looks for none before it where there is one plane.
    pub fn last_of_many(width: u64) -> Self {
        let mut copy = Self::blocks(&[300 * width], (Apart, 2, width), (Apart, 2, 0));
        let row = &mut copy.table[0];
        row[BYTES] += GIB * 4;
        row[FIRST] = (GIB * 4 / CHUNK).wrapping_neg();
        for base in BASES {
            row[base] = row[base].wrapping_sub(GIB * 4);
        }
        copy
    }

    /// The first chunk of the third part of blocks whose parts have 2^30 words each, NHD to HND. Those before it are left out
    /// in the same way, and those behind it.
    pub fn third_part(width: u64) -> Self {
        const POSITIONS: u64 = 1 << 22;
        const HEADS: u64 = 4;
        let head_bytes = 64 * width;
        let part = POSITIONS * HEADS * head_bytes;
        let rows = CHUNK / head_bytes;
        // What the chunk touches on each side.
        let source = Side::new(Apart, 2, width, &[rows * HEADS * head_bytes]);
        let destination = Side::new(Apart, 2, 0, &[CHUNK]);
        let ((from, from_stride), (to, to_stride)) = (source.planes[0], destination.planes[0]);
        let packed = |low: u64, high: u64| low | high << 32;
        let third = 2 * part;
        let row = [
            [from.wrapping_sub(third), from_stride],
            [to.wrapping_sub(third), to_stride],
            [(third / CHUNK).wrapping_neg(), packed(3, POSITIONS)],
            [packed(HEADS, head_bytes), part],
            [HEADS * head_bytes, head_bytes],
            [part, head_bytes],
        ];
        let mut row = row.concat();
        row.push(POSITIONS * head_bytes);
        let run = |at: u64| {
            let out = from + at * HEADS * head_bytes;
            (
                (out, to + at * head_bytes, head_bytes),
                from_stride,
                to_stride,
            )
        };
        Self {
            table: vec![row],
            chunks: 1,
            source,
            destination,
            runs: (0..rows).map(run).collect(),
        }
    }

    /// Copies one pair, byte for byte.
    pub fn plainly(&self, source: &[u8], destination: &mut [u8], pair: Pair) {
        for ((from, to, bytes), source_stride, destination_stride) in &self.runs {
            let range = |start: u64, block: u32, stride: u64| {
                let start = usize::try_from(start + u64::from(block) * stride)
                    .expect("an offset in memory");
                start..start + usize::try_from(*bytes).expect("a length in memory")
            };
            let read = range(*from, pair.0, *source_stride);
            destination[range(*to, pair.1, *destination_stride)].copy_from_slice(&source[read]);
        }
    }
}

/// A list of pairs as the host hands it over.
#[derive(Debug, Clone)]
pub struct List {
    /// What is in device memory: more than `count` of them may be there.
    pub pairs: Vec<Pair>,
    pub count: u32,
    pub capacity: u32,
}

impl From<&[Pair]> for List {
    fn from(pairs: &[Pair]) -> Self {
        let count = u32::try_from(pairs.len()).expect("a short list");
        Self {
            pairs: pairs.to_vec(),
            count,
            capacity: count,
        }
    }
}

/// What must come out: the pairs that are copied, and the two words of the report.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub copied: Vec<Pair>,
    pub report: [u32; 2],
}

impl List {
    pub fn outcome(&self, copy: &Copy) -> Outcome {
        if self.count > self.capacity {
            return Outcome {
                copied: Vec::new(),
                report: [u32::MAX, self.count],
            };
        }
        let good = |pair: &Pair| pair.0 < copy.source.blocks && pair.1 < copy.destination.blocks;
        let listed = &self.pairs[..usize::try_from(self.count).expect("a short list")];
        let bad = listed
            .iter()
            .position(|pair| !good(pair))
            .map_or(u32::MAX, |index| {
                u32::try_from(index).expect("a short list")
            });
        Outcome {
            copied: listed.iter().copied().filter(good).collect(),
            report: [bad, 0],
        }
    }
}
