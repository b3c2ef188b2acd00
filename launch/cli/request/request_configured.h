/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of banyan run and its relatives: which options can be configured, and where the values
 * come from (option/configured.h).  Options that belong to the start of an instance count only where one
 * is started, so a site's configuration refuses nothing to those who run in an instance.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_CONFIGURED_H
#define LAUNCH_CLI_REQUEST_REQUEST_CONFIGURED_H

#include "base/error.h"
#include "launch/cli/option/configured.h"
#include "launch/cli/request/request_placement.h"

extern const struct configured_schema request_configured_schema;

/* Reads the files of this machine and user and then the variables; of $BANYAN_CONFIG that file alone, or
 * none ("none").  A file that does not exist is normal.  read_file appends a file or returns -errno.
 * The caller finishes ret_values in any case. */
int request_configured_read(char *const *environment,
                            int (*read_file)(const char *path, struct buffer *out,
                                             struct error *error),
                            struct configured_values *ret_values, struct error *error);
/* Fills what the command line of the first application has not given: options of the job, or those of an
 * instance's start.  values: NULL for none. */
void request_configured_fill_job(const struct configured_values *values, struct request_apps *apps);
void request_configured_fill_start(const struct configured_values *values,
                                   struct request_apps *apps);

/* For verbs without applications: what concerns the nodes of a run. */
void request_configured_fill_nodes(const struct configured_values *values,
                                   struct request_settings *settings);

/* A radix of the configuration, unlike one of the command line, may exceed the number of nodes. */
void request_configured_limit_radix(struct request_settings *settings, uint32_t nodes_count);

#endif
