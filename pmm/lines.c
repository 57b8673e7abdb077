/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/lines.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "util/json.h"
#include "util/terminal.h"
#include "util/text.h"

const char *text_of (const json_t *object, const char *key)
{
    const char *s = json_string_value (json_object_get (object, key));

    return s ? s : "-";
}

const char *line_date (char buf[LINE_DATE], int64_t time)
{
    time_t t = (time_t)time;
    struct tm tm;

    if (!gmtime_r (&t, &tm)
        || strftime (buf, LINE_DATE, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        strcpy (buf, "-");
    return buf;
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
        fputs (json_is_string (value)
                   ? terminal_level (json_string_value (value)) : "-",
               fp);
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
        value = json_object_get (object, field + strspn (field, "@+:"));
        if (*field == '@')
            fputs (json_is_integer (value) ? DATE (json_integer_value (value)) : "-",
                   fp);
        else if (*field == '+')
            fprintf (fp, "%+.0f", json_number_value (value));
        else if (*field == ':')
            fprintf (fp, "%.3g", json_number_value (value) / 1e9);
        else
            print_value (value, noun ? noun : "", fp);
    }
}

void print_left_out (const char *before, const json_t *fault, FILE *fp)
{
    fputs (before, fp);
    print_line (fault, "left out of audits until {@until}: {cause} (faults: "
                       "{faults} since {@since})\n", fp);
}

const char *audit_line (const json_t *a)
{
    (void)a;
    return "audit {id} begun={@begun} {status} hosts={hosts} job={about}"
           " by={why} {sentence}\n";
}

void print_details (const json_t *a, size_t most, FILE *fp)
{
    static const struct {
        const char *key, *format;
    } lists[] = {
        { "findings", "  {level} {why}\n" },
        { "limits", NULL },
        { "hosts", "  missing: {host}\n" },
        { "signs", "  sign: {kind} at {link} {host}\n" },
        { "faults", "  at fault: {node}: {cause}\n" },
        { "actions", "  {kind} {node} {@done}: {reason} ({why})\n" },
    };
    json_t *v;
    size_t i;

    if (json_is_string (json_object_get (a, "leader")))
        print_line (a, "  led by {leader}\n", fp);
    for (size_t k = 0; k < sizeof (lists) / sizeof (lists[0]); k++) {
        size_t n = 0;

        json_array_foreach (json_object_get (a, lists[k].key), i, v) {
            const json_t *answered = json_object_get (v, "answered");

            if (answered && json_int (v, "answered", 1) != 0)
                continue;
            if (n++ >= most)
                continue;
            if (lists[k].format)
                print_line (v, lists[k].format, fp);
            else
                fprintf (fp, "  limit: %s\n", json_string_value (v));
        }
        if (n > most)
            fprintf (fp, "  and %s of %s\n", COUNTED (n - most, "other"),
                     lists[k].key);
    }
    print_line (a, json_array_size (json_object_get (a, "rates")) > 0
                       ? "  {probes probe}, {rates rate}\n"
                       : "  {probes probe}\n",
                fp);
}

void print_audit (const json_t *a, size_t most, FILE *fp)
{
    print_line (a, audit_line (a), fp);
    print_details (a, most, fp);
}
