/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/lines.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "util/text.h"

const char *text_of (const json_t *object, const char *key)
{
    const char *s = json_string_value (json_object_get (object, key));

    return s ? s : "-";
}

static void print_date (const json_t *value, FILE *fp)
{
    time_t t = (time_t)json_integer_value (value);
    char buf[32] = "-";
    struct tm tm;

    if (json_is_integer (value) && gmtime_r (&t, &tm))
        strftime (buf, sizeof (buf), "%Y-%m-%dT%H:%M:%S", &tm);
    fputs (buf, fp);
}

static void print_value (const json_t *value, const char *noun, FILE *fp)
{
    json_int_t n = json_is_array (value) ? (json_int_t)json_array_size (value)
                                         : json_integer_value (value);

    if (*noun)
        fputs (COUNTED ((uint64_t)n, noun), fp);
    else if (json_is_array (value) || json_is_integer (value))
        fprintf (fp, "%jd", (intmax_t)n);
    else
        fputs (json_is_string (value) ? json_string_value (value) : "-", fp);
}

void print_line (const json_t *object, const char *format, FILE *fp)
{
    for (const char *p = format; *p; p++) {
        char field[64];
        char *noun;
        const json_t *value;

        if (*p != '{') {
            fputc (*p, fp);
            continue;
        }
        snprintf (field, sizeof (field), "%.*s", (int)strcspn (p + 1, "}"),
                  p + 1);
        p += 1 + strlen (field);
        if ((noun = strchr (field, ' ')))
            *noun++ = '\0';
        value = json_object_get (object, field + strspn (field, "@+"));
        if (*field == '@')
            print_date (value, fp);
        else if (*field == '+')
            fprintf (fp, "%+.0f", json_number_value (value));
        else
            print_value (value, noun ? noun : "", fp);
    }
}
