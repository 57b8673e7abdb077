/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments of jobs: the entry that an audit adds to a job's AdminComment, and a
 * check to its Comment.
 *
 * Made by audits and by pmm-comment. Read by history.c. Format: an entry is
 *
 *     pmm: audit 57 FAIL a cable is 412 ns slow: h0018's: leave out h0018, or
 *         send this to your support [links=412 rounds=9 worst=h0018_mlx5_0/1
 *         to=leaf3/7 kind=host link=ec0d9a0300ec8240/1 node=h0018 excess=+412]
 *     pmm: check OK 24 links by 36 probes in 9 rounds, 8 nodes
 *
 * on one line of printable ASCII, at most COMMENT_ENTRY_MAX bytes. The words are
 * for people. Programs read the facts in brackets at the end. Those from worst=
 * on are of the worst finding, if there is any: both ends and the id of its
 * likeliest suspect, how many others explain it as well (or=), the node whose
 * host end it is (node=), the excess, if it is known, or "loses" or "delays"
 * messages, and what it carries of what was expected, in Gb/s (rate=98/197). If the
 * cause is a switch (kind=switch or kind=route), worst= names it and there is no
 * to=. A check has neither links=, rounds=, worst= nor to=. Names are the
 * fabric's; a byte that is not allowed in a name here, such as the space in
 * "leaf 3", becomes '_'.
 *
 * A field may hold the texts of several tools, separated by COMMENT_BETWEEN.
 * They are not on lines of their own, because sacct -P and scontrol -o print a
 * field as it is and their output is read line by line.
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
    COMMENT_NAME_MAX = 64,  /* with its NUL */
    COMMENT_TEXT_MAX = 256, /* the same */
    COMMENT_ADMIN_MAX = 65535, /* slurmdbd cuts a longer AdminComment */
    COMMENT_JOB_MAX = 1024,    /* slurmctld refuses a longer Comment */
};

enum comment_source { COMMENT_AUDIT, COMMENT_CHECK };

struct comment {
    enum comment_source source;
    enum verdict_status status;

    /* of an audit */
    int64_t audit;
    uint64_t links, rounds;
    bool found;              /* there is a finding: */
    enum finding_kind kind;
    char worst[COMMENT_NAME_MAX];
    char to[COMMENT_NAME_MAX];   /* "": worst is a switch */

    /* of both; "": none */
    uint64_t others;             /* other suspects that explain it as well */
    char link[COMMENT_NAME_MAX]; /* id */
    char node[COMMENT_NAME_MAX];
    double excess_ns;            /* NAN: none */
    bool loses, delays;          /* messages, without an excess */
    double rate_bits, rate_expected_bits; /* NAN: none */

    char text[COMMENT_TEXT_MAX]; /* for people; of a check with its facts */
};

/* The entry of an audit with this verdict; f names the links. */
void comment_of_audit (struct comment *c, int64_t audit,
                       const struct verdict *v, const struct fabric *f);

/* Append to a check's sentence in buf the facts of its finding, if there is one.
 */
void comment_facts (const struct verdict *v, const struct fabric *f, char *buf,
                    size_t size);

/* The entry of a check, whose sentence may end with facts. */
void comment_of_check (struct comment *c, enum verdict_status status,
                       const char *sentence);

/* Write the entry to buf[COMMENT_ENTRY_MAX + 1]. */
void comment_format (const struct comment *c, char *buf);

/* Read the next of our entries in *field (NULL: empty) and move that to the text
 * after it. Return false at the end. Other texts and damaged entries are skipped.
 * A user can write anything into a Comment: *c is clean, but need not be true.
 */
bool comment_next (const char **field, struct comment *c);

/* Append an entry to a field (NULL: empty), keeping its texts. Return the new
 * text, which the caller frees; NULL with errno EEXIST if the field already has
 * this entry, ENOSPC if it would be longer than max bytes.
 */
char *comment_append (const char *field, const char *entry, size_t max);

#endif /* REPORT_COMMENT_H */
