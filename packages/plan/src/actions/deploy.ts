/** Kind deploy: deploys an image or a manifest to a Kubernetes cluster. */
import { composeDirectory } from '../fields/compose.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface DeployAction {
  readonly kind: 'deploy'
  readonly cluster: Template
  readonly namespace: Template
  /** What to deploy: a Service whose deployment gets a new image, or a manifest. */
  readonly target:
    | { readonly service: Template; readonly candidate?: { readonly image: Template; readonly registry: Template } }
    | { readonly filePath: Template }
  /** Seconds, as text. */
  readonly rolloutTimeout: Template
}

export interface ResolvedDeploy {
  readonly kind: 'deploy'
  readonly cluster: string
  readonly namespace: string
  readonly target:
    | {
        readonly service: string
        /** `step`: the build or push step that built it, if `image` refers to one. */
        readonly candidate?: { readonly image: string; readonly registry: string; readonly step?: string }
      }
    | { readonly filePath: string }
  readonly rolloutTimeoutMs: number
}

export const deploy = {
  performedBy: 'engine',
  resolve,
  subject: ({ cluster, namespace }, fill) => `${fill(cluster)}/${fill(namespace)}`,
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<DeployAction, ResolvedDeploy>

function resolve(action: DeployAction, fields: StepFields): ResolvedDeploy {
  const { target } = action
  const seconds = Number(fields.text('timeout', action.rolloutTimeout))
  if (!(seconds > 0)) fields.problem('timeout', '"timeout" of a deploy step must be a number of seconds')
  return {
    kind: 'deploy',
    cluster: fields.required('cluster', action.cluster),
    namespace: fields.required('namespace', action.namespace),
    target:
      'filePath' in target
        ? { filePath: `${composeDirectory(undefined, fields)}/${fields.required('file_path', target.filePath)}` }
        : {
            service: fields.required('service', target.service),
            ...(target.candidate !== undefined && { candidate: fillCandidate(target.candidate, fields) }),
          },
    rolloutTimeoutMs: seconds * 1_000,
  }
}

function fillCandidate(
  { image, registry }: { readonly image: Template; readonly registry: Template },
  fields: StepFields,
): { readonly image: string; readonly registry: string; readonly step?: string } {
  const step = fields.stepIn(image)
  return {
    image: fields.required('candidate.image', image, 'image'),
    ...(step !== undefined && { step }),
    registry: fields.required('candidate.registry', registry),
  }
}
