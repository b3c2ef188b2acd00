/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed messages beside a TLS connection (fabric/rail.h): AES-128-GCM with keys exported from it
 * (RFC 8446, 7.5), one key for each direction.  A message is bound to its header and to its number,
 * which is never used twice under one key; the key is renewed by both ends at the same number.
 */
#ifndef FABRIC_TLS_SEAL_H
#define FABRIC_TLS_SEAL_H

#include <stddef.h>
#include <stdint.h>

#define TLS_SEAL_KEY_BYTES 32 /* what the keys are derived from */
#define TLS_SEAL_TAG_BYTES 16

struct tls_seal;

/* key is TLS_SEAL_KEY_BYTES and copied.  NULL if OpenSSL fails. */
struct tls_seal *tls_seal_create(const unsigned char *key);
void tls_seal_destroy(struct tls_seal *seal); /* NULL is fine; wipes the keys */
/* Switches to the next key; the old one is erased.  0 or -EIO. */
int tls_seal_renew(struct tls_seal *seal);

/* Seals two pieces into out: as many bytes and the tag.  0 or -EIO. */
int tls_seal_close(struct tls_seal *seal, uint64_t number, const void *header, size_t header_bytes,
                   const void *first, size_t first_bytes, const void *second, size_t second_bytes,
                   unsigned char *out);
/* Opens into out, which has room for bytes (they count the tag).  0, -EACCES if it was not sealed
 * with this key, header and number. */
int tls_seal_open(struct tls_seal *seal, uint64_t number, const void *header, size_t header_bytes,
                  const unsigned char *data, size_t bytes, unsigned char *out);
/* The same with the next key: with 0 the seal is renewed, else it stays. */
int tls_seal_open_renewed(struct tls_seal *seal, uint64_t number, const void *header,
                          size_t header_bytes, const unsigned char *data, size_t bytes,
                          unsigned char *out);

#endif
