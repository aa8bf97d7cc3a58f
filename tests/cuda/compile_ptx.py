#!/usr/bin/env python3
"""Compiles a CUDA source to PTX with NVRTC: no CUDA toolkit and no GPU is needed.

    compile_ptx.py LIBNVRTC ARCHITECTURE OUTPUT.ptx SOURCE.cu

LIBNVRTC is the path of libnvrtc.so.11.2 (from the wheel nvidia-cuda-nvrtc-cu11), whose directory must be in
LD_LIBRARY_PATH: NVRTC opens a second library beside itself. ARCHITECTURE is for example compute_70. Headers are
looked for beside SOURCE. The output depends on the sources and the version of NVRTC only, to the byte: no path, no
date. Exit status: 0, or 1 with the compiler's messages on standard error, or 2 for a wrong call.
"""

import ctypes
import pathlib
import sys

# Any other version writes other bytes, and a newer one PTX that older drivers do not know.
VERSION = (11, 8)


class Nvrtc:
    """The calls of NVRTC that are needed; each raises `RuntimeError` with the name of the call and NVRTC's reason."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: {self.library.nvrtcGetErrorString(code).decode()}")

    def version(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.value

    def compile(self, source, name, options):
        """The PTX and the messages of the compiler."""
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), source, name, 0, None, None)
        try:
            array = (ctypes.c_char_p * len(options))(*options)
            try:
                self.call("nvrtcCompileProgram", program, len(options), array)
            except RuntimeError as error:
                messages = self.text(program, "ProgramLog").decode(errors="replace")
                raise RuntimeError(f"{error}\n{messages}") from None
            return self.text(program, "PTX"), self.text(program, "ProgramLog").decode(errors="replace")
        finally:
            self.call("nvrtcDestroyProgram", ctypes.byref(program))


def main(arguments):
    if len(arguments) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    library, architecture, output, source = arguments
    source = pathlib.Path(source)
    options = [f"--gpu-architecture={architecture}", "--std=c++17", f"--include-path={source.parent}"]
    try:
        nvrtc = Nvrtc(library)
        version = nvrtc.version()
        if version != VERSION:
            raise RuntimeError(f"NVRTC is {version[0]}.{version[1]}, wanted {VERSION[0]}.{VERSION[1]}")
        ptx, messages = nvrtc.compile(
            source.read_bytes(), source.name.encode(), [option.encode() for option in options]
        )
    except (OSError, RuntimeError) as error:
        print(f"compile_ptx.py: {source}: {error}", file=sys.stderr)
        return 1
    if messages.strip():
        print(f"compile_ptx.py: {source}: the compiler warns:\n{messages}", file=sys.stderr)
        return 1
    pathlib.Path(output).write_bytes(ptx)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
