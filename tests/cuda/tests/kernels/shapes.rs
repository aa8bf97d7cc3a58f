//! The shapes on which a kernel is tried: small, and so chosen that every loop and every carry begins, ends and repeats.

use crate::copies::{CHUNK, Copy, Heads, List, Pair, Placing, Tile};
use Placing::{Apart, BlockFirst};

/// A copy, the list of its pairs and the numbers of thread blocks to try.
#[derive(Debug)]
pub struct Shape {
    pub name: &'static str,
    pub copy: Copy,
    pub list: List,
    pub grids: &'static [u32],
}

/// Shapes for a kernel (`copy` or `permute`) whose accesses have `width` bytes.
pub fn shapes(kind: &str, width: u64) -> Vec<Shape> {
    let (small, mut shapes) = match kind {
        "copy" => (small_copy as fn(u64) -> Copy, copies(width)),
        _ => (small_permutation as fn(u64) -> Copy, permutations(width)),
    };
    // First, as they are quick.
    shapes.splice(0..0, lists(small, width));
    shapes
}

fn shape(name: &'static str, copy: Copy, pairs: &[Pair], grids: &'static [u32]) -> Shape {
    Shape {
        name,
        copy,
        list: List::from(pairs),
        grids,
    }
}

/// More source blocks than destination blocks; three planes, and five chunks for W = 16.
fn small_copy(width: u64) -> Copy {
    Copy::blocks(
        &[100 * width, CHUNK + width, width],
        (Apart, 9, width),
        (Apart, 4, width),
    )
}

fn small_permutation(width: u64) -> Copy {
    let head_bytes = u32::try_from(3 * width).expect("a small width");
    let tile = |heads_inner| Tile {
        heads_inner,
        parts: 2,
        positions: 5,
        heads: 4,
        head_bytes,
    };
    let heads = Heads {
        source_first: 0,
        destination_first: 0,
        count: 4,
    };
    Copy::tiles(
        2,
        [tile(true), tile(false)],
        heads,
        (Apart, 9, width),
        (Apart, 4, width),
    )
}

type Case = (&'static str, u32, u32, Vec<Pair>, &'static [u32]);

/// Lists that are empty, too long or have ids out of range.
fn lists(copy: fn(u64) -> Copy, width: u64) -> Vec<Shape> {
    let good: &[Pair] = &[(0, 0), (8, 3), (1, 1), (5, 2)];
    let (first_source, first_destination) = (9, 4);
    // The count, the capacity, and what is in memory, which may be more.
    let cases: [Case; 12] = [
        ("a list", 3, 3, good[..3].to_vec(), &[1, 4]),
        ("an empty list", 0, 4, good.to_vec(), &[1, 5]),
        (
            "no more than the count, though there is more",
            1,
            4,
            good.to_vec(),
            &[1, 9, 40],
        ),
        (
            "a count of the capacity and no more",
            3,
            3,
            good.to_vec(),
            &[2, 40],
        ),
        ("a count above the capacity", 4, 3, good.to_vec(), &[1, 3]),
        ("the greatest count", u32::MAX, 3, good.to_vec(), &[2]),
        ("no capacity", 1, 0, good.to_vec(), &[2]),
        (
            "the first source that is none",
            4,
            4,
            vec![(0, 0), (8, 2), (first_source, 1), (1, 3)],
            &[1, 3],
        ),
        (
            "the first destination that is none",
            4,
            4,
            vec![(0, 0), (5, first_destination), (8, 2), (1, 3)],
            &[1, 8],
        ),
        (
            "ids with all bits",
            3,
            4,
            vec![(u32::MAX, 0), (1, 1), (0, u32::MAX), (1, 2)],
            &[3],
        ),
        (
            "ids with the highest bit",
            2,
            2,
            vec![(1, 1), (0x8000_0000, 0x8000_0000)],
            &[2],
        ),
        (
            "several bad pairs",
            5,
            6,
            vec![(8, 0), (4, 4), (9, 9), (1, 1), (9, 0)],
            &[1, 2, 7, 40],
        ),
    ];
    let make = |(name, count, capacity, pairs, grids)| Shape {
        name,
        copy: copy(width),
        list: List {
            pairs,
            count,
            capacity,
        },
        grids,
    };
    cases.into_iter().map(make).collect()
}

fn copies(width: u64) -> Vec<Shape> {
    let chunk = CHUNK / width;
    let in_words = |words: &[u64]| words.iter().map(|words| words * width).collect::<Vec<_>>();
    let edges = in_words(&[1, 255, 256, 257, 511, 512, 513, 767, 768, 769, 1023]);
    let large = in_words(&[
        chunk - 1,
        2,
        2 * chunk,
        chunk,
        3,
        2 * chunk + 257,
        chunk + 1,
    ]);
    let many = in_words(&[1, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12]);
    vec![
        shape(
            "sizes around a round",
            Copy::blocks(&edges, (Apart, 3, width), (BlockFirst, 2, 3 * width)),
            &[(2, 0), (0, 1)],
            &[1, 5],
        ),
        shape(
            "sizes around a chunk",
            Copy::blocks(&large, (BlockFirst, 2, width), (Apart, 3, 0)),
            &[(1, 2), (0, 0)],
            &[2, 30],
        ),
        shape(
            "one plane of one word",
            Copy::blocks(&[width], (Apart, 70, 0), (Apart, 70, width)),
            &[(69, 1), (0, 69), (3, 3)],
            &[1, 2, 100],
        ),
        shape(
            "many small planes",
            Copy::blocks(&many, (Apart, 3, 0), (Apart, 3, width)),
            &[(0, 2), (1, 0), (2, 1)],
            &[3, 13, 14, 26, 39],
        ),
        shape(
            "two planes",
            Copy::blocks(&in_words(&[3, 2]), (Apart, 3, 0), (BlockFirst, 3, width)),
            &[(0, 2), (2, 1)],
            &[1, 2],
        ),
        shape(
            "the first chunk of 4 GiB",
            Copy::first_of_many(width),
            &[(0, 1), (1, 0)],
            &[1, 3],
        ),
        shape(
            "a chunk behind 4 GiB",
            Copy::last_of_many(width),
            &[(1, 0), (0, 1)],
            &[1, 3],
        ),
        shape(
            "no planes",
            Copy::blocks(&[], (Apart, 3, 16), (Apart, 3, 16)),
            &[(0, 1), (1, 0)],
            &[1, 3],
        ),
    ]
}

fn permutations(width: u64) -> Vec<Shape> {
    let width32 = u32::try_from(width).expect("a small width");
    let tile = |heads_inner, parts, positions, heads, words: u32| Tile {
        heads_inner,
        parts,
        positions,
        heads,
        head_bytes: words * width32,
    };
    let all = |count| Heads {
        source_first: 0,
        destination_first: 0,
        count,
    };
    let (nhd, hnd) = (true, false);
    let chunk = u32::try_from(CHUNK / width).expect("a small chunk");
    let turned = |name, [parts, positions, heads, words]: [u32; 4], placing, gap, grids| {
        let tiles = [
            tile(nhd, parts, positions, heads, words),
            tile(hnd, parts, positions, heads, words),
        ];
        shape(
            name,
            Copy::tiles(2, tiles, all(heads), (placing, 2, gap), (Apart, 2, gap)),
            &[(1, 0), (0, 1)],
            grids,
        )
    };
    let back = |name, [parts, positions, heads, words]: [u32; 4], placing, gap, grids| {
        let tiles = [
            tile(hnd, parts, positions, heads, words),
            tile(nhd, parts, positions, heads, words),
        ];
        shape(
            name,
            Copy::tiles(2, tiles, all(heads), (placing, 2, gap), (Apart, 2, gap)),
            &[(0, 0), (1, 1)],
            grids,
        )
    };
    let one_chunk = {
        let tiles = [tile(nhd, 1, 3, 2, 2), tile(hnd, 1, 3, 2, 2)];
        let copy = Copy::tiles(1, tiles, all(2), (Apart, 2, 0), (Apart, 2, width));
        shape("one plane of one chunk", copy, &[(0, 1), (1, 0)], &[1, 2])
    };
    // Planes of two chunks each.
    let many = |planes| {
        let tiles = [tile(nhd, 1, 3, 4, chunk / 8), tile(hnd, 1, 3, 4, chunk / 8)];
        shape(
            "several planes",
            Copy::tiles(planes, tiles, all(4), (BlockFirst, 2, 0), (Apart, 2, width)),
            &[(1, 0)],
            &[3],
        )
    };
    let slice = |name, tiles: [Tile; 2], heads, grids| {
        shape(
            name,
            Copy::tiles(2, tiles, heads, (Apart, 2, width), (BlockFirst, 2, 0)),
            &[(1, 1), (0, 0)],
            grids,
        )
    };
    vec![
        turned("one word", [1, 1, 1, 1], Apart, width, &[1, 3]),
        one_chunk,
        // A thread goes on by 256 words: by whole parts, by a part and some, and by less than a run.
        turned("a part is 1 word", [2600, 1, 1, 1], Apart, 0, &[1]),
        turned(
            "a part is 2 x 3 words",
            [90, 2, 3, 1],
            BlockFirst,
            width,
            &[2],
        ),
        back(
            "a part is 3 x 5 x 7 words",
            [9, 3, 5, 7],
            Apart,
            width,
            &[1, 4],
        ),
        turned("runs of 255 words", [2, 2, 3, 255], Apart, 0, &[2]),
        back("runs of 256 words", [2, 3, 2, 256], BlockFirst, 0, &[2]),
        turned("runs of 257 words", [1, 3, 4, 257], Apart, width, &[2]),
        back(
            "runs of a chunk and a word",
            [1, 2, 2, chunk + 1],
            Apart,
            0,
            &[7],
        ),
        back("a part of a round", [1, 5, 4, 15], Apart, 0, &[1]),
        turned(
            "a block of a chunk",
            [2, 4, chunk / 64, 8],
            Apart,
            width,
            &[1, 4],
        ),
        back(
            "a block of a word more than a chunk",
            [1, 1, 1, chunk + 1],
            Apart,
            width,
            &[3],
        ),
        slice(
            "heads of a wide shard to a narrow one",
            [tile(nhd, 2, 6, 8, 5), tile(hnd, 2, 6, 2, 5)],
            Heads {
                source_first: 6,
                destination_first: 0,
                count: 2,
            },
            &[1, 2],
        ),
        slice(
            "heads of a narrow shard to a wide one",
            [tile(hnd, 2, 6, 2, 5), tile(nhd, 2, 6, 8, 5)],
            Heads {
                source_first: 0,
                destination_first: 4,
                count: 2,
            },
            &[2],
        ),
        slice(
            "heads in the same order",
            [tile(nhd, 2, 9, 4, 11), tile(nhd, 2, 9, 7, 11)],
            Heads {
                source_first: 1,
                destination_first: 3,
                count: 3,
            },
            &[3],
        ),
        many(5),
        many(3),
        shape(
            "a chunk behind 2^31 words",
            Copy::third_part(width),
            &[(1, 0), (0, 1)],
            &[1, 3],
        ),
        slice(
            "one head of one",
            [tile(nhd, 1, 37, 1, 41), tile(hnd, 1, 37, 1, 41)],
            all(1),
            &[2],
        ),
    ]
}
