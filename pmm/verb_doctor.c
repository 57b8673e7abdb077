/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: what of a site's configuration is to be mended. */
#include "config.h"

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/doctor.h"
#include "pmm/verb.h"
#include "util/json.h"
#include "util/text.h"

struct options {
    const char *conf;
    bool json;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "conf", 0, "FILE", opt_string, FIELD (conf), "look at this pmm.conf" },
    { "json", 0, NULL, opt_true, FIELD (json), "for programs" },
    { 0 },
};
#undef FIELD

/*
 * The checks
 */

static enum verdict_status slurmctld (const struct patient *p, char *text)
{
    if (!p->answers)
        return doctor_say (text, VERDICT_UNKNOWN,
                           "%s; what depends on it was not looked at",
                           p->slurm_error.text);
    if (p->uid != 0 && strcmp (p->site.slurm_user, p->user) != 0)
        return doctor_say (text, VERDICT_FAIL,
                           "SlurmUser is %s, and '%s' in pmm.conf: hooks will "
                           "not believe what it publishes",
                           p->user, p->site.slurm_user);
    return doctor_say (text, VERDICT_OK, "cluster %s answers, SlurmUser is %s",
                       controller_conf_get (&p->slurm, "ClusterName"),
                       p->user);
}

static const struct check {
    const char *name;
    bool slurm; /* only where slurmctld answers */
    doctor_f look;
} checks[] = {
    { "pmm.conf", false, doctor_conf },
    { "programs", false, doctor_programs },
    { "umad", false, doctor_umad },
    { "snapshot", false, doctor_snapshot },
    { "baseline", false, doctor_baseline },
    { "NodeMap", false, doctor_node_map },
    { "verdicts", false, doctor_verdicts },
    { "slurmctld", false, slurmctld },
    { "release", true, doctor_release },
    { "nodes", true, doctor_nodes },
    { "plugstack.conf", true, doctor_plugin },
    { "Mpi", true, doctor_mpi },
    { "PMIxCliTmpDirBase", true, doctor_pmix_directory },
    { "MpiDefault", true, doctor_mpi_default },
    { "memlock", true, doctor_memlock },
    { "SrunPortRange", true, doctor_ports },
    { "AuditPartition", true, doctor_partition },
    { "preemption", true, doctor_preemption },
    { "association", true, doctor_association },
    { "comments", true, doctor_comments },
    { "ledger", true, doctor_ledger },
    { "spool", true, doctor_spool },
    { "service", true, doctor_service },
#ifdef HAVE_LEDGER
    { "audits", true, doctor_audits },
    { "audited nodes", true, doctor_nodes_audited },
#endif
    { "EpilogSlurmctld", true, doctor_epilogslurmctld },
    { "Prolog", true, doctor_prolog },
    { "Epilog", true, doctor_epilog },
    { "HealthCheckProgram", true, doctor_healthcheck },
};

enum { CHECKS = sizeof (checks) / sizeof (checks[0]) };

enum verdict_status doctor_say (char text[DOCTOR_TEXT],
                                enum verdict_status level, const char *fmt,
                                ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, DOCTOR_TEXT, fmt, ap);
    va_end (ap);
    text_clean (text);
    return level;
}

/*
 * The patient
 */

static int patient_init (struct patient *p, const char *path,
                         struct error *err)
{
    *p = (struct patient){ .path = path, .user = "root",
                           .now = time (NULL) };
    if (site_read (&p->site, path, 1, &p->site_error) < 0) {
        p->bad_site = true;
        site_clear (&p->site);
        if (conf_defaults (site_options, &p->site) < 0)
            return error_nomem (err);
    }
    p->answers = controller_conf (&p->slurm, &p->slurm_error) == 0
                 && controller_user (&p->uid, p->user, &p->slurm_error) == 0;
    p->fabric = fabric_load (p->site.snapshot, &p->fabric_error);
    return 0;
}

static void patient_clear (struct patient *p)
{
    site_clear (&p->site);
    controller_conf_clear (&p->slurm);
    fabric_destroy (p->fabric);
}

/*
 * The report
 */

static int add (json_t *list, const struct check *check,
                enum verdict_status level, const char *text)
{
    return json_array_append_new (
        list, json_pack ("{s:s, s:s, s:s}", "check", check->name, "level",
                         verdict_status_name (level), "text", text));
}

static int report (const struct patient *p, bool json,
                   enum verdict_status *worst, struct error *err)
{
    json_t *out = json_file ("doctor", NULL);
    json_t *list = json_array ();
    int rc = out && list ? 0 : -1;

    *worst = VERDICT_OK;
    for (int i = 0; i < CHECKS; i++) {
        char text[DOCTOR_TEXT];
        enum verdict_status level;

        if (checks[i].slurm && !p->answers)
            continue;
        level = checks[i].look (p, text);
        if (level > *worst)
            *worst = level;
        if (!json)
            printf ("%-7s  %s: %s\n", verdict_status_name (level),
                    checks[i].name, text);
        else if (add (list, &checks[i], level, text) < 0)
            rc = -1;
    }
    if (rc == 0
        && (json_object_set_new (
                out, "status",
                json_string (verdict_status_name (*worst))) < 0
            || json_object_set (out, "checks", list) < 0))
        rc = -1;
    if (rc < 0)
        error_nomem (err);
    else if (json)
        rc = json_write (out, stdout, err);
    json_decref (list);
    json_decref (out);
    return rc;
}

int verb_doctor (int argc, char **argv)
{
    static const int exits[] = {
        [VERDICT_OK] = EXIT_OK,
        [VERDICT_WARN] = EXIT_OK,
        [VERDICT_UNKNOWN] = EXIT_WORLD,
        [VERDICT_FAIL] = EXIT_FAIL,
    };
    struct options o = { 0 };
    struct patient p;
    struct error err;
    enum verdict_status worst = VERDICT_UNKNOWN;
    int status, rc;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    rc = patient_init (&p, o.conf, &err);
    if (rc == 0)
        rc = report (&p, o.json, &worst, &err);
    patient_clear (&p);
    return rc < 0 ? fail (argv[0], &err) : exits[worst];
}
