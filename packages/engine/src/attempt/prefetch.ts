/** Fetches the images of steps to come while earlier ones run. */
import { exactReference, isFinalStep, scopesOf, stateOf, substitute, type BuildContext, type Snapshot } from '@windlass/plan'
import type { AttemptContext } from './context.ts'

/** Begins with every image whose name is known already; the others are fetched when their step starts. */
export function prefetchImages({ input, images }: AttemptContext, { builtins, secrets }: BuildContext, snapshot: Snapshot): void {
  const scopes = scopesOf({ plan: input.plan, snapshot, builtins, secrets })
  for (const { name, action } of input.plan.steps) {
    if (action.kind !== 'freestyle' || isFinalStep(stateOf(snapshot, name).status)) continue
    const scope = scopes({ step: name })
    const reference = exactReference(action.image)
    if (
      reference !== undefined &&
      scope.isStep(
        reference
          .trim()
          .replace(/^steps\./, '')
          .split('.')[0] ?? '',
      )
    )
      continue
    const image = substitute(action.image, scope)
    const context = substitute(action.registryContext ?? '', scope)
    if (image.unresolved.length + context.unresolved.length > 0) continue
    images.prefetch({ name: image.text, registryContext: context.text === '' ? undefined : context.text })
  }
}
