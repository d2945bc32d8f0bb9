/** Settings of the server from the environment: `WINDLASS_SERVER_<KEY>`, or `WINDLASS_SERVER_<KEY>_FILE` for a mounted file. */
import { fault, readConfig } from '@windlass/kit'
import { z } from 'zod'
import { MIN_FREE_SHARE, RETENTION, TIMINGS } from './open-app.ts'
import type { ServerOptions } from './server.ts'

const Count = z.coerce.number().int().positive()
const Ms = z.coerce.number().int().positive()

/** Every key, with its default. */
export const ServerConfig = z.object({
  DATA_DIR: z.string().default('/var/lib/windlass').describe('Folder of the database, log chunks and keys.'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional()
    .describe('PostgreSQL instead of SQLite; several servers may share it (with one DATA_DIR).'),
  HOST: z.string().default('0.0.0.0').describe('Address to listen on.'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe('Port to listen on; 0 takes a free one.'),
  ADVERTISED_URL: z.url().optional().describe('Base URL that agents, engines and users reach this server at.'),
  TLS_CERT_PATH: z.string().optional().describe('PEM certificate; with TLS_KEY_PATH the server speaks HTTPS.'),
  TLS_KEY_PATH: z.string().optional().describe('PEM key of the certificate.'),
  TLS_CA_PATH: z.string().optional().describe('PEM authority that pods must trust to reach this server.'),
  MASTER_KEY: z.string().optional().describe('Base64 of 32 bytes that seal all secrets; made in DATA_DIR when absent.'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Least severe lines that are logged.'),
  DOCUMENT_HOSTS: z
    .string()
    .default('')
    .describe('Hosts that pipeline documents may be fetched from, separated by commas; any public or private host when empty.'),
  MIN_FREE_PERCENT: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(MIN_FREE_SHARE * 100)
    .describe('Below this share of free disk no new builds are taken.'),
  STEP_LOG_BYTES: Count.optional().describe('Most bytes of log of one step; runtime environments and pipelines may allow less.'),
  BUILD_LOG_BYTES: Count.optional().describe(
    'Most bytes of log of one build; runtime environments and pipelines may allow less.',
  ),
  BUILD_DAYS: Count.default(RETENTION.buildDays).describe('How long builds are kept after their end.'),
  LOG_DAYS: Count.default(RETENTION.logDays).describe('How long logs are kept after the end of their build.'),
  TASK_DAYS: Count.default(RETENTION.taskDays).describe('How long finished tasks of agents are kept.'),
  IDEMPOTENCY_HOURS: Count.default(RETENTION.idempotencyHours).describe('How long an Idempotency-Key is remembered.'),
  HEARTBEAT_MS: Ms.default(TIMINGS.heartbeatMs).describe('How often engines report.'),
  SUSPECT_MS: Ms.default(TIMINGS.suspectMs).describe('Silence after which an engine is suspected.'),
  DEAD_MS: Ms.default(TIMINGS.deadMs).describe('Silence after which an engine is given up.'),
  AGENT_LEASE_MS: Ms.default(TIMINGS.agentLeaseMs).describe('Silence after which an agent is offline.'),
  TASK_LEASE_MS: Ms.default(TIMINGS.taskLeaseMs).describe(
    'Time after which a task that is not acknowledged is handed out again.',
  ),
  SWEEP_MS: Ms.default(TIMINGS.sweepMs).describe('How often leases and limits are looked at.'),
  TERMINATING_MS: Ms.default(TIMINGS.terminatingMs).describe('Longest time that a terminated build may take to end.'),
  TERMINATING_SILENT_MS: Ms.default(TIMINGS.terminatingSilentMs).describe('The same without any output.'),
})
export type ServerConfig = z.output<typeof ServerConfig>

/** Reads and checks the settings. Throws `config-invalid` that lists every bad key. */
export function readServerConfig(env: Readonly<Record<string, string | undefined>>): ServerConfig {
  const config = readConfig(ServerConfig, env, 'WINDLASS_SERVER_')
  if ((config.TLS_CERT_PATH === undefined) !== (config.TLS_KEY_PATH === undefined)) {
    throw fault('config-invalid', { message: 'WINDLASS_SERVER_TLS_CERT_PATH and WINDLASS_SERVER_TLS_KEY_PATH go together.' })
  }
  if (!(config.HEARTBEAT_MS < config.SUSPECT_MS && config.SUSPECT_MS < config.DEAD_MS)) {
    throw fault('config-invalid', { message: 'HEARTBEAT_MS, SUSPECT_MS and DEAD_MS must grow in this order.' })
  }
  return config
}

export function toServerOptions(config: ServerConfig): ServerOptions {
  const { TLS_CERT_PATH: certFile, TLS_KEY_PATH: keyFile, TLS_CA_PATH: caFile } = config
  return {
    dataDir: config.DATA_DIR,
    databaseUrl: config.DATABASE_URL,
    host: config.HOST,
    port: config.PORT,
    advertisedUrl: config.ADVERTISED_URL,
    ...(certFile !== undefined && keyFile !== undefined && { tls: { certFile, keyFile, caFile } }),
    masterKey: config.MASTER_KEY,
    documentHosts: config.DOCUMENT_HOSTS.split(',').flatMap((host) => (host.trim() === '' ? [] : [host.trim()])),
    minFreeShare: config.MIN_FREE_PERCENT / 100,
    logLimits: { stepBytes: config.STEP_LOG_BYTES, buildBytes: config.BUILD_LOG_BYTES },
    retention: {
      buildDays: config.BUILD_DAYS,
      logDays: config.LOG_DAYS,
      taskDays: config.TASK_DAYS,
      idempotencyHours: config.IDEMPOTENCY_HOURS,
    },
    timings: {
      heartbeatMs: config.HEARTBEAT_MS,
      suspectMs: config.SUSPECT_MS,
      deadMs: config.DEAD_MS,
      agentLeaseMs: config.AGENT_LEASE_MS,
      taskLeaseMs: config.TASK_LEASE_MS,
      sweepMs: config.SWEEP_MS,
      terminatingMs: config.TERMINATING_MS,
      terminatingSilentMs: config.TERMINATING_SILENT_MS,
    },
  }
}
