/** The figures of a fleet. Part of kvblock.hpp. */
#ifndef KVBLOCK_FLEET_REPORT_HPP
#define KVBLOCK_FLEET_REPORT_HPP

#include <kvblock.h>
#include <kvblock/object.hpp>
#include <kvblock/result.hpp>
#include <kvblock/sequences.hpp>
#include <kvblock/view.hpp>

#include <cstddef>

namespace kvblock {

using FleetStatistics = kvb_fleet_statistics;
using MemberReport = kvb_member_report;
using ModelReport = kvb_model_report;

/** The figures of a fleet at one look. Any thread may use it. */
class FleetReport : public Object<kvb_fleet_report, kvb_fleet_report_destroy> {
public:
    using Object::Object;
    /** How many instances there are, in the order in which they were added. */
    std::size_t instances() const noexcept { return kvb_fleet_report_instances(get()); }
    /** One instance as a member of the fleet. */
    Result<MemberReport> member(std::size_t at) const noexcept {
        return detail::sized<MemberReport>(
            [&](MemberReport* out) { return kvb_fleet_report_get_member(get(), at, out); });
    }
    /** One instance, as `Sequences::report` tells it. */
    Result<SequencesReport> instance(std::size_t at) const noexcept {
        return detail::sized<SequencesReport>(
            [&](SequencesReport* out) { return kvb_fleet_report_get_instance(get(), at, out); });
    }
    /** How many models there are, by their numbers. */
    std::size_t models() const noexcept { return kvb_fleet_report_models(get()); }
    /** One model. */
    Result<ModelReport> model(std::size_t at) const noexcept {
        return detail::sized<ModelReport>([&](ModelReport* out) { return kvb_fleet_report_get_model(get(), at, out); });
    }
    /** What had become of the requests. */
    Result<FleetStatistics> statistics() const noexcept {
        return detail::sized<FleetStatistics>(
            [&](FleetStatistics* out) { return kvb_fleet_report_get_statistics(get(), out); });
    }
    /** All of it for a person to read; how long the text is. */
    Result<std::size_t> text(View<char> room) const noexcept {
        return detail::plain<std::size_t>(
            [&](std::size_t& length) { return kvb_fleet_report_text(get(), room.data(), room.size(), &length); });
    }
};

}  // namespace kvblock

#endif  // KVBLOCK_FLEET_REPORT_HPP
