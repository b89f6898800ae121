-- What was said between the engine and an outside proposer, in order. A run is resumed from what was
-- taken: one row an ask, JSON, {"id":1,"name":"hill_climb","items":[{"idx":0,"genome":{...},
-- "parents":[7],"note":"..."}]}. The other rows are for people: a line sent or received (made
-- printable, and cut where it was long), a note of what the engine thought of it.

CREATE TABLE proposer_messages (
  run       INTEGER NOT NULL REFERENCES runs,
  seq       INTEGER NOT NULL CHECK (seq > 0),  -- within the run, without gaps
  direction TEXT NOT NULL CHECK (direction IN ('sent', 'received', 'note', 'taken')),
  at        TEXT NOT NULL,
  text      TEXT NOT NULL,
  PRIMARY KEY (run, seq),
  CHECK (direction <> 'taken' OR json_valid(text))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER proposer_messages_stay BEFORE DELETE ON proposer_messages
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;
