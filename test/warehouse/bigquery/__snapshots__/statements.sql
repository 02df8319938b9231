-- ddl/calls (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.calls` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC); null if the service sent none or one that is not a date-time.'),
  processed_at TIMESTAMP OPTIONS (description='End of processing (field qualified), where the service sends it.'),
  status STRING OPTIONS (description='Status of the call, such as qualified or void.'),
  campaign STRING OPTIONS (description='Campaign identifier.'),
  duration FLOAT64 OPTIONS (description='Duration of the call, parsed from its text. The service does not state the unit; the value is as sent.'),
  ivr_end FLOAT64 OPTIONS (description='End of the interactive voice response part. The service does not state the unit; the value is as sent.'),
  audio_state STRING OPTIONS (description='State of the audio, such as AVAILABLE.'),
  lang STRING OPTIONS (description='Language code of the transcript (transcript_json.meta.lang).'),
  asr_model STRING OPTIONS (description='Speech-recognition model (transcript_json.meta.asr_model).'),
  obfuscated BOOL OPTIONS (description='True if the transcript is obfuscated.'),
  transcript_call_id STRING OPTIONS (description='transcript_json.callUniqueId; may be an empty string.'),
  in_label STRING OPTIONS (description='Label of the inbound contact.'),
  in_data STRING OPTIONS (description='Data of the inbound contact, a telephone number when its type is PHONE.'),
  in_type STRING OPTIONS (description='Type of the inbound contact, such as PHONE.'),
  out_label STRING OPTIONS (description='Label of the outbound contact.'),
  out_data STRING OPTIONS (description='Data of the outbound contact, a telephone number when its type is PHONE.'),
  out_type STRING OPTIONS (description='Type of the outbound contact, such as PHONE.'),
  client_id STRING OPTIONS (description='metadata.ClientID.'),
  agent STRING OPTIONS (description='metadata.Agent.'),
  direction STRING OPTIONS (description='metadata.Direction.'),
  dept STRING OPTIONS (description='metadata.Dept.'),
  ani STRING OPTIONS (description='metadata.ANI.'),
  client_capture_date STRING OPTIONS (description='metadata.ClientCaptureDate as sent (its time zone is not stated).'),
  audio_file_location STRING OPTIONS (description='metadata.AudioFileLocation.'),
  visit JSON OPTIONS (description='Object visit as sent; its shape is not specified.'),
  tracking_info JSON OPTIONS (description='Object tracking_info as sent; its shape is not specified.'),
  qualification JSON OPTIONS (description='Object qualification as sent, where the service sends it.'),
  extra JSON OPTIONS (description='Object of all top-level fields that callsync does not know, as sent.'),
  utterance_count INT64 NOT NULL OPTIONS (description='Number of rows in utterances.'),
  word_count INT64 NOT NULL OPTIONS (description='Number of words over all utterances.'),
  tag_count INT64 NOT NULL OPTIONS (description='Number of rows in tags.'),
  issues JSON OPTIONS (description='Array of {field, reason} for fields that could not be converted and are null here; null if there are none.'),
  first_seen_at TIMESTAMP OPTIONS (description='Service time of the earliest observation of the call, as of this revision\'s load.'),
  last_seen_at TIMESTAMP OPTIONS (description='Service time of the latest observation that changed the call. A repeated observation does not move it, so the value depends on the order of arrival.'),
  source_deleted_at TIMESTAMP OPTIONS (description='Time since which the service no longer lists the call; null while the service lists it.'),
  ledger_epoch INT64 NOT NULL OPTIONS (description='Epoch of the ledger that sent the row; first part of the guard.'),
  revision INT64 NOT NULL OPTIONS (description='The call\'s revision in the ledger; second part of the guard.'),
  flatten_version INT64 NOT NULL OPTIONS (description='Version of the flattening that made the row; third part of the guard.'),
  load_id STRING NOT NULL OPTIONS (description='The load that wrote the row (table loads).'),
  content_hash STRING OPTIONS (description='Hash over all columns and child rows of the call, without documents; null in rows that are older than this column.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='One row per call, with scalar fields, contacts and counts. Grain: call.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/utterances (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.utterances` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  utterance_index INT64 NOT NULL OPTIONS (description='Position in the transcript, from 0.'),
  side STRING OPTIONS (description='Speaker side (field from), such as out.'),
  content STRING OPTIONS (description='The text of the utterance.'),
  start_offset FLOAT64 OPTIONS (description='Start of the utterance (field datetime). The service does not state the unit; the value is as sent.'),
  duration FLOAT64 OPTIONS (description='Duration of the utterance. The service does not state the unit; the value is as sent.'),
  score FLOAT64 OPTIONS (description='Score of the utterance, where sent.'),
  word_count INT64 NOT NULL OPTIONS (description='Number of its words.'),
  words ARRAY<STRUCT<value STRING, start FLOAT64, length FLOAT64, score FLOAT64>> OPTIONS (description='The words: value, start, length, score. The service does not state the unit; the value is as sent.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='One row per utterance of the transcript, in the order sent, with its words as arrays. Grain: call × utterance.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/tags (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.tags` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  tag_index INT64 NOT NULL OPTIONS (description='Position in the list of tags, from 0.'),
  tag_id STRING OPTIONS (description='Identifier of the tag (its unique_id).'),
  display_name STRING OPTIONS (description='Name of the tag.'),
  confidence FLOAT64 OPTIONS (description='Confidence as sent.'),
  type STRING OPTIONS (description='Type of the value, such as bool.'),
  value_bool BOOL OPTIONS (description='The value when it is a boolean.'),
  value_number FLOAT64 OPTIONS (description='The value when it is a number.'),
  value_text STRING OPTIONS (description='The value when it is text.'),
  value JSON OPTIONS (description='The value as sent.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='One row per tag of a call, in the order sent. Grain: call × tag.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/metadata (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.metadata` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  key STRING NOT NULL OPTIONS (description='Key as sent by the client.'),
  value STRING OPTIONS (description='Value as text; values that are not text are written as JSON.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='One row per metadata key of a call, every key as sent. Grain: call × key.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/udfs (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.udfs` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  kind STRING NOT NULL OPTIONS (description='num or text.'),
  udf_index INT64 NOT NULL OPTIONS (description='The two-digit index nn of the key, as a number.'),
  value_number BIGNUMERIC OPTIONS (description='UDF_num_nn as an exact number; null when it cannot be parsed.'),
  value_text STRING OPTIONS (description='The text as sent, of either kind.'),
  unparsable BOOL NOT NULL OPTIONS (description='True for a UDF_num_nn whose text is not a number; false for empty text, which counts as no value.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='User-defined fields, from the metadata keys UDF_num_nn and UDF_text_nn. Grain: call × kind × index.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/contacts (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.contacts` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  side STRING NOT NULL OPTIONS (description='in or out.'),
  label STRING OPTIONS (description='Label of the contact.'),
  data STRING OPTIONS (description='Data as sent, a telephone number when type is PHONE.'),
  type STRING OPTIONS (description='Type of the contact, such as PHONE.'),
  phone STRING OPTIONS (description='If type is PHONE, the number without separators, with a leading + if the sent number began with + or 00.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='The contacts of a call, fields in and out. Grain: call × side.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/redactions (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.redactions` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  redaction_index INT64 NOT NULL OPTIONS (description='Position among the redactions of the call, in the order of its words, from 0.'),
  utterance_index INT64 NOT NULL OPTIONS (description='Position of the utterance in the transcript, from 0.'),
  first_word INT64 OPTIONS (description='Position of the first replaced word in its utterance, from 0. Null if the utterance has no words, or was replaced as a whole because text and words differed.'),
  last_word INT64 OPTIONS (description='Position of the last replaced word; null where first_word is null.'),
  detector STRING NOT NULL OPTIONS (description='Detector that found the value, such as phone or card, or the name of a configured pattern.'),
  detector_version INT64 OPTIONS (description='Version of the detector; null for a configured pattern.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='Replacements of privacy rules in transcripts. One row per replaced span, with its place and detector, never the value. Grain: call × redaction.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/changes (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.changes` (
  call_id STRING NOT NULL OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp TIMESTAMP OPTIONS (description='The call\'s own time (UTC), as the load that added the row knew it.'),
  field STRING NOT NULL OPTIONS (description='Name of the top-level field, or * for all fields of the first revision. extra stands for names longer than 64 characters, or with special characters.'),
  revision INT64 NOT NULL OPTIONS (description='Revision of the call in which the field changed; 1 if field is *.'),
  source STRING NOT NULL OPTIONS (description='Source of the observation, which is webhook, poll or import.'),
  observed_at TIMESTAMP NOT NULL OPTIONS (description='Service time of the observation. If field is *, the time of the earliest observation that callsync knew when it added the row.'),
  loaded_at TIMESTAMP OPTIONS (description='Time at which a load added the row; null in rows that are older than this column.'),
  kind STRING OPTIONS (description='added, changed or removed; a null field counts as absent. Null in rows that are older than this column.')
)
PARTITION BY TIMESTAMP_TRUNC(call_timestamp, DAY)
CLUSTER BY call_id
OPTIONS (description='Changes of top-level fields of a call, with revision, source and time, never the value. One row with field * says that the call was first seen; later revisions have a row for each field that changed. The load of a revision adds its rows, and no load changes them. A field that changed twice between two loads shows once. Two warehouses may differ, so nothing compares this table. Changes by privacy rules have no row. Grain: call × field × revision.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/deliveries (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.deliveries` (
  seq INT64 NOT NULL OPTIONS (description='Number of the delivery in the inbox.'),
  arrival_id STRING NOT NULL OPTIONS (description='UUID that the receiver gives on arrival. Unlike seq, it stays unique after a restore.'),
  delivery_id STRING OPTIONS (description='Delivery header as sent; the signature does not cover it.'),
  hook_id STRING OPTIONS (description='Identifier of the webhook.'),
  agent STRING OPTIONS (description='User-agent of the sender, with its version.'),
  received_at TIMESTAMP NOT NULL OPTIONS (description='Arrival at the receiver.'),
  signing_key STRING OPTIONS (description='Name of the secret that verified the signature; null if none did.'),
  call_id STRING OPTIONS (description='Call in the delivery; null until callsync has read it.'),
  outcome STRING NOT NULL OPTIONS (description='accepted, duplicate, repeat, quarantined or rejected.'),
  reason STRING OPTIONS (description='Reason of an outcome other than accepted.'),
  revision INT64 OPTIONS (description='Revision that the delivery gave the call; null if the delivery changed nothing.'),
  visible_at TIMESTAMP OPTIONS (description='Time at which this warehouse first had that revision. Null if callsync wrote this row before that load; the mart delivery_latency has the time of every delivery.')
)
PARTITION BY TIMESTAMP_TRUNC(received_at, DAY)
CLUSTER BY seq
OPTIONS (description='Every webhook delivery that reached the receiver, with its outcome. Grain: webhook delivery.', partition_expiration_days=400, kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/verdicts (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.verdicts` (
  verdict_id INT64 NOT NULL OPTIONS (description='Number of the verdict.'),
  axis STRING NOT NULL OPTIONS (description='Axis of the window.'),
  window_from TIMESTAMP NOT NULL OPTIONS (description='Start of the window, inclusive.'),
  window_to TIMESTAMP NOT NULL OPTIONS (description='End of the window, exclusive.'),
  level STRING NOT NULL OPTIONS (description='Level of the comparison with the service (ids, fields or records).'),
  warehouse_level STRING OPTIONS (description='Level of the comparison in this warehouse (guards or rows).'),
  calls_listed INT64 NOT NULL OPTIONS (description='Calls that the service listed.'),
  calls_found INT64 NOT NULL OPTIONS (description='Listed calls that were neither missing nor different.'),
  missing INT64 NOT NULL OPTIONS (description='Calls that this warehouse lacked, or that were new to the ledger although their part had been read.'),
  different INT64 NOT NULL OPTIONS (description='Calls that differed.'),
  healed INT64 NOT NULL OPTIONS (description='Calls healed.'),
  deleted INT64 OPTIONS (description='Calls of the window that the service no longer lists.'),
  unexpected INT64 OPTIONS (description='Calls in this warehouse that the ledger does not know.'),
  excluded INT64 OPTIONS (description='Listed calls that callsync must not keep, because they were erased or are beyond a retention limit.'),
  confirmed STRING OPTIONS (description='Evidence that the listing is complete (total, one_response, second_listing, page_overlap, or none).'),
  outcome STRING NOT NULL OPTIONS (description='proven, healed, unproven or suspicious_empty.'),
  compared_at TIMESTAMP NOT NULL OPTIONS (description='Time of the comparison.'),
  ledger_epoch INT64 OPTIONS (description='Epoch of the ledger that was compared.'),
  flatten_version INT64 OPTIONS (description='Version of the flattening that was compared.'),
  revisions_digest STRING OPTIONS (description='SHA-256 over the ids and ledger revisions of the calls of the window after healing.'),
  compared_by STRING OPTIONS (description='Version of callsync that compared; none where calls were erased, cut or sent again and nothing was compared since.'),
  digest STRING NOT NULL OPTIONS (description='HMAC-SHA-256 over this verdict and the digest before it, under the key of key_id.'),
  key_id STRING OPTIONS (description='Identifier of the key of the digest. The key itself is in no store.'),
  previous_digest STRING OPTIONS (description='Digest of the verdict before it; null for the first.')
)
CLUSTER BY verdict_id
OPTIONS (description='Verdicts, each the recorded result of comparing one window. Grain: reconciled window.', kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/loads (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.loads` (
  load_id STRING NOT NULL OPTIONS (description='Identifier of the load.'),
  ledger_epoch INT64 NOT NULL OPTIONS (description='Epoch of the ledger that made the load.'),
  flatten_version INT64 NOT NULL OPTIONS (description='Version of the flattening.'),
  origin STRING NOT NULL OPTIONS (description='Work that asked for the load, such as read, inbox, pending or rebuild.'),
  calls_sent INT64 NOT NULL OPTIONS (description='Calls in the load.'),
  calls_changed INT64 NOT NULL OPTIONS (description='Calls whose guard was higher and whose rows were written.'),
  loaded_at TIMESTAMP NOT NULL OPTIONS (description='Time of the commit.')
)
CLUSTER BY load_id
OPTIONS (description='Every commit into this warehouse. Grain: load.', kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/sync_state (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.sync_state` (
  warehouse STRING NOT NULL OPTIONS (description='Name of the warehouse in the configuration.'),
  watermark TIMESTAMP OPTIONS (description='Time up to which continuous sync has read every call, on its axis; null before the first sync.'),
  newest_call TIMESTAMP OPTIONS (description='Time of the newest call in this warehouse; null if none of the 500 newest calls is loaded.'),
  proven_axis STRING OPTIONS (description='Axis of the verdicts behind proven_through; null before the first verdict.'),
  proven_through TIMESTAMP OPTIONS (description='Time up to which every read window has a good verdict (proven or healed), without a gap; null while the first window has none.'),
  pending INT64 NOT NULL OPTIONS (description='Calls that wait for their load into this warehouse.'),
  last_load_at TIMESTAMP OPTIONS (description='Time of the last committed load.'),
  last_error STRING OPTIONS (description='Error code of the last run of continuous sync; null if that run succeeded.'),
  ledger_epoch INT64 NOT NULL OPTIONS (description='Epoch of the ledger that writes the row.'),
  heartbeat_at TIMESTAMP NOT NULL OPTIONS (description='Time of the last update of this row.')
)
OPTIONS (description='Freshness and proof of this warehouse, in one row. callsync also updates the row while no call arrives, so that a quiet night does not look like a standstill. Grain: warehouse.', kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/tombstones (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.tombstones` (
  call_key STRING NOT NULL OPTIONS (description='Keyed hash of the call id.'),
  ledger_epoch INT64 NOT NULL OPTIONS (description='Epoch of the ledger that erased it.'),
  revision INT64 NOT NULL OPTIONS (description='The call\'s revision in the ledger.'),
  load_id STRING NOT NULL OPTIONS (description='Load that wrote the row (table loads).'),
  erased_at TIMESTAMP NOT NULL OPTIONS (description='Time of the commit here.')
)
CLUSTER BY call_key
OPTIONS (description='Erased calls by keyed hash of their id. No load brings them back. Grain: erased call.', kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/moved_calls (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.moved_calls` (
  call_id STRING NOT NULL,
  ledger_epoch INT64 NOT NULL,
  revision INT64 NOT NULL,
  flatten_version INT64 NOT NULL
)
CLUSTER BY call_id
OPTIONS (description='Guards of calls whose date changed, for a late load with the old date.', kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/fence (sent as tables.insert)
CREATE TABLE IF NOT EXISTS `acme-prod.calls.fence` (
  ledger_epoch INT64 NOT NULL OPTIONS (description='Highest epoch of a commit.'),
  earlier_epochs BOOL NOT NULL OPTIONS (description='True if an earlier epoch also committed.'),
  load_id STRING NOT NULL OPTIONS (description='Last load.')
)
OPTIONS (description='One row that every commit changes, so that parallel commits conflict.', kms_key_name='projects/k/locations/eu/keyRings/r/cryptoKeys/c', labels=[('app', 'callsync')]);

-- ddl/words
CREATE OR REPLACE VIEW `acme-prod.calls.words` (
  call_id OPTIONS (description='Identifier of the call: the record\'s unique_id.'),
  call_timestamp OPTIONS (description='The call\'s own time (UTC), repeated from calls so that child tables can be pruned by it.'),
  utterance_index OPTIONS (description='Position of the utterance, from 0.'),
  word_index OPTIONS (description='Position of the word in its utterance, from 0.'),
  side OPTIONS (description='Speaker side of the utterance.'),
  value OPTIONS (description='The word.'),
  start_offset OPTIONS (description='Start of the word. The service does not state the unit; the value is as sent.'),
  length OPTIONS (description='Length of the word. The service does not state the unit; the value is as sent.'),
  score OPTIONS (description='Score of the word.')
)
OPTIONS (description='One row per word of every utterance. A view over the arrays in utterances. [callsync 96a3e92d4ab70075]') AS
SELECT
  u.call_id AS call_id,
  u.call_timestamp AS call_timestamp,
  u.utterance_index AS utterance_index,
  position AS word_index,
  u.side AS side,
  w.value AS value,
  w.start AS start_offset,
  w.length AS length,
  w.score AS score
FROM `acme-prod.calls.utterances` AS u, UNNEST(u.words) AS w WITH OFFSET AS position;

-- load/staging (sent as tables.insert)
CREATE TABLE `acme-prod.calls_staging.callsync_staging_example_1` (
  n INT64 NOT NULL,
  kind STRING NOT NULL,
  call_id STRING,
  call_key STRING,
  call_timestamp INT64,
  revision INT64,
  content_hash STRING,
  sent_before BOOL,
  moved BOOL,
  calls ARRAY<STRUCT<processed_at INT64, status STRING, campaign STRING, duration FLOAT64, ivr_end FLOAT64, audio_state STRING, lang STRING, asr_model STRING, obfuscated BOOL, transcript_call_id STRING, in_label STRING, in_data STRING, in_type STRING, out_label STRING, out_data STRING, out_type STRING, client_id STRING, agent STRING, direction STRING, dept STRING, ani STRING, client_capture_date STRING, audio_file_location STRING, visit STRING, tracking_info STRING, qualification STRING, extra STRING, utterance_count INT64, word_count INT64, tag_count INT64, issues STRING, first_seen_at INT64, last_seen_at INT64, source_deleted_at INT64>>,
  utterances ARRAY<STRUCT<utterance_index INT64, side STRING, content STRING, start_offset FLOAT64, duration FLOAT64, score FLOAT64, word_count INT64, words ARRAY<STRUCT<value STRING, start FLOAT64, length FLOAT64, score FLOAT64>>>>,
  tags ARRAY<STRUCT<tag_index INT64, tag_id STRING, display_name STRING, confidence FLOAT64, type STRING, value_bool BOOL, value_number FLOAT64, value_text STRING, value STRING>>,
  metadata ARRAY<STRUCT<key STRING, value STRING>>,
  udfs ARRAY<STRUCT<kind STRING, udf_index INT64, value_number STRING, value_text STRING, unparsable BOOL>>,
  contacts ARRAY<STRUCT<side STRING, label STRING, data STRING, type STRING, phone STRING>>,
  redactions ARRAY<STRUCT<redaction_index INT64, utterance_index INT64, first_word INT64, last_word INT64, detector STRING, detector_version INT64>>,
  changes ARRAY<STRUCT<field STRING, revision INT64, source STRING, observed_at INT64, loaded_at INT64, kind STRING>>,
  deliveries ARRAY<STRUCT<seq INT64, arrival_id STRING, delivery_id STRING, hook_id STRING, agent STRING, received_at INT64, signing_key STRING, call_id STRING, outcome STRING, reason STRING, revision INT64, visible_at INT64>>,
  verdicts ARRAY<STRUCT<verdict_id INT64, axis STRING, window_from INT64, window_to INT64, level STRING, warehouse_level STRING, calls_listed INT64, calls_found INT64, missing INT64, different INT64, healed INT64, deleted INT64, unexpected INT64, excluded INT64, confirmed STRING, outcome STRING, compared_at INT64, ledger_epoch INT64, flatten_version INT64, revisions_digest STRING, compared_by STRING, digest STRING, key_id STRING, previous_digest STRING>>
);

-- load/new calls
BEGIN
DECLARE this_load STRING DEFAULT 'example';
DECLARE this_epoch INT64 DEFAULT 1;
DECLARE this_flatten INT64 DEFAULT 1;
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];

IF (SELECT COUNT(*) FROM `acme-prod.calls_staging.callsync_staging_example_1`) != 500 THEN
  SELECT ERROR('staging is incomplete');
END IF;

BEGIN TRANSACTION;

MERGE `acme-prod.calls.fence` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);

SET refused = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'call'
    AND (
      this_epoch < (SELECT MAX(f.ledger_epoch) FROM `acme-prod.calls.fence` AS f)
      OR s.call_key IN (SELECT t.call_key FROM `acme-prod.calls.tombstones` AS t)
      OR s.call_id IN (
        SELECT x.call_id
        FROM `acme-prod.calls_staging.callsync_staging_example_1` AS x
        INNER JOIN (
          SELECT c.call_id, c.ledger_epoch, c.revision, c.flatten_version FROM `acme-prod.calls.calls` AS c
          WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL)
          UNION ALL
          SELECT m.call_id, m.ledger_epoch, m.revision, m.flatten_version FROM `acme-prod.calls.moved_calls` AS m
        ) AS g ON g.call_id = x.call_id
        WHERE x.kind = 'call'
          AND (g.ledger_epoch > this_epoch
            OR (g.ledger_epoch = this_epoch AND g.revision > x.revision)
            OR (g.ledger_epoch = this_epoch AND g.revision = x.revision AND g.flatten_version >= this_flatten))
      )
    )
);

SET claimed = 3 - ARRAY_LENGTH(refused);

IF claimed > 0 THEN
SET removed = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone'
    OR (s.kind = 'call' AND s.n NOT IN UNNEST(refused)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM `acme-prod.calls.calls` AS c WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL))))
);
IF ARRAY_LENGTH(removed) > 0 THEN
DELETE FROM `acme-prod.calls.calls` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.tags` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
END IF;
INSERT INTO `acme-prod.calls.calls` (call_id, call_timestamp, processed_at, status, campaign, duration, ivr_end, audio_state, lang, asr_model, obfuscated, transcript_call_id, in_label, in_data, in_type, out_label, out_data, out_type, client_id, agent, direction, dept, ani, client_capture_date, audio_file_location, visit, tracking_info, qualification, extra, utterance_count, word_count, tag_count, issues, first_seen_at, last_seen_at, source_deleted_at, ledger_epoch, revision, flatten_version, load_id, content_hash)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  TIMESTAMP_MICROS(r.processed_at),
  r.status,
  r.campaign,
  r.duration,
  r.ivr_end,
  r.audio_state,
  r.lang,
  r.asr_model,
  r.obfuscated,
  r.transcript_call_id,
  r.in_label,
  r.in_data,
  r.in_type,
  r.out_label,
  r.out_data,
  r.out_type,
  r.client_id,
  r.agent,
  r.direction,
  r.dept,
  r.ani,
  r.client_capture_date,
  r.audio_file_location,
  PARSE_JSON(r.visit, wide_number_mode => 'round'),
  PARSE_JSON(r.tracking_info, wide_number_mode => 'round'),
  PARSE_JSON(r.qualification, wide_number_mode => 'round'),
  PARSE_JSON(r.extra, wide_number_mode => 'round'),
  r.utterance_count,
  r.word_count,
  r.tag_count,
  PARSE_JSON(r.issues, wide_number_mode => 'round'),
  TIMESTAMP_MICROS(r.first_seen_at),
  TIMESTAMP_MICROS(r.last_seen_at),
  TIMESTAMP_MICROS(r.source_deleted_at),
  this_epoch,
  s.revision,
  this_flatten,
  this_load,
  s.content_hash
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, calls FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.calls) AS r;
INSERT INTO `acme-prod.calls.utterances` (call_id, call_timestamp, utterance_index, side, content, start_offset, duration, score, word_count, words)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.utterance_index,
  r.side,
  r.content,
  r.start_offset,
  r.duration,
  r.score,
  r.word_count,
  r.words
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, utterances FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.utterances) AS r;
INSERT INTO `acme-prod.calls.tags` (call_id, call_timestamp, tag_index, tag_id, display_name, confidence, type, value_bool, value_number, value_text, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.tag_index,
  r.tag_id,
  r.display_name,
  r.confidence,
  r.type,
  r.value_bool,
  r.value_number,
  r.value_text,
  PARSE_JSON(r.value, wide_number_mode => 'round')
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, tags FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.tags) AS r;
INSERT INTO `acme-prod.calls.metadata` (call_id, call_timestamp, key, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.key,
  r.value
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, metadata FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.metadata) AS r;
INSERT INTO `acme-prod.calls.udfs` (call_id, call_timestamp, kind, udf_index, value_number, value_text, unparsable)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.kind,
  r.udf_index,
  CAST(r.value_number AS BIGNUMERIC),
  r.value_text,
  r.unparsable
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, udfs FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.udfs) AS r;
INSERT INTO `acme-prod.calls.contacts` (call_id, call_timestamp, side, label, data, type, phone)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.side,
  r.label,
  r.data,
  r.type,
  r.phone
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, contacts FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.contacts) AS r;
INSERT INTO `acme-prod.calls.redactions` (call_id, call_timestamp, redaction_index, utterance_index, first_word, last_word, detector, detector_version)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.redaction_index,
  r.utterance_index,
  r.first_word,
  r.last_word,
  r.detector,
  r.detector_version
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, redactions FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.redactions) AS r;
IF ARRAY_LENGTH(removed) = 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r;
END IF;
IF ARRAY_LENGTH(removed) > 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r
LEFT JOIN (
  SELECT t.call_id, t.field, t.observed_at, t.source FROM `acme-prod.calls.changes` AS t
  WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
) AS h
ON h.call_id = s.call_id AND h.field = r.field
  AND (r.field = '*' OR (h.observed_at = TIMESTAMP_MICROS(r.observed_at) AND h.source = r.source))
WHERE h.call_id IS NULL;
END IF;
END IF;

INSERT INTO `acme-prod.calls.loads`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, 'read', 3, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM `acme-prod.calls.loads` AS l);

COMMIT TRANSACTION;

SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;
END;

-- load/moved calls and log rows
BEGIN
DECLARE this_load STRING DEFAULT 'example';
DECLARE this_epoch INT64 DEFAULT 1;
DECLARE this_flatten INT64 DEFAULT 1;
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];

IF (SELECT COUNT(*) FROM `acme-prod.calls_staging.callsync_staging_example_1`) != 500 THEN
  SELECT ERROR('staging is incomplete');
END IF;

BEGIN TRANSACTION;

MERGE `acme-prod.calls.fence` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);

SET refused = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'call'
    AND (
      this_epoch < (SELECT MAX(f.ledger_epoch) FROM `acme-prod.calls.fence` AS f)
      OR s.call_key IN (SELECT t.call_key FROM `acme-prod.calls.tombstones` AS t)
      OR s.call_id IN (
        SELECT x.call_id
        FROM `acme-prod.calls_staging.callsync_staging_example_1` AS x
        INNER JOIN (
          SELECT c.call_id, c.ledger_epoch, c.revision, c.flatten_version FROM `acme-prod.calls.calls` AS c
          WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL)
          UNION ALL
          SELECT m.call_id, m.ledger_epoch, m.revision, m.flatten_version FROM `acme-prod.calls.moved_calls` AS m
        ) AS g ON g.call_id = x.call_id
        WHERE x.kind = 'call'
          AND (g.ledger_epoch > this_epoch
            OR (g.ledger_epoch = this_epoch AND g.revision > x.revision)
            OR (g.ledger_epoch = this_epoch AND g.revision = x.revision AND g.flatten_version >= this_flatten))
      )
    )
);

SET claimed = 1 - ARRAY_LENGTH(refused);

IF claimed > 0 THEN
SET removed = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone'
    OR (s.kind = 'call' AND s.n NOT IN UNNEST(refused)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM `acme-prod.calls.calls` AS c WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL))))
);
IF ARRAY_LENGTH(removed) > 0 THEN
DELETE FROM `acme-prod.calls.calls` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.tags` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
END IF;
INSERT INTO `acme-prod.calls.calls` (call_id, call_timestamp, processed_at, status, campaign, duration, ivr_end, audio_state, lang, asr_model, obfuscated, transcript_call_id, in_label, in_data, in_type, out_label, out_data, out_type, client_id, agent, direction, dept, ani, client_capture_date, audio_file_location, visit, tracking_info, qualification, extra, utterance_count, word_count, tag_count, issues, first_seen_at, last_seen_at, source_deleted_at, ledger_epoch, revision, flatten_version, load_id, content_hash)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  TIMESTAMP_MICROS(r.processed_at),
  r.status,
  r.campaign,
  r.duration,
  r.ivr_end,
  r.audio_state,
  r.lang,
  r.asr_model,
  r.obfuscated,
  r.transcript_call_id,
  r.in_label,
  r.in_data,
  r.in_type,
  r.out_label,
  r.out_data,
  r.out_type,
  r.client_id,
  r.agent,
  r.direction,
  r.dept,
  r.ani,
  r.client_capture_date,
  r.audio_file_location,
  PARSE_JSON(r.visit, wide_number_mode => 'round'),
  PARSE_JSON(r.tracking_info, wide_number_mode => 'round'),
  PARSE_JSON(r.qualification, wide_number_mode => 'round'),
  PARSE_JSON(r.extra, wide_number_mode => 'round'),
  r.utterance_count,
  r.word_count,
  r.tag_count,
  PARSE_JSON(r.issues, wide_number_mode => 'round'),
  TIMESTAMP_MICROS(r.first_seen_at),
  TIMESTAMP_MICROS(r.last_seen_at),
  TIMESTAMP_MICROS(r.source_deleted_at),
  this_epoch,
  s.revision,
  this_flatten,
  this_load,
  s.content_hash
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, calls FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.calls) AS r;
INSERT INTO `acme-prod.calls.utterances` (call_id, call_timestamp, utterance_index, side, content, start_offset, duration, score, word_count, words)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.utterance_index,
  r.side,
  r.content,
  r.start_offset,
  r.duration,
  r.score,
  r.word_count,
  r.words
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, utterances FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.utterances) AS r;
INSERT INTO `acme-prod.calls.tags` (call_id, call_timestamp, tag_index, tag_id, display_name, confidence, type, value_bool, value_number, value_text, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.tag_index,
  r.tag_id,
  r.display_name,
  r.confidence,
  r.type,
  r.value_bool,
  r.value_number,
  r.value_text,
  PARSE_JSON(r.value, wide_number_mode => 'round')
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, tags FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.tags) AS r;
INSERT INTO `acme-prod.calls.metadata` (call_id, call_timestamp, key, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.key,
  r.value
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, metadata FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.metadata) AS r;
INSERT INTO `acme-prod.calls.udfs` (call_id, call_timestamp, kind, udf_index, value_number, value_text, unparsable)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.kind,
  r.udf_index,
  CAST(r.value_number AS BIGNUMERIC),
  r.value_text,
  r.unparsable
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, udfs FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.udfs) AS r;
INSERT INTO `acme-prod.calls.contacts` (call_id, call_timestamp, side, label, data, type, phone)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.side,
  r.label,
  r.data,
  r.type,
  r.phone
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, contacts FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.contacts) AS r;
INSERT INTO `acme-prod.calls.redactions` (call_id, call_timestamp, redaction_index, utterance_index, first_word, last_word, detector, detector_version)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.redaction_index,
  r.utterance_index,
  r.first_word,
  r.last_word,
  r.detector,
  r.detector_version
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, redactions FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.redactions) AS r;
MERGE `acme-prod.calls.moved_calls` AS t
USING (
  SELECT s.call_id AS call_id, this_epoch AS ledger_epoch, s.revision AS revision, this_flatten AS flatten_version
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'call' AND s.n NOT IN UNNEST(refused)
    AND (s.moved OR (NOT s.sent_before AND s.n IN UNNEST(removed)))
) AS x
ON t.call_id = x.call_id
WHEN MATCHED THEN UPDATE SET
  ledger_epoch = x.ledger_epoch, revision = x.revision, flatten_version = x.flatten_version
WHEN NOT MATCHED THEN INSERT (call_id, ledger_epoch, revision, flatten_version)
  VALUES (x.call_id, x.ledger_epoch, x.revision, x.flatten_version);
IF ARRAY_LENGTH(removed) = 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r;
END IF;
IF ARRAY_LENGTH(removed) > 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r
LEFT JOIN (
  SELECT t.call_id, t.field, t.observed_at, t.source FROM `acme-prod.calls.changes` AS t
  WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
) AS h
ON h.call_id = s.call_id AND h.field = r.field
  AND (r.field = '*' OR (h.observed_at = TIMESTAMP_MICROS(r.observed_at) AND h.source = r.source))
WHERE h.call_id IS NULL;
END IF;
END IF;

MERGE `acme-prod.calls.deliveries` AS t
USING (
  SELECT
    r.seq AS seq,
    r.arrival_id AS arrival_id,
    r.delivery_id AS delivery_id,
    r.hook_id AS hook_id,
    r.agent AS agent,
    TIMESTAMP_MICROS(r.received_at) AS received_at,
    r.signing_key AS signing_key,
    r.call_id AS call_id,
    r.outcome AS outcome,
    r.reason AS reason,
    r.revision AS revision,
    TIMESTAMP_MICROS(r.visible_at) AS visible_at
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s, UNNEST(s.deliveries) AS r
  WHERE s.kind = 'log'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY r.arrival_id ORDER BY s.n DESC) = 1
) AS x
ON t.arrival_id = x.arrival_id AND ((t.received_at >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.received_at < TIMESTAMP '2026-03-06 00:00:00+00') OR t.received_at IS NULL)
WHEN MATCHED THEN UPDATE SET
  seq = x.seq, delivery_id = x.delivery_id, hook_id = x.hook_id, agent = x.agent, received_at = x.received_at, signing_key = x.signing_key, call_id = x.call_id, outcome = x.outcome, reason = x.reason, revision = x.revision, visible_at = x.visible_at
WHEN NOT MATCHED THEN INSERT (seq, arrival_id, delivery_id, hook_id, agent, received_at, signing_key, call_id, outcome, reason, revision, visible_at)
  VALUES (x.seq, x.arrival_id, x.delivery_id, x.hook_id, x.agent, x.received_at, x.signing_key, x.call_id, x.outcome, x.reason, x.revision, x.visible_at);

MERGE `acme-prod.calls.verdicts` AS t
USING (
  SELECT
    r.verdict_id AS verdict_id,
    r.axis AS axis,
    TIMESTAMP_MICROS(r.window_from) AS window_from,
    TIMESTAMP_MICROS(r.window_to) AS window_to,
    r.level AS level,
    r.warehouse_level AS warehouse_level,
    r.calls_listed AS calls_listed,
    r.calls_found AS calls_found,
    r.missing AS missing,
    r.different AS different,
    r.healed AS healed,
    r.deleted AS deleted,
    r.unexpected AS unexpected,
    r.excluded AS excluded,
    r.confirmed AS confirmed,
    r.outcome AS outcome,
    TIMESTAMP_MICROS(r.compared_at) AS compared_at,
    r.ledger_epoch AS ledger_epoch,
    r.flatten_version AS flatten_version,
    r.revisions_digest AS revisions_digest,
    r.compared_by AS compared_by,
    r.digest AS digest,
    r.key_id AS key_id,
    r.previous_digest AS previous_digest
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s, UNNEST(s.verdicts) AS r
  WHERE s.kind = 'log'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY r.digest ORDER BY s.n DESC) = 1
) AS x
ON t.digest = x.digest
WHEN MATCHED THEN UPDATE SET
  verdict_id = x.verdict_id, axis = x.axis, window_from = x.window_from, window_to = x.window_to, level = x.level, warehouse_level = x.warehouse_level, calls_listed = x.calls_listed, calls_found = x.calls_found, missing = x.missing, different = x.different, healed = x.healed, deleted = x.deleted, unexpected = x.unexpected, excluded = x.excluded, confirmed = x.confirmed, outcome = x.outcome, compared_at = x.compared_at, ledger_epoch = x.ledger_epoch, flatten_version = x.flatten_version, revisions_digest = x.revisions_digest, compared_by = x.compared_by, key_id = x.key_id, previous_digest = x.previous_digest
WHEN NOT MATCHED THEN INSERT (verdict_id, axis, window_from, window_to, level, warehouse_level, calls_listed, calls_found, missing, different, healed, deleted, unexpected, excluded, confirmed, outcome, compared_at, ledger_epoch, flatten_version, revisions_digest, compared_by, digest, key_id, previous_digest)
  VALUES (x.verdict_id, x.axis, x.window_from, x.window_to, x.level, x.warehouse_level, x.calls_listed, x.calls_found, x.missing, x.different, x.healed, x.deleted, x.unexpected, x.excluded, x.confirmed, x.outcome, x.compared_at, x.ledger_epoch, x.flatten_version, x.revisions_digest, x.compared_by, x.digest, x.key_id, x.previous_digest);

INSERT INTO `acme-prod.calls.loads`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, 'read', 1, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM `acme-prod.calls.loads` AS l);

COMMIT TRANSACTION;

SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;
END;

-- load/after a restored ledger
BEGIN
DECLARE this_load STRING DEFAULT 'example';
DECLARE this_epoch INT64 DEFAULT 1;
DECLARE this_flatten INT64 DEFAULT 1;
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];

IF (SELECT COUNT(*) FROM `acme-prod.calls_staging.callsync_staging_example_1`) != 500 THEN
  SELECT ERROR('staging is incomplete');
END IF;

BEGIN TRANSACTION;

MERGE `acme-prod.calls.fence` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);

SET unknown_dates = ARRAY(
  SELECT DISTINCT DATE(c.call_timestamp)
  FROM `acme-prod.calls.calls` AS c
  INNER JOIN `acme-prod.calls_staging.callsync_staging_example_1` AS x ON x.call_id = c.call_id
  WHERE c.call_timestamp IS NOT NULL
);

SET refused = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'call'
    AND (
      this_epoch < (SELECT MAX(f.ledger_epoch) FROM `acme-prod.calls.fence` AS f)
      OR s.call_key IN (SELECT t.call_key FROM `acme-prod.calls.tombstones` AS t)
      OR s.call_id IN (
        SELECT x.call_id
        FROM `acme-prod.calls_staging.callsync_staging_example_1` AS x
        INNER JOIN (
          SELECT c.call_id, c.ledger_epoch, c.revision, c.flatten_version FROM `acme-prod.calls.calls` AS c
          WHERE (((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL) OR DATE(c.call_timestamp) IN UNNEST(unknown_dates))
          UNION ALL
          SELECT m.call_id, m.ledger_epoch, m.revision, m.flatten_version FROM `acme-prod.calls.moved_calls` AS m
        ) AS g ON g.call_id = x.call_id
        WHERE x.kind = 'call'
          AND (g.ledger_epoch > this_epoch
            OR (g.ledger_epoch = this_epoch AND g.revision > x.revision)
            OR (g.ledger_epoch = this_epoch AND g.revision = x.revision AND g.flatten_version >= this_flatten))
      )
    )
);

SET claimed = 3 - ARRAY_LENGTH(refused);

IF claimed > 0 THEN
SET removed = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone'
    OR (s.kind = 'call' AND s.n NOT IN UNNEST(refused)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM `acme-prod.calls.calls` AS c WHERE (((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL) OR DATE(c.call_timestamp) IN UNNEST(unknown_dates)))))
);
IF ARRAY_LENGTH(removed) > 0 THEN
DELETE FROM `acme-prod.calls.calls` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.tags` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
END IF;
INSERT INTO `acme-prod.calls.calls` (call_id, call_timestamp, processed_at, status, campaign, duration, ivr_end, audio_state, lang, asr_model, obfuscated, transcript_call_id, in_label, in_data, in_type, out_label, out_data, out_type, client_id, agent, direction, dept, ani, client_capture_date, audio_file_location, visit, tracking_info, qualification, extra, utterance_count, word_count, tag_count, issues, first_seen_at, last_seen_at, source_deleted_at, ledger_epoch, revision, flatten_version, load_id, content_hash)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  TIMESTAMP_MICROS(r.processed_at),
  r.status,
  r.campaign,
  r.duration,
  r.ivr_end,
  r.audio_state,
  r.lang,
  r.asr_model,
  r.obfuscated,
  r.transcript_call_id,
  r.in_label,
  r.in_data,
  r.in_type,
  r.out_label,
  r.out_data,
  r.out_type,
  r.client_id,
  r.agent,
  r.direction,
  r.dept,
  r.ani,
  r.client_capture_date,
  r.audio_file_location,
  PARSE_JSON(r.visit, wide_number_mode => 'round'),
  PARSE_JSON(r.tracking_info, wide_number_mode => 'round'),
  PARSE_JSON(r.qualification, wide_number_mode => 'round'),
  PARSE_JSON(r.extra, wide_number_mode => 'round'),
  r.utterance_count,
  r.word_count,
  r.tag_count,
  PARSE_JSON(r.issues, wide_number_mode => 'round'),
  TIMESTAMP_MICROS(r.first_seen_at),
  TIMESTAMP_MICROS(r.last_seen_at),
  TIMESTAMP_MICROS(r.source_deleted_at),
  this_epoch,
  s.revision,
  this_flatten,
  this_load,
  s.content_hash
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, calls FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.calls) AS r;
INSERT INTO `acme-prod.calls.utterances` (call_id, call_timestamp, utterance_index, side, content, start_offset, duration, score, word_count, words)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.utterance_index,
  r.side,
  r.content,
  r.start_offset,
  r.duration,
  r.score,
  r.word_count,
  r.words
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, utterances FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.utterances) AS r;
INSERT INTO `acme-prod.calls.tags` (call_id, call_timestamp, tag_index, tag_id, display_name, confidence, type, value_bool, value_number, value_text, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.tag_index,
  r.tag_id,
  r.display_name,
  r.confidence,
  r.type,
  r.value_bool,
  r.value_number,
  r.value_text,
  PARSE_JSON(r.value, wide_number_mode => 'round')
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, tags FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.tags) AS r;
INSERT INTO `acme-prod.calls.metadata` (call_id, call_timestamp, key, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.key,
  r.value
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, metadata FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.metadata) AS r;
INSERT INTO `acme-prod.calls.udfs` (call_id, call_timestamp, kind, udf_index, value_number, value_text, unparsable)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.kind,
  r.udf_index,
  CAST(r.value_number AS BIGNUMERIC),
  r.value_text,
  r.unparsable
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, udfs FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.udfs) AS r;
INSERT INTO `acme-prod.calls.contacts` (call_id, call_timestamp, side, label, data, type, phone)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.side,
  r.label,
  r.data,
  r.type,
  r.phone
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, contacts FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.contacts) AS r;
INSERT INTO `acme-prod.calls.redactions` (call_id, call_timestamp, redaction_index, utterance_index, first_word, last_word, detector, detector_version)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.redaction_index,
  r.utterance_index,
  r.first_word,
  r.last_word,
  r.detector,
  r.detector_version
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, redactions FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.redactions) AS r;
MERGE `acme-prod.calls.moved_calls` AS t
USING (
  SELECT s.call_id AS call_id, this_epoch AS ledger_epoch, s.revision AS revision, this_flatten AS flatten_version
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'call' AND s.n NOT IN UNNEST(refused)
    AND (s.moved OR (NOT s.sent_before AND s.n IN UNNEST(removed)))
) AS x
ON t.call_id = x.call_id
WHEN MATCHED THEN UPDATE SET
  ledger_epoch = x.ledger_epoch, revision = x.revision, flatten_version = x.flatten_version
WHEN NOT MATCHED THEN INSERT (call_id, ledger_epoch, revision, flatten_version)
  VALUES (x.call_id, x.ledger_epoch, x.revision, x.flatten_version);
IF ARRAY_LENGTH(removed) = 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r;
END IF;
IF ARRAY_LENGTH(removed) > 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r
LEFT JOIN (
  SELECT t.call_id, t.field, t.observed_at, t.source FROM `acme-prod.calls.changes` AS t
  WHERE TRUE
) AS h
ON h.call_id = s.call_id AND h.field = r.field
  AND (r.field = '*' OR (h.observed_at = TIMESTAMP_MICROS(r.observed_at) AND h.source = r.source))
WHERE h.call_id IS NULL;
END IF;
END IF;

INSERT INTO `acme-prod.calls.loads`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, 'read', 3, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM `acme-prod.calls.loads` AS l);

COMMIT TRANSACTION;

SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;
END;

-- load/again, equal guards too
BEGIN
DECLARE this_load STRING DEFAULT 'example';
DECLARE this_epoch INT64 DEFAULT 1;
DECLARE this_flatten INT64 DEFAULT 1;
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];

IF (SELECT COUNT(*) FROM `acme-prod.calls_staging.callsync_staging_example_1`) != 500 THEN
  SELECT ERROR('staging is incomplete');
END IF;

BEGIN TRANSACTION;

MERGE `acme-prod.calls.fence` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);

SET refused = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'call'
    AND (
      this_epoch < (SELECT MAX(f.ledger_epoch) FROM `acme-prod.calls.fence` AS f)
      OR s.call_key IN (SELECT t.call_key FROM `acme-prod.calls.tombstones` AS t)
      OR s.call_id IN (
        SELECT x.call_id
        FROM `acme-prod.calls_staging.callsync_staging_example_1` AS x
        INNER JOIN (
          SELECT c.call_id, c.ledger_epoch, c.revision, c.flatten_version FROM `acme-prod.calls.calls` AS c
          WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL)
          UNION ALL
          SELECT m.call_id, m.ledger_epoch, m.revision, m.flatten_version FROM `acme-prod.calls.moved_calls` AS m
        ) AS g ON g.call_id = x.call_id
        WHERE x.kind = 'call'
          AND (g.ledger_epoch > this_epoch
            OR (g.ledger_epoch = this_epoch AND g.revision > x.revision)
            OR (g.ledger_epoch = this_epoch AND g.revision = x.revision AND g.flatten_version >= this_flatten + 1))
      )
    )
);

SET claimed = 3 - ARRAY_LENGTH(refused);

IF claimed > 0 THEN
SET removed = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone'
    OR (s.kind = 'call' AND s.n NOT IN UNNEST(refused)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM `acme-prod.calls.calls` AS c WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL))))
);
IF ARRAY_LENGTH(removed) > 0 THEN
DELETE FROM `acme-prod.calls.calls` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.tags` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
END IF;
INSERT INTO `acme-prod.calls.calls` (call_id, call_timestamp, processed_at, status, campaign, duration, ivr_end, audio_state, lang, asr_model, obfuscated, transcript_call_id, in_label, in_data, in_type, out_label, out_data, out_type, client_id, agent, direction, dept, ani, client_capture_date, audio_file_location, visit, tracking_info, qualification, extra, utterance_count, word_count, tag_count, issues, first_seen_at, last_seen_at, source_deleted_at, ledger_epoch, revision, flatten_version, load_id, content_hash)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  TIMESTAMP_MICROS(r.processed_at),
  r.status,
  r.campaign,
  r.duration,
  r.ivr_end,
  r.audio_state,
  r.lang,
  r.asr_model,
  r.obfuscated,
  r.transcript_call_id,
  r.in_label,
  r.in_data,
  r.in_type,
  r.out_label,
  r.out_data,
  r.out_type,
  r.client_id,
  r.agent,
  r.direction,
  r.dept,
  r.ani,
  r.client_capture_date,
  r.audio_file_location,
  PARSE_JSON(r.visit, wide_number_mode => 'round'),
  PARSE_JSON(r.tracking_info, wide_number_mode => 'round'),
  PARSE_JSON(r.qualification, wide_number_mode => 'round'),
  PARSE_JSON(r.extra, wide_number_mode => 'round'),
  r.utterance_count,
  r.word_count,
  r.tag_count,
  PARSE_JSON(r.issues, wide_number_mode => 'round'),
  TIMESTAMP_MICROS(r.first_seen_at),
  TIMESTAMP_MICROS(r.last_seen_at),
  TIMESTAMP_MICROS(r.source_deleted_at),
  this_epoch,
  s.revision,
  this_flatten,
  this_load,
  s.content_hash
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, calls FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.calls) AS r;
INSERT INTO `acme-prod.calls.utterances` (call_id, call_timestamp, utterance_index, side, content, start_offset, duration, score, word_count, words)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.utterance_index,
  r.side,
  r.content,
  r.start_offset,
  r.duration,
  r.score,
  r.word_count,
  r.words
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, utterances FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.utterances) AS r;
INSERT INTO `acme-prod.calls.tags` (call_id, call_timestamp, tag_index, tag_id, display_name, confidence, type, value_bool, value_number, value_text, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.tag_index,
  r.tag_id,
  r.display_name,
  r.confidence,
  r.type,
  r.value_bool,
  r.value_number,
  r.value_text,
  PARSE_JSON(r.value, wide_number_mode => 'round')
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, tags FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.tags) AS r;
INSERT INTO `acme-prod.calls.metadata` (call_id, call_timestamp, key, value)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.key,
  r.value
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, metadata FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.metadata) AS r;
INSERT INTO `acme-prod.calls.udfs` (call_id, call_timestamp, kind, udf_index, value_number, value_text, unparsable)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.kind,
  r.udf_index,
  CAST(r.value_number AS BIGNUMERIC),
  r.value_text,
  r.unparsable
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, udfs FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.udfs) AS r;
INSERT INTO `acme-prod.calls.contacts` (call_id, call_timestamp, side, label, data, type, phone)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.side,
  r.label,
  r.data,
  r.type,
  r.phone
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, contacts FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.contacts) AS r;
INSERT INTO `acme-prod.calls.redactions` (call_id, call_timestamp, redaction_index, utterance_index, first_word, last_word, detector, detector_version)
SELECT
  s.call_id,
  TIMESTAMP_MICROS(s.call_timestamp),
  r.redaction_index,
  r.utterance_index,
  r.first_word,
  r.last_word,
  r.detector,
  r.detector_version
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, redactions FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s, UNNEST(s.redactions) AS r;
IF ARRAY_LENGTH(removed) = 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r;
END IF;
IF ARRAY_LENGTH(removed) > 0 THEN
INSERT INTO `acme-prod.calls.changes` (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT s.call_id, TIMESTAMP_MICROS(s.call_timestamp), r.field, r.revision, r.source, TIMESTAMP_MICROS(r.observed_at), COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP()), r.kind
FROM (
  SELECT call_id, call_timestamp, revision, content_hash, changes FROM `acme-prod.calls_staging.callsync_staging_example_1`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
) AS s CROSS JOIN UNNEST(s.changes) AS r
LEFT JOIN (
  SELECT t.call_id, t.field, t.observed_at, t.source FROM `acme-prod.calls.changes` AS t
  WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL)
) AS h
ON h.call_id = s.call_id AND h.field = r.field
  AND (r.field = '*' OR (h.observed_at = TIMESTAMP_MICROS(r.observed_at) AND h.source = r.source))
WHERE h.call_id IS NULL;
END IF;
END IF;

INSERT INTO `acme-prod.calls.loads`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, 'read', 3, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM `acme-prod.calls.loads` AS l);

COMMIT TRANSACTION;

SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;
END;

-- load/log rows only
BEGIN
DECLARE this_load STRING DEFAULT 'example';
DECLARE this_epoch INT64 DEFAULT 1;
DECLARE this_flatten INT64 DEFAULT 1;
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];

IF (SELECT COUNT(*) FROM `acme-prod.calls_staging.callsync_staging_example_1`) != 500 THEN
  SELECT ERROR('staging is incomplete');
END IF;

BEGIN TRANSACTION;

MERGE `acme-prod.calls.fence` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);

MERGE `acme-prod.calls.deliveries` AS t
USING (
  SELECT
    r.seq AS seq,
    r.arrival_id AS arrival_id,
    r.delivery_id AS delivery_id,
    r.hook_id AS hook_id,
    r.agent AS agent,
    TIMESTAMP_MICROS(r.received_at) AS received_at,
    r.signing_key AS signing_key,
    r.call_id AS call_id,
    r.outcome AS outcome,
    r.reason AS reason,
    r.revision AS revision,
    TIMESTAMP_MICROS(r.visible_at) AS visible_at
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s, UNNEST(s.deliveries) AS r
  WHERE s.kind = 'log'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY r.arrival_id ORDER BY s.n DESC) = 1
) AS x
ON t.arrival_id = x.arrival_id AND ((t.received_at >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.received_at < TIMESTAMP '2026-03-06 00:00:00+00') OR t.received_at IS NULL)
WHEN MATCHED THEN UPDATE SET
  seq = x.seq, delivery_id = x.delivery_id, hook_id = x.hook_id, agent = x.agent, received_at = x.received_at, signing_key = x.signing_key, call_id = x.call_id, outcome = x.outcome, reason = x.reason, revision = x.revision, visible_at = x.visible_at
WHEN NOT MATCHED THEN INSERT (seq, arrival_id, delivery_id, hook_id, agent, received_at, signing_key, call_id, outcome, reason, revision, visible_at)
  VALUES (x.seq, x.arrival_id, x.delivery_id, x.hook_id, x.agent, x.received_at, x.signing_key, x.call_id, x.outcome, x.reason, x.revision, x.visible_at);

MERGE `acme-prod.calls.verdicts` AS t
USING (
  SELECT
    r.verdict_id AS verdict_id,
    r.axis AS axis,
    TIMESTAMP_MICROS(r.window_from) AS window_from,
    TIMESTAMP_MICROS(r.window_to) AS window_to,
    r.level AS level,
    r.warehouse_level AS warehouse_level,
    r.calls_listed AS calls_listed,
    r.calls_found AS calls_found,
    r.missing AS missing,
    r.different AS different,
    r.healed AS healed,
    r.deleted AS deleted,
    r.unexpected AS unexpected,
    r.excluded AS excluded,
    r.confirmed AS confirmed,
    r.outcome AS outcome,
    TIMESTAMP_MICROS(r.compared_at) AS compared_at,
    r.ledger_epoch AS ledger_epoch,
    r.flatten_version AS flatten_version,
    r.revisions_digest AS revisions_digest,
    r.compared_by AS compared_by,
    r.digest AS digest,
    r.key_id AS key_id,
    r.previous_digest AS previous_digest
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s, UNNEST(s.verdicts) AS r
  WHERE s.kind = 'log'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY r.digest ORDER BY s.n DESC) = 1
) AS x
ON t.digest = x.digest
WHEN MATCHED THEN UPDATE SET
  verdict_id = x.verdict_id, axis = x.axis, window_from = x.window_from, window_to = x.window_to, level = x.level, warehouse_level = x.warehouse_level, calls_listed = x.calls_listed, calls_found = x.calls_found, missing = x.missing, different = x.different, healed = x.healed, deleted = x.deleted, unexpected = x.unexpected, excluded = x.excluded, confirmed = x.confirmed, outcome = x.outcome, compared_at = x.compared_at, ledger_epoch = x.ledger_epoch, flatten_version = x.flatten_version, revisions_digest = x.revisions_digest, compared_by = x.compared_by, key_id = x.key_id, previous_digest = x.previous_digest
WHEN NOT MATCHED THEN INSERT (verdict_id, axis, window_from, window_to, level, warehouse_level, calls_listed, calls_found, missing, different, healed, deleted, unexpected, excluded, confirmed, outcome, compared_at, ledger_epoch, flatten_version, revisions_digest, compared_by, digest, key_id, previous_digest)
  VALUES (x.verdict_id, x.axis, x.window_from, x.window_to, x.level, x.warehouse_level, x.calls_listed, x.calls_found, x.missing, x.different, x.healed, x.deleted, x.unexpected, x.excluded, x.confirmed, x.outcome, x.compared_at, x.ledger_epoch, x.flatten_version, x.revisions_digest, x.compared_by, x.digest, x.key_id, x.previous_digest);

INSERT INTO `acme-prod.calls.loads`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, 'read', 0, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM `acme-prod.calls.loads` AS l);

COMMIT TRANSACTION;

SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;
END;

-- erase
BEGIN
DECLARE this_load STRING DEFAULT 'example';
DECLARE this_epoch INT64 DEFAULT 1;
DECLARE this_flatten INT64 DEFAULT 1;
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];

IF (SELECT COUNT(*) FROM `acme-prod.calls_staging.callsync_staging_example_1`) != 500 THEN
  SELECT ERROR('staging is incomplete');
END IF;

BEGIN TRANSACTION;

MERGE `acme-prod.calls.fence` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);

SET unknown_dates = ARRAY(
  SELECT DISTINCT DATE(c.call_timestamp)
  FROM `acme-prod.calls.calls` AS c
  INNER JOIN `acme-prod.calls_staging.callsync_staging_example_1` AS x ON x.call_id = c.call_id
  WHERE c.call_timestamp IS NOT NULL
);

SET refused = ARRAY_CONCAT(refused, ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone'
    AND s.call_key IN (
      SELECT t.call_key
      FROM `acme-prod.calls.tombstones` AS t
      INNER JOIN `acme-prod.calls_staging.callsync_staging_example_1` AS x ON x.call_key = t.call_key
      WHERE x.kind = 'tombstone'
        AND (t.ledger_epoch > this_epoch OR (t.ledger_epoch = this_epoch AND t.revision >= x.revision))
    )
));

SET claimed = 1 - ARRAY_LENGTH(refused);

SET removed = ARRAY(
  SELECT s.n
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone'
    OR (s.kind = 'call' AND s.n NOT IN UNNEST(refused)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM `acme-prod.calls.calls` AS c WHERE (((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (c.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR c.call_timestamp IS NULL) OR DATE(c.call_timestamp) IN UNNEST(unknown_dates)))))
);

IF ARRAY_LENGTH(removed) > 0 THEN
DELETE FROM `acme-prod.calls.calls` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.tags` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE (((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-03 00:00:00+00') OR (t.call_timestamp >= TIMESTAMP '2026-03-05 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-06 00:00:00+00') OR t.call_timestamp IS NULL) OR DATE(t.call_timestamp) IN UNNEST(unknown_dates))
  AND t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.n IN UNNEST(removed));
END IF;

DELETE FROM `acme-prod.calls.changes` AS t
WHERE t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.kind = 'tombstone');

MERGE `acme-prod.calls.tombstones` AS t
USING (
  SELECT s.call_key AS call_key, this_epoch AS ledger_epoch, MAX(s.revision) AS revision, this_load AS load_id,
    CURRENT_TIMESTAMP() AS erased_at
  FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
  WHERE s.kind = 'tombstone' AND s.n NOT IN UNNEST(refused)
  GROUP BY s.call_key
) AS x
ON t.call_key = x.call_key
WHEN MATCHED THEN UPDATE SET
  ledger_epoch = x.ledger_epoch, revision = x.revision, load_id = x.load_id, erased_at = x.erased_at
WHEN NOT MATCHED THEN INSERT (call_key, ledger_epoch, revision, load_id, erased_at)
  VALUES (x.call_key, x.ledger_epoch, x.revision, x.load_id, x.erased_at);

DELETE FROM `acme-prod.calls.moved_calls` AS t
WHERE t.call_id IN (SELECT s.call_id FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s WHERE s.kind = 'tombstone');

UPDATE `acme-prod.calls.deliveries` AS t
SET call_id = CONCAT('erased:', s.call_key)
FROM `acme-prod.calls_staging.callsync_staging_example_1` AS s
WHERE s.kind = 'tombstone' AND t.call_id = s.call_id;

INSERT INTO `acme-prod.calls.loads`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, 'read', 1, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM `acme-prod.calls.loads` AS l);

COMMIT TRANSACTION;

SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;
END;

-- load/clear the fence
-- @param epoch INT64
UPDATE `acme-prod.calls.fence` AS f SET earlier_epochs = FALSE
WHERE f.ledger_epoch = @epoch AND f.earlier_epochs
  AND NOT EXISTS (SELECT 1 FROM `acme-prod.calls.calls` AS c WHERE c.ledger_epoch < @epoch);

-- logs/expire
DELETE FROM `acme-prod.calls.deliveries` AS t
WHERE t.received_at < TIMESTAMP '1970-01-01 00:00:00+00';

-- logs/expire
DELETE FROM `acme-prod.calls.loads` AS t
WHERE t.loaded_at < TIMESTAMP '1970-01-01 00:00:00+00'
  AND t.loaded_at < (SELECT MIN(k.loaded_at) FROM (SELECT n.loaded_at FROM `acme-prod.calls.loads` AS n ORDER BY n.loaded_at DESC LIMIT 4000) AS k);

-- logs/expire
DELETE FROM `acme-prod.calls.verdicts` AS t
WHERE t.compared_at < TIMESTAMP '1970-01-01 00:00:00+00';

-- state
MERGE `acme-prod.calls.sync_state` AS t
USING (
  SELECT 'warehouse' AS warehouse, TIMESTAMP_MICROS(0) AS watermark, TIMESTAMP_MICROS(0) AS newest_call, 'timestamp' AS proven_axis, CAST(NULL AS TIMESTAMP) AS proven_through, 0 AS pending, CAST(NULL AS TIMESTAMP) AS last_load_at, CAST(NULL AS STRING) AS last_error, 1 AS ledger_epoch, TIMESTAMP_MICROS(0) AS heartbeat_at
) AS x
ON t.warehouse = x.warehouse
WHEN MATCHED AND t.heartbeat_at <= x.heartbeat_at THEN UPDATE SET
  watermark = x.watermark, newest_call = x.newest_call, proven_axis = x.proven_axis, proven_through = x.proven_through, pending = x.pending, last_load_at = x.last_load_at, last_error = x.last_error, ledger_epoch = x.ledger_epoch, heartbeat_at = x.heartbeat_at
WHEN NOT MATCHED THEN INSERT (warehouse, watermark, newest_call, proven_axis, proven_through, pending, last_load_at, last_error, ledger_epoch, heartbeat_at)
  VALUES (x.warehouse, x.watermark, x.newest_call, x.proven_axis, x.proven_through, x.pending, x.last_load_at, x.last_error, x.ledger_epoch, x.heartbeat_at);

-- reconcile/range
SELECT
  c.call_id AS call_id,
  UNIX_MICROS(c.call_timestamp) AS call_timestamp,
  c.ledger_epoch AS ledger_epoch,
  c.revision AS revision,
  c.flatten_version AS flatten_version,
  c.content_hash AS content_hash,
  COALESCE(utterances_rows.n, 0) AS utterances_rows,
  COALESCE(tags_rows.n, 0) AS tags_rows,
  COALESCE(metadata_rows.n, 0) AS metadata_rows,
  COALESCE(udfs_rows.n, 0) AS udfs_rows,
  COALESCE(contacts_rows.n, 0) AS contacts_rows,
  COALESCE(redactions_rows.n, 0) AS redactions_rows
FROM `acme-prod.calls.calls` AS c
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.utterances` AS t WHERE t.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND t.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY t.call_id
) AS utterances_rows ON utterances_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.tags` AS t WHERE t.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND t.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY t.call_id
) AS tags_rows ON tags_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.metadata` AS t WHERE t.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND t.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY t.call_id
) AS metadata_rows ON metadata_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.udfs` AS t WHERE t.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND t.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY t.call_id
) AS udfs_rows ON udfs_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.contacts` AS t WHERE t.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND t.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY t.call_id
) AS contacts_rows ON contacts_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.redactions` AS t WHERE t.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND t.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY t.call_id
) AS redactions_rows ON redactions_rows.call_id = c.call_id
WHERE c.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND c.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00'
ORDER BY c.call_id;

-- reconcile/ids
-- @param ids ARRAY<STRING>
SELECT
  c.call_id AS call_id,
  UNIX_MICROS(c.call_timestamp) AS call_timestamp,
  c.ledger_epoch AS ledger_epoch,
  c.revision AS revision,
  c.flatten_version AS flatten_version,
  c.content_hash AS content_hash,
  COALESCE(utterances_rows.n, 0) AS utterances_rows,
  COALESCE(tags_rows.n, 0) AS tags_rows,
  COALESCE(metadata_rows.n, 0) AS metadata_rows,
  COALESCE(udfs_rows.n, 0) AS udfs_rows,
  COALESCE(contacts_rows.n, 0) AS contacts_rows,
  COALESCE(redactions_rows.n, 0) AS redactions_rows
FROM `acme-prod.calls.calls` AS c
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.utterances` AS t WHERE t.call_id IN UNNEST(@ids) GROUP BY t.call_id
) AS utterances_rows ON utterances_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.tags` AS t WHERE t.call_id IN UNNEST(@ids) GROUP BY t.call_id
) AS tags_rows ON tags_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.metadata` AS t WHERE t.call_id IN UNNEST(@ids) GROUP BY t.call_id
) AS metadata_rows ON metadata_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.udfs` AS t WHERE t.call_id IN UNNEST(@ids) GROUP BY t.call_id
) AS udfs_rows ON udfs_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.contacts` AS t WHERE t.call_id IN UNNEST(@ids) GROUP BY t.call_id
) AS contacts_rows ON contacts_rows.call_id = c.call_id
LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM `acme-prod.calls.redactions` AS t WHERE t.call_id IN UNNEST(@ids) GROUP BY t.call_id
) AS redactions_rows ON redactions_rows.call_id = c.call_id
WHERE c.call_id IN UNNEST(@ids)
ORDER BY c.call_id;

-- reconcile/ids of a range
SELECT c.call_id AS call_id FROM `acme-prod.calls.calls` AS c WHERE c.call_timestamp >= TIMESTAMP '1970-01-01 00:00:00.000000+00' AND c.call_timestamp < TIMESTAMP '1970-01-02 00:00:00.000000+00' GROUP BY c.call_id ORDER BY c.call_id;

-- load/change times
-- @param ids ARRAY<STRING>
SELECT
  t.call_id AS call_id,
  t.revision AS revision,
  UNIX_MICROS(MIN(t.loaded_at)) AS loaded_at
FROM `acme-prod.calls.changes` AS t
WHERE t.call_id IN UNNEST(@ids) AND t.loaded_at IS NOT NULL
GROUP BY t.call_id, t.revision;

-- reconcile/orphans
SELECT o.call_id AS call_id FROM (
SELECT t.call_id AS call_id FROM `acme-prod.calls.utterances` AS t
LEFT JOIN `acme-prod.calls.calls` AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL
UNION DISTINCT
SELECT t.call_id AS call_id FROM `acme-prod.calls.tags` AS t
LEFT JOIN `acme-prod.calls.calls` AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL
UNION DISTINCT
SELECT t.call_id AS call_id FROM `acme-prod.calls.metadata` AS t
LEFT JOIN `acme-prod.calls.calls` AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL
UNION DISTINCT
SELECT t.call_id AS call_id FROM `acme-prod.calls.udfs` AS t
LEFT JOIN `acme-prod.calls.calls` AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL
UNION DISTINCT
SELECT t.call_id AS call_id FROM `acme-prod.calls.contacts` AS t
LEFT JOIN `acme-prod.calls.calls` AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL
UNION DISTINCT
SELECT t.call_id AS call_id FROM `acme-prod.calls.redactions` AS t
LEFT JOIN `acme-prod.calls.calls` AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL
) AS o
ORDER BY o.call_id;

-- reconcile/rows
-- @param ids ARRAY<STRING>
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.utterance_index AS utterance_index, t.side AS side, t.content AS content, t.start_offset AS start_offset, t.duration AS duration, t.score AS score, t.word_count AS word_count, t.words AS words FROM `acme-prod.calls.utterances` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND t.call_id IN UNNEST(@ids);

-- erase/rows-left
-- @param ids ARRAY<STRING>
-- @param salt STRING
SELECT SUM(x.n) AS n FROM (
SELECT COUNT(*) AS n FROM `acme-prod.calls.calls` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.utterances` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.tags` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.metadata` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.udfs` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.contacts` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.redactions` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.changes` AS t WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL) AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
UNION ALL
SELECT COUNT(*) AS n FROM `acme-prod.calls.deliveries` AS t WHERE TRUE AND TO_HEX(SHA256(CONCAT(@salt, t.call_id))) IN UNNEST(@ids)
) AS x;

-- read/calls
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.processed_at AS processed_at, t.status AS status, t.campaign AS campaign, t.duration AS duration, t.ivr_end AS ivr_end, t.audio_state AS audio_state, t.lang AS lang, t.asr_model AS asr_model, t.obfuscated AS obfuscated, t.transcript_call_id AS transcript_call_id, t.in_label AS in_label, t.in_data AS in_data, t.in_type AS in_type, t.out_label AS out_label, t.out_data AS out_data, t.out_type AS out_type, t.client_id AS client_id, t.agent AS agent, t.direction AS direction, t.dept AS dept, t.ani AS ani, t.client_capture_date AS client_capture_date, t.audio_file_location AS audio_file_location, t.visit AS visit, t.tracking_info AS tracking_info, t.qualification AS qualification, t.extra AS extra, t.utterance_count AS utterance_count, t.word_count AS word_count, t.tag_count AS tag_count, t.issues AS issues, t.first_seen_at AS first_seen_at, t.last_seen_at AS last_seen_at, t.source_deleted_at AS source_deleted_at, t.ledger_epoch AS ledger_epoch, t.revision AS revision, t.flatten_version AS flatten_version, t.content_hash AS content_hash FROM `acme-prod.calls.calls` AS t;

-- read/utterances
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.utterance_index AS utterance_index, t.side AS side, t.content AS content, t.start_offset AS start_offset, t.duration AS duration, t.score AS score, t.word_count AS word_count, t.words AS words FROM `acme-prod.calls.utterances` AS t;

-- read/tags
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.tag_index AS tag_index, t.tag_id AS tag_id, t.display_name AS display_name, t.confidence AS confidence, t.type AS type, t.value_bool AS value_bool, t.value_number AS value_number, t.value_text AS value_text, t.value AS value FROM `acme-prod.calls.tags` AS t;

-- read/metadata
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.key AS key, t.value AS value FROM `acme-prod.calls.metadata` AS t;

-- read/udfs
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.kind AS kind, t.udf_index AS udf_index, t.value_number AS value_number, t.value_text AS value_text, t.unparsable AS unparsable FROM `acme-prod.calls.udfs` AS t;

-- read/contacts
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.side AS side, t.label AS label, t.data AS data, t.type AS type, t.phone AS phone FROM `acme-prod.calls.contacts` AS t;

-- read/redactions
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.redaction_index AS redaction_index, t.utterance_index AS utterance_index, t.first_word AS first_word, t.last_word AS last_word, t.detector AS detector, t.detector_version AS detector_version FROM `acme-prod.calls.redactions` AS t;

-- read/words
SELECT t.call_id AS call_id, t.call_timestamp AS call_timestamp, t.utterance_index AS utterance_index, t.word_index AS word_index, t.side AS side, t.value AS value, t.start_offset AS start_offset, t.length AS length, t.score AS score FROM `acme-prod.calls.words` AS t;

-- reconcile/remove orphans
BEGIN
DECLARE kept ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET kept = ARRAY(
  SELECT CONCAT(IFNULL(CAST(UNIX_MICROS(c.call_timestamp) AS STRING), '-'), ' ', c.call_id) FROM `acme-prod.calls.calls` AS c WHERE c.call_id IN ('call')
);
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE t.call_id IN ('call') AND CONCAT(IFNULL(CAST(UNIX_MICROS(t.call_timestamp) AS STRING), '-'), ' ', t.call_id) NOT IN UNNEST(kept);
DELETE FROM `acme-prod.calls.tags` AS t
WHERE t.call_id IN ('call') AND CONCAT(IFNULL(CAST(UNIX_MICROS(t.call_timestamp) AS STRING), '-'), ' ', t.call_id) NOT IN UNNEST(kept);
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE t.call_id IN ('call') AND CONCAT(IFNULL(CAST(UNIX_MICROS(t.call_timestamp) AS STRING), '-'), ' ', t.call_id) NOT IN UNNEST(kept);
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE t.call_id IN ('call') AND CONCAT(IFNULL(CAST(UNIX_MICROS(t.call_timestamp) AS STRING), '-'), ' ', t.call_id) NOT IN UNNEST(kept);
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE t.call_id IN ('call') AND CONCAT(IFNULL(CAST(UNIX_MICROS(t.call_timestamp) AS STRING), '-'), ' ', t.call_id) NOT IN UNNEST(kept);
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE t.call_id IN ('call') AND CONCAT(IFNULL(CAST(UNIX_MICROS(t.call_timestamp) AS STRING), '-'), ' ', t.call_id) NOT IN UNNEST(kept);
COMMIT TRANSACTION;
END;

-- reconcile/remove surplus
BEGIN
DECLARE surplus ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET surplus = ARRAY(
  SELECT c.call_id
  FROM `acme-prod.calls.calls` AS c
  WHERE ((c.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND c.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR c.call_timestamp IS NULL)
    AND CONCAT(CAST(c.ledger_epoch AS STRING), ' ', CAST(c.revision AS STRING), ' ', c.call_id) IN ('1 1 call')
);
DELETE FROM `acme-prod.calls.calls` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.utterances` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.tags` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.metadata` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.udfs` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.contacts` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.redactions` AS t
WHERE ((t.call_timestamp >= TIMESTAMP '2026-03-01 00:00:00+00' AND t.call_timestamp < TIMESTAMP '2026-03-02 00:00:00+00') OR t.call_timestamp IS NULL)
  AND t.call_id IN UNNEST(surplus);
DELETE FROM `acme-prod.calls.changes` AS t
WHERE t.call_id IN UNNEST(surplus);
COMMIT TRANSACTION;
END;

-- grants
GRANT `roles/bigquery.dataViewer` ON SCHEMA `acme-prod.calls` TO "group:analysts@example.com";

-- grants
CREATE SCHEMA IF NOT EXISTS `acme-prod.calls_marts` OPTIONS (location = 'EU');

-- grants
GRANT `roles/bigquery.dataViewer` ON SCHEMA `acme-prod.calls_marts` TO "group:analysts@example.com";

-- grants
CREATE SCHEMA IF NOT EXISTS `acme-prod.calls_restricted` OPTIONS (location = 'EU');

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.calls` AS SELECT call_id, call_timestamp, processed_at, status, campaign, duration, ivr_end, audio_state, lang, asr_model, obfuscated, in_type, out_type, agent, direction, dept, utterance_count, word_count, tag_count, first_seen_at, last_seen_at, source_deleted_at, ledger_epoch, revision, flatten_version, load_id FROM `acme-prod.calls.calls`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.utterances` AS SELECT call_id, call_timestamp, utterance_index, side, start_offset, duration, score, word_count FROM `acme-prod.calls.utterances`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.tags` AS SELECT call_id, call_timestamp, tag_index, tag_id, display_name, confidence, type, value_bool FROM `acme-prod.calls.tags`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.contacts` AS SELECT call_id, call_timestamp, side, type FROM `acme-prod.calls.contacts`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.redactions` AS SELECT call_id, call_timestamp, redaction_index, utterance_index, first_word, last_word, detector, detector_version FROM `acme-prod.calls.redactions`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.changes` AS SELECT call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind FROM `acme-prod.calls.changes`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.deliveries` AS SELECT seq, arrival_id, hook_id, agent, received_at, signing_key, call_id, outcome, revision, visible_at FROM `acme-prod.calls.deliveries`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.loads` AS SELECT load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at FROM `acme-prod.calls.loads`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.verdicts` AS SELECT verdict_id, axis, window_from, window_to, missing, different, healed, deleted, unexpected, confirmed, outcome, compared_at FROM `acme-prod.calls.verdicts`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.sync_state` AS SELECT warehouse, watermark, newest_call, proven_axis, proven_through, pending, last_load_at, last_error, ledger_epoch, heartbeat_at FROM `acme-prod.calls.sync_state`;

-- grants
CREATE OR REPLACE VIEW `acme-prod.calls_restricted.words` AS SELECT call_id, call_timestamp, utterance_index, word_index, side, start_offset, length, score FROM `acme-prod.calls.words`;

-- grants
GRANT `roles/bigquery.dataViewer` ON SCHEMA `acme-prod.calls_restricted` TO "group:others@example.com", "group:analysts@example.com";

-- grants
REVOKE `roles/bigquery.dataViewer` ON SCHEMA `acme-prod.calls` FROM "group:others@example.com";

-- grants
REVOKE `roles/bigquery.dataViewer` ON SCHEMA `acme-prod.calls_marts` FROM "group:others@example.com";

-- search index/create
CREATE SEARCH INDEX IF NOT EXISTS transcript_search ON `acme-prod.calls.utterances` (content) OPTIONS (analyzer = 'LOG_ANALYZER');

-- search index/drop
DROP SEARCH INDEX IF EXISTS transcript_search ON `acme-prod.calls.utterances`;

-- search index/status
SELECT coverage_percentage, total_storage_bytes FROM `acme-prod.calls`.INFORMATION_SCHEMA.SEARCH_INDEXES
 WHERE index_name = 'transcript_search';

-- search
-- @param terms STRING
-- @param from_micros INT64
-- @param to_micros INT64
-- @param side STRING
SELECT u.call_id AS call_id, u.call_timestamp AS call_timestamp, c.lang AS language,
       ARRAY_AGG(STRUCT(u.utterance_index AS utterance_index, u.side AS side, u.content AS content)
                 ORDER BY u.utterance_index LIMIT 3) AS hits
  FROM `acme-prod.calls.utterances` AS u
  JOIN `acme-prod.calls.calls` AS c
    ON c.call_id = u.call_id AND (c.call_timestamp = u.call_timestamp OR (c.call_timestamp IS NULL AND u.call_timestamp IS NULL))
 WHERE SEARCH(u.content, @terms)
   AND u.call_timestamp >= TIMESTAMP_MICROS(@from_micros)
   AND u.call_timestamp < TIMESTAMP_MICROS(@to_micros)
   AND u.side = @side
 GROUP BY call_id, call_timestamp, language
 ORDER BY call_timestamp DESC, call_id
 LIMIT 21;

-- search/then
-- @param terms STRING
-- @param then_terms STRING
SELECT u.call_id AS call_id, u.call_timestamp AS call_timestamp, c.lang AS language,
       ARRAY_AGG(STRUCT(u.utterance_index AS utterance_index, u.side AS side, u.content AS content)
                 ORDER BY u.utterance_index LIMIT 3) AS hits
  FROM `acme-prod.calls.utterances` AS u
  JOIN `acme-prod.calls.calls` AS c
    ON c.call_id = u.call_id AND (c.call_timestamp = u.call_timestamp OR (c.call_timestamp IS NULL AND u.call_timestamp IS NULL))
 WHERE (SEARCH(u.content, @terms) OR SEARCH(u.content, @then_terms))
   AND u.side = 'in'
 GROUP BY call_id, call_timestamp, language
HAVING MIN(IF(SEARCH(u.content, @terms), u.utterance_index, NULL)) < MAX(IF(SEARCH(u.content, @then_terms), u.utterance_index, NULL))
 ORDER BY call_timestamp DESC, call_id
 LIMIT 21;
