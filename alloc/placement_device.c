/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_device.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAKEN_NOW 0x80000000u /* in use: by the process at hand */

void placement_device_init(struct device_binder *binder, const struct topology *view)
{
    *binder = (struct device_binder){.view = view};
    binder->use = memory_allocate_zeroed(view->devices_count * sizeof(*binder->use));
}

void placement_device_fini(struct device_binder *binder)
{
    free(binder->use);
    free(binder->numa_order);
}

const char *placement_device_variable(enum topology_device_kind kind)
{
    switch (kind) {
    case TOPOLOGY_DEVICE_NVIDIA:
        return "CUDA_VISIBLE_DEVICES";
    case TOPOLOGY_DEVICE_AMD:
        return "ROCR_VISIBLE_DEVICES";
    case TOPOLOGY_DEVICE_INTEL:
        return "ZE_AFFINITY_MASK";
    default:
        return NULL;
    }
}

/* 0, 1 or 2, as said in the header. */
static uint32_t device_distance(const struct topology *view, const struct topology_device *device,
                                uint32_t thread)
{
    const uint32_t *packages = view->objects[TOPOLOGY_PACKAGE];

    if (ranges_contains(&device->near, thread))
        return 0;
    for (uint32_t i = 0; i < device->near.count; i++) {
        for (uint32_t t = device->near.items[i].first; t <= device->near.items[i].last; t++) {
            if (t < view->threads && packages[t] == packages[thread])
                return 1;
        }
    }
    return 2;
}

/* ---- NUMA nodes ---- */

static uint32_t numa_distance(const struct topology *view, const struct topology_device *device,
                              uint32_t numa)
{
    uint32_t least = 2;

    for (uint32_t t = 0; t < view->threads; t++) {
        if (view->objects[TOPOLOGY_NUMA][t] == numa) {
            uint32_t here = device_distance(view, device, t);

            least = here < least ? here : least;
        }
    }
    return least;
}

int placement_device_order(struct device_binder *binder, const char *name, struct error *error)
{
    const struct topology *view = binder->view;
    const struct topology_device *device = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->devices_count; i++) {
        if (strcmp(view->devices[i].name, name) == 0) {
            device = &view->devices[i];
            break;
        }
    }
    if (device == NULL)
        return error_set(error, -ENODEV,
                         "there is no device %s; 'banyan map --show-topology' lists all devices",
                         name);
    free(binder->numa_order);
    binder->numa_order =
        memory_allocate((view->counts[TOPOLOGY_NUMA] + 1) * sizeof(*binder->numa_order));
    for (uint32_t far = 0; far <= 2; far++) {
        for (uint32_t numa = 0; numa < view->counts[TOPOLOGY_NUMA]; numa++) {
            if (numa_distance(view, device, numa) == far)
                binder->numa_order[count++] = numa;
        }
    }
    assert(count == view->counts[TOPOLOGY_NUMA]);
    return 0;
}

/* ---- GPUs ---- */

/* Of those that fewest have the nearest, and of these the first. */
static uint32_t choose_gpu(const struct device_binder *binder, enum topology_device_kind vendor,
                           uint32_t thread)
{
    const struct topology *view = binder->view;
    uint32_t best = UINT32_MAX, best_far = 0;

    for (uint32_t i = 0; i < view->devices_count; i++) {
        uint32_t far;

        if (view->devices[i].kind != vendor || binder->use[i] & TAKEN_NOW)
            continue;
        far = device_distance(view, &view->devices[i], thread);
        if (best == UINT32_MAX || binder->use[i] < binder->use[best] ||
            (binder->use[i] == binder->use[best] && far < best_far)) {
            best = i;
            best_far = far;
        }
    }
    return best;
}

/* The numbers of those that the process at hand has taken. */
static void list_taken(struct device_binder *binder, enum topology_device_kind kind,
                       struct ranges *ret_numbers)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < binder->view->devices_count; i++) {
        if (binder->use[i] & TAKEN_NOW)
            ranges_add(ret_numbers, number, number);
        number += binder->view->devices[i].kind == kind;
        binder->use[i] &= ~TAKEN_NOW;
    }
}

int placement_device_take(struct device_binder *binder, uint32_t count, int again,
                          const struct ranges *home, enum topology_device_kind *ret_kind,
                          struct ranges *ret_numbers, struct error *error)
{
    enum topology_device_kind vendor;
    uint32_t there = topology_gpus(binder->view, &vendor);

    if (there < count)
        return error_set(error, -ENODEV, "each process needs %u GPUs, but there are %u", count,
                         there);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t best = choose_gpu(binder, vendor, ranges_min(home));

        assert(best != UINT32_MAX); /* there are `count` of them at least */
        if (binder->use[best] > 0 && !again)
            return error_set(error, -ENOSPC,
                             "there are %u GPUs, too few to give each process %u; use "
                             "fewer processes, or --oversubscribe to share them",
                             there, count);
        binder->use[best] = (binder->use[best] + 1) | TAKEN_NOW;
    }
    list_taken(binder, vendor, ret_numbers);
    *ret_kind = vendor;
    return 0;
}

/* ---- Devices of a class ---- */

static enum topology_device_kind kind_of_class(const struct topology *view,
                                               enum placement_device device_class)
{
    enum topology_device_kind kind = TOPOLOGY_DEVICE_NETWORK;

    if (device_class == PLACEMENT_DEVICE_GPU)
        (void)topology_gpus(view, &kind);
    return kind;
}

uint32_t placement_device_count(const struct topology *view, enum placement_device device_class)
{
    enum topology_device_kind kind = kind_of_class(view, device_class);
    uint32_t count = 0;

    assert(device_class < PLACEMENT_DEVICE_COUNT);
    for (uint32_t i = 0; i < view->devices_count; i++)
        count += view->devices[i].kind == kind;
    return count;
}

static uint32_t least_given(const struct device_binder *binder, enum topology_device_kind kind)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < binder->view->devices_count; i++) {
        if (binder->view->devices[i].kind == kind && !(binder->use[i] & TAKEN_NOW) &&
            (best == UINT32_MAX || binder->use[i] < binder->use[best]))
            best = i;
    }
    return best;
}

/* What hangs on nothing that is known is near to all threads. */
static void add_near(const struct topology *view, const struct topology_device *device,
                     struct ranges *near)
{
    if (ranges_is_empty(&device->near))
        ranges_add(near, 0, view->threads - 1);
    else
        ranges_add_all(near, &device->near);
}

int placement_device_deal(struct device_binder *binder, enum placement_device device_class,
                          uint32_t count, int again, struct device_deal *ret_deal,
                          struct error *error)
{
    struct device_deal deal = {.first = UINT32_MAX,
                               .kind = kind_of_class(binder->view, device_class)};
    uint32_t there = placement_device_count(binder->view, device_class);

    assert(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t best = least_given(binder, deal.kind);

        if (best == UINT32_MAX || (binder->use[best] > 0 && !again)) {
            ranges_fini(&deal.near);
            return error_set(error, -ENOSPC,
                             "there are %u %s devices, too few to give each process %u; "
                             "use fewer processes, or the modifier shared",
                             there, placement_device_name(device_class), count);
        }
        binder->use[best] = (binder->use[best] + 1) | TAKEN_NOW;
        deal.first = best < deal.first ? best : deal.first;
        add_near(binder->view, &binder->view->devices[best], &deal.near);
    }
    list_taken(binder, deal.kind, &deal.numbers);
    *ret_deal = deal;
    return 0;
}
