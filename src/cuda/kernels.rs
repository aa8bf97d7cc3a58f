//! The kernels: their code, their parameters, and how they are launched.
//!
//! `kernels/` has the sources and the committed PTX; how one is made from the other is told there. The layouts below are those of the
//! structures in the sources, which assert the same numbers.

use core::ffi::{CStr, c_void};
use core::mem::{offset_of, size_of};
use core::ptr::null_mut;

use super::device::{CudaDevice, Current};
use super::driver::{DevicePtr, Driver, Raw, call};
use super::error::CudaError;
use super::leftovers::{Leftover, Leftovers};
use super::stream::CudaStream;
use crate::copy::CopyKind;

/// Bytes of a plane that a thread block copies at a time.
pub(super) const CHUNK: u64 = 16384;
/// Threads of a block.
const THREADS: u16 = 256;
/// Bytes that a thread reads and writes at once, of the variants of a kernel.
pub(super) const WIDTHS: [u32; 5] = [16, 8, 4, 2, 1];

const PTX: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("kernels/kv_copy.ptx"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("PTX is text"),
};
const COPY_NAMES: [&CStr; 5] = [
    c"kvb_copy_16",
    c"kvb_copy_8",
    c"kvb_copy_4",
    c"kvb_copy_2",
    c"kvb_copy_1",
];
const PERMUTE_NAMES: [&CStr; 5] = [
    c"kvb_permute_16",
    c"kvb_permute_8",
    c"kvb_permute_4",
    c"kvb_permute_2",
    c"kvb_permute_1",
];

/// A plane of which whole blocks are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlaneCopy {
    pub(super) source_base: u64,
    pub(super) source_stride: u64,
    pub(super) destination_base: u64,
    pub(super) destination_stride: u64,
    pub(super) bytes: u64,
    /// Chunks of all planes before this one.
    pub(super) first: u64,
}

/// A plane whose heads are put elsewhere.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlanePermute {
    pub(super) source_base: u64,
    pub(super) source_stride: u64,
    pub(super) destination_base: u64,
    pub(super) destination_stride: u64,
    /// Chunks of all planes before this one.
    pub(super) first: u64,
    pub(super) parts: u32,
    pub(super) positions: u32,
    pub(super) heads: u32,
    pub(super) head_bytes: u32,
    pub(super) source_part: u64,
    pub(super) source_position: u64,
    pub(super) source_head: u64,
    pub(super) destination_part: u64,
    pub(super) destination_position: u64,
    pub(super) destination_head: u64,
}

/// Source and destination of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    pub(super) source: u32,
    pub(super) destination: u32,
}

const _: () = {
    assert!(size_of::<PlaneCopy>() == 48 && offset_of!(PlaneCopy, first) == 40);
    assert!(size_of::<PlanePermute>() == 104 && offset_of!(PlanePermute, parts) == 40);
    assert!(offset_of!(PlanePermute, source_part) == 56);
    assert!(size_of::<Pair>() == 8);
};

/// The two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Copy,
    Permute,
}

impl Kind {
    pub(super) const fn of(kind: &CopyKind) -> Self {
        match kind {
            CopyKind::Same { .. } => Self::Copy,
            CopyKind::Permute(_) => Self::Permute,
        }
    }
}

/// What a launch needs to know. Addresses are of device memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    pub(super) kind: Kind,
    /// Place in [`WIDTHS`].
    pub(super) width: usize,
    /// `PlaneCopy` or `PlanePermute`, `plane_count` of them.
    pub(super) planes: DevicePtr,
    pub(super) plane_count: u32,
    /// Chunks of all of them.
    pub(super) chunks: u32,
    pub(super) source_blocks: u32,
    pub(super) destination_blocks: u32,
    /// Pairs, `count` of them, for at most `capacity`.
    pub(super) pairs: DevicePtr,
    pub(super) count: DevicePtr,
    pub(super) capacity: u32,
    /// Two words.
    pub(super) report: DevicePtr,
    /// Thread blocks.
    pub(super) grid: u32,
}

/// A kernel of a device.
#[derive(Clone, Copy, Debug)]
struct Function {
    function: Raw,
    /// Thread blocks that the device has running at once.
    resident: u32,
}

/// The kernels as a device has them.
#[derive(Debug)]
pub(super) struct Kernels {
    module: Raw,
    functions: [[Function; 5]; 2],
}

impl Kernels {
    pub(super) fn load(device: &CudaDevice) -> Result<Self, CudaError> {
        let current = device.enter()?;
        let module = Module::load(&current, PTX)?;
        let functions = [
            module.functions(&COPY_NAMES)?,
            module.functions(&PERMUTE_NAMES)?,
        ];
        Ok(Self {
            functions,
            module: module.keep(),
        })
    }

    pub(super) fn unload(self, driver: &Driver, leftovers: &Leftovers) {
        leftovers.take(driver, Leftover::Module(self.module));
    }

    /// Thread blocks of a kernel that the device has running at once.
    pub(super) fn resident(&self, kind: Kind, width: usize) -> u32 {
        self.functions[kind as usize][width].resident
    }

    /// Puts a launch into a stream.
    pub(super) fn launch(
        &self,
        current: &Current<'_>,
        stream: &CudaStream,
        launch: &Launch,
    ) -> Result<(), CudaError> {
        let device = current.device();
        let function = self.functions[launch.kind as usize][launch.width].function;
        let Launch {
            mut planes,
            mut plane_count,
            mut chunks,
            mut source_blocks,
            mut destination_blocks,
            mut pairs,
            mut count,
            mut capacity,
            mut report,
            ..
        } = *launch;
        let mut parameters: [*mut c_void; 9] = [
            (&raw mut planes).cast(),
            (&raw mut plane_count).cast(),
            (&raw mut chunks).cast(),
            (&raw mut source_blocks).cast(),
            (&raw mut destination_blocks).cast(),
            (&raw mut pairs).cast(),
            (&raw mut count).cast(),
            (&raw mut capacity).cast(),
            (&raw mut report).cast(),
        ];
        let (stream, parameters) = (stream.raw(), parameters.as_mut_ptr());
        // SAFETY: the nine parameters are those of the kernels, in order and type; the driver reads them before it returns. The addresses are
        // of memory that who launches keeps until the stream has passed this point.
        unsafe {
            call!(device.launch(
                function,
                launch.grid,
                1,
                1,
                THREADS.into(),
                1,
                1,
                0,
                stream,
                parameters,
                null_mut(),
            ))
        }
    }
}

/// A module that is unloaded unless it is kept.
struct Module<'a, 'b> {
    current: &'a Current<'b>,
    module: Raw,
}

impl<'a, 'b> Module<'a, 'b> {
    fn load(current: &'a Current<'b>, ptx: &CStr) -> Result<Self, CudaError> {
        let (device, mut module) = (current.device(), null_mut());
        // SAFETY: there is place for a module, the text ends with a zero, and the context is current.
        let load = || unsafe { call!(device.module_load(&raw mut module, ptx.as_ptr().cast())) };
        // Else another thread's capture would be broken off.
        let loaded = current.relaxed(load)?;
        match loaded {
            Ok(()) => Ok(Self { current, module }),
            // Not an image, no binary for this device, bad PTX, a version of it that is too new.
            Err(CudaError::Driver {
                code: code @ (200 | 209 | 218..=222),
                ..
            }) => Err(CudaError::BadPtx { code }),
            Err(error) => Err(error),
        }
    }

    fn functions(&self, names: &[&CStr; 5]) -> Result<[Function; 5], CudaError> {
        let mut functions = [Function {
            function: null_mut(),
            resident: 1,
        }; 5];
        for (place, name) in functions.iter_mut().zip(names) {
            *place = self.function(name)?;
        }
        Ok(functions)
    }

    fn function(&self, name: &CStr) -> Result<Function, CudaError> {
        let (device, mut function, mut blocks) = (self.current.device(), null_mut(), 0);
        // SAFETY: there is place for a function, and the module is loaded.
        unsafe { call!(device.module_function(&raw mut function, self.module, name.as_ptr())) }?;
        // SAFETY: there is place for a number, and the function was just found.
        unsafe { call!(device.occupancy(&raw mut blocks, function, THREADS.into(), 0)) }?;
        let blocks = u32::try_from(blocks).unwrap_or(1).max(1);
        Ok(Function {
            function,
            resident: blocks.saturating_mul(device.multiprocessors()),
        })
    }

    fn keep(self) -> Raw {
        let module = self.module;
        core::mem::forget(self);
        module
    }
}

impl Drop for Module<'_, '_> {
    fn drop(&mut self) {
        let device = self.current.device();
        let module = Leftover::Module(self.module);
        let given = self
            .current
            .relaxed(|| device.leftovers().take(device.driver(), module));
        if given.is_err() {
            device.leftovers().keep(module);
        }
    }
}
