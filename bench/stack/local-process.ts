/** `node local-process.ts FOLDER`: the processes of `windlass up`. Prints `ready <url>`. */
import { openLog, systemClock } from '@windlass/kit'
import { startLocalServer } from '@windlass/local'
import { benchConfig } from '../config.ts'

const server = await startLocalServer({
  dataDir: process.argv[2] ?? '',
  host: '127.0.0.1',
  port: 0,
  environment: benchConfig.environment,
  clock: systemClock,
  log: openLog({ level: 'info', name: 'local' }),
})
console.log(`ready ${server.url}`)
