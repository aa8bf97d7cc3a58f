//! Reads the reasoning trees of a trace, problem by problem.

use alloc::format;
use core::fmt;
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use super::error::{ParseError, Reason};
use super::lines::Lines;
use super::tree::{Problem, Unfinished, parse_row};

/// The problems of a trace of trees, one by one in file order. Ends after the first error.
///
/// A problem is given when the row after it was read, as only then it is known to be whole: an error there comes in its place.
pub struct TreeReader<'a> {
    lines: Lines<'a>,
    /// The problem whose rows are being read.
    current: Option<Unfinished>,
    /// All problems so far, the current one included.
    seen: HashSet<u64>,
}

impl<'a> TreeReader<'a> {
    /// Reads from `source`. A gzip stream is recognised by its first bytes.
    ///
    /// # Errors
    /// [`Reason::Read`] if the first bytes cannot be read.
    pub fn new(source: impl Read + 'a) -> Result<Self, ParseError> {
        Lines::new(source).map(Self::of_lines)
    }

    pub(super) fn of_lines(lines: Lines<'a>) -> Self {
        Self {
            lines,
            current: None,
            seen: HashSet::new(),
        }
    }

    /// The next problem, if there is one.
    fn next_problem(&mut self) -> Result<Option<Problem>, Reason> {
        while let Some((line, _)) = self.lines.next()? {
            let entry = parse_row(line)?;
            match &mut self.current {
                Some(current) if current.number() == entry.problem => current.push(&entry)?,
                current => {
                    if !self.seen.insert(entry.problem) {
                        let expected = "that of the row before, or one that no row before has";
                        let value = format!("{}", entry.problem);
                        return Err(Reason::field("problem", expected, &value));
                    }
                    if let Some(whole) = current.replace(Unfinished::new(&entry)?) {
                        return Ok(Some(whole.finish()));
                    }
                }
            }
        }
        Ok(self.current.take().map(Unfinished::finish))
    }
}

impl TreeReader<'static> {
    /// Opens a file, whose name then stands in every error.
    ///
    /// # Errors
    /// [`Reason::Read`] if it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Self, ParseError> {
        Lines::open(path).map(Self::of_lines)
    }
}

impl Iterator for TreeReader<'_> {
    type Item = Result<Problem, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.lines.failed() {
            return None;
        }
        let outcome = self.next_problem();
        self.lines.give(outcome)
    }
}

impl fmt::Debug for TreeReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeReader")
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    use super::*;

    fn rows_of(problem: u64) -> String {
        format!(
            "{{\"problem\":{problem},\"step\":-1,\"node\":0,\"parent\":-1,\"new_tokens\":7,\"value\":null,\"keep\":1}}\n\
             \n\
             {{\"problem\":{problem},\"step\":0,\"node\":1,\"parent\":0,\"new_tokens\":17,\"value\":3,\"keep\":1}}\n"
        )
    }

    #[test]
    fn problems_are_given_one_by_one_and_the_last_one_at_the_end() {
        let text = [rows_of(4), rows_of(1), rows_of(2)].concat();
        let problems: Vec<_> = TreeReader::new(text.as_bytes())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let numbers: Vec<_> = problems.iter().map(Problem::number).collect();
        assert_eq!(numbers, [4, 1, 2]);
        assert!(problems.iter().all(|problem| problem.nodes().len() == 2));
    }

    #[test]
    fn an_error_comes_in_place_of_the_problem_at_hand_and_ends_the_reading() {
        let text = [&rows_of(0), &rows_of(1), "{}\n", &rows_of(2)].concat();
        let mut reader = TreeReader::new(text.as_bytes()).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().number(), 0);
        assert_eq!(
            reader.next().unwrap().unwrap_err().to_string(),
            "line 7: not a row in JSON: missing field `problem` at column 2"
        );
        assert!(reader.next().is_none());
    }

    #[test]
    fn a_problem_that_comes_back_is_refused() {
        let text = [rows_of(3), rows_of(1), rows_of(3)].concat();
        let error = TreeReader::new(text.as_bytes())
            .unwrap()
            .find_map(Result::err)
            .unwrap();
        assert_eq!(
            error.to_string(),
            "line 7: problem must be that of the row before, or one that no row before has, and is `3`"
        );
    }
}
