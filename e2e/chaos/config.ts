/** Settings of a chaos run; the only reader of the environment here. */
import { randomInt } from 'node:crypto'

function wholeNumber(name: string): number | undefined {
  const value = process.env[name]
  return value === undefined || value === '' ? undefined : Number(value)
}

const isLong = process.env['WINDLASS_TEST_LONG'] === '1'
const dockerHost = process.env['DOCKER_HOST'] ?? ''

export const chaosConfig = Object.freeze({
  /** Every random choice of a run comes from it. A run prints it; set WINDLASS_SEED to run the same again. */
  seed: wholeNumber('WINDLASS_SEED') ?? randomInt(1, 2 ** 31),
  /** Rounds of `long.ts`, each with the next seed. */
  rounds: wholeNumber('WINDLASS_CHAOS_ROUNDS') ?? 3,
  /** Builds of one run, and about how long they are spread over: `make chaos` runs twice as many. */
  scale: wholeNumber('WINDLASS_CHAOS_SCALE') ?? (isLong ? 2 : 1),
  /** Loops over the n-th call try every n instead of a sample. */
  thorough: isLong,
  dockerSocket: dockerHost.startsWith('unix://') ? dockerHost.slice('unix://'.length) : '/var/run/docker.sock',
})
