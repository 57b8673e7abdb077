/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history from the comments of many jobs.
 *
 * Notes: each entry of a comment gives one record for ALL, one for its day, and
 * one for each link, node and switch that it suspects. Sorting puts the records
 * of one subject together, and among these the records of one audit.
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
#include "util/terminal.h"
#include "util/text.h"

enum subject { ALL, LINK, NODE, SWITCH, DAY, SUBJECTS };

enum {
    STATUSES = VERDICT_FAIL + 1,
    DAY_S = 24 * 3600,
    RECORDS_OF_ENTRY = 6, /* at most */
};

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

static const char *const titles[SUBJECTS] = {
    [LINK] = "links", [NODE] = "nodes", [SWITCH] = "switches", [DAY] = "days",
};

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
    double share;     /* of its expected rate that it carried; NAN: none */
};

struct history {
    struct history_record *v;
    size_t n;
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

static void day_name (int64_t time, char buf[32])
{
    time_t t = (time_t)time;
    struct tm tm;

    if (!gmtime_r (&t, &tm) || strftime (buf, 32, "%Y-%m-%d", &tm) == 0)
        snprintf (buf, 32, "-");
}

/* Add a record of a subject whose name is that of the device in a port's name
 * if `of_port`; none if it has no name.
 */
static void add_record (struct history *h, struct history_record m,
                        enum subject subject, const char *name, bool of_port)
{
    const char *slash = of_port ? strrchr (name, '/') : NULL;

    if (subject != ALL && !*name)
        return;
    m.subject = subject;
    snprintf (m.name, sizeof (m.name), "%.*s",
              slash ? (int)(slash - name) : (int)strlen (name), name);
    h->v = xgrow (h->v, h->n, sizeof (*h->v));
    h->v[h->n++] = m;
}

/* Add the entries of this source. Return their number, or -1 with err. */
static int add_field (struct history *h, uint32_t job, int64_t end,
                      const char *field, enum comment_source source,
                      struct error *err)
{
    struct comment c;
    char day[32];
    int n = 0;

    day_name (end, day);
    while (n < HISTORY_ENTRIES_MAX && comment_next (&field, &c)) {
        struct history_record m = {
            .audit = c.audit, .time = end, .job = job, .status = c.status,
            .excess_ns = c.excess_ns,
            .share = c.rate_expected_bits > 0
                         ? c.rate_bits / c.rate_expected_bits : NAN,
        };

        if (c.source != source)
            continue;
        if (h->n + RECORDS_OF_ENTRY > HISTORY_RECORDS_MAX)
            return error_world (err, "the comments tell of more than %d "
                                     "findings: ask for less time",
                                HISTORY_RECORDS_MAX);
        n++;
        add_record (h, m, ALL, "", false);
        add_record (h, m, DAY, day, false);
        add_record (h, m, NODE, c.node, false);
        m.ambiguous = c.others > 0;
        if (c.found && (c.kind == FINDING_SWITCH || !c.to[0]))
            add_record (h, m, SWITCH, c.worst, false);
        else if (c.found) {
            if (c.kind != FINDING_HOST_END)
                add_record (h, m, SWITCH, c.worst, true);
            add_record (h, m, SWITCH, c.to, true);
        }
        if (c.to[0]) {
            memcpy (m.a, c.worst, sizeof (m.a));
            memcpy (m.b, c.to, sizeof (m.b));
        }
        add_record (h, m, LINK, c.link, false);
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

/*
 * Counts
 */

/* By status; findings that are ambiguous are counted only as that. */
enum { AMBIGUOUS = STATUSES, COUNTS };

/* Summary of one subject's records, [begin, end). */
struct summary {
    const struct history_record *begin, *end;
    const struct history_record *ends; /* a record with both ends, or NULL */
    size_t of[2][COUNTS]; /* audits, checks */
    size_t days;
    int64_t first, last;
    double max_ns; /* NAN: none */
    double least;  /* share of the expected rate; likewise */
};

/* True if m is the first record of its audit, or of a check. */
static bool is_first_of_audit (const struct history_record *m,
                               const struct history_record *begin)
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
    sort_array (day, n, compare_u64);
    for (size_t i = 0; i < n; i++)
        days += i == 0 || day[i] != day[i - 1];
    free (day);
    return days;
}

static struct summary summarise (const struct history_record *begin,
                                 const struct history_record *end)
{
    struct summary s = { .begin = begin, .end = end, .max_ns = NAN,
                         .least = NAN,
                         .first = begin->time, .last = begin->time,
                         .days = count_days (begin, end) };

    for (const struct history_record *m = begin; m < end; m++) {
        if (is_first_of_audit (m, begin))
            s.of[!m->audit][m->ambiguous ? AMBIGUOUS : (int)m->status]++;
        if (m->a[0])
            s.ends = m;
        if (m->time < s.first)
            s.first = m->time;
        if (m->time > s.last)
            s.last = m->time;
        if (!isnan (m->excess_ns) && !(fabs (s.max_ns) >= fabs (m->excess_ns)))
            s.max_ns = m->excess_ns;
        s.least = fmin (s.least, m->share);
    }
    return s;
}

/* The worst first, by audits, then by checks; then the latest. */
static int compare_summaries (const void *va, const void *vb)
{
    static const int by[] = { VERDICT_FAIL, AMBIGUOUS, VERDICT_WARN,
                              VERDICT_UNKNOWN };
    const struct summary *a = va;
    const struct summary *b = vb;
    int order = 0;

    for (size_t i = 0; i < 2 * COUNT (by) && !order; i++)
        order = util_compare (b->of[i / COUNT (by)][by[i % COUNT (by)]],
                              a->of[i / COUNT (by)][by[i % COUNT (by)]]);
    if (!order)
        order = util_compare (b->last, a->last);
    return order ? order : strcmp (a->begin->name, b->begin->name);
}

/*
 * JSON
 */

/* Set the audits and checks of an object. */
static void put_counts (json_t *obj, const struct summary *s)
{
    for (int i = 0; i < 2; i++) {
        json_t *counts = json_object ();

        json_put (counts, "ambiguous",
                  json_integer ((json_int_t)s->of[i][AMBIGUOUS]));
        for (int k = 0; k < STATUSES; k++)
            json_put (counts, verdict_status_name ((enum verdict_status)k),
                      json_integer ((json_int_t)s->of[i][k]));
        json_put (obj, i == 0 ? "audits" : "checks", counts);
    }
}

static json_t *subject_json (const struct summary *s)
{
    bool is_day = s->begin->subject == DAY;
    json_t *obj = json_pack ("{s:s}", is_day ? "day" : "name", s->begin->name);
    json_t *list;

    put_counts (obj, s);
    if (is_day)
        return obj;
    if (s->begin->subject == LINK)
        json_put (obj, "ends",
                  s->ends ? json_pack ("[s,s]", s->ends->a, s->ends->b)
                          : json_array ());
    list = json_array ();
    for (const struct history_record *m = s->begin; m < s->end; m++)
        json_add (list,
                  json_pack ("{s:I,s:I,s:o,s:s,s:b,s:o,s:o}", "time",
                             (json_int_t)m->time, "job", (json_int_t)m->job,
                             "audit",
                             m->audit ? json_integer (m->audit) : json_null (),
                             "status", verdict_status_name (m->status),
                             "ambiguous", m->ambiguous, "excess_ns",
                             number_json (m->excess_ns), "share",
                             number_json (m->share)));
    json_object_update_new (
        obj, json_pack ("{s:I,s:I,s:I,s:o,s:o,s:o}", "days", (json_int_t)s->days,
                        "first", (json_int_t)s->first, "last",
                        (json_int_t)s->last, "max_ns", number_json (s->max_ns),
                        "min_share", number_json (s->least), "seen", list));
    return obj;
}

json_t *history_json (struct history *h)
{
    json_t *obj = json_pack ("{s:I}", "jobs", (json_int_t)h->jobs);
    struct summary *v = xarray (h->n, sizeof (*v));
    size_t i = 0;

    sort_array (h->v, h->n, compare_records);
    for (enum subject subject = ALL; subject < SUBJECTS; subject++) {
        json_t *list;
        size_t n = 0;

        while (i < h->n && h->v[i].subject == subject) {
            size_t begin = i;

            while (i < h->n && h->v[i].subject == subject
                   && !strcmp (h->v[i].name, h->v[begin].name))
                i++;
            v[n++] = summarise (&h->v[begin], &h->v[i]);
        }
        if (subject == ALL) {
            put_counts (obj, n > 0 ? v : &(struct summary){ 0 });
            continue;
        }
        if (subject != DAY)
            sort_array (v, n, compare_summaries);
        list = json_array ();
        for (size_t k = 0; k < n; k++)
            json_add (list, subject_json (&v[k]));
        json_put (obj, titles[subject], list);
    }
    free (v);
    return obj;
}

/*
 * Text, of the JSON
 */

static int64_t sum_json_values (const json_t *obj)
{
    int64_t n = 0;
    const char *key;
    json_t *v;

    json_object_foreach ((json_t *)obj, key, v)
        n += json_integer_value (v);
    return n;
}

/* "3 audits: 2 FAIL, 1 OK" */
static void print_counts (const json_t *obj, const char *what, FILE *fp)
{
    const char *before = ": ";

    fputs (COUNTED ((uint64_t)sum_json_values (obj), what), fp);
    for (int s = STATUSES; s-- > -1;) { /* the worst first, then ambiguous */
        const char *name = s < 0 ? "ambiguous" : verdict_status_name (
                                                     (enum verdict_status)s);
        int64_t n = json_int (obj, name, 0);

        if (n == 0)
            continue;
        fprintf (fp, "%s%jd %s", before, (intmax_t)n, terminal_level (name));
        before = ", ";
    }
}

/* The audits and checks of an object. */
static void print_both (const json_t *obj, FILE *fp)
{
    const json_t *audits = json_object_get (obj, "audits");
    const json_t *checks = json_object_get (obj, "checks");

    if (sum_json_values (audits) > 0 || sum_json_values (checks) == 0)
        print_counts (audits, "audit", fp);
    if (sum_json_values (audits) > 0 && sum_json_values (checks) > 0)
        fputs ("; ", fp);
    if (sum_json_values (checks) > 0)
        print_counts (checks, "check", fp);
}

static void print_subject (const json_t *s, FILE *fp)
{
    const json_t *ends = json_object_get (s, "ends");
    const json_t *max = json_object_get (s, "max_ns");
    const json_t *least = json_object_get (s, "min_share");
    int64_t days = json_int (s, "days", 0);
    char first[32], last[32];

    day_name (json_int (s, "first", 0), first);
    day_name (json_int (s, "last", 0), last);
    fprintf (fp, "  %s%s", json_text (s, "day"), json_text (s, "name"));
    if (json_array_size (ends) == 2)
        fprintf (fp, " (%s -- %s)",
                 json_string_value (json_array_get (ends, 0)),
                 json_string_value (json_array_get (ends, 1)));
    fputs (": ", fp);
    print_both (s, fp);
    if (days > 1)
        fprintf (fp, "; on %jd days from %s to %s", (intmax_t)days, first,
                 last);
    else if (days == 1)
        fprintf (fp, "; on %s", first);
    if (json_is_real (max))
        fprintf (fp, "; up to %+.0f ns", json_real_value (max));
    if (json_is_real (least))
        fprintf (fp, "; down to %.0f %% of its rate",
                 100 * json_real_value (least));
    fputc ('\n', fp);
}

void history_text (struct history *h, FILE *fp)
{
    json_t *obj = history_json (h);
    json_t *v;
    size_t i;

    fprintf (fp, "%s with comments", COUNTED (h->jobs, "job"));
    if (h->n > 0) {
        fputs (": ", fp);
        print_both (obj, fp);
    }
    fputc ('\n', fp);
    for (enum subject subject = LINK; subject < SUBJECTS; subject++)
        json_array_foreach (json_object_get (obj, titles[subject]), i, v) {
            if (i == 0)
                fprintf (fp, "%s\n", titles[subject]);
            print_subject (v, fp);
        }
    json_decref (obj);
}
