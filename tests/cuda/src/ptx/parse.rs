//! Parses a file: directives, entry functions, their declarations and instructions.

use std::collections::BTreeMap;

use super::decode::{Statement, decode};
use super::instruction::{Instruction, Op};
use super::lexer::{self, Tokens};
use super::operand::{Operand, Resolver, operand};
use super::scope::{Name, Scope};
use super::types::Type;
use super::{DYNAMIC_SHARED, Kernel, Ptx, PtxError};

/// Parses PTX text.
pub(crate) fn parse(text: &str) -> Result<Ptx, PtxError> {
    let tokens = lexer::tokens(text)?;
    let mut tokens = Tokens::new(&tokens);
    let version = version(&mut tokens)?;
    let mut kernels: Vec<Kernel> = Vec::new();
    let (mut targeted, mut sized) = (false, false);
    // Shared memory whose size is given at the launch may be declared outside of functions.
    let mut outside = Vec::new();
    while !tokens.is_over() {
        match tokens.word()? {
            ".target" => {
                let target = tokens.word()?;
                let number = target
                    .strip_prefix("sm_")
                    .and_then(|number| number.parse::<u32>().ok());
                if number.is_none_or(|number| !(50..=80).contains(&number)) {
                    return Err(tokens.error(&format!("{target} is no target for this device")));
                }
                targeted = true;
            }
            ".address_size" => sized = tokens.number()? == 64,
            ".visible" if targeted && sized => {
                if !tokens.take_word(".entry") {
                    return Err(tokens.error(".entry expected"));
                }
                let kernel = entry(&mut tokens, &outside)?;
                if kernels.iter().any(|other| other.name == kernel.name) {
                    return Err(tokens.error(&format!("{} is there twice", kernel.name)));
                }
                kernels.push(kernel);
            }
            ".entry" if targeted && sized => kernels.push(entry(&mut tokens, &outside)?),
            ".extern" if tokens.take_word(".shared") => outside.push(variable(&mut tokens)?),
            ".global" => constant(&mut tokens)?,
            ".file" => {
                tokens.number()?;
                tokens.text()?;
            }
            other => return Err(tokens.error(&format!("{other} is not known"))),
        }
    }
    Ok(Ptx { version, kernels })
}

fn version(tokens: &mut Tokens<'_>) -> Result<(u32, u32), PtxError> {
    if !tokens.take_word(".version") {
        return Err(tokens.error(".version expected"));
    }
    let error = tokens.error("a version expected");
    let (major, minor) = tokens.word()?.split_once('.').ok_or(error)?;
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Ok((major, minor)),
        _ => Err(tokens.error("a version expected")),
    }
}

/// A variable of device memory with its value. It gets no memory: no instruction may name it, and one that does is refused.
fn constant(tokens: &mut Tokens<'_>) -> Result<(), PtxError> {
    if tokens.take_word(".align") {
        tokens.number()?;
    }
    type_word(tokens)?;
    tokens.word()?;
    if tokens.take('=') {
        tokens.number()?;
    }
    tokens.expect(';')
}

/// A variable: its name, size and alignment; size 0 if it is given at the launch.
#[derive(Debug, Clone)]
struct Variable {
    name: String,
    bytes: usize,
    align: usize,
}

/// `.align n .type name[count]` and a semicolon.
fn variable(tokens: &mut Tokens<'_>) -> Result<Variable, PtxError> {
    let mut align = None;
    if tokens.take_word(".align") {
        align = Some(tokens.number()? as usize);
    }
    let ty = type_word(tokens)?;
    let name = tokens.word()?.to_owned();
    let count = array(tokens)?;
    tokens.expect(';')?;
    let bytes = size(tokens, ty, count)?;
    let align = align.unwrap_or(ty.bytes());
    if !align.is_power_of_two() || align > 256 {
        return Err(tokens.error("an alignment is a power of two, 256 at most"));
    }
    Ok(Variable { name, bytes, align })
}

/// `[n]`, `[]` or nothing.
fn array(tokens: &mut Tokens<'_>) -> Result<Option<u64>, PtxError> {
    if !tokens.take('[') {
        return Ok(None);
    }
    let count = if tokens.peek_mark(']') {
        0
    } else {
        tokens.number()?
    };
    tokens.expect(']')?;
    Ok(Some(count))
}

fn size(tokens: &Tokens<'_>, ty: Type, count: Option<u64>) -> Result<usize, PtxError> {
    match usize::try_from(count.unwrap_or(1)) {
        Ok(count) if count <= 1 << 20 && ty.bits >= 8 => Ok(count * ty.bytes()),
        _ => Err(tokens.error("a variable of a sensible size expected")),
    }
}

fn type_word(tokens: &mut Tokens<'_>) -> Result<Type, PtxError> {
    let error = tokens.error("a type expected");
    tokens
        .word()?
        .strip_prefix('.')
        .and_then(Type::named)
        .ok_or(error)
}

fn entry(tokens: &mut Tokens<'_>, outside: &[Variable]) -> Result<Kernel, PtxError> {
    let mut body = Body::new(tokens.word()?);
    tokens.expect('(')?;
    while !tokens.take(')') {
        body.parameter(tokens)?;
        if !tokens.peek_mark(')') {
            tokens.expect(',')?;
        }
    }
    while let Some(directive) = tokens.peek_word() {
        tokens.word()?;
        match directive {
            ".maxntid" => body.kernel.most_threads = Some(dimensions(tokens)?),
            ".reqntid" => body.kernel.exact_threads = Some(dimensions(tokens)?),
            // Hints for the assembler.
            ".minnctapersm" | ".maxnreg" => drop(tokens.number()?),
            other => return Err(tokens.error(&format!("{other} is not known"))),
        }
    }
    tokens.expect('{')?;
    for variable in outside {
        body.shared(tokens, variable)?;
    }
    body.statements(tokens)?;
    body.finish()
}

fn dimensions(tokens: &mut Tokens<'_>) -> Result<[u32; 3], PtxError> {
    let mut found = [1; 3];
    for (at, dimension) in found.iter_mut().enumerate() {
        if at > 0 && !tokens.take(',') {
            break;
        }
        *dimension =
            u32::try_from(tokens.number()?).map_err(|_| tokens.error("a dimension expected"))?;
    }
    Ok(found)
}

/// The body of an entry function as it is read.
#[derive(Debug)]
struct Body {
    kernel: Kernel,
    scope: Scope,
    /// By the braces that they stand in.
    labels: BTreeMap<(usize, String), usize>,
    /// Branches whose labels are not looked up yet, with the braces around each.
    branches: Vec<(usize, String, Vec<usize>)>,
    braces: Vec<usize>,
    braces_seen: usize,
}

impl Body {
    fn new(name: &str) -> Self {
        let kernel = Kernel {
            name: name.into(),
            parameters: Vec::new(),
            parameter_bytes: 0,
            most_threads: None,
            exact_threads: None,
            shared_bytes: 0,
            local_bytes: 0,
            registers: 0,
            slots: Vec::new(),
            code: Vec::new(),
        };
        let mut scope = Scope::default();
        scope.enter();
        Self {
            kernel,
            scope,
            labels: BTreeMap::new(),
            branches: Vec::new(),
            braces: vec![0],
            braces_seen: 0,
        }
    }

    fn parameter(&mut self, tokens: &mut Tokens<'_>) -> Result<(), PtxError> {
        if !tokens.take_word(".param") {
            return Err(tokens.error(".param expected"));
        }
        let mut align = None;
        if tokens.take_word(".align") {
            align = Some(tokens.number()? as usize);
        }
        let ty = type_word(tokens)?;
        let name = tokens.word()?;
        let count = array(tokens)?;
        let bytes = size(tokens, ty, count)?;
        let align = align.unwrap_or(ty.bytes());
        if !align.is_power_of_two() {
            return Err(tokens.error("an alignment is a power of two"));
        }
        let offset = self.kernel.parameter_bytes.next_multiple_of(align);
        self.kernel.parameters.push((offset, bytes));
        self.kernel.parameter_bytes = offset + bytes;
        self.define(tokens, name, Name::Parameter(offset, bytes))
    }

    fn define(&mut self, tokens: &Tokens<'_>, name: &str, meaning: Name) -> Result<(), PtxError> {
        if self.scope.define(name, meaning) {
            Ok(())
        } else {
            Err(tokens.error(&format!("{name} is there twice")))
        }
    }

    fn shared(&mut self, tokens: &Tokens<'_>, variable: &Variable) -> Result<(), PtxError> {
        if variable.bytes == 0 {
            return self.define(tokens, &variable.name, Name::Shared(DYNAMIC_SHARED));
        }
        let offset = self.kernel.shared_bytes.next_multiple_of(variable.align);
        self.kernel.shared_bytes = offset + variable.bytes;
        self.define(tokens, &variable.name, Name::Shared(offset))
    }

    /// Everything up to the function's closing brace.
    fn statements(&mut self, tokens: &mut Tokens<'_>) -> Result<(), PtxError> {
        self.scope.enter();
        while self.scope.depth() > 1 {
            if tokens.is_over() {
                return Err(tokens.error("'}' expected"));
            } else if tokens.take('{') {
                self.scope.enter();
                self.braces_seen += 1;
                self.braces.push(self.braces_seen);
            } else if tokens.take('}') {
                self.scope.leave();
                self.braces.pop();
            } else if tokens.peek_label() {
                let label = tokens.word()?.to_owned();
                tokens.expect(':')?;
                let braces = self.braces.last().copied().unwrap_or_default();
                if self
                    .labels
                    .insert((braces, label.clone()), self.kernel.code.len())
                    .is_some()
                {
                    return Err(tokens.error(&format!("{label} is there twice")));
                }
            } else {
                self.statement(tokens)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, tokens: &mut Tokens<'_>) -> Result<(), PtxError> {
        let line = tokens.line();
        let guard = if tokens.take('@') {
            let holds = !tokens.take('!');
            let predicate = Operand::Word(tokens.word()?.to_owned());
            let to = Resolver {
                scope: &mut self.scope,
                line,
            };
            Some((to.target(&predicate, Type::PREDICATE)?, holds))
        } else {
            None
        };
        let opcode = tokens.word()?;
        if opcode.starts_with('.') {
            if guard.is_some() {
                return Err(tokens.error("a guard stands before an instruction"));
            }
            return self.directive(tokens, opcode);
        }
        let mut words = opcode.split('.');
        let name = words.next().unwrap_or_default();
        let mut statement = Statement {
            name,
            modifiers: words.collect(),
            operands: Vec::new(),
        };
        if !tokens.peek_mark(';') {
            statement.operands.push(operand(tokens)?);
            while tokens.take(',') {
                statement.operands.push(operand(tokens)?);
            }
        }
        tokens.expect(';')?;
        let op = match (name, &statement.modifiers[..], &statement.operands[..]) {
            ("bra", [] | ["uni"], [Operand::Word(label)]) => {
                self.branches
                    .push((self.kernel.code.len(), label.clone(), self.braces.clone()));
                Op::Branch(usize::MAX)
            }
            _ => decode(
                &statement,
                &mut Resolver {
                    scope: &mut self.scope,
                    line,
                },
            )?,
        };
        self.kernel.code.push(Instruction { guard, op, line });
        Ok(())
    }

    fn directive(&mut self, tokens: &mut Tokens<'_>, directive: &str) -> Result<(), PtxError> {
        match directive {
            ".reg" => self.registers(tokens),
            ".shared" => {
                let variable = variable(tokens)?;
                self.shared(tokens, &variable)
            }
            ".local" => {
                let variable = variable(tokens)?;
                let offset = self.kernel.local_bytes.next_multiple_of(variable.align);
                self.kernel.local_bytes = offset + variable.bytes;
                self.define(tokens, &variable.name, Name::Local(offset))
            }
            // Says how loops are to be laid out.
            ".pragma" => {
                if tokens.text()? != "nounroll" {
                    return Err(tokens.error("the only pragma known is nounroll"));
                }
                tokens.expect(';')
            }
            // A line of the source.
            ".loc" => {
                for _ in 0..3 {
                    tokens.number()?;
                }
                Ok(())
            }
            other => Err(tokens.error(&format!("{other} is not known"))),
        }
    }

    /// `.reg .type %r<count>, %p;`
    fn registers(&mut self, tokens: &mut Tokens<'_>) -> Result<(), PtxError> {
        let ty = type_word(tokens)?;
        if ty.bits == 8 {
            return Err(tokens.error("registers of 8 bits are not known"));
        }
        loop {
            let name = tokens.word()?;
            let mut names = vec![name.to_owned()];
            if tokens.take('<') {
                let count = tokens.number()?;
                tokens.expect('>')?;
                if count > 1 << 16 {
                    return Err(tokens.error("too many registers"));
                }
                names = (0..count).map(|number| format!("{name}{number}")).collect();
            }
            for name in names {
                if !self.scope.register(&name, ty) {
                    return Err(tokens.error(&format!("{name} is there twice")));
                }
                self.kernel.registers += 1;
            }
            if tokens.take(';') {
                return Ok(());
            }
            tokens.expect(',')?;
        }
    }

    fn finish(mut self) -> Result<Kernel, PtxError> {
        for (at, label, braces) in &self.branches {
            let instruction = &mut self.kernel.code[*at];
            let found = braces
                .iter()
                .rev()
                .find_map(|brace| self.labels.get(&(*brace, label.clone())));
            let target = found
                .ok_or_else(|| PtxError::new(instruction.line, format!("{label} is no label")))?;
            instruction.op = Op::Branch(*target);
        }
        // A function may end without a word.
        let line = self
            .kernel
            .code
            .last()
            .map_or(0, |instruction| instruction.line);
        self.kernel.code.push(Instruction {
            guard: None,
            op: Op::Exit,
            line,
        });
        self.kernel.slots = self.scope.slots;
        Ok(self.kernel)
    }
}
