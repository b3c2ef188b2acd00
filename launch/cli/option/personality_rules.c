/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of each launcher that are translated.  Those with a meaning for the launcher alone, as what
 * it prints or how it starts, are accepted without effect where nothing is lost.
 */
#include "config.h"

#include "launch/cli/option/personality.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX      65536
#define SECONDS_MAX    31536000u
#define TIME_PARTS_MAX 3
#define MINUTE_S       60u
#define HOUR_S         3600u
#define DAY_S          86400u
#define PROCESSES_MAX  UINT32_MAX

/* ---- Values ---- */

static const struct personality_part objects[] = {{"socket", "package"},
                                                  {"sockets", "package"},
                                                  {"cores", "core"},
                                                  {"thread", "hwthread"},
                                                  {"threads", "hwthread"},
                                                  {"ldom", "numa"},
                                                  {"ldoms", "numa"},
                                                  {"no", "none"},
                                                  {"verbose", ""},
                                                  {"quiet", ""},
                                                  {"v", ""},
                                                  {"q", ""},
                                                  {NULL, NULL}};

static const struct personality_part launchers[] = {{"rsh", "ssh"},
                                                    {"slurm", "srun"},
                                                    {"fork", "local"},
                                                    {NULL, NULL}};

static const struct personality_part memories[] = {
    {"prefer", "preferred"}, {"verbose", ""}, {"quiet", ""}, {"v", ""}, {"q", ""}, {NULL, NULL}};

static const struct personality_part interfaces[] = {{"pmix_v2", "pmix"}, {"pmix_v3", "pmix"},
                                                     {"pmix_v4", "pmix"}, {"pmix_v5", "pmix"},
                                                     {"openmpi", "pmix"}, {NULL, NULL}};

static const struct personality_part input_ranks[] = {{"no", "none"}, {NULL, NULL}};

static void add_two(struct personality_state *state, const char *option, const char *value)
{
    personality_add(&state->words, option);
    personality_add(&state->words, value);
}

/* Remembers how many; the parser of banyan run judges what is no number. */
static int convert_processes(const char *value, struct personality_state *state,
                             struct error *error)
{
    (void)error;
    (void)options_number(value, 1, PROCESSES_MAX, &state->processes);
    return 0;
}

static int convert_per_node(const char *value, struct personality_state *state, struct error *error)
{
    (void)value;
    (void)error;
    state->has_per_node = 1;
    return 0;
}

static int convert_hosts(const char *value, struct personality_state *state, struct error *error)
{
    (void)value;
    (void)error;
    state->has_hosts = 1;
    return 0;
}

static int convert_nodes(const char *value, struct personality_state *state, struct error *error)
{
    if (options_number(value, 1, NODES_MAX, &state->nodes) == 0)
        return 0;
    return error_set(error, -EINVAL, "'%.80s' is not a number of nodes from 1 to %u", value,
                     NODES_MAX);
}

/* The nodes are the first of the job, and each gets its share as with srun's block distribution. */
static void finish_srun(struct personality_state *state)
{
    struct buffer text = {0};

    if (state->nodes == 0)
        return;
    for (uint32_t i = 0; !state->has_hosts && i < state->nodes; i++)
        buffer_printf(&text, "%s+n%u", i > 0 ? "," : "", i);
    if (!state->has_hosts)
        add_two(state, "--host", buffer_string(&text));
    buffer_clear(&text);
    buffer_printf(&text, "%u",
                  state->processes > 0 ? (state->processes - 1) / state->nodes + 1 : 1);
    if (!state->has_per_node)
        add_two(state, "--per-node", buffer_string(&text));
    buffer_fini(&text);
}

static int convert_exclude(const char *value, struct personality_state *state, struct error *error)
{
    char *text = memory_printf("^%s", value);

    (void)error;
    add_two(state, "--host", text);
    free(text);
    return 0;
}

/* MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS[:MINUTES[:SECONDS]] */
static int parse_time(const char *text, uint64_t *ret_seconds)
{
    unsigned int parts[TIME_PARTS_MAX] = {0}, days = 0;
    int has_days = strchr(text, '-') != NULL;
    int used = 0, count = 0;

    if (has_days) {
        if (sscanf(text, "%5u-%n", &days, &used) != 1 || used == 0)
            return -EINVAL;
        text += used;
    }
    for (;;) {
        used = 0;
        if (count == TIME_PARTS_MAX || *text < '0' || *text > '9' ||
            sscanf(text, "%8u%n", &parts[count], &used) != 1)
            return -EINVAL;
        count++;
        text += used;
        if (*text != ':')
            break;
        text++;
    }
    if (*text != '\0')
        return -EINVAL;
    if (has_days || count == TIME_PARTS_MAX)
        *ret_seconds = (uint64_t)days * DAY_S + (uint64_t)parts[0] * HOUR_S +
                       (uint64_t)parts[1] * MINUTE_S + parts[2];
    else
        *ret_seconds = (uint64_t)parts[0] * MINUTE_S + parts[1];
    return 0;
}

/* srun's 0 is no limit. */
static int convert_time(const char *value, struct personality_state *state, struct error *error)
{
    uint64_t seconds = 0;
    char text[24];

    if (parse_time(value, &seconds) < 0 || seconds > SECONDS_MAX)
        return error_set(error, -EINVAL,
                         "'%.80s' is not a time: give minutes, or HOURS:MINUTES:SECONDS", value);
    snprintf(text, sizeof(text), "%u", (unsigned int)seconds);
    if (seconds > 0)
        add_two(state, "--timeout", text);
    return 0;
}

/* All variables are exported in any case. */
static int convert_export(const char *value, struct personality_state *state, struct error *error)
{
    while (*value != '\0') {
        size_t bytes = strcspn(value, ",");
        char *item = memory_printf("%.*s", (int)bytes, value);
        int is_none = strcmp(item, "NONE") == 0 || strcmp(item, "NIL") == 0;

        if (!is_none && strcmp(item, "ALL") != 0 && item[0] != '\0')
            add_two(state, "--env", item);
        free(item);
        if (is_none)
            return error_set(error, -EINVAL,
                             "all variables are exported; 'env -i srun ...' starts with none");
        value += bytes + (value[bytes] == ',');
    }
    return 0;
}

static int convert_distribution(const char *value, struct personality_state *state,
                                struct error *error)
{
    size_t bytes = strcspn(value, ":,");

    if (bytes == strlen("cyclic") && memcmp(value, "cyclic", bytes) == 0)
        add_two(state, "--map-by", "node");
    else if ((bytes != strlen("block") || memcmp(value, "block", bytes) != 0) && value[0] != '*')
        return error_set(error, -EINVAL,
                         "'%.80s' begins with neither block nor cyclic: use --map-by", value);
    return 0;
}

static int convert_kill(const char *value, struct personality_state *state, struct error *error)
{
    (void)error;
    if (value != NULL && strcmp(value, "0") == 0)
        add_two(state, "--on-failure", "continue");
    return 0;
}

/* ---- mpiexec, as MPICH's hydra and the standard have it ---- */

#define FLAG(names_, native_)                                        \
    {                                                                \
        .names = names_, .kind = PERSONALITY_FLAG, .native = native_ \
    }
#define VALUE(names_, native_, help_)                                                \
    {                                                                                \
        .names = names_, .kind = PERSONALITY_VALUE, .native = native_, .help = help_ \
    }
#define PARTS(names_, native_, help_, parts_)                                         \
    {                                                                                 \
        .names = names_, .kind = PERSONALITY_VALUE, .native = native_, .help = help_, \
        .parts = parts_                                                               \
    }
#define AFTER(names_, native_, prefix_, help_)                                            \
    {                                                                                     \
        .names = names_, .kind = PERSONALITY_VALUE, .native = native_, .prefix = prefix_, \
        .help = help_                                                                     \
    }
#define PAIR(names_, native_, prefix_, help_)                                            \
    {                                                                                    \
        .names = names_, .kind = PERSONALITY_PAIR, .native = native_, .prefix = prefix_, \
        .help = help_                                                                    \
    }
#define IGNORE(names_, help_)                                                    \
    {                                                                            \
        .names = names_, .kind = PERSONALITY_IGNORE, .native = "", .help = help_ \
    }
#define NOTED(names_, native_, help_, convert_)                                       \
    {                                                                                 \
        .names = names_, .kind = PERSONALITY_VALUE, .native = native_, .help = help_, \
        .convert = convert_                                                           \
    }
#define CONVERT(names_, help_, convert_)                                           \
    {                                                                              \
        .names = names_, .kind = PERSONALITY_CONVERT, .native = "", .help = help_, \
        .convert = convert_                                                        \
    }
#define REFUSE(names_, why_)                                        \
    {                                                               \
        .names = names_, .kind = PERSONALITY_REFUSE, .native = why_ \
    }

static const struct personality_rule mpiexec_rules[] = {
    VALUE("n np", "--np", "N"),
    VALUE("ppn perhost", "--per-node", "N"),
    VALUE("host hosts H", "--host", "LIST"),
    VALUE("f hostfile machinefile", "--hostfile", "FILE"),
    VALUE("configfile", "--app-file", "FILE"),
    VALUE("wdir", "--wdir", "DIR"),
    AFTER("path", "--prepend", "PATH=", "DIRECTORIES"),
    PAIR("env genv", "--env", "", "NAME VALUE"),
    IGNORE("envlist genvlist", "NAMES: all variables are exported"),
    FLAG("envall genvall", ""),
    PARTS("bind-to", "--bind-to", "LEVEL", objects),
    PARTS("map-by", "--map-by", "HOW", objects),
    FLAG("l prepend-rank", "--label"),
    FLAG("v verbose", "--verbose"),
    PARTS("launcher bootstrap", "--starter", "NAME", launchers),
    VALUE("launcher-exec bootstrap-exec", "--ssh-agent", "COMMAND"),
    VALUE("iface", "--net", "INTERFACE"),
    VALUE("umask gumask", "--umask", "MASK"),
    FLAG("disable-auto-cleanup", "--on-failure continue"),
    FLAG("enable-auto-cleanup", "--on-failure abort"),
    FLAG("localhost-only nolocal-only print-all-exitcodes", ""),
    IGNORE("usize pmi-port", "VALUE: no effect"),
    FLAG("info", "--version"),
    {.names = NULL}};

/* ---- mpirun, as Open MPI has it ---- */

static const struct personality_rule mpirun_rules[] = {
    VALUE("n np c", "--np", "N"),
    VALUE("N npernode", "--per-node", "N"),
    FLAG("pernode", "--per-node 1"),
    VALUE("host H", "--host", "LIST"),
    VALUE("hostfile machinefile default-hostfile", "--hostfile", "FILE"),
    VALUE("app", "--app-file", "FILE"),
    VALUE("x", "--env", "NAME[=VALUE]"),
    PAIR("mca gmca omca gomca", "--env", "OMPI_MCA_", "NAME VALUE"),
    PAIR("pmixmca gpmixmca", "--env", "PMIX_MCA_", "NAME VALUE"),
    VALUE("wdir wd", "--wdir", "DIR"),
    AFTER("path", "--prepend", "PATH=", "DIRECTORIES"),
    PARTS("map-by mapby", "--map-by", "HOW", objects),
    PARTS("bind-to bindto", "--bind-to", "LEVEL", objects),
    VALUE("rank-by rankby", "--rank-by", "HOW"),
    FLAG("bynode", "--map-by node"),
    FLAG("byslot", "--map-by slot"),
    FLAG("bind-to-core", "--bind-to core"),
    FLAG("bind-to-socket", "--bind-to package"),
    FLAG("bind-to-none", "--bind-to none"),
    VALUE("cpus-per-proc", "--cpus-per-rank", "N"),
    FLAG("nooversubscribe allow-run-as-root novm q quiet set-sid", ""),
    FLAG("tag-output", "--label"),
    FLAG("report-bindings", "--report-bindings"),
    PARTS("stdin", "--stdin", "RANK|all|none", input_ranks),
    FLAG("continuous", "--on-failure continue"),
    {.names = NULL}};

/* ---- srun, inside a job ---- */

static const struct personality_rule srun_rules[] = {
    NOTED("n ntasks", "--np", "N", convert_processes),
    CONVERT("N nodes", "N: the first N nodes, with equal numbers of processes", convert_nodes),
    NOTED("ntasks-per-node tasks-per-node", "--per-node", "N", convert_per_node),
    VALUE("c cpus-per-task", "--cpus-per-rank", "N"),
    VALUE("gpus-per-task", "--gpus-per-rank", "N"),
    NOTED("w nodelist", "--host", "LIST", convert_hosts),
    CONVERT("x exclude", "LIST: --host ^LIST", convert_exclude),
    VALUE("D chdir", "--wdir", "DIR"),
    CONVERT("export", "ALL,NAME=VALUE,...: --env for each", convert_export),
    PARTS("cpu-bind", "--bind-to", "LEVEL", objects),
    PARTS("mem-bind", "--bind-memory", "local|preferred", memories),
    CONVERT("m distribution", "block|cyclic: --map-by slot or node", convert_distribution),
    FLAG("O overcommit", "--oversubscribe"),
    FLAG("s oversubscribe", ""),
    FLAG("overlap exact exclusive", ""),
    FLAG("l label", "--label"),
    PARTS("i input", "--stdin", "RANK|all|none", input_ranks),
    FLAG("pty", "--pty"),
    PARTS("mpi", "--mpi", "LIST", interfaces),
    CONVERT("t time", "MINUTES|H:M:S: --timeout in seconds", convert_time),
    {.names = "K kill-on-bad-exit",
     .kind = PERSONALITY_OPTIONAL,
     .native = "",
     .help = "[=0|1]: --on-failure",
     .convert = convert_kill},
    FLAG("k no-kill", "--on-failure continue"),
    FLAG("v verbose", "--verbose"),
    FLAG("u unbuffered Q quiet", ""),
    IGNORE("J job-name comment", "TEXT: no effect"),
    IGNORE("W wait", "SECONDS: a job ends with its last process, or when one fails"),
    FLAG("h help", "--help"),
    FLAG("V version", "--version"),
    REFUSE("nice", "a priority of the scheduler: give it to salloc or sbatch"),
    REFUSE("H hold", "give it to salloc or sbatch"),
    {.names = NULL}};

const struct personality personalities[] = {
    {.name = "mpiexec", .rules = mpiexec_rules},
    {.name = "mpirun", .rules = mpirun_rules},
    {.name = "srun", .combines_letters = 1, .rules = srun_rules, .finish = finish_srun},
};

const size_t personalities_count = sizeof(personalities) / sizeof(personalities[0]);

const struct personality *personality_find(const char *name)
{
    for (size_t i = 0; i < personalities_count; i++)
        if (strcmp(personalities[i].name, name) == 0)
            return &personalities[i];
    return NULL;
}
