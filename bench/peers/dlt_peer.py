"""One run of dlt's rest_api into DuckDB, then the rows as JSON lines. Settings come as JSON on standard input."""

import json
import sys

import dlt
from dlt.sources.helpers.rest_client.auth import OAuth2ClientCredentials
from dlt.sources.rest_api import rest_api_source

settings = json.load(sys.stdin)
cursor = settings["cursor"]
lag = settings["lag"]
incremental = {"cursor_path": cursor, "initial_value": settings["start"], **({"lag": lag} if lag else {})}
read_on = {f"{cursor}_from": "{incremental.start_value}"}
source = rest_api_source(
    {
        "client": {
            "base_url": settings["base_url"],
            "auth": OAuth2ClientCredentials(
                access_token_url=settings["token_url"],
                client_id=settings["client_id"],
                client_secret=settings["client_secret"],
            ),
            "paginator": {"type": "offset", "limit": 200, "offset_param": "offset", "limit_param": "limit", "total_path": "count"},
        },
        "resources": [
            {
                "name": "calls",
                "primary_key": "unique_id",
                "write_disposition": "replace" if lag is None else "merge",
                "endpoint": {
                    "path": "calls",
                    "data_selector": "data",
                    "params": {"order": cursor, **({} if lag is None else read_on)},
                    **({} if lag is None else {"incremental": incremental}),
                },
            }
        ],
    },
    name="service",
)
destination = dlt.destinations.duckdb(f"{settings['folder']}/calls.duckdb")
pipeline = dlt.pipeline("calls", pipelines_dir=settings["folder"], destination=destination, dataset_name="peer")
pipeline.run(source).raise_on_failed_jobs()
with pipeline.sql_client() as client, client.execute_query("SELECT unique_id, status, campaign FROM calls") as rows:
    for row in rows.fetchall():
        print(json.dumps(row))
