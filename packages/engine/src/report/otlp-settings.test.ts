import { expect, test } from 'vitest'
import { readOtlpSettings } from './otlp-settings.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }

test('reads the variables of OpenTelemetry, of which those of metrics win', () => {
  expect(readOtlpSettings(ENDPOINT)).toEqual({
    url: 'http://collector:4318/v1/metrics',
    headers: {},
    intervalMs: 60_000,
    timeoutMs: 10_000,
    caFile: undefined,
    resource: { 'service.name': 'cf-classic-engine' },
  })
  expect(
    readOtlpSettings({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics.example.com/otlp',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'b=three%20words,=x,%zz=%zz',
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/etc/ca.pem',
      OTEL_METRIC_EXPORT_INTERVAL: '5000',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=builds,zone=a',
    }),
  ).toEqual({
    url: 'https://metrics.example.com/otlp',
    headers: { a: '1', b: 'three words' },
    intervalMs: 5000,
    timeoutMs: 2000,
    caFile: '/etc/ca.pem',
    resource: { 'service.name': 'builds', zone: 'a' },
  })
})

test('pushes nothing without an endpoint and when it is off, and reads no nonsense', () => {
  expect(readOtlpSettings({})).toBeUndefined()
  const off = [{ OTEL_SDK_DISABLED: 'true' }, { CF_TELEMETRY_OTEL_ENABLE: 'false' }, { OTEL_METRICS_EXPORTER: 'none' }]
  for (const variables of off) expect(readOtlpSettings({ ...ENDPOINT, ...variables })).toBeUndefined()
  expect(readOtlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' })).toMatch(/not an http or https URL/)
  const nonsense = { OTEL_METRIC_EXPORT_INTERVAL: '0', OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_SDK_DISABLED: 'perhaps' }
  expect(readOtlpSettings({ ...ENDPOINT, ...nonsense })).toMatchObject({ intervalMs: 60_000, timeoutMs: 10_000 })
})
