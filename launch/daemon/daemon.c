/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/daemon.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "fabric/address.h"
#include "fabric/tls.h"
#include "launch/proto/exit_status.h"
#include "launch/start/boot_carry.h"
#include "launch/core/daemon_tree.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/exec/descriptor.h"
#include "launch/daemon/join_daemon.h"
#include "launch/daemon/join_root.h"
#include "launch/start/boot_tell.h"
#include "launch/start/one_shot.h"
#include "launch/daemon/journal.h"
#include "launch/daemon/replay.h"
#include "launch/daemon/tracer.h"
#include "launch/rank/pmi_process.h"
#include "launch/exec/virtual_node.h"

/* A starter sends the record as soon as it has read the marker.  Without a limit a daemon whose starter
 * hangs would wait forever. */
#define BOOT_PATIENCE_MS 60000
/* The helper hears of the lease in the turn of a wave; only without waves the daemon wakes up for it. */
#define LEASE_RENEW_MS     900
#define LEASE_RENEW_MS_MAX 8000
/* Freed memory at the end of the heap is kept: output is forwarded in messages, and returning their
 * memory to the system each time takes a quarter of the time of forwarding. */
#define HEAP_KEEP_BYTES (4 * 1024 * 1024)

/* At most an eighth of a lease, which is a second at least (--patience); a helper that does not read is
 * looked at every second (daemon_watch_helper). */
static uint64_t lease_renew_ms_max(const struct daemon *daemon)
{
    uint64_t eighth_ms = daemon->record.instance.lease_ms / 8;

    if (daemon->helper_behind > 0)
        return 1000;
    if (eighth_ms < LEASE_RENEW_MS)
        return LEASE_RENEW_MS;
    return eighth_ms < LEASE_RENEW_MS_MAX ? eighth_ms : LEASE_RENEW_MS_MAX;
}

/* The helper kills our processes when our lease expires, even if this daemon is stopped.  Before the
 * first lease is granted, it gets a full lease from now. */
static void lease_renew(void *context)
{
    struct daemon *daemon = context;
    uint64_t now_ns = loop_now_ns();
    uint64_t left_ns = daemon->record.instance.lease_ms * NS_PER_MS;
    uint64_t end_ns =
        daemon->endpoint != NULL ? endpoint_lease_end_ns(daemon->endpoint) : UINT64_MAX;

    daemon_check(daemon);
    if (end_ns != UINT64_MAX && end_ns < now_ns + left_ns)
        left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    daemon_watch_helper(daemon);
    helper_lease(daemon->helper, (uint32_t)(left_ns / NS_PER_MS));
    loop_timer_set_between(daemon->lease_timer, now_ns + LEASE_RENEW_MS * NS_PER_MS,
                           now_ns + lease_renew_ms_max(daemon) * NS_PER_MS);
}

/* A place has at most ADDRESSES_MAX addresses.  If the machine has more, log it: the one that works may
 * be among the others. */
static int own_addresses(const char *net, struct addresses *ret_addresses, struct error *error)
{
    int left_out = address_local(net, ret_addresses, error);

    if (left_out > 0)
        log_info(
            "listening on the first %d addresses of this machine and not on %d others; use --net to choose",
            ret_addresses->count, left_out);
    return left_out < 0 ? left_out : 0;
}

static int listen_addresses(const struct daemon *daemon, struct addresses *ret_addresses,
                            struct error *error)
{
    const struct instance_spec *instance = &daemon->record.instance;
    char text[VIRTUAL_NODE_TEXT_BYTES];

    *ret_addresses = (struct addresses){0};
    if (instance->starter != STARTER_LOCAL && instance->starter != STARTER_VIRTUAL)
        return own_addresses(instance->net, ret_addresses, error);
    ret_addresses->count = 1;
    virtual_node_address(daemon->record.place ? daemon->record.name : NULL, text);
    return address_parse(text, &ret_addresses->items[0], error);
}

static int open_node(struct daemon *daemon, const struct endpoint_config *config,
                     struct error *error)
{
    const struct instance_spec *instance = &daemon->record.instance;

    assert(daemon->core != NULL && daemon->endpoint == NULL);
    if (instance->record != NULL && daemon->replay == NULL) { /* which ends with the first root */
        daemon->tracer = tracer_open(instance->record, instance->session, config, error);
        if (daemon->tracer == NULL)
            return error->code;
    }
    if (daemon->doctor != NULL)
        daemon->endpoint = endpoint_create(config, &doctor_node_events, daemon);
    else
        daemon->endpoint = endpoint_create(config, &daemon_tree_events, daemon->core);
    daemon_tree_attach(daemon->core, daemon->endpoint);
    if (daemon->tracer != NULL)
        endpoint_observe(daemon->endpoint, tracer_step, daemon->tracer);
    return 0;
}

/* If possible the whole instance uses one port: that of the root, which is the last ancestor. */
static uint16_t root_port(const struct boot_record *record)
{
    const struct endpoint_ancestor *root =
        record->ancestors_count > 0 ? &record->ancestors[record->ancestors_count - 1] : NULL;

    return root != NULL && root->addresses.count > 0 ? address_port(&root->addresses.items[0]) : 0;
}

/* The others seek it where the dead root listened. */
static int replay_tree(struct daemon *daemon, struct link_set_config *config, struct error *error)
{
    struct instance_spec *instance = &daemon->record.instance;
    char *log = instance->log;
    int rc;

    config->port_first = config->port_last = replay_port(daemon->replay);
    instance->log = NULL; /* it has been logged */
    rc = replay_run(daemon->replay, daemon->core, daemon->endpoint, daemon->record.names, error);
    instance->log = log;
    return rc;
}

static int open_tree(struct daemon *daemon, struct error *error)
{
    const struct boot_record *record = &daemon->record;
    struct endpoint_config endpoint_config = {
        .place = record->place,
        .places = record->instance.places,
        .radix = record->instance.radix,
        .trees = record->instance.trees,
        .incarnation = record->incarnation,
        .heartbeat_ns = record->instance.heartbeat_ms * NS_PER_MS,
        .lease_ns = record->instance.lease_ms * NS_PER_MS,
        .survive_ns = record->instance.survive_s * NS_PER_S,
        .ancestors = record->ancestors,
        .ancestors_count = record->ancestors_count,
        .merges = job_merges,
        .merges_count = JOB_MERGE_COUNT,
    };
    struct link_set_config link_config = {
        .loop = daemon->loop,
        .secret = record->instance.secret,
        .session = record->instance.session,
        .place = record->place,
        .incarnation = record->incarnation,
        .port_first = record->instance.port_first,
        .port_last = record->instance.port_last,
        .port_wished = root_port(record),
    };
    int rc = listen_addresses(daemon, &link_config.listen_on, error);

    if (daemon->root != NULL && record->instance.starter == STARTER_JOIN) {
        daemon->join_root = join_root_create(daemon);
        link_config.guests = &join_root_guests;
        link_config.guests_context = daemon->join_root;
    }
    if (rc < 0)
        return rc;
    rc = open_node(daemon, &endpoint_config, error);
    if (rc == 0 && daemon->replay != NULL)
        rc = replay_tree(daemon, &link_config, error);
    if (rc == 0)
        rc = daemon_open_links(daemon, &link_config, error);
    if (rc < 0 && daemon->replay != NULL)
        error_prefix(error, "cannot take the place of the dead root");
    if (rc == 0 && daemon->journal != NULL)
        return daemon_open_journal(daemon, error);
    if (rc < 0)
        return rc;
    link_set_addresses(daemon->links, &endpoint_config.own);
    endpoint_start(daemon->endpoint, &endpoint_config.own);
    return 0;
}

/* The directory of the virtual nodes is removed when the root ends; until then it is not a leftover. */
static void root_own_virtual_base(struct daemon *daemon)
{
    session_hold(daemon->record.instance.virtual_base);
    if (daemon->record.instance.survive_s == 0)
        helper_own_directory(daemon->helper, daemon->record.instance.virtual_base);
}

/* What belongs to the whole instance must outlive this process. */
static bool is_survived(const struct daemon *daemon)
{
    return daemon->root != NULL && daemon->record.instance.survive_s > 0;
}

static void open_pmi_node(struct daemon *daemon)
{
    struct pmi_node_config config = {
        .loop = daemon->loop,
        .session = &daemon->session,
        .session_id = daemon->record.instance.session,
        .node_name = daemon->record.name,
        .place = boot_record_listed_place(&daemon->record),
        .server_main = pmi_process_main,
    };

    daemon->pmi_node = pmi_node_create(&config);
    daemon->rank_jobs = rank_jobs_create(daemon->pmi_node);
}

static int open_parts(struct daemon *daemon, struct error *error)
{
    int rc;

    daemon->loop = loop_create(error);
    if (!daemon->loop)
        return error->code;
    rc = daemon_log_open(daemon, error);
    if (rc < 0)
        return rc;
    rc = helper_attach(daemon->helper, daemon->loop, &daemon_helper_events, daemon);
    if (rc < 0)
        return error_set(error, rc, "cannot communicate with the helper: %s", strerror(-rc));
    instance_spec_localize(&daemon->record.instance, daemon->record.name);
    rc = session_open(&daemon->session, &daemon->record.instance, daemon->record.place, error);
    if (rc < 0)
        return rc;
    daemon_open_core(daemon);
    daemon->lease_timer = loop_timer_create(daemon->loop, lease_renew, daemon);
    open_pmi_node(daemon);
    /* All requests together, so that the helper wakes up once. */
    if (daemon->root && daemon->record.instance.virtual_base)
        root_own_virtual_base(daemon);
    if (!is_survived(daemon))
        helper_own_directory(daemon->helper, daemon->session.directory);
    helper_own_directory(daemon->helper, daemon->session.shared_directory);
    session_share(&daemon->session);
    lease_renew(daemon);
    /* All daemons end with the root.  Children of other daemons outlive their parent. */
    if (!daemon->root || is_survived(daemon))
        helper_spare_daemons(daemon->helper);
    if (daemon->record.instance.is_doctor)
        doctor_daemon_open(daemon);
    daemon->starter =
        starter_create(daemon->loop, daemon->helper,
                       daemon->doctor ? &doctor_starter_events : &daemon_starter_events, daemon);
    rc = open_tree(daemon, error);
    if (rc == 0 && daemon->replay)
        daemon_recover(daemon);
    if (rc == 0 && daemon->root)
        rc = root_open(daemon, error);
    return rc;
}

/* Removes what our helper would have removed.  At the root that is everything of the session on this
 * machine: the daemons here have died with the helper, and nothing else cleans up after them. */
static void remove_left(struct daemon *daemon, int helper_died)
{
    const struct instance_spec *instance = &daemon->record.instance;

    if (daemon->replay != NULL && !daemon->has_recovered)
        return; /* another attempt may succeed */
    if (daemon->session.directory[0])
        session_remove(&daemon->session);
    if (daemon->record.place == 0 && instance->survive_s > 0 && instance->virtual_base != NULL)
        session_remove_tree(instance->virtual_base);
    if (helper_died && daemon->record.place == 0)
        (void)session_clean(instance->session, instance->own_tmpdir, NULL);
}

static void close_parts(struct daemon *daemon)
{
    int helper_died;

    if (daemon->loop)
        loop_defer_cancel(daemon->loop, daemon);
    ranges_fini(&daemon->newcomers);
    daemon_jobs_close(daemon);
    daemon_surveys_close(daemon);
    daemon_stacks_close(daemon);
    daemon_stage_close(daemon);
    doctor_daemon_close(daemon);
    log_set_sink(NULL, NULL, LOG_LEVEL_ERROR);
    if (daemon->root)
        root_close(daemon);
    starter_destroy(daemon->starter);
    join_root_destroy(daemon->join_root);
    daemon_close_links(daemon);
    endpoint_destroy(daemon->endpoint);
    tracer_close(daemon->tracer);
    daemon_forget_starter(daemon);
    daemon_close_core(daemon);
    if (daemon->lease_timer)
        loop_timer_destroy(daemon->lease_timer);
    rank_jobs_destroy(daemon->rank_jobs);
    pmi_node_destroy(daemon->pmi_node);
    helper_died = helper_close(daemon->helper) < 0;
    remove_left(daemon, helper_died);
    if (daemon->loop)
        loop_destroy(daemon->loop);
    daemon_log_close(daemon);
    boot_record_fini(&daemon->record);
}

/* The links and the children have the secret, so the record's copy is wiped.  Before that, the name of
 * the jobs' namespaces is derived from it.  Other users of this machine must not be able to guess that
 * name: a libpmix client presents it to the server when it connects. */
static void name_jobs(struct daemon *daemon)
{
    unsigned char *secret = daemon->record.instance.secret;
    unsigned char key[SECRET_BYTES];

    if (tls_derive_key(secret, SECRET_BYTES, "namespace", key) == 0)
        for (size_t i = 0; i < (sizeof daemon->jobs_name - 1) / 2; i++)
            snprintf(daemon->jobs_name + 2 * i, 3, "%02x", key[i]);
    explicit_bzero(key, sizeof key);
    explicit_bzero(secret, SECRET_BYTES);
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int daemon_run(struct daemon *daemon, struct error *error)
{
    int rc;

    assert(daemon->helper != NULL && daemon->loop == NULL);
    assert((daemon->record.place == 0) == (daemon->root != NULL));
    assert(error != NULL);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEEP_BYTES);
    mallopt(M_MMAP_THRESHOLD, HEAP_KEEP_BYTES);
    raise_descriptor_limit();
    (void)signal(SIGPIPE, SIG_IGN);
    list_init(&daemon->jobs);
    list_init(&daemon->surveys);
    list_init(&daemon->stacks);
    rc = open_parts(daemon, error);
    if (rc == 0 && daemon->is_joiner)
        join_daemon_watch_signals(daemon);
    else if (rc == 0)
        daemon_watch_signals(daemon);
    if (rc == 0) {
        daemon_watch_starter(daemon);
        rc = daemon->replay ? 0 : daemon_start_children(daemon, error);
    }
    if (rc == 0) {
        if (daemon->root && !daemon->doctor) /* a doctor reports leftovers and removes nothing */
            session_sweep(daemon->record.instance.own_tmpdir);
        name_jobs(daemon);
        rc = loop_run(daemon->loop);
        if (rc < 0)
            error_set(error, rc, "the event loop failed: %s", strerror(-rc));
    }
    close_parts(daemon);
    return rc;
}

static int read_all(int fd, void *data, size_t bytes, struct error *error)
{
    unsigned char *position = data;

    while (bytes > 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        ssize_t got;

        if (poll(&poll_fd, 1, BOOT_PATIENCE_MS) == 0)
            return error_set(error, -ETIMEDOUT, "the starter sent no boot record within %d s",
                             BOOT_PATIENCE_MS / 1000);
        got = read(fd, position, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(error, -EPIPE, "the starter exited before sending the boot record");
        position += got;
        bytes -= (size_t)got;
    }
    return 0;
}

static int decode_record(const void *data, size_t bytes, struct boot_record *record,
                         struct error *error)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (boot_record_decode(record, &reader) < 0)
        return error_set(error, -EBADMSG, "cannot decode the boot record");
    return 0;
}

/* word: where the record is, if not on stdin (launch/start/boot_carry.h). */
static int unpack_record(struct boot_record *record, const char *word, struct error *error)
{
    struct buffer data = {0};
    int rc = boot_carry_unpack(word, &data, error);

    if (rc == 0)
        rc = decode_record(data.data, data.length_bytes, record, error);
    if (data.length_bytes > 0)
        explicit_bzero(data.data, data.length_bytes);
    buffer_fini(&data);
    return rc;
}

static int read_record(struct boot_record *record, struct error *error)
{
    unsigned char header[4];
    struct wire_reader reader;
    unsigned char *data;
    size_t bytes;
    int rc = read_all(STDIN_FILENO, header, sizeof header, error);

    if (rc < 0)
        return rc;
    wire_reader_init(&reader, header, sizeof header);
    bytes = wire_get_u32(&reader);
    if (bytes > BOOT_RECORD_BYTES_MAX)
        return error_set(error, -EBADMSG, "the boot record is too long: %zu bytes", bytes);
    data = memory_allocate(bytes + 1);
    rc = read_all(STDIN_FILENO, data, bytes, error);
    if (rc == 0)
        rc = decode_record(data, bytes, record, error);
    explicit_bzero(data, bytes);
    free(data);
    return rc;
}

static void print_line(const char *marker, const char *text)
{
    if (boot_tell(marker, text) < 0)
        _exit(EXIT_FAILURE); /* the starter has exited */
}

static int take_place(struct boot_record *record, const struct one_shot *one_shot,
                      struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    if (one_shot->node_name(name, error) == NULL)
        return -EINVAL;
    return one_shot_take_place(record, name, error);
}

/* A one-shot starter gives all daemons the root's record, which must not be used as it is. */
static int require_place(const struct boot_record *record, struct error *error)
{
    if (record->place == 0)
        return error_set(error, -EBADMSG,
                         "the boot record names no node: it is for daemons that are started with "
                         "--started-by");
    return 0;
}

static void print_error(const struct one_shot *one_shot, const char *text)
{
    char buffer[HOST_NAME_BYTES_MAX + 1];
    const char *name = one_shot != NULL ? one_shot->node_name(buffer, NULL) : NULL;
    char line[ERROR_TEXT_BYTES + HOST_NAME_BYTES_MAX + 3];

    snprintf(line, sizeof(line), "%c%s %s", ONE_SHOT_NAME_MARK, name != NULL ? name : "", text);
    print_line(BOOT_ERROR_MARKER, name != NULL ? line : text);
}

/* one_shot: the starter that started all daemons with one call, or NULL.  word: as for unpack_record;
 * NULL: the record is on stdin. */
static int daemon_live(const struct one_shot *one_shot, const char *word)
{
    struct daemon daemon = {0};
    struct error error = ERROR_NONE;
    char version[16];
    int rc = 0;

    boot_record_init(&daemon.record);
    rc = descriptor_require(&error);
    if (rc == 0)
        daemon.helper = helper_fork(&error);
    if (!daemon.helper)
        rc = error.code;
    if (rc == 0) {
        snprintf(version, sizeof version, "%d", BOOT_PROTOCOL_VERSION);
        print_line(BOOT_MARKER, version);
        rc = word != NULL ? unpack_record(&daemon.record, word, &error)
                          : read_record(&daemon.record, &error);
    }
    if (rc == 0 && one_shot != NULL)
        rc = take_place(&daemon.record, one_shot, &error);
    if (rc == -ENOENT && one_shot != NULL && one_shot->is_everywhere) {
        print_line(BOOT_WAITING_MARKER, error.text); /* shown if a place finds no daemon in time */
        helper_close(daemon.helper);
        boot_record_fini(&daemon.record);
        return EXIT_SUCCESS;
    }
    if (rc == 0)
        rc = require_place(&daemon.record, &error);
    if (rc == 0)
        rc = daemon_run(&daemon, &error);
    else if (daemon.helper)
        helper_close(daemon.helper);
    boot_record_fini(&daemon.record);
    if (rc < 0) {
        print_error(one_shot, error.text);
        return EXIT_FAILURE;
    }
    return daemon.exit_status;
}

int daemon_main(const char *virtual_node)
{
    (void)virtual_node;
    return daemon_live(NULL, NULL);
}

int daemon_main_with(const struct one_shot *one_shot, const char *boot_word)
{
    return daemon_live(one_shot, boot_word);
}

int daemon_main_join(const struct join_request *request)
{
    struct daemon daemon = {.is_joiner = 1};
    struct error error = ERROR_NONE;
    int rc = 0;

    boot_record_init(&daemon.record);
    rc = descriptor_require(&error);
    if (rc == 0)
        daemon.helper = helper_fork(&error);
    if (!daemon.helper)
        rc = error.code;
    if (rc == 0)
        rc = join_daemon_fetch(request, &daemon.record, &error);
    if (rc == 0) {
        rc = daemon_run(&daemon, &error);
    } else {
        boot_record_fini(&daemon.record);
        if (daemon.helper)
            helper_close(daemon.helper);
    }
    if (rc < 0) {
        fprintf(stderr, "banyand: %s\n", error.text);
        return EXIT_STATUS_FAILED;
    }
    return daemon.exit_status;
}
