//! Five instances of two models, and all that can be done with them.
//!
//! [`run`] does what a list of bytes says. After each call every instance is audited; what is foretold comes about; the largest request
//! that is said to fit fits, and one position more does not; no rank has more bytes in service than it has. At the end everything is
//! given back, nothing is held, and every instance can be removed.

#[path = "../support/bytes.rs"]
mod bytes;

use kvblock::{
    Admit, BlockPool, Contents, ElementType, Fleet, Growth, Handle, Import, Instance, InstanceId,
    InstanceState, InstanceStep, KvFormat, Loan, LoanStage, Member, Move, MoveTerms, Namespace,
    NoPlace, Owner, Placement, PoolConfig, Prompt, Rank, Sequences, SequencesConfig, ShardId,
};

use bytes::Bytes;

/// Positions of a block.
const SIZE: usize = 2;
/// Bytes of a block of the first model, and of the second.
const BYTES: [u64; 2] = [100, 230];
/// Blocks of the instances whose memory is lent, at first.
const LENDER: usize = 12;
const BORROWER: usize = 5;

/// A sequence as its engine knows it: it begins as all of its kind do.
struct Running {
    at: InstanceId,
    handle: Handle,
    kind: usize,
}

struct Walk {
    fleet: Fleet,
    running: Vec<Running>,
    /// Moves under way, with the kind of their sequence.
    moves: Vec<(Move, usize)>,
    /// Imports that some writer has not answered.
    imports: Vec<Import>,
    loans: Vec<Loan>,
    lender: InstanceId,
    borrower: InstanceId,
    now: u64,
    owners: u64,
}

/// What the sequences of a kind begin with.
fn text(kind: usize, positions: usize) -> Vec<u32> {
    let first = 1000 * u32::try_from(kind).unwrap();
    (first..).take(positions).collect()
}

fn config(bytes: u64) -> SequencesConfig {
    let format = KvFormat::new(SIZE, ElementType::new(1), [bytes]).unwrap();
    SequencesConfig::new(6).format(format)
}

fn lockstep(first: u32, blocks: usize, max: usize, bytes: u64) -> Instance {
    let ranks = [first, first + 1].map(|it| Rank::new(ShardId::new(it), blocks).max_blocks(max));
    Instance::lockstep(&ranks, &PoolConfig::new(1, SIZE), &config(bytes)).unwrap()
}

fn split(first: u32, blocks: [usize; 2]) -> Instance {
    let shards = blocks.into_iter().zip(first..).map(|(blocks, shard)| {
        let pool = PoolConfig::new(blocks, SIZE).shard(ShardId::new(shard));
        Sequences::new(BlockPool::new(&pool).unwrap(), &config(BYTES[0])).unwrap()
    });
    Instance::split(shards.collect()).unwrap()
}

fn growth(n: usize) -> Growth {
    match n % 3 {
        0 => Growth::OnDemand,
        1 => Growth::Cap(5),
        _ => Growth::Ahead(1),
    }
}

fn placement(n: usize) -> Placement {
    match n % 3 {
        0 => Placement::Affinity,
        1 => Placement::MostFree,
        _ => Placement::RoundRobin,
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut walk = Walk::new();
    while !bytes.0.is_empty() {
        walk.step(&mut bytes);
        walk.check();
    }
    walk.end();
}

impl Walk {
    fn new() -> Self {
        let mut fleet = Fleet::new();
        let mut add = |instance, member| fleet.add(instance, member).expect("a new one");
        let member = Member::new(1, 8).max_service(12);
        let lender = add(lockstep(0, LENDER, LENDER, BYTES[0]), member);
        add(lockstep(2, 9, 9, BYTES[0]), member);
        add(split(4, [10, 7]), member);
        add(split(6, [6, 11]), member.lease_budget(4));
        let borrower = add(lockstep(8, BORROWER, 9, BYTES[1]), Member::new(2, 8));
        Self {
            fleet,
            running: Vec::new(),
            moves: Vec::new(),
            imports: Vec::new(),
            loans: Vec::new(),
            lender,
            borrower,
            now: 0,
            owners: 0,
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(16) {
            0..=2 => self.admit(bytes),
            3 | 4 => self.append(bytes),
            5 => self.release(bytes),
            6 | 7 => self.start_move(bytes),
            8 => self.answer(bytes),
            9 => self.answer_all(bytes),
            10 => self.finish(bytes),
            11 => self.call_off(bytes),
            12 => {
                self.now += bytes.below(4) as u64;
                self.fleet.tick(self.now);
            }
            13 => self.lend(bytes),
            14 => self.settle(bytes),
            _ => self.change_state(bytes),
        }
    }

    fn admit(&mut self, bytes: &mut Bytes<'_>) {
        let model = 1 + u64::from(bytes.below(4) == 0);
        let (kind, positions) = (bytes.below(5), 1 + bytes.below(24));
        let (space, tokens) = (Namespace::new(), text(kind, positions));
        let request = Admit::new(Prompt::new(&space, &tokens), growth(bytes.next()));
        let placement = placement(bytes.next());
        let said = self.fleet.check(model, &request, placement);
        let mut list = Vec::new();
        let listed = self.fleet.candidates(model, &request, placement, &mut list);
        assert_eq!(listed.err(), said.err());
        assert_eq!(list.first(), said.as_ref().ok());
        match (said, self.fleet.admit(model, &request, placement)) {
            (Ok(said), Ok(placed)) => {
                assert_eq!(
                    (said.instance, said.hit),
                    (placed.instance, placed.admitted.hit)
                );
                let instance = self.fleet.get_mut(placed.instance).unwrap();
                assert_eq!(instance.free(), said.free);
                let handle = placed.admitted.handle;
                if bytes.below(4) > 0 {
                    instance.computed(handle, positions).unwrap();
                }
                let at = placed.instance;
                self.running.push(Running { at, handle, kind });
            }
            (Err(said), Err(refused)) => {
                assert_eq!(said, refused);
                self.check_refusal(model, refused);
            }
            (said, placed) => panic!("foretold {said:?}, got {placed:?}"),
        }
    }

    /// What a refusal says of the sum holds.
    fn check_refusal(&self, model: u64, refused: NoPlace) {
        let largest = self.fleet.largest(model);
        match refused {
            NoPlace::Never {
                needed,
                largest_capacity,
                ..
            } => {
                assert!(needed > largest_capacity);
                assert!(needed * SIZE > largest.ever);
            }
            NoPlace::Later {
                refused:
                    kvblock::Refused::Shortfall {
                        needed, available, ..
                    },
                available_sum,
                fits_in_sum,
                ..
            } => {
                assert!(needed > available);
                // One without a slot left has blocks, too, and can't admit with them.
                assert!(available_sum * SIZE >= largest.sum_now);
                assert_eq!(fits_in_sum, needed <= available_sum);
            }
            _ => {}
        }
    }

    fn append(&mut self, bytes: &mut Bytes<'_>) {
        let Some(at) = bytes.pick(self.running.len()) else {
            return;
        };
        let Running { at, handle, kind } = self.running[at];
        let instance = self.fleet.get_mut(at).unwrap();
        let (n, mut step) = (1 + bytes.below(3), InstanceStep::new());
        let before = instance.state(handle).unwrap();
        if before.known < before.positions || instance.append(handle, n, &mut step).is_err() {
            return;
        }
        for (shard, step) in step.shards().iter().enumerate() {
            for &ticket in step.copies() {
                instance.copied(shard, ticket).unwrap();
            }
        }
        let tokens = text(kind, before.positions + n);
        let new = &tokens[before.positions..];
        let told = instance.tokens(handle, before.positions, &Contents::new(new));
        told.unwrap();
        // What it took from a bad transfer is not computed yet.
        let _ = instance.computed(handle, before.positions + n);
    }

    fn release(&mut self, bytes: &mut Bytes<'_>) {
        if let Some(at) = bytes.pick(self.running.len()) {
            let Running { at, handle, .. } = self.running.swap_remove(at);
            self.fleet.get_mut(at).unwrap().release(handle).unwrap();
        }
    }

    fn start_move(&mut self, bytes: &mut Bytes<'_>) {
        let ids: Vec<_> = self.fleet.ids().collect();
        let (Some(at), to) = (bytes.pick(self.running.len()), ids[bytes.below(ids.len())]) else {
            return;
        };
        let Running { at, handle, kind } = self.running[at];
        let positions = self.fleet.get(at).unwrap().state(handle).unwrap().positions;
        let (space, tokens) = (Namespace::new(), text(kind, positions + bytes.below(2)));
        let request = Admit::new(Prompt::new(&space, &tokens), growth(bytes.next()));
        self.owners += 1;
        let deadline = self.now + 1 + bytes.below(6) as u64;
        let terms = MoveTerms::new(Owner::new(self.owners), deadline).writers(1 + bytes.below(2));
        let figures = |fleet: &Fleet| {
            let instance = fleet.get(at).unwrap();
            (
                instance.state(handle).unwrap(),
                instance.free(),
                fleet.share(at).unwrap().memory,
            )
        };
        // What has arrived for it is taken notice of in any case.
        let _ = self.fleet.get_mut(at).unwrap().loading(handle);
        let before = figures(&self.fleet);
        match self.fleet.start_move(at, handle, to, &request, &terms) {
            Ok(moving) => {
                self.imports.extend_from_slice(moving.imports());
                self.moves.push((moving, kind));
            }
            Err(_) => assert_eq!(figures(&self.fleet), before),
        }
    }

    /// A writer answers for a block.
    fn answer(&mut self, bytes: &mut Bytes<'_>) {
        let Some(at) = bytes.pick(self.imports.len()) else {
            return;
        };
        let import = &self.imports[at];
        let block = bytes.below(import.ids().len());
        let writer = bytes.below(import.writers());
        let blocks = block..(block + 1).min(import.ids().len());
        // It may have answered already.
        let _ = match bytes.below(6) {
            0 => import.failed(writer, blocks),
            _ => import.arrived(writer, blocks),
        };
        self.imports.retain(|it| !it.is_settled());
    }

    /// All writers answer for all blocks of a move.
    fn answer_all(&mut self, bytes: &mut Bytes<'_>) {
        let Some(at) = bytes.pick(self.moves.len()) else {
            return;
        };
        for import in self.moves[at].0.imports() {
            for writer in 0..import.writers() {
                for block in 0..import.ids().len() {
                    let _ = import.arrived(writer, block..block + 1);
                }
            }
        }
        self.imports.retain(|it| !it.is_settled());
    }

    fn finish(&mut self, bytes: &mut Bytes<'_>) {
        let Some(at) = bytes.pick(self.moves.len()) else {
            return;
        };
        let (moving, kind) = &mut self.moves[at];
        let Ok(handle) = self.fleet.finish_move(moving) else {
            return;
        };
        let (from, source, to) = (moving.from(), moving.source(), moving.to());
        assert!(
            self.fleet
                .get(from)
                .is_ok_and(|it| it.state(source).is_err())
        );
        let kind = *kind;
        drop(self.moves.swap_remove(at));
        self.running
            .retain(|it| (it.at, it.handle) != (from, source));
        self.running.push(Running {
            at: to,
            handle,
            kind,
        });
    }

    fn call_off(&mut self, bytes: &mut Bytes<'_>) {
        let Some(at) = bytes.pick(self.moves.len()) else {
            return;
        };
        let (mut moving, kind) = self.moves.swap_remove(at);
        if bytes.below(3) > 0 {
            self.fleet.abort_move(&mut moving).unwrap();
            return;
        }
        // What was admitted for it goes on by itself.
        let (to, handle) = (moving.to(), moving.handle());
        drop(moving);
        self.running.push(Running {
            at: to,
            handle,
            kind,
        });
    }

    fn lend(&mut self, bytes: &mut Bytes<'_>) {
        let (from, to) = match bytes.below(3) {
            0 => (self.borrower, self.lender),
            _ => (self.lender, self.borrower),
        };
        if let Ok(loan) = self.fleet.lend(from, to, bytes.below(8)) {
            self.loans.push(loan);
        }
    }

    fn settle(&mut self, bytes: &mut Bytes<'_>) {
        let Some(at) = bytes.pick(self.loans.len()) else {
            return;
        };
        let loan = self.loans[at];
        let state = match bytes.below(2) {
            0 => self.fleet.settle(loan),
            _ => self.fleet.give_back(loan),
        };
        match state {
            Ok(state) if state.stage == LoanStage::Over => {
                self.loans.swap_remove(at);
            }
            Ok(state) => assert_eq!(self.fleet.loan(loan), Ok(state)),
            Err(_) => assert!(self.fleet.loan(loan).is_ok()),
        }
    }

    fn change_state(&mut self, bytes: &mut Bytes<'_>) {
        let ids: Vec<_> = self.fleet.ids().collect();
        let id = ids[bytes.below(ids.len())];
        match bytes.below(4) {
            0 => self.fleet.drain(id).unwrap(),
            1 if id != self.lender && id != self.borrower => {
                let member = *self.fleet.member(id).unwrap();
                if let Ok(instance) = self.fleet.remove(id) {
                    assert!(self.running.iter().all(|it| it.at != id));
                    let again = self.fleet.add(instance, member).expect("it was removed");
                    assert!(again > id);
                }
            }
            _ => self.fleet.set_ready(id).unwrap(),
        }
    }

    fn check(&self) {
        assert_eq!(self.fleet.audit(&[]), Ok(()));
        let in_service = |id: InstanceId| {
            let instance = self.fleet.get(id).unwrap();
            instance.shards()[0].pool().in_service() as u64
        };
        let bytes = in_service(self.lender) * BYTES[0] + in_service(self.borrower) * BYTES[1];
        assert!(bytes <= LENDER as u64 * BYTES[0] + BORROWER as u64 * BYTES[1]);
        for model in [1, 2] {
            self.check_largest(model);
        }
    }

    /// The largest request fits; with a position more it does not.
    fn check_largest(&self, model: u64) {
        let largest = self.fleet.largest(model);
        assert!(largest.now <= largest.sum_now && largest.ever <= largest.sum_ever);
        for (positions, fits) in [(largest.now, true), (largest.now + 1, false)] {
            let (space, tokens) = (Namespace::new().salt(b"none"), text(0, positions));
            let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
            let said = self.fleet.check(model, &request, Placement::MostFree);
            // Service, or slots, may be used up.
            let memory = match said {
                Ok(_) => true,
                Err(NoPlace::Later { .. } | NoPlace::Never { .. }) => false,
                Err(_) => continue,
            };
            assert!(
                positions == 0 || memory == fits,
                "{positions} of {largest:?}: {said:?}"
            );
        }
    }

    fn end(mut self) {
        for (mut moving, _) in core::mem::take(&mut self.moves) {
            self.fleet.abort_move(&mut moving).unwrap();
        }
        for import in &self.imports {
            for writer in 0..import.writers() {
                import.end(writer).unwrap();
            }
        }
        for Running { at, handle, .. } in core::mem::take(&mut self.running) {
            self.fleet.get_mut(at).unwrap().release(handle).unwrap();
        }
        // Nothing is in use: they all come back, in any order.
        let fleet = &mut self.fleet;
        let mut is_over = |loan| fleet.give_back(loan).unwrap().stage == LoanStage::Over;
        self.loans.retain(|&loan| !is_over(loan));
        assert!(self.loans.is_empty());
        self.fleet.tick(u64::MAX - 1);
        self.check();
        for id in self.fleet.ids().collect::<Vec<_>>() {
            let instance = self.fleet.get(id).unwrap();
            for it in instance.shards() {
                let pool = it.pool().report();
                assert_eq!((pool.held, pool.reserved, pool.draining), (0, 0, 0));
                assert_eq!(pool.free + pool.idle, pool.capacity);
            }
            assert!(self.fleet.state(id) != Ok(InstanceState::Starting));
            self.fleet.remove(id).expect("it is empty");
        }
    }
}
