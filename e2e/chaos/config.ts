/** Settings of a chaos run. Only this file and `support/long.ts` read the environment. */
import { randomInt } from 'node:crypto'
import { isLong } from '../support/long.ts'

function numberOf(name: string): number | undefined {
  const value = process.env[name]
  return value === undefined || value === '' ? undefined : Number(value)
}

const dockerHost = process.env['DOCKER_HOST'] ?? ''

export const chaosConfig = Object.freeze({
  /** Seed of every random choice of a run. A run prints it; set WINDLASS_SEED to repeat the same choices. */
  seed: numberOf('WINDLASS_SEED') ?? randomInt(1, 2 ** 31),
  /** Number of rounds of `long.ts`, each with the next seed. */
  rounds: numberOf('WINDLASS_CHAOS_ROUNDS') ?? 3,
  /** `long.ts` starts no new round after this time. */
  minutes: numberOf('WINDLASS_CHAOS_MINUTES') ?? 60,
  /** Longest outage of `long.ts`, as a multiple of the engine timeout. */
  longest: numberOf('WINDLASS_CHAOS_LONGEST') ?? 15,
  /** Factor for the number of builds of a run, and for the time over which they are spread; outages take at least the time of factor 1. */
  scale: numberOf('WINDLASS_CHAOS_SCALE') ?? (isLong ? 2 : 0.5),
  /** Loops over the n-th call try every n instead of a sample, and servers sweep more often. */
  thorough: isLong,
  dockerSocket: dockerHost.startsWith('unix://') ? dockerHost.slice('unix://'.length) : '/var/run/docker.sock',
})
