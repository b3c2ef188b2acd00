/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/fabric_verb.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/hostlist.h"
#include "base/memory.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request_fabric.h"
#include "launch/cli/request/request_shape.h"
#include "launch/cli/verb/fabric_measure.h"
#include "launch/cli/verb/fabric_nics.h"
#include "launch/cli/verb/fabric_report.h"
#include "launch/exec/pair_worker.h"
#include "launch/exec/session_about.h"

#define MEASURE_BYTES   65536
#define MEASURE_REPEATS 20

struct fabric_settings {
    int help;
    int version;
    const char *topology;
    const char *instance;
    const char *from;
    const char *to;
    int matrix;
    struct option_list nodes;
    int json;
    int measure;
    int nics;
    const char *fabric;
    uint32_t size;
    uint32_t repeat;
};

#define FIELD(member) .offset = offsetof(struct fabric_settings, member)

static const struct option_rule fabric_rules[] = {
    {.kind = OPTION_HEADING, .help = "Which fabric"},
    {.kind = OPTION_TEXT,
     .name = "topology",
     .value = "FILE|SHAPE",
     FIELD(topology),
     .help = "Slurm's topology.conf or its nodes' addresses, what ibnetdiscover prints, or JSON "
             "(see banyan-fabric(1)); or "
             "fat-tree:16x8x4 or dragonfly:4x8x16 (default: topology.conf beside $SLURM_CONF or "
             "in /etc/slurm)"},
    {.kind = OPTION_TEXT,
     .name = "instance",
     .value = "DIR",
     FIELD(instance),
     .help = "between the nodes of this instance, which has been started with --fabric-topology"},
    {.kind = OPTION_HEADING, .help = "What to show"},
    {.kind = OPTION_TEXT,
     .name = "from",
     .value = "NIC",
     FIELD(from),
     .help = "what the paths from this NIC, or this node's first, to that of --to and back cost"},
    {.kind = OPTION_TEXT, .name = "to", .value = "NIC", FIELD(to), .help = "see --from"},
    {.kind = OPTION_FLAG,
     .name = "matrix",
     FIELD(matrix),
     .help = "what all paths cost, as CSV, a row for each NIC where they begin; at most 4096 NICs"},
    {.kind = OPTION_LIST,
     .name = "nodes",
     .value = "LIST",
     FIELD(nodes),
     .help = "only NICs of these nodes, for --matrix"},
    {.kind = OPTION_FLAG, .name = "json", FIELD(json), .help = "print JSON"},
    {.kind = OPTION_HEADING, .help = "Measuring"},
    {.kind = OPTION_FLAG,
     .name = "measure",
     FIELD(measure),
     .help = "measure the paths between all nodes, from a process on each, and print a "
             "description with their costs; what follows -- are options of banyan run "
             "that choose the nodes"},
    {.kind = OPTION_TEXT,
     .name = "fabric",
     .value = "tcp|ofi[:PROVIDER]",
     FIELD(fabric),
     .help = "measure over TCP or over libfabric, with the provider that fi_info names so or its "
             "first with reliable datagrams (default: tcp)"},
    {.kind = OPTION_NUMBER,
     .name = "size",
     .value = "BYTES",
     FIELD(size),
     .minimum = 1,
     .maximum = PAIR_WORKER_BYTES_MAX,
     .help = "bytes of a transfer (default: 65536)"},
    {.kind = OPTION_NUMBER,
     .name = "repeat",
     .value = "N",
     FIELD(repeat),
     .minimum = 1,
     .maximum = PAIR_WORKER_REPEATS_MAX,
     .help = "round trips of a pair of nodes, and a few transfers; the shortest counts "
             "(default: 20)"},
    {.kind = OPTION_HEADING, .help = "Reading the NICs"},
    {.kind = OPTION_FLAG,
     .name = "nics",
     FIELD(nics),
     .help = "ask libfabric and hwloc on each node which NICs it has, and print a description with "
             "them, below the switches that --topology gives their nodes, or one; what follows -- "
             "are options of banyan run that choose the nodes"},
    OPTION_ROWS_ABOUT(struct fabric_settings, help, version)};

const struct option_rule *fabric_verb_rules(void)
{
    return fabric_rules;
}

void fabric_verb_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan fabric [OPTIONS]\n"
                              "       banyan fabric --measure [OPTIONS] [-- OPTIONS OF RUN]\n"
                              "       banyan fabric --nics [--topology FILE|SHAPE] [-- OPTIONS OF "
                              "RUN]\n\n"
                              "Shows the network between nodes as its switches are described, and "
                              "what paths\nthrough it cost: one for each link, unless the "
                              "description has costs.\n");
    options_help(fabric_rules, out);
    buffer_append_string(out, "\nMore in banyan-fabric(1).\n");
}

/* ---- Reading ---- */

static int read_instance(struct fabric_model *model, const char *directory,
                         const struct request_ops *ops, struct error *error)
{
    char *path = memory_printf("%s/" SESSION_FABRIC_FILE, directory);
    int rc = request_shape_read("--instance", path, ops, model, error);

    if (rc == -ENOENT)
        error_set(
            error, rc,
            "option --instance: %s has no fabric: no instance with --fabric-topology is there",
            directory);
    free(path);
    return rc;
}

static int read_model(const struct fabric_settings *settings, const struct request_ops *ops,
                      struct fabric_model *model, struct error *error)
{
    if (settings->instance != NULL)
        return read_instance(model, settings->instance, ops, error);
    return request_shape_read("--topology", settings->topology, ops, model, error);
}

/* ---- Showing ---- */

/* A NIC of that name, else the first of the node of that name. */
static int find_vertex(const struct fabric_model *model, const char *option, const char *name,
                       uint32_t *ret_vertex, struct error *error)
{
    uint32_t node = fabric_model_find_node(model, name);

    *ret_vertex = fabric_model_find_vertex(model, name);
    for (uint32_t i = 0; *ret_vertex == FABRIC_NONE && node != FABRIC_NONE; i++) {
        assert(i < model->vertices_count);
        if (model->vertices[i].node == node)
            *ret_vertex = i;
    }
    if (*ret_vertex == FABRIC_NONE)
        return error_set(error, -ENOENT, "option %s: neither a NIC nor a node is called %.80s",
                         option, name);
    return 0;
}

static int show_cost(const struct fabric_settings *settings, const struct fabric_model *model,
                     struct buffer *out, struct error *error)
{
    uint32_t from = FABRIC_NONE, to = FABRIC_NONE;
    int rc;

    if (settings->from == NULL || settings->to == NULL)
        return error_set(error, -EINVAL, "give both --from and --to");
    rc = find_vertex(model, "--from", settings->from, &from, error);
    if (rc == 0)
        rc = find_vertex(model, "--to", settings->to, &to, error);
    if (rc == 0)
        fabric_report_cost(model, from, to, out);
    return rc;
}

/* Marks the nodes of --nodes, or all. */
static int mark_nodes(const struct fabric_settings *settings, const struct fabric_model *model,
                      uint8_t *marks, struct error *error)
{
    struct hostlist *list = hostlist_create();
    char *text = options_list_join(&settings->nodes, ",");
    char name[HOST_NAME_BYTES_MAX + 1];
    int rc = text != NULL ? hostlist_parse(list, text, error) : 0;

    if (rc < 0)
        error_prefix(error, "option --nodes");
    memset(marks, text == NULL, model->nodes_count);
    for (uint32_t i = 0; i < hostlist_count(list) && rc == 0; i++) {
        uint32_t node;

        hostlist_name(list, i, name);
        node = fabric_model_find_node(model, name);
        if (node == FABRIC_NONE)
            rc = error_set(error, -ENOENT, "option --nodes: %s is not in the fabric", name);
        else
            marks[node] = 1;
    }
    free(text);
    hostlist_destroy(list);
    return rc;
}

static int show_matrix(const struct fabric_settings *settings, const struct fabric_model *model,
                       struct buffer *out, struct error *error)
{
    uint8_t *marks = memory_allocate(model->nodes_count);
    uint32_t *vertices = memory_allocate(FABRIC_REPORT_MATRIX_MAX * sizeof(*vertices));
    uint32_t count = 0;
    int rc = mark_nodes(settings, model, marks, error);

    for (uint32_t i = 0; i < model->vertices_count && rc == 0; i++) {
        if (!marks[model->vertices[i].node])
            continue;
        if (count == FABRIC_REPORT_MATRIX_MAX)
            rc = error_set(error, -E2BIG,
                           "option --matrix: more than %u NICs; choose some by --nodes",
                           FABRIC_REPORT_MATRIX_MAX);
        else
            vertices[count++] = i;
    }
    if (rc == 0)
        fabric_report_matrix(model, vertices, count, out);
    free(vertices);
    free(marks);
    return rc;
}

static int show_fabric(const struct fabric_settings *settings, const struct request_ops *ops,
                       struct buffer *out, struct error *error)
{
    struct fabric_model model = {.switches = NULL};
    int is_cost = settings->from != NULL || settings->to != NULL;
    int rc;

    if (is_cost + (settings->matrix > 0) + (settings->json > 0) > 1)
        return error_set(error, -EINVAL, "give only one of --from, --matrix and --json");
    if (settings->topology != NULL && settings->instance != NULL)
        return error_set(error, -EINVAL, "give only one of --topology and --instance");
    if (settings->nodes.count > 0 && settings->matrix == 0)
        return error_set(error, -EINVAL, "option --nodes: it needs --matrix");
    rc = read_model(settings, ops, &model, error);
    if (rc == 0 && is_cost)
        rc = show_cost(settings, &model, out, error);
    else if (rc == 0 && settings->matrix > 0)
        rc = show_matrix(settings, &model, out, error);
    else if (rc == 0 && settings->json > 0)
        fabric_report_json(&model, out);
    else if (rc == 0)
        fabric_report_text(&model, out);
    fabric_model_fini(&model);
    return rc;
}

/* ---- Measuring ---- */

static int check_run_options(int argc, char *const *argv, const char *option, struct error *error)
{
    if (argc > 0 && argv[0][0] != '-')
        return error_set(error, -EINVAL,
                         "'%.80s' is no option of banyan run, which alone follow --%s --", argv[0],
                         option);
    return 0;
}

static int measure(const struct fabric_settings *settings, int argc, char *const *argv,
                   struct buffer *out, struct error *error)
{
    struct pair_matrix_run wanted = {.options = (const char *const *)argv,
                                     .options_count = argc,
                                     .bytes = settings->size > 0 ? settings->size : MEASURE_BYTES,
                                     .repeats =
                                         settings->repeat > 0 ? settings->repeat : MEASURE_REPEATS};

    if (settings->topology != NULL || settings->from != NULL || settings->to != NULL ||
        settings->matrix > 0 || settings->nodes.count > 0)
        return error_set(error, -EINVAL,
                         "option --measure: what it prints can be shown by --topology, later");
    if (settings->instance != NULL)
        return error_set(error, -EINVAL,
                         "options --measure and --instance cannot be used together: to measure "
                         "between an instance's nodes, give --instance after --measure --");
    if (check_run_options(argc, argv, "measure", error) < 0)
        return -EINVAL;
    if (settings->fabric != NULL && request_fabric_provider(settings->fabric, &wanted.provider) < 0)
        return error_set(error, -EINVAL,
                         "option --fabric: '%.80s' is not one of tcp, ofi, ofi:PROVIDER",
                         settings->fabric);
    return fabric_measure_run(&wanted, out, error);
}

/* ---- Reading the NICs ---- */

static const char *other_than_nics(const struct fabric_settings *settings)
{
    const struct {
        const char *name;
        int is_given;
    } options[] = {{"measure", settings->measure > 0},
                   {"fabric", settings->fabric != NULL},
                   {"size", settings->size > 0},
                   {"repeat", settings->repeat > 0},
                   {"instance", settings->instance != NULL},
                   {"from", settings->from != NULL},
                   {"to", settings->to != NULL},
                   {"matrix", settings->matrix > 0},
                   {"nodes", settings->nodes.count > 0},
                   {"json", settings->json > 0}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].is_given)
            return options[i].name;
    }
    return NULL;
}

static int read_nics(const struct fabric_settings *settings, int argc, char *const *argv,
                     const struct request_ops *ops, struct buffer *out, struct error *error)
{
    struct fabric_model topology = {.switches = NULL};
    const char *other = other_than_nics(settings);
    int rc;

    if (other != NULL)
        return error_set(error, -EINVAL, "options --nics and --%s cannot be used together%s", other,
                         strcmp(other, "instance") == 0
                             ? ": for an instance's nodes, give --instance after --nics --"
                             : "");
    rc = check_run_options(argc, argv, "nics", error);
    if (rc == 0 && settings->topology != NULL)
        rc = request_shape_read("--topology", settings->topology, ops, &topology, error);
    if (rc == 0)
        rc = fabric_nics_run((const char *const *)argv, argc,
                             settings->topology != NULL ? &topology : NULL, out, error);
    fabric_model_fini(&topology);
    return rc;
}

int fabric_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
                struct error *error)
{
    struct fabric_settings settings = {.json = 0};
    int next = 0;
    int rc = options_parse(fabric_rules, argc, argv, &settings, &next, error);

    if (rc == 0 && settings.help > 0)
        fabric_verb_help(out);
    else if (rc == 0 && settings.version > 0)
        options_version(out);
    else if (rc == 0 && settings.nics > 0)
        rc = read_nics(&settings, argc - next, argv + next, ops, out, error);
    else if (rc == 0 && settings.measure > 0)
        rc = measure(&settings, argc - next, argv + next, out, error);
    else if (rc == 0 && (settings.size > 0 || settings.repeat > 0 || settings.fabric != NULL))
        rc = error_set(error, -EINVAL, "option --%s: it needs --measure",
                       settings.size > 0     ? "size"
                       : settings.repeat > 0 ? "repeat"
                                             : "fabric");
    else if (rc == 0 && next < argc)
        rc = error_set(error, -EINVAL, "unknown argument '%.80s'; see 'banyan help fabric'",
                       argv[next]);
    else if (rc == 0)
        rc = show_fabric(&settings, ops, out, error);
    options_list_fini(&settings.nodes);
    return rc;
}
