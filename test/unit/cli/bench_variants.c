/* SPDX-License-Identifier: BSD-3-Clause */
/* The instances that `banyan bench` measures one after the other: launch/cli/verb/bench_variants.c. */
#include "config.h"

#include "launch/cli/verb/bench_variants.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

static struct buffer variants_text;

static int make(const char *radix, const char *fabric, const char *trees, const char *shape,
                struct bench_variants *ret_variants, struct error *error)
{
    const struct bench_settings settings = {
        .radixes = {.items = &radix, .count = radix != NULL},
        .fabrics = {.items = &fabric, .count = fabric != NULL},
        .trees = {.items = &trees, .count = trees != NULL},
        .shapes = {.items = &shape, .count = shape != NULL},
    };

    return bench_variants_make(ret_variants, &settings, error);
}

/* "name: words" of each, or the error. */
static const char *made(const char *radix, const char *fabric, const char *trees, const char *shape)
{
    struct bench_variants variants;
    struct error error = ERROR_NONE;

    buffer_clear(&variants_text);
    if (make(radix, fabric, trees, shape, &variants, &error) < 0) {
        buffer_append_string(&variants_text, error.text);
        return buffer_string(&variants_text);
    }
    for (uint32_t i = 0; i < variants.count; i++) {
        const char *words[BENCH_VARIANT_WORDS];
        uint32_t count = bench_variants_words(&variants, i, words);
        char name[BENCH_ROW_VARIANT_BYTES];

        bench_variants_name(&variants, i, name);
        buffer_printf(&variants_text, "%s%s:", i > 0 ? "\n" : "", name);
        for (uint32_t j = 0; j < count; j++)
            buffer_printf(&variants_text, " %s", words[j]);
    }
    bench_variants_fini(&variants);
    return buffer_string(&variants_text);
}

static void test_make(void)
{
    is_string(made(NULL, NULL, NULL, NULL), ":", "one that says nothing");
    is_string(made("4", "tcp", "auto", "on"), ": --radix 4 --fabric tcp --trees auto",
              "one, of single values, and what is so anyway is not said");
    is_string(made("2,4,2", NULL, "1,1", NULL),
              "radix=2: --radix 2 --trees 1\nradix=4: --radix 4 --trees 1", "each once");
    is_string(made("2..8", NULL, NULL, NULL),
              "radix=2: --radix 2\nradix=4: --radix 4\nradix=8: --radix 8", "several");
    is_string(made("2,3", NULL, "1,2", NULL),
              "radix=2 trees=1: --radix 2 --trees 1\nradix=2 trees=2: --radix 2 --trees 2\n"
              "radix=3 trees=1: --radix 3 --trees 1\nradix=3 trees=2: --radix 3 --trees 2",
              "all combinations");
    is_string(made("6", "auto,ofi:tcp;ofi_rxm", NULL, "off,on"),
              "fabric=auto shape=off: --radix 6 --fabric auto --no-shape\n"
              "fabric=auto shape=on: --radix 6 --fabric auto\n"
              "fabric=ofi:tcp;ofi_rxm shape=off: --radix 6 --fabric ofi:tcp;ofi_rxm --no-shape\n"
              "fabric=ofi:tcp;ofi_rxm shape=on: --radix 6 --fabric ofi:tcp;ofi_rxm",
              "and what differs is the name");
}

static void test_refused(void)
{
    is_string(
        made("1", NULL, NULL, NULL),
        "option --radix: must be a list of whole numbers from 2 to the number of nodes, or of "
        "FIRST..LAST, not '1'",
        "a chain");
    ok(strncmp(made("4,x", NULL, NULL, NULL), "option --radix: must be a list", 30) == 0,
       "no number");
    is_string(made(NULL, "tcp,udp", NULL, NULL),
              "option --fabric: must be a list of tcp, ofi, ofi:PROVIDER and auto, not 'udp'",
              "no fabric");
    is_string(made(NULL, NULL, "1,,2", NULL),
              "option --trees: must be a list of 1, 2 and auto, not ''", "no number of trees");
    is_string(made(NULL, NULL, NULL, "yes"),
              "option --shape: must be a list of on and off, not 'yes'", "no shape");
    ok(strstr(made("2..1024", "tcp,ofi,auto,ofi:a,ofi:b", "1,2,auto", "on,off"),
              "that would be more than 256 instances") != NULL,
       "too many");
}

static void test_nodes(void)
{
    struct error error = ERROR_NONE;
    struct bench_variants variants;

    is_int(make("2,4", "ofi:tcp,tcp,auto", NULL, NULL, &variants, &error), 0, "six of them");
    is_int(bench_variants_check_radix(&variants, 4, &error), 0, "as many nodes as children");
    is_int(bench_variants_check_radix(&variants, 3, &error), -EINVAL, "fewer");
    is_string(error.text, "option --radix: 4 is more than the number of nodes, 3", "says so");
    is_string(bench_variants_provider(&variants, 0), "tcp", "pairs are over the same fabric");
    ok(bench_variants_provider(&variants, 1) == NULL, "or TCP");
    ok(bench_variants_provider(&variants, 5) == NULL, "also without a choice");
    bench_variants_fini(&variants);
    is_int(make("2", NULL, NULL, NULL, &variants, &error), 0, "one");
    is_int(bench_variants_check_radix(&variants, 1, &error), 0, "2 is for any number of nodes");
    bench_variants_fini(&variants);
}

static struct bench_row row_of(const char *variant, uint64_t low_ns, uint64_t high_ns)
{
    struct bench_row row = {.name = "gather",
                            .nodes = 4,
                            .median_ns = (low_ns + high_ns) / 2,
                            .low_ns = low_ns,
                            .high_ns = high_ns};

    strcpy(row.variant, variant);
    return row;
}

static void test_fastest(void)
{
    struct bench_row rows[6] = {row_of("radix=2", 4000, 6000), row_of("radix=2", 1000, 3000),
                                row_of("radix=3", 1000, 3000), row_of("radix=3", 7000, 9000),
                                row_of("radix=4", 2900, 5000), row_of("radix=4", 3001, 5000)};
    struct error error = ERROR_NONE;
    struct bench_variants variants;
    struct buffer out = {0};

    is_int(make("2,3,4", NULL, NULL, NULL, &variants, &error), 0, "three of them");
    bench_variants_print_fastest(&variants, rows, 6, &out);
    is_string(
        buffer_string(&out),
        "\nFASTEST             NODES      BYTES    MEDIAN us  VARIANT\n"
        "gather                  4          0          2.0  radix=3, not clearly faster than: radix=4\n"
        "gather                  4          0          2.0  radix=2\n",
        "the one with the least median, and those whose intervals overlap");
    bench_variants_fini(&variants);
    buffer_fini(&out);
}

int main(void)
{
    test_make();
    test_refused();
    test_nodes();
    test_fastest();
    buffer_fini(&variants_text);
    return done_testing();
}
