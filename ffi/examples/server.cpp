// A small inference server on kvblock: continuous batching over a paged K/V cache, for clients on a Unix domain socket.
//
// The main thread serves the sockets; one or two scheduler threads run the model. See README.md for what it shows.
#include <kvblock.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "connections.hpp"
#include "kv_memory.hpp"
#include "must.hpp"
#include "options.hpp"
#include "protocol.hpp"
#include "scheduler.hpp"

namespace {

using ConnectionPtr = std::shared_ptr<Connection>;

struct Settings {
    std::string socket;
    std::uint64_t blocks = 1024;
    std::uint64_t block_size = 16;
    std::uint64_t sequences = 256;
    std::uint64_t budget = 512;
    std::uint64_t queue = 1024;
    std::uint64_t watermark = 16;
    std::uint64_t ahead = 2;
    std::uint64_t schedulers = 1;
    std::uint64_t step_us = 0;
    std::uint64_t fault = 0;
};

Settings read_settings(int argc, char** argv) {
    Settings it;
    Options options("server", "serves a toy model to clients of a Unix domain socket, until SIGTERM or SIGINT");
    options.text("socket", it.socket, "path of the socket, which must not exist");
    options.number("blocks", it.blocks, 1, 1 << 20, "blocks of K/V memory");
    options.number("block-size", it.block_size, 1, 1024, "token positions of a block");
    options.number("sequences", it.sequences, 1, 4096, "most sequences of a scheduler");
    options.number("budget", it.budget, 1, 1 << 20, "most token positions of a step");
    options.number("queue", it.queue, 1, 1 << 20, "most requests that wait for a scheduler; others are refused");
    options.number("watermark", it.watermark, 0, 1 << 20, "blocks that admissions leave to those that run");
    options.number("ahead", it.ahead, 1, 64, "blocks set aside for growth=ahead");
    options.number("schedulers", it.schedulers, 1, 8, "scheduler threads that share the pool");
    options.number("step-us", it.step_us, 0, 1000000, "microseconds that a step takes, at least");
    options.choice("fault", it.fault, {"none", "no-fence", "no-copy", "no-namespace", "early"}, "a mistake to be caught");
    options.read(argc, argv);
    if (it.watermark >= it.blocks) {
        std::fputs("server: --watermark leaves no block: it is below --blocks (see --help)\n", stderr);
        std::exit(2);
    }
    return it;
}

std::atomic<bool> stop{false};
const Wake* signal_wake = nullptr;

extern "C" void on_signal(int) {
    stop = true;
    signal_wake->wake();
}

// Whoever reads the output may go first: that is no reason to end otherwise.
void catch_signals(const Wake& wake) {
    signal_wake = &wake;
    std::signal(SIGPIPE, SIG_IGN);
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
}

// Schedulers, and which of them a command is for.
class Schedulers {
  public:
    Schedulers(kvblock::PoolRef pool, const Settings& settings, KvMemory& memory) {
        const Engine::Settings engine{settings.sequences, settings.watermark, settings.ahead,
                                      std::chrono::microseconds(settings.step_us),
                                      static_cast<Fault>(settings.fault)};
        for (std::uint64_t i = 0; i < settings.schedulers; ++i) {
            all_.push_back(std::make_unique<Scheduler>(pool, Scheduler::Settings{engine, settings.budget, settings.queue, i > 0}, memory));
        }
    }

    ~Schedulers() { stop(); }
    Schedulers(const Schedulers&) = delete;
    Schedulers& operator=(const Schedulers&) = delete;

    void start() {
        for (const auto& it : all_) threads_.emplace_back([&scheduler = *it] { scheduler.run(); });
    }

    void stop() {
        for (const auto& it : all_) it->stop();
        for (auto& it : threads_) it.join();
        threads_.clear();
    }

    // Answers whether the client may send more.
    bool take(const ConnectionPtr& client, std::string_view line) {
        const auto command = protocol::parse_command(line);
        if (const auto* bad = std::get_if<protocol::Bad>(&command)) {
            client->send(protocol::line(protocol::Error{bad->why}));
        } else if (const auto* submit = std::get_if<protocol::Submit>(&command)) {
            scheduler_of(submit->id).submit(client, *submit);
        } else if (const auto* cancel = std::get_if<protocol::Cancel>(&command)) {
            scheduler_of(cancel->id).cancel(client, cancel->id);
        } else if (std::holds_alternative<protocol::Report>(command)) {
            client->handed_over();
            report(client, 0, "");
        }
        return !std::holds_alternative<protocol::Quit>(command);
    }

    void hang_up(const ConnectionPtr& client) {
        for (const auto& it : all_) it->hang_up(client);
    }

    // When they do not run.
    const std::vector<std::unique_ptr<Scheduler>>& all() const { return all_; }

  private:
    Scheduler& scheduler_of(std::uint64_t id) { return *all_[id % all_.size()]; }

    // Asks one after the other, each on its own thread.
    void report(const ConnectionPtr& client, std::size_t next, const std::string& before) {
        if (next == all_.size()) {
            client->send(protocol::report(before));
            client->taken_up();
            client->answered();
            return;
        }
        all_[next]->report([this, client, next, before](const std::string& text) {
            report(client, next + 1, before + "scheduler " + std::to_string(next) + '\n' + text);
        });
    }

    std::vector<std::unique_ptr<Scheduler>> all_;
    std::vector<std::thread> threads_;
};

// Whether every block is free or idle, and all adds up.
bool is_clean(kvblock::PoolRef pool, const Schedulers& schedulers) {
    const auto& registry = schedulers.all().front()->engine().registry();
    std::vector<kvblock::Holder> others;
    for (const auto& it : schedulers.all()) {
        const auto& engine = it->engine();
        others.emplace_back(engine.lanes());
        if (&engine.registry() != &registry) others.emplace_back(engine.registry());
        if (engine.lanes().waiting() == 0 && engine.registry().size() == 0) continue;
        std::fputs("server: a sequence or a fence is left\n", stderr);
        return false;
    }
    if (const auto audit = registry.audit(others); !audit) {
        std::fprintf(stderr, "server: audit: %s\n", audit.error().message());
        return false;
    }
    const auto report = must(pool.report(), "report");
    if (report.free + report.idle == report.capacity && report.available == report.capacity) return true;
    std::fputs("server: blocks are left that somebody holds\n", stderr);
    return false;
}

void print_summary(kvblock::PoolRef pool, const Schedulers& schedulers) {
    Counts counts;
    for (const auto& it : schedulers.all()) counts += it->counts();
    const auto report = must(pool.report(), "report");
    const auto row = [](const char* name, std::uint64_t value) {
        std::printf("%-14s %12llu blocks\n", name, static_cast<unsigned long long>(value));
    };
    std::fputs(counts.text().c_str(), stdout);
    row("capacity", report.capacity);
    row("free", report.free);
    row("idle", report.idle);
    row("held", report.held);
    row("quarantined", report.quarantined);
    row("reclaimed", report.reclaims);
}

int serve(const Settings& settings) {
    // There as long as a signal may come.
    static const Wake wake;
    catch_signals(wake);
    const auto pool = must(kvblock::Pool::create({settings.blocks, settings.block_size}), "create");
    KvMemory memory(settings.blocks, settings.block_size);
    Schedulers schedulers(pool, settings, memory);
    schedulers.start();
    // Last, so that whoever connects is served, and nothing is left behind by a start that fails.
    Connections connections(settings.socket, wake);
    if (!connections.error().empty()) {
        std::fprintf(stderr, "server: %s\n", connections.error().c_str());
        return 1;
    }
    connections.on_line = [&](const ConnectionPtr& client, std::string_view line) { return schedulers.take(client, line); };
    connections.on_end = [&](const ConnectionPtr& client) { schedulers.hang_up(client); };
    std::printf("serving %llu blocks of %llu positions at %s\n", static_cast<unsigned long long>(settings.blocks),
                static_cast<unsigned long long>(settings.block_size), settings.socket.c_str());
    std::fflush(stdout);

    connections.serve(stop);
    schedulers.stop();
    connections.close();
    const bool is_good = is_clean(pool, schedulers);
    print_summary(pool, schedulers);
    std::puts(is_good ? "all blocks are free or idle, and the audit agrees" : "BLOCKS ARE LOST");
    return is_good ? 0 : 4;
}

}  // namespace

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    if (!kvb_abi_matches()) {
        std::fputs("server: libkvblock is of another version than its header\n", stderr);
        return 1;
    }
    try {
        return serve(settings);
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "server: %s\n", failed.what());
        return 1;
    }
}
