/* Layouts and the runs of copies: exact addresses, the fewest runs, and what is refused. */
#include "make.h"
#include "refused.h"

static kvb_error error = {.struct_size = sizeof(kvb_error)};

/* K and V of a layer one behind the other without gaps, and scales 64 bytes apart. */
static const kvb_plane planes[] = {{1000, 100, 100}, {9000, 100, 100}, {20000, 64, 8}};

static void layouts(void) {
    kvb_layout *layout = NULL;
    CHECK_OK(kvb_layout_create(planes, LENGTH(planes), 16, &layout, NULL));
    CHECK(kvb_layout_block_bytes(layout) == 208 && kvb_layout_block_bytes(NULL) == 0);
    uint64_t address = 7;
    CHECK(kvb_layout_address(layout, 1, 15, &address, NULL) == KVB_OK && address == 10500);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_layout_address(layout, 3, 0, &address, &error));
    CHECK(error.needed == 3 && error.limit == 3);
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_layout_address(layout, 0, 16, &address, &error));
    CHECK(error.needed == 16 && error.limit == 16);
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_layout_address(layout, 0, UINT32_MAX, &address, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_address(layout, 0, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_address(NULL, 0, 0, &address, &error));
    CHECK(address == 10500);

    kvb_format *format = NULL;
    CHECK_OK(kvb_layout_format(layout, 16, 1, &format, NULL));
    CHECK(kvb_format_block_bytes(format) == 208);
    kvb_format_destroy(format);
    REFUSED(KVB_ERR_NULL, kvb_layout_format(NULL, 16, 1, &format, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_format(layout, 16, 1, NULL, &error));
    kvb_layout_destroy(layout);
    kvb_layout_destroy(NULL);

    layout = NULL;
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create(NULL, 0, 16, &layout, &error));
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create(planes, 1, 0, &layout, &error));
    REFUSED(KVB_ERR_TOO_MANY_BLOCKS, kvb_layout_create(planes, 1, 1 << 25, &layout, &error));
    const kvb_plane overlap[] = {{0, 100, 100}, {0, 99, 100}};
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create(overlap, 2, 2, &layout, &error));
    CHECK(error.which == 1 && error.needed == 100 && error.available == 99);
    const kvb_plane meet[] = {{0, 64, 32}, {1000, 64, 32}, {1040, 8, 8}};
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create(meet, 3, 9, &layout, &error));
    CHECK(error.which == 2 && error.needed == 1);
    const kvb_plane empty = {0, 8, 0}, far = {UINT64_MAX - 100, 64, 64};
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create(&empty, 1, 2, &layout, &error));
    REFUSED(KVB_ERR_LAYOUT, kvb_layout_create(&far, 1, 2, &layout, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_create(NULL, 1, 2, &layout, &error));
    REFUSED(KVB_ERR_LENGTH, kvb_layout_create(planes, SIZE_MAX, 2, &layout, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_create(planes, 1, 2, NULL, &error));
    CHECK(layout == NULL);
}

static void runs(void) {
    kvb_layout *layout = NULL;
    CHECK_OK(kvb_layout_create(planes, LENGTH(planes), 16, &layout, NULL));
    const uint32_t blocks[] = {3, 4, 5, 9};
    kvb_run out[12] = {{0, 0, 0, 0, 0}};
    size_t count = 0;
    CHECK_OK(kvb_layout_runs(layout, blocks, LENGTH(blocks), out, LENGTH(out), &count, NULL));
    /* Two runs in each dense plane, one a block where there are gaps. */
    CHECK(count == 8);
    CHECK(out[0].plane == 0 && out[0].address == 1300 && out[0].bytes == 300 && out[0].first == 0 && out[0].blocks == 3);
    CHECK(out[1].plane == 0 && out[1].address == 1900 && out[1].bytes == 100 && out[1].first == 3 && out[1].blocks == 1);
    CHECK(out[2].plane == 1 && out[2].address == 9300 && out[3].address == 9900);
    CHECK(out[4].plane == 2 && out[4].address == 20000 + 3 * 64 && out[4].bytes == 8 && out[4].blocks == 1);
    CHECK(out[7].plane == 2 && out[7].address == 20000 + 9 * 64 && out[7].first == 3);

    /* Exactly enough room will do; one less tells how many, and nothing is written. */
    CHECK_OK(kvb_layout_runs(layout, blocks, LENGTH(blocks), out, 8, &count, NULL));
    kvb_run before[12];
    memcpy(before, out, sizeof out);
    count = 77;
    REFUSED(KVB_ERR_TOO_SHORT, kvb_layout_runs(layout, blocks, 3, out, 4, &count, &error));
    CHECK(error.needed == 5 && error.available == 4 && count == 77);
    REFUSED(KVB_ERR_TOO_SHORT, kvb_layout_runs(layout, blocks, LENGTH(blocks), NULL, 0, &count, &error));
    CHECK(error.needed == 8 && error.available == 0 && count == 77);
    const uint32_t beyond[] = {3, 16};
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_layout_runs(layout, beyond, 2, out, 12, &count, &error));
    CHECK(error.needed == 16 && error.limit == 16 && count == 77);
    REFUSED(KVB_ERR_NULL, kvb_layout_runs(NULL, blocks, 1, out, 12, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_runs(layout, NULL, 1, out, 12, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_runs(layout, blocks, 1, NULL, 12, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_runs(layout, blocks, 1, out, 12, NULL, &error));
    CHECK(memcmp(before, out, sizeof out) == 0 && count == 77);
    CHECK(kvb_layout_runs(layout, NULL, 0, NULL, 0, &count, NULL) == KVB_OK && count == 0);
    kvb_layout_destroy(layout);
}

static void pairs(void) {
    const kvb_plane here[] = {{1000, 100, 100}, {5000, 8, 8}}, there[] = {{0, 100, 100}, {9000, 16, 8}};
    kvb_layout *source = NULL, *destination = NULL, *other = NULL;
    CHECK_OK(kvb_layout_create(here, 2, 8, &source, NULL));
    CHECK_OK(kvb_layout_create(there, 2, 4, &destination, NULL));
    const uint32_t from[] = {5, 6, 7, 0}, to[] = {0, 1, 3, 2};
    kvb_pair_run out[8];
    size_t count = 0;
    CHECK_OK(kvb_layout_pair_runs(source, from, destination, to, 4, out, 8, &count, NULL));
    /* 5, 6 go to neighbours; in the second plane the destination has gaps. */
    CHECK(count == 7);
    CHECK(out[0].plane == 0 && out[0].source == 1500 && out[0].destination == 0 && out[0].bytes == 200);
    CHECK(out[0].first == 0 && out[0].blocks == 2);
    CHECK(out[1].source == 1700 && out[1].destination == 300 && out[1].first == 2);
    CHECK(out[2].source == 1000 && out[2].destination == 200 && out[2].first == 3);
    CHECK(out[3].plane == 1 && out[3].source == 5040 && out[3].destination == 9000 && out[3].bytes == 8);

    count = 77;
    REFUSED(KVB_ERR_TOO_SHORT, kvb_layout_pair_runs(source, from, destination, to, 4, out, 6, &count, &error));
    CHECK(error.needed == 7 && error.available == 6);
    const uint32_t high[] = {8}, low[] = {0}, fourth[] = {4};
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_layout_pair_runs(source, high, destination, low, 1, out, 8, &count, &error));
    CHECK(error.needed == 8 && error.limit == 8);
    REFUSED(KVB_ERR_NO_SUCH_BLOCK, kvb_layout_pair_runs(source, low, destination, fourth, 1, out, 8, &count, &error));
    CHECK(error.needed == 4 && error.limit == 4);
    CHECK_OK(kvb_layout_create(here, 1, 8, &other, NULL));
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_layout_pair_runs(source, low, other, low, 1, out, 8, &count, &error));
    CHECK(error.needed == 2 && error.available == 1);
    kvb_layout_destroy(other);
    const kvb_plane wider[] = {{1000, 100, 100}, {5000, 8, 7}};
    CHECK_OK(kvb_layout_create(wider, 2, 8, &other, NULL));
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_layout_pair_runs(source, low, other, low, 1, out, 8, &count, &error));
    CHECK(error.which == 1 && error.needed == 8 && error.available == 7);
    kvb_layout_destroy(other);
    REFUSED(KVB_ERR_NULL, kvb_layout_pair_runs(NULL, low, destination, low, 1, out, 8, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_pair_runs(source, NULL, destination, low, 1, out, 8, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_pair_runs(source, low, NULL, low, 1, out, 8, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_pair_runs(source, low, destination, NULL, 1, out, 8, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_pair_runs(source, low, destination, low, 1, NULL, 8, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_layout_pair_runs(source, low, destination, low, 1, out, 8, NULL, &error));
    CHECK(count == 77);
    kvb_layout_destroy(source);
    kvb_layout_destroy(destination);
}

int main(void) {
    layouts();
    runs();
    pairs();
    puts("copies: done");
    return 0;
}
