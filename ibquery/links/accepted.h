/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a site has accepted of its links: findings of links/check.h that are to
 * be notes, as long as they stay as they are.
 *
 * Written by pmm fabric accept, read by pmm fabric check. File: next to the
 * snapshot, SNAPSHOT.accepted, as ibquery/lines.h has it:
 *
 *     accept GUID/PORT GUID/PORT WHAT VALUE TIME WHO [WHY]
 *     rails HOST HAS/USUAL TIME WHO [WHY]
 *
 * The second is of a host that has fewer rails than its peers; one that has
 * still fewer, or whose peers have more, is told again.
 *
 * WHAT is width, speed or a counter's name, of the first port; VALUE the rate, or
 * how much it grows in an hour, or the bit error rate. Another rate and a
 * counter that grows faster are told again, and so is a link to another port.
 */
#ifndef IBQUERY_ACCEPTED_H
#define IBQUERY_ACCEPTED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "ibquery/links/check.h"

enum { ACCEPTED_MAX = 10000, ACCEPTED_WHY = 200 };

struct accepted_entry {
    char port[2][24];   /* "GUID/PORT"; "": it is of a host's rails */
    char host[FABRIC_NAME_MAX + 1]; /* "": it is of a link */
    char what[40];
    char value[RATES_TEXT];
    int64_t time;
    char who[40];
    char why[ACCEPTED_WHY]; /* "": no reason was given */
};

struct accepted {
    struct accepted_entry *v;
    size_t n;
};

/* Read a file, whose name is for errors; of a path, one that does not exist, and
 * NULL, are empty. Return 0, or -1 with err. Call accepted_clear in both cases.
 * accepted_save replaces the file.
 */
int accepted_read (struct accepted *a, FILE *fp, const char *name,
                   struct error *err);
int accepted_write (const struct accepted *a, FILE *fp, struct error *err);
int accepted_load (struct accepted *a, const char *path, struct error *err);
int accepted_save (const struct accepted *a, const char *path,
                   struct error *err);
void accepted_clear (struct accepted *a);

/* The file for the first of these snapshots; the caller frees it. NULL: that is
 * standard input.
 */
char *accepted_path (const char *snapshots);

/* Make notes of what is accepted in a check of the fabric. */
void accepted_apply (const struct accepted *a, struct link_check *c,
                     const struct fabric *f);

/* The rails that hosts of these snapshots' fabric lack (fewer_find), and that
 * are not accepted; if the file cannot be read, none is. Return their number;
 * the caller frees *list.
 */
size_t accepted_fewer (const struct fabric *f, const char *snapshots,
                       struct rails_fewer **list);

/* Accept what the check has found of a link, in place of what was accepted of
 * the same width, speed or counter. Return how much that is; 0: it has found
 * nothing there, and nothing is changed.
 */
size_t accepted_add (struct accepted *a, const struct link_check *c,
                     const struct fabric *f, uint32_t link, int64_t now,
                     const char *who, const char *why);

/* The same of the rails that a host lacks. */
size_t accepted_add_rails (struct accepted *a, const struct link_check *c,
                           const struct fabric *f, uint32_t host, int64_t now,
                           const char *who, const char *why);

/* Forget what was accepted of the link that has this port, or of the host of
 * this name. Return how much that was.
 */
size_t accepted_remove (struct accepted *a, const char *name);

#endif /* IBQUERY_ACCEPTED_H */
