/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/alloc_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/remote/alloc_request.h"
#include "test/support/tap.h"

static struct site site;
static struct error error;

static void set(const char *cluster, const char *kind, enum site_key key, const char *value)
{
    uint32_t section;

    if (site_open(&site, cluster, kind, &section, &error) < 0 ||
        site_set(&site, section, key, value, "f:1", &error) < 0)
        fail("%s", error.text);
}

/* The words that `run --alloc TEXT -n 2 true` becomes, "same", or the error. */
static void becomes(const char *text, const char *host_name, const char *expected)
{
    const char *argv[] = {"run", "--alloc", text, "-n", "2", "true", NULL};
    struct alloc_cluster_words words;
    struct buffer out = {0};
    int rc = alloc_cluster_expand(&site, host_name, 6, (char *const *)argv, &words, &error);

    if (rc < 0)
        buffer_append_string(&out, error.text);
    else if (words.words == NULL)
        buffer_append_string(&out, "same");
    for (int i = 0; rc == 0 && i < words.count; i++)
        buffer_printf(&out, "%s<%s>", i > 0 ? " " : "", words.words[i]);
    is_string(buffer_string(&out), expected, "--alloc %s on %s", text, host_name);
    buffer_fini(&out);
    if (rc == 0)
        alloc_cluster_words_fini(&words);
}

static void shows(const char *name, const char *expected)
{
    struct buffer out = {0};
    int rc = alloc_cluster_show(&site, "here", name, &out, &error);

    is_string(rc == 0 ? buffer_string(&out) : error.text, expected, "banyan alloc %s", name);
    buffer_fini(&out);
}

static void describe(void)
{
    set("west", NULL, SITE_NODES, "q[0-9]");
    set("west", NULL, SITE_SCHEDULER, "slurm");
    set("west", NULL, SITE_SCHEDULER_OPTIONS, "-p batch");
    set("west", NULL, SITE_LOGIN, "me@west-login");
    set("west", NULL, SITE_TMPDIR, "/local");
    set("west", "gpu", SITE_NODES, "q[8-9]");
    set("west", "gpu", SITE_SCHEDULER_OPTIONS, "-p gpu");
    set("west", "gpu", SITE_TMPDIR, "/nvme");
    set("west", "gpu", SITE_GPUS, "4");
    set("east", NULL, SITE_SCHEDULER, "pbs");
    set("east", NULL, SITE_STARTER, "ssh");
    set("east", NULL, SITE_STARTER_OPTIONS, "-p 2222");
    set("east", NULL, SITE_TMPDIR, "/scratch");
    set("bare", NULL, SITE_NODES, "n1");
}

static void test_words(void)
{
    becomes("west", "laptop",
            "<run> <--on> <me@west-login> <--alloc> <slurm: -p batch> <--tmpdir> "
            "<q[0-9]=/local;q[8-9]=/nvme> <-n> <2> <true>");
    becomes("west: -N4", "west-login.site.org",
            "<run> <--alloc> <slurm: -p batch -N4> <--tmpdir> <q[0-9]=/local;q[8-9]=/nvme> <-n> "
            "<2> <true>");
    becomes("west/gpu:-N4", "west-login",
            "<run> <--alloc> <slurm: -p gpu -N4> <--tmpdir> <q[0-9]=/local;q[8-9]=/nvme> <-n> <2> "
            "<true>");
    becomes("east", "here",
            "<run> <--alloc> <pbs:> <--starter> <ssh> <--ssh-agent> <ssh -p 2222> <--tmpdir> "
            "</scratch> <-n> <2> <true>");
    becomes("slurm: -N4", "here", "same");
    becomes("wset: -N4", "here", "option --alloc: unknown cluster 'wset': did you mean 'west'?");
    becomes("west/gup", "here",
            "option --alloc: cluster west has no kind of nodes 'gup': did you mean 'gpu'?");
    becomes("bare", "here",
            "option --alloc: cluster bare has no scheduler in the configuration; name its nodes, "
            "as --host bare/, or add scheduler = slurm, pbs or lsf");
}

static void test_shown(void)
{
    shows("west", "cluster    west\nnodes      10: q[0-9]\ngpu        2: q[8-9]\n"
                  "on         me@west-login\n--alloc    slurm: -p batch\n"
                  "tmpdir     q[0-9]=/local;q[8-9]=/nvme\n");
    shows("west/gpu", "cluster    west/gpu\ngpu        2: q[8-9]\non         me@west-login\n"
                      "--alloc    slurm: -p gpu\ntmpdir     q[0-9]=/local;q[8-9]=/nvme\n"
                      "facts      gpus=4\n");
    shows("east", "cluster    east\nnodes      not described\n--alloc    pbs:\n"
                  "starter    ssh -p 2222\ntmpdir     /scratch\n");
    shows("bare", "cluster    bare\nnodes      1: n1\n");
    shows("esat", "unknown cluster 'esat': did you mean 'east'?");
}

int main(void)
{
    struct alloc_cluster_words words;
    const char *argv[] = {"run", "--alloc", "west", "true", NULL};

    is_int(alloc_cluster_expand(&site, "here", 4, (char *const *)argv, &words, &error), 0,
           "without a cluster");
    ok(words.words == NULL, "the words stay as they are");
    ok(!alloc_cluster_may_be("slurm: -N1") && !alloc_cluster_may_be("pbs:") &&
           alloc_cluster_may_be("slurm2"),
       "schedulers are no clusters");
    describe();
    test_words();
    test_shown();
    site_fini(&site);
    return done_testing();
}
