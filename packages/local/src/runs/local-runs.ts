/** Running local builds, recorded as folders. The next run removes what a killed process left on the daemon. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Docker } from '@windlass/engine'
import type { Clock } from '@windlass/kit'
import { Id } from '@windlass/protocol'
import { MAX_UNKNOWN_AGE_MS, livenessOf, parseIdentity, thisProcess } from './process-identity.ts'
import { buildLabel, sweepContainers } from './sweep-containers.ts'
import { releaseHold, takeHold, type Holder } from './volume-hold.ts'

export interface LocalRun {
  /** Folder for the spool of the engine. */
  readonly spoolDir: string
  readonly volume: LocalVolume
  /** Removes everything that the build still has on the daemon, and its folder. */
  end(): Promise<void>
}

/** The volume that the steps share. */
export interface LocalVolume {
  readonly name: string
  /** The run that uses the kept volume of the document. If set, this volume belongs to this run and is removed at its end. */
  readonly heldBy?: Holder | undefined
}

export interface LocalRunOptions {
  readonly docker: Docker
  readonly stateDir: string
  readonly buildId: string
  /** Name of the volume that is kept for the document. */
  readonly volumeName: string
  readonly clock: Clock
}

/** Records the build as running, removes what ended processes left, and takes the kept volume of the document or a separate one. */
export async function beginRun(options: LocalRunOptions): Promise<LocalRun> {
  const { docker, stateDir, buildId, volumeName, clock } = options
  const folder = join(stateDir, buildId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, OWNER_FILE), JSON.stringify(await thisProcess()))
  for (const other of await findLeftovers(stateDir, clock.now())) if (other !== buildId) await removeAll(options, other)
  const heldBy = await takeHold({ docker, clock, volume: volumeName, buildId })
  return {
    spoolDir: join(folder, 'spool'),
    volume: heldBy === undefined ? { name: volumeName } : { name: `${volumeName}-${buildId.slice(-8)}`, heldBy },
    end: () => removeAll(options, buildId),
  }
}

const OWNER_FILE = 'owner.json'

/** Removes everything of a build. Volumes with its label hold its state, or are its separate volume. */
async function removeAll({ docker, stateDir, clock }: LocalRunOptions, buildId: string): Promise<void> {
  await sweepContainers(docker, [buildLabel(buildId)], clock)
  for (const { name } of await docker.listUnusedVolumes([buildLabel(buildId)])) await docker.removeVolume(name)
  // Last, because another run may take the kept volume from here on.
  await releaseHold(docker, buildId)
  await rm(join(stateDir, buildId), { recursive: true, force: true })
}

/** Returns the ids of ended runs that still have a folder. */
export async function findLeftovers(stateDir: string, now: number): Promise<string[]> {
  const ids = (await readdir(stateDir)).filter((name) => Id.safeParse(name).success)
  const dead = await Promise.all(ids.map((id) => isDead(stateDir, id, now)))
  return ids.filter((_, n) => dead[n])
}

async function isDead(stateDir: string, buildId: string, now: number): Promise<boolean> {
  const owner = parseIdentity(await readFile(join(stateDir, buildId, OWNER_FILE), 'utf8').catch(() => ''))
  const startedAt = startTimeOf(buildId)
  // A new run may not have written its owner yet, and the folder of an older version has only a process number.
  const liveness = owner === undefined ? 'unknown' : await livenessOf(owner, startedAt, now)
  return liveness === 'dead' || (liveness === 'unknown' && now - startedAt > MAX_UNKNOWN_AGE_MS)
}

/** Returns the start time in epoch milliseconds; ids start with it in seconds. */
function startTimeOf(buildId: string): number {
  return Number.parseInt(buildId.slice(0, 8), 16) * 1000
}
