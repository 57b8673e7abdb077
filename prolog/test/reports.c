/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of pages: which stay, and what else is left alone. That audits
 * write them is tests/t0850-audit.t's.
 */
#include "config.h"
#include "prolog/audit/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

static struct error err;
static struct ledger_pruned done;

static const char *const file[] = {
    "audit-1.html", "audit-2.html", "audit-3.html", "audit-10.html",
    "audit-03.html", "audit-x.html", "audit-.html", "audit-3.html.new",
    "audit-99999999999999999999.html", "mine.html",
};
enum { FILES = sizeof (file) / sizeof (file[0]) };

/* What is there, a letter a file. */
static const char *there (void)
{
    static char text[FILES + 1];

    for (int i = 0; i < FILES; i++) {
        char path[64];

        snprintf (path, sizeof (path), "pages/%s", file[i]);
        text[i] = access (path, F_OK) == 0 ? '1' : '0';
    }
    return text;
}

static bool index_has (const char *text)
{
    static char buf[1 << 20];
    FILE *fp = fopen ("pages/index.html", "r");
    size_t n = fp ? fread (buf, 1, sizeof (buf) - 1, fp) : 0;

    buf[n] = '\0';
    if (fp)
        fclose (fp);
    return strstr (buf, text) != NULL;
}

static void test (struct ledger *l, const struct fabric *f)
{
    static const struct ledger_cause cause = { .why = LEDGER_SWEEP };
    const char *const host[] = { "h0001", "h0002" };
    struct site site = { .reports = (char *)"", .reports_kept = 200 };
    char nonce[LEDGER_NONCE_BYTES];

    ok (reports_tidy (&site, l, &err) == 0, "a site without pages");
    site.reports = (char *)"pages";
    ok (reports_tidy (&site, l, &err) < 0, "without their directory: %s",
        err.text);
    mkdir ("pages", 0755);
    for (int i = 0; i < FILES; i++) {
        char path[64];

        snprintf (path, sizeof (path), "pages/%s", file[i]);
        close (open (path, O_CREAT | O_WRONLY, 0644));
    }
    for (int i = 1; i <= 3; i++) {
        int64_t id = ledger_begin (l, 1000 * i, f->hash, &cause, host, 2,
                                   nonce, &err);

        ledger_give_up (l, 1000 * i, id, "</script><b>", &err);
    }
    ok (reports_tidy (&site, l, &err) == 0 && !strcmp (there (), "1111111111"),
        "pages of audits stay: %s", there ());
    ok (index_has ("\"id\":3") && index_has ("\"page\":true")
            && index_has ("\\u003c/script\\u003e\\u003cb\\u003e"),
        "and are in the index, whose sentences are data");
    site.reports_kept = 3;
    ok (reports_tidy (&site, l, &err) == 0 && !strcmp (there (), "0111111111"),
        "the oldest goes where there are too many: %s", there ());
    ledger_prune (l, 2500, INT64_MAX, &done, &err);
    ok (reports_tidy (&site, l, &err) == 0 && !strcmp (there (), "0011111111"),
        "and that of an audit that the ledger forgot: %s", there ());
    chmod ("pages", 0777);
    ok (reports_tidy (&site, l, &err) < 0,
        "a directory that others may write is refused: %s", err.text);
}

int main (void)
{
    char dir[] = "/tmp/pmm-test.XXXXXX", command[64];
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, &err);
    struct ledger *l = NULL;

    if (mkdtemp (dir) && chdir (dir) == 0 && chmod (dir, 0755) == 0)
        l = ledger_open ("led", LEDGER_CREATE, &err);
    if (ok (f && l, "a ledger"))
        test (l, f);
    ledger_close (l);
    fabric_destroy (f);
    snprintf (command, sizeof (command), "rm -r %s", dir);
    return chdir ("/") < 0 || system (command) != 0 ? 1 : done_testing ();
}
