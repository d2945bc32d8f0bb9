/** The engine process of a pod: one attempt, then exit 0 once its end is reported, or when it was told to stop or fenced. */
import { join } from 'node:path'
import { isFault, openLog, stopSignal, systemClock } from '@windlass/kit'
import { readSettings } from './config.ts'
import { startEngine } from './engine.ts'

const { config, dockerEnv } = readSettings()
const log = openLog({ name: 'engine', level: config.LOG_LEVEL })
const engine = startEngine({
  serverUrl: config.SERVER_URL,
  bootstrap: config.BOOTSTRAP,
  dockerEnv,
  askDockerHost: true,
  spoolDir: join(config.SPOOL_DIR, 'attempt'),
  spoolBytes: config.SPOOL_MB * 1_048_576,
  caFile: config.CA,
  clock: systemClock,
  log,
  toolsImage: config.TOOLS_IMAGE,
  toolsWaitMs: config.TOOLS_WAIT_MS,
  clean: true,
})
stopSignal().addEventListener('abort', () => void engine.stop())
try {
  log.info(await engine.ended, 'engine ended')
} catch (error) {
  log.error({ err: error, code: isFault(error) ? error.code : undefined }, 'engine failed')
  process.exitCode = 1
}
