{% test callsync_unique_combination(model, columns) %}
SELECT {{ columns | join(', ') }}, COUNT(*) AS times
FROM {{ model }}
GROUP BY {{ columns | join(', ') }}
HAVING COUNT(*) > 1
{% endtest %}

{% test callsync_has_call(model, calls) %}
SELECT m.call_id
FROM {{ model }} AS m
LEFT JOIN {{ calls }} AS c ON c.call_id = m.call_id
WHERE c.call_id IS NULL
{% endtest %}

{% test callsync_is_share(model, column_name) %}
SELECT {{ column_name }}
FROM {{ model }}
WHERE {{ column_name }} < -0.000001 OR {{ column_name }} > 1.000001
{% endtest %}
