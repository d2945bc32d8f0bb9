/** Settings of the engine process in a pod. `WINDLASS_ENGINE_<KEY>`, or `WINDLASS_ENGINE_<KEY>_FILE` for a mounted file. */
import { readConfig } from '@windlass/kit'
import { z } from 'zod'
import { TOOLS_IMAGE } from './attempt/context.ts'

export const EngineConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server'),
  BOOTSTRAP: z.string().min(1).describe('Credential for one exchange, which tells the engine what to run'),
  CA: z.string().optional().describe('PEM file of further certificate authorities of the server'),
  CA_DATA: z.base64().optional().describe('The same as base64, where no file can be mounted'),
  WARM: z.stringbool().default(false).describe('Wait for a build before claiming: the engine of a pair that is kept ready'),
  SPOOL_DIR: z.string().default('/var/spool/windlass').describe('Folder for what the server has not acknowledged yet'),
  SPOOL_MB: z.coerce
    .number()
    .int()
    .positive()
    .default(4096)
    .describe('Most MiB of log that wait for the server; steps are held up beyond'),
  DOCKER_HOST: z
    .string()
    .optional()
    .describe("Address of the build's Docker daemon, where only the claim brings its certificate"),
  DOCKER_SERVER_NAME: z.string().optional().describe("Name in the certificate of the build's Docker daemon"),
  TOOLS_IMAGE: z.string().default(TOOLS_IMAGE).describe('Image that clones, builds and keeps network namespaces'),
  TOOLS_WAIT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(120_000)
    .describe('How long the tools image may take to be loaded into an empty disk before it is pulled'),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least level of what the engine logs on standard error'),
})
export type EngineConfig = z.output<typeof EngineConfig>

/** The port of OpenTelemetry's Prometheus exporters, which users' monitors know. */
const METRICS_PORT = 9464

/** Variables that runtimes set by the vendor's names (runner specification 3.4). */
const Vendor = z.object({
  DEBUGGER_TIMEOUT: z.coerce.number().positive().max(1440).optional().catch(undefined),
  METRICS_PROMETHEUS_ENABLED: z.stringbool().catch(false),
  METRICS_SCRAPE_TIMEOUT_MS: z.coerce.number().int().min(0).max(600_000).catch(0),
})

export interface ProcessSettings {
  readonly config: Readonly<EngineConfig>
  /** What the docker client reads. */
  readonly dockerEnv: Readonly<Record<string, string | undefined>>
  /** How long a debug run that does not say holds a step: `DEBUGGER_TIMEOUT`, in minutes, of the runtime. */
  readonly debugTimeoutMs: number | undefined
  /** Where Prometheus reads, and how long it may after the end (`METRICS_PROMETHEUS_ENABLED`, `METRICS_SCRAPE_TIMEOUT_MS`). */
  readonly scrape: { readonly port: number; readonly lingerMs: number } | undefined
}

/** Reads the environment of the process. Throws `config-invalid`. */
export function readSettings(env: Readonly<Record<string, string | undefined>> = process.env): ProcessSettings {
  const config = readConfig(EngineConfig, env, 'WINDLASS_ENGINE_')
  const vendor = Vendor.parse(env)
  const { DEBUGGER_TIMEOUT: minutes } = vendor
  const scrape = { port: METRICS_PORT, lingerMs: vendor.METRICS_SCRAPE_TIMEOUT_MS }
  const dockerEnv = { ...env, DOCKER_TLS_SERVER_NAME: config.DOCKER_SERVER_NAME ?? env['DOCKER_TLS_SERVER_NAME'] }
  return {
    config,
    dockerEnv,
    debugTimeoutMs: minutes === undefined ? undefined : minutes * 60_000,
    scrape: vendor.METRICS_PROMETHEUS_ENABLED ? scrape : undefined,
  }
}
