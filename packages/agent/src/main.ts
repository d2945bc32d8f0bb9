/**
 * The agent process in a cluster. Exit codes: 0 stopped; 3 another process took over its identity; 4 refused by the server; 1 any other
 * error.
 */
import { isAbort, isFault, openLog, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { isFatal, type Agent } from './agent.ts'
import { agentConfig, environment, type AgentConfig } from './config.ts'
import { serveHealth } from './health.ts'
import { openParts, openRelay, startByProtocol, tokenStoreOf } from './process.ts'
import { renewTokens } from './runtimes/renew-tokens.ts'

const EXIT = { stopped: 0, failed: 1, fenced: 3, refused: 4 } as const

async function run(config: Readonly<AgentConfig>, log: Logger): Promise<number> {
  const signal = stopSignal()
  const parts = await openParts(config, environment(), log)
  const { clusters } = parts
  let agent: (Agent & { metrics?: () => Promise<string> }) | undefined
  const relay = await openRelay(parts)
  const runtimes = (): number => clusters.all().filter(({ entry }) => entry.name !== '').length
  const more = async (): Promise<string> => `${relay?.metrics() ?? ''}${(await agent?.metrics?.()) ?? ''}`
  const health =
    config.PORT === undefined
      ? undefined
      : await serveHealth({ agent: () => agent, runtimes, more, clock: systemClock, port: config.PORT })
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const store = tokenStoreOf(parts)
  const files = clusters.follow(either)
  const tokens = store === undefined ? undefined : renewTokens({ clusters, store, clock: systemClock, log }, either)
  try {
    agent = await startByProtocol({ ...parts, relay }, signal)
    if (signal.aborted) await agent.close()
    else signal.addEventListener('abort', () => void agent?.close(), { once: true })
    await agent.ended
    return EXIT.stopped
  } catch (error) {
    if (isAbort(error) && signal.aborted) return EXIT.stopped
    if (isFault(error, 'agent-fenced')) return EXIT.fenced
    if (isFatal(error)) return EXIT.refused
    throw error
  } finally {
    // The manager of a pod that stops runs its jobs to their end, and reports them until then.
    if (signal.aborted) await relay?.drained()
    await relay?.[Symbol.asyncDispose]()
    await health?.[Symbol.asyncDispose]()
    over.abort()
    await files
    await tokens
    clusters.close()
  }
}

const log = openLog({ level: 'info', name: 'agent' })
try {
  const config = agentConfig(environment(), process.argv.slice(2))
  process.exitCode = await run(config, openLog({ level: config.LOG_LEVEL, name: 'agent' }))
} catch (error) {
  log.fatal({ err: error }, 'agent failed')
  process.exitCode = EXIT.failed
}
