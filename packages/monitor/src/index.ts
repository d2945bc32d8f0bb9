/** Reports the objects of a cluster to the server. Read-only. */
export { startMonitor, type MonitorOptions, type RunningMonitor } from './monitor.ts'
export { summarize } from './summarize.ts'
