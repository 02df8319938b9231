-- What the receiver has put under the present rules, the merge does not look at again.
ALTER TABLE inbox ADD COLUMN privacy_version text;
COMMENT ON COLUMN inbox.privacy_version IS 'Version of the privacy rules that the body is under; null = none, or not known.';
