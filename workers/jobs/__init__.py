"""Running a job: claim it, choose a model, fit the prompt, ask, judge the answer, settle.

`runner` claims and settles, `attempt` makes one attempt, `call_layers` lists the layers in front of the model.
Code here may use Redis, threads, the wall clock and the rooms below; it writes a run only through `Claims`.
Effects depend on the claimed case and the answer alone: no clock, no RNG. Hosts load it for inline jobs only.
"""
