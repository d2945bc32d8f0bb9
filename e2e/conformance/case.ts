/** A case of the conformance set: a folder with a pipeline, its inputs, and the expected result. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const names = z.array(z.string()).default([])
const texts = z.record(z.string(), z.string()).default({})

/** Inputs of a case. */
const Inputs = z
  .object({
    branch: z.string().optional(),
    variables: texts,
    secrets: texts,
    only: names,
    skip: names,
    /** Decisions about approvals, by step. */
    approve: names,
    deny: names,
    /** Terminates the build once this text is in the log of this step. */
    cancel: z.object({ step: z.string(), text: z.string() }).optional(),
    /** Number of consecutive builds on one volume. The last one is checked. */
    builds: z.number().int().min(1).max(3).default(1),
    noCache: z.boolean().default(false),
    resetVolume: z.boolean().default(false),
  })
  .strict()

const Expected = z
  .object({
    /** `invalid`: the document has errors and nothing runs. */
    status: z.enum(['success', 'error', 'terminated', 'invalid']),
    reason: z.string().optional(),
    /** Step -> its end, as `status` or `status reason`. */
    steps: texts,
    /** Step -> texts that its log must contain, in this order. */
    log: z.record(z.string(), z.array(z.string())).default({}),
    /** Step -> texts that its log must not contain. */
    not: z.record(z.string(), z.array(z.string())).default({}),
    /** Lists of steps that start in this order. */
    order: z.array(z.array(z.string())).default([]),
    /** Pairs of steps that run at the same time. */
    together: z.array(z.tuple([z.string(), z.string()])).default([]),
    /** Step -> texts that its message must contain. */
    message: z.record(z.string(), z.string()).default({}),
    /** Problems of an invalid document, as `code line:column`. */
    problems: names,
  })
  .strict()

export const Case = z
  .object({
    title: z.string(),
    rows: z.array(z.string().regex(/^[PR]\d{3}$/)).min(1),
    /** Services that the pipeline needs: `git` and `registry` set GIT_URL and REGISTRY. */
    needs: z.array(z.enum(['git', 'registry'])).default([]),
    /** Why the case runs only on local Docker. */
    localOnly: z.string().optional(),
    inputs: Inputs.prefault({}),
    expect: Expected,
  })
  .strict()
export type Case = z.infer<typeof Case> & {
  readonly name: string
  /** Below `cases`: topic and name. */
  readonly path: string
  readonly file: string
  readonly text: string
}
export type CaseInputs = Case['inputs']
export type CaseExpectation = Case['expect']

const folder = join(import.meta.dirname, 'cases')

/** Returns the folder of a case below `cases`. */
export function topicOf({ path }: Pick<Case, 'path'>): string {
  return dirname(path)
}

/** Returns all cases by topic and name. Throws for an incomplete folder, and for a name that two topics have. */
export function readCases(): Case[] {
  const paths = readdirSync(folder)
    .toSorted()
    .flatMap((topic) => readdirSync(join(folder, topic)).map((name) => join(topic, name)))
  const cases = paths.map(readCase)
  const twice = cases.find(({ name }, index) => cases.findLastIndex((other) => other.name === name) !== index)
  if (twice !== undefined) throw new Error(`cases/${twice.path}: another topic has a case of this name`)
  return cases
}

function readCase(path: string): Case {
  const read = (file: string): string => readFileSync(join(folder, path, file), 'utf8')
  const result = Case.safeParse(parse(read('case.yml')))
  if (!result.success) throw new Error(`cases/${path}/case.yml: ${z.prettifyError(result.error)}`)
  return { ...result.data, name: basename(path), path, file: join(folder, path, 'pipeline.yml'), text: read('pipeline.yml') }
}

/** Returns the path of the recorded events of a case, one per line. They are the same on every executor. */
export function eventsFile({ path }: Pick<Case, 'path'>): string {
  return join(folder, path, 'events.txt')
}

/** Returns the recorded events, or undefined for a new case. */
export function readEvents(of: Pick<Case, 'path'>): string | undefined {
  return existsSync(eventsFile(of)) ? readFileSync(eventsFile(of), 'utf8') : undefined
}
