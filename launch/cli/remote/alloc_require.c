/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/alloc_require.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "alloc/host_name.h"

#define SELECT "select="

/* ---- Terms ---- */

static int is_minimum(const struct require_term *term)
{
    return term->high == UINT64_MAX && term->low > 0;
}

static int has_alternatives(const struct require_term *term)
{
    return memchr(term->words, '|', term->words_bytes) != NULL;
}

static void put_term(const struct require_term *term, struct buffer *out)
{
    buffer_printf(out, "%s%.*s", out->length_bytes > 0 ? "," : "", (int)term->text_bytes,
                  term->text);
}

/* Words that mean themselves in the language of any scheduler. */
static int is_plain(const struct require_term *term)
{
    for (uint32_t i = 0; i < term->words_bytes; i++)
        if (term->words[i] != '|' && !host_name_has_byte(term->words[i]))
            return 0;
    return 1;
}

/* "(a || b)" of "a|b", with those signs. */
static void put_words(const struct require_term *term, const char *or_sign, struct buffer *out)
{
    int is_group = has_alternatives(term);

    if (is_group)
        buffer_append_string(out, "(");
    for (uint32_t i = 0; i < term->words_bytes; i++) {
        if (term->words[i] == '|')
            buffer_append_string(out, or_sign);
        else
            buffer_append(out, term->words + i, 1);
    }
    if (is_group)
        buffer_append_string(out, ")");
}

/* ---- Each scheduler; 1 if it can be asked for the term ---- */

static int put_slurm(const struct require_term *term, struct buffer *words,
                     struct buffer *constraint)
{
    if (term->fact == FACT_MEMORY && is_minimum(term)) {
        buffer_printf(words, "--mem=%" PRIu64 "M\n", term->low);
        return 1;
    }
    if (term->fact == FACT_GPUS && is_minimum(term)) {
        buffer_printf(words, "--gpus-per-node=%" PRIu64 "\n", term->low);
        return 1;
    }
    if (term->fact != FACT_FEATURES || term->is_not)
        return 0;
    if (constraint->length_bytes > 0)
        buffer_append_string(constraint, "&");
    put_words(term, "|", constraint);
    return 1;
}

/* A range of a number that LSF knows by that name. */
static void put_range(const struct require_term *term, const char *name, struct buffer *out)
{
    const char *before = "";

    if (term->low == term->high) {
        buffer_printf(out, "%s==%" PRIu64, name, term->low);
        return;
    }
    if (term->low > 0 || term->high == UINT64_MAX) {
        buffer_printf(out, "%s>=%" PRIu64, name, term->low);
        before = " && ";
    }
    if (term->high != UINT64_MAX)
        buffer_printf(out, "%s%s<=%" PRIu64, before, name, term->high);
}

static int put_lsf(const struct require_term *term, struct buffer *out)
{
    if (term->fact == FACT_ARCHITECTURE || term->fact == FACT_SYSTEM)
        return 0;
    if (out->length_bytes > 0)
        buffer_append_string(out, " && ");
    if (term->fact == FACT_FEATURES) {
        buffer_append_string(out, term->is_not ? "!" : "");
        put_words(term, " || ", out);
    } else {
        put_range(term, term->fact == FACT_MEMORY ? "maxmem" : "ngpus", out);
    }
    return 1;
}

static int put_pbs(const struct require_term *term, struct buffer *out)
{
    if (term->fact == FACT_MEMORY && is_minimum(term)) {
        buffer_printf(out, ":mem=%" PRIu64 "mb", term->low);
        return 1;
    }
    if (term->fact == FACT_GPUS && is_minimum(term)) {
        buffer_printf(out, ":ngpus=%" PRIu64, term->low);
        return 1;
    }
    if (term->fact != FACT_FEATURES || has_alternatives(term))
        return 0;
    buffer_printf(out, ":%.*s=%s", (int)term->words_bytes, term->words,
                  term->is_not ? "false" : "true");
    return 1;
}

void alloc_require_make(const char *scheduler, const struct require *require,
                        struct alloc_require *ret_made)
{
    struct alloc_require made = {.option = {0}};
    struct buffer together = {0}; /* terms that become one option */
    int is_slurm = strcmp(scheduler, "slurm") == 0;
    int is_lsf = strcmp(scheduler, "lsf") == 0;
    int is_pbs = strcmp(scheduler, "pbs") == 0;

    assert(is_slurm || is_lsf || is_pbs || scheduler[0] == '\0');
    for (uint32_t i = 0; i < require->count; i++) {
        const struct require_term *term = &require->terms[i];
        int is_asked = !is_plain(term) ? 0
                       : is_slurm      ? put_slurm(term, &made.option, &together)
                       : is_lsf        ? put_lsf(term, &together)
                       : is_pbs        ? put_pbs(term, &made.chunk)
                                       : 0;

        if (!is_asked)
            put_term(term, &made.left);
        /* Only Slurm says afterwards what its nodes are like. */
        if (!is_asked || is_slurm)
            put_term(term, &made.kept);
    }
    if (together.length_bytes > 0)
        buffer_printf(&made.option, is_slurm ? "--constraint=%s\n" : "select[%s]",
                      buffer_string(&together));
    buffer_fini(&together);
    *ret_made = made;
}

void alloc_require_fini(struct alloc_require *made)
{
    buffer_fini(&made->option);
    buffer_fini(&made->chunk);
    buffer_fini(&made->left);
    buffer_fini(&made->kept);
}

/* ---- PBS's chunks ---- */

int alloc_require_add_chunk(const char *value, const char *chunk, struct buffer *out)
{
    const char *select = strncmp(value, SELECT, strlen(SELECT)) == 0 ? value : NULL;
    const char *other = strstr(value, "," SELECT);
    const char *at, *end;

    if (select == NULL && other != NULL)
        select = other + 1;
    if (select == NULL)
        return 0;
    end = select + strcspn(select, ",");
    buffer_append(out, value, (size_t)(select - value));
    for (at = select; at < end; at++) {
        if (*at == '+')
            buffer_append_string(out, chunk);
        buffer_append(out, at, 1);
    }
    buffer_printf(out, "%s%s", chunk, end);
    return 1;
}
