/**
 * Annotations and image metadata: evaluates values and expressions and emits them as events for the server. Needs no container; files are read
 * through the workspace. What cannot be evaluated or read is logged and never fails the step.
 */
import { defined } from '@windlass/kit'
import {
  evaluate,
  ExpressionError,
  imageOf,
  parseExpression,
  resolveDirectory,
  stateOf,
  type AnnotateAction,
  type AnnotatedEntity,
  type AnnotationEntry,
  type Plan,
  type Snapshot,
} from '@windlass/plan'
import type { EngineEventBody } from '@windlass/protocol'
import type { StepOutcome } from '../attempt/step-outcome.ts'
import type { RunnerInput } from './step-runner.ts'

type Value = string | number | boolean
type Annotated = Extract<EngineEventBody, { type: 'annotated' }>

/** Maximum length of an annotation, and of a file that becomes one. Characters, also for files. */
const MAX_VALUE_CHARS = 65_536

type AnnotateRun = RunnerInput<AnnotateAction>

export async function runAnnotate(run: AnnotateRun): Promise<StepOutcome> {
  const { action } = run
  for (const { entity, id, entries, display } of action.set) {
    const of = entity === 'image' ? (id ?? imageOfOwner(run)) : id
    await emitChange(run, {
      entity,
      id: of,
      kind: 'annotation',
      set: await valuesOf(run, entries),
      ...defined({ display }),
    })
  }
  for (const { entity, id, names } of action.unset) {
    const of = entity === 'image' ? (id ?? imageOfOwner(run)) : id
    await emitChange(run, { entity, id: of, kind: 'annotation', set: {}, unset: [...names] })
  }
  for (const { image, entries } of action.metadata)
    await emitChange(run, {
      entity: 'image',
      id: image ?? imageOfOwner(run),
      kind: 'metadata',
      set: await valuesOf(run, entries),
    })
  return { status: 'success', members: {}, exports: [] }
}

type Change = Pick<Annotated, 'entity' | 'id' | 'kind' | 'set'> & Partial<Pick<Annotated, 'unset' | 'display'>>

async function emitChange({ context, step, output }: AnnotateRun, { id, unset = [], ...rest }: Change): Promise<void> {
  if (rest.entity === 'image' && id === undefined)
    return output.say('There is no image to annotate, because the owning step created none.')
  const changes = [
    ...Object.entries(rest.set).map(([name, value]) => `${name}=${short(value)}`),
    ...unset.map((name) => `${name}-`),
  ]
  await output.say(`${describe(rest.entity, id)}: ${changes.join(', ')}`)
  context.emit({ type: 'annotated', step: step.name, ...defined({ id }), unset, ...rest })
}

function describe(entity: AnnotatedEntity, id: string | undefined): string {
  return `Annotations of ${id === undefined ? `this ${entity}` : `${entity} ${id}`}`
}

function short(value: Value): string {
  const text = String(value).replaceAll('\n', ' ')
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

async function valuesOf(run: AnnotateRun, entries: readonly AnnotationEntry[]): Promise<Record<string, Value>> {
  const values: [string, Value][] = []
  for (const { name, value } of entries) {
    const found = 'is' in value ? await fileOr(run, value.is) : await evaluated(run, name, value.evaluate)
    values.push([name, typeof found === 'string' ? run.output.redact(found).slice(0, MAX_VALUE_CHARS) : found])
  }
  return Object.fromEntries(values)
}

/** Evaluates an expression. An error becomes the value, so that it is visible in its place. */
async function evaluated({ scope, output }: AnnotateRun, name: string, text: string): Promise<Value> {
  try {
    return evaluate(parseExpression(text), scope) ?? ''
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    const message = `error: ${error.message}`
    await output.say(`Annotation "${name}" cannot be evaluated: ${error.message} (character ${error.at + 1} of: ${text.trim()})`)
    return message
  }
}

/** Returns the text of the file in `file:PATH`, absolute or relative to the working directory. Returns the value itself if there is no file. */
async function fileOr({ scope, context, output }: AnnotateRun, value: Value): Promise<Value> {
  if (typeof value !== 'string' || !value.startsWith('file:')) return value
  const written = value.slice('file:'.length).trim()
  const path = resolveDirectory(scope, written, 'main-clone')
  const text = path === undefined || written === '' ? undefined : await context.workspace.read(path, MAX_VALUE_CHARS * 4)
  if (text !== undefined) return text.replace(/\n$/, '')
  await output.say(`There is no file ${written} of at most ${MAX_VALUE_CHARS} characters: the annotation is stored as written.`)
  return value
}

/** Returns the image of the step that owns this hook or part. */
function imageOfOwner({ context, step, membersOf }: AnnotateRun): string | undefined {
  const owner = ownerOf(context.input.plan, step.name)
  if (owner === undefined) return undefined
  const snapshot: Snapshot = {
    steps: { [owner]: { status: 'success', try: 1, members: membersOf(owner), output: {} } },
    exports: [],
  }
  return imageOf(stateOf(snapshot, owner))
}

function ownerOf(plan: Plan, name: string): string | undefined {
  const byName = new Map(plan.steps.map((step) => [step.name, step]))
  for (let step = byName.get(name); step !== undefined; step = step.parent === undefined ? undefined : byName.get(step.parent))
    if (step.hook !== undefined) return step.hook.of
  return undefined
}
