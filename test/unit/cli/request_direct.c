/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_direct.h"

#include <errno.h>

#include "base/memory.h"
#include "test/support/tap.h"

static struct request_settings settings = {.no_daemons = 1};

static void test_options(void)
{
    struct error error = ERROR_NONE;

    is_int(request_direct_check(&settings, &error), 0, "nothing needs a daemon");
    settings.input = "none";
    settings.mpi = "none";
    is_int(request_direct_check(&settings, &error), 0, "nor does none");
    settings.input = "0";
    is_int(request_direct_check(&settings, &error), -EINVAL, "input does");
    has_string(error.text, "option --stdin cannot be used with --no-daemons", "by its name");
    settings.input = NULL;
    settings.pty = 1;
    is_int(request_direct_check(&settings, &error), -EINVAL, "and a terminal");
    has_string(error.text, "option --pty cannot be used with --no-daemons", "by its name, too");
    settings.pty = 0;
    settings.fabric_topology = "fat-tree:2x2";
    is_int(request_direct_check(&settings, &error), -EINVAL, "and a tree");
    settings.no_daemons = 0;
    is_int(request_direct_check(&settings, &error), 0, "with daemons there is input");
    settings = (struct request_settings){.no_daemons = 1};
}

static void finishes(enum starter_kind starter, uint32_t timeout_s, uint32_t applications,
                     int status, const char *text)
{
    struct run_request request = {.instance_fd = -1, .timeout_s = timeout_s};
    struct error error = ERROR_NONE;

    instance_spec_init(&request.instance);
    job_spec_init(&request.job);
    allocation_init(&request.allocation);
    allocation_generate(&request.allocation, "n", 2, 1);
    request.instance.starter = starter;
    request.instance.agent = starter == STARTER_SSH ? memory_copy_string("ssh") : NULL;
    request.job.apps = memory_allocate_zeroed(applications * sizeof(*request.job.apps));
    request.job.apps_count = applications;
    is_int(request_direct_finish(&settings, &request, &error), status, "starter %d: %s",
           (int)starter, error.text);
    has_string(status < 0 ? error.text : request.warnings, text, "in words");
    is_int(request.no_daemons, status == 0, "and it is done so");
    request_fini(&request);
}

int main(void)
{
    test_options();
    finishes(STARTER_LOCAL, 5, 2, 0, "without PMI each process of MPI is alone");
    finishes(STARTER_SSH, 5, 2, 0, "no PMIx, standard input, bindings");
    finishes(STARTER_SRUN, 0, 1, 0, "PMI is what srun offers");
    finishes(STARTER_SRUN, 0, 2, -EINVAL, "srun starts one program");
    finishes(STARTER_SRUN, 5, 1, -EINVAL, "with srun there is no --timeout");
    finishes(STARTER_FLUX, 0, 1, -EINVAL, "the starter flux starts daemons only");
    return done_testing();
}
