/** Substitutes the variables of services of a step, of a group or of the build when they start. */
import type { BuildScope } from '../expression/build-scope.ts'
import { composeDirectory, fillCompose } from '../fields/compose.ts'
import type { ResolvedCompose } from '../fields/compose.ts'
import { StepFields } from '../fields/step-fields.ts'
import type { Notes, StepProblem } from '../fields/step-fields.ts'
import type { ServiceSet } from '../plan.ts'

export interface ResolvedServices {
  readonly name?: string
  readonly compose: ResolvedCompose
  readonly variables: readonly string[]
  readonly sharedHostNetwork: boolean
  readonly readiness?: {
    readonly image: string
    readonly commands: readonly string[]
    readonly periodMs: number
    readonly timeoutMs: number
    readonly failureThreshold: number
  }
  readonly setup?: { readonly image: string; readonly commands: readonly string[] }
}

/** Resolves a set of services; absent if there is a problem. Never throws. */
export function resolveServices(
  services: ServiceSet,
  scope: BuildScope,
): { readonly services?: ResolvedServices; readonly problems: readonly StepProblem[] } {
  const notes: Notes = { problems: [], unresolved: new Set() }
  const filled = fillServices(services, new StepFields(scope, notes))
  return { ...(notes.problems.length === 0 && { services: filled }), problems: notes.problems }
}

function fillServices(services: ServiceSet, fields: StepFields): ResolvedServices {
  const { readiness, setup } = services
  return {
    ...(services.name !== undefined && { name: services.name }),
    compose: fillCompose('services.composition', services.compose, composeDirectory(undefined, fields), fields),
    variables: fields.list('services.composition_variables', services.variables),
    sharedHostNetwork: fields.flag('services.shared_host_network', services.sharedHostNetwork),
    ...(readiness !== undefined && {
      readiness: {
        ...readiness,
        image: fields.required('services.readiness.image', readiness.image, 'image'),
        commands: fields.list('services.readiness.commands', readiness.commands),
      },
    }),
    ...(setup !== undefined && {
      setup: {
        image: fields.required('services.setup.image', setup.image, 'image'),
        commands: fields.list('services.setup.commands', setup.commands),
      },
    }),
  }
}
