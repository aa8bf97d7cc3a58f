//! A list of bytes that says what is done: each choice takes the next one.

/// The bytes that are left.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    pub(crate) fn next(&mut self) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first.into()
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.next() % n.max(1)
    }
    /// One of a list, if it has any.
    pub(crate) fn pick(&mut self, n: usize) -> Option<usize> {
        (n > 0).then(|| self.below(n))
    }
}
