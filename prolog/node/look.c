/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The look: this node's ports, and what the site knows about the node. */
#include "config.h"
#include "prolog/node/look.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"

enum {
    SKEW_S = 300, /* allowed between the clocks of two hosts */
    STATE_LINE = 256,
};

/*
 * Findings
 */

void look_add (struct look_result *look, enum verdict_status level,
               const char *what, const char *fmt, ...)
{
    struct look_finding *f = &look->v[look->n];

    if (level > look->level)
        look->level = level;
    if (level > VERDICT_OK) { /* hash what is wrong (FNV-1a), in its order */
        if (look->what == 0)
            look->what = UINT64_C (0xcbf29ce484222325);
        do
            look->what = (look->what ^ (unsigned char)*what)
                         * UINT64_C (0x100000001b3);
        while (*what++);
    }
    if (look->n == LOOK_FINDINGS_MAX) {
        look->more++;
        return;
    }
    f->level = level;
    TEXT_PRINT (f->text, sizeof (f->text), fmt);
    text_clean (f->text);
    look->n++;
}

/* Add a figure, if it fits whole. */
__attribute__ ((format (printf, 2, 3))) static void
add_figure (struct look_result *look, const char *fmt, ...)
{
    size_t len = strlen (look->perf);
    va_list ap;
    int n;

    va_start (ap, fmt);
    n = vsnprintf (look->perf + len, LOOK_PERF - len, fmt, ap);
    va_end (ap);
    if (n < 0 || (size_t)n >= LOOK_PERF - len)
        look->perf[len] = '\0';
}

static void append_look_text (char *line, const char *separator,
                              const char *text)
{
    size_t len = strlen (line);

    snprintf (line + len, LOOK_LINE - len, "%s%s", separator, text);
}

const char *look_line (const struct look_result *look, const char *const *word,
                       char *line)
{
    const char *separator = ": ";
    char more[32];

    snprintf (line, LOOK_LINE, "%s", word[look->level]);
    for (int level = VERDICT_FAIL; level >= VERDICT_OK; level--)
        for (size_t i = 0; i < look->n; i++)
            if ((int)look->v[i].level == level) {
                append_look_text (line, separator, look->v[i].text);
                separator = "; ";
            }
    if (look->more > 0) {
        snprintf (more, sizeof (more), "%zu more", look->more);
        append_look_text (line, separator, more);
    }
    return line;
}

/*
 * Ports
 */

/* The stored state of a port; NULL: none, as it was never active. */
static const struct look_port *find_past (const struct look_state *s,
                                          const struct local_port *p)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct look_port *past = &s->port[i];

        if (past->port == p->port && !strcmp (past->device, p->device)
            && (past->guid == p->guid || p->guid == 0))
            return past;
    }
    return NULL;
}

/* Compare a counter with the older mark of its window, and move the marks. */
static void look_counter (struct look_result *look, struct look_port *past,
                          const struct local_port *p, size_t i, int64_t now)
{
    const struct local_counter *c = &local_counters[i];
    const struct look_mark mark = { p->counter[i], now };
    struct look_mark *older = &past->older[i], *newer = &past->newer[i];
    uint64_t grown;
    double windows;
    char what[160];

    if (!p->has[i] || c->window_s == 0)
        return;
    snprintf (what, sizeof (what), "%s/%u %s", p->device, p->port, c->name);
    if (!past->counts[i] || newer->time > now || older->time > newer->time) {
        *older = *newer = mark;
        past->counts[i] = true;
    }
    if (mark.value < newer->value)
        older->value = newer->value = 0;
    grown = mark.value - older->value;
    windows = (double)(now - older->time) / c->window_s;
    if ((double)grown > (double)c->healthy * (windows > 1 ? windows : 1))
        look_add (look, VERDICT_WARN, what, "%s +%" PRIu64 " within %" PRId64
                  " min", what, grown, (now - older->time) / 60 + 1);
    else if (mark.value == c->end)
        look_add (look, VERDICT_OK, what, "%s is at its end, %" PRIu64, what,
                  c->end);
    if (now - newer->time >= (int64_t)c->window_s) {
        *older = *newer;
        *newer = mark;
    }
}

static void look_rate (struct look_result *look, struct look_port *past,
                       const struct local_port *p,
                       const struct cache_port *cached,
                       const struct rates *want)
{
    const struct rates *all[] = { &past->best, &cached->rate };
    const struct rates *rate = &p->rate;
    char what[96];
    bool wish = want->lanes || want->speeds;

    if (!rates_narrower (rate, &past->best)
        && !rates_slower (rate, &past->best))
        past->best = *rate;
    for (size_t i = 0; i < (wish ? 1 : 2); i++) {
        const struct rates *than = wish ? want : all[i];

        if (!rates_narrower (rate, than) && !rates_slower (rate, than))
            continue;
        snprintf (what, sizeof (what), "%s/%u rate", p->device, p->port);
        look_add (look, VERDICT_WARN, what, "%s/%u is %s, not %s", p->device,
                  p->port, RATES_SHOWN (rate), RATES_SHOWN (than));
        return;
    }
}

static void look_pcie (struct look_result *look, const struct local_port *p)
{
    const struct pcie_rate *now = &p->pcie.now, *could = &p->pcie.could;
    bool narrow = now->lanes < could->lanes;
    char what[96];

    if (!now->lanes)
        return;
    add_figure (look, " '%s PCIe lanes'=%u;;;0;%u '%s PCIe GT/s'=%g;;;0;%g",
                p->device, now->lanes, could->lanes, p->device, now->mts / 1e3,
                could->mts / 1e3);
    if (!pcie_is_degraded (&p->pcie))
        return;
    snprintf (what, sizeof (what), "%s PCIe", p->device);
    look_add (look, narrow ? VERDICT_WARN : VERDICT_OK, what,
              "%s: PCIe%s%s runs at %s of %s%s", p->device,
              *p->pcie.address ? " at " : "", p->pcie.address,
              PCIE_SHOWN (now), PCIE_SHOWN (could),
              narrow ? "" : ", as idle links may");
}

/* Whether the port still exists, under this name or another. */
static bool is_port_present (const struct look_port *past,
                             const struct look_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        if ((past->guid != 0 && past->guid == in->port[i].guid)
            || (past->port == in->port[i].port
                && !strcmp (past->device, in->port[i].device)))
            return true;
    return false;
}

/* Look at a port. Return whether it is active. */
static bool look_port (struct look_result *look, struct look_port *past,
                       const struct local_port *p, bool known,
                       const struct cache_port *cached,
                       const struct look_input *in)
{
    char what[96];

    if (p->state == LOCAL_ACTIVE) {
        look_rate (look, past, p, cached, &in->want);
        for (size_t k = 0; k < LOCAL_COUNTERS; k++)
            look_counter (look, past, p, k, in->now);
        return true;
    }
    snprintf (what, sizeof (what), "%s/%u %u", p->device, p->port, p->state);
    if (p->state == 0)
        look_add (look, VERDICT_UNKNOWN, what,
                  "%s/%u does not report its state", p->device, p->port);
    else if (known)
        look_add (look, VERDICT_FAIL, what, "%s/%u is %s (%s)", p->device,
                  p->port, local_state_name (p->state),
                  local_phys_state_name (p->phys_state));
    return false;
}

static void add_counters (struct look_result *look, const struct local_port *p)
{
    for (size_t i = 0; i < LOCAL_COUNTERS; i++)
        if (p->has[i] && local_counters[i].window_s > 0)
            add_figure (look, " '%s/%u %s'=%" PRIu64 "c", p->device, p->port,
                        local_counters[i].name, p->counter[i]);
}

void look_ports (struct look_result *look, struct look_state *state,
                 const struct look_input *in)
{
    static const struct cache_port nothing;
    struct look_state last = *state;
    size_t ports = 0, active = 0, gone = 0, wanted = 0;
    char what[96];

    memset (look, 0, sizeof (*look));
    if (strcmp (last.boot, in->boot))
        for (size_t i = 0; i < last.n; i++)
            memset (last.port[i].counts, 0, sizeof (last.port[i].counts));
    snprintf (state->boot, sizeof (state->boot), "%s", in->boot);
    state->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const struct local_port *p = &in->port[i];
        const struct cache_port *c = in->cached ? &in->cached[i] : &nothing;
        const struct look_port *old = find_past (&last, p);
        struct look_port past = { .port = p->port, .guid = p->guid };

        if (p->layer == LAYER_ETHERNET || (p->layer == LAYER_OTHER && !old))
            continue;
        if (old)
            past = *old;
        else
            strcpy (past.device, p->device);
        ports++;
        wanted += old || c->known || p->state == LOCAL_ACTIVE;
        active += look_port (look, &past, p, old || c->known, c, in);
        if (old || p->state == LOCAL_ACTIVE)
            state->port[state->n++] = past;
    }
    for (size_t i = 0; i < last.n; i++) {
        const struct look_port *p = &last.port[i];

        if (is_port_present (p, in))
            continue;
        snprintf (what, sizeof (what), "%s/%u gone", p->device, p->port);
        look_add (look, VERDICT_FAIL, what, "%s/%u is gone", p->device,
                  p->port);
        if (state->n < LOCAL_PORTS_MAX)
            state->port[state->n++] = *p;
        gone++;
    }
    if (in->expected > ports + gone)
        look_add (look, VERDICT_FAIL, "expected", "%s expected, %zu found",
                  COUNTED (in->expected, "port"), ports);
    wanted = in->expected > wanted + gone ? in->expected : wanted + gone;
    add_figure (look, " active=%zu;;%zu:;0", active, wanted);
    for (size_t i = 0; i < in->n; i++)
        if (in->port[i].layer == LAYER_INFINIBAND)
            add_counters (look, &in->port[i]);
    for (size_t i = 0; i < in->n; i++)
        if (in->port[i].layer == LAYER_INFINIBAND
            && (i == 0 || strcmp (in->port[i].device, in->port[i - 1].device)))
            look_pcie (look, &in->port[i]);
    if (ports == 0 && look->level == VERDICT_OK)
        look_add (look, VERDICT_UNKNOWN, "none",
                  "no InfiniBand port, and it is not known how many there "
                  "should be");
    else if (active > 0)
        look_add (look, VERDICT_OK, "", "%zu of %s active", active,
                  COUNTED (ports, "port"));
    else if (look->level == VERDICT_OK)
        look_add (look, VERDICT_WARN, "none", "none of %s active",
                  COUNTED (ports, "port"));
}

void look_verdict (struct look_result *look, const struct cache_view *view,
                   int64_t now, int64_t max_age_s)
{
    char what[64];

    if (!view->known)
        return;
    snprintf (what, sizeof (what), "audit %" PRIu64, view->audit);
    if (view->when <= now)
        add_figure (look, " audit_age=%" PRId64 "s;;;0", now - view->when);
    if (view->when > now + SKEW_S)
        look_add (look, VERDICT_OK, what, "%s has a time stamp in the future",
                  what);
    else if (now - view->when > max_age_s)
        look_add (look, VERDICT_OK, what, "%s is %" PRId64 " h old", what,
                  (now - view->when) / 3600);
    else if (view->level == VERDICT_OK)
        look_add (look, VERDICT_OK, what, "%s OK", what);
    else if (view->level == VERDICT_UNKNOWN)
        look_add (look, VERDICT_OK, what, "%s could not tell: %s", what,
                  view->sentence);
    else
        look_add (look, view->level, what, "%s %s: %s", what,
                  view->level == VERDICT_FAIL ? "FAIL" : "WARN",
                  view->sentence);
}

/*
 * The state's file
 *
 *     pmm-local 1 <boot id> <said>
 *     port <device> <number> <GUID> <best rate>
 *     counter <name> <older value> <time> <newer value> <time>    of that port
 *     end
 */

static int parse_look_counter (struct look_port *p, const char *line)
{
    char name[64];
    struct look_mark older, newer;
    int end = 0;

    if (sscanf (line,
                "counter %63s %" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNd64
                "%n",
                name, &older.value, &older.time, &newer.value, &newer.time,
                &end) != 5 || strcmp (line + end, "\n"))
        return -1;
    for (size_t i = 0; i < LOCAL_COUNTERS; i++)
        if (!strcmp (name, local_counters[i].file)) {
            if (older.value > newer.value || older.time < 0
                || newer.time < older.time)
                return -1;
            p->older[i] = older;
            p->newer[i] = newer;
            p->counts[i] = true;
            return 0;
        }
    return -1;
}

static int parse_look_port (struct look_state *s, const char *line)
{
    struct look_port *p = &s->port[s->n];
    char best[RATES_TEXT];
    int end = 0;

    if (s->n == LOCAL_PORTS_MAX
        || sscanf (line, "port %63s %3u %16" SCNx64 " %15s%n", p->device,
                   &p->port, &p->guid, best, &end) != 4
        || strcmp (line + end, "\n") || !text_is_hostname (p->device)
        || rates_parse_one (best, &p->best) < 0)
        return -1;
    s->n++;
    return 0;
}

static int get_state (FILE *fp, struct look_state *s)
{
    char line[STATE_LINE];
    int end = 0;

    if (!fgets (line, sizeof (line), fp)
        || sscanf (line, "pmm-local 1 %39s %" SCNx64 "%n", s->boot, &s->said,
                   &end) != 2
        || strcmp (line + end, "\n"))
        return -1;
    while (fgets (line, sizeof (line), fp)) {
        if (!strcmp (line, "end\n"))
            return 0;
        if (!strncmp (line, "port ", 5)
                ? parse_look_port (s, line) < 0
                : s->n == 0
                      || parse_look_counter (&s->port[s->n - 1], line) < 0)
            return -1;
    }
    return -1;
}

void look_state_read (const char *path, uid_t owner, struct look_state *state)
{
    FILE *fp = file_open_trusted (path, owner, NULL);

    memset (state, 0, sizeof (*state));
    if (fp && get_state (fp, state) < 0)
        memset (state, 0, sizeof (*state));
    file_close_input (fp);
}

int look_state_write (const char *path, const struct look_state *s,
                      struct error *err)
{
    struct outfile *out = file_create_private (path, err);
    FILE *fp;

    if (!out)
        return -1;
    fp = file_stream (out);
    fprintf (fp, "pmm-local 1 %s %" PRIx64 "\n", s->boot, s->said);
    for (const struct look_port *p = s->port; p < s->port + s->n; p++) {
        fprintf (fp, "port %s %u %016" PRIx64 " %s\n", p->device, p->port,
                 p->guid, RATES_SHOWN (&p->best));
        for (size_t i = 0; i < LOCAL_COUNTERS; i++)
            if (p->counts[i])
                fprintf (fp,
                         "counter %s %" PRIu64 " %" PRId64 " %" PRIu64
                         " %" PRId64 "\n",
                         local_counters[i].file, p->older[i].value,
                         p->older[i].time, p->newer[i].value,
                         p->newer[i].time);
    }
    fprintf (fp, "end\n");
    return file_commit (out, err);
}
