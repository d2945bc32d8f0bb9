/** Names, labels and keys that the objects of an attempt share. */
import { LABEL, labelValue } from '@windlass/protocol'
import type { AttemptInput } from './attempt.ts'

/** What the parts of an attempt share. */
export interface AttemptNames {
  readonly namespace: string
  readonly secret: string
  readonly claim: string
  readonly dind: string
  readonly engine: string
  readonly labels: Readonly<Record<string, string>>
  /** Seconds after which Kubernetes ends the pods whatever happened. */
  readonly deadlineSeconds: number
}

/** Names and labels of an attempt's objects: the same for every rendering, so that creating twice is harmless. */
export function attemptNames(
  input: Pick<AttemptInput, 'buildId' | 'attempt' | 'runtime' | 'now'> & Partial<AttemptInput>,
): AttemptNames {
  const { spec } = input.runtime
  const suffix = input.attempt > 1 ? `${input.buildId}-retry-${input.attempt - 1}` : input.buildId
  const deadlineSeconds = Math.ceil((spec.limits.electedMs + spec.limits.buildMs) / 1000) + GRACE_SECONDS
  return {
    namespace: spec.runtimeScheduler.cluster.namespace,
    secret: `engine-${suffix}`,
    claim: `pvc-dind-${suffix}`,
    dind: `dind-${suffix}`,
    engine: `engine-${suffix}`,
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

/** Between the end of a build's time and the end of its pods by Kubernetes, seconds. */
const GRACE_SECONDS = 900

function withoutEmpty(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
}

/** Keys of the Secret; the pods mount them as files. */
export const SECRET_KEY = {
  bootstrap: 'bootstrap',
  serverCa: 'server-ca.pem',
  ca: 'ca.pem',
  clientCert: 'cert.pem',
  clientKey: 'key.pem',
  serverCert: 'server-cert.pem',
  serverKey: 'server-key.pem',
} as const
