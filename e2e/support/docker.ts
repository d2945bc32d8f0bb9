import { fileURLToPath } from 'node:url'
import { runProgram } from './process.ts'

/** Returns the address at which containers on Docker's default bridge reach this machine. */
export function containerHost(): Promise<string> {
  return runProgram(fileURLToPath(new URL('../../scripts/docker', import.meta.url)), ['host'])
}
