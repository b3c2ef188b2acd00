/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to spawn, which both protocols send as keys with values: PMI-1 one on each line between
 * mcmd=spawn and endcmd, for each program; PMI-2 all in one message.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_socket_internal.h"
#include "pmix/pmi_spawn.h"

/* Of keys and values of one request. */
#define REQUEST_BYTES_MAX (4u << 20)

enum word {
    WORD_PROGRAM,
    WORD_PROCESSES,
    WORD_ARGUMENT,
    WORD_INFO_KEY,
    WORD_INFO_VALUE,
    WORD_PREPUT_KEY,
    WORD_PREPUT_VALUE,
};

/* Keys of PMI-1 and PMI-2; one that is numbered has digits after it, whose order is that of the request. */
static const struct {
    const char *key;
    uint8_t is_numbered;
    enum word word;
} words[] = {
    {"execname", 0, WORD_PROGRAM},
    {"subcmd", 0, WORD_PROGRAM},
    {"nprocs", 0, WORD_PROCESSES},
    {"maxprocs", 0, WORD_PROCESSES},
    {"arg", 1, WORD_ARGUMENT},
    {"argv", 1, WORD_ARGUMENT},
    {"info_key_", 1, WORD_INFO_KEY},
    {"infokey", 1, WORD_INFO_KEY},
    {"info_val_", 1, WORD_INFO_VALUE},
    {"infoval", 1, WORD_INFO_VALUE},
    {"preput_key_", 1, WORD_PREPUT_KEY},
    {"ppkey", 1, WORD_PREPUT_KEY},
    {"preput_val_", 1, WORD_PREPUT_VALUE},
    {"ppval", 1, WORD_PREPUT_VALUE},
};

struct strings {
    char **items; /* ends with NULL; or NULL */
    size_t count;
};

/* What has been said so far. */
struct pmi_socket_spawn {
    struct pmi_spawn spawn;
    char *program; /* of the application that is being described; NULL: not said */
    uint32_t processes;
    struct strings arguments; /* the first is for the program's name */
    struct strings infos;     /* keys and values in turn */
    char *preput_key;         /* whose value comes next */
    size_t bytes;
    int rc; /* the first error */
};

static void strings_add(struct strings *strings, const char *text)
{
    strings->items = memory_resize(strings->items, (strings->count + 2) * sizeof(*strings->items));
    strings->items[strings->count++] = memory_copy_string(text);
    strings->items[strings->count] = NULL;
}

static void strings_clear(struct strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->items[i]);
    free(strings->items);
    *strings = (struct strings){.items = NULL};
}

static void app_clear(struct pmi_socket_spawn *spawn)
{
    free(spawn->program);
    spawn->program = NULL;
    spawn->processes = 1;
    strings_clear(&spawn->arguments);
    strings_add(&spawn->arguments, "");
    strings_clear(&spawn->infos);
}

struct pmi_socket_spawn *pmi_socket_spawn_create(void)
{
    struct pmi_socket_spawn *spawn = memory_allocate_zeroed(sizeof(*spawn));

    pmi_spawn_init(&spawn->spawn);
    app_clear(spawn);
    return spawn;
}

void pmi_socket_spawn_destroy(struct pmi_socket_spawn *spawn)
{
    if (spawn == NULL)
        return;
    app_clear(spawn);
    strings_clear(&spawn->arguments);
    free(spawn->preput_key);
    pmi_spawn_fini(&spawn->spawn);
    free(spawn);
}

/* Info keys that are not known are ignored, as MPI demands. */
void pmi_socket_spawn_app(struct pmi_socket_spawn *spawn)
{
    struct pmi_spawn_app *app;

    if (spawn->rc == 0 && (spawn->program == NULL || spawn->program[0] == '\0'))
        spawn->rc = -EINVAL;
    if (spawn->rc == 0 && spawn->spawn.apps_count == PMI_SPAWN_APPS_MAX)
        spawn->rc = -E2BIG;
    if (spawn->rc == 0) {
        app = pmi_spawn_add_app(&spawn->spawn, spawn->program, spawn->arguments.items, NULL,
                                spawn->processes);
        for (size_t i = 0; i + 1 < spawn->infos.count; i += 2)
            (void)pmi_spawn_info(app, spawn->infos.items[i], spawn->infos.items[i + 1]);
    }
    app_clear(spawn);
}

static void take_processes(struct pmi_socket_spawn *spawn, const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || number == 0 || number > INT32_MAX)
        spawn->rc = -EINVAL;
    else
        spawn->processes = (uint32_t)number;
}

/* Keys and values of infos and preputs come in turn. */
static void take_info(struct pmi_socket_spawn *spawn, int is_value, const char *text)
{
    if ((int)(spawn->infos.count % 2) != is_value)
        spawn->rc = -EINVAL;
    else
        strings_add(&spawn->infos, text);
}

static void take_preput(struct pmi_socket_spawn *spawn, int is_value, const char *text)
{
    if ((spawn->preput_key != NULL) != is_value ||
        strlen(text) >= (is_value ? PMI_KVS_VALUE_BYTES : PMI_KVS_KEY_BYTES) ||
        (!is_value && text[0] == '\0')) {
        spawn->rc = -EINVAL;
        return;
    }
    if (is_value)
        pmi_spawn_add_preput(&spawn->spawn, spawn->preput_key, text);
    free(spawn->preput_key);
    spawn->preput_key = is_value ? NULL : memory_copy_string(text);
}

static void take(struct pmi_socket_spawn *spawn, enum word word, const char *value)
{
    switch (word) {
    case WORD_PROGRAM:
        if (spawn->program != NULL) /* PMI-2 does not say where a program ends */
            pmi_socket_spawn_app(spawn);
        spawn->program = memory_copy_string(value);
        break;
    case WORD_PROCESSES:
        take_processes(spawn, value);
        break;
    case WORD_ARGUMENT:
        strings_add(&spawn->arguments, value);
        break;
    case WORD_INFO_KEY:
    case WORD_INFO_VALUE:
        take_info(spawn, word == WORD_INFO_VALUE, value);
        break;
    default:
        take_preput(spawn, word == WORD_PREPUT_VALUE, value);
    }
}

void pmi_socket_spawn_word(struct pmi_socket_spawn *spawn, const char *key, const char *value)
{
    spawn->bytes += strlen(key) + strlen(value);
    if (spawn->bytes > REQUEST_BYTES_MAX)
        spawn->rc = -E2BIG;
    if (spawn->rc < 0)
        return;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t bytes = strlen(words[i].key);
        const char *number = key + bytes;

        if (strncmp(key, words[i].key, bytes) != 0 ||
            number[strspn(number, "0123456789")] != '\0' ||
            (*number != '\0') != words[i].is_numbered)
            continue;
        take(spawn, words[i].word, value);
        return;
    }
}

/* ---- the answer ---- */

struct spawn_wait {
    struct list_link node;
    uint64_t id;
    uint32_t index;
    char *thread; /* or NULL */
};

static void wait_free(struct spawn_wait *wait)
{
    list_remove(&wait->node);
    free(wait->thread);
    free(wait);
}

void pmi_socket_spawn(struct pmi_socket *socket, uint32_t index, struct pmi_socket_spawn *spawn,
                      const char *thread)
{
    struct pmi_request request = {.kind = PMI_REQUEST_SPAWN,
                                  .caller = pmi_socket_process(socket, index)};
    struct pmi_spawn_answer refused = {.failure = PMI_SPAWN_FAILURE_REFUSED,
                                       .reason = "the request is incomplete or too long"};
    struct buffer data = {0};
    struct spawn_wait *wait;

    if (spawn->rc == 0 && spawn->spawn.apps_count == 0)
        spawn->rc = -EINVAL;
    if (spawn->rc < 0) {
        pmi_socket_spawn_destroy(spawn);
        socket->clients[index].protocol->spawned(socket, index, &refused, thread);
        return;
    }
    wait = memory_allocate_zeroed(sizeof(*wait));
    wait->id = ++socket->last_id;
    wait->index = index;
    wait->thread = thread == NULL ? NULL : memory_copy_string(thread);
    list_append(&socket->spawn_waits, &wait->node);
    pmi_spawn_encode(&spawn->spawn, &data);
    pmi_socket_spawn_destroy(spawn);
    request.id = wait->id;
    request.data = data.data;
    request.data_bytes = data.length_bytes;
    /* The answer may come at once. */
    socket->ops.request(socket->ops.context, &request);
    buffer_fini(&data);
}

int pmi_socket_spawn_done(struct pmi_socket *socket, uint64_t id, int status, const void *data,
                          size_t bytes)
{
    struct pmi_spawn_answer answer = {.failure = PMI_SPAWN_FAILURE_REFUSED,
                                      .reason = "spawning is not possible here"};
    struct list_link *node, *spare;

    list_for_each(&socket->spawn_waits, node, spare)
    {
        struct spawn_wait *wait = list_entry(node, struct spawn_wait, node);

        if (wait->id != id)
            continue;
        if (status == 0)
            (void)pmi_spawn_answer_decode(&answer, data, bytes);
        socket->clients[wait->index].protocol->spawned(socket, wait->index, &answer, wait->thread);
        wait_free(wait);
        return 1;
    }
    return 0;
}

void pmi_socket_spawn_forget(struct pmi_socket *socket, uint32_t index)
{
    struct list_link *node, *spare;

    pmi_socket_spawn_destroy(socket->clients[index].spawn);
    socket->clients[index].spawn = NULL;
    list_for_each(&socket->spawn_waits, node, spare)
    {
        struct spawn_wait *wait = list_entry(node, struct spawn_wait, node);

        if (wait->index == index)
            wait_free(wait);
    }
}
