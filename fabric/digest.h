/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SHA-256 of runs of bytes.  OpenSSL looks its algorithm up once per digest object, which costs more than hashing a
 * short run: make one and use it for all.
 */
#ifndef FABRIC_DIGEST_H
#define FABRIC_DIGEST_H

#include <stddef.h>

#define DIGEST_BYTES 32

struct digest;

struct digest *digest_create(void);         /* NULL if OpenSSL has no SHA-256 */
void digest_destroy(struct digest *digest); /* NULL is fine */
/* 0, or -EIO if OpenSSL fails. */
int digest_compute(struct digest *digest, const void *data, size_t bytes,
                   unsigned char ret_hash[DIGEST_BYTES]);

#endif
