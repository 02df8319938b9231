#!/usr/bin/env bash
# bqemulator 1.4.0 (PyPI): in this local BigQuery, SAFE_CAST of a text to INT64 rounds "5.5" to 6, where GoogleSQL has NULL. A
# query that counts unreadable durations of calls as NULL finds none locally, and many in the service.
# Seen: SAFE_CAST of '5.5', '1e3' and '0x10' as INT64 is 6, 1000 and 16; of 'long' it is NULL. GoogleSQL reads 0x10 as well, and has
# NULL for the first two.
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
seen=$("$folder/venv/bin/python" "$folder/ask.py" "$port" "SELECT SAFE_CAST('5.5' AS INT64), SAFE_CAST('1e3' AS INT64),
  SAFE_CAST('0x10' AS INT64), SAFE_CAST('long' AS INT64)")
echo "$seen"
[ "$seen" = '["6", "1000", "16", null]' ]
