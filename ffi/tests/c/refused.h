/* A call that is refused, with its error. */
#ifndef REFUSED_H
#define REFUSED_H

#include "check.h"

static inline void check_refused_at(kvb_status got, kvb_status wanted, const kvb_error *error, const char *text, const char *file,
                                    int line) {
    if (got != wanted && got != KVB_OK) fprintf(stderr, "%s\n", error->message);
    check_status_at(got, wanted, text, file, line);
    check_at(error->status == wanted && error->message[0] != '\0', "the error says so, too", file, line);
}

/* The call gets `&error`, and is refused. */
#define REFUSED(wanted, call) check_refused_at((call), (wanted), &error, #call, __FILE__, __LINE__)

#endif
