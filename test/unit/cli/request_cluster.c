/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/tap.h"

static struct site site;
static struct error error;

static void set(const char *cluster, enum site_key key, const char *value)
{
    uint32_t section;

    if (site_open(&site, cluster, NULL, &section, &error) < 0 ||
        site_set(&site, section, key, value, "f:1", &error) < 0)
        fail("%s", error.text);
}

/* "starter agent", or the error. */
static void chooses(const char *hosts, struct request_settings settings, const char *expected)
{
    const struct allocation_base base = {.site = &site};
    struct allocation allocation;
    char *agent = NULL, *text;
    int rc;

    allocation_init(&allocation);
    rc = allocation_parse_hosts_of(&allocation, hosts, &base, &error);
    if (rc == 0)
        rc = request_cluster_starter(&site, &allocation, &settings, &agent, &error);
    text = rc < 0 ? memory_copy_string(error.text)
                  : memory_printf("%s %s", settings.starter != NULL ? settings.starter : "-",
                                  settings.agent != NULL ? settings.agent : "-");
    is_string(text, expected, "%s", hosts);
    free(text);
    free(agent);
    allocation_fini(&allocation);
}

static void directory_is(const char *hosts, const char *given, const char *expected)
{
    const struct allocation_base base = {.site = &site};
    struct allocation allocation;
    char *text;

    allocation_init(&allocation);
    is_int(allocation_parse_hosts_of(&allocation, hosts, &base, &error), 0, "%s", hosts);
    text = request_cluster_tmpdir(&site, &allocation, given);
    is_string(text, expected, "the directories of %s", hosts);
    free(text);
    allocation_fini(&allocation);
}

int main(void)
{
    uint32_t kind;
    const struct request_settings nothing = {.help = 0};

    set("west", SITE_NODES, "q[1-4]");
    set("east", SITE_STARTER_OPTIONS, "-p 2222");
    set("east", SITE_STARTER_COMMAND, "/opt/ssh");
    set("south", SITE_STARTER_OPTIONS, "-p 2222");
    set("slow", SITE_STARTER, "srun");
    set("own", SITE_STARTER, "join");
    chooses("q1,q2", nothing, "- -");
    chooses("west/q1,q1", nothing, "ssh -");
    chooses("q1,east/q1,east/q7", nothing, "ssh /opt/ssh -p 2222");
    chooses("south/q1", nothing, "ssh ssh -p 2222");
    chooses("own/q1", nothing, "join -");
    chooses("east/q1", (struct request_settings){.agent = "mine"}, "- mine");
    chooses("east/q1,west/q1", (struct request_settings){.starter = "ssh"}, "ssh -");
    chooses("west/q1,east/q1", nothing,
            "the clusters west and east are started differently (ssh and /opt/ssh -p 2222): give "
            "--starter and --ssh-agent for all nodes");
    chooses("slow/q1", nothing,
            "the starter srun cannot reach nodes that are named by their cluster: give --starter "
            "ssh, or request the nodes with --alloc");
    chooses("west/q1", (struct request_settings){.starter = "flux"},
            "the starter flux cannot reach nodes that are named by their cluster: give --starter "
            "ssh, or request the nodes with --alloc");
    set("west", SITE_TMPDIR, "/local");
    is_int(site_open(&site, "west", "gpu", &kind, &error), 0, "a kind of nodes");
    is_int(site_set(&site, kind, SITE_TMPDIR, "/nvme", "f:1", &error), 0, "has its directory");
    directory_is("west/q1", NULL, "west/=/local");
    is_int(site_set(&site, kind, SITE_NODES, "q[2-3]", "f:1", &error), 0, "and its nodes");
    directory_is("east/q1,west/q1", NULL, "west/=/local;west/q[2-3]=/nvme");
    directory_is("west/q1", "/mine", "west/=/local;west/q[2-3]=/nvme;/mine");
    directory_is("east/q1", NULL, NULL);
    directory_is("q1", "/mine", "/mine");
    site_fini(&site);
    return done_testing();
}
