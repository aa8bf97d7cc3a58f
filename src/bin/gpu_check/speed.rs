//! How fast blocks are copied on the device, beside the driver's own copy of as many bytes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use kvblock::cuda::{CudaDevice, CudaMover, CudaStream, DevicePool, MoverConfig};
use kvblock::{BlockLayout, CopyPlan, CopyRoute, FenceTable, MemoryId, Mover, Order};

use crate::args::{Args, Scale};
use crate::raw::{self, Stopwatch, Trouble};
use crate::record::Record;
use crate::shapes::Size;
use crate::world::{ids, span};

/// Pool and mover for timing.
pub(crate) struct Bench {
    pub(crate) stream: CudaStream,
    pub(crate) fences: FenceTable,
    pub(crate) mover: CudaMover,
    pub(crate) pool: DevicePool,
    watch: Stopwatch,
}

impl Bench {
    pub(crate) fn new(
        device: &CudaDevice,
        offsets: &BlockLayout,
        config: &MoverConfig,
    ) -> Result<Self, Trouble> {
        let (stream, mut fences) = (CudaStream::new(device)?, FenceTable::new());
        let mut mover = CudaMover::new(&stream, &mut fences, config)?;
        let pool = DevicePool::allocate(device, offsets)?;
        mover.add_device(&pool)?;
        fences.track(MemoryId::default(), pool.layout().blocks())?;
        Ok(Self {
            stream,
            fences,
            mover,
            pool,
            watch: Stopwatch::new()?,
        })
    }

    /// Microseconds that one of `times` repetitions takes on the device; the best of three rounds.
    pub(crate) fn time(
        &mut self,
        times: u32,
        mut body: impl FnMut(&mut Self) -> Result<(), Trouble>,
    ) -> Result<f64, Trouble> {
        // Once for what is only done once.
        body(self)?;
        self.stream.synchronize()?;
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            self.watch.start(&self.stream)?;
            for _ in 0..times {
                body(self)?;
            }
            best = best.min(self.watch.stop(&self.stream)? / f64::from(times));
        }
        Ok(best)
    }

    /// Microseconds of a plan.
    pub(crate) fn time_plan(&mut self, times: u32, plan: &CopyPlan) -> Result<f64, Trouble> {
        self.time(times, |bench| {
            bench.mover.copy(plan, &mut bench.fences)?;
            Ok(())
        })
    }
}

/// Repetitions that take about ten milliseconds at a terabyte a second.
pub(crate) fn times(scale: Scale, bytes: u64) -> u32 {
    let many = 10_000_000_000 / bytes.max(1);
    scale.pick(u32::try_from(many).unwrap_or(u32::MAX).clamp(3, 200), 2)
}

#[allow(clippy::cast_precision_loss, reason = "a figure with one decimal")]
pub(crate) fn gigabytes_a_second(bytes: u64, microseconds: f64) -> f64 {
    bytes as f64 / microseconds / 1000.0
}

pub(crate) fn section(args: &Args, device: &CudaDevice, record: &mut Record) {
    println!(
        "\ncopies on the device; GB/s are bytes copied, each of which is read once and written once"
    );
    println!(
        "{:<28} {:>12} {:>7} {:>6} {:>10} {:>9} {:>14} {:>6}",
        "shape", "block bytes", "planes", "pairs", "us", "GB/s", "driver's GB/s", "%"
    );
    for (name, layouts) in shapes(args.scale) {
        for pairs in args.scale.pick([1_usize, 8, 64, 256].as_slice(), &[1, 3]) {
            if record.has_time() {
                let row = layouts.as_ref().map_err(ToString::to_string);
                let row = row.and_then(|layouts| {
                    row_of(args, device, &name, layouts, *pairs).map_err(|error| error.to_string())
                });
                record.check(&format!("{name}, {pairs} pairs"), row);
            }
        }
    }
}

/// A layout, and the one that its blocks are copied to: the same, or one in another order.
type Layouts = (BlockLayout, Option<BlockLayout>);

fn shapes(scale: Scale) -> Vec<(String, Result<Layouts, kvblock::LayoutError>)> {
    let size = Size {
        // 80 layers of 32 KiB for K and for V: 5 MiB.
        heads: scale.pick(8, 2),
        blocks: scale.pick(512, 12),
        ..Size::of(scale)
    };
    let alone = |layout: Result<BlockLayout, kvblock::LayoutError>| layout.map(|it| (it, None));
    let blocks = size.blocks;
    let latents: Vec<u64> = (0..61)
        .map(|layer| layer * 18_432 * blocks as u64)
        .collect();
    alloc::vec![
        (
            String::from("K and V of each layer"),
            alone(size.separate(Order::Nhd))
        ),
        (
            String::from("cross-layer"),
            alone(size.cross_layer(Order::Nhd))
        ),
        (
            String::from("MLA latents"),
            alone(BlockLayout::latents(
                16,
                scale.pick(1152, 36),
                &latents,
                blocks
            ))
        ),
        (
            String::from("NHD to HND"),
            size.separate(Order::Nhd)
                .and_then(|nhd| Ok((nhd, Some(size.separate(Order::Hnd)?))))
        ),
    ]
}

fn row_of(
    args: &Args,
    device: &CudaDevice,
    name: &str,
    (offsets, other): &Layouts,
    pairs: usize,
) -> Result<(), Trouble> {
    let mut bench = Bench::new(device, offsets, &MoverConfig::new())?;
    let layout = bench.pool.layout().clone();
    let route = match other {
        None => CopyRoute::new(&layout, &layout)?,
        Some(other) => {
            let memory = MemoryId::new(1);
            let pool = DevicePool::allocate(device, &other.clone().in_memory(memory))?;
            bench.mover.add_device(&pool)?;
            bench.fences.track(memory, pool.layout().blocks())?;
            CopyRoute::new(&layout, pool.layout())?
        }
    };
    let half = layout.blocks() / 2;
    let pairs = pairs.min(half);
    // Scattered, as the blocks of branches are.
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let list: Vec<_> = (0..pairs)
        .map(|at| (number(at * 7 % half), number(half + at * 11 % half)))
        .collect();
    let plan = route.plan(&ids(&list))?;
    let times = times(args.scale, plan.bytes());
    let ours = bench.time_plan(times, &plan)?;
    let (start, end) = span(&layout);
    let (bytes, middle) = (
        plan.bytes().min((end - start) / 2),
        start + (end - start) / 2,
    );
    let driver = bench.time(times, |bench| {
        raw::copy(&bench.stream, middle, start, bytes)
    })?;
    let (ours_rate, driver_rate) = (
        gigabytes_a_second(plan.bytes(), ours),
        gigabytes_a_second(bytes, driver),
    );
    println!(
        "{name:<28} {:>12} {:>7} {pairs:>6} {ours:>10.1} {ours_rate:>9.1} {driver_rate:>14.1} {:>6.1}",
        layout.block_bytes(),
        layout.planes().len(),
        100.0 * ours_rate / driver_rate
    );
    Ok(())
}
