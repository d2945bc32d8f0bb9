/** Shows why pods of an installation do not start, while Helm or the wizard waits for them. */
import type { Clock } from '@windlass/kit'
import type { Kube, KubeObject } from '@windlass/kube'
import { z } from 'zod'
import type { Printer } from '../../printer.ts'

const PERIOD_MS = 15_000

const Container = z.looseObject({
  name: z.string(),
  ready: z.boolean().default(false),
  state: z
    .looseObject({ waiting: z.looseObject({ reason: z.string().default(''), message: z.string().default('') }).optional() })
    .default({}),
})
const Pod = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().default('') })).default([]),
      initContainerStatuses: z.array(Container).default([]),
      containerStatuses: z.array(Container).default([]),
    })
    .prefault({}),
})

interface Installing {
  readonly kube: Kube
  readonly release: { readonly name: string; readonly namespace: string }
  readonly out: Printer
  readonly clock: Clock
}

/** Resolves like `work`. Meanwhile, every 15 s it prints the first pod of the release that is not ready, if that has changed. */
export async function showStarting<T>({ kube, release, out, clock }: Installing, work: Promise<T>): Promise<T> {
  const ended = new AbortController()
  const { signal } = ended
  const watch = async (): Promise<void> => {
    for (let shown = ''; ;) {
      await clock.sleep(PERIOD_MS, signal)
      const labels = `app.kubernetes.io/instance=${release.name}`
      const pods = await kube.list({ kind: 'Pod', namespace: release.namespace, labels }, signal).catch(() => [])
      const text = explainFirst(pods) ?? ''
      if (text !== '' && text !== shown) out.note(out.stderr.style.dim(`  ${text}`))
      shown = text
    }
  }
  // Ends with the rejection of the aborted sleep.
  watch().catch(() => undefined)
  try {
    return await work
  } finally {
    ended.abort()
  }
}

/** Returns the first pod that is not ready, with the reason of Kubernetes; undefined if all are ready. Pure. */
export function explainFirst(pods: readonly KubeObject[]): string | undefined {
  for (const object of pods) {
    const { metadata, status } = Pod.parse(object)
    if (status.phase === 'Succeeded' || status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'))
      continue
    const waiting = [...status.initContainerStatuses, ...status.containerStatuses].find(
      ({ state }) => state.waiting !== undefined,
    )?.state.waiting
    const unplaced = status.conditions.find(({ type, status: value }) => type === 'PodScheduled' && value === 'False')
    const why =
      waiting === undefined
        ? (unplaced?.message ?? status.phase)
        : [waiting.reason, waiting.message].filter((part) => part !== '').join(': ')
    return `pod ${metadata.name} is not ready: ${why}`
  }
  return undefined
}
