/** What the rooms of the server share. Put together here and nowhere else. */
import type { Clock, Logger } from '@windlass/kit'
import type { ServerLogLimits } from './builds/limits.ts'
import type { LogStore } from './logs/log-store.ts'
import type { Metrics } from './metrics.ts'
import type { Vault } from './secrets/vault.ts'
import type { Retention, Timings } from './server.ts'
import type { Store } from './store/store.ts'

export interface App {
  readonly store: Store
  readonly vault: Vault
  readonly logs: LogStore
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
  readonly timings: Timings
  readonly retention: Retention
  readonly minFreeShare: number
  /** Hosts that documents may be fetched from; any but forbidden addresses when empty. */
  readonly documentHosts: readonly string[]
  /** Most bytes of log of any step and any build. */
  readonly logLimits: ServerLogLimits
  readonly dataDir: string
  /** The account everything belongs to. */
  readonly accountId: string
  readonly accountName: string
  /** Base URL at which agents, engines and users reach this server. */
  readonly advertisedUrl: () => string
  /** PEM that pods need to trust this server; undefined when a public authority signed for it, or without TLS. */
  readonly serverCa: string | undefined
  /** Aborted when the server closes: held calls end. */
  readonly closing: AbortSignal
}
