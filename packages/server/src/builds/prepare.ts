/**
 * What a build is made of, gathered before its transaction: the document, the layers of variables, the secrets, the compiled plan. All of
 * it is frozen with the build.
 */
import { fault, type Problem } from '@windlass/kit'
import { hasErrors, type CatalogEntry, type Diagnostic } from '@windlass/pipeline'
import { builtinVariables, type Plan } from '@windlass/plan'
import type { AccountSettings, BuildInput, GitFactsInput, PipelineSettings, RuntimeSpec } from '@windlass/protocol'
import { z } from 'zod'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { readAccountContext } from '../contexts/account-context.ts'
import { openContextVariables } from '../contexts/context-data.ts'
import { compileSourced } from '../documents/resolve-source.ts'
import { openVariables, readContextNames } from '../pipelines/variables.ts'
import { maskDocument } from '../pipelines/mask-document.ts'
import { readPipelineSettings, readSettings } from '../pipelines/settings.ts'
import { findContext } from '../store/contexts.ts'
import { findPipeline } from '../store/pipelines.ts'
import { findProject } from '../store/projects.ts'
import { findDefaultRuntime, findRuntime } from '../store/runtimes.ts'
import type { PipelineRow, ProjectRow, RuntimeRow } from '../store/schema.ts'
import { requireFound } from './require-found.ts'
import { Layers } from './layers.ts'
import { readSpec } from './limits.ts'
import type { BuildRequest } from './request.ts'
import { smallest } from './smallest.ts'

type Input = z.output<typeof BuildInput>

export interface Prepared {
  readonly document: string
  readonly pipeline: PipelineRow | undefined
  readonly project: ProjectRow | undefined
  /** Name of a pipeline that is not stored. */
  readonly name: string | undefined
  readonly runtime: string | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly plan: Plan | undefined
  readonly problems: readonly Diagnostic[]
  /** What the document was compiled with besides itself. */
  readonly stepTypes: readonly CatalogEntry[]
  /** The text of a document that stands elsewhere; undefined while it is not fetched, and for one that does not. */
  readonly fetched?: string | undefined
  /** Says which context is missing. */
  readonly missing: string | undefined
  readonly secrets: Readonly<Record<string, string>>
  /** What of the request comes from elsewhere: from the pipeline, or from the build that is repeated. */
  readonly fills: Partial<BuildRequest>
  /** Settings of the pipeline as they are now, and of the account. */
  readonly settings: PipelineSettings
  readonly account: AccountSettings
  /** Facts that a restart takes over from the build before, in order. */
  readonly carried?: readonly CarriedFact[] | undefined
}

/** An event of the new build that tells what is known from the one before. */
export interface CarriedFact {
  readonly type: 'step.started' | 'step.finished'
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

export interface Request {
  readonly id: string
  readonly request: Input
  readonly initiator: string
}

/** Reads and compiles; throws as `createBuild` says. */
export async function prepareBuild(app: App, { id, request, initiator }: Request): Promise<Prepared> {
  const { query } = app.store
  const pipeline =
    request.pipeline === undefined
      ? undefined
      : requireFound(await findPipeline(query, app.accountId, request.pipeline), `pipeline ${request.pipeline}`)
  const document = request.document ?? pipeline?.document
  if (document === undefined) throw fault('request-invalid', { message: 'Name a pipeline, or give a document.' })
  const file = request.file ?? 'pipeline.yaml'
  const written = request.document === undefined ? undefined : readSettings(document, file)
  const settings = written?.settings ?? readPipelineSettings(pipeline)
  const account = await readAccountSettings(query, app.accountId)
  const runtime = await chooseRuntime(app, request.runtime ?? written?.runtime ?? pipeline?.runtime ?? undefined)
  const project =
    typeof pipeline?.project_id !== 'string' ? undefined : await findProject(query, app.accountId, pipeline.project_id)
  const name = pipeline?.name ?? written?.name
  const contexts = [
    ...(pipeline === undefined ? [] : readContextNames(pipeline)),
    ...(written?.contexts ?? []),
    ...request.contexts,
  ]
  const gathered = new Layers()
  if (runtime !== undefined) gathered.add({ level: 'runtime' }, runtimeVariables(readSpec(runtime)))
  gathered.add(
    { level: 'system' },
    systemVariables(app, { id, initiator, name, branch: request.branch, revision: request.revision, git: request.git }),
  )
  if (project !== undefined)
    gathered.add(
      { level: 'project', source: project.name },
      z.record(z.string(), z.string()).parse(JSON.parse(project.variables)),
    )
  const missing = await addContexts(app, gathered, contexts)
  if (pipeline !== undefined) gathered.addMixed({ level: 'pipeline', source: pipeline.name }, openVariables(app.vault, pipeline))
  if (written !== undefined) gathered.addMixed({ level: 'pipeline', source: written.name }, written.variables)
  gathered.add({ level: 'build' }, request.variables)
  gathered.addSecrets({ level: 'build' }, request.secrets)
  const {
    plan,
    problems: found,
    stepTypes,
    fetched,
  } = await compileSourced(
    app,
    { text: document, file },
    {
      branch: request.branch,
      revision: request.revision,
      variables: gathered.layers,
      account: await readAccountContext(app, { layers: gathered.layers, settings: account }),
    },
  )
  const problems = [...found, ...toDiagnostics(written?.problems ?? [], file)]
  return {
    document: maskDocument(document, written?.variables ?? []),
    pipeline,
    project,
    name,
    runtime: runtime?.name ?? request.runtime,
    branch: request.branch,
    revision: request.revision,
    plan: plan === undefined || hasErrors(problems) ? undefined : { ...plan, variables: gathered.layers },
    problems,
    stepTypes,
    fetched,
    missing,
    secrets: gathered.secrets,
    fills: toFills(request, settings, account),
    settings,
    account,
  }
}

/** What the settings of the pipeline and of the account add to what was asked for. A switch that one of them has on is on. */
export function toFills(request: Input, settings: PipelineSettings, account: AccountSettings): Partial<BuildRequest> {
  const { options, machine, logLimits, inactiveMs, buildMs } = settings
  return {
    noCache: request.noCache || options.noCache,
    noCfCache: request.noCfCache || options.noCfCache,
    resetVolume: request.resetVolume || options.resetVolume,
    enableNotifications: request.enableNotifications || options.enableNotifications,
    machine: { ...machine, ...request.machine },
    limits: {
      stepLogBytes: smallest(logLimits.stepBytes, account.logLimits.stepBytes),
      buildLogBytes: smallest(logLimits.buildBytes, account.logLimits.buildBytes),
      inactiveMs,
      buildMs,
    },
  }
}

function toDiagnostics(problems: readonly Problem[], file: string): Diagnostic[] {
  return problems.map(({ path = '', message }): Diagnostic => ({
    code: 'wrong-type',
    severity: 'error',
    file,
    line: 1,
    column: 1,
    endLine: 1,
    endColumn: 1,
    path,
    message: `${path}: ${message}`,
    hint: '',
  }))
}

/** The variables of a runtime whose values the server knows. */
function runtimeVariables({ variables, runtimeScheduler }: RuntimeSpec): Record<string, string> {
  const own = runtimeScheduler.userEnvVars.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
  return { ...variables, ...Object.fromEntries(own) }
}

/** The runtime of this name, or the default one. Throws `runtime-unknown`, also for one that is a base only. */
export async function chooseRuntime(app: App, name: string | undefined): Promise<RuntimeRow | undefined> {
  const { query } = app.store
  if (name === undefined) return findDefaultRuntime(query, app.accountId)
  const runtime = await findRuntime(query, app.accountId, name)
  if (runtime === undefined) throw fault('runtime-unknown', { message: `There is no runtime environment ${name}.` })
  if (readSpec(runtime).nonComplete === true)
    throw fault('runtime-unknown', {
      message: `${runtime.name} is a base that other runtimes extend (nonComplete); no build runs on it.`,
    })
  return runtime
}

interface SystemFacts {
  readonly id: string
  readonly initiator: string
  readonly name: string | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly git: GitFactsInput | undefined
}

/** The built-in variables of a build. */
export function systemVariables(app: App, { id, initiator, name, branch, revision, git }: SystemFacts): Record<string, string> {
  const serverUrl = app.advertisedUrl()
  return builtinVariables({
    buildId: id,
    buildUrl: `${serverUrl}/v1/builds/${id}`,
    serverUrl,
    createdAt: app.clock.now(),
    initiator,
    trigger: 'build',
    pipeline: name,
    account: app.accountName,
    git: { ...git, branch, revision },
  })
}

/** Answers a sentence about the first context that does not exist. */
async function addContexts(app: App, layers: Layers, names: readonly string[]): Promise<string | undefined> {
  for (const name of new Set(names)) {
    const context = await findContext(app.store.query, app.accountId, name)
    if (context === undefined) return `There is no context ${name}.`
    const place = { level: 'context', source: context.name } as const
    const variables = openContextVariables(app.vault, context)
    if (variables?.isSecret === true) layers.addSecrets(place, variables.values)
    else if (variables !== undefined) layers.add(place, variables.values)
  }
  return undefined
}
