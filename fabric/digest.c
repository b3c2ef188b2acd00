/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/digest.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <openssl/evp.h>

#include "base/memory.h"

struct digest {
    EVP_MD *algorithm;
    EVP_MD_CTX *context;
};

struct digest *digest_create(void)
{
    struct digest *digest = memory_allocate_zeroed(sizeof(*digest));

    digest->algorithm = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    digest->context = EVP_MD_CTX_new();
    if (digest->algorithm != NULL && digest->context != NULL)
        return digest;
    digest_destroy(digest);
    return NULL;
}

void digest_destroy(struct digest *digest)
{
    if (digest == NULL)
        return;
    EVP_MD_CTX_free(digest->context);
    EVP_MD_free(digest->algorithm);
    free(digest);
}

int digest_compute(struct digest *digest, const void *data, size_t bytes,
                   unsigned char ret_hash[DIGEST_BYTES])
{
    unsigned int written = 0;

    assert(data != NULL || bytes == 0);
    if (!EVP_DigestInit_ex2(digest->context, digest->algorithm, NULL) ||
        !EVP_DigestUpdate(digest->context, data, bytes) ||
        !EVP_DigestFinal_ex(digest->context, ret_hash, &written))
        return -EIO;
    assert(written == DIGEST_BYTES);
    return 0;
}
