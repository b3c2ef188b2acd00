/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/source_world.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

/* 1 if a word of "A B* C" is the name. */
static int is_listed(const char *words, const char *name)
{
    for (size_t bytes; *words != '\0'; words += bytes + strspn(words + bytes, " ")) {
        bytes = strcspn(words, " ");
        if (bytes == 0)
            continue;
        if (words[bytes - 1] == '*' ? strncmp(words, name, bytes - 1) == 0
                                    : strlen(name) == bytes && strncmp(words, name, bytes) == 0)
            return 1;
    }
    return 0;
}

static const char *test_variable(void *context, const char *name)
{
    struct source_test *test = context;
    size_t bytes = strlen(name);

    if (test->reads != NULL && !is_listed(test->reads, name)) {
        diag("%s is read, but not listed", name);
        test->unexpected++;
    }
    for (const char *const *variable = test->variables; *variable != NULL; variable++) {
        if (strncmp(*variable, name, bytes) == 0 && (*variable)[bytes] == '=')
            return *variable + bytes + 1;
    }
    return NULL;
}

static int test_file(void *context, const char *path, struct buffer *text)
{
    const struct source_test *test = context;

    for (const char *const *file = test->files; *file != NULL; file += 2) {
        if (strcmp(*file, path) == 0) {
            buffer_append(text, file[1], test->file_bytes > 0 ? test->file_bytes : strlen(file[1]));
            return 0;
        }
    }
    return -ENOENT;
}

static int test_flux(void *context, const char *job, struct flux_resources *ret_resources,
                     struct error *error)
{
    const struct source_test *test = context;

    if (test->flux == NULL)
        return error_set(error, -ENOENT, "no job %s", job != NULL ? job : "at all");
    *ret_resources = *test->flux;
    return 0;
}

struct source_ops source_test_world(struct source_test *test)
{
    return (struct source_ops){
        .variable = test_variable,
        .file = test_file,
        .flux = test_flux,
        .context = test,
    };
}

const char *source_test_describe(const struct source_result *result)
{
    static struct buffer text;
    const struct allocation *allocation = &result->allocation;
    uint32_t first = 0;

    buffer_clear(&text);
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        struct hostlist *names = hostlist_create();

        hostlist_append_slice(names, allocation->names, first, allocation->runs[i].nodes);
        buffer_append_string(&text, i > 0 ? " " : "");
        hostlist_print(names, &text);
        buffer_printf(&text, ":%u", allocation->runs[i].slots);
        first += allocation->runs[i].nodes;
        hostlist_destroy(names);
    }
    buffer_append_string(&text, result->slots_given ? "" : " unknown");
    if (allocation->cpus > 0)
        buffer_printf(&text, " cpus %u", allocation->cpus);
    if (first != allocation_nodes(allocation))
        return "slots do not cover the nodes";
    return buffer_string(&text);
}

/* What names a case: its last variable. */
static const char *case_name(const struct source_test *test)
{
    const char *const *variable = test->variables;

    while (variable[0] != NULL && variable[1] != NULL)
        variable++;
    return *variable != NULL ? *variable : "no variable";
}

/* Detects and reads; 0 or the error. */
static int detect_and_read(const char *name, struct source_test *test, struct source_result *result,
                           struct error *error)
{
    struct source_ops world = source_test_world(test);
    const struct source *source = source_detect(&world);
    struct buffer reads = {0};
    int rc;

    is_string(source != NULL ? source->name : "none", name, "%.60s: it is %s", case_name(test),
              name);
    if (source == NULL)
        return error_set(error, -ENOENT, "no source");
    for (size_t i = 0; i < sizeof(source->job) / sizeof(*source->job); i++)
        buffer_printf(&reads, "%s ", source->job[i] != NULL ? source->job[i] : "");
    buffer_append_string(&reads, source->reads);
    test->reads = buffer_string(&reads);
    rc = source_read(source, &world, result, error);
    test->reads = NULL;
    is_uint(test->unexpected, 0, "only listed variables are read");
    buffer_fini(&reads);
    return rc;
}

void source_good_test(const char *name, struct source_test *test, const char *expected)
{
    struct source_result result;
    struct error error = ERROR_NONE;

    if (detect_and_read(name, test, &result, &error) < 0) {
        is_string(error.text, expected, "%.60s", case_name(test));
        return;
    }
    is_string(source_test_describe(&result), expected, "%.60s", case_name(test));
    source_result_fini(&result);
}

void source_bad_test(const char *name, struct source_test *test, const char *expected)
{
    struct source_result result;
    struct error error = ERROR_NONE;

    if (detect_and_read(name, test, &result, &error) == 0) {
        is_string(source_test_describe(&result), expected, "%.60s", case_name(test));
        source_result_fini(&result);
        return;
    }
    is_string(error.text, expected, "%.60s", case_name(test));
}

void source_good(const char *name, const char *const *variables, const char *const *files,
                 const char *expected)
{
    struct source_test test = {.variables = variables, .files = files};

    source_good_test(name, &test, expected);
}

void source_bad(const char *name, const char *const *variables, const char *const *files,
                const char *expected)
{
    struct source_test test = {.variables = variables, .files = files};

    source_bad_test(name, &test, expected);
}
