#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows contrib/check-attributes.py bad samples: each must break the rule it is made for, and no other.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is not installed"
tree=$scratch/tree

# A tree with three attributes, of which the host knows one; its headers are these, too.
good_tree() {
    rm -rf "$tree"
    mkdir -p "$tree/contrib" "$tree/doc" "$tree/pmix" "$tree/test/system"
    printf '# Attributes.\nPMIX_JOB_SIZE pmix.job.size\nPMIX_GROUP_ID pmix.grp.id\nPMIX_GROUP_INFO pmix.grp.info\n' \
        >"$tree/contrib/check-attributes.txt"
    printf '/* PMIX_GROUP_ID */\nadd("PMIX_GROUP_INFO=", PMIX_JOB_SIZE);\n' >"$tree/pmix/host_job.c"
    : >"$tree/test/system/run.sh"
    row PMIX_JOB_SIZE served '``run.sh``' >"$tree/doc/pmix-attributes.rst"
    row 'PMIX_GROUP_*' refused - >>"$tree/doc/pmix-attributes.rst"
    mkdir -p "$tree/headers"
    sed -n 's/^\(PMIX_[A-Z_]*\) \(.*\)/#define \1 "\2" \/\/ text/p' "$tree/contrib/check-attributes.txt" \
        >"$tree/headers/pmix_common.h"
    printf '#define PMIX_VERSION_MAJOR 4\n#define PMIX_VERSION_MINOR 2\n' >"$tree/headers/pmix_version.h"
    printf '#!/bin/sh\necho %s\n' "$tree/headers" >"$tree/pkg-config"
    chmod +x "$tree/pkg-config"
}
row() { # NAME ANSWER TEST
    printf '``%s``  get  %s  %s\n' "$1" "$2" "$3"
}
# breaks NUMBER TEXT NAME: only this rule fails, and says why.
breaks() {
    run env PATH="$tree:$PATH" python3 "$srcdir/contrib/check-attributes.py" "$tree"
    is "$(sed -n 's/^not ok \([0-9]\).*/\1/p' <<<"$out" | xargs)" "$1" "$3"
    like "$out" "# .*$2" "$3: what it says"
}

good_tree
run env PATH="$tree:$PATH" python3 "$srcdir/contrib/check-attributes.py" "$tree"
is "$status:$(grep -c '^ok' <<<"$out")" 0:4 "a good tree"

good_tree
sed -i 1d "$tree/doc/pmix-attributes.rst"
breaks 1 'PMIX_JOB_SIZE: no row' "an attribute without a row"

good_tree
row PMIX_NO_SUCH libpmix - >>"$tree/doc/pmix-attributes.rst"
breaks 2 'PMIX_NO_SUCH: no header has it' "a row of an attribute that does not exist"

good_tree
row 'PMIX_FABRIC_*' libpmix - >>"$tree/doc/pmix-attributes.rst"
breaks 2 'PMIX_FABRIC_.: no header has it' "a family that does not exist"

good_tree
row PMIX_GROUP_ID perhaps - >>"$tree/doc/pmix-attributes.rst"
breaks 2 "'perhaps' is no answer" "an answer that does not exist"

good_tree
row PMIX_GROUP_ID refused '``no.sh``' >>"$tree/doc/pmix-attributes.rst"
breaks 2 'no.sh.* does not exist' "a test that does not exist"

good_tree
echo '``PMIX_GROUP_ID``  refused' >>"$tree/doc/pmix-attributes.rst"
breaks 2 'a row that cannot be read' "half a row"

good_tree
row PMIX_GROUP_ID served - >>"$tree/doc/pmix-attributes.rst"
breaks 3 'PMIX_GROUP_ID: it is served, but' "served, but unknown to the host"

good_tree
row PMIX_JOB_SIZE 'not given' - >"$tree/doc/pmix-attributes.rst"
row 'PMIX_GROUP_*' refused - >>"$tree/doc/pmix-attributes.rst"
breaks 3 'PMIX_JOB_SIZE: pmix/host.* names it, but it is not given' "known to the host, but not given"

good_tree
echo '#define PMIX_NEW "pmix.new"' >>"$tree/headers/pmix_common.h"
breaks 4 'PMIX_NEW: not in contrib/check-attributes.txt' "an attribute of the header that is not listed"
sed -i 's/MAJOR 4/MAJOR 5/' "$tree/headers/pmix_version.h"
run env PATH="$tree:$PATH" python3 "$srcdir/contrib/check-attributes.py" "$tree"
is "$status" 0 "a later version may have more"
sed -i '/GROUP_ID/d' "$tree/headers/pmix_common.h"
breaks 4 'PMIX_GROUP_ID pmix.grp.id: not in' "but not less"

done_testing
