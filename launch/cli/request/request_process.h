/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of an application find when they start, from its options: variables (--env-file,
 * -x, --unset, --prepend, --append, in this order), limits, mask, nice value and working directory.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_PROCESS_H
#define LAUNCH_CLI_REQUEST_REQUEST_PROCESS_H

#include <stdint.h>

#include "base/error.h"
#include "launch/cli/request/request.h"
#include "launch/cli/request/request_settings.h"
#include "launch/proto/job_spec.h"

/* Fills variables, limits and directory of app, which has none; the caller frees it in any case.
 * mpi: JOB_MPI_*. */
int request_process_make(const struct request_settings *settings, const struct request_ops *ops,
                         uint32_t mpi, struct app_spec *app, struct error *error);
/* The lines of a file of variables: "NAME=VALUE", "export NAME=VALUE" or "NAME"; blank lines and those
 * that begin with # are skipped, and quotes around a whole VALUE.  Appends each as -x takes it, for the
 * caller to free.  path is for messages only. */
int request_process_read_variables(const char *path, const struct buffer *text,
                                   struct option_list *items, struct error *error);

#endif
