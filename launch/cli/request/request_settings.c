/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_settings.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocation.h"
#include "alloc/placement_rule.h"
#include "launch/start/join_token.h"

#define NODES_MAX         (HOSTLIST_HOSTS_MAX - 1)
#define NODES_VIRTUAL_MAX 4096 /* each is a daemon and a helper on this machine */
#define SECONDS_MAX       31536000
/* Half a lease: its eighths must be longer than a heartbeat. */
#define PATIENCE_MIN_S   4
#define PATIENCE_MAX_S   86400
#define KILL_GRACE_MAX_S 3600
#define RETRIES_MAX      1000

#define FIELD(member) .offset = offsetof(struct request_settings, member)

const struct option_rule run_rules[] = {
    {.kind = OPTION_HEADING, .help = "Number and placement of processes"},
    {.kind = OPTION_NUMBER,
     .letter = 'n',
     .name = "np",
     .value = "N",
     .each_app = 1,
     FIELD(processes),
     .minimum = 1,
     .maximum = PLACEMENT_PROCESSES_MAX,
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
     .help = "number of processes on each node"},
    {.kind = OPTION_TEXT,
     .name = "map-by",
     .value = "HOW[:MODIFIER]",
     .each_app = 1,
     FIELD(map_by),
     .choices = "slot node core hwthread l1cache l2cache l3cache numa package "
                "device=gpu device=network ppr: dist: pe-list= seq rankfile:",
     .help =
         "slot: fill nodes one at a time (default); node: round-robin over nodes; core, "
         "hwthread, l1cache, l2cache, l3cache, numa or package: fill nodes, round-robin over "
         "these on each; "
         "ppr:N:OBJECT, dist:DEVICE, device=gpu|network[:shared], pe-list=CORES[:ordered], seq[:FILE], rankfile:FILE; "
         "modifiers are pe=N, span, oversubscribe, nolocal"},
    {.kind = OPTION_TEXT,
     .name = "rank-by",
     .value = "slot|node|fill|span",
     .each_app = 1,
     FIELD(rank_by),
     .help = "how ranks are numbered (default: in the order of placement)"},
    {.kind = OPTION_TEXT,
     .name = "bind-to",
     .value = "LEVEL|none",
     .each_app = 1,
     FIELD(bind_to),
     .choices = "none core hwthread l1cache l2cache l3cache numa package",
     .help = "bind each process to its core, hwthread, l1cache, l2cache, l3cache, numa or package "
             "(default: what --map-by names, if there are enough); append :overload-allowed to "
             "let processes share them"},
    {.kind = OPTION_NUMBER,
     .name = "cpus-per-rank",
     .aliases = "cpus-per-proc",
     .value = "N",
     .each_app = 1,
     FIELD(cpus_per_rank),
     .minimum = 1,
     .maximum = PLACEMENT_UNITS_MAX,
     .help = "cores per process, like --map-by HOW:pe=N"},
    {.kind = OPTION_NUMBER,
     .name = "gpus-per-rank",
     .value = "N",
     .each_app = 1,
     FIELD(gpus_per_rank),
     .minimum = 1,
     .maximum = TOPOLOGY_DEVICES_MAX,
     .help = "GPUs per process, the nearest ones"},
    {.kind = OPTION_TEXT,
     .name = "bind-memory",
     .value = "none|preferred|local",
     .each_app = 1,
     FIELD(bind_memory),
     .help = "allocate memory of bound processes on their NUMA nodes, if possible (preferred) or "
             "always (local)"},
    {.kind = OPTION_LIST,
     .name = "require",
     .value = "TERMS",
     .each_app = 1,
     FIELD(require),
     .help = "use only nodes matching all of TERMS, separated by commas: mem>=64G, arch=x86_64, "
             "os=linux, feature=A|B, feature!=C, gpus>=2; 'none' clears"},
    {.kind = OPTION_LIST,
     .name = "facts",
     .value = "NODES:FACTS",
     FIELD(facts),
     .help = "declare attributes of nodes that neither the nodes nor the scheduler report: "
             "\"n[1-4]:feature=ib,gpus=2\"; may be repeated"},
    {.kind = OPTION_FLAG,
     .name = "oversubscribe",
     .each_app = 1,
     FIELD(oversubscribe),
     .help = "allow more processes than slots"},
    {.kind = OPTION_FLAG,
     .name = "report-bindings",
     FIELD(report_bindings),
     .help = "print the cores of each process"},
    {.kind = OPTION_TEXT,
     .name = "app-file",
     .value = "FILE",
     FIELD(app_file),
     .help = "run the programs of FILE as one job: each line has the options and the program of "
             "one, as between ':'"},
    {.kind = OPTION_HEADING,
     .help = "Nodes (default: those of the scheduler's job, else this machine)"},
    {.kind = OPTION_TEXT,
     .name = "instance",
     .value = "DIR|none",
     FIELD(instance),
     .help = "run on the nodes of the instance that 'banyan start' has started; DIR is what it "
             "printed (default: unless options name nodes, $BANYAN_INSTANCE, or the only instance "
             "of the scheduler's job, or outside one of yours; else none)"},
    {.kind = OPTION_FLAG,
     .name = "detach",
     FIELD(detach),
     .help = "print the job's number once it runs, or waits for slots, and leave it in the "
             "instance; 'banyan attach' and 'banyan wait' come back to it"},
    {.kind = OPTION_FLAG,
     .name = "no-wait",
     FIELD(no_wait),
     .help = "fail at once if other jobs of the instance have the slots (default: wait)"},
    {.kind = OPTION_LIST,
     .letter = 'H',
     .name = "host",
     .aliases = "hosts",
     .value = "LIST",
     FIELD(hosts),
     .help = "nodes and their slots: a,b:4,n[01-16]:8 (default: 1 slot), "
             "512+100/q[0-1024]"},
    {.kind = OPTION_LIST,
     .name = "hostfile",
     .aliases = "machinefile",
     .value = "FILE",
     FIELD(host_files),
     .help = "the same, one node per line: name, name:4 or name slots=4; # starts a comment"},
    {.kind = OPTION_TEXT,
     .name = "source",
     .value = "NAME",
     FIELD(source),
     .choices = REQUEST_SOURCES,
     .help = "take the nodes from this scheduler's environment (slurm, pbs, lsf, ...; default: the "
             "first one detected); 'local' ignores schedulers"},
    {.kind = OPTION_TEXT,
     .name = "alloc",
     .value = "NAME:OPTIONS",
     FIELD(alloc),
     .help = "request nodes, wait for them, and release them at the end: \"slurm: -N4 -p debug\" "
             "(salloc), lsf: (bsub -I), pbs: (qsub -I), or a cluster of banyan.conf"},
    {.kind = OPTION_TEXT,
     .name = "on",
     .value = "LOGIN",
     FIELD(on),
     .help = "run on LOGIN over ssh, as if typed there; input, output, signals and status are "
             "forwarded, and --alloc applies there"},
    {.kind = OPTION_NUMBER,
     .name = "min-nodes",
     .value = "N",
     FIELD(min_nodes),
     .minimum = 1,
     .maximum = NODES_MAX,
     .help =
         "continue without nodes whose daemons do not start if at least N nodes are left (default: all nodes are needed)"},
    {.kind = OPTION_NUMBER,
     .name = "spares",
     .value = "N",
     FIELD(spares),
     .minimum = 1,
     .maximum = NODES_MAX - 1,
     .help =
         "keep the last N nodes unused: when a node does not start or is lost, one of them takes its place"},
    {.kind = OPTION_NUMBER,
     .name = "virtual-nodes",
     .value = "N",
     FIELD(virtual_nodes),
     .minimum = 1,
     .maximum = NODES_VIRTUAL_MAX,
     .help = "simulate N nodes v1..vN on this machine, for testing"},
    {.kind = OPTION_NUMBER,
     .name = "slots",
     .value = "N",
     FIELD(slots),
     .minimum = 1,
     .maximum = ALLOCATION_SLOTS_MAX,
     .help = "slots of this machine, of each virtual node, or of each node for which the scheduler "
             "gives no count (default: its cores; for virtual nodes, an equal share of -n)"},
    {.kind = OPTION_HEADING, .help = "Environment of the processes"},
    {.kind = OPTION_LIST,
     .letter = 'x',
     .name = "env",
     .each_app = 1,
     .value = "NAME[=VALUE]",
     FIELD(set),
     .help = "set a variable, or export one that is not exported by default, or all that match a "
             "pattern ('SSH_*'); may be repeated"},
    {.kind = OPTION_LIST,
     .name = "env-file",
     .each_app = 1,
     .value = "FILE",
     FIELD(env_files),
     .help = "set the variables of FILE, lines of NAME=VALUE or NAME; -x has precedence"},
    {.kind = OPTION_LIST,
     .name = "unset",
     .each_app = 1,
     .value = "NAME",
     FIELD(unset),
     .help = "remove a variable, or all exported ones that match a pattern"},
    {.kind = OPTION_LIST,
     .name = "prepend",
     .each_app = 1,
     .value = "NAME=VALUE[:SEP]",
     FIELD(prepend),
     .help = "put VALUE before the value of a variable, with ':' between them, or one of , ; | + "
             "and blank"},
    {.kind = OPTION_LIST,
     .name = "append",
     .each_app = 1,
     .value = "NAME=VALUE[:SEP]",
     FIELD(append),
     .help = "the same, after it"},
    {.kind = OPTION_TEXT,
     .name = "wdir",
     .each_app = 1,
     .aliases = "chdir",
     .value = "DIR",
     FIELD(directory),
     .help = "working directory (default: the current one), which must exist on the nodes; %r is "
             "the rank, %h the node, %j the job's number"},
    {.kind = OPTION_LIST,
     .name = "rlimit",
     .each_app = 1,
     .value = "NAME=SOFT[:HARD]",
     FIELD(limits),
     .help = "set a limit of each process, as in nofile=4K, core=unlimited, stack=hard or "
             "memlock=1G:1G; may be repeated"},
    {.kind = OPTION_TEXT,
     .name = "umask",
     .each_app = 1,
     .value = "MASK",
     FIELD(umask),
     .help = "file mode mask of each process, octal"},
    {.kind = OPTION_TEXT,
     .name = "nice",
     .each_app = 1,
     .value = "N",
     FIELD(nice),
     .help = "add N to the nice value of each process"},
    {.kind = OPTION_TEXT,
     .name = "mpi",
     .value = "LIST",
     FIELD(mpi),
     .choices = "pmix pmi1 pmi2 torch none",
     .help =
         "process-management interfaces to offer: pmix, pmi1 (and pmi2: the same socket), torch "
         "(RANK, MASTER_ADDR, ...) or none; default: pmix,pmi1"},
    {.kind = OPTION_TEXT,
     .name = "modex",
     .value = "auto|full|lazy",
     FIELD(modex),
     .help = "data that PMIx processes publish: sent to all nodes by a fence (full, and auto), or "
             "requested when it is needed (lazy)"},
    {.kind = OPTION_TEXT,
     .name = "stop",
     .value = "exec|init|app",
     FIELD(stop),
     .help = "the processes wait for a debugger: stopped before their first instruction, in "
             "PMIx_Init, or where the program itself waits"},
    {.kind = OPTION_TEXT,
     .name = "stdin",
     .value = "RANK|all|none",
     FIELD(input),
     .help = "rank that receives standard input, or all (default: 0)"},
    {.kind = OPTION_FLAG,
     .name = "pty",
     FIELD(pty),
     .help = "give that rank a terminal, as a login has: for editors, debuggers and prompts"},
    {.kind = OPTION_HEADING, .help = "Files"},
    {.kind = OPTION_LIST,
     .name = "stage",
     .value = "FILE|DIR[:DEST]",
     FIELD(stage),
     .help = "copy files to all nodes before the start, into the directory $BANYAN_STAGE of the "
             "job, as DEST, or under the same relative path; may be repeated"},
    {.kind = OPTION_FLAG,
     .name = "stage-binary",
     FIELD(stage_binary),
     .help = "copy the program and its shared libraries, and run it from there"},
    {.kind = OPTION_FLAG,
     .name = "check-libraries",
     FIELD(check_libraries),
     .help = "check on all nodes, before the start, that the program and its shared libraries are "
             "found"},
    {.kind = OPTION_FLAG,
     .name = "force",
     FIELD(force),
     .help = "--stage replaces files that exist and differ (default: that is an error)"},
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG,
     .letter = 'l',
     .name = "label",
     FIELD(label),
     .help = "prefix each line of output with [rank]"},
    {.kind = OPTION_FLAG,
     .name = "timestamp",
     FIELD(timestamp),
     .help = "prefix each line with the time at which its node read it: ISO 8601, UTC, in "
             "milliseconds; given twice, nanoseconds"},
    {.kind = OPTION_TEXT,
     .name = "output",
     .value = "PATTERN",
     FIELD(output),
     .help = "write standard output to files: %r in their path is the rank (%4r: with zeros to 4 "
             "digits), %j the job, %h the node, %t out or err, which then includes standard error"},
    {.kind = OPTION_TEXT,
     .name = "error",
     .value = "PATTERN",
     FIELD(error),
     .help = "write standard error to files"},
    {.kind = OPTION_FLAG,
     .name = "merge",
     FIELD(merge),
     .help = "standard error goes where standard output goes"},
    {.kind = OPTION_TEXT,
     .name = "output-from",
     .value = "RANKS",
     FIELD(output_from),
     .help = "show only the output of these ranks: 0-3,9"},
    {.kind = OPTION_FLAG,
     .name = "fold",
     FIELD(fold),
     .help = "show equal lines of ranks once: [0-4095] hello"},
    {.kind = OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     FIELD(verbose),
     .help = "report the phases of the run; given twice, also the daemons' logs"},
    {.kind = OPTION_FLAG,
     .name = "profile",
     FIELD(profile),
     .help = "print at the end how long the nodes took for each phase, and which were the slowest"},
    {.kind = OPTION_TEXT,
     .name = "trace",
     .value = "FILE",
     FIELD(trace),
     .help = "write when each node and rank reached which phase to FILE, which ui.perfetto.dev "
             "opens"},
    {.kind = OPTION_FLAG,
     .name = "stats",
     FIELD(stats),
     .help = "report at the end what the processes have used: CPU, memory, storage"},
    {.kind = OPTION_TEXT,
     .name = "json",
     .value = "FILE",
     FIELD(json),
     .help = "write a JSON summary of the run to FILE; - is standard output"},
    {.kind = OPTION_HEADING, .help = "Many small tasks instead of one program"},
    {.kind = OPTION_TEXT,
     .name = "tasks",
     .value = "FILE|-",
     FIELD(tasks),
     .help = "run each line, a command or a JSON object (argv, slots, env, wdir, after, name), on "
             "a free slot; with a PROGRAM each line is an argument, put in for {}; PROGRAM ::: "
             "ARGUMENTS does the same"},
    {.kind = OPTION_TEXT,
     .name = "joblog",
     .value = "FILE",
     FIELD(joblog),
     .help = "write a line for each task that has ended to FILE, in GNU parallel's columns"},
    {.kind = OPTION_TEXT,
     .name = "results",
     .value = "FILE",
     FIELD(results),
     .help = "write a JSON object for each task that has ended, with its output, to FILE"},
    {.kind = OPTION_NUMBER,
     .name = "retries",
     .value = "N",
     FIELD(retries),
     .minimum = 1,
     .maximum = 1000,
     .help = "run a task that has failed, or whose node was lost, up to N more times"},
    {.kind = OPTION_FLAG,
     .name = "resume",
     FIELD(resume),
     .help = "skip the tasks that have succeeded according to --joblog, and append to it"},
    {.kind = OPTION_HEADING, .help = "Time limits"},
    {.kind = OPTION_NUMBER,
     .name = "timeout",
     .value = "SECONDS",
     FIELD(timeout_s),
     .minimum = 1,
     .maximum = SECONDS_MAX,
     .help = "end the job after this time, with exit status 124"},
    {.kind = OPTION_FLAG,
     .name = "stack",
     FIELD(stack),
     .help = "when the time of --timeout is over, report in which functions the ranks are (by gdb "
             "or eu-stack)"},
    {.kind = OPTION_TEXT,
     .name = "on-failure",
     .value = "abort|continue|restart[:N]",
     FIELD(on_failure),
     .help = "when a rank fails or a node is lost: end the job (abort, the default), let the "
             "other ranks go on, or start a rank that has failed again up to N times (default: 3)"},
    {.kind = OPTION_NUMBER,
     .name = "start-timeout",
     .value = "SECONDS",
     FIELD(start_timeout_s),
     .minimum = 1,
     .maximum = SECONDS_MAX,
     .help = "how long to wait for a node's daemon to start (default: 10)"},
    {.kind = OPTION_NUMBER,
     .name = "start-retries",
     .value = "N",
     FIELD(start_retries),
     .minimum = 0,
     .maximum = RETRIES_MAX,
     .help = "how often ssh or a similar agent that fails is called again, within --start-timeout "
             "(default: 2)"},
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
     .help = "how long a daemon may be silent while its machine answers, before its node "
             "counts as lost (default: 60)"},
    {.kind = OPTION_HEADING, .help = "Daemons and network"},
    {.kind = OPTION_NUMBER,
     .name = "radix",
     .value = "R",
     FIELD(radix),
     .minimum = 2,
     .maximum = NODES_MAX,
     .range = "a whole number from 2 to the number of nodes",
     .help = "children of each node in the tree (default: 6)"},
    {.kind = OPTION_TEXT,
     .name = "trees",
     .value = "1|2|auto",
     FIELD(trees),
     .choices = "1 2 auto",
     .help = "send large data to all nodes over one tree, or over two at once (default: auto, "
             "whichever takes less time)"},
    {.kind = OPTION_TEXT,
     .name = "starter",
     .value = "NAME",
     FIELD(starter),
     .choices = "local virtual ssh srun pals flux join",
     .help =
         "how daemons are started: local, virtual, ssh, srun, pals or flux (default: what the nodes "
         "need); "
         "join: banyan starts nothing; run 'banyand --join' with its token on each node"},
    {.kind = OPTION_FLAG,
     .name = "no-daemons",
     FIELD(no_daemons),
     .help = "start each process by the starter itself (ssh, srun, or here): without PMI, input, "
             "bindings and files that are staged, for which there are daemons"},
    {.kind = OPTION_TEXT,
     .name = "join-file",
     .value = "FILE",
     FIELD(join_file),
     .help =
         "where --starter join writes the nodes' tokens, valid for --start-timeout (default: " JOIN_FILE_DEFAULT
         ", 600 s)"},
    {.kind = OPTION_TEXT,
     .name = "ssh-agent",
     .value = "COMMAND",
     FIELD(agent),
     .help =
         "program that starts the daemons instead of ssh, called as COMMAND NODE ARGUMENTS (default: "
         "$BANYAN_SSH_AGENT, or ssh)"},
    {.kind = OPTION_TEXT,
     .name = "banyand",
     .value = "PATH",
     FIELD(banyand),
     .help = "path of banyand on the nodes"},
    {.kind = OPTION_LIST,
     .name = "net",
     .value = "CIDR|INTERFACE,...",
     FIELD(net),
     .help = "networks that the daemons and MPI use, best first"},
    {.kind = OPTION_TEXT,
     .name = "fabric",
     .value = "tcp|ofi[:PROVIDER]|auto",
     FIELD(fabric),
     .help = "carry collectives and bulk data over TLS links alone (tcp) or also over libfabric "
             "(ofi); auto uses libfabric only where the daemons serve more than one job (default: "
             "auto)"},
    {.kind = OPTION_TEXT,
     .name = "fabric-topology",
     .value = "FILE|SHAPE",
     FIELD(fabric_topology),
     .help =
         "what describes the network between the nodes, as for banyan fabric --topology: the tree "
         "follows its switches (default for that: in a job of Slurm its topology.conf), and "
         "programs and schedulers get its costs"},
    {.kind = OPTION_FLAG,
     .name = "no-shape",
     FIELD(no_shape),
     .help = "a tree in the order of the nodes, whatever the switches"},
    {.kind = OPTION_TEXT,
     .name = "port-range",
     .value = "A-B",
     FIELD(ports),
     .help = "ports that daemons may listen on (default: any)"},
    {.kind = OPTION_TEXT,
     .name = "boot",
     .value = "munge|file:DIR",
     FIELD(boot),
     .help = "how the start-up data reach the daemons: sealed by MUNGE on the command line, or in "
             "files of a shared directory (default: on their standard input)"},
    {.kind = OPTION_TEXT,
     .name = "tmpdir",
     .value = "DIR",
     FIELD(tmpdir),
     .help = "directory for temporary files on the nodes (default: $TMPDIR there, or /tmp); "
             "\"/a;n[1-4]=/b\" gives some nodes another"},
    {.kind = OPTION_TEXT,
     .name = "record",
     .value = "DIR",
     FIELD(record),
     .help = "each daemon records what it receives and does in a file in DIR on its node, for "
             "banyan sim --replay"},
    {.kind = OPTION_TEXT,
     .name = "log",
     .value = "DIR",
     FIELD(log),
     .help =
         "each daemon logs what happens to a file in DIR on its node; the last lines are printed if it "
         "dies"},
    OPTION_ROWS_ABOUT(struct request_settings, help, version)};

#define LISTS_COUNT  14
#define COPIED_COUNT 6 /* the first: for each application those of the first, and its own */

static struct option_list *lists_of(struct request_settings *settings, size_t i)
{
    struct option_list *const lists[LISTS_COUNT] = {
        &settings->set,      &settings->env_files,  &settings->unset, &settings->prepend,
        &settings->append,   &settings->limits,     &settings->facts, &settings->require,
        &settings->hosts,    &settings->host_files, &settings->net,   &settings->nodes,
        &settings->topology, &settings->stage};

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

void request_settings_inherit_require(struct request_settings *settings,
                                      const struct request_settings *first)
{
    settings->require = list_copy(&first->require);
}

void request_settings_fini(struct request_settings *settings)
{
    for (size_t i = 0; i < LISTS_COUNT; i++)
        options_list_fini(lists_of(settings, i));
}

struct request_settings request_settings_inherit(const struct request_settings *first)
{
    struct request_settings settings = *first;

    for (size_t i = 0; i < LISTS_COUNT; i++) {
        struct option_list *list = lists_of(&settings, i);

        *list = i < COPIED_COUNT ? list_copy(list) : (struct option_list){.count = 0};
    }
    settings.processes = 0;
    settings.per_node = 0;
    return settings;
}

static const char *const doctor_names[] = {
    "host",      "hostfile",  "source",        "virtual-nodes", "slots", "env",
    "wdir",      "verbose",   "start-timeout", "start-retries", "radix", "starter",
    "ssh-agent", "join-file", "banyand",       "net",           "boot",  "port-range",
    "tmpdir",    "help",      "version"};

#define DOCTOR_NAMES (sizeof(doctor_names) / sizeof(doctor_names[0]))

/* Options of an instance; 'banyan run --instance' takes none of them. */
static const char *const start_names[] = {
    "host",   "hostfile", "source",        "min-nodes",     "spares",          "virtual-nodes",
    "slots",  "verbose",  "start-timeout", "start-retries", "kill-grace",      "patience",
    "radix",  "trees",    "starter",       "ssh-agent",     "join-file",       "banyand",
    "net",    "boot",     "port-range",    "fabric",        "fabric-topology", "no-shape",
    "tmpdir", "record",   "log",           "help",          "version"};

#define SURVIVE_MAX_S (7 * 24 * 3600)
#define START_NAMES   (sizeof(start_names) / sizeof(start_names[0]))

void request_settings_make_rules(const char *const *names, size_t names_count,
                                 const struct option_rule *own, struct option_rule *rules)
{
    size_t count = 0;

    rules[count++] = (struct option_rule){.kind = OPTION_HEADING,
                                          .help = "Options (the same as those of banyan run)"};
    for (size_t i = 0; i < names_count; i++)
        for (const struct option_rule *rule = run_rules; rule->kind != OPTION_END; rule++)
            if (rule->kind != OPTION_HEADING && strcmp(rule->name, names[i]) == 0)
                rules[count++] = *rule;
    assert(count == names_count + 1);
    while (own->kind != OPTION_END)
        rules[count++] = *own++;
    rules[count] = (struct option_rule){.kind = OPTION_END};
}

const struct option_rule *request_settings_start_rules(void)
{
    static const struct option_rule own[] = {
        {.kind = OPTION_FLAG,
         .name = "daemonize",
         FIELD(daemonize),
         .help = "return when the instance is ready; end it with SIGTERM to its root"},
        {.kind = OPTION_NUMBER,
         .name = "survive",
         .value = "SECONDS",
         FIELD(survive_s),
         .minimum = 1,
         .maximum = SURVIVE_MAX_S,
         .help = "when the root dies, go on for that long until 'banyan recover' makes another"},
        {.kind = OPTION_END}};
    static struct option_rule rules[START_NAMES + 4];

    request_settings_make_rules(start_names, START_NAMES, own, rules);
    return rules;
}

const struct option_rule *request_settings_doctor_rules(void)
{
    static const struct option_rule own[] = {{.kind = OPTION_FLAG,
                                              .name = "json",
                                              FIELD(json_wanted),
                                              .help = "print the findings as JSON"},
                                             {.kind = OPTION_END}};
    static struct option_rule rules[DOCTOR_NAMES + 3];

    request_settings_make_rules(doctor_names, DOCTOR_NAMES, own, rules);
    return rules;
}

int request_settings_check_radix(const struct request_settings *settings, uint32_t nodes_count,
                                 struct error *error)
{
    if (settings->radix <= nodes_count || settings->radix <= 2)
        return 0;
    return error_set(error, -EINVAL,
                     "option --radix: must be a whole number from 2 to the number of nodes "
                     "(%u), not '%u'",
                     nodes_count, settings->radix);
}
