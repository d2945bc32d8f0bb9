/** Pulls the images of later steps and their services while earlier steps run. */
import { isRecord } from '@windlass/kit/json'
import {
  exactReference,
  isFinalStep,
  kindOf,
  scopesOf,
  stateOf,
  substitute,
  type BuildContext,
  type BuildScope,
  type PlanStep,
  type ServiceSet,
  type Snapshot,
} from '@windlass/plan'
import type { AttemptContext } from '../attempt/context.ts'

interface Wanted {
  readonly image: string
  readonly registryContext?: string | undefined
}

/** Starts pulling every image whose name is known already. The others are pulled when their step starts. */
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

/** Returns true for a reference `${{NAME}}` to a step, which creates that image. */
function isOfStep(image: string, scope: BuildScope): boolean {
  const [step = ''] = (exactReference(image) ?? '')
    .trim()
    .replace(/^steps\./, '')
    .split('.')
  return step !== '' && scope.isStep(step)
}

function imagesOfStep({ action, services }: PlanStep): Wanted[] {
  const own = kindOf(action)
    .images(action)
    .filter(({ pulledBy }) => pulledBy === 'engine')
  return services === undefined || !('compose' in services) ? own : [...own, ...imagesOfServices(services)]
}

/** Returns the images of a service set. A compose file is not read, because it may not exist yet. */
function imagesOfServices({ compose, readiness, setup }: ServiceSet): Wanted[] {
  const helpers = [readiness?.image, setup?.image].filter((image) => image !== undefined)
  const document = 'inline' in compose ? compose.inline : undefined
  const services = isRecord(document) ? document['services'] : undefined
  const named = Object.values(isRecord(services) ? services : {}).map((service) =>
    isRecord(service) ? service['image'] : undefined,
  )
  return [...named.filter((image) => typeof image === 'string'), ...helpers].map((image) => ({ image }))
}
