/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users, as messages name them. A name is looked up, which may wait for a
 * server: for errors, and not where a job waits.
 */
#ifndef UTIL_USER_H
#define UTIL_USER_H

#include <sys/types.h>

/* A user's name, or the number if it has none, for use in one printf. */
enum { USER_NAME = 64 };
const char *user_name_of (char buf[USER_NAME], uid_t uid);
#define USER(uid) user_name_of ((char[USER_NAME]){ 0 }, (uid))

/* What whoever we are does in place of a command of pmm that is for that user,
 * SlurmUser, to run: the end of a sentence, for use in one printf.
 */
enum { USER_INSTEAD = 256 };
const char *user_instead (char buf[USER_INSTEAD], const char *name);
#define INSTEAD(name) user_instead ((char[USER_INSTEAD]){ 0 }, (name))

#endif /* UTIL_USER_H */
