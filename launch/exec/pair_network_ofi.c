/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between the endpoints of two processes, each with the token and the sender's rank in front.  All that is sent
 * has left before the next is waited for: providers move nothing while nobody calls them.
 */
#include "config.h"

#include "launch/exec/pair_network.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/time.h"
#include "fabric/loop.h"
#include "fabric/ofi_table.h"
#include "launch/exec/plugin.h"

#define WAIT_MS    100 /* between two looks at the time */
#define NAME_BYTES ((PMI1_CLIENT_VALUE_BYTES - 1) / 2)
#define PART_BYTES (OFI_MESSAGE_BYTES_MAX - sizeof(struct head))

struct head {
    unsigned char token[PAIR_TOKEN_BYTES];
    uint32_t rank;
};

struct ofi_path {
    struct pair_network network;
    const struct ofi_table *table;
    struct ofi *ofi;
    uint64_t address; /* of the peer */
    uint32_t peer;
    int is_met;
    uint64_t received_bytes; /* of the peer, which nobody has waited for yet */
    uint32_t under_way;      /* messages */
    int failure;             /* of one that was sent; 0: none */
};

static struct ofi_path *path_of(struct pair_network *network)
{
    return (struct ofi_path *)network;
}

static void on_received(void *context, const unsigned char *data, size_t bytes)
{
    struct ofi_path *path = context;
    struct head head;

    if (bytes < sizeof(head))
        return;
    memcpy(&head, data, sizeof(head));
    if (path->is_met && head.rank == path->peer &&
        memcmp(head.token, path->network.token, sizeof(head.token)) == 0)
        path->received_bytes += bytes - sizeof(head);
}

static void on_sent(void *context, void *user, int status)
{
    struct ofi_path *path = context;

    (void)user;
    assert(path->under_way > 0);
    path->under_way--;
    if (status < 0)
        path->failure = status;
}

static const struct ofi_events events = {.received = on_received, .sent = on_sent};

/* Until something has happened, or for WAIT_MS.  since_ns: when something between the two did last. */
static int wait_for_more(struct ofi_path *path, uint64_t *since_ns)
{
    struct pollfd wait = {.fd = path->table->fd(path->ofi), .events = POLLIN};
    uint64_t received_bytes = path->received_bytes;
    uint32_t under_way = path->under_way;
    int has_more = path->table->progress(path->ofi);

    if (path->received_bytes != received_bytes || path->under_way != under_way)
        *since_ns = loop_now_ns();
    else if (loop_now_ns() - *since_ns > PAIR_PATIENCE_S * NS_PER_S)
        return -ETIMEDOUT;
    if (!has_more && path->table->may_wait(path->ofi))
        (void)poll(&wait, 1, WAIT_MS);
    return path->failure;
}

static int send_part(struct ofi_path *path, size_t bytes, uint64_t *since_ns)
{
    struct head head = {.rank = path->network.pmi->rank};
    unsigned char *buffer;
    int rc = 0;

    while ((buffer = path->table->buffer(path->ofi)) == NULL && rc == 0)
        rc = wait_for_more(path, since_ns);
    if (rc < 0)
        return rc;
    memcpy(head.token, path->network.token, sizeof(head.token));
    memcpy(buffer, &head, sizeof(head));
    while ((rc = path->table->send(path->ofi, path->address, sizeof(head) + bytes, NULL)) ==
           -EAGAIN) {
        rc = wait_for_more(path, since_ns);
        if (rc < 0)
            return rc;
    }
    if (rc == 0)
        path->under_way++;
    return rc;
}

static int ofi_send(struct pair_network *network, uint64_t bytes)
{
    struct ofi_path *path = path_of(network);
    uint64_t since_ns = loop_now_ns();
    int rc = 0;

    while (bytes > 0 && rc == 0) {
        size_t part = bytes < PART_BYTES ? (size_t)bytes : PART_BYTES;

        rc = send_part(path, part, &since_ns);
        bytes -= part;
    }
    while (rc == 0 && path->under_way > 0)
        rc = wait_for_more(path, &since_ns);
    return rc;
}

static int ofi_receive(struct pair_network *network, uint64_t bytes)
{
    struct ofi_path *path = path_of(network);
    uint64_t since_ns = loop_now_ns();
    int rc = 0;

    while (path->received_bytes < bytes && rc == 0)
        rc = wait_for_more(path, &since_ns);
    if (rc == 0)
        path->received_bytes -= bytes;
    return rc;
}

/* ---- Its life ---- */

static int ofi_meet(struct pair_network *network, uint32_t peer, int leads, struct error *error)
{
    struct ofi_path *path = path_of(network);
    char value[PMI1_CLIENT_VALUE_BYTES];
    unsigned char name[NAME_BYTES];
    size_t bytes;
    int rc;

    (void)leads;
    assert(!path->is_met);
    rc = pair_network_find(network->pmi, peer, value, error);
    if (rc < 0)
        return rc;
    bytes = strlen(value) / 2;
    rc = pair_network_parse(value, name, bytes);
    if (rc == 0)
        rc = path->table->insert(path->ofi, name, bytes, &path->address);
    if (rc < 0)
        return rc;
    path->peer = peer;
    path->received_bytes = 0;
    path->is_met = 1;
    return 0;
}

static void ofi_part(struct pair_network *network)
{
    struct ofi_path *path = path_of(network);

    path->is_met = 0;
    path->table->remove(path->ofi, path->address);
}

static void ofi_destroy(struct pair_network *network)
{
    struct ofi_path *path = path_of(network);

    path->table->close(path->ofi);
    free(path);
}

static const struct pair_network_ops ofi_ops = {.meet = ofi_meet,
                                                .send = ofi_send,
                                                .receive = ofi_receive,
                                                .part = ofi_part,
                                                .destroy = ofi_destroy};

static int publish(struct ofi_path *path, struct error *error)
{
    unsigned char name[OFI_NAME_BYTES_MAX];
    size_t bytes = path->table->name(path->ofi, name);
    char text[2 * NAME_BYTES + 1];

    if (bytes > NAME_BYTES)
        return error_set(error, -ENAMETOOLONG, "%s has addresses of %zu bytes, more than %d",
                         path->table->provider(path->ofi), bytes, NAME_BYTES);
    pair_network_print(name, bytes, text);
    return pair_network_publish(path->network.pmi, text, error);
}

struct pair_network *pair_network_ofi(struct pmi1_client *pmi, const char *provider,
                                      struct error *error)
{
    struct ofi_path *path = memory_allocate_zeroed(sizeof(*path));
    struct ofi_config config = {
        .provider = provider[0] != '\0' ? provider : NULL, .events = &events, .context = path};
    char node[ADDRESS_TEXT_BYTES];
    struct addresses own;

    path->network = (struct pair_network){.ops = &ofi_ops, .pmi = pmi};
    path->table = plugin_fabric_ofi(error);
    pair_network_addresses(&own);
    if (own.count > 0) {
        address_set_port(&own.items[0], 0);
        config.node = address_print(&own.items[0], node);
    }
    if (path->table == NULL || path->table->open(&config, &path->ofi, error) < 0 ||
        publish(path, error) < 0) {
        if (path->ofi != NULL)
            path->table->close(path->ofi);
        free(path);
        return NULL;
    }
    return &path->network;
}
