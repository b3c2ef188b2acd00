/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostlists as Slurm writes them: "n[001-003,7],m[1-2]-ib".  An ordered sequence with duplicates,
 * kept as runs of numbered names, never one string per host unless names are irregular: a run costs
 * 24 bytes and the text around its number, which neighbours share.  Grammar and deviations from
 * Slurm 22.05 are listed in doc/hostlist.rst.
 */
#ifndef ALLOC_HOSTLIST_H
#define ALLOC_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"

#define HOSTLIST_HOSTS_MAX  16777216u /* places are 24 bits in every table of ours */
#define HOST_NAME_BYTES_MAX 255

struct hostlist;

struct hostlist *hostlist_create(void);
void hostlist_destroy(struct hostlist *list);
/* Appends what text expands to.  Errors name the column (from 1) and the reason; list is unchanged
 * on failure.  -EINVAL bad text, -E2BIG too many hosts. */
int hostlist_parse(struct hostlist *list, const char *text, struct error *error);
/* The same for any bytes; the error gives the reason alone and ret_offset (from 0) its place. */
int hostlist_parse_bytes(struct hostlist *list, const char *text, size_t text_bytes,
                         size_t *ret_offset, struct error *error);
/* Appends one name as it is; adjacent names that continue a run are joined.  The name has 1 to 255
 * bytes, none of them '[', ',', a blank or a control character; the list has room. */
void hostlist_append(struct hostlist *list, const char *name);
uint32_t hostlist_count(const struct hostlist *list);
/* Writes the index-th name (from 0) into name; O(log runs). */
void hostlist_name(const struct hostlist *list, uint32_t index, char name[HOST_NAME_BYTES_MAX + 1]);
/* Index of the first host of that name at or after `from`, or -1; O(runs). */
int64_t hostlist_find(const struct hostlist *list, const char *name, uint32_t from);
/* Appends hosts [first, first + count) of source to target, another list. */
void hostlist_append_slice(struct hostlist *target, const struct hostlist *source, uint32_t first,
                           uint32_t count);
/* The index-th host gets another name.  O(runs). */
void hostlist_rename(struct hostlist *list, uint32_t index, const char *name);
/* Appends hosts by the numbers that nodes have as places, from 1; those that source does not have are left out.
 * O(ranges x runs). */
void hostlist_append_places(struct hostlist *target, const struct hostlist *source,
                            const struct ranges *places);
/* Appends all of source, another list, which is empty after; O(1) if target was empty. */
void hostlist_move(struct hostlist *target, struct hostlist *source);
/* Compressed text, appended to out; parses back to the same sequence. */
void hostlist_print(const struct hostlist *list, struct buffer *out);

/* A run of hosts as seen from outside: prefix, number, suffix.  Its texts are not NUL-terminated
 * and belong to the list until that changes. */
struct host_run {
    const char *prefix;
    const char *suffix;
    uint64_t first; /* number of the first host */
    uint32_t count;
    uint8_t prefix_bytes;
    uint8_t suffix_bytes;
    uint8_t width; /* digits at least; 0: no number, the name is the prefix and count is 1 */
};

uint32_t hostlist_runs(const struct hostlist *list);
struct host_run hostlist_run(const struct hostlist *list, uint32_t index);
/* Appends a run of another list, or one made up; its names fit HOST_NAME_BYTES_MAX.  A name or run
 * that continues the last run is joined to it. */
void hostlist_append_run(struct hostlist *list, const struct host_run *run);
/* Name of a run's host; returns its length. */
size_t hostlist_run_name(const struct host_run *run, uint32_t offset,
                         char name[HOST_NAME_BYTES_MAX + 1]);
/* Which host of the run has that name; 1 and *ret_offset if there is one. */
bool hostlist_run_find(const struct host_run *run, const char *name, size_t name_bytes,
                       uint32_t *ret_offset);
/* Length of the run's longest name. */
size_t hostlist_run_name_bytes(const struct host_run *run);

#endif
