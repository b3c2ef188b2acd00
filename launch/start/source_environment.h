/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The world that alloc/source.h reads: a real environment, the file system, and the command `flux`.
 * Files are regular ones of a bounded size, so that a pipe or a device named in a variable neither
 * blocks nor fills the memory.
 */
#ifndef LAUNCH_START_SOURCE_ENVIRONMENT_H
#define LAUNCH_START_SOURCE_ENVIRONMENT_H

#include "alloc/source.h"

#define SOURCE_FILE_BYTES_MAX (256u * 1024 * 1024)

struct source_environment;

/* variables is a NULL-terminated array of "NAME=value", which is borrowed. */
struct source_environment *source_environment_create(char *const *variables);
void source_environment_destroy(struct source_environment *environment);
/* Valid as long as the environment is. */
const struct source_ops *source_environment_ops(const struct source_environment *environment);

/* The scheduler's job in which this is, as "slurm 4711"; NULL: none.  The caller frees it. */
char *source_environment_job(const struct source_ops *ops);
/* The name that its user has given to it, any text; NULL: none.  The caller frees it. */
char *source_environment_job_name(const struct source_ops *ops);

/* Decodes R of version 1 (RFC 20), JSON in text.  ret_resources points into what
 * source_environment_destroy frees.  In the open for tests. */
int source_environment_decode_r(struct source_environment *environment, const char *text,
                                size_t text_bytes, struct flux_resources *ret_resources,
                                struct error *error);

#endif
