/** Reports in the text format that Prometheus reads. Part of kvblock.hpp. */
#ifndef KVBLOCK_METRICS_HPP
#define KVBLOCK_METRICS_HPP

#include <kvblock.h>
#include <kvblock/fleet.hpp>
#include <kvblock/leases.hpp>
#include <kvblock/object.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/result.hpp>
#include <kvblock/sequences.hpp>
#include <kvblock/view.hpp>

#include <cstddef>
#include <string_view>

namespace kvblock {

/** Says whose a report is: `{name, value}`, each ended by a zero. */
using Label = kvb_label;

/** A page of metrics. Make one for each answer. */
class Metrics : public Object<kvb_metrics, kvb_metrics_destroy> {
public:
    using Object::Object;
    /** An empty page. */
    static Result<Metrics> create() noexcept {
        return detail::made<Metrics, kvb_metrics>(
            [&](kvb_metrics** out, kvb_error*) { return kvb_metrics_create(out); });
    }
    /** Adds the figures of a pool. */
    Result<void> add(View<const Label> labels, PoolRef pool) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_metrics_add_pool(get(), labels.data(), labels.size(), pool.get(), error);
        });
    }
    /** Adds the figures of an instance, of its ranks and of its shards with their pools. */
    Result<void> add(View<const Label> labels, const Sequences& seqs) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_metrics_add_seqs(get(), labels.data(), labels.size(), seqs.get(), error);
        });
    }
    /** Adds the figures of a registry on one shard, without those of its pool. */
    Result<void> add_registry(View<const Label> labels, const Sequences& seqs, std::size_t shard = 0) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_metrics_add_registry(get(), labels.data(), labels.size(), seqs.get(), shard, error);
        });
    }
    /** Adds the figures of a table of leases on one shard. */
    Result<void> add(View<const Label> labels, const Leases& leases, std::size_t shard = 0) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_metrics_add_leases(get(), labels.data(), labels.size(), leases.get(), shard, error);
        });
    }
    /** Adds the figures of a fleet, its models and its instances. */
    Result<void> add(View<const Label> labels, const Fleet& fleet) noexcept {
        return detail::told([&](kvb_error* error) {
            return kvb_metrics_add_fleet(get(), labels.data(), labels.size(), fleet.get(), error);
        });
    }
    /** Writes the page with a zero at its end; how long all of it is. */
    Result<std::size_t> text(View<char> room) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& length) { return kvb_metrics_text(get(), room.data(), room.size(), &length); });
    }
    /** The page, until it is asked for again. */
    Result<std::string_view> page() noexcept {
        return detail::plain<std::string_view>([&](std::string_view& out) {
            const char* text = nullptr;
            std::size_t length = 0;
            const kvb_status status = kvb_metrics_page(get(), &text, &length);
            if (status == KVB_OK) out = {text, length};
            return status;
        });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_METRICS_HPP
