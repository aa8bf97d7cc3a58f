//! Cuts PTX text into words and marks.

use super::PtxError;

/// A word, a mark of one character, or a text in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Word(String),
    Mark(char),
    Text(String),
}

/// A piece of the text and its line.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: u32,
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, PtxError> {
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1);
    let mut found = Vec::new();
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'\n' => {
                line += 1;
                at += 1;
            }
            b' ' | b'\t' | b'\r' => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += bytes[at..]
                    .iter()
                    .take_while(|byte| **byte != b'\n')
                    .count()
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = text[at..]
                    .find("*/")
                    .ok_or_else(|| PtxError::new(line, "a comment without an end"))?;
                line += text[at..at + end].matches('\n').count() as u32;
                at += end + 2;
            }
            b'"' => {
                let end = text[at + 1..]
                    .find('"')
                    .ok_or_else(|| PtxError::new(line, "a text without an end"))?;
                found.push(Token {
                    kind: Kind::Text(text[at + 1..at + 1 + end].into()),
                    line,
                });
                at += end + 2;
            }
            byte if is_word(byte) => {
                while at < bytes.len() && (is_word(bytes[at]) || text[at..].starts_with("::")) {
                    at += if bytes[at] == b':' { 2 } else { 1 };
                }
                found.push(Token {
                    kind: Kind::Word(text[start..at].into()),
                    line,
                });
            }
            byte if b",;[]{}()+-!@|<>=:".contains(&byte) => {
                found.push(Token {
                    kind: Kind::Mark(char::from(byte)),
                    line,
                });
                at += 1;
            }
            _ => {
                return Err(PtxError::new(
                    line,
                    format!(
                        "a character that PTX does not have at {:?}",
                        text[at..].chars().next()
                    ),
                ));
            }
        }
    }
    Ok(found)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_$%.".contains(&byte)
}

/// A walk over the tokens.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    pub(crate) fn line(&self) -> u32 {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(0, |token| token.line)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(crate) fn peek_mark(&self, mark: char) -> bool {
        self.tokens
            .get(self.at)
            .is_some_and(|token| token.kind == Kind::Mark(mark))
    }

    pub(crate) fn peek_word(&self) -> Option<&'a str> {
        match self.tokens.get(self.at) {
            Some(Token {
                kind: Kind::Word(word),
                ..
            }) => Some(word),
            _ => None,
        }
    }

    /// Whether a word with a colon behind it comes: a label.
    pub(crate) fn peek_label(&self) -> bool {
        self.peek_word().is_some()
            && self
                .tokens
                .get(self.at + 1)
                .is_some_and(|token| token.kind == Kind::Mark(':'))
    }

    /// Takes a mark if it comes.
    pub(crate) fn take(&mut self, mark: char) -> bool {
        let there = self.peek_mark(mark);
        self.at += usize::from(there);
        there
    }

    /// Takes a word if it comes.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek_word() == Some(word);
        self.at += usize::from(there);
        there
    }

    pub(crate) fn expect(&mut self, mark: char) -> Result<(), PtxError> {
        if self.take(mark) {
            Ok(())
        } else {
            Err(self.error(&format!("'{mark}' expected")))
        }
    }

    pub(crate) fn word(&mut self) -> Result<&'a str, PtxError> {
        let word = self
            .peek_word()
            .ok_or_else(|| self.error("a word expected"))?;
        self.at += 1;
        Ok(word)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, PtxError> {
        match self.tokens.get(self.at) {
            Some(Token {
                kind: Kind::Text(text),
                ..
            }) => {
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.error("a text in quotes expected")),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u64, PtxError> {
        let error = self.error("a number expected");
        integer(self.word()?).ok_or(error)
    }

    pub(crate) fn error(&self, what: &str) -> PtxError {
        let found = match self.tokens.get(self.at).map(|token| &token.kind) {
            Some(Kind::Word(word)) => format!("{what}, not {word}"),
            Some(Kind::Mark(mark)) => format!("{what}, not '{mark}'"),
            Some(Kind::Text(text)) => format!("{what}, not \"{text}\""),
            None => format!("{what}, not the end"),
        };
        PtxError::new(self.line(), found)
    }
}

/// An unsigned integer: decimal, hexadecimal, octal or binary, perhaps with a `U` behind it.
pub(crate) fn integer(word: &str) -> Option<u64> {
    let digits = word.strip_suffix('U').unwrap_or(word);
    if let Some(digits) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = digits.strip_prefix("0b").or(digits.strip_prefix("0B")) {
        u64::from_str_radix(digits, 2).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8).ok()
    } else {
        digits.parse().ok()
    }
}
