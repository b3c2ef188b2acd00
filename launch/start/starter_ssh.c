/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any agent that is called as AGENT HOST COMMAND, where COMMAND goes to a shell.  Nothing secret is
 * in it.  The agent has no terminal (the helper's session has none), so it cannot ask the user.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/cell.h"
#include "alloc/node_text.h"
#include "base/buffer.h"
#include "launch/start/shell_word.h"
#include "launch/start/starter_agent.h"
#include "launch/start/starter_method.h"

#define AGENT_DEFAULT "ssh"

static const char *agent_of(const struct instance_spec *instance)
{
    return instance->agent != NULL && instance->agent[0] != '\0' ? instance->agent : AGENT_DEFAULT;
}

/* ---- The arguments: pointers to strings that the list owns ---- */

struct arguments {
    char **items; /* NULL at the end */
    size_t count;
};

static void add_argument(struct arguments *arguments, char *text)
{
    arguments->items =
        memory_resize(arguments->items, (arguments->count + 2) * sizeof(*arguments->items));
    arguments->items[arguments->count++] = text;
    arguments->items[arguments->count] = NULL;
}

static void add_words(struct arguments *arguments, const char *const *words)
{
    for (; words != NULL && *words != NULL; words++)
        add_argument(arguments, memory_copy_string(*words));
}

static void free_arguments(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
    free(arguments->items);
}

/* Split at blanks. */
static void add_agent(struct arguments *arguments, const char *agent)
{
    while (*(agent += strspn(agent, " \t")) != '\0') {
        size_t bytes = strcspn(agent, " \t");
        char *word = memory_allocate(bytes + 1);
        memcpy(word, agent, bytes);
        word[bytes] = '\0';
        add_argument(arguments, word);
        agent += bytes;
    }
    if (arguments->count == 0)
        add_argument(arguments, memory_copy_string(AGENT_DEFAULT));
}

static void run_agent(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      const char *node_name, struct buffer *command, const struct helper_fd *fds,
                      uint32_t fds_count)
{
    const struct starter_agent *agent = starter_agent_find(agent_of(instance));
    struct arguments arguments = {0};
    struct helper_process process = {
        .id = id, .environment = environ, .fds = fds, .fds_count = fds_count};
    char address[HOST_NAME_BYTES_MAX + 1];

    cell_address(instance->addresses, node_name, address);
    add_agent(&arguments, agent_of(instance));
    add_words(&arguments, agent->options);
    add_argument(&arguments, memory_copy_string(address));
    add_words(&arguments, agent->shell);
    add_argument(&arguments, memory_copy_string(buffer_string(command)));
    process.argv = arguments.items;
    helper_start(helper, &process);
    free_arguments(&arguments);
}

static void start_ssh(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      const char *node_name, const struct helper_fd *fds, uint32_t fds_count)
{
    struct buffer command = {0};

    shell_word_put(&command, instance->banyand);
    if (instance->boot_word != NULL) {
        buffer_append_string(&command, " --boot ");
        shell_word_put(&command, instance->boot_word);
    }
    run_agent(helper, id, instance, node_name, &command, fds, fds_count);
    buffer_fini(&command);
}

static int clean_ssh(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                     uint32_t place, const char *node_name)
{
    char *tmpdir = node_text_of(instance->tmpdir, node_name);
    struct buffer command = {0};

    shell_word_put(&command, instance->banyand);
    buffer_printf(&command, " --clean %s.%u", instance->session, place);
    if (tmpdir != NULL) {
        buffer_append_string(&command, " --tmpdir ");
        shell_word_put(&command, tmpdir);
    }
    free(tmpdir);
    run_agent(helper, id, instance, node_name, &command, NULL, 0);
    buffer_fini(&command);
    return 1;
}

static char *program_ssh(const struct instance_spec *instance)
{
    struct arguments arguments = {0};
    char *program;

    add_agent(&arguments, agent_of(instance));
    program = memory_copy_string(arguments.items[0]);
    free_arguments(&arguments);
    return program;
}

const struct starter_method starter_ssh = {.name = "ssh",
                                           .start = start_ssh,
                                           .clean = clean_ssh,
                                           .program = program_ssh};
