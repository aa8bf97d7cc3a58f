#!/usr/bin/env bash
# What must not compile: results that nobody looks at, copies of objects, calls that would use an object after it was given away or
# memory after it is gone.
set -euo pipefail
include=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../include" && pwd)
: "${CXX:=c++}"
readonly include

# compiles CODE: whether it does, and what the compiler says of it, in a function that has one object of each kind.
compiles() {
  printf '#include <kvblock.hpp>\n#include <string>\n#include <vector>\nusing namespace kvblock;\nvoid f(Pool pool, Sequences seqs, Step step, Lanes lanes, Detached detached, Handle seq) {\n%s\n}\n' "$1" |
    "$CXX" -std=c++17 -x c++ -Wall -Wextra -Wno-unused -Wunused-result -Werror -I "$include" -fsyntax-only - 2>&1
}

good() {
  compiles "$1" >&2 || { echo "FAILED: does not compile: $1" >&2; exit 1; }
  echo "ok, compiles: $1"
}

bad() {
  if compiles "$1" >/dev/null; then
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
bad 'seqs.into_raw();'
bad '(void)seqs.release();'
good '(void)seqs.step({{seq, 1}, {seq, 2}}, step);'
bad '(void)seqs.step({seq, 1}, step);'
bad 'Prompt prompt({1u, 2u});'
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
good 'if (pool.check(1) == KVB_OK) return;'
bad 'pool.check(1) == KVB_OK;'
bad 'Status status = true;'
good 'for (const auto slot : step.lists().value().slots) (void)slot;'
bad 'for (const auto slot : step.lists()->slots) (void)slot;'

# What is borrowed must not be gone when it is read.
lend() { good "std::vector<std::uint32_t> tokens; std::uint64_t keys[2] = {}; Namespace space; Flights flights; Export source; $1"; }
gone() {
  local code="auto tokens = [] { return std::vector<std::uint32_t>(); }; auto name = [] { return std::string(); }; $1" said
  if said=$(compiles "$code") || ! grep -q 'error.*deleted' <<<"$said"; then
    echo "FAILED: is not refused as deleted: $1" >&2
    exit 1
  fi
  echo "ok, refused: $1"
}
lend 'Prompt(tokens).keys(keys).space(space); Contents(View<const std::uint32_t>(tokens.data(), 2)).keys(keys);'
lend 'const auto token = tokens[0]; (void)seqs.tokens(seq, 0, Contents(one(token)).keys(one(keys[1])));'
lend 'const auto done = [&] { return View<const std::uint32_t>(tokens); }; (void)progress(seq, 0, done(), 1);'
lend 'Incoming(source, 1).flights(flights); MoveTerms(1, 1, 1).flights(flights);'
lend 'const std::string name; NamespaceParts().salt(name).domain("domain").adapter(std::string_view(name), 1);'
lend '(void)seqs.audit(one(Holder(lanes))); (void)seqs.release(std::vector<Handle>(1, seq));'
gone 'Prompt prompt(tokens());'
gone 'const auto same = [&]() -> const std::vector<std::uint32_t> { return tokens(); }; Prompt prompt(same());'
gone 'Prompt prompt(std::array<const std::uint32_t, 1>{1});'
gone 'Prompt prompt; prompt.keys(std::vector<std::uint64_t>());'
gone 'Prompt prompt; prompt.extra(std::vector<ExtraKey>());'
gone 'Prompt prompt; prompt.space(Namespace());'
gone 'Prompt prompt(one(std::uint32_t(1)));'
gone 'Contents contents(tokens());'
gone 'Contents contents; contents.keys(std::vector<std::uint64_t>());'
gone 'Contents contents; contents.extra(std::vector<ExtraKey>());'
gone 'auto item = progress(seq, 0, tokens(), 1);'
gone 'SequencesConfig(1).formats(std::vector<Format>());'
gone 'Incoming(1, 1).formats(std::vector<Format>());'
gone 'Incoming(1, 1).flights(Flights());'
gone 'Incoming incoming(Export(), 1);'
gone 'MoveTerms(1, 1, 1).flights(Flights());'
gone 'NamespaceParts parts; parts.salt(name());'
gone 'NamespaceParts parts; parts.domain(name());'
gone 'NamespaceParts parts; parts.adapter(name(), 1);'
