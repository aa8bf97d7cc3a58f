//! Two engines with memory that can be looked at: what is written to a slot is there until somebody writes to it again. So content that a
//! sequence, a lease, a reader or a device still needs is seen to change if its block was given to somebody else.
//!
//! [`run`] does what a list of bytes says. After each call all that is needed is compared with what was written, and both pools are
//! audited; at the end everything is given back, and both are empty.

#[path = "../support/bytes.rs"]
mod bytes;

use kvblock::{
    Admit, BlockId, BlockPool, Contents, CopyTicket, ElementType, Export, Fence, Flights, Growth,
    Handle, Handover, Import, Incoming, KvFormat, Lane, Leases, Namespace, Owner, PoolConfig,
    Prompt, Sequences, SequencesConfig, ShardId, Step, Terms,
};

use bytes::Bytes;

/// Positions of a block.
const SIZE: usize = 2;
/// What nobody asked for.
const GARBAGE: u32 = u32::MAX;
/// Sequences, transfers and pins of one engine that are under way at a time.
const MOST: usize = 6;

/// A sequence as its engine knows it.
struct Running {
    handle: Handle,
    tokens: Vec<u32>,
    /// It has what is not its own where it would compute.
    to_renew: bool,
    /// Others share what it has not computed.
    branched: bool,
}

/// What must stay as it is, and what somebody may write to.
struct Kept {
    expected: Vec<(usize, u32)>,
    written: Vec<usize>,
}

/// A released sequence that the device is not done with.
struct InFlight {
    lane: usize,
    fence: u64,
    kept: Kept,
}

/// Writers of another engine's memory or of a store, on their way to one sequence.
struct Transfer {
    import: Import,
    /// The slot of each position of its blocks, what belongs there, and where it is read.
    slots: Vec<(usize, u32, Option<usize>)>,
    answered: Vec<Vec<bool>>,
}

struct Engine {
    sequences: Sequences,
    leases: Leases,
    lanes: [Lane; 2],
    memory: Vec<u32>,
    running: Vec<Running>,
    device: Vec<InFlight>,
    transfers: Vec<Transfer>,
    exports: Vec<(Export, Vec<u32>)>,
    pins: Vec<(kvblock::Lease, Vec<u32>)>,
    copies: Vec<CopyTicket>,
    fence: u64,
    owners: u64,
}

fn slot(block: BlockId, offset: usize) -> usize {
    block.get() as usize * SIZE + offset
}

/// The slots of the first positions of a table.
fn slots(
    table: &[BlockId],
    positions: core::ops::Range<usize>,
) -> impl Iterator<Item = usize> + '_ {
    positions.map(|at| slot(table[at / SIZE], at % SIZE))
}

impl Engine {
    fn new(shard: u32, blocks: usize, spare: usize) -> Self {
        let config = PoolConfig::new(blocks, SIZE)
            .max_blocks(blocks + spare)
            .shard(ShardId::new(shard));
        let pool = BlockPool::new(&config).unwrap();
        let format = KvFormat::new(SIZE, ElementType::new(0), [8]).unwrap();
        Self {
            leases: Leases::new(&pool, 4 * blocks).unwrap(),
            lanes: [pool.lane(), pool.lane()],
            sequences: Sequences::new(pool, &SequencesConfig::new(MOST).format(format)).unwrap(),
            memory: vec![GARBAGE; (blocks + spare) * SIZE],
            running: Vec::new(),
            device: Vec::new(),
            transfers: Vec::new(),
            exports: Vec::new(),
            pins: Vec::new(),
            copies: Vec::new(),
            fence: 0,
            owners: 0,
        }
    }

    /// Everything that somebody counts on is as it was written.
    fn check(&self) {
        for it in &self.running {
            let state = self.sequences.state(it.handle).unwrap();
            let table = self.sequences.table(it.handle).unwrap();
            for (slot, &token) in slots(table, 0..state.computed).zip(&it.tokens) {
                assert_eq!(self.memory[slot], token, "{:?}: slot {slot}", it.handle);
            }
        }
        for step in &self.device {
            for &(slot, token) in &step.kept.expected {
                assert_eq!(self.memory[slot], token, "a device reads slot {slot}");
            }
        }
        let leased = self
            .exports
            .iter()
            .map(|(export, tokens)| (export.lease(), tokens));
        for (lease, tokens) in leased.chain(self.pins.iter().map(|(lease, tokens)| (lease, tokens)))
        {
            if lease.is_live() {
                for (slot, &token) in slots(lease.ids(), 0..tokens.len()).zip(tokens) {
                    assert_eq!(self.memory[slot], token, "a lease has slot {slot}");
                }
            }
        }
        let [first, second] = &self.lanes;
        let audit = self.sequences.audit(&[first, second, &self.leases]);
        assert_eq!(audit, Ok(()));
        let report = self.sequences.pool().report();
        assert_eq!(
            report.capacity,
            report.free + report.idle + report.held + report.quarantined
        );
    }

    fn growth(bytes: &mut Bytes<'_>) -> Growth {
        match bytes.below(3) {
            0 => Growth::OnDemand,
            1 => Growth::Ahead(1),
            _ => Growth::Cap(bytes.below(6)),
        }
    }

    /// One of a few texts that share prefixes.
    fn text(bytes: &mut Bytes<'_>) -> Vec<u32> {
        let (family, len) = (bytes.below(3), 1 + bytes.below(12));
        let fork = bytes.below(13);
        let token = |at| family * 1000 + at + if at >= fork { 500 } else { 0 };
        (0..len)
            .map(|at| u32::try_from(token(at)).unwrap())
            .collect()
    }

    fn admit(&mut self, bytes: &mut Bytes<'_>) {
        let (space, tokens) = (Namespace::new(), Self::text(bytes));
        let request = Admit::new(Prompt::new(&space, &tokens), Self::growth(bytes));
        if let Ok(admitted) = self.sequences.admit(&request) {
            self.running.push(Running {
                handle: admitted.handle,
                tokens,
                to_renew: false,
                branched: false,
            });
        }
    }

    /// Writes and reports up to `n` positions.
    fn compute(&mut self, at: usize, n: usize) {
        let it = &mut self.running[at];
        if it.to_renew {
            let mut step = Step::new();
            if self.sequences.renew(it.handle, &mut step).is_err() {
                return;
            }
            it.to_renew = false;
        }
        let state = self.sequences.state(it.handle).unwrap();
        let end = (state.computed + n).min(state.positions);
        if self.sequences.loading(it.handle).unwrap().left > 0 {
            // Others write to these.
            let refused = self.sequences.computed(it.handle, end);
            let computed = self.sequences.state(it.handle).unwrap().computed;
            assert!(refused.is_err() || end <= computed);
            return;
        }
        let state = self.sequences.state(it.handle).unwrap();
        let end = end.max(state.computed);
        let table = self.sequences.table(it.handle).unwrap();
        for (slot, &token) in slots(table, state.computed..end).zip(&it.tokens[state.computed..]) {
            self.memory[slot] = token;
        }
        self.sequences.computed(it.handle, end).unwrap();
    }

    /// The next positions, and their tokens.
    fn append(&mut self, at: usize, n: usize, family: usize) {
        let it = &mut self.running[at];
        let mut step = Step::new();
        let before = self.sequences.state(it.handle).unwrap();
        match self.sequences.append(it.handle, n, &mut step) {
            Ok(()) => {}
            Err(error) => {
                let refused = matches!(error, kvblock::AppendError::Refused(_));
                assert!(
                    !refused || !matches!(before.growth, Growth::Cap(_)),
                    "a promise is kept: {error}"
                );
                return;
            }
        }
        for ticket in step.copies() {
            for offset in 0..ticket.positions {
                self.memory[slot(ticket.dst, offset)] = self.memory[slot(ticket.src, offset)];
            }
            self.copies.push(*ticket);
        }
        let next = u32::try_from(family * 1000 + it.tokens.len()).unwrap();
        it.tokens.extend(core::iter::repeat_n(next, n));
        let known = before.known;
        let told = self
            .sequences
            .tokens(it.handle, known, &Contents::new(&it.tokens[known..]));
        told.unwrap();
    }

    fn fork(&mut self, at: usize) {
        let it = &mut self.running[at];
        let mut child = [Handle::NONE];
        if self.sequences.fork(it.handle, &mut child).is_ok() {
            it.branched = true;
            let (tokens, to_renew) = (it.tokens.clone(), it.to_renew);
            self.running.push(Running {
                handle: child[0],
                tokens,
                to_renew,
                branched: true,
            });
        }
    }

    /// What a step that is under way for a sequence reads, and writes.
    fn in_flight(&self, it: &Running, keeps: usize) -> Kept {
        let state = self.sequences.state(it.handle).unwrap();
        let table = self.sequences.table(it.handle).unwrap();
        let read = slots(table, 0..state.computed).zip(it.tokens.iter().copied());
        let waits = it.branched || it.to_renew || self.sequences.report().loading > 0;
        let written = slots(table, state.computed.max(keeps)..state.positions);
        Kept {
            expected: read.collect(),
            written: if waits { Vec::new() } else { written.collect() },
        }
    }

    fn release(&mut self, at: usize, bytes: &mut Bytes<'_>) {
        let it = self.running.swap_remove(at);
        self.sequences.loading(it.handle).unwrap();
        let (lane, how) = (bytes.below(2), bytes.below(5));
        if how < 2 {
            let end = [Sequences::release, Sequences::preempt][how];
            return end(&mut self.sequences, it.handle).unwrap();
        }
        let kept = self.in_flight(&it, 0);
        self.fence += 1;
        // Not always in order.
        let fence = self.fence + bytes.next() as u64 % 3;
        let through = &mut self.lanes[lane];
        match how {
            2 => self
                .sequences
                .release_after(it.handle, through, Fence(fence))
                .unwrap(),
            3 => self
                .sequences
                .preempt_after(it.handle, through, Fence(fence))
                .unwrap(),
            _ => match self.sequences.detach(it.handle) {
                Ok(detached) => detached
                    .release_after(through, Fence(fence))
                    .unwrap_or_else(|e| panic!("{e}")),
                Err(_) => self
                    .sequences
                    .release_after(it.handle, through, Fence(fence))
                    .unwrap(),
            },
        }
        if self.lanes[lane]
            .completed()
            .is_none_or(|passed| passed < Fence(fence))
        {
            self.device.push(InFlight { lane, fence, kept });
        }
    }

    fn truncate(&mut self, at: usize, bytes: &mut Bytes<'_>) {
        let it = &self.running[at];
        self.sequences.loading(it.handle).unwrap();
        let keeps = bytes.below(it.tokens.len() + 1);
        let (lane, fenced) = (bytes.below(2), bytes.below(2) == 0);
        let kept = self.in_flight(it, keeps.next_multiple_of(SIZE));
        self.fence += 1;
        let done = if fenced {
            let fence = Fence(self.fence);
            self.sequences
                .truncate_after(it.handle, keeps, &mut self.lanes[lane], fence)
                .is_ok()
        } else {
            self.sequences.truncate(it.handle, keeps).is_ok()
        };
        if !done {
            return;
        }
        // Below the end it may be written to again at once: only what is behind it is the device's.
        let table = self.sequences.table(it.handle).unwrap();
        let own: Vec<usize> = slots(table, 0..table.len() * SIZE).collect();
        let (lane_passed, fence) = (self.lanes[lane].completed(), self.fence);
        if fenced && lane_passed.is_none_or(|passed| passed < Fence(fence)) {
            let others = |slot: &usize| !own.contains(slot);
            let expected = kept
                .expected
                .into_iter()
                .filter(|(slot, _)| others(slot))
                .collect();
            let written = kept.written.into_iter().filter(others).collect();
            self.device.push(InFlight {
                lane,
                fence,
                kept: Kept { expected, written },
            });
        }
        self.running[at].tokens.truncate(keeps);
        let state = self.sequences.state(self.running[at].handle).unwrap();
        let it = &self.running[at];
        let told = &it.tokens[state.known..];
        self.sequences
            .tokens(it.handle, state.known, &Contents::new(told))
            .unwrap();
    }

    /// The device writes what it is about to, then passes a point.
    fn complete(&mut self, lane: usize, fence: u64) {
        for step in self.device.iter().filter(|it| it.lane == lane) {
            for &slot in &step.kept.written {
                self.memory[slot] = GARBAGE;
            }
        }
        self.lanes[lane].complete(Fence(fence));
        self.device.retain(|it| it.lane != lane || it.fence > fence);
    }

    fn offer(&mut self, at: usize, now: u64, handover: Handover) {
        let it = &self.running[at];
        self.owners += 1;
        let owner = Owner::new(self.owners);
        let terms = match handover {
            Handover::Copy => Terms::copy(owner, now + 6),
            Handover::Move => Terms::moving(owner, now + 6),
        };
        let exported =
            self.sequences
                .export(it.handle, &Namespace::new(), &mut self.leases, &terms);
        if let Ok(export) = exported {
            let tokens = it.tokens[..export.positions()].to_vec();
            self.exports.push((export, tokens));
        }
    }

    fn pin(&mut self, at: usize, deadline: u64) {
        let it = &self.running[at];
        self.owners += 1;
        let pinned = self.sequences.pin(
            it.handle,
            &mut self.leases,
            Owner::new(self.owners),
            deadline,
        );
        if let Ok(lease) = pinned {
            let tokens = it.tokens[..lease.ids().len() * SIZE].to_vec();
            self.pins.push((lease, tokens));
        }
    }

    /// A block's content goes bad, and is reported.
    fn spoil(&mut self, block: BlockId) {
        let needed = |lease: &kvblock::Lease| lease.is_live() && lease.ids().contains(&block);
        let read = self
            .exports
            .iter()
            .any(|(export, _)| needed(export.lease()));
        let pinned = self.pins.iter().any(|(lease, _)| needed(lease));
        let filled = self
            .transfers
            .iter()
            .any(|it| it.import.ids().contains(&block) && !it.import.is_settled());
        let on_device = |step: &InFlight| {
            step.kept
                .expected
                .iter()
                .any(|(slot, _)| slot / SIZE == block.get() as usize)
        };
        let copied = self
            .copies
            .iter()
            .any(|it| it.src == block || it.dst == block);
        if read || pinned || filled || copied || self.device.iter().any(on_device) {
            return;
        }
        for offset in 0..SIZE {
            self.memory[slot(block, offset)] = GARBAGE;
        }
        let mut affected = Vec::new();
        self.sequences.invalidate(block, &mut affected).unwrap();
        for it in &mut self.running {
            it.to_renew |= affected.contains(&it.handle);
        }
    }

    fn resize(&mut self, n: usize, grows: bool) {
        let pool = self.sequences.pool().clone();
        let mut worker = pool.worker().unwrap();
        let _ = if grows {
            pool.grow(n).map(drop)
        } else {
            pool.shrink(&mut worker, n).map(drop)
        };
        let report = pool.report();
        if report.draining == 0 {
            // The memory is somebody else's now.
            self.memory[report.online * SIZE..].fill(GARBAGE);
        }
    }

    /// A writer writes its part of a block: what belongs there, or something on the way.
    fn write(
        &mut self,
        at: usize,
        writer: usize,
        block: usize,
        source: Option<&[u32]>,
        done: bool,
    ) {
        let it = &self.transfers[at];
        let writers = it.import.writers();
        for offset in (0..SIZE).filter(|offset| offset % writers == writer) {
            let Some(&(slot, token, from)) = it.slots.get(block * SIZE + offset) else {
                continue;
            };
            let read = from
                .zip(source)
                .map_or(token, |(from, source)| source[from]);
            self.memory[slot] = if done { read } else { GARBAGE };
        }
    }

    /// A writer says something about a block.
    fn answer(&mut self, at: usize, source: Option<&[u32]>, bytes: &mut Bytes<'_>) {
        let (writers, blocks) = (
            self.transfers[at].import.writers(),
            self.transfers[at].import.ids().len(),
        );
        let (writer, what) = (bytes.below(writers), bytes.below(8));
        let Some(block) = bytes.pick(blocks) else {
            return;
        };
        let answered = self.transfers[at].answered[writer][block];
        if what == 0 {
            let import = self.transfers[at].import.clone();
            let again = import.end(writer).is_err();
            let open = self.transfers[at].answered[writer].iter().any(|it| !it);
            assert!(!again || !open, "an end is obeyed once");
            self.transfers[at].answered[writer].fill(true);
            return;
        }
        if answered {
            let import = &self.transfers[at].import;
            assert!(import.arrived(writer, block..block + 1).is_err());
            assert!(import.failed(writer, block..block + 1).is_err());
            return;
        }
        self.write(at, writer, block, source, what > 2);
        let import = &self.transfers[at].import;
        match what {
            1 => {}
            2 => drop(import.failed(writer, block..block + 1).unwrap()),
            _ => drop(import.arrived(writer, block..block + 1).unwrap()),
        }
        self.transfers[at].answered[writer][block] = what != 1;
    }

    fn import(
        &mut self,
        tokens: Vec<u32>,
        incoming: &Incoming<'_>,
        table: Option<&[BlockId]>,
        growth: Growth,
    ) {
        let space = Namespace::new();
        let request = Admit::new(Prompt::new(&space, &tokens), growth);
        let Ok(imported) = self.sequences.import(&request, incoming) else {
            return;
        };
        let first = imported.hit;
        let own = self.sequences.table(imported.handle).unwrap();
        let filled = first..incoming.positions.max(first);
        let here = slots(own, filled.clone());
        let slots = here.zip(filled).map(|(slot_here, at)| {
            let from = table.map(|table| slot(table[at / SIZE], at % SIZE));
            (slot_here, tokens[at], from)
        });
        let blocks = imported.import.ids().len();
        self.transfers.push(Transfer {
            slots: slots.collect(),
            answered: vec![vec![false; blocks]; incoming.writers],
            import: imported.import,
        });
        self.running.push(Running {
            handle: imported.handle,
            tokens,
            to_renew: false,
            branched: false,
        });
    }

    fn give_everything_back(&mut self) {
        for at in 0..self.transfers.len() {
            for writer in 0..self.transfers[at].import.writers() {
                let _ = self.transfers[at].import.end(writer);
            }
        }
        for ticket in self.copies.drain(..) {
            self.sequences.copied(ticket).unwrap();
        }
        for it in self.running.drain(..) {
            self.sequences.release(it.handle).unwrap();
        }
        for (export, _) in self.exports.drain(..) {
            let _ = export.abort();
            let _ = export.lease().end();
        }
        for (pin, _) in self.pins.drain(..) {
            let _ = pin.end();
        }
        for lane in 0..2 {
            self.complete(lane, u64::MAX);
        }
        self.check();
        let report = self.sequences.report();
        assert_eq!(
            (report.sequences, report.loading, report.duplicated),
            (0, 0, 0)
        );
        let pool = report.pool;
        assert_eq!((pool.held, pool.quarantined, pool.reserved), (0, 0, 0));
    }
}

/// Does what the bytes say.
pub(crate) fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut engine = |shard| Engine::new(shard, 5 + bytes.below(12), bytes.below(5));
    let mut engines = [engine(0), engine(1)];
    let flights = Flights::new(64).unwrap();
    let mut now = 0;
    while !bytes.0.is_empty() {
        let (here, what) = (bytes.below(2), bytes.below(24));
        let [low, high] = &mut engines;
        let (engine, other) = if here == 0 { (low, high) } else { (high, low) };
        let running = engine.running.len();
        let full = running == MOST;
        match what {
            0 | 1 if !full => engine.admit(&mut bytes),
            2..5 => {
                if let Some(at) = bytes.pick(running) {
                    engine.compute(at, 1 + bytes.below(8));
                }
            }
            5 | 6 => {
                if let Some(at) = bytes.pick(running) {
                    engine.append(at, 1 + bytes.below(3), bytes.below(3));
                }
            }
            7 if !full => {
                if let Some(at) = bytes.pick(running) {
                    engine.fork(at);
                }
            }
            8 | 9 => {
                if let Some(at) = bytes.pick(running) {
                    engine.release(at, &mut bytes);
                }
            }
            10 => {
                if let Some(at) = bytes.pick(running) {
                    engine.truncate(at, &mut bytes);
                }
            }
            11 => engine.complete(
                bytes.below(2),
                engine.fence.saturating_sub(bytes.below(3) as u64),
            ),
            12 => {
                if let Some(at) = bytes.pick(running) {
                    let handover = [Handover::Copy, Handover::Move][bytes.below(2)];
                    engine.offer(at, now, handover);
                }
            }
            13 if !full && engine.transfers.len() < MOST => {
                if let Some(at) = bytes.pick(other.exports.len()) {
                    let (export, tokens) = &other.exports[at];
                    let incoming =
                        Incoming::from_export(export, 1 + bytes.below(2)).flights(&flights);
                    let mut prompt = tokens.clone();
                    prompt.extend((0..bytes.below(3)).map(|_| 7));
                    let table = export.ids().to_vec();
                    if !prompt.is_empty() {
                        engine.import(prompt, &incoming, Some(&table), Engine::growth(&mut bytes));
                    }
                }
            }
            14 if !full && engine.transfers.len() < MOST => {
                let tokens = Engine::text(&mut bytes);
                let incoming = Incoming::new(bytes.below(tokens.len() + 1), 1 + bytes.below(2))
                    .flights(&flights);
                engine.import(tokens, &incoming, None, Engine::growth(&mut bytes));
            }
            15..18 => {
                if let Some(at) = bytes.pick(engine.transfers.len()) {
                    engine.answer(at, Some(&other.memory), &mut bytes);
                }
            }
            18 => {
                if let Some(at) = bytes.pick(running) {
                    let handle = engine.running[at].handle;
                    let _ = engine.sequences.commit(handle);
                }
            }
            19 => {
                if let Some(at) = bytes.pick(engine.exports.len()) {
                    let (export, _) = &engine.exports[at];
                    let _ = export.abort();
                }
            }
            20 => match bytes.below(4) {
                0 => {
                    if let Some(at) = bytes.pick(running) {
                        engine.pin(at, now + 4);
                    }
                }
                1 => {
                    if let Some(at) = bytes.pick(engine.pins.len()) {
                        let _ = engine.pins[at].0.extend(now + 9);
                    }
                }
                2 => {
                    if let Some(at) = bytes.pick(engine.pins.len()) {
                        let (pin, _) = engine.pins.swap_remove(at);
                        let _ = pin.end();
                    }
                }
                _ => {
                    now += bytes.below(6) as u64;
                    engine.leases.tick(now);
                    other.leases.tick(now);
                }
            },
            21 => {
                let id = bytes.below(engine.memory.len() / SIZE);
                engine.spoil(BlockId::new(u32::try_from(id).unwrap()));
            }
            22 => engine.resize(bytes.below(5), bytes.below(2) == 0),
            23 => {
                if let Some(at) = bytes.pick(engine.copies.len()) {
                    let ticket = engine.copies.swap_remove(at);
                    engine.sequences.copied(ticket).unwrap();
                }
                engine.transfers.retain(|it| !it.import.is_settled());
                engine.exports.retain(|(it, _)| it.lease().is_live());
                if let Some(at) = bytes.pick(engine.running.len()) {
                    let mut step = Step::new();
                    let it = &mut engine.running[at];
                    if engine.sequences.renew(it.handle, &mut step).is_ok() {
                        it.to_renew = false;
                    }
                }
            }
            _ => {}
        }
        engine.check();
        other.check();
    }
    let [first, second] = &mut engines;
    first.give_everything_back();
    second.give_everything_back();
    // An export of one ended with the last answer of the other.
    first.check();
    second.check();
    assert_eq!(flights.in_flight(), 0);
}
