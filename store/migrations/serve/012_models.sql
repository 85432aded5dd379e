-- The model with which an arm starts if nobody asks for another one. An older arm has none.
ALTER TABLE arms ADD COLUMN default_model TEXT;
-- The model that was requested, if the arm now has another model, as JSON: see coleo.ModelFallback.
ALTER TABLE arms ADD COLUMN model_fallback TEXT CHECK (model_fallback IS NULL OR json_valid(model_fallback));
