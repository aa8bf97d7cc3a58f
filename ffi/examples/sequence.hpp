// A request and its branches, as the scheduler and the engine see them.
#pragma once

#include <kvblock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "connections.hpp"
#include "protocol.hpp"

struct Request {
    std::shared_ptr<Connection> connection;
    protocol::Submit submit;
    // Counts up with arrival: its label in the registry, and who is later is preempted first.
    std::uint64_t label = 0;
    std::size_t prompt_tokens = 0;
    // Branches that have not ended.
    std::uint64_t open = 0;
    bool was_admitted = false;
    bool was_cancelled = false;
};

// One branch. It is in the registry while it is running, and waits to be admitted, for the first time or again, otherwise.
struct Sequence {
    std::shared_ptr<Request> request;
    std::uint32_t branch = 0;
    // The prompt, from its request's first admission on, and what the host knows of the answer.
    std::vector<model::Token> tokens;
    // Answers that begin where this sequence's prompt is computed; the others are forked then.
    std::uint64_t branches = 1;
    bool ended = false;
    bool was_preempted = false;

    // While it runs.
    bool running = false;
    kvblock::Handle handle;
    // Kept up to date with what steps tell, and compared with the registry's at its end.
    std::vector<int32_t> table;
    // Positions in the table.
    std::size_t appended = 0;
    // Positions that steps have been launched for.
    std::size_t launched = 0;
    // Positions whose tokens the registry knows.
    std::size_t told = 0;
    // Positions that are written.
    std::size_t computed = 0;

    // Steps under way that write to it, and the fence of the latest.
    std::size_t under_way = 0;
    std::uint64_t fence = 0;

    std::size_t answered() const { return tokens.empty() ? 0 : tokens.size() - request->prompt_tokens; }
    // Everything that it was admitted with is launched.
    bool is_decoding() const { return launched == appended; }
};
