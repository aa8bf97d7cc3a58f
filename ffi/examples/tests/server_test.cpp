// The server and its load client, run as programs.
//
//   server_test CASE SERVER LOAD
//
// KVB_SEED: of the load. KVB_REQUESTS: how many it makes. KVB_UNDER: what runs the server, "valgrind --error-exitcode=9" for instance.
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "../client.hpp"
#include "process.hpp"

namespace {

std::string program_server;
std::string program_load;

// Thrown, so that what was started and made is taken away.
struct Failed {
    std::string what;
    std::string seen;
};

[[noreturn]] void fail(const std::string& what, const std::string& seen) { throw Failed{what, seen}; }

void expect(bool is_so, const std::string& what, const std::string& seen) {
    if (!is_so) fail(what, seen);
}

std::string setting(const char* name, const char* preset) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : preset;
}

// The figure of a row of the server's or the load's table.
std::uint64_t figure(const std::string& output, const std::string& row) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, row.size(), row) != 0 || line.size() <= row.size() || line[row.size()] != ' ') continue;
        const auto digits = line.find_first_not_of(' ', row.size());
        if (digits != std::string::npos && std::isdigit(static_cast<unsigned char>(line[digits])) != 0) {
            return std::strtoull(line.c_str() + digits, nullptr, 10);
        }
    }
    fail("no row " + row, output);
}

// A server that is up.
class Server {
  public:
    // `before`: words of a command that runs another.
    Server(const Directory& directory, const std::vector<std::string>& arguments, const std::vector<std::string>& before = {})
        : socket_(directory.file("socket")), process_(command(arguments, before)) {
        if (!process_.waits_for("serving ")) fail("the server starts", process_.wait().output);
    }

    const std::string& socket() const { return socket_; }

    Process& process() { return process_; }
    Ended wait() { return process_.wait(); }

    std::string end() {
        process_.send_signal(SIGTERM);
        return has_ended();
    }

    // After a signal.
    std::string has_ended() {
        const auto ended = process_.wait();
        expect(ended.status == 0, "the server ends well, not with " + std::to_string(ended.status), ended.output);
        expect(::access(socket_.c_str(), F_OK) != 0, "the socket is removed", ended.output);
        const auto& out = ended.output;
        expect(figure(out, "held") == 0 && figure(out, "quarantined") == 0, "nothing is held", out);
        expect(figure(out, "free") + figure(out, "idle") == figure(out, "capacity"), "every block is free or idle", out);
        expect(figure(out, "requests") == figure(out, "refused") + figure(out, "completed") + figure(out, "cancelled") +
                                              figure(out, "abandoned"),
               "each request has one end", out);
        return out;
    }

  private:
    std::vector<std::string> command(const std::vector<std::string>& arguments, const std::vector<std::string>& before) const {
        auto words = before;
        std::istringstream under(setting("KVB_UNDER", ""));
        for (std::string word; under >> word;) words.push_back(word);
        words.insert(words.end(), {program_server, "--socket", socket_});
        words.insert(words.end(), arguments.begin(), arguments.end());
        return words;
    }

    std::string socket_;
    Process process_;
};

// A client that says what it likes.
class Talk {
  public:
    explicit Talk(const Server& server) : socket_(connect_to(server.socket())) {
        expect(socket_ >= 0, "the server accepts", std::strerror(errno));
    }
    ~Talk() { ::close(socket_); }
    Talk(const Talk&) = delete;
    Talk& operator=(const Talk&) = delete;

    void say(const std::string& text) { static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL)); }

    void says_no_more() { ::shutdown(socket_, SHUT_WR); }

    // The next line; nothing when the server has closed.
    std::optional<std::string> hear() {
        std::string line;
        while (!lines_.next(line)) {
            char bytes[4096];
            const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
            if (count <= 0) return std::nullopt;
            lines_.add(bytes, static_cast<std::size_t>(count));
        }
        return line;
    }

    // The next line begins with this.
    void hears(const std::string& beginning) {
        const auto line = hear().value_or("(closed)");
        expect(line.compare(0, beginning.size(), beginning) == 0, "the answer is \"" + beginning + '"', line);
    }

    void hears_the_end() {
        const auto line = hear();
        expect(!line, "the server closes the connection", line.value_or(""));
    }

    std::string report() {
        say("report\n");
        const auto text = hear_report();
        expect(text.has_value(), "a report", "something else");
        return *text;
    }

    // Nothing when the server has closed.
    std::optional<std::string> hear_report() {
        const auto head = hear();
        if (!head || head->compare(0, 7, "report ") != 0) return std::nullopt;
        std::string text;
        for (auto left = std::strtoul(head->c_str() + 7, nullptr, 10); left > 0; --left) {
            const auto line = hear();
            if (!line) return std::nullopt;
            text += *line + '\n';
        }
        return text;
    }

  private:
    int socket_;
    protocol::Lines lines_;
};

// A request whose answer does not stop by itself before its length.
protocol::Submit long_request(std::uint64_t output) {
    protocol::Submit submit;
    submit.id = 1;
    submit.prompt = 4;
    submit.output = output;
    for (submit.seed = 1;; ++submit.seed) {
        auto last = model::start(submit.tenant);
        for (const auto token : model::prompt(0, 0, submit.seed, submit.prompt)) last = model::digest(token, last);
        std::uint64_t count = 0;
        for (auto token = model::sample(last, 0); token != model::end_of_text && count < output; ++count) {
            last = model::digest(token, last);
            token = model::sample(last, 0);
        }
        if (count == output) return submit;
    }
}

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
    Server server(directory, {}, {"/bin/sh", "-c", "ulimit -n 32 && exec \"$@\"", "sh"});
    std::deque<Talk> inside;
    for (int i = 0; i < 64; ++i) inside.emplace_back(server);
    for (; !inside.empty(); inside.pop_front()) {
        inside.front().say("submit id=1 prompt=20 output=1\n");
        inside.front().hears("admitted 1 ");
    }
    server.end();
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
