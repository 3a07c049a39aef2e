"""Load tests: profiles, execution, figures, assertions and page.

May import the rooms of `cogitate.ops` below it (`report`, `estimate`, `formatting`, `fake_llm`), and every package.
Starts a server, workers and a stand-in endpoint, measures time, and writes one HTML page.
"""
