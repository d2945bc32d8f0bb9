/** The objects of the chart windlass-gitops-runtime in a namespace without its release: Argo CD has installed it from Git, or Helm with another name. */
import { listIfKnown, type Kind, type Kube } from '@windlass/kube'
import { z } from 'zod'

/** Label of all objects of the chart, with the value `CHART`. */
export const CHART_LABEL = 'app.kubernetes.io/part-of'
export const CHART = 'windlass-gitops-runtime'
/** What Helm writes on each object, and Argo CD does not. */
const RELEASE_ANNOTATION = 'meta.helm.sh/release-name'
/** Pods first: what they need goes after them. */
const KINDS: readonly Kind[] = [
  'Deployment',
  'StatefulSet',
  'Job',
  'Ingress',
  'HTTPRoute',
  'Service',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'PodMonitor',
  'RoleBinding',
  'Role',
  'ServiceAccount',
  'Secret',
  'ConfigMap',
]

const Description = z.looseObject({
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  data: z.looseObject({ runtimeName: z.string(), 'base-url': z.string().optional(), ingressHost: z.string().optional() }),
})

export interface InstalledChart {
  /** Name of the GitOps runtime. */
  readonly runtime: string
  /** URL of the server. */
  readonly server: string | undefined
  /** URL of the runtime; undefined for that of its tunnel. */
  readonly url: string | undefined
  /** Name of the Helm release; undefined if Argo CD has installed the chart. */
  readonly release: string | undefined
}

/** Returns what the ConfigMap of the chart says. Undefined without it, and for that of another product. */
export async function findInstalledChart(kube: Kube, namespace: string): Promise<InstalledChart | undefined> {
  const found = Description.safeParse(await kube.find({ kind: 'ConfigMap', namespace, name: 'codefresh-cm' })).data
  if (found?.metadata.labels[CHART_LABEL] !== CHART) return undefined
  const { runtimeName: runtime, 'base-url': server, ingressHost } = found.data
  const url = ingressHost === '' ? undefined : ingressHost
  return { runtime, server, url, release: found.metadata.annotations[RELEASE_ANNOTATION] }
}

/** Deletes all objects of the chart in a namespace. Can be repeated. */
export async function removeChartObjects(kube: Kube, namespace: string): Promise<void> {
  for (const kind of KINDS) {
    const found = await listIfKnown(kube, { kind, namespace, labels: `${CHART_LABEL}=${CHART}`, content: 'metadata' })
    for (const { metadata } of found) await kube.delete({ kind, namespace, name: metadata.name })
  }
}
