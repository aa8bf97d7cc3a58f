//! Running sequences that change their instance.
//!
//! A move begins between two steps of its source: the sequence is offered there, blocks are taken at the destination, and writers fill
//! them while both instances serve others. The sequence itself pauses. When all is there the destination goes on with it and the source
//! lets go; a move that is aborted midway leaves it to the source, and its blocks at the destination wait for the writers.

use alloc::format;
use alloc::vec::Vec;

use kvblock::{Admit, Handle, InstanceExport, Prompt};

use crate::failure::{Failure, cannot_fail};
use crate::serve::draw::{Purpose, draw};
use crate::serve::engine::Engine;
use crate::serve::fetch::{Fate, News};
use crate::serve::running::{Load, Running};
use crate::serve::simulator::Simulator;
use crate::serve::step_time::Nanos;

/// A move under way.
#[derive(Debug)]
pub(crate) struct Move {
    from: usize,
    to: usize,
    /// The sequence at both ends.
    source: Handle,
    destination: Handle,
    export: InstanceExport,
    /// When it paused.
    since: Nanos,
}

impl Move {
    /// Whether it is from there.
    pub(super) const fn leaves(&self, instance: usize) -> bool {
        self.from == instance
    }
}

/// How a move ends without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// As its fate is.
    Aborted,
    /// Memory is short, or the request has ended.
    CalledOff,
}

impl Simulator<'_> {
    /// Begins a move; false if one of the two cannot take part now.
    pub(super) fn begin(
        &mut self,
        from: usize,
        to: usize,
        handle: Handle,
    ) -> Result<bool, Failure> {
        let settings = self.world.settings;
        let world = &mut self.world;
        let target = &self.engines[to];
        if !target.has_place(settings) {
            return Ok(false);
        }
        let those = |running: &&Running| running.handle == handle;
        let Some(running) = self.engines[from].running.iter().find(those).copied() else {
            return Ok(false);
        };
        let number = world.log.figures.moves.begun;
        let source = &mut self.engines[from].memory;
        let Some(export) = source.export(handle, &world.namespace, number)? else {
            return Ok(false);
        };
        let branch = running.branch;
        let tokens = world.text(&branch, running.positions)?;
        let admit = Admit::new(
            Prompt::new(&world.namespace, &tokens),
            settings.growth.of(world.left(&branch)),
        )
        .budget(settings.budget.into())
        .returning(true)
        .label(branch.request as u64);
        let target = &mut self.engines[to];
        let Some(arriving) = target.memory.take_in(&admit, &export)? else {
            export.abort().map_err(cannot_fail("abort"))?;
            return Ok(false);
        };
        let (destination, blocks) = (arriving.handle, arriving.blocks);
        let figures = &mut world.log.figures;
        figures.moves.begun += 1;
        figures.moves.written_blocks += blocks as u64;
        figures.moves.found_blocks += (arriving.hit / settings.block_size) as u64;
        figures.moved.add(running.positions, arriving.hit);
        target.figures.moved.add(running.positions, arriving.hit);
        target.incoming += 1;
        let fate = if settings.fetch.aborted.contains(draw(
            settings.seed,
            Purpose::AbortMove,
            [number, 0, 0],
        )) {
            Fate::Cancelled
        } else {
            Fate::Arrives
        };
        let loads = target.memory.begin_move(arriving, number, fate);
        if let Some(running) = self.engines[from]
            .running
            .iter_mut()
            .find(|it| it.handle == handle)
        {
            running.load = Load::Leaving;
        }
        self.moves.push(Move {
            from,
            to,
            source: handle,
            destination,
            export,
            since: self.world.log.now(),
        });
        let duplicated = self.engines[to].memory.duplicated();
        let most = &mut self.world.log.figures.moves.duplicated_most;
        *most = (*most).max(duplicated);
        if !loads {
            self.commit(destination, to)?;
        }
        Ok(true)
    }

    /// A step of an instance has ended: the writers of moves to it go on.
    pub(in crate::serve) fn load_moves(&mut self, to: usize) -> Result<(), Failure> {
        let mut news = Vec::new();
        self.engines[to].memory.load_moves(&mut news)?;
        for new in news {
            match new {
                News::Complete(handle) => self.commit(handle, to)?,
                News::Cancel(handle) | News::Fallback(handle) => {
                    self.stop(|it| it.to == to && it.destination == handle, Stop::Aborted)?;
                }
            }
        }
        Ok(())
    }

    /// All is there: the destination goes on, and the source lets go.
    fn commit(&mut self, handle: Handle, to: usize) -> Result<(), Failure> {
        let is_it = |it: &Move| it.to == to && it.destination == handle;
        let Some(at) = self.moves.iter().position(is_it) else {
            return Ok(());
        };
        if !self.engines[to].memory.commit(handle)? {
            return self.stop(is_it, Stop::CalledOff);
        }
        let done = self.moves.remove(at);
        let source = &mut self.engines[done.from];
        let Some(place) = source
            .running
            .iter()
            .position(|it| it.handle == done.source)
        else {
            return Err(Failure::Defect(format!(
                "a sequence was moved that does not run: {:?}",
                done.source
            )));
        };
        let running = source.running.remove(place);
        source.memory.release(done.source)?;
        source.figures.moved_out += 1;
        let target = &mut self.engines[to];
        target.incoming -= 1;
        target.figures.moved_in += 1;
        target.enter(Running {
            handle,
            load: Load::None,
            grows: 0,
            chunk: 0,
            ..running
        });
        let paused = self.world.log.now().saturating_sub(done.since);
        let moves = &mut self.world.log.figures.moves;
        moves.committed += 1;
        moves.paused += paused;
        Ok(())
    }

    /// Ends moves without success. The source goes on, if the sequence still runs there.
    fn stop(&mut self, those: impl Fn(&Move) -> bool, stop: Stop) -> Result<(), Failure> {
        while let Some(at) = self.moves.iter().position(&those) {
            let ended = self.moves.remove(at);
            // It is aborted already if the source has released the sequence.
            let _ = ended.export.abort();
            let target = &mut self.engines[ended.to];
            target.memory.release(ended.destination)?;
            target.incoming -= 1;
            target.figures.moves_aborted += 1;
            let source = &mut self.engines[ended.from];
            source.memory.changed();
            let mut those = source.running.iter_mut();
            if let Some(running) = those.find(|it| it.handle == ended.source) {
                running.load = Load::None;
                running.stays = true;
            }
            let paused = self.world.log.now().saturating_sub(ended.since);
            let moves = &mut self.world.log.figures.moves;
            *match stop {
                Stop::Aborted => &mut moves.aborted,
                Stop::CalledOff => &mut moves.called_off,
            } += 1;
            moves.paused += paused;
        }
        Ok(())
    }

    /// Calls off the moves of requests that have ended.
    pub(in crate::serve) fn forget_ended(&mut self) -> Result<(), Failure> {
        let gone = |it: &Move, engines: &[Engine]| {
            !engines[it.from]
                .running
                .iter()
                .any(|running| running.handle == it.source && !running.ended)
        };
        let ended: Vec<_> = self
            .moves
            .iter()
            .filter(|it| gone(it, &self.engines))
            .map(|it| (it.to, it.destination))
            .collect();
        for (to, handle) in ended {
            self.stop(
                |it| it.to == to && it.destination == handle,
                Stop::CalledOff,
            )?;
        }
        self.note_moves();
        Ok(())
    }

    /// Gives back what moves hold where memory is short.
    pub(in crate::serve) fn relieve(&mut self) -> Result<(), Failure> {
        for at in 0..self.engines.len() {
            if !core::mem::take(&mut self.engines[at].in_straits) {
                continue;
            }
            self.stop(|it| it.from == at || it.to == at, Stop::CalledOff)?;
            for engine in &mut self.engines {
                engine.memory.moves.wait_for_late()?;
                engine.memory.changed();
            }
            self.note_moves();
        }
        Ok(())
    }

    pub(super) fn note_moves(&mut self) {
        let held = self.engines.iter().any(|it| it.memory.moves.is_under_way());
        self.world.moves_hold = held || !self.moves.is_empty();
    }
}
