/** Prepares a local build from the document, its repository, and the options. Starts nothing. */
import { statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { fault, newId, type Clock } from '@windlass/kit'
import { compileLocally, partial, type Diagnostic, type LocalPlan } from '@windlass/pipeline'
import type { GitFacts, MainClone, Plan } from '@windlass/plan'
import { readRepository, type Repository } from './git-facts.ts'
import { readStepTypeFolder } from './step-type-folder.ts'
import type { LocalBuildOptions } from './local-build-options.ts'

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
> & {
  readonly clock: Clock
  /**
   * True for a plan that is only shown: a step type that is missing here may exist on a server, so it is a warning, and the plan has the automatic
   * clone that the pipeline turns on.
   */
  readonly isPreview?: boolean
}

/** A local build before anything is started. */
export interface PreparedBuild {
  readonly buildId: string
  readonly createdAt: number
  readonly local: LocalPlan
  readonly warnings: readonly Diagnostic[]
  readonly repository: Repository | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
}

/** Host of a repository named `owner/name` if no other host is known. */
export const GITHUB = 'https://github.com'

/** Reads the document with the steps if this one refers to it. Imported lazily, because the reader is large and most documents do not need it. */
async function readSteps(
  plan: Plan | undefined,
  facts: { branch: string | undefined; revision: string | undefined; host: string },
): Promise<{ text: string; file: string } | undefined> {
  return plan?.source === undefined ? undefined : (await import('./read-source.ts')).readSource(plan, facts)
}

function requireFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  throw fault('file-not-found', { message: `The folder ${path} does not exist.`, hint: 'Name the work tree with --source.' })
}

/** Compiles a document with everything that is known on this machine. Throws `pipeline-invalid` with the diagnostics, or `usage`. */
export async function prepareLocalBuild(options: PrepareOptions): Promise<PreparedBuild> {
  if (options.workTree !== undefined) requireFolder(options.workTree)
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
    trigger: { kind: 'manual' } as const,
    pipeline: pipelineName(options),
    git: { ...repository?.facts, branch, revision },
  }
  const { source, variables, secrets, documentPath, isPreview } = options
  const folderTypes = readStepTypeFolder({ folder: options.stepTypes, documentPath })
  const stepTypes = isPreview === true ? partial(folderTypes.catalog) : folderTypes.catalog
  const mainClone = options.workTree === undefined ? undefined : toMainClone(repository?.facts, options.workTree)
  const input = { source, facts, variables, secrets, stepTypes, mainClone, isPreview }
  const first = compileLocally(input)
  const host = repository?.host ?? GITHUB
  const steps = await readSteps(first.local?.plan, { branch: options.branch ?? branch, revision, host })
  const { local, problems } = steps === undefined ? first : compileLocally({ ...input, steps })
  if (local === undefined)
    throw fault('pipeline-invalid', {
      message: `${source.file} does not compile.`,
      problems: [...folderTypes.warnings, ...problems],
    })
  requireKnownSteps(local.plan, [...options.only, ...options.skip])
  const warnings = [...folderTypes.warnings, ...problems]
  return { buildId, createdAt, local, warnings, repository, branch, revision }
}

/** Returns the clone for a document without one. Its repository only names the folder, because the work tree is used. */
function toMainClone(facts: GitFacts | undefined, folder: string): MainClone {
  const owner = facts?.repoOwner === undefined || facts.repoOwner === '' ? '' : `${facts.repoOwner}/`
  return { repo: `${owner}${facts?.repoName ?? basename(resolve(folder))}`, unlessCloned: true }
}

function pipelineName({ documentPath }: PrepareOptions): string {
  return documentPath === undefined ? 'local' : basename(documentPath).replace(/\.ya?ml$/, '')
}

function requireKnownSteps(plan: Plan, names: readonly string[]): void {
  const known = plan.steps.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw fault('usage', { message: `Step "${unknown}" does not exist.`, hint: `Use one of ${known.join(', ')}.` })
}
