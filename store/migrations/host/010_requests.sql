-- What a model wants Coleo to do with other arms. It needs the approval of a person, so it is
-- a part of the suspension that asks for the approval.
ALTER TABLE suspensions ADD COLUMN request TEXT; -- JSON
ALTER TABLE suspensions ADD COLUMN outcome TEXT; -- JSON; NULL until an approved request was carried out
CREATE INDEX suspensions_to_carry_out ON suspensions (answered_at) WHERE request IS NOT NULL AND outcome IS NULL;
