/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of --stack: launch/cli/client/stack_report.c. */
#include "config.h"

#include "launch/cli/client/stack_report.h"

#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static uint32_t count_lines(const char *text)
{
    uint32_t lines = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

int main(void)
{
    struct hostlist *names = hostlist_create();
    struct stack_fold fold = {0};
    struct buffer out = {0};

    if (hostlist_parse(names, "n[1-9]", NULL) < 0)
        bail_out("no names");
    stack_report(&fold, names, &out);
    is_string(buffer_string(&out), "", "of nothing there are no lines");
    stack_fold_add(&fold, "ptrace is not permitted", true, 6, 4);
    stack_fold_add(&fold, "main > write", false, 3, 2);
    for (uint32_t rank = 0; rank < 3; rank++)
        stack_fold_add(&fold, "main > MPI_Barrier > epoll_wait", false, rank, rank + 1);
    fold.left = 40;
    ranges_add(&fold.silent, 8, 9);
    stack_report(&fold, names, &out);
    is_string(buffer_string(&out),
              "ranks 0-2 on n[1-3]: main > MPI_Barrier > epoll_wait\n"
              "rank 3 on n2: main > write\n"
              "no stack of rank 6 on n4: ptrace is not permitted\n"
              "and 40 more ranks, on nodes with more than 8\n"
              "no stacks in time from n[8-9]\n",
              "the most frequent first, then what could not be taken");
    for (uint32_t rank = 10; rank < 50; rank++) {
        char text[16];

        snprintf(text, sizeof(text), "f%u", rank);
        stack_fold_add(&fold, text, rank % 2, rank, 1);
    }
    buffer_clear(&out);
    stack_report(&fold, names, &out);
    is_uint(count_lines(buffer_string(&out)), 20, "there are at most so many lines");
    ok(strstr(buffer_string(&out), "and 26 more ranks, with other stacks\n") != NULL,
       "the ranks of others are counted");
    buffer_fini(&out);
    stack_fold_fini(&fold);
    hostlist_destroy(names);
    return done_testing();
}
