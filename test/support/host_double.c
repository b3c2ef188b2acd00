/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/host_double.h"

#include <string.h>

struct pmi_ops host_double_ops;

static struct host *create(const struct host_config *config, struct error *error)
{
    host_double_ops = *config->ops;
    return (struct host *)&host_double_ops;
}

static int descriptor(const struct host *host)
{
    return -1;
}

static void process(struct host *host)
{
}

static void job_close(struct host *host, uint32_t number)
{
}

static void check(struct host *host, uint64_t id, host_checked_function *answered, void *context)
{
    answered(context, id);
}

struct host_table host_double_table(void)
{
    return (struct host_table){.abi = HOST_ABI,
                               .create = create,
                               .descriptor = descriptor,
                               .process = process,
                               .job_close = job_close,
                               .check = check};
}

void host_double_provide(void *host, uint64_t id, const struct pmi_process *process,
                         const char *key)
{
    host_double_ops.provided(host_double_ops.context, process->job, id, 0, key, strlen(key));
}
