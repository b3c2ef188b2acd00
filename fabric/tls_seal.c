/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/tls_seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/buffer.h"
#include "fabric/secret.h"
#include "fabric/tls.h"
#include "fabric/tls_provider.h"

#define CIPHER_KEY_BYTES 16
#define NONCE_BYTES      12

struct tls_seal {
    EVP_CIPHER_CTX *cipher;
    unsigned char key[TLS_SEAL_KEY_BYTES]; /* the next one is derived from it */
};

/* The cipher's key is half of a value derived from the key, so neither reveals the other. */
static int derive_cipher_key(const unsigned char *key, unsigned char *ret_cipher_key)
{
    unsigned char derived[TLS_KEY_BYTES];
    int rc = tls_derive_key(key, TLS_SEAL_KEY_BYTES, "banyan rail cipher", derived);

    memcpy(ret_cipher_key, derived, CIPHER_KEY_BYTES);
    secret_clear(derived, sizeof(derived));
    return rc;
}

static int set_key(EVP_CIPHER_CTX *context, const unsigned char *key)
{
    unsigned char cipher_key[CIPHER_KEY_BYTES];
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(tls_provider_library(), "AES-128-GCM", NULL);
    int good = derive_cipher_key(key, cipher_key) == 0 && cipher != NULL &&
               EVP_CipherInit_ex2(context, cipher, cipher_key, NULL, 1, NULL);

    EVP_CIPHER_free(cipher);
    secret_clear(cipher_key, sizeof(cipher_key));
    return good ? 0 : -EIO;
}

struct tls_seal *tls_seal_create(const unsigned char *key)
{
    struct tls_seal *seal = memory_allocate_zeroed(sizeof(*seal));

    memcpy(seal->key, key, sizeof(seal->key));
    seal->cipher = EVP_CIPHER_CTX_new();
    if (seal->cipher == NULL || set_key(seal->cipher, key) < 0) {
        tls_seal_destroy(seal);
        return NULL;
    }
    return seal;
}

void tls_seal_destroy(struct tls_seal *seal)
{
    if (seal == NULL)
        return;
    EVP_CIPHER_CTX_free(seal->cipher);
    secret_clear(seal->key, sizeof(seal->key));
    free(seal);
}

static int derive_next(const struct tls_seal *seal, unsigned char *ret_key)
{
    return tls_derive_key(seal->key, sizeof(seal->key), "banyan rail next", ret_key);
}

int tls_seal_renew(struct tls_seal *seal)
{
    unsigned char next[TLS_SEAL_KEY_BYTES];
    int rc = derive_next(seal, next);

    if (rc == 0)
        rc = set_key(seal->cipher, next);
    if (rc == 0)
        memcpy(seal->key, next, sizeof(next));
    secret_clear(next, sizeof(next));
    return rc;
}

static void make_nonce(uint64_t number, unsigned char *ret_nonce)
{
    memset(ret_nonce, 0, NONCE_BYTES);
    for (int i = 0; i < 8; i++)
        ret_nonce[NONCE_BYTES - 1 - i] = (unsigned char)(number >> (8 * i));
}

static int begin_cipher(EVP_CIPHER_CTX *cipher, int encrypt, uint64_t number, const void *header,
                        size_t header_bytes)
{
    unsigned char nonce[NONCE_BYTES];
    int count = 0;

    make_nonce(number, nonce);
    return EVP_CipherInit_ex2(cipher, NULL, NULL, nonce, encrypt, NULL) &&
           EVP_CipherUpdate(cipher, NULL, &count, header, (int)header_bytes);
}

static int run_cipher(EVP_CIPHER_CTX *cipher, const void *data, size_t bytes, unsigned char *out)
{
    int count = 0;

    return bytes == 0 ||
           (EVP_CipherUpdate(cipher, out, &count, data, (int)bytes) && (size_t)count == bytes);
}

int tls_seal_close(struct tls_seal *seal, uint64_t number, const void *header, size_t header_bytes,
                   const void *first, size_t first_bytes, const void *second, size_t second_bytes,
                   unsigned char *out)
{
    unsigned char *tag = out + first_bytes + second_bytes;
    int count = 0;

    if (!begin_cipher(seal->cipher, 1, number, header, header_bytes) ||
        !run_cipher(seal->cipher, first, first_bytes, out) ||
        !run_cipher(seal->cipher, second, second_bytes, out + first_bytes) ||
        !EVP_CipherFinal_ex(seal->cipher, tag, &count) ||
        !EVP_CIPHER_CTX_ctrl(seal->cipher, EVP_CTRL_AEAD_GET_TAG, TLS_SEAL_TAG_BYTES, tag))
        return -EIO;
    return 0;
}

int tls_seal_open(struct tls_seal *seal, uint64_t number, const void *header, size_t header_bytes,
                  const unsigned char *data, size_t bytes, unsigned char *out)
{
    EVP_CIPHER_CTX *cipher = seal->cipher;
    unsigned char tag[TLS_SEAL_TAG_BYTES];
    size_t text_bytes = bytes - TLS_SEAL_TAG_BYTES;
    int count = 0;

    if (bytes < TLS_SEAL_TAG_BYTES)
        return -EACCES;
    memcpy(tag, data + text_bytes, sizeof(tag));
    if (!begin_cipher(cipher, 0, number, header, header_bytes) ||
        !run_cipher(cipher, data, text_bytes, out) ||
        !EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, TLS_SEAL_TAG_BYTES, tag) ||
        !EVP_CipherFinal_ex(cipher, out + text_bytes, &count))
        return -EACCES;
    return 0;
}

int tls_seal_open_renewed(struct tls_seal *seal, uint64_t number, const void *header,
                          size_t header_bytes, const unsigned char *data, size_t bytes,
                          unsigned char *out)
{
    unsigned char next[TLS_SEAL_KEY_BYTES];
    struct tls_seal *renewed = derive_next(seal, next) == 0 ? tls_seal_create(next) : NULL;
    int rc = -EACCES;

    secret_clear(next, sizeof(next));
    if (renewed != NULL)
        rc = tls_seal_open(renewed, number, header, header_bytes, data, bytes, out);
    if (rc == 0) {
        EVP_CIPHER_CTX *old = seal->cipher;
        seal->cipher = renewed->cipher;
        renewed->cipher = old;
        memcpy(seal->key, renewed->key, sizeof(seal->key));
    }
    tls_seal_destroy(renewed);
    return rc;
}
