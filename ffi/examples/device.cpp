#include "device.hpp"

#include <thread>
#include <utility>

Launch Device::complete() {
    if (step_time_.count() > 0) std::this_thread::sleep_for(step_time_);
    Launch step = std::move(under_way_.front());
    under_way_.pop_front();
    if (makes_copies_) {
        for (const auto& copy : step.copies) memory_.copy(copy);
    }
    for (auto& work : step.work) {
        const auto& request = work.sequence->request->submit;
        auto digest = work.predecessor < 0 ? model::start(request.tenant) : memory_.read(work.predecessor);
        for (std::size_t i = 0; i < work.count; ++i) {
            const auto token =
                work.drawn ? model::sample(digest, work.sequence->branch) : work.sequence->tokens[work.first + i];
            digest = model::digest(token, digest);
            memory_.write(step.slots[work.at + i], digest);
        }
        work.last = digest;
    }
    return step;
}
