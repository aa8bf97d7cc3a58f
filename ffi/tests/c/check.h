/* What a test program checks: the first thing that is not as it must be ends it, with the line and what there was. */
#ifndef CHECK_H
#define CHECK_H

#include <kvblock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_at(int holds, const char *text, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
        exit(1);
    }
}

static inline void check_equal_at(uint64_t got, uint64_t wanted, const char *text, const char *file, int line) {
    if (got != wanted) {
        fprintf(stderr, "%s:%d: %s is %" PRIu64 ", not %" PRIu64 "\n", file, line, text, got, wanted);
        exit(1);
    }
}

static inline void check_status_at(kvb_status got, kvb_status wanted, const char *text, const char *file, int line) {
    if (got != wanted) {
        fprintf(stderr, "%s:%d: %s is %s, not %s\n", file, line, text, kvb_status_name(got), kvb_status_name(wanted));
        exit(1);
    }
}

#define CHECK(condition) check_at((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQ(got, wanted) check_equal_at((uint64_t)(got), (uint64_t)(wanted), #got, __FILE__, __LINE__)
#define CHECK_STATUS(call, wanted) check_status_at((call), (wanted), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_STATUS(call, KVB_OK)

#endif
