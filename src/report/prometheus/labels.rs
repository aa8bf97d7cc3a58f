//! The labels of a report.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

use super::error::MetricsError;

/// Names with values, in order of the names and each once; none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Labels(Vec<(String, String)>);

impl Labels {
    /// Checked: none of the names is among `taken`.
    pub(super) fn new(labels: &[(&str, &str)], taken: &[&str]) -> Result<Self, MetricsError> {
        let mut sorted = Vec::with_capacity(labels.len());
        for &(name, value) in labels {
            if !is_name(name) {
                return Err(MetricsError::LabelName {
                    name: name.to_string(),
                });
            }
            if name.starts_with("__") || taken.contains(&name) {
                return Err(MetricsError::Reserved {
                    name: name.to_string(),
                });
            }
            sorted.push((name.to_string(), value.to_string()));
        }
        sorted.sort();
        let names = sorted.iter().zip(sorted.iter().skip(1));
        if let Some(((name, _), _)) = names.into_iter().find(|((one, _), (next, _))| one == next) {
            return Err(MetricsError::Repeated { name: name.clone() });
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
