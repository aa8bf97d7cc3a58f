#!/usr/bin/env bash
# packaging.sh BUILD_DIRECTORY WORK_DIRECTORY
#
# What is installed is what programs need: installs the build, moves it to a path with spaces, and builds programs on it
# by find_package, by pkg-config and by add_subdirectory; looks at the names in both libraries; links the static one
# beside another library that is written in Rust, and into a shared one. Status 77 if a program that this needs is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
work=$(realpath -m "$2")
prefix="$work/moved to here"
readonly here build work prefix
readonly flags=(-std=c99 -Wall -Wextra -Wpedantic -Werror)
: "${CC:=cc}" "${CMAKE:=cmake}" "${CARGO:=cargo}" "${RUSTC:=rustc}"

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

ok() { printf 'ok: %s\n' "$*"; }

# same WHAT EXPECTED FOUND: two lists, a word a line.
same() {
  diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") >&2 || fail "$1: < is expected, > was found"
  ok "$1"
}

# runs WHAT COMMAND...: the program must say which version it is.
runs() {
  local what=$1 said
  shift
  said=$("$@") || fail "$what: does not run"
  [[ $said == "kvblock $version: done" ]] || fail "$what: says $said"
  ok "$what"
}

# logged WHAT COMMAND...: what the command writes is only shown if it fails.
logged() {
  local what=$1
  shift
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$what: $*"; }
}

# variable NAME: a path in kvblock.pc. pkg-config writes words for a shell, with their spaces escaped.
variable() {
  local -a words
  eval "words=($(pkg-config --variable="$1" kvblock))"
  printf '%s\n' "${words[*]}"
}

for needed in pkg-config readelf nm realpath "$CC" "$CMAKE" "$CARGO" "$RUSTC"; do
  command -v "$needed" >/dev/null || { echo "NOT CHECKED: $needed is not here"; exit 77; }
done
rm -rf "$work"
mkdir -p "$work"

# --- Installed, and moved: nothing may remember where it was installed

logged "installing" "$CMAKE" --install "$build" --prefix "$work/installed"
mv "$work/installed" "$prefix"
pc=$(find "$prefix" -name kvblock.pc)
[[ -n $pc ]] || fail "no kvblock.pc is installed"
export PKG_CONFIG_PATH=${pc%/*}
version=$(pkg-config --modversion kvblock)
lib=$(realpath "$(variable libdir)")
header=$(find "$prefix" -name kvblock.h)
soname=libkvblock.so.$(sed -n 's/^#define KVB_ABI_VERSION //p' "$header")
if grep -rl --exclude='*.a' --exclude='*.so*' -e "$work/installed" -e "$build" "$prefix"; then
  fail "the files above name a directory of the build"
fi
for licence in MIT APACHE; do
  [[ -n $(find "$prefix" -name "LICENSE-$licence") ]] || fail "LICENSE-$licence is not installed"
done
[[ $(readlink "$lib/libkvblock.so") == "$soname" ]] || fail "libkvblock.so is no link to $soname"
[[ $(readlink "$lib/$soname") == "libkvblock.so.$version" ]] || fail "$soname is no link to $version"
ok "installed and moved"

# --- Names

declared=$("$CC" "${flags[@]}" -E -P "$header" | grep -oE '\bkvb_[A-Za-z0-9_]+\(' | tr -d '(' | sort -u)
inline=$(grep -oE '^static inline .*\bkvb_[A-Za-z0-9_]+\(' "$header" | grep -oE 'kvb_[A-Za-z0-9_]+\($' | tr -d '(')
functions=$(grep -vxF "$inline" <<<"$declared")
same "the shared library exports what the header declares" "$functions" \
  "$(nm -D --defined-only "$lib/libkvblock.so" | awk '{print $NF}' | sort)"
same "the static library has these names and no other" "$functions" \
  "$(nm -g --defined-only "$lib/libkvblock.a" | awk 'NF == 3 {print $3}' | sort)"
if nm -u "$lib/libkvblock.a" | grep -E ' (_Z|_R|_Unwind|__?rust)'; then
  fail "the static library needs the names above, which the C library has not"
fi
same "SONAME" "$soname" "$(readelf -d "$lib/libkvblock.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
needed=$(readelf -d "$lib/libkvblock.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
others=$(grep -v '^libc\.' <<<"$needed" || true)
[[ -z $others ]] || fail "the shared library needs: $others"
ok "the shared library needs nothing but the C library"

# --- Programs

logged "find_package" "$CMAKE" -S "$here/consumer" -B "$work/find_package" "-DCMAKE_PREFIX_PATH=$prefix" \
  "-DWANTED=$version" "-DCMAKE_C_COMPILER=$CC"
logged "find_package" "$CMAKE" --build "$work/find_package"
runs "find_package, static" "$work/find_package/consumer_static"
runs "find_package, shared" "$work/find_package/consumer_shared"
if readelf -d "$work/find_package/consumer_static" | grep -q libkvblock; then fail "kvblock::static is the shared library"; fi

# finds WANTED: whether find_package does.
finds() {
  rm -rf "$work/wanted"
  "$CMAKE" -S "$here/consumer" -B "$work/wanted" "-DCMAKE_PREFIX_PATH=$prefix" "-DWANTED=$1" "-DCMAKE_C_COMPILER=$CC" >"$work/log" 2>&1
}

IFS=. read -r major minor patch <<<"$version"
readonly series=$major.$minor next=$major.$((minor + 1)) later=$major.$((minor + 2))
for wanted in "" "$series" "$series...$later" "0.0...$version" "$series...<$next" "COMPONENTS;static;shared" \
  "$series;OPTIONAL_COMPONENTS;none"; do
  finds "$wanted" || { cat "$work/log" >&2; fail "find_package: $version is not taken for '$wanted'"; }
done
for wanted in 99.0 "$next" "$series.$((patch + 1))" "$next...$later" "0.0...<$version"; do
  if finds "$wanted"; then fail "find_package: $version is taken for $wanted"; fi
  grep -q "kvblockConfig.cmake, version: $version" "$work/log" || { cat "$work/log" >&2; fail "find_package $wanted: fails otherwise"; }
done
ok "find_package: versions and ranges that have $version are found, others refused"
if finds "COMPONENTS;static;none"; then fail "find_package: finds a component that is not there"; fi
grep -q "no component none" "$work/log" || { cat "$work/log" >&2; fail "find_package COMPONENTS none: fails otherwise"; }
ok "find_package: a component that is not there is refused"

cargo_dir=$(sed -n 's/^KVBLOCK_CARGO_DIR:PATH=//p' "$build/CMakeCache.txt")
logged "add_subdirectory" "$CMAKE" -S "$here/subdirectory" -B "$work/subdirectory" "-DKVBLOCK_CARGO_DIR=$cargo_dir" "-DCMAKE_C_COMPILER=$CC"
logged "add_subdirectory" "$CMAKE" --build "$work/subdirectory"
runs "add_subdirectory, static" "$work/subdirectory/consumer_static"
runs "add_subdirectory, shared" "$work/subdirectory/consumer_shared"

source=$here/consumer/consumer.c
eval "cflags=($(pkg-config --cflags kvblock))"
eval "libs=($(pkg-config --libs kvblock))"
eval "static_libs=($(pkg-config --static --libs kvblock))"
archive=$(variable archive)
logged "pkg-config" "$CC" "${flags[@]}" "${cflags[@]}" "$source" "${libs[@]}" -o "$work/shared"
runs "pkg-config, shared" env "LD_LIBRARY_PATH=$lib" "$work/shared"
logged "pkg-config" "$CC" "${flags[@]}" "${cflags[@]}" "$source" "$archive" -o "$work/archive"
runs "pkg-config, the archive" "$work/archive"
logged "pkg-config" "$CC" "${flags[@]}" "${cflags[@]}" "$source" -static "${static_libs[@]}" -o "$work/static"
runs "pkg-config, all static" "$work/static"

# --- Within a shared library of somebody's own

logged "within a library" "$CC" "${flags[@]}" "${cflags[@]}" -fPIC -shared "$source" "$archive" -Wl,--exclude-libs,libkvblock.a -o "$work/own.so"
if nm -D --defined-only "$work/own.so" | grep kvb_; then fail "a library that hides kvblock exports the names above"; fi
logged "within a library" "$CC" "${flags[@]}" "${cflags[@]}" -fPIC -shared "$source" "$archive" -o "$work/own.so"
nm -D --defined-only "$work/own.so" | grep kvb_ >/dev/null || fail "control: nothing is exported without --exclude-libs either"
ok "a shared library can have kvblock in it and hide it"

logged "rpath" "$CC" "${flags[@]}" "${cflags[@]}" "$source" "${libs[@]}" "-Wl,-rpath,$lib" -o "$work/rpath"
runs "a prefix that the loader does not know, by rpath" "$work/rpath"

# --- Beside another library that is written in Rust

logged "the other library" "$RUSTC" --edition 2024 --crate-type staticlib --crate-name other -O \
  --out-dir "$work" "$here/other_rust/other.rs"
logged "the other library" "$CC" "${flags[@]}" "${cflags[@]}" -c "$here/other_rust/main.c" -o "$work/main.o"
readonly system=(-lpthread -ldl -lm -lgcc_s)
logged "kvblock, then the other" "$CC" "$work/main.o" "$archive" "$work/libother.a" "${system[@]}" -o "$work/before"
logged "the other, then kvblock" "$CC" "$work/main.o" "$work/libother.a" "$archive" "${system[@]}" -o "$work/after"
logged "beside the other" "$CC" "$work/main.o" "$work/libother.a" "${libs[@]}" "${system[@]}" -o "$work/beside"
logged "kvblock, then the other" "$work/before"
logged "the other, then kvblock" "$work/after"
logged "the shared one beside the other" env "LD_LIBRARY_PATH=$lib" "$work/beside"
ok "static and shared beside another Rust library, in both orders"

# As a control: the archive that cargo makes must not link there, or all of this is for nothing.
if "$CC" "$work/main.o" "$cargo_dir/release/libkvblock_c.a" "$work/libother.a" "${system[@]}" -o "$work/control" 2>"$work/log"; then
  fail "control: cargo's own archive can be linked beside the other library"
fi
grep -q 'multiple definition\|duplicate symbol' "$work/log" || { cat "$work/log" >&2; fail "control: fails for another reason"; }
ok "control: cargo's own archive cannot be linked there"
