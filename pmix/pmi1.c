/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi1.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/wire.h"
#include "pmix/pmi1_wire.h"

/* Limit of a node's puts between two barriers. */
#define PUTS_BYTES_MAX (64u << 20)

enum client_state {
    CLIENT_NEW,        /* has not sent init */
    CLIENT_READY,      /* may send any command */
    CLIENT_SPAWNING,   /* in the middle of mcmd=spawn ... endcmd */
    CLIENT_IN_BARRIER, /* waits for barrier_out */
    CLIENT_FINALIZED,
    CLIENT_CLOSED,
};

struct pmi1_client {
    enum client_state state;
    struct buffer line; /* the part of the next line received so far */
    long spawns_total;  /* parts of the current spawn */
    long spawns_so_far;
};

struct pmi1_server {
    struct pmi_ops ops;
    pmi1_reply_function *reply;
    uint32_t job;
    char *kvs_name;
    uint32_t universe_size;
    uint32_t local_count;
    uint32_t *local_ranks;
    uint32_t *local_apps;
    struct pmi1_client *clients;
    struct hash_map *values;  /* key -> value, both with their NUL */
    struct buffer puts;       /* of this node since the last barrier */
    uint32_t in_barrier;      /* clients that wait */
    uint64_t barriers;        /* so far; also the id of the last */
    int barrier_is_under_way; /* the other nodes have been notified */
};

struct pmi1_command {
    const char *name;
    enum client_state state; /* in which it is allowed */
    int (*run)(struct pmi1_server *server, uint32_t index, const char *line, struct error *error);
};

/* ---- values ---- */

static const char *value_get(const struct pmi1_server *server, const char *key)
{
    return hash_map_get(server->values, key, strlen(key) + 1);
}

/* A later put of a key replaces the earlier one. */
static void value_set(struct pmi1_server *server, const char *key, const char *value)
{
    assert(key[0] != '\0');
    free(hash_map_put(server->values, key, strlen(key) + 1, memory_copy_string(value)));
}

/* ---- answers ---- */

/* No answer is longer than a line. */
__attribute__((format(printf, 3, 4))) static void answer_client(const struct pmi1_server *server,
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
    server->reply(server->ops.context, index, line, (size_t)bytes + 1);
}

static struct pmi_process process_of(const struct pmi1_server *server, uint32_t index)
{
    assert(index < server->local_count);
    return (struct pmi_process){.job = server->job, .rank = server->local_ranks[index]};
}

static int on_init(struct pmi1_server *server, uint32_t index, const char *line,
                   struct error *error)
{
    int fits = pmi1_wire_number(line, "pmi_version", -1) == 1;
    struct pmi_process process;

    answer_client(server, index, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d",
                  fits ? 0 : -1);
    if (!fits)
        return error_set(error, -EPROTO, "PMI-1: the client speaks another version: %s", line);
    server->clients[index].state = CLIENT_READY;
    process = process_of(server, index);
    server->ops.connected(server->ops.context, &process);
    return 0;
}

static int on_get_maxes(struct pmi1_server *server, uint32_t index, const char *line,
                        struct error *error)
{
    answer_client(server, index, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d rc=0",
                  PMI1_KVSNAME_BYTES, PMI1_KEY_BYTES, PMI1_VALUE_BYTES);
    return 0;
}

static int on_get_appnum(struct pmi1_server *server, uint32_t index, const char *line,
                         struct error *error)
{
    answer_client(server, index, "cmd=appnum appnum=%u rc=0", server->local_apps[index]);
    return 0;
}

static int on_get_my_kvsname(struct pmi1_server *server, uint32_t index, const char *line,
                             struct error *error)
{
    answer_client(server, index, "cmd=my_kvsname kvsname=%s rc=0", server->kvs_name);
    return 0;
}

static int on_get_universe_size(struct pmi1_server *server, uint32_t index, const char *line,
                                struct error *error)
{
    answer_client(server, index, "cmd=universe_size size=%u rc=0", server->universe_size);
    return 0;
}

/* The error in the kvsname and key of a line, as a word for msg=, or NULL. */
static const char *names_check(const struct pmi1_server *server, const char *line, char *ret_key)
{
    char name[PMI1_KVSNAME_BYTES];

    if (!pmi1_wire_text(line, "kvsname", name, sizeof(name)) || strcmp(name, server->kvs_name) != 0)
        return "kvsname_not_found";
    if (!pmi1_wire_text(line, "key", ret_key, PMI1_KEY_BYTES) || ret_key[0] == '\0')
        return "key_missing_or_too_long";
    return NULL;
}

static int on_get(struct pmi1_server *server, uint32_t index, const char *line, struct error *error)
{
    char key[PMI1_KEY_BYTES];
    const char *wrong = names_check(server, line, key), *value = NULL;

    if (wrong == NULL)
        value = value_get(server, key);
    if (wrong != NULL)
        answer_client(server, index, "cmd=get_result rc=-1 msg=%s value=unknown", wrong);
    else if (value == NULL)
        answer_client(server, index, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown",
                      key);
    else
        answer_client(server, index, "cmd=get_result rc=0 msg=success value=%s", value);
    return 0;
}

static int on_put(struct pmi1_server *server, uint32_t index, const char *line, struct error *error)
{
    char key[PMI1_KEY_BYTES], value[PMI1_VALUE_BYTES];
    const char *wrong = names_check(server, line, key);

    if (wrong == NULL && !pmi1_wire_text(line, "value", value, sizeof(value)))
        wrong = "value_missing_or_too_long";
    if (wrong == NULL && server->puts.length_bytes > PUTS_BYTES_MAX)
        wrong = "too_much_before_a_barrier";
    if (wrong != NULL) {
        answer_client(server, index, "cmd=put_result rc=-1 msg=%s", wrong);
        return 0;
    }
    value_set(server, key, value);
    pmi1_wire_encode_put(key, value, &server->puts);
    answer_client(server, index, "cmd=put_result rc=0 msg=success");
    return 0;
}

/* ---- barrier ---- */

static uint32_t count_living(const struct pmi1_server *server)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < server->local_count; i++)
        count += server->clients[i].state < CLIENT_FINALIZED;
    return count;
}

/* Clients that have finalized or disconnected are not waited for. */
static void barrier_check(struct pmi1_server *server)
{
    struct pmi_process all = {.job = server->job, .rank = PMI_RANK_ALL};
    struct pmi_collective barrier = {.kind = PMI_BARRIER, .members = &all, .members_count = 1};
    struct buffer puts = {0};

    if (server->in_barrier == 0 || server->barrier_is_under_way ||
        server->in_barrier < count_living(server))
        return;
    assert(server->in_barrier <= server->local_count);
    server->barrier_is_under_way = 1;
    buffer_swap(&puts, &server->puts);
    barrier.id = ++server->barriers;
    barrier.data = puts.data;
    barrier.data_bytes = puts.length_bytes;
    /* The answer may come at once. */
    server->ops.collective(server->ops.context, &barrier);
    buffer_fini(&puts);
}

static int on_barrier_in(struct pmi1_server *server, uint32_t index, const char *line,
                         struct error *error)
{
    assert(server->clients[index].state == CLIENT_READY);
    server->clients[index].state = CLIENT_IN_BARRIER;
    server->in_barrier++;
    barrier_check(server);
    return 0;
}

static int values_merge(struct pmi1_server *server, const void *data, size_t bytes)
{
    char key[PMI1_KEY_BYTES], value[PMI1_VALUE_BYTES];
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    while (wire_left(&reader) > 0) {
        pmi1_wire_decode_put(&reader, key, value);
        if (wire_status(&reader) < 0)
            break;
        if (key[0] == '\0')
            return -EBADMSG;
        value_set(server, key, value);
    }
    return wire_finish(&reader);
}

static void barrier_done(void *speaker, uint64_t id, int status, const void *data, size_t bytes)
{
    struct pmi1_server *server = speaker;

    if (!server->barrier_is_under_way || id != server->barriers)
        return;
    assert(status <= 0);
    server->barrier_is_under_way = 0;
    if (status == 0)
        status = values_merge(server, data, bytes);
    server->in_barrier = 0;
    for (uint32_t i = 0; i < server->local_count; i++) {
        if (server->clients[i].state != CLIENT_IN_BARRIER)
            continue;
        server->clients[i].state = CLIENT_READY;
        if (status < 0)
            answer_client(server, i, "cmd=barrier_out rc=-1 msg=barrier_failed");
        else
            answer_client(server, i, "cmd=barrier_out rc=0");
    }
}

int pmi1_is_waiting(const struct pmi1_server *server)
{
    return server->in_barrier > 0 && !server->barrier_is_under_way;
}

const struct pmi_events pmi1_events = {.done = barrier_done};

int pmi1_in_barrier(const struct pmi1_server *server, uint32_t local_index)
{
    assert(local_index < server->local_count);
    return server->clients[local_index].state == CLIENT_IN_BARRIER;
}

/* ---- end ---- */

static int on_finalize(struct pmi1_server *server, uint32_t index, const char *line,
                       struct error *error)
{
    struct pmi_process process = process_of(server, index);

    assert(server->clients[index].state != CLIENT_IN_BARRIER);
    server->clients[index].state = CLIENT_FINALIZED;
    server->ops.finalized(server->ops.context, &process);
    answer_client(server, index, "cmd=finalize_ack rc=0");
    barrier_check(server);
    return 0;
}

static int on_abort(struct pmi1_server *server, uint32_t index, const char *line,
                    struct error *error)
{
    struct pmi_process process = process_of(server, index);
    char message[PMI1_VALUE_BYTES];

    if (!pmi1_wire_text(line, "msg", message, sizeof(message)))
        message[0] = '\0';
    server->ops.abort(server->ops.context, 0, &process, (int)pmi1_wire_number(line, "exitcode", 1),
                      message, NULL, 0);
    return 0;
}

/* ---- what is not served yet ---- */

static void refuse_service(struct pmi1_server *server, uint32_t index, enum pmi_service service,
                           const char *result)
{
    struct pmi_process process = process_of(server, index);

    server->ops.unserved(server->ops.context, &process, service);
    answer_client(server, index, "cmd=%s_result%s rc=-1 msg=%s_is_not_supported", result,
                  service == PMI_SERVICE_NAMES ? " info=no" : "",
                  service == PMI_SERVICE_NAMES ? "publishing" : "spawning");
}

static int on_publish_name(struct pmi1_server *server, uint32_t index, const char *line,
                           struct error *error)
{
    refuse_service(server, index, PMI_SERVICE_NAMES, "publish");
    return 0;
}

static int on_unpublish_name(struct pmi1_server *server, uint32_t index, const char *line,
                             struct error *error)
{
    refuse_service(server, index, PMI_SERVICE_NAMES, "unpublish");
    return 0;
}

static int on_lookup_name(struct pmi1_server *server, uint32_t index, const char *line,
                          struct error *error)
{
    refuse_service(server, index, PMI_SERVICE_NAMES, "lookup");
    return 0;
}

/* mcmd=spawn opens a block of lines, one pair each, up to endcmd; several blocks may be one spawn. */
static int on_spawn(struct pmi1_server *server, uint32_t index, const char *line,
                    struct error *error)
{
    struct pmi1_client *client = &server->clients[index];

    client->state = CLIENT_SPAWNING;
    client->spawns_total = 1;
    client->spawns_so_far = 1;
    return 0;
}

static void spawn_line(struct pmi1_server *server, uint32_t index, const char *line)
{
    struct pmi1_client *client = &server->clients[index];

    if (strcmp(line, "endcmd") != 0) {
        client->spawns_total = pmi1_wire_number(line, "totspawns", client->spawns_total);
        client->spawns_so_far = pmi1_wire_number(line, "spawnssofar", client->spawns_so_far);
        return;
    }
    client->state = CLIENT_READY;
    if (client->spawns_so_far >= client->spawns_total)
        refuse_service(server, index, PMI_SERVICE_SPAWN, "spawn");
}

/* ---- lines ---- */

static const struct pmi1_command commands[] = {
    {"init", CLIENT_NEW, on_init},
    {"get_maxes", CLIENT_READY, on_get_maxes},
    {"get_appnum", CLIENT_READY, on_get_appnum},
    {"get_my_kvsname", CLIENT_READY, on_get_my_kvsname},
    {"get_universe_size", CLIENT_READY, on_get_universe_size},
    {"get", CLIENT_READY, on_get},
    {"put", CLIENT_READY, on_put},
    {"barrier_in", CLIENT_READY, on_barrier_in},
    {"finalize", CLIENT_READY, on_finalize},
    {"abort", CLIENT_READY, on_abort},
    {"publish_name", CLIENT_READY, on_publish_name},
    {"unpublish_name", CLIENT_READY, on_unpublish_name},
    {"lookup_name", CLIENT_READY, on_lookup_name},
    {"spawn", CLIENT_READY, on_spawn},
};

static const struct pmi1_command *command_find(const char *line)
{
    char name[PMI1_KEY_BYTES];

    if (!pmi1_wire_text(line, "cmd", name, sizeof(name)) &&
        !pmi1_wire_text(line, "mcmd", name, sizeof(name)))
        return NULL;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int run_line(struct pmi1_server *server, uint32_t index, const char *line,
                    struct error *error)
{
    const struct pmi1_command *command = command_find(line);
    enum client_state state = server->clients[index].state;

    if (state == CLIENT_SPAWNING) {
        spawn_line(server, index, line);
        return 0;
    }
    if (command == NULL)
        return error_set(error, -EPROTO, "PMI-1: unknown command: %.200s", line);
    if (command->state != state && !(command->run == on_abort && state == CLIENT_IN_BARRIER))
        return error_set(error, -EPROTO, "PMI-1: command at the wrong time: %.200s", line);
    return command->run(server, index, line, error);
}

/* Adds one piece that ends before the newline, or at the end of the input. */
static int line_add(struct buffer *line, const char *data, size_t bytes, struct error *error)
{
    if (line->length_bytes + bytes >= PMI1_LINE_BYTES)
        return error_set(error, -EPROTO, "PMI-1: a line is longer than %d bytes", PMI1_LINE_BYTES);
    if (bytes > 0 && memchr(data, '\0', bytes) != NULL)
        return error_set(error, -EPROTO, "PMI-1: a line with a NUL byte");
    buffer_append(line, data, bytes);
    return 0;
}

int pmi1_input(struct pmi1_server *server, uint32_t local_index, const void *data, size_t bytes,
               struct error *error)
{
    struct buffer *line = &server->clients[local_index].line;
    const char *from = data, *end = from + bytes;
    int rc = 0;

    assert(local_index < server->local_count);
    while (from < end && rc == 0) {
        const char *newline = memchr(from, '\n', (size_t)(end - from));
        const char *stop = newline == NULL ? end : newline;

        rc = line_add(line, from, (size_t)(stop - from), error);
        from = stop + 1;
        if (rc < 0 || newline == NULL)
            continue;
        rc = run_line(server, local_index, buffer_string(line), error);
        buffer_clear(line);
    }
    return rc;
}

int pmi1_closed(struct pmi1_server *server, uint32_t local_index)
{
    struct pmi1_client *client = &server->clients[local_index];
    int is_abnormal = client->state != CLIENT_NEW && client->state < CLIENT_FINALIZED;

    assert(local_index < server->local_count);
    if (client->state == CLIENT_IN_BARRIER && !server->barrier_is_under_way)
        server->in_barrier--;
    client->state = CLIENT_CLOSED;
    barrier_check(server);
    return is_abnormal;
}

/* ---- life ---- */

struct pmi1_server *pmi1_create(const struct pmi1_config *config)
{
    struct pmi1_server *server = memory_allocate_zeroed(sizeof(*server));

    assert(strlen(config->kvs_name) < PMI1_KVSNAME_BYTES);
    server->ops = *config->ops;
    server->reply = config->reply;
    server->job = config->job;
    server->kvs_name = memory_copy_string(config->kvs_name);
    server->universe_size = config->universe_size;
    server->local_count = config->local_count;
    server->local_ranks =
        memory_copy(config->local_ranks, config->local_count * sizeof(*config->local_ranks));
    server->local_apps =
        memory_copy(config->local_apps, config->local_count * sizeof(*config->local_apps));
    server->clients = memory_allocate_zeroed(config->local_count * sizeof(*server->clients));
    server->values = hash_map_create();
    if (config->process_mapping != NULL && config->process_mapping[0] != '\0')
        value_set(server, "PMI_process_mapping", config->process_mapping);
    return server;
}

void pmi1_destroy(struct pmi1_server *server)
{
    size_t cursor = 0;
    void *value;

    if (server == NULL)
        return;
    while ((value = hash_map_next(server->values, &cursor)) != NULL)
        free(value);
    hash_map_destroy(server->values);
    for (uint32_t i = 0; i < server->local_count; i++)
        buffer_fini(&server->clients[i].line);
    buffer_fini(&server->puts);
    free(server->clients);
    free(server->local_ranks);
    free(server->local_apps);
    free(server->kvs_name);
    free(server);
}

void pmi1_mapping(const struct pmi1_run *runs, size_t runs_count, struct buffer *out)
{
    struct buffer text = {0};

    buffer_append_string(&text, "(vector");
    for (size_t i = 0; i < runs_count && text.length_bytes < PMI1_VALUE_BYTES; i++)
        buffer_printf(&text, ",(%u,%u,%u)", runs[i].first_node, runs[i].nodes,
                      runs[i].ranks_per_node);
    buffer_append_string(&text, ")");
    if (runs_count > 0 && text.length_bytes < PMI1_VALUE_BYTES)
        buffer_append(out, text.data, text.length_bytes);
    buffer_fini(&text);
}
