#!/usr/bin/env bash
# vcon-zip 1.0.0 (PyPI): a bundle of vCons holds the files that they refer to, and validate refuses a bundle that lacks one. But it
# counts as references only those with a content_hash: a recording that has an address alone is neither fetched nor missed.
# Such an archive of calls is valid without the sound of a call, and says that it has no external references.
# Seen, with Python 3.12, of two bundles without files: the one of a recording with a hash has 1 reference and exit 1, that of the same
# recording without a hash has 0 and exit 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYENV_VERSION=3.12 python3.12 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vcon-zip==1.0.0
cat > "$folder/write.py" <<'PY'
import base64
import hashlib
import json
import sys

digest = base64.urlsafe_b64encode(hashlib.sha512(b"RIFF").digest()).decode().rstrip("=")
for name, more in [("hashed", {"content_hash": f"sha512-{digest}"}), ("plain", {})]:
    dialog = {"type": "recording", "start": "2026-01-05T10:00:00Z", "parties": [0], "mediatype": "audio/x-wav"}
    dialog |= {"url": "https://recordings.example.com/call.wav", **more}
    call = {"vcon": "0.4.0", "uuid": "0d1b6e22-8261-817c-80d9-21fb06d95e5c", "created_at": dialog["start"]}
    with open(f"{sys.argv[1]}/{name}.vcon", "w") as file:
        json.dump({**call, "parties": [{}], "dialog": [dialog]}, file)
PY
python3 "$folder/write.py" "$folder"
seen=
for name in hashed plain; do
  "$folder/venv/bin/vconz" create "$folder/$name.vcon" -o "$folder/$name.vconz" --no-download > /dev/null
  references=$("$folder/venv/bin/vconz" analyze "$folder/$name.vconz" | sed -n 's/.*External References: //p')
  code=0
  "$folder/venv/bin/vconz" validate "$folder/$name.vconz" > /dev/null 2>&1 || code=$?
  seen="$seen$name $references $code; "
done
echo "$seen"
[ "$seen" = 'hashed 1 1; plain 0 0; ' ]
