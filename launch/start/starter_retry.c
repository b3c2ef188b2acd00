/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/starter_retry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "launch/proto/exit_status.h"
#include "launch/start/stderr_tail.h"

uint64_t starter_retry_delay_ns(const char *session, uint32_t place, uint32_t calls)
{
    uint64_t delay_ns = instance_spec_retry_delay_ns(calls);
    uint64_t dice = hash_mix(hash_string(session) + ((uint64_t)place << 32) + calls);

    return delay_ns / 2 + dice % (delay_ns / 2 + 1);
}

int starter_retry_is_useless(struct buffer *words, int wait_status)
{
    if (WIFEXITED(wait_status) && (WEXITSTATUS(wait_status) == EXIT_STATUS_NOT_FOUND ||
                                   WEXITSTATUS(wait_status) == EXIT_STATUS_NOT_EXECUTABLE))
        return 1;
    return stderr_tail_has_hint(words);
}

struct instance_spec *starter_retry_keep(const struct instance_spec *instance)
{
    struct instance_spec *kept = memory_allocate(sizeof(*kept));

    instance_spec_copy(kept, instance);
    explicit_bzero(kept->secret, sizeof(kept->secret));
    kept->boot_word = instance->boot_word;
    return kept;
}

void starter_retry_forget(struct instance_spec **instance)
{
    if (*instance != NULL)
        instance_spec_fini(*instance);
    free(*instance);
    *instance = NULL;
}
