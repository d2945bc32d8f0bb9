/** The engine process of a pod: runs one attempt. Exits 0 once the end is reported, or after a stop request or a fence. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFault, openLog, stopSignal, systemClock } from '@windlass/kit'
import { readSettings } from './config.ts'
import { startEngine } from './engine.ts'
import { openEngineMetrics, serveMetrics } from './report/metrics.ts'

const { config, dockerEnv, debugTimeoutMs, scrape } = readSettings()
const log = openLog({ name: 'engine', level: config.LOG_LEVEL })
// The transport accepts additional authorities only as a file.
const caFile = config.CA_DATA === undefined ? config.CA : join(config.SPOOL_DIR, 'server-ca.pem')
if (config.CA_DATA !== undefined && caFile !== undefined) writeFileSync(caFile, Buffer.from(config.CA_DATA, 'base64'))
const metrics = scrape === undefined ? undefined : openEngineMetrics()
const scraped = scrape && metrics && (await serveMetrics(metrics, scrape.port))
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
  log.info(await engine.ended, 'engine ended')
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const code = isFault(error) ? error.code : undefined
  log.error({ err: error, code, url: config.SERVER_URL }, `The engine stopped: ${message}`)
  process.exitCode = 1
}
if (scrape !== undefined) await systemClock.sleep(scrape.lingerMs, stopped).catch(() => undefined)
await scraped?.[Symbol.asyncDispose]()
