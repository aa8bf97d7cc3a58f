// One scheduler's registry, its device and its step buffers: everything that is done to K/V, and every call that does it.
#pragma once

#include <kvblock.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "kv_memory.hpp"
#include "sequence.hpp"

using SequencePtr = std::shared_ptr<Sequence>;

// A mistake that is made on purpose, to see that it is caught.
enum class Fault {
    none,
    // What is released comes back although the step under way still writes to it.
    no_fence,
    // Copies are said to be made, and are not.
    no_copy,
    // Tenants share a namespace.
    no_namespace,
    // A prompt is said to be written when its first chunk is.
    early,
};

class Engine {
  public:
    struct Settings {
        std::size_t sequences;
        std::size_t watermark;
        // Blocks set aside for requests that ask for growth ahead.
        std::size_t ahead;
        std::chrono::microseconds step_time;
        Fault fault;
    };

    Engine(kvblock::PoolRef pool, const Settings& settings, KvMemory& memory);

    enum class Admission { done, later, never };

    // Whether a request could run if it were alone, with all of its answer; if not, `why` says it.
    bool could_ever_run(const Sequence& sequence, std::string& why);

    // Takes blocks for all tokens of a sequence. What is found of them need not be computed.
    Admission admit(const SequencePtr& sequence, std::size_t& hit, std::string& why);

    // Who got no position.
    struct Shortage {
        std::vector<SequencePtr> sequences;
        // Blocks that they need in all.
        std::size_t needed = 0;
    };
    // Appends one position to each of these, all of which are decoding, and puts them into the next launch.
    Shortage decode(const std::vector<SequencePtr>& batch);

    // Puts the next `count` positions of the prompt into the next launch.
    void prefill(const SequencePtr& sequence, std::size_t count);

    // Of `order`, who has to go so that `blocks` more come back, or as many as there are. Who would free nothing is left out.
    std::vector<SequencePtr> victims(const std::vector<SequencePtr>& order, std::size_t blocks);

    // Makes so many more sequences of one whose prompt is computed; they have no tokens of an answer. None, if there is no room.
    std::vector<SequencePtr> fork(const SequencePtr& parent, std::uint64_t count);

    // Gives the sequence back when the device is done with it; before that, all that is computed is compared with the tokens.
    void end(const SequencePtr& sequence);
    void preempt(const SequencePtr& sequence);

    // Gives the step to the device, if there is anything in it.
    bool launch();
    std::size_t under_way() const { return device_.under_way(); }

    // Waits for the oldest step under way, and gives back what waited for it. Results are of sequences that have not ended: `last` is the
    // digest of the last position that the step wrote, and `draws` says that the next token is drawn from it.
    struct Result {
        SequencePtr sequence;
        bool draws;
        model::Digest last;
    };
    std::vector<Result> complete();

    // Tells the registry what results came to: to be called when the tokens drawn from them have been added.
    void advance(const std::vector<Result>& results);

    // Replaces a sequence's copies of blocks that others had computed before by theirs.
    void adopt_duplicates(const SequencePtr& sequence);

    const kvblock::Sequences& registry() const { return registry_; }
    const kvblock::Lanes& lanes() const { return lanes_; }
    // Blocks that are there, or come back when the device is done with them.
    std::size_t coming() const;
    std::uint64_t copies() const { return copies_; }
    std::uint64_t adopted() const { return adopted_; }

  private:
    kvblock::Prompt prompt_of(const Sequence& sequence);
    kvblock::Admit request_of(const Sequence& sequence);
    void read_table(Sequence& sequence);
    // Up to where the device must have come before the sequence's blocks may be given to others.
    std::uint64_t fence_of(const Sequence& sequence) const;
    void add_work(const SequencePtr& sequence, std::size_t first, std::size_t count, bool drawn);
    std::int64_t slot(const Sequence& sequence, std::size_t position) const;

    // What is to be compared when the device has passed a fence.
    struct Check {
        SequencePtr sequence;
        const char* when;
        std::vector<int32_t> table;
        std::size_t positions;
    };
    void check(const Check& check) const;
    // Takes out what the sequence was in the registry, which has it still.
    void leave(const SequencePtr& sequence, const char* when);

    kvblock::PoolRef pool_;
    Settings settings_;
    KvMemory& memory_;
    kvblock::Sequences registry_;
    kvblock::Lanes lanes_;
    kvblock::Step step_;
    Device device_;
    // The step that is being made.
    Launch next_;
    std::uint64_t passed_ = 0;
    std::multimap<std::uint64_t, Check> checks_;
    std::map<std::uint64_t, kvblock::Namespace> spaces_;
    std::uint64_t copies_ = 0;
    std::uint64_t adopted_ = 0;
};
