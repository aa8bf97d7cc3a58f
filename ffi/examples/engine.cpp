#include "engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace {

constexpr uint32_t growth_of(protocol::Growth growth) {
    switch (growth) {
        case protocol::Growth::cap: return KVB_GROWTH_CAP;
        case protocol::Growth::ahead: return KVB_GROWTH_AHEAD;
        case protocol::Growth::on_demand: break;
    }
    return KVB_GROWTH_ON_DEMAND;
}

// The last token of an answer is not put in.
std::size_t positions_to_come(const Sequence& sequence) {
    return sequence.request->submit.output - sequence.answered() - 1;
}

}  // namespace

Engine::Engine(const kvb_pool* pool, const Settings& settings, KvMemory& memory)
    : pool_(pool), settings_(settings), memory_(memory), device_(memory, settings.step_time) {
    auto config = sized<kvb_seqs_config>();
    config.max_sequences = settings.sequences;
    config.watermark = settings.watermark;
    config.positions = 1024;
    kvb_seqs* seqs = nullptr;
    must(kvb_seqs_create(&pool, 1, &config, &seqs, nullptr), "kvb_seqs_create");
    seqs_.reset(seqs);
    kvb_lanes* lanes = nullptr;
    must(kvb_seqs_lanes_create(seqs, &lanes), "kvb_seqs_lanes_create");
    lanes_.reset(lanes);
    kvb_step* step = nullptr;
    must(kvb_step_create(seqs, settings.sequences, settings.sequences, &step), "kvb_step_create");
    step_.reset(step);
    next_.fence = 1;
}

const kvb_namespace* Engine::space_of(std::uint64_t tenant) {
    Namespace& space = spaces_[tenant];
    if (!space) {
        const std::string name = "tenant " + std::to_string(tenant);
        auto parts = sized<kvb_namespace_parts>();
        parts.domain = reinterpret_cast<const unsigned char*>(name.data());
        parts.domain_size = name.size();
        kvb_namespace* made = nullptr;
        must(kvb_namespace_create(&parts, &made), "kvb_namespace_create");
        space.reset(made);
    }
    return space.get();
}

kvb_admit Engine::request_of(const Sequence& sequence) {
    const auto& request = *sequence.request;
    auto admit = sized<kvb_admit>();
    admit.flags = sequence.was_preempted ? KVB_ADMIT_RETURNING : 0;
    admit.prompt.space = space_of(request.submit.tenant);
    admit.prompt.tokens = sequence.tokens.data();
    admit.prompt.token_count = sequence.tokens.size();
    admit.growth = growth_of(request.submit.growth);
    if (admit.growth == KVB_GROWTH_CAP) admit.growth_amount = positions_to_come(sequence);
    if (admit.growth == KVB_GROWTH_AHEAD) admit.growth_amount = settings_.ahead;
    admit.label = request.label;
    return admit;
}

bool Engine::could_ever_run(const Sequence& sequence, std::string& why) {
    auto admit = request_of(sequence);
    auto error = sized<kvb_error>();
    // As it is to be admitted, and as large as it can become.
    if (kvb_seqs_check(seqs_.get(), &admit, nullptr, &error) != KVB_ERR_NEVER_FITS) {
        const auto ahead = admit.growth == KVB_GROWTH_AHEAD ? settings_.ahead * memory_.block_size() : 0;
        admit.growth = KVB_GROWTH_CAP;
        admit.growth_amount = positions_to_come(sequence) + ahead;
        if (kvb_seqs_check(seqs_.get(), &admit, nullptr, &error) != KVB_ERR_NEVER_FITS) return true;
    }
    why = error.message;
    return false;
}

Engine::Admission Engine::admit(const SequencePtr& sequence, std::size_t& hit, std::string& why) {
    const auto admit = request_of(*sequence);
    kvb_admitted admitted{};
    auto error = sized<kvb_error>();
    const auto status = kvb_seqs_admit(seqs_.get(), &admit, &admitted, &error);
    if (status == KVB_ERR_SHORTFALL || status == KVB_ERR_TOO_MANY_SEQUENCES) return Admission::later;
    if (status != KVB_OK) {
        why = error.message;
        return Admission::never;
    }
    auto& it = *sequence;
    it.running = true;
    it.handle = admitted.seq;
    it.appended = it.told = it.tokens.size();
    it.launched = it.computed = hit = admitted.hit;
    read_table(it);
    const auto fresh = static_cast<std::ptrdiff_t>(admitted.fresh);
    std::for_each(it.table.end() - fresh, it.table.end(),
                  [&](int32_t block) { memory_.poison(static_cast<std::uint32_t>(block)); });
    check({sequence, it.was_preempted ? "what was found at its return" : "what was found of its prompt", it.table, hit});
    return Admission::done;
}

void Engine::read_table(Sequence& sequence) {
    const int32_t* table = nullptr;
    std::size_t count = 0;
    must(kvb_seqs_get_table(seqs_.get(), 0, sequence.handle, &table, &count), "kvb_seqs_get_table");
    sequence.table.assign(table, table + count);
}

std::int64_t Engine::slot(const Sequence& sequence, std::size_t position) const {
    const auto size = memory_.block_size();
    return sequence.table[position / size] * static_cast<std::int64_t>(size) + static_cast<std::int64_t>(position % size);
}

Engine::Shortage Engine::decode(const std::vector<SequencePtr>& batch) {
    Shortage shortage;
    if (batch.empty()) return shortage;
    std::vector<kvb_append> appends;
    appends.reserve(batch.size());
    for (const auto& it : batch) appends.push_back({it->handle, 1});
    const auto status = kvb_seqs_step(seqs_.get(), appends.data(), appends.size(), step_.get());
    if (status != KVB_ERR_PARTIAL) must(status, "kvb_seqs_step");

    kvb_step_lists lists{};
    must(kvb_step_get(step_.get(), 0, &lists), "kvb_step_get");
    const kvb_failure* failures = nullptr;
    std::size_t failure_count = 0;
    must(kvb_step_failures(step_.get(), &failures, &failure_count), "kvb_step_failures");

    std::for_each(lists.fresh, lists.fresh + lists.fresh_count, [&](uint32_t block) { memory_.poison(block); });
    next_.copies.insert(next_.copies.end(), lists.copies, lists.copies + lists.copy_count);
    copies_ += lists.copy_count;
    for (std::size_t i = 0; i < lists.change_count; ++i) {
        const auto& change = lists.changes[i];
        auto& table = batch[change.index]->table;
        if (table.size() <= change.entry) table.resize(change.entry + 1, -1);
        table[change.entry] = static_cast<int32_t>(change.block);
    }

    std::size_t failed = 0;
    std::size_t slots = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (failed < failure_count && failures[failed].index == i) {
            const auto& failure = failures[failed++];
            if (failure.status != KVB_ERR_SHORTFALL) must(failure.status, "kvb_seqs_step");
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
    must(kvb_seqs_get_slots(seqs_.get(), 0, sequence->handle, first, count, next_.slots.data() + at, nullptr),
         "kvb_seqs_get_slots");
    const auto predecessor = first == 0 ? -1 : slot(*sequence, first - 1);
    next_.work.push_back({sequence, first, at, count, predecessor, drawn, 0});
    sequence->launched = first + count;
    sequence->fence = next_.fence;
    ++sequence->under_way;
}

std::vector<SequencePtr> Engine::victims(const std::vector<SequencePtr>& order, std::size_t blocks, bool& enough) {
    std::vector<kvb_handle> handles;
    for (const auto& it : order) handles.push_back(it->handle);
    std::vector<kvb_handle> chosen(handles.size());
    std::size_t count = 0;
    std::uint32_t is_enough = 0;
    must(kvb_seqs_select_victims(seqs_.get(), handles.data(), handles.size(), &blocks, 1, chosen.data(), &count, &is_enough,
                                 nullptr),
         "kvb_seqs_select_victims");
    enough = is_enough != 0;
    std::vector<SequencePtr> found;
    for (std::size_t i = 0; i < count; ++i) {
        found.push_back(*std::find_if(order.begin(), order.end(),
                                      [&](const SequencePtr& it) { return it->handle.bits == chosen[i].bits; }));
    }
    return found;
}

std::vector<SequencePtr> Engine::fork(const SequencePtr& parent, std::uint64_t count) {
    std::vector<kvb_handle> handles(count);
    std::vector<SequencePtr> children;
    if (kvb_seqs_fork(seqs_.get(), parent->handle, handles.data(), handles.size(), nullptr) != KVB_OK) return children;
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
    const int32_t* table = nullptr;
    std::size_t count = 0;
    must(kvb_seqs_get_table(seqs_.get(), 0, it.handle, &table, &count), "kvb_seqs_get_table");
    if (!std::equal(it.table.begin(), it.table.end(), table, table + count)) {
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

void Engine::end(const SequencePtr& sequence) {
    leave(sequence, "its end");
    must(kvb_seqs_release_after(seqs_.get(), sequence->handle, lanes_.get(), sequence->fence, nullptr),
         "kvb_seqs_release_after");
}

void Engine::preempt(const SequencePtr& sequence) {
    leave(sequence, "its preemption");
    sequence->was_preempted = true;
    must(kvb_seqs_preempt_after(seqs_.get(), sequence->handle, lanes_.get(), sequence->fence, nullptr),
         "kvb_seqs_preempt_after");
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
    must(kvb_seqs_copied(seqs_.get(), 0, step.copies.data(), step.copies.size()), "kvb_seqs_copied");
    must(kvb_lanes_complete(lanes_.get(), 0, step.fence, nullptr), "kvb_lanes_complete");
    std::vector<Result> results;
    for (const auto& work : step.work) {
        auto& it = *work.sequence;
        --it.under_way;
        if (it.ended) continue;
        const auto end = work.first + work.count;
        if (it.running) it.computed = end;
        results.push_back({work.sequence, end == it.tokens.size(), work.last});
    }
    return results;
}

void Engine::advance(const std::vector<Result>& results) {
    std::vector<kvb_progress> batch;
    batch.reserve(results.size());
    for (const auto& result : results) {
        auto& it = *result.sequence;
        if (!it.running) continue;
        const auto known = std::min(it.appended, it.tokens.size());
        batch.push_back({it.handle, it.told, it.tokens.data() + it.told, known - it.told, it.computed});
        it.told = known;
    }
    must(kvb_seqs_advance(seqs_.get(), batch.data(), batch.size(), nullptr, nullptr), "kvb_seqs_advance");
}

void Engine::adopt_duplicates(const SequencePtr& sequence) {
    std::size_t blocks = 0;
    must(kvb_seqs_adopt_duplicates_after(seqs_.get(), sequence->handle, lanes_.get(), sequence->fence, &blocks, nullptr),
         "kvb_seqs_adopt_duplicates_after");
    if (blocks == 0) return;
    adopted_ += blocks;
    read_table(*sequence);
}

std::size_t Engine::coming() const { return kvb_pool_available(pool_) + kvb_pool_quarantined(pool_); }
