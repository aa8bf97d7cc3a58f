/** Which prompts may share blocks, and what is looked up. Part of kvblock.hpp. */
#ifndef KVBLOCK_PROMPT_HPP
#define KVBLOCK_PROMPT_HPP

#include <kvblock.h>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvblock {

/** What tells blocks of equal tokens apart. */
using ExtraKey = kvb_extra_key;

/** The parts of a namespace. Those that are not set differ from empty ones. Borrows them: none may be a string that goes away. */
class NamespaceParts {
public:
    NamespaceParts() noexcept { raw_.struct_size = sizeof raw_; }
    template <typename S, detail::if_goes_away<S> = 0>
    NamespaceParts& adapter(S&& name, std::uint64_t version) = delete;
    template <typename S, detail::if_goes_away<S> = 0>
    NamespaceParts& salt(S&& salt) = delete;
    template <typename S, detail::if_goes_away<S> = 0>
    NamespaceParts& domain(S&& domain) = delete;
    /** The adapter's name and version. */
    NamespaceParts& adapter(std::string_view name, std::uint64_t version) noexcept {
        raw_.adapter = bytes(name);
        raw_.adapter_size = name.size();
        raw_.adapter_version = version;
        return *this;
    }
    /** Prompts share blocks only under an equal one. */
    NamespaceParts& salt(std::string_view salt) noexcept {
        raw_.salt = bytes(salt);
        raw_.salt_size = salt.size();
        return *this;
    }
    /** Anything else that keeps prompts apart. */
    NamespaceParts& domain(std::string_view domain) noexcept {
        raw_.domain = bytes(domain);
        raw_.domain_size = domain.size();
        return *this;
    }
    /** As C has it. */
    const kvb_namespace_parts& raw() const noexcept { return raw_; }

private:
    // An empty view may have no address, which would mean that the part is not set.
    static const unsigned char* bytes(std::string_view text) noexcept {
        return reinterpret_cast<const unsigned char*>(text.data() != nullptr ? text.data() : "");
    }

    kvb_namespace_parts raw_{};
};

/**
 * What decides K/V besides the tokens. An empty one, moved from for instance, is none: calls with it are refused as `KVB_ERR_NULL`. The
 * bare model's is meant where none is said.
 */
class Namespace : public Object<kvb_namespace, kvb_namespace_destroy> {
public:
    using Object::Object;
    /** Makes one of its parts, whose bytes are copied. */
    static Result<Namespace> create(const NamespaceParts& parts) noexcept {
        return detail::made<Namespace, kvb_namespace>(
            [&](kvb_namespace** out, kvb_error*) { return kvb_namespace_create(&parts.raw(), out); });
    }
};

/** What is to be computed. Borrows all that it is made of: none may be a container or an object that goes away. */
class Prompt {
public:
    template <typename C, detail::if_goes_away<C> = 0>
    explicit Prompt(C&& tokens) = delete;
    Prompt& space(const Namespace&& space) = delete;
    template <typename C, detail::if_goes_away<C> = 0>
    Prompt& extra(C&& extra) = delete;
    template <typename C, detail::if_goes_away<C> = 0>
    Prompt& keys(C&& keys) = delete;
    /** Its tokens, a partial last block included. */
    explicit Prompt(View<const std::uint32_t> tokens = {}) noexcept {
        raw_.tokens = tokens.data();
        raw_.token_count = tokens.size();
    }
    /** Whose blocks may match; the bare model's unless it is said. */
    Prompt& space(const Namespace& space) noexcept {
        raw_.space = space.get();
        // To C, null alone would be the bare model's.
        constexpr std::uint32_t none = KVB_PROMPT_NO_SPACE;
        raw_.flags = space ? raw_.flags & ~none : raw_.flags | none;
        return *this;
    }
    /** One for each whole block. */
    Prompt& extra(View<const ExtraKey> extra) noexcept {
        raw_.extra = extra.data();
        raw_.extra_count = extra.size();
        return *this;
    }
    /** Your own chain key for each whole block. */
    Prompt& keys(View<const std::uint64_t> keys) noexcept {
        raw_.keys = keys.data();
        raw_.key_count = keys.size();
        return *this;
    }
    /** All whole blocks may match, even if nothing is left to compute. */
    Prompt& full_hit() noexcept {
        raw_.flags |= KVB_PROMPT_FULL_HIT;
        return *this;
    }
    /** As C has it. */
    const kvb_prompt& raw() const noexcept { return raw_; }

private:
    kvb_prompt raw_{};
};

/** What some positions contain. Borrows all that it is made of: none may be a container that goes away. */
class Contents {
public:
    template <typename C, detail::if_goes_away<C> = 0>
    explicit Contents(C&& tokens) = delete;
    template <typename C, detail::if_goes_away<C> = 0>
    Contents& extra(C&& extra) = delete;
    template <typename C, detail::if_goes_away<C> = 0>
    Contents& keys(C&& keys) = delete;
    explicit Contents(View<const std::uint32_t> tokens = {}) noexcept {
        raw_.tokens = tokens.data();
        raw_.token_count = tokens.size();
    }
    /** One for each block that these tokens complete. */
    Contents& extra(View<const ExtraKey> extra) noexcept {
        raw_.extra = extra.data();
        raw_.extra_count = extra.size();
        return *this;
    }
    /** Your own chain key for each of these blocks. */
    Contents& keys(View<const std::uint64_t> keys) noexcept {
        raw_.keys = keys.data();
        raw_.key_count = keys.size();
        return *this;
    }
    /** As C has it. */
    const kvb_contents& raw() const noexcept { return raw_; }

private:
    kvb_contents raw_{};
};

}  // namespace kvblock

#endif  // KVBLOCK_PROMPT_HPP
