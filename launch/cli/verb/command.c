/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/command.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/nearest.h"
#include "fabric/loop.h"
#include "launch/cli/verb/alloc_verb.h"
#include "launch/cli/remote/alloc_cluster.h"
#include "launch/cli/remote/alloc_request.h"
#include "launch/cli/verb/bench_verb.h"
#include "launch/cli/verb/clean_verb.h"
#include "launch/cli/verb/completion_verb.h"
#include "launch/cli/verb/config_verb.h"
#include "launch/cli/verb/doctor.h"
#include "launch/cli/client/start.h"
#include "launch/cli/client/detached.h"
#include "launch/cli/client/direct.h"
#include "launch/cli/client/front_end.h"
#include "launch/cli/verb/fabric_verb.h"
#include "launch/cli/verb/kill_verb.h"
#include "launch/cli/verb/map_verb.h"
#include "launch/cli/verb/node_verb.h"
#include "launch/cli/verb/personality_verb.h"
#include "launch/cli/verb/ps_verb.h"
#include "launch/cli/verb/push_verb.h"
#include "launch/cli/verb/recover_verb.h"
#include "launch/cli/verb/stop_verb.h"
#include "launch/cli/verb/this_machine.h"
#include "launch/cli/verb/top_verb.h"
#include "launch/cli/verb/tree_verb.h"
#include "launch/cli/verb/verb_output.h"
#include "launch/cli/verb/wait_verb.h"
#include "launch/cli/remote/remote.h"
#include "launch/cli/option/options.h"
#include "launch/proto/exit_status.h"
#include "launch/cli/request/request.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/sim/simulate.h"

struct verb {
    const char *name;
    const char *summary; /* half a line */
    /* argv[0] is the verb.  Returns the exit status. */
    int (*function)(int argc, char **argv);
    /* Appends the full help. */
    void (*help)(struct buffer *out);
    /* Its table of options; NULL: it has none. */
    const struct option_rule *(*rules)(void);
    const char
        *words; /* what follows the options, for completion (completion.h); NULL: nothing known */
};

static int verb_run(int argc, char **argv);
static int verb_start(int argc, char **argv);
static int verb_alloc(int argc, char **argv);
static int verb_map(int argc, char **argv);
static int verb_tree(int argc, char **argv);
static int verb_fabric(int argc, char **argv);
static int verb_doctor(int argc, char **argv);
static int verb_config(int argc, char **argv);
static int verb_completion(int argc, char **argv);
static int verb_help(int argc, char **argv);
static int verb_version(int argc, char **argv);
static void help_verbs(struct buffer *out);
static const struct option_rule *rules_of_run(void);

#define VERB_WORD "VERB" /* one of them follows */

static const struct verb verbs[] = {
    {"run", "run a parallel program", verb_run, request_help_run, rules_of_run, "PROGRAM"},
    {"start", "start an instance in which many jobs can run", verb_start, request_help_start,
     request_settings_start_rules, NULL},
    {"recover", "make another root for an instance whose root has died", recover_verb,
     recover_verb_help, recover_verb_rules, NULL},
    {"stop", "end an instance and its jobs", stop_verb, stop_verb_help, stop_verb_rules, NULL},
    {"status", "show an instance: nodes, slots, jobs", ps_verb_status, ps_verb_help_status,
     ps_verb_rules_status, NULL},
    {"ps", "list jobs of an instance, or their processes", ps_verb, ps_verb_help, ps_verb_rules,
     NULL},
    {"top", "watch the nodes and jobs of an instance: CPU, memory, messages", top_verb,
     top_verb_help, top_verb_rules, NULL},
    {"node", "list, add, drain or remove nodes of an instance", node_verb, node_verb_help,
     node_verb_rules, "list|add|drain|resume|remove"},
    {"wait", "wait for jobs of an instance", wait_verb, wait_verb_help, wait_verb_rules, NULL},
    {"attach", "print what a job of an instance prints", wait_verb_attach, wait_verb_help_attach,
     wait_verb_rules_attach, NULL},
    {"kill", "end jobs of an instance, or ranks of them", kill_verb, kill_verb_help,
     kill_verb_rules, NULL},
    {"push", "copy files to the nodes of an instance", push_verb, push_verb_help, push_verb_rules,
     "FILE|DIR"},
    {"signal", "send a signal to a job or to ranks of it", kill_verb_signal, kill_verb_help_signal,
     kill_verb_rules_signal, "SIGNAL"},
    {"sim", "simulate a machine of any size", simulate_verb, simulate_help, simulate_rules,
     "start|launch|barrier|broadcast|exchange|heal|grow|shrink|end"},
    {"alloc", "show the nodes that a run would have", verb_alloc, alloc_verb_help, alloc_verb_rules,
     NULL},
    {"map", "show where a run would place its processes", verb_map, map_verb_help, map_verb_rules,
     "PROGRAM"},
    {"tree", "show the tree that the nodes form", verb_tree, tree_verb_help, tree_verb_rules, NULL},
    {"fabric", "show the network between nodes, and what paths through it cost", verb_fabric,
     fabric_verb_help, fabric_verb_rules, NULL},
    {"bench", "measure the tree of an instance: barriers, broadcasts, links", bench_verb,
     bench_verb_help, bench_verb_rules, NULL},
    {"clean", "remove what dead instances have left on this machine", clean_verb, clean_verb_help,
     clean_verb_rules, NULL},
    {"doctor", "examine the nodes and report problems", verb_doctor, request_help_doctor,
     request_settings_doctor_rules, "PROGRAM"},
    {"config", "show configured values and where they come from", verb_config, config_verb_help,
     config_verb_rules, "run|start|map|doctor"},
    {"completion", "print the completion of banyan for a shell", verb_completion,
     completion_verb_help, completion_verb_rules, "bash|zsh|fish"},
    {"help", "print help for a command", verb_help, help_verbs, NULL, VERB_WORD},
    {"version", "print the version", verb_version, help_verbs, NULL, NULL},
};

#define VERBS_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int print_help(void (*help)(struct buffer *out))
{
    struct buffer text = {0};

    help(&text);
    return verb_output_print(&text, EXIT_SUCCESS);
}

/* ---- verbs ---- */

static int run_in_asked(const char *wanted, int argc, char **argv)
{
    char *banyan = this_machine_banyan();
    int status = alloc_request_run(wanted, argc, argv, banyan);

    free(banyan);
    return status;
}

static int run_on_login(const char *login, int argc, char **argv)
{
    char *banyan = this_machine_banyan();
    int status = remote_submit_run(login, argc, argv, banyan);

    free(banyan);
    return status;
}

/* --alloc CLUSTER: what the configuration says of it takes its place. */
static int run_on_cluster(const char *wanted, int argc, char **argv)
{
    struct alloc_cluster_words words = {.count = 0};
    struct this_machine machine;
    struct error error;
    const char *login;
    int status;
    int rc = this_machine_open(&machine, &error);

    if (rc == 0)
        rc = alloc_cluster_expand(&machine.configured.site, machine.host_name, argc, argv, &words,
                                  &error);
    this_machine_close(&machine);
    if (rc < 0)
        return verb_output_fail(&error);
    if (words.words == NULL)
        return run_in_asked(wanted, argc, argv); /* which says what is wrong */
    login = remote_submit_wanted(words.count, words.words);
    status = login != NULL ? run_on_login(login, words.count, words.words)
                           : run_in_asked(alloc_request_wanted(words.count, words.words),
                                          words.count, words.words);
    alloc_cluster_words_fini(&words);
    return status;
}

/* Started by --on on the other machine; not for users. */
static int verb_relay(int argc, char **argv)
{
    char *banyan = this_machine_banyan();
    int status = remote_relay_run(argc, argv, banyan);

    free(banyan);
    return status;
}

/* A verb that an instance carries out. */
struct request_verb {
    int (*parse)(struct run_request *ret_request, int argc, char *const *argv,
                 const struct request_ops *ops, struct error *error);
    void (*help)(struct buffer *out);
    int (*carry_out)(struct run_request *request, uint64_t start_ns);
};

static int verb_of_instance(const struct request_verb *verb, int argc, char **argv)
{
    uint64_t start_ns = loop_now_ns();
    struct this_machine machine;
    struct run_request request;
    struct error error;
    int status;
    int rc = this_machine_open(&machine, &error);

    if (rc == 0)
        rc = verb->parse(&request, argc, argv, &machine.ops, &error);
    this_machine_close(&machine);
    if (rc < 0)
        return verb_output_fail(&error);
    if (request.wish == RUN_WISH_HELP)
        status = print_help(verb->help);
    else if (request.wish == RUN_WISH_VERSION)
        status = verb_version(argc, argv);
    else
        status = verb->carry_out(&request, start_ns);
    request_fini(&request);
    return status;
}

static void print_notice(const struct run_request *request)
{
    const char *line = request->warnings;

    if (request->notice[0] != '\0')
        fprintf(stderr, "banyan: %s\n", request->notice);
    while (line != NULL && *line != '\0') {
        size_t bytes = strcspn(line, "\n");

        fprintf(stderr, "banyan: %.*s\n", (int)bytes, line);
        line += bytes + (line[bytes] == '\n');
    }
}

static int carry_out_run(struct run_request *request, uint64_t start_ns)
{
    print_notice(request);
    if (request->no_daemons)
        return direct_run(request, start_ns);
    return request->detach ? detached_run(request) : front_end_run(request, start_ns);
}

static int verb_run(int argc, char **argv)
{
    static const struct request_verb verb = {request_parse_run, request_help_run, carry_out_run};
    const char *login = remote_submit_wanted(argc, argv);
    const char *wanted = alloc_request_wanted(argc, argv);

    if (login == NULL && wanted != NULL && alloc_cluster_may_be(wanted))
        return run_on_cluster(wanted, argc, argv);
    if (login != NULL)
        return run_on_login(login, argc, argv);
    if (wanted != NULL)
        return run_in_asked(wanted, argc, argv);
    return verb_of_instance(&verb, argc, argv);
}

static int carry_out_start(struct run_request *request, uint64_t start_ns)
{
    (void)start_ns;
    print_notice(request);
    return start_run(request);
}

static int verb_start(int argc, char **argv)
{
    static const struct request_verb verb = {request_parse_start, request_help_start,
                                             carry_out_start};

    return verb_of_instance(&verb, argc, argv);
}

static int carry_out_doctor(struct run_request *request, uint64_t start_ns)
{
    (void)start_ns;
    return doctor_run(request);
}

static int verb_doctor(int argc, char **argv)
{
    static const struct request_verb verb = {request_parse_doctor, request_help_doctor,
                                             carry_out_doctor};

    return verb_of_instance(&verb, argc, argv);
}

/* For verbs that only print.  What they return is 0, an error, or the exit status of a run that has said why itself. */
static int verb_that_prints(int argc, char **argv,
                            int (*verb)(int argc, char *const *argv, const struct request_ops *ops,
                                        struct buffer *out, struct error *error))
{
    struct buffer text = {0};
    struct this_machine machine;
    struct error error;
    int rc = this_machine_open(&machine, &error);

    assert(argc > 0 && argv[argc] == NULL);
    if (rc == 0)
        rc = verb(argc, argv, &machine.ops, &text, &error);
    this_machine_close(&machine);
    if (rc == 0)
        return verb_output_print(&text, EXIT_SUCCESS);
    buffer_fini(&text);
    return rc > 0 ? rc : verb_output_fail(&error);
}

static int verb_alloc(int argc, char **argv)
{
    return verb_that_prints(argc, argv, alloc_verb);
}

static int verb_map(int argc, char **argv)
{
    return verb_that_prints(argc, argv, map_verb);
}

static int verb_tree(int argc, char **argv)
{
    return verb_that_prints(argc, argv, tree_verb);
}

static int verb_fabric(int argc, char **argv)
{
    return verb_that_prints(argc, argv, fabric_verb);
}

static int verb_config(int argc, char **argv)
{
    return verb_that_prints(argc, argv, config_verb);
}

static const struct option_rule *rules_of_run(void)
{
    return run_rules;
}

/* The names of all verbs, for completion. */
static void append_names(struct buffer *names)
{
    for (size_t i = 0; i < VERBS_COUNT; i++)
        buffer_printf(names, "%s%s", i > 0 ? "|" : "", verbs[i].name);
}

static int verb_completion(int argc, char **argv)
{
    struct completion_verb list[VERBS_COUNT];
    struct buffer names = {0};
    int status;

    append_names(&names);
    for (size_t i = 0; i < VERBS_COUNT; i++) {
        const struct verb *verb = &verbs[i];
        int is_name = verb->words != NULL && strcmp(verb->words, VERB_WORD) == 0;

        list[i] = (struct completion_verb){.name = verb->name,
                                           .summary = verb->summary,
                                           .words = is_name ? buffer_string(&names) : verb->words,
                                           .rules = verb->rules != NULL ? verb->rules() : NULL};
    }
    status = completion_verb(list, VERBS_COUNT, argc, argv);
    buffer_fini(&names);
    return status;
}

static void help_verbs(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
    for (size_t i = 0; i < VERBS_COUNT; i++)
        buffer_printf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    buffer_append_string(
        out,
        "\n'banyan help COMMAND' prints help for one, and banyan-COMMAND(1) is its page.  To start with:\n"
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
    nearest = nearest_word(name, names, VERBS_COUNT);
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
    return verb != NULL ? print_help(verb->help) : verb_output_fail(&error);
}

static int verb_version(int argc, char **argv)
{
    struct buffer text = {0};

    options_version(&text);
    return verb_output_print(&text, EXIT_SUCCESS);
}

/* Options may precede the command: "banyan -v run hostname".  Puts the command first and returns 0,
 * or -EINVAL with what to type; options that only some commands have must follow the command. */
static int command_first(int *argc, char **argv, struct error *error)
{
    struct request_settings settings = {.kill_grace_s = RUN_NOT_GIVEN};
    int at = *argc;
    int rc = options_parse(run_rules, *argc, argv, &settings, &at, error);
    char *command;

    request_settings_fini(&settings);
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
    const struct personality *personality = personality_verb_find(argv[0]);
    const struct verb *verb;
    struct error error;
    int rc = 0;

    if (personality != NULL)
        return personality_verb(personality, argc, argv, verb_run);
    if (argc > 2 && strcmp(argv[1], ON_RELAY_VERB) == 0)
        return verb_relay(argc - 2, argv + 2);
    if (argc < 2) {
        error_set(&error, -EINVAL, "no command given; 'banyan help' lists the commands");
        return verb_output_fail(&error);
    }
    if (argv[1][0] == '-')
        rc = command_first(&argc, argv, &error);
    verb = rc == 0 ? find_verb(argv[1], &error) : NULL;
    if (verb == NULL)
        return verb_output_fail(&error);
    return verb->function(argc - 1, argv + 1);
}
