//! The driver's entry points, found by name.
//!
//! cudarc finds and loads the driver's library. Its own bindings panic where the library or a symbol is missing, and name a result by
//! an enum that a newer driver may have no value for; so the symbols are looked up here, all of them at once, and results are numbers.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute_copy;
use std::sync::OnceLock;

use cudarc::driver::sys;

use super::error::CudaError;

/// A result of the driver; 0 is success.
pub(super) type Code = u32;
/// An address of device memory.
pub(super) type DevicePtr = u64;
/// An opaque handle of the driver.
pub(super) type Raw = *mut c_void;

pub(super) const SUCCESS: Code = 0;
pub(super) const OUT_OF_MEMORY: Code = 2;
pub(super) const NOT_READY: Code = 600;

/// An entry point with its name, which errors tell.
#[derive(Clone, Copy)]
pub(super) struct Entry<F> {
    pub(super) name: &'static str,
    pub(super) call: F,
}

macro_rules! entries {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// The driver's entry points that are used here. They stay loaded until the process ends.
        pub(super) struct Driver {
            $(pub(super) $field: Entry<unsafe extern "C" fn($($argument),*) -> Code>,)*
        }

        impl Driver {
            fn load() -> Result<Self, CudaError> {
                $(
                    let symbol = find(concat!($name, "\0").as_bytes()).ok_or(CudaError::MissingSymbol { name: $name })?;
                    // SAFETY: the driver's symbol of this name is a function with this signature, as its interface has had it since CUDA 11.4.
                    let call = unsafe {
                        transmute_copy::<*const c_void, unsafe extern "C" fn($($argument),*) -> Code>(&symbol)
                    };
                    let $field = Entry { name: $name, call };
                )*
                Ok(Self { $($field,)* })
            }
        }
    };
}

entries! {
    init = "cuInit"(c_uint);
    device_count = "cuDeviceGetCount"(*mut c_int);
    device_get = "cuDeviceGet"(*mut c_int, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    primary_retain = "cuDevicePrimaryCtxRetain"(*mut Raw, c_int);
    primary_release = "cuDevicePrimaryCtxRelease_v2"(c_int);
    context_get = "cuCtxGetCurrent"(*mut Raw);
    context_set = "cuCtxSetCurrent"(Raw);
    context_device = "cuCtxGetDevice"(*mut c_int);
    stream_create = "cuStreamCreate"(*mut Raw, c_uint);
    stream_destroy = "cuStreamDestroy_v2"(Raw);
    stream_wait_event = "cuStreamWaitEvent"(Raw, Raw, c_uint);
    stream_synchronize = "cuStreamSynchronize"(Raw);
    stream_is_capturing = "cuStreamIsCapturing"(Raw, *mut c_int);
    exchange_capture_mode = "cuThreadExchangeStreamCaptureMode"(*mut c_int);
    event_create = "cuEventCreate"(*mut Raw, c_uint);
    event_record = "cuEventRecord"(Raw, Raw);
    event_query = "cuEventQuery"(Raw);
    event_synchronize = "cuEventSynchronize"(Raw);
    event_destroy = "cuEventDestroy_v2"(Raw);
    module_load = "cuModuleLoadData"(*mut Raw, *const c_void);
    module_function = "cuModuleGetFunction"(*mut Raw, Raw, *const c_char);
    module_unload = "cuModuleUnload"(Raw);
    occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(*mut c_int, Raw, c_int, usize);
    launch = "cuLaunchKernel"(Raw, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Raw, *mut *mut c_void, *mut *mut c_void);
    memory_alloc = "cuMemAlloc_v2"(*mut DevicePtr, usize);
    memory_free = "cuMemFree_v2"(DevicePtr);
    memory_info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
    host_alloc = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
    host_free = "cuMemFreeHost"(*mut c_void);
    host_register = "cuMemHostRegister_v2"(*mut c_void, usize, c_uint);
    host_unregister = "cuMemHostUnregister"(*mut c_void);
    copy_to_device = "cuMemcpyHtoDAsync_v2"(DevicePtr, *const c_void, usize, Raw);
    copy_to_host = "cuMemcpyDtoHAsync_v2"(*mut c_void, DevicePtr, usize, Raw);
    fill = "cuMemsetD32Async"(DevicePtr, c_uint, usize, Raw);
}

fn find(symbol: &[u8]) -> Option<*const c_void> {
    // SAFETY: the library was found before (`Driver::get`), so it is not loaded in vain; its initialisers are those of a driver that
    // the process would load anyway.
    let library = unsafe { sys::culib() };
    // SAFETY: any symbol has an address; it is not looked at here.
    let found = unsafe { library.get::<*const c_void>(symbol) };
    found.ok().map(|symbol| *symbol)
}

impl Driver {
    /// The driver, loaded by the first call, and initialised.
    pub(super) fn get() -> Result<&'static Self, CudaError> {
        let driver = Self::loaded()?;
        // It costs nothing after the first time.
        // SAFETY: the flags must be 0.
        answered(driver.init.name, unsafe { (driver.init.call)(0) })?;
        Ok(driver)
    }

    fn loaded() -> Result<&'static Self, CudaError> {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = DRIVER.get() {
            return Ok(driver);
        }
        // SAFETY: as for `find`: loading the driver runs its initialisers.
        if !unsafe { sys::is_culib_present() } {
            return Err(CudaError::DriverNotFound);
        }
        let driver = Self::load()?;
        Ok(DRIVER.get_or_init(|| driver))
    }
}

/// What a call answered.
pub(super) fn answered(call: &'static str, code: Code) -> Result<(), CudaError> {
    match code {
        SUCCESS => Ok(()),
        code => Err(CudaError::Driver { call, code }),
    }
}

/// The second answer where the first one is an error: a failure of a call says nothing about another.
pub(super) fn twice<T>(call: impl Fn() -> Result<T, CudaError>) -> Result<T, CudaError> {
    call().or_else(|_| call())
}

impl core::fmt::Debug for Driver {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Driver")
    }
}

/// Calls an entry point of a device's driver: `call!(device.field(arguments))` is its result, an error that names it. A result that
/// nothing recovers from poisons the device.
///
/// The caller is in an `unsafe` block and says why the arguments are what the driver's interface asks for.
macro_rules! call {
    ($device:ident . $field:ident ( $($argument:expr),* $(,)? )) => {{
        let entry = &$device.driver().$field;
        $device.check(entry.name, (entry.call)($($argument),*))
    }};
}
pub(super) use call;
