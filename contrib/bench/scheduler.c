/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheduler [TOPOLOGY [TOPOLOGY]]: what libbanyan-fabric costs: time and memory to read the first fabric,
 * a fat tree of 100,000 NICs unless it is given, and the time of one cost in it; time to register the
 * second one, of 10,000, with its square matrix.  `make bench-scheduler` runs it.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/random.h"
#include "contrib/bench/measure.h"
#include "fabric/banyan/fabric.h"

#define COSTS  5000000u
#define PAIRS  (1u << 16)
#define ROUNDS 5u

static struct banyan_fabric_error why;

static int failed(void)
{
    fprintf(stderr, "scheduler: %s\n", why.text);
    return 1;
}

static uint64_t peak_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss;
}

static int open_fabric(const char *topology, enum banyan_fabric_matrix matrix,
                       struct banyan_fabric_source **ret_source, struct banyan_fabric *fabric)
{
    struct banyan_fabric_settings settings = {.topology = topology,
                                              .role = BANYAN_FABRIC_ROLE_SCHEDULER,
                                              .mode = BANYAN_FABRIC_MODE_POLLED};
    struct banyan_fabric_directives directives = {.matrix = matrix};
    int rc = banyan_fabric_open(&settings, ret_source, &why);

    return rc < 0 ? rc : banyan_fabric_register(*ret_source, fabric, &directives, &why);
}

static void close_fabric(struct banyan_fabric_source *source, struct banyan_fabric *fabric)
{
    (void)banyan_fabric_deregister(fabric, NULL);
    (void)banyan_fabric_close(source);
}

/* Of random pairs, which are drawn before. */
static double cost_ns(const struct banyan_fabric *fabric)
{
    static uint32_t pairs[PAIRS][2];
    static volatile uint64_t sum;
    struct random_state random;
    uint64_t begin;

    random_init(&random, 14);
    for (uint32_t i = 0; i < PAIRS; i++) {
        pairs[i][0] = (uint32_t)random_below(&random, fabric->nverts);
        pairs[i][1] = (uint32_t)random_below(&random, fabric->nverts);
    }
    begin = now_ns();
    for (uint32_t i = 0; i < COSTS; i++)
        sum += (uint64_t)banyan_fabric_get_cost(fabric, pairs[i % PAIRS][0], pairs[i % PAIRS][1]);
    return (double)(now_ns() - begin) / COSTS;
}

static int measure_model(const char *topology)
{
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct banyan_fabric_source *source;
    uint64_t before_kib = peak_kib(), begin = now_ns(), end;

    if (open_fabric(topology, BANYAN_FABRIC_MATRIX_NONE, &source, &fabric) < 0)
        return failed();
    end = now_ns();
    printf("%u vertices: %.3f s (2 s), %.1f MiB (64 MiB)", fabric.nverts,
           (double)(end - begin) / 1e9, (double)(peak_kib() - before_kib) / 1024);
    printf(", cost(i, j) %.1f ns (200 ns)\n", cost_ns(&fabric));
    close_fabric(source, &fabric);
    return 0;
}

static int measure_matrix(const char *topology)
{
    uint64_t best_ns = UINT64_MAX;
    uint32_t vertices = 0;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
        struct banyan_fabric_source *source;
        uint64_t begin = now_ns(), took_ns;

        if (open_fabric(topology, BANYAN_FABRIC_MATRIX_REQUIRED, &source, &fabric) < 0)
            return failed();
        took_ns = now_ns() - begin;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        vertices = fabric.nverts;
        close_fabric(source, &fabric);
    }
    printf("square matrix of %u vertices: %.3f s (1 s), the best of %u\n", vertices,
           (double)best_ns / 1e9, ROUNDS);
    return 0;
}

int main(int argc, char **argv)
{
    int status = measure_model(argc > 1 ? argv[1] : "fat-tree:32x25x125");

    return status != 0 ? status : measure_matrix(argc > 2 ? argv[2] : "fat-tree:20x20x25");
}
