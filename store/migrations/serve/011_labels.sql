-- The labels that a person has given to an arm, as a JSON object. An older arm has no labels.
ALTER TABLE arms ADD COLUMN labels TEXT;
