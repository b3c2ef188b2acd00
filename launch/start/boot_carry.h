/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Boot records for starters that have no stdin for what they start.  One of
 *
 *     munge      wrapped by MUNGE on the command line: only this user's processes can open it
 *     file:DIR   in a file of mode 0600, in a separate directory of mode 0700 in DIR
 *
 * becomes a word that the starter passes to `banyand --boot`.  A bare secret is never on a command
 * line.  Packing and unpacking block for as long as munged or the file system takes: they happen at
 * the start only, once for each call of a starter.
 */
#ifndef LAUNCH_START_BOOT_CARRY_H
#define LAUNCH_START_BOOT_CARRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* The system takes 128 KiB as one argument, and a shell may be in between. */
#define BOOT_CARRY_WORD_BYTES_MAX (96u * 1024)
#define BOOT_CARRY_MUNGE_SOCKET   "BANYAN_MUNGE_SOCKET" /* in the environment: not the usual munged */

/* Whether a way can be gone: -EINVAL if there is no such way, -ENOTSUP if it is not built in. */
int boot_carry_check(const char *way, struct error *error);
/* The directory that a way of files uses, made by the first boot_carry_pack; NULL of another way.
 * It is the caller's to remove; free(). */
char *boot_carry_directory(const char *way, const char *session, uint32_t place);
/* The word for a record; directory is boot_carry_directory's, number distinguishes its records.  It can
 * be opened for lifetime_s.  *ret_word: free(). */
int boot_carry_pack(const char *directory, uint32_t number, uint32_t lifetime_s, const void *record,
                    size_t record_bytes, char **ret_word, struct error *error);
/* The file of a word, if it is one, is no longer needed. */
void boot_carry_forget(const char *word);
/* Appends the record of a word.  -EACCES if it is another user's or others may read or write it. */
int boot_carry_unpack(const char *word, struct buffer *ret_record, struct error *error);

#endif
