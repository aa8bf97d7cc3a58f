#!/usr/bin/env bash
# What must not compile: results that nobody looks at, copies of objects, calls that would use an object after it was given away.
set -euo pipefail
include=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../include" && pwd)
: "${CXX:=c++}"
readonly include

# compiles CODE: whether it does, in a function that has one object of each kind.
compiles() {
  printf '#include <kvblock.hpp>\nusing namespace kvblock;\nvoid f(Pool pool, Sequences seqs, Step step, Lanes lanes, Detached detached, Handle seq) {\n%s\n}\n' "$1" |
    "$CXX" -std=c++17 -x c++ -Wall -Wextra -Wno-unused-parameter -Werror -I "$include" -fsyntax-only - 2> /dev/null
}

good() {
  compiles "$1" || { echo "FAILED: does not compile: $1" >&2; exit 1; }
  echo "ok, compiles: $1"
}

bad() {
  if compiles "$1"; then
    echo "FAILED: compiles: $1" >&2
    exit 1
  fi
  echo "ok, refused: $1"
}

good '(void)pool; (void)seqs; (void)step; (void)lanes; (void)detached; (void)seq;'
good 'if (!pool.check(1)) return;'
bad 'pool.check(1);'
good 'auto it = seqs.admit(Admit(Prompt()).cap(256).label(7)); if (!it && it.error().status() == KVB_ERR_SHORTFALL) return;'
good '(void)seqs.step({}, step);'
bad 'seqs.step({}, step);'
bad 'seqs.computed(seq, 1);'
bad 'Pool::create(PoolConfig(1, 1));'
bad 'seqs.release();'
good 'Pool other = std::move(pool);'
bad 'Pool other = pool;'
bad 'Sequences other = seqs;'
bad 'auto made = Pool::create(PoolConfig(1, 1)); Pool other = made.value();'
good '(void)seqs.attach(std::move(detached));'
bad '(void)seqs.attach(detached);'
bad '(void)detached.release_after(lanes, 1);'
good '(void)std::move(seqs).close_after(lanes, 1);'
bad '(void)seqs.close_after(lanes, 1);'
good 'Hooks().panic([](const char*, std::size_t, void*) noexcept {});'
bad 'Hooks().panic([](const char*, std::size_t, void*) {});'
bad 'const std::uint64_t tokens[2] = {1, 2}; Prompt prompt(tokens);'
bad 'if (pool.check(1) == true) return;'
