/** What the docker executor of an agent needs on a host: engines in this process, their containers on the host's daemon. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttemptRef, DockerParts } from '@windlass/agent'
import { startEngine, type Docker } from '@windlass/engine'
import { fault, type Clock, type Logger } from '@windlass/kit'
import { openMarks } from './attempt-marks.ts'

export interface DockerHostOptions {
  readonly docker: Docker
  /** Folder of this agent alone: spools of engines, marks of attempts. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
}

const SWEEP_TRIES = 20
const SWEEP_PAUSE_MS = 250

/** Labels that the engine puts on every container. */
function labelsOf({ buildId, attempt }: AttemptRef): string[] {
  return [`windlass.io/build=${buildId}`, `windlass.io/attempt=${attempt}`]
}

/** Opens the host. Spools that an earlier process left are of no use: their attempt is over. */
export async function openDockerHost(options: DockerHostOptions): Promise<DockerParts> {
  const { docker, folder, environment, clock, log } = options
  const marks = await openMarks(join(folder, 'attempts'))
  const spools = join(folder, 'spool')
  await rm(spools, { recursive: true, force: true })
  return {
    async runEngine(task, signal) {
      const ref = { buildId: task.buildId, attempt: task.attempt }
      await marks.add(ref)
      const spoolDir = join(spools, `${task.buildId}.${task.attempt}`)
      const { bootstrap, serverUrl } = task.engine
      const engine = startEngine({ serverUrl, bootstrap, dockerEnv: environment, spoolDir, clock, log: log.child(ref) })
      const stop = (): void =>
        void engine.stop().catch((error: unknown) => log.warn({ err: error, ...ref }, 'engine not stopped'))
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      try {
        await engine.ended
      } finally {
        signal.removeEventListener('abort', stop)
        await rm(spoolDir, { recursive: true, force: true })
      }
    },
    async sweep(ref) {
      for (let n = 0; ; n += 1) {
        const left = await docker.listContainers(labelsOf(ref))
        if (left.length === 0) break
        if (n === SWEEP_TRIES)
          throw fault('docker-refused', { message: `${left.length} containers of build ${ref.buildId} cannot be removed.` })
        await Promise.all(left.map(({ id }) => docker.removeContainer(id)))
        if (n > 0) await clock.sleep(SWEEP_PAUSE_MS)
      }
      await marks.remove(ref)
    },
    list: () => marks.list(),
  }
}
