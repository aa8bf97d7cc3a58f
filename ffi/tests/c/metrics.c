/* Reports as one page for Prometheus. */
#include "chain.h"

static kvb_metrics *make_metrics(void) {
    kvb_metrics *metrics = NULL;
    CHECK_OK(kvb_metrics_create(&metrics));
    return metrics;
}

/* The page has this line. */
static void check_line(kvb_metrics *metrics, const char *wanted) {
    const char *page;
    size_t length;
    CHECK_OK(kvb_metrics_page(metrics, &page, &length));
    CHECK_EQ(strlen(page), length);
    const size_t wanted_length = strlen(wanted);
    for (const char *line = page; line != NULL && *line != 0;) {
        if (strncmp(line, wanted, wanted_length) == 0 && line[wanted_length] == '\n') return;
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    fprintf(stderr, "no line %s in\n%s", wanted, page);
    exit(1);
}

static size_t length_of(kvb_metrics *metrics) {
    size_t length = 0;
    CHECK_OK(kvb_metrics_text(metrics, NULL, 0, &length));
    return length;
}

static void a_page_has_every_report_under_its_labels(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4), *other = make_pool(8, 8, 0, 4);
    kvb_worker *worker = make_worker(pool);
    kvb_chain *chain = make_chain(pool, worker, 3, 2, 1);
    kvb_metrics *metrics = make_metrics();
    CHECK_EQ(length_of(metrics), 0);

    const kvb_label labels[2] = {{"zone", "a \"b\" \\ c\nd"}, {"tier", ""}};
    CHECK_OK(kvb_metrics_add_pool(metrics, labels, 2, pool, NULL));
    CHECK_OK(kvb_metrics_add_pool(metrics, NULL, 0, other, NULL));
    check_line(metrics, "# TYPE kvblock_pool_available_blocks gauge");
    check_line(metrics, "kvblock_pool_available_blocks{zone=\"a \\\"b\\\" \\\\ c\\nd\"} 13");
    check_line(metrics, "kvblock_pool_available_blocks 8");

    const kvb_pool *pools[2] = {pool, other};
    const kvb_seqs_config config = seqs_config(4);
    kvb_seqs *seqs = NULL;
    CHECK_OK(kvb_seqs_create(pools, 2, &config, &seqs, NULL));
    const uint32_t tokens[6] = {1, 2, 3, 4, 5, 6};
    const kvb_admitted admitted = admit(seqs, tokens, 6, 1);
    kvb_leases *leases = NULL;
    CHECK_OK(kvb_seqs_leases_create(seqs, 5, &leases));
    const kvb_label instance = {"instance", "0"};
    CHECK_OK(kvb_metrics_add_seqs(metrics, &instance, 1, seqs, NULL));
    CHECK_OK(kvb_metrics_add_registry(metrics, NULL, 0, seqs, 1, NULL));
    CHECK_OK(kvb_metrics_add_leases(metrics, NULL, 0, leases, 1, NULL));

    /* Figures are as they were when they were added. */
    CHECK_OK(kvb_seqs_release(seqs, &admitted.seq, 1));
    check_line(metrics, "kvblock_instance_sequences{instance=\"0\"} 1");
    check_line(metrics, "kvblock_sequences{instance=\"0\",shard=\"8\"} 1");
    check_line(metrics, "kvblock_sequences 1");
    /* The first block of the prompt is held on shard 7 already, which the other one can't share: none is a hit. */
    check_line(metrics, "kvblock_pool_available_blocks{instance=\"0\",shard=\"8\"} 6");
    check_line(metrics, "kvblock_leases_budget_references 5");

    kvb_leases_destroy(leases);
    kvb_seqs_destroy(seqs);
    kvb_metrics_destroy(metrics);
    kvb_chain_destroy(chain);
    kvb_worker_destroy(worker);
    kvb_pool_destroy(other);
    kvb_pool_destroy(pool);
}

static void a_refused_report_leaves_the_page_as_it_was(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4);
    kvb_seqs *seqs = make_seqs(pool, 4);
    kvb_leases *leases = NULL;
    CHECK_OK(kvb_pool_leases_create(pool, 5, &leases));
    kvb_metrics *metrics = make_metrics();
    const kvb_label good[2] = {{"a", "1"}, {"b", "2"}}, turned[2] = {{"b", "2"}, {"a", "1"}};
    CHECK_OK(kvb_metrics_add_pool(metrics, good, 2, pool, NULL));
    const size_t length = length_of(metrics);

    kvb_error error = no_error();
    CHECK_REFUSAL(KVB_ERR_LABELS_TAKEN, 0, 0, 0, kvb_metrics_add_pool(metrics, turned, 2, pool, &error));
    const kvb_label space = {"a b", "1"}, empty = {"", "1"}, twice[2] = {{"a", "1"}, {"a", "2"}};
    CHECK_REFUSAL(KVB_ERR_LABEL_NAME, 0, 0, 0, kvb_metrics_add_pool(metrics, &space, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_LABEL_NAME, 0, 0, 0, kvb_metrics_add_pool(metrics, &empty, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_LABEL_REPEATED, 0, 0, 0, kvb_metrics_add_pool(metrics, twice, 2, pool, &error));
    const kvb_label reserved[3] = {{"__name", "1"}, {"state", "1"}, {"shard", "1"}};
    CHECK_REFUSAL(KVB_ERR_LABEL_RESERVED, 0, 0, 0, kvb_metrics_add_pool(metrics, reserved, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_LABEL_RESERVED, 0, 0, 0, kvb_metrics_add_pool(metrics, reserved + 1, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_LABEL_REPEATED, 0, 0, 0, kvb_metrics_add_seqs(metrics, reserved + 2, 1, seqs, &error));
    const kvb_label latin = {"a", "\xe9"};
    CHECK_REFUSAL(KVB_ERR_UTF8, 0, 0, 0, kvb_metrics_add_pool(metrics, &latin, 1, pool, &error));
    const kvb_label half[2] = {{NULL, "1"}, {"a", NULL}};
    CHECK_REFUSAL(KVB_ERR_NULL, 0, 0, 0, kvb_metrics_add_pool(metrics, half, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_NULL, 0, 0, 0, kvb_metrics_add_pool(metrics, half + 1, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_NULL, 0, 0, 0, kvb_metrics_add_pool(metrics, NULL, 1, pool, &error));
    CHECK_REFUSAL(KVB_ERR_OUT_OF_RANGE, 0, 0, 0, kvb_metrics_add_registry(metrics, NULL, 0, seqs, 1, &error));
    CHECK_REFUSAL(KVB_ERR_OUT_OF_RANGE, 0, 0, 0, kvb_metrics_add_leases(metrics, NULL, 0, leases, 1, &error));
    CHECK_STATUS(kvb_metrics_add_pool(metrics, NULL, 0, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_add_pool(NULL, NULL, 0, pool, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_add_seqs(metrics, NULL, 0, NULL, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_add_registry(metrics, NULL, 0, NULL, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_add_leases(metrics, NULL, 0, NULL, 0, NULL), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_create(NULL), KVB_ERR_NULL);
    CHECK_EQ(length_of(metrics), length);

    kvb_metrics_destroy(NULL);
    kvb_metrics_destroy(metrics);
    kvb_leases_destroy(leases);
    kvb_seqs_destroy(seqs);
    kvb_pool_destroy(pool);
}

static void the_page_fits_or_is_cut_off(void) {
    kvb_pool *pool = make_pool(7, 16, 0, 4);
    kvb_metrics *metrics = make_metrics();
    CHECK_OK(kvb_metrics_add_pool(metrics, NULL, 0, pool, NULL));
    const char *page;
    size_t length, copied = 0;
    CHECK_OK(kvb_metrics_page(metrics, &page, &length));
    CHECK(strncmp(page, "# HELP kvblock_pool_", 20) == 0);
    char *text = malloc(length + 1);
    CHECK(text != NULL);
    CHECK_OK(kvb_metrics_text(metrics, text, length + 1, &copied));
    CHECK_EQ(copied, length);
    CHECK(strcmp(text, page) == 0);
    CHECK_OK(kvb_metrics_text(metrics, text, 7, &copied));
    CHECK_EQ(copied, length);
    CHECK(strcmp(text, "# HELP") == 0);
    CHECK_OK(kvb_metrics_page(metrics, &page, NULL));
    CHECK_EQ(strlen(page), length);
    CHECK_STATUS(kvb_metrics_text(NULL, text, 7, &copied), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_text(metrics, NULL, 7, &copied), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_page(NULL, &page, &length), KVB_ERR_NULL);
    CHECK_STATUS(kvb_metrics_page(metrics, NULL, &length), KVB_ERR_NULL);
    CHECK(strcmp(KVB_METRICS_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8") == 0);
    free(text);
    kvb_metrics_destroy(metrics);
    kvb_pool_destroy(pool);
}

int main(void) {
    a_page_has_every_report_under_its_labels();
    a_refused_report_leaves_the_page_as_it_was();
    the_page_fits_or_is_cut_off();
    return 0;
}
