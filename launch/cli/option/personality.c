/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/personality.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launch/cli/option/foreign_options.h"

#define SHOWN_BYTES 80

void personality_add(struct personality_words *words, const char *word)
{
    words->items = memory_resize(words->items, ((size_t)words->count + 2) * sizeof(*words->items));
    words->items[words->count++] = memory_copy_string(word);
    words->items[words->count] = NULL;
}

void personality_words_fini(struct personality_words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct personality_words){.count = 0};
}

static void add_native(struct personality_words *words, const char *native)
{
    assert(native != NULL);
    while (*native != '\0') {
        size_t bytes = strcspn(native, " ");
        char *word = memory_printf("%.*s", (int)bytes, native);

        personality_add(words, word);
        free(word);
        native += bytes + (native[bytes] == ' ');
    }
}

/* ---- One option ---- */

static const char *find_part(const struct personality_part *parts, const char *text, size_t bytes)
{
    for (; parts->part != NULL; parts++)
        if (strlen(parts->part) == bytes && strncasecmp(parts->part, text, bytes) == 0)
            return parts->native;
    return NULL;
}

static void add_value(struct personality_words *words, const char *value,
                      const struct personality_rule *rule)
{
    const struct personality_part *parts = rule->parts;
    struct buffer text = {0};

    buffer_append_string(&text, rule->prefix != NULL ? rule->prefix : "");
    while (parts != NULL && *value != '\0') {
        size_t bytes = strcspn(value, ":,");
        const char *native = find_part(parts, value, bytes);
        size_t separator_bytes = value[bytes] != '\0';

        if (native != NULL)
            buffer_append_string(&text, native);
        else
            buffer_append(&text, value, bytes);
        if (native == NULL || native[0] != '\0')
            buffer_append(&text, value + bytes, separator_bytes);
        value += bytes + separator_bytes;
    }
    if (parts == NULL)
        buffer_append_string(&text, value);
    personality_add(words, buffer_string(&text));
    buffer_fini(&text);
}

/* An option as it was given. */
struct given_option {
    const struct personality_rule *rule;
    const char *word;  /* for messages */
    const char *value; /* in the same word; NULL: none */
};

/* The launcher's command line, and where it is read. */
struct words_position {
    const struct personality *personality;
    int argc;
    char *const *argv;
    int at;
};

static const char *next_value(struct words_position *position)
{
    return position->at + 1 < position->argc ? position->argv[++position->at] : NULL;
}

static int refuse_value(const struct given_option *given, struct error *error)
{
    return error_set(error, -EINVAL, "option '%.*s' needs a value", SHOWN_BYTES, given->word);
}

static int add_pair(const struct given_option *given, struct words_position *position,
                    struct personality_state *state, struct error *error)
{
    const char *name = given->value != NULL ? given->value : next_value(position);
    const char *value = next_value(position);
    char *text;

    if (name == NULL || value == NULL)
        return error_set(error, -EINVAL, "option '%.*s' needs a name and a value", SHOWN_BYTES,
                         given->word);
    add_native(&state->words, given->rule->native);
    text = memory_printf("%s%s=%s", given->rule->prefix, name, value);
    personality_add(&state->words, text);
    free(text);
    return 0;
}

static int take_given(const struct given_option *given, struct words_position *position,
                      struct personality_state *state, struct error *error)
{
    const struct personality_rule *rule = given->rule;
    const char *value = given->value;

    assert(rule->kind < PERSONALITY_KIND_COUNT);
    if (rule->kind == PERSONALITY_REFUSE)
        return error_set(error, -EINVAL, "unknown option '%.*s': %s", SHOWN_BYTES, given->word,
                         rule->native);
    if (rule->kind == PERSONALITY_FLAG && value != NULL)
        return error_set(error, -EINVAL, "option '%.*s' takes no value", SHOWN_BYTES, given->word);
    if (rule->kind == PERSONALITY_FLAG) {
        add_native(&state->words, rule->native);
        return 0;
    }
    if (rule->kind == PERSONALITY_PAIR)
        return add_pair(given, position, state, error);
    if (value == NULL && rule->kind != PERSONALITY_OPTIONAL)
        value = next_value(position);
    if (value == NULL && rule->kind != PERSONALITY_OPTIONAL)
        return refuse_value(given, error);
    if (rule->convert != NULL && rule->convert(value, state, error) < 0) {
        error_prefix(error, "option '%.*s'", SHOWN_BYTES, given->word);
        return -EINVAL;
    }
    if (rule->kind != PERSONALITY_VALUE)
        return 0;
    add_native(&state->words, rule->native);
    add_value(&state->words, value, rule);
    return 0;
}

/* ---- Which option it is ---- */

static const struct personality_rule *find_rule(const struct personality *personality,
                                                const char *name, size_t name_bytes)
{
    for (const struct personality_rule *rule = personality->rules; rule->names != NULL; rule++)
        if (foreign_options_has_name(rule->names, name, name_bytes))
            return rule;
    return NULL;
}

static int refuse_letter(const struct words_position *position, char letter, struct error *error)
{
    const struct foreign_option *foreign = foreign_options_find(&letter, 1);

    if (foreign != NULL)
        return error_set(error, -EINVAL, "unknown option '-%c': %s", letter, foreign->line);
    return error_set(error, -EINVAL, "unknown option '-%c': %s --help lists the options", letter,
                     position->personality->name);
}

/* "-lN2": letters without a value may be followed by others. */
static int take_letters(struct words_position *position, struct personality_state *state,
                        struct error *error)
{
    const char *word = position->argv[position->at];

    for (const char *at = word + 1; *at != '\0'; at++) {
        char letter[] = {'-', *at, '\0'};
        struct given_option given = {.rule = find_rule(position->personality, at, 1),
                                     .word = letter};
        int rc;

        if (given.rule == NULL)
            return refuse_letter(position, *at, error);
        if (given.rule->kind != PERSONALITY_FLAG && at[1] != '\0')
            given.value = at + 1 + (at[1] == '=');
        rc = take_given(&given, position, state, error);
        if (rc < 0 || given.value != NULL)
            return rc;
    }
    return 0;
}

/* Words that need no translation, and those that the parser of banyan run will refuse. */
static void pass_native(const struct option_rule *rules, struct words_position *position,
                        struct personality_state *state)
{
    int count = options_words(rules, position->argv[position->at]);

    personality_add(&state->words, position->argv[position->at]);
    if (count == 2 && position->at + 1 < position->argc)
        personality_add(&state->words, position->argv[++position->at]);
}

static int take_option(const struct option_rule *rules, struct words_position *position,
                       struct personality_state *state, struct error *error)
{
    const struct personality *personality = position->personality;
    const char *word = position->argv[position->at];
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t name_bytes = strcspn(name, "=");
    struct given_option given = {.word = word};

    assert(word[0] == '-');
    if (personality->combines_letters && word[1] != '-')
        return take_letters(position, state, error);
    given.rule = find_rule(personality, name, name_bytes);
    if (given.rule == NULL) {
        pass_native(rules, position, state);
        return 0;
    }
    given.value = name[name_bytes] == '=' ? name + name_bytes + 1 : NULL;
    return take_given(&given, position, state, error);
}

/* ---- All of them ---- */

/* Options up to the program. */
static int take_options(const struct option_rule *rules, struct words_position *position,
                        struct personality_state *state, struct error *error)
{
    int rc = 0;

    for (; rc == 0 && position->at < position->argc; position->at++) {
        const char *word = position->argv[position->at];

        if (word[0] != '-' || word[1] == '\0' || strcmp(word, "--") == 0)
            break;
        rc = take_option(rules, position, state, error);
    }
    return rc;
}

/* The program and its arguments, and the ':' after them; after "--" there is none. */
static void take_program(struct words_position *position, struct personality_state *state)
{
    int is_last = position->at < position->argc && strcmp(position->argv[position->at], "--") == 0;

    while (position->at < position->argc) {
        const char *word = position->argv[position->at++];

        personality_add(&state->words, word);
        if (!is_last && strcmp(word, ":") == 0)
            return;
    }
}

int personality_translate(const struct personality *personality, const struct option_rule *rules,
                          int argc, char *const *argv, struct personality_words *ret_words,
                          struct error *error)
{
    struct words_position position = {
        .personality = personality, .argc = argc, .argv = argv, .at = 1};
    struct personality_state state = {.nodes = 0};
    int rc;

    assert(argc > 0);
    personality_add(&state.words, "run");
    rc = take_options(rules, &position, &state, error);
    if (rc == 0 && personality->finish != NULL)
        personality->finish(&state);
    while (rc == 0 && position.at < argc) {
        take_program(&position, &state);
        rc = take_options(rules, &position, &state, error);
    }
    if (rc < 0)
        personality_words_fini(&state.words);
    else
        *ret_words = state.words;
    return rc;
}

void personality_help(const struct personality *personality, struct buffer *out)
{
    buffer_printf(out,
                  "Usage: %s [OPTIONS] PROGRAM [ARGUMENTS]\n\n"
                  "This is banyan run with options of %s, which are translated:\n\n",
                  personality->name, personality->name);
    for (const struct personality_rule *rule = personality->rules; rule->names != NULL; rule++) {
        const char *name = rule->names;

        if (rule->kind == PERSONALITY_REFUSE)
            continue;
        buffer_append_string(out, " ");
        while (*name != '\0') {
            size_t bytes = strcspn(name, " ");

            buffer_printf(out, " %s%.*s", bytes > 1 ? "--" : "-", (int)bytes, name);
            name += bytes + (name[bytes] == ' ');
        }
        if (rule->help != NULL)
            buffer_printf(out, " %s", rule->help);
        if (rule->native != NULL && rule->native[0] != '\0')
            buffer_printf(out, "\n      %s%s\n", rule->native,
                          rule->kind == PERSONALITY_FLAG ? "" : " VALUE");
        else
            buffer_append_string(out, "\n");
    }
    buffer_append_string(out,
                         "\nOptions of banyan run, as 'banyan help run' lists them, are accepted, "
                         "too.\n");
}
