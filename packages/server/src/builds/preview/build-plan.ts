/** The frozen plan of a build, for views. Secret variables have no values there. */
import { previewPlan, type BuildContext, type DocumentSource, type Plan } from '@windlass/plan'
import { Build, type BuildPlan, type PlanPreview } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findBuildPlan } from '../../store/builds/builds.ts'
import { readStepTypes } from '../create/compile-document.ts'
import { readRequest } from '../create/request.ts'
import { readPlan } from '../create/snapshot.ts'
import { present } from '../lifecycle/present.ts'
import { requireFound } from '../lifecycle/require-found.ts'

const Problems = Build.shape.problems.unwrap()

/** Returns the plan of a build and the documents that it was compiled from. Throws `not-found`. */
export async function describePlan(app: App, buildId: string): Promise<BuildPlan> {
  const stored = requireFound(await findBuildPlan(app.store.query, buildId), `plan of build ${buildId}`)
  const { only, skip, file = 'pipeline.yaml' } = readRequest(stored)
  const plan = readPlan(stored)
  return {
    document: stored.document,
    file,
    stepTypes: readStepTypes(stored).map(({ name, version }) => ({ name, version })),
    ...present({
      plan: plan && toPreview(plan, { only, skip }),
      problems: stored.problems === null ? undefined : Problems.parse(JSON.parse(stored.problems)),
      fetched: stored.fetched,
      source: plan?.source && toSource(plan.source),
    }),
  }
}

/** Returns the preview of a plan with the places of its steps. */
export function toPreview(plan: Plan, context: BuildContext): PlanPreview {
  const { steps, stages, variables, unresolved, images, services, mode } = previewPlan(plan, context)
  const positions = new Map(plan.steps.map(({ name, position }) => [name, position]))
  return {
    mode,
    stages: [...stages],
    services: [...services],
    variables: variables.map((variable) => ({ ...variable })),
    ...present({
      unresolved: unresolved?.map((one) => ({ ...one, steps: [...one.steps], variables: [...one.variables] })),
    }),
    images: images.map((image) => ({ ...image, steps: [...image.steps] })),
    steps: steps.map((step) => ({
      ...step,
      after: [...step.after],
      on: [...step.on],
      notes: [...step.notes],
      services: [...step.services],
      ...present({ position: positions.get(step.name) }),
    })),
  }
}

function toSource(source: DocumentSource): BuildPlan['source'] {
  if (source.location === 'url') return { location: 'url', url: withoutCredentials(source.url) }
  return { location: 'git', repo: withoutCredentials(source.repo), path: source.path }
}

/** Removes the user and password of a URL. */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1')
}
