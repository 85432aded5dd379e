-- The open questions that the arm has asked with Coleo's tools, as JSON. The dialog on its screen is not
-- one of them.
ALTER TABLE arms ADD COLUMN suspensions TEXT;
