/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_words.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request_settings.h"

const char *request_words_value(int argc, char *const *argv, size_t offset)
{
    struct request_settings settings = {.kill_grace_s = RUN_NOT_GIVEN};
    int next = 0;
    int rc = options_parse(run_rules, argc, argv, &settings, &next, NULL);
    int is_run = rc == 0 && settings.help == 0 && settings.version == 0 &&
                 (next < argc || settings.app_file != NULL);

    assert(offset < sizeof(settings));
    request_settings_fini(&settings);
    return is_run ? *(const char *const *)((const char *)&settings + offset) : NULL;
}

/* Parses up to the program, whose index is returned; -1: the words are invalid, or ask for help. */
static int parse(int argc, char *const *argv, struct request_settings *settings)
{
    int next = 0;
    int rc = options_parse(run_rules, argc, argv, settings, &next, NULL);

    return rc < 0 || settings->help > 0 || settings->version > 0 ? -1 : next;
}

char *request_words_list(int argc, char *const *argv, size_t offset)
{
    struct request_settings settings = {.kill_grace_s = RUN_NOT_GIVEN};
    int next = parse(argc, argv, &settings);
    int is_one = next >= 0 && settings.app_file == NULL;
    char *text = NULL;

    assert(offset + sizeof(struct option_list) <= sizeof(settings));
    for (int i = next; is_one && i < argc; i++)
        is_one = strcmp(argv[i], ":") != 0;
    if (is_one)
        text = options_list_join(
            (const struct option_list *)(const void *)((const char *)&settings + offset), ",");
    request_settings_fini(&settings);
    return text;
}

char **request_words_without_list(int argc, char *const *argv, const char *option, int *ret_count)
{
    struct request_settings settings = {.kill_grace_s = RUN_NOT_GIVEN};
    char **words = memory_allocate_zeroed((size_t)(argc + 1) * sizeof(*words));
    int next = parse(argc, argv, &settings);
    size_t bytes = strlen(option);
    int count = 0;

    request_settings_fini(&settings);
    words[count++] = argv[0];
    for (int i = 1; i < argc;) {
        int length = i < next ? options_words(run_rules, argv[i]) : 1;
        int is_it = i < next && strncmp(argv[i], option, bytes) == 0 &&
                    (argv[i][bytes] == '\0' || argv[i][bytes] == '=');

        for (int k = 0; k < (length > 0 ? length : 1) && i < argc; k++, i++)
            if (!is_it)
                words[count++] = argv[i];
    }
    *ret_count = count;
    return words;
}

/* The number of words of "--name VALUE" or "--name=VALUE"; 0 if they do not hold the value. */
static int words_of(const char *word, const char *next, const char *value)
{
    if (next != NULL && next == value)
        return 2;
    return value > word && value <= word + strlen(word) ? 1 : 0;
}

char **request_words_without(int argc, char *const *argv, size_t offset, int *ret_count)
{
    char **words = memory_allocate((size_t)(argc + 1) * sizeof(*words));
    int count = argc;
    const char *value;

    memcpy(words, argv, (size_t)argc * sizeof(*words));
    words[argc] = NULL;
    while ((value = request_words_value(count, words, offset)) != NULL) {
        int at = 0;
        int length;

        while ((length = words_of(words[at], words[at + 1], value)) == 0)
            at++;
        assert(at + length <= count);
        memmove(&words[at], &words[at + length],
                (size_t)(count - at - length + 1) * sizeof(*words));
        count -= length;
    }
    assert(words[count] == NULL);
    *ret_count = count;
    return words;
}
