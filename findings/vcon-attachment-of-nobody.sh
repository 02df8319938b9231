#!/usr/bin/env bash
# vcon 0.10.0 (PyPI): add_tag ties the tags of a call to party 0 and dialog 0, also where there is neither. So does add_attachment
# without a party and a dialog.
# The library's is_valid refuses such an index in a dialog and in an analysis, and accepts it in the attachment that it made itself.
# So tags of a whole call say that they belong to its first utterance, and a call without words has a reference to nothing.
# Seen, with Python 3.12: the attachment has party 0 and dialog 0 beside two empty lists, and is_valid is true; a dialog of
# party 5 makes it false.
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
from vcon.dialog import Dialog

silent = Vcon.build_new()
silent.add_tag("campaign", "spring")
written = json.loads(silent.to_json())
[attachment] = written["attachments"]
wrong = Vcon.build_new()
wrong.add_dialog(Dialog(type="text", start="2026-01-05T10:00:00Z", parties=[5], body="a", encoding="none", mediatype="text/plain"))
lists = [len(written["parties"]), len(written["dialog"])]
print(json.dumps([lists, attachment["party"], attachment["dialog"], silent.is_valid()[0], wrong.is_valid()[0]]))
PY
seen=$("$folder/venv/bin/python" "$folder/tags.py" 2>/dev/null)
echo "$seen"
[ "$seen" = '[[0, 0], 0, 0, true, false]' ]
