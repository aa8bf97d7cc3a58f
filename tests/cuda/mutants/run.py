#!/usr/bin/env python3
"""Tries mutants of the committed PTX on the stand-in driver: how well do the tests of the kernels see a wrong instruction?

    tests/cuda/mutants/run.py [--kernel NAME]... [--sample N SEED] [--jobs N] [--write]
    tests/cuda/mutants/run.py --check

Each mutant (mutate.py) is loaded and run on the shapes of tests/cuda/tests/kernels until something is wrong: a byte,
a report, a fault, a race, or no end. Verdicts:

    killed      something was wrong
    invalid     the stand-in does not load it: no mutant
    equivalent  it survives, and equivalent.tsv argues why nothing can see it
    survives    nothing was wrong

At least 95 of 100 that are neither invalid nor equivalent must be killed. --write puts the verdicts into verdicts.tsv,
which is committed: a row a mutant, `verdict, kernel, line, kind, old text, new text`. Without --kernel: the kernels for
16 bytes and for 1 byte, whole. Takes some minutes of two cores; --sample N SEED takes N of them by chance.

--check runs nothing and takes no time: are the committed verdicts those of the committed PTX, and are there enough?

Exit status: 0, or 1 when too many survive, or 2 for a wrong call.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import mutate

HERE = pathlib.Path(__file__).resolve().parent
PTX = HERE.parents[2] / "src/cuda/kernels/kv_copy.ptx"
KERNELS = ("kvb_copy_16", "kvb_permute_16", "kvb_copy_1", "kvb_permute_1")
WANTED = 0.95


def test_program():
    """Builds the tests and answers the path of the program."""
    command = ["cargo", "test", "--test", "kernels", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "kernels":
            return message["executable"]
    raise RuntimeError("cargo names no program of the tests")


def start(program, mutants, directory, number):
    """A process that judges these mutants, and the file for its verdicts."""
    listed, verdicts = directory / f"{number}.mutants", directory / f"{number}.verdicts"
    listed.write_text("".join("\t".join(map(str, mutant)) + "\n" for mutant in mutants))
    verdicts.write_text("")
    environment = {**os.environ, "KVB_PTX": str(PTX), "KVB_MUTANTS": str(listed), "KVB_VERDICTS": str(verdicts)}
    log = open(directory / f"{number}.log", "w", encoding="utf-8")
    command = [program, "--ignored", "--exact", "mutants::verdicts"]
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT), verdicts


def judged(program, mutants, jobs):
    """The verdict of each mutant. A mutant that ends its process is killed, and the others go on in a new one."""
    verdicts = [None] * len(mutants)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        shares = [list(range(job, len(mutants), jobs)) for job in range(jobs)]
        for attempt in range(len(mutants)):
            shares = [share for share in shares if share]
            if not shares:
                break
            running = [
                start(program, [mutants[index] for index in share], directory, f"{attempt}.{job}")
                for job, share in enumerate(shares)
            ]
            for job, (process, file) in enumerate(running):
                process.wait()
                found = [line.split("\t")[0] for line in file.read_text().splitlines()]
                share = shares[job]
                for index, verdict in zip(share, found):
                    verdicts[index] = verdict
                if process.returncode != 0 and len(found) < len(share):
                    verdicts[share[len(found)]] = "killed"
                    found.append("killed")
                shares[job] = share[len(found) :]
    return verdicts


def arguments_for_equivalence():
    """Maps kernel, old and new text of an instruction to the argument."""
    rows = (HERE / "equivalent.tsv").read_text(encoding="ascii").splitlines()
    return {tuple(row.split("\t")[:3]): row.split("\t")[3] for row in rows if row and not row.startswith("#")}


def committed(mutants):
    """The verdicts in verdicts.tsv, which must be those of these mutants."""
    rows = [row.split("\t") for row in (HERE / "verdicts.tsv").read_text(encoding="ascii").splitlines()[1:]]
    known = [(int(number), kernel, kind, new) for _, kernel, number, kind, _, new in rows]
    if known != mutants:
        sys.exit("verdicts.tsv is of another PTX: run tests/cuda/mutants/run.py --write and commit what it writes")
    return [row[0] for row in rows]


def main():
    parser = argparse.ArgumentParser(description="tries mutants of the committed PTX on the stand-in driver")
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--sample", nargs=2, type=int, metavar=("N", "SEED"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="write verdicts.tsv")
    parser.add_argument("--check", action="store_true", help="look at verdicts.tsv instead of running anything")
    arguments = parser.parse_args()
    text = PTX.read_text(encoding="ascii")
    lines = text.splitlines()
    kernels = arguments.kernel or KERNELS
    mutants = [mutant for mutant in mutate.all_mutants(text) if mutant[1] in kernels]
    if arguments.sample:
        count, seed = arguments.sample
        mutants = sorted(random.Random(seed).sample(mutants, min(count, len(mutants))))
    argued = arguments_for_equivalence()
    if arguments.check:
        verdicts = committed(mutants)
    else:
        verdicts = judged(test_program(), mutants, arguments.jobs)
    rows = []
    for (number, kernel, kind, new), verdict in zip(mutants, verdicts):
        old = " ".join(lines[number - 1].split())
        if verdict in ("survives", "equivalent"):
            verdict = "equivalent" if (kernel, old, new) in argued else "survives"
        rows.append((verdict, kernel, number, kind, old, new))
    if arguments.write:
        head = "verdict\tkernel\tline\tkind\told\tnew\n"
        body = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        (HERE / "verdicts.tsv").write_text(head + body, encoding="ascii")
    return report(rows)


def report(rows):
    for verdict, kernel, number, kind, old, new in rows:
        if verdict == "survives":
            print(f"survives: {kernel}, line {number}, {kind}: {old} => {new or '(nothing)'}")
    by_kernel = collections.defaultdict(collections.Counter)
    for row in rows:
        by_kernel[row[1]][row[0]] += 1
    by_kernel["all"] = sum(by_kernel.values(), collections.Counter())
    for kernel, counts in by_kernel.items():
        tried = counts["killed"] + counts["survives"]
        share = counts["killed"] / tried if tried else 1
        print(
            f"{kernel}: {tried + counts['equivalent']} mutants, {counts['equivalent']} argued equivalent, "
            f"{counts['killed']} of {tried} others killed ({100 * share:.1f} %); {counts['invalid']} not loaded"
        )
    # The last one is of all kernels together.
    if share < WANTED:
        print(f"fewer than {100 * WANTED:.0f} % killed: add a shape that sees the survivors, or argue that none can")
        return 1
    return 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
