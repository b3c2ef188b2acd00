/* SPDX-License-Identifier: BSD-3-Clause */
/* Events between a speaker and the daemon (pmix/pmi_notice.h): there and back, cut anywhere, and refused. */
#include "config.h"

#include "pmix/pmi_notice.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

static void test_round_trip(void)
{
    struct pmi_process targets[] = {{1, PMI_RANK_ALL}, {UINT32_MAX, 0}}, affected[] = {{7, 3}};
    struct pmi_notice notice = {.event = PMI_EVENT_NODE_LOST,
                                .code = -3001,
                                .source = {PMI_JOB_NONE, 12},
                                .targets = targets,
                                .targets_count = 2,
                                .affected = affected,
                                .affected_count = 1,
                                .text = "n12",
                                .info = "\0information",
                                .info_bytes = 12};
    struct pmi_notice back = {.code = 5};
    struct buffer bytes = {0};
    int refused = 1;

    pmi_notice_encode(&notice, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= pmi_notice_decode(&back, bytes.data, cut) == -EBADMSG;
    ok(refused && back.code == 5, "cut anywhere it is refused, and nothing is touched");
    is_int(pmi_notice_decode(&back, bytes.data, bytes.length_bytes), 0, "an event comes back");
    ok(back.event == notice.event && back.code == -3001 && back.source.job == PMI_JOB_NONE &&
           back.source.rank == 12,
       "with its code and source");
    ok(back.targets_count == 2 && memcmp(back.targets, targets, sizeof(targets)) == 0 &&
           back.affected_count == 1 && memcmp(back.affected, affected, sizeof(affected)) == 0,
       "with its processes");
    is_string(back.text, "n12", "with its text");
    ok(back.info_bytes == 12 && memcmp(back.info, notice.info, 12) == 0, "and its information");
    pmi_notice_fini(&back);
    bytes.data[0] = PMI_EVENT_COUNT;
    is_int(pmi_notice_decode(&back, bytes.data, bytes.length_bytes), -EBADMSG,
           "an unknown event is refused");
    bytes.data[0] = PMI_EVENT_CLIENT;
    bytes.data[13] = 0x7f;
    is_int(pmi_notice_decode(&back, bytes.data, bytes.length_bytes), -EBADMSG,
           "so are more processes than there is room for");
    buffer_fini(&bytes);
}

static void test_empty(void)
{
    struct pmi_notice notice = {.event = PMI_EVENT_CLIENT}, back;
    struct buffer bytes = {0};

    pmi_notice_encode(&notice, &bytes);
    is_int(pmi_notice_decode(&back, bytes.data, bytes.length_bytes), 0, "one of nothing");
    ok(back.targets == NULL && back.affected == NULL && back.info_bytes == 0, "has nothing");
    pmi_notice_fini(&back);
    buffer_fini(&bytes);
}

int main(void)
{
    test_round_trip();
    test_empty();
    return done_testing();
}
