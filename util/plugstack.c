/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/plugstack.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { INCLUDES_MAX = 4 }; /* nesting depth */

struct search {
    const char *name;
    struct plugstack_line *line;
    int found; /* what plugstack_find returns */
    struct error *err;
};

static void read_plugstack_file (struct search *s, const char *path, int depth);

static void include (struct search *s, const char *file, const char *pattern,
                     int depth)
{
    const char *slash = *pattern == '/' ? NULL : strrchr (file, '/');
    char path[PATH_MAX];
    glob_t found;

    if (depth >= INCLUDES_MAX
        || snprintf (path, sizeof (path), "%.*s%s",
                     slash ? (int)(slash + 1 - file) : 0, file, pattern)
               >= (int)sizeof (path)
        || glob (path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc && s->found <= 0; i++)
        read_plugstack_file (s, found.gl_pathv[i], depth + 1);
    globfree (&found);
}

/* The next word; *rest is what follows it. NULL at the end. */
static char *next_plugstack_word (char **rest)
{
    char *word;

    while ((word = strsep (rest, " \t\r\n")) && !*word)
        ;
    return word;
}

static void read_plugstack_line (struct search *s, const char *file, int lineno,
                                 char *rest, int depth)
{
    struct plugstack_line *line = s->line;
    char *first, *path, *base, *word;
    size_t len = 0;

    rest[strcspn (rest, "#")] = '\0';
    first = next_plugstack_word (&rest);
    path = next_plugstack_word (&rest);
    if (!first || !path)
        return;
    base = strrchr (path, '/');
    if (!strcmp (first, "include"))
        include (s, file, path, depth);
    else if (!strcmp (base ? base + 1 : path, s->name)) {
        s->found = 1;
        line->required = !strcmp (first, "required");
        line->lineno = lineno;
        snprintf (line->file, sizeof (line->file), "%s", file);
        snprintf (line->path, sizeof (line->path), "%s", path);
        line->words[0] = '\0';
        while ((word = next_plugstack_word (&rest))
               && len < sizeof (line->words))
            len += (size_t)snprintf (line->words + len,
                                     sizeof (line->words) - len, "%s%s",
                                     len ? " " : "", word);
    }
}

static void read_plugstack_file (struct search *s, const char *path, int depth)
{
    char line[PLUGSTACK_LINE];
    FILE *fp = fopen (path, "re");

    if (!fp) {
        s->found = errno == ENOENT && depth > 0
                       ? error_input (s->err, "%s is a link to nothing", path)
                       : error_errno (s->err, "cannot read %s", path);
        return;
    }
    for (int n = 1; s->found <= 0 && fgets (line, sizeof (line), fp); n++)
        read_plugstack_line (s, path, n, line, depth);
    fclose (fp);
}

int plugstack_find (const char *path, const char *name,
                    struct plugstack_line *line, struct error *err)
{
    struct search s = { name, line, 0, err };

    read_plugstack_file (&s, path, 0);
    return s.found;
}
