/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocation.h"
#include "test/support/tap.h"

static struct site site;
static struct error error;

static void set(const char *cluster, const char *kind, const char *name, const char *value)
{
    enum site_key key;
    uint32_t section;

    ok(site_open(&site, cluster, kind, &section, &error) == 0 &&
           site_key_find(name, kind != NULL, &key, &error) == 0 &&
           site_set(&site, section, key, value, "f:1", &error) == 0,
       "%s %s: %s = %s", cluster, kind != NULL ? kind : "", name, value);
}

static void refuses(const char *kind, const char *name, const char *value, const char *why)
{
    enum site_key key;
    uint32_t section;
    int rc = site_open(&site, "west", kind, &section, &error);

    if (rc == 0)
        rc = site_key_find(name, kind != NULL, &key, &error);
    if (rc == 0)
        rc = site_set(&site, section, key, value, "f:2", &error);
    is_int(rc, -EINVAL, "%s = %s is refused", name, value);
    has_string(error.text, why, "because: %s", why);
}

static void describe(void)
{
    set("west", NULL, "nodes", "q[0-1023]");
    set("west", NULL, "address", "%n.west.example");
    set("west", NULL, "scheduler", "slurm");
    set("west", NULL, "slots", "4");
    set("west", NULL, "tmpdir", "/local");
    set("west", "gpu", "nodes", "q[512-519]");
    set("west", "gpu", "gpus", "4");
    set("west", "gpu", "features", "a100|ib");
    set("west", "gpu", "slots", "8");
    set("west", NULL, "memory", "64G");
    set("east", "fat", "nodes", "n[1-2]");
    set("east", "thin", "nodes", "n[3-9]");
    set("north", NULL, "login", "north-login");
}

static void test_values(void)
{
    const struct site_section *gpu = site_find(&site, "west", "gpu");
    struct buffer out = {0};

    ok(gpu != NULL && site_find(&site, "west", NULL) != gpu, "a kind is a section of its own");
    ok(site_find(&site, "east", NULL) != NULL, "and makes one of its cluster");
    is_string(site_value(&site, gpu, SITE_SLOTS), "8", "its own value");
    is_string(site_value(&site, gpu, SITE_TMPDIR), "/local", "or its cluster's");
    is_string(site_value(&site, gpu, SITE_LOGIN), NULL, "or none");
    site_facts(&site, gpu, &out);
    is_string(buffer_string(&out), "mem=64G,feature=a100|ib,gpus=4", "what is known of its nodes");
    buffer_clear(&out);
    site_addresses(&site, &out);
    is_string(buffer_string(&out), "west %n.west.example\n", "addresses");
    buffer_fini(&out);
}

static void expands(const char *text, const char *expected)
{
    struct hostlist *names = hostlist_create();
    struct buffer out = {0};
    size_t offset;
    int rc = site_expand(&site, text, strlen(text), names, &offset, &error);

    hostlist_print(names, &out);
    is_string(rc == 0 ? buffer_string(&out) : error.text, expected, "%s", text);
    buffer_fini(&out);
    hostlist_destroy(names);
}

static void test_names(void)
{
    expands("west/", "west/q[0-1023]");
    expands("west/q[1-4,7]", "west/q[1-4,7]");
    expands("west/512+100", "west/q[512-611]");
    expands("west/gpu/", "west/q[512-519]");
    expands("west/gpu/514+2", "west/q[514-515]");
    expands("west/gpu/q513", "west/q513");
    expands("east/", "east/n[1-9]");
    expands("east/2+3", "east/n[2-4]");
    expands("north/x[1-2]", "north/x[1-2]");
    expands("north/", "the configuration does not say which nodes north has");
    expands("wset/q1", "unknown cluster 'wset': did you mean 'west'?");
    expands("zzz/q1", "unknown cluster 'zzz'; there are west, east, north");
    expands("west/gup/", "cluster west has no kind of nodes 'gup': did you mean 'gpu'?");
    expands("west/q1024", "west has no node q1024");
    expands("west/gpu/q1", "west has no node q1");
    expands("west/1000+100",
            "100 names starting at number 1000 are requested, but there are only 24");
    expands("west/2000+1", "no name has the number 2000");
    expands("west/q[1-", "unmatched '['");
    expands("west/-q", "a node name cannot begin with '-'");
}

static void test_nodes(void)
{
    is_uint(site_slots(&site, "west/q1", 1), 4, "slots of a cluster's node");
    is_uint(site_slots(&site, "west/q512", 1), 8, "of a kind's");
    is_uint(site_slots(&site, "east/n1", 1), 1, "of one that has none");
    is_uint(site_slots(&site, "q512", 3), 3, "of one without a cluster");
    ok(site_section_of(&site, "west/q512") == site_find(&site, "west", "gpu"),
       "the kind of a node");
    ok(site_section_of(&site, "east/n3") == site_find(&site, "east", "thin"), "of another");
    ok(site_section_of(&site, "west/q1") == site_find(&site, "west", NULL), "or its cluster");
    ok(site_section_of(&site, "south/q1") == NULL, "or nothing");
}

static void test_refusals(void)
{
    refuses(NULL, "nods", "q1", "a cluster has no 'nods': did you mean 'nodes'?");
    refuses(NULL, "tmpdir", "/a;b=/c", "is not one directory");
    refuses(NULL, "colour", "red", "banyan(1) lists");
    refuses("gpu", "scheduler", "pbs", "belongs to the section of the cluster");
    refuses(NULL, "scheduler", "slrum", "did you mean 'slurm'?");
    refuses(NULL, "scheduler", "moab", "there are slurm, pbs, lsf");
    refuses(NULL, "starter", "rsh", "did you mean 'ssh'?");
    refuses(NULL, "nodes", "q[", "nodes: ");
    refuses(NULL, "nodes", "q;1", "';' is not allowed");
    refuses(NULL, "nodes", "", "nodes has no value");
    refuses(NULL, "tmpdir", "tmp", "not an absolute path");
    refuses(NULL, "slots", "0", "not a number from 1");
    refuses(NULL, "memory", "much", "memory: ");
    refuses(NULL, "features", "a,b", "write features as A|B");
    refuses(NULL, "login", "-oProxyCommand=x", "not the name of a machine");
    refuses(NULL, "address", "west", "does not have %n once");
    is_int(site_open(&site, "512", NULL, &(uint32_t){0}, &error), -EINVAL,
           "a name that begins with a digit is refused");
    is_int(site_open(&site, "a/b", NULL, &(uint32_t){0}, &error), -EINVAL, "and one with a '/'");
}

/* What --host makes of it. */
static void test_hosts(void)
{
    const struct allocation_base base = {.site = &site};
    struct allocation allocation;
    struct buffer out = {0};

    allocation_init(&allocation);
    is_int(allocation_parse_hosts_of(&allocation, "west/q[511-512],east/n1:2,n1,^west/q511", &base,
                                     &error),
           0, "--host");
    hostlist_print(allocation.names, &out);
    is_string(buffer_string(&out), "west/q512,east/n1,n1", "names of two clusters, and of none");
    is_uint(allocation_slots_of(&allocation, 0), 8, "slots of the kind");
    is_uint(allocation_slots_of(&allocation, 1), 2, "as given");
    is_uint(allocation_slots_of(&allocation, 2), 1, "and one");
    is_int(allocation_parse_hosts_of(&allocation, "a,west/q9999", &base, &error), -ENOENT,
           "what a cluster does not have");
    is_string(error.text, "column 8: west has no node q9999", "is named with its place");
    is_int(allocation_parse_hosts(&allocation, "west/q1", &error), -EINVAL,
           "without a description no name has a '/'");
    buffer_fini(&out);
    allocation_fini(&allocation);
}

int main(void)
{
    describe();
    test_values();
    test_names();
    test_nodes();
    test_hosts();
    test_refusals();
    site_fini(&site);
    return done_testing();
}
