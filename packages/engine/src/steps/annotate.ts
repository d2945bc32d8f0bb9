/**
 * Annotations and image metadata (pipeline language 4.7 and 4.8): values and expressions made out here, facts for the server to keep. No
 * container is needed; files are read through the workspace. What cannot be evaluated or read is told, and never fails the step.
 */
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
  type BuildScope,
  type Plan,
  type Snapshot,
} from '@windlass/plan'
import type { EngineEventBody } from '@windlass/protocol'
import type { StepOutcome, StepRun } from '../attempt/context.ts'

type Value = string | number | boolean
type Annotated = Extract<EngineEventBody, { type: 'annotated' }>

/** Longest text of one annotation, and largest file that becomes one. Bytes of UTF-8 are not told from characters here. */
const MAX_VALUE_CHARS = 65_536

export interface AnnotateRun extends StepRun<AnnotateAction> {
  readonly scope: BuildScope
}

export async function runAnnotate(run: AnnotateRun): Promise<StepOutcome> {
  const { action } = run
  for (const { entity, id, entries, display } of action.set) {
    const of = entity === 'image' ? (id ?? imageOfOwner(run)) : id
    await tell(run, {
      entity,
      id: of,
      kind: 'annotation',
      set: await valuesOf(run, entries),
      ...(display !== undefined && { display }),
    })
  }
  for (const { entity, id, names } of action.unset) {
    const of = entity === 'image' ? (id ?? imageOfOwner(run)) : id
    await tell(run, { entity, id: of, kind: 'annotation', set: {}, unset: [...names] })
  }
  for (const { image, entries } of action.metadata)
    await tell(run, { entity: 'image', id: image ?? imageOfOwner(run), kind: 'metadata', set: await valuesOf(run, entries) })
  return { status: 'success', members: {}, exports: [] }
}

type Change = Pick<Annotated, 'entity' | 'id' | 'kind' | 'set'> & Partial<Pick<Annotated, 'unset' | 'display'>>

async function tell({ context, step, output }: AnnotateRun, { id, unset = [], ...change }: Change): Promise<void> {
  if (change.entity === 'image' && id === undefined)
    return output.say('There is no image to annotate: the step that this belongs to has made none.')
  const words = [
    ...Object.entries(change.set).map(([name, value]) => `${name}=${short(value)}`),
    ...unset.map((name) => `${name}-`),
  ]
  await output.say(`${describe(change.entity, id)}: ${words.join(', ')}`)
  context.tell({ type: 'annotated', step: step.name, ...(id !== undefined && { id }), unset, ...change })
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

/** An error is a value too, so that it is seen where the value would have been. */
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

/** The text of the file that `file:` names, absolute or below the working directory; the words themselves where there is none. */
async function fileOr({ scope, context, output }: AnnotateRun, value: Value): Promise<Value> {
  if (typeof value !== 'string' || !value.startsWith('file:')) return value
  const written = value.slice('file:'.length).trim()
  const path = resolveDirectory(scope, written, 'main-clone')
  const text = path === undefined || written === '' ? undefined : await context.workspace.read(path, MAX_VALUE_CHARS * 4)
  if (text !== undefined) return text.replace(/\n$/, '')
  await output.say(`There is no file ${written} of at most ${MAX_VALUE_CHARS} characters: the annotation keeps the words.`)
  return value
}

/** The image made by the step whose hook or part this is. */
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
