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
};

/* One byte at a time, so that nothing after the object is consumed. */
static size_t next_byte (void *buffer, size_t size, void *arg)
{
    struct json_source *src = arg;
    int c;

    (void)size;
    src->too_long = src->left == 0;
    if (src->too_long || (c = getc (src->fp)) == EOF)
        return 0;
    if (src->left-- % PIECE == 0)
        terminal_work ("reading bytes", (size_t)ftell (src->fp), src->total);
    *(char *)buffer = (char)c;
    return 1;
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

json_t *json_read (FILE *fp, const char *name, const char *kind,
                   size_t max_bytes, struct error *err)
{
    struct stat st;
    struct json_source src = {
        .fp = fp, .left = max_bytes,
        .total = fstat (fileno (fp), &st) == 0 ? (size_t)st.st_size : 0,
    };
    json_error_t jerr;
    json_t *json = json_load_callback (
        next_byte, &src, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK,
        &jerr);
    int c = ' ';

    terminal_work ("checking the file", 0, 0);
    if (json)
        while (c == ' ' || c == '\t' || c == '\r')
            c = getc (fp);
    if (!json && src.too_long)
        error_input (err, "%s: larger than %zu bytes", name, max_bytes);
    else if (!json && ferror (fp))
        error_errno (err, "%s: cannot read", name);
    else if (!json)
        error_input (err, "%s:%d: %s", name, jerr.line, jerr.text);
    else if (c != '\n' && c != EOF)
        error_input (err, "%s: text after the object, on its last line", name);
    else if (check_kind (json, kind, err) < 0)
        error_prefix (err, "%s", name);
    else
        return json;
    json_decref (json);
    return NULL;
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
