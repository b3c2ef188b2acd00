/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes that `banyan node add` asks for (launch/cli/verb/node_add.c); the rest is in test/system/run_node_add.sh. */
#include "config.h"

#include "launch/cli/verb/node_add.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/cli/verb/node_scheduler.h"
#include "test/support/tap.h"

static void finds(const char *file, char *const *words, const char *expected, const char *what)
{
    struct error error = ERROR_NONE;
    struct buffer text = {0};
    struct allocation nodes;

    allocation_init(&nodes);
    if (node_add_find(file, words, &nodes, &error) < 0) {
        has_string(error.text, expected, "%s", what);
    } else {
        hostlist_print(nodes.names, &text);
        buffer_printf(&text, " %llu", (unsigned long long)allocation_slots(&nodes));
        is_string(buffer_string(&text), expected, "%s", what);
    }
    buffer_fini(&text);
    allocation_fini(&nodes);
}

static void finds_in_file(const char *contents, const char *expected, const char *what)
{
    char path[] = "/tmp/banyan-node-add-XXXXXX";
    char *none[] = {NULL};
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (file == NULL) {
        fail("%s: no file", what);
        return;
    }
    fputs(contents, file);
    fclose(file);
    finds(path, none, expected, what);
    (void)unlink(path);
}

static void checks(const char *file, int from_scheduler, char *const *words, const char *expected,
                   const char *what)
{
    const struct instance_settings settings = {.hostfile = file, .from_scheduler = from_scheduler};
    struct error error = ERROR_NONE;

    (void)node_add_check(&settings, words, &error);
    has_string(error.text, expected, "%s", what);
}

/* What scontrol of Slurm 21.08 to 24.05 writes. */
static void test_scheduler(void)
{
    static const char details[] = "JobId=7 JobName=x\n"
                                  "   ReqNodeList=(null) ExcNodeList=n9\n"
                                  "   NodeList=n[1-3]\n   BatchHost=n1\n   NumNodes=3 NumCPUs=9\n"
                                  "   JOB_GRES=(null)\n"
                                  "     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=\n"
                                  "     Nodes=n3 CPU_IDs=0-3,8 Mem=0 GRES=\n   Dist=Block\n";
    struct allocation nodes;
    struct error error = ERROR_NONE;

    allocation_init(&nodes);
    is_int(node_scheduler_parse(details, 1, &nodes, &error), 0, "the details of a job");
    is_uint(allocation_nodes(&nodes), 3, "have its nodes");
    is_uint(allocation_slots_of(&nodes, 1), 2, "with their CPUs");
    is_uint(allocation_slots_of(&nodes, 2), 5, "each its own");
    allocation_fini(&nodes);
    allocation_init(&nodes);
    is_int(node_scheduler_parse(details, 4, &nodes, &error), 0, "if a task has four");
    is_uint(allocation_slots(&nodes), 3, "each node has a slot");
    allocation_fini(&nodes);
    allocation_init(&nodes);
    is_int(node_scheduler_parse("   NodeList=n[1-2]\n", 1, &nodes, &error), 0, "without details");
    is_uint(allocation_nodes(&nodes), 2, "there are nodes too");
    allocation_fini(&nodes);
    allocation_init(&nodes);
    is_int(
        node_scheduler_parse("JobId=7\n   NodeList=(null)\n   Nodes=(null)\n", 1, &nodes, &error),
        -EBADMSG, "a job that waits has none");
    has_string(error.text, "is it running?", "is said");
    error = ERROR_NONE;
    ok(node_scheduler_parse("   Nodes=n[1- CPU_IDs=5-1,x\n", 1, &nodes, &error) < 0,
       "what is no list is refused");
    allocation_fini(&nodes);
}

int main(void)
{
    char first[] = "n[5-8]:4", second[] = "x", user[] = "root@x", bad[] = "n[";
    char *both[] = {first, second, NULL}, *none[] = {NULL};
    char *users[] = {user, NULL}, *wrong[] = {bad, NULL};

    finds(NULL, both, "n[5-8],x 17", "words, with and without slots");
    finds_in_file("# more\nn7\nn8 slots=3\n", "n[7-8] 4", "a file");
    checks(NULL, 0, none, "expected: banyan node add", "neither");
    checks("hosts", 0, both, "give nodes, --hostfile or --from-scheduler", "words and a file");
    checks(NULL, 1, both, "give nodes, --hostfile or --from-scheduler", "words and the scheduler");
    checks(NULL, 1, none, "", "the scheduler alone");
    test_scheduler();
    finds("/nonexistent/hosts", none,
          "option --hostfile: cannot read /nonexistent/hosts: No such file", "no such file");
    finds_in_file("n1 slots=many\n", "slots must be a number", "a file that is none");
    finds(NULL, wrong, "list of nodes: ", "what is no list");
    finds(NULL, users, "root@: new nodes have the user", "another user");
    return done_testing();
}
