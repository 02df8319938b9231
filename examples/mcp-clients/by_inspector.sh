#!/bin/sh
# callsync mcp by the protocol's inspector, without its page; needs Node 22.19: by_inspector.sh callsync.yaml
config=$1
inspect() { npx --yes @modelcontextprotocol/inspector@2.12.0 --cli "$@" -- callsync mcp --config "$config"; }
inspect --method tools/list
inspect --method tools/call --tool-name query --tool-arg 'sql=SELECT count(*) AS calls FROM calls'
