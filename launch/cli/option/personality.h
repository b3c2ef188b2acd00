/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other launchers' command lines: banyan started as mpiexec, mpirun or srun translates a documented
 * subset of its options to those of banyan run.  Options that banyan has under the same name need no
 * row, and pass as they are; what neither has is refused by the parser of banyan run, with the line of
 * foreign_options.h.  Pure: words in, words out.
 */
#ifndef LAUNCH_CLI_OPTION_PERSONALITY_H
#define LAUNCH_CLI_OPTION_PERSONALITY_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "launch/cli/option/options.h"

/* Owns its strings; NULL at the end. */
struct personality_words {
    char **items;
    int count;
};

/* What later options, or the end of all, need to know of those of an application. */
struct personality_state {
    struct personality_words words;
    uint32_t nodes;     /* of srun -N; 0: not given, likewise below */
    uint32_t processes; /* of -n */
    uint8_t has_hosts;
    uint8_t has_per_node;
};

enum personality_kind {
    PERSONALITY_FLAG,     /* no value: the native words */
    PERSONALITY_VALUE,    /* the native words, and the value with its parts replaced */
    PERSONALITY_PAIR,     /* two values: the native words, and prefix, first, "=", second */
    PERSONALITY_IGNORE,   /* a value that has no effect here */
    PERSONALITY_CONVERT,  /* by the function */
    PERSONALITY_OPTIONAL, /* by the function; the value only after "=", else NULL */
    PERSONALITY_REFUSE,   /* the native words say why */
    PERSONALITY_KIND_COUNT
};

/* A part of a value between ':' and ','; native "" removes it. */
struct personality_part {
    const char *part;
    const char *native;
};

struct personality_rule {
    const char *names; /* without dashes, separated by one blank */
    enum personality_kind kind;
    const char *native;                   /* words separated by one blank; "": none */
    const struct personality_part *parts; /* NULL at the end; NULL: none */
    const char *prefix;
    int (*convert)(const char *value, struct personality_state *state, struct error *error);
    const char *help; /* for the table of --help: the value's name and what is done */
};

struct personality {
    const char *name;
    uint8_t
        combines_letters; /* "-lN2", as getopt has it; else a single dash may begin a long name */
    const struct personality_rule *rules; /* names NULL at the end */
    /* Called before the program of the first application. */
    void (*finish)(struct personality_state *state);
};

/* personality_rules.c: NULL if no launcher is called so. */
const struct personality *personality_find(const char *name);
extern const struct personality personalities[];
extern const size_t personalities_count;

/* The words of banyan run, "run" first; argv[0] is the launcher's name.  rules: of banyan run.  -EINVAL
 * with a line that names the option.  ret_words is the caller's to fini after success. */
int personality_translate(const struct personality *personality, const struct option_rule *rules,
                          int argc, char *const *argv, struct personality_words *ret_words,
                          struct error *error);
void personality_words_fini(struct personality_words *words);
/* What its --help prints. */
void personality_help(const struct personality *personality, struct buffer *out);
/* Appends a copy. */
void personality_add(struct personality_words *words, const char *word);

#endif
