/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/run_settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocation.h"
#include "alloc/place_rule.h"
#include "launch/join_token.h"

#define NODES_MAX         (HOSTLIST_HOSTS_MAX - 1)
#define NODES_VIRTUAL_MAX 4096 /* each is a daemon and a helper on this machine */
#define SECONDS_MAX       31536000
/* Half a lease: its eighths must be longer than a heartbeat. */
#define PATIENCE_MIN_S   4
#define PATIENCE_MAX_S   86400
#define KILL_GRACE_MAX_S 3600

#define FIELD(member) .offset = offsetof(struct run_settings, member)

const struct option_rule run_rules[] = {
    {.kind = OPTION_HEADING, .help = "How many processes, and where"},
    {.kind = OPTION_NUMBER,
     .letter = 'n',
     .name = "np",
     .value = "N",
     .each_app = 1,
     FIELD(processes),
     .minimum = 1,
     .maximum = MAP_PROCESSES_MAX,
     .help = "number of processes (default: one for each slot)"},
    {.kind = OPTION_NUMBER,
     .letter = 'N',
     .name = "per-node",
     .aliases = "ppn",
     .value = "N",
     .each_app = 1,
     FIELD(per_node),
     .minimum = 1,
     .maximum = ALLOCATION_SLOTS_MAX,
     .help = "so many processes on each node"},
    {.kind = OPTION_TEXT,
     .name = "map-by",
     .value = "HOW[:MODIFIER]",
     .each_app = 1,
     FIELD(map_by),
     .help = "fill one node after the other (slot, the default), deal to the nodes in turn (node), "
             "or on each node to core, hwthread, l1cache, l2cache, l3cache, numa or package; "
             "ppr:N:OBJECT, dist:DEVICE, seq[:FILE], rankfile:FILE; modifiers are pe=N, span, "
             "oversubscribe, nolocal"},
    {.kind = OPTION_TEXT,
     .name = "rank-by",
     .value = "slot|node|fill|span",
     .each_app = 1,
     FIELD(rank_by),
     .help = "how processes are numbered (default: as they are dealt)"},
    {.kind = OPTION_TEXT,
     .name = "bind-to",
     .value = "LEVEL|none",
     .each_app = 1,
     FIELD(bind_to),
     .help = "bind each process to its core, hwthread, l1cache, l2cache, l3cache, numa or package "
             "(default: to what --map-by names, if there are enough); :overload-allowed behind it "
             "lets them share"},
    {.kind = OPTION_NUMBER,
     .name = "cpus-per-rank",
     .aliases = "cpus-per-proc",
     .value = "N",
     .each_app = 1,
     FIELD(cpus_per_rank),
     .minimum = 1,
     .maximum = MAP_UNITS_MAX,
     .help = "cores for each process, as --map-by HOW:pe=N"},
    {.kind = OPTION_NUMBER,
     .name = "gpus-per-rank",
     .value = "N",
     .each_app = 1,
     FIELD(gpus_per_rank),
     .minimum = 1,
     .maximum = TOPOLOGY_DEVICES_MAX,
     .help = "GPUs for each process, the nearest"},
    {.kind = OPTION_TEXT,
     .name = "bind-memory",
     .value = "none|preferred|local",
     .each_app = 1,
     FIELD(bind_memory),
     .help = "memory of processes that are bound comes from their NUMA nodes, if there is some "
             "(preferred) or in any case (local)"},
    {.kind = OPTION_LIST,
     .name = "require",
     .value = "TERMS",
     .each_app = 1,
     FIELD(require),
     .help = "only nodes that have all of this: mem>=64G, arch=x86_64, os=linux, feature=A|B, "
             "feature!=C, gpus>=2, with commas between; none takes it back"},
    {.kind = OPTION_LIST,
     .name = "facts",
     .value = "NODES:FACTS",
     FIELD(facts),
     .help = "tell what nodes have that neither they nor the scheduler tell: "
             "\"n[1-4]:feature=ib,gpus=2\"; may be repeated"},
    {.kind = OPTION_FLAG,
     .name = "oversubscribe",
     .each_app = 1,
     FIELD(oversubscribe),
     .help = "allow more processes than slots"},
    {.kind = OPTION_FLAG,
     .name = "report-bindings",
     FIELD(report_bindings),
     .help = "draw the cores of each process"},
    {.kind = OPTION_HEADING,
     .help = "Which nodes (default: the scheduler's job, else the cores of this machine)"},
    {.kind = OPTION_LIST,
     .letter = 'H',
     .name = "host",
     .aliases = "hosts",
     .value = "LIST",
     FIELD(hosts),
     .help = "nodes and their slots: a,b:4,n[01-16]:8 (one slot where none is given), "
             "512+100/q[0-1024]"},
    {.kind = OPTION_LIST,
     .name = "hostfile",
     .aliases = "machinefile",
     .value = "FILE",
     FIELD(host_files),
     .help = "the same, one node a line: name, name:4 or name slots=4, # comment"},
    {.kind = OPTION_TEXT,
     .name = "source",
     .value = "NAME",
     FIELD(source),
     .help = "read the nodes from what this scheduler left (slurm, pbs, lsf, ...; the one that is "
             "there counts if it is not said), or from none: local"},
    {.kind = OPTION_TEXT,
     .name = "alloc",
     .value = "SCHEDULER:OPTIONS",
     FIELD(alloc),
     .help =
         "ask for nodes, wait, and give them back at the end: \"slurm: -N4 -p debug\" (salloc), "
         "lsf: (bsub -I) or pbs: (qsub -I)"},
    {.kind = OPTION_TEXT,
     .name = "on",
     .value = "LOGIN",
     FIELD(on),
     .help =
         "run there instead, over ssh, with input, output, signals and status here; with --alloc "
         "it is asked there"},
    {.kind = OPTION_NUMBER,
     .name = "virtual-nodes",
     .value = "N",
     FIELD(virtual_nodes),
     .minimum = 1,
     .maximum = NODES_VIRTUAL_MAX,
     .help = "N nodes v1..vN on this machine, to try things out"},
    {.kind = OPTION_NUMBER,
     .name = "slots",
     .value = "N",
     FIELD(slots),
     .minimum = 1,
     .maximum = ALLOCATION_SLOTS_MAX,
     .help = "slots of this machine, of each virtual node, or of each node whose scheduler tells "
             "none (default: its cores, or, for virtual nodes, an equal share of -n)"},
    {.kind = OPTION_HEADING, .help = "What the processes see"},
    {.kind = OPTION_LIST,
     .letter = 'x',
     .name = "env",
     .each_app = 1,
     .value = "NAME[=VALUE]",
     FIELD(set),
     .help = "set a variable, or forward one that is not forwarded by itself; may be repeated"},
    {.kind = OPTION_TEXT,
     .name = "wdir",
     .each_app = 1,
     .aliases = "chdir",
     .value = "DIR",
     FIELD(directory),
     .help = "directory to start in (default: the current one)"},
    {.kind = OPTION_TEXT,
     .name = "mpi",
     .value = "LIST",
     FIELD(mpi),
     .help = "what to offer for wire-up: pmix, pmi1, both (pmix,pmi1, the default), or none"},
    {.kind = OPTION_TEXT,
     .name = "stdin",
     .value = "RANK|none",
     FIELD(input),
     .help = "who reads standard input (default: 0)"},
    {.kind = OPTION_HEADING, .help = "What you see"},
    {.kind = OPTION_FLAG,
     .letter = 'l',
     .name = "label",
     FIELD(label),
     .help = "put [rank] in front of each line of output"},
    {.kind = OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     FIELD(verbose),
     .help = "tell the phases of the run on standard error; twice: what daemons log, too"},
    {.kind = OPTION_TEXT,
     .name = "json",
     .value = "FILE",
     FIELD(json),
     .help = "write a JSON summary of the run to FILE; - is standard output"},
    {.kind = OPTION_HEADING, .help = "How long"},
    {.kind = OPTION_NUMBER,
     .name = "timeout",
     .value = "SECONDS",
     FIELD(timeout_s),
     .minimum = 1,
     .maximum = SECONDS_MAX,
     .help = "end the job after so many seconds, with status 124"},
    {.kind = OPTION_TEXT,
     .name = "on-failure",
     .value = "abort|continue",
     FIELD(on_failure),
     .help = "when a rank fails or a node is lost: end the job (abort, the default), or let the "
             "other ranks go on"},
    {.kind = OPTION_NUMBER,
     .name = "start-timeout",
     .value = "SECONDS",
     FIELD(start_timeout_s),
     .minimum = 1,
     .maximum = SECONDS_MAX,
     .help = "wait so long for a node's daemon (default: 10)"},
    {.kind = OPTION_NUMBER,
     .name = "kill-grace",
     .value = "SECONDS",
     FIELD(kill_grace_s),
     .minimum = 0,
     .maximum = KILL_GRACE_MAX_S,
     .help = "time between SIGTERM and SIGKILL when a job is ended (default: 1)"},
    {.kind = OPTION_NUMBER,
     .name = "patience",
     .value = "SECONDS",
     FIELD(patience_s),
     .minimum = PATIENCE_MIN_S,
     .maximum = PATIENCE_MAX_S,
     .help = "a node whose machine answers while its daemon says nothing is lost after so many "
             "seconds (default: 60)"},
    {.kind = OPTION_HEADING, .help = "The tree"},
    {.kind = OPTION_NUMBER,
     .name = "radix",
     .value = "R",
     FIELD(radix),
     .minimum = 2,
     .maximum = NODES_MAX,
     .range = "a whole number from 2 to the number of nodes",
     .help = "children of a node (default: 16)"},
    {.kind = OPTION_TEXT,
     .name = "starter",
     .value = "NAME",
     FIELD(starter),
     .help =
         "how daemons are started: local, virtual, ssh, srun, pals or flux (default: what the nodes "
         "need); "
         "join: not by banyan, but with a token on each node by banyand --join"},
    {.kind = OPTION_TEXT,
     .name = "join-file",
     .value = "FILE",
     FIELD(join_file),
     .help =
         "where --starter join writes the nodes' tokens, good for --start-timeout (default: " JOIN_FILE_DEFAULT
         ", 600 s)"},
    {.kind = OPTION_TEXT,
     .name = "ssh-agent",
     .value = "COMMAND",
     FIELD(agent),
     .help = "starts a command on a node, called as COMMAND NODE ARGUMENTS (default: "
             "$BANYAN_SSH_AGENT, or ssh)"},
    {.kind = OPTION_TEXT,
     .name = "banyand",
     .value = "PATH",
     FIELD(banyand),
     .help = "where banyand is on the nodes"},
    {.kind = OPTION_LIST,
     .name = "net",
     .value = "CIDR|INTERFACE,...",
     FIELD(net),
     .help = "which networks the nodes and their MPI talk over"},
    {.kind = OPTION_TEXT,
     .name = "fabric",
     .value = "tcp|ofi[:PROVIDER]|auto",
     FIELD(fabric),
     .help = "carry collectives and bulk data over TLS links alone (tcp), or over libfabric beside "
             "them; auto chooses it where an instance lives longer than a job (default: auto)"},
    {.kind = OPTION_TEXT,
     .name = "port-range",
     .value = "A-B",
     FIELD(ports),
     .help = "ports that daemons may listen on (default: any)"},
    {.kind = OPTION_TEXT,
     .name = "boot",
     .value = "munge|file:DIR",
     FIELD(boot),
     .help = "hands daemons what they must know by MUNGE on the command line, or in files of a "
             "shared directory (default: on their stdin)"},
    {.kind = OPTION_TEXT,
     .name = "tmpdir",
     .value = "DIR",
     FIELD(tmpdir),
     .help = "where session directories go on the nodes (default: $TMPDIR there, or /tmp)"},
    {.kind = OPTION_TEXT,
     .name = "record",
     .value = "DIR",
     FIELD(record),
     .help =
         "each daemon writes what its part of the tree is told and does to a file in DIR on its "
         "node, for banyan sim --replay"},
    {.kind = OPTION_HEADING, .help = "About banyan"},
    {.kind = OPTION_FLAG,
     .letter = 'h',
     .name = "help",
     .ends_parsing = 1,
     FIELD(help),
     .help = "this text"},
    {.kind = OPTION_FLAG,
     .letter = 'V',
     .name = "version",
     .ends_parsing = 1,
     FIELD(version),
     .help = "the version"},
    {.kind = OPTION_END}};

#define LISTS_COUNT 8

static struct option_list *lists_of(struct run_settings *settings, size_t i)
{
    struct option_list *const lists[LISTS_COUNT] = {
        &settings->set,        &settings->facts, &settings->require, &settings->hosts,
        &settings->host_files, &settings->net,   &settings->nodes,   &settings->topology};

    return lists[i];
}

static struct option_list list_copy(const struct option_list *list)
{
    if (list->count == 0)
        return (struct option_list){.count = 0};
    return (struct option_list){.items =
                                    memory_copy(list->items, list->count * sizeof(*list->items)),
                                .count = list->count};
}

void run_settings_inherit_require(struct run_settings *settings, const struct run_settings *first)
{
    settings->require = list_copy(&first->require);
}

void run_settings_fini(struct run_settings *settings)
{
    for (size_t i = 0; i < LISTS_COUNT; i++)
        option_list_fini(lists_of(settings, i));
}

struct run_settings run_settings_inherit(const struct run_settings *first)
{
    struct run_settings settings = *first;

    for (size_t i = 0; i < LISTS_COUNT; i++)
        *lists_of(&settings, i) = (struct option_list){.count = 0};
    settings.set = list_copy(&first->set);
    settings.processes = 0;
    settings.per_node = 0;
    return settings;
}

static const char *const doctor_names[] = {
    "host",    "hostfile",      "source",     "virtual-nodes", "slots",     "env",       "wdir",
    "verbose", "start-timeout", "radix",      "starter",       "ssh-agent", "join-file", "banyand",
    "net",     "boot",          "port-range", "tmpdir",        "help",      "version"};

#define DOCTOR_NAMES (sizeof(doctor_names) / sizeof(doctor_names[0]))

const struct option_rule *doctor_rules(void)
{
    static struct option_rule rules[DOCTOR_NAMES + 3] = {
        {.kind = OPTION_HEADING, .help = "Options, as those of banyan run"}};
    size_t count = 1;

    for (size_t i = 0; i < DOCTOR_NAMES; i++)
        for (const struct option_rule *rule = run_rules; rule->kind != OPTION_END; rule++)
            if (rule->kind != OPTION_HEADING && strcmp(rule->name, doctor_names[i]) == 0)
                rules[count++] = *rule;
    rules[count++] = (struct option_rule){.kind = OPTION_FLAG,
                                          .name = "json",
                                          FIELD(json_wanted),
                                          .help = "print the findings as JSON"};
    rules[count] = (struct option_rule){.kind = OPTION_END};
    return rules;
}
