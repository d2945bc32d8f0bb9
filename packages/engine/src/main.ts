/** The engine process of a pod: runs one attempt. Exits 0 once the end is reported, or after a stop request or a fence. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFault, openLog, stopSignal, systemClock } from '@windlass/kit'
import { readSettings } from './config.ts'
import { startEngine } from './engine.ts'
import { openMeasurements } from './report/measurements.ts'
import { serveMetrics } from './report/metrics.ts'
import { startPush, type Push } from './report/push.ts'
import type { OtlpSettings } from './report/otlp-settings.ts'

const { config, dockerEnv, debugTimeoutMs, scrape, otlp } = readSettings()
const log = openLog({ name: 'engine', level: config.LOG_LEVEL })
// The transport accepts additional authorities only as a file.
const caFile = config.CA_DATA === undefined ? config.CA : join(config.SPOOL_DIR, 'server-ca.pem')
if (config.CA_DATA !== undefined && caFile !== undefined) writeFileSync(caFile, Buffer.from(config.CA_DATA, 'base64'))
const metrics = scrape === undefined && otlp === undefined ? undefined : openMeasurements(systemClock)
const scraped = scrape && metrics && (await serveMetrics(metrics, scrape.port))
const push = otlp === undefined ? undefined : tryPush(otlp)
const engine = startEngine({
  metrics,
  serverUrl: config.SERVER_URL,
  bootstrap: config.BOOTSTRAP,
  isWarm: config.WARM,
  dockerEnv,
  debugTimeoutMs,
  askDockerHost: true,
  spoolDir: join(config.SPOOL_DIR, 'attempt'),
  spoolBytes: config.SPOOL_MB * 1_048_576,
  caFile,
  dockerHost: config.DOCKER_HOST,
  clock: systemClock,
  log,
  toolsImage: config.TOOLS_IMAGE,
  toolsWaitMs: config.TOOLS_WAIT_MS,
  clean: true,
})
const stopped = stopSignal()
stopped.addEventListener('abort', () => void engine.stop())
try {
  const end = await engine.ended
  if (end.end === 'reported') metrics?.end(end.outcome)
  log.info(end, 'engine ended')
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const code = isFault(error) ? error.code : undefined
  log.error({ err: error, code, url: config.SERVER_URL }, `The engine stopped: ${message}`)
  process.exitCode = 1
}
await push?.close()
if (scrape !== undefined) await systemClock.sleep(scrape.lingerMs, stopped).catch(() => undefined)
await scraped?.[Symbol.asyncDispose]()

/** Starts to push metrics. Settings that cannot be used do not fail the build. */
function tryPush(settings: OtlpSettings | string): Push | undefined {
  try {
    if (typeof settings === 'string') throw new Error(settings)
    return metrics && startPush(metrics, { settings, clock: systemClock, log })
  } catch (error) {
    log.warn({ err: error }, 'the metrics of the build are not pushed')
    return undefined
  }
}
