/* Transfers, swaps, fleets and copy plans without memory: whichever allocation of a call fails, nothing has changed, and nothing is lost. */
#include "moving.h"

/* Allocations so far, the one that is refused (from 1; 0 refuses none), and what is not given back. */
static size_t calls, refused, live;

static void *scarce_alloc(size_t size, size_t align, void *user) {
    (void)user;
    if (++calls == refused) return NULL;
    char *raw = malloc(size + align + sizeof raw);
    CHECK(raw != NULL);
    uintptr_t at = ((uintptr_t)raw + sizeof raw + align - 1) & ~(uintptr_t)(align - 1);
    char *memory = raw + (at - (uintptr_t)raw);
    memcpy(memory - sizeof raw, &raw, sizeof raw);
    live++;
    return memory;
}

static void scarce_free(void *memory, size_t size, size_t align, void *user) {
    (void)size, (void)align, (void)user;
    char *raw = NULL;
    memcpy(&raw, (char *)memory - sizeof raw, sizeof raw);
    free(raw);
    live--;
}

static side *sides[3];
static kvb_fleet *fleet;
static kvb_leases *leases;
static kvb_flights *flights;
static kvb_handle source, stranger;
static uint32_t tokens[16];

/* Each tries a call; where it succeeds it undoes what it did. */
typedef kvb_status (*attempt)(void);

static kvb_seqs *on(uint64_t instance) {
    return kvb_fleet_get(fleet, instance);
}

static kvb_status offer(kvb_export **out, uint32_t handover) {
    kvb_offer terms = {.struct_size = sizeof terms};
    terms.handover = handover;
    terms.owner = 9;
    terms.deadline = KVB_NO_DEADLINE;
    return kvb_seqs_export(sides[2]->seqs, stranger, NULL, leases, &terms, out, NULL);
}

static kvb_status export_a_copy(void) {
    kvb_export *out = NULL;
    kvb_status status = offer(&out, KVB_HANDOVER_COPY);
    CHECK((status == KVB_OK) == (out != NULL));
    if (out != NULL) CHECK_OK(kvb_export_abort(out, NULL));
    kvb_export_destroy(out);
    return status;
}

static kvb_status lease_of_an_export(void) {
    kvb_export *export = NULL;
    const size_t failing = refused;
    refused = 0;
    CHECK_OK(offer(&export, KVB_HANDOVER_COPY));
    refused = failing;
    calls = 0;
    kvb_lease *lease = NULL;
    kvb_status status = kvb_export_lease(export, &lease);
    CHECK((status == KVB_OK) == (lease != NULL));
    CHECK_OK(kvb_export_abort(export, NULL));
    kvb_lease_destroy(lease);
    kvb_export_destroy(export);
    return status;
}

static kvb_status import_from_an_export(void) {
    kvb_export *export = NULL;
    const size_t failing = refused;
    refused = 0;
    CHECK_OK(offer(&export, KVB_HANDOVER_MOVE));
    refused = failing;
    calls = 0;
    kvb_incoming incoming = {.struct_size = sizeof incoming, .writers = 2};
    incoming.source = export;
    incoming.flights = flights;
    incoming.formats = (const kvb_format *const *)sides[2]->formats;
    incoming.format_count = SHARDS;
    kvb_admit asked = request(tokens, 10);
    kvb_admitted admitted = {.hit = 77};
    kvb_import *import = NULL;
    kvb_status status = kvb_seqs_import(on(1), &asked, &incoming, &admitted, &import, NULL);
    CHECK((status == KVB_OK) == (import != NULL));
    CHECK((status == KVB_OK) == (admitted.hit != 77));
    CHECK_EQ(kvb_export_phase(export), status == KVB_OK ? KVB_PHASE_LINKED : KVB_PHASE_OFFERED);
    if (import != NULL) {
        CHECK_OK(kvb_seqs_release(on(1), &admitted.seq, 1));
        for (uint32_t s = 0; s < SHARDS; s++) {
            CHECK_OK(kvb_import_end(import, s, 0, NULL, NULL));
            CHECK_OK(kvb_import_end(import, s, 1, NULL, NULL));
        }
    } else {
        CHECK_OK(kvb_export_abort(export, NULL));
    }
    kvb_import_destroy(import);
    kvb_export_destroy(export);
    return status;
}

static kvb_status swap_with(kvb_swap **out) {
    kvb_admit asked = request(tokens, 10);
    return kvb_seqs_swap_to(sides[2]->seqs, stranger, on(1), &asked, leases, 9, out, NULL);
}

static kvb_status swap_a_sequence(void) {
    kvb_swap *swap = NULL;
    kvb_status status = swap_with(&swap);
    CHECK((status == KVB_OK) == (swap != NULL));
    if (swap != NULL) CHECK_OK(kvb_swap_abort(swap, on(1), NULL));
    kvb_swap_destroy(swap);
    return status;
}

/* Of which no request fails: only those after it are counted. */
static kvb_swap *a_swap(void) {
    kvb_swap *swap = NULL;
    const size_t failing = refused;
    refused = 0;
    CHECK_OK(swap_with(&swap));
    refused = failing;
    calls = 0;
    return swap;
}

static kvb_status lease_of_a_swap(void) {
    kvb_swap *swap = a_swap();
    kvb_lease *lease = NULL;
    kvb_status status = kvb_swap_lease(swap, &lease);
    CHECK((status == KVB_OK) == (lease != NULL));
    CHECK_OK(kvb_swap_abort(swap, on(1), NULL));
    kvb_lease_destroy(lease);
    kvb_swap_destroy(swap);
    return status;
}

static kvb_status import_of_a_swap(void) {
    kvb_swap *swap = a_swap();
    kvb_import *import = NULL;
    kvb_status status = kvb_swap_import(swap, &import);
    CHECK((status == KVB_OK) == (import != NULL));
    CHECK_OK(kvb_swap_abort(swap, on(1), NULL));
    kvb_import_destroy(import);
    kvb_swap_destroy(swap);
    return status;
}

static kvb_status move_a_sequence(void) {
    kvb_move_terms terms = {.struct_size = sizeof terms, .writers = 1, .owner = 1};
    terms.deadline = KVB_NO_DEADLINE;
    terms.flights = flights;
    kvb_admit asked = request(tokens, 10);
    kvb_move *moving = NULL;
    kvb_status status = kvb_fleet_start_move(fleet, 0, source, 1, &asked, &terms, &moving, NULL);
    CHECK((status == KVB_OK) == (moving != NULL));
    if (moving == NULL) return status;
    CHECK_OK(kvb_fleet_abort_move(fleet, moving, NULL));
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(kvb_move_import(moving), s, 0, NULL, NULL));
    kvb_move_destroy(moving);
    return status;
}

static kvb_status add_and_remove(void) {
    kvb_member member = {.struct_size = sizeof member, .model = 8, .service = 1};
    uint64_t id = 77;
    kvb_status status = kvb_fleet_add(fleet, sides[2]->seqs, &member, &id, NULL);
    CHECK((status == KVB_OK) == (id != 77));
    if (id == 77) return status;
    sides[2]->seqs = NULL;
    const size_t failing = refused;
    refused = 0;
    kvb_seqs *seqs = kvb_fleet_get(fleet, id);
    CHECK_OK(kvb_seqs_release(seqs, &stranger, 1));
    stranger.bits = UINT64_MAX;
    refused = failing;
    kvb_seqs *out = NULL;
    status = kvb_fleet_remove(fleet, id, &out, NULL);
    CHECK((status == KVB_OK) == (out != NULL));
    refused = 0;
    if (status != KVB_OK) CHECK_OK(kvb_fleet_remove(fleet, id, &out, NULL));
    sides[2]->seqs = out;
    stranger = run_prompt(sides[2], out, tokens, 10);
    return status;
}

static kvb_status lend(void) {
    uint64_t loan = 77;
    kvb_loan state = {.struct_size = sizeof state};
    kvb_status status = kvb_fleet_lend(fleet, 0, 1, 2, &loan, NULL);
    CHECK((status == KVB_OK) == (loan != 77));
    if (status == KVB_OK) CHECK_OK(kvb_fleet_give_back(fleet, loan, &state, NULL));
    return status;
}

static kvb_status candidates(void) {
    kvb_candidate out[2];
    size_t count = 77;
    kvb_admit asked = request(tokens, 10);
    kvb_status status = kvb_fleet_candidates(fleet, 7, &asked, KVB_PLACEMENT_AFFINITY, out, 2, &count, NULL);
    CHECK_EQ(count, status == KVB_OK ? 2 : 77);
    return status;
}

static kvb_status admit_in_the_fleet(void) {
    kvb_admit asked = request(tokens, 10);
    kvb_placed placed = {.instance = 77};
    kvb_status status = kvb_fleet_admit(fleet, 7, &asked, KVB_PLACEMENT_MOST_FREE, &placed, NULL);
    CHECK((status == KVB_OK) == (placed.instance != 77));
    if (status == KVB_OK) CHECK_OK(kvb_seqs_release(on(placed.instance), &placed.admitted.seq, 1));
    return status;
}

static kvb_status report(void) {
    kvb_fleet_report *out = NULL;
    kvb_status status = kvb_fleet_report_create(fleet, &out);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_fleet_report_destroy(out);
    return status;
}

static kvb_status metrics(void) {
    kvb_metrics *page = NULL;
    size_t length = 0;
    const size_t failing = refused;
    refused = 0;
    CHECK_OK(kvb_metrics_create(&page));
    refused = failing;
    calls = 0;
    kvb_status status = kvb_metrics_add_fleet(page, NULL, 0, fleet, NULL);
    refused = 0;
    CHECK_OK(kvb_metrics_text(page, NULL, 0, &length));
    CHECK((status == KVB_OK) == (length != 0));
    kvb_metrics_destroy(page);
    return status;
}

static kvb_status audit(void) {
    return kvb_fleet_audit(fleet, NULL, 0, NULL);
}

static kvb_status make_a_fleet(void) {
    kvb_fleet *out = NULL;
    kvb_status status = kvb_fleet_create(&out);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_fleet_destroy(out);
    return status;
}

static kvb_status make_flights(void) {
    kvb_flights *out = NULL;
    kvb_status status = kvb_flights_create(1, &out);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_flights_destroy(out);
    return status;
}

static const kvb_plan_input *small_rank(void) {
    static kvb_plan_input input;
    input.struct_size = sizeof input;
    input.device_memory = 1 << 20;
    input.layers = input.kv_heads = 2;
    input.head_size = input.element_bits = 16;
    input.block_size = 16;
    return &input;
}

static kvb_status plan_a_format(void) {
    kvb_format *out = NULL;
    kvb_status status = kvb_plan_format(small_rank(), 1, &out, NULL);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_format_destroy(out);
    return status;
}

static kvb_status plan_ranks(void) {
    const kvb_plan_input *ranks[2] = {small_rank(), small_rank()};
    kvb_instance_plan out = {.struct_size = sizeof out, .blocks = 77};
    kvb_status status = kvb_plan_ranks(ranks, 2, &out, NULL, NULL);
    CHECK((status == KVB_OK) == (out.blocks != 77));
    return status;
}

static kvb_status layout_and_format(void) {
    kvb_format *out = NULL;
    kvb_status status = kvb_layout_format(sides[0]->layouts[0], BLOCK_SIZE, 1, &out, NULL);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_format_destroy(out);
    return status;
}

static kvb_status route_within(kvb_copy_route **out) {
    return kvb_copy_route_create(sides[0]->layouts[0], sides[0]->layouts[0], out, NULL);
}

static kvb_status make_a_route(void) {
    kvb_copy_route *out = NULL;
    kvb_status status = route_within(&out);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_copy_route_destroy(out);
    return status;
}

/* A plan along a route, made where there is memory. */
static kvb_copy_plan *plan_with_memory(void) {
    const size_t failing = refused;
    refused = 0;
    kvb_copy_route *route = NULL;
    kvb_copy_plan *plan = NULL;
    CHECK_OK(route_within(&route));
    CHECK_OK(kvb_copy_plan_create(route, 0, &plan, NULL));
    kvb_copy_route_destroy(route);
    const uint32_t from = 3, to = 4;
    CHECK_OK(kvb_copy_plan_set(plan, &from, &to, 1, NULL));
    refused = failing;
    calls = 0;
    return plan;
}

static kvb_status make_a_plan(void) {
    const size_t failing = refused;
    refused = 0;
    kvb_copy_route *route = NULL;
    CHECK_OK(route_within(&route));
    refused = failing;
    calls = 0;
    kvb_copy_plan *out = NULL;
    kvb_status status = kvb_copy_plan_create(route, 20, &out, NULL);
    CHECK((status == KVB_OK) == (out != NULL));
    if (out != NULL) {
        /* There is room for as many as were announced. */
        uint32_t from[20], to[20];
        count_up(from, 20, 0);
        count_up(to, 20, 1);
        calls = 0;
        CHECK_OK(kvb_copy_plan_set(out, from, to, 20, NULL));
        CHECK_EQ(calls, 0);
        CHECK_EQ(kvb_copy_plan_waves(out), 20);
    }
    kvb_copy_plan_destroy(out);
    kvb_copy_route_destroy(route);
    return status;
}

static kvb_status set_a_plan(void) {
    kvb_copy_plan *plan = plan_with_memory();
    uint32_t from[20], to[20];
    count_up(from, 20, 0);
    count_up(to, 20, 1);
    kvb_status status = kvb_copy_plan_set(plan, from, to, 20, NULL);
    CHECK_EQ(kvb_copy_plan_pairs(plan), status == KVB_OK ? 20 : 1);
    CHECK_EQ(kvb_copy_plan_waves(plan), status == KVB_OK ? 20 : 1);
    kvb_copy_plan_destroy(plan);
    return status;
}

static kvb_status make_fences(void) {
    kvb_copy_plan *plan = plan_with_memory();
    kvb_fences *fences = NULL;
    uint32_t timeline = 77;
    kvb_waits waits = {.struct_size = sizeof waits};
    kvb_status status = kvb_fences_create(&fences);
    if (status == KVB_OK) status = kvb_fences_add_timeline(fences, &timeline, NULL);
    if (status == KVB_OK) status = kvb_fences_track(fences, 0, MAX_BLOCKS, NULL);
    if (status == KVB_OK) {
        CHECK_OK(kvb_fences_record(fences, plan, 0, 5, NULL));
        status = kvb_fences_add_timeline(fences, &timeline, NULL);
        CHECK_EQ(timeline, status == KVB_OK);
        CHECK_STATUS(kvb_fences_waits_for(fences, plan, 1, &waits, NULL), status == KVB_OK ? KVB_OK : KVB_ERR_OUT_OF_RANGE);
        CHECK_EQ(waits.fences[0], status == KVB_OK ? 5 : 0);
    }
    kvb_fences_destroy(fences);
    kvb_copy_plan_destroy(plan);
    return status;
}

static kvb_status make_a_tiled_layout(void) {
    const kvb_plane plane = {0, 64, 64};
    const kvb_tile tile = {KVB_ORDER_NHD, 2, 4, 2, 4};
    kvb_layout *out = NULL;
    kvb_status status = kvb_layout_create_tiled(&plane, &tile, 1, 4, 1, &out, NULL);
    CHECK((status == KVB_OK) == (out != NULL));
    kvb_layout_destroy(out);
    return status;
}

static const struct {
    const char *name;
    attempt call;
    /* It always asks for memory. */
    int allocates;
} attempts[] = {
#define ALWAYS(name) {#name, name, 1}
#define MAYBE(name) {#name, name, 0}
    ALWAYS(export_a_copy), ALWAYS(lease_of_an_export), ALWAYS(import_from_an_export), ALWAYS(move_a_sequence),
    ALWAYS(swap_a_sequence), ALWAYS(lease_of_a_swap), ALWAYS(import_of_a_swap),
    ALWAYS(add_and_remove), MAYBE(lend), ALWAYS(candidates), MAYBE(admit_in_the_fleet), ALWAYS(report), ALWAYS(metrics),
    MAYBE(audit), ALWAYS(make_a_fleet), ALWAYS(make_flights), ALWAYS(plan_a_format), ALWAYS(plan_ranks), ALWAYS(layout_and_format),
    ALWAYS(make_a_route), ALWAYS(make_a_plan), ALWAYS(set_a_plan), ALWAYS(make_fences), ALWAYS(make_a_tiled_layout),
};

/* All that can be seen of the three. */
static void nothing_has_changed(void) {
    for (uint64_t i = 0; i < 2; i++) CHECK_EQ(available(on(i)), i == 0 ? 5 : 8);
    CHECK_EQ(available(sides[2]->seqs), 5);
    CHECK_EQ(kvb_seqs_count(on(0)), 1);
    CHECK_EQ(kvb_seqs_count(on(1)), 0);
    CHECK_EQ(state_of(on(0), source).computed, 10);
    CHECK_EQ(state_of(sides[2]->seqs, stranger).computed, 10);
    CHECK_EQ(kvb_flights_in_flight(flights), 0);
    size_t count = 77;
    CHECK_OK(kvb_fleet_list(fleet, NULL, 0, &count));
    CHECK_EQ(count, 2);
    CHECK_OK(kvb_fleet_list_loans(fleet, NULL, 0, &count));
    CHECK_EQ(count, 0);
    CHECK_OK(kvb_fleet_audit(fleet, NULL, 0, NULL));
    const kvb_holder held = holder(KVB_HOLDER_LEASES, leases);
    check_audit(sides[2]->seqs, &held, 1);
}

int main(void) {
    kvb_hooks hooks = {.struct_size = sizeof hooks, .alloc = scarce_alloc, .free = scarce_free};
    CHECK_OK(kvb_set_hooks(&hooks));
    count_up(tokens, LENGTH(tokens), 1);
    CHECK_OK(kvb_fleet_create(&fleet));
    CHECK_OK(kvb_flights_create(1 << 20, &flights));
    for (uint32_t i = 0; i < 3; i++) {
        sides[i] = make_side(10 * i, 8, 10);
        kvb_member member = {.struct_size = sizeof member, .model = 7, .service = 64};
        uint64_t id = 77;
        if (i == 2) continue;
        CHECK_OK(kvb_fleet_add(fleet, sides[i]->seqs, &member, &id, NULL));
        CHECK_EQ(id, i);
        sides[i]->seqs = NULL;
    }
    CHECK_OK(kvb_seqs_leases_create(sides[2]->seqs, 8, &leases));
    source = run_prompt(sides[0], on(0), tokens, 10);
    stranger = run_prompt(sides[2], sides[2]->seqs, tokens, 10);

    for (size_t i = 0; i < LENGTH(attempts); i++) {
        for (size_t at = 1;; at++) {
            calls = 0;
            refused = at;
            kvb_status status = attempts[i].call();
            refused = 0;
            if (status != KVB_OK && status != KVB_ERR_NO_MEMORY) fprintf(stderr, "%s, allocation %zu\n", attempts[i].name, at);
            nothing_has_changed();
            if (status == KVB_OK) {
                CHECK(at > 1 || !attempts[i].allocates);
                break;
            }
            CHECK_STATUS(status, KVB_ERR_NO_MEMORY);
        }
    }
    kvb_leases_destroy(leases);
    kvb_flights_destroy(flights);
    kvb_fleet_destroy(fleet);
    for (size_t i = 0; i < 3; i++) destroy_side(sides[i]);
    CHECK_EQ(live, 0);
    puts("scarce memory: done");
    return 0;
}
