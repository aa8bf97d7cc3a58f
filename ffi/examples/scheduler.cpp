#include "scheduler.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "must.hpp"

using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

std::pair<std::uint64_t, std::uint32_t> order_of(const Sequence& sequence) {
    return {sequence.request->label, sequence.branch};
}

std::vector<model::Token> prompt_of(const Request& request) {
    const auto& it = request.submit;
    return model::prompt(it.system, it.system_tokens, it.seed, it.prompt);
}

}  // namespace

Scheduler::Scheduler(kvblock::PoolRef pool, const Settings& settings, KvMemory& memory)
    : settings_(settings), engine_(pool, settings.engine, memory) {}

// --- What other threads want ---

void Scheduler::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    posted_.notify_one();
}

void Scheduler::post(const std::shared_ptr<Connection>& from, std::function<void()> task) {
    from->handed_over();
    post([from, task = std::move(task)] {
        task();
        from->taken_up();
    });
}

void Scheduler::submit(const std::shared_ptr<Connection>& from, const protocol::Submit& command) {
    post(from, [this, from, command] { do_submit(from, command); });
}

void Scheduler::cancel(const std::shared_ptr<Connection>& from, std::uint64_t id) {
    post(from, [this, from, id] { do_cancel(from, id); });
}

void Scheduler::hang_up(std::shared_ptr<Connection> from) {
    post([this, from = std::move(from)] { do_hang_up(*from); });
}

void Scheduler::report(std::function<void(std::string)> done) {
    post([this, done = std::move(done)] {
        char text[8192];
        const auto length = must(engine_.registry().report_text(text), "report_text");
        done(std::string(text, std::min(length, sizeof text - 1)) + '\n' + counts().text());
    });
}

void Scheduler::stop() {
    {
        const std::lock_guard lock(mutex_);
        stops_ = true;
    }
    posted_.notify_one();
}

bool Scheduler::take_tasks() {
    std::vector<std::function<void()>> tasks;
    {
        std::unique_lock lock(mutex_);
        const auto is_called = [this] { return stops_ || !tasks_.empty(); };
        const bool is_idle = running_.empty() && waiting_.empty() && engine_.under_way() == 0;
        if (is_idle) {
            posted_.wait(lock, is_called);
        } else if (!did_something_) {
            // Another scheduler has what is needed.
            posted_.wait_for(lock, 1ms, is_called);
        }
        if (stops_) return false;
        tasks.swap(tasks_);
    }
    for (const auto& task : tasks) {
        if (stops_) return false;
        task();
    }
    return true;
}

void Scheduler::run() {
    while (take_tasks()) {
        round();
        flush();
    }
    end_all();
}

void Scheduler::end_all() {
    for (const auto& [order, sequence] : running_) {
        engine_.end(sequence);
        sequence->ended = true;
        say_done(*sequence, protocol::Reason::abandoned);
    }
    for (const auto& [order, sequence] : waiting_) say_done(*sequence, protocol::Reason::abandoned);
    counts_.abandoned += requests_.size();
    running_.clear();
    waiting_.clear();
    requests_.clear();
    while (engine_.under_way() > 0) engine_.complete();
    flush();
}

// --- Requests ---

void Scheduler::do_submit(const std::shared_ptr<Connection>& from, const protocol::Submit& command) {
    ++counts_.requests;
    auto request = std::make_shared<Request>();
    request->connection = from;
    request->submit = command;
    request->label = ++last_label_;
    request->prompt_tokens = command.system_tokens + command.prompt;
    request->open = command.branches;

    std::string why;
    if (enqueue(request, why)) return;
    ++counts_.refused;
    say(from, protocol::line(protocol::Refused{command.id, why}));
    answered_.push_back(from);
}

bool Scheduler::enqueue(const std::shared_ptr<Request>& request, std::string& why) {
    const Key key{request->connection->number(), request->submit.id};
    if (requests_.count(key) != 0) {
        why = "the id is in use";
        return false;
    }
    if (queued_ == settings_.queue) {
        why = "the queue is full";
        return false;
    }
    auto sequence = std::make_shared<Sequence>();
    sequence->request = request;
    sequence->branches = request->submit.branches;
    sequence->tokens = prompt_of(*request);
    if (!engine_.could_ever_run(*sequence, why)) return false;
    // While it waits, the request says what they are.
    sequence->tokens = {};
    requests_.emplace(key, request);
    ++queued_;
    waiting_.emplace(order_of(*sequence), std::move(sequence));
    return true;
}

void Scheduler::do_cancel(const std::shared_ptr<Connection>& from, std::uint64_t id) {
    answered_.push_back(from);
    const auto found = requests_.find({from->number(), id});
    if (found == requests_.end()) {
        say(from, protocol::line(protocol::Unknown{id}));
        return;
    }
    const auto request = found->second;
    cancel_request(request);
}

void Scheduler::do_hang_up(const Connection& from) {
    const auto first = requests_.lower_bound({from.number(), 0});
    std::vector<std::shared_ptr<Request>> left;
    for (auto it = first; it != requests_.end() && it->first.first == from.number(); ++it) left.push_back(it->second);
    for (const auto& request : left) cancel_request(request);
}

void Scheduler::cancel_request(const std::shared_ptr<Request>& request) {
    std::vector<SequencePtr> branches;
    for (const auto* line : {&running_, &waiting_}) {
        const auto last = line->upper_bound({request->label, UINT32_MAX});
        for (auto it = line->lower_bound({request->label, 0}); it != last; ++it) branches.push_back(it->second);
    }
    for (const auto& branch : branches) end(branch, protocol::Reason::cancelled);
}

void Scheduler::end(const SequencePtr& sequence, protocol::Reason reason) {
    const auto request = sequence->request;
    if (sequence->running) {
        engine_.end(sequence);
        running_.erase(order_of(*sequence));
    } else {
        waiting_.erase(order_of(*sequence));
    }
    sequence->ended = true;
    say_done(*sequence, reason);
    request->was_cancelled = request->was_cancelled || reason == protocol::Reason::cancelled;
    request->open -= sequence->branches;
    if (request->open == 0) finish(request);
}

void Scheduler::say_done(const Sequence& sequence, protocol::Reason reason) {
    const auto& request = *sequence.request;
    say(request.connection, protocol::line(protocol::Done{request.submit.id, sequence.branch, reason, sequence.answered()}));
    // Those that were still to be forked.
    for (std::uint64_t other = 1; other < sequence.branches; ++other) {
        say(request.connection, protocol::line(protocol::Done{request.submit.id, sequence.branch + other, reason, 0}));
    }
}

void Scheduler::finish(const std::shared_ptr<Request>& request) {
    ++(request->was_cancelled ? counts_.cancelled : counts_.completed);
    queued_ -= !request->was_admitted;
    requests_.erase({request->connection->number(), request->submit.id});
    answered_.push_back(request->connection);
}

// --- A round ---

void Scheduler::round() {
    bool is_short = false;
    const std::size_t decoded = decode(is_short);
    // Who runs goes first: what is there may be what they lack.
    if (!is_short && steady_clock::now() >= admits_from_) admit();
    prefill(settings_.budget - decoded);
    const bool launched = engine_.launch();
    counts_.steps += launched;
    did_something_ = launched || engine_.under_way() > 0;
    if (engine_.under_way() > (launched ? 1 : 0)) complete();
}

std::size_t Scheduler::decode(bool& is_short) {
    std::vector<SequencePtr> batch;
    for (const auto& [order, it] : running_) {
        const bool is_at_end = it->launched + 1 >= it->request->prompt_tokens + it->request->submit.output;
        if (batch.size() < settings_.budget && it->is_decoding() && it->branches == 1 && !is_at_end) batch.push_back(it);
    }
    const auto shortage = engine_.decode(batch);
    is_short = !shortage.sequences.empty();
    if (is_short) make_room(shortage);
    return batch.size() - shortage.sequences.size();
}

void Scheduler::make_room(const Engine::Shortage& shortage) {
    ++counts_.shortages;
    for (const auto& sequence : shortage.sequences) engine_.adopt_duplicates(sequence);
    const auto coming = engine_.coming();
    if (coming >= shortage.needed) return;

    // The latest go first, and the oldest stays: so somebody always gets to the end.
    std::vector<SequencePtr> order;
    for (auto it = running_.rbegin(); it != running_.rend(); ++it) order.push_back(it->second);
    const auto oldest = order.back();
    order.pop_back();
    auto victims = engine_.victims(order, shortage.needed - coming);
    // Who shares all of its blocks frees none. But what is shared is copied before it is written to: with the last who shares it goes
    // the need for a block.
    if (victims.empty() && !order.empty()) victims.push_back(order.front());
    for (const auto& victim : victims) preempt(victim);
    if (!victims.empty() || !settings_.yields) return;
    preempt(oldest);
    admits_from_ = steady_clock::now() + 2ms;
}

void Scheduler::preempt(const SequencePtr& sequence) {
    ++counts_.preemptions;
    engine_.preempt(sequence);
    running_.erase(order_of(*sequence));
    waiting_.emplace(order_of(*sequence), sequence);
}

void Scheduler::admit() {
    while (!waiting_.empty()) {
        const auto sequence = waiting_.begin()->second;
        auto& request = *sequence->request;
        // What the steps under way bring is part of it.
        if (sequence->under_way > 0) return;
        if (sequence->tokens.empty()) sequence->tokens = prompt_of(request);
        std::size_t hit = 0;
        std::string why;
        switch (engine_.admit(sequence, hit, why)) {
            case Engine::Admission::later:
                counts_.waits += waited_ != request.label;
                waited_ = request.label;
                return;
            case Engine::Admission::never:
                std::fprintf(stderr, "server: request %llu was to run and cannot: %s\n",
                             static_cast<unsigned long long>(request.label), why.c_str());
                std::_Exit(3);
            case Engine::Admission::done:
                break;
        }
        waiting_.erase(waiting_.begin());
        running_.emplace(order_of(*sequence), sequence);
        if (request.was_admitted) continue;
        request.was_admitted = true;
        --queued_;
        counts_.prompt_positions += request.prompt_tokens;
        counts_.hit_positions += hit;
        say(request.connection, protocol::line(protocol::Admitted{request.submit.id, hit, request.prompt_tokens}));
    }
}

void Scheduler::prefill(std::size_t budget) {
    for (const auto& [order, it] : running_) {
        if (budget == 0) return;
        if (it->is_decoding()) continue;
        const auto count = std::min(budget, it->appended - it->launched);
        engine_.prefill(it, count);
        budget -= count;
    }
}

void Scheduler::complete() {
    const auto results = engine_.complete();
    for (const auto& [sequence, draws, last] : results) {
        if (draws) sequence->tokens.push_back(model::sample(last, sequence->branch));
    }
    engine_.advance(results);
    for (const auto& [sequence, draws, last] : results) {
        if (!draws) continue;
        if (sequence->answered() == 1 && sequence->running) engine_.adopt_duplicates(sequence);
        if (sequence->branches > 1) fork(sequence, last);
        stream(sequence);
    }
}

void Scheduler::fork(const SequencePtr& parent, model::Digest last) {
    const auto count = std::exchange(parent->branches, 1) - 1;
    auto children = parent->running ? engine_.fork(parent, count) : std::vector<SequencePtr>{};
    const bool is_forked = !children.empty();
    counts_.forks += children.size();
    if (!is_forked) {
        // There is no room for them beside each other: each is admitted when there is, and finds the prompt.
        counts_.forks_refused += count;
        for (std::uint64_t i = 0; i < count; ++i) {
            children.push_back(std::make_shared<Sequence>());
            children.back()->request = parent->request;
            const auto end = parent->tokens.begin() + static_cast<std::ptrdiff_t>(parent->request->prompt_tokens);
            children.back()->tokens.assign(parent->tokens.begin(), end);
        }
    }
    std::uint32_t branch = parent->branch;
    for (const auto& child : children) {
        child->branch = ++branch;
        child->tokens.push_back(model::sample(last, child->branch));
        (is_forked ? running_ : waiting_).emplace(order_of(*child), child);
        stream(child);
    }
}

void Scheduler::stream(const SequencePtr& sequence) {
    const auto& submit = sequence->request->submit;
    const auto token = sequence->tokens.back();
    const auto answered = sequence->answered();
    ++counts_.tokens;
    say(sequence->request->connection,
        protocol::line(protocol::Tokens{submit.id, sequence->branch, answered - 1, {token}}));
    if (token == model::end_of_text) {
        end(sequence, protocol::Reason::stop);
    } else if (answered == submit.output) {
        end(sequence, protocol::Reason::length);
    }
}

void Scheduler::flush() {
    for (const auto& [connection, text] : outbox_) connection->send(text);
    outbox_.clear();
    for (const auto& connection : answered_) connection->answered();
    answered_.clear();
}
