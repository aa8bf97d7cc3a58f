// K/V memory of a device, in host memory: one digest a position.
#pragma once

#include <kvblock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model.hpp"

// The devices of several schedulers use it at the same time. Which of them may touch a slot, and after whom, is what the library decides;
// the cells are relaxed atomics, so that no order comes from anywhere else.
class KvMemory {
  public:
    KvMemory(std::size_t blocks, std::size_t block_size);

    std::size_t block_size() const { return block_size_; }

    // Makes a block as if nobody had ever written it: at once when it is handed out, so whoever still uses it is caught.
    void poison(std::uint32_t block);

    model::Digest read(std::int64_t slot) const;

    // A slot is written once in the life of its block: anything else is corruption, and the process ends.
    void write(std::int64_t slot, model::Digest digest);

    // Carries a copy ticket out.
    void copy(const kvblock::Copy& copy);

    // Compares the first `positions` of a block table with what the tokens come to. On a mismatch it is printed, and the process ends.
    void check(const char* when, std::uint64_t label, std::uint64_t tenant, const std::vector<model::Token>& tokens,
               const int32_t* table, std::size_t positions) const;

  private:
    std::size_t index(std::int64_t slot) const;

    std::size_t block_size_;
    std::vector<std::atomic<model::Digest>> cells_;
};
