/* SPDX-License-Identifier: BSD-3-Clause */
/* What is made of the end of the standard error of a starter that has not led to a daemon. */
#include "config.h"

#include "launch/start/stderr_tail.h"

#include "test/support/tap.h"

int main(void)
{
    struct buffer words = {0};
    struct error why = ERROR_NONE;

    stderr_tail_of_timeout(&words, "srun", "n7", 60, &why);
    is_string(why.text,
              "no answer within 60 s (--start-timeout); try 'srun --overlap hostname' in this job",
              "srun that waits for a step");
    buffer_append_string(&words, "srun: cluster configuration lacks support for cpu binding\n");
    stderr_tail_of_timeout(&words, "/usr/bin/srun", "n7", 60, &why);
    is_string(why.text,
              "no answer within 60 s (--start-timeout); /usr/bin/srun said: srun: cluster "
              "configuration lacks support for cpu binding (try 'srun --overlap hostname' in this "
              "job)",
              "also with a remark that is not the reason");
    stderr_tail_of_timeout(&words, "ssh", "n7", 60, &why);
    is_string(
        why.text,
        "no answer within 60 s (--start-timeout); ssh said: srun: cluster configuration lacks "
        "support for cpu binding",
        "others are not srun");
    buffer_fini(&words);
    return done_testing();
}
