/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/cli/client/output_fold.c: equal lines of ranks, in the order of each rank. */
#include "config.h"

#include "launch/cli/client/output_fold.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/random.h"
#include "base/time.h"

#define RANKS_MAX 8u

struct bench {
    struct loop *loop;
    struct output_fold *fold;
    struct loop_timer *guard;
    struct buffer seen;
    struct buffer of_rank[RANKS_MAX];
    uint32_t lines;
    uint32_t wanted; /* the loop stops when so many have come */
};

static void on_line(void *context, const struct output_fold_source *source,
                    const struct ranges *ranks, uint64_t time_ns, const char *line,
                    size_t line_bytes)
{
    struct bench *bench = context;

    if (source->job > 0)
        buffer_printf(&bench->seen, "%u.", source->job);
    ranges_print(ranks, &bench->seen);
    buffer_printf(&bench->seen, "@%u:%u:%.*s\n", (unsigned)time_ns, source->stream, (int)line_bytes,
                  line);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++)
        if (ranges_contains(ranks, rank)) {
            buffer_append(&bench->of_rank[rank], line, line_bytes);
            buffer_append_string(&bench->of_rank[rank], "\n");
        }
    if (++bench->lines == bench->wanted)
        loop_stop(bench->loop);
}

static void on_guard(void *context)
{
    bail_out("what is waited for does not come");
}

static void setup(struct bench *bench)
{
    *bench = (struct bench){.loop = loop_create(NULL)};
    bench->fold = output_fold_create(bench->loop, on_line, bench);
    bench->guard = loop_timer_create(bench->loop, on_guard, bench);
}

static void teardown(struct bench *bench)
{
    output_fold_destroy(bench->fold);
    loop_timer_destroy(bench->guard);
    loop_destroy(bench->loop);
    buffer_fini(&bench->seen);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++)
        buffer_fini(&bench->of_rank[rank]);
}

static void put_as(struct bench *bench, uint32_t job, uint32_t rank, uint8_t stream,
                   uint64_t time_ns, const char *text)
{
    const struct output_fold_source source = {.job = job, .rank = rank, .stream = stream};

    output_fold_put(bench->fold, &source, time_ns, text, strlen(text));
}

static void put(struct bench *bench, uint32_t rank, const char *text)
{
    put_as(bench, 0, rank, 1, rank, text);
}

static void sees(struct bench *bench, const char *expected, const char *name)
{
    is_string(buffer_string(&bench->seen), expected, "%s", name);
    buffer_clear(&bench->seen);
}

static void test_equal(void)
{
    struct bench bench;

    setup(&bench);
    for (uint32_t rank = 0; rank < 6; rank++)
        put(&bench, rank, rank == 4 ? "odd\n" : "hello\nthere\n");
    sees(&bench, "", "lines wait");
    is_uint(output_fold_bytes(bench.fold), 13, "each once");
    output_fold_release(bench.fold);
    sees(&bench, "0-3,5@0:1:hello\n0-3,5@0:1:there\n4@4:1:odd\n", "equal ones are shown once");
    is_uint(output_fold_bytes(bench.fold), 0, "none is left");
    put(&bench, 1, "\n\n");
    put(&bench, 2, "\n");
    output_fold_release(bench.fold);
    sees(&bench, "1-2@1:1:\n1@1:1:\n", "empty lines are lines");
    put_as(&bench, 0, 1, 1, 1, "x\n");
    put_as(&bench, 0, 1, 2, 2, "x\n");
    put_as(&bench, 7, 1, 1, 3, "x\n");
    put_as(&bench, 7, 2, 1, 4, "x\n");
    output_fold_release(bench.fold);
    sees(&bench, "1@1:1:x\n1@2:2:x\n7.1-2@3:1:x\n", "streams and jobs are apart");
    teardown(&bench);
}

static void test_order(void)
{
    struct bench bench;

    setup(&bench);
    put(&bench, 0, "a\nb\na\n");
    put(&bench, 1, "b\na\nb\n");
    put(&bench, 2, "a\na\na\n");
    output_fold_release(bench.fold);
    sees(&bench, "0,2@0:1:a\n0-1@0:1:b\n0-2@0:1:a\n1@1:1:b\n2@2:1:a\n",
         "a rank joins only what comes after its last line");
    teardown(&bench);
}

static void test_unfinished(void)
{
    struct bench bench;

    setup(&bench);
    put(&bench, 0, "hel");
    put(&bench, 1, "hello\n");
    put_as(&bench, 0, 0, 1, 9, "lo\nrest");
    put(&bench, 0, "");
    put(&bench, 0, "next\n");
    output_fold_release(bench.fold);
    sees(&bench, "0-1@1:1:hello\n0@9:1:rest\n0@0:1:next\n", "pieces of a line are put together");
    put(&bench, 3, "name? ");
    bench.wanted = bench.lines + 1;
    loop_timer_set(bench.guard, loop_now_ns() + 60ull * NS_PER_S);
    loop_run(bench.loop);
    sees(&bench, "3@3:1:name? \n", "a prompt is shown");
    put(&bench, 0, "one\n");
    put(&bench, 1, "one\n");
    bench.wanted = bench.lines + 1;
    loop_run(bench.loop);
    sees(&bench, "0-1@0:1:one\n", "lines leave when they have waited");
    teardown(&bench);
}

static void test_bounds(void)
{
    static char line[OUTPUT_FOLD_LINE_BYTES + 1];
    struct bench bench;
    size_t bytes_max = 0;

    setup(&bench);
    memset(line, 'x', OUTPUT_FOLD_LINE_BYTES);
    put(&bench, 0, line);
    is_uint(output_fold_bytes(bench.fold), OUTPUT_FOLD_LINE_BYTES, "a long line");
    output_fold_release(bench.fold);
    is_uint(bench.lines, 1, "is a line when it is long enough");
    line[1000] = '\0';
    for (uint32_t i = 0; i < 4000; i++) {
        snprintf(line, 1000, "%u", i);
        line[strlen(line)] = 'x';
        line[999] = '\n';
        put(&bench, 0, line);
        if (output_fold_bytes(bench.fold) > bytes_max)
            bytes_max = output_fold_bytes(bench.fold);
    }
    ok(bytes_max <= OUTPUT_FOLD_BYTES_MAX, "what waits is bounded");
    ok(bench.lines >= 4000 - OUTPUT_FOLD_LINES_MAX, "then the first leave early");
    output_fold_drop(bench.fold);
    is_uint(output_fold_bytes(bench.fold), 0, "what is dropped is gone");
    put(&bench, 0, "unfinished");
    teardown(&bench);
}

/* Random lines of few kinds, in random pieces: each rank's are all there, in order. */
static void test_random(void)
{
    static const char *const words[] = {"a",  "b",     "a\n",   "b\n",
                                        "\n", "cc\na", "\nb\n", "a\nb\na\n"};
    struct bench bench;
    struct buffer sent[RANKS_MAX] = {{0}};
    struct random_state random;
    uint32_t same = 0;

    setup(&bench);
    random_init(&random, 7);
    for (int i = 0; i < 20000; i++) {
        uint32_t rank = (uint32_t)random_below(&random, RANKS_MAX);
        const char *word = words[random_below(&random, sizeof(words) / sizeof(words[0]))];

        put(&bench, rank, word);
        buffer_append_string(&sent[rank], word);
        if (random_below(&random, 1000) == 0)
            for (uint32_t r = 0; r < RANKS_MAX; r++) {
                put(&bench, r, "\n");
                buffer_append_string(&sent[r], "\n");
            }
    }
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        put(&bench, rank, "\n");
        buffer_append_string(&sent[rank], "\n");
    }
    output_fold_release(bench.fold);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        same += strcmp(buffer_string(&sent[rank]), buffer_string(&bench.of_rank[rank])) == 0;
        buffer_fini(&sent[rank]);
    }
    is_uint(same, RANKS_MAX, "nothing is lost or in another order");
    teardown(&bench);
}

int main(void)
{
    test_equal();
    test_order();
    test_unfinished();
    test_bounds();
    test_random();
    return done_testing();
}
