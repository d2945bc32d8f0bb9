/**
 * Gathers the parts of a build before its transaction: the document, the layers of variables, the secrets, and the compiled plan. They are frozen
 * with the build.
 */
import { fault, type Problem } from '@windlass/kit'
import { hasErrors, type CatalogEntry, type Diagnostic } from '@windlass/pipeline'
import { builtinVariables, type Plan, type Trigger } from '@windlass/plan'
import {
  PipelineOptions,
  type AccountSettings,
  type BuildInput,
  type GitFactsInput,
  type GitTrigger,
  type PipelineSettings,
  type RuntimeSpec,
} from '@windlass/protocol'
import { z } from 'zod'
import { readAccountSettings } from '../../account/settings.ts'
import type { App } from '../../app.ts'
import { readAccountContext } from '../../contexts/account-context.ts'
import { openContextVariables } from '../../contexts/context-data.ts'
import { compileSourced } from '../../documents/resolve-source.ts'
import { openVariables, readContextNames } from '../../pipelines/variables.ts'
import { readDocumentSettings } from '../../pipelines/document-settings.ts'
import { readPipelineSettings } from '../../pipelines/settings.ts'
import type { RuntimeAccess } from '../../runtimes/access.ts'
import { findContext } from '../../store/account/contexts.ts'
import { findPipeline } from '../../store/pipelines/pipelines.ts'
import { findProject } from '../../store/pipelines/projects.ts'
import { findDefaultRuntime, findRuntime } from '../../store/runtimes/runtimes.ts'
import type { PipelineRow, ProjectRow, RuntimeRow } from '../../store/schema/schema.ts'
import { requireFound } from '../lifecycle/require-found.ts'
import { Layers } from './layers.ts'
import { chooseMainClone, requireRepositoryScope } from './main-clone.ts'
import { readSpec } from '../schedule/limits.ts'
import { chooseTarget, type Reporting } from '../../statuses/choose-target.ts'
import type { CommitTarget } from '../../statuses/commit-target.ts'
import { buildUrl } from './build-url.ts'
import type { BuildRequest } from './request.ts'
import { minDefined } from './min-defined.ts'

type Input = z.output<typeof BuildInput> & Pick<BuildRequest, 'keepsRepository'>

export interface Prepared {
  readonly document: string
  readonly pipeline: PipelineRow | undefined
  readonly project: ProjectRow | undefined
  /** Name of the pipeline, also if it is not stored. */
  readonly name: string | undefined
  readonly runtime: string | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly plan: Plan | undefined
  readonly problems: readonly Diagnostic[]
  /** Step types that the document was compiled with. */
  readonly stepTypes: readonly CatalogEntry[]
  /** Text of a document that is stored elsewhere. Undefined until it is fetched, and for documents that are not stored elsewhere. */
  readonly fetched?: string | undefined
  /** Message about a missing context. */
  readonly missing: string | undefined
  readonly secrets: Readonly<Record<string, string>>
  /** Fields of the request that come from the pipeline or from the repeated build. */
  readonly fills: Partial<BuildRequest>
  /** The delivery whose event started the build, or the one that it repeats. */
  readonly deliveryId?: string | undefined
  /** Where the build is reported. */
  readonly commitTarget: CommitTarget | undefined
  /** Name of the trigger that started the build that this one repeats. */
  readonly triggerName?: string | undefined
  /** Current settings of the pipeline and of the account. */
  readonly settings: PipelineSettings
  readonly account: AccountSettings
  /** Facts that a restart takes over from the previous build, in order. */
  readonly carried?: readonly CarriedFact[] | undefined
}

/** An event of the new build that repeats a fact of the previous build. */
export interface CarriedFact {
  readonly type: 'step.started' | 'step.finished'
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

/** What a trigger changes in the settings of its pipeline, for the builds that it starts. */
export interface TriggerOverrides {
  readonly name: string
  readonly variables: Readonly<Record<string, string>>
  readonly options?: GitTrigger['options']
  readonly terminationPolicy?: PipelineSettings['terminationPolicy']
  readonly priority?: number
  /** The delivery whose event starts the build. */
  readonly deliveryId?: string
  /** How the build is reported, for Git triggers. */
  readonly reporting?: Reporting
}

export interface Request {
  readonly id: string
  readonly request: Input
  readonly initiator: string
  readonly trigger: Trigger
  readonly overrides?: TriggerOverrides | undefined
  readonly access?: RuntimeAccess | undefined
}

/** Reads and compiles the parts of a build. Throws as `createBuild` documents. */
export async function prepareBuild(app: App, { id, request, initiator, trigger, overrides, access }: Request): Promise<Prepared> {
  const { query } = app.store
  const pipeline =
    request.pipeline === undefined
      ? undefined
      : requireFound(await findPipeline(query, app.accountId, request.pipeline), `pipeline "${request.pipeline}"`)
  const document = request.document ?? pipeline?.document
  if (document === undefined)
    throw fault('request-invalid', {
      message: 'The request must have a pipeline or a document.',
      hint: 'Add `pipeline` or `document` to the request.',
    })
  const file = request.file ?? 'pipeline.yaml'
  const { written, masked } =
    request.document === undefined ? { masked: document } : await readDocumentSettings(app, document, file)
  const settings = withOverrides(written?.settings ?? readPipelineSettings(pipeline), overrides)
  const account = await readAccountSettings(query, app.accountId)
  const runtime = await chooseRuntime(app, request.runtime ?? written?.runtime ?? pipeline?.runtime ?? undefined, access)
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
    systemVariables(app, { id, initiator, trigger, name, branch: request.branch, revision: request.revision, git: request.git }),
  )
  if (project !== undefined)
    gathered.add(
      { level: 'project', source: project.name },
      z.record(z.string(), z.string()).parse(JSON.parse(project.variables)),
    )
  const missing = await addContexts(app, gathered, contexts)
  if (pipeline !== undefined) gathered.addMixed({ level: 'pipeline', source: pipeline.name }, openVariables(app.vault, pipeline))
  if (written !== undefined) gathered.addMixed({ level: 'pipeline', source: written.name }, written.variables)
  if (overrides !== undefined) gathered.add({ level: 'trigger', source: overrides.name }, overrides.variables)
  gathered.add({ level: 'build' }, request.variables)
  gathered.addSecrets({ level: 'build' }, request.secrets)
  const clone = {
    git: request.git,
    keepsRepository: request.keepsRepository,
    branch: request.branch,
    revision: request.revision,
    layers: gathered.layers,
  }
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
      keepsDocument: request.keepsRepository,
      variables: gathered.layers,
      account: await readAccountContext(app, { layers: gathered.layers, settings: account }),
      mainClone: chooseMainClone(settings, account, clone),
    },
  )
  requireRepositoryScope(plan, settings, { account, ...clone })
  const problems = [...found, ...toDiagnostics(written?.problems ?? [], file)]
  return {
    document: masked,
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
    deliveryId: overrides?.deliveryId,
    commitTarget: await chooseTarget(app, { id, request, trigger, reporting: overrides?.reporting, pipeline, settings }),
    settings,
    account,
  }
}

function withOverrides(settings: PipelineSettings, overrides: TriggerOverrides | undefined): PipelineSettings {
  if (overrides === undefined) return settings
  const { options, terminationPolicy = settings.terminationPolicy } = overrides
  return { ...settings, options: PipelineOptions.parse({ ...settings.options, ...options }), terminationPolicy }
}

/** Merges the request with the settings of the pipeline and of the account. A flag is on if the request or the pipeline sets it. */
function toFills(request: Input, settings: PipelineSettings, account: AccountSettings): Partial<BuildRequest> {
  const { options, machine, logLimits, inactiveMs, buildMs } = settings
  return {
    noCache: request.noCache || options.noCache,
    noCfCache: request.noCfCache || options.noCfCache,
    resetVolume: request.resetVolume || options.resetVolume,
    enableNotifications: request.enableNotifications || options.enableNotifications,
    machine: { ...machine, ...request.machine },
    limits: {
      stepLogBytes: minDefined(logLimits.stepBytes, account.logLimits.stepBytes),
      buildLogBytes: minDefined(logLimits.buildBytes, account.logLimits.buildBytes),
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

/** Returns the variables of a runtime whose values the server knows. */
function runtimeVariables({ variables, runtimeScheduler }: RuntimeSpec): Record<string, string> {
  const own = runtimeScheduler.userEnvVars.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
  return { ...variables, ...Object.fromEntries(own) }
}

/** Returns the named runtime, or the default one. Throws `runtime-unknown` if it does not exist or is only a base, and `runtime-denied`. */
export async function chooseRuntime(app: App, name: string | undefined, access?: RuntimeAccess): Promise<RuntimeRow | undefined> {
  const { query } = app.store
  const runtime = await (name === undefined ? findDefaultRuntime(query, app.accountId) : findRuntime(query, app.accountId, name))
  if (runtime !== undefined) access?.require(runtime)
  if (name === undefined) return runtime
  if (runtime === undefined) throw fault('runtime-unknown', { message: `Runtime environment "${name}" does not exist.` })
  if (readSpec(runtime).nonComplete === true)
    throw fault('runtime-unknown', {
      message: `Runtime environment "${runtime.name}" is a base for other runtimes (nonComplete). Builds cannot run on it.`,
    })
  return runtime
}

interface SystemFacts {
  readonly id: string
  readonly initiator: string
  readonly trigger: Trigger
  readonly name: string | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
  readonly git: GitFactsInput | undefined
}

/** Returns the built-in variables of a build. */
export function systemVariables(
  app: App,
  { id, initiator, trigger, name, branch, revision, git }: SystemFacts,
): Record<string, string> {
  const serverUrl = app.advertisedUrl()
  return builtinVariables({
    buildId: id,
    buildUrl: buildUrl(app, id),
    serverUrl,
    createdAt: app.clock.now(),
    initiator,
    trigger,
    pipeline: name,
    account: app.accountName,
    git: { ...git, branch, revision },
  })
}

/** Adds the variables of contexts. Returns a message about the first context that does not exist. */
async function addContexts(app: App, layers: Layers, names: readonly string[]): Promise<string | undefined> {
  for (const name of new Set(names)) {
    const context = await findContext(app.store.query, app.accountId, name)
    if (context === undefined) return `Context "${name}" does not exist.`
    const layer = { level: 'context', source: context.name } as const
    const variables = openContextVariables(app.vault, context)
    if (variables?.isSecret === true) layers.addSecrets(layer, variables.values)
    else if (variables !== undefined) layers.add(layer, variables.values)
  }
  return undefined
}
