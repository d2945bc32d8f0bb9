/**
 * The rights of steps with their key (CF_API_KEY). Steps may run untrusted code, such as a dependency or a pull request. Therefore the list is
 * short, and this file is the only place that grants rights to steps (docs/development/adr/0056).
 */
import { fault } from '@windlass/kit'
import { SKIP_MAIN_CLONE } from '@windlass/plan'
import { BuildInput, type AccountSettings, type PipelineSettings } from '@windlass/protocol'
import type { z } from 'zod'
import type { StepActor } from './actor.ts'

/** The routes that steps may call in addition to the public ones. */
const CALLS: ReadonlySet<string> = new Set([
  'GET /v1/whoami',
  // Only about the own build.
  'GET /v1/oidc/token',
  'GET /v1/pipelines',
  'GET /v1/pipelines/{name}',
  'GET /v1/annotations/{entity}/{id}',
  'GET /v1/images',
  'GET /v1/images/{id}',
  'GET /v1/builds',
  'GET /v1/builds/{id}',
  'GET /v1/builds/{id}/wait',
  'GET /v1/builds/{id}/feed',
  'GET /v1/builds/{id}/follow',
  'GET /v1/builds/{id}/log',
  // Only for pipelines in reach, with the fields below.
  'POST /v1/builds',
  // Only for builds that this build has started.
  'POST /v1/builds/{id}/terminate',
  // The same for the public command line, with the same checks.
  'GET /api/execution-contexts/current',
  'GET /api/pipelines',
  'GET /api/pipelines/{name}',
  'GET /api/annotations',
  'GET /api/images',
  'GET /api/workflow',
  'GET /api/builds/{id}',
  'GET /api/progress/{id}',
  'GET /api/user/firebaseAuth',
  'POST /api/pipelines/run/{name}',
  'DELETE /api/progress/{id}',
])

/** Fields that steps may set on a build that they start. None of them selects other code, other secrets or fewer steps. */
const FIELDS: ReadonlySet<string> = new Set([
  'pipeline',
  'trigger',
  'branch',
  'revision',
  'variables',
  'secrets',
  'noCache',
  'noCfCache',
  'resetVolume',
  'enableNotifications',
])

/** The annotation that names the parent build. Only the server sets it; access checks use the column `parent_id`. */
export const PREDECESSOR = 'cf_predecessor'

type Input = z.output<typeof BuildInput>

const DEFAULTS: Readonly<Record<string, unknown>> = BuildInput.parse({})

interface Called {
  readonly method: string
  readonly path: string
}

/** Returns true if steps may call this route in addition to the public ones. */
export function isForSteps({ method, path }: Called): boolean {
  return CALLS.has(`${method} ${path}`)
}

/** Throws `step-key-limited` with the fields that steps may not send. Fields with their default value are ignored. */
export function requireStepInput(actor: StepActor, input: Input): void {
  const { annotations = {}, ...fields } = input
  const names = Object.entries(fields)
    .filter(([name, value]) => !FIELDS.has(name) && JSON.stringify(value) !== JSON.stringify(DEFAULTS[name]))
    .map(([name]) => name)
  for (const [name, value] of Object.entries(annotations))
    if (name !== PREDECESSOR || value !== actor.buildId) names.push(`annotations.${name}`)
  for (const field of ['variables', 'secrets'] as const)
    if (Object.hasOwn(input[field], SKIP_MAIN_CLONE)) names.push(`${field}.${SKIP_MAIN_CLONE}`)
  if (names.length === 0) return
  throw fault('step-key-limited', {
    message: `The key of a step cannot set ${names.join(', ')} of the build that it starts.`,
    problems: names.map((path) => ({ path, message: 'The key of a step cannot set this field.' })),
  })
}

interface Target {
  readonly id: string
  readonly name: string
  readonly projectId: string | null
  readonly settings: PipelineSettings
}

/** Throws `pipeline-out-of-reach` unless the target is in the project of the caller's pipeline, or the target or the account lets others start it. */
export function requireReach(actor: StepActor, target: Target, account: AccountSettings): void {
  const isOwn = actor.pipelineId === target.id || (actor.projectId !== null && actor.projectId === target.projectId)
  if (isOwn || account.childBuilds === 'account' || target.settings.startedBy.some((entry) => matches(entry, actor))) return
  const who = actor.pipeline === null ? 'a document that is not stored' : actor.pipeline
  throw fault('pipeline-out-of-reach', { message: `Steps of ${who} cannot start builds of ${target.name}.` })
}

/** Returns true if the entry matches: `*` every build, `project/*` the pipelines of a project, a name one pipeline. */
function matches(entry: string, { pipeline }: StepActor): boolean {
  if (entry === '*') return true
  if (pipeline === null) return false
  return entry.endsWith('/*') ? pipeline.startsWith(entry.slice(0, -1)) : pipeline === entry
}
