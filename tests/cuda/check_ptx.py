#!/usr/bin/env python3
"""Checks the committed PTX without a GPU.

    check_ptx.py NVRTC_WHEEL CUDA13_WHEELS [--ptx FILE] [--sources DIRECTORY]

NVRTC_WHEEL is where nvidia-cuda-nvrtc-cu11==11.8.89 was installed with `pip install --target`, CUDA13_WHEELS where
nvidia-cuda-nvcc==13.5.37 and nvidia-cuda-nvdisasm==13.5.37 were. The PTX is by default
src/cuda/kernels/kv_copy.ptx, and must be what its sources compile to, byte for byte. It is assembled for GPUs from
sm_75 to sm_120: no stack, nothing spilled, at most 64 registers a thread. The machine code must have 128-bit loads
that bypass L1 and 128-bit stores in the kernels for 16 bytes, accesses of the right width in the others, no generic
access and no local memory, and no read through the read-only path. Takes some seconds.

Exit status: 0, or 1 with every fault found and what to do, or 2 for a wrong call.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
REGISTERS = 64
WIDTHS = (16, 8, 4, 2, 1)
# What an access of so many bytes is called in machine code, behind its other properties; 4 bytes have no name.
NAMES = {16: "128", 8: "64", 4: "", 2: "U16", 1: "U8"}
# Words of a thread under way at once.
IN_FLIGHT = 4


def output_of(command, **more):
    """Standard output and error of a program that must succeed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nends with {done.returncode}:\n{done.stdout}")
    return done.stdout


def compile_sources(nvrtc, sources, target):
    libraries = nvrtc / "nvidia/cuda_nvrtc/lib"
    script = pathlib.Path(__file__).with_name("compile_ptx.py")
    command = [sys.executable, script, libraries / "libnvrtc.so.11.2", "compute_70", target, sources / "kv_copy.cu"]
    output_of(command, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})


def first_difference(committed, made):
    """A line that says where two texts part."""
    pairs = zip(committed.splitlines(), made.splitlines())
    for number, (old, new) in enumerate(pairs, 1):
        if old != new:
            return f"line {number}: committed `{old.strip()}`, made `{new.strip()}`"
    return f"committed {len(committed)} bytes, made {len(made)}"


def check_bytes(nvrtc, sources, ptx, scratch):
    made = scratch / "made.ptx"
    compile_sources(nvrtc, sources, made)
    if made.read_bytes() == ptx.read_bytes():
        return
    where = first_difference(ptx.read_text(errors="replace"), made.read_text(errors="replace"))
    yield (
        f"{ptx.name} is not what its sources compile to ({where}). "
        "Make it again with compile_ptx.py (src/cuda/kernels/README.md) and commit it; never edit it by hand"
    )


def check_resources(architecture, messages):
    """Reads what `ptxas -v` says of each kernel."""
    seen = set()
    kernel = "?"
    for line in messages.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if match.groups() != ("0", "0", "0"):
                yield (
                    f"{architecture} {kernel}: {match[0]}. The kernels must live in registers: keep fewer words or "
                    "values under way, and index arrays by constants only"
                )
        elif match := re.search(r"Used (\d+) registers", line):
            seen.add(kernel)
            if int(match[1]) > REGISTERS:
                yield (
                    f"{architecture} {kernel}: {match[1]} registers, at most {REGISTERS} leave room for 1024 threads "
                    "on a multiprocessor: keep fewer values alive"
                )
    missing = {f"kvb_{kind}_{width}" for kind in ("copy", "permute") for width in WIDTHS} - seen
    if missing:
        yield f"{architecture}: no kernel {', '.join(sorted(missing))}"


def accesses(disassembly):
    """The memory instructions of each kernel, in the order of the code."""
    kernels = collections.defaultdict(list)
    kernel = "?"
    for line in disassembly.splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            kernel = match[1]
        elif match := re.search(r"\b(LDG|STG|LDL|STL|LD|ST|LDS|STS|BAR)(\.[.A-Z0-9]+)?\b", line):
            kernels[kernel].append(match[0])
    return kernels


def is_access(name, operation, width, bypassing=False):
    """Whether an instruction is a load or store of `width` bytes, and bypasses L1 if it must."""
    parts = set(name.split("."))
    size = (parts & {"128", "64", "U16", "U8", "S16", "S8"}) or {""}
    return operation in parts and size == {NAMES[width]} and (not bypassing or "NA" in parts)


def most_in_flight(code, width, bypassing):
    """The most loads of `width` bytes between two stores, of the loads that a store of `width` bytes follows."""
    most = loads = 0
    for name in code:
        if is_access(name, "LDG", width, bypassing):
            loads += 1
        elif is_access(name, "STG", width):
            most = max(most, loads)
            loads = 0
    return most


def check_code(architecture, disassembly):
    kernels = accesses(disassembly)
    for kind in ("copy", "permute"):
        for width in WIDTHS:
            name = f"kvb_{kind}_{width}"
            code = kernels.get(name, [])
            for operation in sorted({what.split(".")[0] for what in code} - {"LDG", "STG"}):
                yield (
                    f"{architecture} {name}: {operation} found. Only global loads and stores belong here; generic ones "
                    "come from pointers that are not inline PTX (words.cuh), local ones from arrays or spills"
                )
            if any("CONSTANT" in what for what in code):
                yield (
                    f"{architecture} {name}: a load through the read-only path. Other kernels write what is read here: "
                    "no `.nc`, no __ldg, no __restrict__"
                )
            loads = most_in_flight(code, width, bypassing=kind == "copy" or width == 16)
            stores = sum(is_access(what, "STG", width) for what in code)
            if loads < IN_FLIGHT or stores < IN_FLIGHT:
                found = ", ".join(f"{count} {what}" for what, count in sorted(collections.Counter(code).items()))
                yield (
                    f"{architecture} {name}: wanted {IN_FLIGHT} loads of {width} bytes before the first store and as "
                    f"many stores, found {loads} and {stores} (all: {found or 'nothing'}). See Word in words.cuh, and "
                    "the unrolled loops"
                )


def check_architecture(tools, architecture, ptx, scratch):
    cubin = scratch / f"{architecture}.cubin"
    try:
        messages = output_of([tools / "ptxas", "-v", f"-arch={architecture}", "-o", cubin, ptx])
    except RuntimeError as error:
        yield f"{architecture}: {error}"
        return
    yield from check_resources(architecture, messages)
    yield from check_code(architecture, output_of([tools / "nvdisasm", cubin]))


def main():
    parser = argparse.ArgumentParser(description="checks the committed PTX without a GPU")
    parser.add_argument("nvrtc", type=pathlib.Path, help="directory of the wheel nvidia-cuda-nvrtc-cu11")
    parser.add_argument("cuda13", type=pathlib.Path, help="directory of nvidia-cuda-nvcc and nvidia-cuda-nvdisasm")
    parser.add_argument("--sources", type=pathlib.Path, default=ROOT / "src/cuda/kernels")
    parser.add_argument("--ptx", type=pathlib.Path)
    arguments = parser.parse_args()
    ptx = arguments.ptx or arguments.sources / "kv_copy.ptx"
    tools = arguments.cuda13 / "nvidia/cu13/bin"
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        try:
            faults += check_bytes(arguments.nvrtc, arguments.sources, ptx, scratch)
            for architecture in ARCHITECTURES:
                faults += check_architecture(tools, architecture, ptx, scratch)
        except (OSError, RuntimeError) as error:
            faults.append(str(error))
    for fault in faults:
        print(f"check_ptx.py: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"{ptx.name}: as compiled, and good for {', '.join(ARCHITECTURES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
