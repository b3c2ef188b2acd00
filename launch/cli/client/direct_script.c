/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/direct_script.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "launch/start/shell_word.h"

static void put_variable(struct buffer *out, const char *name, uint32_t value)
{
    buffer_printf(out, " %s=%u", name, value);
}

static void put_environment(const struct app_spec *app, const struct direct_process *process,
                            struct buffer *out)
{
    char *node = memory_printf("BANYAN_NODE=%s", process->node);

    buffer_append_string(out, "env ");
    shell_word_put(out, node);
    put_variable(out, "BANYAN_JOB", 1);
    put_variable(out, "BANYAN_RANK", process->rank);
    put_variable(out, "BANYAN_SIZE", process->size);
    put_variable(out, "BANYAN_LOCAL_RANK", process->local_rank);
    put_variable(out, "BANYAN_LOCAL_SIZE", process->local_size);
    for (char **variable = app->set; variable != NULL && *variable != NULL; variable++) {
        buffer_append_string(out, " ");
        shell_word_put(out, *variable);
    }
    free(node);
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
    buffer_append_string(out, "echo " DIRECT_SCRIPT_MARK "\nexec 3<&0\nsetsid ");
    put_environment(app, process, out);
    for (char **word = app->argv; *word != NULL; word++) {
        buffer_append_string(out, " ");
        shell_word_put(out, *word);
    }
    buffer_printf(out,
                  " </dev/null 3<&- &\n"
                  "p=$!\n"
                  "(read -r x <&3; kill -s TERM -- -$p || kill -s TERM $p; i=0\n"
                  "while [ $i -lt %u ] && kill -s 0 -- -$p; do sleep 1; i=$((i + 1)); done\n"
                  "kill -s KILL -- -$p) >/dev/null 2>&1 &\n"
                  "w=$!\n"
                  "exec 3<&- 2>/dev/null\n"
                  "wait $p; s=$?\n"
                  "kill -s KILL -- -$p\n"
                  "kill $w\n"
                  "exit $s\n"
                  "}\n",
                  grace_s);
    free(directory);
}
