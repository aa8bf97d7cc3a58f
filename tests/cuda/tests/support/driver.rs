//! The driver's functions as tests of the stand-in call them, without cudarc.

use core::ffi::{CStr, c_int, c_void};

use libloading::Symbol;

use super::stand_in::StandIn;

/// Non-blocking: apart from the legacy default stream.
pub const APART: u32 = 1;

pub const SUCCESS: c_int = 0;
pub const INVALID_VALUE: c_int = 1;
pub const OUT_OF_MEMORY: c_int = 2;
pub const INVALID_PTX: c_int = 218;
pub const NOT_READY: c_int = 600;
pub const ILLEGAL_ADDRESS: c_int = 700;
pub const LAUNCH_TIMEOUT: c_int = 702;
pub const MISALIGNED_ADDRESS: c_int = 716;

/// The driver with its context current on the calling thread.
#[derive(Debug)]
pub struct Driver {
    pub stand_in: StandIn,
}

/// An answer, or the code that is not 0.
pub type Answer<T = ()> = Result<T, c_int>;

fn checked(code: c_int) -> Answer {
    if code == SUCCESS { Ok(()) } else { Err(code) }
}

impl Driver {
    /// Initialized, with a context.
    pub fn new(seed: u64) -> Self {
        let driver = Self {
            stand_in: StandIn::lock(seed),
        };
        driver.start();
        driver
    }

    pub fn start(&self) {
        assert_eq!(self.f::<extern "C" fn(u32) -> c_int>("cuInit")(0), SUCCESS);
        let mut context = 0;
        let retain =
            self.f::<unsafe extern "C" fn(*mut usize, c_int) -> c_int>("cuDevicePrimaryCtxRetain");
        // SAFETY: a place for the answer.
        assert_eq!(unsafe { retain(&raw mut context, 0) }, SUCCESS);
        assert_eq!(
            self.f::<extern "C" fn(usize) -> c_int>("cuCtxSetCurrent")(context),
            SUCCESS
        );
    }

    /// Makes the context current on this thread, too.
    pub fn make_current(&self) {
        let mut context = 0;
        let retain =
            self.f::<unsafe extern "C" fn(*mut usize, c_int) -> c_int>("cuDevicePrimaryCtxRetain");
        // SAFETY: a place for the answer.
        assert_eq!(unsafe { retain(&raw mut context, 0) }, SUCCESS);
        assert_eq!(
            self.f::<extern "C" fn(usize) -> c_int>("cuCtxSetCurrent")(context),
            SUCCESS
        );
        assert_eq!(self.release(), Ok(()));
    }

    /// The context that is current on this thread; 0 for none.
    pub fn current(&self) -> usize {
        let mut context = 0;
        let get = self.f::<unsafe extern "C" fn(*mut usize) -> c_int>("cuCtxGetCurrent");
        // SAFETY: a place for the answer.
        assert_eq!(unsafe { get(&raw mut context) }, SUCCESS);
        context
    }

    /// The same world as new with another seed.
    pub fn again(&self, seed: u64) {
        self.stand_in.reset(seed);
        self.start();
    }

    /// A function by its name; each use below gives its type as `cuda.h` has it.
    fn f<T>(&self, name: &str) -> Symbol<'static, T> {
        // SAFETY: the types given below are those of `cuda.h`.
        unsafe { self.stand_in.find(name) }
    }

    fn made(&self, name: &str, flags: u32) -> Answer<usize> {
        let mut made = 0;
        // SAFETY: a place for the answer.
        checked(unsafe {
            self.f::<unsafe extern "C" fn(*mut usize, u32) -> c_int>(name)(&raw mut made, flags)
        })?;
        Ok(made)
    }

    fn with_handle(&self, name: &str, handle: usize) -> Answer {
        checked(self.f::<extern "C" fn(usize) -> c_int>(name)(handle))
    }

    fn with_two(&self, name: &str, first: usize, second: usize) -> Answer {
        checked(self.f::<extern "C" fn(usize, usize) -> c_int>(name)(
            first, second,
        ))
    }

    pub fn stream(&self) -> usize {
        self.made("cuStreamCreate", APART).expect("a stream")
    }

    pub fn blocking_stream(&self) -> usize {
        self.made("cuStreamCreate", 0).expect("a stream")
    }

    pub fn event(&self) -> usize {
        self.made("cuEventCreate", 2).expect("an event")
    }

    pub fn destroy_stream(&self, stream: usize) -> Answer {
        self.with_handle("cuStreamDestroy_v2", stream)
    }

    pub fn destroy_event(&self, event: usize) -> Answer {
        self.with_handle("cuEventDestroy_v2", event)
    }

    pub fn synchronize(&self, stream: usize) -> Answer {
        self.with_handle("cuStreamSynchronize", stream)
    }

    pub fn synchronize_all(&self) -> Answer {
        checked(self.f::<extern "C" fn() -> c_int>("cuCtxSynchronize")())
    }

    pub fn query(&self, stream: usize) -> Answer {
        self.with_handle("cuStreamQuery", stream)
    }

    pub fn record(&self, event: usize, stream: usize) -> Answer {
        self.with_two("cuEventRecord", event, stream)
    }

    pub fn wait(&self, stream: usize, event: usize) -> Answer {
        checked(self.f::<extern "C" fn(usize, usize, u32) -> c_int>(
            "cuStreamWaitEvent",
        )(stream, event, 0))
    }

    pub fn query_event(&self, event: usize) -> Answer {
        self.with_handle("cuEventQuery", event)
    }

    pub fn synchronize_event(&self, event: usize) -> Answer {
        self.with_handle("cuEventSynchronize", event)
    }

    pub fn allocate(&self, bytes: usize) -> Answer<u64> {
        let mut made = 0;
        // SAFETY: a place for the answer.
        checked(unsafe {
            self.f::<unsafe extern "C" fn(*mut u64, usize) -> c_int>("cuMemAlloc_v2")(
                &raw mut made,
                bytes,
            )
        })?;
        Ok(made)
    }

    pub fn free(&self, address: u64) -> Answer {
        checked(self.f::<extern "C" fn(u64) -> c_int>("cuMemFree_v2")(
            address,
        ))
    }

    /// Free and total bytes.
    pub fn memory(&self) -> (usize, usize) {
        let mut found = (0, 0);
        let info =
            self.f::<unsafe extern "C" fn(*mut usize, *mut usize) -> c_int>("cuMemGetInfo_v2");
        // SAFETY: places for the answers.
        assert_eq!(unsafe { info(&raw mut found.0, &raw mut found.1) }, SUCCESS);
        found
    }

    pub fn pinned(&self, bytes: usize) -> *mut u8 {
        let mut made = core::ptr::null_mut();
        let alloc =
            self.f::<unsafe extern "C" fn(*mut *mut u8, usize, u32) -> c_int>("cuMemHostAlloc");
        // SAFETY: a place for the answer.
        assert_eq!(unsafe { alloc(&raw mut made, bytes, 0) }, SUCCESS);
        made
    }

    pub fn free_pinned(&self, address: *mut u8) -> Answer {
        self.with_handle("cuMemFreeHost", address as usize)
    }

    pub fn register(&self, memory: &mut [u8]) -> Answer {
        let register = self.f::<extern "C" fn(usize, usize, u32) -> c_int>("cuMemHostRegister_v2");
        checked(register(memory.as_mut_ptr() as usize, memory.len(), 0))
    }

    pub fn unregister(&self, memory: &mut [u8]) -> Answer {
        self.with_handle("cuMemHostUnregister", memory.as_mut_ptr() as usize)
    }

    pub fn copy_in(&self, to: u64, from: *const u8, bytes: usize, stream: usize) -> Answer {
        let copy =
            self.f::<extern "C" fn(u64, usize, usize, usize) -> c_int>("cuMemcpyHtoDAsync_v2");
        checked(copy(to, from as usize, bytes, stream))
    }

    pub fn copy_out(&self, to: *mut u8, from: u64, bytes: usize, stream: usize) -> Answer {
        let copy =
            self.f::<extern "C" fn(usize, u64, usize, usize) -> c_int>("cuMemcpyDtoHAsync_v2");
        checked(copy(to as usize, from, bytes, stream))
    }

    pub fn copy(&self, to: u64, from: u64, bytes: usize, stream: usize) -> Answer {
        checked(self.f::<extern "C" fn(u64, u64, usize, usize) -> c_int>(
            "cuMemcpyDtoDAsync_v2",
        )(to, from, bytes, stream))
    }

    /// The synchronous copy to the device.
    pub fn put(&self, to: u64, bytes: &[u8]) -> Answer {
        checked(self.f::<extern "C" fn(u64, usize, usize) -> c_int>(
            "cuMemcpyHtoD_v2",
        )(to, bytes.as_ptr() as usize, bytes.len()))
    }

    /// The synchronous copy from the device.
    pub fn get(&self, from: u64, bytes: usize) -> Answer<Vec<u8>> {
        let mut found = vec![0u8; bytes];
        checked(self.f::<extern "C" fn(usize, u64, usize) -> c_int>(
            "cuMemcpyDtoH_v2",
        )(found.as_mut_ptr() as usize, from, bytes))?;
        Ok(found)
    }

    pub fn fill(&self, to: u64, value: u8, bytes: usize, stream: usize) -> Answer {
        checked(self.f::<extern "C" fn(u64, u8, usize, usize) -> c_int>(
            "cuMemsetD8Async",
        )(to, value, bytes, stream))
    }

    pub fn load(&self, ptx: &CStr) -> Answer<usize> {
        let mut made = 0;
        let load =
            self.f::<unsafe extern "C" fn(*mut usize, *const c_void) -> c_int>("cuModuleLoadData");
        // SAFETY: a place for the answer, and a text that ends with a zero.
        checked(unsafe { load(&raw mut made, ptx.as_ptr().cast()) })?;
        Ok(made)
    }

    pub fn unload(&self, module: usize) -> Answer {
        self.with_handle("cuModuleUnload", module)
    }

    pub fn function(&self, module: usize, name: &CStr) -> Answer<usize> {
        let mut made = 0;
        let get = self
            .f::<unsafe extern "C" fn(*mut usize, usize, *const core::ffi::c_char) -> c_int>(
                "cuModuleGetFunction",
            );
        // SAFETY: a place for the answer, and a name that ends with a zero.
        checked(unsafe { get(&raw mut made, module, name.as_ptr()) })?;
        Ok(made)
    }

    /// A launch of so many blocks and threads; each argument is a word, of which a narrower parameter takes the low bytes.
    pub fn launch(
        &self,
        function: usize,
        blocks: u32,
        threads: u32,
        arguments: &[u64],
        stream: usize,
    ) -> Answer {
        type Launch = unsafe extern "C" fn(
            usize,
            u32,
            u32,
            u32,
            u32,
            u32,
            u32,
            u32,
            usize,
            *mut *const u64,
            *mut *mut c_void,
        ) -> c_int;
        let mut pointers: Vec<*const u64> = arguments
            .iter()
            .map(|argument| &raw const *argument)
            .collect();
        // SAFETY: a pointer for each parameter, all of which live as long as the call.
        checked(unsafe {
            self.f::<Launch>("cuLaunchKernel")(
                function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream,
                pointers.as_mut_ptr(),
                core::ptr::null_mut(),
            )
        })
    }

    pub fn begin_capture(&self, stream: usize, mode: u32) -> Answer {
        checked(self.f::<extern "C" fn(usize, u32) -> c_int>(
            "cuStreamBeginCapture_v2",
        )(stream, mode))
    }

    pub fn end_capture(&self, stream: usize) -> Answer<usize> {
        let mut made = 0;
        // SAFETY: a place for the answer.
        checked(unsafe {
            self.f::<unsafe extern "C" fn(usize, *mut usize) -> c_int>("cuStreamEndCapture")(
                stream,
                &raw mut made,
            )
        })?;
        Ok(made)
    }

    /// 0: not capturing, 1: capturing, 2: the capture has failed.
    pub fn capture_status(&self, stream: usize) -> u32 {
        let mut found = 9;
        let ask = self.f::<unsafe extern "C" fn(usize, *mut u32) -> c_int>("cuStreamIsCapturing");
        // SAFETY: a place for the answer.
        let code = unsafe { ask(stream, &raw mut found) };
        assert_eq!(code, SUCCESS);
        found
    }

    /// Sets this thread's capture mode; answers the one before.
    pub fn exchange_mode(&self, mode: u32) -> u32 {
        let mut mode = mode;
        // SAFETY: a place for the mode.
        let code = unsafe {
            self.f::<unsafe extern "C" fn(*mut u32) -> c_int>("cuThreadExchangeStreamCaptureMode")(
                &raw mut mode,
            )
        };
        assert_eq!(code, SUCCESS);
        mode
    }

    pub fn instantiate(&self, graph: usize) -> Answer<usize> {
        let mut made = 0;
        let instantiate = self.f::<unsafe extern "C" fn(*mut usize, usize, u64) -> c_int>(
            "cuGraphInstantiateWithFlags",
        );
        // SAFETY: a place for the answer.
        checked(unsafe { instantiate(&raw mut made, graph, 0) })?;
        Ok(made)
    }

    pub fn launch_graph(&self, executable: usize, stream: usize) -> Answer {
        self.with_two("cuGraphLaunch", executable, stream)
    }

    pub fn destroy_executable(&self, executable: usize) -> Answer {
        self.with_handle("cuGraphExecDestroy", executable)
    }

    pub fn destroy_graph(&self, graph: usize) -> Answer {
        self.with_handle("cuGraphDestroy", graph)
    }

    pub fn release(&self) -> Answer {
        checked(self.f::<extern "C" fn(c_int) -> c_int>(
            "cuDevicePrimaryCtxRelease_v2",
        )(0))
    }

    /// A function of a module of one file.
    pub fn kernel(&self, ptx: &CStr, name: &CStr) -> usize {
        let module = self
            .load(ptx)
            .unwrap_or_else(|code| panic!("{code}: {}", self.stand_in.module_log()));
        self.function(module, name).expect("a function")
    }
}
