/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as one HTML file, which needs no other file and no network.
 *
 * The page is page.html with its styles and scripts, embedded by the build
 * (embed). What page_write adds is data: a JSON object in a script element that
 * no browser runs ("head": the verdict, with all that is seen first), and two
 * that are compressed ("job": what was measured; "fabric": the snapshot).
 * Names of nodes and jobs are hostile text: no character of theirs can end the
 * element, and the scripts only ever show them as text.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "core/judge/judge.h"
#include "core/judge/verdict.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "ibquery/links/counters.h"
#include "util/error.h"

struct cabling;
struct words_case;

enum { PAGE_AUDITS = 2000 }; /* enough for a cable's history */

/* What a page shows, a verdict, series or a site; all is borrowed. NULL: not
 * known, and not shown. A verdict needs its fabric.
 */
struct page {
    const struct fabric *fabric;
    const struct verdict *verdict;
    const char *about;              /* "audit 57", "job 1234" */
    int64_t made;                   /* when; seconds since 1970 */

    struct pathset *ps;             /* what was measured: of the plan, */
    const struct plan *plan;        /* which goes with ps and */
    const struct samples *samples;  /* these */
    const struct baseline *baseline;

    const struct cabling *cabling;  /* labels of cables */
    const struct counters *counters;
    json_t *history;                /* {link id: as ledger_trend} */
    json_t *drained;                /* {node: true} of those that pmm drained */
    const struct words_case *cases; /* [finding] of its ticket, without labels;
                                       NULL: as history and drained have it */
    json_t *series;                 /* [{name, stat, deviation, labels,
                                       lengths, values}]: matrix.js */
    json_t *site;                   /* with a verdict of all that is wrong: the
                                       page of a site, as site.js has it, */
    json_t *map;                    /* ... and of its cables; in place of what
                                       was measured */
};

/* Return 0, or -1 with err. */
int page_write (const struct page *page, FILE *fp, struct error *err);

/* Put the job of an audit before the others of a list, which has the newest, each
 * once.
 */
void page_add_job (json_t *jobs, int64_t job);

/* Whether two pages differ by nothing but when they were made. */
bool page_is_same (const char *a, const char *b);

/*
 * Parts, for the page's unit test
 */

/* Write JSON for a script element: ASCII, and of `<`, `>` and `&` none. */
int page_put_json (const json_t *json, FILE *fp, struct error *err);

/* Write n bytes compressed (zlib's format) in base64. */
int page_put_bytes (const void *bytes, size_t n, FILE *fp, struct error *err);

/* The page before and after its data. */
extern const unsigned char page_begin[], page_end[];
extern const size_t page_begin_size, page_end_size;

#endif /* REPORT_PAGE_H */
