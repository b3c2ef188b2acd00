/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch/exec/stage_store.c and launch/exec/stage_store_place.c, and the process around them
 * (launch/exec/stage_worker.c) as launch/daemon/daemon_stage.c speaks to it: chunks are verified, files are put
 * together with their permissions, nothing leaves its destination, and nothing is replaced unasked.
 */
#include "config.h"

#include "launch/exec/stage_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zstd.h>

#include "fabric/channel.h"
#include "fabric/digest.h"
#include "fabric/file_read.h"
#include "launch/exec/session.h"
#include "launch/exec/stage_worker.h"
#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static char top[] = "/tmp/banyan-stage-store.XXXXXX";
static struct stage_store *store;
static const char content[] = "some content";

/* A path below the directory of the test; overwritten by the next call but three. */
static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned int next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", top, name);
    return path;
}

static void put_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        bail_out("cannot write %s", name);
}

static void file_is(const char *name, const char *expected, const char *what)
{
    struct buffer text = {0};
    int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)file_read_fd(fd, 65536, &text);
        close(fd);
    }
    is_string(buffer_string(&text), expected, "%s", what);
    buffer_fini(&text);
}

/* ---- manifests of one chunk ---- */

static struct stage_chunk chunk;
static uint32_t index_of_chunk;

static void make_chunk(void)
{
    struct digest *digest = digest_create();

    chunk.bytes = sizeof(content) - 1;
    if (digest == NULL || digest_compute(digest, content, chunk.bytes, chunk.hash) < 0)
        bail_out("no SHA-256");
    digest_destroy(digest);
}

static struct stage_entry file_entry(const char *path, uint32_t root, uint32_t mode)
{
    return (struct stage_entry){.kind = STAGE_FILE,
                                .root = root,
                                .path = (char *)(uintptr_t)path,
                                .mode = mode,
                                .time_ns = 1000000001000000000u,
                                .bytes = chunk.bytes,
                                .chunks = &index_of_chunk,
                                .chunks_count = 1};
}

static int place_one(struct stage_entry entry, char *root, uint8_t force, struct error *error)
{
    struct stage_manifest manifest = {.force = force,
                                      .roots = &root,
                                      .roots_count = root != NULL,
                                      .entries = &entry,
                                      .entries_count = 1,
                                      .chunks = &chunk,
                                      .chunks_count = 1};

    *error = ERROR_NONE;
    return stage_store_place(store, &manifest, 5, error);
}

static int put_piece(const void *data, size_t bytes, uint8_t is_compressed, uint32_t number)
{
    struct stage_manifest manifest = {.chunks = &chunk, .chunks_count = 1};
    struct stage_piece piece = {
        .chunk = number,
        .is_compressed = is_compressed,
        .bytes = {.data = data, .length_bytes = bytes},
    };
    struct error error = ERROR_NONE;

    return stage_store_put(store, &manifest, &piece, &error);
}

static size_t lacking(void)
{
    struct stage_manifest manifest = {.chunks = &chunk, .chunks_count = 1};
    struct buffer lacks = {0};
    size_t bytes;

    stage_store_lacks(store, &manifest, &lacks);
    bytes = lacks.length_bytes;
    buffer_fini(&lacks);
    return bytes;
}

static void test_cache(void)
{
    unsigned char packed[256];
    size_t bytes = ZSTD_compress(packed, sizeof(packed), content, chunk.bytes, 1);

    is_uint(lacking(), 1, "an empty cache lacks the chunk");
    is_int(put_piece("other conten", 12, 0, 0), -EBADMSG, "another content is not taken for it");
    is_int(put_piece(content, 5, 0, 0), -EBADMSG, "nor a part of it");
    is_int(put_piece(content, chunk.bytes, 0, 1), -EBADMSG, "nor one of an unknown number");
    is_int(put_piece("rubbish", 7, 1, 0), -EBADMSG, "nor what cannot be decompressed");
    is_uint(lacking(), 1, "it is lacking still");
    is_int(put_piece(packed, bytes, 1, 0), 0, "compressed it is taken");
    is_uint(lacking(), 0, "and is there");
    is_int(put_piece(content, chunk.bytes, 0, 0), 0, "a second time it does no harm");
}

static void test_files(void)
{
    struct error error;
    struct stat status;

    is_int(place_one(file_entry("a/b/file", 0, 0754), NULL, 0, &error), 0, "a file is placed");
    file_is("base/5/a/b/file", content, "with its content");
    (void)stat(path_of("base/5/a/b/file"), &status);
    is_uint(status.st_mode & 07777, 0754, "its permissions");
    is_int(status.st_mtim.tv_sec, 1000000001, "and its time");
    is_int(place_one(file_entry("a/b/file", 0, 0754), NULL, 0, &error), 0,
           "the same file again is no error");
    put_text("base/5/a/b/file", "changed");
    is_int(place_one(file_entry("a/b/file", 0, 0754), NULL, 0, &error), -EEXIST,
           "another one is not replaced");
    has_string(error.text, "a/b/file exists and differs; --force", "which is said");
    file_is("base/5/a/b/file", "changed", "it is as it was");
    is_int(place_one(file_entry("a/b/file", 0, 0600), NULL, 1, &error), 0, "unless that is asked");
    file_is("base/5/a/b/file", content, "then it is replaced");
    is_int(place_one(file_entry("a/b", 0, 0600), NULL, 1, &error), -EISDIR, "a directory never is");
    is_int(
        place_one(file_entry("file", 1, 0644), (char *)(uintptr_t)path_of("far/away"), 0, &error),
        0, "a file for another directory");
    file_is("far/away/file", content, "which is made");
}

static void test_escape(void)
{
    struct error error;

    put_text("victim", "precious");
    (void)mkdir(path_of("outside"), 0755);
    if (symlink(path_of("outside"), path_of("base/5/door")) < 0 ||
        symlink(path_of("victim"), path_of("base/5/name")) < 0)
        bail_out("cannot make symbolic links");
    ok(place_one(file_entry("door/file", 0, 0644), NULL, 1, &error) < 0,
       "no file goes through a symbolic link");
    has_string(error.text, "a file or a symbolic link is where a directory is needed",
               "which is said");
    ok(access(path_of("outside/file"), F_OK) < 0, "nothing is there");
    is_int(place_one(file_entry("name", 0, 0644), NULL, 0, &error), -EEXIST,
           "a symbolic link is not replaced unasked");
    is_int(place_one(file_entry("name", 0, 0644), NULL, 1, &error), 0, "nor followed if it is");
    file_is("victim", "precious", "its target is as it was");
    file_is("base/5/name", content, "the file is in its place");
    if (mkfifo(path_of("base/5/fifo"), 0600) < 0)
        bail_out("cannot make a fifo");
    is_int(place_one(file_entry("fifo", 0, 0644), NULL, 0, &error), -EEXIST,
           "a fifo with its name is not waited for");
}

static void test_links_and_directories(void)
{
    struct stage_entry entries[] = {
        {.kind = STAGE_DIRECTORY, .path = (char *)(uintptr_t) "closed", .mode = 0555},
        {.kind = STAGE_SYMLINK,
         .path = (char *)(uintptr_t) "closed/link",
         .target = (char *)(uintptr_t) "../../outside"},
        file_entry("closed/file", 0, 0444)};
    struct stage_manifest manifest = {
        .entries = entries, .entries_count = 3, .chunks = &chunk, .chunks_count = 1};
    struct error error = ERROR_NONE;
    char target[64] = "";
    struct stat status;

    is_int(stage_store_place(store, &manifest, 5, &error), 0, "a directory that is read-only");
    (void)stat(path_of("base/5/closed"), &status);
    is_uint(status.st_mode & 0777, 0555, "is so in the end");
    file_is("base/5/closed/file", content, "with what is in it");
    (void)!readlink(path_of("base/5/closed/link"), target, sizeof(target) - 1);
    is_string(target, "../../outside", "a symbolic link is kept as it is");
    is_int(stage_store_place(store, &manifest, 5, &error), 0, "all of it can be repeated");
    entries[1].target = (char *)(uintptr_t) "elsewhere";
    is_int(stage_store_place(store, &manifest, 5, &error), -EEXIST, "another link is refused");
    manifest.force = 1;
    is_int(stage_store_place(store, &manifest, 5, &error), 0, "unless it is forced");
    stage_store_remove(store, 5);
    ok(access(path_of("base/5"), F_OK) < 0, "all of it is removed");
    file_is("victim", "precious", "and nothing else");
}

/* Of a cache whose files somebody has changed. */
static void test_damage(void)
{
    char name[PATH_MAX + 80];
    int length = snprintf(name, sizeof(name), "cache/");
    struct error error;

    for (size_t i = 0; i < STAGE_HASH_BYTES; i++)
        length += snprintf(name + length, sizeof(name) - (size_t)length, "%02x", chunk.hash[i]);
    put_text(name, "some rubbish");
    is_int(place_one(file_entry("file", 0, 0644), NULL, 0, &error), -EBADMSG,
           "a damaged chunk is noticed");
    ok(access(path_of("base/5/file"), F_OK) < 0, "no file is made of it");
    is_uint(lacking(), 1, "and it is lacking from then on");
}

/* ---- the process ---- */

static void send_order(int fd, enum stage_step step, uint32_t generation, const struct buffer *body)
{
    struct stage_order order = {
        .step = (uint8_t)step, .job = 0, .transfer = 3, .generation = generation};
    struct buffer payload = {0}, frame = {0};

    if (body != NULL)
        order.body = (struct wire_bytes){.data = body->data, .length_bytes = body->length_bytes};
    stage_order_encode(&order, &payload);
    channel_header_put((uint32_t)payload.length_bytes, STAGE_WORKER_MESSAGE, &frame);
    buffer_append(&frame, payload.data, payload.length_bytes);
    if (send(fd, frame.data, frame.length_bytes, MSG_NOSIGNAL) != (ssize_t)frame.length_bytes)
        bail_out("cannot send an order");
    buffer_fini(&payload);
    buffer_fini(&frame);
}

static void read_report(int fd, uint32_t generation, struct stage_report *ret_report)
{
    unsigned char header[CHANNEL_HEADER_BYTES], data[4096];
    struct stage_reply reply;
    struct wire_reader reader;
    uint32_t bytes = 0;
    uint8_t type = 0;

    if (recv(fd, header, sizeof(header), MSG_WAITALL) != (ssize_t)sizeof(header))
        bail_out("no reply");
    channel_header_get(header, &bytes, &type);
    if (bytes > sizeof(data) || recv(fd, data, bytes, MSG_WAITALL) != (ssize_t)bytes)
        bail_out("no whole reply");
    wire_reader_init(&reader, data, bytes);
    if (stage_reply_decode(&reply, &reader) < 0)
        bail_out("an unreadable reply");
    is_uint(reply.generation, generation, "the reply is for order %u", generation);
    wire_reader_init(&reader, reply.report.data, reply.report.length_bytes);
    if (stage_report_decode(ret_report, &reader) < 0)
        bail_out("an unreadable report");
}

static void step_is_good(int fd, enum stage_step step, uint32_t generation,
                         const struct buffer *body, int fails)
{
    struct stage_report report;

    send_order(fd, step, generation, body);
    read_report(fd, generation, &report);
    is_uint(report.failures_count, (uint64_t)fails, "with as many failures as expected");
    if (step == STAGE_OPEN)
        ok(ranges_contains(&report.keepers, 9) && report.lacks.length_bytes == 1,
           "it lacks the chunk, and keeps it");
    stage_report_fini(&report);
}

static void test_worker(void)
{
    struct stage_entry entry = file_entry("file", 0, 0644);
    struct stage_manifest manifest = {
        .entries = &entry, .entries_count = 1, .chunks = &chunk, .chunks_count = 1};
    struct stage_piece piece = {
        .bytes = {.data = (const unsigned char *)content, .length_bytes = sizeof(content) - 1}};
    struct buffer encoded = {0}, pack = {0};
    int ends[2], status = 0;
    pid_t pid;

    stage_manifest_encode(&manifest, &encoded);
    stage_piece_encode(&piece, &pack);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        bail_out("no sockets");
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(stage_worker_run(ends[1], path_of("base2"), path_of("cache2"), 9, 0));
    }
    close(ends[1]);
    step_is_good(ends[0], STAGE_PACK, 1, &pack, 1); /* of what nobody has opened */
    step_is_good(ends[0], STAGE_OPEN, 2, &encoded, 0);
    step_is_good(ends[0], STAGE_PACK, 3, &pack, 0);
    step_is_good(ends[0], STAGE_COMMIT, 4, NULL, 0);
    file_is("base2/0/file", content, "the file is there");
    close(ends[0]);
    (void)waitpid(pid, &status, 0);
    is_int(status, 0, "the process ends with its daemon's connection");
    buffer_fini(&encoded);
    buffer_fini(&pack);
}

int main(void)
{
    struct error error = ERROR_NONE;

    if (mkdtemp(top) == NULL)
        bail_out("no directory");
    make_chunk();
    store = stage_store_create(path_of("base"), path_of("cache"), &error);
    if (store == NULL)
        bail_out("%s", error.text);
    test_cache();
    test_files();
    test_escape();
    test_links_and_directories();
    test_damage();
    stage_store_destroy(store);
    test_worker();
    ok(stage_store_create(path_of("none/base"), path_of("none/cache"), &error) == NULL,
       "without its directory there is no store");
    has_string(error.text, "cannot create ", "which is said");
    (void)session_remove_tree(top);
    return done_testing();
}
