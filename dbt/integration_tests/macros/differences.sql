{# Rows of a model that are not expected, and expected rows that it lacks; figures to six digits. PostgreSQL rounds to digits what is
   exact alone; in BigQuery that cast would keep three digits where it runs locally. #}
{% macro differences(model, expected, exact, rounded) %}
{%- set columns -%}
{%- set type = 'FLOAT64' if target.type == 'bigquery' else 'NUMERIC' -%}
{{ exact | join(', ') }}{% for column in rounded %}, ROUND(CAST({{ column }} AS {{ type }}), 6) AS {{ column }}{% endfor %}
{%- endset %}
WITH found AS (SELECT {{ columns }} FROM {{ ref(model) }}),
wanted AS (SELECT {{ columns }} FROM {{ ref(expected) }}),
surplus AS (SELECT * FROM found EXCEPT DISTINCT SELECT * FROM wanted),
missing AS (SELECT * FROM wanted EXCEPT DISTINCT SELECT * FROM found)
SELECT 'surplus' AS kind, surplus.* FROM surplus
UNION ALL
SELECT 'missing' AS kind, missing.* FROM missing
{% endmacro %}
