/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of PMI-1: a line each, and a line as the answer.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi1_wire.h"
#include "pmix/pmi_socket_internal.h"
#include "pmix/pmi_spawn.h"

struct pmi1_command {
    const char *name;
    enum pmi_client_state state; /* in which it is allowed */
    int may_wait; /* also while another thread of the client is in a barrier (PMI 1.2) */
    int (*run)(struct pmi_socket *socket, uint32_t index, const char *line, struct error *error);
};

/* ---- answers ---- */

/* No answer is longer than a line. */
__attribute__((format(printf, 3, 4))) static void answer_client(const struct pmi_socket *socket,
                                                                uint32_t index, const char *format,
                                                                ...)
{
    char line[PMI1_LINE_BYTES];
    va_list arguments;
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    assert(bytes >= 0 && bytes < PMI1_LINE_BYTES);
    line[bytes] = '\n';
    socket->reply(socket->ops.context, index, line, (size_t)bytes + 1);
}

/* The answer to a client of PMI-2 has the same form; what follows has not.
 *
 * A client of 1.2 (MPICH 5) says 1.1, for servers that refuse what they do not know, and goes by the answer; one that
 * knows only 1.1 may not mind the answer 1.2, which has all of 1.1. */
static int on_init(struct pmi_socket *socket, uint32_t index, const char *line, struct error *error)
{
    long version = pmi1_wire_number(line, "pmi_version", -1);
    int fits = version == 1 || version == 2;
    int subversion = pmi1_wire_number(line, "pmi_subversion", 0) >= 1 ? 2 : 1;

    answer_client(socket, index, "cmd=response_to_init pmi_version=%d pmi_subversion=%d rc=%d",
                  version == 2 ? 2 : 1, version == 2 ? 0 : subversion, fits ? 0 : -1);
    if (!fits)
        return error_set(error, -EPROTO, "PMI-1: the client speaks another version: %s", line);
    if (version == 2)
        socket->clients[index].protocol = &pmi2_protocol;
    pmi_socket_connected(socket, index);
    return 0;
}

static int on_get_maxes(struct pmi_socket *socket, uint32_t index, const char *line,
                        struct error *error)
{
    answer_client(socket, index, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d rc=0",
                  PMI_KVS_NAME_BYTES, PMI_KVS_KEY_BYTES, PMI_KVS_VALUE_BYTES);
    return 0;
}

static int on_get_appnum(struct pmi_socket *socket, uint32_t index, const char *line,
                         struct error *error)
{
    answer_client(socket, index, "cmd=appnum appnum=%u rc=0", socket->local_apps[index]);
    return 0;
}

static int on_get_my_kvsname(struct pmi_socket *socket, uint32_t index, const char *line,
                             struct error *error)
{
    answer_client(socket, index, "cmd=my_kvsname kvsname=%s rc=0", socket->kvs_name);
    return 0;
}

static int on_get_universe_size(struct pmi_socket *socket, uint32_t index, const char *line,
                                struct error *error)
{
    answer_client(socket, index, "cmd=universe_size size=%u rc=0", socket->universe_size);
    return 0;
}

/* The error in the kvsname and key of a line, as a word for msg=, or NULL. */
static const char *names_check(const struct pmi_socket *socket, const char *line, char *ret_key)
{
    char name[PMI_KVS_NAME_BYTES];

    if (!pmi1_wire_text(line, "kvsname", name, sizeof(name)) || strcmp(name, socket->kvs_name) != 0)
        return "kvsname_not_found";
    if (!pmi1_wire_text(line, "key", ret_key, PMI_KVS_KEY_BYTES) || ret_key[0] == '\0')
        return "key_missing_or_too_long";
    return NULL;
}

static int on_get(struct pmi_socket *socket, uint32_t index, const char *line, struct error *error)
{
    char key[PMI_KVS_KEY_BYTES];
    const char *wrong = names_check(socket, line, key), *value = NULL;

    if (wrong == NULL)
        value = pmi_kvs_get(socket->kvs, key);
    if (wrong != NULL)
        answer_client(socket, index, "cmd=get_result rc=-1 msg=%s value=unknown", wrong);
    else if (value == NULL)
        answer_client(socket, index, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown",
                      key);
    else
        answer_client(socket, index, "cmd=get_result rc=0 msg=success value=%s", value);
    return 0;
}

static int on_put(struct pmi_socket *socket, uint32_t index, const char *line, struct error *error)
{
    char key[PMI_KVS_KEY_BYTES], value[PMI_KVS_VALUE_BYTES];
    const char *wrong = names_check(socket, line, key);

    if (wrong == NULL && !pmi1_wire_text(line, "value", value, sizeof(value)))
        wrong = "value_missing_or_too_long";
    if (wrong == NULL && pmi_kvs_put(socket->kvs, index, key, value) < 0)
        wrong = "too_much_before_a_barrier";
    if (wrong != NULL)
        answer_client(socket, index, "cmd=put_result rc=-1 msg=%s", wrong);
    else
        answer_client(socket, index, "cmd=put_result rc=0 msg=success");
    return 0;
}

/* ---- barriers ---- */

/* wrong: a word for msg=; NULL: it has ended well.  By what is echoed, its group and tag, the client knows which of its
 * threads has waited; as long as a line of groups. */
static void answer_barrier(const struct pmi_socket *socket, uint32_t index, const char *echo,
                           const char *wrong)
{
    struct buffer out = {0};

    buffer_printf(&out, "cmd=barrier_out rc=%d", wrong == NULL ? 0 : -1);
    if (echo != NULL)
        buffer_printf(&out, " %s", echo);
    if (wrong != NULL)
        buffer_printf(&out, " msg=%s", wrong);
    buffer_append_string(&out, "\n");
    socket->reply(socket->ops.context, index, out.data, out.length_bytes);
    buffer_fini(&out);
}

/* The ranks of this node. */
static void add_node(const struct pmi_socket *socket, struct ranges *out)
{
    for (uint32_t i = 0; i < socket->local_count; i++)
        ranges_add(out, socket->local_ranks[i], socket->local_ranks[i]);
}

/* A name that keeps its tags apart from those of the others. */
static void name_group(const struct pmi1_group *group, char *name, size_t name_bytes)
{
    static const char letters[] = {
        [PMI1_GROUP_WORLD] = 'w', [PMI1_GROUP_NODE] = 'n', [PMI1_GROUP_RANKS] = 'r'};

    snprintf(name, name_bytes, "%c%s", letters[group->kind], group->tag);
}

static const char *wait_word(int rc)
{
    if (rc == 0)
        return NULL;
    return rc == -ENOSPC ? "too_many_groups" : "too_many_barriers_at_once";
}

/* Waits in the barrier of that group; what is wrong with it, or NULL. */
static const char *wait_group(struct pmi_socket *socket, uint32_t index, struct pmi1_group *group,
                              const char *echo)
{
    char name[PMI1_TAG_BYTES + 1];

    if (group->kind == PMI1_GROUP_WORLD && group->tag[0] == '\0')
        return wait_word(pmi_socket_wait(socket, index, echo));
    if (group->kind == PMI1_GROUP_NODE)
        add_node(socket, &group->ranks);
    if (!ranges_is_empty(&group->ranks) && ranges_max(&group->ranks) >= socket->size)
        return "rank_of_group_does_not_exist";
    if (group->kind == PMI1_GROUP_RANKS &&
        !ranges_contains(&group->ranks, socket->local_ranks[index]))
        return "caller_is_not_in_group";
    name_group(group, name, sizeof(name));
    return wait_word(pmi_socket_wait_group(socket, index, &group->ranks, name, echo));
}

static int on_barrier_in(struct pmi_socket *socket, uint32_t index, const char *line,
                         struct error *error)
{
    struct pmi1_group group = {.kind = PMI1_GROUP_WORLD};
    size_t bytes = 0;
    const char *text = pmi1_wire_find(line, "group", &bytes), *wrong = NULL;
    char *echo = NULL;

    if (text != NULL) {
        wrong = pmi1_wire_group(text, bytes, &group);
        echo = memory_printf("group=%.*s tag=%s", (int)bytes, text,
                             group.tag[0] != '\0' ? group.tag : "0");
    }
    if (wrong == NULL)
        wrong = wait_group(socket, index, &group, echo);
    if (wrong != NULL)
        answer_barrier(socket, index, echo, wrong);
    ranges_fini(&group.ranks);
    free(echo);
    return 0;
}

static void released(struct pmi_socket *socket, uint32_t index, int status, const char *echo)
{
    const char *wrong = status == -ESRCH ? "a_member_has_ended" : "barrier_failed";

    answer_barrier(socket, index, echo, status < 0 ? wrong : NULL);
}

static int on_finalize(struct pmi_socket *socket, uint32_t index, const char *line,
                       struct error *error)
{
    answer_client(socket, index, "cmd=finalize_ack rc=0");
    pmi_socket_finalized(socket, index);
    return 0;
}

static int on_abort(struct pmi_socket *socket, uint32_t index, const char *line,
                    struct error *error)
{
    struct pmi_process process = pmi_socket_process(socket, index);
    char message[PMI_KVS_VALUE_BYTES];

    /* MPICH since 4.1 says "message". */
    if (!pmi1_wire_text(line, "msg", message, sizeof(message)) &&
        !pmi1_wire_text(line, "message", message, sizeof(message)))
        message[0] = '\0';
    socket->ops.abort(socket->ops.context, 0, &process, (int)pmi1_wire_number(line, "exitcode", 1),
                      message, NULL, 0);
    return 0;
}

/* ---- names ---- */

static const char *const name_results[] = {
    [PMI_REQUEST_PUBLISH] = "publish",
    [PMI_REQUEST_LOOKUP] = "lookup",
    [PMI_REQUEST_UNPUBLISH] = "unpublish",
};

static const char *name_error(enum pmi_request_kind kind, int status)
{
    if (status == -EEXIST)
        return "service_is_already_published";
    if (status == -EINVAL)
        return "service_or_port_missing_or_too_long";
    return status == -ENOENT ? "service_not_found" : "name_service_failed";
}

/* Clients look at info and rc, and read a port to the end of the line. */
static void named(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind, int status,
                  const char *port, const char *thread)
{
    if (status < 0)
        answer_client(socket, index, "cmd=%s_result info=fail rc=-1 msg=%s", name_results[kind],
                      name_error(kind, status));
    else if (port != NULL)
        answer_client(socket, index, "cmd=%s_result info=ok rc=0 port=%s", name_results[kind],
                      port);
    else
        answer_client(socket, index, "cmd=%s_result info=ok rc=0 msg=success", name_results[kind]);
}

static void request_name(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind,
                         const char *line)
{
    char service[PMI_KVS_NAME_BYTES], port[PMI_KVS_VALUE_BYTES];
    int is_publish = kind == PMI_REQUEST_PUBLISH;

    assert(kind <= PMI_REQUEST_UNPUBLISH);
    if (!pmi1_wire_text(line, "service", service, sizeof(service)) || service[0] == '\0' ||
        (is_publish && !pmi1_wire_text(line, "port", port, sizeof(port))))
        named(socket, index, kind, -EINVAL, NULL, NULL);
    else
        pmi_socket_name(socket, index, kind, service, is_publish ? port : NULL, NULL);
}

static int on_publish_name(struct pmi_socket *socket, uint32_t index, const char *line,
                           struct error *error)
{
    request_name(socket, index, PMI_REQUEST_PUBLISH, line);
    return 0;
}

static int on_unpublish_name(struct pmi_socket *socket, uint32_t index, const char *line,
                             struct error *error)
{
    request_name(socket, index, PMI_REQUEST_UNPUBLISH, line);
    return 0;
}

static int on_lookup_name(struct pmi_socket *socket, uint32_t index, const char *line,
                          struct error *error)
{
    request_name(socket, index, PMI_REQUEST_LOOKUP, line);
    return 0;
}

/* ---- spawn ---- */

/* mcmd=spawn opens a block of lines, one pair each, up to endcmd; several blocks may be one spawn. */
static int on_spawn(struct pmi_socket *socket, uint32_t index, const char *line,
                    struct error *error)
{
    struct pmi_client *client = &socket->clients[index];

    if (client->spawn == NULL)
        client->spawn = pmi_socket_spawn_create();
    client->state = PMI_CLIENT_SPAWNING;
    client->spawns_total = 1;
    client->spawns_so_far = 1;
    return 0;
}

static void spawn_end(struct pmi_socket *socket, uint32_t index)
{
    struct pmi_client *client = &socket->clients[index];
    struct pmi_socket_spawn *spawn = client->spawn;

    client->state = PMI_CLIENT_READY;
    pmi_socket_spawn_app(spawn);
    if (client->spawns_so_far < client->spawns_total)
        return;
    client->spawn = NULL;
    pmi_socket_spawn(socket, index, spawn, NULL);
}

/* A value goes to the end of the line. */
static void spawn_line(struct pmi_socket *socket, uint32_t index, char *line)
{
    struct pmi_client *client = &socket->clients[index];
    char *equals = strchr(line, '=');

    if (strcmp(line, "endcmd") == 0) {
        spawn_end(socket, index);
        return;
    }
    if (equals == NULL)
        return;
    *equals = '\0';
    if (strcmp(line, "totspawns") == 0)
        client->spawns_total = strtol(equals + 1, NULL, 10);
    else if (strcmp(line, "spawnssofar") == 0)
        client->spawns_so_far = strtol(equals + 1, NULL, 10);
    else
        pmi_socket_spawn_word(client->spawn, line, equals + 1);
}

/* Without errcodes, which for many processes are more than a client can read: all have been started. */
static void spawned(struct pmi_socket *socket, uint32_t index,
                    const struct pmi_spawn_answer *answer, const char *thread)
{
    char reason[PMI_SPAWN_REASON_MAX];

    assert(thread == NULL);
    if (answer->failure == PMI_SPAWN_FAILURE_NONE) {
        answer_client(socket, index, "cmd=spawn_result rc=0");
        return;
    }
    snprintf(reason, sizeof(reason), "%s", answer->reason);
    for (char *byte = reason; *byte != '\0'; byte++)
        if (*byte == ' ' || *byte == '\n' || *byte == '=')
            *byte = '_';
    answer_client(socket, index, "cmd=spawn_result rc=-1 msg=%s", reason);
}

/* ---- lines ---- */

static const struct pmi1_command commands[] = {
    {"init", PMI_CLIENT_NEW, 0, on_init},
    {"get_maxes", PMI_CLIENT_READY, 0, on_get_maxes},
    {"get_appnum", PMI_CLIENT_READY, 0, on_get_appnum},
    {"get_my_kvsname", PMI_CLIENT_READY, 0, on_get_my_kvsname},
    {"get_universe_size", PMI_CLIENT_READY, 0, on_get_universe_size},
    {"get", PMI_CLIENT_READY, 1, on_get},
    {"put", PMI_CLIENT_READY, 1, on_put},
    {"barrier_in", PMI_CLIENT_READY, 1, on_barrier_in},
    {"finalize", PMI_CLIENT_READY, 0, on_finalize},
    {"abort", PMI_CLIENT_READY, 1, on_abort},
    {"publish_name", PMI_CLIENT_READY, 0, on_publish_name},
    {"unpublish_name", PMI_CLIENT_READY, 0, on_unpublish_name},
    {"lookup_name", PMI_CLIENT_READY, 0, on_lookup_name},
    {"spawn", PMI_CLIENT_READY, 0, on_spawn},
};

static const struct pmi1_command *command_find(const char *line)
{
    char name[PMI_KVS_KEY_BYTES];

    if (!pmi1_wire_text(line, "cmd", name, sizeof(name)) &&
        !pmi1_wire_text(line, "mcmd", name, sizeof(name)))
        return NULL;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int run_line(struct pmi_socket *socket, uint32_t index, char *line, struct error *error)
{
    enum pmi_client_state state = socket->clients[index].state;
    const struct pmi1_command *command;

    line[strcspn(line, "\n")] = '\0';
    command = command_find(line);
    if (state == PMI_CLIENT_SPAWNING) {
        spawn_line(socket, index, line);
        return 0;
    }
    if (command == NULL)
        return error_set(error, -EPROTO, "PMI-1: unknown command: %.200s", line);
    if (command->state != state && !(command->may_wait && state == PMI_CLIENT_IN_BARRIER))
        return error_set(error, -EPROTO, "PMI-1: command at the wrong time: %.200s", line);
    return command->run(socket, index, line, error);
}

static ssize_t cut(const struct buffer *input, struct error *error)
{
    const char *newline =
        input->length_bytes == 0 ? NULL : memchr(input->data, '\n', input->length_bytes);
    size_t bytes = newline == NULL ? input->length_bytes : (size_t)(newline - (char *)input->data);
    size_t begin_bytes = strlen(PMI1_GROUP_LINE);
    int is_group = bytes > begin_bytes && memcmp(input->data, PMI1_GROUP_LINE, begin_bytes) == 0;
    uint32_t most = is_group ? PMI1_GROUP_LINE_BYTES : PMI1_LINE_BYTES;

    if (bytes >= most)
        return error_set(error, -EPROTO, "PMI-1: a line is longer than %u bytes", most);
    if (bytes > 0 && memchr(input->data, '\0', bytes) != NULL)
        return error_set(error, -EPROTO, "PMI-1: a line with a NUL byte");
    return newline == NULL ? 0 : (ssize_t)bytes + 1;
}

const struct pmi_protocol pmi1_protocol = {.cut = cut,
                                           .run = run_line,
                                           .released = released,
                                           .named = named,
                                           .spawned = spawned};
