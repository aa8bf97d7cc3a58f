//! Operands of instructions.

use super::PtxError;
use super::lexer::{Tokens, integer};
use super::scope::{Name, Scope, Slot};
use super::types::{Kind, Type};

/// An operand as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// A register, special register, label, variable or number.
    Word(String),
    Negative(String),
    /// `!p`
    Not(String),
    /// `[word + offset]`
    Address(String, i64),
    /// `{a, b}`
    List(Vec<Operand>),
    /// `p|q`
    Pair(String, String),
}

/// Reads one operand.
pub(crate) fn operand(tokens: &mut Tokens<'_>) -> Result<Operand, PtxError> {
    if tokens.take('[') {
        let base = tokens.word()?.to_owned();
        let offset = if tokens.take('+') {
            let sign = if tokens.take('-') { -1 } else { 1 };
            sign * offset(tokens)?
        } else if tokens.take('-') {
            -offset(tokens)?
        } else {
            0
        };
        tokens.expect(']')?;
        return Ok(Operand::Address(base, offset));
    }
    if tokens.take('{') {
        let mut parts = vec![operand(tokens)?];
        while tokens.take(',') {
            parts.push(operand(tokens)?);
        }
        tokens.expect('}')?;
        return Ok(Operand::List(parts));
    }
    if tokens.take('-') {
        return Ok(Operand::Negative(tokens.word()?.to_owned()));
    }
    if tokens.take('!') {
        return Ok(Operand::Not(tokens.word()?.to_owned()));
    }
    let word = tokens.word()?.to_owned();
    if tokens.take('|') {
        return Ok(Operand::Pair(word, tokens.word()?.to_owned()));
    }
    Ok(Operand::Word(word))
}

fn offset(tokens: &mut Tokens<'_>) -> Result<i64, PtxError> {
    let error = tokens.error("an offset expected");
    i64::try_from(tokens.number()?).map_err(|_| error)
}

/// Makes slots of operands.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    pub(crate) scope: &'a mut Scope,
    pub(crate) line: u32,
}

impl Resolver<'_> {
    pub(crate) fn error(&self, text: impl Into<String>) -> PtxError {
        PtxError::new(self.line, text)
    }

    fn register(&self, name: &str) -> Result<(u32, Slot), PtxError> {
        match self.scope.find(name) {
            Some(Name::Register(slot)) => Ok((slot, self.scope.slots[slot as usize])),
            _ => Err(self.error(format!("{name} is no register"))),
        }
    }

    /// A register to write, exactly as wide as the type.
    pub(crate) fn target(&self, operand: &Operand, ty: Type) -> Result<u32, PtxError> {
        let (slot, bits) = self.wide_target(operand, ty)?;
        if bits == ty.bits {
            Ok(slot)
        } else {
            Err(self.error(format!("{operand:?} has {bits} bits, not {}", ty.bits)))
        }
    }

    /// A register to write, at least as wide as the type, and its width.
    pub(crate) fn wide_target(&self, operand: &Operand, ty: Type) -> Result<(u32, u32), PtxError> {
        let Operand::Word(name) = operand else {
            return Err(self.error(format!("{operand:?} cannot be written")));
        };
        let (slot, register) = self.register(name)?;
        if (register.ty.kind == Kind::Predicate) != (ty.kind == Kind::Predicate)
            || register.ty.bits < ty.bits
        {
            return Err(self.error(format!("{name} is no register for {ty:?}")));
        }
        Ok((slot, register.ty.bits))
    }

    /// A value of exactly the type's width.
    pub(crate) fn value(&mut self, operand: &Operand, ty: Type) -> Result<u32, PtxError> {
        let slot = self.wide_value(operand, ty)?;
        let found = self.scope.slots[slot as usize].ty;
        if found.bits == ty.bits {
            Ok(slot)
        } else {
            Err(self.error(format!(
                "{operand:?} has {} bits, not {}",
                found.bits, ty.bits
            )))
        }
    }

    /// A value at least as wide as the type.
    pub(crate) fn wide_value(&mut self, operand: &Operand, ty: Type) -> Result<u32, PtxError> {
        let (word, negative) = match operand {
            Operand::Word(word) => (word, false),
            Operand::Negative(word) => (word, true),
            _ => return Err(self.error(format!("{operand:?} is no value"))),
        };
        if let Some(value) = number(word, ty) {
            let value = if negative {
                value.wrapping_neg()
            } else {
                value
            };
            return Ok(self.scope.constant(value, ty));
        }
        if negative {
            return Err(self.error(format!("-{word} is no value")));
        }
        let slot = match self.scope.find(word) {
            Some(Name::Register(slot)) => slot,
            Some(Name::Shared(offset) | Name::Local(offset) | Name::Parameter(offset, _)) => {
                self.scope.constant(offset as u64, ty)
            }
            None => self
                .scope
                .special(word)
                .ok_or_else(|| self.error(format!("{word} is not known")))?,
        };
        let found = self.scope.slots[slot as usize].ty;
        if (found.kind == Kind::Predicate) != (ty.kind == Kind::Predicate) || found.bits < ty.bits {
            return Err(self.error(format!("{word} is no value of {ty:?}")));
        }
        Ok(slot)
    }

    /// The register and the offset of an address; of a variable, a constant and the offset.
    pub(crate) fn address(&mut self, operand: &Operand) -> Result<(u32, i64), PtxError> {
        let Operand::Address(base, offset) = operand else {
            return Err(self.error(format!("{operand:?} is no address")));
        };
        if let Some(number) = integer(base) {
            return Ok((
                self.scope.constant(
                    number,
                    Type {
                        kind: Kind::Bits,
                        bits: 64,
                    },
                ),
                *offset,
            ));
        }
        match self.scope.find(base) {
            Some(Name::Register(slot)) if self.scope.slots[slot as usize].ty.bits >= 32 => {
                Ok((slot, *offset))
            }
            Some(Name::Shared(start) | Name::Local(start) | Name::Parameter(start, _)) => Ok((
                self.scope.constant(
                    start as u64,
                    Type {
                        kind: Kind::Bits,
                        bits: 64,
                    },
                ),
                *offset,
            )),
            _ => Err(self.error(format!("{base} is no address"))),
        }
    }
}

/// A number as it is written, for a type; floats are written as their bits.
fn number(word: &str, ty: Type) -> Option<u64> {
    if ty.kind == Kind::Predicate {
        return None;
    }
    if let Some(bits) = word.strip_prefix("0f").or(word.strip_prefix("0F")) {
        return (ty.bits == 32 && bits.len() == 8).then(|| u64::from_str_radix(bits, 16).ok())?;
    }
    if let Some(bits) = word.strip_prefix("0d").or(word.strip_prefix("0D")) {
        return (ty.bits == 64 && bits.len() == 16).then(|| u64::from_str_radix(bits, 16).ok())?;
    }
    if ty.is_float() { None } else { integer(word) }
}
