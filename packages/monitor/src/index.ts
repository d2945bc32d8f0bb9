/** Reports what runs in a cluster, read-only. */
export { startMonitor, type MonitorOptions, type RunningMonitor } from './monitor.ts'
export { summarize } from './summarize.ts'
