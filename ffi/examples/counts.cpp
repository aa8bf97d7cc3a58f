#include <cinttypes>
#include <cstdio>

#include "scheduler.hpp"

namespace {

struct Row {
    const char* name;
    std::uint64_t Counts::*count;
    const char* unit;
};

constexpr Row rows[] = {
    {"requests", &Counts::requests, "requests"},
    {"refused", &Counts::refused, "requests"},
    {"completed", &Counts::completed, "requests"},
    {"cancelled", &Counts::cancelled, "requests"},
    {"abandoned", &Counts::abandoned, "requests"},
    {"steps", &Counts::steps, "steps"},
    {"prompts", &Counts::prompt_positions, "tokens"},
    {"found", &Counts::hit_positions, "tokens"},
    {"answers", &Counts::tokens, "tokens"},
    {"forks", &Counts::forks, "sequences"},
    {"forks refused", &Counts::forks_refused, "sequences"},
    {"waits", &Counts::waits, "times"},
    {"shortages", &Counts::shortages, "steps"},
    {"preemptions", &Counts::preemptions, "sequences"},
    {"copies", &Counts::copies, "blocks"},
    {"adopted", &Counts::adopted, "blocks"},
};

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
    for (const auto& row : rows) this->*row.count += other.*row.count;
    return *this;
}

std::string Counts::text() const {
    std::string text;
    for (const auto& row : rows) {
        char line[80];
        std::snprintf(line, sizeof line, "%-14s %12" PRIu64 " %s\n", row.name, this->*row.count, row.unit);
        text += line;
    }
    return text;
}

Counts Scheduler::counts() const {
    Counts counts = counts_;
    counts.copies = engine_.copies();
    counts.adopted = engine_.adopted();
    return counts;
}
