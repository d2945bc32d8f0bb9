export { manualClock, systemClock, type Clock, type ManualClock } from './clock.ts'
export { readConfig, standardProxy } from './config.ts'
export { nodeTransport, type TransportOptions } from './http.ts'
export {
  Fault,
  fault,
  faults,
  isFault,
  isFaultCode,
  type FaultCode,
  type FaultDetails,
  type FaultSpec,
  type Problem,
} from './faults.ts'
export { isId, newId, newToken, parseToken, sha256, tokenMatches, type Token } from './ids.ts'
export { attempt, isAbort, stopSignal, ticks, type TickOptions } from './lifecycle.ts'
export { openLog, silentLog, type Logger, type LogOptions } from './log.ts'
export { probe, serveProbes, type ProbeAnswer, type ProbeServer } from './probes.ts'
export { proxyFrom, proxyOf, type ProxySettings } from './proxy.ts'
export { backoffMs, retry, type Backoff, type RetryOptions } from './retry.ts'
export { Secret } from './secret.ts'
