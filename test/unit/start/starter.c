/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The starter with agents that are small scripts: AGENT HOST COMMAND.
 */
#include "config.h"

#include "base/time.h"
#include "launch/start/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/start/one_shot.h"
#include "launch/exec/session.h"
#include "test/support/tap.h"

#define SESSION     "0123456789abcdef"
#define PATIENCE_MS 120000
/* Of whom nobody is to wait for, and the longest that a test of time-outs tries. */
#define PLENTY_S        300
#define TIMEOUT_MAX_S   64
#define MS_PER_S        1000u
#define PLACE           7
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define PROTOCOL        TEXT(BOOT_PROTOCOL_VERSION)
#define GOOD            "echo 'BANYAN-READY " PROTOCOL "'; "

static struct loop *loop;
static struct helper *helper;
static struct starter *starter;
static char scratch[64];
static int failed_count, ended_count, line_count;
static struct error last_why;
static char last_line[256];
static uint32_t timeout_s = PLENTY_S; /* of the starts that follow */
static uint32_t retries;              /* likewise */

/* ---- The owner ---- */

static struct ranges failed_places;
static int is_one_shot;

static void on_failed(void *context, uint32_t place, const struct error *why)
{
    ranges_add(&failed_places, place, place);
    if (place != PLACE && !is_one_shot)
        fail("a failure of place %u", place);
    last_why = *why;
    failed_count++;
}

static void on_line(void *context, uint32_t place, const char *text)
{
    snprintf(last_line, sizeof last_line, "%s", text);
    line_count++;
}

static void on_ended(void *context, uint32_t place)
{
    ended_count++;
}

static const struct starter_events starter_events = {.failed = on_failed,
                                                     .line = on_line,
                                                     .ended = on_ended};

static void process_started(void *context, uint64_t id, pid_t pid)
{
    ok(starter_owns(starter, (uint32_t)id), "the starter knows its process");
}

static void process_failed(void *context, uint64_t id, int code, enum start_step step,
                           const char *text)
{
    starter_process_failed(starter, (uint32_t)id, code, step);
}

static void process_exited(void *context, uint64_t id, int wait_status, enum helper_end end,
                           const struct usage_rank *usage)
{
    starter_process_exited(starter, (uint32_t)id, wait_status);
}

static void group_empty(void *context, uint32_t group)
{
}

static void helper_gone(void *context)
{
    bail_out("the helper is gone");
}

static const struct helper_events helper_events = {.started = process_started,
                                                   .failed = process_failed,
                                                   .exited = process_exited,
                                                   .group_empty = group_empty,
                                                   .gone = helper_gone};

/* ---- Waiting ---- */

static void on_timer(void *context)
{
    loop_stop(loop);
}

static void turn(uint32_t milliseconds)
{
    struct loop_timer *timer = loop_timer_create(loop, on_timer, NULL);

    loop_timer_set(timer, loop_now_ns() + milliseconds * NS_PER_MS);
    loop_run(loop);
    loop_timer_destroy(timer);
}

static int64_t wait_for(const int *counter, int wanted)
{
    uint64_t start_ns = loop_now_ns();

    while (*counter < wanted) {
        if (loop_now_ns() - start_ns > PATIENCE_MS * NS_PER_MS)
            return -1;
        turn(2);
    }
    return (int64_t)((loop_now_ns() - start_ns) / NS_PER_MS);
}

static void wait_for_none(void)
{
    while (starter_running(starter) > 0)
        turn(2);
}

static void wait_for_file(const char *path, off_t bytes)
{
    struct stat status;

    for (int i = 0; i < PATIENCE_MS / 2; i++) {
        if (stat(path, &status) == 0 && status.st_size >= bytes)
            return;
        turn(2);
    }
    fail("%s was not written", path);
}

/* ---- Agents ---- */

static char *write_agent(const char *name, const char *script)
{
    char *path = memory_printf("%s/%s", scratch, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    if (fd < 0 || dprintf(fd, "#!/bin/sh\n%s\n", script) < 0)
        bail_out("cannot write %s", path);
    close(fd);
    return path;
}

static void fill_record(struct boot_record *record, const char *agent, const char *banyand)
{
    boot_record_init(record);
    memcpy(record->instance.session, SESSION, sizeof SESSION);
    record->instance.places = 100;
    record->instance.starter = STARTER_SSH;
    record->instance.start_timeout_s = timeout_s;
    record->instance.start_retries = retries;
    record->instance.agent = memory_copy_string(agent);
    record->instance.banyand = memory_copy_string(banyand);
    record->place = PLACE;
    record->range = (struct range){PLACE, PLACE};
    snprintf(record->name, sizeof record->name, "n0007");
    hostlist_append(record->names, "n0007");
}

static void begin(const char *agent, const char *banyand)
{
    struct boot_record record;

    failed_count = ended_count = line_count = 0;
    last_why = ERROR_NONE;
    last_line[0] = '\0';
    starter = starter_create(loop, helper, &starter_events, NULL);
    fill_record(&record, agent, banyand);
    starter_start(starter, &record);
    is_uint(starter_running(starter), 1, "a starter runs");
    boot_record_fini(&record);
}

static void finish(void)
{
    starter_kill(starter);
    wait_for_none();
    starter_destroy(starter);
}

/* Starts with a scripted agent that does not lead to a daemon: why. */
static void expect_why(const char *script, const char *why)
{
    char *agent = write_agent("agent", script);

    begin(agent, "/x/banyand");
    ok(wait_for(&failed_count, 1) >= 0, "it fails");
    is_string(last_why.text, why, "why");
    finish();
    is_int(failed_count, 1, "told once");
    is_int(ended_count, 0, "an end that nobody expected is a failure only");
    free(agent);
}

static void test_failures(void)
{
    expect_why("echo Welcome; echo \"ssh: connect to host $1 port 22: Connection refused\" >&2; "
               "exit 255",
               "agent exited 255: ssh: connect to host <node> port 22: Connection refused");
    expect_why("exit 3", "agent exited 3: it printed nothing");
    expect_why("echo oops; kill -SEGV $$",
               "agent was killed by signal 11 (Segmentation fault): oops");
    expect_why(
        "echo \"user@$1: Permission denied (publickey,password).\" >&2; exit 255",
        "agent exited 255: user@<node>: Permission denied (publickey,password). (ssh must work without a password; see ssh-copy-id and ssh-agent)");
    expect_why("shift; exec sh -c \"$1\"",
               "agent exited 127: sh: 1: /x/banyand: not found (banyan must be installed at the "
               "same path on every node)");
    expect_why("echo hello; echo BANYAN-READY 1; sleep 300",
               "protocol mismatch: banyand there has version 1, here " PROTOCOL
               "; install the same version on every node");
    expect_why(GOOD "echo 'BANYAN-ERROR no room in /tmp'; exit 1", "no room in /tmp");
    expect_why("echo 'BANYAN-ERROR cannot fork'; exit 1", "cannot fork");
}

static void test_retries(void)
{
    char *script = memory_printf("printf x >>%s/calls; echo \"call $(wc -c <%s/calls)\"; exit 255",
                                 scratch, scratch);
    char *agent;

    retries = 2;
    expect_why(script, "agent exited 255: call 3");
    free(script);
    script = memory_printf("printf x >>%s/more; [ $(wc -c <%s/more) = 3 ] || exit 255; " GOOD
                           "cat >/dev/null; sleep 300",
                           scratch, scratch);
    agent = write_agent("agent", script);
    begin(agent, "/x/banyand");
    while (starter_is_barren(starter, PLACE))
        turn(2);
    is_int(failed_count, 0, "a third call that leads to a daemon");
    finish();
    free(agent);
    free(script);
    retries = 1000;
    agent = write_agent("agent", "exit 255");
    begin(agent, "/x/banyand");
    turn(50);
    starter_expect_end(starter);
    starter_kill(starter);
    wait_for_none();
    is_int(failed_count, 0, "one that waits for its next call does not keep the daemon");
    starter_destroy(starter);
    free(agent);
    retries = 0;
}

/* An agent whose time runs out, and what the message then quotes of it.  How long it takes to say
 * that is up to the machine: it gets more time until it has. */
static void expect_timeout(const char *script, const char *said)
{
    char *agent = write_agent("agent", script);
    char *expected = NULL;

    for (timeout_s = 1; timeout_s <= TIMEOUT_MAX_S; timeout_s *= 2) {
        free(expected);
        expected = memory_printf("no answer within %u s (--start-timeout)%s", timeout_s, said);
        begin(agent, "/x/banyand");
        wait_for(&failed_count, 1);
        finish();
        if (failed_count != 1 || strcmp(last_why.text, expected) == 0)
            break;
    }
    timeout_s = PLENTY_S;
    is_int(failed_count, 1, "it fails once");
    is_string(last_why.text, expected, "why");
    is_int(ended_count, 0, "an end that nobody expected is a failure only");
    free(expected);
    free(agent);
}

static void test_timeouts(void)
{
    expect_timeout("exec sleep 300", "");
    expect_timeout("echo shell starts >&2; sleep 300", "; agent said: shell starts");
    expect_timeout(
        "printf \"user@$1's password: \" >&2; sleep 300",
        "; agent said: user@<node>'s password: (ssh must work without a password; see ssh-copy-id and ssh-agent)");
    expect_timeout("(read answer </dev/tty) 2>/dev/null || echo I cannot ask; sleep 300",
                   "; agent said: I cannot ask");
    expect_timeout(GOOD "sleep 300", "");
    expect_timeout(
        GOOD "echo 'BANYAN-WAITS cannot reach its parent: why'; sleep 300",
        "; agent said: cannot reach its parent: why (choose another network with --net or open ports with --port-range; see banyan doctor)");
}

static void test_no_agent(void)
{
    char *plain = memory_printf("%s/plain", scratch);
    char *expected = memory_printf("cannot run the agent \"%s\": Permission denied", plain);

    close(open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    begin("sssh -v", "/x/banyand");
    ok(wait_for(&failed_count, 1) >= 0, "an agent that does not exist");
    is_string(last_why.text, "cannot run the agent \"sssh\": No such file or directory", "why");
    finish();
    begin(plain, "/x/banyand");
    ok(wait_for(&failed_count, 1) >= 0, "an agent that is no program");
    is_string(last_why.text, expected, "why");
    finish();
    free(expected);
    free(plain);
}

/* ---- Daemons that come up ---- */

static void check_record(const char *path)
{
    struct boot_record record;
    struct wire_reader reader;
    unsigned char data[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = read(fd, data, sizeof data);

    close(fd);
    wire_reader_init(&reader, data, bytes > 0 ? (size_t)bytes : 0);
    is_uint(wire_get_u32(&reader), (uint64_t)bytes - 4, "the record's length comes first");
    boot_record_init(&record);
    is_int(boot_record_decode(&record, &reader), 0, "then the record");
    is_uint(record.place, PLACE, "of this place");
    boot_record_fini(&record);
}

static void test_good(void)
{
    char *record = memory_printf("%s/record", scratch);
    char *script =
        memory_printf("printf 'noise and no end of line'; " GOOD "cat >%s.new; mv %s.new "
                      "%s; echo up; echo more >&2; exec sleep 300",
                      record, record, record);
    char *agent = write_agent("agent", script);

    begin(agent, "/x/banyand");
    wait_for_file(record, 1);
    check_record(record);
    ok(wait_for(&line_count, 2) >= 0, "what it writes afterwards is told");
    is_string(last_line, "more", "line by line");
    starter_joined(starter, PLACE);
    is_int(failed_count, 0, "nothing has failed");
    starter_expect_end(starter);
    starter_kill(starter);
    ok(wait_for(&ended_count, 1) >= 0, "an expected end is told");
    is_uint(starter_running(starter), 0, "nothing runs then");
    is_int(failed_count, 0, "and nothing failed");
    finish();
    free(agent);
    free(script);
    free(record);
}

/* It joins within its time, which then passes.  A machine that is too busy for that gets more. */
static void test_joined_in_time(void)
{
    char *up = memory_printf("%s/up", scratch);
    char *script = memory_printf(GOOD "cat >/dev/null; touch %s; exec sleep 300", up);
    char *agent = write_agent("agent", script);

    for (timeout_s = 1; timeout_s <= TIMEOUT_MAX_S; timeout_s *= 2) {
        begin(agent, "/x/banyand");
        while (failed_count == 0 && access(up, F_OK) < 0)
            turn(2);
        if (failed_count == 0)
            break;
        finish();
        unlink(up);
    }
    if (timeout_s > TIMEOUT_MAX_S)
        bail_out("an agent does not come up within %u s", TIMEOUT_MAX_S);
    starter_joined(starter, PLACE);
    turn(timeout_s * MS_PER_S + 200);
    timeout_s = PLENTY_S;
    is_int(failed_count, 0, "who has joined is not told that its time is up");
    finish();
    unlink(up);
    free(agent);
    free(script);
    free(up);
}

static void test_death(void)
{
    char *agent = write_agent("agent", GOOD "cat >/dev/null; while [ ! -e $0.go ]; do sleep 0.01; "
                                            "done; echo Connection to $1 closed.; exit 255");
    char *go = memory_printf("%s.go", agent);

    begin(agent, "/x/banyand");
    starter_joined(starter, PLACE);
    turn(20);
    starter_joined(starter, PLACE);
    close(open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ok(wait_for(&failed_count, 1) >= 0, "a starter that ends takes its daemon along");
    is_string(last_why.text, "agent exited 255: Connection to <node> closed.", "why");
    finish();
    unlink(go);
    free(go);
    free(agent);
}

/* More than a pipe holds, and a daemon that does not read until it is told to: a starter that waits
 * for it while it writes never comes to that. */
static void test_large_record(void)
{
    char *record_path = memory_printf("%s/large", scratch);
    char *script = memory_printf("echo 'BANYAN-READY " PROTOCOL
                                 "'; echo up; for i in $(seq 1000); do [ ! -e %s.go ] || "
                                 "{ cat >%s; exec sleep 300; }; sleep 0.05; done; exit 1",
                                 record_path, record_path);
    char *go = memory_printf("%s.go", record_path);
    char *agent = write_agent("agent", script);
    struct boot_record record;
    struct buffer encoded = {0};

    starter = starter_create(loop, helper, &starter_events, NULL);
    failed_count = 0;
    fill_record(&record, agent, "/x/banyand");
    record.instance.places = 20000;
    record.range.last = PLACE + 9999;
    hostlist_destroy(record.names);
    record.names = hostlist_create();
    for (uint64_t i = 0; i < 10000; i++) {
        char name[64];
        uint64_t spoiled = (i + 1) * 0x9e3779b97f4a7c15u;
        snprintf(name, sizeof name, "h%llx-%llxx", (unsigned long long)spoiled,
                 (unsigned long long)(spoiled * spoiled | 1));
        hostlist_append(record.names, name);
    }
    boot_record_encode(&record, &encoded);
    ok(encoded.length_bytes > 70000, "a record of %zu bytes", encoded.length_bytes);
    line_count = 0;
    starter_start(starter, &record);
    ok(wait_for(&line_count, 1) >= 0, "it is being written");
    turn(20);
    is_int(failed_count, 0, "which does not hold up the loop");
    close(open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    wait_for_file(record_path, (off_t)encoded.length_bytes + 4);
    is_int(failed_count, 0, "and arrives");
    finish();
    free(go);
    boot_record_fini(&record);
    buffer_fini(&encoded);
    free(agent);
    free(script);
    free(record_path);
}

/* ---- How the agent is called ---- */

static char *call(const char *agent_name, const char *options, const char *banyand)
{
    static char text[1024];
    char *path = memory_printf("%s/call", scratch);
    char *script =
        memory_printf("printf '[%%s]' \"$@\" >%s.new; mv %s.new %s; exit 9", path, path, path);
    char *program = write_agent(agent_name, script);
    char *agent = memory_printf("%s%s", program, options);
    int fd;
    ssize_t bytes;

    unlink(path);
    begin(agent, banyand);
    wait_for(&failed_count, 1);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    finish();
    free(agent);
    free(program);
    free(script);
    free(path);
    return text;
}

static void test_call(void)
{
    is_string(call("rsh", "", "/opt/banyan/sbin/banyand"), "[n0007][/opt/banyan/sbin/banyand]",
              "an agent gets host and command");
    is_string(call("rsh", "  -p 22 -l\tme", "/b"), "[-p][22][-l][me][n0007][/b]",
              "options are split at blanks");
    is_string(call("ssh", " -v", "/b"),
              "[-v][-oBatchMode=yes][-oControlMaster=no][-x][-T][n0007][/b]",
              "ssh itself must not ask");
    is_string(call("rsh", "", "/it's/a $path"), "[n0007]['/it'\\''s/a $path']",
              "the command is quoted for a shell");
}

/* ---- What dead daemons leave ---- */

/* An agent that notes a call to clean, and starts a daemon that dies once it has its record. */
static void test_clean(void)
{
    char *agent =
        write_agent("rsh", "case $2 in *--clean*) echo \"$*\" >$0.new; mv $0.new $0.call; "
                           "exit;; esac; " GOOD "cat >/dev/null; exit 1");
    char *path = memory_printf("%s.call", agent);
    struct boot_record record;
    char text[256] = "";
    int fd;

    fill_record(&record, agent, "/b");
    record.instance.tmpdir = memory_copy_string("/t m p");
    failed_count = ended_count = 0;
    starter = starter_create(loop, helper, &starter_events, NULL);
    starter_clean(starter, &record.instance, PLACE, "n0007");
    is_uint(starter_running(starter), 0, "where no daemon came up nothing is cleaned");
    starter_start(starter, &record);
    ok(wait_for(&failed_count, 1) >= 0, "a daemon gets its record and dies");
    wait_for_none();
    starter_clean(starter, &record.instance, PLACE, "n0007");
    wait_for_none();
    fd = open(path, O_RDONLY | O_CLOEXEC);
    is_int(read(fd, text, sizeof text - 1) > 0, 1, "the node of a dead daemon is cleaned");
    close(fd);
    is_string(text, "n0007 /b --clean " SESSION ".7 --tmpdir '/t m p'\n", "by the same agent");
    is_int(failed_count + ended_count, 1, "nothing is told of it");
    starter_destroy(starter);
    boot_record_fini(&record);
    unlink(path);
    free(path);
    free(agent);
}

static void wait_until_gone(const char *path)
{
    for (int i = 0; i < PATIENCE_MS / 2 && access(path, F_OK) == 0; i++)
        turn(2);
    ok(access(path, F_OK) < 0, "%s is removed", path);
}

/* On this machine it needs no program: the helper removes the directories of that place. */
static void clean_here(enum starter_kind kind, const char *name)
{
    char *node_tmpdir = memory_printf("%s/%s", scratch, name);
    struct boot_record record;
    struct session session, other;

    fill_record(&record, "", "");
    record.instance.starter = kind;
    if (kind == STARTER_VIRTUAL)
        record.instance.virtual_base = memory_copy_string(scratch);
    mkdir(node_tmpdir, 0700);
    setenv("TMPDIR", kind == STARTER_VIRTUAL ? node_tmpdir : scratch, 1);
    if (session_open(&session, &record.instance, PLACE, NULL) < 0 ||
        session_create(&session, NULL) < 0 ||
        session_open(&other, &record.instance, PLACE * 10, NULL) < 0)
        bail_out("no session");
    session_share(&session);
    session_share(&other);
    setenv("TMPDIR", scratch, 1);
    failed_count = 0;
    starter = starter_create(loop, helper, &starter_events, NULL);
    starter_start(starter, &record);
    ok(wait_for(&failed_count, 1) >= 0, "a daemon on this machine ends");
    wait_for_none();
    ok(access(session.directory, F_OK) == 0, "and leaves a directory");
    starter_clean(starter, &record.instance, PLACE, name);
    wait_until_gone(session.directory);
    wait_until_gone(session.shared_directory);
    ok(access(other.shared_directory, F_OK) == 0, "that of another place stays");
    session_remove(&other);
    starter_destroy(starter);
    boot_record_fini(&record);
    rmdir(node_tmpdir);
    free(node_tmpdir);
}

/* ---- Daemons that are forked ---- */

static int fake_daemon(const char *virtual_node)
{
    char name[256] = "";

    gethostname(name, sizeof name - 1);
    printf(BOOT_MARKER PROTOCOL "\nnode %s tmpdir %s host %s\n", virtual_node, getenv("TMPDIR"),
           name);
    fflush(stdout);
    while (read(STDIN_FILENO, name, sizeof name) > 0)
        ;
    return 0;
}

static void test_forked(void)
{
    struct boot_record record;
    char *expected = memory_printf("node n0007 tmpdir %s/n0007 host ", scratch);
    uint64_t start_ns = loop_now_ns();

    failed_count = ended_count = line_count = 0;
    starter = starter_create(loop, helper, &starter_events, NULL);
    fill_record(&record, "", "");
    record.instance.starter = STARTER_VIRTUAL;
    record.instance.virtual_base = memory_copy_string(scratch);
    starter_start(starter, &record);
    ok(wait_for(&line_count, 1) >= 0, "a virtual node answers");
    diag("after %.2f ms", (double)(loop_now_ns() - start_ns) / 1e6);
    has_string(last_line, expected, "it has its name and TMPDIR");
    if (geteuid() == 0)
        has_string(last_line, "host n0007", "and its host name");
    ok(wait_for(&failed_count, 1) >= 0, "its end is a failure as long as nobody expects it");
    has_string(last_why.text, "banyand exited 0: ", "it is named");
    finish();
    free(record.instance.virtual_base);
    record.instance.virtual_base = memory_printf("%s/missing", scratch);
    starter = starter_create(loop, helper, &starter_events, NULL);
    failed_count = 0;
    starter_start(starter, &record);
    ok(wait_for(&failed_count, 1) >= 0, "without the directory for virtual nodes it fails");
    has_string(last_why.text, "No such file or directory", "for that reason");
    finish();
    boot_record_fini(&record);
    free(expected);
    clean_here(STARTER_LOCAL, "n0007");
    clean_here(STARTER_VIRTUAL, "n0007");
}

/* ---- All at once ---- */

static const char *failed_text(void)
{
    static struct buffer text;

    buffer_clear(&text);
    ranges_print(&failed_places, &text);
    return buffer_string(&text);
}

/* The root of five nodes, started by a script that is called as srun. */
static void begin_all(const char *script)
{
    struct addresses addresses = {.count = 0};
    struct boot_record root, record;
    char *srun = write_agent("srun", script);

    failed_count = ended_count = line_count = 0;
    last_why = ERROR_NONE;
    ranges_clear(&failed_places);
    is_one_shot = 1;
    boot_record_init(&root);
    memcpy(root.instance.session, SESSION, sizeof SESSION);
    root.instance.places = 6;
    root.instance.starter = STARTER_SRUN;
    root.instance.start_timeout_s = timeout_s;
    root.instance.agent = srun;
    root.instance.banyand = memory_copy_string("/x/banyand");
    root.range = (struct range){0, 5};
    hostlist_parse(root.names, "n[1-3],x[1-2]-ib", NULL);
    root.order = node_order_create((const uint32_t[]){0, 1, 4, 2, 3}, 5);
    starter = starter_create(loop, helper, &starter_events, NULL);
    one_shot_record(&root, &addresses, &record);
    starter_start_all(starter, &record);
    boot_record_fini(&record);
    is_uint(starter_running(starter), 1, "one process for all");
    boot_record_fini(&root);
}

static void check_whole_record(const char *path)
{
    struct boot_record record;
    struct wire_reader reader;
    struct error error = ERROR_NONE;
    unsigned char data[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = read(fd, data, sizeof data);

    close(fd);
    boot_record_init(&record);
    wire_reader_init(&reader, data + 4, bytes > 4 ? (size_t)bytes - 4 : 0);
    is_int(boot_record_decode(&record, &reader), 0, "all get one record");
    is_int(one_shot_take_place(&record, "n3", &error), 0, "in which a node finds itself");
    is_uint(record.place, 3, "its place");
    is_uint(boot_record_listed_place(&record), 5, "and that by the allocation");
    is_uint(hostlist_count(record.names), record.range.last - record.range.first + 1,
            "and the names below it");
    ok(record.ancestors_count == 1 && record.ancestors[0].place == 0, "it knows the root only");
    boot_record_fini(&record);
}

/* As long as not all three have been heard in time the machine was too slow for it. */
static void one_shot_timeout(const char *script)
{
    char *expected;

    for (timeout_s = 1; timeout_s <= TIMEOUT_MAX_S; timeout_s *= 2) {
        begin_all(script);
        starter_joined(starter, 1);
        starter_joined(starter, 3);
        wait_for(&failed_count, 1);
        if (strcmp(last_why.text, "no room") == 0)
            break;
        finish();
    }
    if (timeout_s > TIMEOUT_MAX_S)
        bail_out("a failure is not told within %u s", TIMEOUT_MAX_S);
    ok(wait_for(&failed_count, 3) >= 0, "who does not join in time fails");
    is_string(failed_text(), "2,4-5", "and nobody else");
    expected = memory_printf("no answer within %u s", timeout_s);
    has_string(last_why.text, expected, "it is said");
    finish();
    timeout_s = PLENTY_S;
    free(expected);
}

static void test_one_shot(void)
{
    char *record_path = memory_printf("%s/whole", scratch);
    char *words_path = memory_printf("%s/words", scratch);
    char *script = memory_printf("echo \"$@\" >%s; cat >%s; echo '1: BANYAN-READY " PROTOCOL "'; "
                                 "echo '0: BANYAN-READY " PROTOCOL "'; "
                                 "echo '1: BANYAN-ERROR @n2 no room'; sleep 300",
                                 words_path, record_path);
    char words[512] = "";
    int fd;

    begin_all(script);
    ok(wait_for(&failed_count, 1) >= 0, "one of them fails");
    is_string(failed_text(), "2", "it is the one that said so");
    is_string(last_why.text, "no room", "with its words");
    wait_for_file(record_path, 1);
    check_whole_record(record_path);
    fd = open(words_path, O_RDONLY | O_CLOEXEC);
    ok(read(fd, words, sizeof(words) - 1) > 0, "it was called");
    close(fd);
    has_string(words, "--nodes=5 --ntasks=5 --ntasks-per-node=1", "for five nodes");
    has_string(words, "--input=all", "with one input for all");
    has_string(words, "--nodelist=x1-ib,x2-ib,n[1-3] /x/banyand --started-by srun",
               "in a list that any Slurm reads");
    finish();
    one_shot_timeout(script);
    begin_all("cat >/dev/null; echo '1: slurmstepd: error: execve(): /x/banyand: No such file'; "
              "echo 'srun: error: n2: task 1: Exited with exit code 2'; exit 2");
    ok(wait_for(&failed_count, 5) >= 0, "its end is the end of all");
    is_string(failed_text(), "1-5", "of each once");
    has_string(last_why.text, "srun exited 2: 1: slurmstepd: error: execve(): /x/banyand: No such",
               "with the line that tells most");
    finish();
    is_one_shot = 0;
    ranges_fini(&failed_places);
    free(record_path);
    free(words_path);
    free(script);
}

int main(void)
{
    struct error error = ERROR_NONE;
    char *command;

    snprintf(scratch, sizeof scratch, "/tmp/bt-starter.XXXXXX");
    if (mkdtemp(scratch) == NULL)
        bail_out("no scratch directory");
    (void)signal(SIGPIPE, SIG_IGN);
    helper_set_daemon(fake_daemon);
    helper = helper_fork(&error);
    if (helper == NULL)
        bail_out("%s", error.text);
    loop = loop_create(&error);
    helper_attach(helper, loop, &helper_events, NULL);
    test_failures();
    test_retries();
    test_timeouts();
    test_no_agent();
    test_good();
    test_joined_in_time();
    test_death();
    test_large_record();
    test_call();
    test_clean();
    test_forked();
    test_one_shot();
    helper_close(helper);
    loop_destroy(loop);
    command = memory_printf("rm -rf %s", scratch);
    is_int(system(command), 0, "the scratch directory is removed");
    free(command);
    return done_testing();
}
