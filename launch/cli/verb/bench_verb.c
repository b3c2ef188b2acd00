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
    {.kind = OPTION_END}};

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
        else if (strcmp(start->name, "daemonize") != 0 && strcmp(start->name, "survive") != 0)
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

/* Words that are not of own_rules, and their values; ends with NULL, free(). */
static const char **words_of_start(int argc, char **argv)
{
    const struct option_rule *rules = bench_verb_rules();
    const char **words = memory_allocate_zeroed((size_t)(argc + 1) * sizeof(*words));
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
    return words;
}

/* 1: it has said itself why it did not start. */
static int open_client(struct instance_client *ret_client, struct bench_instance *own,
                       const struct bench_settings *settings, const char *const *words,
                       struct error *error)
{
    int rc = -ENOENT;

    if (settings->instance != NULL && words[0] != NULL)
        return error_set(error, -EINVAL,
                         "options --instance and %.40s cannot be used together: the instance has "
                         "its nodes already",
                         words[0]);
    if (words[0] == NULL)
        rc = instance_client_open(ret_client, settings->instance, error);
    if (rc != -ENOENT || settings->instance != NULL ||
        (words[0] == NULL && getenv(REQUEST_INSTANCE_VARIABLE) != NULL))
        return rc;
    rc = bench_instance_start(own, words, error);
    if (rc == 0)
        rc = instance_client_open(ret_client, own->directory, error);
    return rc;
}

/* ---- the measurements ---- */

struct bench {
    struct instance_client client;
    const struct bench_settings *settings;
    struct bench_request *requests;
    struct bench_live live; /* the plans among them */
    struct bench_row *rows;
    struct bench_earlier earlier; /* empty: there is nothing to compare with */
    uint32_t count;
    uint32_t done;
    uint32_t slower; /* than in the earlier run */
};

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
            bench_row_print_heading(row->is_of_ranks, &text);
        bench_row_print(row, &text);
    }
    return print_now(&text);
}

static int measure_one(struct bench *bench, const struct bench_request *what,
                       struct bench_row *ret_row, struct error *error)
{
    struct bench_answer answer;
    int rc;

    if (what->operation == BENCH_PLAN) {
        rc = bench_live_measure(&bench->live, &bench->client, bench->done, ret_row, error);
        return rc < 0 ? explain(rc, bench_live_name(&bench->live, bench->done), what,
                                bench->client.directory, error)
                      : 0;
    }
    if (what->operation >= BENCH_OPERATION_COUNT)
        return bench_jobs_measure(bench->client.directory, what,
                                  allocation_nodes(&bench->client.roster), ret_row, error);
    rc = instance_client_bench(&bench->client, what, &answer, error);
    if (rc < 0)
        return explain(rc, bench_operation_name((enum bench_operation)what->operation), what,
                       bench->client.directory, error);
    bench_row_make(ret_row, what, &answer);
    return 0;
}

static int measure(struct bench *bench, struct error *error)
{
    for (; bench->done < bench->count; bench->done++) {
        const struct bench_request *what = &bench->requests[bench->done];
        int rc = measure_one(bench, what, &bench->rows[bench->done], error);

        if (rc != 0)
            return rc < 0 ? rc : EXIT_STATUS_FAILED;
        rc = show_row(bench, &bench->rows[bench->done]);
        if (rc != EXIT_SUCCESS) {
            bench->done++;
            return rc;
        }
    }
    return EXIT_SUCCESS;
}

/* Of each operation that of the greatest size, which is its last. */
static int show_levels(const struct bench *bench)
{
    struct buffer text = {0};

    if (bench->settings->client > 0)
        bench_row_print_slowest(bench->rows, bench->count, &text);
    for (uint32_t i = 0; i < bench->count && bench->settings->client == 0; i++) {
        bool is_last = i + 1 == bench->count ||
                       bench->requests[i].operation != bench->requests[i + 1].operation ||
                       strcmp(bench->rows[i].name, bench->rows[i + 1].name) != 0;

        if (is_last && bench->requests[i].operation < BENCH_OPERATION_COUNT)
            bench_row_print_levels(&bench->rows[i], &bench->client.roster, &text);
        else if (is_last && bench->rows[i].pairs.nodes > 0)
            bench_row_pairs_print(&bench->rows[i], &text);
    }
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

    for (uint32_t i = 0; i < bench->count; i++) {
        json_t *row = bench_row_json(&bench->rows[i], &bench->client.roster);

        if (bench->earlier.count > 0)
            add_verdict(bench, &bench->rows[i], row);
        json_array_append_new(rows, row);
    }
    root = json_pack("{s:i}", "version", 1);
    if (bench->client.directory != NULL) {
        json_object_set_new(root, "instance", json_text(bench->client.directory));
        json_object_set_new(root, "nodes", json_integer(allocation_nodes(&bench->client.roster)));
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
    bench->slower = bench_compare_print(&bench->earlier, bench->rows, bench->count, &text);
    return print_now(&text);
}

/* Without gnuplot the rest is as good. */
static int plot(const struct bench *bench)
{
    struct error error = ERROR_NONE;
    int rc = bench_plot_write(bench->settings->plot, bench->rows, bench->count, &error);

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
    bench->count = simulated.count;
    for (; bench->done < bench->count && status == EXIT_SUCCESS; bench->done++)
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

static int carry_out(struct bench *bench, struct error *error)
{
    int status;

    status = bench_live_check(&bench->live, &bench->client, bench->requests, bench->count, error);
    if (status < 0)
        return explain(status, "plans", bench->requests, bench->client.directory, error);
    bench->rows = memory_allocate_zeroed(bench->count * sizeof(*bench->rows));
    status = measure(bench, error);
    if (status == EXIT_SUCCESS)
        status = finish(bench);
    for (uint32_t i = 0; i < bench->done; i++)
        bench_row_fini(&bench->rows[i]);
    free(bench->rows);
    return status;
}

/* ---- a rank of a job ---- */

static int show_ranks(struct bench *bench)
{
    int status = EXIT_SUCCESS;

    for (; bench->done < bench->count && status == EXIT_SUCCESS; bench->done++)
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
    rc = bench_client_measure(client, &self, bench->requests, bench->count, bench->rows, error);
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
        rc = bench_plan_make(bench->settings, &bench->requests, &bench->count, error);
    if (rc < 0)
        return bench_client_is_quiet() ? EXIT_STATUS_FAILED : rc;
    bench->rows = memory_allocate_zeroed(bench->count * sizeof(*bench->rows));
    rc = measure_ranks(bench, error);
    free(bench->rows);
    free(bench->requests);
    return rc;
}

static int check_client(const struct bench_settings *settings, int argc, char **argv,
                        struct error *error)
{
    const char **words = words_of_start(argc, argv);
    const char *other = settings->instance != NULL        ? "--instance"
                        : settings->nodes.count > 0       ? "--node-counts"
                        : settings->operations.count > 0  ? "--operation"
                        : settings->simulate.count > 0    ? "--simulate"
                        : settings->collectives.count > 0 ? "--collective"
                                                          : words[0];
    int rc = other == NULL ? 0
                           : error_set(error, -EINVAL,
                                       "options --client and %.40s cannot be used together: its "
                                       "launcher has made the job already",
                                       other);

    free(words);
    return rc;
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
    if (settings->simulate.count > 0 &&
        (settings->instance != NULL || settings->nodes.count > 0 || settings->operations.count > 0))
        return error_set(error, -EINVAL,
                         "option --simulate: simulates exchanges and needs no instance: "
                         "--operation, --node-counts and --instance cannot be used with it");
    return 0;
}

static int measure_instance(struct bench *bench, int argc, char **argv, struct error *error)
{
    const char **words;
    struct bench_instance own = {.pid = 0};
    int rc = bench_plan_make(bench->settings, &bench->requests, &bench->count, error);

    if (rc == 0)
        rc = bench_live_open(&bench->live, bench->settings, error);
    if (rc < 0) {
        free(bench->requests);
        return rc;
    }
    words = words_of_start(argc, argv);
    rc = open_client(&bench->client, &own, bench->settings, words, error);
    if (rc == 0) {
        rc = carry_out(bench, error);
        instance_client_close(&bench->client);
    } else if (rc > 0) {
        rc = EXIT_STATUS_FAILED;
    }
    bench_instance_stop(&own);
    free(words);
    bench_live_fini(&bench->live);
    free(bench->requests);
    return rc;
}

static int run_bench(const struct bench_settings *settings, int argc, char **argv,
                     struct error *error)
{
    struct bench bench = {.settings = settings};
    bool is_client = settings->client > 0;
    int rc = is_client ? check_client(settings, argc, argv, error) : 0;

    if (rc == 0)
        rc = check_together(settings, error);
    if (rc == 0 && settings->compare != NULL && !(is_client && bench_client_is_quiet()))
        rc = bench_compare_read(&bench.earlier, settings->compare, error);
    if (rc < 0 && is_client && bench_client_is_quiet())
        return EXIT_STATUS_FAILED;
    if (rc == 0)
        rc = is_client                      ? be_client(&bench, error)
             : settings->simulate.count > 0 ? simulate(&bench, error)
                                            : measure_instance(&bench, argc, argv, error);
    bench_compare_fini(&bench.earlier);
    return rc;
}

static void settings_fini(struct bench_settings *settings)
{
    request_settings_fini(&settings->start);
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
