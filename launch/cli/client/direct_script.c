/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/direct_script.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/start/shell_variable.h"
#include "launch/start/shell_word.h"

/* The shell itself is to outlive what ends its agent.  Background jobs of a shell ignore SIGINT and SIGQUIT, which only env
 * can undo. */
#define SCRIPT_BEGIN                                                   \
    "trap '' HUP TERM\n"                                               \
    "set --\n"                                                         \
    "env --default-signal=INT,QUIT true </dev/null >/dev/null 2>&1 &&" \
    " set -- --default-signal=INT,QUIT\n"                              \
    "echo " DIRECT_SCRIPT_MARK "\n"                                    \
    "exec 3<&0\n"

/* A process that is still on its way into its session gets its signal there.  "kill -NAME -PID" is the one call by which
 * dash, bash and busybox all reach a group. */
#define SCRIPT_WATCHER                                                     \
    "p=$!\n"                                                               \
    "(to_all() {\n"                                                        \
    "while kill -0 $p && ! kill -0 -$p; do sleep 1; done\n"                \
    "kill -\"$1\" -$p\n"                                                   \
    "}\n"                                                                  \
    "while read -r x <&3; do to_all \"$x\"; done\n"                        \
    "exec 3<&-\n"                                                          \
    "to_all TERM; i=0\n"                                                   \
    "while [ $i -lt %u ] && kill -0 -$p; do sleep 1; i=$((i + 1)); done\n" \
    "kill -KILL -$p) >/dev/null 2>&1 &\n"                                  \
    "w=$!\n"                                                               \
    "exec 3<&- 2>/dev/null\n"                                              \
    "wait $p; s=$?\n"                                                      \
    "kill -KILL -$p\n"                                                     \
    "kill -KILL $w\n"                                                      \
    "exit $s\n"

static void put_export(struct buffer *out, const char *variable)
{
    size_t name_bytes = strcspn(variable, "=");

    assert(variable[name_bytes] == '=');
    buffer_printf(out, "export %.*s=", (int)name_bytes, variable);
    shell_word_put(out, variable + name_bytes + 1);
    buffer_append_string(out, "\n");
}

/* bash complains about a locale that it does not have. */
static void put_exports(const struct app_spec *app, const struct direct_process *process,
                        struct buffer *out)
{
    char *node = memory_printf("BANYAN_NODE=%s", process->node);

    buffer_append_string(out, "{\n");
    put_export(out, node);
    buffer_printf(out,
                  "export BANYAN_JOB=1 BANYAN_RANK=%u BANYAN_SIZE=%u BANYAN_LOCAL_RANK=%u "
                  "BANYAN_LOCAL_SIZE=%u\n",
                  process->rank, process->size, process->local_rank, process->local_size);
    for (char **variable = app->set; variable != NULL && *variable != NULL; variable++)
        if (shell_variable_of(*variable) == SHELL_VARIABLE_EXPORT)
            put_export(out, *variable);
    buffer_append_string(out, "} 2>/dev/null\n");
    free(node);
}

static void put_program(const struct app_spec *app, const struct direct_process *process,
                        struct buffer *out)
{
    buffer_append_string(out, "(trap - HUP TERM\n");
    put_exports(app, process, out);
    buffer_append_string(out, "exec setsid env \"$@\"");
    for (char **variable = app->set; variable != NULL && *variable != NULL; variable++)
        if (shell_variable_of(*variable) == SHELL_VARIABLE_ENV) {
            buffer_append_string(out, " ");
            shell_word_put(out, *variable);
        }
    for (char **word = app->argv; *word != NULL; word++) {
        buffer_append_string(out, " ");
        shell_word_put(out, *word);
    }
    buffer_append_string(out, ") </dev/null 3<&- &\n");
}

/* The whole is one command, so that it has been read before it begins. */
void direct_script_put(const struct app_spec *app, const struct direct_process *process,
                       uint32_t grace_s, struct buffer *out)
{
    char *directory = job_spec_directory(app, process->rank, process->node, 1);

    assert(app->argv[0] != NULL && process->rank < process->size);
    buffer_append_string(out, "{\n");
    if (directory != NULL) {
        buffer_append_string(out, "cd ");
        shell_word_put(out, directory);
        buffer_append_string(out, " || exit 126\n");
    }
    buffer_append_string(out, SCRIPT_BEGIN);
    put_program(app, process, out);
    buffer_printf(out, SCRIPT_WATCHER "}\n", grace_s);
    free(directory);
}
