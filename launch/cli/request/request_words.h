/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of a `banyan run` to be run elsewhere: reads one option and removes it.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_WORDS_H
#define LAUNCH_CLI_REQUEST_REQUEST_WORDS_H

#include <stddef.h>

/* The value of the option whose text is at an offset in struct request_settings; NULL if it is not
 * given, or if the words are invalid or ask for help, which the actual parser then handles. */
const char *request_words_value(int argc, char *const *argv, size_t offset);
/* The items of a list likewise, of the first program, with commas between, for the caller to free(); NULL also
 * if there are several programs. */
char *request_words_list(int argc, char *const *argv, size_t offset);
/* The same words without the option of that name, "--require", and its values, before the program: free() the
 * array. */
char **request_words_without_list(int argc, char *const *argv, const char *option, int *ret_count);
/* The same words without any occurrence of that option: free() the array, NULL at its end; the
 * strings are the caller's. */
char **request_words_without(int argc, char *const *argv, size_t offset, int *ret_count);

#endif
