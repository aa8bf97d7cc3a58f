//! The labels of a report.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use super::error::MetricsError;
use crate::array::try_push;
use crate::text::try_to_string;

/// Names with values, in order of the names and each once; none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Labels(Vec<(String, String)>);

impl Labels {
    /// Checked: none of the names is among `taken`.
    pub(super) fn new(labels: &[(&str, &str)], taken: &[&str]) -> Result<Self, MetricsError> {
        let mut sorted = Vec::new();
        for &(name, value) in labels {
            let given = try_to_string(name)?;
            if !is_name(name) {
                return Err(MetricsError::LabelName { name: given });
            }
            if name.starts_with("__") || taken.contains(&name) {
                return Err(MetricsError::Reserved { name: given });
            }
            try_push(&mut sorted, (given, try_to_string(value)?))?;
        }
        // Names that are equal are an error: no order of equals is to be kept.
        sorted.sort_unstable();
        let twice = sorted.windows(2).position(|pair| pair[0].0 == pair[1].0);
        if let Some(at) = twice {
            let (name, _) = sorted.swap_remove(at);
            return Err(MetricsError::Repeated { name });
        }
        // No label and an empty one are the same to Prometheus.
        sorted.retain(|(_, value)| !value.is_empty());
        Ok(Self(sorted))
    }

    /// As they stand behind a metric's name, with one more.
    pub(super) const fn set(&self, more: Option<(&'static str, &'static str)>) -> Set<'_> {
        Set { labels: self, more }
    }
}

/// A letter or `_`, then letters, digits and `_`.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let mut bytes = name.bytes();
    bytes.next().is_some_and(letter) && bytes.all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// Labels in braces; nothing if there are none.
pub(super) struct Set<'a> {
    labels: &'a Labels,
    more: Option<(&'static str, &'static str)>,
}

impl fmt::Display for Set<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.labels.0.iter();
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let mut before = '{';
        for (name, value) in own.chain(self.more) {
            write!(f, "{before}{name}=\"")?;
            for character in value.chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    other => f.write_char(other)?,
                }
            }
            f.write_char('"')?;
            before = ',';
        }
        match before {
            ',' => f.write_char('}'),
            _ => Ok(()),
        }
    }
}
