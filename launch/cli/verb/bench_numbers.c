/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_numbers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Digits, and perhaps K or M; up to end. */
static int read_number(const char *text, const char *end, uint32_t maximum, uint32_t *ret_number)
{
    uint64_t number = 0;

    if (text == end || *text < '0' || *text > '9')
        return -EINVAL;
    for (; text < end && *text >= '0' && *text <= '9' && number <= maximum; text++)
        number = 10 * number + (uint64_t)(*text - '0');
    if (text < end && (*text == 'K' || *text == 'k'))
        number <<= 10, text++;
    else if (text < end && (*text == 'M' || *text == 'm'))
        number <<= 20, text++;
    if (text != end || number > maximum)
        return -EINVAL;
    *ret_number = (uint32_t)number;
    return 0;
}

static int add(struct bench_numbers *numbers, uint32_t number)
{
    assert(numbers->count <= BENCH_NUMBERS_MAX);
    if (numbers->count == BENCH_NUMBERS_MAX)
        return -EINVAL;
    numbers->items[numbers->count++] = number;
    return 0;
}

/* One, or FIRST..LAST: each the double of the one before. */
static int add_range(struct bench_numbers *numbers, const char *word, size_t word_bytes,
                     uint32_t maximum)
{
    const char *end = word + word_bytes, *dots = memmem(word, word_bytes, "..", 2);
    uint32_t first, last;

    if (read_number(word, dots != NULL ? dots : end, maximum, &first) < 0)
        return -EINVAL;
    if (dots == NULL)
        return add(numbers, first);
    if (read_number(dots + 2, end, maximum, &last) < 0 || first == 0 || last < first)
        return -EINVAL;
    for (uint64_t number = first; number <= last; number *= 2)
        if (add(numbers, (uint32_t)number) < 0)
            return -EINVAL;
    return 0;
}

int bench_numbers_parse(const char *text, uint32_t maximum, struct bench_numbers *ret_numbers)
{
    ret_numbers->count = 0;
    for (const char *word = text;; word++) {
        size_t word_bytes = strcspn(word, ",");

        if (add_range(ret_numbers, word, word_bytes, maximum) < 0)
            return -EINVAL;
        word += word_bytes;
        if (*word == '\0')
            return 0;
    }
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void bench_numbers_sort(struct bench_numbers *numbers)
{
    uint32_t kept = 0;

    assert(numbers->count > 0);
    qsort(numbers->items, numbers->count, sizeof(numbers->items[0]), compare);
    for (uint32_t i = 0; i < numbers->count; i++)
        if (i == 0 || numbers->items[i] != numbers->items[i - 1])
            numbers->items[kept++] = numbers->items[i];
    numbers->count = kept;
}
