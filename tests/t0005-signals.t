#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whoever starts tests with signals ignored, as nohup and a script's & do: they
# have them as by default.

. "$(dirname "$0")/lib.sh"
need gcc
workdir
cd "$workdir" || exit 1

cat >system <<X
. "$srcdir/tests/lib.sh"
# but for 32 and 33, which only the C library may set
echo \$((0x\$(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status) & ~(3 << 31)))
X
cat >unit.c <<X
#include <signal.h>
#include "tests/tap.h"
int main (void)
{
    struct sigaction now;

    for (int sig = 1; sig < 32; sig++)
        if (sigaction (sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            printf ("%d is ignored\\n", sig);
    return 0;
}
X
must "a unit test" gcc -D_GNU_SOURCE -I"$srcdir" -o unit unit.c
is "$(trap '' HUP INT QUIT PIPE TERM; bash system)" 0 \
    "a system test"
is "$(trap '' HUP INT QUIT PIPE TERM; ./unit)" "" "a unit test"

done_testing
