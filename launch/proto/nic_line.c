/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/nic_line.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX (8 + NIC_TEXT_COUNT)

static const char *const kinds[NIC_LINE_KIND_COUNT] = {[NIC_LINE_NODE] = "node",
                                                       [NIC_LINE_NIC] = "nic",
                                                       [NIC_LINE_FAIL] = "fail",
                                                       [NIC_LINE_END] = "end"};

static const int fields_of[NIC_LINE_KIND_COUNT] =
    {[NIC_LINE_NODE] = 4, [NIC_LINE_NIC] = FIELDS_MAX, [NIC_LINE_FAIL] = 3, [NIC_LINE_END] = 2};

void nic_line_print_node(uint32_t rank, uint32_t of, const char *name, struct buffer *out)
{
    assert(rank < of);
    buffer_printf(out, "%s\t%" PRIu32 "\t%" PRIu32 "\t%s\n", kinds[NIC_LINE_NODE], rank, of, name);
}

void nic_line_print_fail(uint32_t rank, const char *why, struct buffer *out)
{
    char clean[NIC_LINE_BYTES_MAX - 32];

    nic_text_set(clean, sizeof(clean), why);
    buffer_printf(out, "%s\t%" PRIu32 "\t%s\n", kinds[NIC_LINE_FAIL], rank, clean);
}

void nic_line_print_end(uint32_t rank, struct buffer *out)
{
    buffer_printf(out, "%s\t%" PRIu32 "\n", kinds[NIC_LINE_END], rank);
}

void nic_line_print_nic(uint32_t rank, const struct nic *nic, struct buffer *out)
{
    const struct nic_facts *facts = &nic->facts;

    buffer_printf(out, "%s\t%" PRIu32 "\t%s\t%s\t%" PRIu64 "\t%" PRIu32 "\t%u\t%u",
                  kinds[NIC_LINE_NIC], rank, nic->name, nic->fabric, facts->speed, facts->mtu,
                  facts->numa, facts->state);
    for (int i = 0; i < NIC_TEXT_COUNT; i++)
        buffer_printf(out, "\t%s", facts->texts[i]);
    buffer_append_string(out, "\n");
}

/* Cuts at tabs; how many fields there are, or FIELDS_MAX + 1. */
static int split(char *line, char *fields[FIELDS_MAX])
{
    int count = 0;

    for (char *field; (field = strsep(&line, "\t")) != NULL; count++) {
        if (count == FIELDS_MAX)
            return FIELDS_MAX + 1;
        fields[count] = field;
    }
    return count;
}

static int parse_number(const char *text, uint64_t maximum, uint64_t *ret_number)
{
    char *end = NULL;
    unsigned long long number;

    if (text[0] < '0' || text[0] > '9')
        return -EPROTO;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || number > maximum)
        return -EPROTO;
    *ret_number = number;
    return 0;
}

/* Texts are taken as they are printed: any other would change on the way. */
static int parse_text(const char *text, char *ret_text, size_t bytes)
{
    nic_text_set(ret_text, bytes, text);
    return strcmp(text, ret_text) == 0 ? 0 : -EPROTO;
}

static int parse_nic(char *const *fields, struct nic *nic)
{
    uint64_t mtu = 0, numa = 0, state = 0;
    int rc = parse_text(fields[0], nic->name, sizeof(nic->name));

    if (rc == 0)
        rc = parse_text(fields[1], nic->fabric, sizeof(nic->fabric));
    if (rc == 0)
        rc = parse_number(fields[2], INT64_MAX, &nic->facts.speed);
    if (rc == 0)
        rc = parse_number(fields[3], UINT32_MAX, &mtu);
    if (rc == 0)
        rc = parse_number(fields[4], NIC_NUMA_UNKNOWN, &numa);
    if (rc == 0)
        rc = parse_number(fields[5], NIC_STATE_COUNT - 1, &state);
    nic->facts.mtu = (uint32_t)mtu;
    nic->facts.numa = (uint16_t)numa;
    nic->facts.state = (uint8_t)state;
    for (int i = 0; i < NIC_TEXT_COUNT && rc == 0; i++)
        rc = parse_text(fields[6 + i], nic->facts.texts[i], NIC_TEXT_BYTES);
    if (rc == 0 && (nic->name[0] == '\0' || !nic_facts_are_valid(&nic->facts)))
        rc = -EPROTO;
    return rc;
}

/* Who takes the name checks it: other bytes than ASCII may be in it. */
static int parse_node(char *const *fields, struct nic_line *line)
{
    size_t bytes = strlen(fields[1]);
    uint64_t of;

    if (parse_number(fields[0], UINT32_MAX, &of) < 0 || line->rank >= of || bytes == 0)
        return -EPROTO;
    line->of = (uint32_t)of;
    memcpy(line->text, fields[1], bytes + 1);
    return 0;
}

static int parse_fail(char *const *fields, struct nic_line *line)
{
    return fields[0][0] != '\0' ? parse_text(fields[0], line->text, sizeof(line->text)) : -EPROTO;
}

static int find_kind(const char *word)
{
    int kind = 0;

    while (kind < NIC_LINE_KIND_COUNT && strcmp(word, kinds[kind]) != 0)
        kind++;
    return kind;
}

int nic_line_parse(const char *line, struct nic_line *ret_line)
{
    struct nic_line parsed = {.rank = 0};
    char copy[NIC_LINE_BYTES_MAX], *fields[FIELDS_MAX];
    size_t bytes = strcspn(line, "\n");
    uint64_t rank;
    int count, kind, rc = 0;

    if (bytes >= sizeof(copy))
        return -EPROTO;
    memcpy(copy, line, bytes);
    copy[bytes] = '\0';
    count = split(copy, fields);
    if (count < 2 || parse_number(fields[1], UINT32_MAX - 1, &rank) < 0)
        return -EPROTO;
    kind = find_kind(fields[0]);
    if (kind == NIC_LINE_KIND_COUNT || count != fields_of[kind])
        return -EPROTO;
    parsed.kind = (enum nic_line_kind)kind;
    parsed.rank = (uint32_t)rank;
    if (kind == NIC_LINE_NIC)
        rc = parse_nic(fields + 2, &parsed.nic);
    else if (kind == NIC_LINE_NODE)
        rc = parse_node(fields + 2, &parsed);
    else if (kind == NIC_LINE_FAIL)
        rc = parse_fail(fields + 2, &parsed);
    if (rc == 0)
        *ret_line = parsed;
    return rc;
}
