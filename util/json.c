/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON files of the pipeline. */
#include "config.h"
#include "util/json.h"

#include <stdarg.h>
#include <string.h>

enum { STRING_MAX = 255 };

struct json_source {
    FILE *fp;
    size_t left;
    bool too_long;
};

/* One byte at a time, so that nothing after the object is consumed. */
static size_t next_byte (void *buffer, size_t size, void *arg)
{
    struct json_source *src = arg;
    int c;

    (void)size;
    if (src->left == 0) {
        src->too_long = true;
        return 0;
    }
    if ((c = getc (src->fp)) == EOF)
        return 0;
    src->left--;
    *(char *)buffer = (char)c;
    return 1;
}

/* True if the rest of the object's last line is blank. */
static bool rest_is_blank (FILE *fp)
{
    int c;

    do
        c = getc (fp);
    while (c == ' ' || c == '\t' || c == '\r');
    return c == '\n' || c == EOF;
}

/* Kinds whose format has changed, with the newest version; older versions can
 * be read.
 */
static const struct {
    const char *kind;
    int version;
} changed[] = {
    { "samples", 2 }, /* loopbacks, and data about the nodes */
};

static int newest (const char *kind)
{
    for (size_t i = 0; i < sizeof (changed) / sizeof (changed[0]); i++)
        if (!strcmp (changed[i].kind, kind))
            return changed[i].version;
    return JSON_VERSION;
}

static int check_version (uint64_t version, int last, struct error *err)
{
    if (version >= JSON_VERSION && version <= (uint64_t)last)
        return 0;
    if (last == JSON_VERSION)
        return error_input (err, "version %ju is not known (only %d is)",
                            (uintmax_t)version, last);
    return error_input (err, "version %ju is not known (only %d to %d are)",
                        (uintmax_t)version, JSON_VERSION, last);
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
        return error_input (err, "a %s is wanted, this is a %.64s", kind, s);
    if (json_get_u64 (json, NULL, "version", 0, INT64_MAX, &version, err) < 0)
        return -1;
    return check_version (version, newest (s), err);
}

json_t *json_read (FILE *fp, const char *name, const char *kind,
                   size_t max_bytes, struct error *err)
{
    struct json_source src = { fp, max_bytes, false };
    json_error_t jerr;
    json_t *json = json_load_callback (
        next_byte, &src, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK,
        &jerr);

    if (!json) {
        if (src.too_long)
            error_input (err, "%s: larger than %zu bytes", name, max_bytes);
        else if (ferror (fp))
            error_errno (err, "%s: cannot read", name);
        else
            error_input (err, "%s:%d: %s", name, jerr.line, jerr.text);
        return NULL;
    }
    if (!rest_is_blank (fp)) {
        error_input (err, "%s: text behind the object, on its last line",
                     name);
        goto error;
    }
    if (check_kind (json, kind, err) < 0) {
        error_prefix (err, "%s", name);
        goto error;
    }
    return json;
error:
    json_decref (json);
    return NULL;
}

json_t *json_file (const char *kind, const char *fabric)
{
    /* s*: a NULL leaves the key out */
    return json_pack ("{s:s, s:i, s:s*}", "kind", kind, "version",
                      newest (kind), "fabric", fabric);
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
    json_t *root = json_file (kind, fabric);
    int rc;

    if (!root || !members || json_object_update (root, members) < 0)
        rc = error_nomem (err);
    else
        rc = json_write (root, fp, err);
    json_decref (root);
    json_decref (members);
    return rc;
}

__attribute__ ((format (printf, 4, 5))) static int
bad (struct error *err, const char *where, const char *key, const char *fmt,
     ...)
{
    char text[256];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    return error_input (err, "%s%s%s: %s", where ? where : "",
                        where ? "." : "", key, text);
}

static const json_t *get (const json_t *obj, const char *where,
                          const char *key, struct error *err)
{
    const json_t *value = json_object_get (obj, key);

    if (!value)
        bad (err, where, key, "missing");
    return value;
}

int json_get_u64 (const json_t *obj, const char *where, const char *key,
                  uint64_t min, uint64_t max, uint64_t *value,
                  struct error *err)
{
    const json_t *json = get (obj, where, key, err);
    json_int_t n;

    if (!json)
        return -1;
    n = json_integer_value (json);
    if (!json_is_integer (json) || n < 0 || (uint64_t)n < min
        || (uint64_t)n > max)
        return bad (err, where, key, "not a whole number from %ju to %ju",
                    (uintmax_t)min, (uintmax_t)max);
    *value = (uint64_t)n;
    return 0;
}

int json_get_double (const json_t *obj, const char *where, const char *key,
                     double min, double max, double *value, struct error *err)
{
    const json_t *json = get (obj, where, key, err);
    double x;

    if (!json)
        return -1;
    x = json_number_value (json);
    if (!json_is_number (json) || x < min || x > max)
        return bad (err, where, key, "not a number from %g to %g", min, max);
    *value = x;
    return 0;
}

int json_get_string (const json_t *obj, const char *where, const char *key,
                     const char **value, struct error *err)
{
    const json_t *json = get (obj, where, key, err);
    const char *s;
    size_t len;

    if (!json)
        return -1;
    s = json_string_value (json);
    len = json_string_length (json);
    if (!s || len == 0 || len > STRING_MAX)
        return bad (err, where, key, "not a string of 1 to %d bytes",
                    STRING_MAX);
    for (size_t i = 0; i < len; i++)
        if (s[i] < 0x20 || s[i] > 0x7e)
            return bad (err, where, key, "holds a byte that is not printable");
    *value = s;
    return 0;
}

int json_get_bool (const json_t *obj, const char *where, const char *key,
                   bool *value, struct error *err)
{
    const json_t *json = get (obj, where, key, err);

    if (!json)
        return -1;
    if (!json_is_boolean (json))
        return bad (err, where, key, "neither true nor false");
    *value = json_is_true (json);
    return 0;
}

int json_get_array (const json_t *obj, const char *where, const char *key,
                    size_t max, json_t **value, struct error *err)
{
    json_t *json = (json_t *)get (obj, where, key, err);

    if (!json)
        return -1;
    if (!json_is_array (json) || json_array_size (json) > max)
        return bad (err, where, key, "not an array of at most %zu elements",
                    max);
    *value = json;
    return 0;
}

int json_get_object (const json_t *obj, const char *where, const char *key,
                     json_t **value, struct error *err)
{
    json_t *json = (json_t *)get (obj, where, key, err);

    if (!json)
        return -1;
    if (!json_is_object (json))
        return bad (err, where, key, "not an object");
    *value = json;
    return 0;
}
