#!/usr/bin/env bash
# vcon 0.10.0 (PyPI): a tag keeps its whole value in the container, but get_tag returns only the part up to the next colon.
# A call centre's tag for an appointment, "14:30", is read back as "14"; an address of a recording is read as "https".
# The container itself is right, so every other reader sees the value that the library's own reader cuts.
# Seen, with Python 3.12: stored ["callback:14:30", "recording:https://example.com/1"], read "14" and "https".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYENV_VERSION=3.12 python3.12 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vcon==0.10.0
cat > "$folder/tags.py" <<'PY'
import json
import logging
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from vcon import Vcon

call = Vcon.build_new()
call.add_tag("callback", "14:30")
call.add_tag("recording", "https://example.com/1")
print(json.dumps([call.tags["body"], call.get_tag("callback"), call.get_tag("recording")]))
PY
seen=$("$folder/venv/bin/python" "$folder/tags.py" 2>/dev/null)
echo "$seen"
[ "$seen" = '[["callback:14:30", "recording:https://example.com/1"], "14", "https"]' ]
