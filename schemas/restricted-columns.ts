/**
 * What the restricted role may read: no transcript, telephone number or free field. Whatever is not listed is denied, so
 * a new column stays hidden until somebody lists it.
 */
import type { TableName } from './tables.ts';

const callKeys = ['call_id', 'call_timestamp'] as const;
const guard = ['ledger_epoch', 'revision', 'flatten_version', 'load_id'] as const;

export const restrictedColumns: Readonly<Partial<Record<TableName | 'words', readonly string[]>>> = {
  calls: [
    ...callKeys,
    'processed_at',
    'status',
    'campaign',
    'duration',
    'ivr_end',
    'audio_state',
    'lang',
    'asr_model',
    'obfuscated',
    'in_type',
    'out_type',
    'agent',
    'direction',
    'dept',
    'utterance_count',
    'word_count',
    'tag_count',
    'first_seen_at',
    'last_seen_at',
    'missing_since',
    ...guard,
  ],
  utterances: [...callKeys, 'utterance_index', 'side', 'start_offset', 'duration', 'score', 'word_count'],
  words: [...callKeys, 'utterance_index', 'word_index', 'side', 'start_offset', 'length', 'score'],
  tags: [...callKeys, 'tag_index', 'tag_id', 'display_name', 'confidence', 'type', 'value_bool'],
  contacts: [...callKeys, 'side', 'type'],
  deliveries: ['seq', 'arrival_id', 'hook_id', 'agent', 'received_at', 'signing_key', 'call_id', 'outcome'],
  loads: ['load_id', 'ledger_epoch', 'flatten_version', 'origin', 'calls_sent', 'calls_changed', 'loaded_at'],
  verdicts: [
    'verdict_id',
    'axis',
    'window_from',
    'window_to',
    'outcome',
    'confirmed',
    'missing',
    'different',
    'healed',
    'gone',
    'surplus',
    'compared_at',
  ],
  sync_state: [
    'warehouse',
    'watermark',
    'newest_call',
    'proven_axis',
    'proven_through',
    'pending',
    'last_load_at',
    'last_error',
    'ledger_epoch',
    'heartbeat_at',
  ],
};
