// A server that a test has started, and clients of it that say what they like.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "../client.hpp"
#include "process.hpp"

// The programs that are tested.
inline std::string program_server;
inline std::string program_load;

// Thrown, so that what was started and made is taken away.
struct Failed {
    std::string what;
    std::string seen;
};

[[noreturn]] inline void fail(const std::string& what, const std::string& seen) { throw Failed{what, seen}; }

inline void expect(bool is_so, const std::string& what, const std::string& seen) {
    if (!is_so) fail(what, seen);
}

inline std::string setting(const char* name, const char* preset) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : preset;
}

// The figure of a row of the server's or the load's table.
inline std::uint64_t figure(const std::string& output, const std::string& row) {
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
    // `before`: words of a command that runs it, instead of KVB_UNDER.
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
        std::istringstream under(before.empty() ? setting("KVB_UNDER", "") : "");
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
inline protocol::Submit long_request(std::uint64_t output) {
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
