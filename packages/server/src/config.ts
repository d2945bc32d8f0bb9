/** Settings of the server from the environment: `WINDLASS_SERVER_<KEY>`, or `WINDLASS_SERVER_<KEY>_FILE` for a mounted file. */
import { isIP } from 'node:net'
import { fault, readConfig, splitList } from '@windlass/kit'
import { LogLevel, Port } from '@windlass/kit/settings'
import { HttpUrl } from '@windlass/protocol'
import { z } from 'zod'
import { isNetwork } from './outbound/networks.ts'
import { READER_LIMITS } from './feed/readers.ts'
import { toTunnelOptions, TUNNEL_KEYS } from './gitops/config.ts'
import { OIDC_KEYS, toOidcSettings } from './identity/oidc/settings.ts'
import { LOG_FLUSH_MS, MIN_FREE_SHARE, RETENTION, TIMINGS } from './open-app.ts'
import { DATABASE_LIMITS } from './store/database/postgres-pool.ts'
import type { ServerOptions } from './settings.ts'

const Count = z.coerce.number().int().positive()
const Ms = z.coerce.number().int().positive()

/** All settings with their defaults. */
export const ServerConfig = z.object({
  DATA_DIR: z
    .string()
    .default('/var/lib/windlass')
    .describe('Folder of the SQLite database, of keys, and of logs unless LOGS_URL is set.'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional()
    .describe(
      'URL of PostgreSQL, which several servers may share; they also need the same LOGS_URL (or a shared DATA_DIR), MASTER_KEY and BOOTSTRAP_CODE. SQLite if not set.',
    ),
  LOGS_URL: z
    .string()
    .optional()
    .describe(
      'Where logs are stored: a folder, or s3://BUCKET/PREFIX with the parameters region, endpoint, style, sse and kmsKeyId; DATA_DIR/logs if not set.',
    ),
  DATABASE_CONNECTIONS: Count.default(DATABASE_LIMITS.connections).describe(
    'PostgreSQL: maximum connections of this server, in addition to one for wake-ups.',
  ),
  DATABASE_CONNECT_MS: Ms.default(DATABASE_LIMITS.connectMs).describe('PostgreSQL: maximum wait for a connection.'),
  DATABASE_STATEMENT_MS: Ms.default(DATABASE_LIMITS.statementMs).describe(
    'PostgreSQL: maximum duration of one statement; schema migrations have no limit.',
  ),
  DATABASE_LOCK_MS: Ms.default(DATABASE_LIMITS.lockMs).describe(
    'PostgreSQL: maximum wait for a lock, for example while another server elects.',
  ),
  DATABASE_IDLE_MS: Ms.default(DATABASE_LIMITS.idleMs).describe(
    'PostgreSQL: time after which it rolls back an idle transaction.',
  ),
  DATABASE_KEEPALIVE_MS: Ms.default(DATABASE_LIMITS.keepAliveMs).describe(
    'PostgreSQL: idle time of a connection before the kernel sends TCP keepalive probes.',
  ),
  HOST: z.string().default('0.0.0.0').describe('Address to listen on.'),
  PORT: Port.default(8080).describe('Port to listen on; 0 selects a free port.'),
  METRICS_PORT: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port that serves /metrics without a credential. With a credential, PORT also serves /metrics.'),
  UI: z
    .stringbool()
    .default(true)
    .describe('Serves the page to browsers; `false` serves only the API and the pages for sign-in and shared builds.'),
  ADVERTISED_URL: HttpUrl.optional().describe(
    'Base URL at which users reach this server; used for links. Engines use the URL of their agent, or this URL if the agent has none.',
  ),
  TLS_CERT_PATH: z.string().optional().describe('PEM certificate; set it with TLS_KEY_PATH to serve HTTPS.'),
  TLS_KEY_PATH: z.string().optional().describe('PEM key of the certificate.'),
  TLS_CA_PATH: z
    .string()
    .optional()
    .describe(
      'PEM file of the CA that engines must trust to reach this server, including when a proxy in front of it terminates TLS.',
    ),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .refine(
      (text) => splitList(text).every((proxy) => isNetwork(proxy) || isIP(proxy) !== 0),
      'must be addresses or networks such as 10.1.0.0/16',
    )
    .describe(
      'Addresses and networks such as 10.1.0.0/16 of the proxies in front of this server, separated by commas. Their X-Forwarded-For and X-Forwarded-Proto are believed, so that failed sign-ins are counted by client and not by proxy.',
    ),
  MASTER_KEY: z
    .string()
    .optional()
    .describe(
      'Master keys that encrypt all secrets: base64 of 32 bytes each, separated by newlines or commas, the newest last; created in DATA_DIR if not set.',
    ),
  BOOTSTRAP_CODE: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .describe('Code that creates the first admin; if not set, the server generates one in DATA_DIR/bootstrap.code and logs it.'),
  ...OIDC_KEYS,
  ...TUNNEL_KEYS,
  LOG_LEVEL: LogLevel,
  DOCUMENT_HOSTS: z
    .string()
    .default('')
    .describe(
      'The only hosts from which pipeline documents may be fetched, even if their address is private, separated by commas; any host with an allowed address if empty.',
    ),
  OUTBOUND_NETWORKS: z
    .string()
    .default('')
    .refine((text) => splitList(text).every(isNetwork), 'must be networks such as 10.1.0.0/16')
    .describe(
      'Private networks such as 10.1.0.0/16 that the server may call for documents, forges and receivers of messages, separated by commas.',
    ),
  MIN_FREE_PERCENT: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(MIN_FREE_SHARE * 100)
    .describe('Reject new builds while less than this percentage of bytes or inodes is free on the data or log disk.'),
  STEP_LOG_BYTES: Count.optional().describe(
    'Maximum log bytes of one step; runtime environments and pipelines may set a lower limit.',
  ),
  BUILD_LOG_BYTES: Count.optional().describe(
    'Maximum log bytes of one build; runtime environments and pipelines may set a lower limit.',
  ),
  LOG_FLUSH_MS: Ms.default(LOG_FLUSH_MS).describe('How long output of a build without followers is buffered.'),
  READERS: Count.default(READER_LIMITS.total).describe(
    'Maximum open streams: followed builds, log downloads, terminals, topics of pages. Further requests get 429.',
  ),
  READERS_PER_KEY: Count.default(READER_LIMITS.perKey).describe('Maximum open streams of one API key.'),
  READER_STALL_MS: Ms.default(READER_LIMITS.stallMs).describe(
    'A stream is closed if its client reads nothing for this long; the client may resume.',
  ),
  BUILD_DAYS: Count.default(RETENTION.buildDays).describe('How long builds are kept after their end.'),
  LOG_DAYS: Count.default(RETENTION.logDays).describe('How long logs are kept after the end of their build.'),
  TASK_DAYS: Count.default(RETENTION.taskDays).describe('How long finished tasks of agents are kept.'),
  AUDIT_DAYS: Count.default(RETENTION.auditDays).describe('How long records of the audit log are kept.'),
  GITLAB_JOB_DAYS: Count.default(RETENTION.gitlabJobDays).describe(
    'How long jobs of GitLab, and the managers that report them, are kept after their last report.',
  ),
  IDEMPOTENCY_HOURS: Count.default(RETENTION.idempotencyHours).describe(
    'How long responses to calls with an Idempotency-Key are kept.',
  ),
  UNUSED_LOG_HOURS: Count.default(RETENTION.unusedLogHours).describe(
    'How long log files are kept that the database no longer references. A database backup up to this age can be restored without losing logs.',
  ),
  HEARTBEAT_MS: Ms.default(TIMINGS.heartbeatMs).describe('Interval of the heartbeats of engines.'),
  SUSPECT_MS: Ms.default(TIMINGS.suspectMs).describe('Time without a heartbeat after which an engine is suspect.'),
  DEAD_MS: Ms.default(TIMINGS.deadMs).describe('Time without a heartbeat after which an engine is considered dead.'),
  AGENT_LEASE_MS: Ms.default(TIMINGS.agentLeaseMs).describe('Time without a call after which an agent is offline.'),
  TASK_LEASE_MS: Ms.default(TIMINGS.taskLeaseMs).describe('Time after which an unacknowledged task is handed out again.'),
  SWEEP_MS: Ms.default(TIMINGS.sweepMs).describe('How often leases and limits are checked.'),
  POLL_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(TIMINGS.pollMs)
    .describe(
      'How often the branches of repositories with triggers are compared, to find pushes that no webhook call reported; 0 for never.',
    ),
  ENGINE_SILENT_MS: Ms.default(TIMINGS.engineSilentMs).describe(
    'Time after which an attempt ends if its engine runs but has not called.',
  ),
  TERMINATING_MS: Ms.default(TIMINGS.terminatingMs).describe('Maximum time that a terminated build may take to end.'),
  TERMINATING_SILENT_MS: Ms.default(TIMINGS.terminatingSilentMs).describe(
    'Maximum time that a terminated build may take to end without any output.',
  ),
})
export type ServerConfig = z.output<typeof ServerConfig>

/** The settings, the file of the master keys if they were read from one, and the environment. */
export type ServerSettings = ServerConfig & {
  readonly masterKeyFile?: string | undefined
  /** The whole environment, for credentials of clouds. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Reads and validates the settings. Throws `config-invalid` that lists every invalid key. */
export function readServerConfig(env: Readonly<Record<string, string | undefined>>): ServerSettings {
  if (env['WINDLASS_SERVER_DOCUMENT_NETWORKS'] !== undefined) {
    throw fault('config-invalid', {
      message: 'WINDLASS_SERVER_DOCUMENT_NETWORKS was renamed.',
      hint: 'Set WINDLASS_SERVER_OUTBOUND_NETWORKS instead. It holds for all calls of the server.',
    })
  }
  const config = readConfig(ServerConfig, env, 'WINDLASS_SERVER_')
  if ((config.TLS_CERT_PATH === undefined) !== (config.TLS_KEY_PATH === undefined)) {
    throw fault('config-invalid', {
      message: 'Only one of WINDLASS_SERVER_TLS_CERT_PATH and WINDLASS_SERVER_TLS_KEY_PATH is set.',
      hint: 'Set both or neither.',
    })
  }
  if (!(config.HEARTBEAT_MS < config.SUSPECT_MS && config.SUSPECT_MS < config.DEAD_MS)) {
    throw fault('config-invalid', {
      message: 'HEARTBEAT_MS must be less than SUSPECT_MS, and SUSPECT_MS less than DEAD_MS.',
      hint: 'Correct the three settings, or remove them to use the defaults.',
    })
  }
  const { WINDLASS_SERVER_MASTER_KEY: given = '', WINDLASS_SERVER_MASTER_KEY_FILE: file = '' } = env
  return { ...config, environment: env, ...(given === '' && file !== '' && { masterKeyFile: file }) }
}

export function toServerOptions(config: ServerSettings): ServerOptions {
  const { TLS_CERT_PATH: certFile, TLS_KEY_PATH: keyFile, TLS_CA_PATH: caFile } = config
  return {
    dataDir: config.DATA_DIR,
    databaseUrl: config.DATABASE_URL,
    logsUrl: config.LOGS_URL,
    environment: config.environment,
    databaseLimits: {
      connections: config.DATABASE_CONNECTIONS,
      connectMs: config.DATABASE_CONNECT_MS,
      statementMs: config.DATABASE_STATEMENT_MS,
      lockMs: config.DATABASE_LOCK_MS,
      idleMs: config.DATABASE_IDLE_MS,
      keepAliveMs: config.DATABASE_KEEPALIVE_MS,
    },
    host: config.HOST,
    port: config.PORT,
    metricsPort: config.METRICS_PORT,
    hasPage: config.UI,
    advertisedUrl: config.ADVERTISED_URL,
    ...(certFile !== undefined && keyFile !== undefined && { tls: { certFile, keyFile } }),
    caFile,
    masterKey: config.MASTER_KEY,
    masterKeyFile: config.masterKeyFile,
    bootstrapCode: config.BOOTSTRAP_CODE,
    oidc: toOidcSettings(config),
    trustedProxies: splitList(config.TRUSTED_PROXIES),
    tunnels: toTunnelOptions(config),
    documentHosts: splitList(config.DOCUMENT_HOSTS),
    outboundNetworks: splitList(config.OUTBOUND_NETWORKS),
    minFreeShare: config.MIN_FREE_PERCENT / 100,
    logLimits: { stepBytes: config.STEP_LOG_BYTES, buildBytes: config.BUILD_LOG_BYTES },
    logFlushMs: config.LOG_FLUSH_MS,
    readerLimits: { total: config.READERS, perKey: config.READERS_PER_KEY, stallMs: config.READER_STALL_MS },
    retention: {
      buildDays: config.BUILD_DAYS,
      logDays: config.LOG_DAYS,
      taskDays: config.TASK_DAYS,
      auditDays: config.AUDIT_DAYS,
      gitlabJobDays: config.GITLAB_JOB_DAYS,
      idempotencyHours: config.IDEMPOTENCY_HOURS,
      unusedLogHours: config.UNUSED_LOG_HOURS,
    },
    timings: {
      heartbeatMs: config.HEARTBEAT_MS,
      suspectMs: config.SUSPECT_MS,
      deadMs: config.DEAD_MS,
      agentLeaseMs: config.AGENT_LEASE_MS,
      taskLeaseMs: config.TASK_LEASE_MS,
      sweepMs: config.SWEEP_MS,
      pollMs: config.POLL_MS,
      engineSilentMs: config.ENGINE_SILENT_MS,
      terminatingMs: config.TERMINATING_MS,
      terminatingSilentMs: config.TERMINATING_SILENT_MS,
    },
  }
}
