export { manualClock, systemClock, type Clock, type ManualClock } from './clock.ts'
export { readConfig, readNamedFile, splitList, standardProxy } from './process/config.ts'
export { openAgent, type AgentOptions, type TlsOptions } from './http/agent.ts'
export { ADDRESS_BLOCKED, guardedLookup, type ResolveName } from './http/guarded-lookup.ts'
export { hostOf, withoutBrackets } from './http/host.ts'
export { exchange, orFault, readText, type HttpCall } from './http/exchange.ts'
export {
  nodeTransport,
  secureContextWith,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from './http/transport.ts'
export { defined, type Defined } from './defined.ts'
export { endsWork, isRefusal } from './process/endings.ts'
export { exposition, type Metric, type Sample } from './exposition.ts'
export {
  Fault,
  fault,
  faults,
  isFault,
  isFaultCode,
  sentences,
  type FaultCode,
  type FaultDetails,
  type FaultSpec,
  type Problem,
  type Work,
} from './faults.ts'
export { hideLogin, hideProxyLogin } from './hide-login.ts'
export { firstId, isId, newId, newToken, parseToken, sha256, tokenMatches, type Token } from './ids.ts'
export { aborted, attempt, isAbort, stopSignal, ticks, type TickOptions } from './process/lifecycle.ts'
export { openLog, silentLog, type Logger, type LogOptions } from './log.ts'
export { probe, serveProbes, type ProbeAnswer, type ProbeServer } from './process/probes.ts'
export { proxyFrom, proxyOf, type ProxySettings } from './http/proxy.ts'
export { DRAFT_SUFFIX, writePrivateFile } from './private-file.ts'
export { parseProcessStat, type ProcessStat } from './process/process-stat.ts'
export { backoffMs, pauseMs, retry, type Backoff, type RetryOptions } from './retry.ts'
export { Secret } from './secret.ts'
export { openSerial, type Serial } from './serial.ts'
export { parseJson } from './json.ts'
export { excessOf, MAX_JSON_DEPTH, type JsonParts } from './json-parts.ts'
export { hasCode } from './system-error.ts'
export { refuseUpgrade } from './http/refuse-upgrade.ts'
export { watchUnused } from './http/unused-connections.ts'
export { explainUnreachable, isLoopback, isTlsCode, rootError, type Unreachable } from './http/unreachable.ts'
