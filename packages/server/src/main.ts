/**
 * The process of a control plane. It ends within 5 s after SIGTERM, or within 25 s while it renews a token. A kill at any time loses nothing that was
 * acknowledged.
 */
import { aborted, isFault, openLog, stopSignal } from '@windlass/kit'
import { readServerConfig, toServerOptions } from './config.ts'
import { startServer } from './server.ts'

async function main(): Promise<number> {
  const signal = stopSignal()
  try {
    const config = readServerConfig(process.env)
    const log = openLog({ level: config.LOG_LEVEL, name: 'server' })
    const server = await startServer({ ...toServerOptions(config), log })
    await aborted(signal)
    await server.close()
    return 0
  } catch (error) {
    if (!isFault(error)) throw error
    process.stderr.write(`${error.message}\n${error.hint}\n`)
    return 1
  }
}

process.exitCode = await main()
