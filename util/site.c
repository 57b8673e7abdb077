/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's configuration. */
#include "config.h"
#include "util/site.h"

#include <errno.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"

enum { MEET_MIN_S = 2, ROUND_TRIP_MAX_US = 1000000, LEDGER_DAYS_MAX = 36500 };

#define FIELD(name) offsetof (struct site, name)

const struct conf_option site_options[] = {
    { "Conf", CONF_PATH, FIELD (conf), "",
      "in plugstack.conf only: the pmm.conf to read" },
    { "Snapshot", CONF_PATH, FIELD (snapshot), "/var/lib/slurm-pmm/fabric",
      "the published fabric snapshot, or those of several subnets", .min = 1 },
    { "SnapshotsKept", CONF_INT, FIELD (snapshots_kept), "5",
      "how many earlier snapshots stay in its directory" },
    { "ReadEvery", CONF_SECONDS, FIELD (read_every_ms), "1h",
      "read everything again after this time, though no change is seen" },
    { "Baseline", CONF_PATH, FIELD (baseline),
      "/var/lib/slurm-pmm/baseline.pmm",
      "the published baseline samples, if there are any" },
    { "Signs", CONF_PATH, FIELD (signs), "/var/lib/slurm-pmm/signs.json",
      "what pmm fabric check --json found of the links, if it is run" },
    { "Ledger", CONF_PATH, FIELD (ledger), "/var/lib/slurm-pmm/ledger",
      "what the audits leave, for pmm ledger" },
    { "Spool", CONF_PATH, FIELD (spool), "/var/spool/slurm-pmm",
      "the directory where ended jobs are noted for the audit service" },
    { "Verdicts", CONF_PATH, FIELD (verdicts), "/var/lib/slurm-pmm/verdicts",
      "what audits have found of each node, for the hooks" },
    { "Metrics", CONF_PATH, FIELD (metrics), "",
      "where the audit service writes metrics for Prometheus" },
    { "Reports", CONF_PATH, FIELD (reports), "",
      "the directory of pages: of audits, and of the site" },
    { "ReportsKept", CONF_INT, FIELD (reports_kept), "200",
      "how many pages stay there" },
    { "Cabling", CONF_PATH, FIELD (cabling), "",
      "a table of the site's cables, whose labels are on the pages" },
    { "Local", CONF_PATH, FIELD (local), "/var/lib/slurm-pmm/local",
      "what a node's hooks leave to the next ones" },
    { "Run", CONF_PATH, FIELD (run), "/run/slurm-pmm",
      "the hooks' directory for locks" },
    { "LiveFabric", CONF_PATH, FIELD (live_fabric), "",
      "where prologs have the fabric read if no Snapshot is published" },
    { "Pmm", CONF_PATH, FIELD (pmm), PMM_PATH, "the pmm that then reads it" },
    { "Hooks", CONF_PATH, FIELD (hooks), "",
      "in plugstack.conf: where pmm-prolog is, for the plugin to run it" },
    { "SlurmUser", CONF_STRING, FIELD (slurm_user), "slurm",
      "whose files the hooks trust, as root's" },
    { "PortRate", CONF_STRING, FIELD (port_rate), "",
      "what a node's ports should be, as 4xEDR; else what they were" },
    { "Srun", CONF_PATH, FIELD (srun), PMM_SRUN_PATH,
      "the srun that starts a check", .min = 1 },
    { "Probe", CONF_PATH, FIELD (probe), PMM_PROBE_PATH,
      "the pmm-probe that a check runs", .min = 1 },
    { "Mpi", CONF_STRING, FIELD (mpi), SITE_AUTO,
      "how its processes meet: pmix, pmi2, or auto: PMI-2 without PMIx",
      .words = SITE_AUTO ", pmix, pmi2" },
    { "JobComment", CONF_PATH, FIELD (job_comment), PMM_COMMENT_PATH,
      "the program that adds results to the job's Comment; empty: none" },
    { "NotifyProgram", CONF_PATH, FIELD (notify_program), "",
      "what the audit service runs for each event" },
    { "Mode", CONF_STRING, FIELD (mode), "off",
      "where the job does not say: off, report or require",
      .words = "off, report, require" },
    { "ReportPartitions", CONF_STRING, FIELD (report_partitions), "",
      "partitions whose jobs are checked, comma-separated" },
    { "RequirePartitions", CONF_STRING, FIELD (require_partitions), "",
      "partitions whose jobs need a check that does not fail" },
    { "Timeout", CONF_SECONDS, FIELD (timeout_ms), "60",
      "how long a check may take", .min = 1 },
    { "Transport", CONF_STRING, FIELD (transport), "verbs",
      "what carries the probes: verbs or emu", .words = "verbs, emu" },
    { "EmuSocket", CONF_PATH, FIELD (emu_socket), "",
      "the fabric emulator's socket, for Transport=emu" },
    { "NodeMap", CONF_PATH, FIELD (node_map), "",
      "a map of nodes to endpoints, where names and GUIDs do not tell" },
    { "NodeNameMap", CONF_PATH, FIELD (node_name_map), "",
      "names of switches and adapters, as opensm has them (node-name-map)" },
    { "Repeats", CONF_INT, FIELD (repeats), "20",
      "round trips of a probe from either side", .min = 1 },
    { "PingBytes", CONF_INT, FIELD (ping_bytes), "64",
      "size of a round trip's messages", .min = SITE_PING_MIN,
      .max = SITE_PING_MAX },
    { "ExtraRounds", CONF_INT, FIELD (extra_rounds), "2",
      "rounds made only for redundancy" },
    { "BaseLids", CONF_BOOL, FIELD (base_lids), "no",
      "use no other LIDs of a port than its first, where LMC is not 0" },
    { "ConfirmRounds", CONF_INT, FIELD (confirm_rounds), "4",
      "rounds that measure again what looks slow, at most", .min = 1,
      .max = SITE_CONFIRM_MAX },
    { "Rates", CONF_STRING, FIELD (rates), "off",
      "who may measure what links carry: off, audits or all",
      .words = "off, audits, all" },
    { "Device", CONF_STRING, FIELD (device), "",
      "ports to use, comma-separated, as mlx5_0/1 or mlx5_[0-7]; else all" },
    { "Service", CONF_STRING, FIELD (service), "ud",
      "of the probes over verbs: ud or rc", .words = "ud, rc" },
    { "GidIndex", CONF_STRING, FIELD (gid_index), SITE_AUTO,
      "of the GID to use, or auto" },
    { "PKey", CONF_STRING, FIELD (pkey), "",
      "of the partition to use, as 0x8001; else the port's first full one" },
    { "ServiceLevel", CONF_INT, FIELD (service_level), "0",
      "of the probes, 0 to 15", .max = 15 },
    { "TrafficClass", CONF_INT, FIELD (traffic_class), "0",
      "of the probes, 0 to 255, where they have a GID", .max = 255 },
    { "Polling", CONF_STRING, FIELD (polling), SITE_AUTO,
      "wait for messages busy, by event, or auto: busy if cores suffice",
      .words = SITE_AUTO ", busy, event" },
    { "Clock", CONF_STRING, FIELD (clock), SITE_AUTO,
      "that times: the host's, or auto: the device's if it has one",
      .words = SITE_AUTO ", host" },
    { "Pin", CONF_BOOL, FIELD (pin), "yes", "poll on a core near the device" },
    { "RoundTrip", CONF_INT, FIELD (round_trip_us), "0",
      "longer than any round trip, in us; 0: by the device",
      .max = ROUND_TRIP_MAX_US },
    { "WarnExcess", CONF_DOUBLE, FIELD (warn_ns), "100",
      "WARN needs this excess, in ns, ..." },
    { "WarnSpread", CONF_DOUBLE, FIELD (warn_spread), "6",
      "... and this many standard deviations" },
    { "FailExcess", CONF_DOUBLE, FIELD (fail_ns), "300",
      "FAIL needs this excess, in ns, ..." },
    { "FailSpread", CONF_DOUBLE, FIELD (fail_spread), "10",
      "... and this many standard deviations" },
    { "NotJudgedShare", CONF_DOUBLE, FIELD (open_share), "20",
      "links that could not be judged, as a percentage: of more, a check is "
      "UNKNOWN",
      .max = 100 },
    { "BusyShare", CONF_DOUBLE, FIELD (busy_share), "10",
      "host ends that carry more for others, as a percentage, are UNKNOWN",
      .max = 100 },
    { "Action", CONF_STRING, FIELD (action), "report",
      "what audits may bring about: report, comment or drain",
      .words = "report, comment, drain" },
    { "ConfirmAfter", CONF_SECONDS, FIELD (confirm_after_ms), "10m",
      "a drain or resume needs two audits that are this far apart, ...",
      .min = 1 },
    { "ConfirmWithin", CONF_SECONDS, FIELD (confirm_within_ms), "24h",
      "... and no older than this" },
    { "FailLatency", CONF_DOUBLE, FIELD (fail_latency_ns), "0",
      "host ends of more ns may be drained without a baseline; 0: none" },
    { "MaxDrainPerDay", CONF_INT, FIELD (max_drain_per_day), "5",
      "if more hosts FAIL at once than this, ..." },
    { "MaxDrainShare", CONF_DOUBLE, FIELD (max_drain_share), "1",
      "... or than this percentage, but one at least, none is drained",
      .max = 100 },
    { "MaxUnavailable", CONF_DOUBLE, FIELD (max_unavailable), "10",
      "percentage of unavailable nodes beyond which none is drained",
      .max = 100 },
    { "DrainAgainAfter", CONF_SECONDS, FIELD (drain_again_after_ms), "24h",
      "a node that somebody put back in service is left alone for so long" },
    { "Resume", CONF_BOOL, FIELD (resume), "no",
      "resume nodes that audits drained and now find clean" },
    { "AuditPartition", CONF_STRING, FIELD (audit_partition), "audit",
      "the partition that audits run in", .min = 1 },
    { "AuditTimeout", CONF_SECONDS, FIELD (audit_timeout_ms), "60",
      "how long an audit may take", .min = 1 },
    { "AuditMinNodes", CONF_INT, FIELD (audit_min_nodes), "8",
      "jobs of so many nodes are audited when they end; 0: none" },
    { "AuditEvery", CONF_SECONDS, FIELD (audit_every_ms), "24h",
      "how often each cable is to be measured; 0: no matter" },
    { "AuditAgainAfter", CONF_SECONDS, FIELD (audit_again_after_ms), "10m",
      "what was measured is not audited again for another job for so long" },
    { "AuditsPerHour", CONF_INT, FIELD (audits_per_hour), "12",
      "more audits are not begun in an hour", .max = SITE_AUDITS_MAX },
    { "AuditsPerUser", CONF_INT, FIELD (audits_per_user), "4",
      "... and of these no more for the jobs of one user" },
    { "ChecksPerUser", CONF_INT, FIELD (checks_per_user), "4",
      "audits that the checks of a user may bring about in a day" },
    { "AuditRates", CONF_STRING, FIELD (audit_rates), "hosts",
      "what links audits fill, where Rates allows it: hosts or all",
      .words = "hosts, all" },
    { "LedgerDays", CONF_INT, FIELD (ledger_days), "90",
      "audits are forgotten after so many days; 0: never",
      .max = LEDGER_DAYS_MAX },
    { 0 },
};

int site_check (const struct site *site, struct error *err)
{
    char path[TEXT_PATH];

    for (const char *list = site->snapshot; text_next (&list, path);)
        if (*path != '/')
            return error_input (err, "option Snapshot: %.100s is not an "
                                "absolute path", path);
    if (site->confirm_within_ms <= site->confirm_after_ms)
        return error_input (err, "option ConfirmWithin: must be more than "
                                 "ConfirmAfter");
    return 0;
}

static int read_site_file (struct site *site, const char *path, int trusted,
                           int optional, struct error *err)
{
    FILE *fp = trusted ? file_open_trusted (path, 0, err)
                       : file_open_input (path, err);
    int rc;

    if (!fp)
        return optional && errno == ENOENT ? 0 : -1;
    rc = conf_read (site_options, site, fp, path, err);
    file_close_input (fp);
    if (rc < 0)
        return -1;
    if (site->conf[0])
        return error_input (err, "%s: Conf belongs in plugstack.conf only",
                            path);
    return 0;
}

int site_read (struct site *site, const char *path, int trusted,
               struct error *err)
{
    int optional = path == NULL;

    if (optional)
        path = PMM_CONF_PATH;
    if (conf_defaults (site_options, site) < 0)
        return error_nomem (err);
    if (read_site_file (site, path, trusted, optional, err) < 0)
        return -1;
    if (site_check (site, err) < 0)
        return error_prefix (err, "%s", path);
    return 0;
}

void site_clear (struct site *site)
{
    conf_clear (site_options, site);
}

int site_allows_rates (const struct site *site, int audit)
{
    return !strcmp (site->rates, "all")
           || (audit && !strcmp (site->rates, "audits"));
}

const char *site_mode (const struct site *site, const char *partition)
{
    if (text_listed (site->require_partitions, partition))
        return "require";
    if (text_listed (site->report_partitions, partition))
        return "report";
    return site->mode;
}

const struct site_mpi *site_mpi (const struct site *site)
{
    static const struct site_mpi tab[] = {
        { "pmix", { "pmix" }, "this Slurm has no PMIx (srun --mpi=list)" },
        { "pmi2", { "pmi2" }, "this Slurm has no PMI-2 (srun --mpi=list)" },
#ifdef HAVE_PMIX
        { SITE_AUTO, { "pmix", "pmi2" },
          "this Slurm has neither PMIx nor PMI-2 (srun --mpi=list)" },
#else /* pmm-probe is built without PMIx */
        { SITE_AUTO, { "pmi2" }, "this Slurm has no PMI-2 (srun --mpi=list)" },
#endif
    };
    const struct site_mpi *mpi = tab;

    while (strcmp (mpi->name, SITE_AUTO) && strcmp (mpi->name, site->mpi))
        mpi++;
    return mpi;
}

int site_meet_timeout_s (int timeout_ms)
{
    int s = timeout_ms / 4 / 1000;

    return s < MEET_MIN_S ? MEET_MIN_S : s;
}

int site_probe_timeout_ms (int left_ms)
{
    return left_ms - (left_ms / 5 < 3000 ? left_ms / 5 : 3000);
}
