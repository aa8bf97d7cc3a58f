// Continuous batching: who is in the next step, who waits, and who has to go.
//
// One thread runs it. Each round it decodes one position of every sequence whose prompt is computed, spends what is left of the budget on
// prompts, and launches that as a step before it takes the results of the step before: so the device never waits for the host. What the
// host learns a round later may be that a sequence of the step under way has ended, was cancelled or must be preempted; its blocks then
// come back when that step has passed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "connections.hpp"
#include "engine.hpp"
#include "protocol.hpp"
#include "sequence.hpp"

struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;
    std::uint64_t completed = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t abandoned = 0;
    std::uint64_t steps = 0;
    std::uint64_t prompt_positions = 0;
    std::uint64_t hit_positions = 0;
    std::uint64_t tokens = 0;
    std::uint64_t forks = 0;
    std::uint64_t forks_refused = 0;
    std::uint64_t waits = 0;
    std::uint64_t shortages = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t copies = 0;
    std::uint64_t adopted = 0;

    Counts& operator+=(const Counts& other);
    std::string text() const;
};

class Scheduler {
  public:
    struct Settings {
        Engine::Settings engine;
        // Positions of a step.
        std::size_t budget;
        // Most requests that wait to be admitted for the first time.
        std::size_t queue;
        // Where schedulers share a pool, one may keep its oldest sequence come what may; the others give theirs up in its favour.
        bool yields;
    };

    Scheduler(kvblock::PoolRef pool, const Settings& settings, KvMemory& memory);

    // From any thread.
    void submit(const std::shared_ptr<Connection>& from, const protocol::Submit& command);
    void cancel(const std::shared_ptr<Connection>& from, std::uint64_t id);
    void hang_up(std::shared_ptr<Connection> from);
    void report(std::function<void(std::string)> done);
    void stop();

    // Until it is stopped; then every sequence has ended and the device has done all.
    void run();

    // When it does not run.
    const Engine& engine() const { return engine_; }
    Counts counts() const;

  private:
    // Who is older comes first.
    using Order = std::pair<std::uint64_t, std::uint32_t>;
    using Line = std::map<Order, SequencePtr>;
    using Key = std::pair<std::uint64_t, std::uint64_t>;

    void post(std::function<void()> task);
    // A command of a client, which is taken up when its turn comes.
    void post(const std::shared_ptr<Connection>& from, std::function<void()> task);
    // Waits while there is nothing to do; false when it is stopped.
    bool take_tasks();
    void end_all();

    // Whether a request is taken into the queue; if not, `why` says it.
    bool enqueue(const std::shared_ptr<Request>& request, std::string& why);
    void do_submit(const std::shared_ptr<Connection>& from, const protocol::Submit& command);
    void do_cancel(const std::shared_ptr<Connection>& from, std::uint64_t id);
    void do_hang_up(const Connection& from);
    void cancel_request(const std::shared_ptr<Request>& request);

    void round();
    std::size_t decode(bool& is_short);
    // While nothing is on the way, each call preempts somebody, down to the oldest, which fits alone: so shortages come to an end.
    void make_room(const Engine::Shortage& shortage);
    void preempt(const SequencePtr& sequence);
    void admit();
    void prefill(std::size_t budget);
    void complete();
    void fork(const SequencePtr& parent, model::Digest last);

    // The answer has a token more, or has ended.
    void stream(const SequencePtr& sequence);
    void end(const SequencePtr& sequence, protocol::Reason reason);
    void say_done(const Sequence& sequence, protocol::Reason reason);
    void finish(const std::shared_ptr<Request>& request);

    void say(const std::shared_ptr<Connection>& to, const std::string& line) { outbox_[to] += line; }
    void flush();

    Settings settings_;
    Engine engine_;
    Counts counts_;
    std::uint64_t last_label_ = 0;
    std::map<Key, std::shared_ptr<Request>> requests_;
    // Of them, those that were never admitted.
    std::size_t queued_ = 0;
    Line running_;
    Line waiting_;
    // Who was counted as waiting last.
    std::uint64_t waited_ = 0;
    // Nothing is admitted before.
    std::chrono::steady_clock::time_point admits_from_{};
    bool did_something_ = false;

    std::map<std::shared_ptr<Connection>, std::string> outbox_;
    std::vector<std::shared_ptr<Connection>> answered_;

    std::mutex mutex_;
    std::condition_variable posted_;
    std::vector<std::function<void()>> tasks_;
    std::atomic<bool> stops_{false};
};
