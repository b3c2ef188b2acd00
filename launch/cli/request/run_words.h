/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of a `banyan run` that somebody else is to run: with one option looked at, and taken out.
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_WORDS_H
#define LAUNCH_CLI_REQUEST_RUN_WORDS_H

#include <stddef.h>

/* The value of the option whose text is at an offset in struct run_settings; NULL if it is not there,
 * or if the words are wrong or ask for help, which whoever parses them for good sees to. */
const char *run_words_value(int argc, char *const *argv, size_t offset);
/* The same words without that option, however often it stands there: free() the array, NULL at its
 * end; the strings are the caller's. */
char **run_words_without(int argc, char *const *argv, size_t offset, int *ret_count);

#endif
