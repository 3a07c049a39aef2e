"""The picture of the Grafana dashboard in docs/images, drawn with Grafana's own panel components."""
