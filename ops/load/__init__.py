"""Load tests: profiles, execution, figures, assertions and page."""
