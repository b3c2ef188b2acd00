/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scheduler that follows a fabric by libbanyan-fabric: fabric_follow FILE.  It prints "NICS: NAME..." and the cost
 * from the first to the last when it has registered and after each UPDATED, "PENDING" before, and what the library
 * reports; it ends at the end of its input.
 */
#include "config.h"

#include "fabric/banyan/fabric.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define INTERVAL_MS 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the output */

static void print(const struct banyan_fabric *fabric)
{
    struct banyan_fabric_vertex vertex;
    uint32_t count = fabric->nverts;

    printf("%u:", count);
    for (uint32_t i = 0; i < count; i++) {
        char *node = NULL;

        if (banyan_fabric_get_vertex_info(fabric, i, &vertex, &node) == 0)
            printf(" %s", vertex.nic);
        free(node);
    }
    printf(" %d\n", count > 0 ? (int)fabric->commcost[0][count - 1] : -1);
}

static void on_event(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    (void)user;
    pthread_mutex_lock(&lock);
    if (event == BANYAN_FABRIC_UPDATE_PENDING)
        printf("PENDING\n");
    else
        print(fabric);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

static void on_report(void *user, const char *line)
{
    (void)user;
    pthread_mutex_lock(&lock);
    printf("report: %s\n", line);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    struct banyan_fabric_settings settings = {.topology = argv[argc - 1],
                                              .role = BANYAN_FABRIC_ROLE_SCHEDULER,
                                              .mode = BANYAN_FABRIC_MODE_THREAD,
                                              .interval_ms = INTERVAL_MS,
                                              .report = on_report};
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct banyan_fabric_source *source;
    struct banyan_fabric_error error;

    if (argc != 2 || banyan_fabric_open(&settings, &source, &error) < 0 ||
        banyan_fabric_register(source, &fabric, NULL, &error) < 0) {
        fprintf(stderr, "%s\n", argc == 2 ? error.text : "usage: fabric_follow FILE");
        return 1;
    }
    pthread_mutex_lock(&lock);
    print(&fabric);
    fflush(stdout);
    (void)banyan_fabric_add_handler(&fabric, on_event, NULL);
    pthread_mutex_unlock(&lock);
    while (getchar() != EOF)
        continue;
    if (banyan_fabric_deregister(&fabric, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return banyan_fabric_close(source) == 0 ? 0 : 1;
}
