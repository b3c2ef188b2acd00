/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of PMI-2.  The answer to command X is X-response, with the thread (thrid) of the
 * command, and rc: 0 or a code of the standard, then with errmsg.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi2_wire.h"
#include "pmix/pmi_socket_internal.h"
#include "pmix/pmi_spawn.h"

/* Codes of the standard. */
#define PMI2_ERR_INVALID_ARG        3
#define PMI2_ERR_INVALID_KEY        4
#define PMI2_ERR_INVALID_KEY_LENGTH 5
#define PMI2_ERR_INVALID_VAL        6
#define PMI2_ERR_INVALID_VAL_LENGTH 7
#define PMI2_ERR_OTHER              14

#define ATTRIBUTES_MAX 65536 /* of a node, by one job */

/* A thread of a client that waits for an attribute of its node. */
struct attribute_wait {
    struct list_link node;
    uint32_t index;
    char *name;
    char *thread;
};

struct pmi2_command {
    const char *name;
    int may_wait; /* also while another thread of the client is in a fence */
    int (*run)(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
               struct error *error);
};

/* ---- answers ---- */

static void answer_begin(struct buffer *out, const char *command, const char *thread, int rc)
{
    char name[64];

    snprintf(name, sizeof(name), "%s-response", command);
    pmi2_wire_begin(out, name);
    if (thread != NULL)
        pmi2_wire_add(out, "thrid", thread);
    pmi2_wire_add_number(out, "rc", rc);
}

static void answer_send(const struct pmi_socket *socket, uint32_t index, struct buffer *out)
{
    pmi2_wire_end(out);
    socket->reply(socket->ops.context, index, out->data, out->length_bytes);
    buffer_fini(out);
}

/* rc 0, or a code and why. */
static void answer(const struct pmi_socket *socket, uint32_t index, const char *command,
                   const char *thread, int rc, const char *why)
{
    struct buffer out = {0};

    answer_begin(&out, command, thread, rc);
    if (rc != 0)
        pmi2_wire_add(&out, "errmsg", why);
    answer_send(socket, index, &out);
}

/* value NULL: there is none. */
static void answer_found(const struct pmi_socket *socket, uint32_t index, const char *command,
                         const char *thread, const char *value)
{
    struct buffer out = {0};

    answer_begin(&out, command, thread, 0);
    pmi2_wire_add(&out, "found", value == NULL ? "FALSE" : "TRUE");
    if (value != NULL)
        pmi2_wire_add(&out, "value", value);
    answer_send(socket, index, &out);
}

static const char *thread_of(const struct pmi2_pairs *pairs)
{
    return pmi2_wire_get(pairs, "thrid");
}

/* ---- the job ---- */

static int on_fullinit(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                       struct error *error)
{
    struct buffer out = {0};

    answer_begin(&out, "fullinit", thread_of(pairs), 0);
    pmi2_wire_add_number(&out, "pmi-version", 2);
    pmi2_wire_add_number(&out, "pmi-subversion", 0);
    pmi2_wire_add_number(&out, "rank", socket->local_ranks[index]);
    pmi2_wire_add_number(&out, "size", socket->size);
    pmi2_wire_add_number(&out, "appnum", socket->local_apps[index]);
    if (socket->spawner != NULL)
        pmi2_wire_add(&out, "spawner-jobid", socket->spawner);
    pmi2_wire_add(&out, "debugged", "FALSE");
    pmi2_wire_add(&out, "pmiverbose", "FALSE");
    answer_send(socket, index, &out);
    return 0;
}

static int on_finalize(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                       struct error *error)
{
    answer(socket, index, "finalize", thread_of(pairs), 0, NULL);
    pmi_socket_finalized(socket, index);
    return 0;
}

/* Not answered.  A client that ends itself alone (isworld=FALSE) does so without our help. */
static int on_abort(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                    struct error *error)
{
    struct pmi_process process = pmi_socket_process(socket, index);
    const char *world = pmi2_wire_get(pairs, "isworld"), *why = pmi2_wire_get(pairs, "msg");

    if (why == NULL)
        why = pmi2_wire_get(pairs, "message"); /* of MPICH since 4.1 */
    if (world == NULL || strcmp(world, "FALSE") != 0)
        socket->ops.abort(socket->ops.context, 0, &process,
                          (int)pmi2_wire_number(pairs, "exitcode", 1), why == NULL ? "" : why, NULL,
                          0);
    return 0;
}

static int on_job_getid(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                        struct error *error)
{
    struct buffer out = {0};

    answer_begin(&out, "job-getid", thread_of(pairs), 0);
    pmi2_wire_add(&out, "jobid", socket->kvs_name);
    answer_send(socket, index, &out);
    return 0;
}

/* MPICH and Slurm do not serve these two either. */
static int on_job_connect(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                          struct error *error)
{
    answer(socket, index, "job-connect", thread_of(pairs), PMI2_ERR_OTHER,
           "connecting jobs is not supported");
    return 0;
}

static int on_job_disconnect(struct pmi_socket *socket, uint32_t index,
                             const struct pmi2_pairs *pairs, struct error *error)
{
    answer(socket, index, "job-disconnect", thread_of(pairs), PMI2_ERR_OTHER,
           "disconnecting jobs is not supported");
    return 0;
}

/* A value of the job that the standard names; NULL: another. */
static const char *job_attribute(const struct pmi_socket *socket, const char *key,
                                 struct buffer *text)
{
    if (strcmp(key, "universeSize") == 0) {
        buffer_printf(text, "%u", socket->universe_size);
        return buffer_string(text);
    }
    if (strcmp(key, "PMI_process_mapping") == 0)
        return pmi_kvs_get(socket->kvs, key);
    return NULL;
}

static int on_getjobattr(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                         struct error *error)
{
    const char *key = pmi2_wire_get(pairs, "key");
    struct buffer text = {0};

    if (key == NULL)
        answer(socket, index, "info-getjobattr", thread_of(pairs), PMI2_ERR_INVALID_KEY, "no key");
    else
        answer_found(socket, index, "info-getjobattr", thread_of(pairs),
                     job_attribute(socket, key, &text));
    buffer_fini(&text);
    return 0;
}

/* ---- attributes of the node ---- */

static void wait_free(struct attribute_wait *wait)
{
    list_remove(&wait->node);
    free(wait->name);
    free(wait->thread);
    free(wait);
}

void pmi2_forget(struct pmi_socket *socket, uint32_t index)
{
    struct list_link *node, *spare;

    list_for_each(&socket->attribute_waits, node, spare)
    {
        struct attribute_wait *wait = list_entry(node, struct attribute_wait, node);

        if (wait->index == index)
            wait_free(wait);
    }
}

static void wait_add(struct pmi_socket *socket, uint32_t index, const char *name,
                     const char *thread)
{
    struct attribute_wait *wait = memory_allocate_zeroed(sizeof(*wait));

    wait->index = index;
    wait->name = memory_copy_string(name);
    wait->thread = thread == NULL ? NULL : memory_copy_string(thread);
    list_append(&socket->attribute_waits, &wait->node);
}

/* An attribute of the node: one that the standard names, or one that was put; NULL: none so far. */
static const char *node_attribute(const struct pmi_socket *socket, const char *name,
                                  struct buffer *text)
{
    if (strcmp(name, "localRanksCount") == 0)
        buffer_printf(text, "%u", socket->local_count);
    else if (strcmp(name, "localRanks") == 0)
        for (uint32_t i = 0; i < socket->local_count; i++)
            buffer_printf(text, "%s%u", i > 0 ? "," : "", socket->local_ranks[i]);
    else
        return hash_map_get(socket->attributes, name, strlen(name) + 1);
    /* The rest of a list that is too long for a value is left out. */
    if (text->length_bytes >= PMI_KVS_VALUE_BYTES)
        return NULL;
    return buffer_string(text);
}

static int on_getnodeattr(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                          struct error *error)
{
    const char *name = pmi2_wire_get(pairs, "key"), *wait = pmi2_wire_get(pairs, "wait");
    struct buffer text = {0};
    const char *value = name == NULL ? NULL : node_attribute(socket, name, &text);

    if (name == NULL || strlen(name) >= PMI_KVS_KEY_BYTES)
        answer(socket, index, "info-getnodeattr", thread_of(pairs), PMI2_ERR_INVALID_KEY,
               "the key is missing or too long");
    else if (value == NULL && wait != NULL && strcmp(wait, "TRUE") == 0)
        wait_add(socket, index, name, thread_of(pairs));
    else
        answer_found(socket, index, "info-getnodeattr", thread_of(pairs), value);
    buffer_fini(&text);
    return 0;
}

static void waits_answer(struct pmi_socket *socket, const char *name, const char *value)
{
    struct list_link *node, *spare;

    list_for_each(&socket->attribute_waits, node, spare)
    {
        struct attribute_wait *wait = list_entry(node, struct attribute_wait, node);

        if (strcmp(wait->name, name) != 0)
            continue;
        answer_found(socket, wait->index, "info-getnodeattr", wait->thread, value);
        wait_free(wait);
    }
}

/* The error in the key and value of a put: a code and why; 0 if there is none. */
static int put_check(const struct pmi2_pairs *pairs, const char **ret_why)
{
    const char *key = pmi2_wire_get(pairs, "key"), *value = pmi2_wire_get(pairs, "value");

    if (key == NULL || key[0] == '\0') {
        *ret_why = "no key";
        return PMI2_ERR_INVALID_KEY;
    }
    if (strlen(key) >= PMI_KVS_KEY_BYTES) {
        *ret_why = "the key is longer than 63 characters";
        return PMI2_ERR_INVALID_KEY_LENGTH;
    }
    if (value == NULL) {
        *ret_why = "no value";
        return PMI2_ERR_INVALID_VAL;
    }
    if (strlen(value) >= PMI_KVS_VALUE_BYTES) {
        *ret_why = "the value is longer than 1023 characters";
        return PMI2_ERR_INVALID_VAL_LENGTH;
    }
    return 0;
}

static int on_putnodeattr(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                          struct error *error)
{
    const char *name = pmi2_wire_get(pairs, "key"), *value = pmi2_wire_get(pairs, "value"), *why;
    int rc = put_check(pairs, &why);

    if (rc == 0 && hash_map_count(socket->attributes) >= ATTRIBUTES_MAX) {
        rc = PMI2_ERR_OTHER;
        why = "too many attributes of this node";
    }
    if (rc == 0)
        free(hash_map_put(socket->attributes, name, strlen(name) + 1, memory_copy_string(value)));
    answer(socket, index, "info-putnodeattr", thread_of(pairs), rc, why);
    if (rc == 0)
        waits_answer(socket, name, value);
    return 0;
}

/* ---- values ---- */

static int on_put(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                  struct error *error)
{
    const char *why = NULL;
    int rc = put_check(pairs, &why);

    if (rc == 0 && pmi_kvs_put(socket->kvs, index, pmi2_wire_get(pairs, "key"),
                               pmi2_wire_get(pairs, "value")) < 0) {
        rc = PMI2_ERR_OTHER;
        why = "too much has been put since the last fence";
    }
    answer(socket, index, "kvs-put", thread_of(pairs), rc, why);
    return 0;
}

/* Without a job it is the client's own. */
static int on_get(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                  struct error *error)
{
    const char *key = pmi2_wire_get(pairs, "key"), *job = pmi2_wire_get(pairs, "jobid");

    if (job != NULL && job[0] != '\0' && strcmp(job, socket->kvs_name) != 0)
        answer(socket, index, "kvs-get", thread_of(pairs), PMI2_ERR_INVALID_ARG,
               "the values of another job");
    else if (key == NULL || strlen(key) >= PMI_KVS_KEY_BYTES)
        answer(socket, index, "kvs-get", thread_of(pairs), PMI2_ERR_INVALID_KEY,
               "the key is missing or too long");
    else
        answer_found(socket, index, "kvs-get", thread_of(pairs), pmi_kvs_get(socket->kvs, key));
    return 0;
}

static int on_fence(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                    struct error *error)
{
    (void)pmi_socket_wait(socket, index,
                          thread_of(pairs)); /* no other waits: it would be refused */
    return 0;
}

static void released(struct pmi_socket *socket, uint32_t index, int status, const char *thread)
{
    answer(socket, index, "kvs-fence", thread, status < 0 ? PMI2_ERR_OTHER : 0,
           "the fence has failed, because processes have ended");
}

/* ---- names ---- */

static const char *const name_commands[] = {
    [PMI_REQUEST_PUBLISH] = "name-publish",
    [PMI_REQUEST_LOOKUP] = "name-lookup",
    [PMI_REQUEST_UNPUBLISH] = "name-unpublish",
};

static void named(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind, int status,
                  const char *port, const char *thread)
{
    struct buffer out = {0};

    if (status < 0) {
        answer(socket, index, name_commands[kind], thread, PMI2_ERR_OTHER,
               status == -EEXIST   ? "the name is already published"
               : status == -ENOENT ? "there is no such name"
                                   : "the name service has failed");
        return;
    }
    answer_begin(&out, name_commands[kind], thread, 0);
    if (port != NULL) {
        pmi2_wire_add(&out, "value", port); /* to Slurm's library */
        pmi2_wire_add(&out, "port", port);  /* to MPICH's */
    }
    answer_send(socket, index, &out);
}

static void request_name(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind,
                         const struct pmi2_pairs *pairs)
{
    const char *name = pmi2_wire_get(pairs, "name"), *port = pmi2_wire_get(pairs, "port");

    if (name == NULL || name[0] == '\0' || strlen(name) >= PMI_KVS_NAME_BYTES)
        answer(socket, index, name_commands[kind], thread_of(pairs), PMI2_ERR_INVALID_ARG,
               "the name is missing or too long");
    else if (kind == PMI_REQUEST_PUBLISH && (port == NULL || strlen(port) >= PMI_KVS_VALUE_BYTES))
        answer(socket, index, name_commands[kind], thread_of(pairs), PMI2_ERR_INVALID_ARG,
               "the port is missing or too long");
    else
        pmi_socket_name(socket, index, kind, name, port, thread_of(pairs));
}

static int on_publish(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                      struct error *error)
{
    request_name(socket, index, PMI_REQUEST_PUBLISH, pairs);
    return 0;
}

static int on_lookup(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                     struct error *error)
{
    request_name(socket, index, PMI_REQUEST_LOOKUP, pairs);
    return 0;
}

static int on_unpublish(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                        struct error *error)
{
    request_name(socket, index, PMI_REQUEST_UNPUBLISH, pairs);
    return 0;
}

/* ---- spawn ---- */

static int on_spawn(struct pmi_socket *socket, uint32_t index, const struct pmi2_pairs *pairs,
                    struct error *error)
{
    struct pmi_socket_spawn *spawn = pmi_socket_spawn_create();

    for (size_t i = 0; i < pairs->count; i++)
        pmi_socket_spawn_word(spawn, pairs->items[i].key, pairs->items[i].value);
    pmi_socket_spawn_app(spawn);
    pmi_socket_spawn(socket, index, spawn, thread_of(pairs));
    return 0;
}

static void spawned(struct pmi_socket *socket, uint32_t index,
                    const struct pmi_spawn_answer *spawn_answer, const char *thread)
{
    struct buffer out = {0};

    if (spawn_answer->failure != PMI_SPAWN_FAILURE_NONE) {
        answer(socket, index, "spawn", thread, PMI2_ERR_OTHER, spawn_answer->reason);
        return;
    }
    answer_begin(&out, "spawn", thread, 0);
    pmi2_wire_add(&out, "jobid", spawn_answer->namespace);
    answer_send(socket, index, &out);
}

/* ---- messages ---- */

static const struct pmi2_command commands[] = {
    {"fullinit", 0, on_fullinit},
    {"finalize", 0, on_finalize},
    {"abort", 1, on_abort},
    {"job-getid", 1, on_job_getid},
    {"job-connect", 1, on_job_connect},
    {"job-disconnect", 1, on_job_disconnect},
    {"info-getjobattr", 1, on_getjobattr},
    {"info-getnodeattr", 1, on_getnodeattr},
    {"info-putnodeattr", 1, on_putnodeattr},
    {"kvs-put", 1, on_put},
    {"kvs-get", 1, on_get},
    {"kvs-fence", 0, on_fence},
    {"name-publish", 1, on_publish},
    {"name-lookup", 1, on_lookup},
    {"name-unpublish", 1, on_unpublish},
    {"spawn", 1, on_spawn},
};

static const struct pmi2_command *command_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int run(struct pmi_socket *socket, uint32_t index, char *message, struct error *error)
{
    enum pmi_client_state state = socket->clients[index].state;
    const struct pmi2_command *command;
    struct pmi2_pairs pairs;
    const char *name;
    int rc = 0;

    if (pmi2_wire_decode(message, &pairs) < 0)
        return error_set(error, -EPROTO, "PMI-2: a message that does not consist of pairs");
    name = pmi2_wire_get(&pairs, "cmd");
    command = command_find(name);
    if (command == NULL)
        rc = error_set(error, -EPROTO, "PMI-2: unknown command: %.200s", name == NULL ? "" : name);
    else if (state != PMI_CLIENT_READY && !(state == PMI_CLIENT_IN_BARRIER && command->may_wait))
        rc = error_set(error, -EPROTO, "PMI-2: command at the wrong time: %.200s", name);
    else
        rc = command->run(socket, index, &pairs, error);
    pmi2_wire_fini(&pairs);
    return rc;
}

const struct pmi_protocol pmi2_protocol = {.cut = pmi2_wire_cut,
                                           .run = run,
                                           .released = released,
                                           .named = named,
                                           .spawned = spawned};
