/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON files: read within bounds, errors that name the place. */
#include "config.h"
#include "util/json.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define HEAD "{\"kind\":\"plan\",\"version\":1"

static void test_read (void)
{
    static const struct {
        const char *in;
        const char *error; /* NULL: good */
    } tab[] = {
        { HEAD "}", NULL },
        { HEAD "}\n", NULL },
        { " \n" HEAD ",\"x\":[]} \t\r\nmore", NULL },
        { HEAD "} more", "after the object" },
        { HEAD "}{}", "after the object" },
        { "", "f:" },
        { "[]", "not a JSON object" },
        { "{}", "kind: missing" },
        { "{\"kind\":1}", "kind: not a string" },
        { "{\"kind\":\"plan\"}", "version: missing" },
        { "{\"kind\":\"plan\",\"version\":2}", "version 2 is not known" },
        { "{\"kind\":\"plan\",\"version\":-1}", "version: not a whole" },
        { "{\"kind\":\"samples\",\"version\":1}", "this is a samples" },
        { HEAD ",\"kind\":\"plan\"}", "f:1: duplicate" },
        { HEAD ",\n\n\"x\":}", "f:3:" },
        { HEAD, "f:1:" },
        { HEAD ",\"x\":\"\xff\"}", "byte 0xff" },
        { HEAD ",\"x\":1e999}", "f:1: real number overflow" },
        { HEAD ",\"x\":99999999999999999999}", "too big" },
        { HEAD ",\"x\":\"0123456789012345678901234567890123456789\"}",
          "f: larger than 64 bytes" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        FILE *fp = fmemopen ((char *)(tab[i].in[0] ? tab[i].in : " "),
                             tab[i].in[0] ? strlen (tab[i].in) : 1, "r");
        struct error err = { 0 };
        json_t *json = json_read (fp, "f", "plan", 64, &err);

        if (!tab[i].error)
            ok (json != NULL, "read row %zu %s", i, err.text);
        else
            ok (!json && strstr (err.text, tab[i].error)
                    && err.fault == ERROR_INPUT,
                "refuse row %zu: %s", i, err.text);
        json_decref (json);
        fclose (fp);
    }
}

struct taken {
    size_t n;
    int sum;
};

static int take_number (void *arg, const json_t *item, const char *where,
                        struct error *err)
{
    struct taken *t = arg;
    int n = (int)json_integer_value (json_object_get (item, "n"));

    t->n++;
    t->sum += n;
    return n > 0 ? 0 : error_input (err, "%s.n is none", where);
}

/* Items come one by one, wherever their list is, and are not kept; other lists of
 * that name are.
 */
static void test_items (void)
{
    static const struct {
        const char *in;
        const char *error; /* NULL: good, with so many items */
        size_t n;
        int sum;
    } tab[] = {
        { HEAD ",\"i\":[]}", NULL, 0, 0 },
        { HEAD "}", NULL, 0, 0 },
        { HEAD ",\"i\" : [ {\"n\":1},\n{\"n\":2} ] ,\"x\":[{\"n\":8}]}", NULL, 2, 3 },
        { "{\"i\":[{\"n\":1,\"i\":[{\"n\":2}]}],\"kind\":\"plan\",\"version\":1}", NULL,
          1, 1 },
        { HEAD ",\"x\":{\"i\":[{\"n\":1}]},\"y\":\"i\",\"z\":[{\"n\":4}]}", NULL, 0,
          0 },
        { HEAD ",\"\\u0069\":[{\"n\":1},{\"n\":2}]}", NULL, 2, 3 },
        { HEAD ",\"\\\"\":1,\"i\":[{\"n\":1}]}", NULL, 1, 1 },
        { HEAD ",\"i\":[{\"n\":1},{\"n\":0},{\"n\":1}]}", "f: i[1].n is none", 2, 1 },
        { HEAD ",\"i\":[{\"n\":1},{\"n\":1},{\"n\":1},{\"n\":1}]}", "i: not an array of at most 3",
          3, 3 },
        { HEAD ",\"i\":[{\"n\":1},]}", "f: i[1]: not an object", 1, 1 },
        { HEAD ",\"i\":[{\"n\":1}{\"n\":1}]}", "f: i[1]: not an object", 1, 1 },
        { HEAD ",\"i\":[,{\"n\":1}]}", "f: i[0]: not an object", 0, 0 },
        { HEAD ",\"i\":[3]}", "f: i[0]: not an object", 0, 0 },
        { HEAD ",\"i\":[{\"n\":1", "f: i[0]: not an object", 0, 0 },
        { HEAD ",\"i\":[{\"n\":1,\"n\":2}]}", "f: i[0]: not an object", 0, 0 },
        { HEAD ",\"i\":[{\"n\":1}],\"i\":[]}", "duplicate", 1, 1 },
        { HEAD ",\"i\":[{\"n\":1}]} more", "after the object", 1, 1 },
        { "{\"kind\":\"x\",\"i\":[{\"n\":0}]}", "this is a x", 1, 0 },
        { HEAD ",\"i\":[{\"n\":1},{\"n\":1},                                       "
               "                ]}", "larger than 99 bytes", 2, 2 },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        FILE *fp = fmemopen ((char *)tab[i].in, strlen (tab[i].in), "r");
        struct error err = { .text = "" };
        struct taken t = { 0 };
        const struct json_items items = { "i", 3, take_number, &t };
        json_t *json = json_read_items (fp, "f", "plan", 99, &items, &err);

        ok ((tab[i].error ? !json && strstr (err.text, tab[i].error)
                          : json != NULL)
                && t.n == tab[i].n && t.sum == tab[i].sum,
            "items, row %zu: %s", i, err.text);
        json_decref (json);
        fclose (fp);
    }
}

static void test_behind (void)
{
    static char in[] = HEAD "}\npmm-result 1\n";
    FILE *fp = fmemopen (in, strlen (in), "r");
    char line[64] = "";
    json_t *json = json_read (fp, "f", "plan", 1000, NULL);

    ok (json && fgets (line, sizeof (line), fp)
            && !strcmp (line, "pmm-result 1\n"),
        "the line after the object is left alone");
    json_decref (json);
    fclose (fp);
}

static void test_deep (void)
{
    size_t n = 1 << 20;
    char *s = malloc (n);
    struct error err = { 0 };
    FILE *fp;

    memset (s, '[', n);
    fp = fmemopen (s, n, "r");
    ok (!json_read (fp, "f", "plan", n, &err), "a deep nest: %s", err.text);
    fclose (fp);
    free (s);
}

static void test_write (void)
{
    json_t *json = json_file ("plan", NULL);
    char *s = NULL;
    size_t size;
    FILE *fp = open_memstream (&s, &size);

    /* 17 digits; of others, later libraries write as many as are needed */
    json_object_set_new (json, "b", json_real (0.1 + 0.2));
    json_object_set_new (json, "a", json_integer (2));
    ok (json_write (json, fp, NULL) == 0 && fclose (fp) == 0
            && !strcmp (s, HEAD ",\"b\":0.30000000000000004,\"a\":2}\n"),
        "written compactly, in order of insertion");
    free (s);
    json_decref (json);

    fp = open_memstream (&s, &size);
    ok (json_write_file ("plan", NULL, json_pack ("{s:i}", "a", 2), fp, NULL)
                == 0
            && fclose (fp) == 0 && !strcmp (s, HEAD ",\"a\":2}\n"),
        "members behind kind and version");
    free (s);

    json = json_file ("plan", "abc");
    ok (!strcmp (json_string_value (json_object_get (json, "fabric")), "abc"),
        "with its fabric");
    if ((fp = fopen ("/dev/full", "w"))) {
        struct error err = { 0 };

        setvbuf (fp, NULL, _IONBF, 0);
        ok (json_write (json, fp, &err) < 0 && err.fault == ERROR_WORLD,
            "full disk: %s", err.text);
        fclose (fp);
    }
    json_decref (json);
}

static void test_get (void)
{
    json_t *obj = json_pack ("{s:i,s:i,s:f,s:s,s:s,s:s,s:b,s:[i,i],s:{}}",
                             "n", 5, "neg", -1, "x", 0.5, "s", "text",
                             "empty", "", "ctl", "a\nb", "t", 1, "a", 1, 2,
                             "o");
    char big[300];
    uint64_t n = 0;
    double x = 0;
    const char *s = NULL;
    bool t = false;
    json_t *v = NULL;
    struct error err;

    memset (big, 'a', sizeof (big));
    json_object_set_new (obj, "max", json_stringn (big, 255));
    json_object_set_new (obj, "big", json_stringn (big, 256));

    ok (json_get_u64 (obj, NULL, "n", 5, 5, &n, &err) == 0 && n == 5, "u64");
    ok (json_get_u64 (obj, NULL, "n", 6, 9, &n, &err) < 0, "u64 too small");
    ok (json_get_u64 (obj, NULL, "n", 0, 4, &n, &err) < 0, "u64 too large");
    ok (json_get_u64 (obj, NULL, "neg", 0, UINT64_MAX, &n, &err) < 0,
        "u64 negative");
    ok (json_get_u64 (obj, NULL, "x", 0, 9, &n, &err) < 0, "u64 real");
    ok (json_get_u64 (obj, "probes[3]", "gone", 0, 9, &n, &err) < 0
            && !strcmp (err.text, "probes[3].gone: missing"),
        "%s", err.text);
    ok (json_get_double (obj, NULL, "x", 0, 1, &x, &err) == 0 && x == 0.5,
        "double");
    ok (json_get_double (obj, NULL, "n", 0, 9, &x, &err) == 0 && x == 5,
        "double from an integer");
    ok (json_get_double (obj, NULL, "n", 0, 4, &x, &err) < 0,
        "double too large");
    ok (json_get_double (obj, NULL, "s", 0, 4, &x, &err) < 0
            && !strcmp (err.text, "s: not a number from 0 to 4"),
        "%s", err.text);
    ok (json_get_string (obj, NULL, "s", &s, &err) == 0
            && !strcmp (s, "text"),
        "string");
    ok (json_get_string (obj, NULL, "max", &s, &err) == 0, "string of 255");
    ok (json_get_string (obj, NULL, "big", &s, &err) < 0, "string of 256");
    ok (json_get_string (obj, NULL, "empty", &s, &err) < 0, "string empty");
    ok (json_get_string (obj, NULL, "ctl", &s, &err) < 0,
        "string with a control character");
    ok (json_get_string (obj, NULL, "n", &s, &err) < 0, "string: a number");
    ok (json_get_bool (obj, NULL, "t", &t, &err) == 0 && t, "bool");
    ok (json_get_bool (obj, NULL, "n", &t, &err) < 0, "bool: a number");
    ok (json_get_array (obj, NULL, "a", 2, &v, &err) == 0
            && json_array_size (v) == 2,
        "array");
    ok (json_get_array (obj, NULL, "a", 1, &v, &err) < 0, "array too long");
    ok (json_get_array (obj, NULL, "o", 1, &v, &err) < 0,
        "array: an object");
    ok (json_get_object (obj, NULL, "o", &v, &err) == 0, "object");
    ok (json_get_object (obj, NULL, "a", &v, &err) < 0, "object: an array");
    ok (json_int (obj, "n", 7) == 5 && json_int (obj, "s", 7) == 7
            && json_int (NULL, "n", 7) == 7,
        "a number that need not be there");
    ok (!strcmp (json_text (obj, "s"), "text") && !*json_text (obj, "n")
            && !*json_text (NULL, "s"),
        "a text that need not be there");
    json_decref (obj);
}

int main (void)
{
    test_read ();
    test_items ();
    test_behind ();
    test_deep ();
    test_write ();
    test_get ();
    return done_testing ();
}
