/** The application that installs Argo Rollouts in one cluster of a runtime: a chart, so that another version is a commit. */
import { z } from 'zod'
import { gitSourcePath } from './layout.ts'
import { splitChart } from './runtime-chart.ts'
import { ENTITY_LABEL, INTERNAL_LABEL, type RuntimePlace } from './runtime-files.ts'
import { editYaml, readManifest, toYaml, type Manifest } from './yaml.ts'

const ENTITY = 'argo-rollouts'
/** What is installed unless a call says otherwise: the chart of the project. */
export const ARGO_ROLLOUTS = {
  namespace: 'argo-rollouts',
  chart: 'https://argoproj.github.io/argo-helm/argo-rollouts',
  version: '2.41.1',
} as const
/** Argo CD writes the repository of a registry without it. */
const OCI = 'oci://'

export function argoRolloutsName(cluster: string): string {
  return `argo-rollouts-${cluster}`
}

/** Returns the path of the file. It is beside the Git sources of the runtime, which its own cluster applies. */
export function argoRolloutsPath(runtime: string, cluster: string): string {
  return gitSourcePath(runtime, argoRolloutsName(cluster))
}

export interface ArgoRollouts {
  /** URL of the API server of the cluster. */
  readonly server: string
  /** Of the controller. */
  readonly namespace: string
  readonly chart: string
  readonly version: string
}

export interface ArgoRolloutsOptions extends ArgoRollouts {
  readonly values: Readonly<Record<string, unknown>> | undefined
}

export function argoRolloutsFile({ namespace }: RuntimePlace, cluster: string, options: ArgoRolloutsOptions): string {
  const application: Manifest = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: {
      name: argoRolloutsName(cluster),
      namespace,
      labels: { [ENTITY_LABEL]: ENTITY, [INTERNAL_LABEL]: 'true' },
    },
    spec: {
      project: 'default',
      source: {
        ...toSource(options.chart),
        targetRevision: options.version,
        ...(options.values !== undefined && { helm: { valuesObject: options.values } }),
      },
      destination: { namespace: options.namespace, server: options.server },
      syncPolicy: {
        automated: { prune: true, selfHeal: true },
        // Its definitions are too large for the annotation of a client-side apply.
        syncOptions: ['CreateNamespace=true', 'ServerSideApply=true'],
      },
    },
  }
  return toYaml(application)
}

const Application = z.looseObject({
  metadata: z.looseObject({ labels: z.looseObject({ [ENTITY_LABEL]: z.literal(ENTITY) }) }),
  spec: z.looseObject({
    source: z.looseObject({ repoURL: z.string(), chart: z.string(), targetRevision: z.string() }),
    destination: z.looseObject({ namespace: z.string(), server: z.string() }),
  }),
})

/** Returns what a file installs. Undefined for another file. */
export function readArgoRollouts(text: string): ArgoRollouts | undefined {
  const spec = Application.safeParse(readManifest(text)).data?.spec
  if (spec === undefined) return undefined
  const { source, destination } = spec
  return {
    server: destination.server,
    namespace: destination.namespace,
    chart: toChart(source),
    version: source.targetRevision,
  }
}

/** Returns the file with another chart, version or namespace. Values are replaced if some are given. Comments and further fields stay. Undefined for another file. */
export function editArgoRollouts(
  text: string,
  { server, namespace, chart, version, values }: ArgoRolloutsOptions,
): string | undefined {
  if (readArgoRollouts(text) === undefined) return undefined
  const source = toSource(chart)
  return editYaml(text, [
    [['spec', 'source', 'repoURL'], source.repoURL],
    [['spec', 'source', 'chart'], source.chart],
    [['spec', 'source', 'targetRevision'], version],
    ...(values === undefined ? [] : [[['spec', 'source', 'helm', 'valuesObject'], values] as const]),
    [['spec', 'destination', 'namespace'], namespace],
    [['spec', 'destination', 'server'], server],
  ])
}

interface ChartSource {
  readonly repoURL: string
  readonly chart: string
}

function toSource(chart: string): ChartSource {
  const { repository, name } = splitChart(chart)
  return { repoURL: repository.startsWith(OCI) ? repository.slice(OCI.length) : repository, chart: name }
}

function toChart({ repoURL, chart }: ChartSource): string {
  return `${repoURL.includes('://') ? '' : OCI}${repoURL}/${chart}`
}
