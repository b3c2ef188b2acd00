/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/doctor/doctor_examine.h"

#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fabric/address.h"
#include "fabric/file_read.h"
#include "fabric/topology_read.h"
#include "launch/proto/boot.h"
#include "launch/doctor/doctor_internal.h"
#include "launch/exec/session.h"

#define REQUEST_BYTES_MAX (80u * 1024 * 1024)
#define MIB               (1024ull * 1024)
/* What a job of a few ranks needs: libpmix's files take 8 to 41 MB, an MPI segment some more. */
#define SPACE_MIB_MIN  64u
#define FREE_FILES_MIN 1024u
/* A daemon has 3 descriptors per rank and one per child; libpmix and the rest need some dozens. */
#define FILES_OF_RANK 4u
#define FILES_MIN     256u

/* ---- Telling ---- */

static void send_message(enum doctor_message kind, const struct buffer *body)
{
    struct buffer out = {0};
    size_t sent = 0;

    assert(body->length_bytes < UINT32_MAX);
    wire_put_u32(&out, (uint32_t)(body->length_bytes + 1));
    wire_put_u8(&out, (uint8_t)kind);
    buffer_append(&out, body->data, body->length_bytes);
    while (sent < out.length_bytes) {
        ssize_t bytes = write(STDOUT_FILENO, out.data + sent, out.length_bytes - sent);
        if (bytes < 0)
            _exit(EXIT_FAILURE); /* the daemon has exited */
        sent += (size_t)bytes;
    }
    buffer_fini(&out);
}

void doctor_tell(enum doctor_topic topic, enum doctor_level level, const char *remedy,
                 const char *format, ...)
{
    char text[DOCTOR_TEXT_BYTES_MAX];
    struct buffer body = {0};
    va_list arguments;

    assert(topic < DOCTOR_TOPIC_COUNT && level < DOCTOR_LEVEL_COUNT);
    assert(format != NULL);
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    doctor_report_line_encode(topic, level, text, remedy != NULL ? remedy : "", &body);
    send_message(DOCTOR_MESSAGE_FINDING, &body);
    buffer_fini(&body);
}

static void begin_check(enum doctor_topic topic)
{
    struct buffer body = {0};

    assert(topic < DOCTOR_TOPIC_COUNT);
    wire_put_u8(&body, (uint8_t)topic);
    send_message(DOCTOR_MESSAGE_BEGINS, &body);
    buffer_fini(&body);
}

/* ---- Names ---- */

static int is_own_address(const struct ifaddrs *list, const struct address *address)
{
    for (; list != NULL; list = list->ifa_next) {
        struct address own;
        if (list->ifa_addr != NULL && address_from_system(list->ifa_addr, &own) == 0 &&
            address_equal(&own, address))
            return 1;
    }
    return address_is_loopback(address);
}

enum name_leads { LEADS_HERE, LEADS_ELSEWHERE, LEADS_NOWHERE };

/* Whose address this node's resolver returns for a name; ret_where: one that is not ours. */
static enum name_leads name_leads(const char *name, char ret_where[ADDRESS_TEXT_BYTES])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    enum name_leads result = LEADS_NOWHERE;
    struct addrinfo *found = NULL;
    struct ifaddrs *list = NULL;

    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return LEADS_NOWHERE;
    (void)getifaddrs(&list);
    for (struct addrinfo *item = found; item != NULL && result != LEADS_HERE;
         item = item->ai_next) {
        struct address address;
        if (address_from_system(item->ai_addr, &address) < 0)
            continue;
        address_print(&address, ret_where);
        result = is_own_address(list, &address) ? LEADS_HERE : LEADS_ELSEWHERE;
    }
    if (list != NULL)
        freeifaddrs(list);
    freeaddrinfo(found);
    return result;
}

static int is_same_name(const char *a, const char *b)
{
    size_t a_bytes = strcspn(a, "."), b_bytes = strcspn(b, ".");

    return a_bytes == b_bytes && strncasecmp(a, b, a_bytes) == 0;
}

static void check_name(const struct doctor_request *request)
{
    char own[HOST_NAME_BYTES_MAX + 1] = "";
    char where[ADDRESS_TEXT_BYTES] = "";
    struct address literal;
    enum name_leads leads;

    (void)gethostname(own, sizeof(own) - 1);
    if (address_parse_ip(request->name, &literal) == 0) {
        doctor_tell(DOCTOR_NAME, DOCTOR_FACT, NULL, "is given by address; its host name is %s",
                    own);
        return;
    }
    if (request->is_virtual) {
        doctor_tell(DOCTOR_NAME, DOCTOR_FACT, NULL, "is a virtual node of this machine");
        return;
    }
    leads = name_leads(request->name, where);
    if (leads == LEADS_ELSEWHERE)
        doctor_tell(
            DOCTOR_NAME, DOCTOR_PROBLEM,
            "fix /etc/hosts or the name service there, or give the node by address",
            "host name %s; there the allocation's name for it resolves to %s, which is another machine",
            is_same_name(own, request->name) ? "so" : own, where);
    else if (is_same_name(own, request->name))
        doctor_tell(DOCTOR_NAME, DOCTOR_FACT, NULL, "host name matches the allocation");
    else if (leads == LEADS_HERE)
        doctor_tell(DOCTOR_NAME, DOCTOR_FACT, NULL,
                    "host name %s; the allocation's name is an alias of it", own);
    else
        doctor_tell(
            DOCTOR_NAME, DOCTOR_NOTE,
            "if it is another machine: fix how the starter resolves the name (~/.ssh/config, /etc/hosts)",
            "host name %s; it cannot resolve the allocation's name for it", own);
}

/* ---- Limits and space ---- */

static void check_files(long cores)
{
    struct rlimit limit = {0};
    rlim_t wanted = FILES_MIN + FILES_OF_RANK * (rlim_t)cores;

    assert(cores > 0);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < wanted)
        doctor_tell(DOCTOR_LIMITS, DOCTOR_PROBLEM,
                    "raise it in /etc/security/limits.conf (nofile), or in the unit of the daemon "
                    "that starts banyand there",
                    "open files: at most %llu; a rank on each of %ld processors needs %llu",
                    (unsigned long long)limit.rlim_max, cores, (unsigned long long)wanted);
    else
        doctor_tell(DOCTOR_LIMITS, DOCTOR_FACT, NULL, "open files: enough (%llu)",
                    (unsigned long long)limit.rlim_max);
}

/* The limit of this process's cgroup, or RLIM_INFINITY. */
static rlim_t cgroup_processes(void)
{
    char line[1024], path[1200];
    unsigned long long number = 0;
    rlim_t result = RLIM_INFINITY;
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        FILE *maximum;
        if (strncmp(line, "0::", 3) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof(path), "/sys/fs/cgroup%s/pids.max", line + 3);
        maximum = fopen(path, "re");
        if (maximum != NULL && fscanf(maximum, "%llu", &number) == 1)
            result = (rlim_t)number;
        if (maximum != NULL)
            fclose(maximum);
    }
    if (file != NULL)
        fclose(file);
    return result;
}

static void check_processes(long cores)
{
    struct rlimit limit = {0};
    rlim_t wanted = 64 + 8 * (rlim_t)cores; /* a rank may have several threads */
    rlim_t most;

    assert(cores > 0);
    (void)getrlimit(RLIMIT_NPROC, &limit);
    most = cgroup_processes() < limit.rlim_cur ? cgroup_processes() : limit.rlim_cur;
    if (most == RLIM_INFINITY)
        doctor_tell(DOCTOR_LIMITS, DOCTOR_FACT, NULL, "processes: no limit");
    else if (most < wanted)
        doctor_tell(DOCTOR_LIMITS, DOCTOR_PROBLEM,
                    "raise it in /etc/security/limits.conf (nproc) or in the cgroup (pids.max)",
                    "processes and threads: at most %llu; a rank on each of %ld processors needs "
                    "%llu",
                    (unsigned long long)most, cores, (unsigned long long)wanted);
    else
        doctor_tell(DOCTOR_LIMITS, DOCTOR_FACT, NULL, "processes: enough");
}

static void check_limits(const struct doctor_request *request)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    (void)request;
    check_files(cores > 0 ? cores : 1);
    check_processes(cores > 0 ? cores : 1);
    doctor_check_autogroup();
}

/* name is the purpose of the directory: each virtual node has a different path for TMPDIR, and equal
 * findings are merged. */
static void check_directory(const char *name, const char *path, const char *remedy)
{
    struct statvfs file_system;
    unsigned long long free_mib;

    if (statvfs(path, &file_system) < 0 || access(path, W_OK | X_OK) < 0) {
        doctor_tell(DOCTOR_SPACE, DOCTOR_PROBLEM, remedy, "%s %s: %s", name, path, strerror(errno));
        return;
    }
    free_mib = (unsigned long long)file_system.f_bavail * file_system.f_frsize / MIB;
    if (free_mib < SPACE_MIB_MIN)
        doctor_tell(DOCTOR_SPACE, DOCTOR_PROBLEM, remedy, "%s %s: %llu MiB are free, less than %u",
                    name, path, free_mib, SPACE_MIB_MIN);
    else if (file_system.f_files > 0 && file_system.f_favail < FREE_FILES_MIN)
        doctor_tell(DOCTOR_SPACE, DOCTOR_PROBLEM, remedy,
                    "%s %s: only %llu more files can be created", name, path,
                    (unsigned long long)file_system.f_favail);
    else
        doctor_tell(DOCTOR_SPACE, DOCTOR_FACT, NULL, "%s: %u MiB or more are free", name,
                    SPACE_MIB_MIN);
}

static void check_space(const struct doctor_request *request)
{
    check_directory("TMPDIR", session_base(request->tmpdir),
                    "free some space there, or set --tmpdir or TMPDIR to another directory");
    check_directory("shared memory", "/dev/shm", "remove what old jobs left there, or enlarge it");
}

/* ---- The rest ---- */

static void check_banyan(const struct doctor_request *request)
{
    if (strcmp(request->version, PACKAGE_VERSION) != 0)
        doctor_tell(DOCTOR_BANYAN, DOCTOR_PROBLEM,
                    "install the same version on every node, or select it with --banyand",
                    "banyand %s (protocol %d), but the root is banyan %s", PACKAGE_VERSION,
                    BOOT_PROTOCOL_VERSION, request->version);
    else
        doctor_tell(DOCTOR_BANYAN, DOCTOR_FACT, NULL, "banyand %s (protocol %d)", PACKAGE_VERSION,
                    BOOT_PROTOCOL_VERSION);
}

static void check_topology(const struct doctor_request *request)
{
    struct topology topology = {0};
    struct ranges allowed = {0};
    struct error error = ERROR_NONE;

    (void)request;
    if (topology_read(0, &topology, &allowed, &error) < 0) {
        doctor_tell(DOCTOR_TOPOLOGY, DOCTOR_PROBLEM, "map without binding", "%s", error.text);
        return;
    }
    doctor_tell(DOCTOR_TOPOLOGY, DOCTOR_FACT, NULL,
                "class %08x: %u packages, %u NUMA nodes, %u cores, %u threads (%llu allowed)",
                (unsigned int)topology_hash(&topology), topology.counts[TOPOLOGY_PACKAGE],
                topology.counts[TOPOLOGY_NUMA], topology.counts[TOPOLOGY_CORE], topology.threads,
                (unsigned long long)ranges_count(&allowed));
    ranges_fini(&allowed);
    topology_fini(&topology);
}

static int read_request(struct doctor_request *ret_request)
{
    struct buffer text = {0};
    struct wire_reader reader;
    int rc;

    (void)file_read_fd(STDIN_FILENO, REQUEST_BYTES_MAX, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    rc = doctor_request_decode(ret_request, &reader);
    buffer_fini(&text);
    return rc;
}

int doctor_examine(void)
{
    static const struct {
        enum doctor_topic topic;
        void (*check)(const struct doctor_request *request);
        int is_of_nodes; /* skipped at the root, where no rank runs */
    } checks[] = {
        {DOCTOR_BANYAN, check_banyan, 0},
        {DOCTOR_LIMITS, check_limits, 0},
        {DOCTOR_NETWORK, doctor_check_network, 0},
        {DOCTOR_TREE, doctor_check_tree, 0},
        {DOCTOR_PMIX, doctor_check_pmix, 1},
        {DOCTOR_TOPOLOGY, check_topology, 1},
        {DOCTOR_MPI, doctor_check_mpi, 1},
        {DOCTOR_PROGRAM, doctor_check_program, 1},
        {DOCTOR_SPACE, check_space, 0},
        {DOCTOR_LEFTOVERS, doctor_check_leftovers, 0},
        {DOCTOR_NAME, check_name, 1}, /* last, because it is the most likely to hang */
    };
    struct doctor_request request;

    if (read_request(&request) < 0) {
        fprintf(stderr, "banyand: --examine is for internal use: no request on standard input\n");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (checks[i].is_of_nodes && request.place == 0)
            continue;
        begin_check(checks[i].topic);
        checks[i].check(&request);
    }
    doctor_request_fini(&request);
    return EXIT_SUCCESS;
}
