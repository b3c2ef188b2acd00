/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that asks for the fabric: pmix_fabric STEP..., each on every rank, or on rank N only (rN:STEP).
 * pmix_fabric tool:FILE STEP... is a tool, which connects to the server that FILE is of.
 *
 *     fence, await:FILE
 *     touch:FILE          makes an empty file
 *     events              registers a handler that prints "event: PENDING" or "event: UPDATED"
 *     updated             waits for the next UPDATED
 *     register[:PLANE]    prints "register: STATUS" and what the answer has (below); PLANE: with that directive
 *     update, deregister  likewise
 *     ask:KEY[;QUALIFIER=VALUE]   of PMIx_Query_info: prints "KEY: VALUE" and "ask: STATUS"
 *     count:KEY...        likewise: prints the number of costs
 *
 * An answer is one line for each of its keys: "KEY: VALUE"; the matrix is one line for each row.
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUALIFIERS_MAX 8

static pmix_proc_t self;
static pmix_fabric_t fabric;
static size_t devices; /* of the last answer */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int updates, updates_seen;

static void print_value(const char *key, const pmix_value_t *value);

static void print_costs(const pmix_data_array_t *array)
{
    const uint16_t *costs = array->array;

    for (size_t i = 0; i < array->size; i++)
        printf("%s%u",
               devices > 0 && i > 0 && i % devices == 0 ? "\n"
               : i > 0                                  ? ","
                                                        : "",
               costs[i]);
    printf("\n");
}

static void print_place(const pmix_geometry_t *geometry)
{
    const pmix_coord_t *place = geometry->coordinates;

    printf(" %s:", geometry->ncoords == 1 && place->view == PMIX_COORD_LOGICAL_VIEW ? "at" : "?");
    for (size_t i = 0; geometry->ncoords == 1 && i < place->dims; i++)
        printf("%s%u", i > 0 ? "." : "", place->coord[i]);
}

/* What is known of the NIC itself: KEY=VALUE, after the key's common beginning. */
static int print_known(const pmix_info_t *item)
{
    static const char beginning[] = PMIX_FABRIC_DEVICE ".";
    const char *key = item->key + sizeof(beginning) - 1;

    if (strncmp(item->key, beginning, sizeof(beginning) - 1) != 0 ||
        PMIX_CHECK_KEY(item, PMIX_FABRIC_DEVICE_NAME) ||
        PMIX_CHECK_KEY(item, PMIX_FABRIC_DEVICE_INDEX))
        return 0;
    if (item->value.type == PMIX_STRING)
        printf(" %s=%s", key, item->value.data.string);
    else if (item->value.type == PMIX_SIZE)
        printf(" %s=%zu", key, item->value.data.size);
    else if (item->value.type == PMIX_LINK_STATE)
        printf(" %s=%s", key,
               item->value.data.linkstate == PMIX_LINK_UP     ? "UP"
               : item->value.data.linkstate == PMIX_LINK_DOWN ? "DOWN"
                                                              : "?");
    else
        printf(" %s: type %d", key, (int)item->value.type);
    return 1;
}

static void print_infos(const pmix_data_array_t *array)
{
    const pmix_info_t *items = array->array;

    for (size_t i = 0; i < array->size; i++) {
        if (print_known(&items[i]))
            continue;
        if (items[i].value.type == PMIX_STRING)
            printf("%s%s", i > 0 ? " " : "", items[i].value.data.string);
        else if (items[i].value.type == PMIX_UINT32)
            printf(" %u", items[i].value.data.uint32);
        else if (items[i].value.type == PMIX_DATA_ARRAY) /* a device of several */
            print_value(items[i].key, &items[i].value);
        else if (items[i].value.type == PMIX_GEOMETRY)
            print_place(items[i].value.data.geometry);
    }
    if (array->size == 0 || items[0].value.type != PMIX_DATA_ARRAY)
        printf("\n");
}

static void print_array(const char *key, const pmix_data_array_t *array)
{
    if (array->type == PMIX_UINT16) {
        printf("%s:\n", key);
        print_costs(array);
    } else if (array->type == PMIX_INFO) {
        printf("%s: ", key);
        if (array->size > 0 && ((pmix_info_t *)array->array)[0].value.type == PMIX_DATA_ARRAY)
            printf("%zu\n", array->size);
        print_infos(array);
    } else if (array->type == PMIX_STRING) {
        printf("%s:", key);
        for (size_t i = 0; i < array->size; i++)
            printf(" '%s'", ((char **)array->array)[i]);
        printf("\n");
    } else {
        printf("%s: array of type %d\n", key, (int)array->type);
    }
}

static void print_value(const char *key, const pmix_value_t *value)
{
    if (value->type == PMIX_STRING)
        printf("%s: %s\n", key, value->data.string);
    else if (value->type == PMIX_UINT32)
        printf("%s: %u\n", key, value->data.uint32);
    else if (value->type == PMIX_SIZE)
        printf("%s: %zu\n", key, value->data.size);
    else if (value->type == PMIX_DATA_ARRAY && value->data.darray != NULL)
        print_array(key, value->data.darray);
    else
        printf("%s: type %d\n", key, (int)value->type);
}

/* How many devices there are is not known before the matrix, if that comes first. */
static void print_answer(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_FABRIC_NUM_DEVICES))
            devices = info[i].value.data.size;
    }
    for (size_t i = 0; i < count; i++)
        print_value(info[i].key, &info[i].value);
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t done, void *context)
{
    (void)id, (void)source, (void)info, (void)info_count, (void)results, (void)results_count;
    pthread_mutex_lock(&lock);
    printf("event: %s\n", status == PMIX_FABRIC_UPDATED ? "UPDATED" : "PENDING");
    fflush(stdout);
    updates += status == PMIX_FABRIC_UPDATED;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void listen_to_events(void)
{
    pmix_status_t codes[] = {PMIX_FABRIC_UPDATE_PENDING, PMIX_FABRIC_UPDATED};

    if (PMIx_Register_event_handler(codes, 2, NULL, 0, on_event, NULL, NULL) < 0)
        printf("events: refused\n");
}

static void wait_for_update(void)
{
    pthread_mutex_lock(&lock);
    while (updates == updates_seen)
        pthread_cond_wait(&changed, &lock);
    updates_seen = updates;
    pthread_mutex_unlock(&lock);
}

static void register_fabric(const char *plane)
{
    pmix_info_t directive;
    pmix_status_t status;

    PMIX_FABRIC_CONSTRUCT(&fabric);
    if (plane != NULL)
        PMIX_INFO_LOAD(&directive, PMIX_FABRIC_PLANE, plane, PMIX_STRING);
    status = PMIx_Fabric_register(&fabric, plane != NULL ? &directive : NULL, plane != NULL);
    printf("register: %s\n", status_name(status));
    print_answer(fabric.info, fabric.ninfo);
}

static void update_fabric(void)
{
    printf("update: %s\n", status_name(PMIx_Fabric_update(&fabric)));
    print_answer(fabric.info, fabric.ninfo);
}

static void ask(char *text, int counts)
{
    pmix_info_t qualifiers[QUALIFIERS_MAX], *results = NULL;
    char *key = strsep(&text, ";"), *word, *keys[] = {key, NULL};
    size_t results_count = 0;
    pmix_query_t query;
    pmix_status_t status;

    PMIX_QUERY_CONSTRUCT(&query);
    query.keys = keys;
    query.qualifiers = qualifiers;
    while ((word = strsep(&text, ";")) != NULL) {
        char *name = strsep(&word, "=");
        uint32_t number = word != NULL ? (uint32_t)strtoul(word, NULL, 10) : 0;

        if (strcmp(name, PMIX_FABRIC_DEVICE_INDEX) == 0)
            PMIX_INFO_LOAD(&qualifiers[query.nqual++], name, &number, PMIX_UINT32);
        else
            PMIX_INFO_LOAD(&qualifiers[query.nqual++], name, word, PMIX_STRING);
    }
    if (query.nqual == 0)
        query.qualifiers = NULL;
    status = PMIx_Query_info(&query, 1, &results, &results_count);
    if (counts && results_count == 1 && results[0].value.type == PMIX_DATA_ARRAY) {
        printf("%zu\n", results[0].value.data.darray->size);
        return;
    }
    print_answer(results, results_count);
    printf("ask: %s\n", status_name(status));
}

static void await_file(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(10000);
}

static void step(char *text)
{
    char *word = strsep(&text, ":");

    if (strcmp(word, "fence") == 0) {
        (void)PMIx_Fence(NULL, 0, NULL, 0);
    } else if (strcmp(word, "await") == 0) {
        await_file(text);
    } else if (strcmp(word, "touch") == 0) {
        FILE *file = fopen(text, "w");

        if (file != NULL)
            fclose(file);
    } else if (strcmp(word, "events") == 0) {
        listen_to_events();
    } else if (strcmp(word, "updated") == 0) {
        wait_for_update();
    } else if (strcmp(word, "register") == 0) {
        register_fabric(text);
    } else if (strcmp(word, "update") == 0) {
        update_fabric();
    } else if (strcmp(word, "deregister") == 0) {
        printf("deregister: %s\n", status_name(PMIx_Fabric_deregister(&fabric)));
    } else if (strcmp(word, "ask") == 0) {
        ask(text, 0);
    } else if (strcmp(word, "count") == 0) {
        ask(text, 1);
    } else {
        printf("unknown step %s\n", word);
    }
    fflush(stdout);
}

static pmix_status_t start(const char *file)
{
    pmix_info_t info;

    if (file == NULL)
        return PMIx_Init(&self, NULL, 0);
    PMIX_INFO_LOAD(&info, PMIX_TOOL_ATTACHMENT_FILE, file, PMIX_STRING);
    return PMIx_tool_init(&self, &info, 1);
}

int main(int argc, char **argv)
{
    const char *file = argc > 1 && strncmp(argv[1], "tool:", 5) == 0 ? argv[1] + 5 : NULL;
    pmix_status_t status = start(file);

    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    for (int i = file != NULL ? 2 : 1; i < argc; i++) {
        unsigned int rank;
        int skip = 0;

        if (sscanf(argv[i], "r%u:%n", &rank, &skip) == 1 && skip > 0 && rank != self.rank)
            continue;
        step(argv[i] + skip);
    }
    status = file != NULL ? PMIx_tool_finalize() : PMIx_Finalize(NULL, 0);
    return status == PMIX_SUCCESS ? 0 : 1;
}
