/** Local builds that are going on, as folders: what a process that was killed left on the daemon is removed by the next one. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Docker } from '@windlass/engine'
import type { Clock } from '@windlass/kit'
import { buildLabel, sweepContainers } from './sweep-containers.ts'

export interface LocalRun {
  /** For the spool of the engine. */
  readonly spoolDir: string
  /** Removes whatever the build still has on the daemon, and its folder. */
  end(): Promise<void>
}

export interface LocalRunPlace {
  readonly docker: Docker
  readonly stateDir: string
  readonly buildId: string
  readonly clock: Clock
}

/** Marks the build as going on, and clears away those whose process is gone. */
export async function beginRun(place: LocalRunPlace): Promise<LocalRun> {
  const { docker, stateDir, buildId, clock } = place
  const folder = join(stateDir, buildId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'pid'), String(process.pid))
  for (const other of await readdir(stateDir))
    if (other !== buildId && (await isDead(join(stateDir, other)))) await clear(place, other)
  return {
    spoolDir: join(folder, 'spool'),
    async end() {
      await sweepContainers(docker, [buildLabel(buildId)], clock)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function clear({ docker, stateDir, clock }: LocalRunPlace, buildId: string): Promise<void> {
  await sweepContainers(docker, [buildLabel(buildId)], clock)
  await docker.removeVolume(`windlass-build-${buildId}`)
  await rm(join(stateDir, buildId), { recursive: true, force: true })
}

async function isDead(folder: string): Promise<boolean> {
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''))
  // One that has just made its folder and not written its number yet is alive.
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}
