#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Who goes where, against a mapper that was written from doc/placement.rst alone: PLACEMENT_CASES
# random cases (4,000) of alloc/, and PLACEMENT_COMMANDS random commands (200) of `banyan map`, from seed
# PLACEMENT_SEED (1).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

command -v python3 >/dev/null || skip_all "there is no python3"
cases=${PLACEMENT_CASES:-4000}
seed=${PLACEMENT_SEED:-1}
run bash -c "set -o pipefail; '$top_builddir/test/tool/place_cases' $seed $cases |
    python3 '$srcdir/test/tool/placement_reference.py'"
is "$status" 0 "$cases random cases are placed as the documentation says"
[ "$status" = 0 ] || diag "PLACEMENT_SEED=$seed: $out $err"
diag "$out"
commands=${PLACEMENT_COMMANDS:-200}
run python3 -B "$srcdir/test/tool/placement_commands.py" "$banyan" "$commands" "$seed"
is "$status" 0 "$commands random commands of banyan map are placed as the documentation says"
[ "$status" = 0 ] || diag "PLACEMENT_SEED=$seed: $out $err"
diag "$out"
done_testing
