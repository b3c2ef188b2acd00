/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that watch over one of them: pmix_monitor heartbeat, or pmix_monitor file FILE.  Rank 0 asks for it, and beats, or
 * writes to the file, for BUSY_MS, then no more, which it says, and also if it could not do so in time.  The others print
 * "rank R is alerted of RANK" when they are alerted.  All wait for each other in the end.
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS  4500
#define BEAT_MS  100
#define CHECK_S  2
#define ALERTS_S 60

static pmix_proc_t self;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int alerts;

static void on_alert(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t callback, void *context)
{
    printf("rank %u is alerted of %u\n", self.rank, source->rank);
    fflush(stdout);
    pthread_mutex_lock(&mutex);
    alerts++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    callback(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void wait_alert(void)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += ALERTS_S;
    pthread_mutex_lock(&mutex);
    while (alerts == 0 && pthread_cond_timedwait(&changed, &mutex, &end) == 0)
        ;
    if (alerts == 0)
        printf("rank %u is not alerted\n", self.rank);
    pthread_mutex_unlock(&mutex);
}

/* For rank 0 itself; a pointer to nothing is how a heartbeat is asked for. */
static pmix_status_t monitor(const char *file)
{
    const char *every = file == NULL ? PMIX_MONITOR_HEARTBEAT_TIME : PMIX_MONITOR_FILE_CHECK_TIME;
    const char *missed = file == NULL ? PMIX_MONITOR_HEARTBEAT_DROPS : PMIX_MONITOR_FILE_DROPS;
    pmix_status_t alert = file == NULL ? PMIX_MONITOR_HEARTBEAT_ALERT : PMIX_MONITOR_FILE_ALERT;
    uint32_t check_s = CHECK_S, drops = 1;
    pmix_info_t what, directives[3], *results = NULL;
    size_t results_count = 0;
    bool yes = true;

    PMIX_INFO_CONSTRUCT(&what);
    if (file == NULL) {
        PMIX_LOAD_KEY(what.key, PMIX_MONITOR_HEARTBEAT);
        what.value.type = PMIX_POINTER;
    } else {
        PMIX_INFO_LOAD(&what, PMIX_MONITOR_FILE, file, PMIX_STRING);
    }
    PMIX_INFO_LOAD(&directives[0], every, &check_s, PMIX_UINT32);
    PMIX_INFO_LOAD(&directives[1], missed, &drops, PMIX_UINT32);
    PMIX_INFO_LOAD(&directives[2], PMIX_MONITOR_FILE_SIZE, &yes, PMIX_BOOL);
    return PMIx_Process_monitor(&what, alert, directives, file == NULL ? 2 : 3, &results,
                                &results_count);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void work(const char *file)
{
    pmix_status_t status = monitor(file);
    double last_s = now_s(), longest_s = 0;

    if (status != PMIX_SUCCESS)
        printf("monitor: %s\n", status_name(status));
    for (int i = 0; i < BUSY_MS / BEAT_MS; i++) {
        FILE *out = file != NULL ? fopen(file, "a") : NULL;

        if (file == NULL)
            PMIx_Heartbeat();
        if (out != NULL) {
            fputc('.', out);
            fclose(out);
        }
        usleep(BEAT_MS * 1000);
        longest_s = now_s() - last_s > longest_s ? now_s() - last_s : longest_s;
        last_s = now_s();
    }
    printf("rank 0 rests%s\n", longest_s > 0.5 * CHECK_S ? ", and was held up" : "");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_status_t alert = argc > 2 ? PMIX_MONITOR_FILE_ALERT : PMIX_MONITOR_HEARTBEAT_ALERT;

    if (argc < 2 || PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    PMIx_Register_event_handler(&alert, 1, NULL, 0, on_alert, NULL, NULL);
    (void)PMIx_Fence(NULL, 0, NULL, 0);
    if (self.rank == 0)
        work(argc > 2 ? argv[2] : NULL);
    else
        wait_alert();
    usleep(500 * 1000); /* for a second one */
    (void)PMIx_Fence(NULL, 0, NULL, 0);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
