/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of both begin with '#' and a number.  gdb: "#1  0x000055d2 in solve (n=...) at s.c:5" without the address where
 * the function begins or was inlined, "in ??" without symbols.  eu-stack: "#1  0x000055d2 solve", and nothing after the
 * address without symbols.
 */
#include "config.h"

#include "launch/exec/stack_parse.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 128u
#define NO_NAME    "??"

struct frames {
    char names[FRAMES_MAX][STACK_PARSE_NAME_BYTES]; /* the innermost first */
    size_t count;
};

/* Where a list of arguments begins: the first bracket outside <>, which is not that of a name such as "(anonymous
 * namespace)::run" or "operator()". */
static size_t name_length(const char *text, size_t bytes)
{
    static const char unnamed[] = "(anonymous namespace)", call[] = "operator()";
    int depth = 0;

    for (size_t i = 0; i < bytes; i++) {
        if (strncmp(text + i, unnamed, sizeof(unnamed) - 1) == 0)
            i += sizeof(unnamed) - 2;
        else if (strncmp(text + i, call, sizeof(call) - 1) == 0)
            i += sizeof(call) - 2;
        else if (text[i] == '<')
            depth++;
        else if (text[i] == '>' && depth > 0)
            depth--;
        else if (text[i] == '(' && depth == 0 && i > 0)
            return text[i - 1] == ' ' ? i - 1 : i;
    }
    return bytes;
}

static void keep(struct frames *frames, const char *name, size_t bytes)
{
    char *to = frames->names[frames->count];

    assert(frames->count < FRAMES_MAX);
    if (bytes == 0) {
        name = NO_NAME;
        bytes = sizeof(NO_NAME) - 1;
    }
    if (bytes >= STACK_PARSE_NAME_BYTES)
        bytes = STACK_PARSE_NAME_BYTES - 1;
    memcpy(to, name, bytes);
    to[bytes] = '\0';
    if (frames->count == 0 || strcmp(to, frames->names[frames->count - 1]) != 0)
        frames->count++;
}

static void take_line(struct frames *frames, const char *line, size_t bytes)
{
    const char *end = line + bytes, *text = line + 1;
    const char *version;
    size_t length;

    if (bytes < 2 || line[0] != '#' || !isdigit((unsigned char)*text))
        return;
    while (text < end && isdigit((unsigned char)*text))
        text++;
    while (text < end && *text == ' ')
        text++;
    if (end - text > 2 && text[0] == '0' && text[1] == 'x') {
        while (text < end && *text != ' ')
            text++;
        while (text < end && *text == ' ')
            text++;
        if (end - text > 3 && strncmp(text, "in ", 3) == 0)
            text += 3;
        else if (end - text >= 3 && strncmp(text, "- 1", 3) == 0) /* eu-stack --activation */
            text += end - text > 4 ? 4 : 3;
    }
    length = end - text > 0 && *text == '<' ? (size_t)(end - text) /* "<signal handler called>" */
                                            : name_length(text, (size_t)(end - text));
    version = memchr(text, '@', length);
    if (version != NULL)
        length = (size_t)(version - text);
    if (frames->count < FRAMES_MAX)
        keep(frames, text, length);
}

/* What the system puts around main. */
static int is_start(const char *name)
{
    return strncmp(name, "__libc_start_", 13) == 0 || strcmp(name, "_start") == 0;
}

/* Without what is outside main, or, if there are no symbols, outside the start of the program. */
static size_t count_inside(const struct frames *frames)
{
    for (size_t i = frames->count; i > 0; i--)
        if (strcmp(frames->names[i - 1], "main") == 0)
            return i;
    for (size_t i = 1; i < frames->count; i++)
        if (is_start(frames->names[i]))
            return i;
    return frames->count;
}

static int print(const struct frames *frames, char *out, size_t out_bytes)
{
    size_t count = count_inside(frames), used = 0;
    size_t outer = STACK_PARSE_SHOWN_MAX / 2, inner = STACK_PARSE_SHOWN_MAX - outer;

    for (size_t i = count; i > 0; i--) {
        int is_first_left = count > STACK_PARSE_SHOWN_MAX && i == count - outer;

        used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", i < count ? " > " : "",
                                 is_first_left ? "..." : frames->names[i - 1]);
        assert(used < out_bytes);
        if (is_first_left)
            i = inner + 1;
    }
    return (int)count;
}

int stack_parse(const char *output, char *out, size_t out_bytes)
{
    struct frames frames = {.count = 0};

    assert(out_bytes > (STACK_PARSE_SHOWN_MAX + 1) * (STACK_PARSE_NAME_BYTES + 3));
    out[0] = '\0';
    for (const char *line = output; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");

        take_line(&frames, line, bytes);
        line += bytes + (line[bytes] == '\n');
    }
    if (frames.count > 0)
        return print(&frames, out, out_bytes);
    if (strstr(output, "Operation not permitted") != NULL ||
        strstr(output, "Permission denied") != NULL)
        return -EPERM;
    return 0;
}

void stack_parse_complaint(const char *output, char *out, size_t out_bytes)
{
    size_t bytes;

    assert(out_bytes > 0);
    output += strspn(output, " \n");
    bytes = strcspn(output, "\n");
    snprintf(out, out_bytes, "%.*s", (int)(bytes < out_bytes ? bytes : out_bytes - 1), output);
}
