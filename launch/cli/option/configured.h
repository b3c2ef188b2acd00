/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of options that are not on the command line: of configuration files and of variables
 * BANYAN_OPTION.  They are read in order, and a later one replaces an earlier one; those of an option
 * that adds up (-x) add up.  The command line has precedence over all.  Pure: text in, values out.
 *
 * A file has lines "NAME = VALUE", for all verbs or, after "[VERB]", for one; after [cluster "NAME"] or
 * [cluster "NAME" "KIND"] they describe nodes (alloc/site.h).  Blank lines and those that begin with # are
 * skipped.  Each value is checked when it is read, so that an error names its line.
 */
#ifndef LAUNCH_CLI_OPTION_CONFIGURED_H
#define LAUNCH_CLI_OPTION_CONFIGURED_H

#include <stdint.h>

#include "alloc/site.h"
#include "base/buffer.h"
#include "base/error.h"
#include "launch/cli/option/options.h"

struct configured_value {
    const struct option_rule *rule;
    const char *verb; /* one of the schema's; NULL: all */
    char *text;
    char *origin;   /* "FILE:LINE" or "$VARIABLE" */
    uint32_t level; /* rises with each file, and for the variables */
};

struct configured_values {
    struct configured_value *items; /* in the order in which they were read */
    uint32_t count;
    uint32_t levels;
    struct site site; /* clusters */
};

/* What can be configured. */
struct configured_schema {
    const struct option_rule *rules;
    size_t settings_bytes;      /* of the rules' settings */
    const char *const *verbs;   /* which sections there may be; NULL at the end */
    const char *const *refused; /* options for the command line only; NULL at the end */
    const char *const *adding;  /* lists that add up; NULL at the end */
    const char *const *nodes;   /* options of which one replaces all of earlier origins */
};

/* -EINVAL with a line that names the file and the line. */
int configured_read_file(struct configured_values *values, const struct configured_schema *schema,
                         const char *path, const struct buffer *text, struct error *error);
/* Those of the variables that belong to an option; empty ones are ignored. */
int configured_read_environment(struct configured_values *values,
                                const struct configured_schema *schema, char *const *environment,
                                struct error *error);
/* Sets the options of these rules (a verb's) that settings does not have, as defaults shows, and for
 * which `wanted` answers 1.  The text is borrowed. */
void configured_fill(const struct configured_values *values, const struct configured_schema *schema,
                     const struct option_rule *rules, const char *verb,
                     int (*wanted)(const char *name), const void *defaults, void *settings);
/* The value that counts for a verb (NULL: for all), of an option that does not add up; or NULL. */
const struct configured_value *configured_find(const struct configured_values *values,
                                               const struct option_rule *rule, const char *verb);
/* Whether a value is of that option, and holds for the verb. */
int configured_applies(const struct configured_value *value, const char *name, const char *verb);
/* Whether values of an option add up. */
int configured_adds(const struct configured_schema *schema, const char *name);
/* Whether the row is an option that can be configured. */
int configured_has_name(const struct configured_schema *schema, const struct option_rule *rule);
void configured_fini(struct configured_values *values);

#endif
