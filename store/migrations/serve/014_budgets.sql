-- The newest event about a budget of the arm, as JSON: see coleo.BudgetChange.
ALTER TABLE arms ADD COLUMN budget TEXT CHECK (budget IS NULL OR json_valid(budget));
