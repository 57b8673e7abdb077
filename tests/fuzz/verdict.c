/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verdict of fuzz_fabric; what was accepted is written and put in words. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "report/report.h"
#include "report/words.h"

static void use (const struct verdict *v, const struct network *net)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || verdict_write (v, net, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    free (text);
    free (words_sentence (v, fuzz_fabric ()));
    for (size_t i = 0; i < v->nfindings; i++)
        free (words_ticket (&v->finding[i], fuzz_fabric (),
                            &(struct words_case){ .about = "" }));
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    const struct network *net = fabric_network (fuzz_fabric ());
    FILE *fp = fuzz_file (data, size);
    struct error err;
    struct verdict *v = verdict_read (fp, "input", net, &err);

    fclose (fp);
    if (v)
        use (v, net);
    verdict_destroy (v);
    return 0;
}
