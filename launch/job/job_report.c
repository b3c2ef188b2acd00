/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages about the end of a job, and its exit status (doc/job.rst).
 */
#include "config.h"

#include "launch/job/job_report.h"
#include "launch/job/instance_state.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/exit_status.h"
#include "launch/proto/report_line.h"

#define SEEN_MAX          64
#define REPORT_RANGES_MAX 16 /* of ranks in one line */

static void place_name(const struct instance *instance, uint32_t place,
                       char name[HOST_NAME_BYTES_MAX + 1])
{
    if (instance->allocation && place > 0 && place <= allocation_nodes(instance->allocation))
        hostlist_name(instance->allocation->names, place - 1, name);
    else
        snprintf(name, HOST_NAME_BYTES_MAX + 1, "place %u", place);
}

/* The text Open MPI passes to abort if the program gives no message. */
#define ABORT_SAYS_NOTHING "N/A"

uint32_t job_report_status(const struct job_failure *failure)
{
    switch (failure->kind) {
    case JOB_FAILURE_NONE:
        return 0;
    case JOB_FAILURE_START:
        if (failure->step == START_STEP_INTERPRETER)
            return EXIT_STATUS_NOT_FOUND;
        if (failure->step != START_STEP_EXEC)
            return EXIT_STATUS_FAILED;
        return failure->code == -ENOENT || failure->code == -ENOTDIR ? EXIT_STATUS_NOT_FOUND
                                                                     : EXIT_STATUS_NOT_EXECUTABLE;
    case JOB_FAILURE_SIGNAL:
        return EXIT_STATUS_SIGNAL + (uint32_t)failure->code;
    case JOB_FAILURE_SERVICES:
        return EXIT_STATUS_FAILED;
    case JOB_FAILURE_ABORT:
        /* As hydra and orterun do. */
        return (failure->code & 0xff) || failure->code == 0 ? (uint32_t)(failure->code & 0xff) : 1;
    case JOB_FAILURE_EXIT:
        return (failure->code & 0xff) ? (uint32_t)(failure->code & 0xff) : 1;
    default:
        return 1;
    }
}

static const char *start_object(const struct job *job, const struct job_failure *failure)
{
    const struct job_spec *spec = &job->spec;
    const struct app_spec *app;

    if (spec->apps_count == 0)
        return "the program";
    app = &spec->apps[placement_map_app(&job->map, failure->rank)];
    return app->argv[0];
}

/* For a script it has a name, as "/bin/sh\\r"; without one it is the loader of a program. */
static void report_interpreter(const struct job_failure *failure, const char *object,
                               const char *node, char *text, size_t text_bytes)
{
    const char *name = failure->detail;
    size_t length = strlen(name);
    int has_return = length > 2 && strcmp(name + length - 2, "\\r") == 0;

    if (name[0] == 0)
        snprintf(
            text, text_bytes,
            "cannot run %s on %s (rank %u): it exists, but the loader that it names is missing, or a file system on its path is not mounted",
            object, node, failure->rank);
    else
        snprintf(text, text_bytes,
                 "cannot run %s on %s (rank %u): its interpreter %s does not exist%s", object, node,
                 failure->rank, name,
                 has_return ? "; it has DOS line endings: remove them with sed -i 's/\\r$//'" : "");
}

static void report_directory(const struct job *job, const struct job_failure *failure,
                             const char *node, char *text, size_t text_bytes)
{
    const struct job_spec *spec = &job->spec;
    char *directory =
        spec->apps_count == 0
            ? NULL
            : job_spec_directory(&spec->apps[placement_map_app(&job->map, failure->rank)],
                                 failure->rank, node, job->number);

    snprintf(text, text_bytes,
             "cannot change to the working directory %s on %s (rank %u): %s; "
             "give another with --wdir",
             directory != NULL ? directory : "of the program", node, failure->rank,
             strerror(-failure->code));
    free(directory);
}

static void report_limit(const struct job_failure *failure, const char *object, const char *node,
                         char *text, size_t text_bytes)
{
    const char *remedy =
        failure->code == -EPERM || failure->code == -EACCES
            ? "; only a privileged user may exceed what the node allows (ulimit -H there)"
        : failure->code == -EINVAL ? "; the soft limit is above the hard one there: give both"
                                   : "";

    int is_limit =
        process_limits_find(failure->detail, strlen(failure->detail)) != PROCESS_LIMIT_KIND_COUNT;

    snprintf(text, text_bytes, "cannot start %s on %s (rank %u): the %s%s is refused: %s%s", object,
             node, failure->rank, is_limit ? "limit " : "", failure->detail,
             strerror(-failure->code), remedy);
}

/* What to do about it; "" if not known. */
static const char *start_remedy(const struct job_failure *failure)
{
    if (failure->code == -EMFILE || failure->code == -ENFILE)
        return "; each process needs three descriptors in the daemon: raise ulimit -n there, or run fewer processes per node";
    if (failure->code == -EAGAIN && failure->step == START_STEP_FORK)
        return "; the system allows no more processes: raise ulimit -u, kernel.pid_max or the "
               "pids.max of the cgroup there, or run fewer processes per node";
    if (failure->code == -ENOMEM && failure->step == START_STEP_FORK)
        return "; run fewer processes per node";
    return "";
}

static void report_start_failure(const struct job *job, const struct job_failure *failure,
                                 const char *node, char *text, size_t text_bytes)
{
    const char *object = start_object(job, failure);
    const char *reason = strerror(-failure->code);

    if (failure->step == START_STEP_CHDIR)
        report_directory(job, failure, node, text, text_bytes);
    else if (failure->step == START_STEP_LIMIT)
        report_limit(failure, object, node, text, text_bytes);
    else if (failure->step == START_STEP_INTERPRETER)
        report_interpreter(failure, object, node, text, text_bytes);
    else if (failure->step == START_STEP_EXEC)
        snprintf(text, text_bytes, "cannot run %s on %s (rank %u): %s", object, node, failure->rank,
                 reason);
    else
        snprintf(text, text_bytes, "cannot start %s on %s (rank %u): %s: %s%s", object, node,
                 failure->rank, start_step_name(failure->step), reason, start_remedy(failure));
}

static void report_signal(const struct job_failure *failure, const char *node, char *text,
                          size_t text_bytes)
{
    if (failure->detail[0] != '\0')
        snprintf(text, text_bytes, "rank %u on %s was killed by %s", failure->rank, node,
                 failure->detail);
    else
        snprintf(text, text_bytes, "rank %u on %s was killed by signal %d (%s)", failure->rank,
                 node, failure->code, strsignal(failure->code));
}

void job_report_failure(const struct job *job, const struct job_failure *failure, char *text,
                        size_t text_bytes)
{
    char node[HOST_NAME_BYTES_MAX + 1];
    int says;

    place_name(job->instance, failure->place, node);
    switch (failure->kind) {
    case JOB_FAILURE_START:
        report_start_failure(job, failure, node, text, text_bytes);
        break;
    case JOB_FAILURE_EXIT:
        snprintf(text, text_bytes, "rank %u on %s exited with status %d%s", failure->rank, node,
                 failure->code, failure->detail);
        break;
    case JOB_FAILURE_SIGNAL:
        report_signal(failure, node, text, text_bytes);
        break;
    case JOB_FAILURE_ABNORMAL:
        snprintf(text, text_bytes,
                 "rank %u on %s exited with status 0 but without MPI_Finalize or PMIx_Finalize",
                 failure->rank, node);
        break;
    case JOB_FAILURE_MISSED:
        snprintf(text, text_bytes,
                 "rank %u on %s ended without joining %s, in which other ranks are waiting",
                 failure->rank, node, failure->detail);
        break;
    case JOB_FAILURE_SERVICES:
        snprintf(text, text_bytes, "cannot serve the ranks on %s: %s", node, failure->detail);
        break;
    case JOB_FAILURE_ABORT:
        says = failure->detail[0] != '\0' && strcmp(failure->detail, ABORT_SAYS_NOTHING) != 0;
        snprintf(text, text_bytes, "rank %u on %s called abort with status %d%s%s", failure->rank,
                 node, failure->code, says ? ": " : "", says ? failure->detail : "");
        break;
    default:
        text[0] = 0;
    }
}

void job_report_rank_set(const struct ranges *ranks, struct buffer *out)
{
    uint64_t count = ranges_count(ranks), shown = 0;

    buffer_append_string(out, count == 1 ? "rank " : "ranks ");
    for (uint32_t i = 0; i < ranks->count && i < REPORT_RANGES_MAX; i++) {
        struct range range = ranks->items[i];

        shown += range.last - range.first + 1;
        buffer_printf(out, "%s%u", i > 0 ? "," : "", range.first);
        if (range.last > range.first)
            buffer_printf(out, "-%u", range.last);
    }
    if (shown < count)
        buffer_printf(out, " and %llu more", (unsigned long long)(count - shown));
}

void job_report_ranks(const struct job *job, const struct ranges *places, struct buffer *out)
{
    const struct placement_map *map = &job->map;
    struct ranges ranks = {0};
    uint32_t place = 0;

    for (; ranges_next(places, place, &place); place++)
        for (uint32_t i = 0; i < placement_map_count(map, place - 1); i++) {
            uint32_t rank = placement_map_rank(map, place - 1, i);

            ranges_add(&ranks, rank, rank);
        }
    job_report_rank_set(&ranks, out);
    ranges_fini(&ranks);
}

/* Messages name one node or two, so no more ends than these are kept. */
void job_report_seen(struct instance_root *root, const struct job_event *event)
{
    struct job_seen *seen = NULL;

    for (uint32_t i = 0; i < root->seen_count && seen == NULL; i++)
        if (root->seen[i].loss == (enum endpoint_loss)event->status &&
            root->seen[i].silent_ns == (uint64_t)event->number)
            seen = &root->seen[i];
    if (seen == NULL && root->seen_count < SEEN_MAX) {
        root->seen = memory_resize(root->seen, (root->seen_count + 1) * sizeof *root->seen);
        seen = &root->seen[root->seen_count++];
        *seen = (struct job_seen){.loss = (enum endpoint_loss)event->status,
                                  .silent_ns = (uint64_t)event->number};
    }
    if (seen != NULL)
        ranges_add_all(&seen->places, event->places);
}

void job_report_loss(const struct instance_root *root, uint32_t place, struct buffer *out)
{
    static const char *const texts[ENDPOINT_LOSS_COUNT] = {
        [ENDPOINT_LOSS_UNKNOWN] = "its connection broke",
        [ENDPOINT_LOSS_ENDED] = "its daemon exited",
        [ENDPOINT_LOSS_CLOSED] = "its daemon closed the connection",
        [ENDPOINT_LOSS_REFUSED] = "nobody listens there",
        [ENDPOINT_LOSS_UNREACHABLE] = "its machine does not respond",
    };
    const struct job_seen *seen = NULL;

    for (uint32_t i = 0; seen == NULL && i < root->seen_count; i++)
        if (ranges_contains(&root->seen[i].places, place))
            seen = &root->seen[i];
    if (ranges_contains(&root->removed, place))
        buffer_append_string(out, "it was removed from the instance");
    else if (seen == NULL)
        buffer_append_string(out, texts[ENDPOINT_LOSS_UNKNOWN]);
    else if (seen->loss == ENDPOINT_LOSS_SILENT)
        buffer_printf(out, "silent for %.1f s", (double)seen->silent_ns / 1e9);
    else
        buffer_append_string(out, texts[seen->loss]);
}

/* Nodes of places as a hostlist, O(places in the set). */
void job_report_places(const struct instance *instance, const struct ranges *places,
                       struct buffer *out)
{
    struct hostlist *list = hostlist_create();

    if (instance->allocation != NULL)
        hostlist_append_places(list, instance->allocation->names, places);
    hostlist_print(list, out);
    hostlist_destroy(list);
}

/* One line for places that failed with the same text: "n[1-3] (3 nodes): text". */
static void report_group(const struct instance *instance, uint32_t leader, uint8_t *told,
                         struct buffer *out)
{
    const struct instance_root *root = instance->root;
    const char *words = root->start_failures[leader].text;
    char name[HOST_NAME_BYTES_MAX + 1];
    struct ranges places = {0};
    uint64_t count;

    for (uint32_t i = leader; i < root->start_failures_count; i++) {
        if (told[i] || strcmp(root->start_failures[i].text, root->start_failures[leader].text))
            continue;
        told[i] = 1;
        ranges_add(&places, root->start_failures[i].place, root->start_failures[i].place);
    }
    if (out->length_bytes > 0)
        buffer_append_string(out, "\n");
    count = ranges_count(&places);
    buffer_append_string(out,
                         count > 1 ? "cannot start daemons on " : "cannot start the daemon on ");
    job_report_places(instance, &places, out);
    if (count > 1)
        buffer_printf(out, " (%llu nodes)", (unsigned long long)count);
    buffer_append_string(out, ": ");
    place_name(instance, root->start_failures[leader].place, name);
    report_line_print(words[0] != '\0' ? words : "it exited before the tree was complete", name,
                      count, out);
    ranges_fini(&places);
}

void job_report_unjoined(const struct instance *instance, const struct ranges *missing, char *text,
                         size_t text_bytes)
{
    uint64_t nodes = allocation_nodes(instance->allocation);
    uint64_t count = ranges_count(missing);
    struct buffer out = {0};

    buffer_append_string(&out,
                         count == 1 ? "waiting for the daemon of " : "waiting for the daemons of ");
    job_report_places(instance, missing, &out);
    buffer_printf(&out, " to join; %llu of %llu have",
                  (unsigned long long)(nodes > count ? nodes - count : 0),
                  (unsigned long long)nodes);
    snprintf(text, text_bytes, "%s", buffer_string(&out));
    buffer_fini(&out);
}

void job_report_start(const struct instance *instance, const struct ranges *missing,
                      struct buffer *out)
{
    const struct instance_root *root = instance->root;
    uint8_t *told = memory_allocate_zeroed(root->start_failures_count + 1);
    uint64_t absent = ranges_count(&root->absent);

    assert(out->length_bytes == 0);
    for (uint32_t i = 0; i < root->start_failures_count; i++)
        if (!told[i])
            report_group(instance, i, told, out);
    if (absent > root->start_failures_count)
        buffer_printf(out, "; and %llu more nodes",
                      (unsigned long long)absent - root->start_failures_count);
    if (out->length_bytes == 0) {
        buffer_append_string(out, "no daemon has joined from ");
        if (missing && !ranges_is_empty(missing))
            job_report_places(instance, missing, out);
        else
            buffer_append_string(out, "some nodes");
        buffer_printf(out, " within %u s (--start-timeout)", instance->spec->start_timeout_s);
    }
    free(told);
}
