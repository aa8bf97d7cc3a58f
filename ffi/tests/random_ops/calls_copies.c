/* Copies in place: what a plan's waves leave, copied in the worst order, is what its pairs leave one after another. */
#include "model.h"

#include <string.h>

enum { PLANES = 2, MANY = 24, MOST = 30, WIDE = 8 };

static unsigned char bytes[PLANES][MANY][WIDE];

struct pair {
    uint32_t from;
    uint32_t to;
};

static void fill(void) {
    for (size_t plane = 0; plane < PLANES; plane++) {
        for (size_t block = 0; block < MANY; block++) {
            for (size_t at = 0; at < WIDE; at++) {
                bytes[plane][block][at] = (unsigned char)(1 + plane * 100 + block * 3 + at * 7);
            }
        }
    }
}

/* The first pair that can't be, and why. */
static struct answer plan_pairs(const struct pair *pairs, size_t count, uint32_t *which) {
    for (size_t at = 0; at < count; at++) {
        *which = (uint32_t)at;
        if (pairs[at].from >= MANY) {
            return refused(KVB_ERR_NO_SUCH_BLOCK, NO_SHARD, pairs[at].from, 0, MANY);
        }
        if (pairs[at].to >= MANY) {
            return refused(KVB_ERR_NO_SUCH_BLOCK, NO_SHARD, pairs[at].to, 1, MANY);
        }
        if (pairs[at].from == pairs[at].to) {
            return refused(KVB_ERR_ONTO_ITSELF, NO_SHARD, pairs[at].from, 0, 0);
        }
        for (size_t before = 0; before < at; before++) {
            if (pairs[before].to == pairs[at].to) {
                return refused(KVB_ERR_DUPLICATE_DESTINATION, NO_SHARD, pairs[at].to, before, 0);
            }
        }
    }
    return done();
}

/* One wave later than the last pair that writes what it reads, or reads what it writes. */
static size_t place_pairs(const struct pair *pairs, size_t count, size_t *waves) {
    size_t most = 0;
    for (size_t at = 0; at < count; at++) {
        waves[at] = 0;
        for (size_t before = 0; before < at; before++) {
            bool meets = pairs[before].to == pairs[at].from || pairs[before].from == pairs[at].to;
            if (meets && waves[before] + 1 > waves[at]) {
                waves[at] = waves[before] + 1;
            }
        }
        most = waves[at] + 1 > most ? waves[at] + 1 : most;
    }
    return most;
}

static void compare_wave(const kvb_copy_plan *plan, size_t wave, const struct pair *pairs, size_t count,
                         const size_t *waves) {
    uint32_t sources[MOST], destinations[MOST];
    size_t listed = 0, wanted = 0;
    expect(kvb_copy_plan_wave(plan, wave, sources, destinations, MOST, &listed, NULL), done(), NULL, "a wave");
    for (size_t at = 0; at < count; at++) {
        bool found = false;
        for (size_t i = 0; i < listed; i++) {
            found |= sources[i] == pairs[at].from && destinations[i] == pairs[at].to;
        }
        REQUIRE(found == (waves[at] == wave), "pair %zu is in another wave than %zu", at, waves[at]);
        wanted += waves[at] == wave;
    }
    REQUIRE(listed == wanted, "%zu pairs in wave %zu instead of %zu", listed, wave, wanted);
    for (size_t i = 1; i < listed; i++) {
        REQUIRE(sources[i - 1] <= sources[i], "a wave that is not in the order of its sources");
    }
}

void call_copies(void) {
    const size_t stride = sizeof bytes[0][0], dense = one_in(2) ? stride : stride - 3;
    const kvb_plane planes[PLANES] = {{(uint64_t)(uintptr_t)bytes[0], stride, stride},
                                      {(uint64_t)(uintptr_t)bytes[1], stride, dense}};
    kvb_layout *layout = NULL;
    kvb_copy_route *route = NULL;
    kvb_copy_plan *plan = NULL;
    expect(kvb_layout_create(planes, PLANES, MANY, &layout, NULL), done(), NULL, "create a layout");
    expect(kvb_copy_route_create(layout, layout, &route, NULL), done(), NULL, "create a route");
    expect(kvb_copy_plan_create(route, below(MOST), &plan, NULL), done(), NULL, "create a plan");
    kvb_layout_destroy(layout);
    kvb_copy_route_destroy(route);
    struct pair kept[MOST], pairs[MOST];
    size_t kept_count = 0;
    for (size_t turn = 0; turn < 4; turn++) {
        uint32_t sources[MOST], destinations[MOST], which = 0;
        size_t count = below(MOST);
        for (size_t at = 0; at < count; at++) {
            pairs[at].from = (uint32_t)below(one_in(50) ? MANY + 2 : MANY);
            pairs[at].to = (uint32_t)below(one_in(50) ? MANY + 2 : MANY);
            for (size_t tries = 0; tries < 8 && plan_pairs(pairs, at + 1, &which).status != KVB_OK; tries++) {
                pairs[at].to = (uint32_t)below(MANY);
            }
            sources[at] = pairs[at].from;
            destinations[at] = pairs[at].to;
        }
        kvb_error error = {.struct_size = sizeof error};
        struct answer answer = plan_pairs(pairs, count, &which);
        expect(kvb_copy_plan_set(plan, sources, destinations, count, &error), answer, &error, "set a plan");
        if (answer.status == KVB_OK) {
            memcpy(kept, pairs, sizeof kept);
            kept_count = count;
        } else {
            REQUIRE(error.which == which, "pair %u is refused instead of %u", error.which, which);
            saw("a plan refused");
        }
        size_t waves[MOST], wave_count = place_pairs(kept, kept_count, waves);
        REQUIRE(kvb_copy_plan_pairs(plan) == kept_count && kvb_copy_plan_waves(plan) == wave_count &&
                    kvb_copy_plan_bytes(plan) == kept_count * (stride + dense),
                "%zu pairs in %zu waves instead of %zu in %zu", kvb_copy_plan_pairs(plan), kvb_copy_plan_waves(plan),
                kept_count, wave_count);
        static unsigned char expected[PLANES][MANY][WIDE];
        fill();
        memcpy(expected, bytes, sizeof bytes);
        for (size_t at = 0; at < kept_count; at++) {
            memcpy(expected[0][kept[at].to], expected[0][kept[at].from], stride);
            memcpy(expected[1][kept[at].to], expected[1][kept[at].from], dense);
        }
        for (size_t wave = 0; wave < wave_count; wave++) {
            kvb_pair_run runs[PLANES * MOST];
            size_t run_count = 0;
            compare_wave(plan, wave, kept, kept_count, waves);
            kvb_status status = kvb_copy_plan_wave_runs(plan, wave, runs, PLANES * MOST, &run_count, NULL);
            expect(status, done(), NULL, "runs of a wave");
            for (size_t at = run_count; at-- > 0;) {
                memmove((void *)(uintptr_t)runs[at].destination, (const void *)(uintptr_t)runs[at].source,
                        (size_t)runs[at].bytes);
            }
        }
        REQUIRE(memcmp(expected, bytes, sizeof bytes) == 0, "other bytes than pair after pair");
        saw(wave_count > 1 ? "a plan in waves" : "a plan");
    }
    kvb_copy_plan_destroy(plan);
}
