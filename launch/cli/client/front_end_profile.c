/* SPDX-License-Identifier: BSD-3-Clause */
/* --profile: how long the nodes took is printed after the end of the job. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/profile_report.h"

/* In an instance that was there before, nobody has waited for its daemons. */
static void leave_out_start(struct profile *profile)
{
    profile->phases[PROFILE_JOIN] = profile->phases[PROFILE_WAIT] = (struct profile_times){0};
}

int front_end_profile_take(struct front_end *front, struct wire_reader *reader)
{
    struct profile *profile = memory_allocate_zeroed(sizeof(*profile));

    if (profile_decode(profile, reader) < 0) {
        free(profile);
        return -EBADMSG;
    }
    if (front->is_guest)
        leave_out_start(profile);
    free(front->record.profile);
    front->record.profile = profile;
    return 0;
}

void front_end_profile_print(struct front_end *front)
{
    struct buffer table = {0};
    char *line, *next;

    assert(front->said_end);
    if (front->record.profile == NULL) {
        output_writer_message(front->writer,
                              "no times of the nodes (--profile): the job did not end in order");
        return;
    }
    profile_report_table(front->record.profile, front->request->allocation.names, &table);
    for (line = (char *)buffer_string(&table); (next = strchr(line, '\n')) != NULL;
         line = next + 1) {
        *next = '\0';
        output_writer_message(front->writer, line);
    }
    buffer_fini(&table);
}
