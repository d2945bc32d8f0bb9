/** The program of a job: what its helper needs to run it without a manager. It is kept in a Secret that only the helper mounts. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { z } from 'zod'

const Script = z.object({ name: z.string(), title: z.string(), script: z.string() })

const StageShape = z.object({
  name: z.string(),
  title: z.string(),
  container: z.enum(['build', 'helper']),
  script: z.string(),
  when: z.enum(['on_success', 'on_failure', 'always']),
  attempts: z.int().min(1),
  clear: Script.optional(),
  isFatal: z.boolean(),
  timeoutMs: z.number().optional(),
})

export const JobProgram = z.object({
  version: z.literal(1),
  stages: z.array(StageShape),
  environmentFile: z.string(),
  /** Time limit of the stages before `after_script`. Milliseconds. */
  timeoutMs: z.number(),
  /** Longest time for which the end of the job waits for a terminal. Milliseconds. Absent for a job without terminals. */
  terminalMs: z.number().optional(),
  /** Ports of services that must accept connections before the first stage. */
  healthChecks: z.array(z.object({ service: z.string(), port: z.int() })),
})
export type JobProgram = z.infer<typeof JobProgram>

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
