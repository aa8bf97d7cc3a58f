//! Which prompts may share blocks at all.

use alloc::vec::Vec;

use super::sip::{Secret, Sip};
use crate::error::OutOfMemory;

/// What decides K/V besides the tokens, for a whole prompt: the adapter and its version, a cache salt, a free domain.
///
/// Prompts of two different namespaces never share a block. The parts are typed and length-prefixed, so that an adapter named
/// `x` and a salt `x` are two namespaces, and so are the salts `ab` + domain `c` and `a` + domain `bc`. A part that is set to
/// the empty string differs from one that was not set.
///
/// ```
/// use kvblock::Namespace;
/// let tenant = Namespace::new().adapter("summarise", 3).salt("tenant 17");
/// assert_ne!(tenant, Namespace::new().adapter("summarise", 4).salt("tenant 17"));
/// assert_eq!(Namespace::new(), Namespace::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Namespace {
    adapter: Option<(Vec<u8>, u64)>,
    salt: Option<Vec<u8>>,
    domain: Option<Vec<u8>>,
    /// The parts in one canonical order, whatever the order of the calls.
    encoded: Vec<u8>,
}

impl Namespace {
    /// The namespace of the bare model.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            adapter: None,
            salt: None,
            domain: None,
            encoded: Vec::new(),
        }
    }

    /// The adapter (LoRA) by name and version. A later version is another namespace.
    #[must_use]
    pub fn adapter(mut self, name: impl AsRef<[u8]>, version: u64) -> Self {
        self.adapter = Some((name.as_ref().to_vec(), version));
        self.encode()
    }

    /// The cache salt: prompts share blocks only under an equal one.
    #[must_use]
    pub fn salt(mut self, salt: impl AsRef<[u8]>) -> Self {
        self.salt = Some(salt.as_ref().to_vec());
        self.encode()
    }

    /// Anything else that keeps prompts apart (a tenant, a model revision, a quantisation).
    #[must_use]
    pub fn domain(mut self, domain: impl AsRef<[u8]>) -> Self {
        self.domain = Some(domain.as_ref().to_vec());
        self.encode()
    }

    fn encode(mut self) -> Self {
        let mut out = Vec::new();
        let mut part = |tag: u8, bytes: &[u8]| {
            out.push(tag);
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        if let Some((name, version)) = &self.adapter {
            part(1, name);
            part(2, &version.to_le_bytes());
        }
        if let Some(salt) = &self.salt {
            part(3, salt);
        }
        if let Some(domain) = &self.domain {
            part(4, domain);
        }
        self.encoded = out;
        self
    }

    /// What tells it from others.
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// A copy of that.
    pub(crate) fn try_encoded(&self) -> Result<Vec<u8>, OutOfMemory> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(self.encoded.len())
            .map_err(|_| OutOfMemory)?;
        copy.extend_from_slice(&self.encoded);
        Ok(copy)
    }

    /// Whether it is that of the bare model.
    pub(crate) fn is_bare(&self) -> bool {
        self.encoded.is_empty()
    }

    /// 128 keyed bits that stand for the namespace inside one pool.
    pub(crate) fn digest(&self, secret: Secret) -> [u64; 2] {
        Sip::<2, 4>::new_128(secret).finish_bytes_128(&self.encoded)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_two_namespaces_meet() {
        let n = Namespace::new;
        let all = [
            n(),
            n().adapter("x", 0),
            n().adapter("x", 1),
            n().adapter("", 0),
            n().salt("x"),
            n().salt(""),
            n().domain("x"),
            n().salt("ab").domain("c"),
            n().salt("a").domain("bc"),
            n().adapter("x", 0).salt("x"),
            n().adapter("x", 0).domain("x"),
        ];
        let secret = Secret([1, 2]);
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                assert_ne!(a, b);
                assert_ne!(a.digest(secret), b.digest(secret), "{a:?} and {b:?}");
            }
            assert_ne!(
                a.digest(secret),
                a.digest(Secret([1, 3])),
                "the digest is keyed"
            );
        }
    }

    #[test]
    fn the_order_of_the_calls_does_not_matter() {
        assert_eq!(
            Namespace::new().salt("s").adapter("a", 1),
            Namespace::new().adapter("a", 1).salt("s")
        );
    }
}
