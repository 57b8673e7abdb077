/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments of jobs: what an audit leaves in a job's AdminComment, a check in
 * its Comment.
 *
 * Made by audits and by pmm-comment. Read by history.c. Format: an entry is
 *
 *     pmm: audit 57 FAIL links=412 rounds=9 worst=h0018_mlx5_0/1 to=leaf3/7
 *         kind=host link=ec0d9a0300ec8240/1 or=2 node=h0018 +412 ns
 *     pmm: check OK 24 links by 36 probes in 9 rounds, 8 nodes
 *
 * on one line, of printable ASCII, COMMENT_ENTRY_MAX bytes at most. From
 * `worst` on it is about the worst finding, if there is any: its likeliest
 * suspect by both ends and by its id, how many others explain it as well (or=),
 * whose host end it is (node=), and the excess, or "loses messages". Where a
 * switch is to blame (kind=switch, or kind=route) it stands after worst=,
 * without to=. What a check says is its sentence. Names are the fabric's: of
 * their bytes, those that are none of a name ("leaf 3") are '_' here.
 *
 * A field may hold the texts of several tools, one after the other with
 * COMMENT_BETWEEN between them, not on lines of their own, since sacct -P
 * and scontrol -o print a field as it is and are read line by line.
 */
#ifndef REPORT_COMMENT_H
#define REPORT_COMMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"

#define COMMENT_BETWEEN "; "

enum {
    COMMENT_ENTRY_MAX = 511,
    COMMENT_NAME_MAX = 64,  /* with its NUL, as the next */
    COMMENT_TEXT_MAX = 256,
    COMMENT_ADMIN_MAX = 65535, /* slurmdbd cuts what is longer */
    COMMENT_JOB_MAX = 1024,    /* slurmctld refuses it */
};

enum comment_source { COMMENT_AUDIT, COMMENT_CHECK };

struct comment {
    enum comment_source source;
    enum verdict_status status;

    /* of an audit */
    int64_t audit;
    uint64_t links, rounds;
    bool found;              /* a finding: */
    enum finding_kind kind;
    char worst[COMMENT_NAME_MAX];
    char to[COMMENT_NAME_MAX];   /* "": worst is a switch */

    /* of both; "": none */
    uint64_t others;             /* that explain it as well as link or worst */
    char link[COMMENT_NAME_MAX]; /* id */
    char node[COMMENT_NAME_MAX];
    double excess_ns;            /* NAN: none */

    char text[COMMENT_TEXT_MAX]; /* of a check: its sentence */
};

/* What an audit says of the fabric f. */
void comment_of_audit (struct comment *c, int64_t audit,
                       const struct verdict *v, const struct fabric *f);

/* What a check's result says, of which the sentence is verdict_sentence's. */
void comment_of_check (struct comment *c, enum verdict_status status,
                       const char *sentence);

/* Write the entry to buf[COMMENT_ENTRY_MAX + 1]. */
void comment_format (const struct comment *c, char *buf);

/* Take the next of our entries from *field, which then stands after it.
 * Return false at the end. What is no entry of ours, or a damaged one, is
 * passed over. Who may write a Comment may write anything there: *c is clean,
 * not true.
 */
bool comment_next (const char **field, struct comment *c);

/* Append entry to the texts of a field (NULL: none), all of which stay. Return
 * the new text, which the caller frees; NULL with errno EEXIST where the field
 * has that entry, ENOSPC where it would get longer than max bytes.
 */
char *comment_append (const char *field, const char *entry, size_t max);

#endif /* REPORT_COMMENT_H */
