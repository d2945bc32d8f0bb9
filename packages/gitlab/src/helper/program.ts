/** The program of a job: what its helper needs to run it without a manager. It is kept in a Secret that only the helper mounts. */
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Stage } from '../job/stage.ts'

export interface JobProgram {
  readonly version: 1
  readonly stages: readonly Stage[]
  readonly environmentFile: string
  /** Time limit of the stages before `after_script`. Milliseconds. */
  readonly timeoutMs: number
  /** Longest time for which the end of the job waits for a terminal. Milliseconds. Absent for a job without terminals. */
  readonly terminalMs?: number | undefined
  /** Ports of services that must accept connections before the first stage. */
  readonly healthChecks: readonly { readonly service: string; readonly port: number }[]
}

/** Name of the file of the program in its folder, and of the key in its Secret. */
export const PROGRAM_FILE = 'program.json.gz'

/** Largest content of a program that is read. Bytes. */
const MAX_BYTES = 64 * 1024 * 1024

/** Packs a value. Stages repeat their variables, so a program is much smaller when it is compressed. */
export function pack(value: unknown): Buffer {
  return gzipSync(JSON.stringify(value))
}

/** Returns what `pack` packed. Throws if the bytes are damaged. */
export function unpack(bytes: Buffer): unknown {
  return JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }).toString('utf8'))
}

/** Returns the program that `pack` packed. Throws if the bytes are damaged, or if the manager has another version than this helper. */
export function readProgram(bytes: Buffer): JobProgram {
  const program = unpack(bytes)
  if (isProgram(program)) return program
  throw new Error(
    'The program of the job is not one of this helper. Use the image of the helper that belongs to the version of the manager.',
  )
}

/** A manager has made it, and only the helper can read it. A check of each field by zod would take a third of the processor time in which a helper starts. */
function isProgram(value: unknown): value is JobProgram {
  return typeof value === 'object' && value !== null && 'version' in value && value.version === 1
}
