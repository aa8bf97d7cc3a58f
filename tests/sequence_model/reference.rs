//! The plain sequential model of one registry of sequences over the pool's model: vectors and maps, written from the documentation and
//! sharing no code with the crate. Whatever it holds of the pool, it holds by the calls of the pool's model.

use core::ops::Range;
use std::collections::BTreeMap;

use std::rc::Rc;

use crate::lanes::Waiting;
use crate::reference::{
    self, Hand, Line, Model, Outcome, Page, Part, Question, Refusal, Stop, Text, WrongLength,
};
use crate::traffic::Import;
use crate::transit::{Hindrance, Transit};

/// A sequence's name in the model; never used twice.
pub(crate) type Name = u64;
/// A ticket's name in the model.
pub(crate) type TicketName = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    Cap(usize),
    Ahead(usize),
    OnDemand,
}

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Stale,
    Refused(Refusal),
    CopyPending,
    CapReached {
        cap: usize,
        asked: usize,
    },
    NotNext {
        at: usize,
        known: usize,
    },
    Beyond {
        asked: usize,
        positions: usize,
    },
    Length(WrongLength),
    TooManySequences {
        max: usize,
    },
    TooShort {
        needed: usize,
        got: usize,
    },
    OutOfRange {
        block: u32,
        capacity: usize,
    },
    InTransit(Hindrance),
    WrongPool,
    OwnerTaken {
        owner: u64,
    },
    AlreadyOver {
        deadline: u64,
        now: u64,
    },
    OverBudget {
        needed: usize,
        left: usize,
    },
    LeaseEnded,
    TooManyWriters {
        asked: usize,
    },
    Incompatible,
    OtherNamespace,
    UnknownFormat,
    SourceTaken,
    TooManyBytes {
        asked: u64,
        in_flight: u64,
        max: u64,
    },
    NotArrived {
        arrived: usize,
        expected: usize,
        left: usize,
    },
    MoveAborted,
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<WrongLength> for Fault {
    fn from(wrong: WrongLength) -> Self {
        Self::Length(wrong)
    }
}

/// What an admission asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) question: Question<'a>,
    pub(crate) growth: Growth,
    pub(crate) conservative: bool,
    pub(crate) insert: bool,
    pub(crate) returning: bool,
    pub(crate) label: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) blocks: usize,
    pub(crate) hit_held: usize,
    pub(crate) hit_idle: usize,
    pub(crate) fresh: usize,
    pub(crate) promised: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) positions: usize,
}

/// What an append did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grown {
    pub(crate) slots: Vec<i64>,
    pub(crate) copies: Vec<(TicketName, Copy)>,
    pub(crate) fresh: Vec<u32>,
    /// Entry of the table, block.
    pub(crate) changes: Vec<(usize, u32)>,
}

/// A copy that has been asked for and not been reported done.
#[derive(Clone, Debug)]
struct Ticket {
    copy: Copy,
    /// What it holds: the source's published path from the root, if it has one, then the source.
    path: Vec<u32>,
    /// Whose tail the destination is.
    owner: Name,
}

/// Requests, their prompts' positions, and those that were hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) requests: u64,
    pub(crate) queried: u64,
    pub(crate) hit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) positions: usize,
    pub(crate) known: usize,
    pub(crate) computed: usize,
    pub(crate) published: usize,
    pub(crate) blocks: usize,
    pub(crate) promised: usize,
    pub(crate) label: u64,
    pub(crate) growth: Growth,
}

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) pool: reference::Figures,
    pub(crate) sequences: usize,
    pub(crate) max_sequences: usize,
    pub(crate) held_blocks: usize,
    pub(crate) table_entries: usize,
    pub(crate) shared_entries: usize,
    pub(crate) promised: usize,
    pub(crate) positions: usize,
    pub(crate) used_positions: usize,
    pub(crate) unused_positions: usize,
    pub(crate) pending_copies: usize,
    pub(crate) loading: usize,
    pub(crate) duplicated: usize,
    pub(crate) physical: usize,
    pub(crate) conservative: usize,
    pub(crate) watermark: usize,
    pub(crate) first: Reads,
    pub(crate) returned: Reads,
    pub(crate) preemptions: u64,
    pub(crate) refused_appends: u64,
    pub(crate) copies: u64,
    pub(crate) imports: u64,
    pub(crate) exports: u64,
    pub(crate) adopted: u64,
    pub(crate) unpublished: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) line: Line,
    pub(crate) tokens: Vec<u32>,
    /// One for each block that is full and known.
    pub(crate) extra: Vec<u128>,
    pub(crate) positions: usize,
    pub(crate) computed: usize,
    pub(crate) growth: Growth,
    /// The most positions in all.
    pub(crate) cap: usize,
    /// Credits for blocks to come.
    pub(crate) promise: usize,
    /// A credit for the copy of its tail.
    pub(crate) copy_credit: bool,
    pub(crate) conservative: bool,
    pub(crate) insert: bool,
    /// It publishes no further.
    pub(crate) ended: bool,
    /// Whether its blocks come with chain keys.
    pub(crate) keyed: Option<bool>,
    pub(crate) label: u64,
    /// Entries of the table from here on changed since it was last read.
    pub(crate) changed_from: usize,
    /// What is in its partial tail behind the copied or hit part was written by this sequence, and nobody joined since.
    pub(crate) open: bool,
    pub(crate) transit: Transit,
}

impl Sequence {
    pub(crate) fn known(&self) -> usize {
        self.tokens.len()
    }

    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    pub(crate) fn table(&self) -> &[u32] {
        &self.line.table
    }

    pub(crate) fn label(&self) -> u64 {
        self.label
    }

    /// Its namespace.
    pub(crate) fn space(&self) -> u8 {
        self.line.name
    }

    /// The pages of its whole known blocks, if these tokens were told too.
    pub(crate) fn pages(&self, more: &[u32], extra: &[u128], block_size: usize) -> Vec<Page> {
        let tokens: Vec<u32> = self.tokens.iter().chain(more).copied().collect();
        let extra: Vec<u128> = self.extra.iter().chain(extra).copied().collect();
        let pages = tokens.chunks_exact(block_size).enumerate();
        pages
            .map(|(at, tokens)| Page {
                tokens: tokens.to_vec(),
                extra: extra.get(at).copied().unwrap_or(0),
            })
            .collect()
    }

    fn credits(&self) -> usize {
        self.promise + usize::from(self.copy_credit)
    }

    fn committed(&self) -> usize {
        self.line.table.len() + self.credits()
    }

    /// Gives everything back.
    pub(crate) fn give_back(mut self, pool: &mut Model) {
        let line = core::mem::replace(&mut self.line, Line::new(0));
        pool.release(line);
        self.leave(pool);
    }

    /// Gives everything back, the blocks when a fence has passed.
    pub(crate) fn give_back_after(mut self, pool: &mut Model, lane: &mut Waiting, fence: u64) {
        let all = 0..self.line.table.len();
        lane.release(pool, fence, self.line.references(all));
        self.leave(pool);
    }

    fn leave(&mut self, pool: &mut Model) {
        self.leave_transit(pool);
        pool.give_back(self.credits());
    }
}

/// The registry's twin.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    pub(crate) block_size: usize,
    max: usize,
    watermark: usize,
    /// The pool keeps digests of tokens.
    pub(crate) digests: bool,
    pub(crate) hand: Hand,
    pub(crate) sequences: BTreeMap<Name, Sequence>,
    tickets: BTreeMap<TicketName, Ticket>,
    next: u64,
    pub(crate) first: Reads,
    pub(crate) returned: Reads,
    pub(crate) preemptions: u64,
    pub(crate) refused_appends: u64,
    pub(crate) copies: u64,
    pub(crate) imports: u64,
    pub(crate) exports: u64,
    pub(crate) adopted: u64,
    /// Sequences whose publishing ended.
    pub(crate) unpublished: u64,
    /// It knows how blocks are laid out.
    pub(crate) formatted: bool,
    /// Imports that it began.
    pub(crate) loads: Vec<Rc<Import>>,
    /// Exports that it began.
    pub(crate) exported: Vec<Rc<crate::traffic::Export>>,
}

/// What a table is to be long enough for.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// So many positions more.
    Append(usize),
    /// So many positions in all, which are not appended yet.
    Cover(usize),
}

#[derive(Clone, Copy, Debug)]
struct Need {
    /// Positions afterwards.
    end: usize,
    /// Entries that the table gets.
    entries: usize,
    /// The tail is replaced by a copy.
    copy: bool,
    /// Entries that the promise pays.
    promised: usize,
    /// Blocks that must be available.
    unpaid: usize,
}

impl Registry {
    /// Names begin behind `first`.
    pub(crate) fn new(
        first: Name,
        block_size: usize,
        max: usize,
        watermark: usize,
        digests: bool,
        formatted: bool,
    ) -> Self {
        Self {
            block_size,
            max,
            watermark,
            digests,
            // The pools are small.
            hand: Hand::new(0),
            sequences: BTreeMap::new(),
            tickets: BTreeMap::new(),
            exported: Vec::new(),
            next: first,
            first: Reads::default(),
            returned: Reads::default(),
            preemptions: 0,
            refused_appends: 0,
            copies: 0,
            imports: 0,
            exports: 0,
            adopted: 0,
            unpublished: 0,
            formatted,
            loads: Vec::new(),
        }
    }

    fn draw(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn get(&self, name: Name) -> Result<&Sequence, Fault> {
        self.sequences.get(&name).ok_or(Fault::Stale)
    }

    pub(crate) fn get_mut(&mut self, name: Name) -> Result<&mut Sequence, Fault> {
        self.sequences.get_mut(&name).ok_or(Fault::Stale)
    }

    /// What a conservative budget counts.
    fn committed(&self) -> usize {
        self.sequences.values().map(Sequence::committed).sum()
    }

    pub(crate) fn is_pending(&self, ticket: TicketName) -> bool {
        self.tickets.contains_key(&ticket)
    }

    /// Whether a pending copy goes into one of these.
    pub(crate) fn copies_into(&self, table: &[u32]) -> bool {
        let mut copies = self.tickets.values();
        copies.any(|ticket| table.contains(&ticket.copy.dst))
    }

    pub(crate) fn pending(&self) -> usize {
        self.tickets.len()
    }

    /// Whose copy it is.
    pub(crate) fn owner(&self, ticket: TicketName) -> Option<Name> {
        self.tickets.get(&ticket).map(|ticket| ticket.owner)
    }

    // ---- admission

    pub(crate) fn check(&self, pool: &Model, asking: &Asking<'_>) -> Result<Cost, Fault> {
        let seen = pool.probe(&asking.question)?;
        let length = asking.question.tokens.len();
        let blocks = length.div_ceil(self.block_size);
        let promised = match asking.growth {
            Growth::Cap(positions) => {
                length.saturating_add(positions).div_ceil(self.block_size) - blocks
            }
            Growth::Ahead(blocks) => blocks,
            Growth::OnDemand => 0,
        };
        let cost = Cost {
            blocks,
            hit_held: seen.held,
            hit_idle: seen.idle,
            fresh: blocks - seen.held - seen.idle,
            promised,
        };
        let whole = blocks.saturating_add(promised);
        // What never fits is not said to wait for a slot.
        self.within_budget(pool, whole, false)?;
        self.room(1)?;
        self.within_budget(pool, whole, asking.conservative)?;
        let needed = cost.fresh + promised + seen.idle;
        let available = pool.available().saturating_sub(self.watermark);
        if needed > available {
            return Err(pool.shortfall(needed, available).into());
        }
        Ok(cost)
    }

    fn room(&self, n: usize) -> Result<(), Fault> {
        if self.sequences.len() + n > self.max {
            return Err(Fault::TooManySequences { max: self.max });
        }
        Ok(())
    }

    /// Whether a need in all is within the capacity, and beside all that is committed if it is to be.
    fn within_budget(&self, pool: &Model, needed: usize, conservative: bool) -> Result<(), Fault> {
        let capacity = pool.capacity().saturating_sub(self.watermark);
        if needed > capacity {
            return Err(Refusal::Never { needed, capacity }.into());
        }
        let available = capacity.saturating_sub(self.committed());
        if conservative && needed > available {
            return Err(pool.shortfall(needed, available).into());
        }
        Ok(())
    }

    /// The same, and a refusal is counted.
    pub(crate) fn check_counted(
        &self,
        pool: &mut Model,
        asking: &Asking<'_>,
    ) -> Result<Cost, Fault> {
        self.check(pool, asking).inspect_err(|fault| {
            if let Fault::Refused(refusal) = *fault {
                pool.count_refusal(refusal);
            }
        })
    }

    pub(crate) fn admit(
        &mut self,
        pool: &mut Model,
        asking: &Asking<'_>,
    ) -> Result<(Name, usize, usize), Fault> {
        let cost = self.check_counted(pool, asking)?;
        let Question { tokens, extra, .. } = asking.question;
        pool.set_aside(cost.hit_idle + cost.fresh + cost.promised);
        let mut promise = cost.hit_idle + cost.fresh;
        let mut line = pool.find(&mut self.hand, &asking.question, &mut promise)?;
        let hit = line.table.len();
        assert_eq!(
            hit,
            cost.hit_held + cost.hit_idle,
            "the walk found what it saw"
        );
        let fresh = pool
            .take(&mut self.hand, &mut promise, cost.fresh)
            .expect("it was set aside");
        line.table.extend(fresh);
        assert_eq!(promise, 0, "all was spent");

        let reads = if asking.returning {
            &mut self.returned
        } else {
            &mut self.first
        };
        reads.requests += 1;
        reads.queried += count(tokens.len());
        reads.hit += count(hit * self.block_size);

        let whole = tokens.len() / self.block_size;
        let mut extra = extra.to_vec();
        extra.resize(whole, 0);
        let blocks = line.table.len();
        let sequence = Sequence {
            line,
            tokens: tokens.to_vec(),
            extra,
            positions: tokens.len(),
            computed: hit * self.block_size,
            growth: asking.growth,
            cap: match asking.growth {
                Growth::Cap(positions) => tokens.len().saturating_add(positions),
                Growth::Ahead(_) | Growth::OnDemand => usize::MAX,
            },
            promise: cost.promised,
            copy_credit: false,
            conservative: asking.conservative,
            insert: asking.insert,
            ended: false,
            keyed: (whole > 0).then_some(asking.question.keys > 0),
            label: asking.label,
            changed_from: 0,
            open: true,
            transit: Transit::None,
        };
        let name = self.draw();
        self.sequences.insert(name, sequence);
        Ok((name, hit * self.block_size, blocks - hit))
    }

    // ---- growth

    /// Whether nobody refers to a block but one sequence, and pending copies into it that end before an offset.
    pub(crate) fn is_alone_from(&self, pool: &Model, id: u32, offset: usize) -> bool {
        let into = self.tickets.values().filter(|ticket| {
            let copy = ticket.copy;
            copy.dst == id && copy.positions <= offset
        });
        !pool.is_published(id) && pool.references(id) == 1 + into.count()
    }

    /// Whether the next position would be written into a block that others refer to.
    fn must_copy(&self, pool: &Model, sequence: &Sequence) -> bool {
        let at = sequence.positions / self.block_size;
        sequence.positions % self.block_size != 0
            && !sequence.open
            && !self.is_alone_from(
                pool,
                sequence.line.table[at],
                sequence.positions % self.block_size,
            )
    }

    fn need(&self, pool: &Model, name: Name, until: Until) -> Result<Need, Fault> {
        let sequence = self.get(name)?;
        let (end, reach) = match until {
            Until::Append(n) => {
                let end = sequence.positions.saturating_add(n);
                (end, end)
            }
            Until::Cover(positions) => (sequence.positions, positions.max(sequence.positions)),
        };
        if reach > sequence.positions {
            sequence.check_growth()?;
        }
        if reach > sequence.cap {
            return Err(Fault::CapReached {
                cap: sequence.cap,
                asked: reach,
            });
        }
        let blocks = match until {
            Until::Append(n) => blocks_of(sequence.positions, n, self.block_size),
            Until::Cover(_) => blocks_of(reach, 0, self.block_size),
        };
        if blocks > pool.capacity() {
            return Err(Refusal::Never {
                needed: blocks,
                capacity: pool.capacity(),
            }
            .into());
        }
        let entries = blocks.saturating_sub(sequence.line.table.len());
        let copy = end > sequence.positions && self.must_copy(pool, sequence);
        if copy {
            sequence.check_loaded(self.block_size)?;
        }
        let promised = entries.min(sequence.promise);
        let need = Need {
            end,
            entries,
            copy,
            promised,
            unpaid: entries - promised + usize::from(copy && !sequence.copy_credit),
        };
        if need.unpaid > pool.available() {
            return Err(pool.shortfall(need.unpaid, pool.available()).into());
        }
        Ok(need)
    }

    pub(crate) fn check_append(&self, pool: &Model, name: Name, n: usize) -> Result<usize, Fault> {
        let need = self.need(pool, name, Until::Append(n))?;
        Ok(need.entries + usize::from(need.copy))
    }

    pub(crate) fn append(
        &mut self,
        pool: &mut Model,
        name: Name,
        n: usize,
    ) -> Result<Grown, Fault> {
        self.extend(pool, name, Until::Append(n))
    }

    pub(crate) fn ensure(
        &mut self,
        pool: &mut Model,
        name: Name,
        positions: usize,
    ) -> Result<Grown, Fault> {
        self.extend(pool, name, Until::Cover(positions))
    }

    fn extend(&mut self, pool: &mut Model, name: Name, until: Until) -> Result<Grown, Fault> {
        let need = self.need(pool, name, until).inspect_err(|fault| {
            if let Fault::Refused(refusal) = *fault {
                self.refused_appends += 1;
                pool.count_refusal(refusal);
            }
        })?;
        let size = self.block_size;
        let blocks = need.entries + usize::from(need.copy);
        let sequence = self.sequences.get_mut(&name).expect("it was found");
        // A standing promise is made up to its size again at each border, as far as there is room.
        let missing = match sequence.growth {
            Growth::Ahead(standing) if need.entries > 0 => {
                standing - (sequence.promise - need.promised)
            }
            _ => 0,
        };
        sequence.promise -= need.promised;
        pool.set_aside(need.unpaid);
        let made_up = missing.min(pool.available());
        pool.set_aside(made_up);
        sequence.promise += made_up;
        let mut credits = blocks;
        let mut taken = pool
            .take(&mut self.hand, &mut credits, blocks)
            .expect("it was set aside");
        let mut grown = Grown {
            fresh: taken.clone(),
            ..Grown::default()
        };
        let tail = sequence.positions / size;
        let mut ticket = None;
        if need.copy {
            sequence.copy_credit = false;
            let dst = taken.remove(0);
            let src = core::mem::replace(&mut sequence.line.table[tail], dst);
            let mut path = pool.path_to(src);
            // The table's own reference of the source goes to the ticket.
            path.pop();
            pool.hold_again(&path);
            pool.hold_again(&[dst]);
            path.push(src);
            let copy = Copy {
                src,
                dst,
                positions: sequence.positions % size,
            };
            ticket = Some(Ticket {
                copy,
                path,
                owner: name,
            });
            grown.changes.push((tail, dst));
            sequence.changed_from = sequence.changed_from.min(tail);
        }
        if !taken.is_empty() {
            let before = sequence.line.table.len();
            sequence.changed_from = sequence.changed_from.min(before);
            grown
                .changes
                .extend(taken.iter().enumerate().map(|(at, &id)| (before + at, id)));
            sequence.line.table.extend(taken);
        }
        for position in sequence.positions..need.end {
            grown.slots.push(slot(&sequence.line.table, position, size));
        }
        if need.end > sequence.positions {
            sequence.open = true;
            sequence.positions = need.end;
            if sequence.copy_credit {
                // Its tail is its own again, so that nothing is to be copied.
                sequence.copy_credit = false;
                pool.give_back(1);
            }
        }
        if let Some(ticket) = ticket {
            let copy = ticket.copy;
            self.copies += 1;
            let ticket_name = self.draw();
            self.tickets.insert(ticket_name, ticket);
            grown.copies.push((ticket_name, copy));
        }
        Ok(grown)
    }

    // ---- what is known and computed

    pub(crate) fn tokens(
        &mut self,
        pool: &mut Model,
        name: Name,
        at: usize,
        text: &Text<'_>,
        full_at: Option<usize>,
    ) -> Result<(), Fault> {
        let size = self.block_size;
        let sequence = self.get_mut(name)?;
        let known = sequence.known();
        if at != known {
            return Err(Fault::NotNext { at, known });
        }
        let end = known + text.tokens.len();
        if end > sequence.positions {
            return Err(Fault::Beyond {
                asked: end,
                positions: sequence.positions,
            });
        }
        let filled = end / size - known / size;
        let keyed = sequence.keyed.unwrap_or(text.keys > 0);
        if !text.extra.is_empty() && text.extra.len() != filled {
            return Err(wrong(Part::Extra, filled, text.extra.len()));
        }
        let keys = if keyed { filled } else { 0 };
        if text.keys != keys {
            return Err(wrong(Part::Keys, keys, text.keys));
        }
        if filled > 0 {
            sequence.keyed = Some(keyed);
        }
        sequence.tokens.extend(text.tokens);
        sequence.extra.extend(text.extra);
        sequence.extra.resize(end / size, 0);
        self.publish(pool, name, full_at);
        Ok(())
    }

    pub(crate) fn computed(
        &mut self,
        pool: &mut Model,
        name: Name,
        n: usize,
        full_at: Option<usize>,
    ) -> Result<Outcome, Fault> {
        let size = self.block_size;
        let sequence = self.get_mut(name)?;
        if n > sequence.positions {
            return Err(Fault::Beyond {
                asked: n,
                positions: sequence.positions,
            });
        }
        if n > sequence.computed {
            sequence.check_loaded(size)?;
        }
        sequence.computed = sequence.computed.max(n);
        Ok(self.publish(pool, name, full_at))
    }

    /// Publishes what is sealed.
    pub(crate) fn publish(
        &mut self,
        pool: &mut Model,
        name: Name,
        full_at: Option<usize>,
    ) -> Outcome {
        let mut outcome = Outcome {
            stored: 0,
            duplicates: 0,
            stopped: None,
        };
        let size = self.block_size;
        let sequence = self.sequences.get_mut(&name).expect("it was found");
        let sealed = sequence.known().min(sequence.computed) / size;
        let published = sequence.line.found.len();
        let spoiled = !sequence.line.left.is_empty();
        if !sequence.insert || sequence.ended || sealed <= published || spoiled {
            return outcome;
        }
        let text = Text {
            tokens: &sequence.tokens[published * size..sealed * size],
            extra: &sequence.extra[published..sealed],
            keys: 0,
        };
        outcome = pool
            .publish(&mut self.hand, &mut sequence.line, &text, None, full_at)
            .expect("the lengths agree");
        if !matches!(outcome.stopped, None | Some(Stop::Shared)) {
            sequence.ended = true;
            self.unpublished += 1;
        }
        outcome
    }

    // ---- branches and copies

    pub(crate) fn fork(
        &mut self,
        pool: &mut Model,
        name: Name,
        children: usize,
    ) -> Result<Vec<Name>, Fault> {
        let parent = self.get(name)?.clone();
        self.room(children)?;
        let size = self.block_size;
        if children == 0 {
            return Ok(Vec::new());
        }
        parent.check_settled(size)?;
        let blocks = parent.positions.div_ceil(size);
        let partial = parent.positions % size != 0
            && parent.positions < parent.cap
            && parent.growth != Growth::OnDemand;
        let own_copy = partial && !parent.copy_credit;
        // Lookahead stays the parent's; within a cap it still has to come for the children.
        let lookahead = match parent.growth {
            Growth::Cap(_) => parent.line.table.len() - blocks,
            Growth::Ahead(_) | Growth::OnDemand => 0,
        };
        let promise = parent.promise + lookahead;
        let charge = children * (promise + usize::from(partial)) + usize::from(own_copy);
        if parent.conservative {
            self.within_budget(pool, children * blocks + charge, true)
                .inspect_err(|fault| {
                    if let Fault::Refused(refusal) = *fault {
                        pool.count_refusal(refusal);
                    }
                })?;
        }
        pool.reserve(0, charge)?;
        let mut shared = parent.line.clone();
        shared.table.truncate(blocks);
        let names: Vec<Name> = (0..children)
            .map(|_| {
                let child = Sequence {
                    line: pool.fork(&shared),
                    promise,
                    copy_credit: partial,
                    changed_from: 0,
                    open: false,
                    transit: Transit::None,
                    ..parent.clone()
                };
                let name = self.draw();
                self.sequences.insert(name, child);
                name
            })
            .collect();
        let parent = self.get_mut(name)?;
        parent.copy_credit |= partial;
        parent.open &= parent.positions % size == 0;
        Ok(names)
    }

    /// The copy is done: its references come back, and its owner may be able to publish.
    pub(crate) fn copied(
        &mut self,
        pool: &mut Model,
        ticket: TicketName,
        full_at: Option<usize>,
    ) -> Result<(), Fault> {
        let ticket = self.tickets.remove(&ticket).ok_or(Fault::Stale)?;
        Self::let_go(pool, &ticket);
        if self.sequences.contains_key(&ticket.owner) {
            self.publish(pool, ticket.owner, full_at);
        }
        Ok(())
    }

    fn let_go(pool: &mut Model, ticket: &Ticket) {
        pool.release_blocks(&[ticket.copy.dst]);
        pool.release_blocks(&ticket.path);
    }

    pub(crate) fn adopt(&mut self, pool: &mut Model, name: Name) -> Result<usize, Fault> {
        let sequence = self.get_mut(name)?;
        let line = &sequence.line;
        let first = (line.table.iter().zip(&line.found)).position(|(own, found)| own != found);
        sequence.changed_from = sequence.changed_from.min(first.unwrap_or(usize::MAX));
        let adopted = pool.adopt_duplicates(&mut sequence.line);
        self.adopted += count(adopted);
        Ok(adopted)
    }

    // ---- giving back

    pub(crate) fn truncate(
        &mut self,
        pool: &mut Model,
        name: Name,
        to: usize,
        lane: Option<Result<(&mut Waiting, u64), ()>>,
    ) -> Result<(), Fault> {
        let (size, digests) = (self.block_size, self.digests);
        let (keep, whole) = (to.div_ceil(size), to / size);
        let sequence = self.get(name)?;
        if to > sequence.positions {
            return Err(Fault::Beyond {
                asked: to,
                positions: sequence.positions,
            });
        }
        sequence.check_settled(size)?;
        let lane = lane.transpose().map_err(|()| Fault::WrongPool)?;
        let lane = lane
            .filter(|(lane, fence)| !lane.has_passed(*fence) && keep < sequence.line.table.len());
        let later = lane.is_some();
        let seen = keep > whole && !self.is_alone_from(pool, sequence.line.table[whole], to % size);
        let sequence = self.get_mut(name)?;
        let table = &sequence.line.table;
        let unpublished = sequence.line.found.len() > whole;
        // Its next write will copy, and is to be sure of that.
        let paid = (unpublished && keep > whole)
            || sequence.growth != Growth::OnDemand
            || sequence.copy_credit;
        let copies = seen && paid && to < sequence.cap;
        let copy = copies && !sequence.copy_credit;
        let dropped = &table[keep..];
        // What comes back later pays nothing now.
        let sure = dropped
            .iter()
            .filter(|&&id| !later && is_alone(pool, id))
            .count();
        let unsure = match sequence.growth {
            Growth::Cap(_) => dropped.len() - sure,
            Growth::Ahead(_) | Growth::OnDemand => 0,
        };
        // A block that comes back pays for the copy, if it is not promised.
        let capped = matches!(sequence.growth, Growth::Cap(_));
        let freed_pays = copy && sure > 0 && !capped;
        let needed = unsure + usize::from(copy && !freed_pays);
        if needed > pool.available() {
            let refusal = pool.shortfall(needed, pool.available());
            pool.count_refusal(refusal);
            return Err(refusal.into());
        }
        pool.set_aside(needed);

        let credits = pool.available() + pool.reserved();
        let line = &mut sequence.line;
        if let Some((lane, fence)) = lane {
            let mut references = line.references(keep..line.table.len());
            if references.iter().any(|&id| pool.is_published(id)) {
                // It needs all above it.
                let path = line.path(keep);
                pool.hold_again(&path);
                references.extend(path.iter().rev());
            }
            lane.release(pool, fence, references);
            line.table.truncate(keep);
            line.found.truncate(keep);
            line.left.retain(|(place, _)| *place < keep);
        }
        for id in line.references(keep..line.table.len()) {
            pool.let_go(id);
        }
        line.table.truncate(keep);
        line.found.truncate(keep);
        line.left.retain(|(place, _)| *place < keep);
        if keep > whole {
            // What stood for the block at the end does so no longer.
            for id in line.references(whole..keep).into_iter().skip(1) {
                pool.let_go(id);
            }
            line.found.truncate(whole);
            line.left.retain(|(place, _)| *place < whole);
        }
        let mut credits = pool.available() + pool.reserved() - credits;
        if freed_pays {
            credits -= 1;
            pool.set_aside(1);
        }

        let back = match sequence.growth {
            Growth::Cap(_) => sure,
            Growth::Ahead(standing) => credits.min(standing - sequence.promise),
            Growth::OnDemand => 0,
        };
        pool.set_aside(back);
        sequence.promise += back + unsure;
        if copy {
            sequence.copy_credit = true;
        } else if !copies && core::mem::take(&mut sequence.copy_credit) {
            pool.give_back(1);
        }
        if let Transit::Loading(load) = &mut sequence.transit {
            load.positions = load.positions.min(to);
        }
        // Of digests no token can be had back.
        let publishes = sequence.insert && !sequence.ended;
        let known = if unpublished && publishes && digests {
            whole * size
        } else {
            to
        };
        sequence.tokens.truncate(known);
        sequence.extra.truncate(sequence.tokens.len() / size);
        sequence.computed = sequence.computed.min(to);
        sequence.positions = to;
        sequence.changed_from = sequence.changed_from.min(keep);
        sequence.open = !seen;
        Ok(())
    }

    pub(crate) fn release(
        &mut self,
        pool: &mut Model,
        name: Name,
        preempt: bool,
        lane: Option<(&mut Waiting, u64)>,
        full_at: Option<usize>,
    ) -> Result<(), Fault> {
        self.loading(pool, name, full_at)?;
        self.publish(pool, name, full_at);
        let sequence = self.sequences.remove(&name).ok_or(Fault::Stale)?;
        self.preemptions += u64::from(preempt);
        match lane {
            Some((lane, fence)) => sequence.give_back_after(pool, lane, fence),
            None => sequence.give_back(pool),
        }
        Ok(())
    }

    /// A block, and what is to be copied from it, and from that.
    pub(crate) fn copies_of(&self, id: u32) -> Vec<u32> {
        let mut bad = vec![id];
        let mut at = 0;
        while at < bad.len() {
            let of = |ticket: &&Ticket| ticket.copy.src == bad[at];
            let copies: Vec<u32> = (self.tickets.values().filter(of))
                .map(|it| it.copy.dst)
                .collect();
            bad.extend(copies);
            at += 1;
        }
        bad
    }

    pub(crate) fn detach(&mut self, name: Name) -> Result<Sequence, Fault> {
        let table = &self.get(name)?.line.table;
        if self.copies_into(table) {
            return Err(Fault::CopyPending);
        }
        self.get(name)?.check_settled(self.block_size)?;
        self.sequences.remove(&name).ok_or(Fault::Stale)
    }

    pub(crate) fn attach(
        &mut self,
        mut sequence: Sequence,
    ) -> Result<Name, (Fault, Box<Sequence>)> {
        if let Err(fault) = self.room(1) {
            return Err((fault, Box::new(sequence)));
        }
        let name = self.draw();
        sequence.changed_from = 0;
        self.sequences.insert(name, sequence);
        Ok(name)
    }

    /// Gives everything back, pending copies too.
    pub(crate) fn close(self, pool: &mut Model) {
        for ticket in self.tickets.values() {
            Self::let_go(pool, ticket);
        }
        for sequence in self.sequences.into_values() {
            sequence.give_back(pool);
        }
    }

    // ---- what is read

    pub(crate) fn positions(&self, name: Name) -> usize {
        self.sequences.get(&name).map_or(0, Sequence::positions)
    }

    pub(crate) fn state(&self, name: Name) -> Result<State, Fault> {
        let sequence = self.get(name)?;
        Ok(State {
            positions: sequence.positions,
            known: sequence.known(),
            computed: sequence.computed,
            published: sequence.line.found.len(),
            blocks: sequence.line.table.len(),
            promised: sequence.credits(),
            label: sequence.label,
            growth: sequence.growth,
        })
    }

    pub(crate) fn figures(&self, pool: &Model) -> Figures {
        // Of each block in a table, the positions in use: of several sequences the most.
        let mut used: BTreeMap<u32, usize> = BTreeMap::new();
        for sequence in self.sequences.values() {
            for (at, &id) in sequence.line.table.iter().enumerate() {
                let before = at * self.block_size;
                let here = sequence
                    .positions
                    .saturating_sub(before)
                    .min(self.block_size);
                let most = used.entry(id).or_default();
                *most = here.max(*most);
            }
        }
        let sum = |of: fn(&Sequence) -> usize| self.sequences.values().map(of).sum::<usize>();
        let entries = sum(|sequence| sequence.line.table.len());
        let promised = sum(Sequence::credits);
        let used_positions: usize = used.values().sum();
        Figures {
            pool: pool.figures(),
            sequences: self.sequences.len(),
            max_sequences: self.max,
            held_blocks: used.len(),
            table_entries: entries,
            shared_entries: entries - used.len(),
            promised,
            positions: sum(Sequence::positions),
            used_positions,
            unused_positions: used.len() * self.block_size - used_positions,
            pending_copies: self.tickets.len(),
            loading: self.blocks_loading(),
            duplicated: self.blocks_twice(),
            physical: used.len() + promised,
            conservative: entries + promised,
            watermark: self.watermark,
            first: self.first,
            returned: self.returned,
            preemptions: self.preemptions,
            refused_appends: self.refused_appends,
            copies: self.copies,
            imports: self.imports,
            exports: self.exports,
            adopted: self.adopted,
            unpublished: self.unpublished,
        }
    }

    pub(crate) fn table(&self, name: Name) -> Result<&[u32], Fault> {
        Ok(&self.get(name)?.line.table)
    }

    pub(crate) fn table_was_read(&mut self, name: Name) {
        if let Ok(sequence) = self.get_mut(name) {
            sequence.changed_from = sequence.line.table.len();
        }
    }

    pub(crate) fn dirty(&self, name: Name) -> Result<Range<usize>, Fault> {
        let sequence = self.get(name)?;
        let length = sequence.line.table.len();
        Ok(sequence.changed_from.min(length)..length)
    }

    pub(crate) fn slots(
        &self,
        name: Name,
        positions: Range<usize>,
        room: usize,
    ) -> Result<Vec<i64>, Fault> {
        let sequence = self.get(name)?;
        if positions.end > sequence.positions {
            return Err(Fault::Beyond {
                asked: positions.end,
                positions: sequence.positions,
            });
        }
        if positions.len() > room {
            return Err(Fault::TooShort {
                needed: positions.len(),
                got: room,
            });
        }
        Ok(positions
            .map(|position| slot(&sequence.line.table, position, self.block_size))
            .collect())
    }

    /// In this order, those whose end makes blocks available, until there are so many; and how many there are.
    pub(crate) fn victims(
        &self,
        pool: &Model,
        order: &[Name],
        need: usize,
    ) -> Result<(Vec<(Name, usize)>, usize), Fault> {
        for &name in order {
            self.get(name)?;
        }
        let mut chosen: Vec<(Name, usize)> = Vec::new();
        let mut given: BTreeMap<u32, usize> = BTreeMap::new();
        let mut free = 0;
        for &name in order {
            if free >= need {
                break;
            }
            if chosen.iter().any(|(other, _)| *other == name) {
                continue;
            }
            let sequence = &self.sequences[&name];
            let line = &sequence.line;
            let mut with_this = given.clone();
            for id in line.references(0..line.table.len()) {
                *with_this.entry(id).or_default() += 1;
            }
            let gone = |given: &BTreeMap<u32, usize>| {
                given
                    .iter()
                    .filter(|&(&id, &n)| pool.references(id) == n)
                    .count()
            };
            let blocks = gone(&with_this) - gone(&given) + sequence.credits();
            chosen.push((name, blocks));
            free += blocks;
            given = with_this;
        }
        // Of those that free nothing, the ones without which a later one would not either.
        chosen.retain(|&(name, blocks)| {
            let line = &self.sequences[&name].line;
            let all = |id: &u32| given.get(id) == Some(&pool.references(*id));
            blocks > 0 || line.references(0..line.table.len()).iter().any(all)
        });
        Ok((chosen, free))
    }
}

/// For so many positions and so many more. What has no number is the largest that has one.
fn blocks_of(positions: usize, more: usize, block_size: usize) -> usize {
    let within = (positions % block_size).saturating_add(more);
    (positions / block_size).saturating_add(within.div_ceil(block_size))
}

/// Whether the one who asks is the block's only owner, and it is not published.
fn is_alone(pool: &Model, id: u32) -> bool {
    pool.references(id) == 1 && !pool.is_published(id)
}

/// `block id * block size + offset`.
pub(crate) fn slot(table: &[u32], position: usize, block_size: usize) -> i64 {
    let block = i64::from(table[position / block_size]);
    let offset = position % block_size;
    block * i64::try_from(block_size).expect("a size fits")
        + i64::try_from(offset).expect("an offset fits")
}

fn count(n: usize) -> u64 {
    u64::try_from(n).expect("a count fits")
}

fn wrong(part: Part, expected: usize, got: usize) -> Fault {
    Fault::Length(WrongLength {
        part,
        expected,
        got,
    })
}
