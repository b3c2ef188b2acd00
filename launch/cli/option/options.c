/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "launch/cli/option/foreign_options.h"

#define HELP_COLUMN     26
#define HELP_WIDTH      80
#define NAME_BYTES_MAX  32
#define WORDS_MAX       128
#define FLAG_TIMES_MAX  9
#define SHOWN_BYTES_MAX 80 /* of what the user typed, in a message */

/* One option as it was given. */
struct given {
    const struct option_rule *rule;
    char name[NAME_BYTES_MAX + 3]; /* as typed, without the value */
    const char *value;             /* NULL: none with it */
};

int options_number(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret_value)
{
    uint64_t value = 0;

    assert(minimum <= maximum);
    if (*text == '\0')
        return -EINVAL;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return -EINVAL;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > UINT32_MAX)
            return -ERANGE;
    }
    if (value < minimum || value > maximum)
        return -ERANGE;
    *ret_value = (uint32_t)value;
    return 0;
}

int options_range(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret_first,
                  uint32_t *ret_last)
{
    char part[16];
    size_t first_bytes = strcspn(text, "-");
    uint32_t first = 0, last = 0;
    int rc;

    if (first_bytes >= sizeof(part))
        return -EINVAL;
    memcpy(part, text, first_bytes);
    part[first_bytes] = '\0';
    rc = options_number(part, minimum, maximum, &first);
    last = first;
    if (rc == 0 && text[first_bytes] == '-')
        rc = options_number(text + first_bytes + 1, first, maximum, &last);
    if (rc < 0)
        return rc;
    *ret_first = first;
    *ret_last = last;
    return 0;
}

static int name_is(const char *name, size_t name_bytes, const char *other, size_t other_bytes)
{
    return name_bytes == other_bytes && memcmp(name, other, name_bytes) == 0;
}

static int rule_has_name(const struct option_rule *rule, const char *name, size_t name_bytes)
{
    const char *alias = rule->aliases;

    if (rule->kind == OPTION_HEADING)
        return 0;
    if (name_is(name, name_bytes, rule->name, strlen(rule->name)))
        return 1;
    while (alias != NULL && *alias != '\0') {
        size_t alias_bytes = strcspn(alias, " ");
        if (name_is(name, name_bytes, alias, alias_bytes))
            return 1;
        alias += alias_bytes + (alias[alias_bytes] == ' ');
    }
    return 0;
}

static const struct option_rule *find_name(const struct option_rule *rules, const char *name,
                                           size_t name_bytes)
{
    for (; rules->kind != OPTION_END; rules++) {
        if (rule_has_name(rules, name, name_bytes))
            return rules;
    }
    return NULL;
}

static const struct option_rule *find_letter(const struct option_rule *rules, char letter)
{
    for (; rules->kind != OPTION_END; rules++) {
        if (rules->letter == letter && letter != '\0')
            return rules;
    }
    return NULL;
}

static int takes_value(const struct option_rule *rule)
{
    return rule->kind != OPTION_FLAG;
}

/* Without the dashes. */
static const char *bare_name(const char *word)
{
    assert(word[0] == '-');
    return word + (word[1] == '-' ? 2 : 1);
}

/* "--name" or "--name=value", with one dash or two; "--n" is "-n". */
static int match_name(const struct option_rule *rules, const char *word, struct given *ret_given)
{
    const char *name = bare_name(word);
    size_t name_bytes = strcspn(name, "=");
    const struct option_rule *rule =
        name_bytes == 1 ? find_letter(rules, name[0]) : find_name(rules, name, name_bytes);

    if (rule == NULL)
        return 0;
    ret_given->rule = rule;
    ret_given->value = name[name_bytes] == '=' ? name + name_bytes + 1 : NULL;
    snprintf(ret_given->name, sizeof(ret_given->name), "%.*s",
             (int)((size_t)(name - word) + name_bytes), word);
    return 1;
}

/* A long name not in lower case: "-Host" is not "-H ost". */
static int is_name_in_capitals(const struct option_rule *rules, const char *word)
{
    const char *name = bare_name(word);
    size_t name_bytes = strcspn(name, "=");

    for (; rules->kind != OPTION_END; rules++) {
        if (rules->kind != OPTION_HEADING && strlen(rules->name) == name_bytes &&
            strncasecmp(rules->name, name, name_bytes) == 0)
            return 1;
    }
    return 0;
}

/* The letter at *at in a word such as "-lvn4": flags may be combined, and an option with a value
 * takes the rest of the word, if any; *at is advanced.  0 if it is not an option. */
static int match_letter(const struct option_rule *rules, const char **at, struct given *ret_given)
{
    const struct option_rule *rule = find_letter(rules, **at);
    const char *rest = *at + 1;

    assert(**at != '\0');
    if (rule == NULL)
        return 0;
    ret_given->rule = rule;
    ret_given->value = NULL;
    snprintf(ret_given->name, sizeof(ret_given->name), "-%c", rule->letter);
    *at = rest;
    if (*rest == '\0' || (!takes_value(rule) && *rest != '='))
        return 1;
    ret_given->value = *rest == '=' ? rest + 1 : rest;
    *at = rest + strlen(rest);
    return rule->kind != OPTION_NUMBER || *rest == '=' || (*rest >= '0' && *rest <= '9');
}

/* The whole word consists of option letters, up to where a value begins. */
static int is_letters(const struct option_rule *rules, const char *word)
{
    const char *at = word + 1;
    struct given given;

    if (word[1] == '-' || is_name_in_capitals(rules, word))
        return 0;
    while (*at != '\0') {
        if (!match_letter(rules, &at, &given))
            return 0;
    }
    return 1;
}

int options_words(const struct option_rule *rules, const char *word)
{
    const char *at = word + 1;
    struct given given = {0};

    assert(word[0] == '-' && word[1] != '\0');
    if (!match_name(rules, word, &given)) {
        if (!is_letters(rules, word))
            return 0;
        while (*at != '\0')
            (void)match_letter(rules, &at, &given);
    }
    return takes_value(given.rule) && given.value == NULL ? 2 : 1;
}

static int refuse_unknown(const struct option_rule *rules, const char *word, struct error *error)
{
    const char *names[WORDS_MAX];
    char name[NAME_BYTES_MAX + 1];
    const char *nearest;
    size_t count = 0;

    for (; rules->kind != OPTION_END; rules++) {
        if (rules->kind != OPTION_HEADING && count < WORDS_MAX)
            names[count++] = rules->name;
    }
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(bare_name(word), "="), bare_name(word));
    for (char *letter = name; *letter != '\0'; letter++)
        *letter = (char)(*letter >= 'A' && *letter <= 'Z' ? *letter - 'A' + 'a' : *letter);
    assert(count <= WORDS_MAX);
    nearest = nearest_word(name, names, count);
    if (nearest == NULL)
        return error_set(error, -EINVAL, "unknown option '%.*s': --help lists the options",
                         SHOWN_BYTES_MAX, word);
    return error_set(error, -EINVAL, "unknown option '%.*s': did you mean '--%s'?", SHOWN_BYTES_MAX,
                     word, nearest);
}

/* Whether it is an option of other launchers for which these rules have an equivalent. */
static int is_foreign(const struct option_rule *rules, const char *word, struct error *error)
{
    const char *name = bare_name(word);
    const struct foreign_option *foreign = foreign_options_find(name, strcspn(name, "="));

    if (foreign == NULL || find_name(rules, foreign->native, strlen(foreign->native)) == NULL)
        return 0;
    error_set(error, -EINVAL, "unknown option '%.*s': %s", SHOWN_BYTES_MAX, word, foreign->line);
    return 1;
}

static int refuse_number(const struct given *given, struct error *error)
{
    const struct option_rule *rule = given->rule;

    assert(rule->kind == OPTION_NUMBER && given->value != NULL);
    if (rule->range != NULL)
        return error_set(error, -EINVAL, "option %s: must be %s, not '%.*s'", given->name,
                         rule->range, SHOWN_BYTES_MAX, given->value);
    return error_set(error, -EINVAL, "option %s: must be a whole number from %u to %u, not '%.*s'",
                     given->name, rule->minimum, rule->maximum, SHOWN_BYTES_MAX, given->value);
}

static void list_append_item(struct option_list *list, const char *item)
{
    assert(item[0] != '\0');
    list->items = memory_resize(list->items, (list->count + 1) * sizeof(*list->items));
    list->items[list->count++] = item;
}

static int store_value(const struct given *given, void *settings, struct error *error)
{
    const struct option_rule *rule = given->rule;
    void *field = (char *)settings + rule->offset;

    assert(rule->kind == OPTION_FLAG || given->value != NULL);
    if (rule->kind == OPTION_FLAG) {
        (*(int *)field)++;
        return 0;
    }
    if (rule->kind == OPTION_NUMBER) {
        if (options_number(given->value, rule->minimum, rule->maximum, field) < 0)
            return refuse_number(given, error);
        return 0;
    }
    if (given->value[0] == '\0')
        return error_set(error, -EINVAL, "option %s: %s is empty", given->name, rule->value);
    if (rule->kind == OPTION_LIST)
        list_append_item(field, given->value);
    else
        *(const char **)field = given->value;
    return 0;
}

static int set_flag(const struct option_rule *rule, const char *text, void *settings,
                    struct error *error)
{
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"off", "on"}};
    uint32_t times = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (int is_yes = 0; is_yes <= 1; is_yes++) {
            if (strcasecmp(text, words[i][is_yes]) == 0) {
                *(int *)(void *)((char *)settings + rule->offset) = is_yes;
                return 0;
            }
        }
    }
    if (options_number(text, 0, FLAG_TIMES_MAX, &times) < 0)
        return error_set(error, -EINVAL, "option %s: must be yes or no, not '%.*s'", rule->name,
                         SHOWN_BYTES_MAX, text);
    *(int *)(void *)((char *)settings + rule->offset) = (int)times;
    return 0;
}

int options_set(const struct option_rule *rule, const char *text, void *settings,
                struct error *error)
{
    struct given given = {.rule = rule, .value = text};

    assert(rule->kind != OPTION_HEADING && rule->kind != OPTION_END && text != NULL);
    if (rule->kind == OPTION_FLAG)
        return set_flag(rule, text, settings, error);
    snprintf(given.name, sizeof(given.name), "%s", rule->name);
    return store_value(&given, settings, error);
}

/* The parser's position on the command line. */
struct position {
    int argc;
    char *const *argv;
    int at;
    int is_done; /* by an option that ends the parsing */
};

/* Takes the value from the next word if there is none yet. */
static int take_value(struct given *given, struct position *position, void *settings,
                      struct error *error)
{
    const struct option_rule *rule = given->rule;

    if (rule->refusal != NULL)
        return error_set(error, -EINVAL, "option %s %s", given->name, rule->refusal);
    if (!takes_value(rule) && given->value != NULL)
        return error_set(error, -EINVAL, "option %s takes no value", given->name);
    if (takes_value(rule) && given->value == NULL) {
        if (position->at + 1 >= position->argc)
            return error_set(error, -EINVAL, "option %s needs a value: %s %s", given->name,
                             given->name, rule->value);
        given->value = position->argv[++position->at];
    }
    position->is_done |= rule->ends_parsing;
    return store_value(given, settings, error);
}

static int take_letters(const struct option_rule *rules, struct position *position, void *settings,
                        struct error *error)
{
    const char *at = position->argv[position->at] + 1;
    int rc = 0;

    while (rc == 0 && *at != '\0' && !position->is_done) {
        struct given given = {0};
        int is_option = match_letter(rules, &at, &given);

        assert(is_option);
        rc = take_value(&given, position, settings, error);
    }
    return rc;
}

static int take_word(const struct option_rule *rules, struct position *position, void *settings,
                     struct error *error)
{
    const char *word = position->argv[position->at];
    struct given given;

    if (match_name(rules, word, &given))
        return take_value(&given, position, settings, error);
    if (is_foreign(rules, word, error))
        return -EINVAL;
    if (is_letters(rules, word))
        return take_letters(rules, position, settings, error);
    return refuse_unknown(rules, word, error);
}

int options_parse(const struct option_rule *rules, int argc, char *const *argv, void *settings,
                  int *ret_next, struct error *error)
{
    struct position position = {.argc = argc, .argv = argv, .at = 1};

    for (; position.at < argc && !position.is_done; position.at++) {
        const char *word = argv[position.at];
        int rc;

        if (word[0] != '-' || word[1] == '\0')
            break;
        if (strcmp(word, "--") == 0) {
            position.at++;
            break;
        }
        rc = take_word(rules, &position, settings, error);
        if (rc < 0)
            return rc;
    }
    assert(position.at <= argc || argc == 0);
    *ret_next = position.at;
    return 0;
}

void options_list_fini(struct option_list *list)
{
    free(list->items);
    *list = (struct option_list){0};
}

char *options_list_join(const struct option_list *list, const char *separator)
{
    struct buffer text = {0};

    for (uint32_t i = 0; i < list->count; i++)
        buffer_printf(&text, "%s%s", i > 0 ? separator : "", list->items[i]);
    if (list->count == 0)
        return NULL;
    buffer_append(&text, "", 1);
    return buffer_take(&text, NULL);
}

static void help_left_side(const struct option_rule *rule, struct buffer *line)
{
    assert(rule->kind != OPTION_HEADING && rule->name != NULL);
    if (rule->letter != '\0')
        buffer_printf(line, "  -%c, ", rule->letter);
    else
        buffer_append_string(line, "      ");
    buffer_printf(line, "--%s", rule->name);
    if (rule->value != NULL)
        buffer_printf(line, " %s", rule->value);
}

/* Moves to the column of help texts, on a new line if that has been passed. */
static void help_indent(size_t used_columns, struct buffer *out)
{
    if (used_columns + 2 > HELP_COLUMN) {
        buffer_append_string(out, "\n");
        used_columns = 0;
    }
    buffer_printf(out, "%*s", (int)(HELP_COLUMN - used_columns), "");
}

static void help_wrapped(const char *text, struct buffer *out)
{
    size_t column = HELP_COLUMN;

    while (*text != '\0') {
        size_t word_bytes = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + word_bytes > HELP_WIDTH) {
            buffer_printf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            buffer_append_string(out, " ");
            column++;
        }
        buffer_append(out, text, word_bytes);
        column += word_bytes;
        text += word_bytes;
        text += strspn(text, " ");
    }
    buffer_append_string(out, "\n");
}

void options_version(struct buffer *out)
{
    buffer_append_string(out, "banyan " PACKAGE_VERSION "\n");
}

void options_help(const struct option_rule *rules, struct buffer *out)
{
    for (; rules->kind != OPTION_END; rules++) {
        size_t start_bytes = out->length_bytes;

        if (rules->kind == OPTION_HEADING) {
            buffer_printf(out, "\n%s:\n", rules->help);
            continue;
        }
        help_left_side(rules, out);
        help_indent(out->length_bytes - start_bytes, out);
        help_wrapped(rules->help, out);
    }
}
