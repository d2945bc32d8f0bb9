/**
 * What the manager knows of a job, in the Secret of the job. The Secret is in the namespace of the manager, wherever the pod runs: other
 * managers look for it there. A manager that adopts the job continues with it, and makes the same trace again: the trace depends only on this record and on the
 * log in the pod.
 */
import { z } from 'zod'
import { PROGRAM_FILE, unpack } from '../../helper/program.ts'

/** A line that the manager itself adds to the trace. */
export const Note = z.object({
  /** Microseconds since the epoch. */
  at: z.number(),
  text: z.string(),
})
export type Note = z.infer<typeof Note>

export const JobRecord = z.object({
  version: z.literal(1),
  jobId: z.int(),
  jobToken: z.string(),
  /** Identifies the runner entry: see `entryKey`. */
  runner: z.string(),
  pod: z.string(),
  /** Namespace of the pod, if it is not that of the record. */
  namespace: z.string().optional(),
  /** True if the namespace was created for the job, and is deleted with it. */
  ownsNamespace: z.boolean().default(false),
  /** Epoch milliseconds. */
  createdAt: z.number(),
  /** Seconds. */
  timeoutS: z.number(),
  /** Longest time for which the end of the job waits for a terminal. Seconds. Absent for a job without terminals. */
  terminalS: z.number().optional(),
  supportedReasons: z.array(z.string()),
  isDebug: z.boolean(),
  /** True if services may run until the pod is removed. */
  hasServices: z.boolean().default(true),
  /** Containers of services whose output is part of the trace. */
  shownServices: z.array(z.string()).default([]),
  hasSections: z.boolean(),
  projectId: z.int(),
  /** What users see of it. Absent in records of earlier versions. */
  shown: z
    .object({ name: z.string(), project: z.string(), stage: z.string(), ref: z.string(), url: z.string().optional() })
    .optional(),
  concurrentId: z.int(),
  concurrentProjectId: z.int(),
  trace: z.object({
    masked: z.array(z.string()),
    tokenPrefixes: z.array(z.string()),
    masksAllTokens: z.boolean(),
    hasTimes: z.boolean(),
    limit: z.number(),
  }),
  /** The first lines of the trace. */
  intro: z.array(Note),
})
export type JobRecord = z.infer<typeof JobRecord>

/** Keys of the Secret of a job. The helper mounts only the program. A pod in another namespace has a Secret of its own there, without the record. */
export const SECRET_KEYS = { program: PROGRAM_FILE, record: 'record.json.gz' } as const

/** Labels of the Secrets and pods of jobs. */
export const LABELS = {
  job: 'windlass.io/gitlab-job',
  /** Name of the process that follows the job: see `instanceName`. On a Lease: of its holder. */
  manager: 'windlass.io/gitlab-manager',
  /** Name of the pod. On objects of the pod that are no record. */
  pod: 'windlass.io/gitlab-pod',
} as const

/** Annotation of the Secret: what the manager has added to the trace after the record was written. */
export const NOTES = 'windlass.io/gitlab-notes'

/** Reads the record in a Secret. Undefined if it is not one. */
export function readRecord(data: unknown): JobRecord | undefined {
  const text = z.record(z.string(), z.string()).safeParse(data).data?.[SECRET_KEYS.record]
  if (text === undefined) return undefined
  try {
    return JobRecord.parse(unpack(Buffer.from(text, 'base64')))
  } catch {
    return undefined
  }
}

/** Reads the notes of a Secret. */
export function readNotes(text: string | undefined): Note[] {
  if (text === undefined) return []
  try {
    return z.array(Note).parse(JSON.parse(text))
  } catch {
    return []
  }
}
