//! Reads a trace line by line, from a file or from memory, plain or compressed with gzip.
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
use super::format::{Format, is_azure_header};
use super::request::Request;
use super::{azure, mooncake};

/// The longest line that is read, in bytes: 64 MiB.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// The requests of a trace, one by one in file order. Ends after the first error.
pub struct Reader<'a> {
    source: Box<dyn BufRead + 'a>,
    file: Option<String>,
    format: Option<Format>,
    /// Lines read so far.
    line: u64,
    /// Whether a line that is not blank was met.
    begun: bool,
    ended: bool,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// Reads from `source`. A gzip stream is recognised by its first bytes; `format` is detected if it is `None`.
    ///
    /// # Errors
    /// [`Reason::Read`] if the first bytes cannot be read; [`Reason::Unsupported`] for a format that is not supported yet.
    pub fn new(source: impl Read + 'a, format: Option<Format>) -> Result<Self, ParseError> {
        let without_place = |reason| ParseError {
            file: None,
            line: None,
            reason,
        };
        if let Some(unsupported @ (Format::Tree | Format::Sessions)) = format {
            return Err(without_place(Reason::Unsupported(unsupported)));
        }
        let source =
            decompressed(source).map_err(|error| without_place(Reason::Read(error.to_string())))?;
        Ok(Self {
            source,
            file: None,
            format,
            line: 0,
            begun: false,
            ended: false,
            buffer: Vec::new(),
        })
    }

    /// The format that was given or detected; `None` before the first line was read.
    #[must_use]
    pub const fn format(&self) -> Option<Format> {
        self.format
    }

    /// The next row that is not blank, if there is one.
    fn next_request(&mut self) -> Result<Option<Request>, Reason> {
        while self.read_line()? {
            let bytes = self.buffer.trim_ascii();
            let text = match core::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => {
                    return Err(Reason::NotUtf8 {
                        column: error.valid_up_to() + 1,
                    });
                }
            };
            let text = if self.begun {
                text
            } else {
                text.trim_start_matches('\u{feff}')
            };
            if text.is_empty() {
                continue;
            }
            let is_first = !core::mem::replace(&mut self.begun, true);
            let format = self
                .format
                .or_else(|| Format::detect(text))
                .ok_or(Reason::UnknownFormat)?;
            self.format = Some(format);
            return match format {
                Format::Mooncake => mooncake::parse_row(text),
                Format::Azure if is_first && is_azure_header(text) => continue,
                Format::Azure => azure::parse_row(text),
                Format::Tree | Format::Sessions => Err(Reason::Unsupported(format)),
            }
            .map(Some);
        }
        Ok(None)
    }

    /// Reads a line into the buffer; false at the end of the trace.
    fn read_line(&mut self) -> Result<bool, Reason> {
        self.buffer.clear();
        let mut limited = self.source.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        let read = limited
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| Reason::Read(error.to_string()))?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if read > MAX_LINE_BYTES && self.buffer.last() != Some(&b'\n') {
            return Err(Reason::LineTooLong {
                max: MAX_LINE_BYTES,
            });
        }
        Ok(true)
    }
}

impl Reader<'static> {
    /// Opens a file, whose name then stands in every error.
    ///
    /// # Errors
    /// [`Reason::Read`] if it cannot be opened or read; [`Reason::Unsupported`] for a format that is not supported yet.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, ParseError> {
        let name = path.display().to_string();
        let opened = File::open(path)
            .map_err(|error| ParseError {
                file: None,
                line: None,
                reason: Reason::Read(error.to_string()),
            })
            .and_then(|file| Self::new(file, format));
        match opened {
            Ok(reader) => Ok(Self {
                file: Some(name),
                ..reader
            }),
            Err(error) => Err(ParseError {
                file: Some(name),
                ..error
            }),
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Request, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.next_request() {
            Ok(Some(request)) => Some(Ok(request)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(reason) => {
                self.ended = true;
                let line = (self.line > 0).then_some(self.line);
                Some(Err(ParseError {
                    file: self.file.as_ref().map(ToOwned::to_owned),
                    line,
                    reason,
                }))
            }
        }
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("file", &self.file)
            .field("format", &self.format)
            .field("line", &self.line)
            .finish_non_exhaustive()
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
