#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Who may do what, as t0520, where SlurmUser is root: then root may, and slurm may
# not.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=users.sh
. "$srcdir/tests/users.sh"

test_users root slurm "$test_user"

done_testing
