/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/tap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has happened so far in this test program. */
static struct {
    int planned; /* 0: not announced */
    int run;
    int failed;
} tap;

/* Prints text with every line behind "# ", so that nothing in it can look like a result. */
static void print_comment(FILE *stream, const char *text)
{
    fputs("# ", stream);
    for (; *text != '\0'; text++) {
        fputc(*text, stream);
        if (*text == '\n' && text[1] != '\0')
            fputs("# ", stream);
    }
    if (text[-1] != '\n')
        fputc('\n', stream);
}

static void comment_v(const char *format, va_list arguments) TAP_PRINTF(1, 0);
static void comment_v(const char *format, va_list arguments)
{
    char *text;

    fflush(stdout);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    if (*text != '\0')
        print_comment(stderr, text);
    free(text);
}

void diag(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    comment_v(format, arguments);
    va_end(arguments);
}

/* The name of a check is one line without '#', which TAP would read as a directive. */
static void print_name(const char *format, va_list arguments) TAP_PRINTF(1, 0);
static void print_name(const char *format, va_list arguments)
{
    char *name;

    if (vasprintf(&name, format, arguments) < 0)
        abort();
    for (char *c = name; *c != '\0'; c++)
        putchar(*c == '\n' || *c == '#' ? '_' : *c);
    free(name);
}

static bool result(const char *file, int line, bool held, const char *format, va_list arguments)
    TAP_PRINTF(4, 0);
static bool result(const char *file, int line, bool held, const char *format, va_list arguments)
{
    tap.run++;
    printf("%sok %d - ", held ? "" : "not ", tap.run);
    print_name(format, arguments);
    putchar('\n');
    fflush(stdout);
    if (!held) {
        tap.failed++;
        diag("failed at %s:%d", file, line);
    }
    return held;
}

bool tap_ok(const char *file, int line, bool condition, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    result(file, line, condition, format, arguments);
    va_end(arguments);
    return condition;
}

bool tap_is_int(const char *file, int line, int64_t got, int64_t expected, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!result(file, line, got == expected, format, arguments))
        diag("     got: %" PRId64 "\nexpected: %" PRId64, got, expected);
    va_end(arguments);
    return got == expected;
}

bool tap_is_uint(const char *file, int line, uint64_t got, uint64_t expected, const char *format,
                 ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!result(file, line, got == expected, format, arguments))
        diag("     got: %" PRIu64 "\nexpected: %" PRIu64, got, expected);
    va_end(arguments);
    return got == expected;
}

static const char *printable(const char *text)
{
    return text != NULL ? text : "(null)";
}

bool tap_is_string(const char *file, int line, const char *got, const char *expected,
                   const char *format, ...)
{
    bool held = got == NULL || expected == NULL ? got == expected : strcmp(got, expected) == 0;
    va_list arguments;

    va_start(arguments, format);
    if (!result(file, line, held, format, arguments))
        diag("     got: %s\nexpected: %s", printable(got), printable(expected));
    va_end(arguments);
    return held;
}

bool tap_has_string(const char *file, int line, const char *text, const char *needle,
                    const char *format, ...)
{
    bool held = text != NULL && needle != NULL && strstr(text, needle) != NULL;
    va_list arguments;

    va_start(arguments, format);
    if (!result(file, line, held, format, arguments))
        diag("    text: %s\n without: %s", printable(text), printable(needle));
    va_end(arguments);
    return held;
}

/* Sixteen bytes around the first difference, in hexadecimal. */
static void print_bytes(const char *label, const unsigned char *bytes, size_t count, size_t start)
{
    char text[16 * 3 + 1] = "";

    for (size_t i = 0; i < 16 && start + i < count; i++)
        snprintf(text + i * 3, 4, " %02x", bytes[start + i]);
    diag("%s, %zu bytes, from %zu:%s", label, count, start, text);
}

bool tap_is_bytes(const char *file, int line, const void *got, size_t got_bytes,
                  const void *expected, size_t expected_bytes, const char *format, ...)
{
    const unsigned char *left = got;
    const unsigned char *right = expected;
    size_t common = got_bytes < expected_bytes ? got_bytes : expected_bytes;
    size_t same = 0;
    bool held;
    va_list arguments;

    while (same < common && left[same] == right[same])
        same++;
    held = same == common && got_bytes == expected_bytes;
    va_start(arguments, format);
    if (!result(file, line, held, format, arguments)) {
        size_t start = same < 4 ? 0 : same - 4;

        print_bytes("     got", left, got_bytes, start);
        print_bytes("expected", right, expected_bytes, start);
    }
    va_end(arguments);
    return held;
}

void plan(int checks)
{
    tap.planned = checks;
    printf("1..%d\n", checks);
    fflush(stdout);
}

void skip(int checks, const char *format, ...)
{
    for (int i = 0; i < checks; i++) {
        va_list arguments;

        tap.run++;
        printf("ok %d # SKIP ", tap.run);
        va_start(arguments, format);
        print_name(format, arguments);
        va_end(arguments);
        putchar('\n');
    }
    fflush(stdout);
}

void skip_all(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("1..0 # SKIP ", stdout);
    print_name(format, arguments);
    putchar('\n');
    va_end(arguments);
    exit(EXIT_SUCCESS);
}

void bail_out(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("Bail out! ", stdout);
    print_name(format, arguments);
    putchar('\n');
    va_end(arguments);
    exit(EXIT_FAILURE);
}

int done_testing(void)
{
    if (tap.planned == 0)
        plan(tap.run);
    if (tap.run != tap.planned)
        diag("%d checks were planned, %d ran", tap.planned, tap.run);
    if (tap.failed > 0)
        diag("%d of %d checks failed", tap.failed, tap.run);
    return tap.failed == 0 && tap.run == tap.planned && tap.run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
