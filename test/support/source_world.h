/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An environment and files in memory, for the sources of allocations. A check names the source that
 * is to be detected, and what comes of it: "n[1-2]:4 m:1", nodes of equal slots together, with
 * " unknown" behind it if the source counts no slots; or the error.
 */
#ifndef TEST_SUPPORT_SOURCE_WORLD_H
#define TEST_SUPPORT_SOURCE_WORLD_H

#include "alloc/source.h"

/* The environment "NAME=value"..., and files: path, text, path, text... */
#define ENV(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define FILES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_FILES   ((const char *const[]){NULL})

struct source_test {
    const char *const *variables;
    const char *const *files;
    size_t file_bytes; /* of each file, if not 0: it may hold NUL */
    const struct flux_resources *flux;
    const char *reads; /* what may be asked for, if not NULL */
    unsigned int unexpected;
};

struct source_ops source_test_world(struct source_test *test);
/* The description that checks compare. */
const char *source_test_describe(const struct source_result *result);

/* Detects, reads and compares. */
void source_good(const char *name, const char *const *variables, const char *const *files,
                 const char *expected);
void source_bad(const char *name, const char *const *variables, const char *const *files,
                const char *expected);
/* The same with more to say about the world. */
void source_good_test(const char *name, struct source_test *test, const char *expected);
void source_bad_test(const char *name, struct source_test *test, const char *expected);

#endif
