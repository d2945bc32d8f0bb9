/** What steps work on, in a few words, and the images that a build needs. */
import type { Action, ComposeSource, JsonTemplate, Plan, PlanStep } from './plan.ts'
import type { BuildScope } from './scope.ts'
import { exactReference, substitute } from './substitute.ts'

export interface PreviewImage {
  /** As far as its variables are known. */
  readonly image: string
  /** The step of this build that makes it. */
  readonly madeBy?: string
  /** Steps that use it. */
  readonly steps: readonly string[]
}

/** An image, a repository at a revision, how long an approval may take. */
export function subjectOf(action: Action, scope: BuildScope): string {
  const fill = (text: string | undefined): string => (text === undefined ? '' : substitute(text, scope).text)
  switch (action.kind) {
    case 'freestyle':
      return fill(action.image)
    case 'git-clone':
      return action.revision === undefined ? fill(action.repo) : `${fill(action.repo)} @ ${fill(action.revision)}`
    case 'build':
      return action.tags.length === 0 ? fill(action.imageName) : `${fill(action.imageName)}:${action.tags.map(fill).join(', ')}`
    case 'push':
      return `${fill(action.candidate)} ${action.registry === undefined ? '' : `to ${fill(action.registry)}`}`.trim()
    case 'push-tag':
      return `${fill(action.imageName)}: ${action.tags.map(fill).join(', ')}`
    case 'composition':
      return `${Object.keys(action.candidates).length} candidates`
    case 'launch-composition':
      return fill(action.environmentName)
    case 'deploy':
      return `${fill(action.cluster)}/${fill(action.namespace)}`
    case 'pending-approval':
      return `${action.timeoutMs / 3_600_000} h, then ${action.finalState}`
    case 'annotate':
      return ''
    case 'group':
      return action.typed === undefined ? '' : `${action.typed.type}:${action.typed.version}`
  }
}

/** Every image once, in the order in which `steps` need them; services of the build come last. */
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

function imagesOf({ action, services }: PlanStep): string[] {
  const own = services !== undefined && 'compose' in services ? composeImages(services.compose) : []
  if (action.kind === 'freestyle') return [action.image, ...own]
  if (action.kind !== 'composition') return own
  const candidates = Object.values(action.candidates).flatMap(imageOfService)
  return [...composeImages(action.compose), ...candidates, ...own]
}

function composeImages(source: ComposeSource): string[] {
  if ('path' in source) return []
  const document = source.inline
  const listed = isMap(document) && isMap(document['services'] ?? null) ? document['services'] : document
  return isMap(listed ?? null) ? Object.values(listed as Record<string, JsonTemplate>).flatMap(imageOfService) : []
}

function imageOfService(service: JsonTemplate): string[] {
  const image = isMap(service) ? service['image'] : undefined
  return typeof image === 'string' ? [image] : []
}

function isMap(value: JsonTemplate): value is { readonly [key: string]: JsonTemplate } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function makerOf(image: string, scope: BuildScope): string | undefined {
  const name = exactReference(image)
    ?.trim()
    .replace(/^steps\./, '')
    .split('.')[0]
  return name === undefined ? undefined : scope.findStep(name)
}
