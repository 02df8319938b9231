"""Builds the dbt models of a day once callsync has proven that day. Needs callsync and dbt on the path, and CALLSYNC_CONFIG."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    "callsync_proven",
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
):
    proven = BashOperator(
        task_id="proven",
        append_env=True,
        bash_command=(
            'callsync await --proven --from "{{ macros.ds_add(ds, -1) }}" --to "{{ ds }}"'
            ' --timeout "${CALLSYNC_AWAIT_TIMEOUT:-3h}"'
        ),
    )
    build = BashOperator(task_id="build", append_env=True, bash_command="dbt build")
    proven >> build
