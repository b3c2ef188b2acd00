/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/alloc_request.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/remote/alloc_require.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_words.h"

#define QUOTED_BYTES 80

/* How each scheduler is asked: fixed words, the user's options, words before the command. */
static const struct asker {
    const char *scheduler;
    const char *words[4];
    const char *before[3];
    int quiet_errors;   /* prints progress to stderr, and runs the command on this machine */
    int needs_terminal; /* for its stdin */
    int loses_directory;
} askers[] = {
    {.scheduler = "slurm", .words = {"salloc"}, .before = {NULL}, .quiet_errors = 1},
    {.scheduler = "lsf", .words = {"bsub", "-I"}},
    {.scheduler = "pbs",
     .words = {"qsub", "-I", "-V", "-x"},
     .before = {"--"},
     .needs_terminal = 1,
     .loses_directory = 1},
};

/* ---- Words ---- */

static void add_word(struct alloc_request_command *command, char *word)
{
    assert(word != NULL);
    command->words = memory_resize(command->words, (command->count + 2) * sizeof(*command->words));
    command->words[command->count++] = word;
    command->words[command->count] = NULL;
}

static void add_copy(struct alloc_request_command *command, const char *word)
{
    add_word(command, memory_copy_string(word));
}

void alloc_request_command_fini(struct alloc_request_command *command)
{
    for (size_t i = 0; i < command->count; i++)
        free(command->words[i]);
    free(command->words);
    free(command->left);
    *command = (struct alloc_request_command){.count = 0};
}

/* The next word of a text, split at blanks outside quotes of either kind; NULL at the end. */
static char *next_word(const char **text, int *ret_open)
{
    struct buffer word = {0};
    const char *at = *text + strspn(*text, " \t");
    char quote = '\0';

    *ret_open = 0;
    if (*at == '\0')
        return NULL;
    for (; *at != '\0' && (quote != '\0' || (*at != ' ' && *at != '\t')); at++) {
        if (quote == '\0' && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (quote != '\0' && *at == quote)
            quote = '\0';
        else
            buffer_append(&word, at, 1);
    }
    *text = at;
    *ret_open = quote != '\0';
    buffer_append(&word, "", 1);
    return buffer_take(&word, NULL);
}

static int add_options(struct alloc_request_command *command, const char *text, struct error *error)
{
    const char *at = text;
    char *word;
    int is_open;

    while ((word = next_word(&at, &is_open)) != NULL) {
        add_word(command, word);
        if (is_open)
            return error_set(error, -EINVAL, "option --alloc: unterminated quote in '%.*s'",
                             QUOTED_BYTES, text);
    }
    return 0;
}

static const struct asker *asker_find(const char *text, struct error *error)
{
    const char *colon = strchr(text, ':');
    size_t bytes = colon != NULL ? (size_t)(colon - text) : strlen(text);

    for (size_t i = 0; i < sizeof(askers) / sizeof(askers[0]); i++) {
        if (strlen(askers[i].scheduler) == bytes && memcmp(askers[i].scheduler, text, bytes) == 0)
            return &askers[i];
    }
    error_set(
        error, -EINVAL,
        "option --alloc: '%.*s' does not begin with slurm:, lsf: or pbs:, as in \"slurm: -N4\"; "
        "no cluster is described in banyan.conf",
        QUOTED_BYTES, text);
    return NULL;
}

/* ---- The run inside ---- */

const char *alloc_request_wanted(int argc, char *const *argv)
{
    return request_words_value(argc, argv, offsetof(struct request_settings, alloc));
}

/* kept: terms of --require that the run still checks, "" for none; NULL: all that it has. */
static void add_run(struct alloc_request_command *command, int argc, char *const *argv,
                    const char *kept)
{
    int count, count_left;
    char **words =
        request_words_without(argc, argv, offsetof(struct request_settings, alloc), &count);
    char **left =
        kept != NULL ? request_words_without_list(count, words, "--require", &count_left) : NULL;

    if (kept != NULL && kept[0] != '\0') {
        add_copy(command, "--require");
        add_copy(command, kept);
    }
    for (int i = 1; i < (left != NULL ? count_left : count); i++)
        add_copy(command, left != NULL ? left[i] : words[i]);
    free(left);
    free(words);
}

/* ---- What is required of the nodes ---- */

/* One word a line. */
static void add_lines(struct alloc_request_command *command, const char *lines)
{
    while (*lines != '\0') {
        size_t bytes = strcspn(lines, "\n");

        add_word(command, memory_printf("%.*s", (int)bytes, lines));
        lines += bytes + (lines[bytes] == '\n');
    }
}

/* Before the user's options, which have precedence. */
static void add_required(struct alloc_request_command *command, const struct asker *asker,
                         struct alloc_require *required)
{
    if (required->option.length_bytes == 0)
        return;
    if (strcmp(asker->scheduler, "lsf") == 0) {
        add_copy(command, "-R");
        add_copy(command, buffer_string(&required->option));
    } else {
        add_lines(command, buffer_string(&required->option));
    }
}

/* Into each -l select of the words from `first` on, or as a separate one. */
static void add_chunk(struct alloc_request_command *command, size_t first, const char *chunk)
{
    int is_added = 0;

    for (size_t i = first; chunk[0] != '\0' && i < command->count; i++) {
        const char *word = command->words[i];
        int is_joined = strncmp(word, "-l", 2) == 0 && word[2] != '\0';
        struct buffer value = {0};

        if (is_joined || strcmp(command->words[i - 1], "-l") == 0) {
            if (is_joined)
                buffer_append_string(&value, "-l");
            if (alloc_require_add_chunk(word + (is_joined ? 2 : 0), chunk, &value)) {
                free(command->words[i]);
                command->words[i] = memory_copy_string(buffer_string(&value));
                is_added = 1;
            }
        }
        buffer_fini(&value);
    }
    if (chunk[0] != '\0' && !is_added) {
        add_copy(command, "-l");
        add_word(command, memory_printf("select=1%s", chunk));
    }
}

/* 1 if one of the items is "none": then the run alone can say what is left. */
static int clears(const char *text)
{
    for (const char *at = text; (at = strstr(at, "none")) != NULL; at++)
        if ((at == text || at[-1] == ',') && (at[4] == '\0' || at[4] == ','))
            return 1;
    return 0;
}

/* "-l nodes=2:ppn=4", beside which PBS takes no chunks. */
static int is_old_form(const struct asker *asker, const char *options)
{
    return strcmp(asker->scheduler, "pbs") == 0 && options != NULL &&
           strstr(options, "nodes=") != NULL;
}

/* -EINVAL if the terms cannot be read. ret_made is zeroed, and 0 returned, if the request has none. */
static int find_required(const struct asker *asker, const char *colon, int argc, char *const *argv,
                         struct alloc_require *ret_made, char **ret_text, struct error *error)
{
    char *text = request_words_list(argc, argv, offsetof(struct request_settings, require));
    struct require require;
    int rc = 0;

    *ret_made = (struct alloc_require){.option = {0}};
    *ret_text = text;
    if (text == NULL || clears(text))
        return 0;
    rc = placement_require_parse(text, &require, error);
    if (rc < 0) {
        error_prefix(error, "option --require");
        return rc;
    }
    alloc_require_make(is_old_form(asker, colon) ? "" : asker->scheduler, &require, ret_made);
    return 1;
}

/* ---- The whole ---- */

int alloc_request_is_scheduler(const char *text)
{
    return asker_find(text, NULL) != NULL;
}

static void add_banyan(struct alloc_request_command *command, const struct asker *asker,
                       const struct alloc_request_ops *ops)
{
    if (asker->quiet_errors) {
        add_copy(command, "/bin/sh");
        add_copy(command, "-c");
        add_copy(command, "echo $$ >&8; exec 2>&9 8>&- 9>&-; exec \"$@\"");
        add_copy(command, "sh");
    }
    add_copy(command, ops->banyan);
    add_copy(command, "run");
    if (asker->loses_directory && ops->directory != NULL) {
        add_copy(command, "--wdir");
        add_copy(command, ops->directory);
    }
}

int alloc_request_command_make(struct alloc_request_command *ret_command, const char *text,
                               int argc, char *const *argv, const struct alloc_request_ops *ops,
                               struct error *error)
{
    struct alloc_request_command command = {.count = 0};
    const struct asker *asker = asker_find(text, error);
    const char *colon = strchr(text, ':');
    struct alloc_require required;
    char *terms;
    size_t first;
    int is_required, rc;

    if (asker == NULL)
        return -EINVAL;
    is_required = find_required(asker, colon, argc, argv, &required, &terms, error);
    if (is_required < 0) {
        free(terms);
        return is_required;
    }
    command.name = asker->words[0];
    command.quiet_errors = asker->quiet_errors;
    command.wants_terminal = asker->needs_terminal && !ops->has_terminal;
    for (size_t i = 0; i < 4 && asker->words[i] != NULL; i++)
        add_copy(&command, asker->words[i]);
    add_required(&command, asker, &required);
    first = command.count;
    rc = colon != NULL ? add_options(&command, colon + 1, error) : 0;
    add_chunk(&command, first, buffer_string(&required.chunk));
    for (size_t i = 0; i < 3 && asker->before[i] != NULL; i++)
        add_copy(&command, asker->before[i]);
    add_banyan(&command, asker, ops);
    add_run(&command, argc, argv, is_required ? buffer_string(&required.kept) : NULL);
    if (required.left.length_bytes > 0)
        command.left = memory_copy_string(buffer_string(&required.left));
    alloc_require_fini(&required);
    free(terms);
    assert(command.count > 0 && command.words[command.count] == NULL);
    if (rc < 0)
        alloc_request_command_fini(&command);
    else
        *ret_command = command;
    return rc;
}
