/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history from the comments of many jobs.
 *
 * Notes: each entry of a comment gives one record for ALL, and one for each
 * link, node and switch that it suspects. Sorting puts the records of one
 * subject together, and among these the records of one audit.
 */
#include "config.h"
#include "report/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/comment.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

enum subject { ALL, LINK, NODE, SWITCH, SUBJECTS };

enum { STATUSES = VERDICT_FAIL + 1, DAY_S = 24 * 3600 };

struct history_record {
    enum subject subject;
    char name[COMMENT_NAME_MAX];
    char a[COMMENT_NAME_MAX], b[COMMENT_NAME_MAX]; /* ends of a link, or "" */
    int64_t audit; /* 0: a check */
    int64_t time;
    uint32_t job;
    enum verdict_status status;
    bool ambiguous;   /* another link or switch explains it as well */
    double excess_ns; /* NAN: none */
};

struct history {
    struct history_record *v;
    size_t n;
    size_t sorted; /* records that are sorted */
    size_t jobs;
};

struct history *history_create (void)
{
    return xcalloc (1, sizeof (struct history));
}

void history_destroy (struct history *h)
{
    if (h)
        free (h->v);
    free (h);
}

/*
 * Records
 */

static int add_record (struct history *h, const struct history_record *m,
                        struct error *err)
{
    if (h->n == HISTORY_RECORDS_MAX)
        return error_world (err, "the comments tell of more than %d findings: "
                                 "ask for less time", HISTORY_RECORDS_MAX);
    h->v = xgrow (h->v, h->n, sizeof (*h->v));
    h->v[h->n++] = *m;
    return 0;
}

static int add_subject (struct history *h, struct history_record *m,
                        enum subject subject, const char *name, size_t len,
                        struct error *err)
{
    if (len == 0)
        return 0;
    m->subject = subject;
    snprintf (m->name, sizeof (m->name), "%.*s", (int)len, name);
    return add_record (h, m, err);
}

/* The length of the device's name in a port's name. */
static size_t device_length (const char *port)
{
    const char *slash = strrchr (port, '/');

    return slash ? (size_t)(slash - port) : strlen (port);
}

static int add_switches (struct history *h, struct history_record *m,
                         const struct comment *c, struct error *err)
{
    bool device = c->kind == FINDING_SWITCH || !c->to[0];

    if (!c->found)
        return 0;
    if (device)
        return add_subject (h, m, SWITCH, c->worst, strlen (c->worst), err);
    if (c->kind != FINDING_HOST_END
        && add_subject (h, m, SWITCH, c->worst, device_length (c->worst),
                        err) < 0)
        return -1;
    return add_subject (h, m, SWITCH, c->to, device_length (c->to), err);
}

static int add_entry (struct history *h, uint32_t job, int64_t end,
                      const struct comment *c, struct error *err)
{
    struct history_record m = {
        .subject = ALL, .audit = c->audit, .time = end, .job = job,
        .status = c->status, .excess_ns = c->excess_ns,
    };

    if (add_record (h, &m, err) < 0
        || add_subject (h, &m, NODE, c->node, strlen (c->node), err) < 0)
        return -1;
    m.ambiguous = c->others > 0;
    if (add_switches (h, &m, c, err) < 0)
        return -1;
    if (c->to[0]) {
        memcpy (m.a, c->worst, sizeof (m.a));
        memcpy (m.b, c->to, sizeof (m.b));
    }
    return add_subject (h, &m, LINK, c->link, strlen (c->link), err);
}

/* Add the entries of this source. Return their number, or -1 with err. */
static int add_field (struct history *h, uint32_t job, int64_t end,
                      const char *field, enum comment_source source,
                      struct error *err)
{
    struct comment c;
    int n = 0;

    while (n < HISTORY_ENTRIES_MAX && comment_next (&field, &c))
        if (c.source == source) {
            if (add_entry (h, job, end, &c, err) < 0)
                return -1;
            n++;
        }
    return n;
}

int history_add (struct history *h, uint32_t job, int64_t end,
                 const char *admin_comment, const char *comment,
                 struct error *err)
{
    int audits = add_field (h, job, end, admin_comment, COMMENT_AUDIT, err);
    int checks = audits < 0 ? -1 : add_field (h, job, end, comment,
                                              COMMENT_CHECK, err);

    h->jobs += audits > 0 || checks > 0;
    return checks < 0 ? -1 : 0;
}

/*
 * Subjects
 */

struct counts {
    size_t of[STATUSES];
    size_t ambiguous; /* counted here, not by status */
};

/* Summary of one subject's records, [begin, end). */
struct summary {
    const struct history_record *begin, *end;
    const struct history_record *ends; /* a record with both ends, or NULL */
    struct counts audits, checks;
    size_t days;
    int64_t first, last;
    double max_ns; /* NAN: none */
};

static int compare_records (const void *va, const void *vb)
{
    const struct history_record *a = va;
    const struct history_record *b = vb;
    int order = util_compare (a->subject, b->subject);

    if (!order)
        order = strcmp (a->name, b->name);
    if (!order)
        order = util_compare (a->audit, b->audit);
    if (!order)
        order = util_compare (a->time, b->time);
    return order ? order : util_compare (a->job, b->job);
}

static void sort_records (struct history *h)
{
    if (h->sorted < h->n)
        qsort (h->v, h->n, sizeof (*h->v), compare_records);
    h->sorted = h->n;
}

/* True if m is the first record of its audit, or of a check. */
static bool counts (const struct history_record *m, const struct history_record *begin)
{
    return m == begin || m->audit == 0 || m->audit != m[-1].audit;
}

static size_t count_days (const struct history_record *begin,
                          const struct history_record *end)
{
    size_t n = (size_t)(end - begin);
    uint64_t *day = xarray (n, sizeof (*day));
    size_t days = 0;

    for (size_t i = 0; i < n; i++)
        day[i] = (uint64_t)(begin[i].time / DAY_S);
    qsort (day, n, sizeof (*day), compare_u64);
    for (size_t i = 0; i < n; i++)
        days += i == 0 || day[i] != day[i - 1];
    free (day);
    return days;
}

static void summarise (struct summary *s, const struct history_record *begin,
                       const struct history_record *end)
{
    *s = (struct summary){ .begin = begin, .end = end, .max_ns = NAN,
                           .first = begin->time, .last = begin->time,
                           .days = count_days (begin, end) };
    for (const struct history_record *m = begin; m < end; m++) {
        struct counts *c = m->audit ? &s->audits : &s->checks;

        if (counts (m, begin))
            ++*(m->ambiguous ? &c->ambiguous : &c->of[m->status]);
        if (m->a[0])
            s->ends = m;
        if (m->time < s->first)
            s->first = m->time;
        if (m->time > s->last)
            s->last = m->time;
        if (!isnan (m->excess_ns)
            && !(fabs (s->max_ns) >= fabs (m->excess_ns)))
            s->max_ns = m->excess_ns;
    }
}

static int compare_counts (const struct counts *a, const struct counts *b)
{
    const size_t worst_first[][2] = {
        { a->of[VERDICT_FAIL], b->of[VERDICT_FAIL] },
        { a->ambiguous, b->ambiguous },
        { a->of[VERDICT_WARN], b->of[VERDICT_WARN] },
        { a->of[VERDICT_UNKNOWN], b->of[VERDICT_UNKNOWN] },
    };
    int order = 0;

    for (size_t i = 0; i < 4 && !order; i++)
        order = util_compare ((int64_t)worst_first[i][1],
                         (int64_t)worst_first[i][0]);
    return order;
}

static int compare_summaries (const void *va, const void *vb)
{
    const struct summary *a = va;
    const struct summary *b = vb;
    int order = compare_counts (&a->audits, &b->audits);

    if (!order)
        order = compare_counts (&a->checks, &b->checks);
    if (!order)
        order = util_compare (b->last, a->last);
    return order ? order : strcmp (a->begin->name, b->begin->name);
}

/* The summaries of all subjects of a kind, the worst first; the caller frees
 * them.
 */
static struct summary *list_subjects (struct history *h, enum subject subject,
                                      size_t *n)
{
    struct summary *v = xarray (h->n, sizeof (*v));
    size_t begin = 0;

    sort_records (h);
    *n = 0;
    for (size_t end; begin < h->n; begin = end) {
        const struct history_record *m = &h->v[begin];

        for (end = begin + 1; end < h->n
                              && h->v[end].subject == m->subject
                              && !strcmp (h->v[end].name, m->name);)
            end++;
        if (m->subject == subject)
            summarise (&v[(*n)++], m, h->v + end);
    }
    qsort (v, *n, sizeof (*v), compare_summaries);
    return v;
}

/*
 * Days
 */

struct day {
    int64_t day;
    struct counts audits, checks;
};

static int compare_days (const void *a, const void *b)
{
    return util_compare (((const struct day *)a)->day,
                    ((const struct day *)b)->day);
}

/* One struct day per entry at first, then the sum of each day; the caller frees
 * them.
 */
static struct day *list_days (struct history *h, size_t *n)
{
    struct day *v = xcalloc (h->n, sizeof (*v));
    size_t days = 0;

    sort_records (h);
    *n = 0;
    for (size_t i = 0; i < h->n && h->v[i].subject == ALL; i++) {
        const struct history_record *m = &h->v[i];
        struct day *day = &v[*n];

        if (!counts (m, h->v))
            continue;
        day->day = m->time / DAY_S;
        (m->audit ? &day->audits : &day->checks)->of[m->status] = 1;
        ++*n;
    }
    qsort (v, *n, sizeof (*v), compare_days);
    for (size_t i = 0; i < *n; i++) {
        if (days == 0 || v[days - 1].day != v[i].day) {
            v[days++] = v[i];
            continue;
        }
        for (int s = 0; s < STATUSES; s++) {
            v[days - 1].audits.of[s] += v[i].audits.of[s];
            v[days - 1].checks.of[s] += v[i].checks.of[s];
        }
    }
    *n = days;
    return v;
}

static void day_name (int64_t time, char buf[32])
{
    time_t t = (time_t)time;
    struct tm tm;

    if (!gmtime_r (&t, &tm) || strftime (buf, 32, "%Y-%m-%d", &tm) == 0)
        snprintf (buf, 32, "-");
}

/*
 * Text
 */

static size_t total (const struct counts *c)
{
    size_t n = c->ambiguous;

    for (int s = 0; s < STATUSES; s++)
        n += c->of[s];
    return n;
}

/* "3 audits: 2 FAIL, 1 OK" */
static void print_counts (const struct counts *c, const char *what, FILE *fp)
{
    const char *before = ": ";

    fputs (COUNTED (total (c), what), fp);
    for (int s = STATUSES - 1; s >= 0; s--)
        if (c->of[s] > 0) {
            fprintf (fp, "%s%zu %s", before, c->of[s],
                     verdict_status_name ((enum verdict_status)s));
            before = ", ";
        }
    if (c->ambiguous > 0)
        fprintf (fp, "%s%zu ambiguous", before, c->ambiguous);
}

static void print_both (const struct counts *audits,
                        const struct counts *checks, FILE *fp)
{
    if (total (audits) > 0 || total (checks) == 0)
        print_counts (audits, "audit", fp);
    if (total (audits) > 0 && total (checks) > 0)
        fputs ("; ", fp);
    if (total (checks) > 0)
        print_counts (checks, "check", fp);
}

static void print_subject (const struct summary *s, FILE *fp)
{
    char first[32], last[32];

    day_name (s->first, first);
    day_name (s->last, last);
    fprintf (fp, "  %s", s->begin->name);
    if (s->ends)
        fprintf (fp, " (%s -- %s)", s->ends->a, s->ends->b);
    fputs (": ", fp);
    print_both (&s->audits, &s->checks, fp);
    if (s->days > 1)
        fprintf (fp, "; on %zu days from %s to %s", s->days, first, last);
    else
        fprintf (fp, "; on %s", first);
    if (!isnan (s->max_ns))
        fprintf (fp, "; up to %+.0f ns", s->max_ns);
    fputc ('\n', fp);
}

static const char *const titles[SUBJECTS] = {
    [LINK] = "links", [NODE] = "nodes", [SWITCH] = "switches",
};

static void print_days (struct history *h, FILE *fp)
{
    size_t n;
    struct day *day = list_days (h, &n);

    for (size_t i = 0; i < n; i++) {
        char name[32];

        day_name (day[i].day * DAY_S, name);
        fprintf (fp, "%s  %s: ", i == 0 ? "days\n" : "", name);
        print_both (&day[i].audits, &day[i].checks, fp);
        fputc ('\n', fp);
    }
    free (day);
}

void history_text (struct history *h, FILE *fp)
{
    fprintf (fp, "%s with comments", COUNTED (h->jobs, "job"));
    for (int subject = ALL; subject < SUBJECTS; subject++) {
        size_t n;
        struct summary *v = list_subjects (h, (enum subject)subject, &n);

        if (subject == ALL) {
            fputs (n > 0 ? ": " : "", fp);
            if (n > 0)
                print_both (&v->audits, &v->checks, fp);
            fputc ('\n', fp);
        }
        else if (n > 0)
            fprintf (fp, "%s\n", titles[subject]);
        for (size_t i = 0; i < n && subject != ALL; i++)
            print_subject (&v[i], fp);
        free (v);
    }
    print_days (h, fp);
}

/*
 * JSON
 */

static json_t *counts_json (const struct counts *c)
{
    json_t *obj = json_pack ("{s:I}", "ambiguous", (json_int_t)c->ambiguous);

    for (int s = 0; s < STATUSES; s++)
        json_put (obj, verdict_status_name ((enum verdict_status)s),
                  json_integer ((json_int_t)c->of[s]));
    return obj;
}

static json_t *ns_json (double ns)
{
    return isnan (ns) ? json_null () : json_real (ns);
}

static json_t *seen_json (const struct summary *s)
{
    json_t *list = json_array ();

    for (const struct history_record *m = s->begin; m < s->end; m++)
        json_add (list,
                  json_pack ("{s:I,s:I,s:o,s:s,s:b,s:o}", "time",
                             (json_int_t)m->time, "job", (json_int_t)m->job,
                             "audit",
                             m->audit ? json_integer (m->audit) : json_null (),
                             "status", verdict_status_name (m->status),
                             "ambiguous", m->ambiguous, "excess_ns",
                             ns_json (m->excess_ns)));
    return list;
}

static json_t *subject_json (const struct summary *s)
{
    json_t *ends = s->ends ? json_pack ("[s,s]", s->ends->a, s->ends->b)
                           : json_array ();
    json_t *obj = json_pack ("{s:s,s:o,s:o,s:o,s:I,s:I,s:I,s:o,s:o}", "name",
                             s->begin->name, "ends", ends, "audits",
                             counts_json (&s->audits), "checks",
                             counts_json (&s->checks), "days",
                             (json_int_t)s->days, "first",
                             (json_int_t)s->first, "last",
                             (json_int_t)s->last, "max_ns",
                             ns_json (s->max_ns), "seen", seen_json (s));

    if (s->begin->subject != LINK)
        json_object_del (obj, "ends");
    return obj;
}

static json_t *subjects_json (struct history *h, enum subject subject)
{
    size_t n;
    struct summary *v = list_subjects (h, subject, &n);
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++)
        json_add (list, subject_json (&v[i]));
    free (v);
    return list;
}

static json_t *days_json (struct history *h)
{
    size_t n;
    struct day *day = list_days (h, &n);
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++) {
        char name[32];

        day_name (day[i].day * DAY_S, name);
        json_add (list, json_pack ("{s:s,s:o,s:o}", "day", name, "audits",
                                   counts_json (&day[i].audits), "checks",
                                   counts_json (&day[i].checks)));
    }
    free (day);
    return list;
}

json_t *history_json (struct history *h)
{
    size_t n;
    struct summary none = { 0 };
    struct summary *all = list_subjects (h, ALL, &n);
    const struct summary *s = n > 0 ? all : &none;
    json_t *obj = json_pack ("{s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "jobs",
                             (json_int_t)h->jobs, "audits",
                             counts_json (&s->audits), "checks",
                             counts_json (&s->checks), "links",
                             subjects_json (h, LINK), "nodes",
                             subjects_json (h, NODE), "switches",
                             subjects_json (h, SWITCH), "days", days_json (h));

    free (all);
    return xcheck (obj);
}
