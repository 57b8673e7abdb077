/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/json.h"

#include <string.h>
#include <sys/stat.h>

#include "util/terminal.h"
#include "util/text.h"

enum {
    PIECE = 1 << 16, /* bytes */
    STRING_MAX = 255,
    KEY_MAX = 32,        /* of items */
    FILE_VERSION = 1,    /* of all kinds of files, but */
    SAMPLES_VERSION = 2, /* of samples: loopbacks, and data about the nodes */
};

static int version_of (const char *kind)
{
    return strcmp (kind, "samples") == 0 ? SAMPLES_VERSION : FILE_VERSION;
}

struct json_source {
    FILE *fp;
    size_t left, total; /* total 0: not known */
    bool too_long;

    const struct json_items *items; /* NULL: none */
    size_t nitems;
    bool bad; /* take failed, or there is no item where one must be */
    struct error why;
    /* where the text around items is */
    unsigned int depth;
    bool string, escaped;
    char last[KEY_MAX]; /* the string before, if it is not longer */
    size_t length;
};

static int next_char (struct json_source *src)
{
    int c;

    src->too_long = src->left == 0;
    if (src->too_long || (c = getc_unlocked (src->fp)) == EOF)
        return EOF;
    if (src->left-- % PIECE == 0)
        terminal_work ("reading bytes", (size_t)ftell (src->fp), src->total);
    return c;
}

/* The next one that is no space is not consumed. */
static int peek_char (struct json_source *src)
{
    int c;

    do
        c = next_char (src);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    src->left += c != EOF;
    return ungetc (c, src->fp);
}

/* One byte at a time, so that nothing after the object is consumed. */
static size_t next_item_byte (void *buffer, size_t size, void *arg)
{
    int c = next_char (arg);

    (void)size;
    *(char *)buffer = (char)c;
    return c != EOF;
}

/* Whether the list of items begins with this byte of the text around it. */
static bool is_items_begin (struct json_source *src, int c)
{
    const struct json_items *of = src->items;

    if (src->string) {
        if (c == '"' && !src->escaped)
            src->string = false;
        else if (src->length < KEY_MAX)
            src->last[src->length++] = (char)c;
        src->escaped = c == '\\' && !src->escaped;
        return false;
    }
    src->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == '"') {
        src->string = true;
        src->length = 0;
    }
    return c == '[' && src->depth == 2 && src->length == strlen (of->key)
           && !memcmp (src->last, of->key, src->length);
}

static void take_item (struct json_source *src, const json_t *item)
{
    const struct json_items *of = src->items;
    char where[64];

    snprintf (where, sizeof (where), "%s[%zu]", of->key, src->nitems);
    if (!src->bad && src->nitems++ == of->max) {
        error_input (&src->why, "%s: not an array of at most %zu elements",
                     of->key, of->max);
        src->bad = true;
    }
    else if (!src->bad)
        src->bad = of->take (of->arg, item, where, &src->why) < 0;
}

/* Take the items, up to the end of their list, which remains. -1: text that is no
 * list.
 */
static int take_items (struct json_source *src)
{
    while (peek_char (src) != ']') {
        json_error_t jerr;
        json_t *item = NULL;

        if (src->nitems == 0 || next_char (src) == ',') {
            peek_char (src);
            item = json_load_callback (
                next_item_byte, src,
                JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &jerr);
        }
        if (!item) {
            error_input (&src->why, "%s[%zu]: not an object", src->items->key,
                         src->nitems);
            src->bad = true;
            return -1;
        }
        take_item (src, item);
        json_decref (item);
    }
    return 0;
}

static size_t next_byte (void *buffer, size_t size, void *arg)
{
    struct json_source *src = arg;

    if (next_item_byte (buffer, size, src) == 0)
        return 0;
    /* the byte is '[', and the next one is that of its end */
    return !src->items || !is_items_begin (src, *(char *)buffer)
           || take_items (src) == 0;
}

static int check_kind (const json_t *json, const char *kind,
                       struct error *err)
{
    const char *s;
    uint64_t version = 0;

    if (!json_is_object (json))
        return error_input (err, "not a JSON object");
    if (json_get_string (json, NULL, "kind", &s, err) < 0)
        return -1;
    if (kind && strcmp (s, kind))
        return error_input (err, "expected a %s, this is a %.64s", kind, s);
    if (json_get_u64 (json, NULL, "version", 0, INT64_MAX, &version, err) < 0)
        return -1;
    if (version != (uint64_t)version_of (s))
        return error_input (err, "version %ju is not known (only %d is)",
                            (uintmax_t)version, version_of (s));
    return 0;
}

json_t *json_read_items (FILE *fp, const char *name, const char *kind,
                         size_t max_bytes, const struct json_items *items,
                         struct error *err)
{
    struct stat st;
    struct json_source src = {
        .fp = fp, .left = max_bytes, .items = items,
        .total = fstat (fileno (fp), &st) == 0 ? (size_t)st.st_size : 0,
    };
    json_error_t jerr;
    json_t *json = json_load_callback (
        next_byte, &src, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK,
        &jerr);
    const json_t *list;
    int c = ' ';

    terminal_work ("checking the file", 0, 0);
    /* a key may be written in other ways */
    list = items ? json_object_get (json, items->key) : NULL;
    for (size_t i = 0; i < json_array_size (list); i++)
        take_item (&src, json_array_get (list, i));
    if (json)
        while (c == ' ' || c == '\t' || c == '\r')
            c = getc (fp);
    if (!json && src.too_long)
        error_input (err, "%s: larger than %zu bytes", name, max_bytes);
    else if (!json && ferror (fp))
        error_errno (err, "%s: cannot read", name);
    else if (!json && !src.bad)
        error_input (err, "%s:%d: %s", name, jerr.line, jerr.text);
    else if (json && c != '\n' && c != EOF)
        error_input (err, "%s: text after the object, on its last line", name);
    else if (json && check_kind (json, kind, err) < 0)
        error_prefix (err, "%s", name);
    else if (src.bad) {
        if (err)
            *err = src.why;
        error_prefix (err, "%s", name);
    }
    else
        return json;
    json_decref (json);
    return NULL;
}

json_t *json_read (FILE *fp, const char *name, const char *kind,
                   size_t max_bytes, struct error *err)
{
    return json_read_items (fp, name, kind, max_bytes, NULL, err);
}

json_t *json_file (const char *kind, const char *fabric)
{
    /* s*: a NULL leaves the key out */
    return json_pack ("{s:s, s:i, s:s*}", "kind", kind, "version",
                      version_of (kind), "fabric", fabric);
}

int json_write (const json_t *json, FILE *fp, struct error *err)
{
    if (json_dumpf (json, fp, JSON_COMPACT) < 0 || putc ('\n', fp) == EOF)
        return error_errno (err, "cannot write JSON");
    return 0;
}

int json_write_file (const char *kind, const char *fabric, json_t *members,
                     FILE *fp, struct error *err)
{
    json_t *root = xcheck (json_file (kind, fabric));
    int rc;

    xcheck (json_object_update (root, xcheck (members)) < 0 ? NULL : root);
    rc = json_write (root, fp, err);
    json_decref (root);
    json_decref (members);
    return rc;
}

/*
 * Fields; value is NULL if the key is absent, which is of no type for jansson.
 */

__attribute__ ((format (printf, 5, 6))) static int
json_value_error (const json_t *value, const char *where, const char *key,
                  struct error *err, const char *fmt, ...)
{
    char text[256];

    TEXT_PRINT (text, sizeof (text), fmt);
    return error_input (err, "%s%s%s: %s", where ? where : "",
                        where ? "." : "", key, value ? text : "missing");
}

int json_get_u64 (const json_t *obj, const char *where, const char *key,
                  uint64_t min, uint64_t max, uint64_t *value,
                  struct error *err)
{
    const json_t *v = json_object_get (obj, key);
    json_int_t n = json_integer_value (v);

    if (!json_is_integer (v) || n < 0 || (uint64_t)n < min
        || (uint64_t)n > max)
        return json_value_error (v, where, key, err,
                                 "not a whole number from %ju to %ju",
                                 (uintmax_t)min, (uintmax_t)max);
    *value = (uint64_t)n;
    return 0;
}

int json_get_double (const json_t *obj, const char *where, const char *key,
                     double min, double max, double *value, struct error *err)
{
    const json_t *v = json_object_get (obj, key);
    double x = json_number_value (v);

    if (!json_is_number (v) || x < min || x > max)
        return json_value_error (v, where, key, err,
                                 "not a number from %g to %g", min, max);
    *value = x;
    return 0;
}

int json_get_string (const json_t *obj, const char *where, const char *key,
                     const char **value, struct error *err)
{
    const json_t *v = json_object_get (obj, key);
    const char *s = json_string_value (v);
    size_t len = json_string_length (v);

    if (!s || len == 0 || len > STRING_MAX)
        return json_value_error (v, where, key, err,
                                 "not a string of 1 to %d bytes", STRING_MAX);
    for (size_t i = 0; i < len; i++)
        if (s[i] < 0x20 || s[i] > 0x7e)
            return json_value_error (v, where, key, err,
                                     "holds a byte that is not printable");
    *value = s;
    return 0;
}

int json_get_bool (const json_t *obj, const char *where, const char *key,
                   bool *value, struct error *err)
{
    const json_t *v = json_object_get (obj, key);

    if (!json_is_boolean (v))
        return json_value_error (v, where, key, err, "neither true nor false");
    *value = json_is_true (v);
    return 0;
}

int json_get_array (const json_t *obj, const char *where, const char *key,
                    size_t max, json_t **value, struct error *err)
{
    json_t *v = json_object_get (obj, key);

    if (!json_is_array (v) || json_array_size (v) > max)
        return json_value_error (v, where, key, err,
                                 "not an array of at most %zu elements", max);
    *value = v;
    return 0;
}

int json_get_object (const json_t *obj, const char *where, const char *key,
                     json_t **value, struct error *err)
{
    json_t *v = json_object_get (obj, key);

    if (!json_is_object (v))
        return json_value_error (v, where, key, err, "not an object");
    *value = v;
    return 0;
}
