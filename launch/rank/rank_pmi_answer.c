/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all parts of the services need: answers to speakers, lines for the user, local ranks, directories.
 */
#include "config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "launch/rank/rank_pmi_internal.h"

void rank_pmi_answer(const struct speaker *speaker, uint64_t id, int status, const void *data,
                     size_t data_bytes)
{
    assert(status <= 0);
    if (speaker->handle != NULL)
        speaker->events->done(speaker->handle, id, status, data, data_bytes);
}

void rank_pmi_say(struct rank_pmi *rank_pmi, const char *format, ...)
{
    struct buffer text = {0};
    va_list arguments;
    char line[1024];
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (bytes >= (int)sizeof(line))
        bytes = sizeof(line) - 1;
    buffer_append(&text, line, (size_t)bytes);
    rank_pmi->events.text(rank_pmi->events.context, (const char *)text.data, text.length_bytes);
    buffer_fini(&text);
}

int64_t rank_pmi_local_index(const struct rank_pmi *rank_pmi, uint32_t rank)
{
    uint32_t low = 0, high = rank_pmi->config.job->count;

    assert(rank_pmi->ranks != NULL);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rank_pmi->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rank_pmi->config.job->count && rank_pmi->ranks[low] == rank ? (int64_t)low : -1;
}

char *rank_pmi_directory(const struct rank_pmi *rank_pmi, uint32_t number)
{
    return memory_printf("%s/j%u", rank_pmi->config.session->directory, number);
}
