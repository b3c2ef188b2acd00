/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/nic_worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/nic_read.h"
#include "launch/exec/plugin.h"
#include "launch/proto/exit_status.h"
#include "launch/proto/nic_line.h"

/* Where the plugin is not installed there is no libfabric to ask. */
static int ask_libfabric(struct nic_list *list, struct error *error)
{
    const struct ofi_table *table;
    int rc;

    if (!plugin_has_fabric_ofi())
        return 0;
    table = plugin_fabric_ofi(error);
    rc = table != NULL ? table->nics(list, error) : error->code;
    nic_read_drop_virtual(NIC_READ_CLASS, list);
    return rc;
}

/* What hwloc shows is better than nothing, unless it is nothing. */
static int check_list(const struct nic_list *list, const struct error *unasked, struct error *error)
{
    if (list->is_cut)
        return error_set(error, -E2BIG, "there are more than %u", NIC_LIST_MAX);
    if (unasked->code < 0 && list->count == 0)
        return error_set(error, unasked->code, "%s", unasked->text);
    if (unasked->code < 0)
        fprintf(stderr, "banyan: %s: %s; the NICs are those that hwloc shows\n",
                getenv("BANYAN_NODE"), unasked->text);
    return 0;
}

static int read_nics(struct nic_list *ret_list, struct error *error)
{
    struct nic_list libfabric = {.items = NULL}, hwloc = {.items = NULL}, list = {.items = NULL};
    struct error unasked = ERROR_NONE;
    int rc;

    if (ask_libfabric(&libfabric, &unasked) < 0)
        nic_list_fini(&libfabric);
    rc = nic_read(&hwloc, error);
    if (rc == 0) {
        nic_list_join(&libfabric, &hwloc, &list);
        rc = check_list(&list, &unasked, error);
    }
    if (rc == 0)
        *ret_list = list;
    else
        nic_list_fini(&list);
    nic_list_fini(&libfabric);
    nic_list_fini(&hwloc);
    return rc;
}

static void print_lines(uint32_t rank, uint32_t of, const char *node, struct buffer *out)
{
    struct nic_list list = {.items = NULL};
    struct error error = ERROR_NONE;

    nic_line_print_node(rank, of, node, out);
    if (read_nics(&list, &error) < 0)
        nic_line_print_fail(rank, error.text, out);
    for (uint32_t i = 0; i < list.count; i++)
        nic_line_print_nic(rank, &list.items[i], out);
    nic_line_print_end(rank, out);
    nic_list_fini(&list);
}

/* From here on what libraries print to standard output goes to standard error; the lines go to what is returned, or NULL. */
static FILE *take_output(void)
{
    int fd = dup(STDOUT_FILENO);

    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return NULL;
    return fdopen(fd, "w");
}

static uint32_t number_of(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

int nic_worker_run(void)
{
    const char *node = getenv("BANYAN_NODE");
    uint32_t rank = number_of("BANYAN_RANK"), of = number_of("BANYAN_SIZE");
    struct buffer out = {0};
    FILE *file;
    int failed;

    if (node == NULL || rank >= of) {
        fprintf(stderr, "banyan: %s is for processes of banyan fabric --nics\n", NIC_WORKER_WORD);
        return EXIT_STATUS_FAILED;
    }
    file = take_output();
    print_lines(rank, of, node, &out);
    failed = file == NULL || fwrite(out.data, 1, out.length_bytes, file) != out.length_bytes ||
             fclose(file) != 0;
    if (failed)
        fprintf(stderr, "banyan: cannot write: %s\n", strerror(errno));
    buffer_fini(&out);
    return failed ? EXIT_STATUS_FAILED : EXIT_SUCCESS;
}
