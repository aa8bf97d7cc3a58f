//! What the driver did not take back at once.
//!
//! A call that gives something back can fail, in `Drop` too, where nobody is there to be told. It is tried again before memory is asked for
//! and when the device is closed.

use alloc::vec::Vec;
use core::ffi::c_void;
use core::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::driver::{Code, DevicePtr, Driver, Raw, SUCCESS};

/// Something of the driver's that is not used any more. The context in which it was made is current when it is given back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leftover {
    Memory(DevicePtr),
    HostMemory(*mut c_void),
    Registration(*mut c_void),
    Stream(Raw),
    Event(Raw),
    Module(Raw),
}

impl Leftover {
    fn give_back(self, driver: &Driver) -> Code {
        // SAFETY, of all six: it is what the driver gave by the call of which this is the counterpart, and nothing uses it any more: who
        // makes a `Leftover` gives it up.
        match self {
            // SAFETY: as above.
            Self::Memory(address) => unsafe { (driver.memory_free.call)(address) },
            // SAFETY: as above.
            Self::HostMemory(address) => unsafe { (driver.host_free.call)(address) },
            // SAFETY: as above.
            Self::Registration(address) => unsafe { (driver.host_unregister.call)(address) },
            // SAFETY: as above.
            Self::Stream(stream) => unsafe { (driver.stream_destroy.call)(stream) },
            // SAFETY: as above.
            Self::Event(event) => unsafe { (driver.event_destroy.call)(event) },
            // SAFETY: as above.
            Self::Module(module) => unsafe { (driver.module_unload.call)(module) },
        }
    }
}

pub(super) struct Leftovers {
    list: Mutex<Vec<Leftover>>,
}

impl Leftovers {
    pub(super) const fn new() -> Self {
        Self {
            list: Mutex::new(Vec::new()),
        }
    }

    /// Gives something back, now or later.
    pub(super) fn take(&self, driver: &Driver, it: Leftover) {
        if it.give_back(driver) != SUCCESS {
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            // Without memory to remember it, it stays with the driver until the process ends.
            if list.try_reserve(1).is_ok() {
                list.push(it);
            }
        }
    }

    /// Remembers what cannot be given back now.
    pub(super) fn keep(&self, it: Leftover) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.try_reserve(1).is_ok() {
            list.push(it);
        }
    }

    /// Whether memory of the host in this range is still pinned.
    pub(super) fn pins(&self, range: &Range<usize>) -> bool {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let pins = |it: &Leftover| match it {
            Leftover::Registration(address) => range.contains(&address.addr()),
            _ => false,
        };
        list.iter().any(pins)
    }

    /// Tries again.
    pub(super) fn give_back(&self, driver: &Driver) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|it| it.give_back(driver) != SUCCESS);
    }
}
