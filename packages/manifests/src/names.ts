/** Names and labels of the objects of an attempt. */
import { LABEL, labelValue, objectNames, type ObjectNames } from '@windlass/protocol'
import type { AttemptInput } from './attempt-input.ts'

/** Names and labels that the objects of an attempt share. */
export interface AttemptNames extends ObjectNames {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  /** Seconds after which Kubernetes ends the pods in any case. */
  readonly deadlineSeconds: number
}

/** Returns names and labels of an attempt's objects. They are the same for every rendering, so that creating twice is harmless. */
export function attemptNames(
  input: Pick<AttemptInput, 'buildId' | 'attempt' | 'runtime' | 'now'> & Partial<AttemptInput>,
): AttemptNames {
  const { spec } = input.runtime
  const deadlineSeconds = Math.ceil((spec.limits.electedMs + spec.limits.buildMs) / 1000) + GRACE_SECONDS
  return {
    namespace: spec.runtimeScheduler.cluster.namespace,
    ...objectNames(input.buildId, input.attempt),
    deadlineSeconds,
    labels: withoutEmpty({
      [LABEL.build]: input.buildId,
      [LABEL.attempt]: String(input.attempt),
      [LABEL.runtime]: labelValue(input.runtime.name),
      [LABEL.expires]: String(Math.floor(input.now / 1000) + deadlineSeconds),
      [LABEL.account]: labelValue(input.account ?? ''),
      [LABEL.pipeline]: labelValue(input.pipelineId ?? ''),
      [LABEL.project]: labelValue(input.projectId ?? ''),
      [LABEL.trigger]: labelValue(input.trigger ?? ''),
      [LABEL.branch]: labelValue(input.branch ?? ''),
    }),
  }
}

/** Time between the deadline of a build and that of its pods in Kubernetes. Seconds. */
const GRACE_SECONDS = 900

function withoutEmpty(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
}
