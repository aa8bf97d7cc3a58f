//! Branches of a sequence in device memory: a prompt is computed, forked three times, and each branch goes on by itself.
//!
//! ```text
//! cargo run --release --features cuda --example device_fork
//! ```
//!
//! The branches share all blocks but the last one, which each copies on the device before it writes. At the end every byte of K and V of
//! every branch is read back and compared with what the engine wrote for its tokens.

#![allow(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    reason = "a program has std"
)]

use std::error::Error;
use std::process::ExitCode;

use cudarc::driver::result;
use kvblock::cuda::{CudaDevice, CudaMover, CudaStream, DevicePool, MoverConfig};
use kvblock::{
    Admit, BlockId, BlockLayout, BlockPool, Contents, CopyQueue, CopyRoute, CopyTicket, FenceTable,
    Growth, Handle, KvTensor, MemoryId, Mover, Namespace, Order, PoolConfig, Prompt, Sequences,
    SequencesConfig, Step,
};

const BLOCKS: usize = 64;
const BLOCK_SIZE: u32 = 16;
const LAYERS: u64 = 4;
const BRANCHES: usize = 3;

/// An engine of which only the memory is real: what a model would compute for a token at a position is some function of both.
struct Engine {
    layout: BlockLayout,
    row_bytes: usize,
}

impl Engine {
    /// K or V of a position in a plane.
    fn row(&self, plane: usize, position: usize, token: u32) -> Vec<u8> {
        let mut state = u64::from(token) << 32 | (position as u64) << 8 | plane as u64;
        let byte = |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        (0..self.row_bytes).map(byte).collect()
    }

    /// Where K or V of a position of a sequence is on the device.
    fn address(
        &self,
        table: &[BlockId],
        plane: usize,
        position: usize,
    ) -> Result<u64, Box<dyn Error>> {
        let (block, row) = (
            position / BLOCK_SIZE as usize,
            position % BLOCK_SIZE as usize,
        );
        Ok(self.layout.address(plane, table[block])? + (row * self.row_bytes) as u64)
    }

    /// Computes positions of a sequence.
    fn compute(
        &self,
        table: &[BlockId],
        first: usize,
        tokens: &[u32],
    ) -> Result<(), Box<dyn Error>> {
        for (position, &token) in (first..).zip(tokens) {
            for plane in 0..self.layout.planes().len() {
                let address = self.address(table, plane, position)?;
                // SAFETY: the address is within the pool's memory, and nothing else uses that row now.
                unsafe { result::memcpy_htod_sync(address, &self.row(plane, position, token)) }?;
            }
        }
        // From memory that is not pinned the last part may be under way yet, and other streams do not wait for it.
        Ok(result::ctx::synchronize()?)
    }

    /// Whether all positions of a sequence have what was computed for its tokens. Returns the bytes looked at.
    fn check(&self, table: &[BlockId], tokens: &[u32]) -> Result<usize, Box<dyn Error>> {
        let mut found = vec![0; self.row_bytes];
        for (position, &token) in tokens.iter().enumerate() {
            for plane in 0..self.layout.planes().len() {
                let address = self.address(table, plane, position)?;
                // SAFETY: as above.
                unsafe { result::memcpy_dtoh_sync(&mut found, address) }?;
                if found != self.row(plane, position, token) {
                    return Err(format!(
                        "position {position}, plane {plane}: other bytes than were computed"
                    )
                    .into());
                }
            }
        }
        Ok(tokens.len() * self.layout.planes().len() * self.row_bytes)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("device_fork: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let device = CudaDevice::open(0)?;
    println!("device: {}", device.name()?);
    // The engine's own context: the device's primary one, which `open` uses too.
    let ordinal = result::device::get(0)?;
    // SAFETY: the driver has named the device.
    let context = unsafe { result::primary_ctx::retain(ordinal) }?;
    // SAFETY: it was just retained.
    unsafe { result::ctx::set_current(context) }?;
    branch(&device)?;
    // SAFETY: nothing of it is used any more, but by `device`, which holds it by itself.
    unsafe { result::primary_ctx::release(ordinal) }?;
    Ok(())
}

fn branch(device: &CudaDevice) -> Result<(), Box<dyn Error>> {
    // K and V of each layer in a tensor of its own, all in one allocation.
    let tensor = KvTensor::new(BLOCK_SIZE, 2, 64, Order::Nhd);
    let tensor_bytes = BLOCKS as u64 * 16 * 2 * 64;
    let keys: Vec<u64> = (0..LAYERS).map(|layer| 2 * layer * tensor_bytes).collect();
    let values: Vec<u64> = keys.iter().map(|base| base + tensor_bytes).collect();
    let memory = DevicePool::allocate(
        device,
        &BlockLayout::separate(tensor, &keys, &values, BLOCKS)?,
    )?;
    let engine = Engine {
        layout: memory.layout().clone(),
        row_bytes: 2 * 64,
    };

    // Copies go into a stream; an engine gives its own.
    let mut fences = FenceTable::new();
    fences.track(MemoryId::default(), BLOCKS)?;
    let mut mover = CudaMover::new(&CudaStream::new(device)?, &mut fences, &MoverConfig::new())?;
    mover.add_device(&memory)?;
    let route = CopyRoute::new(memory.layout(), memory.layout())?;
    let mut pending: CopyQueue<CopyTicket> = CopyQueue::new();

    let pool = BlockPool::new(&PoolConfig::new(BLOCKS, BLOCK_SIZE as usize))?;
    let mut sequences = Sequences::new(pool, &SequencesConfig::new(8))?;
    let prompt: Vec<u32> = (100..140).collect();
    let space = Namespace::new();
    let admitted = sequences.admit(&Admit::new(Prompt::new(&space, &prompt), Growth::Cap(20)))?;
    engine.compute(sequences.table(admitted.handle)?, 0, &prompt)?;
    sequences.computed(admitted.handle, prompt.len())?;

    let mut children = [admitted.handle; BRANCHES];
    sequences.fork(admitted.handle, &mut children)?;
    let mut branches: Vec<(Handle, Vec<u32>)> = [admitted.handle]
        .into_iter()
        .chain(children)
        .map(|handle| (handle, prompt.clone()))
        .collect();

    let (mut step, mut copies) = (Step::new(), 0);
    for turn in 0..10 {
        let items: Vec<_> = branches.iter().map(|(handle, _)| (*handle, 1)).collect();
        sequences.step(&items, &mut step);
        assert!(step.failures().is_empty(), "what was promised is there");
        // The tails that branches share are copied before anything is written to the copies.
        if !step.copies().is_empty() {
            let pairs: Vec<_> = step
                .copies()
                .iter()
                .map(|ticket| (ticket.src, ticket.dst))
                .collect();
            let fence = mover.copy(&route.plan(&pairs)?, &mut fences)?;
            pending.push(fence, step.copies())?;
            copies += pairs.len();
            // This engine writes from the host, so it waits; kernels of the same stream would be behind the copies by themselves.
            mover.wait(fence)?;
        }
        let copied = |ticket| {
            let told = sequences.copied(ticket);
            assert!(told.is_ok(), "a ticket is told once");
        };
        pending.complete(mover.completed()?, copied);
        for (number, (handle, tokens)) in branches.iter_mut().enumerate() {
            let token = 1000 * (u32::try_from(number)? + 1) + turn;
            sequences.tokens(*handle, tokens.len(), &Contents::new(&[token]))?;
            engine.compute(sequences.table(*handle)?, tokens.len(), &[token])?;
            tokens.push(token);
            sequences.computed(*handle, tokens.len())?;
        }
    }

    let mut bytes = 0;
    for (handle, tokens) in &branches {
        bytes += engine.check(sequences.table(*handle)?, tokens)?;
    }
    let report = sequences.pool().report();
    println!(
        "{} branches of {} positions each in {} blocks; {copies} blocks copied on the device",
        branches.len(),
        branches[0].1.len(),
        report.held
    );
    println!(
        "{bytes} bytes of K and V read back: all are what was computed for the branch's tokens"
    );
    for (handle, _) in &branches {
        sequences.release(*handle)?;
    }
    sequences.audit(&[])?;
    println!(
        "nothing is left held: {} blocks",
        sequences.pool().report().held
    );
    Ok(())
}
