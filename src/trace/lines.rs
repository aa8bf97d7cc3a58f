//! The lines of a trace, from a file or from memory, plain or compressed with gzip; every reader of rows stands on this.
//!
//! Only one line is in memory at a time, and no line longer than [`MAX_LINE_BYTES`] is read: what a damaged or hostile
//! file costs is bounded by what it contains.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::{ParseError, Reason};

/// The longest line that is read, in bytes: 64 MiB.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// The lines of a trace that are not blank. After an error there are no more.
pub(super) struct Lines<'a> {
    source: Box<dyn BufRead + 'a>,
    file: Option<String>,
    /// Lines read so far.
    line: u64,
    /// Whether a line that is not blank was met.
    begun: bool,
    /// Whether the line at hand is given once more.
    again: bool,
    /// Whether an error was given.
    failed: bool,
    /// The line at hand with its end; its memory serves for all lines.
    text: String,
}

impl<'a> Lines<'a> {
    /// The lines of `source`. A gzip stream is recognised by its first bytes.
    pub(super) fn new(source: impl Read + 'a) -> Result<Self, ParseError> {
        let source = decompressed(source)
            .map_err(|error| ParseError::without_place(Reason::Read(error.to_string())))?;
        Ok(Self {
            source,
            file: None,
            line: 0,
            begun: false,
            again: false,
            failed: false,
            text: String::new(),
        })
    }

    /// The next line that is not blank, without blanks around it, and whether it is the first one.
    pub(super) fn next(&mut self) -> Result<Option<(&str, bool)>, Reason> {
        let is_first = !self.begun;
        while core::mem::take(&mut self.again) || self.read()? {
            if !row(&self.text, is_first).is_empty() {
                self.begun = true;
                return Ok(Some((row(&self.text, is_first), is_first)));
            }
        }
        Ok(None)
    }

    /// What an iterator over rows gives for this outcome.
    pub(super) fn give<T>(
        &mut self,
        outcome: Result<Option<T>, Reason>,
    ) -> Option<Result<T, ParseError>> {
        outcome.map_err(|reason| self.wrong(reason)).transpose()
    }

    /// The error for what is wrong with the line at hand, or with the trace if none was read. There are no lines after it.
    pub(super) fn wrong(&mut self, reason: Reason) -> ParseError {
        self.failed = true;
        ParseError {
            file: self.file.as_ref().map(ToOwned::to_owned),
            line: (self.line > 0).then_some(self.line),
            reason,
        }
    }

    /// Begins again with the line at hand, which is the first one, and which a reader of other rows refused.
    pub(super) const fn begin_again(&mut self) {
        self.again = true;
        self.begun = false;
        self.failed = false;
    }

    /// Whether an error was given, after which an iterator has nothing more to give.
    pub(super) const fn failed(&self) -> bool {
        self.failed
    }

    /// Reads a line; false at the end of the trace.
    fn read(&mut self) -> Result<bool, Reason> {
        let mut bytes = core::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        let mut limited = self.source.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        let read = limited
            .read_until(b'\n', &mut bytes)
            .map_err(|error| Reason::Read(error.to_string()))?;
        if read == 0 {
            // Whatever is read after the end, it stays the end.
            self.source = Box::new(io::empty());
            return Ok(false);
        }
        self.line += 1;
        if read > MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
            return Err(Reason::LineTooLong {
                max: MAX_LINE_BYTES,
            });
        }
        self.text = String::from_utf8(bytes).map_err(|error| Reason::NotUtf8 {
            column: error.utf8_error().valid_up_to() + 1,
        })?;
        Ok(true)
    }
}

impl Lines<'static> {
    /// The lines of a file, whose name then stands in every error.
    pub(super) fn open(path: &Path) -> Result<Self, ParseError> {
        let name = path.display().to_string();
        let opened = File::open(path)
            .map_err(|error| ParseError::without_place(Reason::Read(error.to_string())))
            .and_then(Self::new);
        match opened {
            Ok(lines) => Ok(Self {
                file: Some(name),
                ..lines
            }),
            Err(error) => Err(ParseError {
                file: Some(name),
                ..error
            }),
        }
    }
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("file", &self.file)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// What the line has between its blanks; the first one may begin with a byte order mark, which is no part of it.
fn row(line: &str, is_first: bool) -> &str {
    let text = line.trim_ascii();
    if is_first {
        text.trim_start_matches('\u{feff}')
    } else {
        text
    }
}

/// The source itself, or what is compressed in it.
fn decompressed<'a>(source: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut source = BufReader::new(source);
    let mut head = Vec::with_capacity(GZIP.len());
    source
        .by_ref()
        .take(GZIP.len() as u64)
        .read_to_end(&mut head)?;
    let is_gzip = head == GZIP;
    let whole = io::Cursor::new(head).chain(source);
    Ok(if is_gzip {
        Box::new(BufReader::new(MultiGzDecoder::new(whole)))
    } else {
        Box::new(whole)
    })
}
