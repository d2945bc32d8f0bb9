/** A case of the conformance set: a folder with a pipeline, how it is run, and what must come of it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const names = z.array(z.string()).default([])
const texts = z.record(z.string(), z.string()).default({})

/** How a case is run. */
const Inputs = z
  .object({
    branch: z.string().optional(),
    variables: texts,
    secrets: texts,
    only: names,
    skip: names,
    /** Answers to approvals, by step. */
    approve: names,
    deny: names,
    /** Terminates the build once this text is in the log of this step. */
    cancel: z.object({ step: z.string(), text: z.string() }).optional(),
    /** So many builds one after the other on one volume; the last one is looked at. */
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
    /** Step -> texts that its log has, in this order. */
    log: z.record(z.string(), z.array(z.string())).default({}),
    /** Step -> texts that its log must not have. */
    not: z.record(z.string(), z.array(z.string())).default({}),
    /** Each list: steps that start in this order. */
    order: z.array(z.array(z.string())).default([]),
    /** Pairs of steps that run at the same time. */
    together: z.array(z.tuple([z.string(), z.string()])).default([]),
    /** Step -> texts of the sentence that says why. */
    message: z.record(z.string(), z.string()).default({}),
    /** Problems of an invalid document, as `code line:column`. */
    problems: names,
  })
  .strict()

export const Case = z
  .object({
    title: z.string(),
    rows: z.array(z.string().regex(/^[PR]\d{3}$/)).min(1),
    /** Parts that the pipeline needs: `git` and `registry` give it GIT_URL and REGISTRY. */
    needs: z.array(z.enum(['git', 'registry'])).default([]),
    /** Why the case is run on this machine's Docker alone. */
    localOnly: z.string().optional(),
    inputs: Inputs.prefault({}),
    expect: Expected,
  })
  .strict()
export type Case = z.infer<typeof Case> & { readonly name: string; readonly file: string; readonly text: string }
export type CaseInputs = Case['inputs']
export type CaseExpectation = Case['expect']

const folder = join(import.meta.dirname, 'cases')

/** All cases, by name. A folder that is not whole is an error. */
export function readCases(): Case[] {
  const known = readdirSync(folder).toSorted()
  return known.map((name) => {
    const read = (file: string): string => readFileSync(join(folder, name, file), 'utf8')
    const result = Case.safeParse(parse(read('case.yml')))
    if (!result.success) throw new Error(`cases/${name}/case.yml: ${z.prettifyError(result.error)}`)
    return { ...result.data, name, file: join(folder, name, 'pipeline.yml'), text: read('pipeline.yml') }
  })
}

/** Path of what the steps of a case did, line by line; the same wherever it runs. */
export function eventsFile({ name }: Pick<Case, 'name'>): string {
  return join(folder, name, 'events.txt')
}

/** The lines, or undefined for a new case. */
export function readEvents(of: Pick<Case, 'name'>): string | undefined {
  return existsSync(eventsFile(of)) ? readFileSync(eventsFile(of), 'utf8') : undefined
}
