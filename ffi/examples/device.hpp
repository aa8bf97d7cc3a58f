// The device: runs steps in order, each one step after it was launched.
//
// Nothing of a step is done when it is launched. So what the host releases, and hands out again, while a step is under way would be
// overwritten by it, unless the release waits for the step's fence.
#pragma once

#include <kvblock.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "kv_memory.hpp"
#include "sequence.hpp"

// Positions of one sequence that a step writes.
struct Work {
    std::shared_ptr<Sequence> sequence;
    // The first of them.
    std::size_t first;
    // Its slots: `count` of the step's from `at` on.
    std::size_t at;
    std::size_t count;
    // The slot of the position before `first`; -1 if there is none.
    std::int64_t predecessor;
    // The token of its only position is drawn from the predecessor: the host may not know it yet. Otherwise they are the sequence's.
    bool drawn;
    // When the step has run: the digest of its last position.
    model::Digest last;
};

struct Launch {
    std::uint64_t fence = 0;
    std::vector<kvblock::Copy> copies;
    std::vector<std::int64_t> slots;
    std::vector<Work> work;
};

class Device {
  public:
    // One that does not make its copies is a mistake to be caught.
    Device(KvMemory& memory, std::chrono::microseconds step_time, bool makes_copies)
        : memory_(memory), step_time_(step_time), makes_copies_(makes_copies) {}

    void launch(Launch launch) { under_way_.push_back(std::move(launch)); }
    std::size_t under_way() const { return under_way_.size(); }

    // Waits for the oldest step.
    Launch complete();

  private:
    KvMemory& memory_;
    std::chrono::microseconds step_time_;
    bool makes_copies_;
    std::deque<Launch> under_way_;
};
