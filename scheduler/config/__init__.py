"""The configuration of a run: settings, endpoints, models, prices, limits, tiers, and the controls of operators."""
