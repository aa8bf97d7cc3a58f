/* Transfers between two registries of two shards each: the content is really copied, and each side is charged until one has it. */
#include "moving.h"

#include <pthread.h>

static kvb_error error = {.struct_size = sizeof(kvb_error)};

static side *here, *there;
static kvb_leases *leases;
static kvb_step *step;
static uint32_t tokens[64];

static void open_sides(void) {
    here = make_side(0, 8, 0);
    there = make_side(10, 8, 0);
    CHECK_OK(kvb_seqs_leases_create(here->seqs, 8, &leases));
    CHECK_OK(kvb_step_create(here->seqs, 1, 64, &step));
    count_up(tokens, LENGTH(tokens), 100);
}

/* Nothing is held, promised or under way when everything has ended. */
static void close_sides(void) {
    CHECK_EQ(available(here->seqs), 8);
    CHECK_EQ(available(there->seqs), 8);
    CHECK_EQ(kvb_leases_used(leases, 0) + kvb_leases_used(leases, 1), 0);
    const kvb_holder holder = {KVB_HOLDER_LEASES, 0, leases};
    CHECK_OK(kvb_seqs_audit(here->seqs, &holder, 1, NULL));
    CHECK_OK(kvb_seqs_audit(there->seqs, NULL, 0, NULL));
    kvb_step_destroy(step);
    kvb_leases_destroy(leases);
    destroy_side(here);
    destroy_side(there);
}

static kvb_export *offer(kvb_handle seq, uint32_t handover, uint64_t owner, uint64_t deadline) {
    kvb_offer terms = {.struct_size = sizeof terms};
    terms.handover = handover;
    terms.owner = owner;
    terms.deadline = deadline;
    kvb_export *export = NULL;
    CHECK_OK(kvb_seqs_export(here->seqs, seq, NULL, leases, &terms, &export, NULL));
    CHECK_EQ(kvb_export_handover(export), handover);
    return export;
}

static kvb_incoming incoming_from(const kvb_export *source, uint32_t writers) {
    kvb_incoming incoming = {.struct_size = sizeof incoming};
    incoming.source = source;
    incoming.writers = writers;
    return incoming;
}

static kvb_import *take(const kvb_export *source, size_t count, uint32_t writers, kvb_admitted *admitted) {
    kvb_incoming incoming = incoming_from(source, writers);
    kvb_admit asked = request(tokens, count);
    kvb_import *import = NULL;
    CHECK_OK(kvb_seqs_import(there->seqs, &asked, &incoming, admitted, &import, NULL));
    CHECK_EQ(kvb_import_writers(import), writers);
    CHECK_EQ(kvb_import_shards(import), SHARDS);
    return import;
}

/* Appends a position, and makes the copy that it asks for if the block at the end is offered still. */
static kvb_status grow(side *it, kvb_handle seq) {
    kvb_status status = kvb_seqs_append(it->seqs, seq, 1, step, &error);
    for (uint32_t s = 0; status == KVB_OK && s < SHARDS; s++) {
        kvb_step_lists lists;
        CHECK_OK(kvb_step_get(step, s, &lists));
        for (size_t i = 0; i < lists.copy_count; i++) {
            memcpy(it->k[s][lists.copies[i].dst], it->k[s][lists.copies[i].src], sizeof it->k[s][0]);
            memcpy(it->v[s][lists.copies[i].dst], it->v[s][lists.copies[i].src], sizeof it->v[s][0]);
        }
        CHECK_OK(kvb_seqs_copied(it->seqs, s, lists.copies, lists.copy_count));
    }
    return status;
}

static void content_is_copied_and_both_go_on(void) {
    open_sides();
    kvb_flights *flights = NULL;
    CHECK_OK(kvb_flights_create(1000, &flights));
    CHECK_EQ(kvb_flights_max(flights), 1000);
    kvb_handle source = run_prompt(here, here->seqs, tokens, 10);
    CHECK_EQ(available(here->seqs), 5);
    kvb_export *export = offer(source, KVB_HANDOVER_COPY, 1, 100);
    CHECK_EQ(kvb_export_positions(export), 10);
    CHECK_EQ(kvb_export_shards(export), SHARDS);
    CHECK_EQ(kvb_export_phase(export), KVB_PHASE_OFFERED);

    kvb_incoming incoming = incoming_from(export, 2);
    incoming.flights = flights;
    kvb_admit asked = request(tokens, 11);
    kvb_admitted admitted;
    kvb_import *import = NULL;
    CHECK_OK(kvb_seqs_import(there->seqs, &asked, &incoming, &admitted, &import, NULL));
    CHECK_EQ(admitted.hit, 0);
    CHECK_EQ(admitted.fresh, 3);
    CHECK_EQ(kvb_import_left(import), 6);
    CHECK(kvb_import_is_wanted(import));
    CHECK_EQ(kvb_flights_in_flight(flights), 6 * BLOCK_BYTES);
    CHECK_EQ(kvb_export_phase(export), KVB_PHASE_LINKED);
    CHECK_EQ(available(there->seqs), 5);

    /* Two writers on each shard: one has K, the other V. What is there on one shard only does not count. */
    for (uint32_t s = 0; s < SHARDS; s++) copy_shard(here, export, there, import, 0, s);
    uint32_t answer = 77;
    CHECK_OK(kvb_import_arrived(import, 0, 0, 0, 3, &answer, NULL));
    CHECK_EQ(answer, KVB_ANSWER_TAKEN);
    CHECK_OK(kvb_import_arrived(import, 1, 0, 2, 1, NULL, NULL));
    CHECK_OK(kvb_import_arrived(import, 1, 0, 0, 2, NULL, NULL));
    CHECK_EQ(loading_of(there->seqs, admitted.seq).arrived, 0);
    CHECK_OK(kvb_import_arrived(import, 0, 1, 0, 3, NULL, NULL));
    CHECK_EQ(loading_of(there->seqs, admitted.seq).arrived, 0);
    CHECK_EQ(kvb_import_left(import), 3);
    CHECK_OK(kvb_import_arrived(import, 1, 1, 0, 1, NULL, NULL));
    kvb_loading loading = loading_of(there->seqs, admitted.seq);
    CHECK(loading.arrived == 4 && loading.left == 2 && loading.failed == 0 && loading.aborted == 0);
    CHECK_EQ(state_of(there->seqs, admitted.seq).computed, 4);

    /* An answer that is not taken changes nothing. */
    answer = 77;
    REFUSED(KVB_ERR_ANSWERED, kvb_import_arrived(import, 1, 1, 0, 3, &answer, &error));
    CHECK(error.which == 1 && error.needed == 0);
    REFUSED(KVB_ERR_ANSWERED, kvb_import_failed(import, 0, 0, 1, 2, &answer, &error));
    CHECK(error.which == 0 && error.needed == 1);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_import_arrived(import, 1, 1, 1, 3, &answer, &error));
    CHECK(error.needed == 4 && error.limit == 3);
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_import_failed(import, 1, 1, 1, SIZE_MAX, &answer, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_import_arrived(import, 2, 1, 1, 1, &answer, &error));
    REFUSED(KVB_ERR_NO_SUCH_WRITER, kvb_import_arrived(import, 1, 2, 1, 1, &answer, &error));
    CHECK(error.which == 2 && error.limit == 2);
    size_t missing = 77;
    REFUSED(KVB_ERR_NO_SUCH_WRITER, kvb_import_end(import, 1, 2, &missing, &error));
    REFUSED(KVB_ERR_OUT_OF_RANGE, kvb_import_end(import, 2, 0, &missing, &error));
    CHECK(answer == 77 && missing == 77 && kvb_import_left(import) == 2);

    CHECK_OK(kvb_import_arrived(import, 1, 1, 1, 2, &answer, NULL));
    loading = loading_of(there->seqs, admitted.seq);
    CHECK(loading.arrived == 10 && loading.left == 0 && loading.failed == 0);
    CHECK_EQ(kvb_flights_in_flight(flights), 0);
    CHECK_OK(kvb_seqs_commit(there->seqs, admitted.seq, NULL));
    each_position(there, there->seqs, admitted.seq, tokens, 0, 10, 0);
    CHECK_OK(kvb_import_end(import, 0, 0, &missing, NULL));
    CHECK_EQ(missing, 0);
    REFUSED(KVB_ERR_WRITER_ENDED, kvb_import_end(import, 0, 0, NULL, &error));

    /* Both go on. */
    CHECK_EQ(kvb_leases_used(leases, 0), 0);
    CHECK_OK(grow(here, source));
    CHECK_OK(grow(there, admitted.seq));
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
    REFUSED(KVB_ERR_STALE, kvb_seqs_commit(there->seqs, admitted.seq, &error));
    CHECK_STATUS(kvb_seqs_loading(there->seqs, admitted.seq, &loading), KVB_ERR_STALE);
    kvb_import_destroy(import);
    kvb_export_destroy(export);
    kvb_flights_destroy(flights);
    close_sides();
}

static void a_sequence_moves(void) {
    open_sides();
    kvb_handle source = run_prompt(here, here->seqs, tokens, 10);
    kvb_export *export = offer(source, KVB_HANDOVER_MOVE, 1, 100);
    REFUSED(KVB_ERR_LEAVING, grow(here, source));
    kvb_admitted admitted;
    kvb_import *import = take(export, 10, 1, &admitted);
    REFUSED(KVB_ERR_UNCOMMITTED, grow(there, admitted.seq));
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_seqs_commit(there->seqs, admitted.seq, &error));
    CHECK(error.needed == 10 && error.available == 0 && error.limit == 6);
    for (uint32_t s = 0; s < SHARDS; s++) {
        copy_shard(here, export, there, import, admitted.hit, s);
        CHECK_OK(kvb_import_arrived(import, s, 0, 0, 3, NULL, NULL));
    }
    REFUSED(KVB_ERR_UNCOMMITTED, grow(there, admitted.seq));
    REFUSED(KVB_ERR_LINKED, kvb_export_finish(export, &error));
    CHECK_OK(kvb_seqs_commit(there->seqs, admitted.seq, NULL));
    CHECK_EQ(kvb_export_phase(export), KVB_PHASE_COMMITTED);
    REFUSED(KVB_ERR_MOVED, grow(here, source));
    REFUSED(KVB_ERR_COMMITTED, kvb_export_abort(export, &error));
    REFUSED(KVB_ERR_COMMITTED, kvb_export_finish(export, &error));
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    each_position(there, there->seqs, admitted.seq, tokens, 0, 10, 0);
    CHECK_OK(grow(there, admitted.seq));

    /* A second one of the same prompt finds two blocks there, and only the third comes. */
    kvb_handle again = run_prompt(here, here->seqs, tokens, 10);
    kvb_export *second = offer(again, KVB_HANDOVER_MOVE, 1, 100);
    kvb_admitted found;
    kvb_import *rest = take(second, 10, 1, &found);
    CHECK(found.hit == 8 && found.fresh == 1 && kvb_import_left(rest) == 2);
    for (uint32_t s = 0; s < SHARDS; s++) {
        copy_shard(here, second, there, rest, found.hit, s);
        CHECK_OK(kvb_import_arrived(rest, s, 0, 0, 1, NULL, NULL));
    }
    CHECK_OK(kvb_seqs_commit(there->seqs, found.seq, NULL));
    each_position(there, there->seqs, found.seq, tokens, 0, 10, 0);
    CHECK_OK(kvb_seqs_release(here->seqs, &again, 1));
    CHECK_OK(kvb_seqs_release(there->seqs, &found.seq, 1));
    CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
    kvb_import_destroy(rest);
    kvb_export_destroy(second);
    kvb_import_destroy(import);
    kvb_export_destroy(export);
    close_sides();
}

static void the_source_calls_it_off(void) {
    open_sides();
    kvb_handle source = run_prompt(here, here->seqs, tokens, 10);
    kvb_export *export = offer(source, KVB_HANDOVER_MOVE, 1, 100);
    kvb_admitted admitted;
    kvb_import *import = take(export, 10, 1, &admitted);
    uint32_t answer = 77;
    CHECK_OK(kvb_import_arrived(import, 0, 0, 0, 1, &answer, NULL));
    CHECK_OK(kvb_export_abort(export, NULL));
    REFUSED(KVB_ERR_ABORTED, kvb_export_abort(export, &error));
    REFUSED(KVB_ERR_ABORTED, kvb_export_finish(export, &error));
    CHECK_OK(grow(here, source));
    CHECK_EQ(loading_of(there->seqs, admitted.seq).aborted, 1);
    REFUSED(KVB_ERR_MOVE_ABORTED, kvb_seqs_commit(there->seqs, admitted.seq, &error));

    /* Released there, its blocks come back when the writers are done, one way or the other. */
    CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
    CHECK(!kvb_import_is_wanted(import));
    CHECK_EQ(kvb_import_left(import), 5);
    CHECK_EQ(kvb_pool_available(kvb_seqs_pool(there->seqs, 0)), 6);
    CHECK_EQ(kvb_pool_available(kvb_seqs_pool(there->seqs, 1)), 5);
    CHECK_OK(kvb_import_arrived(import, 0, 0, 1, 1, &answer, NULL));
    CHECK_EQ(answer, KVB_ANSWER_UNWANTED);
    CHECK_OK(kvb_import_failed(import, 1, 0, 0, 2, &answer, NULL));
    CHECK_EQ(answer, KVB_ANSWER_UNWANTED);
    size_t missing = 77;
    CHECK_OK(kvb_import_end(import, 0, 0, &missing, NULL));
    CHECK_EQ(missing, 1);
    CHECK_OK(kvb_import_end(import, 1, 0, &missing, NULL));
    CHECK_EQ(missing, 1);
    CHECK_EQ(available(there->seqs), 8);
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    kvb_import_destroy(import);
    kvb_export_destroy(export);
    close_sides();
}

static void the_destination_gives_up(void) {
    open_sides();
    kvb_handle source = run_prompt(here, here->seqs, tokens, 10);
    kvb_export *export = offer(source, KVB_HANDOVER_MOVE, 1, 100);
    kvb_admitted admitted;
    kvb_import *import = take(export, 10, 1, &admitted);
    CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
    CHECK_EQ(kvb_export_phase(export), KVB_PHASE_ABORTED);
    CHECK_OK(grow(here, source));
    /* The writers may still read: the source's blocks are held for them. */
    CHECK_EQ(kvb_leases_used(leases, 0), 3);
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(import, s, 0, NULL, NULL));
    CHECK_EQ(kvb_leases_used(leases, 0), 0);
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    kvb_import_destroy(import);
    kvb_export_destroy(export);
    close_sides();
}

static void what_is_read_after_the_lease_does_not_count(void) {
    open_sides();
    kvb_handle source = run_prompt(here, here->seqs, tokens, 10);
    kvb_export *export = offer(source, KVB_HANDOVER_MOVE, 1, 100);
    kvb_lease *lease = NULL;
    CHECK_OK(kvb_export_lease(export, &lease));
    CHECK_EQ(kvb_lease_owner(lease), 1);
    CHECK_EQ(kvb_lease_deadline(lease), 100);
    CHECK_OK(kvb_lease_extend(lease, 200));
    kvb_admitted admitted;
    kvb_import *import = take(export, 10, 1, &admitted);
    size_t ended = 77;
    CHECK_OK(kvb_leases_tick(leases, 199, &ended));
    CHECK_EQ(ended, 0);
    uint32_t answer = 77;
    CHECK_OK(kvb_import_arrived(import, 0, 0, 0, 3, &answer, NULL));
    CHECK_EQ(answer, KVB_ANSWER_TAKEN);
    /* On the first shard it was over with the last answer. */
    CHECK_OK(kvb_leases_tick(leases, 200, &ended));
    CHECK_EQ(ended, 1);
    CHECK_OK(kvb_import_arrived(import, 1, 0, 0, 3, &answer, NULL));
    CHECK_EQ(answer, KVB_ANSWER_SOURCE_GONE);
    kvb_loading loading = loading_of(there->seqs, admitted.seq);
    CHECK(loading.failed == 1 && loading.arrived == 0 && loading.left == 0);
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_seqs_commit(there->seqs, admitted.seq, &error));
    CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    kvb_lease_destroy(lease);
    kvb_import_destroy(import);
    kvb_export_destroy(export);

    /* A reader outside of the process is told so, too. */
    source = run_prompt(here, here->seqs, tokens, 10);
    export = offer(source, KVB_HANDOVER_MOVE, 1, 300);
    CHECK_OK(kvb_leases_tick(leases, 300, NULL));
    REFUSED(KVB_ERR_LEASE_ENDED, kvb_export_finish(export, &error));
    CHECK_EQ(kvb_export_phase(export), KVB_PHASE_ABORTED);
    CHECK_OK(grow(here, source));
    kvb_export_destroy(export);
    export = offer(source, KVB_HANDOVER_MOVE, 1, 400);
    CHECK_EQ(kvb_export_positions(export), 10);
    CHECK_OK(kvb_export_finish(export, NULL));
    CHECK_EQ(kvb_export_phase(export), KVB_PHASE_COMMITTED);
    REFUSED(KVB_ERR_MOVED, grow(here, source));
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    kvb_export_destroy(export);
    close_sides();
}

static void blocks_come_from_a_store(void) {
    open_sides();
    kvb_incoming incoming = {.struct_size = sizeof incoming};
    incoming.writers = 1;
    incoming.positions = 12;
    incoming.formats = (const kvb_format *const *)here->formats;
    incoming.format_count = SHARDS;
    kvb_admit asked = request(tokens, 14);
    kvb_admitted admitted;
    kvb_import *import = NULL;
    CHECK_OK(kvb_seqs_import(there->seqs, &asked, &incoming, &admitted, &import, NULL));
    CHECK(admitted.hit == 0 && admitted.fresh == 4 && kvb_import_left(import) == 6);
    const uint32_t *ids = NULL;
    const int32_t *table = NULL;
    size_t count = 0, entries = 0;
    CHECK_OK(kvb_import_ids(import, 1, &ids, &count));
    CHECK_OK(kvb_seqs_get_table(there->seqs, 1, admitted.seq, &table, &entries));
    CHECK(count == 3 && entries == 4);
    for (size_t i = 0; i < count; i++) CHECK_EQ(ids[i], table[i]);
    CHECK_STATUS(kvb_import_ids(import, 2, &ids, &count), KVB_ERR_OUT_OF_RANGE);

    /* The store lacks the second block of one shard: the first counts, the rest is computed here. */
    each_position(there, there->seqs, admitted.seq, tokens, 0, 4, 1);
    CHECK_OK(kvb_import_arrived(import, 0, 0, 0, 3, NULL, NULL));
    CHECK_OK(kvb_import_arrived(import, 1, 0, 0, 1, NULL, NULL));
    CHECK_OK(kvb_import_failed(import, 1, 0, 1, 1, NULL, NULL));
    size_t missing = 77;
    CHECK_OK(kvb_import_end(import, 1, 0, &missing, NULL));
    CHECK_EQ(missing, 1);
    kvb_loading loading = loading_of(there->seqs, admitted.seq);
    CHECK(loading.arrived == 4 && loading.failed == 1 && loading.left == 0);
    REFUSED(KVB_ERR_NOT_ARRIVED, kvb_seqs_commit(there->seqs, admitted.seq, &error));
    each_position(there, there->seqs, admitted.seq, tokens, 4, 14, 1);
    CHECK_OK(kvb_seqs_computed(there->seqs, admitted.seq, 14, NULL));
    CHECK_OK(kvb_seqs_commit(there->seqs, admitted.seq, NULL));
    CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
    kvb_import_destroy(import);
    close_sides();
}

static void refusals_change_nothing(void) {
    open_sides();
    kvb_handle source = run_prompt(here, here->seqs, tokens, 10);
    kvb_offer terms = {.struct_size = sizeof terms};
    terms.owner = 1;
    terms.deadline = 100;
    kvb_export *export = NULL;
    kvb_handle stale = {UINT64_MAX};
    REFUSED(KVB_ERR_STALE, kvb_seqs_export(here->seqs, stale, NULL, leases, &terms, &export, &error));
    kvb_namespace_parts parts = {.struct_size = sizeof parts};
    parts.salt = (const unsigned char *)"s";
    parts.salt_size = 1;
    kvb_namespace *space = NULL;
    CHECK_OK(kvb_namespace_create(&parts, &space));
    REFUSED(KVB_ERR_OTHER_NAMESPACE, kvb_seqs_export(here->seqs, source, space, leases, &terms, &export, &error));
    terms.handover = 2;
    REFUSED(KVB_ERR_INVALID, kvb_seqs_export(here->seqs, source, NULL, leases, &terms, &export, &error));
    terms.handover = KVB_HANDOVER_MOVE;
    kvb_leases *small = NULL, *others = NULL;
    CHECK_OK(kvb_seqs_leases_create(here->seqs, 2, &small));
    REFUSED(KVB_ERR_OVER_BUDGET, kvb_seqs_export(here->seqs, source, NULL, small, &terms, &export, &error));
    CHECK(error.needed == 3 && error.available == 2);
    CHECK_OK(kvb_leases_tick(small, 100, NULL));
    REFUSED(KVB_ERR_ALREADY_OVER, kvb_seqs_export(here->seqs, source, NULL, small, &terms, &export, &error));
    CHECK_OK(kvb_seqs_leases_create(there->seqs, 8, &others));
    REFUSED(KVB_ERR_WRONG_POOL, kvb_seqs_export(here->seqs, source, NULL, others, &terms, &export, &error));
    kvb_leases_destroy(small);
    kvb_leases_destroy(others);
    REFUSED(KVB_ERR_NULL, kvb_seqs_export(NULL, source, NULL, leases, &terms, &export, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_export(here->seqs, source, NULL, NULL, &terms, &export, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_export(here->seqs, source, NULL, leases, NULL, &export, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_export(here->seqs, source, NULL, leases, &terms, NULL, &error));
    CHECK(export == NULL && kvb_leases_used(leases, 0) == 0 && available(here->seqs) == 5);
    export = offer(source, KVB_HANDOVER_MOVE, 1, 100);
    kvb_handle second = run_prompt(here, here->seqs, tokens + 20, 4);
    kvb_export *none = NULL;
    REFUSED(KVB_ERR_OWNER_TAKEN, kvb_seqs_export(here->seqs, second, NULL, leases, &terms, &none, &error));
    CHECK_EQ(error.needed, 1);
    REFUSED(KVB_ERR_LEAVING, kvb_seqs_export(here->seqs, source, NULL, leases, &terms, &none, &error));
    CHECK(none == NULL);

    kvb_incoming incoming = incoming_from(export, 1);
    kvb_admit asked = request(tokens, 10);
    kvb_admitted admitted;
    memset(&admitted, 1, sizeof admitted);
    const kvb_admitted before = admitted;
    kvb_import *import = NULL;
#define IMPORT(status) REFUSED(status, kvb_seqs_import(there->seqs, &asked, &incoming, &admitted, &import, &error))
    incoming.writers = 0;
    IMPORT(KVB_ERR_TOO_MANY_WRITERS);
    incoming.writers = KVB_MAX_WRITERS + 1;
    IMPORT(KVB_ERR_TOO_MANY_WRITERS);
    CHECK(error.needed == 64 && error.limit == 63);
    incoming.writers = 1;
    incoming.positions = 11;
    IMPORT(KVB_ERR_BEYOND);
    CHECK(error.needed == 11 && error.limit == 10);
    incoming.positions = 0;
    asked.prompt.token_count = 9;
    IMPORT(KVB_ERR_BEYOND);
    CHECK(error.needed == 10 && error.limit == 9);
    asked.prompt.token_count = 33;
    IMPORT(KVB_ERR_NEVER_FITS);
    CHECK(error.shard == 10 && error.needed == 9 && error.limit == 8);
    asked.prompt.token_count = 10;
    asked.prompt.space = space;
    IMPORT(KVB_ERR_OTHER_NAMESPACE);
    asked.prompt.space = NULL;
    kvb_flights *flights = NULL;
    CHECK_OK(kvb_flights_create(6 * BLOCK_BYTES - 1, &flights));
    incoming.flights = flights;
    IMPORT(KVB_ERR_TOO_MANY_BYTES);
    CHECK(error.needed == 3 * BLOCK_BYTES && error.limit == 6 * BLOCK_BYTES - 1);
    CHECK_EQ(kvb_flights_in_flight(flights), 0);
    incoming.flights = NULL;

    const uint64_t other_planes[] = {32, 31};
    kvb_format *other = NULL, *wide = NULL;
    CHECK_OK(kvb_format_create(BLOCK_SIZE, 1, other_planes, 2, &other, NULL));
    CHECK_OK(kvb_format_create(2 * BLOCK_SIZE, 1, other_planes, 2, &wide, NULL));
    const kvb_format *formats[SHARDS] = {here->formats[0], other};
    incoming.formats = formats;
    incoming.format_count = SHARDS;
    IMPORT(KVB_ERR_INCOMPATIBLE);
    CHECK(error.which == 1 && error.needed == 32 && error.available == 31);
    formats[1] = wide;
    IMPORT(KVB_ERR_INCOMPATIBLE);
    CHECK(error.needed == BLOCK_SIZE && error.available == 2 * BLOCK_SIZE);
    incoming.format_count = 1;
    IMPORT(KVB_ERR_INCOMPATIBLE);
    CHECK(error.needed == 2 && error.available == 1);
    incoming.format_count = SHARDS;
    formats[1] = NULL;
    IMPORT(KVB_ERR_NULL);
    incoming.formats = NULL;
    incoming.format_count = 0;
    kvb_format_destroy(other);
    kvb_format_destroy(wide);
    incoming.struct_size = 8;
    IMPORT(KVB_ERR_STRUCT_SIZE);
    incoming.struct_size = sizeof incoming;
    REFUSED(KVB_ERR_NULL, kvb_seqs_import(NULL, &asked, &incoming, &admitted, &import, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_import(there->seqs, NULL, &incoming, &admitted, &import, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_import(there->seqs, &asked, NULL, &admitted, &import, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_import(there->seqs, &asked, &incoming, NULL, &import, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_import(there->seqs, &asked, &incoming, &admitted, NULL, &error));
    CHECK(import == NULL && memcmp(&before, &admitted, sizeof admitted) == 0);
    CHECK(kvb_export_phase(export) == KVB_PHASE_OFFERED && available(there->seqs) == 8 && kvb_seqs_count(there->seqs) == 0);

    /* Nobody says how many bytes come if neither side has a format. */
    kvb_pool *pool = make_pool(20, 4, 0, BLOCK_SIZE);
    kvb_seqs_config config = {.struct_size = sizeof config};
    config.max_sequences = 1;
    kvb_seqs *bare = NULL;
    CHECK_OK(kvb_seqs_create((const kvb_pool *const *)&pool, 1, &config, &bare, NULL));
    kvb_pool_destroy(pool);
    kvb_incoming stored = {.struct_size = sizeof stored};
    stored.writers = 1;
    stored.positions = 8;
    stored.flights = flights;
    REFUSED(KVB_ERR_UNKNOWN_FORMAT, kvb_seqs_import(bare, &asked, &stored, &admitted, &import, &error));
    REFUSED(KVB_ERR_INCOMPATIBLE, kvb_seqs_import(bare, &asked, &incoming, &admitted, &import, &error));
    CHECK(error.needed == 1 && error.available == 2);

    /* What is left of an import when its registry is gone is accounted for by the import. */
    stored.flights = NULL;
    CHECK_OK(kvb_seqs_import(bare, &asked, &stored, &admitted, &import, NULL));
    kvb_seqs *watching = NULL;
    CHECK_OK(kvb_seqs_create_another(bare, &config, &watching, NULL));
    kvb_seqs_destroy(bare);
    const kvb_pool *left = kvb_seqs_pool(watching, 0);
    CHECK_EQ(kvb_pool_available(left), 2);
    const kvb_holder holder = {KVB_HOLDER_IMPORT, 0, import};
    REFUSED(KVB_ERR_INCONSISTENT, kvb_seqs_audit(watching, NULL, 0, &error));
    CHECK_OK(kvb_seqs_audit(watching, &holder, 1, NULL));
    kvb_import_destroy(import);
    CHECK_EQ(kvb_pool_available(left), 4);
    CHECK_OK(kvb_seqs_audit(watching, NULL, 0, NULL));
    kvb_seqs_destroy(watching);

    import = take(export, 10, 1, &admitted);
    kvb_import *late = NULL;
    REFUSED(KVB_ERR_SOURCE_TAKEN, kvb_seqs_import(there->seqs, &asked, &incoming, &admitted, &late, &error));
    CHECK(late == NULL);
    for (uint32_t s = 0; s < SHARDS; s++) CHECK_OK(kvb_import_end(import, s, 0, NULL, NULL));
    kvb_handle ended = admitted.seq;
    CHECK_OK(kvb_seqs_release(there->seqs, &ended, 1));
    CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
    CHECK_OK(kvb_seqs_release(here->seqs, &second, 1));

    CHECK_STATUS(kvb_flights_create(1, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_export_lease(NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_export_lease(export, NULL), KVB_ERR_NULL);
    const uint32_t *ids = NULL;
    size_t count = 0;
    CHECK_STATUS(kvb_export_ids(NULL, 0, &ids, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_export_ids(export, 0, NULL, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_export_ids(export, 0, &ids, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_export_ids(export, 2, &ids, &count), KVB_ERR_OUT_OF_RANGE);
    CHECK_STATUS(kvb_import_ids(NULL, 0, &ids, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_import_ids(import, 0, NULL, &count), KVB_ERR_NULL);
    CHECK_STATUS(kvb_import_ids(import, 0, &ids, NULL), KVB_ERR_NULL);
    REFUSED(KVB_ERR_NULL, kvb_export_abort(NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_export_finish(NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_import_arrived(NULL, 0, 0, 0, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_import_failed(NULL, 0, 0, 0, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_import_end(NULL, 0, 0, NULL, &error));
    REFUSED(KVB_ERR_NULL, kvb_seqs_commit(NULL, ended, &error));
    kvb_loading loading = {.struct_size = sizeof loading};
    CHECK_STATUS(kvb_seqs_loading(NULL, ended, &loading), KVB_ERR_NULL);
    CHECK_STATUS(kvb_seqs_loading(there->seqs, ended, NULL), KVB_ERR_NULL);
    CHECK_EQ(kvb_export_phase(NULL), KVB_PHASE_ABORTED);
    CHECK(kvb_export_shards(NULL) == 0 && kvb_export_positions(NULL) == 0 && kvb_export_handover(NULL) == 0);
    CHECK(kvb_import_shards(NULL) == 0 && kvb_import_writers(NULL) == 0 && kvb_import_left(NULL) == 0);
    CHECK(!kvb_import_is_wanted(NULL) && kvb_flights_max(NULL) == 0 && kvb_flights_in_flight(NULL) == 0);
    kvb_export_destroy(NULL);
    kvb_import_destroy(NULL);
    kvb_flights_destroy(NULL);

    kvb_import_destroy(import);
    kvb_export_destroy(export);
    kvb_flights_destroy(flights);
    kvb_namespace_destroy(space);
    close_sides();
}

typedef struct writer {
    const kvb_import *import;
    const kvb_export *export;
    uint32_t shard;
    size_t number;
} writer;

/* Each writer answers for every block by itself; the one with the highest number has copied the shard before. */
static void *write_shard(void *argument) {
    const writer *it = argument;
    if (it->number == 3) copy_shard(here, it->export, there, it->import, 0, it->shard);
    for (size_t at = 8; at-- > 0;) CHECK_OK(kvb_import_arrived(it->import, it->shard, it->number, at, 1, NULL, NULL));
    return NULL;
}

static void writers_answer_from_threads(void) {
    open_sides();
    for (int round = 0; round < 20; round++) {
        count_up(tokens, LENGTH(tokens), (uint32_t)(1000 * round));
        kvb_handle source = run_prompt(here, here->seqs, tokens, 32);
        kvb_export *export = offer(source, KVB_HANDOVER_MOVE, 1, KVB_NO_DEADLINE);
        kvb_admitted admitted;
        kvb_import *import = take(export, 32, 4, &admitted);
        pthread_t threads[4 * SHARDS];
        writer writers[4 * SHARDS];
        for (uint32_t i = 0; i < LENGTH(threads); i++) {
            writers[i] = (writer){import, export, i % SHARDS, i / SHARDS};
            CHECK(pthread_create(&threads[i], NULL, write_shard, &writers[i]) == 0);
        }
        while (loading_of(there->seqs, admitted.seq).left > 0) continue;
        for (size_t i = 0; i < LENGTH(threads); i++) CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK_OK(kvb_seqs_commit(there->seqs, admitted.seq, NULL));
        each_position(there, there->seqs, admitted.seq, tokens, 0, 32, 0);
        CHECK_OK(kvb_seqs_release(here->seqs, &source, 1));
        CHECK_OK(kvb_seqs_release(there->seqs, &admitted.seq, 1));
        kvb_import_destroy(import);
        kvb_export_destroy(export);
    }
    close_sides();
}

int main(void) {
    content_is_copied_and_both_go_on();
    a_sequence_moves();
    the_source_calls_it_off();
    the_destination_gives_up();
    what_is_read_after_the_lease_does_not_count();
    blocks_come_from_a_store();
    refusals_change_nothing();
    writers_answer_from_threads();
    puts("transfers: done");
    return 0;
}
