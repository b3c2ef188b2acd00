/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-2 (pmix/pmi2.c, pmix/pmi2_wire.c) and what it shares with PMI-1 (pmix/pmi_kvs.c): messages,
 * every command, limits, waits, and what makes no sense.
 */
#include "config.h"

#include "pmix/pmi2_wire.h"
#include "pmix/pmi_names.h"
#include "pmix/pmi_kvs.h"
#include "pmix/pmi_spawn.h"
#include "test/support/pmi_clients.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"

static const char init[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
static const char init_answer[] = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";

/* With its length in front. */
static const char *framed(const char *body)
{
    static struct buffer text;

    buffer_clear(&text);
    buffer_printf(&text, "%-6zu%s", strlen(body), body);
    return buffer_string(&text);
}

/* A client says a message; its answer without the length, which must be right. */
static const char *ask(struct pmi_clients *node, uint32_t index, const char *body)
{
    const char *answer = pmi_clients_say(node, index, framed(body));
    unsigned int length;

    if (strlen(answer) < PMI2_LENGTH_BYTES || sscanf(answer, "%6u", &length) != 1)
        return answer;
    if (length != strlen(answer) - PMI2_LENGTH_BYTES)
        return "wrong length";
    return answer + PMI2_LENGTH_BYTES;
}

/* What a client was told by what another one did. */
static const char *told(struct pmi_clients *node, uint32_t index)
{
    const char *answer = buffer_string(&node->replies[index]);

    return strlen(answer) < PMI2_LENGTH_BYTES ? answer : answer + PMI2_LENGTH_BYTES;
}

static void both_init(struct pmi_clients *node, uint32_t first_rank)
{
    pmi_clients_init(node, first_rank, "(vector,(0,2,2))");
    (void)pmi_clients_say(node, 0, init);
    (void)pmi_clients_say(node, 1, init);
}

static void test_job(void)
{
    struct pmi_clients node;

    pmi_clients_init(&node, 2, "(vector,(0,2,2))");
    is_string(pmi_clients_say(&node, 0, init), init_answer, "init");
    is_int(node.connected, 1, "the owner is told of it");
    is_string(ask(&node, 0, "cmd=fullinit;pmijobid=job;pmirank=2;threaded=FALSE;"),
              "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=4;appnum=0;"
              "debugged=FALSE;pmiverbose=FALSE;",
              "fullinit");
    (void)pmi_clients_say(&node, 1, init);
    has_string(ask(&node, 1, "cmd=fullinit;thrid=0x7;"),
               "cmd=fullinit-response;thrid=0x7;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=4;"
               "appnum=3;",
               "of another thread and application");
    is_string(ask(&node, 0, "cmd=job-getid;"), "cmd=job-getid-response;rc=0;jobid=job;",
              "job-getid");
    has_string(ask(&node, 0, "cmd=job-connect;jobid=x;"),
               "cmd=job-connect-response;rc=14;errmsg=", "job-connect is refused");
    has_string(ask(&node, 0, "cmd=job-disconnect;jobid=x;"),
               "cmd=job-disconnect-response;rc=14;errmsg=", "as is job-disconnect");
    is_string(ask(&node, 0, "cmd=info-getjobattr;key=PMI_process_mapping;"),
              "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));",
              "the process mapping");
    is_string(ask(&node, 0, "cmd=info-getjobattr;key=universeSize;"),
              "cmd=info-getjobattr-response;rc=0;found=TRUE;value=16;", "universeSize");
    is_string(ask(&node, 0, "cmd=info-getjobattr;key=physTopology;"),
              "cmd=info-getjobattr-response;rc=0;found=FALSE;", "what is not known");
    has_string(ask(&node, 0, "cmd=info-getjobattr;"), "rc=4;errmsg=", "no key");
    is_string(ask(&node, 0, "cmd=finalize;thrid=1;"), "cmd=finalize-response;thrid=1;rc=0;",
              "finalize");
    is_int(node.finalized, 1, "the owner is told of it");
    is_int(pmi_socket_closed(node.socket, 0), 0, "a close after finalize is normal");
    is_int(pmi_socket_closed(node.socket, 1), 1, "a close after init alone is not");
    pmi_clients_fini(&node);
}

static void test_values(void)
{
    struct pmi_clients nodes[2];
    struct buffer all = {0};

    for (uint32_t n = 0; n < 2; n++) {
        char body[64];

        both_init(&nodes[n], 2 * n);
        snprintf(body, sizeof(body), "cmd=kvs-put;key=k%u;value=v;;%u=;;;", n, n);
        is_string(ask(&nodes[n], 0, body), "cmd=kvs-put-response;rc=0;", "put");
        is_string(ask(&nodes[n], 0, "cmd=kvs-fence;thrid=9;"), "", "the first waits");
        is_string(ask(&nodes[n], 1, "cmd=kvs-fence;"), "", "as does the second");
        is_int(nodes[n].barriers, 1, "for the other node");
        buffer_append(&all, nodes[n].puts.data, nodes[n].puts.length_bytes);
    }
    for (uint32_t n = 0; n < 2; n++) {
        buffer_clear(&nodes[n].replies[0]);
        pmi_clients_done(&nodes[n], 0, all.data, all.length_bytes);
        is_string(told(&nodes[n], 0), "cmd=kvs-fence-response;thrid=9;rc=0;", "its thread is told");
        is_string(told(&nodes[n], 1), "cmd=kvs-fence-response;rc=0;", "one without a number too");
        is_string(ask(&nodes[n], 1, "cmd=kvs-get;jobid=job;srcid=-1;key=k0;"),
                  "cmd=kvs-get-response;rc=0;found=TRUE;value=v;;0=;;;", "a value");
        is_string(ask(&nodes[n], 1, "cmd=kvs-get;jobid=;srcid=3;key=k1;"),
                  "cmd=kvs-get-response;rc=0;found=TRUE;value=v;;1=;;;", "of either node");
        is_string(ask(&nodes[n], 1, "cmd=kvs-get;key=k2;"),
                  "cmd=kvs-get-response;rc=0;found=FALSE;", "one that nobody has put");
        has_string(ask(&nodes[n], 1, "cmd=kvs-get;jobid=other;key=k1;"),
                   "rc=3;errmsg=", "one of another job");
        has_string(ask(&nodes[n], 1, "cmd=kvs-get;"), "rc=4;errmsg=", "no key");
        pmi_clients_fini(&nodes[n]);
    }
    buffer_fini(&all);
}

/* One job may have clients of both protocols. */
static void test_both(void)
{
    struct pmi_clients node;

    pmi_clients_init(&node, 0, "");
    (void)pmi_clients_say(&node, 0, "cmd=init pmi_version=1 pmi_subversion=1\n");
    (void)pmi_clients_say(&node, 1, init);
    (void)pmi_clients_say(&node, 0, "cmd=put kvsname=job key=a value=one\n");
    (void)pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    node.done_at_once = 1;
    is_string(ask(&node, 1, "cmd=kvs-fence;"), "cmd=kvs-fence-response;rc=0;",
              "a fence and a barrier are the same");
    is_string(buffer_string(&node.replies[0]), "cmd=barrier_out rc=0\n", "for either");
    has_string(ask(&node, 1, "cmd=kvs-get;key=a;"), "value=one;", "and so are the values");
    pmi_clients_fini(&node);
}

static void test_fence(void)
{
    struct pmi_clients node;

    both_init(&node, 0);
    (void)ask(&node, 0, "cmd=kvs-fence;thrid=1;");
    is_string(ask(&node, 0, "cmd=kvs-put;thrid=2;key=a;value=b;"),
              "cmd=kvs-put-response;thrid=2;rc=0;", "another thread goes on in a fence");
    has_string(pmi_clients_refusal(&node, 0, framed("cmd=kvs-fence;thrid=2;")), "wrong time",
               "but not with a fence");
    (void)ask(&node, 1, "cmd=kvs-fence;");
    buffer_clear(&node.replies[0]);
    pmi_clients_done(&node, -ESRCH, NULL, 0);
    has_string(told(&node, 0), "cmd=kvs-fence-response;thrid=1;rc=14;errmsg=", "a fence may fail");
    (void)ask(&node, 0, "cmd=kvs-fence;");
    is_int(pmi_socket_closed(node.socket, 1), 1, "a client dies");
    is_int(node.barriers, 2, "and is not waited for");
    is_int(pmi_socket_closed(node.socket, 0), 1, "one dies in a fence");
    pmi_clients_fini(&node);
}

static void test_attributes(void)
{
    struct pmi_clients node;

    both_init(&node, 2);
    is_string(ask(&node, 0, "cmd=info-getnodeattr;key=localRanksCount;wait=FALSE;"),
              "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=2;", "localRanksCount");
    is_string(ask(&node, 0, "cmd=info-getnodeattr;key=localRanks;wait=FALSE;"),
              "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=2,3;", "localRanks");
    is_string(ask(&node, 0, "cmd=info-getnodeattr;key=seg;wait=FALSE;"),
              "cmd=info-getnodeattr-response;rc=0;found=FALSE;", "one that is not there");
    is_string(ask(&node, 0, "cmd=info-getnodeattr;thrid=4;key=seg;wait=TRUE;"), "",
              "one that is waited for");
    is_string(ask(&node, 0, "cmd=info-getnodeattr;thrid=5;key=other;wait=TRUE;"), "",
              "by two threads");
    buffer_clear(&node.replies[0]);
    is_string(ask(&node, 1, "cmd=info-putnodeattr;key=seg;value=/shm;;1;"),
              "cmd=info-putnodeattr-response;rc=0;", "a neighbour puts it");
    is_string(told(&node, 0),
              "cmd=info-getnodeattr-response;thrid=4;rc=0;found=TRUE;value=/shm;;1;",
              "and the one that waits for it is told");
    is_string(ask(&node, 1, "cmd=info-getnodeattr;key=seg;wait=TRUE;"),
              "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=/shm;;1;", "as all who ask");
    (void)ask(&node, 1, "cmd=info-putnodeattr;key=seg;value=2;");
    has_string(ask(&node, 1, "cmd=info-getnodeattr;key=seg;"), "value=2;", "the last one counts");
    is_int(pmi_socket_closed(node.socket, 0), 1, "who waits may die");
    is_string(ask(&node, 1, "cmd=info-putnodeattr;key=other;value=1;"),
              "cmd=info-putnodeattr-response;rc=0;", "and is forgotten");
    has_string(ask(&node, 1, "cmd=info-getnodeattr;"), "rc=4;errmsg=", "no key");
    has_string(ask(&node, 1, "cmd=info-putnodeattr;key=;value=1;"), "rc=4;errmsg=", "an empty key");
    pmi_clients_fini(&node);
}

static void test_limits(void)
{
    struct pmi_clients node;
    struct buffer text = {0};

    both_init(&node, 0);
    buffer_printf(&text, "cmd=kvs-put;key=%063d;value=%01023d;", 7, 8);
    has_string(ask(&node, 0, buffer_string(&text)), "rc=0;", "the longest key and value");
    buffer_clear(&text);
    buffer_printf(&text, "cmd=kvs-get;key=%063d;", 7);
    is_uint(strlen(ask(&node, 0, buffer_string(&text))),
            strlen("cmd=kvs-get-response;rc=0;found=TRUE;value=;") + 1023, "come back");
    for (int i = 0; i < 2; i++) {
        const char *command = i == 0 ? "kvs-put" : "info-putnodeattr";

        buffer_clear(&text);
        buffer_printf(&text, "cmd=%s;key=%064d;value=1;", command, 7);
        has_string(ask(&node, 0, buffer_string(&text)), "rc=5;errmsg=the key is longer",
                   "%s: a longer key", command);
        buffer_clear(&text);
        buffer_printf(&text, "cmd=%s;key=a;value=%01024d;", command, 7);
        has_string(ask(&node, 0, buffer_string(&text)), "rc=7;errmsg=the value is longer",
                   "%s: a longer value", command);
        buffer_clear(&text);
        buffer_printf(&text, "cmd=%s;key=a;", command);
        has_string(ask(&node, 0, buffer_string(&text)), "rc=6;errmsg=no value", "%s: none",
                   command);
    }
    has_string(ask(&node, 0, "cmd=kvs-put;key=e;value=;"), "rc=0;", "an empty value");
    is_string(ask(&node, 0, "cmd=kvs-get;key=e;"), "cmd=kvs-get-response;rc=0;found=TRUE;value=;",
              "is one");
    buffer_fini(&text);
    pmi_clients_fini(&node);
}

static void test_abort(void)
{
    struct pmi_clients node;

    both_init(&node, 0);
    (void)ask(&node, 0, "cmd=abort;isworld=FALSE;msg=alone;");
    is_int(node.aborts, 0, "who ends alone is left to it");
    (void)ask(&node, 0, "cmd=abort;isworld=TRUE;msg=all of us;");
    ok(node.aborts == 1 && node.abort_status == 1, "abort as Slurm's library says it");
    is_string(node.abort_message, "all of us", "with why");
    (void)ask(&node, 1, "cmd=kvs-fence;");
    (void)ask(&node, 1, "cmd=abort;exitcode=9;message=and MPICH's;");
    ok(node.aborts == 2 && node.abort_status == 9, "and as MPICH's does, in a fence");
    is_string(node.abort_message, "and MPICH's", "with why");
    pmi_clients_fini(&node);
}

static void test_spawn(void)
{
    struct pmi_spawn_answer good = {.job = 9, .processes = 3, .namespace = "space"};
    struct pmi_spawn_answer bad = {.failure = PMI_SPAWN_FAILURE_EXECUTABLE, .reason = "no a;b"};
    struct pmi_clients node;
    struct pmi_spawn spawn;

    both_init(&node, 0);
    for (int i = 0; i < 2; i++) {
        struct buffer data = {0};

        is_string(ask(&node, 0,
                      "cmd=spawn;thrid=3;ncmds=2;preputcount=1;ppkey0=k;ppval0=v;;;"
                      "subcmd=a;maxprocs=2;argc=2;argv0=x y;argv1=;infokeycount=1;infokey0=host;"
                      "infoval0=n1,n2;subcmd=b;maxprocs=1;argc=0;"),
                  "", "spawn two programs");
        is_int(pmi_spawn_decode(&spawn, node.asked_data.data, node.asked_data.length_bytes), 0,
               "once");
        ok(spawn.apps_count == 2 && spawn.apps[0].processes == 2 && spawn.apps[1].processes == 1,
           "with their processes");
        is_string(spawn.apps[0].argv[1], "x y", "an argument");
        is_string(spawn.apps[0].argv[2], "", "an empty one");
        ok(spawn.apps[0].argv[3] == NULL && spawn.apps[1].argv[1] == NULL, "and no others");
        is_string(spawn.apps[0].rule.hosts, "n1,n2", "nodes");
        ok(spawn.preput_count == 1 && strcmp(spawn.preput[0].value, "v;") == 0, "and a value");
        pmi_spawn_fini(&spawn);
        pmi_spawn_answer_encode(i == 0 ? &good : &bad, &data);
        pmi_socket_events.done(node.socket, node.asked.id, 0, data.data, data.length_bytes);
        is_string(told(&node, 0),
                  i == 0 ? "cmd=spawn-response;thrid=3;rc=0;jobid=space;"
                         : "cmd=spawn-response;thrid=3;rc=14;errmsg=no a;;b;",
                  "the answer");
        buffer_fini(&data);
    }
    ok(node.asked.kind == PMI_REQUEST_SPAWN, "of a request to spawn");
    has_string(ask(&node, 0, "cmd=spawn;ncmds=0;"),
               "cmd=spawn-response;rc=14;errmsg=", "no program");
    (void)ask(&node, 1, "cmd=spawn;ncmds=1;subcmd=a;maxprocs=1;argc=0;");
    buffer_clear(&node.replies[1]);
    pmi_socket_events.done(node.socket, node.asked.id, -ENOTSUP, NULL, 0);
    has_string(told(&node, 1), "rc=14;errmsg=spawning is not possible", "nobody serves it");
    pmi_clients_fini(&node);
}

/* What ends a client, and the line that says why. */
static void test_nonsense(void)
{
    static const struct {
        const char *said;
        const char *why;
    } cases[] = {
        {"cmd=job-getid;", "without a length"},
        {"      cmd=job-getid;", "without a length"},
        {"0     ", "without a length"},
        {"1 4   cmd=job-getid;", "without a length"},
        {"-14   cmd=job-getid;", "without a length"},
        {"99999 cmd=job-getid;", "longer than 65536 bytes"},
        {"5     hello", "does not consist of pairs"},
        {"6     =a;b=c", "does not consist of pairs"},
        {"8     cmd;a=b;", "does not consist of pairs"},
        {"4     a=b;", "unknown command: "},
        {"10    cmd=dance;", "unknown command: dance"},
    };
    struct pmi_clients node;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        both_init(&node, 0);
        has_string(pmi_clients_refusal(&node, 0, cases[i].said), cases[i].why, "\"%s\"",
                   cases[i].said);
        pmi_clients_fini(&node);
    }
    both_init(&node, 0);
    is_int(pmi_socket_input(node.socket, 0, "14    cmd=job\0getid;", 20, NULL), -EPROTO,
           "a NUL byte");
    is_int(pmi_socket_input(node.socket, 1, "20    cmd=job-getid;\0\0\0\0\0\0", 26, NULL), 0,
           "but not behind the text");
    has_string(told(&node, 1), "cmd=job-getid-response;rc=0;", "where MPICH has some");
    pmi_clients_fini(&node);
    pmi_clients_init(&node, 0, "");
    has_string(pmi_clients_refusal(&node, 0, framed("cmd=init;\n")), "PMI-1: unknown command",
               "a client that does not start with a line");
    pmi_clients_fini(&node);
}

/* Byte by byte, and with the length as others write it. */
static void test_pieces(void)
{
    struct pmi_clients node;
    const char *text = "cmd=init pmi_version=2 pmi_subversion=0\n    14cmd=job-getid;";
    int held = 1;

    pmi_clients_init(&node, 0, "");
    for (size_t i = 0; text[i] != '\0'; i++)
        held = held && pmi_socket_input(node.socket, 0, text + i, 1, NULL) == 0;
    ok(held, "single bytes are taken");
    has_string(buffer_string(&node.replies[0]), "cmd=job-getid-response;rc=0;jobid=job;",
               "and answered");
    pmi_clients_fini(&node);
}

static void test_wire(void)
{
    struct buffer out = {0};
    struct pmi2_pairs pairs;

    pmi2_wire_begin(&out, "x;y");
    pmi2_wire_add(&out, "a", ";;");
    pmi2_wire_add_number(&out, "n", -5);
    pmi2_wire_end(&out);
    is_int(pmi2_wire_cut(&out, NULL), (long long)out.length_bytes, "a message is whole");
    is_int(pmi2_wire_decode((char *)buffer_string(&out), &pairs), 0, "and can be read");
    is_string(pmi2_wire_get(&pairs, "cmd"), "x;y", "with its command");
    is_string(pmi2_wire_get(&pairs, "a"), ";;", "and values");
    is_int(pmi2_wire_number(&pairs, "n", 0), -5, "and numbers");
    is_int(pmi2_wire_number(&pairs, "a", 3), 3, "or not");
    ok(pmi2_wire_get(&pairs, "b") == NULL, "but nothing else");
    pmi2_wire_fini(&pairs);
    buffer_fini(&out);
}

/* Random pieces of sense in random order. */
static void test_garbage(void)
{
    static const char *const bodies[] = {
        "cmd=fullinit;",
        "cmd=kvs-fence;thrid=1;",
        "cmd=kvs-put;key=a;value=b;;;",
        "cmd=info-getnodeattr;key=a;wait=TRUE;",
        "cmd=info-putnodeattr;key=a;value=;;;;",
        "cmd=finalize;",
        "cmd=abort;",
        "cmd=;",
        ";=;",
        "cmd=kvs-get;key=a",
    };
    struct random_state random;

    random_init(&random, 11);
    for (int round = 0; round < 2000; round++) {
        struct pmi_clients node;

        both_init(&node, 0);
        node.done_at_once = 1;
        for (int i = 0; i < 20; i++) {
            const char *body = bodies[random_below(&random, sizeof(bodies) / sizeof(bodies[0]))];
            uint32_t index = (uint32_t)random_below(&random, PMI_CLIENTS);
            const char *text = framed(body);
            size_t bytes = strlen(text) - (random_below(&random, 20) == 0);

            if (pmi_socket_input(node.socket, index, text, bytes, NULL) < 0)
                pmi_socket_closed(node.socket, index);
        }
        pmi_clients_fini(&node);
    }
    pass("garbage harms nobody");
}

/* pmix/pmi_socket_names.c; pmi1.c has more of it. */
static void test_names(void)
{
    struct pmi_names_found found = {.value = {(const unsigned char *)"a;b", 3}};
    struct buffer data = {0};
    struct pmi_clients node;

    both_init(&node, 0);
    is_string(ask(&node, 0, "cmd=name-publish;thrid=7;name=s;port=a;;b;"), "",
              "a publish waits for its answer");
    is_string(pmi_clients_asked(&node), "publish pmi:s a;b", "the name service is asked");
    buffer_clear(&node.replies[0]);
    pmi_socket_events.done(node.socket, node.asked.id, 0, NULL, 0);
    is_string(told(&node, 0), "cmd=name-publish-response;thrid=7;rc=0;", "the thread is answered");
    (void)ask(&node, 1, "cmd=name-lookup;name=s;");
    pmi_names_found_encode(&found, &data);
    pmi_socket_events.done(node.socket, node.asked.id, 0, data.data, data.length_bytes);
    is_string(told(&node, 1), "cmd=name-lookup-response;rc=0;value=a;;b;port=a;;b;", "a lookup");
    (void)ask(&node, 0, "cmd=name-publish;name=s;port=q;");
    pmi_socket_events.done(node.socket, node.asked.id, -EEXIST, NULL, 0);
    has_string(told(&node, 0), "cmd=name-publish-response;rc=14;errmsg=", "a name twice");
    has_string(ask(&node, 0, "cmd=name-publish;name=s;"), "rc=3;errmsg=", "no port");
    has_string(ask(&node, 0, "cmd=name-lookup;"), "rc=3;errmsg=", "no name");
    buffer_fini(&data);
    pmi_clients_fini(&node);
}

int main(void)
{
    test_names();
    test_job();
    test_values();
    test_both();
    test_fence();
    test_attributes();
    test_limits();
    test_abort();
    test_spawn();
    test_nonsense();
    test_pieces();
    test_wire();
    test_garbage();
    return done_testing();
}
