/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/fabric_nics.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/host_name.h"
#include "alloc/hostlist.h"
#include "base/memory.h"
#include "fabric/topology/fabric_write.h"
#include "launch/cli/verb/node_run.h"
#include "launch/exec/nic_worker.h"
#include "launch/proto/nic_line.h"

#define NAME_OF_SWITCH  "network"
#define WHAT            "read NICs"
#define NAMES_BYTES_MAX 300u /* in an error, where they stand twice */

struct machine {
    char *name; /* NULL: not known */
    char *why;  /* it could not say; NULL: it could */
    bool has_ended;
    struct nic_list nics;
};

struct machines {
    struct machine *items; /* by rank */
    uint32_t count;
};

/* ---- What the processes print ---- */

static void machines_fini(struct machines *machines)
{
    for (uint32_t i = 0; i < machines->count; i++) {
        free(machines->items[i].name);
        free(machines->items[i].why);
        nic_list_fini(&machines->items[i].nics);
    }
    free(machines->items);
}

/* The first line of a process. */
static int begin_machine(struct machines *machines, const struct nic_line *line)
{
    size_t offset;

    if (machines->items == NULL && line->of <= HOSTLIST_HOSTS_MAX) {
        machines->count = line->of;
        machines->items =
            memory_allocate_zeroed((size_t)machines->count * sizeof(*machines->items));
    }
    if (line->of != machines->count || machines->items[line->rank].name != NULL ||
        host_name_check(line->text, strlen(line->text), &offset, NULL) < 0)
        return -EPROTO;
    machines->items[line->rank].name = memory_copy_string(line->text);
    return 0;
}

/* One after its first. */
static int go_on(struct machine *machine, const struct nic_line *line)
{
    if (machine->name == NULL || machine->has_ended)
        return -EPROTO;
    if (line->kind == NIC_LINE_NIC) {
        nic_list_add(&machine->nics, &line->nic);
    } else if (line->kind == NIC_LINE_END) {
        machine->has_ended = true;
    } else {
        free(machine->why);
        machine->why = memory_copy_string(line->text);
    }
    return 0;
}

static int take_line(struct machines *machines, const char *text, struct error *error)
{
    struct nic_line line;
    int rc = nic_line_parse(text, &line);

    if (rc == 0 && line.kind == NIC_LINE_NODE)
        rc = begin_machine(machines, &line);
    else if (rc == 0)
        rc = line.rank < machines->count ? go_on(&machines->items[line.rank], &line) : -EPROTO;
    return rc < 0 ? node_run_refuse(WHAT, text, error) : 0;
}

/* Has each process said all? */
static int check_all(const struct machines *machines, struct error *error)
{
    uint32_t begun = 0, silent = 0;

    if (machines->count == 0)
        return error_set(error, -EPROTO, "cannot " WHAT ": no process has said anything");
    for (uint32_t i = machines->count; i-- > 0;) {
        begun += machines->items[i].name != NULL;
        silent = machines->items[i].name == NULL ? i : silent;
    }
    if (begun < machines->count)
        return error_set(error, -EPROTO,
                         "cannot " WHAT
                         ": %u of %u nodes have answered: process %u has said nothing; do not "
                         "give options that hide what processes print, like --output-from",
                         begun, machines->count, silent);
    for (uint32_t i = 0; i < machines->count; i++) {
        if (!machines->items[i].has_ended)
            return error_set(error, -EPROTO,
                             "cannot " WHAT ": process %u (%s) has not said all of its NICs: it "
                             "has ended early",
                             i, machines->items[i].name);
        if (machines->items[i].nics.is_cut)
            return error_set(error, -E2BIG, "cannot " WHAT ": %s has more than %u",
                             machines->items[i].name, NIC_LIST_MAX);
    }
    return 0;
}

static int take_lines(struct machines *machines, const char *lines, struct error *error)
{
    int rc = 0;

    for (const char *line = lines; *line != '\0' && rc == 0; line = node_run_next_line(line))
        rc = take_line(machines, line, error);
    return rc == 0 ? check_all(machines, error) : rc;
}

/* ---- Nodes that cannot be described ---- */

static bool is_used(const struct nic *nic)
{
    return nic->facts.state != NIC_DOWN;
}

static bool has_nic(const struct machine *machine)
{
    for (uint32_t i = 0; i < machine->nics.count; i++) {
        if (is_used(&machine->nics.items[i]))
            return true;
    }
    return false;
}

typedef bool machine_test(const struct machine *machine, const void *context);

/* Nodes of which something is true, for people. */
struct folded {
    char *names; /* of the first ones, folded; NULL: there are none */
    uint32_t more;
};

static char *fold(const struct hostlist *names, uint32_t count)
{
    struct hostlist *first = hostlist_create();
    struct buffer text = {0};
    char *folded;

    hostlist_append_slice(first, names, 0, count);
    hostlist_print(first, &text);
    folded = memory_copy_string(buffer_string(&text));
    buffer_fini(&text);
    hostlist_destroy(first);
    return folded;
}

/* As many as have room, but one at least. */
static struct folded fold_first(const struct hostlist *names)
{
    uint32_t all = hostlist_count(names), fit = 1, too_many = all + 1;
    struct folded folded = {.names = fold(names, all)};

    if (strlen(folded.names) <= NAMES_BYTES_MAX)
        return folded;
    while (too_many - fit > 1) {
        uint32_t middle = fit + (too_many - fit) / 2;

        free(folded.names);
        folded.names = fold(names, middle);
        if (strlen(folded.names) <= NAMES_BYTES_MAX)
            fit = middle;
        else
            too_many = middle;
    }
    free(folded.names);
    return (struct folded){.names = fold(names, fit), .more = all - fit};
}

static void add_more(struct folded *folded)
{
    char *names = folded->names;

    folded->names = memory_printf("%s and %u more", names, folded->more);
    free(names);
}

/* The caller frees the names. */
static struct folded fold_names(const struct machines *machines, machine_test *test,
                                const void *context)
{
    struct hostlist *names = hostlist_create();
    struct folded folded = {.names = NULL};

    for (uint32_t i = 0; i < machines->count; i++) {
        if (test(&machines->items[i], context))
            hostlist_append(names, machines->items[i].name);
    }
    if (hostlist_count(names) > 0)
        folded = fold_first(names);
    if (folded.more > 0)
        add_more(&folded);
    hostlist_destroy(names);
    return folded;
}

/* What is given to --host to go without them. */
static const char *host_of(const struct folded *folded)
{
    return folded->more == 0 ? folded->names : "LIST";
}

static bool failed_so(const struct machine *machine, const void *why)
{
    return machine->why != NULL && strcmp(machine->why, why) == 0;
}

static bool has_none(const struct machine *machine, const void *context)
{
    (void)context;
    return !has_nic(machine);
}

/* Those that failed like the first one. */
static int check_failures(const struct machines *machines, struct error *error)
{
    const char *why = NULL;
    struct folded failed;

    for (uint32_t i = 0; i < machines->count && why == NULL; i++)
        why = machines->items[i].why;
    if (why == NULL)
        return 0;
    failed = fold_names(machines, failed_so, why);
    error_set(error, -EIO, "cannot read the NICs of %s: %s", failed.names, why);
    free(failed.names);
    return -EIO;
}

static bool any_has_nic(const struct machines *machines)
{
    for (uint32_t i = 0; i < machines->count; i++) {
        if (has_nic(&machines->items[i]))
            return true;
    }
    return false;
}

static int check_nics(const struct machines *machines, struct error *error)
{
    struct folded without = fold_names(machines, has_none, NULL);

    if (without.names == NULL)
        return 0;
    if (any_has_nic(machines))
        error_set(
            error, -ENODEV,
            "%s: no NIC that is up: libfabric describes none, and hwloc no network interface of a "
            "PCI device; exclude nodes by -- --host ^%s, or write a description yourself",
            without.names, host_of(&without));
    else
        error_set(error, -ENODEV,
                  "%s: no NIC that is up: libfabric describes none, and hwloc no network interface "
                  "of a PCI device (virtual ones, as in containers, do not count); write a "
                  "description yourself",
                  without.names);
    free(without.names);
    return -ENODEV;
}

/* ---- The switches of a topology ---- */

struct places {
    const struct fabric_model *topology;
    uint32_t *first; /* NIC of each node there, or FABRIC_NONE */
    uint32_t *next;  /* of the same node */
};

static void places_init(struct places *places, const struct fabric_model *topology)
{
    *places = (struct places){.topology = topology};
    if (topology == NULL)
        return;
    places->first = memory_allocate((topology->nodes_count + (size_t)1) * sizeof(*places->first));
    places->next = memory_allocate((topology->vertices_count + (size_t)1) * sizeof(*places->next));
    for (uint32_t i = 0; i < topology->nodes_count; i++)
        places->first[i] = FABRIC_NONE;
    for (uint32_t i = topology->vertices_count; i-- > 0;) {
        uint32_t node = topology->vertices[i].node;

        places->next[i] = places->first[node];
        places->first[node] = i;
    }
}

static void places_fini(struct places *places)
{
    free(places->first);
    free(places->next);
}

static bool is_missing(const struct machine *machine, const void *topology)
{
    return fabric_model_find_host(topology, machine->name) == FABRIC_NONE;
}

static int check_places(const struct machines *machines, const struct fabric_model *topology,
                        struct error *error)
{
    struct folded missing = {.names = NULL};

    if (topology != NULL)
        missing = fold_names(machines, is_missing, topology);
    if (missing.names == NULL)
        return 0;
    error_set(error, -ENOENT,
              "option --topology: it does not have %s; add them, or exclude them by -- --host ^%s",
              missing.names, host_of(&missing));
    free(missing.names);
    return -ENOENT;
}

/* Is the vertex NODE:DEVICE, or a port NODE:DEVICE/PORT? */
static bool is_device(const struct fabric_model *topology, uint32_t vertex, const char *device)
{
    const char *node =
        fabric_model_name(topology, topology->nodes[topology->vertices[vertex].node]);
    const char *name = fabric_model_name(topology, topology->vertices[vertex].name);
    size_t node_bytes = strlen(node), bytes = strlen(device);

    return strncmp(name, node, node_bytes) == 0 && name[node_bytes] == ':' &&
           strncmp(name + node_bytes + 1, device, bytes) == 0 &&
           (name[node_bytes + 1 + bytes] == '\0' || name[node_bytes + 1 + bytes] == '/');
}

/* That of the node's NIC of this name, else of its first. */
static uint32_t switch_of(const struct places *places, const char *node_name, const char *device)
{
    const struct fabric_model *topology = places->topology;
    uint32_t first;

    if (topology == NULL)
        return 0;
    first = places->first[fabric_model_find_host(topology, node_name)];
    assert(first != FABRIC_NONE);
    for (uint32_t i = first; i != FABRIC_NONE; i = places->next[i]) {
        if (is_device(topology, i, device))
            return topology->vertices[i].top;
    }
    return topology->vertices[first].top;
}

/* ---- The description ---- */

struct view {
    struct places places;
    uint64_t fastest;
    bool has_planes;
};

uint16_t fabric_nics_cost(uint64_t speed, uint64_t fastest)
{
    uint64_t cost;

    if (speed == 0 || speed >= fastest)
        return 1;
    cost = fastest / speed + (fastest % speed >= speed - speed / 2);
    return cost < FABRIC_COST_MAX ? (uint16_t)cost : FABRIC_COST_MAX;
}

/* Providers of sockets call the subnet of an interface, "10.0.0.0/16", a fabric: nodes have some, and all reach each
 * other. */
static bool is_subnet(const char *fabric)
{
    char address[NIC_FABRIC_BYTES];
    unsigned char bytes[sizeof(struct in6_addr)];
    size_t length = strcspn(fabric, "/");

    if (fabric[length] == '\0')
        return false;
    memcpy(address, fabric, length);
    address[length] = '\0';
    return inet_pton(AF_INET, address, bytes) == 1 || inet_pton(AF_INET6, address, bytes) == 1;
}

/* "": it is not known to be in one. */
static const char *plane_of(const struct nic *nic)
{
    return is_subnet(nic->fabric) ? "" : nic->fabric;
}

static void look_at_all(const struct machines *machines, struct view *view)
{
    const char *fabric = NULL;

    for (uint32_t i = 0; i < machines->count; i++) {
        for (uint32_t j = 0; j < machines->items[i].nics.count; j++) {
            const struct nic *nic = &machines->items[i].nics.items[j];

            if (!is_used(nic))
                continue;
            if (nic->facts.speed > view->fastest)
                view->fastest = nic->facts.speed;
            if (plane_of(nic)[0] == '\0')
                continue;
            if (fabric != NULL && strcmp(fabric, nic->fabric) != 0)
                view->has_planes = true;
            fabric = nic->fabric;
        }
    }
}

static int add_nic(struct fabric_model *model, const struct view *view, const char *node,
                   const struct nic *nic, struct error *error)
{
    uint16_t cost = fabric_nics_cost(nic->facts.speed, view->fastest);
    char *name = memory_printf("%s:%s", node, nic->name);
    int rc = fabric_model_add_vertex(model, name, node, view->has_planes ? plane_of(nic) : "",
                                     switch_of(&view->places, node, nic->name),
                                     (struct fabric_link){cost, cost}, error);

    if (rc == 0)
        fabric_model_describe(model, model->vertices_count - 1, &nic->facts);
    free(name);
    return rc;
}

static int make_model(const struct machines *machines, const struct view *view,
                      struct fabric_model *model, struct error *error)
{
    uint32_t own;
    int rc = 0;

    if (view->places.topology != NULL)
        fabric_model_copy_switches(view->places.topology, model);
    else
        rc = fabric_model_add_switch(model, NAME_OF_SWITCH, 0, &own, error);
    for (uint32_t i = 0; i < machines->count; i++) {
        const struct machine *machine = &machines->items[i];

        for (uint32_t j = 0; j < machine->nics.count && rc == 0; j++) {
            if (is_used(&machine->nics.items[j]))
                rc = add_nic(model, view, machine->name, &machine->nics.items[j], error);
        }
    }
    return rc == 0 ? fabric_model_settle(model, error) : rc;
}

static int describe(const struct machines *machines, const struct fabric_model *topology,
                    struct buffer *out, struct error *error)
{
    struct fabric_model model = {.switches = NULL};
    struct view view = {.fastest = 0};
    int rc = check_failures(machines, error);

    if (rc == 0)
        rc = check_nics(machines, error);
    if (rc == 0)
        rc = check_places(machines, topology, error);
    if (rc < 0)
        return rc;
    places_init(&view.places, topology);
    look_at_all(machines, &view);
    rc = make_model(machines, &view, &model, error);
    if (rc == 0)
        fabric_write_json(&model, out);
    places_fini(&view.places);
    fabric_model_fini(&model);
    return rc;
}

int fabric_nics_describe(const char *lines, const struct fabric_model *topology, struct buffer *out,
                         struct error *error)
{
    struct machines machines = {.items = NULL};
    int rc = take_lines(&machines, lines, error);

    if (rc == 0)
        rc = describe(&machines, topology, out, error);
    machines_fini(&machines);
    return rc;
}

int fabric_nics_run(const char *const *options, int options_count,
                    const struct fabric_model *topology, struct buffer *out, struct error *error)
{
    static const char *const words[] = {NIC_WORKER_WORD, NULL};
    const struct node_run run = {.options = options,
                                 .options_count = options_count,
                                 .mpi = "none",
                                 .words = words,
                                 .what = WHAT};
    struct buffer lines = {0};
    int rc = node_run_read(&run, &lines, error);

    if (rc == 0)
        rc = fabric_nics_describe(buffer_string(&lines), topology, out, error);
    buffer_fini(&lines);
    return rc;
}
