/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS 1.3 with an external pre-shared key and (EC)DHE (RFC 8446, 2.2), over memory: the caller moves
 * ciphertext.  One suite (TLS_AES_128_GCM_SHA256), one group (X25519), no certificates, no
 * tickets, no early data, no renegotiation.  Keys are 32 bytes, bound to an identity text that the
 * client sends in clear and the server looks up.
 *
 * Cost: 0.5 ms of CPU for the first context of a process, 0.2 ms for a handshake (both sides),
 * about 14 kB for an idle connection, 33 kB more for each of the four most recently used.
 */
#ifndef FABRIC_TLS_H
#define FABRIC_TLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define TLS_KEY_BYTES          32
#define TLS_HELLO_BYTES_MAX    1024 /* of the first record; ours has about 300 */
#define TLS_IDENTITY_BYTES_MAX 128
#define TLS_RECORD_BYTES_MAX   16384 /* of plaintext */

struct tls;

/* Finds the key of an identity: 0 and ret_key (TLS_KEY_BYTES), or negative errno. */
typedef int tls_key_function(void *context, const char *identity, unsigned char *ret_key);

/* Makes the process's context if there is none yet; tls_create_* do so too. */
int tls_start(struct error *error);
/* Frees the context; no struct tls may be left. */
void tls_stop(void);

/* identity and key are copied.  NULL if OpenSSL fails. */
struct tls *tls_create_client(const char *identity, const unsigned char *key, struct error *error);
struct tls *tls_create_server(tls_key_function *find_key, void *context, struct error *error);
void tls_destroy(struct tls *tls); /* NULL is fine */
/* What is decrypted for this connection is wiped in OpenSSL's memory once it is read. */
void tls_wipe_plaintext(struct tls *tls);

/* Lends received ciphertext; it is consumed when the next call returns -EAGAIN. */
void tls_input(struct tls *tls, const void *data, size_t bytes);
/* Where ciphertext that must be sent is appended from now on. */
void tls_output(struct tls *tls, struct buffer *output);

/* 0 when the handshake is complete, -EAGAIN when it needs the peer, -EACCES when the peer does not
 * know the key or belongs to another instance, -EPROTO when its TLS is incompatible. */
int tls_handshake(struct tls *tls, struct error *error);
/* 0 and 1..maximum bytes, -EAGAIN, -EPIPE after the peer's close, -EPROTO. */
int tls_read(struct tls *tls, void *data, size_t maximum, size_t *ret_bytes);
/* Whether these are the first bytes of one of our clients, before TLS is set up for it: 1 a whole
 * ClientHello, 0 the beginning of one, -EPROTO neither or above TLS_HELLO_BYTES_MAX. */
int tls_is_hello(const unsigned char *data, size_t bytes);
/* Encrypts everything, in records of TLS_RECORD_BYTES_MAX; 0 or -EPROTO. */
int tls_write(struct tls *tls, const void *data, size_t bytes);
/* The identity that was agreed upon; "" before. */
const char *tls_identity(const struct tls *tls);
/* The key shared by both ends of an established connection for messages from one place to another
 * (TLS_SEAL_KEY_BYTES of fabric/tls_seal.h); 0 or -EPROTO. */
int tls_export_key(struct tls *tls, uint32_t from, uint32_t to, unsigned char *ret_key);

/* HKDF-SHA256 (RFC 5869) without salt, 32 bytes of output. */
int tls_derive_key(const unsigned char *secret, size_t secret_bytes, const char *info,
                   unsigned char *ret_key);

#endif
