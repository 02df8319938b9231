#!/bin/sh
# Makes the secret files of docker-compose.yml in deploy/secrets/: random passwords and keys, and empty files for the secrets
# of your account manager. Existing files stay.
set -eu
cd "$(dirname "$0")/secrets"
# The folder keeps other users of this machine out. The accounts inside the containers must be able to read the files.
chmod 700 .
umask 022

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { [ -s "$1" ] || printf '%s\n' "$2" > "$1"; }

keep store_admin_password "$(random)"
keep store_password "$(random)"
keep store_url "postgres://callsync:$(cat store_password)@postgres:5432/callsync"
keep receiver_password "$(random)"
keep receiver_url "postgres://callsync_receiver:$(cat receiver_password)@postgres:5432/callsync"
keep temporal_password "$(random)"
# Recognises erased calls. Keep a copy outside the backups of the databases.
keep tombstone_key "$(random)"
# They sign verdicts, and make the tokens of privacy rules: every worker needs the same, receivers the second one too.
keep proof_key "$(random)"
keep privacy_key "$(random)"
for name in client_secret signing_secret; do
  [ -e "$name" ] || : > "$name"
  [ -s "$name" ] || echo "Write the $name of your account manager into deploy/secrets/$name"
done
