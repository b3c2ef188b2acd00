/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMI-2 server: the input is what a client says, in pieces of up to 31 bytes; a zero byte between
 * two pieces ends a fence with the rest of the input as the other nodes' data.
 */
#include "config.h"

#include "test/fuzz/fuzz_pmi_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    fuzz_pmi_client("cmd=init pmi_version=2 pmi_subversion=0\n", data, data_bytes);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const messages[] = {
        "13    cmd=fullinit;",
        "31    cmd=kvs-put;key=k;value=a;;b=;;;",
        "25    cmd=kvs-get;thrid=1;key=k;",
        "38    cmd=info-getnodeattr;key=a;wait=TRUE;",
        "71    cmd=spawn;ncmds=1;ppkey0=k;ppval0=v;subcmd=x;maxprocs=2;argc=1;argv0=a;",
        "14    cmd=kvs-fence;",
        "39    cmd=name-publish;thrid=2;name=s;port=p;",
        "23    cmd=name-lookup;name=s;",
        "26    cmd=name-unpublish;name=s;",
    };

    return number > 0 ? 0
                      : fuzz_pmi_pieces(messages, sizeof(messages) / sizeof(messages[0]), buffer,
                                        buffer_bytes);
}
