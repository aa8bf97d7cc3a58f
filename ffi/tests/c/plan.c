/* Capacity plans: exact numbers of one rank and of several, each error with what it names. */
#include "refused.h"

#define GIB (UINT64_C(1) << 30)

static kvb_error error = {.struct_size = sizeof(kvb_error)};

/* 80 GiB, 80 layers, 8 K/V heads of 128 elements of 16 bits over 4 ranks, blocks of 16 positions. */
static kvb_plan_input rank_of(uint64_t rank) {
    kvb_plan_input input = {.struct_size = sizeof input};
    input.device_memory = 80 * GIB;
    input.weights = 34 * GIB;
    input.workspaces = 3 * GIB;
    input.staging = GIB;
    input.margin_bytes = 2 * GIB;
    input.layers = 80;
    input.kv_heads = 8;
    input.head_size = 128;
    input.element_bits = 16;
    input.tensor_parallel = 4;
    input.rank = rank;
    input.block_size = 16;
    return input;
}

static void one_rank(void) {
    kvb_plan_input input = rank_of(0);
    kvb_plan plan = {.struct_size = sizeof plan};
    CHECK_OK(kvb_plan_rank(&input, &plan, NULL));
    CHECK(plan.struct_size == sizeof plan);
    CHECK(plan.device_memory == 80 * GIB && plan.weights == 34 * GIB && plan.workspaces == 3 * GIB);
    CHECK(plan.staging == GIB && plan.margin == 2 * GIB && plan.cache_bytes == 40 * GIB);
    CHECK(plan.block_bytes == 1310720 && plan.blocks == 32768 && plan.block_size == 16);
    CHECK(plan.remainder == 0 && plan.longest_request == 524288);
    CHECK(kvb_plan_sequences_at(plan.blocks, plan.block_size, 8192) == 64);
    CHECK(kvb_plan_sequences_at(plan.blocks, plan.block_size, 0) == 32768);
    CHECK(kvb_plan_sequences_at(plan.blocks, 0, 1) == 0);

    /* A margin in millionths is rounded up; what is left over is less than a block. */
    input.margin_bytes = 0;
    input.margin_millionths = 25001;
    CHECK_OK(kvb_plan_rank(&input, &plan, NULL));
    CHECK(plan.margin == (80 * GIB * 25001 + 999999) / 1000000);
    CHECK(plan.weights + plan.workspaces + plan.staging + plan.margin + plan.cache_bytes == plan.device_memory);
    CHECK(plan.blocks * plan.block_bytes + plan.remainder == plan.cache_bytes && plan.remainder < plan.block_bytes);

    /* A latent vector is on each rank, with scales of its own. */
    input.kv_heads = input.head_size = 0;
    input.latent = 576;
    input.element_bits = 8;
    input.scale_bytes_per_position = 4;
    input.scale_bytes_per_block = 2;
    CHECK_OK(kvb_plan_rank(&input, &plan, NULL));
    CHECK(plan.block_bytes == 80 * (576 * 16 + 4 * 16 + 2));

    /* The format has these planes; a pool made after a plan has its blocks. */
    kvb_format *format = NULL;
    CHECK_OK(kvb_plan_format(&input, 3, &format, NULL));
    CHECK(kvb_format_block_bytes(format) == plan.block_bytes);
    kvb_format_destroy(format);
}

static void errors_of_a_rank(void) {
    kvb_plan plan = {.struct_size = sizeof plan, .blocks = 77};
    kvb_format *format = NULL;
    kvb_plan_input input = rank_of(0);

    input.layers = 0;
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_INPUT_LAYERS);
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_format(&input, 3, &format, &error));
    CHECK(format == NULL);
    input = rank_of(0);
    input.device_memory = 0;
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_INPUT_DEVICE_MEMORY);
    input = rank_of(0);
    input.kv_heads = 0;
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_INPUT_KV_HEADS);
    input = rank_of(0);
    input.head_size = 0;
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_INPUT_HEAD_SIZE);
    input = rank_of(0);
    input.element_bits = 0;
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_INPUT_ELEMENT_BITS);

    input = rank_of(0);
    input.block_size = 0;
    REFUSED(KVB_ERR_BLOCK_SIZE, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.needed == 0 && error.limit == 65536);
    input = rank_of(4);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.needed == 4 && error.limit == 4);

    input = rank_of(0);
    input.margin_bytes = 0;
    input.margin_millionths = 1000001;
    REFUSED(KVB_ERR_PLAN_MARGIN, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.needed == 1000001 && error.limit == 1000000);
    input = rank_of(0);
    input.staging = 50 * GIB;
    REFUSED(KVB_ERR_PLAN_DOES_NOT_FIT, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_TERM_STAGING && error.needed == 50 * GIB && error.available == 43 * GIB);
    input = rank_of(0);
    input.scale_bytes_per_position = UINT64_MAX;
    REFUSED(KVB_ERR_PLAN_OVERFLOW, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_STEP_SCALE_BYTES);
    input = rank_of(0);
    input.layers = UINT64_C(1) << 60;
    REFUSED(KVB_ERR_PLAN_OVERFLOW, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.which == KVB_PLAN_STEP_BLOCK_BYTES);
    input = rank_of(0);
    input.margin_bytes = 42 * GIB - 1;
    REFUSED(KVB_ERR_PLAN_LESS_THAN_A_BLOCK, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.needed == 1310720 && error.available == 1);
    input = rank_of(0);
    input.layers = input.kv_heads = input.head_size = input.block_size = 1;
    input.tensor_parallel = 0;
    REFUSED(KVB_ERR_TOO_MANY_BLOCKS, kvb_plan_rank(&input, &plan, &error));
    CHECK(error.needed == 10 * GIB && error.limit == (1 << 25) - 1);

    /* What would mean two things. */
    input = rank_of(0);
    input.margin_millionths = 1;
    REFUSED(KVB_ERR_INVALID, kvb_plan_rank(&input, &plan, &error));
    input = rank_of(0);
    input.latent = 1;
    REFUSED(KVB_ERR_INVALID, kvb_plan_rank(&input, &plan, &error));
    input = rank_of(0);
    input.struct_size -= 1;
    REFUSED(KVB_ERR_STRUCT_SIZE, kvb_plan_rank(&input, &plan, &error));
    REFUSED(KVB_ERR_NULL, kvb_plan_rank(NULL, &plan, &error));
    input = rank_of(0);
    REFUSED(KVB_ERR_NULL, kvb_plan_rank(&input, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_plan_format(NULL, 0, &format, &error));
    REFUSED(KVB_ERR_NULL, kvb_plan_format(&input, 0, NULL, &error));
    CHECK(plan.blocks == 77);
}

static void several_ranks(void) {
    kvb_plan_input inputs[3] = {rank_of(0), rank_of(1), rank_of(2)};
    const kvb_plan_input *ranks[3] = {&inputs[0], &inputs[1], &inputs[2]};
    inputs[1].margin_bytes += 1310720 * 2 - 1;
    inputs[2].margin_bytes += 1310720;
    kvb_instance_plan plan = {.struct_size = sizeof plan};
    kvb_planned_rank each[3];
    CHECK_OK(kvb_plan_ranks(ranks, 3, &plan, each, NULL));
    CHECK(plan.blocks == 32766 && plan.block_size == 16 && plan.binding_rank == 1);
    CHECK(plan.longest_request == 32766 * 16);
    CHECK(each[0].blocks == 32768 && each[0].block_bytes == 1310720);
    CHECK(each[0].stranded_blocks == 2 && each[0].stranded_bytes == 2 * 1310720);
    CHECK(each[1].blocks == 32766 && each[1].stranded_blocks == 0 && each[1].stranded_bytes == 0);
    CHECK(each[2].blocks == 32767 && each[2].stranded_blocks == 1 && each[2].stranded_bytes == 1310720);
    CHECK_OK(kvb_plan_ranks(ranks, 3, &plan, NULL, NULL));

    char text[4096];
    size_t length = 0;
    CHECK_OK(kvb_plan_text(ranks, 3, text, sizeof text, &length, NULL));
    CHECK(length == strlen(text) && strstr(text, "all 3 ranks in lockstep") != NULL);
    size_t again = 0;
    CHECK(kvb_plan_text(ranks, 3, NULL, 0, &again, NULL) == KVB_OK && again == length);
    CHECK(kvb_plan_text(ranks, 3, text, 10, &again, NULL) == KVB_OK && again == length && strlen(text) == 9);

    plan.blocks = 77;
    each[0].blocks = 78;
    REFUSED(KVB_ERR_NO_SHARDS, kvb_plan_ranks(NULL, 0, &plan, each, &error));
    inputs[2].block_size = 32;
    REFUSED(KVB_ERR_BLOCK_SIZE, kvb_plan_ranks(ranks, 3, &plan, each, &error));
    CHECK(error.shard == 2 && error.needed == 16 && error.available == 32);
    inputs[1].layers = 0;
    REFUSED(KVB_ERR_PLAN_ZERO, kvb_plan_ranks(ranks, 3, &plan, each, &error));
    CHECK(error.shard == 1 && error.which == KVB_PLAN_INPUT_LAYERS);
    CHECK(strstr(error.message, "rank 1") != NULL);
    ranks[0] = NULL;
    REFUSED(KVB_ERR_NULL, kvb_plan_ranks(ranks, 3, &plan, each, &error));
    REFUSED(KVB_ERR_NULL, kvb_plan_text(ranks, 3, text, sizeof text, &length, &error));
    CHECK(plan.blocks == 77 && each[0].blocks == 78);
}

int main(void) {
    one_rank();
    errors_of_a_rank();
    several_ranks();
    puts("plans: done");
    return 0;
}
