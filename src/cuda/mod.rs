//! Blocks in the memory of a CUDA device (feature `cuda`).
//!
//! | file | what is there |
//! | --- | --- |
//! | `driver` | the driver's entry points |
//! | `error` | what can go wrong |
//! | `device`, `leftovers` | [`CudaDevice`]: a context and its kernels; what the driver did not take back |
//! | `stream`, `event`, `timeline` | [`CudaStream`], [`CudaTimeline`]: order, and fences in it |
//! | `buffer`, `memory`, `host_pool` | [`DevicePool`], [`HostPool`]: where blocks are |
//! | `kernels`, `kernels/` | the kernels that copy blocks |
//! | `config`, `memories`, `path`, `prepared`, `lists`, `report`, `staging`, `sending` | what a mover is made of |
//! | `mover` | [`CudaMover`]: executes plans |
//! | `pair_list` | [`PairList`]: copies inside captured graphs |
//!
//! # An engine with it
//! ```no_run
//! use kvblock::cuda::{CudaDevice, CudaMover, CudaStream, CudaTimeline, DevicePool, HostPool, MoverConfig};
//! use kvblock::{Access, BlockId, BlockLayout, CopyRoute, FenceTable, KvTensor, MemoryId, Mover, Order};
//!
//! let device = CudaDevice::open(0)?; // or `from_context`, with the engine's
//!
//! // 40 layers with K and V of a block side by side: 16 positions, 8 heads of 128 elements of 2 bytes, 4096 blocks.
//! let (blocks, tensor) = (4096, KvTensor::new(16, 8, 256, Order::Nhd));
//! let layers: Vec<u64> = (0..40).map(|layer| layer * blocks as u64 * 2 * (16 * 8 * 256)).collect();
//! let offsets = BlockLayout::blocks_first(tensor, &layers, blocks)?;
//! let memory = DevicePool::allocate(&device, &offsets)?; // or `adopt`, with the engine's
//! let host = HostPool::allocate(&device, MemoryId::new(1), memory.layout(), 1000)?;
//!
//! // Copies between branches go into the stream of the kernels, copies to the host beside it, with little of the device.
//! let mut fences = FenceTable::new();
//! fences.track(memory.layout().memory(), blocks)?;
//! fences.track(host.layout().memory(), 1000)?;
//! let kernels = CudaStream::new(&device)?; // or `from_raw`, with the engine's
//! let mut branches = CudaMover::new(&kernels, &mut fences, &MoverConfig::new())?;
//! let config = MoverConfig::new().thread_blocks(16).staging(3, 16 << 20);
//! let mut swaps = CudaMover::new(&CudaStream::new(&device)?, &mut fences, &config)?;
//! branches.add_device(&memory)?;
//! swaps.add_device(&memory)?;
//! swaps.add_host(&host)?;
//! branches.follow(swaps.own_timeline())?;
//! swaps.follow(branches.own_timeline())?;
//!
//! // What the engine's own kernels do with blocks is for the engine to say: on their stream they are behind `branches`, but not behind `swaps`.
//! let engine = CudaTimeline::new(&kernels, &mut fences)?;
//! swaps.follow(&engine)?;
//! let (written, id) = ([BlockId::new(7)], memory.layout().memory());
//! let waits = fences.waits_for_blocks(id, &written, Access::Write, engine.id())?;
//! engine.wait_for(&waits, [swaps.own_timeline(), branches.own_timeline()])?;
//! // ... the step's kernels are launched here ...
//! fences.record_blocks(id, &written, Access::Write, engine.id(), engine.mark()?)?;
//!
//! // Block 7 goes to the host, behind the kernel that writes it.
//! let out = CopyRoute::new(memory.layout(), host.layout())?;
//! let fence = swaps.copy(&out.plan(&[(BlockId::new(7), BlockId::new(0))])?, &mut fences)?;
//! while swaps.completed()? < fence {
//!     // ... the engine goes on ...
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! `examples/device_fork.rs` forks sequences so, and looks at every byte.
//!
//! # The driver
//! It is loaded when the first device is opened; building needs nothing of it. Version 520 (CUDA 11.8) and later ones know the kernels' PTX.
//! Whatever it answers is an error of type [`CudaError`], and nothing here panics.
//!
//! # Memory that is given back for a while
//! A mover keeps the memories that it knows. So an engine that sleeps drops its movers, lists and pools, in any order; with the last of them
//! the driver has the memory back. Before that it [evicts](crate::BlockPool::evict) what is cached, for a hit's bytes are gone too. When it wakes it
//! makes all of them anew, and a [`FenceTable`](crate::FenceTable): a table keeps the timelines that it was given.
//!
//! # A failure for good
//! Some results of the driver, a bad address in a kernel, say, mean that the context is lost. Then the [`CudaDevice`] is poisoned: every call
//! answers [`CudaError::Poisoned`], no fence passes any more, and memory is not given back. So a [`Lane`](crate::Lane) or a
//! [`CopyQueue`](crate::CopyQueue) that is told of fences by a mover gives nothing back to its pool either.

mod buffer;
mod config;
mod device;
mod driver;
mod error;
mod event;
mod host_pool;
mod kernels;
mod leftovers;
mod lists;
mod memories;
mod memory;
mod mover;
mod pair_list;
mod path;
mod prepared;
mod report;
mod sending;
mod staging;
mod stream;
mod timeline;

pub use self::config::MoverConfig;
pub use self::device::CudaDevice;
pub use self::error::{CudaError, code_name};
pub use self::host_pool::HostPool;
pub use self::memory::DevicePool;
pub use self::mover::CudaMover;
pub use self::pair_list::PairList;
pub use self::stream::CudaStream;
pub use self::timeline::CudaTimeline;
