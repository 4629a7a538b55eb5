#!/bin/sh
# promtool-check.sh: checks the alerts of contrib/prometheus with promtool, and runs
# their tests. Debian's package of Prometheus is installed if promtool is missing; where
# that is not possible the check is left out, with a message.
set -eu
cd "$(dirname "$0")/../contrib/prometheus"
if ! command -v promtool >/dev/null; then
	echo "promtool is missing: installing prometheus" >&2
	if ! ../../scripts/debian prometheus >/dev/null 2>&1; then
		echo "promtool cannot be installed: the alerts are not checked" >&2
		exit 0
	fi
fi
promtool check rules alerts.yml
promtool test rules alerts_test.yml
