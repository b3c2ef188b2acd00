#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the programs depend on before main(): merely linking libpmix or libfabric would cost every
# start of a daemon more than all it does.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

for program in banyan banyand; do
    needed=$(ldd "$top_builddir/$program")
    like "$needed" "libc\.so" "ldd shows what $program needs"
    unlike "$needed" "libpmix|libfabric|not found" "neither libpmix nor libfabric"
    if [ -n "${BANYAN_SANITIZERS:-}" ]; then
        skip "a sanitizer exports symbols of its own"
    else
        is "$(nm -D --defined-only "$top_builddir/$program" | grep -v ' [BbDVWR] \(stderr\|stdout\|stdin\|environ\|.*@GLIBC.*\)')" \
            "" "$program exports no symbol"
    fi
done

plugin=$BANYAN_PKGLIBDIR/pmix_host.so
like "$(ldd "$plugin")" "libpmix" "libpmix comes with the plugin"
exported=$(nm -D --defined-only "$plugin" | awk '$2 ~ /[A-Z]/ { print $3 }')
is "$(sort <<<"$exported" | xargs)" "event_assign host_table" \
    "the plugin exports its table, what libpmix finds before libevent, and nothing else"
unlike "$exported" "^(pmix|fi)_" "which is not named like a symbol of libpmix"

client=$BANYAN_PKGLIBDIR/pmix_client.so
like "$(ldd "$client")" "libpmix" "the client of PMIx has it, too"
is "$(nm -D --defined-only "$client" | awk '$2 ~ /[A-Z]/ { print $3 }')" "fence_client_table" "and exports its table only"
done_testing
