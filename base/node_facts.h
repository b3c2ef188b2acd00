/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a node besides its processors: memory, architecture, operating system, GPUs, and
 * features, which are words that a site or the processor gives.  A fact that no source has given is
 * not known, which is different from 0.  As text: "mem=64G,arch=x86_64,os=linux,feature=a|b,gpus=2".
 */
#ifndef BASE_NODE_FACTS_H
#define BASE_NODE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/wire.h"

#define FACTS_WORD_BYTES         64 /* of a name, incl. NUL */
#define FACTS_FEATURES_BYTES_MAX 16384u
#define FACTS_MEMORY_MIB_MAX     (1ull << 40)
#define FACTS_GPUS_MAX           4096u

enum fact {
    FACT_MEMORY,
    FACT_ARCHITECTURE,
    FACT_SYSTEM,
    FACT_FEATURES, /* all of them are known */
    FACT_GPUS,
    FACT_COUNT
};

/* A zeroed struct knows nothing. */
struct node_facts {
    uint8_t known; /* bits 1 << enum fact */
    uint64_t memory_mib;
    uint32_t gpus;
    char architecture[FACTS_WORD_BYTES]; /* as uname -m: "x86_64" */
    char system[FACTS_WORD_BYTES];       /* in small letters: "linux" */
    char *features; /* sorted words, each once, with '|' between them; NULL: none */
};

void node_facts_fini(struct node_facts *facts);
void node_facts_copy(struct node_facts *ret_copy, const struct node_facts *facts);
bool node_facts_knows(const struct node_facts *facts, enum fact fact);
bool node_facts_equal(const struct node_facts *a, const struct node_facts *b);
/* 0, or -EINVAL for a word that cannot be one, -E2BIG for too many; the fact "features" is for the
 * caller to set in `known`. */
int node_facts_add_feature(struct node_facts *facts, const char *word, size_t word_bytes);
bool node_facts_has_feature(const struct node_facts *facts, const char *word, size_t word_bytes);
/* Takes what the other knows beside; features are united. */
void node_facts_merge(struct node_facts *facts, const struct node_facts *other);

/* Reads the above text into `facts`; the error names the column. */
int node_facts_parse(const char *text, struct node_facts *facts, struct error *error);
/* The same text, "" if nothing is known. */
void node_facts_print(const struct node_facts *facts, struct buffer *out);
/* "64G", "512M": a whole number followed by K, M, G, T or P (of 1024), M by default; up to `end`.
 * -EINVAL. */
int node_facts_parse_mib(const char *text, const char *end, uint64_t *ret_mib);
void node_facts_print_mib(uint64_t mib, struct buffer *out);
/* Bytes that names of architectures, systems and features have: letters, digits, "._+-:/". */
size_t node_facts_word_bytes(const char *text);

void node_facts_encode(const struct node_facts *facts, struct buffer *out);
/* 0 or -EBADMSG; initialises ret_facts, which is empty on failure. */
int node_facts_decode(struct node_facts *ret_facts, struct wire_reader *reader);

#endif
