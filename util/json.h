/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON files of the pipeline: one object, with "kind", "version" and
 * "fabric", read within bounds and with errors that name the place.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/alloc.h"
#include "util/error.h"

enum { JSON_VERSION = 1 }; /* of all kinds of files but json.c's `changed` */

/* Read one object from fp: at most max_bytes, "kind" equal to kind (any where
 * that is NULL), "version" from 1 to its kind's. name is for the error:
 * "NAME:LINE: sentence".
 * Text behind the object is left alone when it starts on a line of its own
 * (the result record's last line). Returns a new reference, NULL with err.
 */
json_t *json_read (FILE *fp, const char *name, const char *kind,
                   size_t max_bytes, struct error *err);

/* A new object that holds kind, version and fabric (left out where NULL).
 * NULL with errno ENOMEM.
 */
json_t *json_file (const char *kind, const char *fabric);

/* What writers build of strings and numbers that were checked fails only for want
 * of memory: these end the program then (util/alloc). They take the value.
 */
static inline void json_add (json_t *list, json_t *value)
{
    xcheck (json_array_append_new (list, value) < 0 ? NULL : list);
}

static inline void json_put (json_t *object, const char *key, json_t *value)
{
    xcheck (json_object_set_new (object, key, value) < 0 ? NULL : object);
}

/* Write compactly and in key order of insertion, with a newline behind it.
 * Return 0, or -1 with err.
 */
int json_write (const json_t *json, FILE *fp, struct error *err);

/* Write what json_file makes of kind and fabric, with the members behind it: a
 * reference that is taken; NULL: memory ran out. Return 0, or -1 with err.
 */
int json_write_file (const char *kind, const char *fabric, json_t *members,
                     FILE *fp, struct error *err);

/* Fields of an object that need no error: `none`, or "", where the key is absent
 * or of another type. Borrowed.
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

/* Fields of an object; err names the key on failure ("probes[3].sent" where
 * the caller gives the place as `where`, else just the key). A number must lie
 * in [min, max]; a string has 1 to 255 bytes of printable ASCII.
 * json_get_* fail where the key is absent.
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
