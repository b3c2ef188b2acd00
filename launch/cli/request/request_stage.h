/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `banyan run` stages: the words of the command line, which stage_files.h interprets.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_STAGE_H
#define LAUNCH_CLI_REQUEST_REQUEST_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "launch/proto/job_spec.h"

struct request_settings;

struct request_stage {
    char **words; /* FILE|DIR[:DEST] */
    uint32_t words_count;
    bool binary; /* the programs, with their libraries */
    bool force;  /* existing files are replaced */
    bool check_libraries;
};

int request_stage_take(const struct request_settings *settings, struct request_stage *ret_stage,
                       struct job_spec *job, struct error *error);
void request_stage_fini(struct request_stage *stage);

#endif
