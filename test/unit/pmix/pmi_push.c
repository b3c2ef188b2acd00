/* SPDX-License-Identifier: BSD-3-Clause */
/* Input on its way to the daemon: pmix/pmi_push_wire.c. */
#include "config.h"

#include "pmix/pmi_push.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

int main(void)
{
    struct pmi_push push = {.job = 7, .rank = PMI_RANK_ALL, .data = "input", .data_bytes = 5};
    struct pmi_push taken = {0};
    struct buffer text = {0};

    pmi_push_encode(&push, &text);
    is_int(pmi_push_decode(&taken, text.data, 7), -EBADMSG, "half a request");
    is_int(pmi_push_decode(&taken, text.data, text.length_bytes), 0, "a request arrives");
    ok(taken.job == 7 && taken.rank == PMI_RANK_ALL && taken.data_bytes == 5 &&
           memcmp(taken.data, "input", 5) == 0,
       "as it was made");
    is_int(pmi_push_decode(&taken, text.data, 8), 0, "the end of input");
    is_uint(taken.data_bytes, 0, "is a piece without data");
    memset(buffer_reserve(&text, PMI_PUSH_BYTES_MAX), 0, PMI_PUSH_BYTES_MAX);
    buffer_commit(&text, PMI_PUSH_BYTES_MAX);
    is_int(pmi_push_decode(&taken, text.data, text.length_bytes), -EBADMSG, "a piece is limited");
    buffer_fini(&text);
    return done_testing();
}
