-- The questions on which the arm waits, as JSON, without the dialog on its screen.
ALTER TABLE arms ADD COLUMN suspensions TEXT;
