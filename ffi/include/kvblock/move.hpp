/** Sequences on their way between instances of a fleet. Part of kvblock.hpp. */
#ifndef KVBLOCK_MOVE_HPP
#define KVBLOCK_MOVE_HPP

#include <kvblock.h>
#include <kvblock/handle.hpp>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/transfer.hpp>

#include <cstdint>

namespace kvblock {

using Route = kvb_route;

/** Under which terms a sequence is moved. Borrows the flights. */
class MoveTerms {
public:
    MoveTerms& flights(const Flights&& flights) = delete;
    /** So many writers fill each block; what they read is held for an owner until a deadline. */
    MoveTerms(std::uint32_t writers, std::uint64_t owner, std::uint64_t deadline) noexcept {
        raw_.struct_size = sizeof raw_;
        raw_.writers = writers;
        raw_.owner = owner;
        raw_.deadline = deadline;
    }
    /** Where the bytes under way are counted. */
    MoveTerms& flights(const Flights& flights) noexcept {
        raw_.flights = flights.get();
        whole_ = static_cast<bool>(flights);
        return *this;
    }
    /** Whether no object that it was given was an empty one: they are refused as `KVB_ERR_NULL` then. */
    bool whole() const noexcept { return whole_; }
    /** As C has it. */
    const kvb_move_terms& raw() const noexcept { return raw_; }

private:
    kvb_move_terms raw_{};
    bool whole_ = true;
};

/** A sequence on its way from one instance to another. `Fleet` starts, finishes and aborts it. */
class Move : public Object<kvb_move, kvb_move_destroy> {
public:
    using Object::Object;
    /** Where it comes from and where it goes. */
    Result<Route> route() const noexcept {
        return detail::sized<Route>([&](Route* out) { return kvb_move_get_route(get(), out); });
    }
    /** What is read, as long as the move lives. */
    Lent<const Export> source() const noexcept {
        // The functions that it is given to do not change it.
        return Lent<const Export>(const_cast<kvb_export*>(kvb_move_export(get())));
    }
    /** What is filled, as long as the move lives. */
    Lent<const Import> destination() const noexcept {
        return Lent<const Import>(const_cast<kvb_import*>(kvb_move_import(get())));
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_MOVE_HPP
