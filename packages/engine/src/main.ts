/** The engine process of a pod: one attempt, then exit 0 once its end is reported, or when it was told to stop or fenced. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFault, openLog, stopSignal, systemClock } from '@windlass/kit'
import { readSettings } from './config.ts'
import { startEngine } from './engine.ts'
import { openEngineMetrics, serveMetrics } from './report/metrics.ts'

const { config, dockerEnv, debugTimeoutMs, scrape } = readSettings()
const log = openLog({ name: 'engine', level: config.LOG_LEVEL })
// Only a file can be trusted besides the public authorities.
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
  log.error({ err: error, code: isFault(error) ? error.code : undefined }, 'engine failed')
  process.exitCode = 1
}
if (scrape !== undefined) await systemClock.sleep(scrape.lingerMs, stopped).catch(() => undefined)
await scraped?.[Symbol.asyncDispose]()
