/** Images that pods of a namespace could not pull, as its events say. Kubernetes keeps events for an hour. */
import { z } from 'zod'
import type { Kube } from '../client.ts'
import type { Finding } from './finding.ts'

const PullEvent = z.looseObject({
  reason: z.string().default(''),
  message: z.string().default(''),
  involvedObject: z.looseObject({ kind: z.string().default(''), name: z.string().default('') }).prefault({}),
})
const CHECK = 'image pull'
const MAX_FINDINGS = 5

/** Returns a finding for each image that could not be pulled lately. */
export async function checkImagePulls(kube: Kube, namespace: string, signal?: AbortSignal): Promise<Finding[]> {
  const events = await kube.list({ kind: 'Event', namespace, fields: 'type=Warning' }, signal)
  return evaluateImagePulls(events)
}

/** Evaluates events. Pure. */
export function evaluateImagePulls(events: readonly unknown[]): Finding[] {
  const failed = new Map<string, { readonly message: string; readonly pod: string }>()
  for (const event of events) {
    const { reason, message, involvedObject } = PullEvent.parse(event)
    const image = /Failed to pull image "([^"]+)"/.exec(message)?.[1]
    if (reason === 'Failed' && image !== undefined && involvedObject.kind === 'Pod')
      failed.set(image, { message, pod: involvedObject.name })
  }
  if (failed.size === 0) return [{ check: CHECK, status: 'pass', message: 'no image failed to be pulled in the last hour' }]
  return [...failed].slice(0, MAX_FINDINGS).map(([image, { message, pod }]) => ({
    check: CHECK,
    status: 'warn',
    message: `pod ${pod}: ${message.slice(0, 1000)}`,
    hint: `Check the name ${image}, the credentials with which the cluster pulls it, and the network of the nodes.`,
  }))
}
