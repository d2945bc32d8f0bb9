/** Reports the applications of Argo CD, the rollouts and the workflows of a cluster. Read-only. */
export { ReporterConfig, readReporterConfig, toReporterOptions } from './config.ts'
export { serveReporterHealth } from './health.ts'
export { startReporter, type Reporter, type ReporterOptions, type ReporterStatus } from './reporter.ts'
