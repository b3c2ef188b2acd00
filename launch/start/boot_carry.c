/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/boot_carry.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_MUNGE
#include <munge.h>
#endif

#include "fabric/file_read.h"
#include "launch/proto/boot.h"

#define WAY_MUNGE       "munge"
#define WORD_MUNGE      "munge:"
#define WORD_FILE       "file:"
#define LIFETIME_MAX_S  3600 /* more than munged allows */
#define FILE_RECORD_MAX (BOOT_RECORD_BYTES_MAX)

static int starts_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* ---- MUNGE ---- */

#ifdef HAVE_MUNGE

/* NULL if there is no memory. */
static munge_ctx_t open_context(void)
{
    const char *socket = getenv(BOOT_CARRY_MUNGE_SOCKET);
    munge_ctx_t context = munge_ctx_create();

    if (context != NULL && socket != NULL)
        (void)munge_ctx_set(context, MUNGE_OPT_SOCKET, socket);
    return context;
}

static int munge_failed(munge_ctx_t context, munge_err_t code, const char *what,
                        struct error *error)
{
    const char *why = context != NULL ? munge_ctx_strerror(context) : NULL;
    int rc = code == EMUNGE_SOCKET ? -ECONNREFUSED : -EACCES;

    return error_set(error, rc, "MUNGE cannot %s the boot record: %s%s", what,
                     why != NULL ? why : munge_strerror(code),
                     code == EMUNGE_SOCKET ? " (is munged running on this node?)" : "");
}

static int pack_munge(uint32_t lifetime_s, const void *record, size_t record_bytes, char **ret_word,
                      struct error *error)
{
    munge_ctx_t context = open_context();
    char *credential = NULL;
    munge_err_t code;
    int rc = 0;

    (void)munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, geteuid());
    (void)munge_ctx_set(context, MUNGE_OPT_TTL,
                        lifetime_s < LIFETIME_MAX_S ? (int)lifetime_s : LIFETIME_MAX_S);
    code = munge_encode(&credential, context, record, (int)record_bytes);
    if (code != EMUNGE_SUCCESS)
        rc = munge_failed(context, code, "wrap", error);
    else if (strlen(credential) > BOOT_CARRY_WORD_BYTES_MAX)
        rc = error_set(error, -E2BIG,
                       "the boot record is too long for a command line (%zu bytes): use --boot "
                       "file:DIR",
                       strlen(credential));
    else
        *ret_word = memory_printf("%s%s", WORD_MUNGE, credential);
    free(credential);
    munge_ctx_destroy(context);
    return rc;
}

/* One credential serves all daemons of a call, several of which may use one munged: it may have been
 * opened before, but it must not be too old. */
static int unpack_munge(const char *credential, struct buffer *ret_record, struct error *error)
{
    munge_ctx_t context = open_context();
    void *record = NULL;
    int record_bytes = 0;
    uid_t uid = (uid_t)-1;
    munge_err_t code = munge_decode(credential, context, &record, &record_bytes, &uid, NULL);
    int rc = 0;

    if (code != EMUNGE_SUCCESS && code != EMUNGE_CRED_REPLAYED)
        rc = munge_failed(context, code, "open", error);
    else if (uid != geteuid())
        rc = error_set(error, -EACCES, "the boot record was wrapped by user %u, not by %u", uid,
                       geteuid());
    else
        buffer_append(ret_record, record, (size_t)record_bytes);
    if (record != NULL)
        explicit_bzero(record, (size_t)record_bytes);
    free(record);
    munge_ctx_destroy(context);
    return rc;
}

#else

static int no_munge(struct error *error)
{
    return error_set(error, -ENOTSUP,
                     "this banyan is built without MUNGE: install libmunge and "
                     "configure again, or use --boot file:DIR");
}

static int pack_munge(uint32_t lifetime_s, const void *record, size_t record_bytes, char **ret_word,
                      struct error *error)
{
    return no_munge(error);
}

static int unpack_munge(const char *credential, struct buffer *ret_record, struct error *error)
{
    return no_munge(error);
}

#endif

/* ---- Files ---- */

static int write_all(int fd, const unsigned char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(fd, data, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        data += written;
        bytes -= (size_t)written;
    }
    return 0;
}

static int pack_file(const char *directory, uint32_t number, const void *record,
                     size_t record_bytes, char **ret_word, struct error *error)
{
    char *word = memory_printf("%s%s/%u", WORD_FILE, directory, number);
    const char *path = word + strlen(WORD_FILE);
    int fd = -1;
    int rc = 0;

    if (mkdir(directory, S_IRWXU) < 0 && errno != EEXIST)
        rc = -errno;
    if (rc == 0) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
        rc = fd < 0 ? -errno : write_all(fd, record, record_bytes);
    }
    /* Another node will read it, so it must be written: some file systems report errors here only. */
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc < 0) {
        error_set(error, rc, "cannot write the boot record to %s: %s", path, strerror(-rc));
        free(word);
        return rc;
    }
    *ret_word = word;
    return 0;
}

/* Refuses a file that others could have written or read. */
static int check_file(int fd, size_t *ret_bytes, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_set(error, -errno, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(error, -EACCES, "it is not a regular file");
    if (status.st_uid != geteuid())
        return error_set(error, -EACCES, "it is not owned by user %u", geteuid());
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return error_set(error, -EACCES, "its mode is %o, not 600: others may have read it",
                         status.st_mode & 07777);
    if ((uint64_t)status.st_size > FILE_RECORD_MAX)
        return error_set(error, -EFBIG, "it is too long");
    *ret_bytes = (size_t)status.st_size;
    return 0;
}

static int read_record(int fd, size_t bytes, struct buffer *ret_record, struct error *error)
{
    int rc;

    buffer_reserve(ret_record, bytes + 1); /* a buffer that grows leaves copies of the secret */
    rc = file_read_fd(fd, bytes, ret_record);
    if (rc < 0)
        return error_set(error, rc, "%s", strerror(-rc));
    if (ret_record->length_bytes < bytes)
        return error_set(error, -EIO, "it is truncated");
    return 0;
}

static int unpack_file(const char *path, struct buffer *ret_record, struct error *error)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    size_t bytes = 0;
    int rc =
        fd < 0 ? error_set(error, -errno, "%s", strerror(errno)) : check_file(fd, &bytes, error);

    if (rc == 0)
        rc = read_record(fd, bytes, ret_record, error);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        error_prefix(error, "cannot read the boot record from %s", path);
    return rc;
}

/* ---- Ways ---- */

int boot_carry_check(const char *way, struct error *error)
{
    if (starts_with(way, WORD_FILE) && way[strlen(WORD_FILE)] == '/')
        return 0;
    if (strcmp(way, WAY_MUNGE) != 0)
        return error_set(error, -EINVAL,
                         "'%.80s' is neither munge nor file:DIR with an absolute path", way);
#ifdef HAVE_MUNGE
    return 0;
#else
    return no_munge(error);
#endif
}

char *boot_carry_directory(const char *way, const char *session, uint32_t place)
{
    if (!starts_with(way, WORD_FILE))
        return NULL;
    return memory_printf("%s/banyan-boot-%s.%u", way + strlen(WORD_FILE), session, place);
}

int boot_carry_pack(const char *directory, uint32_t number, uint32_t lifetime_s, const void *record,
                    size_t record_bytes, char **ret_word, struct error *error)
{
    assert(ret_word != NULL && error != NULL);
    assert(record_bytes <= BOOT_RECORD_BYTES_MAX);
    if (directory != NULL)
        return pack_file(directory, number, record, record_bytes, ret_word, error);
    return pack_munge(lifetime_s, record, record_bytes, ret_word, error);
}

void boot_carry_forget(const char *word)
{
    if (word != NULL && starts_with(word, WORD_FILE))
        (void)unlink(word + strlen(WORD_FILE));
}

int boot_carry_unpack(const char *word, struct buffer *ret_record, struct error *error)
{
    if (starts_with(word, WORD_FILE))
        return unpack_file(word + strlen(WORD_FILE), ret_record, error);
    if (starts_with(word, WORD_MUNGE))
        return unpack_munge(word + strlen(WORD_MUNGE), ret_record, error);
    return error_set(error, -EINVAL, "'%.20s' is neither munge:CREDENTIAL nor file:PATH", word);
}
