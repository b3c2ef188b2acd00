# SPDX-License-Identifier: BSD-3-Clause
#
# Reads what bench.sh recorded, tab-separated, and prints a table, or JSON with -v format=json:
#
#     machine  KEY TEXT
#     system   NAME                         in the order of the report; the first is compared
#     case     CASE UNIT TITLE              in the order of the report
#     yard     CASE EXEC_NS HOP_NS
#     sample   CASE SYSTEM VALUE ok         VALUE in ns or bytes, or thousandths of what comes 1/s
#     sample   CASE SYSTEM -     REASON     a run that failed
#
# A ratio is the first system's median divided by another's: below 1 the first one is better.

BEGIN {
    FS = "\t"
    scale["ms"] = 1e6; scale["us"] = 1e3; scale["KiB"] = 1024; scale["1"] = 1; scale["1/s"] = 1000
    json_unit["ms"] = "ns"; json_unit["us"] = "ns"; json_unit["KiB"] = "bytes"
    json_unit["1"] = "1"; json_unit["1/s"] = "1/1000 s"
}
$1 == "machine" { keys[++key_count] = $2; texts[$2] = $3 }
$1 == "system" { systems[++system_count] = $2 }
$1 == "case" { cases[++case_count] = $2; units[$2] = $3; titles[$2] = $4 }
$1 == "yard" { exec_ns[$2] = $3; hop_ns[$2] = $4 }
$1 == "sample" {
    runs[$2, $3]++
    if ($5 == "ok")
        samples[$2, $3] = samples[$2, $3] " " $4
    else {
        failures[$2, $3]++
        reasons[$2, $3] = $5
    }
}

# Median of the numbers in a text; "" if there is none. Insertion sort: they are few.
function median(text,    values, n, i, j, v) {
    n = split(text, values, " ")
    for (i = 2; i <= n; i++) {
        v = values[i] + 0
        for (j = i - 1; j > 0 && values[j] + 0 > v; j--)
            values[j + 1] = values[j]
        values[j + 1] = v
    }
    if (n == 0)
        return ""
    return n % 2 ? values[(n + 1) / 2] + 0 : (values[n / 2] + values[n / 2 + 1]) / 2
}

function number(value) {
    return value >= 100 ? sprintf("%.0f", value) : value >= 10 ? sprintf("%.1f", value) : sprintf("%.2f", value)
}

function cell(name, who,    value, text) {
    if (!((name, who) in runs))
        return "-"
    value = median(samples[name, who])
    text = value == "" ? "failed" : number(value / scale[units[name]])
    if (failures[name, who] && value != "")
        text = text "!"
    return text
}

function print_table(    c, s, name, first, mine, theirs, i) {
    for (i = 1; i <= key_count; i++)
        printf "%-10s %s\n", keys[i], texts[keys[i]]
    printf "\n%-40s %5s", "median", "unit"
    for (s = 1; s <= system_count; s++)
        printf " %9s", systems[s]
    for (s = 2; s <= system_count; s++)
        printf " %9s", "/" systems[s]
    printf " %8s %8s\n", "exec us", "hop us"
    first = systems[1]
    for (c = 1; c <= case_count; c++) {
        name = cases[c]
        printf "%-40s %5s", titles[name], units[name]
        for (s = 1; s <= system_count; s++)
            printf " %9s", cell(name, systems[s])
        mine = median(samples[name, first])
        for (s = 2; s <= system_count; s++) {
            theirs = median(samples[name, systems[s]])
            printf " %9s", (mine == "" || theirs == "" ? "-" : sprintf("%.2f", mine / theirs))
        }
        printf " %8s %8s\n", number(exec_ns[name] / 1e3), number(hop_ns[name] / 1e3)
    }
    print ""
    for (c = 1; c <= case_count; c++)
        for (s = 1; s <= system_count; s++)
            if (failures[cases[c], systems[s]])
                printf "! %s: %s failed in %d of %d runs: %s\n", titles[cases[c]], systems[s],
                    failures[cases[c], systems[s]], runs[cases[c], systems[s]],
                    reasons[cases[c], systems[s]]
}

function quoted(text) {
    gsub(/\\/, "\\\\&", text)
    gsub(/"/, "\\\"", text)
    gsub(/[\001-\037]/, " ", text)
    return "\"" text "\""
}

function print_system(name, who,    list) {
    list = samples[name, who]
    sub(/^ /, "", list)
    gsub(/ /, ", ", list)
    printf "      %s: {\"samples\": [%s], \"median\": %s, \"runs\": %d, \"failed\": %d", quoted(who),
        list, list == "" ? "null" : sprintf("%.0f", median(samples[name, who])),
        runs[name, who], failures[name, who]
    if (failures[name, who])
        printf ", \"reason\": %s", quoted(reasons[name, who])
    printf "}"
}

function print_json(    c, s, i, name, comma) {
    printf "{\n  \"machine\": {"
    for (i = 1; i <= key_count; i++)
        printf "%s\n    %s: %s", (i > 1 ? "," : ""), quoted(keys[i]), quoted(texts[keys[i]])
    printf "\n  },\n  \"cases\": ["
    for (c = 1; c <= case_count; c++) {
        name = cases[c]
        printf "%s\n    {\"case\": %s, \"title\": %s, \"unit\": %s,\n", (c > 1 ? "," : ""), quoted(name),
            quoted(titles[name]), quoted(json_unit[units[name]])
        printf "     \"yardsticks\": {\"exec_ns\": %d, \"hop_ns\": %d},\n     \"systems\": {\n",
            exec_ns[name], hop_ns[name]
        comma = ""
        for (s = 1; s <= system_count; s++)
            if ((name, systems[s]) in runs) {
                printf "%s", comma
                print_system(name, systems[s])
                comma = ",\n"
            }
        printf "\n     }}"
    }
    print "\n  ]\n}"
}

END {
    if (format == "json")
        print_json()
    else
        print_table()
}
