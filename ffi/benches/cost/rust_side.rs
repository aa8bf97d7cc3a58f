//! The calls of the Rust library.

use kvblock::{
    Admit, BlockPool, Contents, Growth, Handle, Instance, InstanceStep, Namespace, PoolConfig,
    Prompt, Sequences, SequencesConfig,
};

use crate::side::{BATCH, BLOCK, BLOCKS, STRIDE, Side};

pub(crate) struct RustSide {
    pool: BlockPool,
    instance: Instance,
    space: Namespace,
    step: InstanceStep,
    batch: Vec<(Handle, usize)>,
    rows: Vec<i32>,
    lengths: Vec<usize>,
}

impl RustSide {
    pub(crate) fn new() -> Self {
        let pool = BlockPool::new(&PoolConfig::new(BLOCKS, BLOCK)).expect("memory");
        let sequences = Sequences::new(pool.clone(), &SequencesConfig::new(2 * BATCH));
        Self {
            pool,
            instance: Instance::split(vec![sequences.expect("memory")]).expect("one shard"),
            space: Namespace::new(),
            step: InstanceStep::new(),
            batch: Vec::new(),
            rows: vec![0; BATCH * STRIDE],
            lengths: vec![0; BATCH],
        }
    }
}

impl Side for RustSide {
    #[inline]
    fn available(&self) -> usize {
        self.pool.available()
    }

    #[inline]
    fn check(&self, blocks: usize) {
        self.pool.check(blocks).expect("room");
    }

    #[inline]
    fn slot(&self, seq: u64) -> u32 {
        u32::try_from(Handle::from_bits(seq).slot()).unwrap_or(u32::MAX)
    }

    #[inline]
    fn admit(&mut self, tokens: &[u32], label: u64) -> u64 {
        let request = Admit::new(Prompt::new(&self.space, tokens), Growth::OnDemand);
        let admitted = self.instance.admit(&request.label(label)).expect("room");
        admitted.handle.to_bits()
    }

    #[inline]
    fn release(&mut self, seq: u64) {
        self.instance
            .release(Handle::from_bits(seq))
            .expect("it lives");
    }

    #[inline]
    fn append(&mut self, seq: u64, positions: usize) {
        self.instance
            .append(Handle::from_bits(seq), positions, &mut self.step)
            .expect("room");
    }

    #[inline]
    fn truncate(&mut self, seq: u64, positions: usize) {
        self.instance
            .truncate(Handle::from_bits(seq), positions)
            .expect("it has as many");
    }

    #[inline]
    fn computed(&mut self, seq: u64, positions: usize) {
        self.instance
            .computed(Handle::from_bits(seq), positions)
            .expect("it has as many");
    }

    #[inline]
    fn positions(&self, seq: u64) -> usize {
        let state = self.instance.state(Handle::from_bits(seq));
        state.expect("it lives").positions
    }

    fn set_batch(&mut self, seqs: &[u64]) {
        self.batch.clear();
        let item = |&seq| (Handle::from_bits(seq), 1);
        self.batch.extend(seqs.iter().map(item));
    }

    #[inline]
    fn step(&mut self) {
        self.instance.step(&self.batch, &mut self.step);
        assert!(self.step.failures().is_empty(), "room");
    }

    #[inline]
    fn find(&mut self, labels: &[u64]) {
        for (item, &label) in self.batch.iter_mut().zip(labels) {
            item.0 = self.instance.labelled(label).next().expect("it lives");
        }
    }

    #[inline]
    fn advance(&mut self, at: usize, tokens: &[u32]) {
        for (&(handle, _), token) in self.batch.iter().zip(tokens) {
            let token = Contents::new(core::slice::from_ref(token));
            self.instance.tokens(handle, at, &token).expect("appended");
            self.instance.computed(handle, at + 1).expect("appended");
        }
    }

    #[inline]
    fn copy_tables(&mut self) -> i32 {
        let rows = self.rows.chunks_exact_mut(STRIDE);
        for (((handle, _), row), length) in self.batch.iter().zip(rows).zip(&mut self.lengths) {
            let copied = self.instance.copy_table(0, *handle, row);
            *length = copied.expect("it lives, and its table is short");
        }
        self.rows[(BATCH - 1) * STRIDE]
    }
}
