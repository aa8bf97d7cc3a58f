//! Rows in JSON: one object a line, read into the fields that a format asks for.

use alloc::format;
use alloc::string::ToString;

use serde::Deserialize;
use serde_json::error::Category;

use super::error::Reason;
use super::format::Format;

/// Reads a row of `format`. Keys that it does not ask for are ignored.
pub(super) fn parse_object<'a, T: Deserialize<'a>>(
    line: &'a str,
    format: Format,
) -> Result<T, Reason> {
    // A sequence would be accepted as a struct.
    if !line.trim_start().starts_with('{') {
        return Err(other_format(line, format).unwrap_or_else(|| Reason::Json {
            column: 0,
            message: "an object is expected".to_string(),
        }));
    }
    serde_json::from_str(line).map_err(|error| explain(line, format, &error))
}

/// That the row is of another format; or the JSON reader's words without its position, which would always be on line 1.
fn explain(line: &str, format: Format, error: &serde_json::Error) -> Reason {
    let other = match error.classify() {
        Category::Data => other_format(line, format),
        Category::Io | Category::Syntax | Category::Eof => None,
    };
    other.unwrap_or_else(|| {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let message = text.strip_suffix(&position).unwrap_or(&text).to_string();
        Reason::Json {
            column: error.column(),
            message,
        }
    })
}

/// The reason for a line that is clearly a row of another format than `expected`.
fn other_format(line: &str, expected: Format) -> Option<Reason> {
    let found = Format::of_row(line).filter(|found| *found != expected)?;
    Some(Reason::OtherFormat { expected, found })
}
