#!/usr/bin/env bash
# Each header alone, under each language that it claims, with all warnings as errors. The C++ header also without
# exceptions and run-time types.
set -euo pipefail
include=$(cd "$(dirname "${BASH_SOURCE[0]}")/../include" && pwd)
: "${CC:=cc}" "${CXX:=c++}"
readonly include
readonly warnings=(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion)

# check COMPILER LANGUAGE HEADER FLAG...
check() {
  local compiler=$1 language=$2 header=$3
  shift 3
  printf '#include <%s>\n' "$header" |
    "$compiler" -x "$language" "$@" "${warnings[@]}" -I "$include" -fsyntax-only - ||
    { echo "FAILED: $header: $compiler $*" >&2; exit 1; }
  echo "ok: $header: $*"
}

cd "$include"
for header in *.h; do
  for standard in c99 c11; do check "$CC" c "$header" "-std=$standard" -Wstrict-prototypes; done
  for standard in c++11 c++17 c++20; do check "$CXX" c++ "$header" "-std=$standard"; done
done
shopt -s nullglob
for header in *.hpp; do
  for standard in c++17 c++20; do
    check "$CXX" c++ "$header" "-std=$standard"
    check "$CXX" c++ "$header" "-std=$standard" -fno-exceptions -fno-rtti
  done
done
# Its parts alone: each includes what it uses.
for header in kvblock/*.hpp; do
  check "$CXX" c++ "$header" -std=c++17 -fno-exceptions -fno-rtti
done
