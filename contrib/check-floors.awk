# SPDX-License-Identifier: BSD-3-Clause
# The tables and rules of contrib/check-floors.sh.
BEGIN {
    for (i = 1; i < ARGC; i++)
        exists[ARGV[i]]

    # 1. Which folders of the project a folder may include; its own always.
    may["base"]    = ""
    may["alloc"]   = "base"
    may["overlay"] = "base"
    may["endpoint"] = "base overlay fabric"     # overlay/endpoint.[ch], the one staircase
    may["fabric"]  = "base"
    may["topology"] = "base alloc fabric"       # fabric/topology, the model of the fabric
    may["pmix"]    = "base"
    may["launch"]  = "base alloc overlay fabric pmix"
    may["test"]    = "base alloc overlay fabric pmix launch"
    may["contrib"] = "base alloc overlay fabric pmix launch test"

    # 2. Sealed folders take from the system only what has no clock, file, socket, thread,
    #    process or environment behind it, and call none of the functions that stdio.h and
    #    stdlib.h bring along for those.
    sealed["base"]; sealed["alloc"]; sealed["overlay"]; sealed["topology"]
    list("assert.h ctype.h endian.h errno.h inttypes.h limits.h stdalign.h stdarg.h " \
         "stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h jansson.h", pure)
    world = "fopen|fdopen|freopen|fread|fwrite|fgets|fputs|fputc|fprintf|vfprintf|printf|" \
            "vprintf|puts|putchar|perror|fflush|popen|system|remove|rename|tmpfile|" \
            "getenv|setenv|putenv|exit|_exit|atexit|rand|srand|random|srandom"

    # 3. A library is known in one place: the headers on the left only in the files on the right.
    only["^event2/|^event\\.h"]       = "^fabric/loop\\.c$|^pmix/host_loop\\.c$"
    only["^openssl/"]                 = "^fabric/|^contrib/bench/|^test/"
    only["^hwloc"]                    = "^fabric/|^test/"
    only["^rdma/"]                    = "^fabric/|^test/"
    only["^pmix"]                     = "^pmix/host|^pmix/fence_client\\.c$|^contrib/bench/|^test/"
    only["^PMI"]                      = "^pmix/host|^contrib/bench/"
    only["^zstd"]                     = "^fabric/|^launch/|^test/"
    only["^jansson"]                  = "^launch/|^test/|^fabric/topology/fabric_read_json\\.c$"
    only["^munge\\.h"]              = "^launch/start/boot_carry\\.c$|^pmix/host_munge\\.c$"
    opener                            = "^launch/exec/plugin\\.c$|^test/"
    only["^dlfcn\\.h"]                = opener "|^pmix/host_(loop|timer)\\.c$"
    only["^setjmp\\.h|^alloca\\.h"]   = "^$"

    # 4. The prefixes of the libraries are theirs, also for names in one file only. (The guards
    #    in pmix/ look like theirs, and are not.)
    theirs = "(pmix|PMIX|fi|FI)_[A-Za-z0-9_]+"

    # 5. What Python scripts import, beside files of their own folder.
    list("argparse collections fcntl json os pty random re select signal socket struct subprocess sys " \
         "tempfile termios threading time xml.etree.ElementTree", standard)

    # 6. FOLDER/banyan/*.h are installed for others: they include the system only, and name
    #    everything banyan_ or BANYAN_.
    for_others = "^[a-z]+/banyan/"
}

function list(text, ret_set,    words, n, i) {
    n = split(text, words, " ")
    for (i = 1; i <= n; i++)
        ret_set[words[i]]
}
function broken(rule) { print rule "\t" FILENAME ":" FNR ": " raw }

function start_file(    parts, n, stem) {
    n = split(FILENAME, parts, "/")
    folder = parts[1]
    floor = FILENAME ~ /^overlay\/endpoint\.[ch]$/ ? "endpoint" : \
            FILENAME ~ /^fabric\/topology\// ? "topology" : folder
    is_source = FILENAME ~ /\.c$/
    own = FILENAME
    sub(/\.c$/, ".h", own)
    includes = 0
    in_comment = 0
    guard = toupper(FILENAME)
    gsub(/[^A-Z0-9]/, "_", guard)
}

# Removes comments and the contents of strings, so that words in them are not code.
function code_of(line,    start, end) {
    gsub(/\\\\/, "", line)
    gsub(/\\"/, "", line)
    if (line !~ /^[ \t]*#[ \t]*include/)
        gsub(/"[^"]*"/, "\"\"", line)
    if (in_comment) {
        end = index(line, "*/")
        if (end == 0)
            return ""
        line = substr(line, end + 2)
        in_comment = 0
    }
    while ((start = index(line, "/*")) > 0) {
        end = index(substr(line, start + 2), "*/")
        if (end == 0) {
            in_comment = 1
            return substr(line, 1, start - 1)
        }
        line = substr(line, 1, start - 1) " " substr(line, start + end + 3)
    }
    return line
}

function check_order(name) {
    includes++
    if (!is_source)
        return
    if (includes == 1 && name != "config.h")
        broken("order")
    if (includes == 2 && (own in exists) && name != own)
        broken("order")
}

function check_project(name,    parts, there, words) {
    if (name == "config.h") {
        if (!is_source)
            broken("order")
        return
    }
    split(name, parts, "/")
    there = parts[1]
    if (!(there in may)) {
        broken("rooted")
        return
    }
    delete words
    list(may[floor] " " folder, words)
    if (!(there in words))
        broken("table")
    if (name == "overlay/endpoint.h" && floor == "overlay")
        broken("table")
}

function check_system(name,    pattern) {
    if ((floor in sealed) && !(name in pure))
        broken("sealed")
    for (pattern in only)
        if (name ~ pattern && FILENAME !~ only[pattern])
            broken("library")
}

function check_include(line,    name) {
    name = line
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", name)
    sub(/[">].*/, "", name)
    check_order(name)
    if (line !~ /include[ \t]*"/)
        check_system(name)
    else if (FILENAME ~ for_others)
        broken("installed")
    else
        check_project(name)
}

# The file that a shell script reads, with variables as they are written there.
function check_read(line,    name) {
    name = line
    sub(/^[ \t]*(\.|source)[ \t]+/, "", name)
    gsub(/["\047]/, "", name)
    if (name !~ /\/test\/support\/[a-z_]+\.sh/ && name !~ /^\$(here|\{0%\/\*\})\/[a-z.]+$/ ||
        name ~ /\/test\// && FILENAME !~ /^test\//)
        broken("script")
}

function check_import(line,    words, n, own_file) {
    n = split(line, words, /[ \t,]+/)
    own_file = FILENAME
    sub(/[^\/]*$/, words[2] ".py", own_file)
    if (!(words[2] in standard) && !(own_file in exists))
        broken("script")
}

FILENAME !~ /\.[ch]$/ {
    raw = $0
    if (FNR == 1)
        spdx_line = /^#!/ ? 2 : 1
    if (FNR == spdx_line && $0 != "# SPDX-License-Identifier: BSD-3-Clause")
        broken("spdx")
    if (FILENAME ~ /\.py$/ && /^(import|from) /)
        check_import($0)
    if (FILENAME !~ /\.py$/ && /^[ \t]*(\.|source)[ \t]+["\047$\/a-z]/)
        check_read($0)
    if (/(^|[^A-Za-z_#-])(pkill|killall)[ \t]+-/)
        broken("byname")
    next
}
FNR == 1 {
    raw = $0
    start_file()
    if ($0 != "/* SPDX-License-Identifier: BSD-3-Clause */")
        broken("spdx")
}
{
    raw = $0
    line = code_of($0)
}
line ~ /^[ \t]*#[ \t]*include/ { check_include(line); next }
line ~ /^#ifndef / && !is_source && !(FILENAME in guarded) {
    guarded[FILENAME]
    if (line !~ "^#ifndef " guard "[ \t]*$")
        broken("guard")
}
(floor in sealed) && line ~ "(^|[^A-Za-z0-9_])(" world ")[ \t]*\\(" { broken("sealed") }
line ~ /(^|[^A-Za-z0-9_])dlm?open[ \t]*\(/ && FILENAME !~ opener { broken("library") }
# A definition or declaration of ours starts in column one.
line ~ "^#[ \t]*define[ \t]+" guard "[ \t]*$" { next }
line ~ "^([A-Za-z_][A-Za-z0-9_ ]*[ *])" theirs "[ \t]*[(;=[]" { broken("prefix") }
line ~ "^(struct|enum|union)[ \t]+" theirs "[ \t]*\\{" { broken("prefix") }
line ~ "^#[ \t]*define[ \t]+" theirs { broken("prefix") }
line ~ /(^|[^A-Za-z0-9_])(alloca|setjmp|longjmp)[ \t]*\(/ { broken("library") }
FILENAME ~ for_others && line ~ /^(struct|enum|union)[ \t]+[a-z0-9_]+[ \t]*[{;]/ &&
    line !~ /^[a-z]+[ \t]+banyan_/ { broken("installed") }
FILENAME ~ for_others && line ~ /^#[ \t]*define[ \t]/ && line !~ /^#[ \t]*define[ \t]+BANYAN_/ {
    broken("installed")
}
FILENAME ~ for_others && line ~ /^[a-z].*[ *][a-z0-9_]+\(/ && line !~ /[ *]banyan_[a-z0-9_]+\(/ {
    broken("installed")
}
