/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/starter_call.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/node_text.h"
#include "base/buffer.h"

#define NODES_BYTES_MAX (120u * 1024) /* the system takes 128 KiB as one argument */

void starter_call_add(struct starter_call *call, char *word)
{
    assert(call->count < STARTER_CALL_WORDS_MAX - 1);
    call->items[call->count++] = word;
}

void starter_call_add_words(struct starter_call *call, const char *const *words)
{
    for (; *words != NULL; words++)
        starter_call_add(call, memory_copy_string(*words));
}

static void add_option(struct starter_call *call, const char *option, const char *value)
{
    starter_call_add(call, memory_copy_string(option));
    starter_call_add(call, memory_copy_string(value));
}

/* ---- Nodes ---- */

static void print_nodes(const struct hostlist *names, int has_brackets, struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    struct hostlist *plain = hostlist_create();

    for (uint32_t i = 0; i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        if (run.suffix_bytes == 0 && has_brackets) {
            hostlist_append_run(plain, &run);
            continue;
        }
        for (uint32_t k = 0; k < run.count && out->length_bytes < NODES_BYTES_MAX; k++) {
            hostlist_run_name(&run, k, name);
            buffer_printf(out, "%s%s", out->length_bytes > 0 ? "," : "", name);
        }
    }
    if (hostlist_count(plain) > 0) {
        buffer_append_string(out, out->length_bytes > 0 ? "," : "");
        hostlist_print(plain, out);
    }
    hostlist_destroy(plain);
}

void starter_call_add_nodes(struct starter_call *call, const char *option,
                            const struct hostlist *nodes, int has_brackets)
{
    struct buffer text = {0};

    print_nodes(nodes, has_brackets, &text);
    if (text.length_bytes < NODES_BYTES_MAX && option[1] == '-')
        starter_call_add(call, memory_printf("%s=%s", option, buffer_string(&text)));
    else if (text.length_bytes < NODES_BYTES_MAX)
        add_option(call, option, buffer_string(&text));
    buffer_fini(&text);
}

int starter_call_select_all(uint32_t index, const struct hostlist *names,
                            struct hostlist *ret_selected)
{
    if (index > 0)
        return 0;
    hostlist_append_slice(ret_selected, names, 0, hostlist_count(names));
    return 1;
}

/* ---- banyand ---- */

void starter_call_add_daemon(struct starter_call *call, const struct instance_spec *instance,
                             const char *starter)
{
    starter_call_add(call, memory_copy_string(instance->banyand));
    add_option(call, "--started-by", starter);
    if (instance->boot_word != NULL)
        add_option(call, "--boot", instance->boot_word);
}

void starter_call_add_clean(struct starter_call *call, const struct instance_spec *instance,
                            uint32_t place, const char *node_name)
{
    char *tmpdir = node_text_of(instance->tmpdir, node_name);

    starter_call_add(call, memory_copy_string(instance->banyand));
    starter_call_add(call, memory_copy_string("--clean"));
    starter_call_add(call, memory_printf("%s.%u", instance->session, place));
    if (tmpdir != NULL)
        add_option(call, "--tmpdir", tmpdir);
    free(tmpdir);
}

void starter_call_make(struct starter_call *call, struct helper *helper, uint32_t id,
                       char *const *environment, const struct helper_fd *fds, uint32_t fds_count)
{
    struct helper_process process = {.id = id,
                                     .argv = call->items,
                                     .environment = environment,
                                     .fds = fds,
                                     .fds_count = fds_count};

    call->items[call->count] = NULL;
    helper_start(helper, &process);
    for (size_t i = 0; i < call->count; i++)
        free(call->items[i]);
    call->count = 0;
}

int starter_call_pipes(int input[2], int output[2])
{
    if (pipe2(input, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(output, O_CLOEXEC) < 0) {
        int code = -errno;
        close(input[0]);
        close(input[1]);
        return code;
    }
    fcntl(input[1], F_SETFL, O_NONBLOCK);
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    return 0;
}
