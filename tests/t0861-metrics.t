#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The audit service's metrics, hostile names among them, as promtool and a real
# Prometheus read them by a real node_exporter; the alert rules and the
# dashboard.

. "$(dirname "$0")/lib.sh"
need promtool jq
[ -x "$builddir/prolog/test/publish.t" ] || skip_all "built without the service"
workdir
cd "$workdir" || exit 1

mkdir textfile
"$builddir/prolog/test/publish.t" "$workdir/textfile/pmm.prom" >/dev/null
said=$(promtool check metrics <textfile/pmm.prom 2>&1)
is "$? $said" "0 " "promtool has nothing to say of the metrics"
like "$(<textfile/pmm.prom)" 'pmm_link_status\{guid="0x0002c90100000010",port="1",uplink_guid="0x0002c90000000011",uplink_port="1"\} 2' \
    "... such as a cable that FAILs, by both ends"

# The rules
cp "$srcdir"/contrib/prometheus/pmm-alerts*.yml .
promtool check rules pmm-alerts.yml >said 2>&1
ok $? "promtool reads the alert rules" || diag "$(<said)"
promtool test rules pmm-alerts-test.yml >said 2>&1
ok $? "... which say what they should" || diag "$(<said)"

# The dashboard: of what is written, and only that
jq -r '.panels[].targets[].expr' \
    "$srcdir/contrib/prometheus/pmm-dashboard.json" >exprs
ok $? "the dashboard is JSON"
grep -ohE 'pmm_[a-z_]+' exprs pmm-alerts.yml | sort -u >used
sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' textfile/pmm.prom | sort >have
is "$(comm -23 used have)" "" "dashboard and rules use metrics that there are"

for program in prometheus prometheus-node-exporter curl; do
    type -P $program >/dev/null || {
        skip "a real Prometheus" "not installed: $program"
        done_testing
        exit
    }
done

# A port of loopback that nothing listens on
free_port ()
{
    local port
    until port=$((20000 + RANDOM % 10000)) &&
        ! (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo $port
}
exporter=127.0.0.1:$(free_port) server=127.0.0.1:$(free_port)
prometheus-node-exporter --web.listen-address=$exporter \
    --collector.disable-defaults --collector.textfile \
    --collector.textfile.directory="$workdir/textfile" >exporter.log 2>&1 &
cleanup kill $!
sed -E 's/for: .*/for: 0s/' pmm-alerts.yml >now.yml
cat >prometheus.yml <<END
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [ now.yml ]
scrape_configs:
  - job_name: node
    static_configs: [ { targets: [ "$exporter" ] } ]
END
prometheus --config.file=prometheus.yml --web.listen-address=$server \
    --storage.tsdb.path="$workdir/tsdb" >prometheus.log 2>&1 &
cleanup kill $!

query () { curl -sG "http://$server/api/v1/query" --data-urlencode "query=$1"; }
scraped () { [ "$(query pmm_service_failing_duties | jq -r '.data.result[0].value[1]')" = 3 ]; }
within 20 scraped
ok $? "a real Prometheus has them by a real node_exporter" \
    || diag "$(tail -n 3 prometheus.log exporter.log)"
is "$(query node_textfile_scrape_error | jq -r '.data.result[0].value[1]')" 0 \
    "... without an error"
is "$(query 'pmm_link_info{link="0002c90000000010/1"}' |
    jq -r '.data.result[0].metric.switch')" $'a "\\}\n# 1' \
    "a hostile name is the text that it is"
bad=''
while IFS= read -r expr; do
    [ "$(query "$expr" | jq -r .status)" = success ] || bad+="$expr; "
done <exprs
is "$bad" "" "each query of the dashboard can be asked"
fires () {
    query "ALERTS{alertname=\"$1\",alertstate=\"firing\"}" |
        jq -e '.data.result | length > 0' >/dev/null
}
for alert in PmmLinkRate PmmServiceFails PmmSnapshotOld PmmPolicyBlocked PmmNoAudit; do
    within 20 fires $alert
    ok $? "$alert fires"
done
theirs=$(query 'time()' | jq '.data.result[1] | tonumber | floor')
if ((theirs < $(date +%s) + 60)); then
    fires PmmServiceSilent
    is $? 1 "PmmServiceSilent does not"
else
    skip "PmmServiceSilent does not" "Prometheus, which is Go, is ahead (tests/at)"
fi

done_testing
