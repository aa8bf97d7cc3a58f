//! Reads the requests of a trace, row by row.

use core::fmt;
use std::io::Read;
use std::path::Path;

use super::error::{ParseError, Reason};
use super::format::{Format, is_azure_header};
use super::lines::Lines;
use super::request::Request;
use super::sessions::Sessions;
use super::tree_reader::TreeReader;
use super::{azure, mooncake};

/// The requests of a trace, one by one in file order. Ends after the first error.
pub struct Reader<'a> {
    lines: Lines<'a>,
    format: Option<Format>,
    sessions: Sessions,
}

impl<'a> Reader<'a> {
    /// Reads from `source`. A gzip stream is recognised by its first bytes; `format` is detected if it is `None`.
    ///
    /// # Errors
    /// [`Reason::Read`] if the first bytes cannot be read; [`Reason::Trees`] for [`Format::Tree`], whose rows are no
    /// requests.
    pub fn new(source: impl Read + 'a, format: Option<Format>) -> Result<Self, ParseError> {
        Self::of_lines(Lines::new(source)?, format)
    }

    /// The format that was given or detected; `None` before the first line was read.
    #[must_use]
    pub const fn format(&self) -> Option<Format> {
        self.format
    }

    /// Reads the trees of a trace whose first row was refused with [`Reason::Trees`], from that row on and from the same source,
    /// which may be a pipe. Of any other trace it reads what is left.
    #[must_use]
    pub fn into_trees(mut self) -> TreeReader<'a> {
        // No row after the first one is refused as a tree's.
        if self.format == Some(Format::Tree) {
            self.lines.begin_again();
        }
        TreeReader::of_lines(self.lines)
    }

    fn of_lines(mut lines: Lines<'a>, format: Option<Format>) -> Result<Self, ParseError> {
        if format == Some(Format::Tree) {
            return Err(lines.wrong(Reason::Trees));
        }
        Ok(Self {
            lines,
            format,
            sessions: Sessions::default(),
        })
    }

    /// The next row that is not blank, if there is one.
    fn next_request(&mut self) -> Result<Option<Request>, Reason> {
        while let Some((line, is_first)) = self.lines.next()? {
            let format = self
                .format
                .or_else(|| Format::detect(line))
                .ok_or(Reason::UnknownFormat)?;
            self.format = Some(format);
            return match format {
                Format::Mooncake => mooncake::parse_row(line),
                Format::Azure if is_first && is_azure_header(line) => continue,
                Format::Azure => azure::parse_row(line),
                Format::Sessions => self.sessions.parse_row(line),
                Format::Tree => Err(Reason::Trees),
            }
            .map(Some);
        }
        Ok(None)
    }
}

impl Reader<'static> {
    /// Opens a file, whose name then stands in every error.
    ///
    /// # Errors
    /// [`Reason::Read`] if it cannot be opened or read; [`Reason::Trees`] for [`Format::Tree`], whose rows are no requests.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, ParseError> {
        Self::of_lines(Lines::open(path)?, format)
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Request, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.lines.failed() {
            return None;
        }
        let outcome = self.next_request();
        self.lines.give(outcome)
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("format", &self.format)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}
