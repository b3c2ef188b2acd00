/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What dead instances have left on a node, for `banyan doctor` (leftovers.h).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "launch/doctor/doctor_internal.h"
#include "launch/doctor/leftovers.h"

struct look {
    const char *own; /* the session of this examination */
    struct leftovers_count count;
};

static void on_leftover(void *context, const struct leftover *leftover)
{
    struct look *look = context;

    if (leftover->session == NULL ||
        memcmp(leftover->session, look->own, SESSION_ID_BYTES - 1) != 0)
        leftovers_count_add(&look->count, leftover);
}

static void tell_session(const struct leftovers_session *session, const char *remedy)
{
    struct buffer text = {0};

    leftovers_session_print(session, &text);
    doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_PROBLEM, remedy, "left by dead session %s: %s",
                session->session, buffer_string(&text));
    buffer_fini(&text);
}

void doctor_check_leftovers(const struct doctor_request *request)
{
    struct look look = {.own = request->session};
    const struct leftovers_count *count = &look.count;
    const char *tmpdir = request->tmpdir;
    char *remedy = memory_printf("run there: banyan clean%s%s", tmpdir != NULL ? " --tmpdir " : "",
                                 tmpdir != NULL ? tmpdir : "");

    leftovers_find(tmpdir, on_leftover, &look);
    for (uint32_t i = 0; i < count->sessions_count; i++)
        tell_session(&count->sessions[i], remedy);
    if (count->more > 0)
        doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_PROBLEM, remedy, "left by other dead sessions: %u",
                    count->more);
    if (count->cgroups > 0)
        doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_PROBLEM, remedy, "left by dead sessions: %u %s",
                    count->cgroups, count->cgroups == 1 ? "cgroup" : "cgroups");
    if (count->sessions_count == 0 && count->cgroups == 0)
        doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_FACT, NULL, "none");
    free(remedy);
}
