/* Fleets: placement, why a request has no place, moves whose content is really copied, loans, reports. */
#include "moving.h"

static kvb_error error = {.struct_size = sizeof(kvb_error)};

#define MODEL 7
static uint32_t tokens[64];
static side *sides[2];
static kvb_fleet *fleet;
static uint64_t ids[2];
static kvb_step *step;

static kvb_member member_of(uint64_t model, uint64_t service) {
    kvb_member member = {.struct_size = sizeof member};
    member.model = model;
    member.service = service;
    return member;
}

static uint64_t add(kvb_seqs *seqs, kvb_member member) {
    uint64_t id = KVB_NO_INSTANCE;
    CHECK_OK(kvb_fleet_add(fleet, seqs, &member, &id, NULL));
    return id;
}

/* Two instances of one model, of two shards with 8 blocks of 4 positions each. */
static void open_fleet(size_t max_blocks) {
    count_up(tokens, LENGTH(tokens), 100);
    CHECK_OK(kvb_fleet_create(&fleet));
    for (uint32_t i = 0; i < 2; i++) {
        sides[i] = make_side(10 * i, 8, max_blocks);
        ids[i] = add(sides[i]->seqs, member_of(MODEL, 64));
        CHECK_EQ(ids[i], i);
        sides[i]->seqs = NULL;
    }
    CHECK_OK(kvb_step_create(kvb_fleet_get(fleet, ids[0]), 1, 64, &step));
}

static kvb_seqs *on(uint64_t instance) {
    kvb_seqs *seqs = kvb_fleet_get(fleet, instance);
    CHECK(seqs != NULL);
    return seqs;
}

static void close_fleet(void) {
    for (size_t i = 0; i < 2; i++) CHECK_EQ(available(on(ids[i])), 8);
    CHECK_OK(kvb_fleet_audit(fleet, NULL, 0, &error));
    kvb_step_destroy(step);
    kvb_fleet_destroy(fleet);
    for (size_t i = 0; i < 2; i++) destroy_side(sides[i]);
}

static kvb_status grow(uint64_t instance, kvb_handle seq) {
    return kvb_seqs_append(on(instance), seq, 1, step, &error);
}

static void release(uint64_t instance, kvb_handle seq) {
    CHECK_OK(kvb_seqs_release(on(instance), &seq, 1));
}

static kvb_placed place(const uint32_t *prompt, size_t count, uint32_t first) {
    kvb_admit asked = request(prompt, count);
    kvb_placed placed;
    CHECK_OK(kvb_fleet_admit(fleet, MODEL, &asked, first, &placed, &error));
    return placed;
}

static kvb_fleet_statistics statistics(void) {
    kvb_fleet_statistics out = {.struct_size = sizeof out};
    CHECK_OK(kvb_fleet_get_statistics(fleet, &out));
    return out;
}

static void instances_come_and_go(void) {
    open_fleet(0);
    uint64_t listed[3] = {77, 77, 77};
    size_t count = 0;
    CHECK_OK(kvb_fleet_list(fleet, listed, 3, &count));
    CHECK(count == 2 && listed[0] == 0 && listed[1] == 1 && listed[2] == 77);
    CHECK_OK(kvb_fleet_list(fleet, NULL, 0, &count));
    CHECK_EQ(count, 2);
    CHECK(kvb_fleet_get(fleet, 2) == NULL && kvb_fleet_get(NULL, 0) == NULL);

    /* What is refused stays the caller's, as it was. */
    side *other = make_side(20, 8, 0);
    uint64_t id = 77;
    kvb_member member = member_of(MODEL, 0);
    REFUSED(KVB_ERR_NO_SERVICE, kvb_fleet_add(fleet, other->seqs, &member, &id, &error));
    member.service = 1;
    member.flags = 2;
    REFUSED(KVB_ERR_INVALID, kvb_fleet_add(fleet, other->seqs, &member, &id, &error));
    member.flags = 0;
    kvb_seqs_config config = {.struct_size = sizeof config};
    config.max_sequences = 2;
    kvb_seqs *shared = NULL;
    CHECK_OK(kvb_seqs_create_another(on(ids[1]), &config, &shared, NULL));
    REFUSED(KVB_ERR_SHARED_POOL, kvb_fleet_add(fleet, shared, &member, &id, &error));
    CHECK(error.instance == 1 && error.shard == 10);
    CHECK_EQ(kvb_seqs_max(shared), 2);
    kvb_seqs_destroy(shared);
    side *namesake = make_side(1, 8, 0);
    REFUSED(KVB_ERR_SHARED_NAME, kvb_fleet_add(fleet, namesake->seqs, &member, &id, &error));
    CHECK(error.instance == 0 && error.shard == 1);
    CHECK_EQ(available(namesake->seqs), 8);
    destroy_side(namesake);
    REFUSED(KVB_ERR_NULL, kvb_fleet_add(NULL, other->seqs, &member, &id, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_add(fleet, NULL, &member, &id, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_add(fleet, other->seqs, NULL, &id, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_add(fleet, other->seqs, &member, NULL, &error));
    member.struct_size = 4;
    REFUSED(KVB_ERR_STRUCT_SIZE, kvb_fleet_add(fleet, other->seqs, &member, &id, &error));
    CHECK(id == 77 && kvb_seqs_max(other->seqs) == 8);

    /* One that is starting takes no requests until it is ready. */
    member = member_of(8, 32);
    member.flags = KVB_MEMBER_STARTING;
    member.max_service = 40;
    member.lease_budget = 5;
    id = add(other->seqs, member);
    CHECK_EQ(id, 2);
    other->seqs = NULL;
    kvb_member back = {.struct_size = sizeof back};
    CHECK_OK(kvb_fleet_get_member(fleet, id, &back, NULL));
    CHECK(back.flags == KVB_MEMBER_STARTING && back.model == 8 && back.service == 32 && back.max_service == 40 && back.lease_budget == 5);
    CHECK_OK(kvb_fleet_get_member(fleet, ids[0], &back, NULL));
    CHECK(back.flags == 0 && back.max_service == 0 && back.lease_budget == 0);
    uint32_t state = 77;
    CHECK_OK(kvb_fleet_state(fleet, id, &state, NULL));
    CHECK_EQ(state, KVB_INSTANCE_STARTING);
    kvb_admit asked = request(tokens, 8);
    kvb_placed placed;
    REFUSED(KVB_ERR_NOT_READY, kvb_fleet_admit(fleet, 8, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    CHECK(error.needed == 8 && error.limit == 1);
    CHECK_OK(kvb_fleet_set_ready(fleet, id, NULL));
    CHECK_OK(kvb_fleet_state(fleet, id, &state, NULL));
    CHECK_EQ(state, KVB_INSTANCE_READY);
    CHECK_OK(kvb_fleet_admit(fleet, 8, &asked, KVB_PLACEMENT_AFFINITY, &placed, NULL));
    CHECK_EQ(placed.instance, 2);
    CHECK_OK(kvb_fleet_drain(fleet, id, NULL));
    CHECK_OK(kvb_fleet_state(fleet, id, &state, NULL));
    CHECK_EQ(state, KVB_INSTANCE_DRAINING);
    REFUSED(KVB_ERR_NOT_READY, kvb_fleet_admit(fleet, 8, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    kvb_seqs *removed = NULL;
    REFUSED(KVB_ERR_NOT_EMPTY, kvb_fleet_remove(fleet, id, &removed, &error));
    CHECK(error.needed == 1 && error.available == 0 && error.limit == 0 && removed == NULL);
    release(id, placed.admitted.seq);
    REFUSED(KVB_ERR_NULL, kvb_fleet_remove(fleet, id, NULL, &error));
    CHECK_OK(kvb_fleet_remove(fleet, id, &removed, NULL));
    CHECK_EQ(available(removed), 8);
    other->seqs = removed;
    removed = NULL;

    /* Its name is not given again. */
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_remove(fleet, id, &removed, &error));
    CHECK_EQ(error.instance, 2);
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_set_ready(fleet, id, &error));
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_drain(fleet, id, &error));
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_state(fleet, id, &state, &error));
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_get_member(fleet, id, &back, &error));
    kvb_share share;
    CHECK_STATUS(kvb_fleet_share(fleet, id, &share), KVB_ERR_NO_SUCH_INSTANCE);
    REFUSED(KVB_ERR_NO_SUCH_MODEL, kvb_fleet_admit(fleet, 8, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    CHECK(error.needed == 8 && error.instance == KVB_NO_INSTANCE);
    id = add(other->seqs, member_of(8, 1));
    CHECK_EQ(id, 3);
    CHECK_OK(kvb_fleet_remove(fleet, id, &other->seqs, NULL));
    destroy_side(other);
    close_fleet();
}

static void requests_go_where_they_fit(void) {
    open_fleet(0);
    kvb_admit asked = request(tokens, 20);
    kvb_candidate candidates[3];
    size_t count = 0;
    CHECK_OK(kvb_fleet_candidates(fleet, MODEL, &asked, KVB_PLACEMENT_MOST_FREE, candidates, 3, &count, NULL));
    CHECK(count == 2 && candidates[0].instance == 0 && candidates[1].instance == 1);
    CHECK(candidates[0].hit == 0 && candidates[0].charge == 5 && candidates[0].free == 3 && candidates[0].block_size == 4);
    CHECK(candidates[0].demanded == 20 && candidates[0].service == 64);
    kvb_candidate first;
    CHECK_OK(kvb_fleet_check(fleet, MODEL, &asked, KVB_PLACEMENT_MOST_FREE, &first, NULL));
    CHECK(first.instance == 0 && first.demanded == 20);
    kvb_largest largest;
    CHECK_OK(kvb_fleet_largest(fleet, MODEL, &largest));
    CHECK(largest.now == 32 && largest.ever == 32 && largest.sum_now == 64 && largest.sum_ever == 64);

    kvb_placed one = place(tokens, 20, KVB_PLACEMENT_MOST_FREE);
    CHECK_EQ(one.instance, 0);
    CHECK(one.admitted.hit == 0 && one.admitted.fresh == 5);
    kvb_share share;
    CHECK_OK(kvb_fleet_share(fleet, 0, &share));
    CHECK(share.memory_used == 5 && share.memory_whole == 8 && share.service_used == 20 && share.service_whole == 64);
    CHECK_OK(kvb_seqs_computed(on(0), one.admitted.seq, 20, NULL));
    CHECK_OK(kvb_fleet_share(fleet, 0, &share));
    CHECK_EQ(share.service_used, 1);

    /* Affinity goes where the prefix is; the others where most is left, and by turns. */
    CHECK_OK(kvb_fleet_candidates(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, candidates, 1, &count, NULL));
    CHECK(count == 2 && candidates[0].instance == 0 && candidates[0].hit == 16 && candidates[0].charge == 1 && candidates[0].free == 2);
    CHECK_OK(kvb_fleet_check(fleet, MODEL, &asked, KVB_PLACEMENT_MOST_FREE, &first, NULL));
    CHECK_EQ(first.instance, 1);
    CHECK_OK(kvb_fleet_check(fleet, MODEL, &asked, KVB_PLACEMENT_ROUND_ROBIN, &first, NULL));
    CHECK_EQ(first.instance, 1);
    kvb_placed two = place(tokens + 20, 20, KVB_PLACEMENT_MOST_FREE);
    CHECK_EQ(two.instance, 1);

    /* 3 blocks are left on each: 24 positions in sum, and 16 fit nowhere. */
    CHECK_OK(kvb_fleet_largest(fleet, MODEL, &largest));
    CHECK(largest.now == 12 && largest.ever == 32 && largest.sum_now == 24);
    asked = request(tokens + 40, 16);
    kvb_placed placed = {.instance = 77};
    REFUSED(KVB_ERR_SHORTFALL, kvb_fleet_admit(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    CHECK(error.needed == 4 && error.available == 3 && error.instance == 0 && error.shard == 0 && error.sum == 6);
    asked = request(tokens + 30, 28);
    REFUSED(KVB_ERR_SHORTFALL, kvb_fleet_admit(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    CHECK(error.needed == 7 && error.sum == 6);
    count = 77;
    REFUSED(KVB_ERR_SHORTFALL, kvb_fleet_candidates(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, candidates, 3, &count, &error));
    CHECK_EQ(count, 77);
    REFUSED(KVB_ERR_SHORTFALL, kvb_fleet_check(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, &first, &error));
    asked = request(tokens, 36);
    REFUSED(KVB_ERR_NEVER_FITS, kvb_fleet_admit(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    CHECK(error.needed == 9 && error.limit == 8 && error.instance == 0 && error.shard == 0 && error.sum == 16);
    asked.prompt.extra_count = 1;
    kvb_extra_key extra = {1, 0};
    asked.prompt.extra = &extra;
    REFUSED(KVB_ERR_LENGTH_MISMATCH, kvb_fleet_admit(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    asked = request(tokens, 4);
    REFUSED(KVB_ERR_INVALID, kvb_fleet_admit(fleet, MODEL, &asked, 3, &placed, &error));
    REFUSED(KVB_ERR_INVALID, kvb_fleet_check(fleet, MODEL, &asked, 3, &first, &error));
    REFUSED(KVB_ERR_INVALID, kvb_fleet_candidates(fleet, MODEL, &asked, 3, candidates, 3, &count, &error));
    CHECK_EQ(placed.instance, 77);
    kvb_fleet_statistics requests = statistics();
    CHECK(requests.placed == 2 && requests.later == 2 && requests.later_fits_in_sum == 1 && requests.never == 1);
    CHECK(requests.service_full == 0 && requests.otherwise == 1);

    /* With little service left it is the service that says no. */
    release(0, one.admitted.seq);
    release(1, two.admitted.seq);
    kvb_seqs *taken = NULL;
    for (uint64_t i = 0; i < 2; i++) {
        CHECK_OK(kvb_fleet_remove(fleet, ids[i], &taken, NULL));
        kvb_member member = member_of(MODEL, 16);
        member.max_service = 20;
        ids[i] = add(taken, member);
    }
    one = place(tokens + 40, 12, KVB_PLACEMENT_ROUND_ROBIN);
    two = place(tokens + 40, 10, KVB_PLACEMENT_ROUND_ROBIN);
    CHECK(one.instance == 2 && two.instance == 3);
    asked = request(tokens + 20, 11);
    REFUSED(KVB_ERR_SERVICE_FULL, kvb_fleet_admit(fleet, MODEL, &asked, KVB_PLACEMENT_AFFINITY, &placed, &error));
    CHECK(error.instance == 3 && error.needed == 11 && error.available == 10 && error.limit == 20);
    release(2, one.admitted.seq);
    release(3, two.admitted.seq);
    close_fleet();
}

static kvb_move_terms terms_of(uint64_t owner, uint64_t deadline, uint32_t writers) {
    kvb_move_terms terms = {.struct_size = sizeof terms};
    terms.owner = owner;
    terms.deadline = deadline;
    terms.writers = writers;
    return terms;
}

static kvb_move *start(kvb_handle source, size_t count, kvb_move_terms terms) {
    kvb_admit asked = request(tokens, count);
    kvb_move *moving = NULL;
    CHECK_OK(kvb_fleet_start_move(fleet, 0, source, 1, &asked, &terms, &moving, &error));
    return moving;
}

static kvb_route route_of(const kvb_move *moving) {
    kvb_route route = {.struct_size = sizeof route};
    CHECK_OK(kvb_move_get_route(moving, &route));
    return route;
}

static void copy_all(const kvb_move *moving) {
    const kvb_export *export = kvb_move_export(moving);
    const kvb_import *import = kvb_move_import(moving);
    for (uint32_t s = 0; s < SHARDS; s++) {
        const uint32_t *filled = NULL;
        size_t count = 0;
        copy_shard(sides[0], export, sides[1], import, (size_t)route_of(moving).hit, s);
        CHECK_OK(kvb_import_ids(import, s, &filled, &count));
        CHECK_OK(kvb_import_arrived(import, s, 0, 0, count, NULL, NULL));
    }
}

static void a_sequence_moves(void) {
    open_fleet(0);
    kvb_handle source = run_prompt(sides[0], on(0), tokens, 10);
    kvb_move *moving = start(source, 10, terms_of(1, 100, 1));
    kvb_route route = route_of(moving);
    CHECK(route.from == 0 && route.to == 1 && route.source.bits == source.bits && route.hit == 0);
    CHECK_EQ(kvb_export_positions(kvb_move_export(moving)), 10);
    CHECK_EQ(kvb_export_handover(kvb_move_export(moving)), KVB_HANDOVER_MOVE);
    CHECK_EQ(kvb_import_left(kvb_move_import(moving)), 6);

    /* Both are charged, and neither goes on. */
    kvb_seqs_report report = {.struct_size = sizeof report};
    for (uint64_t i = 0; i < 2; i++) {
        CHECK_OK(kvb_seqs_get_report(on(i), &report));
        CHECK(report.duplicated == 6 && report.held == 3);
    }
    REFUSED(KVB_ERR_LEAVING, grow(0, source));
    REFUSED(KVB_ERR_UNCOMMITTED, grow(1, route.seq));
    kvb_seqs *removed = NULL;
    REFUSED(KVB_ERR_NOT_EMPTY, kvb_fleet_remove(fleet, 0, &removed, &error));
    CHECK(error.needed == 1 && error.available == 0 && error.limit == 2);
    REFUSED(KVB_ERR_NOT_EMPTY, kvb_fleet_remove(fleet, 1, &removed, &error));
    CHECK(error.needed == 1 && error.available == 6 && error.limit == 0);
    CHECK_OK(kvb_fleet_audit(fleet, NULL, 0, NULL));
    kvb_handle seq = {77};
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_fleet_finish_move(fleet, moving, &seq, &error));
    CHECK(error.needed == 10 && error.available == 0 && error.limit == 6 && seq.bits == 77);
    copy_all(moving);
    CHECK_OK(kvb_fleet_finish_move(fleet, moving, &seq, NULL));
    CHECK_EQ(seq.bits, route.seq.bits);
    each_position(sides[1], on(1), seq, tokens, 0, 10, 0);
    CHECK_OK(grow(1, seq));
    REFUSED(KVB_ERR_STALE, grow(0, source));
    CHECK_EQ(available(on(0)), 8);

    /* It is over: nothing of it can be done twice. */
    REFUSED(KVB_ERR_MOVE_OVER, kvb_fleet_finish_move(fleet, moving, &seq, &error));
    REFUSED(KVB_ERR_MOVE_OVER, kvb_fleet_abort_move(fleet, moving, &error));
    REFUSED(KVB_ERR_ANSWERED, kvb_import_arrived(kvb_move_import(moving), 0, 0, 0, 1, NULL, &error));
    kvb_move_destroy(moving);
    release(1, seq);

    /* With a fence the source's blocks stay until its stream has passed that. */
    source = run_prompt(sides[0], on(0), tokens, 10);
    moving = start(source, 10, terms_of(1, 100, 1));
    CHECK_EQ(route_of(moving).hit, 8);
    copy_all(moving);
    kvb_lanes *lanes = NULL, *others = NULL;
    CHECK_OK(kvb_seqs_lanes_create(on(0), &lanes));
    CHECK_OK(kvb_seqs_lanes_create(on(1), &others));
    REFUSED(KVB_ERR_WRONG_POOL, kvb_fleet_finish_move_after(fleet, moving, others, 5, &seq, &error));
    CHECK_OK(kvb_fleet_finish_move_after(fleet, moving, lanes, 5, &seq, NULL));
    REFUSED(KVB_ERR_MOVE_OVER, kvb_fleet_finish_move_after(fleet, moving, lanes, 5, &seq, &error));
    CHECK_EQ(kvb_lanes_waiting(lanes), 6);
    CHECK_EQ(available(on(0)), 5);
    const kvb_holder holder = {KVB_HOLDER_LANES, 0, lanes};
    REFUSED(KVB_ERR_INCONSISTENT, kvb_fleet_audit(fleet, NULL, 0, &error));
    CHECK(error.instance == 0 && error.shard == 0);
    CHECK_OK(kvb_fleet_audit(fleet, &holder, 1, NULL));
    for (size_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_lanes_complete(lanes, s, 5, NULL));
    CHECK_EQ(available(on(0)), 8);
    each_position(sides[1], on(1), seq, tokens, 0, 10, 0);
    kvb_lanes_destroy(lanes);
    kvb_lanes_destroy(others);
    kvb_move_destroy(moving);
    release(1, seq);
    close_fleet();
}

static void moves_are_called_off(void) {
    open_fleet(0);
    kvb_flights *flights = NULL;
    CHECK_OK(kvb_flights_create(6 * BLOCK_BYTES, &flights));
    kvb_handle source = run_prompt(sides[0], on(0), tokens, 10);

    /* By the fleet: the source goes on, the destination's blocks come back when the writers are done. */
    kvb_move_terms terms = terms_of(1, 100, 2);
    terms.flights = flights;
    kvb_move *moving = start(source, 10, terms);
    CHECK_EQ(kvb_flights_in_flight(flights), 6 * BLOCK_BYTES);
    kvb_handle seq = route_of(moving).seq;
    CHECK_OK(kvb_fleet_abort_move(fleet, moving, NULL));
    REFUSED(KVB_ERR_MOVE_OVER, kvb_fleet_abort_move(fleet, moving, &error));
    CHECK_STATUS(kvb_seqs_get_state(on(1), seq, &(kvb_state){.struct_size = sizeof(kvb_state)}), KVB_ERR_STALE);
    CHECK_EQ(state_of(on(0), source).positions, 10);
    CHECK_EQ(available(on(1)), 5);
    uint32_t answer = 77;
    const kvb_import *import = kvb_move_import(moving);
    for (uint32_t s = 0; s < SHARDS; s++) {
        CHECK_OK(kvb_import_arrived(import, s, 0, 0, 3, &answer, NULL));
        CHECK_EQ(answer, KVB_ANSWER_UNWANTED);
        CHECK_OK(kvb_import_end(import, s, 1, NULL, NULL));
    }
    CHECK_EQ(available(on(1)), 8);
    CHECK_EQ(kvb_flights_in_flight(flights), 0);
    kvb_move_destroy(moving);

    /* By the destination's registry. */
    moving = start(source, 10, terms_of(1, 100, 1));
    release(1, route_of(moving).seq);
    REFUSED(KVB_ERR_STALE, kvb_fleet_finish_move(fleet, moving, &seq, &error));
    CHECK_OK(kvb_fleet_abort_move(fleet, moving, NULL));
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(kvb_move_import(moving), s, 0, NULL, NULL));
    kvb_move_destroy(moving);

    /* By the source's: the destination has a sequence that is nobody's, until the move is aborted. */
    moving = start(source, 10, terms_of(1, 100, 1));
    release(0, source);
    copy_all(moving);
    REFUSED(KVB_ERR_MOVE_ABORTED, kvb_fleet_finish_move(fleet, moving, &seq, &error));
    CHECK_OK(kvb_fleet_abort_move(fleet, moving, NULL));
    kvb_move_destroy(moving);
    CHECK_EQ(kvb_seqs_count(on(0)) + kvb_seqs_count(on(1)), 0);

    /* By its end: what is read later does not count. */
    source = run_prompt(sides[0], on(0), tokens, 10);
    moving = start(source, 10, terms_of(1, 100, 1));
    size_t ended = 77;
    CHECK_OK(kvb_fleet_tick(fleet, 99, &ended));
    CHECK_EQ(ended, 0);
    CHECK_OK(kvb_fleet_tick(fleet, 100, &ended));
    CHECK_EQ(ended, 2);
    /* What had arrived before the other side called the last one off is found there. */
    CHECK_EQ(route_of(moving).hit, 8);
    for (uint32_t s = 0; s < SHARDS; s++) {
        CHECK_OK(kvb_import_arrived(kvb_move_import(moving), s, 0, 0, 1, &answer, NULL));
        CHECK_EQ(answer, KVB_ANSWER_SOURCE_GONE);
    }
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_fleet_finish_move(fleet, moving, &seq, &error));
    CHECK_OK(kvb_fleet_abort_move(fleet, moving, NULL));
    kvb_move_destroy(moving);
    CHECK_OK(grow(0, source));

    /* And by dropping it: what was admitted at the destination is released there. */
    moving = start(source, 11, terms_of(1, 200, 1));
    seq = route_of(moving).seq;
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(kvb_move_import(moving), s, 0, NULL, NULL));
    kvb_move_destroy(moving);
    CHECK_OK(grow(0, source));
    release(1, seq);
    release(0, source);
    kvb_flights_destroy(flights);
    close_fleet();
}

static void moves_are_refused(void) {
    open_fleet(0);
    kvb_handle source = run_prompt(sides[0], on(0), tokens, 10), stale = {UINT64_MAX};
    kvb_admit asked = request(tokens, 10);
    kvb_move_terms terms = terms_of(1, 100, 1);
    kvb_move *moving = NULL;
#define START(status, from, seq, to) \
    REFUSED(status, kvb_fleet_start_move(fleet, from, seq, to, &asked, &terms, &moving, &error))
    START(KVB_ERR_NO_SUCH_INSTANCE, 0, source, 2);
    CHECK_EQ(error.instance, 2);
    START(KVB_ERR_NO_SUCH_INSTANCE, 9, source, 0);
    START(KVB_ERR_SAME_INSTANCE, 0, source, 0);
    CHECK_EQ(error.instance, 0);
    START(KVB_ERR_STALE, 0, stale, 1);
    asked.prompt.token_count = 9;
    START(KVB_ERR_LENGTH_MISMATCH, 0, source, 1);
    CHECK(error.needed == 10 && error.available == 9);
    asked.prompt.token_count = 33;
    START(KVB_ERR_NEVER_FITS, 0, source, 1);
    CHECK(error.needed == 9 && error.limit == 8 && error.shard == 10);
    asked.prompt.token_count = 10;
    terms.writers = 0;
    START(KVB_ERR_TOO_MANY_WRITERS, 0, source, 1);
    terms.writers = 1;
    CHECK_OK(kvb_fleet_tick(fleet, 100, NULL));
    START(KVB_ERR_ALREADY_OVER, 0, source, 1);
    terms.deadline = KVB_NO_DEADLINE;
    kvb_flights *flights = NULL;
    CHECK_OK(kvb_flights_create(1, &flights));
    terms.flights = flights;
    START(KVB_ERR_TOO_MANY_BYTES, 0, source, 1);
    terms.flights = NULL;
    kvb_flights_destroy(flights);
    CHECK_OK(kvb_fleet_drain(fleet, 1, NULL));
    START(KVB_ERR_NOT_READY, 0, source, 1);
    CHECK_EQ(error.instance, 1);
    CHECK_OK(kvb_fleet_set_ready(fleet, 1, NULL));
    side *other = make_side(20, 8, 0);
    uint64_t id = add(other->seqs, member_of(8, 1));
    START(KVB_ERR_OTHER_MODEL, 0, source, id);
    CHECK(error.needed == MODEL && error.available == 8);
    CHECK_OK(kvb_fleet_remove(fleet, id, &other->seqs, NULL));
    destroy_side(other);
    terms.struct_size = 4;
    START(KVB_ERR_STRUCT_SIZE, 0, source, 1);
    terms.struct_size = sizeof terms;
    REFUSED(KVB_ERR_NULL, kvb_fleet_start_move(NULL, 0, source, 1, &asked, &terms, &moving, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_start_move(fleet, 0, source, 1, NULL, &terms, &moving, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_start_move(fleet, 0, source, 1, &asked, NULL, &moving, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_start_move(fleet, 0, source, 1, &asked, &terms, NULL, &error));
    CHECK(moving == NULL && kvb_seqs_count(on(1)) == 0 && available(on(1)) == 8);
    CHECK_OK(grow(0, source));

    kvb_handle seq = {77};
    CHECK_STATUS(kvb_move_get_route(NULL, NULL), KVB_ERR_NULL);
    CHECK(kvb_move_export(NULL) == NULL && kvb_move_import(NULL) == NULL);
    REFUSED(KVB_ERR_NULL, kvb_fleet_finish_move(fleet, NULL, &seq, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_abort_move(fleet, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_finish_move_after(fleet, NULL, NULL, 0, &seq, &error));
    CHECK_STATUS(kvb_fleet_tick(NULL, 0, NULL), KVB_ERR_NULL);
    kvb_move_destroy(NULL);
    release(0, source);

    /* A move of another fleet is none of this one's. */
    source = run_prompt(sides[0], on(0), tokens, 10);
    moving = start(source, 10, terms);
    REFUSED(KVB_ERR_NULL, kvb_fleet_finish_move(NULL, moving, &seq, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_finish_move(fleet, moving, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_abort_move(NULL, moving, &error));
    kvb_fleet *strangers = NULL;
    CHECK_OK(kvb_fleet_create(&strangers));
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_finish_move(strangers, moving, &seq, &error));
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_abort_move(strangers, moving, &error));
    kvb_fleet_destroy(strangers);
    CHECK_EQ(seq.bits, 77);
    CHECK_OK(kvb_fleet_abort_move(fleet, moving, NULL));
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(kvb_move_import(moving), s, 0, NULL, NULL));
    kvb_move_destroy(moving);
    release(0, source);
    close_fleet();
}

/* Ranks in lockstep have one table: what is moved is one list of blocks, which is copied on each rank. */
static void ranks_in_lockstep_move_one_table(void) {
    CHECK_OK(kvb_fleet_create(&fleet));
    kvb_pool_config pool = {.struct_size = sizeof pool, .block_size = BLOCK_SIZE};
    const kvb_seqs_config config = seqs_config(2);
    for (uint32_t i = 0; i < 2; i++) {
        const kvb_rank ranks[2] = {{10 * i, 0, 8, 0}, {10 * i + 1, 0, 6, 0}};
        kvb_seqs *seqs = NULL;
        CHECK_OK(kvb_seqs_create_lockstep(ranks, 2, &pool, &config, &seqs, NULL));
        CHECK_EQ(add(seqs, member_of(MODEL, 64)), i);
    }
    kvb_placed placed = place(tokens, 10, KVB_PLACEMENT_AFFINITY);
    CHECK_OK(kvb_seqs_computed(on(0), placed.admitted.seq, 10, NULL));
    kvb_move *moving = start(placed.admitted.seq, 10, terms_of(1, KVB_NO_DEADLINE, 2));
    CHECK_EQ(kvb_export_shards(kvb_move_export(moving)), 1);
    CHECK_EQ(kvb_import_shards(kvb_move_import(moving)), 1);
    CHECK_EQ(kvb_import_left(kvb_move_import(moving)), 3);
    kvb_handle seq = {77};
    CHECK_OK(kvb_import_arrived(kvb_move_import(moving), 0, 0, 0, 3, NULL, NULL));
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_fleet_finish_move(fleet, moving, &seq, &error));
    CHECK_OK(kvb_import_arrived(kvb_move_import(moving), 0, 1, 0, 3, NULL, NULL));
    CHECK_OK(kvb_fleet_finish_move(fleet, moving, &seq, NULL));
    CHECK_EQ(kvb_seqs_free(on(0)), 6);
    CHECK_EQ(kvb_seqs_free(on(1)), 3);
    kvb_move_destroy(moving);
    release(1, seq);
    CHECK_OK(kvb_fleet_audit(fleet, NULL, 0, NULL));
    kvb_fleet_destroy(fleet);
}

static kvb_loan loan_of(uint64_t loan) {
    kvb_loan state = {.struct_size = sizeof state};
    CHECK_OK(kvb_fleet_get_loan(fleet, loan, &state, NULL));
    return state;
}

static void memory_is_lent_and_comes_back(void) {
    open_fleet(12);
    kvb_handle running = run_prompt(sides[0], on(0), tokens, 28);
    uint64_t loan = 77;
    kvb_loan state = {.struct_size = sizeof state};
    CHECK_OK(kvb_fleet_lend(fleet, 0, 1, 4, &loan, NULL));
    CHECK_EQ(loan, 0);
    state = loan_of(loan);
    CHECK(state.stage == KVB_LOAN_DRAINING && state.from == 0 && state.to == 1 && state.given == 4 && state.taken == 4);
    CHECK(state.left == 6 && state.left_over_bytes == 0);
    uint64_t listed[2] = {77, 77};
    size_t count = 0;
    CHECK_OK(kvb_fleet_list_loans(fleet, listed, 2, &count));
    CHECK(count == 1 && listed[0] == 0 && listed[1] == 77);
    CHECK_OK(kvb_fleet_settle(fleet, loan, &state, NULL));
    CHECK(state.stage == KVB_LOAN_DRAINING && state.left == 6);
    REFUSED(KVB_ERR_LOAN_CROSSES, kvb_fleet_lend(fleet, 1, 0, 1, &loan, &error));
    CHECK(error.needed == 0 && error.instance == 1);
    release(0, running);
    CHECK_OK(kvb_fleet_settle(fleet, loan, &state, NULL));
    CHECK(state.stage == KVB_LOAN_LENT && state.left == 0);
    CHECK_EQ(available(on(0)), 4);
    CHECK_EQ(available(on(1)), 12);

    kvb_fleet_report *report = NULL;
    CHECK_OK(kvb_fleet_report_create(fleet, &report));
    kvb_member_report member = {.struct_size = sizeof member};
    CHECK_OK(kvb_fleet_report_get_member(report, 0, &member));
    CHECK(member.lent == 4 && member.borrowed == 0);
    CHECK_OK(kvb_fleet_report_get_member(report, 1, &member));
    CHECK(member.lent == 0 && member.borrowed == 4);
    kvb_fleet_report_destroy(report);

    /* It is all in use when it is called back: it drains. */
    running = run_prompt(sides[1], on(1), tokens, 48);
    CHECK_OK(kvb_fleet_give_back(fleet, loan, &state, NULL));
    CHECK(state.stage == KVB_LOAN_RETURNING && state.left == 8);
    release(1, running);
    CHECK_OK(kvb_fleet_settle(fleet, loan, &state, NULL));
    CHECK_EQ(state.stage, KVB_LOAN_OVER);
    REFUSED(KVB_ERR_NO_SUCH_LOAN, kvb_fleet_settle(fleet, loan, &state, &error));
    REFUSED(KVB_ERR_NO_SUCH_LOAN, kvb_fleet_give_back(fleet, loan, &state, &error));
    REFUSED(KVB_ERR_NO_SUCH_LOAN, kvb_fleet_get_loan(fleet, loan, &state, &error));
    CHECK_OK(kvb_fleet_list_loans(fleet, NULL, 0, &count));
    CHECK_EQ(count, 0);

    /* Promises stand: neither side gives what it has promised. */
    kvb_admit asked = request(tokens, 4);
    asked.growth = KVB_GROWTH_CAP;
    asked.growth_amount = 24;
    kvb_admitted admitted;
    CHECK_OK(kvb_seqs_admit(on(0), &asked, &admitted, NULL));
    loan = 77;
    REFUSED(KVB_ERR_SHORTFALL, kvb_fleet_lend(fleet, 0, 1, 4, &loan, &error));
    CHECK_EQ(error.shard, 0);
    REFUSED(KVB_ERR_BEYOND_MAX, kvb_fleet_lend(fleet, 0, 1, 5, &loan, &error));
    CHECK(error.needed == 13 && error.limit == 12);
    REFUSED(KVB_ERR_SAME_INSTANCE, kvb_fleet_lend(fleet, 0, 0, 1, &loan, &error));
    REFUSED(KVB_ERR_NO_SUCH_INSTANCE, kvb_fleet_lend(fleet, 0, 5, 1, &loan, &error));
    REFUSED(KVB_ERR_TOO_FEW_BYTES, kvb_fleet_lend(fleet, 0, 1, 0, &loan, &error));
    CHECK(error.needed == BLOCK_BYTES && error.available == 0);
    kvb_pool *pool = make_pool(20, 4, 8, BLOCK_SIZE);
    kvb_seqs_config config = {.struct_size = sizeof config};
    config.max_sequences = 1;
    kvb_seqs *narrow = NULL;
    CHECK_OK(kvb_seqs_create((const kvb_pool *const *)&pool, 1, &config, &narrow, NULL));
    kvb_pool_destroy(pool);
    uint64_t id = add(narrow, member_of(8, 1));
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_fleet_lend(fleet, 0, id, 1, &loan, &error));
    CHECK(error.needed == 2 && error.available == 1);
    pool = make_pool(30, 4, 8, BLOCK_SIZE);
    CHECK_OK(kvb_seqs_create((const kvb_pool *const *)&pool, 1, &config, &narrow, NULL));
    kvb_pool_destroy(pool);
    uint64_t unsaid = add(narrow, member_of(8, 1));
    REFUSED(KVB_ERR_UNKNOWN_FORMAT, kvb_fleet_lend(fleet, unsaid, id, 1, &loan, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_lend(NULL, 0, 1, 1, &loan, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_lend(fleet, 0, 1, 1, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_settle(NULL, 0, &state, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_settle(fleet, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_give_back(NULL, 0, &state, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_give_back(fleet, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_get_loan(NULL, 0, &state, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_get_loan(fleet, 0, NULL, &error));
    CHECK_STATUS(kvb_fleet_list_loans(NULL, listed, 2, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_list_loans(fleet, NULL, 2, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_list_loans(fleet, listed, 2, NULL), KVB_ERR_NULL);
    CHECK_EQ(loan, 77);

    /* One that was not settled is over at once. */
    CHECK_OK(kvb_fleet_lend(fleet, 1, 0, 2, &loan, NULL));
    CHECK_EQ(loan, 1);
    CHECK_EQ(loan_of(loan).stage, KVB_LOAN_DRAINING);
    CHECK_OK(kvb_fleet_give_back(fleet, loan, &state, NULL));
    CHECK_EQ(state.stage, KVB_LOAN_OVER);
    release(0, admitted.seq);
    close_fleet();
}

static int has_line(const char *page, const char *wanted) {
    const size_t length = strlen(wanted);
    for (const char *at = strstr(page, wanted); at != NULL; at = strstr(at + 1, wanted)) {
        if ((at == page || at[-1] == '\n') && at[length] == '\n') return 1;
    }
    return 0;
}

static void metrics_have_each_instance_and_each_model(void) {
    open_fleet(0);
    kvb_placed placed = place(tokens, 20, KVB_PLACEMENT_AFFINITY);
    kvb_metrics *metrics = NULL;
    CHECK_OK(kvb_metrics_create(&metrics));
    REFUSED(KVB_ERR_NULL, kvb_metrics_add_fleet(metrics, NULL, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_metrics_add_fleet(NULL, NULL, 0, fleet, &error));
    const kvb_label taken = {"model", "7"}, site = {"site", "a"};
    REFUSED(KVB_ERR_LABEL_REPEATED, kvb_metrics_add_fleet(metrics, &taken, 1, fleet, &error));
    const char *page = NULL;
    CHECK_OK(kvb_metrics_page(metrics, &page, NULL));
    CHECK_EQ(strlen(page), 0);
    CHECK_OK(kvb_metrics_add_fleet(metrics, &site, 1, fleet, NULL));
    CHECK_OK(kvb_metrics_page(metrics, &page, NULL));
    CHECK(has_line(page, "kvblock_fleet_requests_total{site=\"a\",result=\"placed\"} 1"));
    CHECK(has_line(page, "kvblock_model_instances{model=\"7\",site=\"a\"} 2"));
    CHECK(has_line(page, "kvblock_member_service_positions{instance=\"0\",model=\"7\",site=\"a\",use=\"used\"} 20"));
    CHECK(has_line(page, "kvblock_instance_free_blocks{instance=\"1\",model=\"7\",site=\"a\"} 8"));
    kvb_metrics_destroy(metrics);
    release(0, placed.admitted.seq);
    close_fleet();
}

static void reports_show_each_instance(void) {
    open_fleet(0);
    kvb_placed placed = place(tokens, 20, KVB_PLACEMENT_AFFINITY);
    CHECK_OK(kvb_fleet_drain(fleet, 1, NULL));
    kvb_fleet_report *report = NULL;
    CHECK_OK(kvb_fleet_report_create(fleet, &report));
    CHECK_EQ(kvb_fleet_report_instances(report), 2);
    CHECK_EQ(kvb_fleet_report_models(report), 1);
    kvb_member_report member = {.struct_size = sizeof member};
    CHECK_OK(kvb_fleet_report_get_member(report, 0, &member));
    CHECK(member.instance == 0 && member.model == MODEL && member.state == KVB_INSTANCE_READY);
    CHECK(member.share.memory_used == 5 && member.share.memory_whole == 8 && member.share.service_used == 20);
    CHECK_OK(kvb_fleet_report_get_member(report, 1, &member));
    CHECK(member.instance == 1 && member.state == KVB_INSTANCE_DRAINING && member.share.memory_used == 0);
    kvb_seqs_report instance = {.struct_size = sizeof instance};
    CHECK_OK(kvb_fleet_report_get_instance(report, 0, &instance));
    CHECK(instance.held == 5 && instance.free == 3 && instance.sequences == 1 && instance.block_size == 4);
    kvb_model_report model = {.struct_size = sizeof model};
    CHECK_OK(kvb_fleet_report_get_model(report, 0, &model));
    CHECK(model.model == MODEL && model.instances == 2 && model.ready == 1);
    CHECK(model.largest.now == 12 && model.largest.ever == 32 && model.largest.sum_now == 12 && model.largest.sum_ever == 32);
    kvb_fleet_statistics requests = {.struct_size = sizeof requests};
    CHECK_OK(kvb_fleet_report_get_statistics(report, &requests));
    CHECK(requests.placed == 1 && requests.later == 0);

    /* It does not change, and tells a person the same. */
    release(0, placed.admitted.seq);
    CHECK_OK(kvb_fleet_report_get_instance(report, 0, &instance));
    CHECK_EQ(instance.held, 5);
    char text[4096];
    size_t length = 0, again = 0;
    CHECK_OK(kvb_fleet_report_text(report, text, sizeof text, &length));
    CHECK(length == strlen(text) && strstr(text, "model 7: 1 of 2 instances ready") != NULL);
    CHECK_OK(kvb_fleet_report_text(report, text, 20, &again));
    CHECK(again == length && strlen(text) == 19);

    CHECK_STATUS(kvb_fleet_report_get_member(report, 2, &member), KVB_ERR_OUT_OF_RANGE);
    CHECK_STATUS(kvb_fleet_report_get_instance(report, 2, &instance), KVB_ERR_OUT_OF_RANGE);
    CHECK_STATUS(kvb_fleet_report_get_model(report, 1, &model), KVB_ERR_OUT_OF_RANGE);
    CHECK_STATUS(kvb_fleet_report_get_member(NULL, 0, &member), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_member(report, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_instance(NULL, 0, &instance), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_instance(report, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_model(NULL, 0, &model), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_model(report, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_statistics(NULL, &requests), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_get_statistics(report, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_text(NULL, text, 20, &again), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_create(NULL, &report), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_report_create(fleet, NULL), KVB_ERR_NULL);
    CHECK(kvb_fleet_report_instances(NULL) == 0 && kvb_fleet_report_models(NULL) == 0);
    kvb_fleet_report_destroy(report);
    kvb_fleet_report_destroy(NULL);

    kvb_admit asked = request(tokens, 4);
    kvb_candidate candidate;
    kvb_largest largest;
    kvb_share share;
    uint32_t state = 0;
    size_t count = 0;
    CHECK_STATUS(kvb_fleet_create(NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_get_statistics(NULL, &requests), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_get_statistics(fleet, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_list(NULL, NULL, 0, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_list(fleet, NULL, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_list(fleet, NULL, 1, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_largest(NULL, MODEL, &largest), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_largest(fleet, MODEL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_share(NULL, 0, &share), KVB_ERR_NULL);
    CHECK_STATUS(kvb_fleet_share(fleet, 0, NULL), KVB_ERR_NULL);
    REFUSED(KVB_ERR_NULL, kvb_fleet_state(NULL, 0, &state, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_state(fleet, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_set_ready(NULL, 0, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_drain(NULL, 0, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_get_member(NULL, 0, &(kvb_member){.struct_size = sizeof(kvb_member)}, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_get_member(fleet, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_check(NULL, MODEL, &asked, 0, &candidate, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_check(fleet, MODEL, NULL, 0, &candidate, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_check(fleet, MODEL, &asked, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_candidates(NULL, MODEL, &asked, 0, &candidate, 1, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_candidates(fleet, MODEL, NULL, 0, &candidate, 1, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_candidates(fleet, MODEL, &asked, 0, NULL, 1, &count, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_candidates(fleet, MODEL, &asked, 0, &candidate, 1, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_admit(NULL, MODEL, &asked, 0, &placed, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_admit(fleet, MODEL, NULL, 0, &placed, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_admit(fleet, MODEL, &asked, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_fleet_audit(NULL, NULL, 0, &error));
    kvb_fleet_destroy(NULL);
    close_fleet();
}

int main(void) {
    instances_come_and_go();
    requests_go_where_they_fit();
    a_sequence_moves();
    moves_are_called_off();
    moves_are_refused();
    ranks_in_lockstep_move_one_table();
    memory_is_lent_and_comes_back();
    reports_show_each_instance();
    metrics_have_each_instance_and_each_model();
    puts("fleets: done");
    return 0;
}
