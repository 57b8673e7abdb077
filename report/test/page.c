/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page: what names can do in it, what is compressed, its policy. How it
 * looks and behaves in a browser is tests/t0350-page.t's.
 */
#include "config.h"
#include "report/page/page.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

static const char hostile[]
    = "</script><script>alert(1)</script><!-- &lt; \xe2\x80\xa8\"'";

/* As page_put_json and page_put_bytes write it; the caller frees it. */
static char *json_text (const json_t *json)
{
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    page_put_json (json, fp, NULL);
    fclose (fp);
    return text;
}

static char *bytes_text (const char *bytes)
{
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    page_put_bytes (bytes, strlen (bytes), fp, NULL);
    fclose (fp);
    return text;
}

/* The bytes of base64 [n] in place; their number. */
static size_t debase (unsigned char *s, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned int bits = 0, have = 0;
    size_t out = 0;

    for (size_t i = 0; i < n && s[i] != '='; i++) {
        const char *at = strchr (digit, s[i]);

        bits = bits << 6 | (unsigned int)(at - digit);
        have += 6;
        if (have >= 8) {
            have -= 8;
            s[out++] = (unsigned char)(bits >> have);
        }
    }
    return out;
}

static void test_json (void)
{
    json_t *json = json_pack ("{s:s}", "name", hostile);
    char *text = json_text (json);
    json_t *again = json_loads (text, 0, NULL);

    ok (!strpbrk (text, "<>&") && strspn (text, "\n") == 0,
        "no name ends a script element: %s", text);
    ok (strstr (text, "\\u2028") != NULL, "nor a line");
    ok (again && json_equal (json, again), "and it is the same JSON");
    json_decref (again);
    json_decref (json);
    free (text);
}

static void test_bytes (void)
{
    const char *const text[] = { "", "a", "ab", "abc", hostile };

    for (size_t i = 0; i < sizeof (text) / sizeof (text[0]); i++) {
        char *base = bytes_text (text[i]);
        bool whole = strlen (base) % 4 == 0;
        size_t n = debase ((unsigned char *)base, strlen (base));
        char back[256] = "";
        uLongf size = sizeof (back) - 1;

        ok (whole
                && uncompress ((unsigned char *)back, &size,
                               (unsigned char *)base, n) == Z_OK
                && size == strlen (text[i]) && !strcmp (back, text[i]),
            "%zu bytes come out as they went in", strlen (text[i]));
        free (base);
    }
}

/* The page of a verdict, whose first finding is of the fabric's first link. */
static char *write_page (struct fabric *f)
{
    uint32_t link = 0;
    char *node = (char *)hostile, *text;
    struct fact said = fact_said (hostile);
    struct finding finding = {
        .level = VERDICT_FAIL,
        .kind = FINDING_HOST_END,
        .basis = BASIS_BASELINE,
        .suspect = &link,
        .nsuspects = 1,
        .excess_ns = 1000,
        .stderr_ns = 3,
        .expected_ns = 400,
        .node = &node,
        .nnodes = 1,
        .fact = &said,
        .nfacts = 1,
    };
    struct verdict v = {
        .status = VERDICT_FAIL,
        .finding = &finding,
        .nfindings = 1,
        .limit = &said,
        .nlimits = 1,
        .links = 3,
        .nodes = 2,
        .probes = 1,
    };
    struct page page = {
        .fabric = f, .verdict = &v, .about = hostile, .made = 1800000000,
    };
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    int rc = page_write (&page, fp, NULL);

    fclose (fp);
    ok (rc == 0, "a page is written, of a verdict alone");
    return text;
}

static size_t times (const char *text, const char *word)
{
    size_t n = 0;

    while ((text = strstr (text, word))) {
        text += strlen (word);
        n++;
    }
    return n;
}

static void test_page (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, NULL);
    char *text = write_page (f);

    ok (!strstr (text, "<script>alert") && strstr (text, "script\\u003ealert"),
        "no name's script is in it");
    ok (times (text, "<script") == times (text, "</script>")
            && times (text, "<script") > 5,
        "each script element ends once");
    ok (strstr (text, "default-src 'none'; style-src 'sha256-")
            && strstr (text, "script-src 'sha256-"),
        "its policy allows its own scripts by their hashes");
    ok (!strstr (text, "unsafe-inline") && !strstr (text, "unsafe-eval")
            && !strstr (text, " src=") && !strstr (text, "@SCRIPTS@"),
        "and nothing else");
    free (text);
    fabric_destroy (f);
}

int main (void)
{
    test_json ();
    test_bytes ();
    test_page ();
    return done_testing ();
}
