/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that prints what it is told: pmix_info WHAT...; each WHAT is a letter and a
 * key, and becomes a line "KEY=VALUE", or "KEY=-" if there is none.
 *
 *     j:KEY       of the job          p:KEY       of this process     pN:KEY   of rank N
 *     aN:KEY      of application N    n:KEY       of this node        nNAME:KEY  of a node
 *     lA,B        the locality that ranks A and B share, as PMIx_Get_relative_locality has it
 */
#include "config.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pmix_proc_t self;

static void print_value(const char *what, pmix_status_t status, const pmix_value_t *value)
{
    printf("%s=", what);
    if (status != PMIX_SUCCESS) {
        puts("-");
        return;
    }
    switch (value->type) {
    case PMIX_BOOL:
        puts(value->data.flag ? "true" : "false");
        break;
    case PMIX_STRING:
        puts(value->data.string);
        break;
    case PMIX_UINT32:
        printf("%u\n", value->data.uint32);
        break;
    case PMIX_UINT16:
        printf("%u\n", value->data.uint16);
        break;
    case PMIX_PROC_RANK:
        printf("%u\n", value->data.rank);
        break;
    default:
        printf("? of type %u\n", value->type);
    }
}

static pmix_status_t get(pmix_rank_t rank, const char *key, pmix_info_t *info, size_t count,
                         pmix_value_t **ret_value)
{
    pmix_proc_t process;

    PMIX_LOAD_PROCID(&process, self.nspace, rank);
    return PMIx_Get(&process, key, info, count, ret_value);
}

/* "a1:KEY", "nv2:KEY": a realm and which one of it. */
static pmix_status_t get_realm(const char *what, const char *key, size_t which_bytes,
                               pmix_value_t **ret_value)
{
    pmix_info_t info[2];
    char which[256] = "";
    uint32_t number;
    bool yes = true;

    memcpy(which, what + 1, which_bytes);
    number = (uint32_t)strtoul(which, NULL, 10);
    PMIX_INFO_LOAD(&info[0], what[0] == 'a' ? PMIX_APP_INFO : PMIX_NODE_INFO, &yes, PMIX_BOOL);
    if (what[0] == 'a')
        PMIX_INFO_LOAD(&info[1], PMIX_APPNUM, &number, PMIX_UINT32);
    else
        PMIX_INFO_LOAD(&info[1], PMIX_HOSTNAME, which, PMIX_STRING);
    return get(PMIX_RANK_WILDCARD, key, info, which_bytes > 0 ? 2 : 0, ret_value);
}

static void print_shared(const char *what)
{
    pmix_value_t *a = NULL, *b = NULL;
    pmix_locality_t locality = 0;
    char *rest;
    pmix_rank_t first = (pmix_rank_t)strtoul(what + 1, &rest, 10);
    pmix_rank_t second = (pmix_rank_t)strtoul(rest + 1, NULL, 10);

    /* libpmix 4.2.2 says "take next option" whatever it has found. */
    if (get(first, PMIX_LOCALITY_STRING, NULL, 0, &a) == PMIX_SUCCESS &&
        get(second, PMIX_LOCALITY_STRING, NULL, 0, &b) == PMIX_SUCCESS &&
        (PMIx_Get_relative_locality(a->data.string, b->data.string, &locality) == PMIX_SUCCESS ||
         locality != 0))
        printf("%s=0x%x\n", what, locality);
    else
        printf("%s=-\n", what);
}

int main(int argc, char **argv)
{
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    for (int i = 1; i < argc; i++) {
        const char *what = argv[i];
        const char *key = strchr(what, ':');
        pmix_value_t *value = NULL;
        pmix_status_t status;
        pmix_rank_t rank = self.rank;

        if (what[0] == 'l' || key == NULL) {
            print_shared(what);
            continue;
        }
        key++;
        if (what[0] == 'p') {
            if (what[1] != ':')
                rank = (pmix_rank_t)strtoul(what + 1, NULL, 10);
            status = get(rank, key, NULL, 0, &value);
        } else {
            status = get_realm(what, key, what[0] == 'j' ? 0 : (size_t)(key - what) - 2, &value);
        }
        print_value(what, status, value);
    }
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
