// Owners for the opaque objects of kvblock.h, and one way to treat a call that must succeed.
#pragma once

#include <kvblock.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

template <auto destroy>
struct Destroy {
    template <class Object>
    void operator()(Object* object) const {
        destroy(object);
    }
};

using Pool = std::unique_ptr<kvb_pool, Destroy<kvb_pool_destroy>>;
using Seqs = std::unique_ptr<kvb_seqs, Destroy<kvb_seqs_destroy>>;
using Lanes = std::unique_ptr<kvb_lanes, Destroy<kvb_lanes_destroy>>;
using Step = std::unique_ptr<kvb_step, Destroy<kvb_step_destroy>>;
using Namespace = std::unique_ptr<kvb_namespace, Destroy<kvb_namespace_destroy>>;

// A zeroed struct that knows its size.
template <class Struct>
Struct sized() {
    Struct made{};
    made.struct_size = sizeof(Struct);
    return made;
}

// For calls whose failure is a bug of the server: the process says which and ends with status 3.
inline void must(kvb_status status, const char* call) {
    if (status == KVB_OK) return;
    std::fprintf(stderr, "server: %s: %s (%s)\n", call, kvb_status_message(status), kvb_status_name(status));
    std::_Exit(3);
}
