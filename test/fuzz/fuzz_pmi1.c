/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMI-1 server: the input is what a client says, in pieces of up to 31 bytes; a zero byte between
 * two pieces ends a barrier with the rest of the input as the other nodes' data.
 */
#include "config.h"

#include "test/fuzz/fuzz_pmi_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    fuzz_pmi_client("", data, data_bytes);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const lines[] = {
        "cmd=init pmi_version=1 pmi_subversion=1\n",
        "cmd=put kvsname=job key=k value=v\n",
        "cmd=get kvsname=job key=k\n",
        "mcmd=spawn\nnprocs=2\nexecname=x\ntotspawns=1\narg1=a\npreput_key_0=k\npreput_val_0=v\nendcmd\n",
        "cmd=publish_name service=s port=p\n",
        "cmd=lookup_name service=s\n",
        "cmd=unpublish_name service=s\n",
        "cmd=barrier_in group=0,1:7\ncmd=barrier_in group=NODE\ncmd=barrier_in group=WORLD:x\n",
        "cmd=barrier_in\n",
    };

    return number > 0
               ? 0
               : fuzz_pmi_pieces(lines, sizeof(lines) / sizeof(lines[0]), buffer, buffer_bytes);
}
