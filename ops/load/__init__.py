"""Load tests: profiles, their run, figures, assertions and page."""
