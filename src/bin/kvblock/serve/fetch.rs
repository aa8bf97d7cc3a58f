//! Transfers: prompts whose first blocks come from a store, filled by several writers while the engine serves others.
//!
//! The parts of a transfer, a writer's of a block, arrive in an order that the seed gives, so many blocks' worth a step for all
//! transfers together, the oldest first. Of those that are aborted, half lose their request amid the load and half a writer. What the
//! writers have not answered for by then they answer some steps later, and its blocks are held until then.

use alloc::vec::Vec;

use kvblock::{Handle, Import};
use serde::Serialize;

use super::draw::{Purpose, between, draw};
use super::settings::FetchSettings;
use crate::failure::{Failure, cannot_fail};

/// Steps after which late writers answer, at most.
const LATEST: u64 = 8;

/// What the seed has in store for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    /// Its request is cancelled when half of it is there.
    Cancelled,
    /// A writer fails when half of it is there, and the engine computes the rest.
    Fails,
}

impl Fate {
    /// The fate of the request at `index`, if it is fetched at all.
    pub(crate) fn of(settings: &FetchSettings, seed: u64, index: u64) -> Option<Self> {
        let word = |purpose| draw(seed, purpose, [index, 0, 0]);
        if !settings.share.contains(word(Purpose::Fetch)) {
            return None;
        }
        Some(if !settings.aborted.contains(word(Purpose::Abort)) {
            Self::Arrives
        } else if word(Purpose::AbortKind) & 1 == 0 {
            Self::Cancelled
        } else {
            Self::Fails
        })
    }
}

/// What transfers came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct FetchFigures {
    /// Fetched requests all of whose blocks were found here.
    #[serde(rename = "transfers_not_needed")]
    pub(crate) not_needed: u64,
    /// The sum of the next three.
    #[serde(rename = "transfers_begun")]
    pub(crate) begun: u64,
    #[serde(rename = "transfers_completed")]
    pub(crate) completed: u64,
    /// A writer failed, and the engine computed the rest.
    #[serde(rename = "transfers_failed")]
    pub(crate) failed: u64,
    /// The request was cancelled or lost its memory amid the load.
    #[serde(rename = "transfers_aborted")]
    pub(crate) aborted: u64,
    /// Blocks that were loaded whole while somebody waited for them.
    pub(crate) loaded_blocks: u64,
    /// Positions that arrived and were not computed.
    pub(crate) loaded_tokens: u64,
    /// The most blocks at a time that late writers might touch.
    pub(crate) late_most: usize,
    /// Steps that computed nothing, and only waited for transfers.
    pub(crate) load_steps: u64,
    /// Steps in which a sequence had no memory to compute instead of its writer.
    pub(crate) renewals_refused: u64,
}

impl FetchFigures {
    /// Adds those of another engine.
    pub(crate) fn add(&mut self, other: &Self) {
        self.not_needed += other.not_needed;
        self.begun += other.begun;
        self.completed += other.completed;
        self.failed += other.failed;
        self.aborted += other.aborted;
        self.loaded_blocks += other.loaded_blocks;
        self.loaded_tokens += other.loaded_tokens;
        self.late_most = self.late_most.max(other.late_most);
        self.load_steps += other.load_steps;
        self.renewals_refused += other.renewals_refused;
    }
}

/// What a step has brought to a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Complete(Handle),
    /// The writers go on, and nobody wants it any more.
    Cancel(Handle),
    /// A writer failed.
    Fallback(Handle),
}

#[derive(Debug)]
struct Transfer {
    handle: Handle,
    /// One for each shard: they are filled alike.
    imports: Vec<Import>,
    fate: Fate,
    /// Parts to come: a writer's of a block, the next one last.
    parts: Vec<(usize, usize)>,
    /// Parts that each block lacks.
    lacks: Vec<usize>,
    /// Parts that are left when its fate comes.
    half: usize,
    /// Steps until the writers answer of what nobody wants.
    delay: u64,
    late: bool,
}

/// All transfers under way, the oldest first.
#[derive(Debug)]
pub(crate) struct Fetches {
    settings: FetchSettings,
    seed: u64,
    transfers: Vec<Transfer>,
    news: Vec<News>,
    pub(crate) figures: FetchFigures,
}

impl Fetches {
    pub(crate) const fn new(settings: FetchSettings, seed: u64) -> Self {
        Self {
            settings,
            seed,
            transfers: Vec::new(),
            news: Vec::new(),
            figures: FetchFigures {
                not_needed: 0,
                begun: 0,
                completed: 0,
                failed: 0,
                aborted: 0,
                loaded_blocks: 0,
                loaded_tokens: 0,
                late_most: 0,
                load_steps: 0,
                renewals_refused: 0,
            },
        }
    }

    /// Who fills the blocks of a transfer.
    pub(crate) const fn writers(&self) -> usize {
        self.settings.writers
    }

    /// Whether some writer has not answered.
    pub(crate) fn is_under_way(&self) -> bool {
        !self.transfers.is_empty()
    }

    /// Blocks that writers may touch: all of them, and those that nobody wants any more.
    pub(crate) fn blocks(&self) -> (usize, usize) {
        let left = |late_only: bool| {
            let those = self.transfers.iter().filter(|it| it.late || !late_only);
            those.map(Transfer::left).sum()
        };
        (left(false), left(true))
    }

    /// Blocks of one shard that writers may touch and nobody wants any more.
    pub(crate) fn late(&self, shard: usize) -> usize {
        let late = self.transfers.iter().filter(|it| it.late);
        let of_shard = late.filter_map(|it| it.imports.get(shard));
        of_shard.map(Import::left).sum()
    }

    /// A load begins; false if there is nothing to load.
    pub(crate) fn begin(
        &mut self,
        handle: Handle,
        imports: Vec<Import>,
        request: u64,
        fate: Fate,
    ) -> bool {
        let blocks = imports.first().map_or(0, |it| it.ids().len());
        if blocks == 0 {
            self.figures.not_needed += 1;
            return false;
        }
        let writers = self.settings.writers;
        let mut parts: Vec<_> = (0..blocks)
            .flat_map(|block| (0..writers).map(move |writer| (writer, block)))
            .collect();
        for at in (1..parts.len()).rev() {
            let word = draw(self.seed, Purpose::ArrivalOrder, [request, at as u64, 0]);
            let other = usize::try_from(between(word, 0, at as u64 + 1)).unwrap_or(at);
            parts.swap(at, other);
        }
        let delay = draw(self.seed, Purpose::Late, [request, 0, 0]);
        self.figures.begun += 1;
        self.transfers.push(Transfer {
            handle,
            imports,
            fate,
            half: parts.len() / 2,
            parts,
            lacks: alloc::vec![writers; blocks],
            delay: between(delay, 1, LATEST + 1),
            late: false,
        });
        true
    }

    /// The sequence is gone: what its writers still write is unwanted.
    pub(crate) fn give_up(&mut self, handle: Handle) {
        let wanted = |it: &&mut Transfer| it.handle == handle && !it.late;
        if let Some(transfer) = self.transfers.iter_mut().find(wanted) {
            transfer.late = true;
            self.figures.aborted += 1;
        }
    }

    /// A step passes: parts arrive, fates come, late writers answer. Gives what that brings.
    pub(crate) fn step(&mut self) -> Result<&[News], Failure> {
        self.news.clear();
        self.figures.late_most = self.figures.late_most.max(self.blocks().1);
        let mut left = self.settings.rate.saturating_mul(self.settings.writers);
        for transfer in &mut self.transfers {
            if transfer.late {
                transfer.delay -= 1;
                if transfer.delay == 0 {
                    transfer.answer_late()?;
                }
                continue;
            }
            if let Some(news) = transfer.load(&mut left, &mut self.figures)? {
                self.news.push(news);
            }
        }
        self.transfers.retain(|transfer| !transfer.is_settled());
        Ok(&self.news)
    }

    /// Waits for all that nobody wants; false if there was none.
    pub(crate) fn wait_for_late(&mut self) -> Result<bool, Failure> {
        let mut waited = false;
        for transfer in self.transfers.iter_mut().filter(|it| it.late) {
            transfer.answer_late()?;
            waited = true;
        }
        self.transfers.retain(|transfer| !transfer.is_settled());
        Ok(waited)
    }
}

impl Transfer {
    /// Takes its parts of what arrives in a step.
    fn load(
        &mut self,
        left: &mut usize,
        figures: &mut FetchFigures,
    ) -> Result<Option<News>, Failure> {
        let ends_at = match self.fate {
            Fate::Arrives => 0,
            Fate::Cancelled | Fate::Fails => self.half.max(1),
        };
        while *left > 0 && self.parts.len() > ends_at {
            let Some((writer, block)) = self.parts.pop() else {
                break;
            };
            *left -= 1;
            self.arrived(writer, block)?;
            self.lacks[block] -= 1;
            figures.loaded_blocks += u64::from(self.lacks[block] == 0);
        }
        if self.parts.len() > ends_at {
            return Ok(None);
        }
        Ok(Some(match self.fate {
            Fate::Arrives => {
                figures.completed += 1;
                News::Complete(self.handle)
            }
            Fate::Cancelled => News::Cancel(self.handle),
            Fate::Fails => {
                figures.failed += 1;
                self.late = true;
                if let Some((writer, _)) = self.parts.pop() {
                    for import in &self.imports {
                        import.end(writer).map_err(cannot_fail("end"))?;
                    }
                    self.parts.retain(|part| part.0 != writer);
                }
                News::Fallback(self.handle)
            }
        }))
    }

    /// The writers answer of all that is left.
    fn answer_late(&mut self) -> Result<(), Failure> {
        for (writer, block) in core::mem::take(&mut self.parts) {
            self.arrived(writer, block)?;
        }
        Ok(())
    }

    /// A writer has written its part of a block, on every shard.
    fn arrived(&self, writer: usize, block: usize) -> Result<(), Failure> {
        for import in &self.imports {
            import
                .arrived(writer, block..block + 1)
                .map_err(cannot_fail("arrived"))?;
        }
        Ok(())
    }

    /// Blocks that some writer may touch, on all shards.
    fn left(&self) -> usize {
        self.imports.iter().map(Import::left).sum()
    }

    fn is_settled(&self) -> bool {
        self.imports.iter().all(Import::is_settled)
    }
}
