/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "launch/start/run_environment.h"
#include "test/support/source_world.h"

#define WORDS_MAX 64
#define CORES     8

static int cores_asked;

static int cores(struct error *error)
{
    cores_asked++;
    return CORES;
}

/* "hosts" has two nodes, "bad" is malformed, and there is no other file. */
static int read_file(const char *path, struct buffer *out, struct error *error)
{
    if (strcmp(path, "hosts") == 0)
        buffer_append_string(out, "n1 slots=2\nn2:3 # comment\n");
    else if (strcmp(path, "bad") == 0)
        buffer_append_string(out, "n1\nn2 slots=x\n");
    else if (strcmp(path, "here") == 0)
        buffer_append_string(out, "localhost slots=2\nmyhost\nmyhost.example\n127.0.0.1\n");
    else
        return error_set(error, -ENOENT, "cannot read %s: %s", path, strerror(ENOENT));
    return 0;
}

static const char *const variables[] = {"PATH=/bin",
                                        "TMPDIR=/var/tmp",
                                        "PWD=/somewhere",
                                        "SSH_AUTH_SOCK=/tmp/x",
                                        "BASH_FUNC_f%%=() { echo hi\n}",
                                        "LATIN=\xe9t\xe9",
                                        "PMIX_RANK=3",
                                        "BANYAN_RANK=7",
                                        "NOVALUE",
                                        "EMPTY=",
                                        NULL};

static int has_program(char *const *environment, const char *name)
{
    return strcmp(name, "srun") == 0 || strcmp(name, "oarsh") == 0;
}

/* Nothing that a scheduler left. */
static struct source_test no_job = {.variables = ENV(NULL), .files = NO_FILES};
static struct source_ops no_source;

static struct request_ops world = {.environment = (char *const *)variables,
                                   .directory = "/home/user",
                                   .host_name = "myhost.example",
                                   .banyand = "/opt/sbin/banyand",
                                   .random = {0xab, 1, 2, 3, 4, 5, 6, 0xef, 9},
                                   .cores = cores,
                                   .read_file = read_file,
                                   .has_program = has_program,
                                   .sources = &no_source};

/* Splits line at blanks; the words stay valid until the next call. */
static int parse(const char *line, struct run_request *request, struct error *error)
{
    static char text[512];
    static char *argv[WORDS_MAX];
    int argc = 0;
    char *rest = text;

    strcpy(text, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX - 1;)
        argv[argc++] = word;
    argv[argc] = NULL;
    *error = ERROR_NONE;
    if (argc > 0 && strcmp(argv[0], "doctor") == 0)
        return request_parse_doctor(request, argc, argv, &world, error);
    return request_parse_run(request, argc, argv, &world, error);
}

/* Parses what must be right; the caller finishes request. */
static int accepts(const char *line, struct run_request *request)
{
    struct error error;

    if (ok(parse(line, request, &error) == 0, "'%s' is accepted", line))
        return 1;
    diag("%s", error.text);
    return 0;
}

static void refuses(const char *line, const char *message)
{
    struct run_request request;
    struct error error;

    if (!ok(parse(line, &request, &error) < 0, "'%s' is refused", line)) {
        request_fini(&request);
        return;
    }
    has_string(error.text, message, "and says why");
    ok(strchr(error.text, '\n') == NULL, "in one line");
}

static void test_plain(void)
{
    struct run_request request;
    char name[HOST_NAME_BYTES_MAX + 1];

    cores_asked = 0;
    if (!accepts("run prog -n 3", &request))
        return;
    is_int(request.wish, RUN_WISH_JOB, "a job is wanted");
    is_int(cores_asked, 1, "the slots are this machine's cores");
    is_uint(request.job.processes, CORES, "and each gets a process");
    is_uint(allocation_nodes(&request.allocation), 1, "there is one node");
    hostlist_name(request.allocation.names, 0, name);
    is_string(name, "myhost.example", "which is this machine");
    is_string(request.allocation.origin, "the cores of this machine", "it is said why");
    is_int(request.instance.starter, STARTER_LOCAL, "nothing is started by ssh");
    is_uint(request.instance.places, 2, "a root and a node");
    is_string(request.instance.session, "ab010203040506ef", "the session has a name");
    is_uint(request.instance.secret[0], 9, "and a secret of other bytes");
    is_string(request.instance.banyand, "/opt/sbin/banyand", "banyand is where it is here");
    is_string(request.job.apps[0].argv[0], "prog", "the program");
    is_string(request.job.apps[0].argv[2], "3", "and its arguments");
    is_string(request.job.apps[0].directory, "/home/user", "start in the current directory");
    is_uint(request.job.stdin_rank, 0, "rank 0 reads stdin");
    is_uint(request.job.mpi, JOB_MPI_PMIX | JOB_MPI_PMI1, "both interfaces are offered");
    is_uint(request.job.on_failure, JOB_ON_FAILURE_ABORT, "a failure ends the job");
    is_uint(request.instance.kill_grace_ms, 1000, "a second of grace");
    request_fini(&request);
}

static void test_doctor_directory(void)
{
    struct run_request request;

    refuses("doctor --wdir /d%r prog", "'banyan doctor' examines one directory");
    if (accepts("doctor --wdir /d prog", &request))
        request_fini(&request);
}

static void test_values(void)
{
    struct run_request request;

    cores_asked = 0;
    if (accepts(
            "run -l -v -np 6 --virtual-nodes 4 --radix 3 --trees 1 --timeout 9 --kill-grace 0 "
            "--start-timeout 7 --start-retries 4 --patience 9 --mpi pmi1 --map-by node --stdin 5 --wdir sub --tmpdir /t "
            "--net 10.0.0.0/8 --port-range 7000-7003 --json out.json --banyand /b prog",
            &request)) {
        is_int(cores_asked, 0, "cores are not counted in vain");
        is_int(request.instance.starter, STARTER_VIRTUAL, "virtual nodes");
        is_uint(allocation_nodes(&request.allocation), 4, "as many as said");
        is_uint(allocation_slots(&request.allocation), 8, "with the slots that -n needs");
        is_string(request.instance.virtual_base, "/t/bv-ab010203040506ef", "under --tmpdir");
        is_uint(request.instance.radix, 3, "radix");
        is_uint(request.instance.trees, 1, "trees");
        is_uint(request.timeout_s, 9, "time-out");
        is_uint(request.instance.kill_grace_ms, 0, "no grace");
        is_uint(request.instance.start_timeout_s, 7, "start time-out");
        is_uint(request.instance.start_retries, 4, "calls of an agent");
        is_uint(request.instance.lease_ms, 18000, "a lease is twice the patience");
        is_uint(request.job.mpi, JOB_MPI_PMI1, "interface");
        is_int(request.job.placement.rules[0].policy, PLACEMENT_BY_NODE, "policy");
        is_uint(request.job.stdin_rank, 5, "who reads");
        is_string(request.job.apps[0].directory, "/home/user/sub", "directory");
        is_string(request.instance.net, "10.0.0.0/8", "network");
        is_uint(request.instance.port_first, 7000, "first port");
        is_uint(request.instance.port_last, 7003, "last port");
        is_string(request.json_path, "out.json", "record");
        is_string(request.instance.banyand, "/b", "banyand");
        ok(request.label && request.verbose == 1, "flags");
        is_int(request.instance.log_level, LOG_LEVEL_INFO, "what daemons log");
        request_fini(&request);
    }
    if (accepts(
            "run --stdin none --mpi none --on-failure continue --modex lazy --stop exec -n 1 prog",
            &request)) {
        is_uint(request.job.modex, JOB_MODEX_LAZY, "data may stay where it is");
        is_int(request.job.stop, PMI_STOP_EXEC, "and wait for a debugger");
        is_uint(request.job.on_failure, JOB_ON_FAILURE_CONTINUE, "a job may go on");
        is_uint(request.job.stdin_rank, UINT32_MAX, "nobody reads");
        is_uint(request.job.mpi, 0, "nothing is offered");
        request_fini(&request);
    }
    if (accepts("run --stdin all prog", &request)) {
        is_uint(request.job.stdin_rank, JOB_STDIN_ALL, "all read");
        request_fini(&request);
    }
    if (accepts("run --virtual-nodes 3 --per-node 2 prog", &request)) {
        is_uint(request.job.processes, 6, "so many on each");
        is_int(request.job.placement.rules[0].per, 2, "by node count");
        request_fini(&request);
    }
}

static enum starter_kind starter_of(const char *line)
{
    struct run_request request;
    enum starter_kind starter = STARTER_KIND_COUNT;

    if (accepts(line, &request)) {
        starter = request.instance.starter;
        request_fini(&request);
    }
    return starter;
}

static void test_starters(void)
{
    struct run_request request;

    is_int(starter_of("run --host localhost:2,myhost prog"), STARTER_LOCAL, "own names are local");
    is_int(starter_of("run --hostfile here prog"), STARTER_LOCAL, "in a file, too");
    is_int(starter_of("run --host localhost,n2 prog"), STARTER_SSH, "one of another needs ssh");
    is_int(starter_of("run --ssh-agent x --host localhost prog"), STARTER_SSH,
           "an agent that is named is used");
    is_int(starter_of("run --starter ssh --virtual-nodes 2 prog"), STARTER_SSH, "forced");
    is_int(starter_of("run --starter local --host n1,n2 prog"), STARTER_LOCAL, "forced");
    if (accepts("run --hostfile hosts prog", &request)) {
        is_string(request.instance.agent, "ssh", "ssh is the agent");
        is_uint(request.job.processes, 5, "slots of the file");
        request_fini(&request);
    }
    if (accepts("run --ssh-agent oarsh --machinefile=hosts -np 1 prog", &request)) {
        is_string(request.instance.agent, "oarsh", "unless another one is named");
        request_fini(&request);
    }
}

static void test_restart(void)
{
    static const struct {
        const char *line;
        uint32_t restarts;
    } cases[] = {{"run --host a --on-failure restart prog", 3},
                 {"run --host a --on-failure restart:1 prog", 1},
                 {"run --host a --on-failure restart:1000 prog", 1000}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_request request;

        if (!accepts(cases[i].line, &request))
            continue;
        is_uint(request.job.on_failure, JOB_ON_FAILURE_RESTART, "ranks that fail are restarted");
        is_uint(request.job.restarts_max, cases[i].restarts, "so often");
        request_fini(&request);
    }
}

static void test_refusals(void)
{
    refuses("run --source torque prog", "option --source: unknown scheduler");
    refuses("run --source slurm --virtual-nodes 2 prog",
            "--source and --virtual-nodes cannot be used together");
    refuses("run --source slurm prog",
            "Slurm: neither SLURM_JOB_NODELIST nor SLURM_NODELIST is set");
    refuses("run", "no program given; usage: banyan run [OPTIONS] PROGRAM");
    refuses("run -n 1", "no program given; usage: banyan run [OPTIONS] PROGRAM");
    refuses("run -n 0 prog", "option -n: must be a whole number from ");
    refuses("run --port-range 0-5 prog", "option --port-range: '0-5'");
    refuses("run --port-range 7-6 prog", "option --port-range: '7-6'");
    refuses("run --port-range 7-65536 prog", "option --port-range: '7-65536'");
    refuses("run --port-range 7- prog", "option --port-range: '7-'");
    refuses("run --port-range 100000000000000000-1 prog", "option --port-range: '1");
    refuses("run --net eth0,/8 prog", "--net eth0,/8: item 2");
    refuses("run -n -4 prog", "option -n: must be a whole number from ");
    refuses("run -n 99999999999 prog", "option -n: must be a whole number from ");
    refuses("run -n 9 prog", "the cores of this machine");
    refuses("run --min-nodes 3 --virtual-nodes 2 prog",
            "option --min-nodes: there are only 2 nodes, not 3");
    refuses("run --trees 3 prog", "option --trees: '3' is not one of 1, 2, auto");
    refuses("run --radix 0 prog",
            "option --radix: must be a whole number from 2 to the number of nodes, not '0'");
    refuses("run --radix 1 prog", "option --radix: must be a whole number from ");
    refuses("run --radix 3 --virtual-nodes 2 prog",
            "option --radix: must be a whole number from 2 to the number of nodes (2), not '3'");
    refuses("run --hostfile none prog", "option --hostfile: cannot read none: No such file");
    refuses("run --hostfile bad prog", "bad:2:");
    refuses("run --host a[1- prog", "option --host: ");
    refuses("run --host a --hostfile hosts prog",
            "only one of --host, --hostfile and --virtual-nodes");
    refuses("run --host a --virtual-nodes 2 prog",
            "only one of --host, --hostfile and --virtual-nodes");
    refuses("run --host a --slots 2 prog", "option --slots");
    refuses("run --virtual-nodes 0 prog", "option --virtual-nodes: must be a whole number from ");
    refuses("run --mpi pmi3 prog", "option --mpi: 'pmi3'");
    refuses("run --modex none prog", "option --modex: 'none' is not auto, full or lazy");
    refuses("run --stop never prog", "option --stop: 'never' is not exec, init or app");
    refuses("run --stop init --mpi pmi1 prog", "option --stop: ");
    refuses("run --on-failure pray prog",
            "option --on-failure: 'pray' is not abort, continue or restart[:N]");
    refuses("run --on-failure abort:3 prog", "option --on-failure: 'abort:3' is not abort");
    refuses("run --on-failure restart:0 prog", "is not a number from 1 to 1000");
    refuses("run --on-failure restart:1001 prog", "is not a number from 1 to 1000");
    refuses("run --stdin all --on-failure restart prog",
            "options --on-failure restart and --stdin all cannot be used together");
    refuses("run --on-failure restart: prog", "is not a number from 1 to 1000");
    refuses("run --mpi pmix, prog", "option --mpi: 'pmix,'");
    refuses("run --map-by ppr:2:node --per-node 1 prog", "--per-node and --map-by");
    refuses("run --map-by board prog", "option --map-by: ");
    refuses("run --starter rsh prog", "option --starter: 'rsh'");
    refuses("run --starter virtual prog", "virtual needs --virtual-nodes");
    refuses("run --ssh-agent x --virtual-nodes 2 prog", "option --ssh-agent: ");
    refuses("run --stdin 8 prog", "option --stdin: '8' is not a rank from 0 to 7, all or none");
    refuses("run --stdin every prog", "option --stdin: 'every'");
    refuses("run --tmpdir rel prog", "option --tmpdir: 'rel' is not an absolute path");
    refuses("run --banyand rel prog", "option --banyand: 'rel' is not an absolute path");
    refuses("run -x NOT_SET prog", "option -x: 'NOT_SET' is not set here");
    refuses("run -x =1 prog", "option -x: '=1' has no name");
    refuses("run --labl prog", "unknown option '--labl': did you mean '--label'?");
    refuses("run -n 4 --timeout 1h prog", "option --timeout: must be a whole number from ");
}

static void test_wishes(void)
{
    struct run_request request;

    if (accepts("run -n 2 --help", &request)) {
        is_int(request.wish, RUN_WISH_HELP, "help is wanted");
        request_fini(&request);
    }
    if (accepts("run --help --frobnicate", &request)) {
        is_int(request.wish, RUN_WISH_HELP, "whatever follows");
        request_fini(&request);
    }
    if (accepts("doctor --version", &request)) {
        is_int(request.wish, RUN_WISH_VERSION, "doctor has a version, too");
        request_fini(&request);
    }
    if (accepts("run --version --host never,looked[ at", &request)) {
        is_int(request.wish, RUN_WISH_VERSION, "the version is wanted");
        request_fini(&request);
    }
}

static void test_gone_directory(void)
{
    struct run_request request;

    world.directory = NULL;
    refuses("run prog", "the current directory no longer exists");
    refuses("run --wdir sub prog", "the current directory no longer exists");
    if (accepts("run --wdir /x prog", &request))
        request_fini(&request);
    world.directory = "/home/user";
}

/* The last value of a name in an application's environment. */
static const char *last(char *const *set, const char *name)
{
    const char *value = NULL;

    for (; *set != NULL; set++) {
        if (strncmp(*set, name, strlen(name)) == 0 && (*set)[strlen(name)] == '=')
            value = *set + strlen(name) + 1;
    }
    return value;
}

static void test_environment(void)
{
    struct run_request request;
    char *const *set;

    if (!accepts("run -x PATH=/new -x TMPDIR -x A=b=c -x PMIX_RANK prog", &request))
        return;
    set = request.job.apps[0].set;
    is_string(last(set, "PATH"), "/new", "-x wins over what is forwarded");
    is_string(last(set, "TMPDIR"), "/var/tmp", "and forwards what is not");
    is_string(last(set, "A"), "b=c", "a value may have an equals sign");
    is_string(last(set, "PMIX_RANK"), "3", "even what is an enclosing launcher's");
    is_string(last(set, "BASH_FUNC_f%%"), "() { echo hi\n}", "functions are forwarded");
    is_string(last(set, "LATIN"), "\xe9t\xe9", "bytes as they are");
    is_string(last(set, "EMPTY"), "", "empty values, too");
    is_string(last(set, "PWD"), NULL, "not the directory here");
    is_string(last(set, "SSH_AUTH_SOCK"), NULL, "nor the login's sockets");
    is_string(last(set, "BANYAN_RANK"), NULL, "nor a rank of an enclosing run");
    request_fini(&request);
    if (!accepts("run prog", &request))
        return;
    is_string(last(request.job.apps[0].set, "PMIX_RANK"), NULL, "nor an enclosing launcher's rank");
    is_string(last(request.job.apps[0].set, "TMPDIR"), NULL, "nor a directory of this node");
    request_fini(&request);
}

static void test_help(void)
{
    struct buffer text = {0};

    request_help_run(&text);
    has_string(buffer_string(&text), "Usage: banyan run [OPTIONS] PROGRAM", "there is help");
    has_string(buffer_string(&text), "  -n, --np N", "with the options");
    for (char *line = (char *)text.data, *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        if (end - line > 85)
            fail("too long for a terminal: %.*s", (int)(end - line), line);
    }
    buffer_fini(&text);
}

static void test_doctor(void)
{
    struct run_request request;

    if (accepts("doctor --virtual-nodes 3 --radix 2 --net lo --port-range 7000 --json", &request)) {
        ok(request.instance.is_doctor, "an instance that examines");
        is_uint(request.job.apps_count, 0, "no program");
        ok(request.json, "as JSON");
        is_uint(request.instance.places, 4, "the nodes");
        is_uint(request.instance.port_first, 7000, "a port");
        is_uint(request.instance.port_last, 7000, "alone is a range");
        request_fini(&request);
    }
    if (accepts("doctor --virtual-nodes 3 --wdir sub -x A=b prog -x", &request)) {
        is_uint(request.job.apps_count, 1, "a program");
        is_string(request.job.apps[0].argv[0], "prog", "its name");
        is_string(request.job.apps[0].directory, "/home/user/sub", "its directory");
        ok(!request.json, "as a table");
        request_fini(&request);
    }
    if (accepts("run --virtual-nodes 3 prog", &request)) {
        ok(!request.instance.is_doctor, "a run examines nothing");
        request_fini(&request);
    }
    refuses("doctor --np 3", "--np");
    refuses("doctor --host a --virtual-nodes 3",
            "only one of --host, --hostfile and --virtual-nodes");
}

int main(void)
{
    no_source = source_test_world(&no_job);
    test_plain();
    test_values();
    test_doctor_directory();
    test_starters();
    test_restart();
    test_refusals();
    test_wishes();
    test_gone_directory();
    test_environment();
    test_help();
    test_doctor();
    return done_testing();
}
