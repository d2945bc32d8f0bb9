/** Settings of a chaos run; the only reader of the environment here. */
import { randomInt } from 'node:crypto'

function wholeNumber(name: string): number | undefined {
  const value = process.env[name]
  return value === undefined || value === '' ? undefined : Number(value)
}

export const chaosConfig = Object.freeze({
  /** Every random choice of a run comes from it. A run prints it; set WINDLASS_SEED to run the same again. */
  seed: wholeNumber('WINDLASS_SEED') ?? randomInt(1, 2 ** 31),
  /** Rounds of `long.ts`. */
  rounds: wholeNumber('WINDLASS_CHAOS_ROUNDS') ?? 10,
  /** Builds of one run; each test has its own default. */
  builds: wholeNumber('WINDLASS_CHAOS_BUILDS'),
  dockerSocket: (process.env['DOCKER_HOST'] ?? '').startsWith('unix://')
    ? (process.env['DOCKER_HOST'] ?? '').slice('unix://'.length)
    : '/var/run/docker.sock',
  /** Loops over the n-th call try every n instead of a sample. */
  thorough: process.env['WINDLASS_CHAOS_THOROUGH'] === '1',
})
