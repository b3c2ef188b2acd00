/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric/digest.h: SHA-256 as FIPS 180-4 has it, by one object as often as wanted. */
#include "config.h"

#include "fabric/digest.h"

#include <string.h>

#include "test/support/tap.h"

static const unsigned char of_abc[DIGEST_BYTES] = {
    0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
static const unsigned char of_nothing[DIGEST_BYTES] = {
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};

int main(void)
{
    struct digest *digest = digest_create();
    unsigned char hash[DIGEST_BYTES];

    if (digest == NULL)
        bail_out("OpenSSL has no SHA-256");
    is_int(digest_compute(digest, "abc", 3, hash), 0, "three letters are hashed");
    is_bytes(hash, sizeof(hash), of_abc, sizeof(of_abc), "as the standard has it");
    is_int(digest_compute(digest, NULL, 0, hash), 0, "nothing is hashed by the same object");
    is_bytes(hash, sizeof(hash), of_nothing, sizeof(of_nothing), "as the standard has it");
    is_int(digest_compute(digest, "abc", 3, hash), 0, "and the letters again");
    is_bytes(hash, sizeof(hash), of_abc, sizeof(of_abc), "with the same result");
    digest_destroy(digest);
    digest_destroy(NULL);
    return done_testing();
}
