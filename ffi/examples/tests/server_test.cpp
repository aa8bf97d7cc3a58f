// The server and its load client, run as programs.
//
//   server_test CASE SERVER LOAD
//
// KVB_SEED: of the load. KVB_REQUESTS: how many it makes. KVB_UNDER: what runs the server, "valgrind --error-exitcode=9" for instance.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "limits.hpp"
#include "talk.hpp"

namespace {

void under_load(const std::vector<std::string>& arguments) {
    const Directory directory;
    Server server(directory, arguments);
    const auto requests = setting("KVB_REQUESTS", "2000");
    const auto seed = setting("KVB_SEED", "1");
    std::printf("seed %s\n", seed.c_str());
    const auto load = run({program_load, "--socket", server.socket(), "--requests", requests, "--clients", "6", "--seed", seed});
    std::fputs(load.output.c_str(), stdout);
    expect(load.status == 0, "every token is right", load.output);
    const auto report = Talk(server).report();
    expect(report.find("sequences") != std::string::npos, "the report tells of the registry", report);
    const auto out = server.end();
    std::fputs(out.c_str(), stdout);
    expect(figure(out, "requests") == std::stoull(requests), "all requests came", out);
    expect(figure(out, "refused") == 0 && figure(out, "abandoned") == 0, "all requests ran", out);
    expect(figure(out, "completed") == figure(load.output, "completed"), "both count the same requests", out);
    expect(figure(out, "answers") == figure(load.output, "checked"), "both count the same tokens", out);
    for (const auto* row : {"found", "forks", "waits", "preemptions", "copies", "reclaimed"}) {
        expect(figure(out, row) > 0, std::string("the pool is small enough for ") + row, out);
    }
}

// Ends with requests in all states: they are given up, and no block is lost.
void on_sigterm() {
    const Directory directory;
    Server server(directory, {"--blocks", "512", "--step-us", "1000", "--schedulers", "2"});
    Process load({program_load, "--socket", server.socket(), "--requests", "1000000", "--clients", "1",
                  "--depth", "256"});
    Talk talk(server);
    while (figure(talk.report(), "requests") < 100) {
    }
    talk.say(protocol::line(long_request(4000)));
    talk.hears("admitted 1 ");
    for (int i = 0; i < 10; ++i) talk.hears("tokens 1 0 ");
    server.process().send_signal(SIGTERM);
    auto line = talk.hear().value_or("(closed)");
    std::uint64_t tokens = 10;
    for (; line.compare(0, 11, "tokens 1 0 ") == 0; ++tokens) line = talk.hear().value_or("(closed)");
    expect(line == "done 1 0 abandoned " + std::to_string(tokens), "what has come of the answer", line);
    talk.hears_the_end();
    const auto out = server.has_ended();
    expect(figure(out, "abandoned") > 0, "requests were in flight", out);
    const auto ended = load.wait();
    expect(ended.status == 3, "the load sees closed connections and nothing wrong", ended.output);
}

void check_commands(const Server& server) {
    Talk talk(server);
    talk.say("submit id=1 prompt=10000\n");
    talk.hears("refused 1 ");
    talk.say("submit id=2 output=10000 growth=cap\n");
    talk.hears("refused 2 ");
    talk.say("submit id=3 output=10000 growth=on_demand\n");
    talk.hears("refused 3 ");
    // It would fit without the blocks that are set aside.
    talk.say("submit id=4 system_tokens=60 output=1701 growth=ahead\n");
    talk.hears("refused 4 ");
    talk.say("cancel id=5\n");
    talk.hears("unknown 5");
    talk.say("frobnicate id=5\n");
    talk.hears("error no such command: \"frobnicate\"");
    talk.say("\n");
    talk.hears("error no such command: \"\"");
    talk.say("submit prompt=5\n");
    talk.hears("error submit: id is missing");
    talk.say("submit id=6 output=0\n");
    talk.hears("error submit: output is a number from 1 to 1000000, not \"0\"");
    talk.say("submit id=99999999999999999999\n");
    talk.hears("error submit: id is a number");
    talk.say("submit id=6 growth=fast\n");
    talk.hears("error submit: growth is cap, ahead or on_demand");
    talk.say("submit id=6 colour=3\n");
    talk.hears("error submit: no such field: \"colour\"");
    talk.say("submit id=6 stray\n");
    talk.hears("error submit: \"stray\" is not name=value");
    talk.say("cancel\n");
    talk.hears("error cancel: id is missing");
    talk.say("quit now\n");
    talk.hears("error quit takes nothing");
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) {
        if (byte != '\n') bytes.push_back(static_cast<char>(byte));
    }
    talk.say(bytes + '\n');
    talk.hears("error no such command");
    talk.say("submit id=7 prompt=20 output=3\r\nquit\nsubmit id=8\n");
    talk.hears("admitted 7 0 20");
    for (auto line = talk.hear(); line; line = talk.hear()) {
        expect(line->find(" 7 0 ") != std::string::npos, "the answer before the end, and no other", *line);
    }
}

// Who has said all that it will still hears everything, and its last line needs no end.
void check_last_lines(const Server& server) {
    {
        Talk talk(server);
        talk.says_no_more();
        talk.hears_the_end();
    }
    {
        Talk talk(server);
        talk.say("\ncancel id=1\ncancel id=2");
        talk.says_no_more();
        talk.hears("error no such command: \"\"");
        talk.hears("unknown 1");
        talk.hears("unknown 2");
        talk.hears_the_end();
    }
    {
        Talk talk(server);
        talk.say(std::string(2000, 'x'));
        talk.says_no_more();
        talk.hears("error the line is too long");
        talk.hears_the_end();
    }
    Talk talk(server);
    auto submit = long_request(200);
    submit.branches = 2;
    talk.say(protocol::line(submit) + "report");
    talk.says_no_more();
    std::size_t ends = 0;
    std::size_t reports = 0;
    while (const auto line = talk.hear()) {
        ends += line->compare(0, 7, "done 1 ") == 0 && line->find("cancelled") == std::string::npos;
        reports += line->compare(0, 7, "report ") == 0;
    }
    expect(ends == 2 && reports == 1, "both answers and the report", std::to_string(ends) + ", " + std::to_string(reports));
}

void check_cancel(const Server& server) {
    Talk talk(server);
    auto submit = long_request(1500);
    talk.say(protocol::line(submit));
    talk.hears("admitted 1 ");
    talk.hears("tokens 1 0 0 ");
    talk.say(protocol::line(submit));
    std::string line;
    for (line = talk.hear().value_or(""); line.compare(0, 7, "tokens ") == 0;) line = talk.hear().value_or("");
    expect(line == "refused 1 the id is in use", "an id is used once at a time", line);
    talk.say("cancel id=1\ncancel id=1\n");
    for (line = talk.hear().value_or(""); line.compare(0, 7, "tokens ") == 0;) line = talk.hear().value_or("");
    expect(line.compare(0, 18, "done 1 0 cancelled") == 0, "the end of what was cancelled", line);
    talk.hears("unknown 1");
}

void check_hang_ups(const Server& server) {
    const auto before = figure(Talk(server).report(), "cancelled");
    {
        Talk talk(server);
        talk.say("submit id=1 prom");
    }
    {
        Talk talk(server);
        talk.say(std::string(5000, 'x'));
        talk.hears("error the line is too long");
        talk.hears_the_end();
    }
    {
        Talk talk(server);
        auto submit = long_request(1500);
        talk.say(protocol::line(submit));
        submit.id = 2;
        submit.branches = 3;
        talk.say(protocol::line(submit) + "submit id=3 pro");
        talk.hears("admitted 1 ");
    }
    // The server sees it when it does.
    Talk talk(server);
    while (figure(talk.report(), "cancelled") < before + 2) {
    }
}

void check_arguments(const Server& server) {
    const auto refuses = [](const std::vector<std::string>& command, int status, const std::string& text) {
        const auto ended = run(command);
        expect(ended.status == status && ended.output.find(text) != std::string::npos, text, ended.output);
    };
    refuses({program_server}, 2, "--socket is missing");
    refuses({program_server, "--socket"}, 2, "--socket needs a value");
    refuses({program_server, "--blocks", "many"}, 2, "--blocks is a number from 1 to 1048576, not \"many\"");
    refuses({program_server, "--speed", "9"}, 2, "there is no option --speed");
    refuses({program_server, "--socket", "x", "--blocks", "4"}, 2, "--watermark leaves no block");
    refuses({program_server, "--socket", server.socket()}, 1, server.socket() + ": Address already in use");
    refuses({program_server, "--fault", "all"}, 2, "--fault is none, no-fence, no-copy, no-namespace, early, not \"all\"");
    refuses({program_server, "--help"}, 0, "--block-size N");
    refuses({program_load, "--socket", server.socket() + "-not"}, 1, "No such file or directory");
    refuses({program_load, "--clients", "0"}, 2, "--clients is a number from 1");
    refuses({program_load, "--help"}, 0, "--requests N");
}

void on_refusals() {
    const Directory directory;
    Server server(directory, {"--blocks", "128", "--step-us", "200"});
    check_commands(server);
    check_last_lines(server);
    check_cancel(server);
    check_hang_ups(server);
    check_arguments(server);
    const auto out = server.end();
    expect(figure(out, "abandoned") == 0, "all has ended before", out);
}

// Each mistake is caught, as a wrong position or as a slot that is written twice.
void with_faults() {
    const auto seed = setting("KVB_SEED", "1");
    std::printf("seed %s\n", seed.c_str());
    for (const auto* fault : {"no-fence", "no-copy", "no-namespace", "early"}) {
        const Directory directory;
        Server server(directory, {"--blocks", "128", "--watermark", "2", "--budget", "48", "--schedulers", "2", "--fault", fault});
        const auto load = run({program_load, "--socket", server.socket(), "--requests", "20000", "--seed", seed});
        expect(load.status != 0, std::string("the load is cut short by ") + fault, load.output);
        const auto ended = server.wait();
        std::printf("%s: %s\n", fault, ended.output.c_str());
        expect(ended.status == 3 && ended.output.find("K/V memory is corrupt") != std::string::npos, fault, ended.output);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("server_test CASE SERVER LOAD\n", stderr);
        return 2;
    }
    const std::string name = argv[1];
    program_server = argv[2];
    program_load = argv[3];
    try {
        if (name == "load") {
            under_load({"--blocks", "96", "--watermark", "2"});
        } else if (name == "two_schedulers") {
            under_load({"--blocks", "128", "--watermark", "2", "--schedulers", "2"});
        } else if (name == "tiny_pools") {
            in_tiny_pools();
        } else if (name == "greedy_clients") {
            with_greedy_clients();
        } else if (name == "full_queue") {
            with_a_full_queue();
        } else if (name == "few_descriptors") {
            with_few_descriptors();
        } else if (name == "odd_ends") {
            with_odd_ends();
            with_early_signals();
        } else if (name == "sigterm") {
            on_sigterm();
        } else if (name == "refusals") {
            on_refusals();
        } else if (name == "faults") {
            with_faults();
        } else {
            std::fprintf(stderr, "server_test: there is no case %s\n", name.c_str());
            return 2;
        }
    } catch (const Failed& failed) {
        std::fprintf(stderr, "FAILED: %s\n%s\n", failed.what.c_str(), failed.seen.c_str());
        return 1;
    }
    return 0;
}
