/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that says which NICs its node has: what it prints is read, whatever it has found. */
#include "config.h"

#include "launch/exec/nic_worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/proto/exit_status.h"
#include "launch/proto/nic_line.h"
#include "test/support/tap.h"

/* Its output as a file; the test's own output goes on after it. */
static FILE *run(void)
{
    FILE *file = tmpfile();
    int own = dup(STDOUT_FILENO), status;

    if (file == NULL || own < 0)
        bail_out("no file: %s", strerror(errno));
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    status = nic_worker_run();
    dup2(own, STDOUT_FILENO);
    close(own);
    is_int(status, EXIT_SUCCESS, "a process of node n1");
    rewind(file);
    return file;
}

int main(void)
{
    char line[NIC_LINE_BYTES_MAX];
    struct nic_line parsed;
    FILE *file;
    int nics = 0;

    unsetenv("BANYAN_NODE");
    unsetenv("BANYAN_RANK");
    is_int(nic_worker_run(), EXIT_STATUS_FAILED, "without a run");
    setenv("BANYAN_NODE", "n1", 1);
    setenv("BANYAN_RANK", "12", 1);
    file = run();
    ok(fgets(line, sizeof(line), file) != NULL && nic_line_parse(line, &parsed) == 0 &&
           parsed.kind == NIC_LINE_NODE && parsed.rank == 12 && strcmp(parsed.text, "n1") == 0,
       "it says which node it is");
    while (fgets(line, sizeof(line), file) != NULL && nic_line_parse(line, &parsed) == 0 &&
           parsed.kind == NIC_LINE_NIC && parsed.rank == 12)
        nics++;
    ok(feof(file), "and its %d NICs: %s", nics, feof(file) ? "" : line);
    fclose(file);
    return done_testing();
}
