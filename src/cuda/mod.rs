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
//! | `config`, `memories`, `path`, `prepared`, `lists`, `report`, `staging` | what a mover is made of |
//! | `mover` | [`CudaMover`]: executes plans |
//! | `pair_list` | [`PairList`]: copies inside captured graphs |
//!
//! # The driver
//! It is loaded when the first device is opened; building needs nothing of it. Version 520 (CUDA 11.8) and later ones know the kernels' PTX.
//! Whatever it answers is an error of type [`CudaError`], and nothing here panics.
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
