// Threads that share a pool: schedulers with a registry each, and others that look at the pool, keep it, take from it and change its size.
//
//   threads [--rounds N] [--seed S]     runs clean, also under a sanitizer of threads
//   threads --race                      the control: two threads use one registry at once, which such a sanitizer must report
//
// The memory of the blocks is plain, and written to and read as the library says. Where one thread can touch what another one has, without
// one having happened before the other, the sanitizer sees it; and what is found or kept must hold the digests of its tokens.
#include <kvblock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBlock = 4;
constexpr std::size_t kBlocks = 96;
constexpr std::size_t kMaxBlocks = 128;
constexpr std::size_t kSchedulers = 4;
constexpr std::size_t kSequences = 6;

using Random = std::mt19937_64;

std::uint64_t the_seed = 0;

[[noreturn]] void fail(const char *what, int line) {
    std::fprintf(stderr, "threads: seed %llu, line %d: %s\n", static_cast<unsigned long long>(the_seed), line, what);
    std::_Exit(1);
}

#define REQUIRE(condition) ((condition) ? void() : fail(#condition, __LINE__))

std::size_t below(Random &random, std::size_t n) {
    return static_cast<std::size_t>(random() % n);
}

bool one_in(Random &random, std::size_t n) {
    return below(random, n) == 0;
}

template <typename T>
T sized() {
    T it;
    std::memset(&it, 0, sizeof it);
    it.struct_size = sizeof it;
    return it;
}

std::uint64_t digest_after(std::uint64_t before, std::uint32_t token) {
    return (before ^ token) * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019;
}

// The K/V memory.
std::array<std::array<std::uint64_t, kBlock>, kMaxBlocks> memory;

std::uint64_t &at_slot(std::int64_t slot) {
    const auto index = static_cast<std::size_t>(slot);
    return memory[index / kBlock][index % kBlock];
}

struct Sequence {
    kvb_handle handle{UINT64_MAX};
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint64_t> digests;

    void add(std::uint32_t token) {
        digests.push_back(digest_after(digests.empty() ? 1 : digests.back(), token));
        tokens.push_back(token);
    }
};

// A sequence on its way to another thread.
struct Parcel {
    kvb_detached *detached;
    Sequence sequence;
};

struct Mailbox {
    std::mutex lock;
    std::vector<Parcel> parcels;
};

// What was done, for the summary.
struct Done {
    std::size_t admitted = 0, refused = 0, hit = 0, appended = 0, copied = 0, moved = 0;
};

struct Shared {
    kvb_pool *pool = nullptr;
    Mailbox mailbox;
    std::atomic<bool> stop{false};
};

class Scheduler {
public:
    Scheduler(Shared &shared, std::uint64_t seed) : shared_(shared), random_(seed) {
        auto config = sized<kvb_seqs_config>();
        config.max_sequences = kSequences;
        const kvb_pool *pools[] = {shared.pool};
        REQUIRE(kvb_seqs_create(pools, 1, &config, &seqs_, nullptr) == KVB_OK);
        REQUIRE(kvb_step_create(seqs_, kSequences, kSequences, &step_) == KVB_OK);
        REQUIRE(kvb_seqs_lanes_create(seqs_, &lanes_) == KVB_OK);
    }

    Scheduler(const Scheduler &) = delete;
    Scheduler &operator=(const Scheduler &) = delete;

    ~Scheduler() {
        kvb_step_destroy(step_);
        kvb_seqs_destroy(seqs_);
        kvb_lanes_destroy(lanes_);
    }

    void turn() {
        switch (below(random_, 10)) {
        case 0:
        case 1:
            admit();
            break;
        case 2:
            fork();
            break;
        case 3:
            truncate();
            break;
        case 4:
        case 5:
            end();
            break;
        case 6:
            send();
            receive();
            break;
        default:
            step();
            break;
        }
    }

    void end_all() {
        while (!sequences_.empty()) {
            end();
        }
        REQUIRE(kvb_lanes_complete(lanes_, 0, fence_ + 1, nullptr) == KVB_OK);
        REQUIRE(kvb_lanes_waiting(lanes_) == 0);
    }

    const Done &done() const { return done_; }
    kvb_seqs *seqs() const { return seqs_; }
    kvb_lanes *lanes() const { return lanes_; }

private:
    std::vector<std::int64_t> slots(const Sequence &seq, std::size_t first) const {
        std::vector<std::int64_t> slots(seq.tokens.size() - first);
        REQUIRE(kvb_seqs_get_slots(seqs_, 0, seq.handle, first, slots.size(), slots.data(), nullptr) == KVB_OK);
        return slots;
    }

    void write(const Sequence &seq, std::size_t first) {
        for (const std::int64_t slot : slots(seq, first)) {
            at_slot(slot) = seq.digests[first++];
        }
    }

    void check(const Sequence &seq, std::size_t positions) const {
        const auto all = slots(seq, 0);
        for (std::size_t at = 0; at < positions; at++) {
            REQUIRE(at_slot(all[at]) == seq.digests[at]);
        }
    }

    void admit() {
        Sequence seq;
        const std::size_t count = 1 + below(random_, 6 * kBlock);
        const auto voice = static_cast<std::uint32_t>(below(random_, 3));
        for (std::size_t at = 0; at < count; at++) {
            // The same prompts again and again, with ends of their own.
            seq.add(one_in(random_, 24) ? static_cast<std::uint32_t>(random_()) : voice);
        }
        auto request = sized<kvb_admit>();
        request.prompt.tokens = seq.tokens.data();
        request.prompt.token_count = count;
        request.growth = static_cast<std::uint32_t>(below(random_, 3));
        request.growth_amount = request.growth == KVB_GROWTH_CAP ? 64 : request.growth;
        kvb_admitted admitted;
        const kvb_status status = kvb_seqs_admit(seqs_, &request, &admitted, nullptr);
        if (status != KVB_OK) {
            REQUIRE(status == KVB_ERR_SHORTFALL || status == KVB_ERR_TOO_MANY_SEQUENCES || status == KVB_ERR_NEVER_FITS);
            done_.refused++;
            return;
        }
        seq.handle = admitted.seq;
        done_.admitted++;
        done_.hit += admitted.hit;
        check(seq, admitted.hit);
        write(seq, admitted.hit);
        REQUIRE(kvb_seqs_computed(seqs_, seq.handle, count, nullptr) == KVB_OK);
        sequences_.push_back(std::move(seq));
    }

    // One position more for each.
    void step() {
        std::vector<kvb_append> batch;
        for (const Sequence &seq : sequences_) {
            batch.push_back({seq.handle, 1});
        }
        const kvb_status status = kvb_seqs_step(seqs_, batch.data(), batch.size(), step_);
        REQUIRE(status == KVB_OK || status == KVB_ERR_PARTIAL);
        kvb_step_lists lists;
        const kvb_failure *failures;
        std::size_t failed;
        REQUIRE(kvb_step_get(step_, 0, &lists) == KVB_OK);
        REQUIRE(kvb_step_failures(step_, &failures, &failed) == KVB_OK);
        for (std::size_t at = 0; at < lists.fresh_count; at++) {
            memory[lists.fresh[at]].fill(0);
        }
        for (std::size_t at = 0; at < lists.copy_count; at++) {
            const kvb_copy &copy = lists.copies[at];
            std::memcpy(memory[copy.dst].data(), memory[copy.src].data(), copy.positions * sizeof(std::uint64_t));
        }
        std::vector<kvb_progress> progress;
        std::size_t slot = 0, failure = 0;
        for (std::size_t at = 0; at < sequences_.size(); at++) {
            if (failure < failed && failures[failure].index == at) {
                failure++;
                continue;
            }
            Sequence &seq = sequences_[at];
            seq.add(static_cast<std::uint32_t>(below(random_, 2)));
            at_slot(lists.slots[slot++]) = seq.digests.back();
            progress.push_back({seq.handle, seq.tokens.size() - 1, &seq.tokens.back(), 1, seq.tokens.size()});
        }
        REQUIRE(slot == lists.slot_count);
        done_.appended += slot;
        done_.copied += lists.copy_count;
        REQUIRE(kvb_seqs_copied(seqs_, 0, lists.copies, lists.copy_count) == KVB_OK);
        REQUIRE(kvb_seqs_advance(seqs_, progress.data(), progress.size(), nullptr, nullptr) == KVB_OK);
    }

    void fork() {
        if (sequences_.empty()) {
            return;
        }
        Sequence child = sequences_[below(random_, sequences_.size())];
        const kvb_status status = kvb_seqs_fork(seqs_, child.handle, &child.handle, 1, nullptr);
        if (status == KVB_OK) {
            sequences_.push_back(std::move(child));
            step();
        }
    }

    void truncate() {
        if (sequences_.empty()) {
            return;
        }
        Sequence &seq = sequences_[below(random_, sequences_.size())];
        const std::size_t to = seq.tokens.size() - below(random_, std::min<std::size_t>(seq.tokens.size(), 6));
        if (kvb_seqs_truncate(seqs_, seq.handle, to, nullptr) == KVB_OK) {
            seq.tokens.resize(to);
            seq.digests.resize(to);
        }
        check(seq, seq.tokens.size());
    }

    void end() {
        if (sequences_.empty()) {
            return;
        }
        const Sequence &seq = sequences_.back();
        check(seq, seq.tokens.size());
        if (one_in(random_, 2)) {
            REQUIRE(kvb_seqs_release_after(seqs_, seq.handle, lanes_, ++fence_, nullptr) == KVB_OK);
            if (one_in(random_, 2)) {
                REQUIRE(kvb_lanes_complete(lanes_, 0, fence_, nullptr) == KVB_OK);
            }
        } else {
            REQUIRE(kvb_seqs_release(seqs_, &seq.handle, 1) == KVB_OK);
        }
        sequences_.pop_back();
    }

    // To another thread's registry.
    void send() {
        if (sequences_.empty()) {
            return;
        }
        Parcel parcel{nullptr, sequences_.back()};
        REQUIRE(kvb_seqs_detach(seqs_, parcel.sequence.handle, &parcel.detached, nullptr) == KVB_OK);
        sequences_.pop_back();
        const std::lock_guard<std::mutex> guard(shared_.mailbox.lock);
        shared_.mailbox.parcels.push_back(std::move(parcel));
    }

    void receive() {
        Parcel parcel;
        {
            const std::lock_guard<std::mutex> guard(shared_.mailbox.lock);
            if (shared_.mailbox.parcels.empty()) {
                return;
            }
            parcel = std::move(shared_.mailbox.parcels.front());
            shared_.mailbox.parcels.erase(shared_.mailbox.parcels.begin());
        }
        if (kvb_seqs_attach(seqs_, parcel.detached, &parcel.sequence.handle, nullptr) != KVB_OK) {
            kvb_detached_destroy(parcel.detached);
            return;
        }
        check(parcel.sequence, parcel.sequence.tokens.size());
        done_.moved++;
        sequences_.push_back(std::move(parcel.sequence));
    }

    Shared &shared_;
    Random random_;
    kvb_seqs *seqs_ = nullptr;
    kvb_step *step_ = nullptr;
    kvb_lanes *lanes_ = nullptr;
    std::uint64_t fence_ = 0;
    std::vector<Sequence> sequences_;
    Done done_;
};

// Calls to a pool that others use.
class Keeper {
public:
    Keeper(Shared &shared, std::uint64_t seed) : shared_(shared), random_(seed) {
        REQUIRE(kvb_worker_create(shared.pool, &worker_, nullptr) == KVB_OK);
    }

    Keeper(const Keeper &) = delete;
    Keeper &operator=(const Keeper &) = delete;

    ~Keeper() { kvb_worker_destroy(worker_); }

    void run() {
        while (!shared_.stop.load(std::memory_order_relaxed)) {
            turn();
            std::this_thread::yield();
        }
    }

private:
    void look() {
        const kvb_pool *pool = shared_.pool;
        auto report = sized<kvb_pool_report>();
        REQUIRE(kvb_pool_get_report(pool, &report) == KVB_OK);
        REQUIRE(report.free + report.idle + report.held + report.quarantined == report.capacity);
        REQUIRE(kvb_pool_available(pool) <= kMaxBlocks && kvb_pool_capacity(pool) <= kMaxBlocks);
        REQUIRE(kvb_pool_reserved(pool) <= kMaxBlocks && kvb_pool_quarantined(pool) <= kMaxBlocks);
        static_cast<void>(kvb_pool_check(pool, below(random_, kBlocks), nullptr));
        std::array<char, 2048> text;
        REQUIRE(kvb_pool_report_text(pool, text.data(), text.size(), nullptr) == KVB_OK);
        const std::vector<std::uint32_t> tokens(5 * kBlock, static_cast<std::uint32_t>(below(random_, 3)));
        kvb_prompt prompt{};
        prompt.tokens = tokens.data();
        prompt.token_count = tokens.size();
        kvb_probe probe;
        REQUIRE(kvb_pool_probe(pool, &prompt, &probe, nullptr) == KVB_OK);
    }

    void read_events() {
        std::array<kvb_event, 16> events;
        std::size_t count;
        std::uint64_t lost;
        REQUIRE(kvb_pool_read_events(shared_.pool, &position_, events.data(), events.size(), &count, &lost) == KVB_OK);
        kvb_snapshot *snapshot = nullptr;
        REQUIRE(kvb_pool_snapshot_create(shared_.pool, &snapshot) == KVB_OK);
        kvb_snapshot_destroy(snapshot);
    }

    void resize() {
        const kvb_pool *pool = shared_.pool;
        const std::size_t n = below(random_, 24);
        const kvb_status status = one_in(random_, 2) ? kvb_pool_grow(pool, n, nullptr, nullptr)
                                                     : kvb_pool_shrink(pool, worker_, n, nullptr, nullptr);
        REQUIRE(status == KVB_OK || status == KVB_ERR_BEYOND_MAX || status == KVB_ERR_SHORTFALL ||
                status == KVB_ERR_NOTHING_LEFT || status == KVB_ERR_IN_PROGRESS);
    }

    // A chain of the pool itself: found, made longer, published, given back.
    void chain() {
        const kvb_pool *pool = shared_.pool;
        kvb_reservation *pay = nullptr;
        if (kvb_pool_reserve(pool, 4, &pay, nullptr) != KVB_OK) {
            return;
        }
        const std::vector<std::uint32_t> tokens(4 * kBlock, static_cast<std::uint32_t>(below(random_, 3)));
        kvb_prompt prompt{};
        prompt.tokens = tokens.data();
        prompt.token_count = tokens.size();
        prompt.flags = KVB_PROMPT_FULL_HIT;
        kvb_chain *chain = nullptr;
        REQUIRE(kvb_pool_find(pool, worker_, &prompt, pay, &chain, nullptr) == KVB_OK);
        const std::size_t found = kvb_chain_published(chain), more = 4 - found;
        if (kvb_reservation_blocks(pay) >= more) {
            REQUIRE(kvb_chain_take(chain, worker_, pay, more, nullptr) == KVB_OK);
        }
        const std::uint32_t *ids;
        std::size_t count;
        REQUIRE(kvb_chain_ids(chain, &ids, &count) == KVB_OK);
        std::uint64_t digest = 1;
        for (std::size_t at = 0; at < count * kBlock; at++) {
            digest = digest_after(digest, tokens[at]);
            std::uint64_t &place = memory[ids[at / kBlock]][at % kBlock];
            if (at < found * kBlock) {
                REQUIRE(place == digest);
            } else {
                place = digest;
            }
        }
        kvb_contents contents{};
        contents.tokens = tokens.data() + found * kBlock;
        contents.token_count = (count - found) * kBlock;
        kvb_published published;
        REQUIRE(kvb_chain_publish(chain, worker_, &contents, nullptr, &published, nullptr) == KVB_OK);
        REQUIRE(kvb_chain_release(chain, worker_, nullptr) == KVB_OK);
        kvb_reservation_destroy(pay);
    }

    void turn() {
        const kvb_pool *pool = shared_.pool;
        switch (below(random_, 8)) {
        case 0:
            read_events();
            break;
        case 1:
            resize();
            break;
        case 2:
        case 3:
            chain();
            break;
        case 4:
            REQUIRE(kvb_pool_evict(pool, worker_, below(random_, 4), nullptr, nullptr) == KVB_OK);
            REQUIRE(kvb_pool_maintain(pool, worker_, 4, nullptr, nullptr) == KVB_OK);
            break;
        case 5:
            if (one_in(random_, 8)) {
                REQUIRE(kvb_pool_clear(pool, worker_, nullptr, nullptr, nullptr) == KVB_OK);
            }
            break;
        default:
            look();
            break;
        }
    }

    Shared &shared_;
    Random random_;
    kvb_worker *worker_ = nullptr;
    std::uint64_t position_ = 0;
};

kvb_pool *make_pool() {
    auto config = sized<kvb_pool_config>();
    config.blocks = kBlocks;
    config.max_blocks = kMaxBlocks;
    config.block_size = kBlock;
    config.events = 64;
    kvb_pool *pool = nullptr;
    REQUIRE(kvb_pool_create(&config, &pool, nullptr) == KVB_OK);
    return pool;
}

// All is given back, and the library agrees.
void check_end(Shared &shared, const std::vector<std::unique_ptr<Scheduler>> &schedulers) {
    for (const Parcel &parcel : shared.mailbox.parcels) {
        kvb_detached_destroy(parcel.detached);
    }
    std::vector<kvb_holder> others;
    for (const auto &scheduler : schedulers) {
        others.push_back({KVB_HOLDER_LANES, 0, scheduler->lanes()});
        if (scheduler != schedulers.front()) {
            others.push_back({KVB_HOLDER_SEQS, 0, scheduler->seqs()});
        }
    }
    auto error = sized<kvb_error>();
    if (kvb_seqs_audit(schedulers.front()->seqs(), others.data(), others.size(), &error) != KVB_OK) {
        fail(error.message, __LINE__);
    }
    auto report = sized<kvb_pool_report>();
    REQUIRE(kvb_pool_get_report(shared.pool, &report) == KVB_OK);
    REQUIRE(report.held == 0 && report.quarantined == 0 && report.reserved == 0);
    REQUIRE(report.available == report.free + report.idle);
}

void run(std::size_t rounds) {
    Shared shared;
    shared.pool = make_pool();
    std::vector<std::unique_ptr<Scheduler>> schedulers;
    for (std::size_t at = 0; at < kSchedulers; at++) {
        schedulers.push_back(std::make_unique<Scheduler>(shared, the_seed + at));
    }
    std::vector<std::unique_ptr<Keeper>> keepers;
    for (std::size_t at = 0; at < 2; at++) {
        keepers.push_back(std::make_unique<Keeper>(shared, the_seed + 100 + at));
    }
    std::vector<std::thread> threads, lookers;
    for (const auto &keeper : keepers) {
        lookers.emplace_back([&keeper] { keeper->run(); });
    }
    for (const auto &scheduler : schedulers) {
        threads.emplace_back([&scheduler, rounds] {
            for (std::size_t round = 0; round < rounds; round++) {
                scheduler->turn();
            }
            scheduler->end_all();
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    shared.stop = true;
    for (std::thread &thread : lookers) {
        thread.join();
    }
    check_end(shared, schedulers);
    Done all;
    for (const auto &scheduler : schedulers) {
        const Done &done = scheduler->done();
        all.admitted += done.admitted;
        all.refused += done.refused;
        all.hit += done.hit;
        all.appended += done.appended;
        all.copied += done.copied;
        all.moved += done.moved;
    }
    std::printf("threads: %zu admitted with %zu positions found, %zu refused; %zu appended, %zu copies, %zu moved\n",
                all.admitted, all.hit, all.refused, all.appended, all.copied, all.moved);
    keepers.clear();
    schedulers.clear();
    kvb_pool_destroy(shared.pool);
}

// What the header forbids.
void race() {
    Shared shared;
    shared.pool = make_pool();
    auto config = sized<kvb_seqs_config>();
    config.max_sequences = 64;
    const kvb_pool *pools[] = {shared.pool};
    kvb_seqs *seqs = nullptr;
    REQUIRE(kvb_seqs_create(pools, 1, &config, &seqs, nullptr) == KVB_OK);
    const auto admit_some = [seqs] {
        const std::array<std::uint32_t, 3> tokens{1, 2, 3};
        auto request = sized<kvb_admit>();
        request.prompt.tokens = tokens.data();
        request.prompt.token_count = tokens.size();
        for (int at = 0; at < 8; at++) {
            kvb_admitted admitted;
            static_cast<void>(kvb_seqs_admit(seqs, &request, &admitted, nullptr));
        }
    };
    std::thread other(admit_some);
    admit_some();
    other.join();
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(shared.pool);
}

}  // namespace

int main(int count, char **arguments) {
    std::size_t rounds = 2000;
    the_seed = std::random_device{}();
    for (int at = 1; at < count; at++) {
        const std::string name = arguments[at];
        if (name == "--race") {
            race();
            std::printf("threads: the race was not reported\n");
            return 0;
        }
        const char *value = at + 1 < count ? arguments[++at] : "";
        if (name == "--rounds") {
            rounds = std::strtoul(value, nullptr, 10);
        } else if (name == "--seed") {
            the_seed = std::strtoull(value, nullptr, 10);
        } else {
            std::fprintf(stderr, "usage: threads [--rounds N] [--seed S] | --race\n");
            return 2;
        }
    }
    std::printf("threads: %zu rounds, --seed %llu\n", rounds, static_cast<unsigned long long>(the_seed));
    std::fflush(stdout);
    run(rounds);
    std::printf("threads: done\n");
    return 0;
}
