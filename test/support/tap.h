/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test Anything Protocol for the unit tests: every check prints one line, "ok N - what" or
 * "not ok N - what", and a failed one adds where it stands and what was compared. main() ends with
 * `return done_testing();`, which prints the plan and gives the exit status. A check returns
 * whether it held, so that a test can go on only if it makes sense.
 *
 *     ok(list_is_empty(&list), "a new list is empty");
 *     is_int(ranges_count(&ranges), 3, "three ranges after %s", "1,3,5");
 *
 * ok, is_int and the like are macros only to pass the place; each argument is evaluated once.
 */
#ifndef TEST_SUPPORT_TAP_H
#define TEST_SUPPORT_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAP_PRINTF(at, first) __attribute__((format(printf, at, first)))

#define ok(condition, ...) tap_ok(__FILE__, __LINE__, (condition), __VA_ARGS__)
#define pass(...)          tap_ok(__FILE__, __LINE__, true, __VA_ARGS__)
#define fail(...)          tap_ok(__FILE__, __LINE__, false, __VA_ARGS__)
/* Signed and unsigned 64-bit comparison; sizes and counts go to is_uint. */
#define is_int(got, expected, ...)  tap_is_int(__FILE__, __LINE__, (got), (expected), __VA_ARGS__)
#define is_uint(got, expected, ...) tap_is_uint(__FILE__, __LINE__, (got), (expected), __VA_ARGS__)
/* NULL equals NULL only. */
#define is_string(got, expected, ...) \
    tap_is_string(__FILE__, __LINE__, (got), (expected), __VA_ARGS__)
#define is_bytes(got, got_bytes, expected, expected_bytes, ...) \
    tap_is_bytes(__FILE__, __LINE__, (got), (got_bytes), (expected), (expected_bytes), __VA_ARGS__)
/* The needle stands somewhere in the text. */
#define has_string(text, needle, ...) \
    tap_has_string(__FILE__, __LINE__, (text), (needle), __VA_ARGS__)

bool tap_ok(const char *file, int line, bool condition, const char *format, ...) TAP_PRINTF(4, 5);
bool tap_is_int(const char *file, int line, int64_t got, int64_t expected, const char *format, ...)
    TAP_PRINTF(5, 6);
bool tap_is_uint(const char *file, int line, uint64_t got, uint64_t expected, const char *format,
                 ...) TAP_PRINTF(5, 6);
bool tap_is_string(const char *file, int line, const char *got, const char *expected,
                   const char *format, ...) TAP_PRINTF(5, 6);
bool tap_is_bytes(const char *file, int line, const void *got, size_t got_bytes,
                  const void *expected, size_t expected_bytes, const char *format, ...)
    TAP_PRINTF(7, 8);
bool tap_has_string(const char *file, int line, const char *text, const char *needle,
                    const char *format, ...) TAP_PRINTF(5, 6);

/* Announces the number of checks; done_testing then compares. Optional: without it the plan comes
 * at the end. */
void plan(int checks);

/* One or more lines of comment, on standard error, where `make check` logs them too. */
void diag(const char *format, ...) TAP_PRINTF(1, 2);

/* Counts `checks` checks as skipped, with the reason. */
void skip(int checks, const char *format, ...) TAP_PRINTF(2, 3);

/* The whole test makes no sense here: says why and exits. Only before the first check. */
void skip_all(const char *format, ...) TAP_PRINTF(1, 2) __attribute__((noreturn));

/* Nothing else makes sense any more: "Bail out!" and exit. */
void bail_out(const char *format, ...) TAP_PRINTF(1, 2) __attribute__((noreturn));

/* Prints the plan if none was announced; 0 if all checks held and all announced ones ran. */
int done_testing(void);

#endif
