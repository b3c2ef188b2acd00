#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# debian-tests.sh: what .ci/run checks on another Debian (contrib/testbed/with-debian.sh): the first
# command of the README, then the tests of what differs between systems: PMIx, MPI, topology, lists
# of hosts, a real Slurm, static linking. Works on a copy of the current directory, which is left as
# it is. Ends as check.sh does, with `N passed, N failed`.
set -u
copy=$(mktemp -d)
# What git has, as it is in the working tree; without a repository (a distribution archive) all.
if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
    git -c safe.directory='*' ls-files -z | tar -cf - --null -T - | tar -xf - -C "$copy"
else
    tar -cf - --exclude=./.git --exclude=./build --exclude='./build-[!a]*' . | tar -xf - -C "$copy"
fi
cd "$copy" || exit 1

contrib/demo.sh
demo=$?
tests=(system/linkage.sh unit/alloc/hostlist.t unit/alloc/hostlist_large.t
    unit/alloc/hostlist_scontrol.t unit/fabric/own_cores.t unit/fabric/topology_read.t
    unit/pmix/host_environment.t unit/pmix/pmix_host.t system/run_pmix_info.sh
    system/run_pmix_calls.sh system/run_pmix_query.sh system/run_pmix_events.sh system/run_pmix_spawn.sh
    system/run_pmix_names.sh system/run_pmix_group.sh system/run_pmix_loss.sh system/run_pmix_tool.sh system/run_pmix_debug.sh system/run_pmix_monitor.sh system/run_pmix_iof.sh system/run_pmix_credential.sh system/run_built.sh
    system/run_missing.sh system/run_mpi.sh system/run_programs.sh system/run_slurm.sh
    system/run_start.sh unit/exec/helper.t unit/fabric/link.t unit/fabric/tls.t)
make -C build -k check TESTS="${tests[*]/#/test/}" </dev/null >build/check.log 2>&1
made=$?
summary=$(contrib/tap-results.sh build)
if [ $made -ne 0 ] && [[ $summary == *" 0 failed" ]]; then
    tail -n 40 build/check.log
    summary="0 passed, 1 failed"
fi
printf '%s\n' "$summary"
if [ $demo -ne 0 ]; then
    echo "debian-tests.sh: demo.sh failed"
    exit 1
fi
[[ $summary == *" 0 failed" ]]
