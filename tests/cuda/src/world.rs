//! All that the stand-in knows: one device, its primary context and what was made in it.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;

use crate::calls::Calls;
use crate::capture::Capture;
use crate::error::{
    Code, INVALID_CONTEXT, NOT_INITIALIZED, Outcome, STREAM_CAPTURE_IMPLICIT, is_sticky,
};
use crate::event::Event;
use crate::findings::Findings;
use crate::graph::{Executable, Graph};
use crate::memory::Memory;
use crate::module::{Function, Module};
use crate::order::{Clock, Order};
use crate::random::Random;
use crate::stream::{HOST, LEGACY, Streams};

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Handles are never given out twice, not even after a reset, so that a stale one is known.
static NEXT_HANDLE: AtomicUsize = AtomicUsize::new(0x5a00_0000_0000);

/// A new handle.
pub(crate) fn handle() -> usize {
    NEXT_HANDLE.fetch_add(16, Ordering::Relaxed)
}

/// What control functions set.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Instructions after which a launch counts as hanging.
    pub(crate) instruction_limit: u64,
    pub(crate) multiprocessors: i32,
    /// Version that the driver says it is: 12000 for 12.0.
    pub(crate) version: i32,
    /// Whether there is a device.
    pub(crate) device: bool,
}

/// The primary context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: usize,
    pub(crate) users: usize,
    /// The fault after which nothing works.
    pub(crate) broken: Option<Code>,
}

/// How many of each kind are live: what a test that is over must have given back.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Live {
    /// `cuMemAlloc` without `cuMemFree`.
    pub allocations: u64,
    /// `cuMemHostAlloc` without `cuMemFreeHost`.
    pub host_allocations: u64,
    /// `cuMemHostRegister` without `cuMemHostUnregister`.
    pub registrations: u64,
    /// Streams not destroyed.
    pub streams: u64,
    /// Events not destroyed.
    pub events: u64,
    /// Modules not unloaded.
    pub modules: u64,
    /// Graphs not destroyed.
    pub graphs: u64,
    /// Instantiated graphs not destroyed.
    pub executables: u64,
    /// `cuDevicePrimaryCtxRetain` without release.
    pub contexts: u64,
}

/// The device and everything about it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(crate) random: Random,
    pub(crate) initialized: bool,
    pub(crate) context: Option<Context>,
    pub(crate) calls: Calls,
    pub(crate) memory: Memory,
    pub(crate) streams: Streams,
    pub(crate) events: BTreeMap<usize, Event>,
    pub(crate) modules: BTreeMap<usize, Module>,
    pub(crate) functions: BTreeMap<usize, Function>,
    pub(crate) captures: BTreeMap<usize, Capture>,
    pub(crate) graphs: BTreeMap<usize, Graph>,
    pub(crate) executables: BTreeMap<usize, Executable>,
    pub(crate) order: Order,
    pub(crate) findings: Findings,
    /// What was wrong with the module loaded last.
    pub(crate) module_log: String,
    /// What has run so far, for the times of events.
    pub(crate) ticks: u64,
    /// What was still live when a sound context ended.
    pub(crate) forgotten: Live,
}

impl World {
    pub(crate) const TICKS_PER_MILLISECOND: f32 = 1e6;
    /// Bytes of device memory unless a test says otherwise.
    const TOTAL: usize = 1 << 30;

    pub(crate) fn new(seed: u64) -> Self {
        Self {
            settings: Settings {
                instruction_limit: 1 << 30,
                multiprocessors: 4,
                version: 12000,
                device: true,
            },
            random: Random::new(seed),
            initialized: false,
            context: None,
            calls: Calls::default(),
            memory: Memory::new(Self::TOTAL, seed),
            streams: Streams::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            captures: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            order: Order::default(),
            findings: Findings::default(),
            module_log: String::new(),
            ticks: 0,
            forgotten: Live::default(),
        }
    }

    /// Whether the calling thread may use the device.
    pub(crate) fn check_context(&self) -> Outcome {
        if !self.initialized {
            return Err(NOT_INITIALIZED);
        }
        match &self.context {
            Some(context) if context.handle == CURRENT.get() => context.broken.map_or(Ok(()), Err),
            _ => Err(INVALID_CONTEXT),
        }
    }

    /// The calling thread's context, if it is one of this world.
    pub(crate) fn current(&self) -> usize {
        self.context.as_ref().map_or(0, |context| {
            if context.handle == CURRENT.get() {
                context.handle
            } else {
                0
            }
        })
    }

    pub(crate) fn make_current(&self, handle: usize) -> Outcome {
        if handle != 0
            && self
                .context
                .as_ref()
                .is_none_or(|context| context.handle != handle)
        {
            return Err(INVALID_CONTEXT);
        }
        CURRENT.set(handle);
        Ok(())
    }

    pub(crate) fn retain(&mut self) -> usize {
        let context = self.context.get_or_insert_with(|| Context {
            handle: handle(),
            users: 0,
            broken: None,
        });
        context.users += 1;
        context.handle
    }

    pub(crate) fn release(&mut self) -> Outcome {
        let context = self.context.as_mut().ok_or(INVALID_CONTEXT)?;
        context.users -= 1;
        if context.users == 0 {
            self.end_context();
        }
        Ok(())
    }

    /// Everything made in the context goes with it.
    fn end_context(&mut self) {
        let sound = self
            .context
            .take()
            .is_some_and(|context| context.broken.is_none());
        if sound {
            self.forgotten = self.live();
        }
        self.streams.close_all();
        self.memory.end();
        self.events.clear();
        self.modules.clear();
        self.functions.clear();
        self.captures.clear();
        self.graphs.clear();
        self.executables.clear();
    }

    /// Everything live, and what a sound context took with it.
    pub(crate) fn live(&self) -> Live {
        let [allocations, host_allocations, registrations] = self.memory.live();
        let count = |now: usize, before: u64| now as u64 + before;
        let before = self.forgotten;
        Live {
            allocations: count(allocations, before.allocations),
            host_allocations: count(host_allocations, before.host_allocations),
            registrations: count(registrations, before.registrations),
            streams: count(self.streams.live(), before.streams),
            events: count(self.events.len(), before.events),
            modules: count(self.modules.len(), before.modules),
            graphs: count(self.graphs.len(), before.graphs),
            executables: count(self.executables.len(), before.executables),
            contexts: self
                .context
                .as_ref()
                .map_or(0, |context| context.users as u64),
        }
    }

    /// Notes a code after which the context does not work any more.
    pub(crate) fn stick(&mut self, code: Code) {
        if !is_sticky(code) {
            return;
        }
        if let Some(context) = &mut self.context {
            context.broken.get_or_insert(code);
            self.streams.abandon();
        }
    }

    /// The host knows from now on that these points are over.
    pub(crate) fn host_learns(&mut self, clock: &Clock) {
        self.streams.lanes[HOST].clock.join(clock);
    }

    pub(crate) fn synchronize_lane(&mut self, lane: usize) -> Outcome {
        self.run_until(&[self.streams.end_of(lane)])?;
        let clock = self.streams.lanes[lane].clock.clone();
        self.host_learns(&clock);
        Ok(())
    }

    pub(crate) fn synchronize_all(&mut self) -> Outcome {
        self.run_all()?;
        for lane in 0..self.streams.lanes.len() {
            let clock = self.streams.lanes[lane].clock.clone();
            self.host_learns(&clock);
        }
        Ok(())
    }

    /// The captures that have a blocking stream.
    pub(crate) fn captures_of_blocking(&self) -> Vec<usize> {
        let lanes = self.streams.lanes.iter();
        lanes
            .filter(|lane| lane.blocking)
            .filter_map(|lane| lane.capture)
            .collect()
    }

    /// The legacy default stream may not be used, asked or waited for while a blocking stream is captured.
    pub(crate) fn check_legacy(&mut self, lane: usize) -> Outcome {
        if lane != LEGACY {
            return Ok(());
        }
        let captured = self.captures_of_blocking();
        for capture in &captured {
            self.invalidate(*capture);
        }
        if captured.is_empty() {
            Ok(())
        } else {
            Err(STREAM_CAPTURE_IMPLICIT)
        }
    }
}
