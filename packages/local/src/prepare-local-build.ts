/** What a local build is made of: the document, the repository around it, and what was given with it. Starts nothing. */
import { basename, dirname, resolve } from 'node:path'
import { fault, newId, type Clock } from '@windlass/kit'
import type { Diagnostic } from '@windlass/pipeline'
import type { Plan } from '@windlass/plan'
import { readRepository, type Repository } from './git-facts.ts'
import { compileLocally, type LocalPlan } from './local-plan.ts'
import type { LocalBuildOptions } from './run-local.ts'
import { readStepTypeFolder } from './step-type-folder.ts'

export type PrepareOptions = Pick<
  LocalBuildOptions,
  | 'source'
  | 'documentPath'
  | 'workTree'
  | 'branch'
  | 'revision'
  | 'variables'
  | 'secrets'
  | 'only'
  | 'skip'
  | 'stepTypes'
  | 'environment'
> & { readonly clock: Clock }

/** What is known of a local build before anything is started. */
export interface PreparedBuild {
  readonly buildId: string
  readonly createdAt: number
  readonly local: LocalPlan
  readonly warnings: readonly Diagnostic[]
  readonly repository: Repository | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
}

/** Where a repository named `owner/name` is looked for when nothing is known of a host. */
export const GITHUB = 'https://github.com'

/** The document that holds the steps, where this one refers to it. What fetches it is large, and most documents need no fetching. */
async function readSteps(
  plan: Plan | undefined,
  facts: { branch: string | undefined; revision: string | undefined; host: string },
): Promise<{ text: string; file: string } | undefined> {
  return plan?.source === undefined ? undefined : (await import('./read-source.ts')).readSource(plan, facts)
}

/** Compiles a document with everything that is known on this machine. Throws `pipeline-invalid` with the diagnostics, or `usage`. */
export async function prepareLocalBuild(options: PrepareOptions): Promise<PreparedBuild> {
  const createdAt = options.clock.now()
  const buildId = newId(createdAt)
  const folder = resolve(options.workTree ?? (options.documentPath === undefined ? '.' : dirname(options.documentPath)))
  const repository = await readRepository(folder, options.branch)
  const branch = repository?.facts.branch ?? options.branch
  const revision = options.revision ?? repository?.facts.revision
  const facts = {
    buildId,
    createdAt,
    initiator: options.environment['USER'] ?? 'local',
    trigger: 'build' as const,
    pipeline: pipelineName(options),
    git: { ...repository?.facts, branch, revision },
  }
  const { source, variables, secrets, documentPath } = options
  const stepTypes = readStepTypeFolder({ folder: options.stepTypes, documentPath })
  const input = { source, facts, variables, secrets, stepTypes }
  const first = compileLocally(input)
  const host = repository?.host ?? GITHUB
  const steps = await readSteps(first.local?.plan, { branch: options.branch ?? branch, revision, host })
  const { local, problems } = steps === undefined ? first : compileLocally({ ...input, steps })
  if (local === undefined) throw fault('pipeline-invalid', { message: `${source.file} does not compile.`, problems })
  refuseUnknownSteps(local.plan, [...options.only, ...options.skip])
  return { buildId, createdAt, local, warnings: problems, repository, branch, revision }
}

function pipelineName({ documentPath }: PrepareOptions): string {
  return documentPath === undefined ? 'local' : basename(documentPath).replace(/\.ya?ml$/, '')
}

function refuseUnknownSteps(plan: Plan, names: readonly string[]): void {
  const known = plan.steps.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw fault('usage', { message: `There is no step '${unknown}'.`, hint: `The steps are ${known.join(', ')}.` })
}
