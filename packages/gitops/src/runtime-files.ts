/** The Argo CD applications of a GitOps runtime that apply the shared repository. */
import { z } from 'zod'
import {
  below,
  clustersFolder,
  CONFIGURATION_PATTERNS,
  IN_CLUSTER,
  inClusterPatterns,
  joinPatterns,
  MANAGED_CLUSTER_PATTERNS,
  RESOURCES,
  splitPatterns,
} from './layout.ts'
import { editYaml, readManifest, toYaml, type Manifest } from './yaml.ts'

/** Where Argo CD finds the API server of its own cluster. */
export const IN_CLUSTER_SERVER = 'https://kubernetes.default.svc'

/**
 * Project of the applications of a hosted runtime itself. The chart creates it: it allows sets of applications and applications in the namespace of the runtime. The project
 * `default` of a hosted runtime allows all clusters but that of the runtime.
 */
const HOSTED_PROJECT = 'windlass-runtime'

export const ENTITY_LABEL = 'codefresh.io/entity'
export const INTERNAL_LABEL = 'codefresh.io/internal'
const INTERNAL_CONFIG = { [ENTITY_LABEL]: 'internal-config', [INTERNAL_LABEL]: 'true' }

/** Argo CD keeps the cluster equal to Git, also if Git has nothing more. */
export const SYNC_POLICY = {
  automated: { allowEmpty: true, prune: true, selfHeal: true },
  syncOptions: ['allowEmpty=true'],
}

/** The shared repository, as the account has chosen it. */
export interface SharedPlace {
  /** URL for git. */
  readonly clone: string
  /** Folder of the repository. Empty for its root. */
  readonly path: string
  readonly branch: string
}

/** A GitOps runtime: its name, and its namespace in its own cluster. */
export interface RuntimePlace {
  readonly runtime: string
  readonly namespace: string
  /** True for a runtime in the cluster of the server, whose other namespaces are those of others. Default: false. */
  readonly isHosted?: boolean | undefined
}

/** Returns the project of the applications with which a runtime changes its own namespace. */
export function ownProject({ isHosted }: Pick<RuntimePlace, 'isHosted'>): string {
  return isHosted === true ? HOSTED_PROJECT : 'default'
}

/** Returns the application that is created once in the cluster of the runtime. It applies the folder of the runtime, which has further applications. */
export function runtimeApplication(shared: SharedPlace, place: RuntimePlace): Manifest {
  const { runtime, namespace } = place
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: runtimeApplicationName(runtime), namespace, labels: INTERNAL_CONFIG },
    spec: {
      project: ownProject(place),
      source: { repoURL: shared.clone, path: below(shared.path, clustersFolder(runtime)), targetRevision: shared.branch },
      destination: { namespace, server: IN_CLUSTER_SERVER },
      syncPolicy: SYNC_POLICY,
    },
  }
}

export function runtimeApplicationName(runtime: string): string {
  return `${runtime}-isc`
}

export interface InClusterOptions {
  /** True if the runtime applies products and promotions. */
  readonly isConfigurationRuntime: boolean
}

/** Returns the file of the application that applies the repository to the cluster of the runtime. */
export function inClusterFile(shared: SharedPlace, place: RuntimePlace, { isConfigurationRuntime }: InClusterOptions): string {
  const patterns = [...inClusterPatterns(place), ...(isConfigurationRuntime ? CONFIGURATION_PATTERNS : [])]
  const target = { name: IN_CLUSTER, project: ownProject(place), server: IN_CLUSTER_SERVER, patterns, syncPolicy: SYNC_POLICY }
  return toYaml(resourcesApplication(shared, place, target))
}

/**
 * Returns the file of the application that applies the repository to a managed cluster. It names the API server, and has no credentials. Argo CD creates the namespace of
 * the runtime there: objects without a namespace of their own are in it.
 */
export function clusterFile(
  shared: SharedPlace,
  place: RuntimePlace,
  { name, server }: { readonly name: string; readonly server: string },
): string {
  const syncPolicy = { ...SYNC_POLICY, syncOptions: [...SYNC_POLICY.syncOptions, 'CreateNamespace=true'] }
  return toYaml(
    resourcesApplication(shared, place, { name, project: 'default', server, patterns: MANAGED_CLUSTER_PATTERNS, syncPolicy }),
  )
}

interface ResourcesTarget {
  readonly name: string
  readonly project: string
  /** URL of the API server. */
  readonly server: string
  readonly patterns: readonly string[]
  readonly syncPolicy: typeof SYNC_POLICY
}

function resourcesApplication(shared: SharedPlace, { namespace }: RuntimePlace, target: ResourcesTarget): Manifest {
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: target.name, namespace, labels: INTERNAL_CONFIG },
    spec: {
      project: target.project,
      source: {
        repoURL: shared.clone,
        path: below(shared.path, RESOURCES),
        targetRevision: shared.branch,
        directory: { include: joinPatterns(target.patterns), recurse: true },
      },
      destination: { namespace, server: target.server },
      syncPolicy: target.syncPolicy,
    },
  }
}

const Application = z.looseObject({
  spec: z.looseObject({
    source: z.looseObject({
      repoURL: z.string(),
      path: z.string().optional(),
      targetRevision: z.string().optional(),
      directory: z.looseObject({ include: z.string().optional() }).optional(),
    }),
    destination: z.looseObject({ server: z.string().optional(), namespace: z.string().optional() }).optional(),
  }),
})

/** Returns whether the file of a runtime applies products and promotions. Undefined if the file is not such an application. */
export function isConfigurationFile(text: string): boolean | undefined {
  const application = Application.safeParse(readManifest(text)).data
  if (application === undefined) return undefined
  const include = application.spec.source.directory?.include ?? ''
  const patterns = splitPatterns(include) ?? []
  return CONFIGURATION_PATTERNS.every((pattern) => patterns.includes(pattern))
}

/** Returns the namespace of the runtime that its file names. Undefined if the file is not such an application, or names none. */
export function namespaceOfFile(text: string): string | undefined {
  return readManifest(text)?.metadata.namespace
}

/** Returns the URL of the API server that the file of a managed cluster names. Undefined if the file is not such an application. */
export function clusterServerOf(text: string): string | undefined {
  return Application.safeParse(readManifest(text)).data?.spec.destination?.server
}

/**
 * Returns the file of a runtime with the repository and the patterns that it should have. Other fields, comments and further patterns stay. The text is returned
 * unchanged if it says this already. Undefined if the file is not such an application.
 */
export function editInClusterFile(
  text: string,
  shared: SharedPlace,
  { isConfigurationRuntime, ...place }: InClusterOptions & Pick<RuntimePlace, 'runtime' | 'isHosted'>,
): string | undefined {
  const source = Application.safeParse(readManifest(text)).data?.spec.source
  if (source === undefined) return undefined
  const include = source.directory?.include
  const given = include === undefined ? [] : (splitPatterns(include) ?? [])
  const kept = given.filter((pattern) => isConfigurationRuntime || !CONFIGURATION_PATTERNS.includes(pattern))
  const wanted = [...inClusterPatterns(place), ...(isConfigurationRuntime ? CONFIGURATION_PATTERNS : [])]
  const patterns = joinPatterns([...kept, ...wanted.filter((pattern) => !kept.includes(pattern))])
  const path = below(shared.path, RESOURCES)
  const isSame =
    source.repoURL === shared.clone && source.path === path && source.targetRevision === shared.branch && include === patterns
  if (isSame) return text
  return editYaml(text, [
    [['spec', 'source', 'repoURL'], shared.clone],
    [['spec', 'source', 'path'], path],
    [['spec', 'source', 'targetRevision'], shared.branch],
    [['spec', 'source', 'directory', 'include'], patterns],
  ])
}
