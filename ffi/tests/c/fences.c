/* The table of fences: who waits for whom, and what is refused. */
#include "make.h"
#include "refused.h"

static kvb_error error = {.struct_size = sizeof(kvb_error)};

static kvb_fences *fences;
static kvb_copy_plan *plan;

/* A plan that copies block 1 of memory 3 to block 2. */
static void open_table(void) {
    const kvb_plane plane = {0, 4096, 4096};
    kvb_layout *layout = NULL;
    kvb_copy_route *route = NULL;
    CHECK_OK(kvb_layout_create_tiled(&plane, NULL, 1, 100, 3, &layout, NULL));
    CHECK_OK(kvb_copy_route_create(layout, layout, &route, NULL));
    CHECK_OK(kvb_copy_plan_create(route, 1, &plan, NULL));
    const uint32_t from = 1, to = 2;
    CHECK_OK(kvb_copy_plan_set(plan, &from, &to, 1, NULL));
    kvb_copy_route_destroy(route);
    kvb_layout_destroy(layout);
    CHECK_OK(kvb_fences_create(&fences));
}

static void close_table(void) {
    kvb_fences_destroy(fences);
    kvb_copy_plan_destroy(plan);
}

static uint32_t add_timeline(void) {
    uint32_t timeline = 77;
    CHECK_OK(kvb_fences_add_timeline(fences, &timeline, NULL));
    return timeline;
}

static kvb_waits waits_for_plan(uint32_t on) {
    kvb_waits waits = {.struct_size = sizeof waits, .count = 77};
    CHECK_OK(kvb_fences_waits_for(fences, plan, on, &waits, NULL));
    return waits;
}

static kvb_waits waits_for(uint32_t block, uint32_t access, uint32_t on) {
    kvb_waits waits = {.struct_size = sizeof waits, .count = 77};
    CHECK_OK(kvb_fences_waits_for_blocks(fences, 3, &block, 1, access, on, &waits, NULL));
    return waits;
}

static void who_waits_for_whom(void) {
    open_table();
    const uint32_t compute = add_timeline(), copies = add_timeline();
    CHECK(compute == 0 && copies == 1);
    CHECK_OK(kvb_fences_track(fences, 3, 100, NULL));
    CHECK_EQ(waits_for_plan(copies).count, 0);

    /* The copy of block 1 waits for who wrote it. */
    const uint32_t one = 1;
    CHECK_OK(kvb_fences_record_blocks(fences, 3, &one, 1, KVB_ACCESS_WRITE, compute, 41, NULL));
    kvb_waits waits = waits_for_plan(copies);
    CHECK(waits.count == 1 && waits.fences[compute] == 41 && waits.fences[copies] == 0 && waits.fences[7] == 0);
    CHECK_EQ(waits_for_plan(compute).count, 0);
    CHECK_OK(kvb_fences_record(fences, plan, copies, 1, NULL));

    /* Who reads the copy waits for it, and so does who writes the source; another reader of that does not. */
    CHECK_EQ(waits_for(2, KVB_ACCESS_READ, compute).fences[copies], 1);
    CHECK_EQ(waits_for(1, KVB_ACCESS_WRITE, compute).fences[copies], 1);
    CHECK_EQ(waits_for(1, KVB_ACCESS_READ, compute).count, 0);
    const uint32_t third = add_timeline();
    waits = waits_for(1, KVB_ACCESS_WRITE, third);
    CHECK(waits.count == 2 && waits.fences[compute] == 41 && waits.fences[copies] == 1);

    /* What has passed is not waited for. */
    CHECK_OK(kvb_fences_completed(fences, compute, 41, NULL));
    CHECK_OK(kvb_fences_completed(fences, compute, 3, NULL));
    waits = waits_for(1, KVB_ACCESS_WRITE, third);
    CHECK(waits.count == 1 && waits.fences[compute] == 0 && waits.fences[copies] == 1);
    uint64_t last = 77;
    CHECK_OK(kvb_fences_last(fences, compute, &last, NULL));
    CHECK_EQ(last, 41);
    CHECK_OK(kvb_fences_last(fences, third, &last, NULL));
    CHECK_EQ(last, 0);

    /* No blocks are nothing to wait for; a smaller struct has no room for all timelines. */
    waits.struct_size = sizeof waits;
    CHECK_OK(kvb_fences_waits_for_blocks(fences, 3, NULL, 0, KVB_ACCESS_READ, third, &waits, NULL));
    CHECK_EQ(waits.count, 0);
    close_table();
}

static void refusals(void) {
    open_table();
    kvb_waits waits = {.struct_size = sizeof waits, .count = 77};
    uint32_t block = 1, timeline = 77;
    uint64_t last = 77;
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_waits_for(fences, plan, 0, &waits, &error));
    CHECK(error.needed == 0 && error.limit == 0);
    CHECK_EQ(add_timeline(), 0);
    REFUSED(KVB_ERR_UNTRACKED, kvb_fences_waits_for(fences, plan, 0, &waits, &error));
    CHECK_EQ(error.needed, 3);
    REFUSED(KVB_ERR_UNTRACKED, kvb_fences_record(fences, plan, 0, 1, &error));
    REFUSED(KVB_ERR_TOO_MANY_BLOCKS, kvb_fences_track(fences, 3, SIZE_MAX, &error));
    CHECK_OK(kvb_fences_track(fences, 3, 99, &error));
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_fences_waits_for(fences, plan, 0, &waits, &error));
    CHECK(error.needed == 99 && error.limit == 99 && error.which == 3);
    CHECK_OK(kvb_fences_track(fences, 3, 100, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_waits_for(fences, plan, 256, &waits, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_record(fences, plan, 1, 1, &error));
    CHECK(error.needed == 1 && error.limit == 1);
    block = 100;
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_fences_waits_for_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 0, &waits, &error));
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_fences_record_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 0, 1, &error));
    block = 1;
    REFUSED(KVB_ERR_UNTRACKED, kvb_fences_waits_for_blocks(fences, 4, &block, 1, KVB_ACCESS_READ, 0, &waits, &error));
    REFUSED(KVB_ERR_INVALID, kvb_fences_waits_for_blocks(fences, 3, &block, 1, 2, 0, &waits, &error));
    REFUSED(KVB_ERR_INVALID, kvb_fences_record_blocks(fences, 3, &block, 1, 2, 0, 1, &error));
    REFUSED(KVB_ERR_LENGTH, kvb_fences_record_blocks(fences, 3, &block, SIZE_MAX, KVB_ACCESS_READ, 0, 1, &error));

    /* Fences never go back, and 0 is before all. */
    CHECK_OK(kvb_fences_record(fences, plan, 0, 9, &error));
    CHECK_OK(kvb_fences_record(fences, plan, 0, 9, &error));
    REFUSED(KVB_ERR_NOT_LATER, kvb_fences_record(fences, plan, 0, 8, &error));
    CHECK(error.needed == 8 && error.limit == 9);
    REFUSED(KVB_ERR_NOT_LATER, kvb_fences_record_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 0, 0, &error));
    CHECK_OK(kvb_fences_last(fences, 0, &last, NULL));
    CHECK_EQ(last, 9);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_completed(fences, 1, 9, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_last(fences, 1, &last, &error));
    /* A number is told as it was given, however large. */
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_completed(fences, 256, 9, &error));
    CHECK(error.needed == 256 && error.limit == 1 && strstr(error.message, "256") != NULL);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_last(fences, UINT32_MAX, &last, &error));
    CHECK(error.needed == UINT32_MAX && error.limit == 1);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_record(fences, plan, 300, 9, &error));
    CHECK_EQ(error.needed, 300);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_waits_for(fences, plan, 300, &waits, &error));
    CHECK_EQ(error.needed, 300);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_fences_record_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 300, 9, &error));
    CHECK_EQ(error.needed, 300);
    REFUSED(KVB_ERR_OUT_OF_RANGE,
            kvb_fences_waits_for_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 300, &waits, &error));
    CHECK_EQ(error.needed, 300);

    kvb_waits small = {.struct_size = sizeof small - 8};
    REFUSED(KVB_ERR_STRUCT_SIZE, kvb_fences_waits_for(fences, plan, 0, &small, &error));
    REFUSED(KVB_ERR_STRUCT_SIZE, kvb_fences_waits_for_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 0, &small, &error));
    CHECK_STATUS(kvb_fences_create(NULL), KVB_ERR_NULL);
    REFUSED(KVB_ERR_NULL, kvb_fences_add_timeline(NULL, &timeline, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_add_timeline(fences, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_track(NULL, 3, 1, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_waits_for(NULL, plan, 0, &waits, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_waits_for(fences, NULL, 0, &waits, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_waits_for(fences, plan, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_record(NULL, plan, 0, 10, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_record(fences, NULL, 0, 10, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_waits_for_blocks(NULL, 3, &block, 1, KVB_ACCESS_READ, 0, &waits, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_waits_for_blocks(fences, 3, NULL, 1, KVB_ACCESS_READ, 0, &waits, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_waits_for_blocks(fences, 3, &block, 1, KVB_ACCESS_READ, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_record_blocks(NULL, 3, &block, 1, KVB_ACCESS_READ, 0, 10, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_record_blocks(fences, 3, NULL, 1, KVB_ACCESS_READ, 0, 10, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_completed(NULL, 0, 9, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_last(NULL, 0, &last, &error));
    REFUSED(KVB_ERR_NULL, kvb_fences_last(fences, 0, NULL, &error));
    CHECK(waits.count == 77 && timeline == 77 && last == 9);

    for (uint32_t i = 1; i < KVB_MAX_TIMELINES; i++) CHECK_EQ(add_timeline(), i);
    REFUSED(KVB_ERR_TOO_MANY_TIMELINES, kvb_fences_add_timeline(fences, &timeline, &error));
    CHECK(error.needed == KVB_MAX_TIMELINES + 1 && error.limit == KVB_MAX_TIMELINES && timeline == 77);
    close_table();
    kvb_fences_destroy(NULL);
}

int main(void) {
    who_waits_for_whom();
    refusals();
    puts("fences: done");
    return 0;
}
