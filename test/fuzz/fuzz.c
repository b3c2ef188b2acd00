/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main() of the fuzzers in `make check`: FUZZ_RUNS inputs (30,000) from FUZZ_SEED (1). A third is
 * noise, the rest are the fuzzer's own samples with bytes changed, cut, doubled or joined. They run
 * in a child, which says through shared memory how far it is, so that whatever ends it the one
 * command that repeats the last input is printed: FUZZ_SEED=1 FUZZ_AT=4711 test/fuzz/fuzz_x.t
 * FUZZ_WRITE=DIR writes the samples there, for libFuzzer to begin with (contrib/fuzz.sh).
 */
#include "config.h"

#include "test/fuzz/fuzz.h"

#include "base/random.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUT_BYTES_MAX = 4096, SAMPLES_MAX = 64 };

struct sample {
    uint8_t bytes[INPUT_BYTES_MAX];
    size_t count;
};

static struct sample samples[SAMPLES_MAX];
static unsigned samples_count;

static void load_samples(void)
{
    while (samples_count < SAMPLES_MAX) {
        struct sample *sample = &samples[samples_count];

        sample->count = fuzz_sample(samples_count, sample->bytes, sizeof sample->bytes);
        if (sample->count == 0)
            return;
        samples_count++;
    }
}

static void make_noise(struct random_state *random, struct sample *sample)
{
    sample->count = random_below(random, random_chance(random, 0.1) ? INPUT_BYTES_MAX : 64);
    for (size_t i = 0; i < sample->count; i++)
        sample->bytes[i] = (uint8_t)random_next(random);
}

/* A length or count is most often wrong by these. */
static uint8_t interesting_byte(struct random_state *random)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '\n', ' ', '0'};

    if (random_chance(random, 0.5))
        return (uint8_t)random_next(random);
    return bytes[random_below(random, sizeof bytes)];
}

static void change_bytes(struct random_state *random, struct sample *sample)
{
    size_t changes = 1 + random_below(random, 4);

    for (size_t i = 0; i < changes && sample->count > 0; i++)
        sample->bytes[random_below(random, sample->count)] = interesting_byte(random);
}

static void cut(struct random_state *random, struct sample *sample)
{
    sample->count = random_below(random, sample->count + 1);
}

/* Doubles a piece of the sample in its place. */
static void repeat(struct random_state *random, struct sample *sample)
{
    size_t from = random_below(random, sample->count + 1);
    size_t bytes = random_below(random, sample->count - from + 1);

    if (sample->count + bytes > INPUT_BYTES_MAX)
        bytes = INPUT_BYTES_MAX - sample->count;
    memmove(sample->bytes + from + bytes, sample->bytes + from, sample->count - from);
    sample->count += bytes;
}

/* The head of this sample and the tail of another. */
static void join(struct random_state *random, struct sample *sample)
{
    const struct sample *other = &samples[random_below(random, samples_count)];
    size_t from = random_below(random, other->count + 1);
    size_t bytes = other->count - from;

    cut(random, sample);
    if (bytes > INPUT_BYTES_MAX - sample->count)
        bytes = INPUT_BYTES_MAX - sample->count;
    memcpy(sample->bytes + sample->count, other->bytes + from, bytes);
    sample->count += bytes;
}

/* The input of a number depends on seed and number only. The first inputs are the samples. */
static void make_input(uint64_t seed, uint64_t number, struct sample *ret_sample)
{
    static void (*const spoil[])(struct random_state *, struct sample *) = {change_bytes, cut,
                                                                            repeat, join};
    struct random_state random;

    random_init(&random, seed * 1000003u + number);
    if (number < samples_count) {
        *ret_sample = samples[number];
        return;
    }
    if (samples_count == 0 || random_chance(&random, 0.33)) {
        make_noise(&random, ret_sample);
        return;
    }
    *ret_sample = samples[random_below(&random, samples_count)];
    for (size_t times = 1 + random_below(&random, 3); times > 0; times--)
        spoil[random_below(&random, sizeof spoil / sizeof *spoil)](&random, ret_sample);
}

/* The copy has its exact size on the heap: one byte read past it is found. */
static void run_input(uint64_t seed, uint64_t number)
{
    struct sample sample;
    uint8_t *data;

    make_input(seed, number, &sample);
    data = malloc(sample.count > 0 ? sample.count : 1);
    if (data == NULL)
        abort();
    memcpy(data, sample.bytes, sample.count);
    LLVMFuzzerTestOneInput(data, sample.count);
    free(data);
}

static uint64_t setting(const char *name, uint64_t value)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : value;
}

static int run_child(uint64_t seed, uint64_t runs, volatile uint64_t *at)
{
    int status = -1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        /* Noise of the function under test is no TAP. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        for (*at = 0; *at < runs; (*at)++)
            run_input(seed, *at);
        exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bail_out("cannot run a child");
    return status;
}

static void write_samples(const char *directory)
{
    for (unsigned i = 0; i < samples_count; i++) {
        char path[4096];
        FILE *file;

        snprintf(path, sizeof path, "%s/sample-%u", directory, i);
        file = fopen(path, "wb");
        if (file == NULL ||
            fwrite(samples[i].bytes, 1, samples[i].count, file) != samples[i].count ||
            fclose(file) != 0)
            bail_out("cannot write %s", path);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = setting("FUZZ_SEED", 1);
    uint64_t runs = setting("FUZZ_RUNS", 30000);
    volatile uint64_t *at;
    int status;

    (void)argc;
    load_samples();
    if (getenv("FUZZ_WRITE") != NULL) {
        write_samples(getenv("FUZZ_WRITE"));
        return 0;
    }
    if (getenv("FUZZ_AT") != NULL) {
        run_input(seed, setting("FUZZ_AT", 0));
        puts("this input does no harm");
        return 0;
    }
    at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        bail_out("cannot share memory");
    status = run_child(seed, runs, at);
    if (!ok(status == 0, "%llu inputs from seed %llu do no harm", (unsigned long long)runs,
            (unsigned long long)seed)) {
        diag("ended with wait status 0x%x", (unsigned)status);
        diag("repeat with: FUZZ_SEED=%llu FUZZ_AT=%llu %s", (unsigned long long)seed,
             (unsigned long long)*at, argv[0]);
    }
    return done_testing();
}
