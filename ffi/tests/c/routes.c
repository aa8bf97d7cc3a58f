/* Layouts with an inside, routes between them, and plans: exact figures, every byte that a mover in C copies by them, and what is refused. */
#include "make.h"
#include "refused.h"

static kvb_error error = {.struct_size = sizeof(kvb_error)};

#define BLOCKS 6
#define POSITIONS 4
#define HEADS 4
#define HEAD_BYTES 8
#define TILE_BYTES (2 * POSITIONS * HEADS * HEAD_BYTES)

static const kvb_tile nhd = {KVB_ORDER_NHD, 2, POSITIONS, HEADS, HEAD_BYTES};
static const kvb_tile hnd = {KVB_ORDER_HND, 2, POSITIONS, HEADS, HEAD_BYTES};
static const kvb_tile opaque = {KVB_ORDER_OPAQUE, 0, 0, 0, 0};

static kvb_layout *make_layout(const kvb_plane *planes, const kvb_tile *tiles, size_t count, size_t blocks, uint32_t memory) {
    kvb_layout *layout = NULL;
    CHECK_OK(kvb_layout_create_tiled(planes, tiles, count, blocks, memory, &layout, NULL));
    CHECK_EQ(kvb_layout_memory(layout), memory);
    return layout;
}

static kvb_copy_route *make_route(const kvb_layout *source, const kvb_layout *destination) {
    kvb_copy_route *route = NULL;
    CHECK_OK(kvb_copy_route_create(source, destination, &route, NULL));
    return route;
}

static kvb_copy_plan *make_plan(const kvb_copy_route *route, size_t pairs) {
    kvb_copy_plan *plan = NULL;
    CHECK_OK(kvb_copy_plan_create(route, pairs, &plan, NULL));
    CHECK(kvb_copy_plan_pairs(plan) == 0 && kvb_copy_plan_waves(plan) == 0 && kvb_copy_plan_bytes(plan) == 0);
    return plan;
}

static void tiles(void) {
    const kvb_plane planes[2] = {{4096, TILE_BYTES, TILE_BYTES}, {65536, 64, 8}};
    const kvb_tile inside[2] = {nhd, opaque};
    kvb_layout *layout = make_layout(planes, inside, 2, BLOCKS, 7);
    CHECK_EQ(kvb_layout_block_bytes(layout), TILE_BYTES + 8);
    kvb_layout_destroy(layout);
    layout = make_layout(planes, NULL, 2, BLOCKS, 8);
    kvb_layout_destroy(layout);
    layout = NULL;
    CHECK_OK(kvb_layout_create(planes, 2, BLOCKS, &layout, NULL));
    CHECK(kvb_layout_memory(layout) == 0 && kvb_layout_memory(NULL) == 0);
    kvb_layout_destroy(layout);

    layout = NULL;
    kvb_tile wrong[2] = {nhd, nhd};
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create_tiled(planes, wrong, 2, BLOCKS, 0, &layout, &error));
    CHECK(error.which == 1 && error.needed == TILE_BYTES && error.available == 8);
    wrong[0].heads = UINT32_MAX;
    wrong[0].positions = UINT32_MAX;
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create_tiled(planes, wrong, 2, BLOCKS, 0, &layout, &error));
    CHECK_EQ(error.which, 0);
    wrong[0] = nhd;
    wrong[0].order = 3;
    REFUSED(KVB_ERR_INVALID, kvb_layout_create_tiled(planes, wrong, 2, BLOCKS, 0, &layout, &error));
    wrong[0] = opaque;
    wrong[0].head_bytes = 1;
    REFUSED(KVB_ERR_INVALID, kvb_layout_create_tiled(planes, wrong, 2, BLOCKS, 0, &layout, &error));
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create_tiled(planes, inside, 0, BLOCKS, 0, &layout, &error));
    REFUSED(KVB_ERR_TOO_MANY_BLOCKS, kvb_layout_create_tiled(planes, inside, 2, 1 << 25, 0, &layout, &error));
    REFUSED(KVB_ERR_LENGTH, kvb_layout_create_tiled(planes, inside, SIZE_MAX, BLOCKS, 0, &layout, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_create_tiled(NULL, inside, 2, BLOCKS, 0, &layout, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_create_tiled(planes, inside, 2, BLOCKS, 0, NULL, &error));
    CHECK(layout == NULL);
}

/* The order of heads is part of the format that a registry keeps: a sequence does not go as bytes to where they mean something else. */
static void formats(void) {
    kvb_seqs *seqs[3];
    const kvb_tile inside[3] = {nhd, hnd, nhd};
    for (uint32_t i = 0; i < 3; i++) {
        const kvb_plane plane = {0, TILE_BYTES, TILE_BYTES};
        kvb_layout *layout = make_layout(&plane, &inside[i], 1, BLOCKS, i);
        kvb_format *format = NULL;
        CHECK_OK(kvb_layout_format(layout, POSITIONS, 1, &format, NULL));
        CHECK_EQ(kvb_format_block_bytes(format), TILE_BYTES);
        kvb_pool *pool = make_pool(i, BLOCKS, 0, POSITIONS);
        kvb_seqs_config config = seqs_config(2);
        const kvb_format *const formats[1] = {format};
        config.formats = formats;
        config.format_count = 1;
        const kvb_pool *const pools[1] = {pool};
        CHECK_OK(kvb_seqs_create(pools, 1, &config, &seqs[i], NULL));
        kvb_pool_destroy(pool);
        kvb_format_destroy(format);
        kvb_layout_destroy(layout);
    }
    uint32_t tokens[6];
    count_up(tokens, LENGTH(tokens), 1);
    kvb_handle seq = admit(seqs[0], tokens, 6, 1).seq;
    CHECK_OK(kvb_seqs_computed(seqs[0], seq, 6, NULL));
    kvb_leases *leases = NULL;
    CHECK_OK(kvb_seqs_leases_create(seqs[0], 8, &leases));
    kvb_admit asked = request(tokens, 6);
    kvb_swap *swap = NULL;
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_seqs_swap_to(seqs[0], seq, seqs[1], &asked, leases, 1, &swap, &error));
    CHECK_EQ(error.which, 0);
    CHECK_OK(kvb_seqs_swap_to(seqs[0], seq, seqs[2], &asked, leases, 1, &swap, &error));
    kvb_swap_destroy(swap);
    kvb_leases_destroy(leases);
    for (size_t i = 0; i < 3; i++) kvb_seqs_destroy(seqs[i]);
}

static void routes(void) {
    const kvb_plane here[2] = {{4096, TILE_BYTES, TILE_BYTES}, {65536, 64, 8}};
    const kvb_plane there[2] = {{8192, 2 * TILE_BYTES, TILE_BYTES}, {131072 + 4, 16, 8}};
    const kvb_tile source_tiles[2] = {nhd, opaque}, destination_tiles[2] = {hnd, opaque};
    kvb_layout *source = make_layout(here, source_tiles, 2, BLOCKS, 0);
    kvb_layout *destination = make_layout(there, destination_tiles, 2, 9, 1);
    kvb_copy_route *route = make_route(source, destination);
    CHECK_EQ(kvb_copy_route_block_bytes(route), TILE_BYTES + 8);
    CHECK(!kvb_copy_route_is_in_place(route) && !kvb_copy_route_is_in_place(NULL) && kvb_copy_route_block_bytes(NULL) == 0);
    kvb_plane_copy planes[3];
    memset(planes, 0x55, sizeof planes);
    size_t count = 77;
    CHECK_OK(kvb_copy_route_planes(route, planes, 3, &count, NULL));
    CHECK_EQ(count, 2);
    const kvb_plane_copy *it = &planes[0];
    CHECK(it->plane == 0 && it->kind == KVB_COPY_PERMUTE && it->access == 8 && it->bytes == TILE_BYTES);
    CHECK(it->source_base == 4096 && it->source_stride == TILE_BYTES);
    CHECK(it->destination_base == 8192 && it->destination_stride == 2 * TILE_BYTES);
    CHECK(it->parts == 2 && it->positions == POSITIONS && it->heads == HEADS && it->head_bytes == HEAD_BYTES);
    CHECK(it->source.part == TILE_BYTES / 2 && it->source.position == HEADS * HEAD_BYTES && it->source.head == HEAD_BYTES);
    CHECK(it->destination.part == TILE_BYTES / 2 && it->destination.position == HEAD_BYTES);
    CHECK_EQ(it->destination.head, POSITIONS * HEAD_BYTES);
    it = &planes[1];
    CHECK(it->plane == 1 && it->kind == KVB_COPY_SAME && it->access == 4 && it->bytes == 8);
    CHECK(it->source_base == 65536 && it->source_stride == 64 && it->destination_base == 131076 && it->destination_stride == 16);
    CHECK(it->parts == 0 && it->positions == 0 && it->heads == 0 && it->head_bytes == 0 && it->source.part == 0);

    count = 77;
    REFUSED(KVB_ERR_TOO_SHORT, kvb_copy_route_planes(route, planes, 1, &count, &error));
    CHECK(error.needed == 2 && error.available == 1 && count == 77);
    REFUSED(KVB_ERR_NULL, kvb_copy_route_planes(NULL, planes, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_route_planes(route, NULL, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_route_planes(route, planes, 3, NULL, &error));
    kvb_copy_route_destroy(route);
    kvb_copy_route_destroy(NULL);

    /* Two heads of four become the first two of two, plane by plane with an inside. */
    kvb_tile half = hnd;
    half.heads = 2;
    const kvb_plane narrow = {0, TILE_BYTES / 2, TILE_BYTES / 2};
    kvb_layout *wide = make_layout(here, source_tiles, 1, BLOCKS, 0), *rank = make_layout(&narrow, &half, 1, BLOCKS, 1);
    route = NULL;
    CHECK_OK(kvb_copy_route_create_heads(wide, rank, 2, 0, 2, &route, NULL));
    CHECK_OK(kvb_copy_route_planes(route, planes, 1, &count, NULL));
    CHECK(planes[0].source_base == 4096 + 2 * HEAD_BYTES && planes[0].destination_base == 0 && planes[0].heads == 2);
    CHECK_EQ(kvb_copy_route_block_bytes(route), TILE_BYTES / 2);
    kvb_copy_route_destroy(route);
    route = NULL;
    REFUSED(KVB_ERR_INVALID, kvb_copy_route_create_heads(wide, rank, 2, 0, 0, &route, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_copy_route_create_heads(wide, rank, 3, 0, 2, &route, &error));
    CHECK(error.which == 0 && error.needed == 5 && error.limit == 4 && error.available == 0);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_copy_route_create_heads(wide, rank, 0, UINT32_MAX, 2, &route, &error));
    CHECK(error.needed == (uint64_t)UINT32_MAX + 2 && error.limit == 2 && error.available == 1);
    REFUSED(KVB_ERR_UNKNOWN_FORMAT, kvb_copy_route_create_heads(source, destination, 0, 0, 2, &route, &error));
    CHECK_EQ(error.which, 1);
    REFUSED(KVB_ERR_NULL, kvb_copy_route_create_heads(NULL, rank, 0, 0, 2, &route, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_route_create_heads(wide, NULL, 0, 0, 2, &route, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_route_create_heads(wide, rank, 0, 0, 2, NULL, &error));

    /* Whole blocks need the same heads, planes and bytes. */
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_copy_route_create(wide, rank, &route, &error));
    CHECK_EQ(error.which, 0);
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_copy_route_create(source, rank, &route, &error));
    CHECK(error.needed == 2 && error.available == 1 && error.which == 1);
    const kvb_plane other[2] = {there[0], {131072, 16, 9}};
    kvb_layout *nine = make_layout(other, destination_tiles, 2, BLOCKS, 1);
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_copy_route_create(source, nine, &route, &error));
    CHECK(error.which == 1 && error.needed == 8 && error.available == 9);
    kvb_layout_destroy(nine);

    /* Nor are they copied as they are where the order inside differs. */
    const uint32_t block = 0;
    kvb_pair_run run;
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_layout_pair_runs(source, &block, destination, &block, 1, &run, 1, &count, &error));
    CHECK(error.which == 0 && error.needed == 0);

    /* In one memory they are one layout, or have no byte in common. */
    const kvb_plane near[2] = {{1 << 20, TILE_BYTES, TILE_BYTES}, {65536 + 4, 64, 8}};
    kvb_layout *touching = make_layout(near, source_tiles, 2, BLOCKS, 0);
    REFUSED(KVB_ERR_LAYOUT, kvb_copy_route_create(source, touching, &route, &error));
    CHECK(error.which == 1 && error.needed == 1);
    REFUSED(KVB_ERR_NULL, kvb_copy_route_create(NULL, source, &route, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_route_create(source, NULL, &route, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_route_create(source, source, NULL, &error));
    CHECK(route == NULL);
    route = make_route(source, source);
    CHECK(kvb_copy_route_is_in_place(route));
    kvb_copy_route_destroy(route);
    kvb_layout_destroy(touching);
    kvb_layout_destroy(wide);
    kvb_layout_destroy(rank);
    kvb_layout_destroy(source);
    kvb_layout_destroy(destination);
}

static void plans(void) {
    const kvb_plane plane = {0, 4096, 4096};
    kvb_layout *layout = make_layout(&plane, NULL, 1, 100, 0);
    kvb_copy_route *route = make_route(layout, layout);
    kvb_copy_plan *plan = make_plan(route, 2);
    kvb_copy_route_destroy(route);
    const uint32_t from[3] = {7, 6, 40}, to[3] = {41, 40, 3};
    CHECK_OK(kvb_copy_plan_set(plan, from, to, 3, NULL));
    CHECK(kvb_copy_plan_pairs(plan) == 3 && kvb_copy_plan_waves(plan) == 2 && kvb_copy_plan_bytes(plan) == 3 * 4096);
    uint32_t sources[3] = {70, 71, 72}, destinations[3] = {80, 81, 82};
    size_t count = 77;
    CHECK_OK(kvb_copy_plan_wave(plan, 0, sources, destinations, 3, &count, NULL));
    CHECK(count == 2 && sources[0] == 6 && destinations[0] == 40 && sources[1] == 7 && destinations[1] == 41);
    CHECK(sources[2] == 72 && destinations[2] == 82);
    CHECK_OK(kvb_copy_plan_wave(plan, 1, sources, destinations, 1, &count, NULL));
    CHECK(count == 1 && sources[0] == 40 && destinations[0] == 3);
    kvb_pair_run runs[3];
    CHECK_OK(kvb_copy_plan_wave_runs(plan, 0, runs, 1, &count, NULL));
    CHECK(count == 1 && runs[0].source == 6 * 4096 && runs[0].destination == 40 * 4096 && runs[0].bytes == 8192);
    CHECK(runs[0].plane == 0 && runs[0].first == 0 && runs[0].blocks == 2);

    count = 77;
    REFUSED(KVB_ERR_TOO_SHORT, kvb_copy_plan_wave(plan, 0, sources, destinations, 1, &count, &error));
    CHECK(error.needed == 2 && error.available == 1);
    REFUSED(KVB_ERR_TOO_SHORT, kvb_copy_plan_wave_runs(plan, 0, NULL, 0, &count, &error));
    CHECK(error.needed == 1 && error.available == 0);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_copy_plan_wave(plan, 2, sources, destinations, 3, &count, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_copy_plan_wave_runs(plan, 2, runs, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave(NULL, 0, sources, destinations, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave(plan, 0, NULL, destinations, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave(plan, 0, sources, NULL, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave(plan, 0, sources, destinations, 3, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave_runs(NULL, 0, runs, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave_runs(plan, 0, NULL, 3, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_wave_runs(plan, 0, runs, 3, NULL, &error));
    CHECK_EQ(count, 77);

    /* The first pair that cannot be is named, and the plan is as it was. */
    const uint32_t low[3] = {0, 1, 2}, twice[3] = {9, 8, 9}, beyond[3] = {50, 51, 100}, itself[3] = {50, 1, 1};
    REFUSED(KVB_ERR_DUPLICATE_DESTINATION, kvb_copy_plan_set(plan, low, twice, 3, &error));
    CHECK(error.which == 2 && error.needed == 9 && error.available == 0);
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_copy_plan_set(plan, low, beyond, 3, &error));
    CHECK(error.which == 2 && error.needed == 100 && error.available == 1 && error.limit == 100);
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_copy_plan_set(plan, beyond, low, 3, &error));
    CHECK(error.which == 2 && error.needed == 100 && error.available == 0 && error.limit == 100);
    REFUSED(KVB_ERR_ONTO_ITSELF, kvb_copy_plan_set(plan, low, itself, 3, &error));
    CHECK(error.which == 1 && error.needed == 1);
    /* Each block is written, and then one of them again. */
    uint32_t next[300], each[300];
    for (uint32_t i = 0; i < 300; i++) {
        next[i] = (i + 1) % 100;
        each[i] = i % 100;
    }
    REFUSED(KVB_ERR_DUPLICATE_DESTINATION, kvb_copy_plan_set(plan, next, each, 300, &error));
    CHECK(error.which == 100 && error.needed == 0 && error.available == 0);
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_set(NULL, low, low, 3, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_set(plan, NULL, low, 3, &error));
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_set(plan, low, NULL, 3, &error));
    REFUSED(KVB_ERR_LENGTH, kvb_copy_plan_set(plan, low, low, SIZE_MAX, &error));
    CHECK(kvb_copy_plan_pairs(plan) == 3 && kvb_copy_plan_waves(plan) == 2);
    CHECK_OK(kvb_copy_plan_wave(plan, 1, sources, destinations, 1, &count, NULL));
    CHECK(sources[0] == 40 && destinations[0] == 3);
    CHECK_OK(kvb_copy_plan_set(plan, NULL, NULL, 0, NULL));
    CHECK(kvb_copy_plan_pairs(plan) == 0 && kvb_copy_plan_waves(plan) == 0);
    CHECK(kvb_copy_plan_pairs(NULL) == 0 && kvb_copy_plan_waves(NULL) == 0 && kvb_copy_plan_bytes(NULL) == 0);

    kvb_copy_plan *none = NULL;
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_create(NULL, 0, &none, &error));
    route = make_route(layout, layout);
    REFUSED(KVB_ERR_NULL, kvb_copy_plan_create(route, 0, NULL, &error));
    /* No list is longer than all blocks, however much is asked for. */
    CHECK_OK(kvb_copy_plan_create(route, SIZE_MAX, &none, &error));
    kvb_copy_plan_destroy(none);
    kvb_copy_route_destroy(route);
    kvb_copy_plan_destroy(plan);
    kvb_copy_plan_destroy(NULL);
    kvb_layout_destroy(layout);
}

/* Copies one block in a plane whose vectors are put in another order. */
static void permute(const kvb_plane_copy *plane, uint32_t from, uint32_t to) {
    for (uint64_t part = 0; part < plane->parts; part++) {
        for (uint64_t position = 0; position < plane->positions; position++) {
            for (uint64_t head = 0; head < plane->heads; head++) {
                uint64_t source = plane->source_base + from * plane->source_stride + part * plane->source.part +
                                  position * plane->source.position + head * plane->source.head;
                uint64_t destination = plane->destination_base + to * plane->destination_stride + part * plane->destination.part +
                                       position * plane->destination.position + head * plane->destination.head;
                memcpy((void *)(uintptr_t)destination, (const void *)(uintptr_t)source, plane->head_bytes);
            }
        }
    }
}

/* What a mover does: wave after wave, runs where bytes stay as they are, vectors where they do not. */
static void move(const kvb_copy_route *route, const kvb_copy_plan *plan) {
    kvb_plane_copy planes[2];
    size_t plane_count = 0;
    CHECK_OK(kvb_copy_route_planes(route, planes, 2, &plane_count, NULL));
    for (size_t wave = 0; wave < kvb_copy_plan_waves(plan); wave++) {
        uint32_t from[BLOCKS], to[BLOCKS];
        kvb_pair_run runs[2 * BLOCKS];
        size_t pairs = 0, count = 0;
        CHECK_OK(kvb_copy_plan_wave(plan, wave, from, to, BLOCKS, &pairs, NULL));
        CHECK_OK(kvb_copy_plan_wave_runs(plan, wave, runs, 2 * BLOCKS, &count, NULL));
        for (size_t i = 0; i < count; i++) {
            memcpy((void *)(uintptr_t)runs[i].destination, (const void *)(uintptr_t)runs[i].source, (size_t)runs[i].bytes);
        }
        for (size_t p = 0; p < plane_count; p++) {
            for (size_t i = 0; i < pairs && planes[p].kind == KVB_COPY_PERMUTE; i++) permute(&planes[p], from[i], to[i]);
        }
    }
}

/* Two planes in one piece of memory: tiles, and scales between 8 other bytes. */
typedef struct piece {
    uint8_t tiles[BLOCKS][TILE_BYTES];
    uint8_t scales[BLOCKS][16];
} piece;

static kvb_layout *layout_of(const piece *it, const kvb_tile *tile, uint32_t memory) {
    const kvb_plane planes[2] = {{(uint64_t)(uintptr_t)it->tiles, TILE_BYTES, TILE_BYTES}, {(uint64_t)(uintptr_t)it->scales, 16, 8}};
    const kvb_tile inside[2] = {*tile, opaque};
    return make_layout(planes, inside, 2, BLOCKS, memory);
}

static void fill(piece *it, uint32_t seed) {
    uint8_t *bytes = (uint8_t *)it;
    for (size_t i = 0; i < sizeof *it; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* The first byte of a vector, counted by hand. */
static size_t vector_at(int heads_first, size_t part, size_t position, size_t head) {
    size_t inner = heads_first ? head * POSITIONS + position : position * HEADS + head;
    return (part * POSITIONS * HEADS + inner) * HEAD_BYTES;
}

static void every_byte(void) {
    static piece here, there, wanted;
    fill(&here, 1);
    fill(&there, 2);
    wanted = there;
    const uint32_t from[4] = {5, 0, 1, 5}, to[4] = {0, 3, 4, 2};
    for (size_t i = 0; i < 4; i++) {
        for (size_t v = 0; v < 2 * POSITIONS * HEADS; v++) {
            size_t part = v / (POSITIONS * HEADS), position = v / HEADS % POSITIONS, head = v % HEADS;
            memcpy(wanted.tiles[to[i]] + vector_at(1, part, position, head),
                   here.tiles[from[i]] + vector_at(0, part, position, head), HEAD_BYTES);
        }
        memcpy(wanted.scales[to[i]], here.scales[from[i]], 8);
    }
    kvb_layout *source = layout_of(&here, &nhd, 0), *destination = layout_of(&there, &hnd, 1);
    kvb_copy_route *route = make_route(source, destination);
    kvb_copy_plan *plan = make_plan(route, 4);
    CHECK_OK(kvb_copy_plan_set(plan, from, to, 4, NULL));
    CHECK(kvb_copy_plan_waves(plan) == 1 && kvb_copy_plan_bytes(plan) == 4 * (TILE_BYTES + 8));
    move(route, plan);
    CHECK(memcmp(&there, &wanted, sizeof there) == 0);
    kvb_copy_plan_destroy(plan);
    kvb_copy_route_destroy(route);

    /* In place, as if one after another: a chain, and a pair that writes what an earlier one has read. */
    const uint32_t first[4] = {0, 1, 3, 2}, second[4] = {1, 2, 0, 5};
    wanted = here;
    for (size_t i = 0; i < 4; i++) {
        memcpy(wanted.tiles[second[i]], wanted.tiles[first[i]], TILE_BYTES);
        memcpy(wanted.scales[second[i]], wanted.scales[first[i]], 8);
    }
    route = make_route(source, source);
    plan = make_plan(route, 0);
    CHECK_OK(kvb_copy_plan_set(plan, first, second, 4, NULL));
    CHECK_EQ(kvb_copy_plan_waves(plan), 3);
    move(route, plan);
    CHECK(memcmp(&here, &wanted, sizeof here) == 0);
    kvb_copy_plan_destroy(plan);
    kvb_copy_route_destroy(route);
    kvb_layout_destroy(source);
    kvb_layout_destroy(destination);
}

int main(void) {
    tiles();
    formats();
    routes();
    plans();
    every_byte();
    puts("routes and plans: done");
    return 0;
}
