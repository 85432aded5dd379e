-- The model with which an arm starts if nobody asks for another one. An older arm has none.
ALTER TABLE arms ADD COLUMN default_model TEXT;
-- Which model was asked for if the arm has another one, as JSON: see coleo.ModelFallback.
ALTER TABLE arms ADD COLUMN model_fallback TEXT CHECK (model_fallback IS NULL OR json_valid(model_fallback));
