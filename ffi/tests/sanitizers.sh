#!/usr/bin/env bash
# The C and C++ tests under tools that watch memory and threads, each with a control that it must report.
#
#   sanitizers.sh [asan] [valgrind] [threads]        all three without arguments
#
# asan      g++'s address, leak and undefined-behaviour sanitizers, beside the static library as it is installed
# valgrind  the same library, whose own reads and writes are watched, too
# threads   the library itself built with the sanitizer of threads, driven by threads.cpp; needs a nightly Rust
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${CC:=gcc}" "${CXX:=g++}" "${CARGO:=cargo}" "${CMAKE:=cmake}"
target=${CARGO_TARGET_DIR:-$root/target}
# By the first part, so that the parts can run at the same time.
out=$target/sanitizers/${1:-all}
readonly here root target out
readonly seed=${SEED:-$RANDOM$RANDOM}
mkdir -p "$out"

say() { printf '\n=== sanitizers: %s\n' "$*"; }
fail() { printf '\nFAILED: sanitizers: %s\n' "$*" >&2; exit 1; }

# The static library as it is installed.
library() {
  "$CARGO" build --quiet --locked --release --manifest-path "$root/Cargo.toml" -p kvblock-ffi --lib --target-dir "$target"
  "$CMAKE" -D nm=nm -D ld=ld -D objcopy=objcopy -D ar=ar -D from="$target/release/libkvblock_c.a" -D to="$out/libkvblock.a" \
    -P "$here/../cmake/prelink.cmake"
}

# compile PROGRAM SOURCE FLAG...: by its language; of a directory all sources are one program.
compile() {
  local program=$1 source=$2
  shift 2
  local flags=(-O1 -g -UNDEBUG -Wall -Wextra -I "$here/../include" "$@")
  case $source in
    *.cpp) "$CXX" -std=c++17 "${flags[@]}" "$source" "$out/libkvblock.a" -pthread -o "$program" ;;
    *.c) "$CC" -std=c99 "${flags[@]}" "$source" "$out/libkvblock.a" -pthread -o "$program" ;;
    *) "$CC" -std=c99 "${flags[@]}" "$source"/*.c "$out/libkvblock.a" -pthread -o "$program" ;;
  esac
}

# each DIRECTORY FLAG... -- COMMAND...: compiles and runs every test under the command.
each() {
  local directory=$out/$1 source name flags=() count=0
  shift
  while [[ $1 != -- ]]; do flags+=("$1"); shift; done
  shift
  mkdir -p "$directory"
  for source in "$here"/c/*.c "$here"/cpp/*.cpp "$here/random_ops" "$here/threads.cpp"; do
    [[ -e $source ]] || continue
    name=$(basename "$source")
    [[ $name != "${left_out:-}" ]] || { say "left out under $(basename "$directory"): $name"; continue; }
    compile "$directory/$name.test" "$source" "${flags[@]}"
    local arguments=()
    case $name in
      random_ops) arguments=(--operations "$operations" --seed "$seed") ;;
      threads.cpp) arguments=(--rounds "$rounds" --seed "$seed") ;;
    esac
    "$@" "$directory/$name.test" "${arguments[@]}" > "$directory/$name.log" 2>&1 ||
      { tail -n 60 "$directory/$name.log"; fail "$name under $(basename "$directory"), seed $seed"; }
    count=$((count + 1))
  done
  [[ $count -ge 4 ]] || fail "only $count tests were found in $here"
  say "$count tests clean under $(basename "$directory")"
}

# Loses a pool: every tool that looks for leaks must say so.
control() {
  cat > "$out/control.c" <<'CONTROL'
#include <kvblock.h>
#include <string.h>
int main(void) {
    kvb_pool_config config;
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.blocks = 8;
    config.block_size = 4;
    kvb_pool *pool = NULL;
    kvb_status status = kvb_pool_create(&config, &pool, NULL);
    pool = NULL;
    return status;
}
CONTROL
}

asan() {
  local flags=(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  local operations=50000 rounds=5000
  say "asan and ubsan of all C and C++ tests, seed $seed"
  export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
  compile "$out/control.asan" "$out/control.c" "${flags[@]}"
  if "$out/control.asan" 2> "$out/control.log"; then fail "the control lost a pool, and nothing was reported"; fi
  grep -q 'detected memory leaks' "$out/control.log" || { cat "$out/control.log"; fail "another report than of a leak"; }
  say "control: a lost pool is reported, as it must be"
  each asan "${flags[@]}" --
}

valgrind_() {
  local tool=(valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all --show-leak-kinds=all
    --child-silent-after-fork=yes)
  local operations=3000 rounds=200
  # It makes a million references, which takes minutes here; it is run under asan.
  local left_out=limits.c
  command -v valgrind > /dev/null || fail "there is no valgrind"
  say "valgrind of all C and C++ tests, seed $seed"
  compile "$out/control.valgrind" "$out/control.c"
  if "${tool[@]}" "$out/control.valgrind" 2> "$out/control.log"; then
    fail "the control lost a pool, and nothing was reported"
  fi
  grep -q 'lost in loss record' "$out/control.log" || { cat "$out/control.log"; fail "another report than of a leak"; }
  say "control: a lost pool is reported, as it must be"
  each valgrind -- "${tool[@]}"
}

# std is not instrumented, but this library needs none of it. g++ compiles the threads with the same sanitizer; both need Rust's runtime of it.
threads() {
  local triple=x86_64-unknown-linux-gnu directory=$target/tsan runtime program=$out/threads.tsan
  runtime=$(rustc +nightly --print sysroot)/lib/rustlib/$triple/lib/librustc-nightly_rt.tsan.a
  [[ -e $runtime ]] || fail "this nightly has no runtime of the sanitizer: $runtime"
  say "threads, with the library instrumented, seed $seed"
  RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR=$directory \
    cargo +nightly rustc --quiet --locked --release --manifest-path "$root/Cargo.toml" -p kvblock-ffi --lib \
    --crate-type staticlib --target "$triple"
  "$CXX" -std=c++17 -O1 -g -fsanitize=thread -I "$here/../include" -c "$here/threads.cpp" -o "$program.o"
  "$CXX" "$program.o" "$directory/$triple/release/libkvblock_c.a" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
    -lpthread -ldl -lm -lrt -o "$program"
  local code=0
  "$program" --race > "$out/race.log" 2>&1 || code=$?
  [[ $code -eq 66 ]] && grep -q 'ThreadSanitizer: data race' "$out/race.log" ||
    { tail -n 40 "$out/race.log"; fail "the planted race was not reported: status $code"; }
  say "control: two threads with one registry are reported, as they must be"
  "$program" --rounds "${ROUNDS:-100000}" --seed "$seed" > "$out/threads.log" 2>&1 ||
    { tail -n 80 "$out/threads.log"; fail "threads, seed $seed"; }
  if grep -q ThreadSanitizer "$out/threads.log"; then
    cat "$out/threads.log"
    fail "a report of threads, seed $seed"
  fi
  cat "$out/threads.log"
  say "no race"
}

readonly parts=("${@:-all}")
for part in "${parts[@]}"; do
  case $part in
    all | asan | valgrind) library; control; break ;;
  esac
done
for part in "${parts[@]}"; do
  case $part in
    all) asan; valgrind_; threads ;;
    asan) asan ;;
    valgrind) valgrind_ ;;
    threads) threads ;;
    *) fail "no such part: $part" ;;
  esac
done
