# SPDX-License-Identifier: GPL-2.0-or-later
#
# A reader of PARUS matrices of its own: prints "LENGTH A B NANOSECONDS" for each
# value, and fails where a file is not as it has to be.
BEGIN {
    split("processors #|test type \"one_to_one\"|data type \"@\"" \
          "|begin message length #|end message length #|step length #" \
          "|noise message length #|number of noise messages #" \
          "|number of noise processes #|number of repeats #||hosts:", head, "|")
}
FNR <= 12 {
    gsub(/#/, "[0-9]+", head[FNR])
    gsub(/@/, "(average|median|deviation|min)", head[FNR])
    if ($0 !~ "^" head[FNR] "$") exit 1
    value[FNR] = $NF
    next
}
FNR <= 12 + value[1] { name[FNR - 12] = $1; next }
NF == 0 { row = 0; next }
/^Message length [0-9]+$/ { len = $3; seen[len] = 1; next }
NF != value[1] || ++row > value[1] { exit 1 }
{
    for (i = 1; i <= NF; i++)
        if (i != row && $i != "NaN")
            printf "%d %s %s %.3f\n", len, name[row], name[i], $i * 1e9
}
END {
    for (l = value[4]; value[6] && l < value[5]; l += value[6])
        if (!(l in seen)) exit 1
}
