/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What somebody who typed an unknown word may have meant.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* The candidate most similar to the word, within a typing error or two; NULL if there is none that
 * close.  O(count * length of the words). */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

#endif
