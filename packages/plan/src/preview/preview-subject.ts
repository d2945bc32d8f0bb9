/** Short descriptions of what steps work on, and the images that a build needs. */
import { kindOf } from '../actions/index.ts'
import type { Action } from '../actions/index.ts'
import { composeImages } from '../fields/compose.ts'
import type { Template } from '../fields/template.ts'
import type { Plan, PlanStep } from '../plan.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { exactReference, substitute } from '../expression/substitute.ts'

export interface PreviewImage {
  /** With all known variables substituted. */
  readonly image: string
  /** The step of this build that builds it. */
  readonly madeBy?: string | undefined
  /** Steps that use it. */
  readonly steps: readonly string[]
}

/** Returns an image, a repository at a revision, or how long an approval waits. */
export function subjectOf(action: Action, scope: BuildScope): string {
  return kindOf(action).subject(action, (template) => (template === undefined ? '' : substitute(template, scope).text))
}

/** Returns every image once, in the order in which `steps` need them. Images of build services come last. */
export function previewImages(
  { services }: Plan,
  steps: readonly PlanStep[],
  scopeOf: (step: string) => BuildScope,
): PreviewImage[] {
  const found = new Map<string, { madeBy?: string; steps: string[] }>()
  const add = (image: string, step: string, madeBy?: string): void => {
    const known = found.get(image) ?? { ...(madeBy !== undefined && { madeBy }), steps: [] }
    found.set(image, known)
    if (!known.steps.includes(step)) known.steps.push(step)
  }
  for (const step of steps) {
    const scope = scopeOf(step.name)
    for (const image of imagesOf(step)) add(substitute(image, scope).text, step.name, makerOf(image, scope))
  }
  for (const image of services === undefined ? [] : composeImages(services.compose)) add(image, 'services')
  return [...found].map(([image, { madeBy, steps }]) => ({ image, ...(madeBy !== undefined && { madeBy }), steps }))
}

/** Returns the image of a step with known variables substituted; undefined for a step that runs none, or several. */
export function plannedImageOf({ action }: PlanStep, scope: BuildScope): string | undefined {
  const [only, ...more] = kindOf(action).images(action)
  return only === undefined || more.length > 0 ? undefined : substitute(only.image, scope).text
}

function imagesOf({ action, services }: PlanStep): Template[] {
  const own = services !== undefined && 'compose' in services ? composeImages(services.compose) : []
  const images = kindOf(action).images(action)
  return [...images.map(({ image }) => image), ...own]
}

function makerOf(image: string, scope: BuildScope): string | undefined {
  const name = exactReference(image)
    ?.trim()
    .replace(/^steps\./, '')
    .split('.')[0]
  return name === undefined ? undefined : scope.findStep(name)
}
