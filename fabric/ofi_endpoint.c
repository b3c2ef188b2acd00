/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric_ofi.so: an FI_EP_RDM endpoint, the one type that cxi, verbs, psm3, opx, efa and tcp share.
 * Send and receive buffers are one block, registered once where the provider requires it.  Every
 * libfabric code is translated here.
 */
#include "config.h"

#include "fabric/ofi_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "fabric/ofi_nic.h"

#define API_VERSION    FI_VERSION(1, 14)
#define RECEIVES_MAX   64
#define ENTRIES_MAX    16
#define BUFFERS_MAX    (RECEIVES_MAX + OFI_SENDS_MAX)
#define BUFFERS_BYTES  ((size_t)BUFFERS_MAX * OFI_MESSAGE_BYTES_MAX)
#define PROVIDER_BYTES 64

/* libfabric's context comes first: it hands back this address. */
struct transfer {
    struct fi_context2 context;
    unsigned char *data;
    int is_receive;
    void *user;
    struct transfer *next;
};

struct ofi {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *completions;
    struct fid_ep *endpoint;
    struct fid_mr *region; /* NULL if not required */
    unsigned char *buffers;
    struct transfer transfers[BUFFERS_MAX];
    struct transfer *free_sends;
    const struct ofi_events *events;
    void *context;
    int fd;
    int receive_is_missing; /* a buffer could not be posted again */
};

/* ---- Opening ---- */

/* The defaults of ofi_rxm take 70 MB and 33 ms for each endpoint; with these it is 3 MB over tcp,
 * where messages need not fit into its bounce buffers to be sent eagerly (fi_rxm(7); over verbs
 * they must).  From libfabric 2 on tcp has buffers, too: 1,024 of 16 KiB by default.  The
 * user's settings take precedence. */
static void limit_buffers(const char *provider)
{
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "64", 0);
    setenv("FI_OFI_RXM_MSG_TX_SIZE", "64", 0);
    if (provider == NULL || strncmp(provider, "tcp", 3) != 0)
        return;
    setenv("FI_TCP_MAX_RX_SIZE", "2048", 0);
    setenv("FI_OFI_RXM_BUFFER_SIZE", "2048", 0);
    setenv("FI_OFI_RXM_EAGER_LIMIT", "16384", 0);
}

static struct fi_info *make_hints(const char *provider)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->size = OFI_SENDS_MAX;
    hints->rx_attr->size = RECEIVES_MAX;
    if (provider != NULL)
        hints->fabric_attr->prov_name = strdup(provider);
    return hints;
}

/* Providers that use IP are given our address; it means nothing to the others. */
static int find_provider(struct ofi *ofi, const struct ofi_config *config, struct error *error)
{
    struct fi_info *hints = make_hints(config->provider);
    int rc = -FI_ENOMEM;

    limit_buffers(config->provider);
    if (hints != NULL)
        rc = fi_getinfo(API_VERSION, config->node, config->node != NULL ? "0" : NULL,
                        config->node != NULL ? FI_SOURCE : 0, hints, &ofi->info);
    if (rc < 0 && rc != -FI_ENOMEM && config->node != NULL)
        rc = fi_getinfo(API_VERSION, NULL, NULL, 0, hints, &ofi->info);
    fi_freeinfo(hints);
    if (rc < 0)
        return error_set(error, rc == -FI_ENOMEM ? -ENOMEM : -ENODEV,
                         "libfabric has no reliable datagrams%s%s here (%s); see fi_info -t "
                         "FI_EP_RDM, or use --fabric tcp",
                         config->provider != NULL ? " of " : "",
                         config->provider != NULL ? config->provider : "", fi_strerror(-rc));
    return 0;
}

static int open_queue(struct ofi *ofi)
{
    struct fi_cq_attr attributes = {
        .size = 2 * BUFFERS_MAX, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    int rc = fi_cq_open(ofi->domain, &attributes, &ofi->completions, NULL);

    return rc < 0 ? rc : fi_control(&ofi->completions->fid, FI_GETWAIT, &ofi->fd);
}

static int open_endpoint(struct ofi *ofi)
{
    struct fi_av_attr addresses = {.type = ofi->info->domain_attr->av_type};
    int rc = fi_fabric(ofi->info->fabric_attr, &ofi->fabric, NULL);

    if (rc >= 0)
        rc = fi_domain(ofi->fabric, ofi->info, &ofi->domain, NULL);
    if (rc >= 0)
        rc = fi_av_open(ofi->domain, &addresses, &ofi->addresses, NULL);
    if (rc >= 0)
        rc = open_queue(ofi);
    if (rc >= 0)
        rc = fi_endpoint(ofi->domain, ofi->info, &ofi->endpoint, NULL);
    if (rc >= 0)
        rc = fi_ep_bind(ofi->endpoint, &ofi->addresses->fid, 0);
    if (rc >= 0)
        rc = fi_ep_bind(ofi->endpoint, &ofi->completions->fid, FI_TRANSMIT | FI_RECV);
    return rc;
}

static int register_buffers(struct ofi *ofi)
{
    int rc;

    ofi->buffers =
        mmap(NULL, BUFFERS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ofi->buffers == MAP_FAILED) {
        ofi->buffers = NULL;
        return -FI_ENOMEM;
    }
    if ((ofi->info->domain_attr->mr_mode & FI_MR_LOCAL) == 0)
        return 0;
    rc = fi_mr_reg(ofi->domain, ofi->buffers, BUFFERS_BYTES, FI_SEND | FI_RECV, 0, 0, 0,
                   &ofi->region, NULL);
    if (rc >= 0 && (ofi->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        rc = fi_mr_bind(ofi->region, &ofi->endpoint->fid, 0);
        if (rc >= 0)
            rc = fi_mr_enable(ofi->region);
    }
    return rc;
}

static void *region_descriptor(const struct ofi *ofi)
{
    return ofi->region != NULL ? fi_mr_desc(ofi->region) : NULL;
}

static int post_receive(struct ofi *ofi, struct transfer *transfer)
{
    return (int)fi_recv(ofi->endpoint, transfer->data, OFI_MESSAGE_BYTES_MAX,
                        region_descriptor(ofi), FI_ADDR_UNSPEC, &transfer->context);
}

static int prepare_transfers(struct ofi *ofi)
{
    int rc = 0;

    for (int i = 0; i < BUFFERS_MAX && rc >= 0; i++) {
        struct transfer *transfer = &ofi->transfers[i];

        transfer->data = ofi->buffers + (size_t)i * OFI_MESSAGE_BYTES_MAX;
        transfer->is_receive = i < RECEIVES_MAX;
        if (transfer->is_receive) {
            rc = post_receive(ofi, transfer);
        } else {
            transfer->next = ofi->free_sends;
            ofi->free_sends = transfer;
        }
    }
    return rc;
}

static void close_one(void *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

static void ofi_close(struct ofi *ofi)
{
    if (ofi == NULL)
        return;
    close_one(ofi->endpoint);
    close_one(ofi->region);
    close_one(ofi->completions);
    close_one(ofi->addresses);
    close_one(ofi->domain);
    close_one(ofi->fabric);
    if (ofi->buffers != NULL)
        munmap(ofi->buffers, BUFFERS_BYTES);
    fi_freeinfo(ofi->info);
    free(ofi);
}

static int ofi_open(const struct ofi_config *config, struct ofi **ret_ofi, struct error *error)
{
    struct ofi *ofi = calloc(1, sizeof(*ofi));
    int rc;

    if (ofi == NULL)
        return error_set(error, -ENOMEM, "no memory for a libfabric endpoint");
    ofi->events = config->events;
    ofi->context = config->context;
    rc = find_provider(ofi, config, error);
    if (rc < 0) {
        ofi_close(ofi);
        return rc;
    }
    rc = open_endpoint(ofi);
    if (rc >= 0)
        rc = register_buffers(ofi);
    if (rc >= 0)
        rc = fi_enable(ofi->endpoint);
    if (rc >= 0)
        rc = prepare_transfers(ofi);
    if (rc < 0) {
        error_set(error, -EIO, "cannot open an endpoint of libfabric's provider %s: %s%s",
                  ofi->info->fabric_attr->prov_name, fi_strerror(-rc),
                  rc == -FI_ENOSYS ? " (it must support waiting on a descriptor)" : "");
        ofi_close(ofi);
        return -EIO;
    }
    *ret_ofi = ofi;
    return 0;
}

/* ---- Peers ---- */

static const char *ofi_provider(const struct ofi *ofi)
{
    return ofi->info->fabric_attr->prov_name;
}

static size_t ofi_name(const struct ofi *ofi, unsigned char *ret_name)
{
    size_t bytes = OFI_NAME_BYTES_MAX;

    return fi_getname(&ofi->endpoint->fid, ret_name, &bytes) < 0 ? 0 : bytes;
}

static int ofi_insert(struct ofi *ofi, const unsigned char *name, size_t name_bytes,
                      uint64_t *ret_peer)
{
    unsigned char copy[OFI_NAME_BYTES_MAX] = {0}; /* providers read their own length of it */
    fi_addr_t peer;

    if (name_bytes == 0 || name_bytes > sizeof(copy))
        return -EINVAL;
    memcpy(copy, name, name_bytes);
    if (fi_av_insert(ofi->addresses, copy, 1, &peer, 0, NULL) != 1)
        return -EHOSTUNREACH;
    *ret_peer = peer;
    return 0;
}

static void ofi_remove(struct ofi *ofi, uint64_t peer)
{
    fi_addr_t address = peer;

    fi_av_remove(ofi->addresses, &address, 1, 0);
}

/* ---- Messages ---- */

static unsigned char *ofi_buffer(struct ofi *ofi)
{
    return ofi->free_sends != NULL ? ofi->free_sends->data : NULL;
}

static int ofi_send(struct ofi *ofi, uint64_t peer, size_t bytes, void *user)
{
    struct transfer *transfer = ofi->free_sends;
    ssize_t rc = fi_send(ofi->endpoint, transfer->data, bytes, region_descriptor(ofi), peer,
                         &transfer->context);

    if (rc == -FI_EAGAIN)
        return -EAGAIN;
    if (rc < 0)
        return -EIO;
    transfer->user = user;
    ofi->free_sends = transfer->next;
    return 0;
}

static int ofi_fd(const struct ofi *ofi)
{
    return ofi->fd;
}

static void finish_transfer(struct ofi *ofi, struct transfer *transfer, size_t bytes, int status)
{
    if (!transfer->is_receive) {
        transfer->next = ofi->free_sends;
        ofi->free_sends = transfer;
        ofi->events->sent(ofi->context, transfer->user, status);
        return;
    }
    if (status == 0)
        ofi->events->received(ofi->context, transfer->data, bytes);
    transfer->user = ofi; /* to be posted again */
    if (post_receive(ofi, transfer) >= 0)
        transfer->user = NULL;
    else
        ofi->receive_is_missing = 1;
}

static void post_missing(struct ofi *ofi)
{
    ofi->receive_is_missing = 0;
    for (int i = 0; i < RECEIVES_MAX; i++) {
        struct transfer *transfer = &ofi->transfers[i];

        if (transfer->user == NULL)
            continue;
        if (post_receive(ofi, transfer) >= 0)
            transfer->user = NULL;
        else
            ofi->receive_is_missing = 1;
    }
}

static int take_error(struct ofi *ofi)
{
    struct fi_cq_err_entry entry = {0};

    if (fi_cq_readerr(ofi->completions, &entry, 0) != 1 || entry.op_context == NULL)
        return 0;
    finish_transfer(ofi, entry.op_context, 0, entry.err > 0 ? -entry.err : -EIO);
    return 1;
}

static int ofi_progress(struct ofi *ofi)
{
    struct fi_cq_msg_entry entries[ENTRIES_MAX];
    ssize_t count = fi_cq_read(ofi->completions, entries, ENTRIES_MAX);

    if (ofi->receive_is_missing)
        post_missing(ofi);
    if (count == -FI_EAVAIL)
        return take_error(ofi);
    for (ssize_t i = 0; i < count; i++)
        finish_transfer(ofi, entries[i].op_context, entries[i].len, 0);
    return count > 0;
}

static int ofi_may_wait(struct ofi *ofi)
{
    struct fid *fids[] = {&ofi->completions->fid};

    return fi_trywait(ofi->fabric, fids, 1) == FI_SUCCESS;
}

/* The only exported symbol. */
extern const struct ofi_table ofi_table;
__attribute__((visibility("default"))) const struct ofi_table ofi_table = {
    .abi = OFI_ABI,
    .open = ofi_open,
    .close = ofi_close,
    .provider = ofi_provider,
    .name = ofi_name,
    .insert = ofi_insert,
    .remove = ofi_remove,
    .buffer = ofi_buffer,
    .send = ofi_send,
    .fd = ofi_fd,
    .progress = ofi_progress,
    .may_wait = ofi_may_wait,
    .nics = ofi_nic_read,
};
