/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb, and what fabric_report.c prints for it. */
#include "config.h"

#include "launch/cli/verb/fabric_verb.h"

#include <errno.h>
#include <string.h>

#include "launch/cli/verb/fabric_report.h"
#include "test/support/tap.h"

#define WORDS_MAX 12

static const char slurm[] = "SwitchName=a Nodes=n[1-2]\nSwitchName=t Switches=a Nodes=n3\n";
static const char json[] = "{\"switches\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"nics\": ["
                           "{\"nodes\": \"n[1-2]\", \"switch\": \"a\", \"plane\": \"x\"},"
                           "{\"nodes\": \"n1\", \"switch\": \"b\", \"plane\": \"y\"}]}";

static const char known[] =
    "{\"switches\": [{\"name\": \"a\"}], \"nics\": ["
    "{\"nodes\": \"n1\", \"switch\": \"a\"},"
    "{\"name\": \"n2:ib0\", \"node\": \"n2\", \"switch\": \"a\", \"device\": "
    "{\"speed\": 200000000000, \"pci\": \"0000:c1:00.0\"}}]}";

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    if (strcmp(path, "/conf/topology.conf") == 0)
        buffer_append_string(out, slurm);
    else if (strcmp(path, "fabric.json") == 0)
        buffer_append_string(out, json);
    else if (strcmp(path, "/tmp/instance/fabric.json") == 0)
        buffer_append_string(out, json);
    else if (strcmp(path, "known.json") == 0)
        buffer_append_string(out, known);
    else if (strcmp(path, "bad") == 0)
        buffer_append_string(out, "nonsense\n");
    else
        return error_set(error, -ENOENT, "cannot read %s: no such file", path);
    return 0;
}

/* The words end with NULL; the caller finishes out. */
static int fabric(const char *const *words, const char *slurm_conf, struct buffer *out,
                  struct error *error)
{
    char *environment[] = {(char *)(uintptr_t)slurm_conf, NULL};
    const struct request_ops ops = {.environment = environment, .read_file = read_file};
    char *argv[WORDS_MAX] = {NULL};
    int argc = 0;

    for (; words[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    return fabric_verb(argc, argv, &ops, out, error);
}

static void prints(const char *const *words, const char *expected, const char *name)
{
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(fabric(words, "SLURM_CONF=/conf/slurm.conf", &out, &error), 0, "%s", name);
    is_string(buffer_string(&out), expected, "%s: its output", name);
    buffer_fini(&out);
}

static void test_devices(void)
{
    static const char *const words[] = {"fabric", "--topology", "known.json", "--json", NULL};

    prints(
        words,
        "{\n  \"nics\": 2,\n  \"nodes\": 2,\n  \"planes\": [\n    \"\"\n  ],\n  \"levels\": [\n"
        "    {\n      \"level\": 0,\n      \"switches\": 1,\n      \"nics_min\": 2,\n"
        "      \"nics_max\": 2\n    }\n  ],\n  \"devices\": [\n    {\n      \"name\": \"n2:ib0\",\n"
        "      \"node\": \"n2\",\n      \"device\": {\n        \"speed\": 200000000000,\n"
        "        \"pci\": \"0000:c1:00.0\"\n      }\n    }\n  ]\n}\n",
        "JSON with what is known of a NIC");
}

static void test_output(void)
{
    static const char *const plain[] = {"fabric", NULL};
    static const char *const planes[] = {"fabric", "--topology", "fabric.json", NULL};
    static const char *const ways[] = {"fabric", "--topology", "fabric.json", "--from",
                                       "n1:x",   "--to",       "n2",          NULL};
    static const char *const none[] = {"fabric", "--topology", "fabric.json", "--from",
                                       "n1:y",   "--to",       "n2",          NULL};
    static const char *const matrix[] = {"fabric", "--matrix", "--nodes", "n[2-3]", NULL};
    static const char *const there[] = {
        "fabric", "--instance", "/tmp/instance", "--from", "n1", "--to", "n2", NULL};

    prints(plain,
           "3 NICs on 3 nodes, 2 levels of switches\n"
           "LEVEL   SWITCHES  NICS BELOW EACH\n    0          1  3\n    1          1  2\n",
           "Slurm's file");
    prints(planes,
           "3 NICs on 2 nodes, 1 level of switches\nplane x: 2 NICs\nplane y: 1 NICs\n"
           "LEVEL   SWITCHES  NICS BELOW EACH\n    0          2  1-2\n",
           "planes");
    prints(ways, "n1:x -> n2:x: 2\nn2:x -> n1:x: 2\n", "ways, by the name of a NIC or node");
    prints(none, "n1:y -> n2:x: -\nn2:x -> n1:y: -\n", "no way");
    prints(matrix, "from,n2,n3\nn2,0,3\nn3,3,0\n", "a matrix");
    prints(there, "n1:x -> n2:x: 2\nn2:x -> n1:x: 2\n", "of an instance");
}

static void refuses(const char *const *words, const char *slurm_conf, int code, const char *why)
{
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(fabric(words, slurm_conf, &out, &error), code, "refused");
    is_string(error.text, why, "because %s", why);
    is_int((int)out.length_bytes, 0, "without output");
    buffer_fini(&out);
}

static void test_refused(void)
{
    static const char *const plain[] = {"fabric", NULL};
    static const char *const bad[] = {"fabric", "--topology", "bad", NULL};
    static const char *const one[] = {"fabric", "--topology", "fat-tree:2x2", "--from", "n1", NULL};
    static const char *const who[] = {"fabric", "--topology", "fat-tree:2x2", "--from",
                                      "n1",     "--to",       "n9",           NULL};
    static const char *const both[] = {"fabric", "--json", "--matrix", NULL};
    static const char *const nodes[] = {"fabric", "--nodes", "n1", NULL};
    static const char *const none[] = {"fabric", "--instance", "/tmp/other", NULL};
    static const char *const two[] = {"fabric",     "--instance", "/tmp/instance",
                                      "--topology", "fat-tree:2", NULL};
    static const char *const other[] = {
        "fabric", "--topology", "fat-tree:2x2", "--matrix", "--nodes", "n[4-5]", NULL};
    static const char *const many[] = {"fabric", "--topology", "fat-tree:64x65", "--matrix", NULL};
    static const char *const shape[] = {"fabric", "--topology", "fat-tree:", NULL};

    refuses(none, NULL, -ENOENT,
            "option --instance: /tmp/other has no fabric: no instance with --fabric-topology is "
            "there");
    refuses(two, NULL, -EINVAL, "give only one of --topology and --instance");
    refuses(plain, NULL, -ENOENT,
            "/etc/slurm/topology.conf does not exist: describe the fabric by --topology");
    refuses(bad, NULL, -EINVAL, "bad: line 1: NAME=VALUE expected, not \"nonsense\"");
    refuses(one, NULL, -EINVAL, "give both --from and --to");
    refuses(who, NULL, -ENOENT, "option --to: neither a NIC nor a node is called n9");
    refuses(both, NULL, -EINVAL, "give only one of --from, --matrix and --json");
    refuses(nodes, NULL, -EINVAL, "option --nodes: it needs --matrix");
    refuses(other, NULL, -ENOENT, "option --nodes: n5 is not in the fabric");
    refuses(many, NULL, -E2BIG, "option --matrix: more than 4096 NICs; choose some by --nodes");
    refuses(shape, NULL, -EINVAL,
            "option --topology: \"fat-tree:\": numbers from 1, joined by x, expected");
}

int main(void)
{
    test_output();
    test_devices();
    test_refused();
    return done_testing();
}
