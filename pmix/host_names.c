/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_names.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"
#include "pmix/pmi_names.h"

#include <pmix.h>

struct host_names {
    struct host_request request;
    pmix_op_cbfunc_t done;
    pmix_lookup_cbfunc_t found;
    void *context;
    char **keys; /* of a lookup, key_count of them */
    uint32_t key_count;
};

/* What an upcall asks, as its infos are read. */
struct request_text {
    struct pmi_names names;
    struct buffer members;
    struct buffer keys;
};

/* ---- Directives ---- */

/* A range that does not exist is as none, for Open MPI 5.0 looks up with one that it has not set, unless it is
 * required. */
static pmix_status_t read_range(const pmix_info_t *info, enum pmi_names_range *ret_range)
{
    const pmix_value_t *value = &info->value;
    static const struct {
        pmix_data_range_t from;
        enum pmi_names_range to;
    } ranges[] = {
        {PMIX_RANGE_UNDEF, PMI_NAMES_SESSION},      {PMIX_RANGE_RM, PMI_NAMES_MANAGER},
        {PMIX_RANGE_LOCAL, PMI_NAMES_NODE},         {PMIX_RANGE_NAMESPACE, PMI_NAMES_NAMESPACE},
        {PMIX_RANGE_SESSION, PMI_NAMES_SESSION},    {PMIX_RANGE_GLOBAL, PMI_NAMES_GLOBAL},
        {PMIX_RANGE_PROC_LOCAL, PMI_NAMES_PROCESS}, {PMIX_RANGE_CUSTOM, PMI_NAMES_LIST},
    };

    for (size_t i = 0; value->type == PMIX_DATA_RANGE && i < sizeof(ranges) / sizeof(ranges[0]);
         i++) {
        if (ranges[i].from == value->data.range) {
            *ret_range = ranges[i].to;
            return PMIX_SUCCESS;
        }
    }
    return value->type == PMIX_DATA_RANGE && !PMIX_INFO_IS_REQUIRED(info) ? PMIX_SUCCESS
                                                                          : PMIX_ERR_BAD_PARAM;
}

static pmix_status_t read_persistence(const pmix_value_t *value,
                                      enum pmi_names_persistence *ret_persistence)
{
    static const enum pmi_names_persistence persistences[] = {
        [PMIX_PERSIST_INDEF] = PMI_NAMES_UNTIL_REMOVED,
        [PMIX_PERSIST_FIRST_READ] = PMI_NAMES_UNTIL_READ,
        [PMIX_PERSIST_PROC] = PMI_NAMES_UNTIL_EXIT,
        [PMIX_PERSIST_APP] = PMI_NAMES_UNTIL_JOB_END,
        [PMIX_PERSIST_SESSION] = PMI_NAMES_UNTIL_REMOVED,
    };

    if (value->type != PMIX_PERSIST ||
        value->data.persist >= sizeof(persistences) / sizeof(persistences[0]))
        return PMIX_ERR_BAD_PARAM;
    *ret_persistence = persistences[value->data.persist];
    return PMIX_SUCCESS;
}

static int compare_procs(const void *a, const void *b)
{
    const pmix_proc_t *left = a, *right = b;
    int order = strncmp(left->nspace, right->nspace, PMIX_MAX_NSLEN);

    return order != 0 ? order : (left->rank > right->rank) - (left->rank < right->rank);
}

/* Sorted, so that the same processes are the same list. */
static void add_members(const pmix_proc_t *procs, size_t count, struct buffer *members)
{
    pmix_proc_t *sorted = memory_copy(procs, count * sizeof(*procs));
    struct host_process process;

    assert(count > 0);
    qsort(sorted, count, sizeof(*sorted), compare_procs);
    for (size_t i = 0; i < count; i++) {
        host_process_from_pmix(&sorted[i], &process);
        pmi_names_member_put(members, process.namespace,
                             process.rank == PMI_RANK_ALL ? PMI_NAMES_RANK_ALL : process.rank);
    }
    free(sorted);
}

static pmix_status_t read_members(const pmix_value_t *value, struct buffer *members)
{
    const pmix_data_array_t *array = value->data.darray;

    buffer_clear(members);
    if (value->type == PMIX_PROC && value->data.proc != NULL)
        add_members(value->data.proc, 1, members);
    else if (value->type == PMIX_DATA_ARRAY && array != NULL && array->type == PMIX_PROC &&
             array->size > 0)
        add_members(array->array, array->size, members);
    else
        return PMIX_ERR_BAD_PARAM;
    return PMIX_SUCCESS;
}

/* PMIX_WAIT: how many keys; 0 or a truth value: all of them. */
static pmix_status_t read_wait(const pmix_value_t *value, struct pmi_names *names)
{
    pmix_status_t status = PMIX_SUCCESS;
    uint32_t wanted = 0;

    if (value->type != PMIX_BOOL && value->type != PMIX_UNDEF)
        PMIX_VALUE_GET_NUMBER(status, value, wanted, uint32_t);
    names->waits = value->type != PMIX_BOOL || value->data.flag;
    names->wanted = wanted;
    return status == PMIX_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

static int is_one_of(const pmix_info_t *info, const char *const *keys)
{
    while (*keys != NULL && !PMIX_CHECK_KEY(info, *keys))
        keys++;
    return *keys != NULL;
}

/* Reserved keys are directives, known or not; others are what is published. */
static int is_directive(const pmix_info_t *info)
{
    return PMIX_CHECK_KEY(info, HOST_NAMES_REPLACE) || PMIX_CHECK_RESERVED_KEY(info->key);
}

static pmix_status_t read_directive(const pmix_info_t *info, struct request_text *text)
{
    /* An instance has one user, who is the caller; time limits are the request's. */
    static const char *const others[] = {PMIX_TIMEOUT, PMIX_USERID, PMIX_GRPID, NULL};

    if (PMIX_CHECK_KEY(info, PMIX_RANGE))
        return read_range(info, &text->names.range);
    if (PMIX_CHECK_KEY(info, PMIX_PERSISTENCE))
        return read_persistence(&info->value, &text->names.persistence);
    if (PMIX_CHECK_KEY(info, PMIX_EVENT_CUSTOM_RANGE))
        return read_members(&info->value, &text->members);
    if (PMIX_CHECK_KEY(info, PMIX_WAIT))
        return read_wait(&info->value, &text->names);
    if (PMIX_CHECK_KEY(info, HOST_NAMES_REPLACE))
        text->names.may_replace = PMIX_INFO_TRUE(info);
    else if (PMIX_INFO_IS_REQUIRED(info) && !is_one_of(info, others))
        return PMIX_ERR_NOT_SUPPORTED;
    return PMIX_SUCCESS;
}

static pmix_status_t read_directives(const pmix_info_t info[], size_t count,
                                     struct request_text *text)
{
    pmix_status_t status = PMIX_SUCCESS;

    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) {
        if (is_directive(&info[i]))
            status = read_directive(&info[i], text);
    }
    if (status == PMIX_SUCCESS && text->names.range == PMI_NAMES_LIST &&
        text->members.length_bytes == 0)
        status = PMIX_ERR_BAD_PARAM;
    if (text->names.range != PMI_NAMES_LIST)
        buffer_clear(&text->members);
    return status;
}

/* ---- Keys ---- */

static int is_key(const char *key)
{
    return key[0] != '\0' && strlen(key) <= PMIX_MAX_KEYLEN;
}

static pmix_status_t add_value(const pmix_info_t *info, struct request_text *text)
{
    pmix_value_t *value = (pmix_value_t *)&info->value;
    pmix_data_buffer_t packed;
    pmix_status_t status;

    if (!is_key(info->key) || text->names.count == PMI_NAMES_KEYS_MAX)
        return PMIX_ERR_BAD_PARAM;
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    status = PMIx_Data_pack(NULL, &packed, value, 1, PMIX_VALUE);
    if (status == PMIX_SUCCESS && packed.bytes_used > PMI_NAMES_VALUE_BYTES_MAX)
        status = PMIX_ERR_BAD_PARAM;
    if (status == PMIX_SUCCESS)
        pmi_names_key_put(&text->keys, info->key, packed.base_ptr, packed.bytes_used);
    text->names.count += status == PMIX_SUCCESS;
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return status;
}

static pmix_status_t add_values(const pmix_info_t info[], size_t count, struct request_text *text)
{
    pmix_status_t status = PMIX_SUCCESS;

    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) {
        if (!is_directive(&info[i]))
            status = add_value(&info[i], text);
    }
    if (text->names.count == 0)
        status = PMIX_ERR_BAD_PARAM;
    return status;
}

static pmix_status_t add_keys(char **keys, struct request_text *text)
{
    for (; keys != NULL && *keys != NULL; keys++) {
        if (!is_key(*keys) || text->names.count == PMI_NAMES_KEYS_MAX)
            return PMIX_ERR_BAD_PARAM;
        pmi_names_key_put(&text->keys, *keys, NULL, 0);
        text->names.count++;
    }
    return PMIX_SUCCESS;
}

/* ---- Requests ---- */

static void text_fini(struct request_text *text)
{
    buffer_fini(&text->members);
    buffer_fini(&text->keys);
}

static void names_free(struct host_names *names)
{
    for (uint32_t i = 0; i < names->key_count; i++)
        free(names->keys[i]);
    free(names->keys);
    free(names);
}

/* Takes names. */
static pmix_status_t send_request(struct host_names *names, enum pmi_request_kind kind,
                                  const pmix_proc_t *proc, const pmix_info_t info[],
                                  size_t info_count, struct request_text *text)
{
    text->names.members = (struct wire_bytes){text->members.data, text->members.length_bytes};
    text->names.keys = (struct wire_bytes){text->keys.data, text->keys.length_bytes};
    assert(kind <= PMI_REQUEST_UNPUBLISH && names->request.answer != NULL);
    names->request.kind = kind;
    host_job_caller(host_self(), proc, &names->request.caller);
    names->request.timeout_ms = host_timeout_ms(info, info_count);
    pmi_names_encode(&text->names, &names->request.data);
    host_request_send(&names->request);
    return PMIX_SUCCESS;
}

static void answer_done(struct host *host, struct host_request *request, int status,
                        const void *data, size_t data_bytes)
{
    struct host_names *names = (struct host_names *)request;

    assert(names->done != NULL && status <= 0);
    names->done(status == -EEXIST ? PMIX_ERR_DUPLICATE_KEY : host_status_from_errno(status),
                names->context);
    names_free(names);
}

static struct host_names *names_create(pmix_op_cbfunc_t callback, void *context)
{
    struct host_names *names = memory_allocate_zeroed(sizeof(*names));

    names->request.answer = answer_done;
    names->done = callback;
    names->context = context;
    return names;
}

pmix_status_t host_names_publish(const pmix_proc_t *proc, const pmix_info_t info[],
                                 size_t info_count, pmix_op_cbfunc_t callback, void *context)
{
    struct request_text text = {
        .names = {.range = PMI_NAMES_SESSION, .persistence = PMI_NAMES_UNTIL_JOB_END}};
    pmix_status_t status = read_directives(info, info_count, &text);

    if (status == PMIX_SUCCESS)
        status = add_values(info, info_count, &text);
    if (status == PMIX_SUCCESS)
        status = send_request(names_create(callback, context), PMI_REQUEST_PUBLISH, proc, info,
                              info_count, &text);
    text_fini(&text);
    return status;
}

pmix_status_t host_names_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                   size_t info_count, pmix_op_cbfunc_t callback, void *context)
{
    int has_keys = keys != NULL && keys[0] != NULL;
    struct request_text text = {.names = {.range = has_keys ? PMI_NAMES_SESSION : PMI_NAMES_ANY}};
    pmix_status_t status = read_directives(info, info_count, &text);

    if (status == PMIX_SUCCESS)
        status = add_keys(keys, &text);
    if (status == PMIX_SUCCESS)
        status = send_request(names_create(callback, context), PMI_REQUEST_UNPUBLISH, proc, info,
                              info_count, &text);
    text_fini(&text);
    return status;
}

/* ---- Lookup ---- */

static int read_found(const struct host_names *names, struct wire_reader *reader,
                      pmix_pdata_t *ret_data)
{
    struct pmi_names_found found;
    pmix_data_buffer_t packed;
    pmix_status_t status;
    int32_t count = 1;
    char *bytes;

    assert(names->keys != NULL);
    pmi_names_found_decode(&found, reader);
    if (wire_status(reader) < 0 || found.index >= names->key_count)
        return -EBADMSG;
    PMIX_LOAD_KEY(ret_data->key, names->keys[found.index]);
    memcpy(ret_data->proc.nspace, found.namespace.data, found.namespace.length_bytes);
    ret_data->proc.rank = found.rank;
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    bytes = memory_copy(found.value.data, found.value.length_bytes);
    PMIX_DATA_BUFFER_LOAD(&packed, bytes, found.value.length_bytes);
    status = PMIx_Data_unpack(NULL, &packed, &ret_data->value, &count, PMIX_VALUE);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return host_status_to_errno(status);
}

/* Found values with PMIX_SUCCESS, even if some were not found: with PMIX_ERR_PARTIAL_SUCCESS the servers of libpmix
 * up to 5.0 would not pass any on, and their headers promise success (pmix.h, PMIx_Lookup). */
static void answer_found(struct host *host, struct host_request *request, int status,
                         const void *data, size_t data_bytes)
{
    struct host_names *names = (struct host_names *)request;
    struct wire_reader reader;
    pmix_pdata_t *found = NULL;
    size_t count = 0;

    assert(names->found != NULL && names->key_count > 0 && status <= 0);
    wire_reader_init(&reader, data, data_bytes);
    if (status == 0)
        PMIX_PDATA_CREATE(found, names->key_count);
    while (status == 0 && wire_left(&reader) > 0 && count < names->key_count) {
        status = read_found(names, &reader, &found[count]);
        count += status == 0;
    }
    if (status < 0)
        names->found(host_status_from_errno(status), NULL, 0, names->context);
    else
        names->found(PMIX_SUCCESS, found, count, names->context);
    if (found != NULL)
        PMIX_PDATA_FREE(found, names->key_count);
    names_free(names);
}

pmix_status_t host_names_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                size_t info_count, pmix_lookup_cbfunc_t callback, void *context)
{
    struct request_text text = {.names = {.range = PMI_NAMES_SESSION}};
    pmix_status_t status = read_directives(info, info_count, &text);
    struct host_names *names;

    if (status == PMIX_SUCCESS)
        status = add_keys(keys, &text);
    if (status == PMIX_SUCCESS && text.names.count == 0)
        status = PMIX_ERR_BAD_PARAM;
    if (status != PMIX_SUCCESS) {
        text_fini(&text);
        return status;
    }
    names = memory_allocate_zeroed(sizeof(*names));
    names->request.answer = answer_found;
    names->found = callback;
    names->context = context;
    names->keys = memory_allocate_zeroed(text.names.count * sizeof(*names->keys));
    for (; names->key_count < text.names.count; names->key_count++)
        names->keys[names->key_count] = memory_copy_string(keys[names->key_count]);
    status = send_request(names, PMI_REQUEST_LOOKUP, proc, info, info_count, &text);
    text_fini(&text);
    return status;
}
