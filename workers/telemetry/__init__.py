"""OpenTelemetry: one trace per job, from its request to its end, and metrics of calls to models.

Off unless OpenTelemetry's own variables name an endpoint (`OTEL_EXPORTER_OTLP_ENDPOINT`); then the extra `telemetry`
must be installed. Nothing is stored: the ids of a job's trace derive from its id and its run, so the host, workers and
a host that resumes the run use the same trace, and ledger, journal and digest are unaffected.
"""
