{# The settings of the package: the same that the section `analytics` of callsync's configuration has. #}

{% macro callsync_side(side) %}{% if side in ('in', 'out') %}'{{ side }}'{% else %}NULL{% endif %}{% endmacro %}

{% macro callsync_agent_side(direction) -%}
CASE
{%- for name, side in var('callsync_agent_side_by_direction', {}).items() %} WHEN UPPER({{ direction }}) = UPPER('{{ name }}') THEN {{ callsync.callsync_side(side) }}{% endfor %} WHEN 1 = 0 THEN '' ELSE {{ callsync.callsync_side(var('callsync_agent_side', 'unknown')) }} END
{%- endmacro %}

{# Seconds of one unit of a field; null while its unit is unknown. #}
{% macro callsync_factor(field) -%}
{%- set unit = var('callsync_units', {}).get(field, 'unknown') -%}
{%- if unit == 'seconds' -%}1.0{%- elif unit == 'milliseconds' -%}0.001{%- else -%}{{ callsync.callsync_float('NULL') }}{%- endif -%}
{%- endmacro %}

{% macro callsync_field_pivots() -%}
{%- for key, field in var('callsync_fields', {}).items() %},
  MAX(CASE WHEN key = '{{ dbt.escape_single_quotes(key) }}' THEN value END) AS {{ field.name }}
{%- endfor -%}
{%- endmacro %}

{% macro callsync_field_keys() -%}
key IN ({% for key in var('callsync_fields', {}) %}'{{ dbt.escape_single_quotes(key) }}'{% if not loop.last %}, {% endif %}{% else %}NULL{% endfor %})
{%- endmacro %}

{% macro callsync_field_columns(relation) -%}
{%- for field in var('callsync_fields', {}).values() -%}
{%- set text = relation ~ '.' ~ field.name -%}
{%- set type = field.get('type', 'text') -%}
{%- set decimal = field.get('decimal') if type in ('numeric', 'integer') else none -%}
{%- set number = callsync.callsync_plain_number(text, *((',', '.') if decimal == 'comma' else ('.', ','))) if decimal else text -%}
{%- set value -%}{% if type == 'numeric' %}{{ callsync.callsync_as_numeric(number) }}{% elif type == 'integer' %}{{ callsync.callsync_as_integer(number) }}{% elif type == 'boolean' %}{{ callsync.callsync_as_boolean(text) }}{% elif type == 'date' %}{{ callsync.callsync_as_date(text) }}{% else %}{{ text }}{% endif %}{%- endset %},
  {{ value }} AS {{ field.name }}{% if type != 'text' %},
  {{ text }} AS {{ field.name }}_as_sent,
  COALESCE(TRIM({{ text }}) <> '' AND ({{ value }}) IS NULL, FALSE) AS {{ field.name }}_unparsable{% endif %}
{%- endfor -%}
{%- endmacro %}

{# Rows of calls that an incremental model lacks: of new calls, and of those whose rows its pre-hook has deleted. #}
{% macro callsync_changed(relation) -%}
{%- if is_incremental() -%}
(SELECT * FROM {{ relation }} WHERE call_id IN (
  SELECT c.call_id FROM {{ ref('stg_callsync__calls') }} AS c
  WHERE NOT EXISTS (SELECT 1 FROM {{ this }} AS old WHERE old.call_id = c.call_id)
))
{%- else -%}{{ relation }}{%- endif -%}
{%- endmacro %}

{# Of calls that another load has written since, and of calls that are gone. #}
{% macro callsync_delete_changed() -%}
{%- if is_incremental() -%}
DELETE FROM {{ this }} AS old WHERE NOT EXISTS (
  SELECT 1 FROM {{ ref('stg_callsync__calls') }} AS c WHERE c.call_id = old.call_id AND c.load_id = old.callsync_load_id
)
{%- endif -%}
{%- endmacro %}
