/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/log.h"

#define STACK_BYTES (32 * 1024) /* deeper than any observed call */

unsigned char *secret_create(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        log_error("no memory for a secret: %s", strerror(errno));
        abort();
    }
    (void)madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}

void secret_keep_from_children(unsigned char *secret, size_t bytes)
{
    (void)madvise(secret, bytes, MADV_WIPEONFORK);
}

void secret_destroy(unsigned char *secret, size_t bytes)
{
    if (secret == NULL)
        return;
    secret_clear(secret, bytes);
    munmap(secret, bytes);
}

void secret_fill_random(unsigned char *secret, size_t bytes)
{
    while (bytes > 0) {
        ssize_t got = getrandom(secret, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            log_error("cannot get random bytes from the system: %s", strerror(errno));
            abort();
        }
        secret += got;
        bytes -= (size_t)got;
    }
}

void secret_clear_stack(void)
{
    unsigned char below[STACK_BYTES];

    explicit_bzero(below, sizeof(below));
}

void secret_clear(void *memory, size_t bytes)
{
    explicit_bzero(memory, bytes);
}
