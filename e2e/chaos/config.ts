/** Settings of a chaos run. Only this file and `support/long.ts` read the environment. */
import { randomInt } from 'node:crypto'
import { isLong } from '../support/long.ts'

function wholeNumber(name: string): number | undefined {
  const value = process.env[name]
  return value === undefined || value === '' ? undefined : Number(value)
}

const dockerHost = process.env['DOCKER_HOST'] ?? ''

export const chaosConfig = Object.freeze({
  /** Seed of every random choice of a run. A run prints it; set WINDLASS_SEED to repeat the same choices. */
  seed: wholeNumber('WINDLASS_SEED') ?? randomInt(1, 2 ** 31),
  /** Number of rounds of `long.ts`, each with the next seed. */
  rounds: wholeNumber('WINDLASS_CHAOS_ROUNDS') ?? 3,
  /** `long.ts` starts no new round after this time. */
  minutes: wholeNumber('WINDLASS_CHAOS_MINUTES') ?? 60,
  /** Longest outage of `long.ts`, as a multiple of the engine timeout. */
  longest: wholeNumber('WINDLASS_CHAOS_LONGEST') ?? 15,
  /** Number of builds of a run, and about how long they are spread over. `make chaos` runs twice as many. */
  scale: wholeNumber('WINDLASS_CHAOS_SCALE') ?? (isLong ? 2 : 1),
  /** Loops over the n-th call try every n instead of a sample. */
  thorough: isLong,
  dockerSocket: dockerHost.startsWith('unix://') ? dockerHost.slice('unix://'.length) : '/var/run/docker.sock',
})
