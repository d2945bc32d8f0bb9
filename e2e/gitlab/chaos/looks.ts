/** Looks at the cluster: what it has of the jobs of a run, and the Leases of managers. */
import { silentLog } from '@windlass/kit'
import { openKube, readKubeconfig, type Kind, type KubeObject } from '@windlass/kube'
import type { RunnerScene } from '../support/runner-scene.ts'
import type { Look } from './history.ts'

/** Time for one look. The API server may be frozen. Milliseconds. */
const LOOK_MS = 10_000
const SEEN = ['Pod', 'Secret', 'Lease'] as const satisfies readonly Kind[]

export interface Looks {
  readonly list: readonly Look[]
  /** Looks once. Resolves to undefined if the cluster does not answer. */
  look(): Promise<Look | undefined>
  /** Returns the namespace of the pod of a job, and its name. Undefined while it has none. */
  podOf(job: number): Pod | undefined
  /** Deletes a pod as a user does. Resolves to false if the cluster does not answer; it may have deleted the pod then. */
  deletePod(pod: Pod): Promise<boolean>
  close(): void
}

interface Pod {
  readonly namespace: string
  readonly name: string
}

/** Opens looks at some namespaces, as the administrator of the cluster. */
export async function openLooks(scene: RunnerScene, namespaces: readonly string[]): Promise<Looks> {
  const kube = openKube({ access: await readKubeconfig(scene.cluster.kubeconfig), log: silentLog })
  const list: Look[] = []
  /** Jobs by the names of their pods: some objects have only that name. */
  const jobs = new Map<string, number>()
  const pods = new Map<number, Pod>()

  async function look(): Promise<Look | undefined> {
    const signal = AbortSignal.timeout(LOOK_MS)
    const places = namespaces.flatMap((namespace) => SEEN.map((kind) => ({ kind, namespace })))
    const found = await Promise.all(
      places.map(async ({ kind, namespace }) =>
        (await kube.list({ kind, namespace, content: 'metadata' }, signal)).map(({ metadata }) =>
          seen(kind, namespace, metadata),
        ),
      ),
    ).catch(() => undefined)
    if (found === undefined) return undefined
    const items = found.flat()
    for (const { kind, namespace, name, labels } of items) {
      const job = labels['windlass.io/gitlab-job']
      if (job === undefined) continue
      jobs.set(name, Number(job))
      if (kind === 'Pod') pods.set(Number(job), { namespace, name })
    }
    const named = items.map(({ kind, name, namespace, labels }) => ({
      kind,
      name: `${kind}/${namespace}/${name}`,
      job: jobs.get(labels['windlass.io/gitlab-pod'] ?? name),
    }))
    const taken: Look = {
      at: Date.now(),
      objects: named.filter(({ kind }) => kind !== 'Lease').map(({ name, job }) => ({ name, job })),
      leases: named.filter(({ kind }) => kind === 'Lease').map(({ name }) => name),
    }
    list.push(taken)
    return taken
  }

  return {
    list,
    look,
    podOf: (job) => pods.get(job),
    async deletePod({ namespace, name }) {
      const options = { graceSeconds: 1, signal: AbortSignal.timeout(LOOK_MS) }
      return kube.delete({ kind: 'Pod', name, namespace }, options).then(
        () => true,
        () => false,
      )
    },
    close: () => kube.close(),
  }
}

interface Seen extends Pod {
  readonly kind: Kind
  readonly labels: Readonly<Record<string, string>>
}

function seen(kind: Kind, namespace: string, { name, labels = {} }: KubeObject['metadata']): Seen {
  return { kind, namespace, name, labels }
}
