/** Three questions an analyst would ask, in SQL that both warehouses understand. */
export const analystQueries: readonly { readonly title: string; readonly sql: string }[] = [
  {
    title: 'Calls, mean duration and words by status',
    sql: `SELECT status, count(*) AS calls, round(avg(duration)) AS mean_duration, sum(word_count) AS words
FROM calls GROUP BY status ORDER BY calls DESC`,
  },
  {
    title: 'How often each tag was found true',
    sql: `SELECT display_name, count(*) AS calls, sum(CASE WHEN value_bool THEN 1 ELSE 0 END) AS found_true
FROM tags GROUP BY display_name ORDER BY calls DESC, display_name LIMIT 5`,
  },
  {
    title: 'Share of speech per side in the ten longest calls',
    sql: `SELECT u.call_id, u.side, sum(u.word_count) AS words, round(sum(u.duration)) AS spoken
FROM utterances u
JOIN (SELECT call_id FROM calls ORDER BY duration DESC, call_id LIMIT 10) longest ON longest.call_id = u.call_id
GROUP BY u.call_id, u.side ORDER BY words DESC, u.call_id, u.side`,
  },
];
