#!/usr/bin/env bash
# bqemulator 1.4.0 (PyPI): this local BigQuery ignores the time zone of PARSE_TIMESTAMP, but honours that of FORMAT_TIMESTAMP. Local
# times of calls are off by the zone's offset, without an error: a text that was formatted in a zone and parsed in that zone is
# another instant. DATE and EXTRACT honour the zone as well.
# Seen: 2026-01-05 10:00 of Europe/Paris is 10:00 UTC (09:00 is right), and FORMAT_TIMESTAMP shows that instant as 11:00 in Paris.
set -euo pipefail
folder=$(mktemp -d)
trap '[ -z "${server:-}" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
PYENV_VERSION=3.11 python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uv
"$folder/venv/bin/uv" pip install --quiet --python "$folder/venv/bin/python" \
  bqemulator==1.4.0 duckdb==1.5.5 duckdb-extension-spatial==1.5.5 numpy
extensions="$folder/.duckdb/extensions/v1.5.5/linux_amd64"
mkdir -p "$extensions"
find "$folder/venv" -name spatial.duckdb_extension -exec cp {} "$extensions/" \;
port=$("$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
grpc=$("$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
HOME="$folder" "$folder/venv/bin/bqemulator" start --project demo --rest-port "$port" --grpc-port "$grpc" > "$folder/log" 2>&1 &
server=$!
cat > "$folder/ask.py" <<'PY'
import json
import sys
import time
import urllib.request

body = json.dumps({"query": sys.argv[2], "useLegacySql": False}).encode()
address = f"http://127.0.0.1:{sys.argv[1]}/bigquery/v2/projects/demo/queries"
for attempt in range(120):
    try:
        asked = urllib.request.Request(address, data=body, headers={"content-type": "application/json"})
        answer = json.load(urllib.request.urlopen(asked))
        break
    except urllib.error.URLError:
        time.sleep(1)
print(json.dumps([cell["v"] for cell in answer["rows"][0]["f"]]))
PY
seen=$("$folder/venv/bin/python" "$folder/ask.py" "$port" "WITH parsed AS (
  SELECT PARSE_TIMESTAMP('%Y-%m-%d %H:%M', '2026-01-05 10:00', 'Europe/Paris') AS at)
  SELECT FORMAT_TIMESTAMP('%H:%M', at, 'UTC'), FORMAT_TIMESTAMP('%H:%M', at, 'Europe/Paris') FROM parsed")
echo "$seen"
[ "$seen" = '["10:00", "11:00"]' ]
