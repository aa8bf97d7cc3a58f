// A load for the server: random requests from several clients at a time, every token of every answer checked.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "client.hpp"
#include "options.hpp"

namespace {

struct Settings {
    std::string socket;
    std::uint64_t requests = 1000;
    std::uint64_t clients = 4;
    std::uint64_t depth = 16;
    std::uint64_t seed = 1;
    Mixture mixture;
};

Settings read_settings(int argc, char** argv) {
    Settings it;
    auto& mixture = it.mixture;
    Options options("load", "asks the server for answers, and checks every token");
    options.text("socket", it.socket, "path of the server's socket");
    options.number("requests", it.requests, 1, 100000000, "requests in all");
    options.number("clients", it.clients, 1, 1000, "connections, a thread each");
    options.number("depth", it.depth, 1, 10000, "requests that a client has under way");
    options.number("seed", it.seed, 0, UINT64_MAX, "of the random requests");
    options.number("tenants", mixture.tenants, 1, 1000, "tenants, which share nothing");
    options.number("systems", mixture.systems, 1, 1000, "system prompts");
    options.number("system-tokens", mixture.system_tokens, 0, 100000, "most tokens of a system prompt");
    options.number("prompt", mixture.prompt, 1, 100000, "most tokens of a prompt of one's own");
    options.number("output", mixture.output, 1, 100000, "most tokens of an answer");
    options.number("branches", mixture.branches, 1, 64, "most answers to one prompt");
    options.number("forked", mixture.forked, 0, 100, "percent of requests that may have several answers");
    options.number("repeated", mixture.repeated, 0, 100, "percent of requests that others make, too");
    options.number("cancelled", mixture.cancelled, 0, 100, "percent of requests that are cancelled");
    options.read(argc, argv);
    return it;
}

// The value that so many percent are not above.
double percentile(std::vector<double> values, std::size_t percent) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) * percent / 100];
}

void print(const Outcome& outcome, double seconds) {
    const auto count = [](const char* name, std::uint64_t value, const char* unit) {
        std::printf("%-24s %12" PRIu64 " %s\n", name, value, unit);
    };
    const auto figure = [](const char* name, double value, const char* unit) {
        std::printf("%-24s %12.2f %s\n", name, value, unit);
    };
    const auto requests = outcome.completed + outcome.cancelled;
    count("completed", outcome.completed, "requests");
    count("cancelled", outcome.cancelled, "requests");
    count("refused", outcome.refused, "requests");
    count("checked", outcome.tokens, "tokens");
    figure("time", seconds, "s");
    figure("requests", static_cast<double>(requests) / seconds, "1/s");
    figure("throughput", static_cast<double>(outcome.tokens) / seconds, "tokens/s");
    const auto prompts = static_cast<double>(std::max<std::uint64_t>(outcome.prompts, 1));
    figure("found in the cache", 100 * static_cast<double>(outcome.hit) / prompts, "% of prompt tokens");
    figure("first token, median", percentile(outcome.first, 50), "ms");
    figure("first token, p99", percentile(outcome.first, 99), "ms");
    figure("whole answer, median", percentile(outcome.whole, 50), "ms");
    figure("whole answer, p99", percentile(outcome.whole, 99), "ms");
}

}  // namespace

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    const auto start = std::chrono::steady_clock::now();
    std::vector<Outcome> outcomes(settings.clients);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < settings.clients; ++i) {
        const auto share = settings.requests / settings.clients + (i < settings.requests % settings.clients);
        threads.emplace_back([&settings, &outcome = outcomes[i], share, i] {
            outcome = Client(settings.mixture, settings.seed, i).run(settings.socket, share, settings.depth);
        });
    }
    for (auto& it : threads) it.join();
    Outcome all;
    for (const auto& it : outcomes) all.add(it);
    print(all, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!all.wrong.empty()) {
        std::fprintf(stderr, "load: seed %" PRIu64 ": %s\n", settings.seed, all.wrong.c_str());
        return 1;
    }
    if (all.is_cut_off) {
        std::fputs("load: the server closed the connection\n", stderr);
        return 3;
    }
    return 0;
}
