/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_group.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "pmix/host_fence.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"
#include "pmix/pmi_group.h"

#include <pmix.h>

/* Of the number of a context: a count of this node above, its place below. */
#define PLACE_BITS 20
#define ANSWER_MAX 3 /* members, context, data */

/* Directives that we obey, and those that libpmix itself obeys or adds. */
static const char *const known[] = {PMIX_TIMEOUT,
                                    PMIX_GROUP_ASSIGN_CONTEXT_ID,
                                    PMIX_GROUP_LOCAL_ONLY,
                                    PMIX_GROUP_ENDPT_DATA,
                                    PMIX_GROUP_INFO,
                                    PMIX_SORTED_PROC_ARRAY,
                                    PMIX_LOCAL_COLLECTIVE_STATUS,
#ifdef PMIX_EMBED_BARRIER
                                    PMIX_EMBED_BARRIER,
#endif
                                    NULL};

/* Without them the call would mean something else.  The second is not in version 4. */
static const char *const refused[] = {PMIX_GROUP_ADD_MEMBERS, "pmix.grp.btstrp"};

struct group {
    struct host_call call; /* of one that is refused */
    pmix_group_operation_t operation;
    int wants_context;
    pmix_proc_t *members;
    size_t members_count;
    pmix_info_cbfunc_t callback;
    void *context;
    pmix_info_t *answer; /* libpmix's until it calls group_free */
    size_t answer_count;
};

/* libpmix's function that answers a group operation, once it has shown it; guarded by the host's mutex. */
static pmix_info_cbfunc_t answer_function;

/* ---- Those that are open ---- */

static void group_open(struct host *host, struct group *group)
{
    pthread_mutex_lock(&host->mutex);
    answer_function = group->callback;
    hash_map_put_u64(host->groups, (uintptr_t)group->context, group);
    pthread_mutex_unlock(&host->mutex);
}

/* libpmix calls us again for an operation that is open if a process calls twice or is no member (it counts callers, and
 * forgets those that have died); version 5.0.7 also for each destruct whose members are all local.  Its first answer goes
 * to all callers: another would use what libpmix has freed, and so it would after an error. */
static int is_open(struct host *host, const void *context)
{
    const struct group *group;

    pthread_mutex_lock(&host->mutex);
    group = hash_map_get_u64(host->groups, (uintptr_t)context);
    pthread_mutex_unlock(&host->mutex);
    return group != NULL;
}

/* What libpmix calls when it has answered the callers, in the thread in which it calls us: only then does no further call
 * come for this context. */
static void group_free(void *context)
{
    struct group *group = context;
    struct host *host = host_self();

    pthread_mutex_lock(&host->mutex);
    assert(hash_map_get_u64(host->groups, (uintptr_t)group->context) == group);
    hash_map_remove_u64(host->groups, (uintptr_t)group->context);
    pthread_mutex_unlock(&host->mutex);
    if (group->answer != NULL)
        PMIX_INFO_FREE(group->answer, group->answer_count);
    free(group->members);
    free(group);
}

/* ---- The answer ---- */

static void add_context(struct group *group, uint64_t number)
{
    size_t value = number;

    assert(number != 0 && group->answer_count < ANSWER_MAX);
    PMIX_INFO_LOAD(&group->answer[group->answer_count], PMIX_GROUP_CONTEXT_ID, &value, PMIX_SIZE);
    group->answer_count++;
}

static void add_blob(struct group *group, const struct buffer *blob)
{
    pmix_byte_object_t object = {.bytes = (char *)blob->data, .size = blob->length_bytes};

    assert(object.size > 0 && group->answer_count < ANSWER_MAX);
    PMIX_INFO_LOAD(&group->answer[group->answer_count], PMIX_GROUP_ENDPT_DATA, &object,
                   PMIX_BYTE_OBJECT);
    group->answer_count++;
}

static void add_members(struct group *group)
{
    pmix_data_array_t members = {
        .type = PMIX_PROC, .size = group->members_count, .array = group->members};

    PMIX_INFO_LOAD(&group->answer[group->answer_count], PMIX_GROUP_MEMBERSHIP, &members,
                   PMIX_DATA_ARRAY);
    group->answer_count++;
}

static void group_answer(void *context, int status, const void *data, size_t data_bytes)
{
    struct group *group = context;
    struct buffer blob = {0};
    uint64_t number = 0;

    if (status == 0 && pmi_group_decode(data, data_bytes, &number, &blob) < 0)
        status = -EBADMSG;
    assert(group->answer == NULL && status <= 0);
    if (status == 0 && group->operation == PMIX_GROUP_CONSTRUCT) {
        PMIX_INFO_CREATE(group->answer, ANSWER_MAX);
        add_members(group);
        if (group->wants_context)
            add_context(group, number);
        if (blob.length_bytes > 0)
            add_blob(group, &blob);
    }
    buffer_fini(&blob);
    group->callback(host_status_from_errno(status), group->answer, group->answer_count,
                    group->context, group_free, group);
}

/* ---- The call ---- */

static void refuse_run(struct host *host, struct host_call *call)
{
    struct group *group = (struct group *)call;

    (void)host;
    group->callback(PMIX_ERR_NOT_SUPPORTED, NULL, 0, group->context, group_free, group);
}

static int has_refused(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
            if (strcmp(info[i].key, refused[k]) == 0)
                return 1;
        }
    }
    return 0;
}

static const pmix_info_t *find_info(const pmix_info_t *info, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(info[i].key, key) == 0)
            return &info[i];
    }
    return NULL;
}

/* Of one job: libpmix would store data of several under the wrong processes, as in a fence. */
static int are_of_one_job(const pmix_proc_t procs[], size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(procs[i].nspace, procs[0].nspace) != 0)
            return 0;
    }
    return 1;
}

static void contribution_write(const pmix_proc_t procs[], size_t procs_count,
                               const pmix_info_t *info, size_t info_count, struct buffer *out)
{
    struct host *host = host_self();
    const pmix_info_t *blob = find_info(info, info_count, PMIX_GROUP_ENDPT_DATA);
    int has_data =
        blob != NULL && blob->value.type == PMIX_BYTE_OBJECT && are_of_one_job(procs, procs_count);
    uint64_t number;

    assert(host->place < 1u << PLACE_BITS);
    pthread_mutex_lock(&host->mutex);
    number = (++host->last_context << PLACE_BITS) | host->place;
    pthread_mutex_unlock(&host->mutex);
    pmi_group_encode(number, has_data ? blob->value.data.bo.bytes : NULL,
                     has_data ? blob->value.data.bo.size : 0, out);
}

static struct group *group_create(pmix_group_operation_t operation, const pmix_proc_t procs[],
                                  size_t procs_count, const pmix_info_t *info, size_t info_count,
                                  pmix_info_cbfunc_t callback, void *context)
{
    struct group *group = memory_allocate_zeroed(sizeof(*group));
    const pmix_info_t *wants = find_info(info, info_count, PMIX_GROUP_ASSIGN_CONTEXT_ID);

    group->operation = operation;
    group->wants_context = wants != NULL && PMIX_INFO_TRUE(wants);
    group->members = memory_copy(procs, procs_count * sizeof(*procs));
    group->members_count = procs_count;
    group->callback = callback;
    group->context = context;
    return group;
}

/* What members give a group goes with their data. */
static int is_refused(pmix_group_operation_t operation, const char *name, const pmix_proc_t procs[],
                      size_t procs_count, const pmix_info_t info[], size_t info_count)
{
    if ((operation != PMIX_GROUP_CONSTRUCT && operation != PMIX_GROUP_DESTRUCT) ||
        procs_count == 0 || name == NULL)
        return 1;
    if (find_info(info, info_count, PMIX_GROUP_INFO) != NULL && !are_of_one_job(procs, procs_count))
        return 1;
    return has_refused(info, info_count) || host_refuses(info, info_count, known);
}

pmix_status_t host_group_upcall(pmix_group_operation_t operation, char *name,
                                const pmix_proc_t procs[], size_t procs_count,
                                const pmix_info_t info[], size_t info_count,
                                pmix_info_cbfunc_t callback, void *context)
{
    int is_construct = operation == PMIX_GROUP_CONSTRUCT;
    struct host *host = host_self();
    struct buffer contribution = {0};
    struct group *group;

    if (callback == NULL)
        return PMIX_ERR_NOT_SUPPORTED;
    if (is_open(host, context))
        return PMIX_SUCCESS;
    group = group_create(operation, procs, procs_count, info, info_count, callback, context);
    group_open(host, group);
    if (is_refused(operation, name, procs, procs_count, info, info_count)) {
        /* An error returned would reach the last of the callers only. */
        group->call.run = refuse_run;
        host_thread_post(&group->call);
        return PMIX_SUCCESS;
    }
    contribution_write(procs, procs_count, info, info_count, &contribution);
    host_fence_ask(is_construct ? PMI_GROUP_CONSTRUCT : PMI_GROUP_DESTRUCT, name, procs,
                   procs_count, host_timeout_ms(info, info_count), &contribution, group_answer,
                   group);
    buffer_fini(&contribution);
    return PMIX_SUCCESS;
}

/* ---- Timers of libpmix 4.2.2 ---- */

/* Where things are in its objects: an object has its class after a mutex, a class begins with its name, and the
 * tracker of a collective has after its timer three flags and its name, which only that of a group has. */
#define CLASS_OFFSET  sizeof(pthread_mutex_t)
#define OBJECT_MAX    512
#define TRACKER_FLAGS 3

static const void *pointer_at(const void *base, size_t offset)
{
    const void *pointer;

    memcpy(&pointer, (const char *)base + offset, sizeof(pointer));
    return pointer;
}

static size_t name_offset(size_t event_bytes)
{
    size_t end = event_bytes + TRACKER_FLAGS;

    return (end + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
}

static int is_tracker(const struct event *event, const void *context)
{
    ptrdiff_t before = (const char *)event - (const char *)context;
    const void *class, *name;

    if (context == NULL || before < (ptrdiff_t)(CLASS_OFFSET + sizeof(void *)) ||
        before > OBJECT_MAX)
        return 0;
    class = pointer_at(context, CLASS_OFFSET);
    name = class != NULL ? pointer_at(class, 0) : NULL;
    return name != NULL && strcmp(name, "pmix_server_trkr_t") == 0;
}

static void overdue_run(struct host *host, struct host_call *call)
{
    struct pmi_process process;
    char *text;

    free(call);
    if (!host_job_any(host, &process))
        return;
    text =
        memory_printf("the time limit of a PMIx group operation is over, but libpmix 4.2.2 cannot "
                      "answer its callers on %s: another process there has not called it\n",
                      host->node_name);
    host->ops.text(host->ops.context, &process, text, strlen(text));
    free(text);
}

/* If libpmix has called us the answer comes from the daemon, at the same time limit. */
static void on_group_overdue(int fd, short what, void *context)
{
    struct host *host = host_self();
    pmix_info_cbfunc_t answer;
    struct host_call *overdue;

    (void)fd;
    (void)what;
    if (host == NULL)
        return;
    if (is_open(host, context))
        return;
    pthread_mutex_lock(&host->mutex);
    answer = answer_function;
    pthread_mutex_unlock(&host->mutex);
    if (answer != NULL) {
        answer(PMIX_ERR_TIMEOUT, NULL, 0, context, NULL, NULL);
        return;
    }
    overdue = memory_allocate_zeroed(sizeof(*overdue));
    overdue->run = overdue_run;
    host_thread_post(overdue);
}

host_timer_function *host_group_timer(const struct event *event, const void *context,
                                      size_t event_bytes)
{
    const char *version = PMIx_Get_version();

    if (strstr(version, "4.2.2") == NULL || !is_tracker(event, context) ||
        pointer_at(event, name_offset(event_bytes)) == NULL)
        return NULL;
    return on_group_overdue;
}
