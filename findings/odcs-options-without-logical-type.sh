#!/usr/bin/env bash
# datacontract-cli 1.2.8 (PyPI): under ODCS 3.2.0, a column with physicalType and logicalTypeOptions is refused where it has no
# logicalType. The message calls the option unexpected, and does not name the key that is missing.
# Each type's branch of the schema also holds where the key is absent, so one column must satisfy the options of all types at
# once. One line, logicalType, makes the same option valid; a column without options needs no logicalType.
# Seen: "Additional properties are not allowed ('maxLength' was unexpected)", then two valid contracts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYENV_VERSION=3.11 python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uv
"$folder/venv/bin/uv" pip install --quiet --python "$folder/venv/bin/python" datacontract-cli==1.2.8 open-data-contract-standard==3.2.0
lint() {
  {
    printf 'apiVersion: v3.2.0\nkind: DataContract\nid: urn:calls\nname: Calls\nversion: 1.0.0\nstatus: active\n'
    printf 'schema:\n  - name: calls\n    properties:\n      - name: call_id\n        physicalType: varchar(20)\n%s' "$1"
  } > "$folder/contract.yaml"
  COLUMNS=200 "$folder/venv/bin/datacontract" lint "$folder/contract.yaml" 2>&1 || true
}
options='        logicalTypeOptions: { maxLength: 20 }
'
lint "$options" | grep -F "'maxLength' was unexpected" | head -n 1
lint "        logicalType: string
$options" | grep -F 'Data contract is valid.'
lint '' | grep -F 'Data contract is valid.'
