#!/bin/sh
# Builds the models once all calls of the days are proven: build.sh [FROM TO], by default yesterday.
# Ends with the exit code of callsync if they are not proven in time (5), or if something does not answer (4).
set -eu
from="${1:-$(date -d yesterday +%F)}"
to="${2:-$(date +%F)}"
callsync await --proven --from "$from" --to "$to" --timeout "${TIMEOUT:-2h}"
cd "$(dirname "$0")"
dbt deps
dbt build
