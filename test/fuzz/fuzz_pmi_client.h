/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the fuzzers of PMI-1 and PMI-2: a server of a job with one local client of two.
 */
#ifndef TEST_FUZZ_FUZZ_PMI_CLIENT_H
#define TEST_FUZZ_FUZZ_PMI_CLIENT_H

#include "test/fuzz/fuzz.h"

/* The client says the first text, then data: pieces of up to 31 bytes, each after its length.  A length
 * of 0 ends a barrier with the rest as the other nodes' data, and answers the last request with it. */
void fuzz_pmi_client(const char *first, const uint8_t *data, size_t data_bytes);
/* A sample for that: texts in pieces, and the end of a barrier. */
size_t fuzz_pmi_pieces(const char *const *texts, size_t count, uint8_t *buffer,
                       size_t buffer_bytes);

#endif
