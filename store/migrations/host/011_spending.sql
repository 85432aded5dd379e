-- What models have cost, for budgets. An account is an arm, a project or the fleet. A call of a model
-- counts in several accounts, at the price that the model had at that time.
CREATE TABLE spending (
    account TEXT NOT NULL, -- arm:ID, project:FOLDER or fleet
    day     TEXT NOT NULL, -- as 2026-01-31, in the host's time zone
    dollars REAL NOT NULL,
    PRIMARY KEY (account, day)
) STRICT, WITHOUT ROWID;
