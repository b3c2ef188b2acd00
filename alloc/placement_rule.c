/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_rule.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAPPINGS                                                                           \
    "slot, node, core, hwthread, l1cache, l2cache, l3cache, numa, package, ppr:N:OBJECT, " \
    "dist:DEVICE, device=CLASS, pe-list=CORES, seq and rankfile:FILE"

static const char *const rank_by_names[PLACEMENT_RANK_BY_COUNT] = {
    [PLACEMENT_RANK_DEFAULT] = "default", [PLACEMENT_RANK_BY_SLOT] = "slot",
    [PLACEMENT_RANK_BY_NODE] = "node",    [PLACEMENT_RANK_BY_SPAN] = "span",
    [PLACEMENT_RANK_BY_FILL] = "fill",
};

static const char *const memory_names[PLACEMENT_MEMORY_COUNT] = {
    [PLACEMENT_MEMORY_NONE] = "none",
    [PLACEMENT_MEMORY_PREFERRED] = "preferred",
    [PLACEMENT_MEMORY_BOUND] = "local",
};

static const char *const device_names[PLACEMENT_DEVICE_COUNT] = {
    [PLACEMENT_DEVICE_GPU] = "gpu",
    [PLACEMENT_DEVICE_NETWORK] = "network",
};

/* In upper or lower case, as PRRTE and Open MPI take them. */
static bool is_word(const char *text, size_t bytes, const char *word)
{
    return strlen(word) == bytes && strncasecmp(text, word, bytes) == 0;
}

/* A decimal number in [1, maximum], or 0. */
static uint32_t parse_number(const char *text, size_t bytes, uint32_t maximum)
{
    uint64_t value = 0;

    if (bytes == 0 || bytes > 9)
        return 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    return value <= maximum ? (uint32_t)value : 0;
}

/* Up to the next ':' or ','. */
static size_t word_length(const char *text)
{
    return strcspn(text, ":,");
}

static const char *word_after(const char *text, size_t bytes)
{
    return text[bytes] != '\0' ? text + bytes + 1 : text + bytes;
}

/* ---- --map-by ---- */

/* What PRRTE and Open MPI have and banyan says otherwise, or does anyway. */
static const struct modifier_elsewhere {
    const char *word;
    const char *instead; /* NULL: what happens anyway */
} modifiers_elsewhere[] = {
    {"nooversubscribe", NULL},
    {"corecpus", NULL},
    {"hwtcpus", "use --map-by hwthread or --bind-to hwthread"},
    {"display", "use --report-bindings, or 'banyan map'"},
    {"displaydevel", "use 'banyan map --explain'"},
    {"donotlaunch", "use 'banyan map'"},
    {"inherit", "mappings are not inherited by other jobs"},
    {"noinherit", NULL},
    {"interleave", "use --map-by package or numa with --gpus-per-rank 1"},
    {"shared", "it applies only to device=gpu and device=network"},
    {"ordered", "it applies only to pe-list; seq and rankfile already list the processes in order"},
};

static int parse_elsewhere(const char *text, size_t bytes, struct error *error)
{
    for (size_t i = 0; i < sizeof(modifiers_elsewhere) / sizeof(*modifiers_elsewhere); i++) {
        const struct modifier_elsewhere *elsewhere = &modifiers_elsewhere[i];

        if (is_word(text, bytes, elsewhere->word))
            return elsewhere->instead == NULL
                       ? 0
                       : error_set(error, -EINVAL, "modifier \"%.*s\" is not supported: %s",
                                   (int)bytes, text, elsewhere->instead);
    }
    return error_set(error, -EINVAL,
                     "unknown modifier \"%.*s\"; known are pe=N, span, oversubscribe and nolocal",
                     bytes < 40 ? (int)bytes : 40, text);
}

/* "ndev=N" of GPUs. */
static int parse_devices(const char *text, size_t bytes, struct placement_rule *rule,
                         struct error *error)
{
    rule->gpus = parse_number(text + 5, bytes - 5, TOPOLOGY_DEVICES_MAX);
    if (rule->gpus > 0 && rule->device_class == PLACEMENT_DEVICE_GPU)
        return 0;
    return error_set(error, -EINVAL,
                     "modifier \"%.*s\" is not ndev=N of device=gpu with a number from 1 to %u",
                     bytes < 40 ? (int)bytes : 40, text, TOPOLOGY_DEVICES_MAX);
}

static int parse_modifier(const char *text, size_t bytes, struct placement_rule *rule,
                          struct placement_extra *extra, struct error *error)
{
    if (bytes > 3 && is_word(text, 3, "pe=")) {
        rule->pe = parse_number(text + 3, bytes - 3, PLACEMENT_UNITS_MAX);
        if (rule->pe > 0)
            return 0;
        return error_set(error, -EINVAL, "modifier \"%.*s\" is not pe=N with a number from 1 to %u",
                         bytes < 40 ? (int)bytes : 40, text, PLACEMENT_UNITS_MAX);
    }
    if (rule->policy == PLACEMENT_BY_DEVICE && bytes > 5 && is_word(text, 5, "ndev="))
        return parse_devices(text, bytes, rule, error);
    if (is_word(text, bytes, "span")) {
        rule->span = 1;
    } else if (is_word(text, bytes, "shared") && rule->policy == PLACEMENT_BY_DEVICE) {
        rule->shared = 1;
    } else if (is_word(text, bytes, "ordered") && rule->policy == PLACEMENT_BY_CPUS) {
        rule->ordered = 1;
    } else if (is_word(text, bytes, "oversubscribe")) {
        rule->oversubscribe = 1;
        extra->oversubscribe = 1;
    } else if (is_word(text, bytes, "nolocal")) {
        extra->no_local = 1;
    } else {
        return parse_elsewhere(text, bytes, error);
    }
    return 0;
}

/* "N:OBJECT" after "ppr:"; returns what follows, or NULL. */
static const char *parse_per_object(const char *text, struct placement_rule *rule,
                                    struct error *error)
{
    size_t number_bytes = word_length(text);
    const char *object = word_after(text, number_bytes);
    size_t object_bytes = word_length(object);

    rule->policy = PLACEMENT_PER_OBJECT;
    rule->per = parse_number(text, number_bytes, PLACEMENT_PROCESSES_MAX);
    if (rule->per == 0 || topology_level_parse(object, object_bytes, &rule->level) < 0) {
        error_set(error, -EINVAL,
                  "\"ppr:%.60s\" is not ppr:N:OBJECT with a number from 1 and node, package, numa, "
                  "l3cache, l2cache, l1cache, core or hwthread",
                  text);
        return NULL;
    }
    return word_after(object, object_bytes);
}

static const char *parse_distance(const char *text, struct placement_rule *rule,
                                  struct error *error)
{
    size_t bytes = word_length(text);

    rule->policy = PLACEMENT_BY_DISTANCE;
    rule->level = TOPOLOGY_NUMA;
    if (bytes == 0 || bytes >= sizeof(rule->device)) {
        error_set(error, -EINVAL,
                  "\"dist:%.60s\" names no device; expected a name such as dist:mlx5_0", text);
        return NULL;
    }
    memcpy(rule->device, text, bytes);
    rule->device[bytes] = '\0';
    return word_after(text, bytes);
}

/* After "device=": a class, or the name of one device, near which all processes are. */
static const char *parse_device(const char *text, struct placement_rule *rule, struct error *error)
{
    static const char *const networks[] = {"network", "nic", "fabric", "openfabrics"};
    size_t bytes = word_length(text);

    rule->policy = PLACEMENT_BY_DEVICE;
    rule->device_class = PLACEMENT_DEVICE_NETWORK;
    if (is_word(text, bytes, "gpu")) {
        rule->device_class = PLACEMENT_DEVICE_GPU;
        return word_after(text, bytes);
    }
    for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
        if (is_word(text, bytes, networks[i]))
            return word_after(text, bytes);
    }
    rule->device_class = PLACEMENT_DEVICE_GPU;
    if (bytes > 0 && bytes < sizeof(rule->device) && !is_word(text, bytes, "block"))
        return parse_distance(text, rule, error);
    error_set(
        error, -EINVAL,
        "\"device=%.60s\" is neither gpu nor network (nic, fabric, openfabrics) nor the name of a device such as mlx5_0",
        text);
    return NULL;
}

static const char *parse_list(const char *text, int is_sequence, struct placement_rule *rule,
                              struct placement_extra *extra, struct error *error)
{
    rule->policy = PLACEMENT_BY_LIST;
    extra->is_sequence = is_sequence;
    if (strncasecmp(text, "file=", 5) == 0)
        text += 5;
    if (text[0] != '\0') {
        extra->file = text;
    } else if (!is_sequence) {
        error_set(error, -EINVAL, "rankfile needs a file: rankfile:FILE");
        return NULL;
    }
    return "";
}

/* A decimal number up to TOPOLOGY_THREADS_MAX at *text, which is moved past it. */
static int parse_core(const char **text, uint32_t *ret_core)
{
    size_t digits = strspn(*text, "0123456789");
    uint32_t core = 0;

    if (digits == 0 || digits > 6)
        return -EINVAL;
    for (size_t i = 0; i < digits; i++)
        core = core * 10 + (uint32_t)((*text)[i] - '0');
    *text += digits;
    *ret_core = core;
    return core < TOPOLOGY_THREADS_MAX ? 0 : -ERANGE;
}

void placement_rule_add_part(struct placement_cpus *listed, struct range part)
{
    assert(listed->count < PLACEMENT_CPU_PARTS_MAX);
    listed->parts = memory_resize(listed->parts, (listed->count + 1) * sizeof(*listed->parts));
    listed->parts[listed->count++] = part;
}

/* "0,2,4-7", as far as *text has it; -EEXIST if a core is there twice. */
static int parse_cores(const char **text, struct placement_cpus *listed, struct ranges *seen)
{
    *listed = (struct placement_cpus){0};
    do {
        struct range part;
        int rc = parse_core(text, &part.first);

        part.last = part.first;
        if (rc == 0 && (*text)[0] == '-') {
            (*text)++;
            rc = parse_core(text, &part.last);
        }
        if (rc < 0)
            return rc;
        if (part.last < part.first)
            return -EINVAL;
        if (ranges_overlap(seen, part.first, part.last))
            return -EEXIST;
        if (listed->count == PLACEMENT_CPU_PARTS_MAX)
            return -E2BIG;
        ranges_add(seen, part.first, part.last);
        placement_rule_add_part(listed, part);
    } while ((*text)[0] == ',' && (*text)[1] >= '0' && (*text)[1] <= '9' && (*text)++);
    return (*text)[0] == '\0' || (*text)[0] == ':' || (*text)[0] == ',' ? 0 : -EINVAL;
}

/* After "pe-list="; returns what follows, or NULL. */
static const char *parse_cpus(const char *text, struct placement_rule *rule, struct error *error)
{
    const char *rest = text;
    struct ranges seen = {0};
    int rc = parse_cores(&rest, &rule->listed, &seen);

    ranges_fini(&seen);
    rule->policy = PLACEMENT_BY_CPUS;
    if (rc == 0)
        return rest[0] != '\0' ? rest + 1 : rest;
    if (rc == -EEXIST)
        error_set(error, -EINVAL, "\"pe-list=%.60s\" names a core twice", text);
    else if (rc == -E2BIG)
        error_set(error, -EINVAL, "pe-list has more than %u numbers and ranges",
                  PLACEMENT_CPU_PARTS_MAX);
    else
        error_set(
            error, -EINVAL,
            "\"pe-list=%.60s\" is not a list of cores such as pe-list=0,2,4-7; cores are numbered from 0 to at most %u",
            text, TOPOLOGY_THREADS_MAX - 1);
    return NULL;
}

/* The policy; returns where its modifiers begin, or NULL. */
static const char *parse_policy(const char *text, struct placement_rule *rule,
                                struct placement_extra *extra, struct error *error)
{
    size_t bytes = word_length(text);
    const char *rest = word_after(text, bytes);

    if (bytes == 0)
        return rest; /* ":oversubscribe" leaves the mapping as it is */
    rule->policy = PLACEMENT_BY_OBJECT;
    rule->level = TOPOLOGY_NODE;
    rule->listed = (struct placement_cpus){0};
    rule->ordered = rule->shared = 0;
    if (strncasecmp(text, "pe-list=", 8) == 0)
        return parse_cpus(text + 8, rule, error);
    if (strncasecmp(text, "device=", 7) == 0)
        return parse_device(text + 7, rule, error);
    if (is_word(text, bytes, "ppr"))
        return parse_per_object(rest, rule, error);
    if (is_word(text, bytes, "dist"))
        return parse_distance(rest, rule, error);
    if (is_word(text, bytes, "seq"))
        return parse_list(rest, 1, rule, extra, error);
    if (is_word(text, bytes, "rankfile"))
        return parse_list(rest, 0, rule, extra, error);
    if (is_word(text, bytes, "slot")) {
        rule->policy = PLACEMENT_BY_SLOT;
    } else if (is_word(text, bytes, "node")) {
        rule->policy = PLACEMENT_BY_NODE;
    } else if (topology_level_parse(text, bytes, &rule->level) < 0) {
        error_set(error, -EINVAL, "unknown mapping \"%.40s\"; known are " MAPPINGS, text);
        return NULL;
    }
    return rest;
}

int placement_rule_parse(const char *text, struct placement_rule *rule,
                         struct placement_extra *extra, struct error *error)
{
    struct placement_rule parsed = *rule;
    const char *rest = parse_policy(text, &parsed, extra, error);
    int rc = rest != NULL ? 0 : -EINVAL;

    while (rc == 0 && rest[0] != '\0') {
        size_t bytes = word_length(rest);

        rc = parse_modifier(rest, bytes, &parsed, extra, error);
        rest = word_after(rest, bytes);
    }
    if (rc == 0 && parsed.span &&
        (parsed.policy == PLACEMENT_BY_LIST || parsed.policy == PLACEMENT_PER_OBJECT))
        rc = error_set(
            error, -EINVAL,
            "span goes round-robin over objects; a list or ppr already sets the number on each");
    if (rc == 0 && parsed.policy == PLACEMENT_BY_CPUS && (parsed.span || parsed.pe > 0))
        rc = error_set(error, -EINVAL, "pe-list already names the cores; omit %s",
                       parsed.span ? "span" : "pe");
    if (parsed.listed.parts != rule->listed.parts)
        free(rc == 0 ? rule->listed.parts : parsed.listed.parts);
    if (rc == 0)
        *rule = parsed;
    return rc;
}

int placement_rank_by_parse(const char *text, struct placement_rule *rule, struct error *error)
{
    for (int i = PLACEMENT_RANK_BY_SLOT; i < PLACEMENT_RANK_BY_COUNT; i++) {
        if (is_word(text, strlen(text), rank_by_names[i])) {
            rule->rank_by = (enum placement_rank_by)i;
            return 0;
        }
    }
    return error_set(error, -EINVAL,
                     "unknown ranking \"%.40s\"; known are slot, node, fill and span", text);
}

static int parse_bind_modifier(const char *text, size_t bytes, struct placement_rule *rule,
                               struct error *error)
{
    if (is_word(text, bytes, "overload-allowed"))
        rule->overload = 1;
    else if (is_word(text, bytes, "no-overload"))
        rule->overload = 0;
    else if (is_word(text, bytes, "report"))
        return error_set(error, -EINVAL,
                         "modifier \"report\" is not supported: use --report-bindings");
    else
        return error_set(error, -EINVAL,
                         "unknown modifier \"%.*s\"; known are overload-allowed and no-overload",
                         bytes < 40 ? (int)bytes : 40, text);
    return 0;
}

int placement_bind_parse(const char *text, struct placement_rule *rule, struct error *error)
{
    size_t bytes = word_length(text);
    const char *rest = word_after(text, bytes);
    struct placement_rule parsed = *rule;
    int rc = 0;

    if (is_word(text, bytes, "none")) {
        parsed.bind = PLACEMENT_BIND_NONE;
    } else if (topology_level_parse(text, bytes, &parsed.bind_level) == 0 &&
               parsed.bind_level != TOPOLOGY_NODE) {
        parsed.bind = PLACEMENT_BIND_LEVEL;
    } else if (bytes > 0 || rest[0] == '\0') {
        return error_set(error, -EINVAL,
                         "unknown binding \"%.*s\"; known: none, core, hwthread, l1cache, "
                         "l2cache, l3cache, numa and package",
                         bytes < 40 ? (int)bytes : 40, text);
    }
    for (; rc == 0 && rest[0] != '\0'; rest = word_after(rest, bytes)) {
        bytes = word_length(rest);
        rc = parse_bind_modifier(rest, bytes, &parsed, error);
    }
    if (rc == 0)
        *rule = parsed;
    return rc;
}

int placement_memory_parse(const char *text, struct placement_rule *rule, struct error *error)
{
    for (int i = 0; i < PLACEMENT_MEMORY_COUNT; i++) {
        if (is_word(text, strlen(text), memory_names[i])) {
            rule->memory = (enum placement_memory)i;
            return 0;
        }
    }
    return error_set(error, -EINVAL,
                     "unknown memory binding \"%.40s\"; known: none, preferred and local", text);
}

const char *placement_rank_by_name(enum placement_rank_by rank_by)
{
    assert(rank_by < PLACEMENT_RANK_BY_COUNT);
    return rank_by_names[rank_by];
}

static void print_cpus(const struct placement_cpus *listed, struct buffer *out)
{
    buffer_append_string(out, "pe-list=");
    for (uint32_t i = 0; i < listed->count; i++) {
        buffer_printf(out, "%s%u", i > 0 ? "," : "", listed->parts[i].first);
        if (listed->parts[i].last > listed->parts[i].first)
            buffer_printf(out, "-%u", listed->parts[i].last);
    }
}

void placement_rule_print(const struct placement_rule *rule, struct buffer *out)
{
    switch (rule->policy) {
    case PLACEMENT_BY_SLOT:
        buffer_append_string(out, "slot");
        break;
    case PLACEMENT_BY_NODE:
        buffer_append_string(out, "node");
        break;
    case PLACEMENT_PER_OBJECT:
        buffer_printf(out, "ppr:%u:%s", rule->per, topology_level_name(rule->level));
        break;
    case PLACEMENT_BY_DISTANCE:
        buffer_printf(out, "dist:%s", rule->device);
        break;
    case PLACEMENT_BY_LIST:
        buffer_append_string(out, "list");
        break;
    case PLACEMENT_BY_DEVICE:
        buffer_printf(out, "device=%s", placement_device_name(rule->device_class));
        if (rule->device_class == PLACEMENT_DEVICE_GPU && rule->gpus > 0)
            buffer_printf(out, ":ndev=%u", rule->gpus);
        break;
    case PLACEMENT_BY_CPUS:
        print_cpus(&rule->listed, out);
        break;
    default:
        buffer_append_string(out, topology_level_name(rule->level));
        break;
    }
    if (rule->ordered)
        buffer_append_string(out, ":ordered");
    if (rule->shared)
        buffer_append_string(out, ":shared");
    if (rule->pe > 0)
        buffer_printf(out, ":pe=%u", rule->pe);
    if (rule->span)
        buffer_append_string(out, ":span");
    if (rule->oversubscribe)
        buffer_append_string(out, ":oversubscribe");
}

/* ---- What follows from a rule ---- */

bool placement_rule_wants_topology(const struct placement_rule *rule)
{
    return rule->policy == PLACEMENT_BY_OBJECT || rule->policy == PLACEMENT_BY_DISTANCE ||
           rule->policy == PLACEMENT_BY_CPUS || rule->policy == PLACEMENT_BY_DEVICE ||
           (rule->policy == PLACEMENT_PER_OBJECT && rule->level != TOPOLOGY_NODE) || rule->pe > 0 ||
           rule->cpus > 0 || rule->bind == PLACEMENT_BIND_LEVEL || rule->gpus > 0 ||
           rule->memory != PLACEMENT_MEMORY_NONE ||
           (rule->list != NULL && rule->list->cores != NULL);
}

bool placement_rule_wants_threads(const struct placement_rule *rule)
{
    return (rule->level == TOPOLOGY_THREAD &&
            (rule->policy == PLACEMENT_BY_OBJECT || rule->policy == PLACEMENT_PER_OBJECT)) ||
           (rule->bind == PLACEMENT_BIND_LEVEL && rule->bind_level == TOPOLOGY_THREAD);
}

enum placement_rank_by placement_rule_rank_by(const struct placement_rule *rule)
{
    if (rule->rank_by != PLACEMENT_RANK_DEFAULT)
        return rule->rank_by;
    if (rule->policy == PLACEMENT_BY_NODE)
        return PLACEMENT_RANK_BY_NODE;
    return rule->span ? PLACEMENT_RANK_BY_SPAN : PLACEMENT_RANK_BY_SLOT;
}

bool placement_rule_lists_cores(const struct placement_rule *rule)
{
    return rule->policy == PLACEMENT_BY_CPUS || (rule->list != NULL && rule->list->cores != NULL);
}

uint32_t placement_rule_devices(const struct placement_rule *rule,
                                enum placement_device device_class)
{
    uint32_t least = rule->policy == PLACEMENT_BY_DEVICE && rule->device_class == device_class;

    assert(device_class < PLACEMENT_DEVICE_COUNT);
    if (device_class == PLACEMENT_DEVICE_GPU && rule->gpus > least)
        return rule->gpus;
    return least;
}

const char *placement_device_name(enum placement_device device_class)
{
    assert(device_class < PLACEMENT_DEVICE_COUNT);
    return device_names[device_class];
}

void placement_rule_cpus(const struct placement_rule *rule, struct ranges *ret_cores)
{
    ranges_clear(ret_cores);
    for (uint32_t i = 0; i < rule->listed.count; i++)
        ranges_add(ret_cores, rule->listed.parts[i].first, rule->listed.parts[i].last);
}

uint32_t placement_rule_cpus_count(const struct placement_rule *rule)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < rule->listed.count; i++)
        count += rule->listed.parts[i].last - rule->listed.parts[i].first + 1;
    return count;
}

enum topology_level placement_rule_dealing_level(const struct placement_rule *rule)
{
    int is_unit = rule->level >= TOPOLOGY_CORE;

    if (rule->policy == PLACEMENT_PER_OBJECT || rule->policy == PLACEMENT_BY_DISTANCE)
        return rule->level;
    return rule->policy == PLACEMENT_BY_OBJECT && !is_unit ? rule->level : TOPOLOGY_NODE;
}

enum topology_level placement_rule_bind_level(const struct placement_rule *rule, int in_threads)
{
    if (rule->bind == PLACEMENT_BIND_LEVEL)
        return rule->bind_level;
    if (rule->bind == PLACEMENT_BIND_NONE)
        return TOPOLOGY_NODE;
    if (rule->pe > 0 || placement_rule_lists_cores(rule))
        return in_threads ? TOPOLOGY_THREAD : TOPOLOGY_CORE;
    if (rule->policy == PLACEMENT_BY_OBJECT || rule->policy == PLACEMENT_PER_OBJECT)
        return rule->level;
    return rule->policy == PLACEMENT_BY_DISTANCE ? TOPOLOGY_NUMA : TOPOLOGY_NODE;
}

/* ---- Wire ---- */

void placement_list_destroy(struct placement_list *list)
{
    if (list == NULL)
        return;
    for (uint32_t i = 0; list->cores != NULL && i < list->count; i++)
        ranges_fini(&list->cores[i]);
    free(list->cores);
    free(list->nodes);
    free(list);
}

void placement_rule_fini(struct placement_rule *rule)
{
    placement_list_destroy(rule->list);
    free(rule->listed.parts);
    free(rule->require);
    ranges_fini(&rule->excluded);
}
