/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer is one function that takes any bytes and must neither crash, nor leak, nor read past
 * them, nor take long. It is built twice over from the same file: `make check` runs it for a fixed
 * number of inputs from a fixed seed (test/fuzz/fuzz.c has the main()); configured with --enable-fuzzers
 * and CC=clang it is a libFuzzer, which goes on until it finds something.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* The function under test. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes);

/* A fuzzer of several things chooses one by the first byte; FUZZ_ONLY=N makes it the same always, so
 * that each can have its time alone. */
static inline size_t fuzz_choice(uint8_t byte, size_t choices)
{
    const char *only = getenv("FUZZ_ONLY");

    return only != NULL ? strtoul(only, NULL, 10) % choices : byte % choices;
}

/* Writes the `number`th valid input into the buffer and returns its length; 0 when there are no
 * more. `make check` starts from these and spoils them. */
size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes);

/* Hands a sample over, as fuzz_sample() does, and frees it; 0 if it does not fit. */
static inline size_t fuzz_hand_over(struct buffer *sample, uint8_t *buffer, size_t buffer_bytes)
{
    size_t length = sample->length_bytes <= buffer_bytes ? sample->length_bytes : 0;

    if (length > 0)
        memcpy(buffer, sample->data, length);
    buffer_fini(sample);
    return length;
}

#endif
