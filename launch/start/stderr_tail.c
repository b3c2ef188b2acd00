/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/stderr_tail.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "launch/proto/exit_status.h"
#include "launch/proto/report_line.h"

#define LINE_BYTES_MAX 400u

/* What to do about it, where we know. */
struct hint {
    const char *words; /* in what was said, without regard to case */
    const char *hint;
};

static const struct hint hints[] = {
    {"password", "ssh must work without a password; see ssh-copy-id and ssh-agent"},
    {"passphrase", "ssh must work without asking for a passphrase; see ssh-agent"},
    {"permission denied (", "ssh must work without a password; see ssh-copy-id and ssh-agent"},
    {"host key verification failed", "accept the node's key once, by hand"},
    {"/banyand: not found", "banyan must be installed at the same path on every node"},
    {"cannot reach its parent",
     "choose another network with --net or open ports with --port-range; see banyan doctor"},
    {"/banyand: no such file", "banyan must be installed at the same path on every node"},
};

void stderr_tail_add(struct buffer *words, const void *data, size_t bytes)
{
    buffer_append(words, data, bytes);
    if (words->length_bytes > STDERR_TAIL_BYTES_MAX)
        buffer_consume(words, words->length_bytes - STDERR_TAIL_BYTES_MAX);
    assert(words->length_bytes <= STDERR_TAIL_BYTES_MAX);
}

/* The last line that is not blank, or "". */
static void last_line(struct buffer *words, struct buffer *line)
{
    const char *text = buffer_string(words);
    size_t end = words->length_bytes;
    size_t start;

    while (end > 0 && (isspace((unsigned char)text[end - 1]) || text[end - 1] == '\0'))
        end--;
    start = end;
    while (start > 0 && text[start - 1] != '\n' && text[start - 1] != '\r' &&
           end - start < LINE_BYTES_MAX)
        start--;
    assert(start <= end && end - start <= LINE_BYTES_MAX);
    buffer_append(line, text + start, end - start);
}

static int is_name_letter(char letter)
{
    return isalnum((unsigned char)letter) || letter == '-' || letter == '_';
}

static void replace_name(struct buffer *line, const char *name)
{
    struct buffer result = {0};
    const char *text = buffer_string(line);
    size_t length = strlen(name);

    for (const char *at = text; *at != '\0';) {
        int starts = at == text || !is_name_letter(at[-1]);
        if (length > 0 && starts && strncmp(at, name, length) == 0 && !is_name_letter(at[length])) {
            buffer_append_string(&result, REPORT_LINE_NODE);
            at += length;
        } else {
            buffer_append(&result, at++, 1);
        }
    }
    buffer_swap(line, &result);
    buffer_fini(&result);
}

static const char *find_hint(struct buffer *words)
{
    const char *text = buffer_string(words);

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strcasestr(text, hints[i].words) != NULL)
            return hints[i].hint;
    return NULL;
}

int stderr_tail_has_hint(struct buffer *words)
{
    return find_hint(words) != NULL;
}

static void add_hint(struct buffer *line, const char *hint)
{
    if (hint != NULL)
        buffer_printf(line, " (%s)", hint);
}

void stderr_tail_of_end(struct buffer *words, const char *program, const char *node_name,
                        int wait_status, struct error *ret_why)
{
    struct buffer line = {0};
    const char *hint = find_hint(words);

    if (hint == NULL && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_STATUS_NOT_FOUND)
        hint = "banyan must be installed at the same path on every node";
    last_line(words, &line);
    replace_name(&line, node_name);
    if (line.length_bytes == 0)
        buffer_append_string(&line, "it printed nothing");
    add_hint(&line, hint);
    if (WIFSIGNALED(wait_status))
        error_set(ret_why, -ECHILD, "%s was killed by signal %d (%s): %s", program,
                  WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)), buffer_string(&line));
    else
        error_set(ret_why, -ECHILD, "%s exited %d: %s", program, WEXITSTATUS(wait_status),
                  buffer_string(&line));
    buffer_fini(&line);
}

/* srun waits without end, or says something that is not the reason, where no step can be made. */
static const char *timeout_hint(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash != NULL ? slash + 1 : program, "srun") == 0
               ? "try 'srun --overlap hostname' in this job"
               : NULL;
}

void stderr_tail_of_timeout(struct buffer *words, const char *program, const char *node_name,
                            unsigned int seconds, struct error *ret_why)
{
    const char *hint = find_hint(words);
    struct buffer line = {0};

    last_line(words, &line);
    replace_name(&line, node_name);
    if (hint == NULL)
        hint = timeout_hint(program);
    if (line.length_bytes > 0)
        error_set(ret_why, -ETIMEDOUT, "no answer within %u s (--start-timeout); %s said: %s%s%s%s",
                  seconds, program, buffer_string(&line), hint != NULL ? " (" : "",
                  hint != NULL ? hint : "", hint != NULL ? ")" : "");
    else
        error_set(ret_why, -ETIMEDOUT, "no answer within %u s (--start-timeout)%s%s", seconds,
                  hint != NULL ? "; " : "", hint != NULL ? hint : "");
    buffer_fini(&line);
}
