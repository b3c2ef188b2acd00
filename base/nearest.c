/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/nearest.h"

#include <assert.h>
#include <string.h>

#define WORD_BYTES_MAX   64
#define SHORT_WORD_BYTES 3
#define LONG_WORD_BYTES  6

static size_t smaller_length(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters inserted, deleted, replaced or swapped with a neighbour, none changed
 * twice; words longer than WORD_BYTES_MAX are truncated. */
static size_t word_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_BYTES_MAX + 1];
    size_t a_length = strnlen(a, WORD_BYTES_MAX);
    size_t b_length = strnlen(b, WORD_BYTES_MAX);

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = smaller_length(above[j] + 1, row[j - 1] + 1);
            row[j] = smaller_length(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller_length(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

/* One typing error in a word of 3 letters or more, two in one of LONG_WORD_BYTES or more: with more
 * differences it is another word, and a suggestion would mislead. */
const char *nearest_word(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t allowed = length >= LONG_WORD_BYTES ? 2 : length >= SHORT_WORD_BYTES ? 1 : 0;

    for (size_t i = 0; i < count && allowed > 0; i++) {
        size_t distance = word_distance(word, candidates[i]);

        if (distance < allowed || (nearest == NULL && distance == allowed)) {
            nearest = candidates[i];
            allowed = distance;
        }
    }
    return nearest;
}
