/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_variants.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/cli/request/request_fabric.h"
#include "launch/cli/verb/bench_numbers.h"
#include "overlay/tree.h"

static const char *const names[BENCH_VARIANT_OPTIONS] = {"radix", "fabric", "trees", "shape"};
static const char *const options[BENCH_VARIANT_OPTIONS] = {"--radix", "--fabric", "--trees",
                                                           "--shape"};

static const struct option_list *list_of(const struct bench_settings *settings, int option)
{
    const struct option_list *const lists[BENCH_VARIANT_OPTIONS] = {
        &settings->radixes, &settings->fabrics, &settings->trees, &settings->shapes};

    return lists[option];
}

const char *bench_variants_given(const struct bench_settings *settings)
{
    for (int i = 0; i < BENCH_VARIANT_OPTIONS; i++)
        if (list_of(settings, i)->count > 0)
            return options[i];
    return NULL;
}

/* ---- what is asked for ---- */

static bool is_fabric(const char *word)
{
    const char *provider;

    return strcmp(word, "auto") == 0 || request_fabric_provider(word, &provider) == 0;
}

static bool is_trees(const char *word)
{
    struct error error;
    uint8_t trees;

    return word[0] != '\0' && request_fabric_trees(word, &trees, &error) == 0;
}

static bool is_shape(const char *word)
{
    return strcmp(word, "on") == 0 || strcmp(word, "off") == 0;
}

/* Each once; takes value. */
static void add(struct bench_variants *variants, int option, char *value)
{
    uint32_t count = variants->values[option].count;

    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(variants->values[option].items[i], value) == 0) {
            free(value);
            return;
        }
    }
    variants->values[option].count++;
    variants->values[option].items =
        memory_resize(variants->values[option].items, (count + 1) * sizeof(char *));
    variants->values[option].items[count] = value;
}

static int take_radixes(struct bench_variants *variants, const char *text, struct error *error)
{
    struct bench_numbers radixes;
    int rc = bench_numbers_parse(text, TREE_RADIX_MAX, &radixes);

    for (uint32_t i = 0; rc == 0 && i < radixes.count; i++) {
        if (radixes.items[i] < TREE_RADIX_MIN)
            rc = -EINVAL;
        add(variants, BENCH_VARIANT_RADIX, memory_printf("%u", radixes.items[i]));
    }
    if (rc < 0)
        error_set(
            error, rc,
            "option --radix: must be a list of whole numbers from 2 to the number of nodes, or "
            "of FIRST..LAST, not '%.80s'",
            text);
    return rc;
}

static int take_words(struct bench_variants *variants, int option, char *text, struct error *error)
{
    static const struct {
        bool (*is_value)(const char *word);
        const char *expected;
    } kinds[BENCH_VARIANT_OPTIONS] = {
        [BENCH_VARIANT_FABRIC] = {is_fabric, "tcp, ofi, ofi:PROVIDER and auto"},
        [BENCH_VARIANT_TREES] = {is_trees, "1, 2 and auto"},
        [BENCH_VARIANT_SHAPE] = {is_shape, "on and off"},
    };
    char *rest = text, *word;

    assert(kinds[option].is_value != NULL);
    while ((word = strsep(&rest, ",")) != NULL) {
        if (!kinds[option].is_value(word))
            return error_set(error, -EINVAL, "option %s: must be a list of %s, not '%.80s'",
                             options[option], kinds[option].expected, word);
        add(variants, option, memory_copy_string(word));
    }
    return 0;
}

int bench_variants_make(struct bench_variants *ret_variants, const struct bench_settings *settings,
                        struct error *error)
{
    struct bench_variants variants = {.count = 1};
    int rc = 0;

    for (int i = 0; rc == 0 && i < BENCH_VARIANT_OPTIONS; i++) {
        char *text = options_list_join(list_of(settings, i), ",");

        if (text == NULL)
            continue;
        rc = i == BENCH_VARIANT_RADIX ? take_radixes(&variants, text, error)
                                      : take_words(&variants, i, text, error);
        if (rc == 0 && variants.values[i].count > BENCH_VARIANTS_MAX / variants.count)
            rc =
                error_set(error, -E2BIG,
                          "option %s: with the other options that would be more than %u instances, "
                          "all of which would be started; measure some of them at a time",
                          options[i], BENCH_VARIANTS_MAX);
        variants.count *= variants.values[i].count;
        free(text);
    }
    if (rc < 0)
        bench_variants_fini(&variants);
    else
        *ret_variants = variants;
    return rc;
}

void bench_variants_fini(struct bench_variants *variants)
{
    for (int i = 0; i < BENCH_VARIANT_OPTIONS; i++) {
        for (uint32_t j = 0; j < variants->values[i].count; j++)
            free(variants->values[i].items[j]);
        free(variants->values[i].items);
    }
    *variants = (struct bench_variants){.count = 0};
}

/* ---- one of them ---- */

/* The last option changes from one to the next.  NULL: it is not given. */
static const char *value_of(const struct bench_variants *variants, uint32_t number, int option)
{
    assert(number < variants->count);
    if (variants->values[option].count == 0)
        return NULL;
    for (int i = BENCH_VARIANT_OPTIONS - 1; i > option; i--)
        number /= variants->values[i].count > 0 ? variants->values[i].count : 1;
    return variants->values[option].items[number % variants->values[option].count];
}

int bench_variants_check_radix(const struct bench_variants *variants, uint32_t nodes,
                               struct error *error)
{
    for (uint32_t i = 0; i < variants->values[BENCH_VARIANT_RADIX].count; i++) {
        const char *radix = variants->values[BENCH_VARIANT_RADIX].items[i];
        unsigned long number = strtoul(radix, NULL, 10);

        if (number > TREE_RADIX_MIN && number > nodes)
            return error_set(error, -EINVAL,
                             "option --radix: %s is more than the number of nodes, %u", radix,
                             nodes);
    }
    return 0;
}

uint32_t bench_variants_words(const struct bench_variants *variants, uint32_t number,
                              const char *ret_words[BENCH_VARIANT_WORDS])
{
    uint32_t count = 0;

    for (int i = 0; i < BENCH_VARIANT_OPTIONS; i++) {
        const char *value = value_of(variants, number, i);

        if (value == NULL || (i == BENCH_VARIANT_SHAPE && strcmp(value, "on") == 0))
            continue;
        ret_words[count++] = i == BENCH_VARIANT_SHAPE ? "--no-shape" : options[i];
        if (i != BENCH_VARIANT_SHAPE)
            ret_words[count++] = value;
    }
    assert(count <= BENCH_VARIANT_WORDS);
    return count;
}

void bench_variants_export(const struct bench_variants *variants)
{
    if (variants->values[BENCH_VARIANT_SHAPE].count > 0)
        setenv("BANYAN_NO_SHAPE", "no", 1);
}

void bench_variants_name(const struct bench_variants *variants, uint32_t number,
                         char ret_name[BENCH_ROW_VARIANT_BYTES])
{
    size_t length = 0;

    ret_name[0] = '\0';
    for (int i = 0; i < BENCH_VARIANT_OPTIONS && length < BENCH_ROW_VARIANT_BYTES; i++)
        if (variants->values[i].count > 1)
            length +=
                (size_t)snprintf(ret_name + length, BENCH_ROW_VARIANT_BYTES - length, "%s%s=%s",
                                 length > 0 ? " " : "", names[i], value_of(variants, number, i));
}

const char *bench_variants_provider(const struct bench_variants *variants, uint32_t number)
{
    const char *fabric = value_of(variants, number, BENCH_VARIANT_FABRIC), *provider = NULL;

    if (fabric != NULL && strcmp(fabric, "auto") != 0)
        request_fabric_provider(fabric, &provider);
    return provider;
}

/* ---- which is the best ---- */

/* of: of one measurement, of the first variant, which has `each` of them, like all others. */
static const struct bench_row *fastest(const struct bench_row *of, uint32_t each, uint32_t variants)
{
    const struct bench_row *best = of;

    for (uint32_t i = 1; i < variants; i++)
        if (of[(size_t)i * each].median_ns < best->median_ns)
            best = &of[(size_t)i * each];
    return best;
}

void bench_variants_print_fastest(const struct bench_variants *variants,
                                  const struct bench_row *rows, uint32_t rows_count,
                                  struct buffer *out)
{
    uint32_t each = rows_count / variants->count;

    assert(rows_count > 0 && rows_count % variants->count == 0);
    buffer_printf(out, "\n%-18s %6s %10s %12s  %s\n", "FASTEST", "NODES", "BYTES", "MEDIAN us",
                  "VARIANT");
    for (uint32_t i = 0; i < each; i++) {
        const struct bench_row *best = fastest(&rows[i], each, variants->count);
        bool is_first = true;

        buffer_printf(out, "%-18s %6u %10u %12.1f  %s", best->name, best->nodes,
                      best->what.size_bytes, (double)best->median_ns / 1e3, best->variant);
        for (uint32_t v = 0; v < variants->count; v++) {
            const struct bench_row *other = &rows[v * each + i];

            if (other == best || other->low_ns > best->high_ns)
                continue;
            buffer_printf(out, "%s%s", is_first ? ", not clearly faster than: " : "; ",
                          other->variant);
            is_first = false;
        }
        buffer_append_string(out, "\n");
    }
}
