-- The names that the code uses.
ALTER TABLE frames RENAME TO websocket_frames;
ALTER TABLE websocket_frames RENAME COLUMN arrived_at TO received_at;
ALTER TABLE request_budget RENAME TO request_limits;
UPDATE meta SET key = 'quota:' || substr(key, 8) WHERE starts_with(key, 'budget:');
