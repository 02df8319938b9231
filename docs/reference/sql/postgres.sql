-- migrate: schema
CREATE SCHEMA IF NOT EXISTS "calls";

-- migrate: table calls
CREATE TABLE IF NOT EXISTS "calls"."calls" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "status" text,
  "campaign" text,
  "duration" double precision,
  "agent" text,
  "direction" text,
  "dept" text,
  "processed_at" timestamptz,
  "ivr_end" double precision,
  "audio_state" text,
  "lang" text,
  "asr_model" text,
  "obfuscated" boolean,
  "transcript_call_id" text,
  "in_label" text,
  "in_data" text,
  "in_type" text,
  "out_label" text,
  "out_data" text,
  "out_type" text,
  "client_id" text,
  "ani" text,
  "client_capture_date" text,
  "audio_file_location" text,
  "visit" jsonb,
  "tracking_info" jsonb,
  "qualification" jsonb,
  "extra" jsonb,
  "utterance_count" integer NOT NULL,
  "word_count" integer NOT NULL,
  "tag_count" integer NOT NULL,
  "issues" jsonb,
  "first_seen_at" timestamptz,
  "last_seen_at" timestamptz,
  "source_deleted_at" timestamptz,
  "ledger_epoch" integer NOT NULL,
  "revision" integer NOT NULL,
  "flatten_version" integer NOT NULL,
  "load_id" text NOT NULL,
  "content_hash" text,
  PRIMARY KEY ("call_id")
);

-- migrate: table utterances
CREATE TABLE IF NOT EXISTS "calls"."utterances" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "duration" double precision,
  "utterance_index" integer NOT NULL,
  "side" text,
  "content" text,
  "start_offset" double precision,
  "score" double precision,
  "word_count" integer NOT NULL,
  "word_values" text[],
  "word_starts" double precision[],
  "word_lengths" double precision[],
  "word_scores" double precision[],
  PRIMARY KEY ("call_id", "utterance_index")
);
ALTER TABLE "calls"."utterances" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "utterance_index" SET STATISTICS 30, ALTER "side" SET STATISTICS 30, ALTER "content" SET STATISTICS 0, ALTER "start_offset" SET STATISTICS 30, ALTER "duration" SET STATISTICS 30, ALTER "score" SET STATISTICS 30, ALTER "word_count" SET STATISTICS 30, ALTER "word_values" SET STATISTICS 0, ALTER "word_starts" SET STATISTICS 0, ALTER "word_lengths" SET STATISTICS 0, ALTER "word_scores" SET STATISTICS 0;

-- migrate: table tags
CREATE TABLE IF NOT EXISTS "calls"."tags" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "tag_index" integer NOT NULL,
  "confidence" double precision,
  "value_bool" boolean,
  "display_name" text,
  "tag_id" text,
  "type" text,
  "value_number" double precision,
  "value_text" text,
  "value" jsonb,
  PRIMARY KEY ("call_id", "tag_index")
);
ALTER TABLE "calls"."tags" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "tag_index" SET STATISTICS 30, ALTER "tag_id" SET STATISTICS 30, ALTER "display_name" SET STATISTICS 30, ALTER "confidence" SET STATISTICS 30, ALTER "type" SET STATISTICS 30, ALTER "value_bool" SET STATISTICS 30, ALTER "value_number" SET STATISTICS 30, ALTER "value_text" SET STATISTICS 30, ALTER "value" SET STATISTICS 30;

-- migrate: table metadata
CREATE TABLE IF NOT EXISTS "calls"."metadata" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "key" text NOT NULL,
  "value" text,
  PRIMARY KEY ("call_id", "key")
);
ALTER TABLE "calls"."metadata" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "key" SET STATISTICS 30, ALTER "value" SET STATISTICS 30;

-- migrate: table udfs
CREATE TABLE IF NOT EXISTS "calls"."udfs" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "kind" text NOT NULL,
  "udf_index" integer NOT NULL,
  "value_number" numeric,
  "value_text" text,
  "unparsable" boolean NOT NULL,
  PRIMARY KEY ("call_id", "kind", "udf_index")
);
ALTER TABLE "calls"."udfs" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "kind" SET STATISTICS 30, ALTER "udf_index" SET STATISTICS 30, ALTER "value_number" SET STATISTICS 30, ALTER "value_text" SET STATISTICS 30, ALTER "unparsable" SET STATISTICS 30;

-- migrate: table contacts
CREATE TABLE IF NOT EXISTS "calls"."contacts" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "side" text NOT NULL,
  "label" text,
  "data" text,
  "type" text,
  "phone" text,
  PRIMARY KEY ("call_id", "side")
);
ALTER TABLE "calls"."contacts" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "side" SET STATISTICS 30, ALTER "label" SET STATISTICS 30, ALTER "data" SET STATISTICS 30, ALTER "type" SET STATISTICS 30, ALTER "phone" SET STATISTICS 30;

-- migrate: table redactions
CREATE TABLE IF NOT EXISTS "calls"."redactions" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "redaction_index" integer NOT NULL,
  "utterance_index" integer NOT NULL,
  "first_word" integer,
  "last_word" integer,
  "detector" text NOT NULL,
  "detector_version" integer,
  PRIMARY KEY ("call_id", "redaction_index")
);
ALTER TABLE "calls"."redactions" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "redaction_index" SET STATISTICS 30, ALTER "utterance_index" SET STATISTICS 30, ALTER "first_word" SET STATISTICS 30, ALTER "last_word" SET STATISTICS 30, ALTER "detector" SET STATISTICS 30, ALTER "detector_version" SET STATISTICS 30;

-- migrate: table documents
CREATE TABLE IF NOT EXISTS "calls"."documents" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "document" jsonb NOT NULL,
  PRIMARY KEY ("call_id")
);
ALTER TABLE "calls"."documents" ALTER "call_id" SET STATISTICS 30, ALTER "call_timestamp" SET STATISTICS 30, ALTER "document" SET STATISTICS 30;

-- migrate: table changes
CREATE TABLE IF NOT EXISTS "calls"."changes" (
  "call_id" text NOT NULL,
  "call_timestamp" timestamptz,
  "field" text NOT NULL,
  "revision" integer NOT NULL,
  "source" text NOT NULL,
  "observed_at" timestamptz NOT NULL,
  "loaded_at" timestamptz,
  "kind" text,
  PRIMARY KEY ("call_id", "field", "source", "observed_at")
);

-- migrate: table deliveries
CREATE TABLE IF NOT EXISTS "calls"."deliveries" (
  "seq" bigint NOT NULL,
  "arrival_id" text NOT NULL,
  "delivery_id" text,
  "hook_id" text,
  "agent" text,
  "received_at" timestamptz NOT NULL,
  "signing_key" text,
  "call_id" text,
  "outcome" text NOT NULL,
  "reason" text,
  "revision" bigint,
  "visible_at" timestamptz,
  PRIMARY KEY ("arrival_id")
);

-- migrate: table loads
CREATE TABLE IF NOT EXISTS "calls"."loads" (
  "load_id" text NOT NULL,
  "ledger_epoch" bigint NOT NULL,
  "flatten_version" bigint NOT NULL,
  "origin" text NOT NULL,
  "calls_sent" bigint NOT NULL,
  "calls_changed" bigint NOT NULL,
  "loaded_at" timestamptz NOT NULL,
  PRIMARY KEY ("load_id")
);

-- migrate: table verdicts
CREATE TABLE IF NOT EXISTS "calls"."verdicts" (
  "verdict_id" bigint NOT NULL,
  "axis" text NOT NULL,
  "window_from" timestamptz NOT NULL,
  "window_to" timestamptz NOT NULL,
  "level" text NOT NULL,
  "warehouse_level" text,
  "calls_listed" bigint NOT NULL,
  "calls_found" bigint NOT NULL,
  "missing" bigint NOT NULL,
  "different" bigint NOT NULL,
  "healed" bigint NOT NULL,
  "deleted" bigint,
  "unexpected" bigint,
  "excluded" bigint,
  "confirmed" text,
  "outcome" text NOT NULL,
  "compared_at" timestamptz NOT NULL,
  "ledger_epoch" bigint,
  "flatten_version" bigint,
  "revisions_digest" text,
  "compared_by" text,
  "digest" text NOT NULL,
  "key_id" text,
  "previous_digest" text,
  PRIMARY KEY ("digest")
);

-- migrate: table sync_state
CREATE TABLE IF NOT EXISTS "calls"."sync_state" (
  "warehouse" text NOT NULL,
  "watermark" timestamptz,
  "newest_call" timestamptz,
  "proven_axis" text,
  "proven_through" timestamptz,
  "pending" bigint NOT NULL,
  "last_load_at" timestamptz,
  "last_error" text,
  "ledger_epoch" bigint NOT NULL,
  "heartbeat_at" timestamptz NOT NULL,
  PRIMARY KEY ("warehouse")
);

-- migrate: table tombstones
CREATE TABLE IF NOT EXISTS "calls"."tombstones" (
  "call_key" text NOT NULL,
  "ledger_epoch" integer NOT NULL,
  "revision" integer NOT NULL,
  "load_id" text NOT NULL,
  "erased_at" timestamptz NOT NULL,
  PRIMARY KEY ("call_key")
);

-- migrate: column calls.call_id
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column calls.call_timestamp
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column calls.processed_at
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "processed_at" timestamptz;

-- migrate: column calls.status
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "status" text;

-- migrate: column calls.campaign
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "campaign" text;

-- migrate: column calls.duration
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "duration" double precision;

-- migrate: column calls.ivr_end
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "ivr_end" double precision;

-- migrate: column calls.audio_state
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "audio_state" text;

-- migrate: column calls.lang
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "lang" text;

-- migrate: column calls.asr_model
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "asr_model" text;

-- migrate: column calls.obfuscated
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "obfuscated" boolean;

-- migrate: column calls.transcript_call_id
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "transcript_call_id" text;

-- migrate: column calls.in_label
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "in_label" text;

-- migrate: column calls.in_data
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "in_data" text;

-- migrate: column calls.in_type
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "in_type" text;

-- migrate: column calls.out_label
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "out_label" text;

-- migrate: column calls.out_data
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "out_data" text;

-- migrate: column calls.out_type
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "out_type" text;

-- migrate: column calls.client_id
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "client_id" text;

-- migrate: column calls.agent
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "agent" text;

-- migrate: column calls.direction
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "direction" text;

-- migrate: column calls.dept
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "dept" text;

-- migrate: column calls.ani
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "ani" text;

-- migrate: column calls.client_capture_date
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "client_capture_date" text;

-- migrate: column calls.audio_file_location
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "audio_file_location" text;

-- migrate: column calls.visit
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "visit" jsonb;

-- migrate: column calls.tracking_info
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "tracking_info" jsonb;

-- migrate: column calls.qualification
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "qualification" jsonb;

-- migrate: column calls.extra
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "extra" jsonb;

-- migrate: column calls.utterance_count
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "utterance_count" integer;

-- migrate: column calls.word_count
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "word_count" integer;

-- migrate: column calls.tag_count
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "tag_count" integer;

-- migrate: column calls.issues
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "issues" jsonb;

-- migrate: column calls.first_seen_at
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "first_seen_at" timestamptz;

-- migrate: column calls.last_seen_at
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "last_seen_at" timestamptz;

-- migrate: column calls.source_deleted_at
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "source_deleted_at" timestamptz;

-- migrate: column calls.ledger_epoch
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "ledger_epoch" integer;

-- migrate: column calls.revision
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "revision" integer;

-- migrate: column calls.flatten_version
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "flatten_version" integer;

-- migrate: column calls.load_id
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "load_id" text;

-- migrate: column calls.content_hash
ALTER TABLE "calls"."calls" ADD COLUMN IF NOT EXISTS "content_hash" text;

-- migrate: column utterances.call_id
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column utterances.call_timestamp
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column utterances.utterance_index
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "utterance_index" integer;

-- migrate: column utterances.side
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "side" text;

-- migrate: column utterances.content
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "content" text;

-- migrate: column utterances.start_offset
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "start_offset" double precision;

-- migrate: column utterances.duration
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "duration" double precision;

-- migrate: column utterances.score
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "score" double precision;

-- migrate: column utterances.word_count
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "word_count" integer;

-- migrate: column utterances.word_values
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "word_values" text[];

-- migrate: column utterances.word_starts
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "word_starts" double precision[];

-- migrate: column utterances.word_lengths
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "word_lengths" double precision[];

-- migrate: column utterances.word_scores
ALTER TABLE "calls"."utterances" ADD COLUMN IF NOT EXISTS "word_scores" double precision[];

-- migrate: column tags.call_id
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column tags.call_timestamp
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column tags.tag_index
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "tag_index" integer;

-- migrate: column tags.tag_id
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "tag_id" text;

-- migrate: column tags.display_name
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "display_name" text;

-- migrate: column tags.confidence
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "confidence" double precision;

-- migrate: column tags.type
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "type" text;

-- migrate: column tags.value_bool
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "value_bool" boolean;

-- migrate: column tags.value_number
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "value_number" double precision;

-- migrate: column tags.value_text
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "value_text" text;

-- migrate: column tags.value
ALTER TABLE "calls"."tags" ADD COLUMN IF NOT EXISTS "value" jsonb;

-- migrate: column metadata.call_id
ALTER TABLE "calls"."metadata" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column metadata.call_timestamp
ALTER TABLE "calls"."metadata" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column metadata.key
ALTER TABLE "calls"."metadata" ADD COLUMN IF NOT EXISTS "key" text;

-- migrate: column metadata.value
ALTER TABLE "calls"."metadata" ADD COLUMN IF NOT EXISTS "value" text;

-- migrate: column udfs.call_id
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column udfs.call_timestamp
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column udfs.kind
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "kind" text;

-- migrate: column udfs.udf_index
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "udf_index" integer;

-- migrate: column udfs.value_number
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "value_number" numeric;

-- migrate: column udfs.value_text
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "value_text" text;

-- migrate: column udfs.unparsable
ALTER TABLE "calls"."udfs" ADD COLUMN IF NOT EXISTS "unparsable" boolean;

-- migrate: column contacts.call_id
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column contacts.call_timestamp
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column contacts.side
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "side" text;

-- migrate: column contacts.label
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "label" text;

-- migrate: column contacts.data
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "data" text;

-- migrate: column contacts.type
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "type" text;

-- migrate: column contacts.phone
ALTER TABLE "calls"."contacts" ADD COLUMN IF NOT EXISTS "phone" text;

-- migrate: column redactions.call_id
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column redactions.call_timestamp
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column redactions.redaction_index
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "redaction_index" integer;

-- migrate: column redactions.utterance_index
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "utterance_index" integer;

-- migrate: column redactions.first_word
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "first_word" integer;

-- migrate: column redactions.last_word
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "last_word" integer;

-- migrate: column redactions.detector
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "detector" text;

-- migrate: column redactions.detector_version
ALTER TABLE "calls"."redactions" ADD COLUMN IF NOT EXISTS "detector_version" integer;

-- migrate: column documents.call_id
ALTER TABLE "calls"."documents" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column documents.call_timestamp
ALTER TABLE "calls"."documents" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column documents.document
ALTER TABLE "calls"."documents" ADD COLUMN IF NOT EXISTS "document" jsonb;

-- migrate: column changes.call_id
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column changes.call_timestamp
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "call_timestamp" timestamptz;

-- migrate: column changes.field
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "field" text;

-- migrate: column changes.revision
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "revision" integer;

-- migrate: column changes.source
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "source" text;

-- migrate: column changes.observed_at
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "observed_at" timestamptz;

-- migrate: column changes.loaded_at
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "loaded_at" timestamptz;

-- migrate: column changes.kind
ALTER TABLE "calls"."changes" ADD COLUMN IF NOT EXISTS "kind" text;

-- migrate: column deliveries.seq
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "seq" bigint;

-- migrate: column deliveries.arrival_id
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "arrival_id" text;

-- migrate: column deliveries.delivery_id
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "delivery_id" text;

-- migrate: column deliveries.hook_id
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "hook_id" text;

-- migrate: column deliveries.agent
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "agent" text;

-- migrate: column deliveries.received_at
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "received_at" timestamptz;

-- migrate: column deliveries.signing_key
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "signing_key" text;

-- migrate: column deliveries.call_id
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "call_id" text;

-- migrate: column deliveries.outcome
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "outcome" text;

-- migrate: column deliveries.reason
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "reason" text;

-- migrate: column deliveries.revision
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "revision" bigint;

-- migrate: column deliveries.visible_at
ALTER TABLE "calls"."deliveries" ADD COLUMN IF NOT EXISTS "visible_at" timestamptz;

-- migrate: column loads.load_id
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "load_id" text;

-- migrate: column loads.ledger_epoch
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "ledger_epoch" bigint;

-- migrate: column loads.flatten_version
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "flatten_version" bigint;

-- migrate: column loads.origin
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "origin" text;

-- migrate: column loads.calls_sent
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "calls_sent" bigint;

-- migrate: column loads.calls_changed
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "calls_changed" bigint;

-- migrate: column loads.loaded_at
ALTER TABLE "calls"."loads" ADD COLUMN IF NOT EXISTS "loaded_at" timestamptz;

-- migrate: column verdicts.verdict_id
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "verdict_id" bigint;

-- migrate: column verdicts.axis
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "axis" text;

-- migrate: column verdicts.window_from
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "window_from" timestamptz;

-- migrate: column verdicts.window_to
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "window_to" timestamptz;

-- migrate: column verdicts.level
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "level" text;

-- migrate: column verdicts.warehouse_level
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "warehouse_level" text;

-- migrate: column verdicts.calls_listed
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "calls_listed" bigint;

-- migrate: column verdicts.calls_found
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "calls_found" bigint;

-- migrate: column verdicts.missing
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "missing" bigint;

-- migrate: column verdicts.different
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "different" bigint;

-- migrate: column verdicts.healed
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "healed" bigint;

-- migrate: column verdicts.deleted
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "deleted" bigint;

-- migrate: column verdicts.unexpected
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "unexpected" bigint;

-- migrate: column verdicts.excluded
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "excluded" bigint;

-- migrate: column verdicts.confirmed
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "confirmed" text;

-- migrate: column verdicts.outcome
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "outcome" text;

-- migrate: column verdicts.compared_at
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "compared_at" timestamptz;

-- migrate: column verdicts.ledger_epoch
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "ledger_epoch" bigint;

-- migrate: column verdicts.flatten_version
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "flatten_version" bigint;

-- migrate: column verdicts.revisions_digest
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "revisions_digest" text;

-- migrate: column verdicts.compared_by
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "compared_by" text;

-- migrate: column verdicts.digest
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "digest" text;

-- migrate: column verdicts.key_id
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "key_id" text;

-- migrate: column verdicts.previous_digest
ALTER TABLE "calls"."verdicts" ADD COLUMN IF NOT EXISTS "previous_digest" text;

-- migrate: column sync_state.warehouse
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "warehouse" text;

-- migrate: column sync_state.watermark
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "watermark" timestamptz;

-- migrate: column sync_state.newest_call
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "newest_call" timestamptz;

-- migrate: column sync_state.proven_axis
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "proven_axis" text;

-- migrate: column sync_state.proven_through
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "proven_through" timestamptz;

-- migrate: column sync_state.pending
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "pending" bigint;

-- migrate: column sync_state.last_load_at
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "last_load_at" timestamptz;

-- migrate: column sync_state.last_error
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "last_error" text;

-- migrate: column sync_state.ledger_epoch
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "ledger_epoch" bigint;

-- migrate: column sync_state.heartbeat_at
ALTER TABLE "calls"."sync_state" ADD COLUMN IF NOT EXISTS "heartbeat_at" timestamptz;

-- migrate: column tombstones.call_key
ALTER TABLE "calls"."tombstones" ADD COLUMN IF NOT EXISTS "call_key" text;

-- migrate: column tombstones.ledger_epoch
ALTER TABLE "calls"."tombstones" ADD COLUMN IF NOT EXISTS "ledger_epoch" integer;

-- migrate: column tombstones.revision
ALTER TABLE "calls"."tombstones" ADD COLUMN IF NOT EXISTS "revision" integer;

-- migrate: column tombstones.load_id
ALTER TABLE "calls"."tombstones" ADD COLUMN IF NOT EXISTS "load_id" text;

-- migrate: column tombstones.erased_at
ALTER TABLE "calls"."tombstones" ADD COLUMN IF NOT EXISTS "erased_at" timestamptz;

-- migrate: view words
CREATE OR REPLACE VIEW "calls"."words" AS
SELECT u.call_id, u.call_timestamp, u.utterance_index, (w.position - 1)::integer AS word_index, u.side,
       w.value, w.start_offset, w.length, w.score
  FROM "calls"."utterances" u
 CROSS JOIN LATERAL unnest(coalesce(u.word_values, string_to_array(u.content, ' ')), u.word_starts, u.word_lengths, u.word_scores)
       WITH ORDINALITY AS w(value, start_offset, length, score, position);
COMMENT ON VIEW "calls"."words" IS 'One row per word of every utterance. A view over the arrays in utterances. [callsync 0f2fccf11e291ccf]';
COMMENT ON COLUMN "calls"."words"."call_id" IS 'Identifier of the call: the record''s unique_id.';
COMMENT ON COLUMN "calls"."words"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';
COMMENT ON COLUMN "calls"."words"."utterance_index" IS 'Position of the utterance, from 0.';
COMMENT ON COLUMN "calls"."words"."word_index" IS 'Position of the word in its utterance, from 0.';
COMMENT ON COLUMN "calls"."words"."side" IS 'Speaker side of the utterance.';
COMMENT ON COLUMN "calls"."words"."value" IS 'The word.';
COMMENT ON COLUMN "calls"."words"."start_offset" IS 'Start of the word. The service does not state the unit; the value is as sent.';
COMMENT ON COLUMN "calls"."words"."length" IS 'Length of the word. The service does not state the unit; the value is as sent.';
COMMENT ON COLUMN "calls"."words"."score" IS 'Score of the word.';

-- migrate: index loads_loaded_at
CREATE INDEX IF NOT EXISTS loads_loaded_at ON "calls"."loads" (loaded_at);

-- migrate: index calls_load
CREATE INDEX IF NOT EXISTS calls_load ON "calls"."calls" (ledger_epoch, load_id);

-- migrate: index calls_call_timestamp
CREATE INDEX IF NOT EXISTS calls_call_timestamp ON "calls"."calls" (call_timestamp);

-- migrate: index deliveries_call_id
CREATE INDEX IF NOT EXISTS deliveries_call_id ON "calls"."deliveries" (call_id);

-- migrate: comment on calls
COMMENT ON TABLE "calls"."calls" IS 'One row per call, with scalar fields, contacts and counts. Grain: call.';

-- migrate: comment on calls.call_id
COMMENT ON COLUMN "calls"."calls"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on calls.call_timestamp
COMMENT ON COLUMN "calls"."calls"."call_timestamp" IS 'The call''s own time (UTC); null if the service sent none or one that is not a date-time.';

-- migrate: comment on calls.processed_at
COMMENT ON COLUMN "calls"."calls"."processed_at" IS 'End of processing (field qualified), where the service sends it.';

-- migrate: comment on calls.status
COMMENT ON COLUMN "calls"."calls"."status" IS 'Status of the call, such as qualified or void.';

-- migrate: comment on calls.campaign
COMMENT ON COLUMN "calls"."calls"."campaign" IS 'Campaign identifier.';

-- migrate: comment on calls.duration
COMMENT ON COLUMN "calls"."calls"."duration" IS 'Duration of the call, parsed from its text. The service does not state the unit; the value is as sent.';

-- migrate: comment on calls.ivr_end
COMMENT ON COLUMN "calls"."calls"."ivr_end" IS 'End of the interactive voice response part. The service does not state the unit; the value is as sent.';

-- migrate: comment on calls.audio_state
COMMENT ON COLUMN "calls"."calls"."audio_state" IS 'State of the audio, such as AVAILABLE.';

-- migrate: comment on calls.lang
COMMENT ON COLUMN "calls"."calls"."lang" IS 'Language code of the transcript (transcript_json.meta.lang).';

-- migrate: comment on calls.asr_model
COMMENT ON COLUMN "calls"."calls"."asr_model" IS 'Speech-recognition model (transcript_json.meta.asr_model).';

-- migrate: comment on calls.obfuscated
COMMENT ON COLUMN "calls"."calls"."obfuscated" IS 'True if the transcript is obfuscated.';

-- migrate: comment on calls.transcript_call_id
COMMENT ON COLUMN "calls"."calls"."transcript_call_id" IS 'transcript_json.callUniqueId; may be an empty string.';

-- migrate: comment on calls.in_label
COMMENT ON COLUMN "calls"."calls"."in_label" IS 'Label of the inbound contact.';

-- migrate: comment on calls.in_data
COMMENT ON COLUMN "calls"."calls"."in_data" IS 'Data of the inbound contact, a telephone number when its type is PHONE.';

-- migrate: comment on calls.in_type
COMMENT ON COLUMN "calls"."calls"."in_type" IS 'Type of the inbound contact, such as PHONE.';

-- migrate: comment on calls.out_label
COMMENT ON COLUMN "calls"."calls"."out_label" IS 'Label of the outbound contact.';

-- migrate: comment on calls.out_data
COMMENT ON COLUMN "calls"."calls"."out_data" IS 'Data of the outbound contact, a telephone number when its type is PHONE.';

-- migrate: comment on calls.out_type
COMMENT ON COLUMN "calls"."calls"."out_type" IS 'Type of the outbound contact, such as PHONE.';

-- migrate: comment on calls.client_id
COMMENT ON COLUMN "calls"."calls"."client_id" IS 'metadata.ClientID.';

-- migrate: comment on calls.agent
COMMENT ON COLUMN "calls"."calls"."agent" IS 'metadata.Agent.';

-- migrate: comment on calls.direction
COMMENT ON COLUMN "calls"."calls"."direction" IS 'metadata.Direction.';

-- migrate: comment on calls.dept
COMMENT ON COLUMN "calls"."calls"."dept" IS 'metadata.Dept.';

-- migrate: comment on calls.ani
COMMENT ON COLUMN "calls"."calls"."ani" IS 'metadata.ANI.';

-- migrate: comment on calls.client_capture_date
COMMENT ON COLUMN "calls"."calls"."client_capture_date" IS 'metadata.ClientCaptureDate as sent (its time zone is not stated).';

-- migrate: comment on calls.audio_file_location
COMMENT ON COLUMN "calls"."calls"."audio_file_location" IS 'metadata.AudioFileLocation.';

-- migrate: comment on calls.visit
COMMENT ON COLUMN "calls"."calls"."visit" IS 'Object visit as sent; its shape is not specified.';

-- migrate: comment on calls.tracking_info
COMMENT ON COLUMN "calls"."calls"."tracking_info" IS 'Object tracking_info as sent; its shape is not specified.';

-- migrate: comment on calls.qualification
COMMENT ON COLUMN "calls"."calls"."qualification" IS 'Object qualification as sent, where the service sends it.';

-- migrate: comment on calls.extra
COMMENT ON COLUMN "calls"."calls"."extra" IS 'Object of all top-level fields that callsync does not know, as sent.';

-- migrate: comment on calls.utterance_count
COMMENT ON COLUMN "calls"."calls"."utterance_count" IS 'Number of rows in utterances.';

-- migrate: comment on calls.word_count
COMMENT ON COLUMN "calls"."calls"."word_count" IS 'Number of words over all utterances.';

-- migrate: comment on calls.tag_count
COMMENT ON COLUMN "calls"."calls"."tag_count" IS 'Number of rows in tags.';

-- migrate: comment on calls.issues
COMMENT ON COLUMN "calls"."calls"."issues" IS 'Array of {field, reason} for fields that could not be converted and are null here; null if there are none.';

-- migrate: comment on calls.first_seen_at
COMMENT ON COLUMN "calls"."calls"."first_seen_at" IS 'Service time of the earliest observation of the call, as of this revision''s load.';

-- migrate: comment on calls.last_seen_at
COMMENT ON COLUMN "calls"."calls"."last_seen_at" IS 'Service time of the latest observation that changed the call. A repeated observation does not move it, so the value depends on the order of arrival.';

-- migrate: comment on calls.source_deleted_at
COMMENT ON COLUMN "calls"."calls"."source_deleted_at" IS 'Time since which the service no longer lists the call; null while the service lists it.';

-- migrate: comment on calls.ledger_epoch
COMMENT ON COLUMN "calls"."calls"."ledger_epoch" IS 'Epoch of the ledger that sent the row; first part of the guard.';

-- migrate: comment on calls.revision
COMMENT ON COLUMN "calls"."calls"."revision" IS 'The call''s revision in the ledger; second part of the guard.';

-- migrate: comment on calls.flatten_version
COMMENT ON COLUMN "calls"."calls"."flatten_version" IS 'Version of the flattening that made the row; third part of the guard.';

-- migrate: comment on calls.load_id
COMMENT ON COLUMN "calls"."calls"."load_id" IS 'The load that wrote the row (table loads).';

-- migrate: comment on calls.content_hash
COMMENT ON COLUMN "calls"."calls"."content_hash" IS 'Hash over all columns and child rows of the call, without documents; null in rows that are older than this column.';

-- migrate: comment on utterances
COMMENT ON TABLE "calls"."utterances" IS 'One row per utterance of the transcript, in the order sent, with its words as arrays. Grain: call × utterance.';

-- migrate: comment on utterances.call_id
COMMENT ON COLUMN "calls"."utterances"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on utterances.call_timestamp
COMMENT ON COLUMN "calls"."utterances"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on utterances.utterance_index
COMMENT ON COLUMN "calls"."utterances"."utterance_index" IS 'Position in the transcript, from 0.';

-- migrate: comment on utterances.side
COMMENT ON COLUMN "calls"."utterances"."side" IS 'Speaker side (field from), such as out.';

-- migrate: comment on utterances.content
COMMENT ON COLUMN "calls"."utterances"."content" IS 'The text of the utterance.';

-- migrate: comment on utterances.start_offset
COMMENT ON COLUMN "calls"."utterances"."start_offset" IS 'Start of the utterance (field datetime). The service does not state the unit; the value is as sent.';

-- migrate: comment on utterances.duration
COMMENT ON COLUMN "calls"."utterances"."duration" IS 'Duration of the utterance. The service does not state the unit; the value is as sent.';

-- migrate: comment on utterances.score
COMMENT ON COLUMN "calls"."utterances"."score" IS 'Score of the utterance, where sent.';

-- migrate: comment on utterances.word_count
COMMENT ON COLUMN "calls"."utterances"."word_count" IS 'Number of its words.';

-- migrate: comment on utterances.word_values
COMMENT ON COLUMN "calls"."utterances"."word_values" IS 'The words, in order; null where content split at blanks has them. The view words has all.';

-- migrate: comment on utterances.word_starts
COMMENT ON COLUMN "calls"."utterances"."word_starts" IS 'Start of each word, as sent.';

-- migrate: comment on utterances.word_lengths
COMMENT ON COLUMN "calls"."utterances"."word_lengths" IS 'Length of each word, as sent.';

-- migrate: comment on utterances.word_scores
COMMENT ON COLUMN "calls"."utterances"."word_scores" IS 'Score of each word, as sent.';

-- migrate: comment on tags
COMMENT ON TABLE "calls"."tags" IS 'One row per tag of a call, in the order sent. Grain: call × tag.';

-- migrate: comment on tags.call_id
COMMENT ON COLUMN "calls"."tags"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on tags.call_timestamp
COMMENT ON COLUMN "calls"."tags"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on tags.tag_index
COMMENT ON COLUMN "calls"."tags"."tag_index" IS 'Position in the list of tags, from 0.';

-- migrate: comment on tags.tag_id
COMMENT ON COLUMN "calls"."tags"."tag_id" IS 'Identifier of the tag (its unique_id).';

-- migrate: comment on tags.display_name
COMMENT ON COLUMN "calls"."tags"."display_name" IS 'Name of the tag.';

-- migrate: comment on tags.confidence
COMMENT ON COLUMN "calls"."tags"."confidence" IS 'Confidence as sent.';

-- migrate: comment on tags.type
COMMENT ON COLUMN "calls"."tags"."type" IS 'Type of the value, such as bool.';

-- migrate: comment on tags.value_bool
COMMENT ON COLUMN "calls"."tags"."value_bool" IS 'The value when it is a boolean.';

-- migrate: comment on tags.value_number
COMMENT ON COLUMN "calls"."tags"."value_number" IS 'The value when it is a number.';

-- migrate: comment on tags.value_text
COMMENT ON COLUMN "calls"."tags"."value_text" IS 'The value when it is text.';

-- migrate: comment on tags.value
COMMENT ON COLUMN "calls"."tags"."value" IS 'The value as sent.';

-- migrate: comment on metadata
COMMENT ON TABLE "calls"."metadata" IS 'One row per metadata key of a call, every key as sent. Grain: call × key.';

-- migrate: comment on metadata.call_id
COMMENT ON COLUMN "calls"."metadata"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on metadata.call_timestamp
COMMENT ON COLUMN "calls"."metadata"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on metadata.key
COMMENT ON COLUMN "calls"."metadata"."key" IS 'Key as sent by the client.';

-- migrate: comment on metadata.value
COMMENT ON COLUMN "calls"."metadata"."value" IS 'Value as text; values that are not text are written as JSON.';

-- migrate: comment on udfs
COMMENT ON TABLE "calls"."udfs" IS 'User-defined fields, from the metadata keys UDF_num_nn and UDF_text_nn. Grain: call × kind × index.';

-- migrate: comment on udfs.call_id
COMMENT ON COLUMN "calls"."udfs"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on udfs.call_timestamp
COMMENT ON COLUMN "calls"."udfs"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on udfs.kind
COMMENT ON COLUMN "calls"."udfs"."kind" IS 'num or text.';

-- migrate: comment on udfs.udf_index
COMMENT ON COLUMN "calls"."udfs"."udf_index" IS 'The two-digit index nn of the key, as a number.';

-- migrate: comment on udfs.value_number
COMMENT ON COLUMN "calls"."udfs"."value_number" IS 'UDF_num_nn as an exact number; null when it cannot be parsed.';

-- migrate: comment on udfs.value_text
COMMENT ON COLUMN "calls"."udfs"."value_text" IS 'The text as sent, of either kind.';

-- migrate: comment on udfs.unparsable
COMMENT ON COLUMN "calls"."udfs"."unparsable" IS 'True for a UDF_num_nn whose text is not a number; false for empty text, which counts as no value.';

-- migrate: comment on contacts
COMMENT ON TABLE "calls"."contacts" IS 'The contacts of a call, fields in and out. Grain: call × side.';

-- migrate: comment on contacts.call_id
COMMENT ON COLUMN "calls"."contacts"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on contacts.call_timestamp
COMMENT ON COLUMN "calls"."contacts"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on contacts.side
COMMENT ON COLUMN "calls"."contacts"."side" IS 'in or out.';

-- migrate: comment on contacts.label
COMMENT ON COLUMN "calls"."contacts"."label" IS 'Label of the contact.';

-- migrate: comment on contacts.data
COMMENT ON COLUMN "calls"."contacts"."data" IS 'Data as sent, a telephone number when type is PHONE.';

-- migrate: comment on contacts.type
COMMENT ON COLUMN "calls"."contacts"."type" IS 'Type of the contact, such as PHONE.';

-- migrate: comment on contacts.phone
COMMENT ON COLUMN "calls"."contacts"."phone" IS 'If type is PHONE, the number without separators, with a leading + if the sent number began with + or 00.';

-- migrate: comment on redactions
COMMENT ON TABLE "calls"."redactions" IS 'Replacements of privacy rules in transcripts. One row per replaced span, with its place and detector, never the value. Grain: call × redaction.';

-- migrate: comment on redactions.call_id
COMMENT ON COLUMN "calls"."redactions"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on redactions.call_timestamp
COMMENT ON COLUMN "calls"."redactions"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on redactions.redaction_index
COMMENT ON COLUMN "calls"."redactions"."redaction_index" IS 'Position among the redactions of the call, in the order of its words, from 0.';

-- migrate: comment on redactions.utterance_index
COMMENT ON COLUMN "calls"."redactions"."utterance_index" IS 'Position of the utterance in the transcript, from 0.';

-- migrate: comment on redactions.first_word
COMMENT ON COLUMN "calls"."redactions"."first_word" IS 'Position of the first replaced word in its utterance, from 0. Null if the utterance has no words, or was replaced as a whole because text and words differed.';

-- migrate: comment on redactions.last_word
COMMENT ON COLUMN "calls"."redactions"."last_word" IS 'Position of the last replaced word; null where first_word is null.';

-- migrate: comment on redactions.detector
COMMENT ON COLUMN "calls"."redactions"."detector" IS 'Detector that found the value, such as phone or card, or the name of a configured pattern.';

-- migrate: comment on redactions.detector_version
COMMENT ON COLUMN "calls"."redactions"."detector_version" IS 'Version of the detector; null for a configured pattern.';

-- migrate: comment on documents
COMMENT ON TABLE "calls"."documents" IS 'The full folded document of each call, if the warehouse has documents set to true. Grain: call.';

-- migrate: comment on documents.call_id
COMMENT ON COLUMN "calls"."documents"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on documents.call_timestamp
COMMENT ON COLUMN "calls"."documents"."call_timestamp" IS 'The call''s own time (UTC), repeated from calls so that child tables can be pruned by it.';

-- migrate: comment on documents.document
COMMENT ON COLUMN "calls"."documents"."document" IS 'The whole call record as JSON.';

-- migrate: comment on changes
COMMENT ON TABLE "calls"."changes" IS 'Changes of top-level fields of a call, with revision, source and time, never the value. One row with field * says that the call was first seen; later revisions have a row for each field that changed. The load of a revision adds its rows, and no load changes them. A field that changed twice between two loads shows once. Two warehouses may differ, so nothing compares this table. Changes by privacy rules have no row. Grain: call × field × revision.';

-- migrate: comment on changes.call_id
COMMENT ON COLUMN "calls"."changes"."call_id" IS 'Identifier of the call: the record''s unique_id.';

-- migrate: comment on changes.call_timestamp
COMMENT ON COLUMN "calls"."changes"."call_timestamp" IS 'The call''s own time (UTC), as the load that added the row knew it.';

-- migrate: comment on changes.field
COMMENT ON COLUMN "calls"."changes"."field" IS 'Name of the top-level field, or * for all fields of the first revision. extra stands for names longer than 64 characters, or with special characters.';

-- migrate: comment on changes.revision
COMMENT ON COLUMN "calls"."changes"."revision" IS 'Revision of the call in which the field changed; 1 if field is *.';

-- migrate: comment on changes.source
COMMENT ON COLUMN "calls"."changes"."source" IS 'Source of the observation, which is webhook, poll or import.';

-- migrate: comment on changes.observed_at
COMMENT ON COLUMN "calls"."changes"."observed_at" IS 'Service time of the observation. If field is *, the time of the earliest observation that callsync knew when it added the row.';

-- migrate: comment on changes.loaded_at
COMMENT ON COLUMN "calls"."changes"."loaded_at" IS 'Time at which a load added the row; null in rows that are older than this column.';

-- migrate: comment on changes.kind
COMMENT ON COLUMN "calls"."changes"."kind" IS 'added, changed or removed; a null field counts as absent. Null in rows that are older than this column.';

-- migrate: comment on deliveries
COMMENT ON TABLE "calls"."deliveries" IS 'Every webhook delivery that reached the receiver, with its outcome. Grain: webhook delivery.';

-- migrate: comment on deliveries.seq
COMMENT ON COLUMN "calls"."deliveries"."seq" IS 'Number of the delivery in the inbox.';

-- migrate: comment on deliveries.arrival_id
COMMENT ON COLUMN "calls"."deliveries"."arrival_id" IS 'UUID that the receiver gives on arrival. Unlike seq, it stays unique after a restore.';

-- migrate: comment on deliveries.delivery_id
COMMENT ON COLUMN "calls"."deliveries"."delivery_id" IS 'Delivery header as sent; the signature does not cover it.';

-- migrate: comment on deliveries.hook_id
COMMENT ON COLUMN "calls"."deliveries"."hook_id" IS 'Identifier of the webhook.';

-- migrate: comment on deliveries.agent
COMMENT ON COLUMN "calls"."deliveries"."agent" IS 'User-agent of the sender, with its version.';

-- migrate: comment on deliveries.received_at
COMMENT ON COLUMN "calls"."deliveries"."received_at" IS 'Arrival at the receiver.';

-- migrate: comment on deliveries.signing_key
COMMENT ON COLUMN "calls"."deliveries"."signing_key" IS 'Name of the secret that verified the signature; null if none did.';

-- migrate: comment on deliveries.call_id
COMMENT ON COLUMN "calls"."deliveries"."call_id" IS 'Call in the delivery; null until callsync has read it.';

-- migrate: comment on deliveries.outcome
COMMENT ON COLUMN "calls"."deliveries"."outcome" IS 'accepted, duplicate, repeat, quarantined or rejected.';

-- migrate: comment on deliveries.reason
COMMENT ON COLUMN "calls"."deliveries"."reason" IS 'Reason of an outcome other than accepted.';

-- migrate: comment on deliveries.revision
COMMENT ON COLUMN "calls"."deliveries"."revision" IS 'Revision that the delivery gave the call; null if the delivery changed nothing.';

-- migrate: comment on deliveries.visible_at
COMMENT ON COLUMN "calls"."deliveries"."visible_at" IS 'Time at which this warehouse first had that revision. Null if callsync wrote this row before that load; the mart delivery_latency has the time of every delivery.';

-- migrate: comment on loads
COMMENT ON TABLE "calls"."loads" IS 'Every commit into this warehouse. Grain: load.';

-- migrate: comment on loads.load_id
COMMENT ON COLUMN "calls"."loads"."load_id" IS 'Identifier of the load.';

-- migrate: comment on loads.ledger_epoch
COMMENT ON COLUMN "calls"."loads"."ledger_epoch" IS 'Epoch of the ledger that made the load.';

-- migrate: comment on loads.flatten_version
COMMENT ON COLUMN "calls"."loads"."flatten_version" IS 'Version of the flattening.';

-- migrate: comment on loads.origin
COMMENT ON COLUMN "calls"."loads"."origin" IS 'Work that asked for the load, such as read, inbox, pending or rebuild.';

-- migrate: comment on loads.calls_sent
COMMENT ON COLUMN "calls"."loads"."calls_sent" IS 'Calls in the load.';

-- migrate: comment on loads.calls_changed
COMMENT ON COLUMN "calls"."loads"."calls_changed" IS 'Calls whose guard was higher and whose rows were written.';

-- migrate: comment on loads.loaded_at
COMMENT ON COLUMN "calls"."loads"."loaded_at" IS 'Time of the commit.';

-- migrate: comment on verdicts
COMMENT ON TABLE "calls"."verdicts" IS 'Verdicts, each the recorded result of comparing one window. Grain: reconciled window.';

-- migrate: comment on verdicts.verdict_id
COMMENT ON COLUMN "calls"."verdicts"."verdict_id" IS 'Number of the verdict.';

-- migrate: comment on verdicts.axis
COMMENT ON COLUMN "calls"."verdicts"."axis" IS 'Axis of the window.';

-- migrate: comment on verdicts.window_from
COMMENT ON COLUMN "calls"."verdicts"."window_from" IS 'Start of the window, inclusive.';

-- migrate: comment on verdicts.window_to
COMMENT ON COLUMN "calls"."verdicts"."window_to" IS 'End of the window, exclusive.';

-- migrate: comment on verdicts.level
COMMENT ON COLUMN "calls"."verdicts"."level" IS 'Level of the comparison with the service (ids, fields or records).';

-- migrate: comment on verdicts.warehouse_level
COMMENT ON COLUMN "calls"."verdicts"."warehouse_level" IS 'Level of the comparison in this warehouse (guards or rows).';

-- migrate: comment on verdicts.calls_listed
COMMENT ON COLUMN "calls"."verdicts"."calls_listed" IS 'Calls that the service listed.';

-- migrate: comment on verdicts.calls_found
COMMENT ON COLUMN "calls"."verdicts"."calls_found" IS 'Listed calls that were neither missing nor different.';

-- migrate: comment on verdicts.missing
COMMENT ON COLUMN "calls"."verdicts"."missing" IS 'Calls that this warehouse lacked, or that were new to the ledger although their part had been read.';

-- migrate: comment on verdicts.different
COMMENT ON COLUMN "calls"."verdicts"."different" IS 'Calls that differed.';

-- migrate: comment on verdicts.healed
COMMENT ON COLUMN "calls"."verdicts"."healed" IS 'Calls healed.';

-- migrate: comment on verdicts.deleted
COMMENT ON COLUMN "calls"."verdicts"."deleted" IS 'Calls of the window that the service no longer lists.';

-- migrate: comment on verdicts.unexpected
COMMENT ON COLUMN "calls"."verdicts"."unexpected" IS 'Calls in this warehouse that the ledger does not know.';

-- migrate: comment on verdicts.excluded
COMMENT ON COLUMN "calls"."verdicts"."excluded" IS 'Listed calls that callsync must not keep, because they were erased or are beyond a retention limit.';

-- migrate: comment on verdicts.confirmed
COMMENT ON COLUMN "calls"."verdicts"."confirmed" IS 'Evidence that the listing is complete (total, one_response, second_listing, page_overlap, or none).';

-- migrate: comment on verdicts.outcome
COMMENT ON COLUMN "calls"."verdicts"."outcome" IS 'proven, healed, unproven or suspicious_empty.';

-- migrate: comment on verdicts.compared_at
COMMENT ON COLUMN "calls"."verdicts"."compared_at" IS 'Time of the comparison.';

-- migrate: comment on verdicts.ledger_epoch
COMMENT ON COLUMN "calls"."verdicts"."ledger_epoch" IS 'Epoch of the ledger that was compared.';

-- migrate: comment on verdicts.flatten_version
COMMENT ON COLUMN "calls"."verdicts"."flatten_version" IS 'Version of the flattening that was compared.';

-- migrate: comment on verdicts.revisions_digest
COMMENT ON COLUMN "calls"."verdicts"."revisions_digest" IS 'SHA-256 over the ids and ledger revisions of the calls of the window after healing.';

-- migrate: comment on verdicts.compared_by
COMMENT ON COLUMN "calls"."verdicts"."compared_by" IS 'Version of callsync that compared; none where calls were erased, cut or sent again and nothing was compared since.';

-- migrate: comment on verdicts.digest
COMMENT ON COLUMN "calls"."verdicts"."digest" IS 'HMAC-SHA-256 over this verdict and the digest before it, under the key of key_id.';

-- migrate: comment on verdicts.key_id
COMMENT ON COLUMN "calls"."verdicts"."key_id" IS 'Identifier of the key of the digest. The key itself is in no store.';

-- migrate: comment on verdicts.previous_digest
COMMENT ON COLUMN "calls"."verdicts"."previous_digest" IS 'Digest of the verdict before it; null for the first.';

-- migrate: comment on sync_state
COMMENT ON TABLE "calls"."sync_state" IS 'Freshness and proof of this warehouse, in one row. callsync also updates the row while no call arrives, so that a quiet night does not look like a standstill. Grain: warehouse.';

-- migrate: comment on sync_state.warehouse
COMMENT ON COLUMN "calls"."sync_state"."warehouse" IS 'Name of the warehouse in the configuration.';

-- migrate: comment on sync_state.watermark
COMMENT ON COLUMN "calls"."sync_state"."watermark" IS 'Time up to which continuous sync has read every call, on its axis; null before the first sync.';

-- migrate: comment on sync_state.newest_call
COMMENT ON COLUMN "calls"."sync_state"."newest_call" IS 'Time of the newest call in this warehouse; null if none of the 500 newest calls is loaded.';

-- migrate: comment on sync_state.proven_axis
COMMENT ON COLUMN "calls"."sync_state"."proven_axis" IS 'Axis of the verdicts behind proven_through; null before the first verdict.';

-- migrate: comment on sync_state.proven_through
COMMENT ON COLUMN "calls"."sync_state"."proven_through" IS 'Time up to which every read window has a good verdict (proven or healed), without a gap; null while the first window has none.';

-- migrate: comment on sync_state.pending
COMMENT ON COLUMN "calls"."sync_state"."pending" IS 'Calls that wait for their load into this warehouse.';

-- migrate: comment on sync_state.last_load_at
COMMENT ON COLUMN "calls"."sync_state"."last_load_at" IS 'Time of the last committed load.';

-- migrate: comment on sync_state.last_error
COMMENT ON COLUMN "calls"."sync_state"."last_error" IS 'Error code of the last run of continuous sync; null if that run succeeded.';

-- migrate: comment on sync_state.ledger_epoch
COMMENT ON COLUMN "calls"."sync_state"."ledger_epoch" IS 'Epoch of the ledger that writes the row.';

-- migrate: comment on sync_state.heartbeat_at
COMMENT ON COLUMN "calls"."sync_state"."heartbeat_at" IS 'Time of the last update of this row.';

-- migrate: comment on tombstones
COMMENT ON TABLE "calls"."tombstones" IS 'Erased calls by keyed hash of their id. No load brings them back. Grain: erased call.';

-- migrate: comment on tombstones.call_key
COMMENT ON COLUMN "calls"."tombstones"."call_key" IS 'Keyed hash of the call id.';

-- migrate: comment on tombstones.ledger_epoch
COMMENT ON COLUMN "calls"."tombstones"."ledger_epoch" IS 'Epoch of the ledger that erased it.';

-- migrate: comment on tombstones.revision
COMMENT ON COLUMN "calls"."tombstones"."revision" IS 'The call''s revision in the ledger.';

-- migrate: comment on tombstones.load_id
COMMENT ON COLUMN "calls"."tombstones"."load_id" IS 'Load that wrote the row (table loads).';

-- migrate: comment on tombstones.erased_at
COMMENT ON COLUMN "calls"."tombstones"."erased_at" IS 'Time of the commit here.';

-- load: stage
LOCK TABLE "calls"."calls", "calls"."utterances", "calls"."tags", "calls"."metadata", "calls"."udfs", "calls"."contacts", "calls"."redactions", "calls"."documents" IN ROW EXCLUSIVE MODE;
CREATE TEMPORARY TABLE IF NOT EXISTS stage_calls ON COMMIT DELETE ROWS AS SELECT "call_id", "call_timestamp", "processed_at", "status", "campaign", "duration", "ivr_end", "audio_state", "lang", "asr_model", "obfuscated", "transcript_call_id", "in_label", "in_data", "in_type", "out_label", "out_data", "out_type", "client_id", "agent", "direction", "dept", "ani", "client_capture_date", "audio_file_location", "visit", "tracking_info", "qualification", "extra", "utterance_count", "word_count", "tag_count", "issues", "first_seen_at", "last_seen_at", "source_deleted_at", "ledger_epoch", "revision", "flatten_version", "load_id", "content_hash" FROM "calls"."calls" WITH NO DATA;

-- load: retyped
SELECT place FROM jsonb_each_text('{"calls.call_id":"text","calls.call_timestamp":"timestamp with time zone","calls.processed_at":"timestamp with time zone","calls.status":"text","calls.campaign":"text","calls.duration":"double precision","calls.ivr_end":"double precision","calls.audio_state":"text","calls.lang":"text","calls.asr_model":"text","calls.obfuscated":"boolean","calls.transcript_call_id":"text","calls.in_label":"text","calls.in_data":"text","calls.in_type":"text","calls.out_label":"text","calls.out_data":"text","calls.out_type":"text","calls.client_id":"text","calls.agent":"text","calls.direction":"text","calls.dept":"text","calls.ani":"text","calls.client_capture_date":"text","calls.audio_file_location":"text","calls.visit":"jsonb","calls.tracking_info":"jsonb","calls.qualification":"jsonb","calls.extra":"jsonb","calls.utterance_count":"integer","calls.word_count":"integer","calls.tag_count":"integer","calls.issues":"jsonb","calls.first_seen_at":"timestamp with time zone","calls.last_seen_at":"timestamp with time zone","calls.source_deleted_at":"timestamp with time zone","calls.ledger_epoch":"integer","calls.revision":"integer","calls.flatten_version":"integer","calls.load_id":"text","calls.content_hash":"text","utterances.call_id":"text","utterances.call_timestamp":"timestamp with time zone","utterances.utterance_index":"integer","utterances.side":"text","utterances.content":"text","utterances.start_offset":"double precision","utterances.duration":"double precision","utterances.score":"double precision","utterances.word_count":"integer","utterances.word_values":"text[]","utterances.word_starts":"double precision[]","utterances.word_lengths":"double precision[]","utterances.word_scores":"double precision[]","tags.call_id":"text","tags.call_timestamp":"timestamp with time zone","tags.tag_index":"integer","tags.tag_id":"text","tags.display_name":"text","tags.confidence":"double precision","tags.type":"text","tags.value_bool":"boolean","tags.value_number":"double precision","tags.value_text":"text","tags.value":"jsonb","metadata.call_id":"text","metadata.call_timestamp":"timestamp with time zone","metadata.key":"text","metadata.value":"text","udfs.call_id":"text","udfs.call_timestamp":"timestamp with time zone","udfs.kind":"text","udfs.udf_index":"integer","udfs.value_number":"numeric","udfs.value_text":"text","udfs.unparsable":"boolean","contacts.call_id":"text","contacts.call_timestamp":"timestamp with time zone","contacts.side":"text","contacts.label":"text","contacts.data":"text","contacts.type":"text","contacts.phone":"text","redactions.call_id":"text","redactions.call_timestamp":"timestamp with time zone","redactions.redaction_index":"integer","redactions.utterance_index":"integer","redactions.first_word":"integer","redactions.last_word":"integer","redactions.detector":"text","redactions.detector_version":"integer","documents.call_id":"text","documents.call_timestamp":"timestamp with time zone","documents.document":"jsonb","changes.call_id":"text","changes.call_timestamp":"timestamp with time zone","changes.field":"text","changes.revision":"integer","changes.source":"text","changes.observed_at":"timestamp with time zone","changes.loaded_at":"timestamp with time zone","changes.kind":"text","deliveries.seq":"bigint","deliveries.arrival_id":"text","deliveries.delivery_id":"text","deliveries.hook_id":"text","deliveries.agent":"text","deliveries.received_at":"timestamp with time zone","deliveries.signing_key":"text","deliveries.call_id":"text","deliveries.outcome":"text","deliveries.reason":"text","deliveries.revision":"bigint","deliveries.visible_at":"timestamp with time zone","loads.load_id":"text","loads.ledger_epoch":"bigint","loads.flatten_version":"bigint","loads.origin":"text","loads.calls_sent":"bigint","loads.calls_changed":"bigint","loads.loaded_at":"timestamp with time zone","verdicts.verdict_id":"bigint","verdicts.axis":"text","verdicts.window_from":"timestamp with time zone","verdicts.window_to":"timestamp with time zone","verdicts.level":"text","verdicts.warehouse_level":"text","verdicts.calls_listed":"bigint","verdicts.calls_found":"bigint","verdicts.missing":"bigint","verdicts.different":"bigint","verdicts.healed":"bigint","verdicts.deleted":"bigint","verdicts.unexpected":"bigint","verdicts.excluded":"bigint","verdicts.confirmed":"text","verdicts.outcome":"text","verdicts.compared_at":"timestamp with time zone","verdicts.ledger_epoch":"bigint","verdicts.flatten_version":"bigint","verdicts.revisions_digest":"text","verdicts.compared_by":"text","verdicts.digest":"text","verdicts.key_id":"text","verdicts.previous_digest":"text","sync_state.warehouse":"text","sync_state.watermark":"timestamp with time zone","sync_state.newest_call":"timestamp with time zone","sync_state.proven_axis":"text","sync_state.proven_through":"timestamp with time zone","sync_state.pending":"bigint","sync_state.last_load_at":"timestamp with time zone","sync_state.last_error":"text","sync_state.ledger_epoch":"bigint","sync_state.heartbeat_at":"timestamp with time zone","tombstones.call_key":"text","tombstones.ledger_epoch":"integer","tombstones.revision":"integer","tombstones.load_id":"text","tombstones.erased_at":"timestamp with time zone"}') AS s(place, sent)
  JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident($1) || '.' || split_part(place, '.', 1)) AND a.attname = split_part(place, '.', 2)::name
  JOIN pg_type t ON t.oid = a.atttypid
 WHERE sent NOT IN (replace(format_type(a.atttypid, a.atttypmod), 'without', 'with'), format_type(t.typbasetype, t.typtypmod))
   AND NOT (sent = 'text' AND t.typcategory IN ('S', 'E')) ORDER BY place;

-- load: claim
INSERT INTO "calls"."calls" AS c ("call_id", "call_timestamp", "processed_at", "status", "campaign", "duration", "ivr_end", "audio_state", "lang", "asr_model", "obfuscated", "transcript_call_id", "in_label", "in_data", "in_type", "out_label", "out_data", "out_type", "client_id", "agent", "direction", "dept", "ani", "client_capture_date", "audio_file_location", "visit", "tracking_info", "qualification", "extra", "utterance_count", "word_count", "tag_count", "issues", "first_seen_at", "last_seen_at", "source_deleted_at", "ledger_epoch", "revision", "flatten_version", "load_id", "content_hash")
SELECT "call_id", "call_timestamp", "processed_at", "status", "campaign", "duration", "ivr_end", "audio_state", "lang", "asr_model", "obfuscated", "transcript_call_id", "in_label", "in_data", "in_type", "out_label", "out_data", "out_type", "client_id", "agent", "direction", "dept", "ani", "client_capture_date", "audio_file_location", "visit", "tracking_info", "qualification", "extra", "utterance_count", "word_count", "tag_count", "issues", "first_seen_at", "last_seen_at", "source_deleted_at", "ledger_epoch", "revision", "flatten_version", "load_id", "content_hash" FROM stage_calls ORDER BY call_id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET "call_timestamp" = excluded."call_timestamp", "processed_at" = excluded."processed_at", "status" = excluded."status", "campaign" = excluded."campaign", "duration" = excluded."duration", "ivr_end" = excluded."ivr_end", "audio_state" = excluded."audio_state", "lang" = excluded."lang", "asr_model" = excluded."asr_model", "obfuscated" = excluded."obfuscated", "transcript_call_id" = excluded."transcript_call_id", "in_label" = excluded."in_label", "in_data" = excluded."in_data", "in_type" = excluded."in_type", "out_label" = excluded."out_label", "out_data" = excluded."out_data", "out_type" = excluded."out_type", "client_id" = excluded."client_id", "agent" = excluded."agent", "direction" = excluded."direction", "dept" = excluded."dept", "ani" = excluded."ani", "client_capture_date" = excluded."client_capture_date", "audio_file_location" = excluded."audio_file_location", "visit" = excluded."visit", "tracking_info" = excluded."tracking_info", "qualification" = excluded."qualification", "extra" = excluded."extra", "utterance_count" = excluded."utterance_count", "word_count" = excluded."word_count", "tag_count" = excluded."tag_count", "issues" = excluded."issues", "first_seen_at" = excluded."first_seen_at", "last_seen_at" = excluded."last_seen_at", "source_deleted_at" = excluded."source_deleted_at", "ledger_epoch" = excluded."ledger_epoch", "revision" = excluded."revision", "flatten_version" = excluded."flatten_version", "load_id" = excluded."load_id", "content_hash" = excluded."content_hash"
 WHERE (c.ledger_epoch, c.revision, c.flatten_version) <
       (excluded.ledger_epoch, excluded.revision, excluded.flatten_version)
RETURNING call_id, xmax = 0 AS is_new;

-- load: claimEqual
INSERT INTO "calls"."calls" AS c ("call_id", "call_timestamp", "processed_at", "status", "campaign", "duration", "ivr_end", "audio_state", "lang", "asr_model", "obfuscated", "transcript_call_id", "in_label", "in_data", "in_type", "out_label", "out_data", "out_type", "client_id", "agent", "direction", "dept", "ani", "client_capture_date", "audio_file_location", "visit", "tracking_info", "qualification", "extra", "utterance_count", "word_count", "tag_count", "issues", "first_seen_at", "last_seen_at", "source_deleted_at", "ledger_epoch", "revision", "flatten_version", "load_id", "content_hash")
SELECT "call_id", "call_timestamp", "processed_at", "status", "campaign", "duration", "ivr_end", "audio_state", "lang", "asr_model", "obfuscated", "transcript_call_id", "in_label", "in_data", "in_type", "out_label", "out_data", "out_type", "client_id", "agent", "direction", "dept", "ani", "client_capture_date", "audio_file_location", "visit", "tracking_info", "qualification", "extra", "utterance_count", "word_count", "tag_count", "issues", "first_seen_at", "last_seen_at", "source_deleted_at", "ledger_epoch", "revision", "flatten_version", "load_id", "content_hash" FROM stage_calls ORDER BY call_id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET "call_timestamp" = excluded."call_timestamp", "processed_at" = excluded."processed_at", "status" = excluded."status", "campaign" = excluded."campaign", "duration" = excluded."duration", "ivr_end" = excluded."ivr_end", "audio_state" = excluded."audio_state", "lang" = excluded."lang", "asr_model" = excluded."asr_model", "obfuscated" = excluded."obfuscated", "transcript_call_id" = excluded."transcript_call_id", "in_label" = excluded."in_label", "in_data" = excluded."in_data", "in_type" = excluded."in_type", "out_label" = excluded."out_label", "out_data" = excluded."out_data", "out_type" = excluded."out_type", "client_id" = excluded."client_id", "agent" = excluded."agent", "direction" = excluded."direction", "dept" = excluded."dept", "ani" = excluded."ani", "client_capture_date" = excluded."client_capture_date", "audio_file_location" = excluded."audio_file_location", "visit" = excluded."visit", "tracking_info" = excluded."tracking_info", "qualification" = excluded."qualification", "extra" = excluded."extra", "utterance_count" = excluded."utterance_count", "word_count" = excluded."word_count", "tag_count" = excluded."tag_count", "issues" = excluded."issues", "first_seen_at" = excluded."first_seen_at", "last_seen_at" = excluded."last_seen_at", "source_deleted_at" = excluded."source_deleted_at", "ledger_epoch" = excluded."ledger_epoch", "revision" = excluded."revision", "flatten_version" = excluded."flatten_version", "load_id" = excluded."load_id", "content_hash" = excluded."content_hash"
 WHERE (c.ledger_epoch, c.revision, c.flatten_version) <=
       (excluded.ledger_epoch, excluded.revision, excluded.flatten_version)
RETURNING call_id, xmax = 0 AS is_new;

-- load: takeKeys
INSERT INTO "calls"."calls" AS c (call_id, utterance_count, word_count, tag_count, ledger_epoch, revision, flatten_version, load_id)
SELECT id, 0, 0, 0, $2, 0, 0, $3 FROM unnest($1::text[]) AS id ORDER BY id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET load_id = c.load_id;

-- load: look
SELECT $1::text IS NULL OR EXISTS (SELECT FROM "calls"."loads" WHERE load_id = $1) AS follows,
  EXISTS (SELECT FROM "calls"."tombstones") AS "hasTombstones",
  to_regclass('"calls"."transcript_search"') IS NOT NULL AS "isSearched";

-- load: blocked
SELECT call_key FROM "calls"."tombstones" WHERE call_key = ANY($1);

-- load: deleteChildren
WITH utterances AS (DELETE FROM "calls"."utterances" WHERE call_id = ANY($1)),
  tags AS (DELETE FROM "calls"."tags" WHERE call_id = ANY($1)),
  metadata AS (DELETE FROM "calls"."metadata" WHERE call_id = ANY($1)),
  udfs AS (DELETE FROM "calls"."udfs" WHERE call_id = ANY($1)),
  contacts AS (DELETE FROM "calls"."contacts" WHERE call_id = ANY($1)),
  redactions AS (DELETE FROM "calls"."redactions" WHERE call_id = ANY($1)),
  documents AS (DELETE FROM "calls"."documents" WHERE call_id = ANY($1))
SELECT;

-- load: deleteCalls
DELETE FROM "calls"."calls" WHERE call_id = ANY($1);

-- load: addChanges
INSERT INTO "calls"."changes" (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT u.call_id, to_timestamp(u.call_timestamp::float8 / 1000000.0), u.field, u.revision, u.source, to_timestamp(u.observed_at::float8 / 1000000.0),
       coalesce(to_timestamp(u.loaded_at::float8 / 1000000.0), clock_timestamp()), u.kind
  FROM unnest($1::text[], $2::float8[], $3::text[], $4::int[], $5::text[], $6::float8[], $7::float8[], $8::text[])
       AS u(call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
 WHERE u.field <> '*'
    OR u.call_id NOT IN (SELECT c.call_id FROM "calls"."changes" c WHERE c.call_id = ANY($1) AND c.field = '*')
ON CONFLICT DO NOTHING;

-- load: deleteChanges
DELETE FROM "calls"."changes" WHERE call_id = ANY($1);

-- load: tombstone
INSERT INTO "calls"."tombstones" AS t (call_key, ledger_epoch, revision, load_id, erased_at)
SELECT key, $2, revision, $4, now() FROM unnest($1::text[], $3::int[]) AS u(key, revision) ORDER BY key
ON CONFLICT (call_key) DO UPDATE SET ledger_epoch = excluded.ledger_epoch, revision = excluded.revision, load_id = excluded.load_id
 WHERE (t.ledger_epoch, t.revision) < (excluded.ledger_epoch, excluded.revision)
RETURNING call_key;

-- load: renameDeliveries
UPDATE "calls"."deliveries" AS d SET call_id = u.name
  FROM unnest($1::text[], $2::text[]) AS u(id, name),
       (SELECT arrival_id FROM "calls"."deliveries" WHERE call_id = ANY($1) ORDER BY arrival_id FOR UPDATE) AS held
 WHERE d.arrival_id = held.arrival_id AND d.call_id = u.id;

-- upsert: deliveries
INSERT INTO "calls"."deliveries" AS t ("seq", "arrival_id", "delivery_id", "hook_id", "agent", "received_at", "signing_key", "call_id", "outcome", "reason", "revision", "visible_at")
SELECT DISTINCT ON ("arrival_id") "seq", "arrival_id", "delivery_id", "hook_id", "agent", to_timestamp("received_at"::float8 / 1000000.0), "signing_key", "call_id", "outcome", "reason", "revision", to_timestamp("visible_at"::float8 / 1000000.0) FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::float8[]) AS u("seq", "arrival_id", "delivery_id", "hook_id", "agent", "received_at", "signing_key", "call_id", "outcome", "reason", "revision", "visible_at") ORDER BY "arrival_id"
ON CONFLICT ("arrival_id") DO UPDATE SET "seq" = excluded."seq", "delivery_id" = excluded."delivery_id", "hook_id" = excluded."hook_id", "agent" = excluded."agent", "received_at" = excluded."received_at", "signing_key" = excluded."signing_key", "call_id" = excluded."call_id", "outcome" = excluded."outcome", "reason" = excluded."reason", "revision" = excluded."revision", "visible_at" = excluded."visible_at";

-- upsert: loads
INSERT INTO "calls"."loads" AS t ("load_id", "ledger_epoch", "flatten_version", "origin", "calls_sent", "calls_changed", "loaded_at")
SELECT DISTINCT ON ("load_id") "load_id", "ledger_epoch", "flatten_version", "origin", "calls_sent", "calls_changed", to_timestamp("loaded_at"::float8 / 1000000.0) FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::float8[]) AS u("load_id", "ledger_epoch", "flatten_version", "origin", "calls_sent", "calls_changed", "loaded_at") ORDER BY "load_id"
ON CONFLICT ("load_id") DO UPDATE SET "ledger_epoch" = excluded."ledger_epoch", "flatten_version" = excluded."flatten_version", "origin" = excluded."origin", "calls_sent" = excluded."calls_sent", "calls_changed" = excluded."calls_changed", "loaded_at" = excluded."loaded_at";

-- upsert: verdicts
INSERT INTO "calls"."verdicts" AS t ("verdict_id", "axis", "window_from", "window_to", "level", "warehouse_level", "calls_listed", "calls_found", "missing", "different", "healed", "deleted", "unexpected", "excluded", "confirmed", "outcome", "compared_at", "ledger_epoch", "flatten_version", "revisions_digest", "compared_by", "digest", "key_id", "previous_digest")
SELECT DISTINCT ON ("digest") "verdict_id", "axis", to_timestamp("window_from"::float8 / 1000000.0), to_timestamp("window_to"::float8 / 1000000.0), "level", "warehouse_level", "calls_listed", "calls_found", "missing", "different", "healed", "deleted", "unexpected", "excluded", "confirmed", "outcome", to_timestamp("compared_at"::float8 / 1000000.0), "ledger_epoch", "flatten_version", "revisions_digest", "compared_by", "digest", "key_id", "previous_digest" FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::float8[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::float8[], $18::bigint[], $19::bigint[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[]) AS u("verdict_id", "axis", "window_from", "window_to", "level", "warehouse_level", "calls_listed", "calls_found", "missing", "different", "healed", "deleted", "unexpected", "excluded", "confirmed", "outcome", "compared_at", "ledger_epoch", "flatten_version", "revisions_digest", "compared_by", "digest", "key_id", "previous_digest") ORDER BY "digest"
ON CONFLICT ("digest") DO UPDATE SET "verdict_id" = excluded."verdict_id", "axis" = excluded."axis", "window_from" = excluded."window_from", "window_to" = excluded."window_to", "level" = excluded."level", "warehouse_level" = excluded."warehouse_level", "calls_listed" = excluded."calls_listed", "calls_found" = excluded."calls_found", "missing" = excluded."missing", "different" = excluded."different", "healed" = excluded."healed", "deleted" = excluded."deleted", "unexpected" = excluded."unexpected", "excluded" = excluded."excluded", "confirmed" = excluded."confirmed", "outcome" = excluded."outcome", "compared_at" = excluded."compared_at", "ledger_epoch" = excluded."ledger_epoch", "flatten_version" = excluded."flatten_version", "revisions_digest" = excluded."revisions_digest", "compared_by" = excluded."compared_by", "key_id" = excluded."key_id", "previous_digest" = excluded."previous_digest";

-- upsert: sync_state
INSERT INTO "calls"."sync_state" AS t ("warehouse", "watermark", "newest_call", "proven_axis", "proven_through", "pending", "last_load_at", "last_error", "ledger_epoch", "heartbeat_at")
SELECT DISTINCT ON ("warehouse") "warehouse", to_timestamp("watermark"::float8 / 1000000.0), to_timestamp("newest_call"::float8 / 1000000.0), "proven_axis", to_timestamp("proven_through"::float8 / 1000000.0), "pending", to_timestamp("last_load_at"::float8 / 1000000.0), "last_error", "ledger_epoch", to_timestamp("heartbeat_at"::float8 / 1000000.0) FROM unnest($1::text[], $2::float8[], $3::float8[], $4::text[], $5::float8[], $6::bigint[], $7::float8[], $8::text[], $9::bigint[], $10::float8[]) AS u("warehouse", "watermark", "newest_call", "proven_axis", "proven_through", "pending", "last_load_at", "last_error", "ledger_epoch", "heartbeat_at") ORDER BY "warehouse"
ON CONFLICT ("warehouse") DO UPDATE SET "watermark" = excluded."watermark", "newest_call" = excluded."newest_call", "proven_axis" = excluded."proven_axis", "proven_through" = excluded."proven_through", "pending" = excluded."pending", "last_load_at" = excluded."last_load_at", "last_error" = excluded."last_error", "ledger_epoch" = excluded."ledger_epoch", "heartbeat_at" = excluded."heartbeat_at" WHERE t.heartbeat_at <= excluded.heartbeat_at;

-- logs: expire
DELETE FROM "calls"."deliveries" AS t
WHERE t.received_at < TIMESTAMP '1970-01-01 00:00:00+00';

-- logs: expire
DELETE FROM "calls"."loads" AS t
WHERE t.loaded_at < TIMESTAMP '1970-01-01 00:00:00+00'
  AND t.loaded_at < (SELECT MIN(k.loaded_at) FROM (SELECT n.loaded_at FROM "calls"."loads" AS n ORDER BY n.loaded_at DESC LIMIT 4000) AS k);

-- logs: expire
DELETE FROM "calls"."verdicts" AS t
WHERE t.compared_at < TIMESTAMP '1970-01-01 00:00:00+00';

-- reconcile/range
SELECT
  c.call_id AS call_id,
  CASE WHEN c.call_timestamp BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM c.call_timestamp) * 1000000)::bigint END AS call_timestamp,
  c.ledger_epoch AS ledger_epoch,
  c.revision AS revision,
  c.flatten_version AS flatten_version,
  c.content_hash AS content_hash,
  COALESCE(utterances_rows.n, 0) AS utterances_rows,
  COALESCE(tags_rows.n, 0) AS tags_rows,
  COALESCE(metadata_rows.n, 0) AS metadata_rows,
  COALESCE(udfs_rows.n, 0) AS udfs_rows,
  COALESCE(contacts_rows.n, 0) AS contacts_rows,
  COALESCE(redactions_rows.n, 0) AS redactions_rows,
  COALESCE(documents_rows.n, 0) AS documents_rows
FROM "calls"."calls" AS c
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."utterances" AS t WHERE t.call_id = c.call_id) AS utterances_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."tags" AS t WHERE t.call_id = c.call_id) AS tags_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."metadata" AS t WHERE t.call_id = c.call_id) AS metadata_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."udfs" AS t WHERE t.call_id = c.call_id) AS udfs_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."contacts" AS t WHERE t.call_id = c.call_id) AS contacts_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."redactions" AS t WHERE t.call_id = c.call_id) AS redactions_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."documents" AS t WHERE t.call_id = c.call_id) AS documents_rows ON TRUE
WHERE c.call_timestamp >= to_timestamp(0::float8 / 1000000.0) AND c.call_timestamp < to_timestamp(86400000000::float8 / 1000000.0)
ORDER BY c.call_id COLLATE "C";

-- reconcile/ids
SELECT
  c.call_id AS call_id,
  CASE WHEN c.call_timestamp BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM c.call_timestamp) * 1000000)::bigint END AS call_timestamp,
  c.ledger_epoch AS ledger_epoch,
  c.revision AS revision,
  c.flatten_version AS flatten_version,
  c.content_hash AS content_hash,
  COALESCE(utterances_rows.n, 0) AS utterances_rows,
  COALESCE(tags_rows.n, 0) AS tags_rows,
  COALESCE(metadata_rows.n, 0) AS metadata_rows,
  COALESCE(udfs_rows.n, 0) AS udfs_rows,
  COALESCE(contacts_rows.n, 0) AS contacts_rows,
  COALESCE(redactions_rows.n, 0) AS redactions_rows,
  COALESCE(documents_rows.n, 0) AS documents_rows
FROM "calls"."calls" AS c
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."utterances" AS t WHERE t.call_id = c.call_id) AS utterances_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."tags" AS t WHERE t.call_id = c.call_id) AS tags_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."metadata" AS t WHERE t.call_id = c.call_id) AS metadata_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."udfs" AS t WHERE t.call_id = c.call_id) AS udfs_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."contacts" AS t WHERE t.call_id = c.call_id) AS contacts_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."redactions" AS t WHERE t.call_id = c.call_id) AS redactions_rows ON TRUE
LEFT JOIN LATERAL (SELECT count(*) AS n FROM "calls"."documents" AS t WHERE t.call_id = c.call_id) AS documents_rows ON TRUE
WHERE c.call_id = ANY($1)
ORDER BY c.call_id COLLATE "C";

-- reconcile/ids of a range
SELECT c.call_id AS call_id FROM "calls"."calls" AS c WHERE c.call_timestamp >= to_timestamp(0::float8 / 1000000.0) AND c.call_timestamp < to_timestamp(86400000000::float8 / 1000000.0) GROUP BY c.call_id ORDER BY c.call_id COLLATE "C";

-- load/change times
SELECT
  t.call_id AS call_id,
  t.revision AS revision,
  CASE WHEN MIN(t.loaded_at) BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM MIN(t.loaded_at)) * 1000000)::bigint END AS loaded_at
FROM "calls"."changes" AS t
WHERE t.call_id = ANY($1) AND t.loaded_at IS NOT NULL
GROUP BY t.call_id, t.revision;

-- reconcile/orphans
SELECT o.call_id AS call_id FROM (
SELECT t.call_id AS call_id FROM "calls"."utterances" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."utterances"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."utterances"') / current_setting('block_size')::bigint / 1 + 1))::tid)
UNION DISTINCT
SELECT t.call_id AS call_id FROM "calls"."tags" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."tags"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."tags"') / current_setting('block_size')::bigint / 1 + 1))::tid)
UNION DISTINCT
SELECT t.call_id AS call_id FROM "calls"."metadata" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."metadata"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."metadata"') / current_setting('block_size')::bigint / 1 + 1))::tid)
UNION DISTINCT
SELECT t.call_id AS call_id FROM "calls"."udfs" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."udfs"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."udfs"') / current_setting('block_size')::bigint / 1 + 1))::tid)
UNION DISTINCT
SELECT t.call_id AS call_id FROM "calls"."contacts" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."contacts"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."contacts"') / current_setting('block_size')::bigint / 1 + 1))::tid)
UNION DISTINCT
SELECT t.call_id AS call_id FROM "calls"."redactions" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."redactions"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."redactions"') / current_setting('block_size')::bigint / 1 + 1))::tid)
UNION DISTINCT
SELECT t.call_id AS call_id FROM "calls"."documents" AS t
LEFT JOIN "calls"."calls" AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL AND t.ctid >= (SELECT format('(%s,0)', 0 * (pg_relation_size('"calls"."documents"') / current_setting('block_size')::bigint / 1 + 1))::tid) AND t.ctid < (SELECT format('(%s,0)', 1 * (pg_relation_size('"calls"."documents"') / current_setting('block_size')::bigint / 1 + 1))::tid)
) AS o
ORDER BY o.call_id COLLATE "C";

-- reconcile/rows
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."utterance_index" AS utterance_index, t."side" AS side, t."content" AS content, t."start_offset" AS start_offset, t."duration" AS duration, t."score" AS score, t."word_count" AS word_count, json_build_object('value', coalesce(t.word_values, string_to_array(t.content, ' ')), 'start', t.word_starts, 'length', t.word_lengths, 'score', t.word_scores) AS words FROM "calls"."utterances" AS t WHERE TRUE AND t.call_id = ANY($1);

-- erase/rows-left
SELECT SUM(x.n) AS n FROM (
SELECT COUNT(*) AS n FROM "calls"."calls" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."utterances" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."tags" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."metadata" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."udfs" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."contacts" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."redactions" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."documents" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."changes" AS t WHERE TRUE AND t.call_id = ANY($1)
UNION ALL
SELECT COUNT(*) AS n FROM "calls"."deliveries" AS t WHERE TRUE AND t.call_id = ANY($1)
) AS x;

-- read/calls
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, CASE WHEN t."processed_at" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."processed_at") * 1000000)::bigint END AS processed_at, t."status" AS status, t."campaign" AS campaign, t."duration" AS duration, t."ivr_end" AS ivr_end, t."audio_state" AS audio_state, t."lang" AS lang, t."asr_model" AS asr_model, t."obfuscated" AS obfuscated, t."transcript_call_id" AS transcript_call_id, t."in_label" AS in_label, t."in_data" AS in_data, t."in_type" AS in_type, t."out_label" AS out_label, t."out_data" AS out_data, t."out_type" AS out_type, t."client_id" AS client_id, t."agent" AS agent, t."direction" AS direction, t."dept" AS dept, t."ani" AS ani, t."client_capture_date" AS client_capture_date, t."audio_file_location" AS audio_file_location, t."visit"::text AS visit, t."tracking_info"::text AS tracking_info, t."qualification"::text AS qualification, t."extra"::text AS extra, t."utterance_count" AS utterance_count, t."word_count" AS word_count, t."tag_count" AS tag_count, t."issues"::text AS issues, CASE WHEN t."first_seen_at" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."first_seen_at") * 1000000)::bigint END AS first_seen_at, CASE WHEN t."last_seen_at" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."last_seen_at") * 1000000)::bigint END AS last_seen_at, CASE WHEN t."source_deleted_at" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."source_deleted_at") * 1000000)::bigint END AS source_deleted_at, t."ledger_epoch" AS ledger_epoch, t."revision" AS revision, t."flatten_version" AS flatten_version, t."content_hash" AS content_hash FROM "calls"."calls" AS t;

-- read/utterances
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."utterance_index" AS utterance_index, t."side" AS side, t."content" AS content, t."start_offset" AS start_offset, t."duration" AS duration, t."score" AS score, t."word_count" AS word_count, json_build_object('value', coalesce(t.word_values, string_to_array(t.content, ' ')), 'start', t.word_starts, 'length', t.word_lengths, 'score', t.word_scores) AS words FROM "calls"."utterances" AS t;

-- read/tags
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."tag_index" AS tag_index, t."tag_id" AS tag_id, t."display_name" AS display_name, t."confidence" AS confidence, t."type" AS type, t."value_bool" AS value_bool, t."value_number" AS value_number, t."value_text" AS value_text, t."value"::text AS value FROM "calls"."tags" AS t;

-- read/metadata
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."key" AS key, t."value" AS value FROM "calls"."metadata" AS t;

-- read/udfs
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."kind" AS kind, t."udf_index" AS udf_index, t."value_number"::text AS value_number, t."value_text" AS value_text, t."unparsable" AS unparsable FROM "calls"."udfs" AS t;

-- read/contacts
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."side" AS side, t."label" AS label, t."data" AS data, t."type" AS type, t."phone" AS phone FROM "calls"."contacts" AS t;

-- read/redactions
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."redaction_index" AS redaction_index, t."utterance_index" AS utterance_index, t."first_word" AS first_word, t."last_word" AS last_word, t."detector" AS detector, t."detector_version" AS detector_version FROM "calls"."redactions" AS t;

-- read/documents
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."document"::text AS document FROM "calls"."documents" AS t;

-- read/words
SELECT t."call_id" AS call_id, CASE WHEN t."call_timestamp" BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM t."call_timestamp") * 1000000)::bigint END AS call_timestamp, t."utterance_index" AS utterance_index, t."word_index" AS word_index, t."side" AS side, t."value" AS value, t."start_offset" AS start_offset, t."length" AS length, t."score" AS score FROM "calls"."words" AS t;

-- remove: claim
SELECT c.call_id FROM "calls"."calls" c
  JOIN unnest($1::text[], $2::int[], $3::int[]) AS g(call_id, ledger_epoch, revision)
 USING (call_id, ledger_epoch, revision) ORDER BY c.call_id COLLATE "C" FOR UPDATE OF c;

-- remove: orphans
DELETE FROM "calls"."utterances" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: orphans
DELETE FROM "calls"."tags" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: orphans
DELETE FROM "calls"."metadata" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: orphans
DELETE FROM "calls"."udfs" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: orphans
DELETE FROM "calls"."contacts" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: orphans
DELETE FROM "calls"."redactions" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: orphans
DELETE FROM "calls"."documents" t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM "calls"."calls" c WHERE c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp);

-- remove: hasSearch
SELECT to_regclass('"calls"."transcript_search"') IS NOT NULL AS found;

-- search index: create
CREATE TABLE "calls"."transcript_search" (
  call_id text NOT NULL,
  side text NOT NULL,
  call_timestamp timestamptz,
  language text NOT NULL,
  document tsvector,
  PRIMARY KEY (call_id, side)
) WITH (toast_tuple_target = 8160);

-- search index: create
COMMENT ON TABLE "calls"."transcript_search" IS 'Search index of callsync, definition 9.';

-- search index: create
CREATE INDEX transcript_search_time ON "calls"."transcript_search" (call_timestamp DESC NULLS LAST, call_id);

-- search index: create
CREATE INDEX transcript_search_language ON "calls"."transcript_search" (language);

-- search index: create
CREATE INDEX transcript_search_waiting ON "calls"."transcript_search" (call_id, side) WHERE document IS NULL;

-- search index: create
DO $callsync$
DECLARE language text;
BEGIN
  FOREACH language IN ARRAY '{simple,english,danish,german,spanish,finnish,french,hungarian,italian,dutch,norwegian,portuguese,romanian,russian,swedish,turkish}'::text[] LOOP
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION "calls".transcript_words_%1$s (COPY = pg_catalog.%1$s)', language);
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION "calls".transcript_every_%1$s (COPY = pg_catalog.%1$s)', language);
    CONTINUE WHEN language = 'simple';
    EXECUTE format('CREATE TEXT SEARCH DICTIONARY "calls".transcript_%1$s_stem (TEMPLATE = pg_catalog.snowball, Language = %1$s)', language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION "calls".transcript_every_%1$s ALTER MAPPING REPLACE pg_catalog.%1$s_stem WITH "calls".transcript_%1$s_stem', language);
  END LOOP;
  ALTER TEXT SEARCH CONFIGURATION "calls".transcript_every_russian ALTER MAPPING REPLACE pg_catalog.english_stem WITH "calls".transcript_english_stem;
END
$callsync$;

-- search index: create
CREATE FUNCTION "calls"."transcript_document"(language text, content text) RETURNS tsvector
LANGUAGE plpgsql STABLE AS $$
DECLARE
  counted regconfig := '"calls".transcript_words_' || language;
  said text := regexp_replace(content, '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u007F\u0080-\u00A9\u00AB-\u00B1\u00B4\u00B6-\u00B8\u00BB-\u00BF\u00D7\u00F7\u0149\u02B0-\u02FF\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05F3\u05F4\u060C\u060D\u061B\u061E\u061F\u066A-\u066D\u06D4\u0964\u0965\u1680\u2000-\u206F\u20A0-\u20FF\u2100\u2101\u2103\u2105\u2106\u2109\u2117\u2150-\u215F\u2189-\u245F\u2474-\u24B5\u2500-\u2BFF\u2E00-\u2E7F\u3000-\u3004\u3007-\u3020\u3030\u33A7-\u33DF\uE000\uE001\uFE00-\uFE1F\uFE30-\uFE6F\uFEFF\uFF01-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65\uFFE0-\uFFFD\U0001F000-\U0001FAFF]', ' ', 'g');
  plain text := "calls".unaccent('"calls".unaccent'::regdictionary, said);
  words tsvector;
  spoken tsvector;
BEGIN
  words := to_tsvector(counted, said);
  spoken := to_tsvector(('"calls".transcript_every_' || language)::regconfig, said);
  RETURN concat_ws(' ', setweight(words, 'A'), spoken, "calls".unaccent('"calls".unaccent'::regdictionary, ts_delete(spoken, tsvector_to_array(words))::text),
                   CASE WHEN plain <> said THEN setweight(to_tsvector(counted, plain), 'A') END)::tsvector;
EXCEPTION WHEN program_limit_exceeded THEN
  RETURN "calls"."transcript_document"(language, left(content, length(content) / 2));
END
$$;

-- search index: create
CREATE FUNCTION "calls"."transcript_search_write"(ids text[]) RETURNS void
LANGUAGE plpgsql STRICT SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  PERFORM FROM "calls"."calls" WHERE call_id = ANY(ids) ORDER BY call_id COLLATE "C" FOR NO KEY UPDATE;
  DELETE FROM "calls"."transcript_search" WHERE call_id = ANY(ids);
  INSERT INTO "calls"."transcript_search" (call_id, side, call_timestamp, language)
    SELECT c.call_id, u.side, c.call_timestamp, CASE lower(left(c.lang, 2)) WHEN 'en' THEN 'english' WHEN 'da' THEN 'danish' WHEN 'de' THEN 'german' WHEN 'es' THEN 'spanish' WHEN 'fi' THEN 'finnish' WHEN 'fr' THEN 'french' WHEN 'hu' THEN 'hungarian' WHEN 'it' THEN 'italian' WHEN 'nl' THEN 'dutch' WHEN 'no' THEN 'norwegian' WHEN 'nb' THEN 'norwegian' WHEN 'nn' THEN 'norwegian' WHEN 'pt' THEN 'portuguese' WHEN 'ro' THEN 'romanian' WHEN 'ru' THEN 'russian' WHEN 'sv' THEN 'swedish' WHEN 'tr' THEN 'turkish' ELSE 'simple' END
      FROM (SELECT DISTINCT call_id, coalesce(side, '') AS side FROM "calls"."utterances" WHERE call_id = ANY(ids) AND content <> '') u
      JOIN "calls"."calls" c ON c.call_id = u.call_id;
END
$$;

-- search index: create
CREATE FUNCTION "calls"."transcript_search_refresh"() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "calls"."transcript_search_write"((SELECT array_agg(DISTINCT call_id) FROM changed));
  RETURN NULL;
END
$$;

-- search index: create
CREATE FUNCTION "calls"."transcript_search_fill"(after text, most int) RETURNS text
LANGUAGE sql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
  WITH taken AS MATERIALIZED (
    SELECT call_id, side FROM "calls"."transcript_search" WHERE document IS NULL AND call_id >= after ORDER BY call_id, side LIMIT most FOR UPDATE SKIP LOCKED
  ), filled AS (
    UPDATE "calls"."transcript_search" s
       SET document = "calls"."transcript_document"(s.language, (SELECT string_agg(('908172635453' || 10 + array_position('{simple,english,danish,german,spanish,finnish,french,hungarian,italian,dutch,norwegian,portuguese,romanian,russian,swedish,turkish}'::text[], s.language)) || ' ' || u.content, ' ' ORDER BY u.utterance_index)
                                                 FROM "calls"."utterances" u
                                                WHERE u.call_id = s.call_id AND coalesce(u.side, '') = s.side AND u.content <> ''))
      FROM taken WHERE s.call_id = taken.call_id AND s.side = taken.side
    RETURNING s.call_id
  )
  SELECT max(call_id) FROM filled
$$;

-- search index: create
CREATE TRIGGER transcript_search_insert AFTER INSERT ON "calls"."utterances"
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "calls"."transcript_search_refresh"();

-- search index: create
CREATE TRIGGER transcript_search_delete AFTER DELETE ON "calls"."utterances"
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "calls"."transcript_search_refresh"();

-- search index: writeMissing
SELECT max(call_id) AS last, count(*) AS calls, "calls"."transcript_search_write"(array_agg(call_id))
  FROM (SELECT call_id FROM "calls"."calls" c WHERE call_id > $1 AND NOT EXISTS (SELECT FROM "calls"."transcript_search" s WHERE s.call_id = c.call_id)
         ORDER BY call_id LIMIT $2) missing;

-- search index: isFillable
SELECT to_regprocedure('"calls"."transcript_search_fill"(text, int)') IS NOT NULL AS there;

-- search index: fill
SELECT "calls"."transcript_search_fill"($1, $2) AS last;

-- search index: createGin
CREATE INDEX CONCURRENTLY transcript_search_document ON "calls"."transcript_search" USING gin (document) WITH (gin_pending_list_limit = 512);

-- search index: dropGin
DROP INDEX CONCURRENTLY IF EXISTS "calls"."transcript_search_document";

-- search index: drop
DROP FUNCTION IF EXISTS "calls"."transcript_search_refresh"() CASCADE;

-- search index: drop
DROP FUNCTION IF EXISTS "calls"."transcript_search_fill"(text, int), "calls"."transcript_search_write"(text[]), "calls"."transcript_document"(text, text), "calls"."transcript_fold"(text);

-- search index: drop
DROP TABLE IF EXISTS "calls"."transcript_search";

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_simple;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_simple;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_english;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_english;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_danish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_danish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_german;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_german;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_spanish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_spanish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_finnish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_finnish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_french;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_french;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_hungarian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_hungarian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_italian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_italian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_dutch;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_dutch;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_norwegian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_norwegian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_portuguese;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_portuguese;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_romanian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_romanian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_russian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_russian;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_swedish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_swedish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_words_turkish;

-- search index: drop
DROP TEXT SEARCH CONFIGURATION IF EXISTS "calls".transcript_every_turkish;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_simple_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_english_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_danish_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_german_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_spanish_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_finnish_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_french_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_hungarian_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_italian_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_dutch_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_norwegian_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_portuguese_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_romanian_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_russian_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_swedish_stem;

-- search index: drop
DROP TEXT SEARCH DICTIONARY IF EXISTS "calls".transcript_turkish_stem;

-- search index: state
SELECT to_regclass('"calls"."transcript_search"') IS NOT NULL AS "isThere",
       coalesce(obj_description(to_regclass('"calls"."transcript_search"'), 'pg_class') = 'Search index of callsync, definition 9.', false)
         AND (SELECT count(*) = 2 FROM pg_trigger
               WHERE tgrelid = to_regclass('"calls"."utterances"') AND tgname LIKE 'transcript\_search\_%' AND tgenabled IN ('O', 'A')) AS "isKept",
       (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('"calls"."transcript_search_document"')) AS "isValid",
       pg_total_relation_size(to_regclass('"calls"."transcript_search"')) AS bytes;

-- search index: calls
SELECT count(DISTINCT call_id) FILTER (WHERE document IS NOT NULL) AS calls FROM "calls"."transcript_search";

-- search index: pending
SELECT count(DISTINCT call_id) AS pending FROM "calls"."transcript_search" WHERE document IS NULL;

-- search: words
WITH RECURSIVE l(language) AS (
  (SELECT language FROM "calls"."transcript_search" ORDER BY language LIMIT 1)
  UNION ALL
  SELECT (SELECT s.language FROM "calls"."transcript_search" s WHERE s.language > l.language ORDER BY s.language LIMIT 1) FROM l WHERE l.language IS NOT NULL
)
SELECT l.language, ('908172635453' || 10 + array_position('{simple,english,danish,german,spanish,finnish,french,hungarian,italian,dutch,norwegian,portuguese,romanian,russian,swedish,turkish}'::text[], l.language)) AS boundary, w.term, w.place,
       coalesce(array_agg(w.lexeme) FILTER (WHERE w.weight = 'D'), array_agg(w.lexeme)) AS lexemes, bool_or(w.weight = 'D') AS is_stop
  FROM l
  LEFT JOIN LATERAL (
    SELECT t.term::int, p.place, d.lexeme, p.weight
      FROM unnest($1::text[]) WITH ORDINALITY t(content, term)
     CROSS JOIN LATERAL unnest("calls"."transcript_document"(l.language, t.content)) d
     CROSS JOIN LATERAL unnest(d.positions, d.weights) p(place, weight)) w ON true
 WHERE l.language IS NOT NULL
 GROUP BY l.language, w.term, w.place
 ORDER BY l.language, w.term, w.place;

-- search: newest
WITH newest AS MATERIALIZED (
  SELECT call_id, side, language, call_timestamp, named, CASE WHEN named THEN document @@ $1::tsquery ELSE false END AS is_found
    FROM (SELECT *, document @@ $6::tsquery AS named FROM "calls"."transcript_search" s
           WHERE ($3::bigint IS NULL OR s.call_timestamp >= to_timestamp($3::float8 / 1000000.0))
   AND ($4::bigint IS NULL OR s.call_timestamp < to_timestamp($4::float8 / 1000000.0))
   AND ($5::text IS NULL OR s.side = $5::text) AND document IS NOT NULL ORDER BY call_timestamp DESC NULLS LAST, call_id LIMIT 2000) s
)
SELECT f.*, CASE WHEN f.call_timestamp BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM f.call_timestamp) * 1000000)::bigint END AS micros, counted.*,
       (SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = '"calls"."transcript_search"'::regclass) AS all_rows
  FROM (SELECT count(*) AS looked_at, count(*) FILTER (WHERE named) AS named, count(*) FILTER (WHERE is_found) AS found FROM newest) counted
  LEFT JOIN (SELECT call_id, min(language) AS language, array_agg(side ORDER BY side) AS sides, call_timestamp FROM newest WHERE is_found GROUP BY call_timestamp, call_id ORDER BY call_timestamp DESC NULLS LAST, call_id LIMIT $2) f ON true
 ORDER BY call_timestamp DESC NULLS LAST, call_id;

-- search: walk
SELECT call_id, min(language) AS language, array_agg(side ORDER BY side) AS sides, call_timestamp, CASE WHEN call_timestamp BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM call_timestamp) * 1000000)::bigint END AS micros FROM "calls"."transcript_search" s
 WHERE ($3::bigint IS NULL OR s.call_timestamp >= to_timestamp($3::float8 / 1000000.0))
   AND ($4::bigint IS NULL OR s.call_timestamp < to_timestamp($4::float8 / 1000000.0))
   AND ($5::text IS NULL OR s.side = $5::text) AND document @@ $1::tsquery GROUP BY call_timestamp, call_id ORDER BY call_timestamp DESC NULLS LAST, call_id LIMIT $2;

-- search: named
SELECT call_id, min(language) AS language, array_agg(side ORDER BY side) AS sides, call_timestamp, CASE WHEN call_timestamp BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM call_timestamp) * 1000000)::bigint END AS micros
  FROM (SELECT * FROM "calls"."transcript_search" WHERE document @@ $1::tsquery OFFSET 0) s
 WHERE ($3::bigint IS NULL OR s.call_timestamp >= to_timestamp($3::float8 / 1000000.0))
   AND ($4::bigint IS NULL OR s.call_timestamp < to_timestamp($4::float8 / 1000000.0))
   AND ($5::text IS NULL OR s.side = $5::text) GROUP BY call_timestamp, call_id ORDER BY call_timestamp DESC NULLS LAST, call_id LIMIT $2;

-- search: hits
SELECT h.call_id, h.utterance_index, h.side, h.content, marked.text AS marked
  FROM (SELECT s.call_id, u.*, row_number() OVER (PARTITION BY s.call_id ORDER BY u.utterance_index) AS rank
          FROM unnest($1::text[], $2::text[], $7::int[]) AS s(call_id, side, after)
          JOIN "calls"."transcript_search" d ON d.call_id = s.call_id AND d.side = s.side
         CROSS JOIN LATERAL (
           WITH begins AS MATERIALIZED (SELECT positions FROM unnest(d.document) b WHERE b.lexeme = ('908172635453' || 10 + array_position('{simple,english,danish,german,spanish,finnish,french,hungarian,italian,dutch,norwegian,portuguese,romanian,russian,swedish,turkish}'::text[], $3::text))),
           places AS (
             SELECT place
               FROM (SELECT w.lexeme, p.at, p.weight, width_bucket(p.at, (SELECT positions FROM begins)) AS place
                       FROM unnest(d.document) w CROSS JOIN LATERAL unnest(w.positions, w.weights) p(at, weight) WHERE (p.weight || w.lexeme = ANY($5::text[]) OR p.weight || w.lexeme ^@ ANY($6::text[]))) said
              GROUP BY place
             HAVING string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':' || at || weight, ' ')::tsvector @@ $4::tsquery
           )
           SELECT u.utterance_index, u.side, u.content
             FROM (SELECT utterance_index, side, content, row_number() OVER (ORDER BY utterance_index) AS place
                     FROM "calls"."utterances" WHERE call_id = s.call_id AND coalesce(side, '') = s.side AND content <> '') u
            WHERE u.utterance_index > s.after AND least(u.place, 255) IN (SELECT place FROM places)
              AND (u.place < 255 OR "calls"."transcript_document"($3::text, u.content) @@ $4::tsquery)
            ORDER BY u.utterance_index LIMIT 3) u) h
 CROSS JOIN LATERAL (
   WITH heard AS MATERIALIZED (
     SELECT array_agg(p.at) FILTER (WHERE p.weight = 'A') AS counted, array_agg(p.at) AS stops
       FROM unnest("calls"."transcript_document"($3::text, h.content)) w CROSS JOIN LATERAL unnest(w.positions, w.weights) p(at, weight) WHERE (p.weight || w.lexeme = ANY($5::text[]) OR p.weight || w.lexeme ^@ ANY($6::text[]))
   )
   SELECT string_agg(CASE WHEN tokid <> 12 AND place = ANY((SELECT coalesce(counted, stops) FROM heard)::int[])
                          THEN '' || token || '' ELSE token END, '' ORDER BY ordinality) AS text
     FROM (SELECT *, count(*) FILTER (WHERE tokid <> 12) OVER (ORDER BY ordinality) AS place
             FROM ts_parse('default', regexp_replace(h.content, '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u007F\u0080-\u00A9\u00AB-\u00B1\u00B4\u00B6-\u00B8\u00BB-\u00BF\u00D7\u00F7\u0149\u02B0-\u02FF\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05F3\u05F4\u060C\u060D\u061B\u061E\u061F\u066A-\u066D\u06D4\u0964\u0965\u1680\u2000-\u206F\u20A0-\u20FF\u2100\u2101\u2103\u2105\u2106\u2109\u2117\u2150-\u215F\u2189-\u245F\u2474-\u24B5\u2500-\u2BFF\u2E00-\u2E7F\u3000-\u3004\u3007-\u3020\u3030\u33A7-\u33DF\uE000\uE001\uFE00-\uFE1F\uFE30-\uFE6F\uFEFF\uFF01-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65\uFFE0-\uFFFD\U0001F000-\U0001FAFF]', ' ', 'g')) WITH ORDINALITY) token) marked
 WHERE h.rank <= 3
 ORDER BY h.call_id, h.utterance_index;

-- search: calls of two texts
SELECT call_id, min(language) AS language, array_agg(side ORDER BY side) AS sides, call_timestamp, CASE WHEN call_timestamp BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM call_timestamp) * 1000000)::bigint END AS micros, min(said.first_place) AS first_place, (SELECT array_agg(o.side) FROM "calls"."transcript_search" o WHERE o.call_id = s.call_id AND o.document @@ $8::tsquery AND ($5::text IS NULL OR o.side = $5::text)) AS later_sides FROM "calls"."transcript_search" s CROSS JOIN LATERAL (
  SELECT min(utterance_index) FILTER (WHERE u.side = s.side AND heard @@ $6::tsquery) AS first_place,
         max(utterance_index) FILTER (WHERE ($5::text IS NULL OR u.side = $5::text) AND heard @@ $7::tsquery) AS last_place
    FROM (SELECT call_id, utterance_index, coalesce(side, '') AS side,
                 "calls"."transcript_document"(s.language, ('908172635453' || 10 + array_position('{simple,english,danish,german,spanish,finnish,french,hungarian,italian,dutch,norwegian,portuguese,romanian,russian,swedish,turkish}'::text[], s.language)) || ' ' || content) AS heard
            FROM "calls"."utterances" WHERE call_id = s.call_id AND content <> '' OFFSET 0) u) said
 WHERE ($3::bigint IS NULL OR s.call_timestamp >= to_timestamp($3::float8 / 1000000.0))
   AND ($4::bigint IS NULL OR s.call_timestamp < to_timestamp($4::float8 / 1000000.0))
   AND ($5::text IS NULL OR s.side = $5::text) AND document @@ $1::tsquery
   AND EXISTS (SELECT FROM "calls"."transcript_search" o WHERE o.call_id = s.call_id AND o.document @@ $8::tsquery AND ($5::text IS NULL OR o.side = $5::text)) AND said.first_place < said.last_place GROUP BY call_timestamp, call_id ORDER BY call_timestamp DESC NULLS LAST, call_id LIMIT $2;
