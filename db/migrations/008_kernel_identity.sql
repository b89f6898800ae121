-- What a trial's kernel is to a device: SHA-256 of its machine code and of everything a launch is
-- given, at each shape that its run gates or times. Equal for a duplicate and its twin; compared
-- within a run. NULL: the trial did not come so far, or is older than this column.
ALTER TABLE trials ADD COLUMN identity TEXT CHECK (identity <> '');
CREATE INDEX trials_identity ON trials (run, identity);
