#include "limits.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "talk.hpp"

namespace {

// Two answers that share all blocks of a pool, the last of them in part: each needs a block to go on, and neither has one to give.
void check_shared_end(const std::vector<std::string>& arguments, std::uint64_t prompt, std::uint64_t output) {
    const Directory directory;
    Server server(directory, arguments);
    {
        Talk talk(server);
        protocol::Submit submit;
        submit.id = 1;
        submit.prompt = prompt;
        submit.output = output;
        submit.branches = 2;
        talk.say(protocol::line(submit) + "quit\n");
        std::size_t ends = 0;
        for (auto line = talk.hear(); line; line = talk.hear()) {
            ends += line->compare(0, 7, "done 1 ") == 0;
            expect(line->find("cancelled") == std::string::npos, "a whole answer", *line);
        }
        expect(ends == submit.branches, "both answers come to their ends", std::to_string(ends));
    }
    const auto out = server.end();
    expect(figure(out, "preemptions") > 0, "one of them has to wait", out);
}

}  // namespace

// As little memory as there can be: who can run at all gets to its end, alone if it must.
void in_tiny_pools() {
    check_shared_end({"--blocks", "3", "--watermark", "0"}, 40, 8);
    check_shared_end({"--blocks", "1", "--watermark", "0"}, 4, 4);
    check_shared_end({"--blocks", "2", "--watermark", "0", "--block-size", "1024"}, 1100, 8);
    check_shared_end({"--blocks", "3", "--watermark", "0", "--schedulers", "3"}, 40, 8);
    const auto seed = setting("KVB_SEED", "1");
    std::printf("seed %s\n", seed.c_str());
    for (std::uint64_t blocks = 1; blocks <= 4; ++blocks) {
        for (const std::uint64_t size : {1, 5, 16}) {
            for (const auto* schedulers : {"1", "2", "3"}) {
                const auto most = std::to_string(blocks * size);
                const Directory directory;
                Server server(directory, {"--blocks", std::to_string(blocks), "--block-size", std::to_string(size), "--watermark", "0",
                                          "--schedulers", schedulers, "--ahead", "1"});
                const auto load =
                    run({program_load, "--socket", server.socket(), "--requests", "120", "--clients", "3", "--seed", seed,
                         "--system-tokens", "2", "--prompt", most, "--output", most, "--branches", "4", "--forked", "60"});
                expect(load.status == 0, "every token is right with " + std::to_string(blocks) + " blocks", load.output);
                const auto out = server.end();
                expect(figure(out, "completed") > 0 && figure(out, "abandoned") == 0, "who can run ends", out);
            }
        }
    }
}

// Who asks for reports and does not read them is not heard until it does; others are. Nothing of it is lost.
void with_greedy_clients() {
    const Directory directory;
    Server server(directory, {"--blocks", "128", "--schedulers", "2"});
    Talk talk(server);
    // More than is kept for anybody.
    const std::size_t reports = 2 + (std::size_t{20} << 20) / talk.report().size();
    const auto asks = [reports](Talk& greedy) {
        for (std::size_t i = 0; i < reports; ++i) greedy.say("report\n");
    };
    {
        Talk greedy(server);
        std::thread asking([&] { asks(greedy); });
        const auto load = run({program_load, "--socket", server.socket(), "--requests", "200"});
        std::size_t heard = 0;
        while (heard < reports && greedy.hear_report()) ++heard;
        // Whom the server has let go says the rest to nobody.
        asking.join();
        expect(load.status == 0, "others are served", load.output);
        expect(heard == reports, "each report is there", std::to_string(heard) + " of " + std::to_string(reports));
    }
    // At the end, too.
    Talk greedy(server);
    std::thread asking([&] { asks(greedy); });
    talk.report();
    std::string why;
    try {
        server.end();
    } catch (const Failed& failed) {
        why = failed.what;
    }
    asking.join();
    expect(why.empty(), "the server ends", why);
}

// One that runs, as many as may wait, and one that is too many until another has gone.
void with_a_full_queue() {
    const Directory directory;
    Server server(directory, {"--sequences", "1", "--queue", "3", "--step-us", "2000"});
    Talk talk(server);
    auto submit = long_request(4000);
    talk.say(protocol::line(submit));
    talk.hears("admitted 1 ");
    const auto hears = [&talk](const std::string& expected) {
        auto line = talk.hear().value_or("(closed)");
        while (line.compare(0, 9, "tokens 1 ") == 0) line = talk.hear().value_or("(closed)");
        expect(line == expected, expected, line);
    };
    const auto says = [&](std::uint64_t id) {
        submit.id = id;
        talk.say(protocol::line(submit));
    };
    for (std::uint64_t id = 2; id <= 5; ++id) says(id);
    hears("refused 5 the queue is full");
    talk.say("cancel id=3\n");
    hears("done 3 0 cancelled 0");
    says(6);
    says(7);
    hears("refused 7 the queue is full");
    talk.say("cancel id=1\n");
    auto line = talk.hear().value_or("(closed)");
    while (line.compare(0, 9, "tokens 1 ") == 0) line = talk.hear().value_or("(closed)");
    expect(line.compare(0, 19, "done 1 0 cancelled ") == 0, "the end of what was cancelled", line);
    talk.hears("admitted 2 ");
    const auto out = server.end();
    expect(figure(out, "refused") == 2 && figure(out, "abandoned") == 3, "two are refused, and three are there", out);
}

// What a start or an end meets that is not as usual.
void with_odd_ends() {
    const Directory directory;
    const auto socket = directory.file("socket");
    const auto is_there = [&] { return ::access(socket.c_str(), F_OK) == 0; };
    {
        // 2^20 blocks of 1,024 positions are 8 GiB.
        const auto started = run({"/bin/sh", "-c", "ulimit -v 2000000 && exec \"$@\"", "sh", program_server, "--socket", socket, "--blocks",
                                  "1048576", "--block-size", "1024"});
        expect(started.status != 0 && !is_there(), "a start without memory leaves no socket", started.output);
    }
    {
        Server server(directory, {});
        server.process().close_output();
        server.process().send_signal(SIGTERM);
        const auto ended = server.wait();
        expect(ended.status == 0 && !is_there(), "nobody reads the summary", std::to_string(ended.status));
    }
    {
        Server server(directory, {});
        std::filesystem::remove(socket);
        std::ofstream(socket) << "of somebody else";
        server.process().send_signal(SIGTERM);
        const auto ended = server.wait();
        expect(ended.status == 0 && is_there(), "what is not its socket is left alone", ended.output);
    }
    const auto started = run({program_server, "--socket", socket});
    expect(started.status == 1 && is_there(), "a path that is taken is left alone", started.output);
}

// As soon as the socket is there, a signal ends the server as it must, and the socket with it.
void with_early_signals() {
    for (int i = 0; i < 20; ++i) {
        const Directory directory;
        const auto socket = directory.file("socket");
        Process server({program_server, "--socket", socket});
        while (::access(socket.c_str(), F_OK) != 0) {
            expect(server.is_running(), "the server starts", "");
        }
        server.send_signal(i % 2 == 0 ? SIGTERM : SIGINT);
        const auto ended = server.wait();
        expect(ended.status == 0, "the server ends well", ended.output);
        expect(::access(socket.c_str(), F_OK) != 0, "the socket is removed", ended.output);
    }
}

// More clients than there are descriptors: those that are in are served, and each that goes makes room for one that waits.
void with_few_descriptors() {
    const Directory directory;
    // Not under valgrind, which accepts clients for whom there is no descriptor, and closes them.
    Server server(directory, {}, {"/bin/sh", "-c", "ulimit -n 32 && exec \"$@\"", "sh"});
    std::deque<Talk> inside;
    for (int i = 0; i < 64; ++i) inside.emplace_back(server);
    for (; !inside.empty(); inside.pop_front()) {
        inside.front().say("submit id=1 prompt=20 output=1\n");
        inside.front().hears("admitted 1 ");
    }
    server.end();
}
