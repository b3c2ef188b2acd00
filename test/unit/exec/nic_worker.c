/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that says which NICs its node has: what it prints is read, whatever it has found. */
#include "config.h"

#include "launch/exec/nic_worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
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

/* Its lines after the first; the last is in ret_line. */
static int count_nics(FILE *file, struct nic_line *ret_line)
{
    char line[NIC_LINE_BYTES_MAX];
    int nics = -1;

    while (fgets(line, sizeof(line), file) != NULL && nic_line_parse(line, ret_line) == 0)
        nics += ret_line->kind == NIC_LINE_NIC || ret_line->kind == NIC_LINE_NODE;
    fclose(file);
    return nics;
}

/* Why it could not say; "": it could. */
static const char *fail_of(FILE *file)
{
    static struct nic_line parsed;
    char line[NIC_LINE_BYTES_MAX];

    while (fgets(line, sizeof(line), file) != NULL && nic_line_parse(line, &parsed) == 0 &&
           parsed.kind != NIC_LINE_FAIL)
        parsed.text[0] = '\0';
    fclose(file);
    return parsed.text;
}

/* A plugin that cannot be opened, with a machine of hwloc's that has NICs, and with one that has none. */
static void test_broken_plugin(void)
{
    const char *srcdir = getenv("srcdir"), *own = getenv("BANYAN_PKGLIBDIR"),
               *parent = getenv("TMPDIR");
    char *directory = memory_printf("%s/bt-plugin.XXXXXX", parent != NULL ? parent : "/tmp");
    char *xml = memory_printf("%s/test/data/nics.xml", srcdir != NULL ? srcdir : ".");
    char *kept = own != NULL ? memory_copy_string(own) : NULL, *plugin;
    struct nic_line last;
    FILE *file;

    if (mkdtemp(directory) == NULL)
        bail_out("%s: %s", directory, strerror(errno));
    plugin = memory_printf("%s/fabric_ofi.so", directory);
    file = fopen(plugin, "w");
    if (file == NULL || fputs("no object", file) < 0 || fclose(file) != 0)
        bail_out("%s: %s", plugin, strerror(errno));
    setenv("BANYAN_PKGLIBDIR", directory, 1);
    setenv("HWLOC_XMLFILE", xml, 1);
    is_int(count_nics(run(), &last), 4, "without libfabric the NICs are hwloc's");
    unsetenv("HWLOC_XMLFILE");
    setenv("HWLOC_SYNTHETIC", "pu:2", 1);
    file = run();
    has_string(fail_of(file), "cannot open the libfabric plugin",
               "if it shows none that is an error");
    unsetenv("HWLOC_SYNTHETIC");
    if (kept != NULL)
        setenv("BANYAN_PKGLIBDIR", kept, 1);
    else
        unsetenv("BANYAN_PKGLIBDIR");
    ok(unlink(plugin) == 0 && rmdir(directory) == 0, "nothing is left");
    free(plugin);
    free(directory);
    free(xml);
    free(kept);
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
    test_broken_plugin();
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
