/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "fabric/facts_read.h"
#include "fabric/file_read.h"
#include "fabric/loop.h"
#include "fabric/topology.h"
#include "launch/cli/verb/alloc_verb.h"
#include "launch/cli/remote/asking.h"
#include "launch/exec/command_output.h"
#include "launch/cli/verb/clean_verb.h"
#include "launch/cli/verb/doctor.h"
#include "launch/cli/client/instance_dial.h"
#include "launch/cli/client/start.h"
#include "launch/cli/client/front_end.h"
#include "launch/cli/verb/map_verb.h"
#include "launch/cli/remote/on_login.h"
#include "launch/cli/option/options.h"
#include "launch/proto/exit_status.h"
#include "launch/start/run_environment.h"
#include "launch/cli/request/run_options.h"
#include "launch/cli/request/run_settings.h"
#include "launch/cli/sim/simulate.h"
#include "launch/start/source_environment.h"

#define HOSTFILE_BYTES_MAX (256u * 1024 * 1024)
#define HOST_NAME_BYTES    256

struct verb {
    const char *name;
    const char *summary; /* half a line */
    /* argv[0] is the verb.  Returns the exit status. */
    int (*function)(int argc, char **argv);
    /* Appends the full help. */
    void (*help)(struct buffer *out);
};

static int verb_run(int argc, char **argv);
static int verb_start(int argc, char **argv);
static int verb_alloc(int argc, char **argv);
static int verb_map(int argc, char **argv);
static int verb_doctor(int argc, char **argv);
static int verb_help(int argc, char **argv);
static int verb_version(int argc, char **argv);
static void help_verbs(struct buffer *out);

static const struct verb verbs[] = {
    {"run", "run a parallel program", verb_run, run_help},
    {"start", "start an instance in which many jobs can run", verb_start, start_help},
    {"sim", "simulate a machine of any size", simulate_verb, simulate_help},
    {"alloc", "show the nodes that a run would have", verb_alloc, alloc_help},
    {"map", "show where a run would place its processes", verb_map, map_help},
    {"clean", "remove what dead instances have left on this machine", clean_verb, clean_help},
    {"doctor", "examine the nodes and report problems", verb_doctor, doctor_help},
    {"help", "print help for a command", verb_help, help_verbs},
    {"version", "print the version", verb_version, help_verbs},
};

#define VERBS_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int fail(const struct error *error)
{
    fprintf(stderr, "banyan: %s\n", error->text);
    return EXIT_STATUS_FAILED;
}

/* Text that was asked for, on stdout. */
static int print(struct buffer *text)
{
    struct error error;
    int is_written = fwrite(text->data, 1, text->length_bytes, stdout) == text->length_bytes;

    buffer_fini(text);
    if (is_written && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    error_set(&error, -errno, "cannot write to stdout: %s", strerror(errno));
    return fail(&error);
}

static int print_help(void (*help)(struct buffer *out))
{
    struct buffer text = {0};

    help(&text);
    return print(&text);
}

/* ---- the world of `run` ---- */

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    int rc = file_read(path, HOSTFILE_BYTES_MAX, out);

    return rc < 0 ? error_set(error, rc, "cannot read %s: %s", path, strerror(-rc)) : 0;
}

/* The banyand that was built or installed together with this program. */
static char *find_banyand(char *const *environment)
{
    const char *given = run_environment_get(environment, "BANYAN_DAEMON");
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    static const char *const places[] = {"banyand", "sbin/banyand"}; /* in this directory, and one
                                                                      * level up */
    char *slash;

    if (given != NULL && given[0] == '/')
        return memory_copy_string(given);
    own[length > 0 ? length : 0] = '\0';
    slash = strrchr(own, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        char *path = memory_printf("%.*s/%s", (int)(slash - own), own, places[i]);

        if (access(path, X_OK) == 0)
            return path;
        free(path);
        slash = memrchr(own, '/', (size_t)(slash - own));
    }
    return memory_copy_string(BANYAND_PATH);
}

/* Directories and files that are not executable do not count. */
static int has_program(char *const *environment, const char *name)
{
    const char *path = run_environment_get(environment, "PATH");
    int has = 0;

    while (path != NULL && *path != '\0' && !has) {
        size_t bytes = strcspn(path, ":");
        char *file = memory_printf("%.*s/%s", (int)bytes, path, name);
        struct stat status;

        has = bytes > 0 && access(file, X_OK) == 0 && stat(file, &status) == 0 &&
              S_ISREG(status.st_mode);
        free(file);
        path += bytes + (path[bytes] == ':');
    }
    return has;
}

struct facts {
    char host_name[HOST_NAME_BYTES];
    char *directory;
    char *banyand;
    struct source_environment *sources;
};

static int facts_gather(struct facts *facts, struct run_world *world, struct error *error)
{
    *facts = (struct facts){0};
    if (gethostname(facts->host_name, sizeof(facts->host_name) - 1) < 0 ||
        facts->host_name[0] == '\0')
        snprintf(facts->host_name, sizeof(facts->host_name), "localhost");
    facts->directory = getcwd(NULL, 0);
    facts->banyand = find_banyand(environ);
    facts->sources = source_environment_create(environ);
    *world = (struct run_world){.environment = environ,
                                .directory = facts->directory,
                                .host_name = facts->host_name,
                                .banyand = facts->banyand,
                                .cores = topology_cores,
                                .read_file = read_file,
                                .has_program = has_program,
                                .command = command_output,
                                .instance = instance_dial,
                                .facts = facts_read,
                                .sources = source_environment_world(facts->sources)};
    if (getrandom(world->random, sizeof(world->random), 0) != sizeof(world->random))
        return error_set(error, -EIO, "cannot get random bytes for the session's secret: %s",
                         strerror(errno));
    return 0;
}

static void facts_fini(struct facts *facts, struct run_world *world)
{
    free(facts->directory);
    free(facts->banyand);
    source_environment_destroy(facts->sources);
    explicit_bzero(world->random, sizeof(world->random));
}

/* ---- verbs ---- */

/* This program's own path, for others to run; NULL if the system does not say. */
static char *find_banyan(void)
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length <= 0)
        return NULL;
    own[length] = '\0';
    return memory_copy_string(own);
}

static int run_in_asked(const char *wanted, int argc, char **argv)
{
    char *banyan = find_banyan();
    int status = asking_run(wanted, argc, argv, banyan != NULL ? banyan : "banyan");

    free(banyan);
    return status;
}

static int run_on_login(const char *login, int argc, char **argv)
{
    char *banyan = find_banyan();
    int status = on_login_run(login, argc, argv, banyan != NULL ? banyan : "banyan");

    free(banyan);
    return status;
}

/* Started by --on on the other machine; not for users. */
static int verb_relay(int argc, char **argv)
{
    char *banyan = find_banyan();
    int status = on_relay_run(argc, argv, banyan != NULL ? banyan : "banyan");

    free(banyan);
    return status;
}

static int verb_run(int argc, char **argv)
{
    const char *login = on_login_wanted(argc, argv);
    const char *wanted = asking_wanted(argc, argv);
    uint64_t start_ns = loop_now_ns();
    struct run_request request;
    struct run_world world;
    struct facts facts;
    struct error error;
    int status = EXIT_SUCCESS;
    int rc;

    if (login != NULL)
        return run_on_login(login, argc, argv);
    if (wanted != NULL)
        return run_in_asked(wanted, argc, argv);
    rc = facts_gather(&facts, &world, &error);
    if (rc == 0)
        rc = run_request_parse(&request, argc, argv, &world, &error);
    facts_fini(&facts, &world);
    if (rc < 0)
        return fail(&error);
    if (request.wish == RUN_WISH_HELP) {
        status = print_help(run_help);
    } else if (request.wish == RUN_WISH_VERSION) {
        status = verb_version(argc, argv);
    } else {
        if (request.notice[0] != '\0')
            fprintf(stderr, "banyan: %s\n", request.notice);
        status = front_end_run(&request, start_ns);
    }
    run_request_fini(&request);
    return status;
}

static int verb_start(int argc, char **argv)
{
    struct run_request request;
    struct run_world world;
    struct facts facts;
    struct error error;
    int status;
    int rc = facts_gather(&facts, &world, &error);

    if (rc == 0)
        rc = start_request_parse(&request, argc, argv, &world, &error);
    facts_fini(&facts, &world);
    if (rc < 0)
        return fail(&error);
    if (request.wish == RUN_WISH_HELP) {
        status = print_help(start_help);
    } else if (request.wish == RUN_WISH_VERSION) {
        status = verb_version(argc, argv);
    } else {
        if (request.notice[0] != '\0')
            fprintf(stderr, "banyan: %s\n", request.notice);
        status = start_run(&request);
    }
    run_request_fini(&request);
    return status;
}

/* For verbs that only print. */
static int verb_print(int argc, char **argv,
                      int (*verb)(int argc, char *const *argv, const struct run_world *world,
                                  struct buffer *out, struct error *error))
{
    struct buffer text = {0};
    struct run_world world;
    struct facts facts;
    struct error error;
    int rc = facts_gather(&facts, &world, &error);

    if (rc == 0)
        rc = verb(argc, argv, &world, &text, &error);
    facts_fini(&facts, &world);
    if (rc == 0)
        return print(&text);
    buffer_fini(&text);
    return fail(&error);
}

static int verb_alloc(int argc, char **argv)
{
    return verb_print(argc, argv, alloc_verb);
}

static int verb_map(int argc, char **argv)
{
    return verb_print(argc, argv, map_verb);
}

static int verb_doctor(int argc, char **argv)
{
    struct run_request request;
    struct run_world world;
    struct facts facts;
    struct error error;
    int status = EXIT_SUCCESS;
    int rc = facts_gather(&facts, &world, &error);

    if (rc == 0)
        rc = doctor_request_parse(&request, argc, argv, &world, &error);
    facts_fini(&facts, &world);
    if (rc < 0)
        return fail(&error);
    if (request.wish == RUN_WISH_HELP)
        status = print_help(doctor_help);
    else if (request.wish == RUN_WISH_VERSION)
        status = verb_version(argc, argv);
    else
        status = doctor_run(&request);
    run_request_fini(&request);
    return status;
}

static void help_verbs(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
    for (size_t i = 0; i < VERBS_COUNT; i++)
        buffer_printf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    buffer_append_string(out, "\n'banyan help COMMAND' prints help for one.  To start with:\n"
                              "  banyan run hostname\n");
}

static const struct verb *find_verb(const char *name, struct error *error)
{
    const char *names[VERBS_COUNT];
    const char *nearest;

    for (size_t i = 0; i < VERBS_COUNT; i++) {
        names[i] = verbs[i].name;
        if (strcmp(name, names[i]) == 0)
            return &verbs[i];
    }
    nearest = word_nearest(name, names, VERBS_COUNT);
    if (nearest != NULL)
        error_set(error, -EINVAL, "unknown command '%.80s': did you mean '%s'?", name, nearest);
    else
        error_set(error, -EINVAL,
                  "unknown command '%.80s'; 'banyan help' lists the commands, 'banyan run %.80s' "
                  "starts a program",
                  name, name);
    return NULL;
}

static int verb_help(int argc, char **argv)
{
    const struct verb *verb;
    struct error error;

    if (argc < 2)
        return print_help(help_verbs);
    verb = find_verb(argv[1], &error);
    return verb != NULL ? print_help(verb->help) : fail(&error);
}

static int verb_version(int argc, char **argv)
{
    struct buffer text = {0};

    options_version(&text);
    return print(&text);
}

/* Options may precede the command: "banyan -v run hostname".  Puts the command first and returns 0,
 * or -EINVAL with what to type; options that only some commands have must follow the command. */
static int command_first(int *argc, char **argv, struct error *error)
{
    struct run_settings settings = {.kill_grace_s = RUN_NOT_GIVEN};
    int at = *argc;
    int rc = options_parse(run_rules, *argc, argv, &settings, &at, error);
    char *command;

    run_settings_fini(&settings);
    if (rc < 0)
        return rc;
    if (settings.help > 0 || settings.version > 0) {
        argv[1] = (char *)(uintptr_t)(settings.help > 0 ? "help" : "version");
        memmove(&argv[2], &argv[at], (size_t)(*argc - at + 1) * sizeof(*argv));
        *argc -= at - 2;
        return 0;
    }
    if (at == *argc)
        return error_set(error, -EINVAL, "no command given; 'banyan help' lists the commands");
    command = argv[at];
    if (find_verb(command, NULL) == NULL)
        return error_set(error, -EINVAL,
                         "no command given; did you mean 'banyan run %.40s ... %.40s'?", argv[1],
                         command);
    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(*argv));
    argv[1] = command;
    return 0;
}

int command_main(int argc, char **argv)
{
    const struct verb *verb;
    struct error error;
    int rc = 0;

    if (argc > 2 && strcmp(argv[1], ON_RELAY_VERB) == 0)
        return verb_relay(argc - 2, argv + 2);
    if (argc < 2) {
        error_set(&error, -EINVAL, "no command given; 'banyan help' lists the commands");
        return fail(&error);
    }
    if (argv[1][0] == '-')
        rc = command_first(&argc, argv, &error);
    verb = rc == 0 ? find_verb(argv[1], &error) : NULL;
    if (verb == NULL)
        return fail(&error);
    return verb->function(argc - 1, argv + 1);
}
