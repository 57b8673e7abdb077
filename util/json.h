/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON files of the pipeline: one object, with "kind", "version" and
 * "fabric", read within bounds and with errors that give the location.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/alloc.h"
#include "util/error.h"

/* Read one object from fp: at most max_bytes, "kind" equal to kind (NULL: any),
 * "version" that of its kind. name is for errors: "NAME:LINE:
 * sentence". Text after the object is not read if it starts on a new line (the
 * result record's last line). Returns a new reference, NULL with err.
 */
json_t *json_read (FILE *fp, const char *name, const char *kind,
                   size_t max_bytes, struct error *err);

/* The same of a long list: the objects of the array `key` of that object are given
 * to a function one by one, and not kept: the array of the result is empty. If it
 * returns -1, it gets no more, and its error is the result's, unless the file is bad
 * as a whole. `where` is "key[i]".
 */
struct json_items {
    const char *key;
    size_t max;
    int (*take) (void *arg, const json_t *item, const char *where,
                 struct error *err);
    void *arg;
};
json_t *json_read_items (FILE *fp, const char *name, const char *kind,
                         size_t max_bytes, const struct json_items *items,
                         struct error *err);

/* A new object with kind, version and fabric (omitted if NULL). NULL with errno
 * ENOMEM.
 */
json_t *json_file (const char *kind, const char *fabric);

/* Writers build JSON from checked strings and numbers, which fails only if
 * memory runs out: then these end the program (util/alloc). They take ownership
 * of value.
 */
static inline void json_add (json_t *list, json_t *value)
{
    xcheck (json_array_append_new (list, value) < 0 ? NULL : list);
}

/* A number; null if it is not finite. */
static inline json_t *number_json (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

static inline void json_put (json_t *object, const char *key, json_t *value)
{
    xcheck (json_object_set_new (object, key, value) < 0 ? NULL : object);
}

/* A list of n strings. */
static inline json_t *json_strings (char *const *s, size_t n)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < n; i++)
        json_add (list, json_string (s[i]));
    return list;
}

/* Write compactly, with keys in order of insertion, and a newline at the end.
 * Return 0, or -1 with err.
 */
int json_write (const json_t *json, FILE *fp, struct error *err);

/* Write the object of json_file (kind, fabric) with the given members added.
 * members is a reference that is taken. Return 0, or -1 with err.
 */
int json_write_file (const char *kind, const char *fabric, json_t *members,
                     FILE *fp, struct error *err);

/* Fields of an object without errors: `none`, or "", if the key is absent or of
 * another type. Borrowed.
 */
static inline int64_t json_int (const json_t *obj, const char *key,
                                int64_t none)
{
    const json_t *v = json_object_get (obj, key);

    return json_is_integer (v) ? json_integer_value (v) : none;
}

static inline const char *json_text (const json_t *obj, const char *key)
{
    const char *s = json_string_value (json_object_get (obj, key));

    return s ? s : "";
}

/* Fields of an object; on failure err names the key (with `where` as its place,
 * "probes[3].sent"; else just the key). A number must be in [min, max]; a
 * string has 1 to 255 bytes of printable ASCII. An absent key is an error.
 */
int json_get_u64 (const json_t *obj, const char *where, const char *key,
                  uint64_t min, uint64_t max, uint64_t *value,
                  struct error *err);
int json_get_double (const json_t *obj, const char *where, const char *key,
                     double min, double max, double *value,
                     struct error *err);
int json_get_string (const json_t *obj, const char *where, const char *key,
                     const char **value, struct error *err);
int json_get_bool (const json_t *obj, const char *where, const char *key,
                   bool *value, struct error *err);
int json_get_array (const json_t *obj, const char *where, const char *key,
                    size_t max, json_t **value, struct error *err);
int json_get_object (const json_t *obj, const char *where, const char *key,
                     json_t **value, struct error *err);

#endif /* UTIL_JSON_H */
