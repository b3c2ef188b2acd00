/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One table of options per verb, used for both parsing and help, so that the two cannot differ.
 * "--name VALUE" and "--name=VALUE" are the same; a single dash works before a long name ("-np 4",
 * as in mpirun), and two before a letter; letters may be combined ("-lv") and take their value
 * without a blank ("-n4", "-Hn1"); options end at "--" or at the first word that is not one.  If an
 * option is given twice the last value counts, except for OPTION_LIST.  Names of other launchers'
 * options get a specific message (foreign_options.h).
 */
#ifndef LAUNCH_CLI_OPTION_OPTIONS_H
#define LAUNCH_CLI_OPTION_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum option_kind {
    OPTION_END,     /* of the table */
    OPTION_HEADING, /* help is a line between options */
    OPTION_FLAG,    /* int: how often it was given */
    OPTION_NUMBER,  /* uint32_t */
    OPTION_TEXT,    /* const char *, points into argv, never "" */
    OPTION_LIST,    /* struct option_list: one item each time it is given */
    OPTION_KIND_COUNT
};

struct option_list {
    const char **items; /* point into argv */
    uint32_t count;
};

struct option_rule {
    enum option_kind kind;
    char letter;         /* 0: none */
    const char *name;    /* without dashes */
    const char *aliases; /* more names, separated by one blank; NULL: none */
    const char *value;   /* the value's name in the help text */
    uint32_t minimum;    /* OPTION_NUMBER: the allowed range */
    uint32_t maximum;
    const char *range; /* as text, if minimum and maximum do not describe it; else NULL */
    size_t offset;     /* of the field in the settings */
    const char *help;
    uint8_t each_app;     /* it may precede each of several programs */
    uint8_t ends_parsing; /* the rest is not parsed, as after --help */
    const char *refusal;  /* why it is not allowed here, printed after its name; NULL: allowed */
    const char *choices;  /* what the value may be, separated by one blank, for completion; NULL:
                             what stands in lower case in `value` */
};

/* The last rows of every verb's table: two int fields of its settings. */
#define OPTION_ROWS_ABOUT(settings, help_field, version_field) \
    {.kind = OPTION_HEADING, .help = "About banyan"},          \
        {.kind = OPTION_FLAG,                                  \
         .letter = 'h',                                        \
         .name = "help",                                       \
         .ends_parsing = 1,                                    \
         .offset = offsetof(settings, help_field),             \
         .help = "print this help"},                           \
        {.kind = OPTION_FLAG,                                  \
         .letter = 'V',                                        \
         .name = "version",                                    \
         .ends_parsing = 1,                                    \
         .offset = offsetof(settings, version_field),          \
         .help = "print the version"},                         \
    {                                                          \
        .kind = OPTION_END                                     \
    }

/* Reads options from argv[1] on into settings, which holds the defaults, and sets *ret_next to the
 * index of the first word after them.  -EINVAL with an error that names the option, the given value
 * and what is allowed.  argv must outlive settings. */
int options_parse(const struct option_rule *rules, int argc, char *const *argv, void *settings,
                  int *ret_next, struct error *error);
/* Stores one value as if it were given; a flag's is yes or no (true, on, 1; false, off, 0) or how often.
 * A list gets one more item.  Errors as of options_parse. */
int options_set(const struct option_rule *rule, const char *text, void *settings,
                struct error *error);
/* How many words an option takes: 1, or 2 if its value is the next word; 0: no rule has it. */
int options_words(const struct option_rule *rules, const char *word);
/* Appends the table as help, 80 columns wide. */
void options_help(const struct option_rule *rules, struct buffer *out);
/* What --version prints. */
void options_version(struct buffer *out);
/* A whole number in [minimum, maximum]: digits only.  *ret_value is untouched on failure. */
int options_number(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret_value);
/* "FIRST-LAST", or "FIRST" alone, which is also the last; both in [minimum, maximum]. */
int options_range(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret_first,
                  uint32_t *ret_last);
void options_list_fini(struct option_list *list);
/* All items with the separator between them, for the caller to free(); NULL if there are none. */
char *options_list_join(const struct option_list *list, const char *separator);

#endif
