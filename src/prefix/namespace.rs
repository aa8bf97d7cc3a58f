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

    /// All parts at once, without an abort where there is no memory: the namespace that [`adapter`](Self::adapter), [`salt`](Self::salt)
    /// and [`domain`](Self::domain) make of those that are given.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn try_new(
        adapter: Option<(&[u8], u64)>,
        salt: Option<&[u8]>,
        domain: Option<&[u8]>,
    ) -> Result<Self, OutOfMemory> {
        let adapter = match adapter {
            Some((name, version)) => Some((try_to_vec(name)?, version)),
            None => None,
        };
        let mut namespace = Self {
            adapter,
            salt: salt.map(try_to_vec).transpose()?,
            domain: domain.map(try_to_vec).transpose()?,
            encoded: Vec::new(),
        };
        let mut len = 0_usize;
        namespace.for_each_part(|_, bytes| len += 1 + size_of::<u64>() + bytes.len());
        let mut encoded = Vec::new();
        encoded.try_reserve_exact(len).map_err(|_| OutOfMemory)?;
        namespace.encode_into(&mut encoded);
        namespace.encoded = encoded;
        Ok(namespace)
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
        let mut encoded = core::mem::take(&mut self.encoded);
        encoded.clear();
        self.encode_into(&mut encoded);
        self.encoded = encoded;
        self
    }

    fn encode_into(&self, out: &mut Vec<u8>) {
        self.for_each_part(|tag, bytes| {
            out.push(tag);
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        });
    }

    /// The parts in their order, each with its tag.
    fn for_each_part(&self, mut part: impl FnMut(u8, &[u8])) {
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
    }

    /// What tells it from others.
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// A copy of that.
    pub(crate) fn try_encoded(&self) -> Result<Vec<u8>, OutOfMemory> {
        try_to_vec(&self.encoded)
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

fn try_to_vec(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len())
        .map_err(|_| OutOfMemory)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
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
    fn all_parts_at_once_make_the_same_namespace() {
        for (a, s, d) in (0..8).map(|it| (it & 1 > 0, it & 2 > 0, it & 4 > 0)) {
            let mut built = Namespace::new();
            if a {
                built = built.adapter("summarise", 3);
            }
            if s {
                built = built.salt("");
            }
            if d {
                built = built.domain("tenant 17");
            }
            let tried = Namespace::try_new(
                a.then_some((b"summarise", 3)),
                s.then_some(b""),
                d.then_some(b"tenant 17"),
            );
            assert_eq!(tried, Ok(built));
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
