/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of PMI-2 with Slurm's library (libpmi2), for test/system/run_pmi2.sh.  Each rank prints what is
 * wrong, or "rank R of N is content".
 *
 *     pmi2_client exchange NODES   values, attributes, fences, limits, names
 *     pmi2_client abort RANK       that rank aborts with status 17, the others wait in a fence
 *     pmi2_client spawn CHILDREN   spawns that many of itself, which find a value and their arguments
 *     pmi2_client late RANK        that rank ends without finalize, the others wait in a fence
 */
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3

static int rank, size, wrong;

static void check(int is_right, const char *what)
{
    if (is_right)
        return;
    printf("rank %d: wrong: %s\n", rank, what);
    wrong = 1;
}

static void text_fill(char *text, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        text[i] = (char)('a' + (i + (size_t)seed) % 26);
    text[length] = '\0';
}

/* All ranks put, fence, and get the values of all; with every sign that the wire gives a meaning. */
static void exchange(const char *job)
{
    char key[PMI2_MAX_KEYLEN], value[PMI2_MAX_VALLEN], expected[PMI2_MAX_VALLEN];
    int length = 0;

    for (int round = 0; round < ROUNDS; round++) {
        snprintf(key, sizeof(key), "key-%d-%d", round, rank);
        snprintf(value, sizeof(value), "a;b=;;c d\\%d;", round * 1000 + rank);
        check(PMI2_KVS_Put(key, value) == PMI2_SUCCESS, "put");
        check(PMI2_KVS_Fence() == PMI2_SUCCESS, "fence");
        for (int i = 0; i < size; i++) {
            snprintf(key, sizeof(key), "key-%d-%d", round, i);
            snprintf(expected, sizeof(expected), "a;b=;;c d\\%d;", round * 1000 + i);
            check(PMI2_KVS_Get(job, i, key, value, sizeof(value), &length) == PMI2_SUCCESS &&
                      strcmp(value, expected) == 0 && length == (int)strlen(expected),
                  "get of another rank's value");
        }
    }
    check(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "nobody-has-put-this", value, sizeof(value), &length) !=
              PMI2_SUCCESS,
          "get of nothing");
}

/* The last rank publishes a name, which is found until it removes it. */
static void names(void)
{
    char port[PMI2_MAX_VALLEN] = "";

    if (rank == size - 1)
        check(PMI2_Nameserv_publish("ocean", NULL, "a;b=c d") == PMI2_SUCCESS, "publish");
    check(PMI2_KVS_Fence() == PMI2_SUCCESS, "fence");
    check(PMI2_Nameserv_lookup("ocean", NULL, port, sizeof(port)) == PMI2_SUCCESS &&
              strcmp(port, "a;b=c d") == 0,
          "lookup");
    check(PMI2_Nameserv_lookup("desert", NULL, port, sizeof(port)) != PMI2_SUCCESS,
          "lookup of nothing");
    check(rank == 0 || PMI2_Nameserv_publish("ocean", NULL, "x") != PMI2_SUCCESS, "publish again");
    check(PMI2_KVS_Fence() == PMI2_SUCCESS, "fence");
    if (rank == size - 1)
        check(PMI2_Nameserv_unpublish("ocean", NULL) == PMI2_SUCCESS, "unpublish");
    check(PMI2_KVS_Fence() == PMI2_SUCCESS, "fence");
    check(PMI2_Nameserv_lookup("ocean", NULL, port, sizeof(port)) != PMI2_SUCCESS,
          "lookup of a name that has been removed");
}

static void limits(void)
{
    char key[PMI2_MAX_KEYLEN + 2], value[PMI2_MAX_VALLEN + 2], got[PMI2_MAX_VALLEN];
    int length;

    text_fill(key, 63, rank);
    text_fill(value, 1023, rank);
    check(PMI2_KVS_Put(key, value) == PMI2_SUCCESS, "the longest key and value");
    check(PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, got, sizeof(got), &length) == PMI2_SUCCESS &&
              strcmp(value, got) == 0,
          "come back");
    text_fill(key, 64, rank);
    check(PMI2_KVS_Put(key, "x") != PMI2_SUCCESS, "a longer key is refused");
    text_fill(value, 1024, rank);
    check(PMI2_KVS_Put("short", value) != PMI2_SUCCESS, "a longer value is refused");
}

static void attributes(int nodes)
{
    int found = 0, length = 0, ranks[1024], count = 0;
    char value[PMI2_MAX_VALLEN], expected[64];

    check(PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof(value), &found) ==
                  PMI2_SUCCESS &&
              found && strncmp(value, "(vector,(", 9) == 0,
          "the process mapping");
    check(PMI2_Info_GetJobAttrIntArray("universeSize", &count, 1, &length, &found) ==
                  PMI2_SUCCESS &&
              found && length == 1 && count >= nodes,
          "universeSize");
    check(PMI2_Info_GetJobAttr("nothing", value, sizeof(value), &found) == PMI2_SUCCESS && !found,
          "an attribute that the job does not have");
    check(PMI2_Info_GetNodeAttrIntArray("localRanks", ranks, 1024, &count, &found) ==
                  PMI2_SUCCESS &&
              found && count > 0,
          "localRanks");
    if (!found || count <= 0)
        return;
    /* The first rank of a node says something; the others wait for it. */
    snprintf(expected, sizeof(expected), "segment;%d", ranks[0]);
    if (rank == ranks[0]) {
        usleep(100000);
        check(PMI2_Info_PutNodeAttr("segment", expected) == PMI2_SUCCESS, "put of an attribute");
    }
    check(PMI2_Info_GetNodeAttr("segment", value, sizeof(value), &found, 1) == PMI2_SUCCESS &&
              found && strcmp(value, expected) == 0,
          "an attribute of this node");
}

/* The first rank spawns two programs, as which this one says what it has been given. */
static void spawn(const char *program, int children)
{
    struct MPID_Info preput = {.key = "greeting", .value = "hello; you"};
    struct MPID_Info infos[] = {{.key = "wdir", .value = "/"}};
    const char *commands[] = {program, program};
    const char *arguments[] = {"child", "two words;"};
    const char **vectors[] = {arguments, arguments};
    const struct MPID_Info *preputs[] = {&preput}, *info_vectors[] = {infos, infos};
    int counts[] = {2, 2}, processes[] = {children, 1}, info_counts[] = {1, 0}, errors[64];
    char job[256] = "";

    check(PMI2_Job_Spawn(2, commands, counts, vectors, processes, info_counts, info_vectors, 1,
                         preputs, job, sizeof(job), errors) == PMI2_SUCCESS &&
              job[0] != '\0',
          "spawn");
    commands[0] = "/no/such/program";
    check(PMI2_Job_Spawn(1, commands, counts, vectors, processes, info_counts, info_vectors, 0,
                         NULL, job, sizeof(job), errors) != PMI2_SUCCESS,
          "spawn of what is not there");
}

static int child(const char *argument)
{
    char value[PMI2_MAX_VALLEN] = "", directory[256] = "";
    int spawned, appnum, length;

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS)
        return 2;
    check(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "greeting", value, sizeof(value), &length) ==
              PMI2_SUCCESS,
          "the value it is spawned with");
    check(PMI2_KVS_Fence() == PMI2_SUCCESS, "a fence of the children");
    if (getcwd(directory, sizeof(directory)) == NULL)
        return 3;
    printf("child %d of %d: spawned %d, program %d in %s: '%s' '%s'\n", rank, size, spawned, appnum,
           appnum == 0 ? directory : "-", argument, value);
    return PMI2_Finalize() == PMI2_SUCCESS ? wrong : 4;
}

static int run(const char *program, const char *what, int number)
{
    int spawned, appnum, other;
    char job[256];

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS)
        return 2;
    check(PMI2_Initialized() && !spawned && appnum == 0, "init");
    check(PMI2_Job_GetRank(&other) == PMI2_SUCCESS && other == rank, "the rank");
    check(PMI2_Job_GetId(job, sizeof(job)) == PMI2_SUCCESS && job[0] != '\0', "the job's name");
    if (strcmp(what, "abort") == 0 && rank == number)
        PMI2_Abort(17, "enough");
    if (strcmp(what, "late") == 0 && rank == number)
        _exit(0);
    if (strcmp(what, "spawn") == 0 && rank == 0)
        spawn(program, number);
    if (strcmp(what, "exchange") != 0) {
        (void)PMI2_KVS_Fence();
    } else {
        limits();
        attributes(number);
        exchange(job);
        names();
    }
    return PMI2_Finalize() == PMI2_SUCCESS ? wrong : 4;
}

int main(int argc, char **argv)
{
    int status;

    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "child") == 0)
        return child(argv[2]);
    status = run(argv[0], argv[1], atoi(argv[2]));
    if (status == 0)
        printf("rank %d of %d is content\n", rank, size);
    return status;
}
