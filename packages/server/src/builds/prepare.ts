/**
 * What a build is made of, gathered before its transaction: the document, the layers of variables, the secrets, the compiled plan. All of
 * it is frozen with the build.
 */
import { fault, sha256 } from '@windlass/kit'
import { compile, type Compiled, type Diagnostic } from '@windlass/pipeline'
import { builtinVariables, type Plan } from '@windlass/plan'
import type { BuildInput } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { openContextData } from '../contexts/context-data.ts'
import { openVariables, readContextNames } from '../pipelines/variables.ts'
import { maskDocument } from '../pipelines/mask-document.ts'
import { readSettings } from '../pipelines/settings.ts'
import { findContext } from '../store/contexts.ts'
import { findPipeline } from '../store/pipelines.ts'
import { findProject } from '../store/projects.ts'
import { findDefaultRuntime, findRuntime } from '../store/runtimes.ts'
import type { PipelineRow, ProjectRow, RuntimeRow } from '../store/schema.ts'
import { requireFound } from './require-found.ts'
import { Layers } from './layers.ts'
import { readSpec } from './limits.ts'

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
  /** Says which context is missing. */
  readonly missing: string | undefined
  readonly secrets: Readonly<Record<string, string>>
  /** What of the request comes from the build that is repeated. */
  readonly repeats: Partial<Input>
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
  if (runtime !== undefined) gathered.add({ level: 'runtime' }, readSpec(runtime).variables)
  gathered.add(
    { level: 'system' },
    systemVariables(app, { id, initiator, name, branch: request.branch, revision: request.revision }),
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
  const { plan, problems } = compileCached(document, file)
  return {
    document: maskDocument(document, written?.variables ?? []),
    pipeline,
    project,
    name,
    runtime: runtime?.name ?? request.runtime,
    branch: request.branch,
    revision: request.revision,
    plan: plan === undefined ? undefined : { ...plan, variables: gathered.layers },
    problems,
    missing,
    secrets: gathered.secrets,
    repeats: {},
  }
}

/** The runtime of this name, or the default one. Throws `runtime-unknown`. */
export async function chooseRuntime(app: App, name: string | undefined): Promise<RuntimeRow | undefined> {
  const { query } = app.store
  if (name === undefined) return findDefaultRuntime(query, app.accountId)
  const runtime = await findRuntime(query, app.accountId, name)
  if (runtime === undefined) throw fault('runtime-unknown', { message: `There is no runtime environment ${name}.` })
  return runtime
}

interface SystemFacts {
  readonly id: string
  readonly initiator: string
  readonly name: string | undefined
  readonly branch: string | undefined
  readonly revision: string | undefined
}

/** The built-in variables of a build. */
export function systemVariables(app: App, { id, initiator, name, branch, revision }: SystemFacts): Record<string, string> {
  const serverUrl = app.advertisedUrl()
  return builtinVariables({
    buildId: id,
    buildUrl: `${serverUrl}/v1/builds/${id}`,
    serverUrl,
    createdAt: app.clock.now(),
    initiator,
    trigger: 'build',
    pipeline: name,
    git: { branch, revision },
  })
}

/** Answers a sentence about the first context that does not exist. */
async function addContexts(app: App, layers: Layers, names: readonly string[]): Promise<string | undefined> {
  for (const name of new Set(names)) {
    const context = await findContext(app.store.query, app.accountId, name)
    if (context === undefined) return `There is no context ${name}.`
    const place = { level: 'context', source: context.name } as const
    if (context.type === 'config') layers.add(place, openContextData(app.vault, context))
    if (context.type === 'secret') layers.addSecrets(place, openContextData(app.vault, context))
  }
  return undefined
}

const MAX_COMPILED = 200
const compiled = new Map<string, Compiled>()

/** Compiling is pure, and the same few documents are built again and again. */
export function compileCached(document: string, file: string): Compiled {
  const key = sha256(`${file}\n${document}`)
  const known = compiled.get(key)
  if (known !== undefined) return known
  if (compiled.size >= MAX_COMPILED) compiled.clear()
  const fresh = compile({ text: document, file })
  compiled.set(key, fresh)
  return fresh
}
