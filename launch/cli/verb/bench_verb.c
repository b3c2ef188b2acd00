/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_verb.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/client/instance_client.h"
#include "launch/cli/option/json_text.h"
#include "launch/cli/request/request.h"
#include "launch/cli/verb/bench_client.h"
#include "launch/cli/verb/bench_compare.h"
#include "launch/cli/verb/bench_instance.h"
#include "launch/cli/verb/bench_jobs.h"
#include "launch/cli/verb/bench_live.h"
#include "launch/cli/verb/bench_plan.h"
#include "launch/cli/verb/bench_plot.h"
#include "launch/cli/verb/bench_row.h"
#include "launch/cli/verb/bench_row_pairs.h"
#include "launch/cli/verb/bench_simulate.h"
#include "launch/cli/verb/bench_variants.h"
#include "launch/cli/verb/verb_output.h"
#include "launch/exec/plugin.h"
#include "launch/proto/exit_status.h"

#define FIELD(member) .offset = offsetof(struct bench_settings, member)
#define RULES_MAX     64

_Static_assert(offsetof(struct bench_settings, start) == 0, "rules of start have offsets in it");

static const struct option_rule own_rules[] = {
    {.kind = OPTION_HEADING, .help = "What"},
    {.kind = OPTION_LIST,
     .name = "operation",
     .value = "LIST",
     FIELD(operations),
     .choices = "barrier broadcast gather exchange links launch io pairs",
     .help =
         "what to measure: barrier, broadcast (until the root knows that all have it), gather "
         "(to the root), exchange (all to all), links (there and back, from each node to its "
         "parent); default: all of these. Also launch (a job with a process on each node), io "
         "(what one on each node writes) and pairs (TCP between each two nodes, in as many rounds "
         "as nodes)"},
    {.kind = OPTION_LIST,
     .name = "size",
     .value = "LIST",
     FIELD(sizes),
     .help = "bytes that each contributes: 0,8,1K..1M, where .. means each power of two times the "
             "first (default: 8,1K,64K)"},
    {.kind = OPTION_LIST,
     .name = "node-counts",
     .value = "LIST",
     FIELD(nodes),
     .help = "with that many nodes only, the first ones: 2..64 (default: all)"},
    {.kind = OPTION_NUMBER,
     .letter = 'r',
     .name = "repeat",
     .value = "N",
     FIELD(repeat),
     .minimum = 1,
     .maximum = BENCH_REPEAT_MAX,
     .help = "how often each is repeated (default: 200; launch, io and pairs 20)"},
    {.kind = OPTION_NUMBER,
     .name = "warm-up",
     .value = "N",
     FIELD(warm_up),
     .minimum = 0,
     .maximum = BENCH_REPEAT_MAX,
     .help = "how often before that, without counting (default: 20; launch and io 2; "
             "pairs always 3)"},
    {.kind = OPTION_HEADING, .help = "Other runtimes"},
    {.kind = OPTION_FLAG,
     .name = "client",
     FIELD(client),
     .help = "measure no instance, but the PMIx of the launcher that has started this process as a "
             "rank of a job (orterun -n 64 banyan bench --client): fences of all ranks, with data "
             "unless the size is 0 (default: 0,8,1K,64K); rank 0 prints"},
    {.kind = OPTION_HEADING, .help = "Plans of collectives"},
    {.kind = OPTION_LIST,
     .name = "simulate",
     .value = "LIST",
     FIELD(simulate),
     .help = "measure no instance, but simulate exchanges among that many places, 2..64: banyan's "
             "(as banyan sim does) and those of --collective"},
    {.kind = OPTION_LIST,
     .name = "collective",
     .value = "FILE",
     FIELD(collectives),
     .help = "a shared object with the plan of an exchange (banyan/collective.h), which is checked "
             "and simulated, or carried out by the nodes of an instance; may be repeated"},
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG, .name = "csv", FIELD(csv), .help = "print the rows as CSV"},
    {.kind = OPTION_FLAG, .name = "json", FIELD(json), .help = "print all that is known as JSON"},
    {.kind = OPTION_TEXT,
     .name = "compare",
     .value = "FILE",
     FIELD(compare),
     .help = "compare with an earlier run, whose --json is in FILE: faster, slower, or the same "
             "within the confidence intervals (95 %) of the medians; exit status 1 if anything is "
             "slower"},
    {.kind = OPTION_TEXT,
     .name = "plot",
     .value = "DIR",
     FIELD(plot),
     .help = "draw time and bandwidth over the size, and time over the number of nodes, and "
             "pairs as maps, as SVG in DIR, by gnuplot"},
    {.kind = OPTION_HEADING, .help = "Which instance"},
    {.kind = OPTION_TEXT,
     .name = "instance",
     .value = "DIR",
     FIELD(instance),
     .help = "the instance whose directory 'banyan start' has printed (default: $BANYAN_INSTANCE, "
             "or the only one of yours; if there is none, or an option below is given, one is "
             "started for the measurement)"},
    {.kind = OPTION_HEADING,
     .help =
         "Variants of an instance for the measurement: each combination is started and measured"},
    {.kind = OPTION_LIST,
     .name = "radix",
     .value = "LIST",
     FIELD(radixes),
     .help = "children of each node in the tree: 2,6 or 2..32 (default: 6)"},
    {.kind = OPTION_LIST,
     .name = "fabric",
     .value = "LIST",
     FIELD(fabrics),
     .help = "what carries collectives and bulk data, and pairs: tcp, ofi, ofi:PROVIDER, or auto "
             "(default: auto; pairs are measured over TCP then)"},
    {.kind = OPTION_LIST,
     .name = "trees",
     .value = "LIST",
     FIELD(trees),
     .help = "over one tree or two, as large data go to all nodes: 1,2,auto (default: auto, "
             "whichever takes less time)"},
    {.kind = OPTION_LIST,
     .name = "shape",
     .value = "LIST",
     FIELD(shapes),
     .help = "a tree that follows the switches, or the order of the nodes: on,off (default: on, if "
             "--fabric-topology or Slurm describes them)"},
    {.kind = OPTION_END}};

/* What is there instead, or makes no sense for an instance that ends with this program. */
static const char *const not_of_start[] = {"daemonize", "survive", "radix",
                                           "fabric",    "trees",   "no-shape"};

#define NOT_OF_START (sizeof(not_of_start) / sizeof(not_of_start[0]))

static bool is_of_start(const char *name)
{
    for (size_t i = 0; i < NOT_OF_START; i++)
        if (strcmp(name, not_of_start[i]) == 0)
            return false;
    return true;
}

/* Those of `banyan start` follow, as far as they say what an instance is made of. */
const struct option_rule *bench_verb_rules(void)
{
    static struct option_rule rules[RULES_MAX];
    const struct option_rule *start = request_settings_start_rules();
    size_t count = 0;

    while (own_rules[count].kind != OPTION_END) {
        rules[count] = own_rules[count];
        count++;
    }
    for (; start->kind != OPTION_END; start++) {
        assert(count < RULES_MAX - 1);
        if (start->kind == OPTION_HEADING)
            rules[count++] = (struct option_rule){
                .kind = OPTION_HEADING,
                .help = "An instance for the measurement (options as of banyan start)"};
        else if (is_of_start(start->name))
            rules[count++] = *start;
    }
    rules[count] = (struct option_rule){.kind = OPTION_END};
    return rules;
}

void bench_verb_help(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan bench [OPTIONS]\n\n"
             "Measures the tree of an instance: its daemons repeat collective operations by "
             "themselves,\nand report how long they took, by level of the tree, and which nodes "
             "are slowest.\n");
    options_help(bench_verb_rules(), out);
    buffer_append_string(out, "\nMore in banyan-bench(1).\n");
}

/* ---- the instance ---- */

/* Words that are not of own_rules, and their values, and after them those of the variant; ends with NULL, free(). */
static const char **words_of_start(int argc, char **argv, const struct bench_variants *variants,
                                   uint32_t variant)
{
    const struct option_rule *rules = bench_verb_rules();
    const char **words =
        memory_allocate_zeroed((size_t)(argc + 1 + BENCH_VARIANT_WORDS) * sizeof(*words));
    size_t count = 0;

    for (int at = 1; at < argc;) {
        int own = options_words(own_rules, argv[at]), all = options_words(rules, argv[at]);

        if (own > 0) {
            at += own;
            continue;
        }
        for (int i = 0; i < (all > 0 ? all : 1) && at < argc; i++)
            words[count++] = argv[at++];
    }
    bench_variants_words(variants, variant, words + count);
    return words;
}

/* 1: it has said itself why it did not start. */
static int open_client(struct instance_client *ret_client, struct bench_instance *own,
                       const struct bench_settings *settings, const char *const *words,
                       struct error *error)
{
    const char *of_start = bench_variants_given(settings);
    int rc = -ENOENT;

    if (of_start == NULL)
        of_start = words[0];
    if (settings->instance != NULL && of_start != NULL)
        return error_set(error, -EINVAL,
                         "options --instance and %.40s cannot be used together: the instance has "
                         "its nodes already",
                         of_start);
    if (of_start == NULL)
        rc = instance_client_open(ret_client, settings->instance, error);
    if (rc != -ENOENT || settings->instance != NULL ||
        (of_start == NULL && getenv(REQUEST_INSTANCE_VARIABLE) != NULL))
        return rc;
    rc = bench_instance_start(own, words, error);
    if (rc == 0)
        rc = instance_client_open(ret_client, own->directory, error);
    return rc;
}

/* ---- the measurements ---- */

struct bench {
    struct instance_client client; /* of the instance that is measured now */
    const struct bench_settings *settings;
    struct bench_variants variants;
    struct bench_request *requests; /* of each variant */
    struct bench_live live;         /* the plans among them */
    struct bench_row *rows;         /* of one variant after the other */
    struct allocation *rosters;   /* of each variant that has been measured; NULL: no instance is */
    char *directory;              /* of the last instance */
    struct bench_earlier earlier; /* empty: there is nothing to compare with */
    uint32_t requests_count;
    uint32_t rows_count;
    uint32_t done;   /* rows */
    uint32_t slower; /* than in the earlier run */
};

static const struct allocation *roster_of(const struct bench *bench, uint32_t row)
{
    assert(row < bench->rows_count);
    return bench->rosters == NULL ? NULL : &bench->rosters[row / bench->requests_count];
}

static int explain(int rc, const char *name, const struct bench_request *what,
                   const char *directory, struct error *error)
{
    assert(rc < 0);
    if (rc == -EBUSY)
        error_set(error, rc, "too many clients measure the instance at %s; wait for them",
                  directory);
    else if (rc == -EMSGSIZE)
        error_set(error, rc,
                  "cannot measure %s of %u bytes: of all nodes that is too much for one "
                  "operation; use a smaller --size",
                  name, what->size_bytes);
    else if (rc == -EHOSTDOWN)
        error_set(error, rc, "cannot measure %s: a node of the instance at %s was lost meanwhile",
                  name, directory);
    else if (rc == -ESTALE)
        error_set(error, rc,
                  "cannot measure %s: the instance at %s has got or lost nodes since it was "
                  "planned; try again",
                  name, directory);
    else if (rc == -EILSEQ)
        error_set(error, rc,
                  "cannot measure %s: a node of the instance at %s has not got the blocks of the "
                  "plan; please report that",
                  name, directory);
    return rc;
}

static int print_now(struct buffer *text)
{
    return verb_output_print(text, EXIT_SUCCESS);
}

static int show_row(const struct bench *bench, const struct bench_row *row)
{
    struct buffer text = {0};
    bool is_first = bench->done == 0;

    if (bench->settings->json > 0)
        return EXIT_SUCCESS;
    if (bench->settings->csv > 0) {
        if (is_first)
            bench_row_csv_heading(row->is_of_ranks, &text);
        bench_row_csv(row, &bench->client.roster, &text);
    } else {
        if (is_first)
            bench_row_print_heading(row, &text);
        bench_row_print(row, &text);
    }
    return print_now(&text);
}

static int measure_one(struct bench *bench, uint32_t variant, uint32_t request,
                       struct bench_row *ret_row, struct error *error)
{
    const struct bench_request *what = &bench->requests[request];
    struct bench_answer answer;
    int rc;

    if (what->operation == BENCH_PLAN) {
        rc = bench_live_measure(&bench->live, &bench->client, request, ret_row, error);
        return rc < 0 ? explain(rc, bench_live_name(&bench->live, request), what,
                                bench->client.directory, error)
                      : 0;
    }
    if (what->operation >= BENCH_OPERATION_COUNT)
        return bench_jobs_measure(
            bench->client.directory, what, allocation_nodes(&bench->client.roster),
            bench_variants_provider(&bench->variants, variant), ret_row, error);
    rc = instance_client_bench(&bench->client, what, &answer, error);
    if (rc < 0)
        return explain(rc, bench_operation_name((enum bench_operation)what->operation), what,
                       bench->client.directory, error);
    bench_row_make(ret_row, what, &answer);
    return 0;
}

static int measure(struct bench *bench, uint32_t variant, struct error *error)
{
    for (uint32_t i = 0; i < bench->requests_count; i++) {
        struct bench_row *row = &bench->rows[bench->done];
        int rc = measure_one(bench, variant, i, row, error);

        if (rc != 0)
            return rc < 0 ? rc : EXIT_STATUS_FAILED;
        bench_variants_name(&bench->variants, variant, row->variant);
        rc = show_row(bench, row);
        bench->done++;
        if (rc != EXIT_SUCCESS)
            return rc;
    }
    return EXIT_SUCCESS;
}

/* Of each operation of a variant that of the greatest size, which is its last. */
static bool is_last_of_kind(const struct bench *bench, uint32_t row)
{
    const struct bench_request *what = &bench->requests[row % bench->requests_count];

    return (row + 1) % bench->requests_count == 0 || what->operation != what[1].operation ||
           !bench_row_is_alike(&bench->rows[row], &bench->rows[row + 1]);
}

static int show_levels(const struct bench *bench)
{
    struct buffer text = {0};

    if (bench->settings->client > 0)
        bench_row_print_slowest(bench->rows, bench->rows_count, &text);
    for (uint32_t i = 0; i < bench->rows_count && bench->settings->client == 0; i++) {
        const struct bench_request *what = &bench->requests[i % bench->requests_count];

        if (!is_last_of_kind(bench, i))
            continue;
        if (what->operation < BENCH_OPERATION_COUNT)
            bench_row_print_levels(&bench->rows[i], roster_of(bench, i), &text);
        else if (bench->rows[i].pairs.nodes > 0)
            bench_row_pairs_print(&bench->rows[i], &text);
    }
    if (bench->variants.count > 1 &&
        bench->rows_count == bench->variants.count * bench->requests_count)
        bench_variants_print_fastest(&bench->variants, bench->rows, bench->rows_count, &text);
    return print_now(&text);
}

static void add_verdict(struct bench *bench, const struct bench_row *row, json_t *object)
{
    const struct bench_row *before;
    enum bench_verdict verdict = bench_compare_row(&bench->earlier, row, &before);

    bench->slower += verdict == BENCH_VERDICT_SLOWER;
    json_object_set_new(object, "verdict", json_string(bench_compare_word(verdict)));
    if (before != NULL)
        json_object_set_new(object, "before_median_ns",
                            json_integer((json_int_t)before->median_ns));
}

static int show_json(struct bench *bench)
{
    json_t *rows = json_array(), *root;
    struct buffer text = {0};
    char *dump;

    for (uint32_t i = 0; i < bench->rows_count; i++) {
        json_t *row = bench_row_json(&bench->rows[i], roster_of(bench, i));

        if (bench->earlier.count > 0)
            add_verdict(bench, &bench->rows[i], row);
        json_array_append_new(rows, row);
    }
    root = json_pack("{s:i}", "version", 1);
    if (bench->directory != NULL) {
        json_object_set_new(root, "instance", json_text(bench->directory));
        json_object_set_new(
            root, "nodes", json_integer(allocation_nodes(roster_of(bench, bench->rows_count - 1))));
    }
    json_object_set_new(root, "rows", rows);
    dump = json_dumps(root, JSON_INDENT(2));
    assert(dump != NULL);
    buffer_printf(&text, "%s\n", dump);
    free(dump);
    json_decref(root);
    return print_now(&text);
}

static int show_text(struct bench *bench)
{
    struct buffer text = {0};
    int status = bench->settings->csv > 0 || bench->settings->simulate.count > 0
                     ? EXIT_SUCCESS
                     : show_levels(bench);

    if (status != EXIT_SUCCESS || bench->earlier.count == 0)
        return status;
    bench->slower = bench_compare_print(&bench->earlier, bench->rows, bench->rows_count, &text);
    return print_now(&text);
}

/* Without gnuplot the rest is as good. */
static int plot(const struct bench *bench)
{
    struct error error = ERROR_NONE;
    int rc = bench_plot_write(bench->settings->plot, bench->rows, bench->rows_count, &error);

    if (rc == -ENOENT) {
        fprintf(stderr, "banyan: %s\n", error.text);
        return EXIT_SUCCESS;
    }
    return rc < 0 ? verb_output_fail(&error) : EXIT_SUCCESS;
}

/* After the rows. */
static int finish(struct bench *bench)
{
    int status = bench->settings->json > 0 ? show_json(bench) : show_text(bench);

    if (status == EXIT_SUCCESS && bench->settings->plot != NULL)
        status = plot(bench);
    if (status == EXIT_SUCCESS && bench->slower > 0)
        status = EXIT_FAILURE;
    return status;
}

static int simulate(struct bench *bench, struct error *error)
{
    struct bench_simulated simulated;
    struct buffer text = {0};
    int status = bench_simulate(bench->settings, &simulated, error);

    if (status < 0)
        return status;
    bench->rows = simulated.rows;
    bench->rows_count = simulated.count;
    for (; bench->done < bench->rows_count && status == EXIT_SUCCESS; bench->done++)
        status = show_row(bench, &bench->rows[bench->done]);
    if (status == EXIT_SUCCESS && bench->settings->json == 0 && bench->settings->csv == 0) {
        bench_simulate_print(&simulated, &text);
        status = print_now(&text);
    }
    if (status == EXIT_SUCCESS)
        status = finish(bench);
    bench_simulate_fini(&simulated);
    return status;
}

/* Of an instance that runs. */
static int carry_out(struct bench *bench, uint32_t variant, struct error *error)
{
    int rc = 0;

    if (variant == 0)
        rc = bench_variants_check_radix(&bench->variants, allocation_nodes(&bench->client.roster),
                                        error);
    if (rc < 0)
        return rc;
    rc = bench_live_check(&bench->live, &bench->client, bench->requests, bench->requests_count,
                          error);
    if (rc < 0)
        return explain(rc, "plans", bench->requests, bench->client.directory, error);
    return measure(bench, variant, error);
}

/* ---- a rank of a job ---- */

static int show_ranks(struct bench *bench)
{
    int status = EXIT_SUCCESS;

    for (; bench->done < bench->rows_count && status == EXIT_SUCCESS; bench->done++)
        status = show_row(bench, &bench->rows[bench->done]);
    return status == EXIT_SUCCESS ? finish(bench) : status;
}

/* An error of one rank ends the job, whose other ranks would wait for it. */
static int measure_ranks(struct bench *bench, struct error *error)
{
    const struct fence_client_table *client = plugin_pmix_client(error);
    struct fence_client_self self;
    int rc = client == NULL ? -ENOENT : client->open(&self, error);

    if (rc < 0)
        return rc;
    rc =
        bench_client_measure(client, &self, bench->requests, bench->rows_count, bench->rows, error);
    if (rc < 0) {
        rc = verb_output_fail(error);
        client->give_up(rc, error->text);
        return rc;
    }
    rc = client->close(error);
    return rc < 0 || self.rank > 0 ? rc : show_ranks(bench);
}

static int be_client(struct bench *bench, struct error *error)
{
    int rc = bench_client_check(error);

    if (rc == 0)
        rc = bench_plan_make(bench->settings, &bench->requests, &bench->rows_count, error);
    if (rc < 0)
        return bench_client_is_quiet() ? EXIT_STATUS_FAILED : rc;
    bench->rows = memory_allocate_zeroed(bench->rows_count * sizeof(*bench->rows));
    rc = measure_ranks(bench, error);
    free(bench->rows);
    free(bench->requests);
    return rc;
}

/* With these nothing is started.  why: what they have instead. */
static int check_no_instance(const struct bench_settings *settings, const char *option,
                             const char *why, int argc, char **argv, struct error *error)
{
    const struct bench_variants none = {.count = 1};
    const char **words = words_of_start(argc, argv, &none, 0);
    const char *other = settings->instance != NULL               ? "--instance"
                        : settings->nodes.count > 0              ? "--node-counts"
                        : settings->operations.count > 0         ? "--operation"
                        : bench_variants_given(settings) != NULL ? bench_variants_given(settings)
                                                                 : words[0];
    int rc = other == NULL
                 ? 0
                 : error_set(error, -EINVAL, "options %s and %.40s cannot be used together: %s",
                             option, other, why);

    free(words);
    return rc;
}

static int check_client(const struct bench_settings *settings, int argc, char **argv,
                        struct error *error)
{
    static const char why[] = "its launcher has made the job already";
    const char *other = settings->simulate.count > 0      ? "--simulate"
                        : settings->collectives.count > 0 ? "--collective"
                                                          : NULL;

    if (other != NULL)
        return error_set(error, -EINVAL, "options --client and %s cannot be used together: %s",
                         other, why);
    return check_no_instance(settings, "--client", why, argc, argv, error);
}

/* ---- all of it ---- */

static int check_together(const struct bench_settings *settings, struct error *error)
{
    if (settings->csv > 0 && settings->json > 0)
        return error_set(error, -EINVAL, "options --csv and --json cannot be used together");
    if (settings->csv > 0 && settings->compare != NULL)
        return error_set(error, -EINVAL,
                         "options --csv and --compare cannot be used together: use "
                         "--json, or neither");
    return 0;
}

/* What remains of it is its roster, for the reports. */
static void close_client(struct bench *bench, uint32_t variant)
{
    free(bench->directory);
    bench->directory = memory_copy_string(bench->client.directory);
    allocation_fini(&bench->rosters[variant]);
    allocation_copy(&bench->rosters[variant], &bench->client.roster);
    instance_client_close(&bench->client);
}

/* Which one has failed.  Returns the exit status. */
static int explain_variant(const struct bench *bench, uint32_t variant, int rc, struct error *error)
{
    char name[BENCH_ROW_VARIANT_BYTES];

    bench_variants_name(&bench->variants, variant, name);
    if (rc < 0 && name[0] != '\0')
        error_prefix(error, "%s", name);
    else if (name[0] != '\0')
        fprintf(stderr, "banyan: %s was not measured\n", name);
    return rc < 0 ? verb_output_fail(error) : rc;
}

static int measure_variant(struct bench *bench, uint32_t variant, int argc, char **argv,
                           struct error *error)
{
    const char **words = words_of_start(argc, argv, &bench->variants, variant);
    struct bench_instance own = {.pid = 0};
    int rc = open_client(&bench->client, &own, bench->settings, words, error);

    if (rc == 0) {
        rc = carry_out(bench, variant, error);
        close_client(bench, variant);
    } else if (rc > 0) {
        rc = EXIT_STATUS_FAILED;
    }
    bench_instance_stop(&own);
    free(words);
    return rc;
}

static int measure_all(struct bench *bench, int argc, char **argv, struct error *error)
{
    uint32_t variants = bench->variants.count;
    int rc = EXIT_SUCCESS;

    bench->rows_count = variants * bench->requests_count;
    bench->rows = memory_allocate_zeroed(bench->rows_count * sizeof(*bench->rows));
    bench->rosters = memory_allocate_zeroed(variants * sizeof(*bench->rosters));
    for (uint32_t i = 0; i < variants; i++)
        allocation_init(&bench->rosters[i]);
    bench_variants_export(&bench->variants);
    for (uint32_t i = 0; i < variants && rc == EXIT_SUCCESS; i++) {
        rc = measure_variant(bench, i, argc, argv, error);
        if (rc != EXIT_SUCCESS)
            rc = explain_variant(bench, i, rc, error);
    }
    /* What has been measured before one has failed is not lost. */
    bench->rows_count = bench->done;
    if (rc == EXIT_SUCCESS)
        rc = finish(bench);
    else if (bench->done >= bench->requests_count)
        (void)finish(bench);
    for (uint32_t i = 0; i < bench->done; i++)
        bench_row_fini(&bench->rows[i]);
    for (uint32_t i = 0; i < variants; i++)
        allocation_fini(&bench->rosters[i]);
    free(bench->rows);
    free(bench->rosters);
    free(bench->directory);
    return rc;
}

static int measure_instances(struct bench *bench, int argc, char **argv, struct error *error)
{
    int rc = bench_plan_make(bench->settings, &bench->requests, &bench->requests_count, error);

    if (rc == 0)
        rc = bench_variants_make(&bench->variants, bench->settings, error);
    if (rc == 0)
        rc = bench_live_open(&bench->live, bench->settings, error);
    if (rc == 0)
        rc = measure_all(bench, argc, argv, error);
    bench_live_fini(&bench->live);
    bench_variants_fini(&bench->variants);
    free(bench->requests);
    return rc;
}

static int run_bench(const struct bench_settings *settings, int argc, char **argv,
                     struct error *error)
{
    struct bench bench = {.settings = settings};
    bool is_client = settings->client > 0;
    int rc =
        is_client ? check_client(settings, argc, argv, error)
        : settings->simulate.count > 0
            ? check_no_instance(settings, "--simulate",
                                "it simulates exchanges and needs no instance", argc, argv, error)
            : 0;

    if (rc == 0)
        rc = check_together(settings, error);
    if (rc == 0 && settings->compare != NULL && !(is_client && bench_client_is_quiet()))
        rc = bench_compare_read(&bench.earlier, settings->compare, error);
    if (rc < 0 && is_client && bench_client_is_quiet())
        return EXIT_STATUS_FAILED;
    if (rc == 0)
        rc = is_client                      ? be_client(&bench, error)
             : settings->simulate.count > 0 ? simulate(&bench, error)
                                            : measure_instances(&bench, argc, argv, error);
    bench_compare_fini(&bench.earlier);
    return rc;
}

static void settings_fini(struct bench_settings *settings)
{
    request_settings_fini(&settings->start);
    options_list_fini(&settings->radixes);
    options_list_fini(&settings->fabrics);
    options_list_fini(&settings->trees);
    options_list_fini(&settings->shapes);
    options_list_fini(&settings->operations);
    options_list_fini(&settings->sizes);
    options_list_fini(&settings->nodes);
    options_list_fini(&settings->simulate);
    options_list_fini(&settings->collectives);
}

int bench_verb(int argc, char **argv)
{
    struct bench_settings settings = {.warm_up = UINT32_MAX};
    struct buffer text = {0};
    struct error error = ERROR_NONE;
    int next = argc;
    int status = options_parse(bench_verb_rules(), argc, argv, &settings, &next, &error);

    if (status == 0 && settings.start.help == 0 && settings.start.version == 0 && next < argc)
        status = error_set(&error, -EINVAL, "unknown argument '%.80s'; see 'banyan help bench'",
                           argv[next]);
    if (status == 0 && settings.start.help > 0) {
        bench_verb_help(&text);
        status = verb_output_print(&text, EXIT_SUCCESS);
    } else if (status == 0 && settings.start.version > 0) {
        options_version(&text);
        status = verb_output_print(&text, EXIT_SUCCESS);
    } else if (status == 0) {
        status = run_bench(&settings, argc, argv, &error);
    }
    settings_fini(&settings);
    return status < 0 ? verb_output_fail(&error) : status;
}
