//! Text whose memory may be refused.

use alloc::string::String;
use core::fmt::{self, Display, Write};

use crate::error::OutOfMemory;

/// Text that fails to grow where a `String` would abort.
struct Text(String);

impl Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.0.try_reserve(more.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(more);
        Ok(())
    }
}

/// As `to_string`, for what fails to be written only if the text does.
pub(crate) fn try_to_string(it: impl Display) -> Result<String, OutOfMemory> {
    let mut text = Text(String::new());
    write!(text, "{it}").map_err(|_| OutOfMemory)?;
    Ok(text.0)
}
