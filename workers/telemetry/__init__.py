"""OpenTelemetry: one trace for each job, from its request to its end, and the metrics of calls to models.

Off unless OpenTelemetry's own variables name an endpoint (`OTEL_EXPORTER_OTLP_ENDPOINT`); then the extra `telemetry`
must be installed. Nothing of it is stored: the ids of a job's trace follow from its id and its run, so host, workers
and a host that resumes the run name the same trace, and neither ledger, journal nor digest knows of it.
"""
