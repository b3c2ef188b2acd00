/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applications of a command line and the placement of each: words in, rules of alloc/ out.
 * `banyan run` and `banyan map` read them with the same table.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_PLACEMENT_H
#define LAUNCH_CLI_REQUEST_REQUEST_PLACEMENT_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/placement.h"
#include "base/error.h"
#include "launch/cli/request/request.h"
#include "launch/cli/request/request_app_file.h"
#include "launch/cli/request/request_settings.h"

/* One application: its options, and its program with arguments. */
struct run_app {
    struct request_settings settings;
    int argc;
    char *const *argv; /* into the command line, or the file */
};

struct request_apps {
    struct run_app *items; /* the first also has the options of the whole job */
    uint32_t count;
    struct request_app_file file; /* of --app-file */
    /* What they were parsed with; the caller's. */
    const struct option_rule *rules;
    const char *verb;
    struct request_settings defaults;
};

/* Splits the command line at words ":" after a program (but not after a "--") and reads the options
 * of each application; later ones inherit those of the first except -n and -N.  With --app-file each
 * line of the file is one, which inherits those of the command line. */
int request_apps_parse(const struct option_rule *rules, const struct request_settings *defaults,
                       int argc, char *const *argv, const struct request_ops *ops,
                       struct request_apps *ret_apps, struct error *error);
void request_apps_fini(struct request_apps *apps);
/* Processes of all, or 0 if any has no count. */
uint64_t request_apps_processes(const struct request_apps *apps);
/* Makes a rule for each; constraints become excluded nodes. */
int request_placement_make(const struct request_apps *apps, const struct request_ops *ops,
                           const struct allocation *allocation, struct placement *placement,
                           struct error *error);

#endif
