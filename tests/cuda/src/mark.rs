//! Marks of one launch: which thread read or wrote a byte.
//!
//! Two threads of a launch that touch a byte, one of them writing, with no barrier between them, are a race. What is
//! marked at the end is what the launch read and wrote, for races between launches and copies.
//!
//! ```text
//!  63       62                31 30               11 10        0
//! +--------+--------------------+-------------------+-----------+
//! | atomic |  block number + 1  |  barriers passed  |  thread   |
//! +--------+--------------------+-------------------+-----------+
//! ```
//! 0 is no mark; a block of all ones stands for several blocks, a thread of all ones for several threads of the block.

use core::fmt;

/// A thread of a launch between two barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

const THREADS: u64 = 0x7ff;
const BARRIERS: u64 = 0xf_ffff;
const BLOCKS: u64 = 0xffff_ffff;

impl Mark {
    pub(crate) fn new(block: u64, barriers: u64, thread: u64, atomic: bool) -> Self {
        Self(
            (u64::from(atomic) << 63)
                | ((block + 1) & BLOCKS) << 31
                | (barriers & BARRIERS) << 11
                | (thread & THREADS),
        )
    }

    fn atomic(self) -> bool {
        self.0 >> 63 == 1
    }

    pub(crate) fn block(self) -> u64 {
        (self.0 >> 31) & BLOCKS
    }

    fn barriers(self) -> u64 {
        (self.0 >> 11) & BARRIERS
    }

    pub(crate) fn thread(self) -> u64 {
        self.0 & THREADS
    }

    fn several_blocks(self) -> Self {
        Self(self.0 | BLOCKS << 31)
    }

    fn several_threads(self) -> Self {
        Self(self.0 | THREADS)
    }

    /// Whether nothing orders the two.
    fn races(self, other: Self) -> bool {
        if self.atomic() && other.atomic() {
            return false;
        }
        if self.block() != other.block() {
            return true;
        }
        self.barriers() == other.barriers() && self.thread() != other.thread()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.block(), self.thread()) {
            (BLOCKS, _) => write!(f, "threads of several blocks"),
            (block, THREADS) => write!(f, "several threads of block {}", block - 1),
            (block, thread) => write!(f, "thread {thread} of block {}", block - 1),
        }
    }
}

/// Marks of a range of memory, made page by page. Pages are in groups, so that the list is short where memory is large.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    groups: Vec<Option<Box<Group>>>,
}

/// The pages of 256 KiB.
#[derive(Debug)]
struct Group([Option<Box<Page>>; Group::PAGES]);

impl Group {
    const PAGES: usize = 256;

    fn new() -> Box<Self> {
        Box::new(Self([const { None }; Self::PAGES]))
    }
}

impl Marks {
    /// Marks an access, aligned and of at most 32 bytes; answers the mark that it races with, and the page if it is new.
    #[inline]
    pub(crate) fn access(
        &mut self,
        offset: usize,
        bytes: usize,
        mark: Mark,
        write: bool,
    ) -> (Option<Mark>, Option<usize>) {
        let number = offset / Page::BYTES;
        let group = number / Group::PAGES;
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, || None);
        }
        let group = self.groups[group].get_or_insert_with(Group::new);
        let mut new = None;
        let page = group.0[number % Group::PAGES].get_or_insert_with(|| {
            new = Some(number);
            Page::new()
        });
        (page.access(offset % Page::BYTES, bytes, mark, write), new)
    }

    /// Takes the marks of a page away: its reads and its writes, as ranges of addresses.
    pub(crate) fn take(
        &mut self,
        number: usize,
        base: u64,
        reads: &mut Vec<(u64, u64)>,
        writes: &mut Vec<(u64, u64)>,
    ) {
        let group = self.groups.get_mut(number / Group::PAGES);
        let group = group.and_then(Option::as_mut);
        if let Some(page) = group.and_then(|group| group.0[number % Group::PAGES].take()) {
            let base = base + (number * Page::BYTES) as u64;
            collect(&page.read, base, reads);
            collect(&page.written, base, writes);
        }
    }
}

/// Marks of [`Page::BYTES`] bytes.
#[derive(Debug)]
struct Page {
    read: [u64; Page::BYTES],
    written: [u64; Page::BYTES],
}

impl Page {
    const BYTES: usize = 1024;

    fn new() -> Box<Self> {
        Box::new(Self {
            read: [0; Self::BYTES],
            written: [0; Self::BYTES],
        })
    }

    fn access(&mut self, start: usize, bytes: usize, mark: Mark, write: bool) -> Option<Mark> {
        let mut found = None;
        for at in start..start + bytes {
            let writer = Mark(self.written[at]);
            if writer.0 != 0 && writer.races(mark) {
                found = Some(writer);
            }
            let reader = Mark(self.read[at]);
            if write {
                if reader.0 != 0 && reader.races(mark) {
                    found = Some(reader);
                }
                self.written[at] = mark.0;
            } else {
                self.read[at] = joined(reader, mark).0;
            }
        }
        found
    }
}

/// The readers of a byte after another one came: none that a later writer could race with is forgotten.
fn joined(readers: Mark, mark: Mark) -> Mark {
    if readers.0 == 0 || readers == mark {
        mark
    } else if readers.block() != mark.block() {
        readers.several_blocks()
    } else if readers.barriers() == mark.barriers() {
        readers.several_threads()
    } else {
        mark
    }
}

fn collect(marks: &[u64], base: u64, ranges: &mut Vec<(u64, u64)>) {
    let mut at = 0;
    while at < marks.len() {
        if marks[at] == 0 {
            at += 1;
            continue;
        }
        let start = at;
        while at < marks.len() && marks[at] != 0 {
            at += 1;
        }
        add_range(ranges, base + start as u64, base + at as u64);
    }
}

/// Adds a range behind the others, or lengthens the last one.
pub(crate) fn add_range(ranges: &mut Vec<(u64, u64)>, start: u64, end: u64) {
    match ranges.last_mut() {
        Some(last) if last.1 == start => last.1 = end,
        _ => ranges.push((start, end)),
    }
}
