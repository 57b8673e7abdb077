/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: what to change in a site's configuration. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "ibquery/snapshot.h"
#include "pmm/doctor.h"
#include "pmm/verb.h"
#include "util/json.h"

/*
 * The checks
 */

static enum verdict_status slurmctld (const struct doctor_site *p, char *text)
{
    if (!p->answers)
        return say_unknown (text, "%s; what depends on it was not looked at",
                            p->slurm_error.text);
    if (p->uid != 0 && strcmp (p->site.slurm_user, p->user) != 0)
        return say_fail (text,
                         "SlurmUser is %s, and '%s' in pmm.conf: hooks will "
                         "not believe what it publishes",
                         p->user, p->site.slurm_user);
    return say_ok (text, "cluster %s answers, SlurmUser is %s",
                   controller_conf_get (&p->slurm, "ClusterName"), p->user);
}

static const struct doctor_check {
    const char *name;
    bool slurm; /* only if slurmctld answers */
    doctor_check *look;
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
                                enum verdict_status level, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, DOCTOR_TEXT, fmt, ap);
    va_end (ap);
    text_clean (text);
    return level;
}

/*
 * The report
 */

static void examine_site (struct doctor_site *p, const char *path)
{
    *p = (struct doctor_site){ .path = path,
                               .user = "root",
                               .now = time (NULL) };
    if (site_read (&p->site, path, 1, &p->site_error) < 0) {
        p->bad_site = true;
        site_clear (&p->site);
        xcheck (conf_defaults (site_options, &p->site) < 0 ? NULL : p);
    }
    p->answers = controller_conf (&p->slurm, &p->slurm_error) == 0
                 && controller_user (&p->uid, p->user, &p->slurm_error) == 0;
    p->fabric = fabric_load (p->site.snapshot, &p->fabric_error);
}

static int report (const struct doctor_site *p, bool json, struct error *err)
{
    enum verdict_status worst = VERDICT_OK;
    json_t *list = json_array ();
    int rc = 0;

    for (int i = 0; i < CHECKS; i++) {
        char text[DOCTOR_TEXT];
        enum verdict_status level;

        if (checks[i].slurm && !p->answers)
            continue;
        level = checks[i].look (p, text);
        if (level > worst)
            worst = level;
        if (json)
            json_add (list,
                      json_pack ("{s:s, s:s, s:s}", "check", checks[i].name,
                                 "level", verdict_status_name (level), "text",
                                 text));
        else
            printf ("%-7s  %s: %s\n", verdict_status_name (level),
                    checks[i].name, text);
    }
    if (json)
        rc = json_write_file ("doctor", NULL,
                              json_pack ("{s:s, s:O}", "status",
                                         verdict_status_name (worst), "checks",
                                         list),
                              stdout, err);
    json_decref (list);
    return rc < 0 ? -1 : exit_status (worst);
}

static int run (struct inputs *in, struct error *err)
{
    struct doctor_site p;
    int status;

    examine_site (&p, in->conf);
    status = report (&p, in->json, err);
    site_clear (&p.site);
    controller_conf_clear (&p.slurm);
    fabric_destroy (p.fabric);
    return status;
}

const struct verb verb_doctor = {
    .name = "doctor",
    .help = "what to change in the site's configuration",
    .may = TAKES_CONF | TAKES_JSON,
    .run = run,
};
