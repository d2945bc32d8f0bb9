package metrics

import "go.opentelemetry.io/otel/semconv/v1.37.0/httpconv"

// SemConvMetricsRegistry would have the metrics of OpenTelemetry.
type SemConvMetricsRegistry struct{}

func (*SemConvMetricsRegistry) HTTPServerRequestDuration() httpconv.ServerRequestDuration {
	return httpconv.ServerRequestDuration{}
}

func (*SemConvMetricsRegistry) HTTPClientRequestDuration() httpconv.ClientRequestDuration {
	return httpconv.ClientRequestDuration{}
}
