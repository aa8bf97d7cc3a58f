#include "engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "must.hpp"

namespace {

// The last token of an answer is not put in.
std::size_t positions_to_come(const Sequence& sequence) {
    return sequence.request->submit.output - sequence.answered() - 1;
}

}  // namespace

Engine::Engine(kvblock::PoolRef pool, const Settings& settings, KvMemory& memory)
    : pool_(pool), settings_(settings), memory_(memory), device_(memory, settings.step_time, settings.fault != Fault::no_copy) {
    auto config = kvblock::SequencesConfig(settings.sequences).watermark(settings.watermark).positions(1024);
    registry_ = must(kvblock::Sequences::create(pool, config), "create");
    lanes_ = must(registry_.lanes(), "lanes");
    step_ = must(registry_.make_step(settings.sequences, settings.sequences), "make_step");
    next_.fence = 1;
}

kvblock::Prompt Engine::prompt_of(const Sequence& sequence) {
    const auto tenant = sequence.request->submit.tenant;
    auto& space = spaces_[tenant];
    if (!space) {
        const std::string name = "tenant " + std::to_string(tenant);
        space = must(kvblock::Namespace::create(kvblock::NamespaceParts().domain(name)), "namespace");
    }
    kvblock::Prompt prompt(sequence.tokens);
    return settings_.fault == Fault::no_namespace ? prompt : prompt.space(space);
}

kvblock::Admit Engine::request_of(const Sequence& sequence) {
    const auto& request = *sequence.request;
    auto admit = kvblock::Admit(prompt_of(sequence)).label(request.label);
    if (sequence.was_preempted) admit.returning();
    switch (request.submit.growth) {
        case protocol::Growth::cap: return admit.cap(positions_to_come(sequence));
        case protocol::Growth::ahead: return admit.ahead(settings_.ahead);
        case protocol::Growth::on_demand: break;
    }
    return admit;
}

bool Engine::could_ever_run(const Sequence& sequence, std::string& why) {
    const bool is_ahead = sequence.request->submit.growth == protocol::Growth::ahead;
    const auto set_aside = is_ahead ? settings_.ahead * memory_.block_size() : 0;
    // As large as it can become.
    const auto largest = kvblock::Admit(prompt_of(sequence)).cap(positions_to_come(sequence) + set_aside);
    const auto checked = registry_.check(largest);
    if (checked.status() != KVB_ERR_NEVER_FITS) return true;
    why = checked.error().message();
    return false;
}

Engine::Admission Engine::admit(const SequencePtr& sequence, std::size_t& hit, std::string& why) {
    const auto admitted = registry_.admit(request_of(*sequence));
    const auto status = admitted.status();
    if (status == KVB_ERR_SHORTFALL || status == KVB_ERR_TOO_MANY_SEQUENCES) return Admission::later;
    if (!admitted) {
        why = admitted.error().message();
        return Admission::never;
    }
    auto& it = *sequence;
    it.running = true;
    it.handle = admitted.value().seq;
    it.appended = it.told = it.tokens.size();
    it.launched = it.computed = hit = admitted.value().hit;
    read_table(it);
    const auto fresh = static_cast<std::ptrdiff_t>(admitted.value().fresh);
    std::for_each(it.table.end() - fresh, it.table.end(),
                  [&](int32_t block) { memory_.poison(static_cast<std::uint32_t>(block)); });
    check({sequence, it.was_preempted ? "what was found at its return" : "what was found of its prompt", it.table, hit});
    return Admission::done;
}

void Engine::read_table(Sequence& sequence) {
    const auto table = must(registry_.table(sequence.handle), "table");
    sequence.table.assign(table.begin(), table.end());
}

std::int64_t Engine::slot(const Sequence& sequence, std::size_t position) const {
    const auto size = memory_.block_size();
    return sequence.table[position / size] * static_cast<std::int64_t>(size) + static_cast<std::int64_t>(position % size);
}

Engine::Shortage Engine::decode(const std::vector<SequencePtr>& batch) {
    Shortage shortage;
    if (batch.empty()) return shortage;
    std::vector<kvblock::Append> appends;
    appends.reserve(batch.size());
    for (const auto& it : batch) appends.push_back({it->handle, 1});
    const auto done = registry_.step(appends, step_);
    if (done.status() != KVB_ERR_PARTIAL) must(done, "step");
    const auto lists = must(step_.lists(), "lists");
    const auto failures = step_.failures();

    for (const auto block : lists.fresh) memory_.poison(block);
    for (const auto& copy : lists.copies) next_.copies.push_back(copy);
    copies_ += lists.copies.size();
    for (const auto& change : lists.changes) {
        auto& table = batch[change.index]->table;
        if (table.size() <= change.entry) table.resize(change.entry + 1, -1);
        table[change.entry] = static_cast<int32_t>(change.block);
    }

    std::size_t failed = 0;
    std::size_t slots = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (failed < failures.size() && failures[failed].index == i) {
            const auto& failure = failures[failed++];
            if (failure.status != KVB_ERR_SHORTFALL) must<void>(kvblock::Error(failure.status), "step");
            shortage.sequences.push_back(batch[i]);
            shortage.needed += failure.needed;
            continue;
        }
        const auto position = batch[i]->appended++;
        if (lists.slots[slots++] != slot(*batch[i], position)) {
            std::fprintf(stderr, "server: request %llu: the slot of position %zu is not where its table says\n",
                         static_cast<unsigned long long>(batch[i]->request->label), position);
            std::_Exit(3);
        }
        add_work(batch[i], position, 1, true);
    }
    return shortage;
}

void Engine::prefill(const SequencePtr& sequence, std::size_t count) {
    add_work(sequence, sequence->launched, count, false);
}

void Engine::add_work(const SequencePtr& sequence, std::size_t first, std::size_t count, bool drawn) {
    const auto at = next_.slots.size();
    next_.slots.resize(at + count);
    must(registry_.slots(sequence->handle, first, {next_.slots.data() + at, count}), "slots");
    const auto predecessor = first == 0 ? -1 : slot(*sequence, first - 1);
    next_.work.push_back({sequence, first, at, count, predecessor, drawn, 0});
    sequence->launched = first + count;
    sequence->fence = next_.fence;
    ++sequence->under_way;
}

std::vector<SequencePtr> Engine::victims(const std::vector<SequencePtr>& order, std::size_t blocks) {
    std::vector<kvblock::Handle> handles;
    for (const auto& it : order) handles.push_back(it->handle);
    std::vector<kvblock::Handle> chosen(handles.size());
    const auto victims = must(registry_.select_victims(handles, kvblock::one(blocks), chosen), "select_victims");
    std::vector<SequencePtr> found;
    for (std::size_t i = 0; i < victims.count; ++i) {
        const auto is_chosen = [&](const SequencePtr& it) { return it->handle == chosen[i]; };
        found.push_back(*std::find_if(order.begin(), order.end(), is_chosen));
    }
    return found;
}

std::vector<SequencePtr> Engine::fork(const SequencePtr& parent, std::uint64_t count) {
    std::vector<kvblock::Handle> handles(count);
    std::vector<SequencePtr> children;
    if (!registry_.fork(parent->handle, handles)) return children;
    for (const auto handle : handles) {
        // It has the parent's table and its place in it.
        children.push_back(std::make_shared<Sequence>(*parent));
        auto& child = *children.back();
        child.handle = handle;
        child.tokens.resize(parent->request->prompt_tokens);
        child.under_way = 0;
        read_table(child);
    }
    return children;
}

void Engine::check(const Check& check) const {
    const auto& request = *check.sequence->request;
    memory_.check(check.when, request.label, request.submit.tenant, check.sequence->tokens, check.table.data(), check.positions);
}

void Engine::leave(const SequencePtr& sequence, const char* when) {
    auto& it = *sequence;
    const auto table = must(registry_.table(it.handle), "table");
    if (!std::equal(it.table.begin(), it.table.end(), table.begin(), table.end())) {
        std::fprintf(stderr, "server: request %llu: its table is not what steps told\n",
                     static_cast<unsigned long long>(it.request->label));
        std::_Exit(3);
    }
    Check last{sequence, when, std::move(it.table), it.computed};
    // A step under way may have to fill a copy first. Until it has passed, nobody else may have the blocks.
    if (it.fence > passed_) {
        checks_.emplace(it.fence, std::move(last));
    } else {
        check(last);
    }
    it.running = false;
    it.table.clear();
    it.appended = it.launched = it.told = it.computed = 0;
}

std::uint64_t Engine::fence_of(const Sequence& sequence) const {
    return settings_.fault == Fault::no_fence ? 0 : sequence.fence;
}

void Engine::end(const SequencePtr& sequence) {
    leave(sequence, "its end");
    must(registry_.release_after(sequence->handle, lanes_, fence_of(*sequence)), "release_after");
}

void Engine::preempt(const SequencePtr& sequence) {
    leave(sequence, "its preemption");
    sequence->was_preempted = true;
    must(registry_.preempt_after(sequence->handle, lanes_, fence_of(*sequence)), "preempt_after");
}

bool Engine::launch() {
    if (next_.work.empty()) return false;
    const auto fence = next_.fence;
    device_.launch(std::exchange(next_, Launch{}));
    next_.fence = fence + 1;
    return true;
}

std::vector<Engine::Result> Engine::complete() {
    const auto step = device_.complete();
    passed_ = step.fence;
    for (auto it = checks_.begin(); it != checks_.end() && it->first <= passed_; it = checks_.erase(it)) check(it->second);
    must(registry_.copied(0, step.copies), "copied");
    must(lanes_.complete(0, step.fence), "complete");
    std::vector<Result> results;
    for (const auto& work : step.work) {
        auto& it = *work.sequence;
        --it.under_way;
        if (it.ended) continue;
        const auto end = work.first + work.count;
        if (it.running) it.computed = settings_.fault == Fault::early ? it.appended : end;
        results.push_back({work.sequence, end == it.tokens.size(), work.last});
    }
    return results;
}

void Engine::advance(const std::vector<Result>& results) {
    std::vector<kvblock::Progress> batch;
    batch.reserve(results.size());
    for (const auto& result : results) {
        auto& it = *result.sequence;
        if (!it.running) continue;
        const auto known = std::min(it.appended, it.tokens.size());
        batch.push_back(kvblock::progress(it.handle, it.told, {it.tokens.data() + it.told, known - it.told}, it.computed));
        it.told = known;
    }
    must(registry_.advance(batch), "advance");
}

void Engine::adopt_duplicates(const SequencePtr& sequence) {
    const auto blocks =
        must(registry_.adopt_duplicates_after(sequence->handle, lanes_, fence_of(*sequence)), "adopt_duplicates");
    if (blocks == 0) return;
    adopted_ += blocks;
    read_table(*sequence);
}

std::size_t Engine::coming() const { return pool_.available() + pool_.quarantined(); }
