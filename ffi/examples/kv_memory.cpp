#include "kv_memory.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

[[noreturn]] void corrupt() {
    std::fputs("server: K/V memory is corrupt\n", stderr);
    std::_Exit(3);
}

}  // namespace

KvMemory::KvMemory(std::size_t blocks, std::size_t block_size) : block_size_(block_size), cells_(blocks * block_size) {
    for (auto& cell : cells_) cell.store(model::unwritten, relaxed);
}

std::size_t KvMemory::index(std::int64_t slot) const {
    const auto at = static_cast<std::size_t>(slot);
    if (slot >= 0 && at < cells_.size()) return at;
    std::fprintf(stderr, "server: there is no slot %" PRId64 "\n", slot);
    corrupt();
}

void KvMemory::poison(std::uint32_t block) {
    const auto first = static_cast<std::int64_t>(block * block_size_);
    for (std::size_t at = 0; at < block_size_; ++at) {
        cells_[index(first + static_cast<std::int64_t>(at))].store(model::unwritten, relaxed);
    }
}

model::Digest KvMemory::read(std::int64_t slot) const { return cells_[index(slot)].load(relaxed); }

void KvMemory::write(std::int64_t slot, model::Digest digest) {
    const auto before = cells_[index(slot)].exchange(digest, relaxed);
    if (before == model::unwritten) return;
    std::fprintf(stderr, "server: slot %" PRId64 " is written twice: %016" PRIx64 ", %016" PRIx64 "\n", slot, before, digest);
    corrupt();
}

void KvMemory::copy(const kvblock::Copy& copy) {
    const auto src = static_cast<std::int64_t>(copy.src * block_size_);
    const auto dst = static_cast<std::int64_t>(copy.dst * block_size_);
    for (std::size_t at = 0; at < copy.positions; ++at) {
        const auto offset = static_cast<std::int64_t>(at);
        write(dst + offset, read(src + offset));
    }
}

void KvMemory::check(const char* when, std::uint64_t label, std::uint64_t tenant, const std::vector<model::Token>& tokens,
                     const int32_t* table, std::size_t positions) const {
    auto expected = model::start(tenant);
    for (std::size_t at = 0; at < positions; ++at) {
        expected = model::digest(tokens[at], expected);
        const auto slot = table[at / block_size_] * static_cast<std::int64_t>(block_size_) +
                          static_cast<std::int64_t>(at % block_size_);
        const auto found = read(slot);
        if (found == expected) continue;
        std::fprintf(stderr,
                     "server: request %" PRIu64 ", %s: position %zu of %zu, slot %" PRId64 ": %016" PRIx64
                     " instead of %016" PRIx64 "\n",
                     label, when, at, positions, slot, found, expected);
        corrupt();
    }
}
