"""What a run is configured with: settings, endpoints, models, prices, limits, tiers, and the words of operators."""
