/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replays the recorded events of a daemon's core, step by step, and compares its actions.
 */
#include "config.h"

#include "base/time.h"
#include "launch/cli/sim/simulate_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/wire.h"
#include "launch/job/job.h"
#include "overlay/trace.h"

struct replay {
    FILE *file;
    const char *path;
    struct overlay *overlay;
    struct replay_result *result;
    bool is_verbose;
};

static int cannot_read(const struct replay *replay, struct error *error)
{
    int code = errno;

    return error_set(error, -code, "cannot read recording %s: %s", replay->path, strerror(code));
}

/* Reads the next length and that many bytes; 0 at the end, 1, or -errno. */
static int read_entry(struct replay *replay, struct buffer *text, struct error *error)
{
    unsigned char head[4];
    struct wire_reader reader;
    uint32_t bytes;
    size_t got = fread(head, 1, sizeof head, replay->file);

    buffer_clear(text);
    if (ferror(replay->file))
        return cannot_read(replay, error);
    if (got == 0)
        return 0;
    replay->result->is_torn = true;
    wire_reader_init(&reader, head, got);
    bytes = wire_get_u32(&reader);
    if (wire_finish(&reader) < 0)
        return 0;
    if (bytes > RECORD_ENTRY_BYTES_MAX)
        return error_set(error, -EBADMSG, "%s: malformed entry of %u bytes", replay->path, bytes);
    if (fread(buffer_reserve(text, bytes), 1, bytes, replay->file) != bytes)
        return ferror(replay->file) ? cannot_read(replay, error) : 0;
    buffer_commit(text, bytes);
    replay->result->is_torn = false;
    return 1;
}

static int open_overlay(struct replay *replay, struct error *error)
{
    char magic[sizeof RECORD_MAGIC] = {0};
    struct endpoint_config config = {.merges = job_merges, .merges_count = JOB_MERGE_COUNT};
    struct endpoint_ancestor *ancestors = NULL;
    struct wire_reader reader;
    struct buffer text = {0};
    int rc;

    if (fread(magic, 1, sizeof magic - 1, replay->file) != sizeof magic - 1 ||
        memcmp(magic, RECORD_MAGIC, sizeof magic - 1) != 0)
        return ferror(replay->file)
                   ? cannot_read(replay, error)
                   : error_set(error, -EINVAL, "%s is not a recording of this version (%.15s)",
                               replay->path, RECORD_MAGIC);
    rc = read_entry(replay, &text, error);
    wire_reader_init(&reader, text.data, text.length_bytes);
    if (rc >= 0 && (rc == 0 || trace_decode_config(&reader, &config, &ancestors) < 0))
        rc = error_set(error, -EBADMSG,
                       "%s: cannot decode the configuration: the file is truncated or damaged",
                       replay->path);
    buffer_fini(&text);
    if (rc < 0)
        return rc;
    replay->result->place = config.place;
    replay->result->places = config.places;
    replay->overlay = overlay_create(&config);
    free(ancestors);
    return 0;
}

static void print_step(const struct replay *replay, const struct trace_step *step,
                       const char *actions)
{
    struct buffer text = {0};

    trace_print_event(&step->event, &text);
    printf("%llu: %.6f ms: %s\n", (unsigned long long)replay->result->steps,
           (double)(step->event.now_ns - replay->result->first_ns) / NS_PER_MS,
           buffer_string(&text));
    for (const char *line = actions; *line != '\0'; line += strcspn(line, "\n") + 1)
        printf("      %.*s\n", (int)strcspn(line, "\n"), line);
    buffer_fini(&text);
}

static void report_difference(struct replay *replay, const struct trace_step *step,
                              const char *actions)
{
    struct buffer text = {0};

    trace_print_event(&step->event, &text);
    replay->result->is_same = false;
    printf("step %llu differs: %s\nrecorded, %u actions:\n%snow:\n%s",
           (unsigned long long)replay->result->steps, buffer_string(&text), step->actions_count,
           step->actions_text, actions);
    buffer_fini(&text);
}

static void run_step(struct replay *replay, const struct trace_step *step)
{
    struct replay_result *result = replay->result;
    struct overlay_actions actions = {0};
    struct buffer text = {0};

    assert(replay->overlay != NULL && result->is_same);
    if (result->steps++ == 0)
        result->first_ns = step->event.now_ns;
    result->last_ns = step->event.now_ns;
    overlay_step(replay->overlay, &step->event, &actions);
    trace_print_actions(&actions, &text);
    if (replay->is_verbose)
        print_step(replay, step, buffer_string(&text));
    if (trace_hash_actions(&actions) != step->actions_hash)
        report_difference(replay, step, buffer_string(&text));
    buffer_fini(&text);
    overlay_actions_fini(&actions);
}

static int run_steps(struct replay *replay, struct error *error)
{
    struct buffer text = {0};
    int rc = 1;

    while (rc > 0 && replay->result->is_same) {
        struct trace_step step;

        rc = read_entry(replay, &text, error);
        if (rc <= 0)
            break;
        rc = trace_decode_step(text.data, text.length_bytes, &step);
        if (rc == 0)
            replay->result->is_cut = true;
        else if (rc < 0 || step.event.now_ns < replay->result->last_ns)
            rc = error_set(error, -EBADMSG, "%s: cannot decode step %llu", replay->path,
                           (unsigned long long)replay->result->steps + 1);
        else
            run_step(replay, &step);
        trace_step_fini(&step);
    }
    buffer_fini(&text);
    return rc < 0 ? rc : 0;
}

int simulate_replay(const char *path, bool is_verbose, struct replay_result *ret_result,
                    struct error *error)
{
    struct replay replay = {.path = path, .result = ret_result, .is_verbose = is_verbose};
    int rc;

    *ret_result = (struct replay_result){.is_same = true};
    replay.file = fopen(path, "re");
    if (replay.file == NULL)
        return error_set(error, -errno, "cannot read recording %s: %s", path, strerror(errno));
    rc = open_overlay(&replay, error);
    if (rc == 0)
        rc = run_steps(&replay, error);
    overlay_destroy(replay.overlay);
    fclose(replay.file);
    return rc;
}
