// A client that knows every token that it must get.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "protocol.hpp"

// What requests are drawn from.
struct Mixture {
    std::uint64_t tenants = 2;
    std::uint64_t systems = 4;
    std::uint64_t system_tokens = 96;
    std::uint64_t prompt = 160;
    std::uint64_t output = 96;
    std::uint64_t branches = 4;
    std::uint64_t forked = 15;
    std::uint64_t repeated = 10;
    std::uint64_t cancelled = 5;
};

struct Outcome {
    std::uint64_t completed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t refused = 0;
    std::uint64_t tokens = 0;
    std::uint64_t hit = 0;
    std::uint64_t prompts = 0;
    // Milliseconds from the request to its first token, and to its end.
    std::vector<double> first;
    std::vector<double> whole;
    // What was not as it must be; empty if all was.
    std::string wrong;
    // The server closed the connection before all was answered.
    bool is_cut_off = false;

    void add(const Outcome& other);
};

class Client {
  public:
    // Each client of a load has its own `number`; equal ones with an equal seed ask for the same.
    Client(const Mixture& mixture, std::uint64_t seed, std::uint64_t number)
        : mixture_(mixture), random_(model::mix(seed, number)) {}

    // Sends so many requests, `depth` of them at a time, and takes the answers.
    Outcome run(const std::string& path, std::uint64_t requests, std::uint64_t depth);

  private:
    using Clock = std::chrono::steady_clock;

    struct Branch {
        model::Digest last;
        std::uint64_t count = 0;
        bool is_stopped = false;
        bool is_done = false;
    };

    struct Pending {
        protocol::Submit submit;
        Clock::time_point sent;
        std::vector<Branch> branches;
        std::uint64_t open;
        std::uint64_t tokens = 0;
        // Cancel it when so many tokens have come.
        std::uint64_t cancel_at;
        bool is_cancelled = false;
    };

    std::uint64_t draw(std::uint64_t least, std::uint64_t most);
    bool chance(std::uint64_t percent) { return draw(1, 100) <= percent; }
    void submit();
    // Reads as well, where the server has something to say: it may wait for that before it hears.
    bool send(const std::string& text);
    bool receive();

    // What an answer comes to; what is not as it must be goes to `outcome_.wrong`.
    void take(const std::string& line);
    void take(const protocol::Admitted& answer);
    void take(const protocol::Tokens& answer);
    void take(const protocol::Done& answer);
    void take(const protocol::Refused& answer);
    void take(const protocol::Unknown& answer);
    template <class Other>
    void take(const Other&) {
        wrong("an answer that was not asked for");
    }
    Pending* pending(std::uint64_t id);
    Branch* branch(std::uint64_t id, std::uint64_t branch);
    void finish(std::map<std::uint64_t, Pending>::iterator it);
    void wrong(const std::string& what);

    Mixture mixture_;
    std::mt19937_64 random_;
    int socket_ = -1;
    protocol::Lines lines_;
    std::string line_;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, Pending> pending_;
    Outcome outcome_;
};

// A connected socket, or -1 with `errno`.
int connect_to(const std::string& path);
