-- Kernels of one template differ in the lines of #define before its text, some 1 KB of 90. What comes
-- after them is kept once, however many kernels have it. Older rows stay whole.
CREATE TABLE bodies (
  hash TEXT PRIMARY KEY CHECK (hash <> ''),
  text TEXT NOT NULL CHECK (text <> '')
) STRICT, WITHOUT ROWID;
ALTER TABLE sources ADD COLUMN body TEXT REFERENCES bodies;  -- NULL: `text` is all

CREATE TRIGGER bodies_stay BEFORE DELETE ON bodies
  BEGIN SELECT raise(ABORT, 'rows are never deleted'); END;

-- The complete texts, whose hashes these are.
CREATE VIEW kernels AS
SELECT s.hash, s.text || coalesce(b.text, '') AS text
  FROM sources s LEFT JOIN bodies b ON b.hash = s.body;
