/* SPDX-License-Identifier: BSD-3-Clause */
/* Job control on its way to the daemon: pmix/pmi_control_wire.c. */
#include "config.h"

#include "pmix/pmi_control.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

#define NAMESPACE_MAX (PMI_NAMESPACE_BYTES - 1)

static void test_round_trip(void)
{
    struct pmi_control_target targets[] = {{"banyan-x-1", 3}, {"", PMI_RANK_ALL}, {"", 0}};
    struct pmi_control control = {.kind = PMI_CONTROL_SIGNAL,
                                  .signal = PMI_CONTROL_SIGNAL_MAX,
                                  .targets = targets,
                                  .targets_count = 3};
    struct pmi_control taken = {0};
    struct buffer text = {0};

    memset(targets[1].namespace, 'n', NAMESPACE_MAX);
    pmi_control_encode(&control, &text);
    for (size_t bytes = 0; bytes < text.length_bytes; bytes++) {
        if (pmi_control_decode(&taken, text.data, bytes) != -EBADMSG)
            fail("%zu bytes of a request are taken for one", bytes);
    }
    is_int(pmi_control_decode(&taken, text.data, text.length_bytes), 0, "a request arrives");
    ok(taken.kind == PMI_CONTROL_SIGNAL && taken.signal == PMI_CONTROL_SIGNAL_MAX &&
           taken.targets_count == 3,
       "as it was made");
    is_string(taken.targets[0].namespace, "banyan-x-1", "its first target");
    is_uint(taken.targets[0].rank, 3, "and the rank");
    is_uint(strlen(taken.targets[1].namespace), NAMESPACE_MAX, "the longest name there is");
    is_uint(taken.targets[1].rank, PMI_RANK_ALL, "and all ranks");
    pmi_control_fini(&taken);
    buffer_fini(&text);
}

static void test_refused(void)
{
    static const struct {
        const char *what;
        unsigned char bytes[3];
    } rows[] = {
        {"an unknown kind", {PMI_CONTROL_KIND_COUNT, 0, 0}},
        {"no signal", {PMI_CONTROL_SIGNAL, 0, 0}},
        {"a signal that does not exist", {PMI_CONTROL_SIGNAL, 65, 0}},
        {"a signal for an end", {PMI_CONTROL_KILL, 9, 0}},
        {"a target that is not there", {PMI_CONTROL_KILL, 0, 1}},
    };
    struct pmi_control taken = {0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(pmi_control_decode(&taken, rows[i].bytes, 3), -EBADMSG, "%s is refused",
               rows[i].what);
}

int main(void)
{
    test_round_trip();
    test_refused();
    return done_testing();
}
