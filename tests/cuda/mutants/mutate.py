#!/usr/bin/env python3
"""Lists mutants of a PTX file: copies with one instruction changed.

    mutate.py FILE.ptx [--kernel NAME]... [--sample N SEED] > LIST

A line of the list is `line number <tab> kernel <tab> kind <tab> new text of the line`; the text is empty where the
instruction is dropped. The same file gives the same list. The kinds:

    drop        the instruction is left out
    constant    an immediate, or the offset of an address, is one more or one less (offsets: one word more or less)
    compare     another comparison, among them the opposite one
    negate      a predicate has or loses its `!`
    operation   another operation of the same types: add <-> sub, min <-> max, div <-> rem, and <-> or, ...
    swap        two source operands change places, where that makes a difference
    register    a source register is another one of the same kind: the one written last before it

Cache operators, declarations and the order of independent instructions are left alone. Copies, loads and stores of
inline assembly are instructions like all others.
"""

import argparse
import random
import re
import sys

COMPARISONS = {
    "eq": ("ne",), "ne": ("eq",),
    "lt": ("le", "ge"), "le": ("lt", "gt"), "gt": ("ge", "le"), "ge": ("gt", "lt"),
}  # fmt: skip
OPERATIONS = {
    "add": ("sub",), "sub": ("add",), "min": ("max",), "max": ("min",), "div": ("rem",), "rem": ("div",),
    "and": ("or",), "or": ("and",), "shl": ("shr",), "shr": ("shl",), "mul.lo": ("add",), "neg": ("not",),
    "atom.global.min": ("atom.global.max",), "atom.global.max": ("atom.global.min",),
}  # fmt: skip
# `shl` and `not` know bits only, `shr`, `add` and the others numbers.
TYPES = {("shl", "shr"): ("b", "u"), ("shr", "shl"): ("u", "b"), ("neg", "not"): ("s", "b")}
ORDERED = ("sub", "div", "rem", "setp", "selp", "shl", "shr")
REGISTER = re.compile(r"%(?:rd|rs|r|p)\d+\b")


def kind_of(register):
    return re.match(r"%[a-z]+", register)[0]


class Instruction:
    """One line: `[@[!]%p] operation operands;`."""

    def __init__(self, line):
        match = re.match(r"^(\s*)(@!?%p\d+\s+)?([a-z][\w.:]*)\s*(.*?);\s*$", line)
        self.indent, self.guard, self.operation, operands = match.groups()
        self.guard = self.guard or ""
        # Commas inside braces and brackets do not part operands.
        self.operands = [part.strip() for part in re.split(r",(?![^{\[]*[}\]])", operands)] if operands else []

    @staticmethod
    def is_one(line):
        return re.match(r"^\s*(@!?%p\d+\s+)?[a-z][\w.:]*(\s+.*)?;\s*$", line) is not None

    def text(self, guard=None, operation=None, operands=None):
        guard = self.guard if guard is None else guard
        operands = self.operands if operands is None else operands
        return f"{self.indent}{guard}{operation or self.operation} {', '.join(operands)};".rstrip()

    def writes(self):
        """Registers that it writes."""
        if not self.operands or self.operation.startswith(("st.", "bra", "ret")):
            return []
        return REGISTER.findall(self.operands[0])

    def sources(self):
        """Indices of the operands that it reads."""
        return range(0 if self.operation.startswith(("st.", "bra")) else 1, len(self.operands))


def mutants_of(one, last):
    """Pairs of kind and text; `last` has the register of each kind that was written last."""
    if not one.operation.startswith("ret"):
        yield "drop", ""
    yield from constants(one)
    if one.operation.startswith("setp."):
        setp, comparison, kind = one.operation.split(".")
        for other in COMPARISONS[comparison]:
            yield "compare", one.text(operation=f"{setp}.{other}.{kind}")
    if one.guard:
        negated = one.guard.replace("@!", "@") if "!" in one.guard else one.guard.replace("@", "@!")
        yield "negate", one.text(guard=negated)
    yield from operations(one)
    first = one.operation.split(".")[0]
    alike = re.match(r"setp\.(eq|ne)\.", one.operation)
    if first in ORDERED and not alike and len(set(one.operands[1:3])) == 2:
        destination, left, right, *rest = one.operands
        yield "swap", one.text(operands=[destination, right, left, *rest])
    yield from registers(one, last)


def constants(one):
    for index in one.sources():
        operand = one.operands[index]
        if re.fullmatch(r"-?\d+", operand):
            for step in (1, -1):
                if not (int(operand) == 0 and step == -1):
                    yield "constant", replaced(one, index, str(int(operand) + step))
        elif match := re.fullmatch(r"\[(%\w+)(?:\+(\d+))?\]", operand):
            word = 8 if "64" in one.operation else 4
            for step in (word, -word):
                offset = int(match[2] or 0) + step
                yield "constant", replaced(one, index, f"[{match[1]}+{offset}]")


def operations(one):
    for name, others in OPERATIONS.items():
        if not one.operation.startswith(f"{name}."):
            continue
        tail = one.operation[len(name) + 1 :]
        if name == "mul.lo" and not one.operands:
            continue
        for other in others:
            old, new = TYPES.get((name, other), ("", ""))
            kind = new + tail[len(old) :] if old and tail.startswith(old) else tail
            yield "operation", one.text(operation=f"{other}.{kind}")


def registers(one, last):
    for index in one.sources():
        for match in REGISTER.finditer(one.operands[index]):
            other = last.get(kind_of(match[0]))
            if other and other != match[0]:
                operand = one.operands[index]
                yield "register", replaced(one, index, operand[: match.start()] + other + operand[match.end() :])
    if one.guard:
        own = REGISTER.search(one.guard)[0]
        other = last.get("%p")
        if other and other != own:
            yield "register", one.text(guard=one.guard.replace(own, other))


def replaced(one, index, operand):
    return one.text(operands=[*one.operands[:index], operand, *one.operands[index + 1 :]])


def all_mutants(text):
    """Tuples of line number, kernel, kind and new text."""
    kernel = None
    last = {}
    seen = set()
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.search(r"\.entry (\w+)\(", line):
            kernel, last = match[1], {}
        elif kernel and Instruction.is_one(line):
            one = Instruction(line)
            for kind, new in mutants_of(one, last):
                if (number, new) not in seen and new.split() != line.split():
                    seen.add((number, new))
                    yield number, kernel, kind, new.strip()
            last.update((kind_of(register), register) for register in one.writes())


def main():
    parser = argparse.ArgumentParser(description="lists mutants of a PTX file")
    parser.add_argument("ptx")
    parser.add_argument("--kernel", action="append", help="only mutants of this kernel; may be given again")
    parser.add_argument("--sample", nargs=2, type=int, metavar=("N", "SEED"), help="only N of them, by chance")
    arguments = parser.parse_args()
    with open(arguments.ptx, encoding="ascii") as file:
        mutants = list(all_mutants(file.read()))
    if arguments.kernel:
        mutants = [mutant for mutant in mutants if mutant[1] in arguments.kernel]
    if arguments.sample:
        count, seed = arguments.sample
        mutants = sorted(random.Random(seed).sample(mutants, min(count, len(mutants))))
    for mutant in mutants:
        print("\t".join(map(str, mutant)))


if __name__ == "__main__":
    sys.exit(main())
