/** Settings of the engine process in a pod: `WINDLASS_ENGINE_<KEY>`, or `WINDLASS_ENGINE_<KEY>_FILE` for a mounted file. */
import { readConfig } from '@windlass/kit'
import { z } from 'zod'
import { TOOLS_IMAGE } from './attempt/context.ts'
import { readOtlpSettings, type OtlpSettings } from './report/otlp-settings.ts'

export const EngineConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server'),
  BOOTSTRAP: z.string().min(1).describe('One-time credential that the engine exchanges for its build'),
  CA: z.string().optional().describe('PEM file with additional certificate authorities for the server'),
  CA_DATA: z.base64().optional().describe('The same PEM as base64, for pods that cannot mount a file'),
  WARM: z.stringbool().default(false).describe('Wait for a build before claiming; set for the engine of a warm pair'),
  SPOOL_DIR: z
    .string()
    .default('/var/spool/windlass')
    .describe('Folder for events and logs that the server has not acknowledged yet'),
  SPOOL_MB: z.coerce
    .number()
    .int()
    .positive()
    .default(4096)
    .describe('Maximum MiB of unacknowledged log; steps are blocked above it'),
  DOCKER_HOST: z.string().optional().describe("Address of the build's Docker daemon, if its certificate comes with the claim"),
  DOCKER_SERVER_NAME: z.string().optional().describe("Name in the certificate of the build's Docker daemon"),
  TOOLS_IMAGE: z.string().default(TOOLS_IMAGE).describe('Image for cloning, building and holding network namespaces'),
  TOOLS_WAIT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(120_000)
    .describe('How long to wait for the tools image to be loaded onto an empty disk before pulling it'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Minimum level of the log on standard error'),
})
export type EngineConfig = z.output<typeof EngineConfig>

/** The default port of OpenTelemetry's Prometheus exporters. */
const METRICS_PORT = 9464

/** Variables that runtimes set under Codefresh's names. */
const CodefreshVariables = z.object({
  DEBUGGER_TIMEOUT: z.coerce.number().positive().max(1440).optional().catch(undefined),
  METRICS_PROMETHEUS_ENABLED: z.stringbool().catch(false),
  METRICS_SCRAPE_TIMEOUT_MS: z.coerce.number().int().min(0).max(600_000).catch(0),
})

export interface ProcessSettings {
  readonly config: Readonly<EngineConfig>
  /** Environment for the Docker client. */
  readonly dockerEnv: Readonly<Record<string, string | undefined>>
  /** Default hold time of a debug run: `DEBUGGER_TIMEOUT` of the runtime, in minutes there. */
  readonly debugTimeoutMs: number | undefined
  /** Where Prometheus scrapes, and how long after the end (`METRICS_PROMETHEUS_ENABLED`, `METRICS_SCRAPE_TIMEOUT_MS`). */
  readonly scrape: { readonly port: number; readonly lingerMs: number } | undefined
  /** Where metrics are pushed; a text says why they cannot be. */
  readonly otlp: OtlpSettings | string | undefined
}

/** Reads the environment of the process. Throws `config-invalid`. */
export function readSettings(env: Readonly<Record<string, string | undefined>> = process.env): ProcessSettings {
  const config = readConfig(EngineConfig, env, 'WINDLASS_ENGINE_')
  const variables = CodefreshVariables.parse(env)
  const { DEBUGGER_TIMEOUT: minutes } = variables
  const scrape = { port: METRICS_PORT, lingerMs: variables.METRICS_SCRAPE_TIMEOUT_MS }
  const dockerEnv = { ...env, DOCKER_TLS_SERVER_NAME: config.DOCKER_SERVER_NAME ?? env['DOCKER_TLS_SERVER_NAME'] }
  return {
    config,
    dockerEnv,
    debugTimeoutMs: minutes === undefined ? undefined : minutes * 60_000,
    scrape: variables.METRICS_PROMETHEUS_ENABLED ? scrape : undefined,
    otlp: readOtlpSettings(env),
  }
}
