/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What carries a daemon's frames: TLS links, and with --fabric ofi libfabric in addition.  Only this
 * file makes the distinction.
 */
#include "config.h"

#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>

#include "base/log.h"
#include "fabric/address.h"
#include "launch/daemon/journal.h"
#include "launch/daemon/replay.h"
#include "launch/exec/plugin.h"

static int open_rail(struct daemon *daemon, const struct link_set_config *links,
                     struct error *error)
{
    const char *provider = daemon->record.instance.fabric;
    char node[ADDRESS_TEXT_BYTES] = "";
    struct rail_config config = {
        .loop = daemon->loop,
        .provider = provider[0] != '\0' ? provider : NULL,
        .place = links->place,
        .events = endpoint_transport_events(),
        .context = daemon->endpoint,
    };
    struct address address;
    int rc;

    assert(provider != NULL && daemon->rail == NULL);
    config.table = plugin_fabric_ofi(error);
    if (config.table == NULL)
        return error->code;
    if (links->listen_on.count > 0) {
        address = links->listen_on.items[0];
        address_set_port(&address, 0);
        config.node = address_print(&address, node);
    }
    rc = rail_create(&config, &daemon->rail, error);
    if (rc == 0)
        log_debug("collectives and bulk data go over libfabric's %s", rail_provider(daemon->rail));
    return rc;
}

int daemon_open_links(struct daemon *daemon, struct link_set_config *config, struct error *error)
{
    int rc = 0;

    assert(daemon->endpoint != NULL && daemon->links == NULL);
    assert(config->loop == daemon->loop);
    config->events = endpoint_transport_events();
    config->context = daemon->endpoint;
    if (daemon->record.instance.fabric != NULL) {
        rc = open_rail(daemon, config, error);
        config->events = rail_link_events();
        config->context = daemon->rail;
    }
    if (daemon->root != NULL && daemon->record.instance.survive_s > 0) {
        daemon->journal = journal_create(daemon->endpoint);
        config->events = journal_transport_events();
        config->context = daemon->journal;
    }
    if (rc == 0)
        daemon->links = link_set_create(config, error);
    if (daemon->links == NULL)
        return error->code ? error->code : -EIO;
    if (daemon->replay != NULL)
        return 0; /* attached when it is recovered */
    if (daemon->journal != NULL) {
        endpoint_attach(daemon->endpoint, daemon_journal_ops(daemon), daemon->journal);
        return 0;
    }
    if (daemon->rail == NULL) {
        endpoint_attach(daemon->endpoint, link_set_ops(), daemon->links);
        return 0;
    }
    rail_attach(daemon->rail, daemon->links);
    endpoint_attach(daemon->endpoint, rail_ops(), daemon->rail);
    return 0;
}

const struct transport_ops *daemon_journal_ops(struct daemon *daemon)
{
    assert(daemon->journal != NULL && daemon->rail == NULL);
    return journal_transport_ops(daemon->journal, link_set_ops(), daemon->links);
}

/* The secret is there until the root has been opened. */
static int begin_journal(struct daemon *daemon, struct journal_head *head, struct error *error)
{
    int rc = session_create(&daemon->session, error);

    if (rc == 0)
        rc = journal_open(daemon->journal, daemon->session.directory, head, 0, error);
    if (rc == 0 && daemon->record.instance.virtual_base != NULL)
        journal_mark(daemon->journal, daemon->record.instance.virtual_base);
    if (rc == 0)
        journal_start(daemon->journal, head);
    return rc;
}

int daemon_open_journal(struct daemon *daemon, struct error *error)
{
    struct journal_head head = {
        .survive_s = daemon->record.instance.survive_s,
        .record = daemon->record, /* borrowed, as the roster */
        .policy = daemon->policy,
        .roster = *daemon->roster,
        .now_ns = loop_now_ns(),
    };
    int rc;

    link_set_addresses(daemon->links, &head.own);
    if (daemon->replay != NULL)
        rc = journal_open(daemon->journal, daemon->session.directory, NULL,
                          replay_bytes(daemon->replay), error);
    else
        rc = begin_journal(daemon, &head, error);
    if (rc == 0)
        daemon_core_observe(daemon->core, &journal_core_observer, daemon->journal);
    return rc;
}

void daemon_finish_links(struct daemon *daemon, void (*finished)(void *context))
{
    assert(daemon->links != NULL && finished != NULL);
    if (daemon->rail != NULL)
        rail_finish(daemon->rail, finished, daemon);
    else
        link_set_finish(daemon->links, finished, daemon);
}

void daemon_close_links(struct daemon *daemon)
{
    link_set_destroy(daemon->links);
    journal_destroy(daemon->journal);
    rail_destroy(daemon->rail);
}
