/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN     26
#define HELP_WIDTH      80
#define NAME_BYTES_MAX  32
#define WORDS_MAX       128
#define SHOWN_BYTES_MAX 80 /* of what the user typed, in a message */

/* One option as it stands on the command line. */
struct given {
    const struct option_rule *rule;
    char name[NAME_BYTES_MAX + 3]; /* as typed, without the value */
    const char *value;             /* NULL: none with it */
};

static size_t smallest_of_three(size_t a, size_t b, size_t c)
{
    size_t smallest = a < b ? a : b;

    return smallest < c ? smallest : c;
}

/* Levenshtein's distance; words longer than NAME_BYTES_MAX are cut. */
static size_t word_distance(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1];
    size_t a_length = strnlen(a, NAME_BYTES_MAX);
    size_t b_length = strnlen(b, NAME_BYTES_MAX);

    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t above = row[j];
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = smallest_of_three(above + 1, row[j - 1] + 1, replaced);
            diagonal = above;
        }
    }
    return row[b_length];
}

const char *word_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    size_t nearest_distance = 1 + strlen(word) / 3;

    for (size_t i = 0; i < count; i++) {
        size_t distance = word_distance(word, candidates[i]);
        if (distance < nearest_distance || (nearest == NULL && distance == nearest_distance)) {
            nearest = candidates[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}

int options_number(const char *text, uint32_t minimum, uint32_t maximum, uint32_t *ret_value)
{
    uint64_t value = 0;

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
    return word + (word[1] == '-' ? 2 : 1);
}

/* "-n", "-n4" or "-n=4"; 0 if word is nothing of this kind. */
static int match_letter(const struct option_rule *rules, const char *word, struct given *ret_given)
{
    const struct option_rule *rule = word[1] == '-' ? NULL : find_letter(rules, word[1]);
    const char *rest = word + 2;

    if (rule == NULL)
        return 0;
    if (*rest != '\0') {
        if (!takes_value(rule))
            return 0;
        if (*rest == '=')
            rest++;
        else if (rule->kind != OPTION_NUMBER || *rest < '0' || *rest > '9')
            return 0;
    }
    ret_given->rule = rule;
    ret_given->value = word[2] != '\0' ? rest : NULL;
    snprintf(ret_given->name, sizeof(ret_given->name), "-%c", rule->letter);
    return 1;
}

/* "--name" or "--name=value", with one dash or two. */
static int match_name(const struct option_rule *rules, const char *word, struct given *ret_given)
{
    const char *name = bare_name(word);
    size_t name_bytes = strcspn(name, "=");
    const struct option_rule *rule = find_name(rules, name, name_bytes);

    if (rule == NULL)
        return 0;
    ret_given->rule = rule;
    ret_given->value = name[name_bytes] == '=' ? name + name_bytes + 1 : NULL;
    snprintf(ret_given->name, sizeof(ret_given->name), "%.*s",
             (int)((size_t)(name - word) + name_bytes), word);
    return 1;
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
    nearest = word_nearest(name, names, count);
    if (nearest == NULL)
        return error_set(error, -EINVAL, "unknown option '%.*s': --help lists the options",
                         SHOWN_BYTES_MAX, word);
    return error_set(error, -EINVAL, "unknown option '%.*s': did you mean '--%s'?", SHOWN_BYTES_MAX,
                     word, nearest);
}

static int refuse_number(const struct given *given, struct error *error)
{
    const struct option_rule *rule = given->rule;

    if (rule->range != NULL)
        return error_set(error, -EINVAL, "option %s: '%.*s' is not %s", given->name,
                         SHOWN_BYTES_MAX, given->value, rule->range);
    return error_set(error, -EINVAL, "option %s: '%.*s' is not a whole number from %u to %u",
                     given->name, SHOWN_BYTES_MAX, given->value, rule->minimum, rule->maximum);
}

static void list_append_item(struct option_list *list, const char *item)
{
    list->items = memory_resize(list->items, (list->count + 1) * sizeof(*list->items));
    list->items[list->count++] = item;
}

static int store(const struct given *given, void *settings, struct error *error)
{
    const struct option_rule *rule = given->rule;
    void *field = (char *)settings + rule->offset;

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
        return error_set(error, -EINVAL, "option %s: its %s is empty", given->name, rule->value);
    if (rule->kind == OPTION_LIST)
        list_append_item(field, given->value);
    else
        *(const char **)field = given->value;
    return 0;
}

int options_parse(const struct option_rule *rules, int argc, char *const *argv, void *settings,
                  int *ret_next, struct error *error)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        struct given given;
        int rc;

        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (!match_name(rules, argv[i], &given) && !match_letter(rules, argv[i], &given))
            return refuse_unknown(rules, argv[i], error);
        if (!takes_value(given.rule) && given.value != NULL)
            return error_set(error, -EINVAL, "option %s takes no value", given.name);
        if (takes_value(given.rule) && given.value == NULL) {
            if (i + 1 >= argc)
                return error_set(error, -EINVAL, "option %s needs a value: %s %s", given.name,
                                 given.name, given.rule->value);
            given.value = argv[++i];
        }
        rc = store(&given, settings, error);
        if (rc < 0)
            return rc;
    }
    *ret_next = i;
    return 0;
}

void option_list_fini(struct option_list *list)
{
    free(list->items);
    *list = (struct option_list){0};
}

static void help_left_side(const struct option_rule *rule, struct buffer *line)
{
    if (rule->letter != '\0')
        buffer_printf(line, "  -%c, ", rule->letter);
    else
        buffer_append_string(line, "      ");
    buffer_printf(line, "--%s", rule->name);
    if (rule->value != NULL)
        buffer_printf(line, " %s", rule->value);
}

/* Moves to the column where help texts stand, on a new line if it is passed. */
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
