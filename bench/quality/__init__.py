"""Quality without a model, measured on recorded data."""
