/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applications of a command line and how each is to be placed: words in, rules of alloc/ out.
 * `banyan run` and `banyan map` read them with the same table.
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_PLACEMENT_H
#define LAUNCH_CLI_REQUEST_RUN_PLACEMENT_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/placement.h"
#include "base/error.h"
#include "launch/cli/request/run_options.h"
#include "launch/cli/request/run_settings.h"

/* One application: its options, and its program with arguments. */
struct run_app {
    struct run_settings settings;
    int argc;
    char *const *argv; /* into the command line */
};

struct run_apps {
    struct run_app *items; /* the first has the options of the whole job, too */
    uint32_t count;
};

/* Splits the command line at words ":" behind a program (none behind a "--") and reads the options
 * of each application; later ones have those of the first but -n and -N. */
int run_apps_parse(const struct option_rule *rules, const struct run_settings *defaults, int argc,
                   char *const *argv, struct run_apps *ret_apps, struct error *error);
void run_apps_fini(struct run_apps *apps);
/* Processes of all, or 0 if one does not say. */
uint64_t run_apps_processes(const struct run_apps *apps);
/* A rule for each; constraints become nodes that are left out. */
int run_placement_make(const struct run_apps *apps, const struct run_world *world,
                       const struct allocation *allocation, struct placement *placement,
                       struct error *error);

#endif
