/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/user.h"

#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { ENTRY_MAX = 4096 };

const char *user_name_of (char buf[USER_NAME], uid_t uid)
{
    struct passwd pw, *found = NULL;
    char entry[ENTRY_MAX];

    if (getpwuid_r (uid, &pw, entry, sizeof (entry), &found) == 0 && found)
        snprintf (buf, USER_NAME, "%s", pw.pw_name);
    else
        snprintf (buf, USER_NAME, "%ju", (uintmax_t)uid);
    return buf;
}

const char *user_instead (char buf[USER_INSTEAD], const char *name)
{
    if (geteuid () == 0)
        snprintf (buf, USER_INSTEAD, "runuser -u %s -- pmm ...", name);
    else
        snprintf (buf, USER_INSTEAD, "staff do so by sudo -u %s pmm ...; users "
                                     "have srun --pmm-check, and pmm why JOBID "
                                     "where they may read the ledger", name);
    return buf;
}
