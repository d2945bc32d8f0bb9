/** Predicts what a build would do without running anything (`windlass plan`). Pure. */
import type { ActionKindName } from '../actions/index.ts'
import { PENDING } from '../state/fold.ts'
import type { BuildContext } from '../graph/outcome.ts'
import type { HookMoment, Plan, PlanStep, ServiceSet } from '../plan.ts'
import { previewImages, subjectOf } from './preview-subject.ts'
import type { PreviewImage } from './preview-subject.ts'
import { previewUnresolved } from './preview-unresolved.ts'
import type { PreviewUnresolved } from './preview-unresolved.ts'
import { previewVariables } from './preview-variables.ts'
import type { PreviewVariable } from './preview-variables.ts'
import { exportersOf, forecast } from './preview-when.ts'
import type { Forecast } from './preview-when.ts'
import { scopesOf } from '../expression/scope.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { selectedSteps } from '../graph/selection.ts'
import { shapeOf } from '../graph/shape.ts'
import type { Node } from '../graph/shape.ts'
import type { StepState } from '../state/snapshot.ts'
import { substitute } from '../expression/substitute.ts'

export type { PreviewImage } from './preview-subject.ts'
export type { PreviewUnresolved } from './preview-unresolved.ts'
export type { PreviewVariable } from './preview-variables.ts'

/** `runs`: if nothing before it fails; `depends`: on results of steps, see `on`; `fails`: its condition is invalid. */
export type StepForecast = 'runs' | 'skipped' | 'depends' | 'fails'

export interface PreviewStep {
  readonly name: string
  readonly title: string
  readonly kind: ActionKindName
  /** Set for a typed step. */
  readonly type?: string | undefined
  /** Set for a plain group. */
  readonly mode?: 'serial' | 'parallel' | undefined
  readonly parent?: string | undefined
  readonly hook?: { readonly moment: HookMoment; readonly of?: string | undefined } | undefined
  readonly stage?: string | undefined
  /** Steps that it waits for. */
  readonly after: readonly string[]
  readonly forecast: StepForecast
  /** Human-readable reason why it does not run, or what it depends on. */
  readonly because?: string | undefined
  readonly on: readonly string[]
  /** What it works on: an image, a repository at a revision. */
  readonly subject: string
  /** `retry 3`, `timeout 10m`, `fail_fast off`. */
  readonly notes: readonly string[]
  readonly services: readonly string[]
}

export interface Preview {
  readonly mode: Plan['mode']
  readonly stages: readonly string[]
  readonly steps: readonly PreviewStep[]
  readonly variables: readonly PreviewVariable[]
  /** Variables that have no value before the build starts. Absent if there are none. */
  readonly unresolved?: readonly PreviewUnresolved[] | undefined
  readonly images: readonly PreviewImage[]
  /** Services of the whole build. */
  readonly services: readonly string[]
}

/** Returns what would happen if every step that runs succeeded. Contains no secret values. */
export function previewPlan(plan: Plan, context: BuildContext = {}): Preview {
  const { nodes } = shapeOf(plan)
  const steps: Record<string, StepState> = Object.create(null)
  for (const { name } of nodes) steps[name] = PENDING
  const snapshot = { steps, exports: [] }
  const scopes = scopesOf({ plan, snapshot, builtins: context.builtins, secrets: {} })
  const selected = selectedSteps(shapeOf(plan), context)
  const exporters = exportersOf(plan)
  const known = new Map<Node, PreviewStep>()
  for (const node of nodes) {
    const scope = scopes({ step: node.name })
    const judged = judge(node, {
      above: node.owner === undefined ? undefined : known.get(node.owner),
      isSelected: selected === undefined || selected.has(node),
      when: () => (node.step.when === undefined ? { holds: 'yes' } : forecast(node.step.when, { scope, snapshot, exporters })),
    })
    if (judged.forecast === 'skipped') steps[node.name] = { ...PENDING, status: 'skipped' }
    known.set(node, describe(node, scope, judged))
  }
  const unresolved = previewUnresolved(plan, {
    steps: nodes.map((node) => ({ step: node.step, parts: partsOf(node, known) })),
    scopeOf: (step) => scopes(step === undefined ? {} : { step }),
    exporters,
  })
  return {
    mode: plan.mode,
    stages: plan.stages,
    steps: [...known.values()],
    variables: previewVariables(plan, scopes({})),
    ...(unresolved.length > 0 && { unresolved }),
    images: previewImages(
      plan,
      nodes.filter(({ name }) => steps[name]?.status !== 'skipped').map(({ step }) => step),
      (step) => scopes({ step }),
    ),
    services: serviceNames(plan.services),
  }
}

/** Returns the parts of a step that a build would read: only the condition of a skipped step, and nothing inside it. */
function partsOf(node: Node, known: ReadonlyMap<Node, PreviewStep>): unknown[] {
  const { step, owner } = node
  if (owner !== undefined && known.get(owner)?.forecast === 'skipped') return []
  if (known.get(node)?.forecast === 'skipped') return [step.when]
  return [step.when, step.title, step.timeout, step.action, step.services]
}

type Judged = Pick<PreviewStep, 'forecast' | 'because' | 'on'>

interface JudgeInput {
  readonly above: PreviewStep | undefined
  readonly isSelected: boolean
  readonly when: () => Forecast
}

const MOMENT_TEXTS: Readonly<Record<HookMoment, string>> = {
  on_elected: 'before it',
  on_success: 'when it succeeds',
  on_fail: 'when it fails',
  on_finish: 'at its end',
}

function judge(node: Node, { above, isSelected, when }: JudgeInput): Judged {
  if (above?.forecast === 'skipped') return { forecast: 'skipped', because: `${above.name} is skipped`, on: [] }
  if (!isSelected) return { forecast: 'skipped', because: 'not selected', on: [] }
  const own = when()
  if (own.holds === 'no') return { forecast: 'skipped', because: own.because, on: [] }
  if (own.holds === 'broken') return { forecast: 'fails', because: own.because, on: [] }
  const { moment } = node.step.hook ?? {}
  if (own.holds === 'maybe') return { forecast: 'depends', because: `if ${own.because}`, on: own.on }
  if (moment === 'on_fail' || moment === 'on_success')
    return { forecast: 'depends', because: MOMENT_TEXTS[moment], on: above === undefined ? ['workflow.result'] : [above.name] }
  if (above?.forecast === 'depends' && (node.step.hook === undefined || above.on.length > 0))
    return { forecast: 'depends', because: `same as ${above.name}`, on: [above.name] }
  return { forecast: 'runs', ...(moment !== undefined && { because: MOMENT_TEXTS[moment] }), on: [] }
}

function describe({ step, name, mentions }: Node, scope: BuildScope, judged: Judged): PreviewStep {
  const { action, parent, hook, stage } = step
  return {
    name,
    title: substitute(step.title, scope).text,
    kind: action.kind,
    ...(action.kind === 'group' && action.typed !== undefined && { type: `${action.typed.type}:${action.typed.version}` }),
    ...(action.kind === 'group' && action.typed === undefined && { mode: action.mode }),
    ...(parent !== undefined && { parent }),
    ...(hook !== undefined && { hook }),
    ...(stage !== undefined && { stage }),
    after: [...new Set([...step.after, ...mentions.map((node) => node.name)])],
    ...judged,
    subject: subjectOf(action, scope),
    notes: notesOf(step, scope),
    services: step.services === undefined ? [] : servicesOf(step.services),
  }
}

function servicesOf(services: ServiceSet | readonly string[]): string[] {
  return 'compose' in services ? serviceNames(services) : [...services]
}

function notesOf({ retry, timeout, failFast, breakpoints }: PlanStep, scope: BuildScope): string[] {
  return [
    ...(retry.maxAttempts > 1 ? [`${retry.maxAttempts} tries`] : []),
    ...(timeout === undefined ? [] : [`timeout ${substitute(timeout, scope).text}`]),
    ...(failFast === false ? ['may fail'] : []),
    ...(breakpoints === undefined ? [] : [`stops ${breakpoints.join(' and ')} in debug runs`]),
  ]
}

function serviceNames(services: ServiceSet | undefined): string[] {
  if (services === undefined) return []
  if ('path' in services.compose) return [services.compose.path]
  const { inline } = services.compose
  const listed = typeof inline === 'object' && inline !== null && 'services' in inline ? inline['services'] : inline
  return typeof listed === 'object' && listed !== null && !Array.isArray(listed) ? Object.keys(listed) : []
}
