/** The shared parts of the server. `open-app.ts` is the only place that creates them. */
import type { Clock, Logger } from '@windlass/kit'
import type { Hearing } from './builds/engine/hearing.ts'
import type { ServerLogLimits } from './builds/schedule/limits.ts'
import type { TunnelFacts } from './gitops/facts.ts'
import type { OidcProvider } from './identity/oidc/provider.ts'
import type { Renewals } from './contexts/renewals.ts'
import type { DocumentPool } from './documents/document-pool.ts'
import type { AddressPolicy } from './outbound/guarded-address.ts'
import type { Readers } from './feed/readers.ts'
import type { LogStore } from './logs/log-store.ts'
import type { Metrics } from './metrics.ts'
import type { Vault } from './secrets/vault.ts'
import type { Store } from './store/store.ts'
import type { Retention, Timings } from './settings.ts'
import type { Traces } from './traces/span.ts'

export interface App {
  readonly store: Store
  readonly vault: Vault
  readonly logs: LogStore
  readonly readers: Readers
  readonly metrics: Metrics
  /** Undefined if no endpoint for traces is set. */
  readonly traces: Traces | undefined
  /** Returns the metrics as Prometheus text, at most a second old. */
  readonly metricsPage: () => Promise<string>
  readonly clock: Clock
  readonly log: Logger
  readonly timings: Timings
  readonly retention: Retention
  readonly minFreeShare: number
  /** Addresses that the server may call for users. */
  readonly outbound: AddressPolicy
  /** The only hosts from which documents may be fetched by URL, whatever their address. Empty: any host that `outbound` allows. */
  readonly documentHosts: readonly string[]
  /** Worker pool that parses documents of users. */
  readonly documentPool: DocumentPool
  /** Maximum bytes of log per step and per build. */
  readonly logLimits: ServerLogLimits
  /** How long output of a build without followers is buffered. Milliseconds. */
  readonly logFlushMs: number
  readonly dataDir: string
  /** The account that owns all data. */
  readonly accountId: string
  readonly accountName: string
  /** Returns the base URL at which users reach this server; used for links. */
  readonly advertisedUrl: () => string
  /** The advertised URL from the settings; undefined if the server uses its listen address. */
  readonly configuredUrl: string | undefined
  /** Whether browsers get the page. */
  readonly hasPage: boolean
  /** The code of the first admin from the settings; if undefined, it is in the data folder. */
  readonly bootstrapCode: string | undefined
  readonly hearing: Hearing
  readonly renewals: Renewals
  /** Undefined if this server has no domain for tunnels of GitOps runtimes. */
  readonly tunnels: TunnelFacts | undefined
  /** The provider through which users sign in; undefined without one. */
  readonly oidc: OidcProvider | undefined
  /** PEM that pods need to trust this server; undefined without TLS or with a certificate of a public CA. */
  readonly serverCa: string | undefined
  /** Aborted when the server closes; held calls then end. */
  readonly closing: AbortSignal
}
