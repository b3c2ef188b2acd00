/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/nic_line.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX (8 + NIC_TEXT_COUNT)

static const char *const kinds[NIC_LINE_KIND_COUNT] =
    {[NIC_LINE_NODE] = "node", [NIC_LINE_NIC] = "nic", [NIC_LINE_FAIL] = "fail"};

void nic_line_print_text(enum nic_line_kind kind, uint32_t rank, const char *text,
                         struct buffer *out)
{
    char clean[NIC_LINE_BYTES_MAX - 32];

    assert(kind == NIC_LINE_NODE || kind == NIC_LINE_FAIL);
    nic_text_set(clean, sizeof(clean), text);
    buffer_printf(out, "%s\t%" PRIu32 "\t%s\n", kinds[kind], rank, clean);
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
    if (rc == 0 && (nic->name[0] == '\0' || (nic->facts.texts[NIC_PCI][0] != '\0' &&
                                             !nic_pci_is_valid(nic->facts.texts[NIC_PCI]))))
        rc = -EPROTO;
    return rc;
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
    int count, kind, rc;

    if (bytes >= sizeof(copy))
        return -EPROTO;
    memcpy(copy, line, bytes);
    copy[bytes] = '\0';
    count = split(copy, fields);
    if (count < 3 || parse_number(fields[1], UINT32_MAX - 1, &rank) < 0)
        return -EPROTO;
    kind = find_kind(fields[0]);
    if (kind == NIC_LINE_KIND_COUNT || count != (kind == NIC_LINE_NIC ? FIELDS_MAX : 3))
        return -EPROTO;
    parsed.kind = (enum nic_line_kind)kind;
    parsed.rank = (uint32_t)rank;
    rc = kind == NIC_LINE_NIC ? parse_nic(fields + 2, &parsed.nic)
                              : parse_text(fields[2], parsed.text, sizeof(parsed.text));
    if (rc == 0 && kind != NIC_LINE_NIC && parsed.text[0] == '\0')
        rc = -EPROTO;
    if (rc == 0)
        *ret_line = parsed;
    return rc;
}
