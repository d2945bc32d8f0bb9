/** The host of the Docker executor: engines in this process, and containers on the daemon of this host. */
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttemptRef, DockerParts } from '@windlass/agent'
import { startEngine, type Docker, type EngineOptions } from '@windlass/engine'
import type { Clock, Logger } from '@windlass/kit'
import { openMarks, type AttemptMark, type AttemptMarks } from './runs/attempt-marks.ts'
import { buildLabel, sweepContainers } from './runs/sweep-containers.ts'

export interface DockerHostOptions {
  readonly docker: Docker
  /** Folder used only by this agent, for spools of engines and marks of attempts. */
  readonly folder: string
  readonly serverUrl: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
}

/** Maximum time for sending what an earlier process left in its spools. Milliseconds. */
const RECOVERY_MS = 20_000

/** Opens the host. First sends what the engines of an earlier process left in their spools. */
export async function openDockerHost(options: DockerHostOptions): Promise<DockerParts> {
  const { docker, folder, clock, log } = options
  const marks = await openMarks(join(folder, 'attempts'))
  const spools = join(folder, 'spool')
  const spoolOf = ({ buildId, attempt }: AttemptRef): string => join(spools, `${buildId}.${attempt}`)
  await recover(options, { marks, spools, spoolOf })
  return {
    async runEngine(task, signal) {
      const ref = { buildId: task.buildId, attempt: task.attempt }
      await marks.add({ ref, bootstrap: task.engine.bootstrap })
      const engine = startEngine(engineOptions(options, { ref, bootstrap: task.engine.bootstrap }, spoolOf(ref)))
      const stop = (): void =>
        void engine.stop().catch((error: unknown) => log.warn({ err: error, ...ref }, 'engine not stopped'))
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      try {
        await engine.ended
      } finally {
        signal.removeEventListener('abort', stop)
        await rm(spoolOf(ref), { recursive: true, force: true })
      }
    },
    async sweep(ref) {
      await sweepContainers(docker, [buildLabel(ref.buildId), `windlass.io/attempt=${ref.attempt}`], clock)
      await marks.remove(ref)
    },
    list: async () => (await marks.list()).map(({ ref }) => ref),
  }
}

interface Recovery {
  readonly marks: AttemptMarks
  readonly spools: string
  readonly spoolOf: (ref: AttemptRef) => string
}

/** Starts an engine for each spool that is left. It sends the content and gives up the attempt; the server then starts the next one. */
async function recover(options: DockerHostOptions, { marks, spools, spoolOf }: Recovery): Promise<void> {
  const known = (await marks.list()).filter(({ ref }) => existsSync(spoolOf(ref)))
  await Promise.all(
    known.map(async (mark) => {
      const engine = startEngine(engineOptions(options, mark, spoolOf(mark.ref)))
      const timeout = new AbortController()
      const late = options.clock.sleep(RECOVERY_MS, timeout.signal).then(
        () => engine.stop(),
        () => undefined,
      )
      await engine.ended.catch((error: unknown) => options.log.warn({ err: error, ...mark.ref }, 'spool not sent'))
      timeout.abort()
      await late
    }),
  )
  for (const name of await readdir(spools).catch(() => [])) await rm(join(spools, name), { recursive: true, force: true })
}

function engineOptions(options: DockerHostOptions, { ref, bootstrap }: AttemptMark, spoolDir: string): EngineOptions {
  const { serverUrl, environment, clock, log } = options
  return { serverUrl, bootstrap, dockerEnv: environment, spoolDir, clock, log: log.child({ ...ref }) }
}
