/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of output on their way to the daemon: pmix/pmi_pull_wire.c. */
#include "config.h"

#include "pmix/pmi_pull.h"
#include "test/support/tap.h"

#include <errno.h>

static void test_round_trip(void)
{
    struct pmi_pull pull = {
        .kind = PMI_PULL_SET, .job = 7, .version = 1ull << 40, .channels = PMI_PULL_STDERR};
    struct pmi_pull taken = {0};
    struct buffer text = {0};

    ranges_add(&pull.ranks, 3, 5);
    pmi_pull_encode(&pull, &text);
    for (size_t bytes = 0; bytes < text.length_bytes; bytes++) {
        if (pmi_pull_decode(&taken, text.data, bytes) != -EBADMSG)
            fail("%zu bytes of a request are taken for one", bytes);
    }
    is_int(pmi_pull_decode(&taken, text.data, text.length_bytes), 0, "a request arrives");
    ok(taken.kind == PMI_PULL_SET && taken.job == 7 && taken.version == 1ull << 40 &&
           taken.channels == PMI_PULL_STDERR && ranges_equal(&taken.ranks, &pull.ranks),
       "as it was made");
    ranges_fini(&taken.ranks);
    ranges_fini(&pull.ranks);
    buffer_clear(&text);
    pmi_pull_encode(&(struct pmi_pull){.kind = PMI_PULL_TAKEN, .job = 1, .bytes = 99}, &text);
    is_int(pmi_pull_decode(&taken, text.data, text.length_bytes), 0, "and what has been taken");
    is_uint(taken.bytes, 99, "so much");
    text.data[0] = PMI_PULL_KIND_COUNT;
    is_int(pmi_pull_decode(&taken, text.data, text.length_bytes), -EBADMSG, "an unknown kind");
    text.data[0] = PMI_PULL_SET;
    text.data[17] = 4;
    is_int(pmi_pull_decode(&taken, text.data, text.length_bytes), -EBADMSG, "an unknown channel");
    buffer_fini(&text);
}

int main(void)
{
    test_round_trip();
    return done_testing();
}
