/** Fetches the images of steps to come, and of their services, while earlier ones run. */
import {
  exactReference,
  isFinalStep,
  scopesOf,
  stateOf,
  substitute,
  type BuildContext,
  type BuildScope,
  type PlanStep,
  type ServiceSet,
  type Snapshot,
} from '@windlass/plan'
import type { AttemptContext } from './context.ts'

interface Wanted {
  readonly image: string
  readonly registryContext?: string | undefined
}

/** Begins with every image whose name is known already; the others are fetched when their step starts. */
export function prefetchImages({ input, images }: AttemptContext, { builtins, secrets }: BuildContext, snapshot: Snapshot): void {
  const { plan } = input
  const scopes = scopesOf({ plan, snapshot, builtins, secrets })
  const begin = (wanted: readonly Wanted[], scope: BuildScope): void => {
    for (const { image, registryContext = '' } of wanted) {
      if (isOfStep(image, scope)) continue
      const name = substitute(image, scope)
      const context = substitute(registryContext, scope)
      if (name.unresolved.length + context.unresolved.length > 0) continue
      images.prefetch({ name: name.text, registryContext: context.text === '' ? undefined : context.text })
    }
  }
  const [first] = plan.steps
  if (plan.services !== undefined && first !== undefined) begin(imagesOfServices(plan.services), scopes({ step: first.name }))
  for (const step of plan.steps)
    if (!isFinalStep(stateOf(snapshot, step.name).status)) begin(imagesOfStep(step), scopes({ step: step.name }))
}

/** True for `${{NAME}}` of a step: what it stands for is made by that step. */
function isOfStep(image: string, scope: BuildScope): boolean {
  const [step = ''] = (exactReference(image) ?? '')
    .trim()
    .replace(/^steps\./, '')
    .split('.')
  return step !== '' && scope.isStep(step)
}

function imagesOfStep({ action, services }: PlanStep): Wanted[] {
  const own = action.kind === 'freestyle' ? [{ image: action.image, registryContext: action.registryContext }] : []
  return services === undefined || !('compose' in services) ? own : [...own, ...imagesOfServices(services)]
}

/** Of a compose document that is a file nothing is known before it is there. */
function imagesOfServices({ compose, readiness, setup }: ServiceSet): Wanted[] {
  const helpers = [readiness?.image, setup?.image].filter((image) => image !== undefined)
  const document = 'inline' in compose ? compose.inline : undefined
  const services = isMap(document) ? document['services'] : undefined
  const named = Object.values(isMap(services) ? services : {}).map((service) => (isMap(service) ? service['image'] : undefined))
  return [...named.filter((image) => typeof image === 'string'), ...helpers].map((image) => ({ image }))
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
