/** What registries and requests are made with. Part of kvblock.hpp. */
#ifndef KVBLOCK_ADMIT_HPP
#define KVBLOCK_ADMIT_HPP

#include <kvblock.h>
#include <kvblock/format.hpp>
#include <kvblock/handle.hpp>
#include <kvblock/prompt.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

using Cost = kvb_cost;
using Rank = kvb_rank;

/** What a registry is made with. Borrows the formats. */
class SequencesConfig {
public:
    /** Sequences that can live at once, branches included. */
    explicit SequencesConfig(std::size_t max_sequences) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.max_sequences = max_sequences;
    }
    /** Blocks that admissions leave to the growth of those that were admitted. */
    SequencesConfig& watermark(std::size_t blocks) noexcept {
        raw_.watermark = blocks;
        return *this;
    }
    /** Positions up to which sequences get all of their bookkeeping at creation: within them no step allocates. */
    SequencesConfig& positions(std::size_t positions) noexcept {
        raw_.positions = positions;
        return *this;
    }
    template <typename C, detail::if_goes_away<C> = 0>
    SequencesConfig& formats(C&& formats) = delete;
    /** How the content of blocks is laid out: one for each shard. */
    SequencesConfig& formats(View<const Format> formats) noexcept {
        // A format is a pointer and nothing else, as asserted below.
        raw_.formats = reinterpret_cast<const kvb_format* const*>(formats.data());
        raw_.format_count = formats.size();
        return *this;
    }
    /** As C has it. */
    const kvb_seqs_config& raw() const noexcept { return raw_; }

private:
    static_assert(sizeof(Format) == sizeof(kvb_format*));

    kvb_seqs_config raw_{};
};

/** A request. Borrows the prompt. */
class Admit {
public:
    /** Without a promise of growth unless one is said. */
    explicit Admit(const Prompt& prompt) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.prompt = prompt.raw();
    }
    /** At most so many positions beyond the prompt, and room for all of them: an append within never fails. */
    Admit& cap(std::size_t positions) noexcept { return growth(KVB_GROWTH_CAP, positions); }
    /** So many blocks are set aside, made up again at block borders. */
    Admit& ahead(std::size_t blocks) noexcept { return growth(KVB_GROWTH_AHEAD, blocks); }
    /** The need is held against the capacity as if nothing were shared. */
    Admit& conservative() noexcept { return flag(KVB_ADMIT_CONSERVATIVE); }
    /** Nobody else will find its blocks. */
    Admit& unpublished() noexcept { return flag(KVB_ADMIT_UNPUBLISHED); }
    /** It returns after a preemption. */
    Admit& returning() noexcept { return flag(KVB_ADMIT_RETURNING); }
    /** Your name for it. */
    Admit& label(std::uint64_t label) noexcept {
        raw_.label = label;
        return *this;
    }
    /** As C has it. */
    const kvb_admit& raw() const noexcept { return raw_; }

private:
    Admit& growth(std::uint32_t kind, std::size_t amount) noexcept {
        raw_.growth = kind;
        raw_.growth_amount = amount;
        return *this;
    }
    Admit& flag(std::uint32_t flag) noexcept {
        raw_.flags |= flag;
        return *this;
    }

    kvb_admit raw_{};
};

/** An admitted sequence. */
struct Admitted {
    /** Its name from now on. */
    Handle seq;
    /** Positions that were found: compute from there on. */
    std::size_t hit = 0;
    /** Blocks that were taken for the rest, on the shard that took the fewest. */
    std::size_t fresh = 0;
};

}  // namespace kvblock

#endif  // KVBLOCK_ADMIT_HPP
