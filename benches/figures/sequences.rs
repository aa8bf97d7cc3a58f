//! A registry of sequences: appends, steps, forks, fences and loads against one `fetch_add`.

use core::time::Duration;

use kvblock::{
    Admit, Admitted, Contents, Fence, Growth, Handle, Incoming, Namespace, Prompt, Sequences,
    SequencesConfig, Step,
};

use crate::Effort;
use crate::measure::{Row, table, timed};
use crate::workload::{BLOCK, CHAIN, pool, text};

/// Sequences of a step.
const BATCH: usize = 256;

pub(crate) fn run(effort: &Effort) {
    let mut rows = vec![append_row()];
    for (growth, gate) in [
        (Growth::Ahead(2), Some(1.5)),
        (Growth::Cap(1024), None),
        (Growth::OnDemand, None),
    ] {
        rows.push(step_row(growth, gate));
    }
    rows.push(decode_row());
    rows.push(fork_row());
    rows.push(admit_row());
    rows.push(fence_row());
    rows.push(import_row());
    let title = format!(
        "Sequences, {} blocks of {BLOCK}, {BATCH} sequences",
        effort.sizes[0]
    );
    table(&title, &mut rows, effort.samples);
}

/// A registry at work.
struct Scheduler {
    sequences: Sequences,
    handles: Vec<Handle>,
    step: Step,
    batch: Vec<(Handle, usize)>,
}

impl Scheduler {
    /// Prompts whose ends lie `stagger` positions apart in their blocks.
    fn new(growth: Growth, stagger: usize) -> Self {
        let config = SequencesConfig::new(2 * BATCH);
        let sequences = Sequences::new(pool(100_000), &config).expect("memory");
        let mut scheduler = Self {
            sequences,
            handles: Vec::new(),
            step: Step::new(),
            batch: Vec::new(),
        };
        scheduler.admit_all(growth, stagger);
        scheduler
    }

    fn admit_all(&mut self, growth: Growth, stagger: usize) {
        let space = Namespace::new();
        for (i, number) in (0_u32..).take(BATCH).enumerate() {
            let tokens = text(number, 5);
            let tokens = &tokens[..4 * BLOCK + 1 + i * stagger % (BLOCK - 1)];
            let request = Admit::new(Prompt::new(&space, tokens), growth);
            let admitted = self.sequences.admit(&request).expect("room");
            self.sequences
                .computed(admitted.handle, tokens.len())
                .expect("appended");
            self.handles.push(admitted.handle);
            self.batch.push((admitted.handle, 1));
        }
    }

    /// The same sequences anew, and nothing cached.
    fn renew(&mut self, growth: Growth, stagger: usize) {
        for handle in self.handles.drain(..) {
            self.sequences.release(handle).expect("it lives");
        }
        self.batch.clear();
        let pool = self.sequences.pool();
        let mut worker = pool.worker().expect("memory");
        pool.evict(&mut worker, usize::MAX).expect("its own pool");
        self.admit_all(growth, stagger);
    }

    fn run_step(&mut self) {
        self.sequences.step(&self.batch, &mut self.step);
        assert_eq!(self.step.slots().len(), BATCH, "nobody failed");
    }

    /// Takes `n` positions back from each.
    fn rewind(&mut self, n: usize) {
        for &handle in &self.handles {
            let positions = self.sequences.state(handle).expect("it lives").positions;
            self.sequences
                .truncate(handle, positions - n)
                .expect("nothing is shared");
        }
    }
}

fn append_row<'a>() -> Row<'a> {
    let mut scheduler = Scheduler::new(Growth::Ahead(2), 0);
    let n = BLOCK - 2;
    Row::new("append inside a block", "call", Some(1.0), move || {
        let Scheduler {
            sequences,
            handles,
            step,
            ..
        } = &mut scheduler;
        let time = timed(|| {
            for &handle in &*handles {
                for _ in 0..n {
                    sequences.append(handle, 1, step).expect("room");
                }
            }
        });
        scheduler.rewind(n);
        (time, n * BATCH)
    })
}

fn step_row<'a>(growth: Growth, gate: Option<f64>) -> Row<'a> {
    let mut scheduler = Scheduler::new(growth, 1);
    let name = format!("16 steps of {BATCH}, {growth:?}");
    Row::new(name, "sequence", gate, move || {
        // Once to warm up: the other rows have run in between.
        let mut time = Duration::ZERO;
        for _ in 0..2 {
            time = timed(|| {
                for _ in 0..BLOCK {
                    scheduler.run_step();
                }
            });
            scheduler.rewind(BLOCK);
        }
        (time, BLOCK * BATCH)
    })
}

fn decode_row<'a>() -> Row<'a> {
    let mut scheduler = Scheduler::new(Growth::Ahead(2), 1);
    let name = format!("16 steps of {BATCH} with tokens and computed");
    let mut token = 0;
    Row::new(name, "sequence", None, move || {
        let mut ends: Vec<usize> = scheduler
            .handles
            .iter()
            .map(|&handle| {
                scheduler
                    .sequences
                    .state(handle)
                    .expect("it lives")
                    .positions
            })
            .collect();
        let time = timed(|| {
            for _ in 0..BLOCK {
                scheduler.run_step();
                for (&handle, end) in scheduler.handles.iter().zip(&mut ends) {
                    let sequences = &mut scheduler.sequences;
                    token += 1;
                    sequences
                        .tokens(handle, *end, &Contents::new(&[token]))
                        .expect("the next one");
                    *end += 1;
                    sequences.computed(handle, *end).expect("appended");
                }
            }
        });
        // Published blocks are not taken back: begin anew.
        scheduler.renew(Growth::Ahead(2), 1);
        (time, BLOCK * BATCH)
    })
}

/// A registry with one sequence of [`CHAIN`] published blocks, and its prompt.
fn with_parent() -> (Sequences, Handle, Vec<u32>) {
    let mut sequences = Sequences::new(pool(100_000), &SequencesConfig::new(64)).expect("memory");
    let tokens = text(0, CHAIN);
    let parent = admit(&mut sequences, &tokens).handle;
    sequences.computed(parent, tokens.len()).expect("appended");
    (sequences, parent, tokens)
}

fn admit(sequences: &mut Sequences, tokens: &[u32]) -> Admitted {
    let space = Namespace::new();
    let request = Admit::new(Prompt::new(&space, tokens), Growth::Ahead(2));
    sequences.admit(&request).expect("room")
}

fn fork_row<'a>() -> Row<'a> {
    let (mut sequences, parent, _) = with_parent();
    Row::new(format!("fork of {CHAIN}"), "block", Some(1.6), move || {
        let mut children = [Handle::NONE; 32];
        let time = timed(|| {
            for child in children.chunks_mut(1) {
                sequences.fork(parent, child).expect("room");
            }
        });
        for child in children {
            sequences.release(child).expect("it lives");
        }
        (time, children.len() * CHAIN)
    })
}

fn admit_row<'a>() -> Row<'a> {
    let (mut sequences, parent, tokens) = with_parent();
    sequences.release(parent).expect("it lives");
    let name = format!("admit of {CHAIN}, found + release");
    Row::new(name, "block", None, move || {
        let time = timed(|| {
            for _ in 0..16 {
                let admitted = admit(&mut sequences, &tokens);
                assert_eq!(admitted.fresh, 1, "all but the last is found");
                sequences.release(admitted.handle).expect("it lives");
            }
        });
        (time, 16 * CHAIN)
    })
}

/// The same where the release waits for a fence, which passes at once.
fn fence_row<'a>() -> Row<'a> {
    let (mut sequences, parent, tokens) = with_parent();
    sequences.release(parent).expect("it lives");
    let mut lane = sequences.pool().lane();
    let mut launched = 0;
    let name = format!("admit of {CHAIN}, found + release after a fence + its passing");
    Row::new(name, "block", None, move || {
        let time = timed(|| {
            for _ in 0..16 {
                let admitted = admit(&mut sequences, &tokens);
                launched += 1;
                sequences
                    .release_after(admitted.handle, &mut lane, Fence(launched))
                    .expect("it lives");
                lane.complete(Fence(launched));
            }
        });
        (time, 16 * CHAIN)
    })
}

/// A load from a store: admitted, filled by one writer, published, ended. Its content is evicted again, untimed.
fn import_row<'a>() -> Row<'a> {
    let mut sequences = Sequences::new(pool(100_000), &SequencesConfig::new(64)).expect("memory");
    let mut worker = sequences.pool().worker().expect("memory");
    let (space, tokens) = (Namespace::new(), text(0, CHAIN));
    let name = format!("import of {CHAIN} + answers + publish + release");
    Row::new(name, "block", None, move || {
        let request = Admit::new(Prompt::new(&space, &tokens), Growth::OnDemand);
        let time = timed(|| {
            let incoming = Incoming::new(tokens.len(), 1);
            let imported = sequences.import(&request, &incoming).expect("room");
            for at in 0..CHAIN {
                imported.import.arrived(0, at..at + 1).expect("once");
            }
            let loading = sequences.loading(imported.handle).expect("it lives");
            assert_eq!(loading.arrived, tokens.len());
            sequences.release(imported.handle).expect("it lives");
        });
        let pool = sequences.pool();
        pool.evict(&mut worker, usize::MAX).expect("its own pool");
        (time, CHAIN)
    })
}
