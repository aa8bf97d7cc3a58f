/** How the content of blocks is laid out. Part of kvblock.hpp. */
#ifndef KVBLOCK_FORMAT_HPP
#define KVBLOCK_FORMAT_HPP

#include <kvblock.h>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <cstdint>

namespace kvblock {

/** How the content of one shard's blocks is laid out. */
class Format : public Object<kvb_format, kvb_format_destroy> {
public:
    using Object::Object;
    /** Positions of a block, a number of yours for the type of their elements, and the bytes of a block in each plane. */
    static Result<Format> create(std::size_t block_size, std::uint32_t element, View<const std::uint64_t> planes) noexcept {
        return detail::made<Format, kvb_format>([&](kvb_format** out, kvb_error* error) {
            return kvb_format_create(block_size, element, planes.data(), planes.size(), out, error);
        });
    }
    /** Bytes of a block in all planes. */
    std::uint64_t block_bytes() const noexcept { return kvb_format_block_bytes(get()); }
};

}  // namespace kvblock

#endif  // KVBLOCK_FORMAT_HPP
