-- schema 5
CREATE TABLE alarms (
    id INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, alarm BLOB NOT NULL,
    checksum BLOB NOT NULL
);
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, answers BLOB NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE closed (
    id INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, seq INTEGER NOT NULL,
    checksum BLOB NOT NULL, contents BLOB NOT NULL, names BLOB NOT NULL, decisions BLOB NOT NULL
);
CREATE INDEX closed_of_project ON closed (project, id);
CREATE TABLE gone (project INTEGER PRIMARY KEY, checksum BLOB NOT NULL);
CREATE TABLE heads (project INTEGER PRIMARY KEY, head BLOB NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE history (
    project INTEGER NOT NULL, worker TEXT NOT NULL, at REAL NOT NULL, answers REAL NOT NULL,
    error_rate REAL, error_low REAL, error_high REAL, checksum BLOB NOT NULL,
    PRIMARY KEY (project, worker, at)
) WITHOUT ROWID;
CREATE TABLE hook_secrets (
    project INTEGER NOT NULL, tool TEXT NOT NULL, secret TEXT NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (project, tool)
) WITHOUT ROWID;
CREATE TABLE log (
    seq INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, checksum BLOB NOT NULL,
    events BLOB NOT NULL
);
CREATE INDEX log_of_project ON log (project, seq);
CREATE TABLE probe (id INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, settings BLOB NOT NULL,
    created REAL NOT NULL, dropped INTEGER NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE snapshot_parts (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL,
    checksum BLOB NOT NULL, PRIMARY KEY (project, seq, part)
);
CREATE TABLE snapshots (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, last BLOB NOT NULL,
    parts INTEGER NOT NULL, state BLOB NOT NULL, checksum BLOB NOT NULL, PRIMARY KEY (project, seq)
);
CREATE TABLE tool_answers (
    project INTEGER NOT NULL, tool TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL,
    worker TEXT NOT NULL, label TEXT, question TEXT NOT NULL, at REAL NOT NULL,
    gold INTEGER NOT NULL, deleted INTEGER NOT NULL, noted REAL NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (project, tool, id)
) WITHOUT ROWID;
CREATE INDEX tool_answers_deleted ON tool_answers (noted) WHERE deleted = 1;
CREATE INDEX tool_answers_of_task ON tool_answers (project, tool, task, worker);
