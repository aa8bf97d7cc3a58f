//! The calls of the C library.

use core::ffi::c_void;
use core::ptr;

use crate::library::{
    Admit, Admitted, Append, Library, NO_ERROR, Object, PoolConfig, Progress, Prompt, SeqsConfig,
    State,
};
use crate::side::{BATCH, BLOCK, BLOCKS, STRIDE, Side};

pub(crate) struct CSide<'a> {
    library: &'a Library,
    pool: Object,
    seqs: Object,
    step: Object,
    handles: Vec<u64>,
    batch: Vec<Append>,
    progress: Vec<Progress>,
    rows: Vec<i32>,
    lengths: Vec<usize>,
}

/// `sizeof`, as the library wants it told.
fn size<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("a small struct")
}

#[inline]
fn done(status: i32) {
    assert_eq!(status, 0, "a refusal");
}

impl<'a> CSide<'a> {
    pub(crate) fn new(library: &'a Library) -> Self {
        let (mut pool, mut seqs, mut step) = [ptr::null_mut(); 3].into();
        let config = PoolConfig {
            struct_size: size::<PoolConfig>(),
            shard: 0,
            blocks: BLOCKS,
            max_blocks: 0,
            block_size: BLOCK,
            events: 0,
            secret: [0; 16],
            proof: 0,
            hash: 0,
            hash_seed: 0,
        };
        // SAFETY: a configuration, and a place for the pool.
        done(unsafe { (library.pool_create)(&config, &mut pool, NO_ERROR) });
        let config = SeqsConfig {
            struct_size: size::<SeqsConfig>(),
            reserved: 0,
            max_sequences: 2 * BATCH,
            watermark: 0,
            positions: 0,
            formats: ptr::null(),
            format_count: 0,
        };
        // SAFETY: one pool, a configuration, and a place for the registry.
        done(unsafe { (library.seqs_create)(&pool, 1, &config, &mut seqs, NO_ERROR) });
        // SAFETY: a registry, and a place for the step.
        done(unsafe { (library.step_create)(seqs, BATCH, BATCH, &mut step) });
        Self {
            library,
            pool,
            seqs,
            step,
            handles: vec![0; BATCH],
            batch: Vec::new(),
            progress: Vec::new(),
            rows: vec![0; BATCH * STRIDE],
            lengths: vec![0; BATCH],
        }
    }
}

impl Drop for CSide<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and used no more.
        unsafe { (self.library.step_destroy)(self.step) };
        // SAFETY: as above.
        unsafe { (self.library.seqs_destroy)(self.seqs) };
        // SAFETY: as above.
        unsafe { (self.library.pool_destroy)(self.pool) };
    }
}

// SAFETY of all calls below: the objects live as long as `self`, which one thread has; lists are as long as is said.
impl Side for CSide<'_> {
    #[inline]
    fn available(&self) -> usize {
        // SAFETY: see above.
        unsafe { (self.library.pool_available)(self.pool) }
    }

    #[inline]
    fn check(&self, blocks: usize) {
        // SAFETY: see above.
        done(unsafe { (self.library.pool_check)(self.pool, blocks, NO_ERROR) });
    }

    #[inline]
    fn slot(&self, seq: u64) -> u32 {
        (self.library.handle_slot)(seq)
    }

    #[inline]
    fn admit(&mut self, tokens: &[u32], label: u64) -> u64 {
        let request = Admit {
            struct_size: size::<Admit>(),
            flags: 0,
            prompt: Prompt {
                space: ptr::null(),
                tokens: tokens.as_ptr(),
                token_count: tokens.len(),
                extra: ptr::null(),
                extra_count: 0,
                keys: ptr::null(),
                key_count: 0,
                flags: 0,
                reserved: 0,
            },
            growth: 0,
            reserved: 0,
            growth_amount: 0,
            label,
        };
        let mut admitted = Admitted::default();
        // SAFETY: see above.
        done(unsafe { (self.library.seqs_admit)(self.seqs, &request, &mut admitted, NO_ERROR) });
        admitted.seq
    }

    #[inline]
    fn release(&mut self, seq: u64) {
        // SAFETY: see above.
        done(unsafe { (self.library.seqs_release)(self.seqs, &seq, 1) });
    }

    #[inline]
    fn append(&mut self, seq: u64, positions: usize) {
        let append = self.library.seqs_append;
        // SAFETY: see above.
        done(unsafe { append(self.seqs, seq, positions, self.step, NO_ERROR) });
    }

    #[inline]
    fn truncate(&mut self, seq: u64, positions: usize) {
        // SAFETY: see above.
        done(unsafe { (self.library.seqs_truncate)(self.seqs, seq, positions, NO_ERROR) });
    }

    #[inline]
    fn computed(&mut self, seq: u64, positions: usize) {
        // SAFETY: see above.
        done(unsafe { (self.library.seqs_computed)(self.seqs, seq, positions, NO_ERROR) });
    }

    #[inline]
    fn positions(&self, seq: u64) -> usize {
        let mut state = State {
            struct_size: size::<State>(),
            ..State::default()
        };
        // SAFETY: see above.
        done(unsafe { (self.library.seqs_get_state)(self.seqs, seq, &mut state) });
        state.positions
    }

    fn set_batch(&mut self, seqs: &[u64]) {
        self.handles.copy_from_slice(seqs);
        self.batch.clear();
        let item = |&seq| Append { seq, positions: 1 };
        self.batch.extend(seqs.iter().map(item));
    }

    #[inline]
    fn step(&mut self) {
        let (batch, step) = (&self.batch, self.step);
        // SAFETY: see above.
        done(unsafe { (self.library.seqs_step)(self.seqs, batch.as_ptr(), batch.len(), step) });
    }

    #[inline]
    fn find(&mut self, labels: &[u64]) {
        let (find, handles) = (self.library.seqs_find, &mut self.handles);
        // SAFETY: see above; one handle for each label.
        done(unsafe {
            find(
                self.seqs,
                labels.as_ptr(),
                labels.len(),
                handles.as_mut_ptr(),
            )
        });
        for (item, &seq) in self.batch.iter_mut().zip(&*handles) {
            item.seq = seq;
        }
    }

    #[inline]
    fn advance(&mut self, at: usize, tokens: &[u32]) {
        self.progress.clear();
        let item = |(&seq, token): (&u64, &u32)| Progress {
            seq,
            at,
            tokens: token,
            token_count: 1,
            computed: at + 1,
        };
        self.progress
            .extend(self.handles.iter().zip(tokens).map(item));
        let (batch, none) = (&self.progress, ptr::null_mut::<c_void>());
        // SAFETY: see above; the failures are not wanted.
        done(unsafe {
            (self.library.seqs_advance)(
                self.seqs,
                batch.as_ptr(),
                batch.len(),
                none,
                ptr::null_mut(),
            )
        });
    }

    #[inline]
    fn copy_tables(&mut self) -> i32 {
        // SAFETY: see above; a row and a length for each handle.
        done(unsafe {
            (self.library.seqs_copy_tables)(
                self.seqs,
                0,
                self.handles.as_ptr(),
                self.handles.len(),
                self.rows.as_mut_ptr(),
                STRIDE,
                self.lengths.as_mut_ptr(),
                NO_ERROR,
            )
        });
        self.rows[(BATCH - 1) * STRIDE]
    }
}
