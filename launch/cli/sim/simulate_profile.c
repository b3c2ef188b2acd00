/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs in the simulated world: one table of fields, which are both options of the verb and members
 * of a profile file.
 */
#include "config.h"

#include "launch/cli/sim/simulate_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/file_read.h"

#define PS_PER_NS       1000u
#define TIME_PS_MAX     (3600ull * 1000000000000ull)
#define BYTES_MAX       (64ull * 1024 * 1024 * 1024)
#define DECIMALS_MAX    6
#define PROFILE_VERSION 1

struct field {
    const char *name;
    bool is_count;
};

static const struct field fields[PROFILE_FIELD_COUNT] = {
    [PROFILE_LATENCY] = {"latency", false},
    [PROFILE_JITTER] = {"jitter", false},
    [PROFILE_SEND_BYTE] = {"send-byte", false},
    [PROFILE_RECEIVE_BYTE] = {"receive-byte", false},
    [PROFILE_SWITCH] = {"switch", true},
    [PROFILE_UPLINK_BYTE] = {"uplink-byte", false},
    [PROFILE_UPLINK_LATENCY] = {"uplink-latency", false},
    [PROFILE_CPU_WAKE] = {"cpu-wake", false},
    [PROFILE_CPU_COLD] = {"cpu-cold", false},
    [PROFILE_CACHE_NODES] = {"cache-nodes", true},
    [PROFILE_CPU_READ] = {"cpu-read", false},
    [PROFILE_CPU_WRITE] = {"cpu-write", false},
    [PROFILE_CPU_SEND] = {"cpu-send", false},
    [PROFILE_CPU_RECEIVE] = {"cpu-receive", false},
    [PROFILE_CPU_SEND_BYTE] = {"cpu-send-byte", false},
    [PROFILE_CPU_RECEIVE_BYTE] = {"cpu-receive-byte", false},
    [PROFILE_CPU_CONNECT] = {"cpu-connect", false},
    [PROFILE_CPU_ACCEPT] = {"cpu-accept", false},
    [PROFILE_CORES] = {"cores", true},
    [PROFILE_STARTER_CPU] = {"starter-cpu", false},
    [PROFILE_DAEMON_CPU] = {"daemon-cpu", false},
    [PROFILE_DAEMON_TIME] = {"daemon-time", false},
    [PROFILE_DAEMON_JITTER] = {"daemon-jitter", false},
    [PROFILE_PROCESS_CPU] = {"process-cpu", false},
    [PROFILE_PROCESS_JITTER] = {"process-jitter", false},
    [PROFILE_LOCAL_CPU] = {"local-cpu", false},
    [PROFILE_LOCAL_BYTE] = {"local-byte", false},
};

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit time_units[] = {{"s", 1000000000000ull},
                                         {"ms", 1000000000ull},
                                         {"us", 1000000ull},
                                         {"ns", 1000},
                                         {"ps", 1},
                                         {NULL, 0}};

static const struct unit size_units[] = {{"", 1},          {"K", 1024},      {"KiB", 1024},
                                         {"M", 1 << 20},   {"MiB", 1 << 20}, {"G", 1 << 30},
                                         {"GiB", 1 << 30}, {NULL, 0}};

/* Digits, optionally with a decimal point, and a unit. */
static int amount_parse(const char *text, const struct unit *units, uint64_t maximum,
                        uint64_t *ret_amount)
{
    uint64_t whole = 0;
    uint64_t scale = 1;
    const char *start = text;

    for (; (*text >= '0' && *text <= '9') || (*text == '.' && scale == 1 && text > start); text++) {
        if (*text == '.') {
            scale = 10;
            continue;
        }
        whole = whole * 10 + (uint64_t)(*text - '0');
        scale *= scale > 1 ? 10 : 1;
        if (whole > maximum || scale > 10000000)
            return -ERANGE;
    }
    if (text == start || text[-1] == '.')
        return -EINVAL;
    for (; units->name != NULL; units++) {
        unsigned __int128 amount = (unsigned __int128)whole * units->factor;

        if (strcmp(units->name, text) != 0)
            continue;
        amount /= scale > 1 ? scale / 10 : 1;
        if (amount > maximum)
            return -ERANGE;
        *ret_amount = (uint64_t)amount;
        return 0;
    }
    return -EINVAL;
}

int simulate_time_parse(const char *text, uint64_t *ret_picoseconds)
{
    if (strcmp(text, "0") == 0) {
        *ret_picoseconds = 0;
        return 0;
    }
    return amount_parse(text, time_units, TIME_PS_MAX, ret_picoseconds);
}

int simulate_size_parse(const char *text, uint64_t *ret_bytes)
{
    return amount_parse(text, size_units, BYTES_MAX, ret_bytes);
}

const char *simulate_profile_time_text(uint64_t picoseconds, char *text)
{
    const struct unit *unit = time_units;

    if (picoseconds == 0)
        return strcpy(text, "0");
    while (unit->factor > picoseconds)
        unit++;
    assert(unit->factor > 0);
    snprintf(text, PROFILE_TEXT_BYTES, "%.*f", DECIMALS_MAX,
             (double)picoseconds / (double)unit->factor);
    while (text[strlen(text) - 1] == '0')
        text[strlen(text) - 1] = '\0';
    if (text[strlen(text) - 1] == '.')
        text[strlen(text) - 1] = '\0';
    return strcat(text, unit->name);
}

const char *simulate_profile_field_name(enum profile_field field)
{
    assert(field < PROFILE_FIELD_COUNT);
    return fields[field].name;
}

int simulate_profile_field_parse(enum profile_field field, const char *text, uint64_t *ret_value,
                                 struct error *error)
{
    uint32_t count;

    assert(field < PROFILE_FIELD_COUNT);
    if (fields[field].is_count) {
        if (options_number(text, 0, SIMULATE_NODES_MAX, &count) < 0)
            return error_set(error, -EINVAL, "'%.40s' is not a whole number from 0 to %u", text,
                             SIMULATE_NODES_MAX);
        *ret_value = count;
        return 0;
    }
    if (simulate_time_parse(text, ret_value) < 0)
        return error_set(error, -EINVAL,
                         "'%.40s' is not a time of at most 1 hour such as 50us, 1.5ns, 20ps", text);
    return 0;
}

/* A current network: 10 us per hop, 100 Gbit/s, a few microseconds of CPU per message. */
void simulate_profile_defaults(struct profile *ret_profile)
{
    *ret_profile = (struct profile){.values = {[PROFILE_LATENCY] = 10000000,
                                               [PROFILE_SEND_BYTE] = 80,
                                               [PROFILE_RECEIVE_BYTE] = 80,
                                               [PROFILE_CPU_SEND] = 5000000,
                                               [PROFILE_CPU_RECEIVE] = 5000000,
                                               [PROFILE_CPU_CONNECT] = 200000000,
                                               [PROFILE_CPU_ACCEPT] = 200000000,
                                               [PROFILE_STARTER_CPU] = 500000000,
                                               [PROFILE_DAEMON_CPU] = 3000000000,
                                               [PROFILE_PROCESS_CPU] = 1000000000}};
}

/* ---- files ---- */

static int take_field(struct profile *profile, const char *path, const char *name, json_t *value,
                      struct error *error)
{
    char digits[32];
    const char *text = json_string_value(value);
    int rc;

    if (json_is_integer(value)) {
        snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
        text = digits;
    }
    for (int field = 0; field < PROFILE_FIELD_COUNT; field++) {
        if (strcmp(fields[field].name, name) != 0)
            continue;
        if (text == NULL)
            return error_set(error, -EINVAL, "%s: %s is neither a string nor a whole number", path,
                             name);
        rc = simulate_profile_field_parse((enum profile_field)field, text, &profile->values[field],
                                          error);
        if (rc < 0)
            error_prefix(error, "%s: %s", path, name);
        return rc;
    }
    return error_set(error, -EINVAL,
                     "%s: '%.40s' is not a field of a profile (see banyan help sim)", path, name);
}

static json_t *load_profile(const char *path, struct error *error)
{
    json_error_t why;
    json_t *root = NULL;
    struct buffer text = {0};
    int rc = file_read(path, SIMULATE_PROFILE_BYTES_MAX, &text);

    if (rc == -EFBIG) {
        error_set(error, -E2BIG, "profile %s has more than %u bytes", path,
                  SIMULATE_PROFILE_BYTES_MAX);
    } else if (rc < 0) {
        error_set(error, rc, "cannot read profile %s: %s", path, strerror(-rc));
    } else {
        root = json_loadb(buffer_string(&text), text.length_bytes, JSON_REJECT_DUPLICATES, &why);
        if (root == NULL)
            error_set(error, -EINVAL, "%s:%d:%d: %s", path, why.line, why.column, why.text);
    }
    buffer_fini(&text);
    return root;
}

int simulate_profile_read(struct profile *profile, const char *path, struct error *error)
{
    json_t *root = load_profile(path, error);
    const char *name;
    json_t *value;
    int rc = 0;

    if (root == NULL)
        return error->code;
    if (!json_is_object(root) ||
        json_integer_value(json_object_get(root, "version")) != PROFILE_VERSION)
        rc = error_set(error, -EINVAL, "%s is not a profile: no {\"version\": %d, ...}", path,
                       PROFILE_VERSION);
    for (void *at = json_object_iter(root); at != NULL && rc == 0;
         at = json_object_iter_next(root, at)) {
        name = json_object_iter_key(at);
        value = json_object_iter_value(at);
        if (strcmp(name, "version") != 0 && strcmp(name, "comment") != 0)
            rc = take_field(profile, path, name, value, error);
    }
    json_decref(root);
    return rc;
}

json_t *simulate_profile_json(const struct profile *profile)
{
    json_t *object = json_object();
    char text[PROFILE_TEXT_BYTES];

    json_object_set_new(object, "version", json_integer(PROFILE_VERSION));
    for (int field = 0; field < PROFILE_FIELD_COUNT; field++) {
        uint64_t value = profile->values[field];

        json_object_set_new(object, fields[field].name,
                            fields[field].is_count
                                ? json_integer((json_int_t)value)
                                : json_string(simulate_profile_time_text(value, text)));
    }
    return object;
}

void simulate_profile_apply(const struct profile *profile, struct sim_machine_config *config)
{
    const uint64_t *values = profile->values;

    config->latency_ns = values[PROFILE_LATENCY] / PS_PER_NS;
    config->jitter_ns = values[PROFILE_JITTER] / PS_PER_NS;
    config->network = (struct virtual_network_model){
        .send_byte_ps = values[PROFILE_SEND_BYTE],
        .receive_byte_ps = values[PROFILE_RECEIVE_BYTE],
        .switch_places = (uint32_t)values[PROFILE_SWITCH],
        .uplink_byte_ps = values[PROFILE_UPLINK_BYTE],
        .uplink_latency_ns = values[PROFILE_UPLINK_LATENCY] / PS_PER_NS,
        .cpu_wake_ns = values[PROFILE_CPU_WAKE] / PS_PER_NS,
        .cpu_cold_ns = values[PROFILE_CPU_COLD] / PS_PER_NS,
        .cache_places = (uint32_t)values[PROFILE_CACHE_NODES],
        .cpu_read_ns = values[PROFILE_CPU_READ] / PS_PER_NS,
        .cpu_write_ns = values[PROFILE_CPU_WRITE] / PS_PER_NS,
        .cpu_send_ns = values[PROFILE_CPU_SEND] / PS_PER_NS,
        .cpu_receive_ns = values[PROFILE_CPU_RECEIVE] / PS_PER_NS,
        .cpu_send_byte_ps = values[PROFILE_CPU_SEND_BYTE],
        .cpu_receive_byte_ps = values[PROFILE_CPU_RECEIVE_BYTE],
        .cpu_connect_ns = values[PROFILE_CPU_CONNECT] / PS_PER_NS,
        .cpu_accept_ns = values[PROFILE_CPU_ACCEPT] / PS_PER_NS,
        .cores = (uint32_t)values[PROFILE_CORES]};
    config->starter_cpu_ns = values[PROFILE_STARTER_CPU] / PS_PER_NS;
    config->daemon_cpu_ns = values[PROFILE_DAEMON_CPU] / PS_PER_NS;
    config->daemon_ns = values[PROFILE_DAEMON_TIME] / PS_PER_NS;
    config->daemon_ns_max = values[PROFILE_DAEMON_JITTER] / PS_PER_NS;
    config->process_cpu_ns = values[PROFILE_PROCESS_CPU] / PS_PER_NS;
    config->program.start_ns_max = values[PROFILE_PROCESS_JITTER] / PS_PER_NS;
}
