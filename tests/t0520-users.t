#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Who may do what, where SlurmUser is slurm. What this test and, where SlurmUser is
# root, t0521 alone show: checks are everybody's and end alike; audits, drains and
# comments are SlurmUser's alone, and root, too, is refused in one sentence where it
# is not SlurmUser.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=users.sh
. "$srcdir/tests/users.sh"

test_users slurm root "$test_user"

done_testing
