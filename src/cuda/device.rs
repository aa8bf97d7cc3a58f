//! A device: its context, its kernels, and whether it can still be used.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::ffi::{CStr, c_int, c_void};
use core::fmt;
use core::ptr::null_mut;
use std::sync::OnceLock;

use super::driver::{Code, Driver, Raw, SUCCESS, answered, call, twice};
use super::error::{CudaError, is_sticky};
use super::kernels::Kernels;
use super::leftovers::Leftovers;

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
const MULTIPROCESSORS: c_int = 16;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: c_int = 2;

/// A device with a context, and the kernels loaded into it.
///
/// A handle: clones are handles of the same device, and any thread may use them. Each call makes the context current for its own time
/// and leaves the caller's as it was.
#[derive(Clone)]
pub struct CudaDevice {
    inner: Arc<Inner>,
}

struct Inner {
    driver: &'static Driver,
    device: c_int,
    context: Raw,
    /// The context is the device's primary one, held here.
    retained: bool,
    multiprocessors: u32,
    kernels: OnceLock<Kernels>,
    poison: OnceLock<(&'static str, Code)>,
    leftovers: Leftovers,
}

// SAFETY: the driver's handles may be used by any thread, as long as the context is current there, which each call sees to; what is
// changed after creation is behind a lock.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl CudaDevice {
    /// The device of this number, with its primary context: the one that the CUDA runtime and most engines use.
    ///
    /// # Errors
    /// [`CudaError::DriverNotFound`], [`CudaError::MissingSymbol`], [`CudaError::NoSuchDevice`], [`CudaError::BadPtx`],
    /// [`CudaError::Driver`].
    ///
    /// Loads the driver if nothing has, and the kernels, which the driver compiles for the device unless it has them from before.
    pub fn open(ordinal: u32) -> Result<Self, CudaError> {
        let driver = Driver::get()?;
        let mut devices = 0;
        // SAFETY: there is place for a number.
        let code = unsafe { (driver.device_count.call)(&raw mut devices) };
        answered(driver.device_count.name, code)?;
        let devices = u32::try_from(devices).unwrap_or(0);
        let number = c_int::try_from(ordinal).ok();
        let Some(number) = number.filter(|_| ordinal < devices) else {
            return Err(CudaError::NoSuchDevice {
                asked: ordinal,
                devices,
            });
        };
        let mut device = 0;
        // SAFETY: there is place for a device, and it is one of those counted.
        let code = unsafe { (driver.device_get.call)(&raw mut device, number) };
        answered(driver.device_get.name, code)?;
        let mut context = null_mut();
        // SAFETY: there is place for a context, and the driver has named the device.
        let code = unsafe { (driver.primary_retain.call)(&raw mut context, device) };
        answered(driver.primary_retain.name, code)?;
        Self::with(driver, device, context, true)
    }

    /// The device of a context of the caller's: a `CUcontext`, such as cudarc's `CudaContext::cu_ctx` gives.
    ///
    /// # Safety
    /// It is a context of this process's driver and stays one while this handle, or anything made from it, is used.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub unsafe fn from_context(context: *mut c_void) -> Result<Self, CudaError> {
        let driver = Driver::get()?;
        Self::with(driver, 0, context, false)
    }

    fn with(
        driver: &'static Driver,
        device: c_int,
        context: Raw,
        retained: bool,
    ) -> Result<Self, CudaError> {
        let mut inner = Inner {
            driver,
            device,
            context,
            retained,
            multiprocessors: 1,
            kernels: OnceLock::new(),
            poison: OnceLock::new(),
            leftovers: Leftovers::new(),
        };
        inner.look()?;
        let device = Self {
            inner: Arc::new(inner),
        };
        let kernels = Kernels::load(&device)?;
        device.inner.kernels.get_or_init(|| kernels);
        Ok(device)
    }

    /// What the driver calls the device.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn name(&self) -> Result<String, CudaError> {
        let mut buffer = [0_u8; 256];
        let place = buffer.as_mut_ptr().cast();
        // SAFETY: there is place for as many bytes as it is told.
        unsafe { call!(self.device_name(place, 256, self.inner.device)) }?;
        let name = CStr::from_bytes_until_nul(&buffer).ok();
        Ok(name.map_or_else(String::new, |name| name.to_string_lossy().to_string()))
    }

    /// Bytes of its memory that are free, and all of them. Free bytes may lie in pieces.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Poisoned`].
    pub fn memory(&self) -> Result<(u64, u64), CudaError> {
        let current = self.enter()?;
        current.memory()
    }

    /// Whether it can be used.
    ///
    /// # Errors
    /// [`CudaError::Poisoned`]: it failed for good. What was under way may still touch memory: give nothing back to a pool, and end
    /// the process when that is convenient.
    pub fn check_alive(&self) -> Result<(), CudaError> {
        self.inner.check_alive()
    }

    /// Multiprocessors.
    pub(super) fn multiprocessors(&self) -> u32 {
        self.inner.multiprocessors
    }

    /// The kernels, which are there once the device is made.
    pub(super) fn kernels(&self) -> Option<&Kernels> {
        self.inner.kernels.get()
    }

    pub(super) fn driver(&self) -> &'static Driver {
        self.inner.driver
    }

    pub(super) fn leftovers(&self) -> &Leftovers {
        &self.inner.leftovers
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// What a call answered; from then on the device is poisoned, if nothing recovers from that.
    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<(), CudaError> {
        self.inner.check(call, code)
    }

    /// Nothing is known of what is under way.
    pub(super) fn poison(&self, error: &CudaError) {
        if let CudaError::Driver { call, code } = *error {
            let _ = self.inner.poison.set((call, code));
        }
    }

    /// Makes the context current until the guard is dropped.
    pub(super) fn enter(&self) -> Result<Current<'_>, CudaError> {
        self.check_alive()?;
        let before = self.inner.make_current()?;
        Ok(Current {
            device: self,
            before,
        })
    }

    /// The same in `Drop`, to wait for what is under way: if that cannot be, the device is not used any more.
    pub(super) fn enter_surely(&self) -> Result<Current<'_>, CudaError> {
        twice(|| self.enter()).inspect_err(|error| self.poison(error))
    }

    /// Waits for what is under way: if that cannot be, the device is not used any more, and the error says so.
    pub(super) fn surely(&self, wait: impl Fn() -> Result<(), CudaError>) -> Result<(), CudaError> {
        twice(wait).or_else(|error| {
            self.poison(&error);
            self.check_alive()
        })
    }
}

impl Inner {
    fn check_alive(&self) -> Result<(), CudaError> {
        match self.poison.get() {
            Some(&(call, code)) => Err(CudaError::Poisoned { call, code }),
            None => Ok(()),
        }
    }

    fn check(&self, call: &'static str, code: Code) -> Result<(), CudaError> {
        if is_sticky(code) {
            let &(call, code) = self.poison.get_or_init(|| (call, code));
            return Err(CudaError::Poisoned { call, code });
        }
        answered(call, code)
    }

    fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// Returns the context to be made current again afterwards, if it is another.
    fn make_current(&self) -> Result<Option<Raw>, CudaError> {
        let mut before = null_mut();
        // SAFETY: there is place for a context.
        unsafe { call!(self.context_get(&raw mut before)) }?;
        if before == self.context {
            return Ok(None);
        }
        // SAFETY: the context lives: it is retained here, or the caller's word is that it does.
        unsafe { call!(self.context_set(self.context)) }?;
        Ok(Some(before))
    }

    fn leave(&self, before: Option<Raw>) {
        if let Some(before) = before {
            // SAFETY: it was current on this thread.
            let set = || unsafe { call!(self.context_set(before)) };
            // Nothing here depends on what is current instead.
            let _ = twice(set);
        }
    }

    fn relaxed<T>(&self, body: impl FnOnce() -> T) -> Result<T, CudaError> {
        let mode = self.exchange_mode(RELAXED)?;
        let answer = body();
        self.restore_mode(mode);
        // Unless nothing of this device is of any use any more.
        self.check_alive()?;
        Ok(answer)
    }

    /// Sets what the calling thread may do beside captures; returns what it might before.
    fn exchange_mode(&self, mut mode: c_int) -> Result<c_int, CudaError> {
        // SAFETY: there is place for a mode, and it is one that the driver knows.
        unsafe { call!(self.exchange_capture_mode(&raw mut mode)) }?;
        Ok(mode)
    }

    /// If it fails twice this thread captures streams in a laxer mode from now on; what was done in that has been done.
    fn restore_mode(&self, mode: c_int) {
        let _ = twice(|| self.exchange_mode(mode));
    }

    /// Learns what the device is.
    fn look(&mut self) -> Result<(), CudaError> {
        let before = self.make_current()?;
        let found = self.attributes();
        self.leave(before);
        self.multiprocessors = found?;
        Ok(())
    }

    fn attributes(&mut self) -> Result<u32, CudaError> {
        let mut device = 0;
        // SAFETY: there is place for a device, and a context is current.
        unsafe { call!(self.context_device(&raw mut device)) }?;
        self.device = device;
        let mut count = 0;
        // SAFETY: there is place for a number, and the driver has named the device.
        unsafe { call!(self.device_attribute(&raw mut count, MULTIPROCESSORS, device)) }?;
        Ok(u32::try_from(count).unwrap_or(1).max(1))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // What may be in use by a device that failed for good goes with the context, if it is held here.
        if self.check_alive().is_ok() {
            if let Ok(before) = twice(|| self.make_current()) {
                let mode = twice(|| self.exchange_mode(RELAXED));
                if let Some(kernels) = self.kernels.take() {
                    kernels.unload(self.driver, &self.leftovers);
                }
                self.leftovers.give_back(self.driver);
                if let Ok(mode) = mode {
                    self.restore_mode(mode);
                }
                self.leave(before);
            }
        }
        if self.retained {
            // SAFETY: it was retained once, and nothing made from it is left: everything holds a handle of this.
            let released = unsafe { (self.driver.primary_release.call)(self.device) };
            if released != SUCCESS {
                // SAFETY: as above; a call that failed released nothing.
                unsafe { (self.driver.primary_release.call)(self.device) };
            }
        }
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDevice")
            .field("device", &self.inner.device)
            .field("multiprocessors", &self.inner.multiprocessors)
            .field("poison", &self.inner.poison.get())
            .finish_non_exhaustive()
    }
}

/// The context is current on this thread.
pub(super) struct Current<'a> {
    device: &'a CudaDevice,
    before: Option<Raw>,
}

impl<'a> Current<'a> {
    pub(super) const fn device(&self) -> &'a CudaDevice {
        self.device
    }

    pub(super) fn memory(&self) -> Result<(u64, u64), CudaError> {
        let (device, mut free, mut total) = (self.device, 0, 0);
        // SAFETY: there is place for both numbers, and the context is current.
        unsafe { call!(device.memory_info(&raw mut free, &raw mut total)) }?;
        Ok((free as u64, total as u64))
    }

    /// Calls that another thread's capture of a stream would not allow otherwise: they touch no stream that is being captured.
    pub(super) fn relaxed<T>(&self, body: impl FnOnce() -> T) -> Result<T, CudaError> {
        self.device.inner.relaxed(body)
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        self.device.inner.leave(self.before);
    }
}
