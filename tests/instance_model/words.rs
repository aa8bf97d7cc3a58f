//! What calls name, by small numbers, so that any list of them means something.

#[path = "../support/names.rs"]
mod names;

use kvblock::{Admit, Budget, Growth, Namespace, Prompt};

pub(crate) use names::{Aim, Who};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The content of its whole blocks, and positions beside them.
    pub(crate) symbols: Vec<u8>,
    pub(crate) rest: usize,
    pub(crate) full_hit: bool,
    pub(crate) growth: Growth,
    pub(crate) conservative: bool,
    pub(crate) insert: bool,
    pub(crate) returning: bool,
    pub(crate) label: u8,
}

impl Request {
    pub(crate) fn asked<'a>(&self, space: &'a Namespace, tokens: &'a [u32]) -> Admit<'a> {
        let budget = if self.conservative {
            Budget::Conservative
        } else {
            Budget::Physical
        };
        Admit::new(
            Prompt::new(space, tokens).full_hit(self.full_hit),
            self.growth,
        )
        .budget(budget)
        .insert(self.insert)
        .returning(self.returning)
        .label(self.label.into())
    }
}

pub(crate) fn index(length: usize, which: u8) -> Option<usize> {
    (length > 0).then(|| usize::from(which) % length)
}

/// The tokens of a block with this content.
pub(crate) fn page(symbol: u8, block_size: usize) -> Vec<u32> {
    vec![symbol.into(); block_size]
}

pub(crate) fn text(request: &Request, block_size: usize) -> Vec<u32> {
    let whole = request
        .symbols
        .iter()
        .flat_map(|&symbol| page(symbol, block_size));
    whole.chain(vec![0; request.rest % block_size]).collect()
}
