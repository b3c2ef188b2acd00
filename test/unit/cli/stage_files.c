/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch/cli/client/stage_files.c and launch/cli/client/stage_files_scan.c: what is staged, where it goes, and what
 * is refused; launch/cli/client/stage_sender.c against a root that the test plays, as the front end and
 * launch/cli/verb/push_verb.c drive it; launch/cli/client/stage_program.c; launch/cli/request/request_stage.c.
 */
#include "config.h"

#include "launch/cli/client/stage_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/cli/client/stage_program.h"
#include "launch/cli/client/stage_sender.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_stage.h"
#include "launch/exec/session.h"
#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static char top[] = "/tmp/banyan-stage-files.XXXXXX";

/* Paths are relative to the directory of the test. */
static void put_file(const char *name, const void *data, size_t bytes, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || fchmod(fd, mode) < 0)
        bail_out("cannot write %s", name);
    close(fd);
}

static const struct stage_entry *entry_of(const struct stage_files *files, const char *path)
{
    const struct stage_manifest *manifest = stage_files_manifest(files);

    for (uint32_t i = 0; i < manifest->entries_count; i++)
        if (strcmp(manifest->entries[i].path, path) == 0)
            return &manifest->entries[i];
    return NULL;
}

/* ---- names ---- */

static void goes_to(const char *word, const char *path, const char *root)
{
    struct stage_files *files = stage_files_create(false);
    struct error error = ERROR_NONE;
    int rc = stage_files_add(files, word, &error);
    const struct stage_entry *entry = entry_of(files, path);

    ok(rc == 0 && entry != NULL, "%s is staged as %s", word, path);
    if (entry != NULL && root != NULL)
        is_string(entry->root > 0 ? stage_files_manifest(files)->roots[entry->root - 1] : "", root,
                  "below %s", root);
    else if (rc < 0)
        diag("%s", error.text);
    stage_files_destroy(files);
}

static void is_refused(const char *word, const char *why)
{
    struct stage_files *files = stage_files_create(false);
    struct error error = ERROR_NONE;

    ok(stage_files_add(files, word, &error) < 0, "%s is refused", word);
    has_string(error.text, why, "and why");
    stage_files_destroy(files);
}

static void test_destinations(void)
{
    char word[PATH_MAX];

    goes_to("d/a", "d/a", "");
    goes_to("./d/a", "d/a", "");
    goes_to("d/", "d/sub/b", "");
    goes_to("d:.", "sub/b", "");
    goes_to("d:e/f", "e/f/sub/b", "");
    goes_to("d:e/", "e/d/sub/b", "");
    goes_to("d/a:x", "x", "");
    goes_to("d/a:x/", "x/a", "");
    goes_to("d/a:.", "a", "");
    goes_to("d/a:/far/away", "away", "/far");
    goes_to("d/a:/far/away/", "a", "/far/away");
    goes_to("d/a:/x", "x", "/");
    goes_to("d/sub/../a", "a", "");
    goes_to("with:colon", "with:colon", "");
    snprintf(word, sizeof(word), "%s/d", top);
    goes_to(word, "d/a", "");
    is_refused("d/a:../x", "a destination has no '..'");
    is_refused("d/a:/x/../y", "a destination has no '..'");
    is_refused("none", "cannot stage none: No such file or directory");
}

static void test_kinds(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "bad/socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    is_refused("/dev/null", "cannot stage /dev/null: it is neither a file nor a directory");
    (void)mkdir("bad", 0755);
    if (mkfifo("bad/fifo", 0600) < 0)
        bail_out("cannot make a fifo");
    is_refused("bad/fifo", "bad/fifo: it is neither a file");
    is_refused("bad", "bad/fifo: it is neither a file");
    (void)unlink("bad/fifo");
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        bail_out("cannot make a socket");
    is_refused("bad", "bad/socket: it is a socket or a device");
    (void)unlink("bad/socket");
    close(fd);
}

/* Not all file systems tell holes. */
static void test_sparse(void)
{
    int fd;

    put_file("bad/holes", "x", 1, 0600);
    fd = open("bad/holes", O_RDWR | O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 1 << 22) < 0)
        bail_out("cannot make a sparse file");
    if (lseek(fd, 0, SEEK_HOLE) == 1 << 22)
        skip(2, "this file system does not know holes");
    else
        is_refused("bad", "bad/holes: it is a sparse file");
    close(fd);
    (void)unlink("bad/holes");
}

static void test_tree(void)
{
    struct stage_files *files = stage_files_create(false);
    struct error error = ERROR_NONE;
    const struct stage_entry *entry;

    is_int(stage_files_add(files, "d", &error), 0, "a directory");
    entry = entry_of(files, "d/sub");
    ok(entry != NULL && entry->kind == STAGE_DIRECTORY && entry->mode == 0750,
       "has directories with their permissions");
    entry = entry_of(files, "d/a");
    ok(entry != NULL && entry->kind == STAGE_FILE && entry->mode == 0751 && entry->bytes == 3,
       "files");
    entry = entry_of(files, "d/sub/link");
    ok(entry != NULL && entry->kind == STAGE_SYMLINK, "and symbolic links");
    is_string(entry != NULL ? entry->target : "", "../../nowhere", "which are kept as they are");
    is_int(stage_files_add(files, "d/sub:d/sub", &error), -EEXIST, "nothing is staged twice");
    has_string(error.text, "two files would be staged as d/sub/b", "which is said");
    stage_files_destroy(files);
}

/* ---- contents ---- */

static int hash_all(struct stage_files *files, struct error *error)
{
    int more;

    while ((more = stage_files_hash(files, error)) > 0)
        continue;
    return more;
}

static void test_contents(void)
{
    struct stage_files *files = stage_files_create(false);
    const struct stage_manifest *manifest = stage_files_manifest(files);
    size_t bytes = STAGE_CHUNK_BYTES + 100;
    unsigned char *data = memory_allocate(bytes);
    struct buffer pack = {0};
    struct error error = ERROR_NONE;
    struct stage_piece piece;
    struct wire_reader reader;

    memset(data, 'x', bytes);
    put_file("long", data, bytes, 0644);
    put_file("copy", data, bytes, 0644);
    put_file("empty", "", 0, 0644);
    (void)stage_files_add(files, "long", &error);
    (void)stage_files_add(files, "copy", &error);
    (void)stage_files_add(files, "empty", &error);
    is_int(hash_all(files, &error), 0, "contents are hashed");
    is_uint(manifest->chunks_count, 2, "equal chunks are one");
    ok(manifest->entries[1].chunks_count == 2 && manifest->entries[1].chunks[1] == 1 &&
           manifest->entries[2].chunks_count == 0,
       "of which the files consist");
    is_int(stage_files_put(files, 0, &pack, &error), 0, "a chunk is read again");
    wire_reader_init(&reader, pack.data, pack.length_bytes);
    ok(stage_piece_decode(&piece, &reader) == 1 && piece.is_compressed &&
           piece.bytes.length_bytes < 10000,
       "and compressed");
    put_file("long", "short", 5, 0644);
    is_int(stage_files_put(files, 0, &pack, &error), -ESTALE, "a file that has changed meanwhile");
    has_string(error.text, "cannot stage long: it has changed while it was read", "is named");
    stage_files_destroy(files);
    files = stage_files_create(false);
    (void)stage_files_add(files, "copy", &error);
    data[7] = 'y';
    put_file("copy", data, 50, 0644);
    is_int(hash_all(files, &error), -ESTALE, "also before it is hashed");
    stage_files_destroy(files);
    buffer_fini(&pack);
    free(data);
}

static void test_incompressible(void)
{
    struct stage_files *files = stage_files_create(false);
    unsigned char *data = memory_allocate(STAGE_CHUNK_BYTES);
    struct buffer pack = {0};
    struct error error = ERROR_NONE;
    struct stage_piece piece;
    struct wire_reader reader;
    uint64_t word = 1;

    for (size_t i = 0; i < STAGE_CHUNK_BYTES; i++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        data[i] = (unsigned char)(word >> 56);
    }
    put_file("noise", data, STAGE_CHUNK_BYTES, 0644);
    (void)stage_files_add(files, "noise", &error);
    (void)hash_all(files, &error);
    is_int(stage_files_put(files, 0, &pack, &error), 0, "noise");
    wire_reader_init(&reader, pack.data, pack.length_bytes);
    ok(stage_piece_decode(&piece, &reader) == 1 && !piece.is_compressed &&
           piece.bytes.length_bytes == STAGE_CHUNK_BYTES,
       "is sent as it is");
    stage_files_destroy(files);
    buffer_fini(&pack);
    free(data);
}

/* ---- the sender ---- */

static struct {
    uint32_t requests[STAGE_STEP_COUNT];
    uint32_t last;
    uint8_t step;
    size_t body_bytes;
} heard;

static void on_send(void *context, struct buffer *payload)
{
    struct control_request control;
    struct stage_request request;
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    if (control_request_decode(&control, &reader) < 0 || control.kind != JOB_MESSAGE_STAGE)
        bail_out("a request that cannot be read");
    wire_reader_init(&reader, control.data.data, control.data.length_bytes);
    if (stage_request_decode(&request, &reader) < 0 || request.job != 6)
        bail_out("a step that cannot be read");
    heard.requests[request.step]++;
    heard.step = request.step;
    heard.last = control.request;
    heard.body_bytes = request.body.length_bytes;
    ranges_fini(&control.places);
}

static int answer(struct stage_sender *sender, enum stage_outcome outcome, const char *text,
                  const unsigned char *lacks, struct error *error)
{
    struct stage_answer message = {.outcome = (uint8_t)outcome, .nodes = 4};
    struct control_answer control = {.request = heard.last};
    struct buffer data = {0};
    int rc;

    message.text =
        (struct wire_bytes){.data = (const unsigned char *)text, .length_bytes = strlen(text)};
    if (lacks != NULL)
        message.lacks = (struct wire_bytes){.data = lacks, .length_bytes = 1};
    stage_answer_encode(&message, &data);
    control.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    rc = stage_sender_answer(sender, &control, error);
    buffer_fini(&data);
    return rc;
}

static int work(struct stage_sender *sender, struct error *error)
{
    int rc;

    while ((rc = stage_sender_work(sender, error)) > 0)
        continue;
    return rc;
}

static void test_sender(void)
{
    static const unsigned char all = 1, none = 0;
    struct stage_files *files = stage_files_create(false);
    struct error error = ERROR_NONE;
    struct stage_sender *sender = stage_sender_create(files, 6, on_send, NULL);

    (void)stage_files_add(files, "d/a", &error);
    is_int(work(sender, &error), 0, "a sender waits for the first answer");
    ok(heard.requests[STAGE_OPEN] == 1 && heard.body_bytes > 0, "to the manifest");
    (void)answer(sender, STAGE_DONE, "", &all, &error);
    is_int(work(sender, &error), 0, "it sends what is lacking");
    is_uint(heard.requests[STAGE_PACK], 1, "in one pack");
    (void)answer(sender, STAGE_AGAIN, "", NULL, &error);
    is_int(work(sender, &error), 0, "after the loss of a node");
    ok(heard.requests[STAGE_OPEN] == 2 && heard.body_bytes == 0,
       "it asks again, without the manifest");
    (void)answer(sender, STAGE_DONE, "", &none, &error);
    is_int(work(sender, &error), 0, "if nothing is lacking");
    is_uint(heard.requests[STAGE_PACK], 1, "nothing is sent");
    is_uint(heard.requests[STAGE_COMMIT], 1, "but the commit");
    ok(!stage_sender_is_done(sender), "it is not done");
    (void)answer(sender, STAGE_DONE, "", NULL, &error);
    ok(stage_sender_is_done(sender), "before the nodes are");
    is_uint(stage_sender_sums(sender).nodes, 4, "which it counts");
    stage_sender_destroy(sender);
    sender = stage_sender_create(files, 6, on_send, NULL);
    (void)work(sender, &error);
    is_int(answer(sender, STAGE_FAILED, "n3: disk full", NULL, &error), -EIO, "a failure");
    is_string(error.text, "cannot stage files: n3: disk full", "is passed on");
    is_int(work(sender, &error), 0, "then there is nothing to do");
    stage_sender_destroy(sender);
    stage_files_destroy(files);
}

/* ---- programs ---- */

static void test_program(void)
{
    char *set[] = {(char *)(uintptr_t) "PATH=/bin", NULL};
    char *argv[] = {memory_copy_string("sh"), NULL};
    struct app_spec app = {.argv = argv, .set = set};
    struct stage_files *files = stage_files_create(false);
    const struct stage_manifest *manifest = stage_files_manifest(files);
    struct error error = ERROR_NONE;
    int of_libc = 0;

    is_int(stage_program_add(files, &app, &error), 0, "a program with its libraries");
    is_string(argv[0], "bin/sh", "is named by its place");
    ok(entry_of(files, "bin/sh") != NULL, "where it is staged");
    for (uint32_t i = 0; i < manifest->entries_count; i++)
        of_libc += strncmp(manifest->entries[i].path, "lib/libc.so", 11) == 0;
    is_int(of_libc, 0, "the C library stays the node's");
    stage_program_check(files, &app, true);
    ok(manifest->checks_count == 1 && manifest->checks[0].is_staged, "it can be checked");
    is_string(manifest->checks[0].path, "/bin", "with the PATH of the job");
    free(argv[0]);
    argv[0] = memory_copy_string("no-such-program");
    is_int(stage_program_add(files, &app, &error), -ENOENT, "one that does not exist is refused");
    free(argv[0]);
    stage_files_destroy(files);
}

static void test_request(void)
{
    struct request_settings settings = {.force = 1};
    struct request_stage stage = {.words = NULL};
    struct error error = ERROR_NONE;
    const char *words[] = {"a", "b:c"};
    struct job_spec job;

    job_spec_init(&job);
    is_int(request_stage_take(&settings, &stage, &job, &error), -EINVAL, "--force alone");
    has_string(error.text, "option --force: no file is staged", "is refused");
    settings.stage = (struct option_list){.items = words, .count = 2};
    is_int(request_stage_take(&settings, &stage, &job, &error), 0, "files");
    ok(stage.words_count == 2 && stage.force && job.stage == JOB_STAGE_FILES, "are staged");
    request_stage_fini(&stage);
    settings = (struct request_settings){.stage_binary = 1};
    is_int(request_stage_take(&settings, &stage, &job, &error), 0, "a program");
    is_uint(job.stage, JOB_STAGE_ALL, "is run from where it is staged");
    request_stage_fini(&stage);
    job_spec_fini(&job);
}

int main(void)
{
    if (mkdtemp(top) == NULL || chdir(top) < 0)
        bail_out("no directory");
    umask(022);
    if (mkdir("d", 0755) < 0 || mkdir("d/sub", 0750) < 0 ||
        symlink("../../nowhere", "d/sub/link") < 0)
        bail_out("cannot make directories");
    put_file("d/a", "abc", 3, 0751);
    put_file("d/sub/b", "bcd", 3, 0644);
    put_file("with:colon", "x", 1, 0644);
    test_destinations();
    test_kinds();
    test_sparse();
    test_tree();
    test_contents();
    test_incompressible();
    test_sender();
    test_program();
    test_request();
    if (chdir("/") == 0)
        (void)session_remove_tree(top);
    return done_testing();
}
