/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict cache. */
#include "config.h"
#include "prolog/node/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/text.h"

enum { LINE_MAX_BYTES = 512 };

/* Instead of verdict_status_name, to keep the hooks small. */
static const char *const level_name[] = {
    [VERDICT_OK] = "OK",
    [VERDICT_WARN] = "WARN",
    [VERDICT_UNKNOWN] = "UNKNOWN",
    [VERDICT_FAIL] = "FAIL",
};
enum { LEVELS = sizeof (level_name) / sizeof (level_name[0]) };

int cache_write (const char *path, int64_t now, const struct cache *c,
                 struct error *err)
{
    struct outfile *out = file_create_public (path, err);
    char sentence[CACHE_SENTENCE];
    FILE *fp;

    if (!out)
        return -1;
    fp = file_stream (out);
    fprintf (fp, "pmm-verdicts 1 %" PRId64 "\n", now);
    for (const struct cache_node *n = c->node; n < c->node + c->nnodes; n++)
        if (text_is_hostname (n->name)) {
            snprintf (sentence, sizeof (sentence), "%s",
                      n->sentence ? n->sentence : "");
            if (n->audit > 0)
                fprintf (fp, "node %s %s %" PRIu64 " %" PRId64 " %s\n",
                         n->name, level_name[n->level], n->audit, n->time,
                         text_clean (sentence));
            if (n->ports > 0)
                fprintf (fp, "ports %s %" PRIu64 " %" PRId64 "\n", n->name,
                         n->ports, n->seen);
        }
    for (size_t i = 0; i < c->nports; i++)
        fprintf (fp, "port %016" PRIx64 " %s\n", c->port[i].guid,
                 RATES_SHOWN (&c->port[i].rate));
    fprintf (fp, "end\n");
    return file_commit (out, err);
}

struct cache_reading {
    const char *node;
    struct cache_view *view;
    struct cache_port *port;
    size_t nports;
};

/* Whether a line is of our node; -1: it has no name. There are many lines: *s moves
 * behind the name, and the rest is read of ours alone.
 */
static int is_of_node (const struct cache_reading *r, char **s)
{
    size_t len = strcspn (*s, " ");
    bool ours = !strncmp (*s, r->node, len) && !r->node[len];

    if (len == 0 || **s == '-')
        return -1;
    *s += len;
    return ours;
}

static int get_node (struct cache_reading *r, char *s)
{
    uint64_t audit, when;
    int i = 0, end = 0, rc = is_of_node (r, &s);
    char level[8];

    if (rc <= 0)
        return rc;
    if (sscanf (s, " %7s %" SCNu64 " %" SCNu64 "%n", level, &audit, &when, &end) != 3
        || audit > INT64_MAX || when > INT64_MAX || s[end] != ' '
        || strlen (s + end + 1) >= CACHE_SENTENCE)
        return -1;
    while (i < LEVELS && strcmp (level, level_name[i]))
        i++;
    if (i == LEVELS)
        return -1;
    r->view->known = true;
    r->view->level = i;
    r->view->audit = audit;
    r->view->when = (int64_t)when;
    strcpy (r->view->sentence, text_clean (s + end + 1));
    return 0;
}

/* A GUID of exactly 16 hex digits, and a rate. Not by sscanf, for speed: there
 * are many lines.
 */
static int parse_cache_port (struct cache_reading *r, const char *s)
{
    uint64_t guid;

    if (strspn (s, "0123456789abcdef") != 16 || s[16] != ' ')
        return -1;
    guid = strtoull (s, NULL, 16);
    for (size_t i = 0; i < r->nports; i++)
        if (guid == r->port[i].guid) {
            r->port[i].known = true;
            if (rates_parse_one (s + 17, &r->port[i].rate) < 0)
                return -1;
        }
    return 0;
}

static int get_expect (struct cache_reading *r, char *s)
{
    uint64_t ports;
    int end = 0, rc = is_of_node (r, &s);

    if (rc <= 0)
        return rc;
    if (sscanf (s, " %" SCNu64 " %*u%n", &ports, &end) != 1 || end == 0
        || s[end] || ports > INT64_MAX)
        return -1;
    r->view->ports = ports;
    return 0;
}

/* Return 1 at the end, 0 to continue, -1 if the line is invalid. */
static int get_line (struct cache_reading *r, char *line)
{
    char *newline = strchr (line, '\n');

    if (!newline)
        return -1;
    *newline = '\0';
    if (!strncmp (line, "node ", 5))
        return get_node (r, line + 5);
    if (!strncmp (line, "port ", 5))
        return parse_cache_port (r, line + 5);
    if (!strncmp (line, "ports ", 6))
        return get_expect (r, line + 6);
    return strcmp (line, "end") ? -1 : 1;
}

static int read_verdict_cache (FILE *fp, struct cache_reading *r,
                               struct error *err)
{
    static const char head[] = "pmm-verdicts 1 ";
    char line[LINE_MAX_BYTES];
    struct stat st;
    uint64_t time;
    size_t n = 1;
    int rc = 0;

    if (fstat (fileno (fp), &st) < 0)
        return error_errno (err, "cannot read its size");
    if (st.st_size > CACHE_BYTES_MAX)
        return error_input (err, "larger than %d bytes", CACHE_BYTES_MAX);
    if (!fgets (line, sizeof (line), fp)
        || strncmp (line, head, sizeof (head) - 1))
        return error_input (err, "not a pmm-verdicts 1 file");
    line[strcspn (line, "\n")] = '\0';
    if (text_u64 (line + sizeof (head) - 1, 0, INT64_MAX, &time) < 0)
        return error_input (err, "not a pmm-verdicts 1 file");
    r->view->time = (int64_t)time;
    while (rc == 0 && fgets (line, sizeof (line), fp)) {
        rc = get_line (r, line);
        n++;
    }
    if (ferror (fp))
        return error_errno (err, "cannot read");
    if (rc == 0)
        return error_input (err, "cut short");
    if (rc < 0)
        return error_input (err, "line %zu is invalid", n);
    return 0;
}

int cache_read (const char *path, uid_t owner, const char *node,
                struct cache_view *view, struct cache_port *port,
                size_t nports, struct error *err)
{
    struct cache_reading r = { node, view, port, nports };
    FILE *fp = file_open_trusted (path, owner, err);
    int rc;

    if (!fp)
        return -1;
    memset (view, 0, sizeof (*view));
    errno = 0;
    if ((rc = read_verdict_cache (fp, &r, err)) < 0)
        error_prefix (err, "%s", path);
    file_close_input (fp);
    return rc;
}
