/** Settings of the server. The defaults are in `open-app.ts`. */
import type { Clock, Logger } from '@windlass/kit'
import type { ServerLogLimits } from './builds/schedule/limits.ts'
import type { TunnelOptions } from './gitops/facts.ts'
import type { OidcSettings } from './identity/oidc/settings.ts'
import type { DocumentLimits } from './documents/document-pool.ts'
import type { ReaderLimits } from './feed/readers.ts'
import type { S3Limits } from './logs/s3/client.ts'
import type { DatabaseLimits } from './store/database/postgres-pool.ts'

/** Intervals and timeouts of the server. Milliseconds; tests and chaos runs shorten them. */
export interface Timings {
  /** Interval of the heartbeats of engines. An engine without a heartbeat becomes suspect after `suspectMs` and dead after `deadMs`. */
  readonly heartbeatMs: number
  readonly suspectMs: number
  readonly deadMs: number
  /** Time without a call after which an agent is offline. */
  readonly agentLeaseMs: number
  /** Time after which an unacknowledged task is handed out again. */
  readonly taskLeaseMs: number
  /** How often leases and limits are checked. */
  readonly sweepMs: number
  /** Time after which an attempt ends if its engine runs but has not called. */
  readonly engineSilentMs: number
  /** Maximum duration of `terminating`, in total and without any output. */
  readonly terminatingMs: number
  readonly terminatingSilentMs: number
  /** Delay before a failed task is handed out again; doubles up to a minute. */
  readonly taskBackoffMs: number
  /** How often data is deleted that is older than its retention period. */
  readonly retainMs: number
  /** How often the branches of a repository are polled; 0 for never. */
  readonly pollMs: number
}

/** Retention periods, in the unit of their name. */
export interface Retention {
  readonly buildDays: number
  readonly logDays: number
  readonly taskDays: number
  readonly auditDays: number
  /** How long jobs of GitLab and their managers are kept after their last report. */
  readonly gitlabJobDays: number
  readonly idempotencyHours: number
  /** How long log files are kept that the database no longer references. */
  readonly unusedLogHours: number
}

/** Options of `startServer`; only `dataDir` is required. */
export interface ServerOptions {
  /** Folder of the database (SQLite), log chunks, master key and first-admin code; created with mode 0700 if it does not exist. */
  readonly dataDir: string
  /** `postgres://…` selects PostgreSQL, which several servers may share. They also need the same logs and master key. Default: SQLite. */
  readonly databaseUrl?: string | undefined
  /** Where logs are stored: a folder, `file:///folder` or `s3://bucket/prefix`. Default: `logs` in `dataDir`. */
  readonly logsUrl?: string | undefined
  /** Timeouts of S3; see `S3_LIMITS`. */
  readonly s3Limits?: Partial<S3Limits> | undefined
  /** Environment of the process, for credentials of clouds. Default: empty. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** Connections and timeouts of PostgreSQL; see `DATABASE_LIMITS`. */
  readonly databaseLimits?: Partial<DatabaseLimits> | undefined
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Port to listen on. 0 or undefined: any free port. */
  readonly port?: number | undefined
  /** Serves the page to browsers. Default: true. */
  readonly hasPage?: boolean | undefined
  /** Folder of the built page. Default: beside the program, or `packages/web/dist`. */
  readonly pageFolder?: string | undefined
  /** A port that serves only `/metrics`, without a credential. Default: none. */
  readonly metricsPort?: number | undefined
  /** Base URL at which users, and engines whose agent reports none, reach this server. Default: built from host and port. */
  readonly advertisedUrl?: string | undefined
  /** PEM files. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  /** PEM file of the CA that engines must trust to reach this server, or the proxy in front of it. */
  readonly caFile?: string | undefined
  /** Master keys that encrypt all secrets: base64 of 32 bytes each, separated by newlines or commas, the newest last. Default: created in `<dataDir>/master.key`. */
  readonly masterKey?: string | undefined
  /** The file that `masterKey` was read from, if any; the server reads it again while it runs. */
  readonly masterKeyFile?: string | undefined
  /** The code that creates the first admin. Default: generated in `<dataDir>/bootstrap.code` and logged. */
  readonly bootstrapCode?: string | undefined
  /** The provider through which users sign in. Default: none. */
  readonly oidc?: OidcSettings | undefined
  readonly clock?: Clock | undefined
  readonly log?: Logger | undefined
  readonly timings?: Partial<Timings> | undefined
  readonly retention?: Partial<Retention> | undefined
  /** Networks (`10.1.0.0/16`) and addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined
  /** The only hosts from which documents may be fetched by URL, even if their address is private. Default: any host with an allowed address. */
  readonly documentHosts?: readonly string[] | undefined
  /** Private networks (`10.1.0.0/16`) that the server may call for documents, forges and receivers of messages. Default: none. */
  readonly outboundNetworks?: readonly string[] | undefined
  /** Limits for parsing documents of users; see `DOCUMENT_LIMITS`. */
  readonly documentLimits?: Partial<DocumentLimits> | undefined
  /** The program that reads large documents. Default: the one beside the server. */
  readonly documentProgram?: URL | undefined
  /** The server rejects new builds while the share of free bytes or inodes (0 to 1) is lower than this. Default: 0.05. */
  readonly minFreeShare?: number | undefined
  /** Maximum bytes of log per step and per build. Runtime environments and pipelines can only lower them. */
  readonly logLimits?: ServerLogLimits | undefined
  /** Maximum open streams (followed builds, log downloads, terminals), and how long a client may read nothing; see `READER_LIMITS`. */
  readonly readerLimits?: Partial<ReaderLimits> | undefined
  /** The listener for tunnels of GitOps runtimes. Default: none. */
  readonly tunnels?: TunnelOptions | undefined
  /** How long output of a build without followers is buffered. Milliseconds. Default: 1000. */
  readonly logFlushMs?: number | undefined
}
