/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/personality_verb.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/cli/request/request_settings.h"
#include "launch/cli/verb/verb_output.h"

#define HELPER_VARIABLE \
    "BANYAN_HELPER" /* PID.GROUP, of what a helper has started (exec/orphan.h) */

const struct personality *personality_verb_find(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    return path != NULL ? personality_find(slash != NULL ? slash + 1 : path) : NULL;
}

/* By a helper, and not as a process of a job: their groups are the jobs' numbers. */
static int is_started_by_daemon(void)
{
    const char *mark = getenv(HELPER_VARIABLE);
    const char *dot = mark != NULL ? strrchr(mark, '.') : NULL;

    return dot != NULL && strcmp(dot, ".0") == 0;
}

/* The next of that name in PATH that is not this program.  Returns only if there is none. */
static void execute_other(const char *name, char **argv)
{
    const char *path = getenv("PATH");
    struct stat own, other;

    assert(name != NULL);
    if (stat("/proc/self/exe", &own) < 0)
        return;
    while (path != NULL && *path != '\0') {
        size_t bytes = strcspn(path, ":");
        char *file = memory_printf("%.*s/%s", (int)bytes, path, name);

        if (stat(file, &other) == 0 && (other.st_dev != own.st_dev || other.st_ino != own.st_ino))
            (void)execv(file, argv);
        free(file);
        path += bytes + (path[bytes] == ':');
    }
}

static int is_help(int argc, char **argv)
{
    return argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-help") == 0 ||
                         strcmp(argv[1], "-h") == 0);
}

int personality_verb(const struct personality *personality, int argc, char **argv,
                     int (*run)(int argc, char **argv))
{
    struct personality_words words;
    struct buffer text = {0};
    struct error error;
    int status;

    if (is_started_by_daemon()) {
        execute_other(personality->name, argv);
        error_set(&error, -ENOENT,
                  "no %s of the scheduler in PATH, only the one that is banyan: add its directory",
                  personality->name);
        return verb_output_fail(&error);
    }
    if (is_help(argc, argv)) {
        personality_help(personality, &text);
        return verb_output_print(&text, EXIT_SUCCESS);
    }
    if (personality_translate(personality, run_rules, argc, argv, &words, &error) < 0) {
        error_prefix(&error, "%s", personality->name);
        return verb_output_fail(&error);
    }
    status = run(words.count, words.items);
    personality_words_fini(&words);
    return status;
}
