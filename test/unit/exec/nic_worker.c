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
    is_int(status, EXIT_SUCCESS, "a process of a node");
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
    unsetenv("BANYAN_SIZE");
    is_int(nic_worker_run(), EXIT_STATUS_FAILED, "without a run");
    setenv("BANYAN_NODE", "n\xc3\xa9", 1);
    setenv("BANYAN_RANK", "12", 1);
    is_int(nic_worker_run(), EXIT_STATUS_FAILED, "nor without its size");
    setenv("BANYAN_SIZE", "13", 1);
    file = run();
    ok(fgets(line, sizeof(line), file) != NULL && nic_line_parse(line, &parsed) == 0 &&
           parsed.kind == NIC_LINE_NODE && parsed.rank == 12 && parsed.of == 13 &&
           strcmp(parsed.text, "n\xc3\xa9") == 0,
       "it says which node it is");
    while (fgets(line, sizeof(line), file) != NULL && nic_line_parse(line, &parsed) == 0 &&
           parsed.kind == NIC_LINE_NIC && parsed.rank == 12)
        nics++;
    ok(parsed.kind == NIC_LINE_END && parsed.rank == 12 && fgets(line, sizeof(line), file) == NULL,
       "its %d NICs, and the end: %s", nics, line);
    fclose(file);
    return done_testing();
}
