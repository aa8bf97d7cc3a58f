/*
 * random_ops [--operations N] [--seed S]: rounds of random calls, each in a world of its own. A failure tells its seed.
 */
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t seed;
static uint64_t state;
static uint64_t operation;
static uint64_t this_round;
static const char *call_name = "begin";

uint64_t draw(void) {
    state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

size_t below(size_t n) {
    return (size_t)(draw() % n);
}

bool one_in(size_t n) {
    return below(n) == 0;
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "random_ops: seed %" PRIu64 ", round %" PRIu64 ", operation %" PRIu64 " (%s): ", seed, this_round,
            operation, call_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

enum { SEEN = 64 };

static const char *seen[SEEN];
static uint64_t times[SEEN];

void saw(const char *what) {
    for (size_t at = 0; at < SEEN; at++) {
        if (seen[at] == NULL || strcmp(seen[at], what) == 0) {
            seen[at] = what;
            times[at]++;
            return;
        }
    }
    fail("no room for one more kind of event");
}

struct call {
    const char *name;
    void (*make)(void);
    size_t weight;
};

static const struct call calls[] = {
    {"admit", call_admit, 12},     {"fork", call_fork, 5},         {"release", call_release, 16},
    {"detach", call_detach, 5},    {"step", call_step, 20},        {"append", call_append, 10},
    {"tokens", call_tokens, 14},   {"advance", call_advance, 12},  {"copied", call_copied, 10},
    {"truncate", call_truncate, 7}, {"adopt", call_adopt, 4},       {"complete", call_complete, 8},
    {"pool", call_pool, 4},        {"resize", call_resize, 2},     {"read", call_read, 6},
    {"labels", call_labels, 3},    {"victims", call_victims, 3},   {"swap", call_swap, 5},
    {"copies", call_copies, 2},
};

static void one_call(void) {
    size_t all = 0, kinds = sizeof calls / sizeof *calls;
    for (size_t at = 0; at < kinds; at++) {
        all += calls[at].weight;
    }
    size_t drawn = below(all), at = 0;
    while (drawn >= calls[at].weight) {
        drawn -= calls[at++].weight;
    }
    call_name = calls[at].name;
    calls[at].make();
}

static uint64_t number(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text == 0 || *end != 0) {
        fprintf(stderr, "usage: random_ops [--operations N] [--seed S]\n");
        exit(2);
    }
    return value;
}

int main(int count, char **arguments) {
    uint64_t operations = 100000;
    seed = (uint64_t)time(NULL);
    for (int at = 1; at < count; at += 2) {
        const char *value = at + 1 < count ? arguments[at + 1] : "";
        if (strcmp(arguments[at], "--operations") == 0) {
            operations = number(value);
        } else if (strcmp(arguments[at], "--seed") == 0) {
            seed = number(value);
        } else {
            number("");
        }
    }
    if (!kvb_abi_matches()) {
        fprintf(stderr, "random_ops: the library has another binary interface than the header\n");
        return 1;
    }
    printf("random_ops: %" PRIu64 " operations, --seed %" PRIu64 "\n", operations, seed);
    fflush(stdout);
    state = seed;
    while (operation < operations) {
        this_round++;
        call_name = "begin";
        begin_round();
        for (size_t left = 200 + below(4000); left > 0 && operation < operations && !world.unsure; left--) {
            operation++;
            one_call();
            compare();
            if (operation % 64 == 0) {
                compare_all();
            }
        }
        call_name = "end";
        end_round();
    }
    for (size_t at = 0; at < SEEN && seen[at] != NULL; at++) {
        printf("%10" PRIu64 "  %s\n", times[at], seen[at]);
    }
    printf("random_ops: done, %" PRIu64 " rounds\n", this_round);
    return 0;
}
