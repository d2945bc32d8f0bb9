/**
 * What the shared configuration repository of an account has of a GitOps runtime: Git sources and managed clusters. The app-proxy of the runtime reads and writes it;
 * the server only knows which repository it is (docs/development/adr/0129-gitops-repository.md).
 */
import { z } from 'zod'
import { HttpUrl, Time } from '../base.ts'
import { GIT_PROVIDERS } from './gitops.ts'
import { RepositoryUrl } from './repository-url.ts'

/** The settings of an account for GitOps. */
export const GitopsSettings = z.object({
  /** The shared configuration repository; absent until the first runtime has chosen one. */
  sharedRepository: z.string().optional(),
  /** The forge of the repository and the URL of its API, as public clients name them. */
  gitProvider: z.enum(GIT_PROVIDERS).optional(),
  gitApiUrl: z.string().optional(),
  changedBy: z.string().optional(),
  changedAt: Time.optional(),
})
export type GitopsSettings = z.infer<typeof GitopsSettings>

export const GitopsSettingsInput = z.strictObject({
  sharedRepository: RepositoryUrl,
  gitProvider: z.enum(GIT_PROVIDERS).optional(),
  gitApiUrl: HttpUrl.optional(),
})

/** The subject and body of a commit. */
export const CommitMessage = z
  .string()
  .max(10_000)
  .refine((text) => text.trim() !== '' && text.isWellFormed() && !text.includes('\0'), 'must be a message')

/** What an app-proxy did in a repository. */
export const RepositoryChange = z.object({
  revision: z.string(),
  branch: z.string(),
  /** Page of the commit at the forge. */
  url: z.string(),
  /** False if the repository had these contents already, so that no commit was made. */
  isNew: z.boolean(),
  /** True if the commit was put on top of commits that came meanwhile. */
  isRebased: z.boolean(),
})
export type RepositoryChange = z.infer<typeof RepositoryChange>

export const SharedConfiguration = z.object({
  repository: z.string(),
  branch: z.string(),
  /** The commit that was read. */
  revision: z.string(),
  /** True if the repository has the files of this runtime. */
  hasRuntime: z.boolean(),
  /** True if this runtime applies products, promotion flows and policies. */
  isConfigurationRuntime: z.boolean(),
  /** The Argo CD application of the runtime that applies the repository. It is created once in its cluster. */
  application: z.record(z.string(), z.unknown()),
})
export type SharedConfiguration = z.infer<typeof SharedConfiguration>

export const SharedConfigurationChange = z.object({ configuration: SharedConfiguration, commit: RepositoryChange })
export type SharedConfigurationChange = z.infer<typeof SharedConfigurationChange>

/** What was removed of a runtime. */
export const SharedConfigurationRemoval = z.object({
  /** Files of applications: Git sources, managed clusters, and those of the runtime itself. */
  applications: z.int().nonnegative(),
  commit: RepositoryChange,
})
export type SharedConfigurationRemoval = z.infer<typeof SharedConfigurationRemoval>

export const SharedConfigurationInput = z.strictObject({
  /** Default: the one of the account. */
  repository: RepositoryUrl.optional(),
  /** Default: what the repository says, and true for its first runtime. */
  isConfigurationRuntime: z.boolean().optional(),
  message: CommitMessage.optional(),
})
export type SharedConfigurationInput = z.output<typeof SharedConfigurationInput>

/** Names of objects of Kubernetes. The project of a restricted source adds `-restricted`. */
export const GitSourceName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?$/,
    'must have at most 52 lower-case letters, digits and -, and begin and end with a letter or digit',
  )

const KubeName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a name of Kubernetes: lower-case letters, digits and -')
/** A pattern of paths, such as `*.yaml` or `{apps/*,teams/**}`. */
const Glob = z
  .string()
  .min(1)
  .max(1_000)
  .regex(/^[^\p{Cc}]+$/u, 'must be a pattern')
const Labels = z
  .record(
    z.string().regex(/^(?:[a-z0-9.-]{1,253}\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/, 'must be the name of a label'),
    z.string().regex(/^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/, 'must be the value of a label'),
  )
  .refine((labels) => Object.keys(labels).length <= 50, 'must have at most 50 labels')

/** Where the applications of a restricted Git source may deploy to: a cluster by name or by URL, and a namespace, both with `*` as wildcard. */
export const Destination = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[\w.*-]+$/, 'must be the name of a cluster')
      .optional(),
    server: z
      .string()
      .max(500)
      .regex(/^(?:\*|https?:\/\/[^\s@]+)$/, 'must be the URL of a cluster, or *')
      .optional(),
    namespace: z.string().regex(/^[a-z0-9*](?:[a-z0-9*-]{0,61}[a-z0-9*])?$/, 'must be a namespace, with * as wildcard'),
  })
  .refine(({ name, server }) => (name === undefined) !== (server === undefined), 'must have either name or server')
export type Destination = z.infer<typeof Destination>

/** Fields that both types of Git sources have. */
const common = {
  repository: RepositoryUrl,
  include: Glob.default('*'),
  exclude: Glob.optional(),
  message: CommitMessage.optional(),
}
const StandardFields = z.strictObject({
  type: z.literal('standard'),
  ...common,
  /** Project of Argo CD. */
  project: KubeName.default('default'),
  labels: Labels.optional(),
})
const RestrictedFields = z.strictObject({
  type: z.literal('restricted'),
  ...common,
  /** Namespace for its applications, projects and sets of applications. */
  sourceNamespace: KubeName.regex(/^cf-./, 'must begin with cf-'),
  destinations: z.array(Destination).min(1).max(100),
  /** Repositories from which its applications may be, with `*` as wildcard. Default: all. */
  sourceRepos: z
    .array(
      z
        .string()
        .min(1)
        .max(500)
        .regex(/^[^\s\p{Cc}]+$/u, 'must be a repository, or a pattern'),
    )
    .min(1)
    .max(100)
    .default(['*']),
})
/** The fields of a Git source without its name, which never changes. */
export const GitSourceInput = z.discriminatedUnion('type', [StandardFields, RestrictedFields])
export type GitSourceInput = z.output<typeof GitSourceInput>
/** A new Git source. Its type never changes either. */
export const NewGitSource = z.discriminatedUnion('type', [
  StandardFields.extend({ name: GitSourceName }),
  RestrictedFields.extend({ name: GitSourceName }),
])
export type NewGitSource = z.output<typeof NewGitSource>

/** A Git source as the repository has it. Files that people have written may have any values. */
export const GitSource = z.object({
  name: z.string(),
  type: z.enum(['standard', 'restricted']),
  /** `https://host/owner/name.git/path?ref=branch`. */
  repository: z.string(),
  include: z.string().optional(),
  exclude: z.string().optional(),
  project: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  sourceNamespace: z.string().optional(),
  destinations: z
    .array(z.object({ name: z.string().optional(), server: z.string().optional(), namespace: z.string() }))
    .optional(),
  sourceRepos: z.array(z.string()).optional(),
})
export type GitSource = z.infer<typeof GitSource>

export const ListedGitSource = GitSource.extend({
  /** Path of its file in the shared configuration repository. */
  file: z.string(),
})
export type ListedGitSource = z.infer<typeof ListedGitSource>

export const GitSourceChange = z.object({
  gitSource: ListedGitSource,
  commit: RepositoryChange,
  /** False if the runtime has no Git integration for the host of the repository, so that the repository was not asked for its branch. */
  isChecked: z.boolean(),
})
export type GitSourceChange = z.infer<typeof GitSourceChange>

export const ClusterName = z
  .string()
  .regex(
    /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must have at most 63 lower-case letters, digits and -, begin with a letter, and end with a letter or digit',
  )

export const ManagedClusterInput = z.strictObject({
  name: ClusterName,
  /** Base64 of a kubeconfig with one cluster and a token. */
  kubeConfig: z
    .string()
    .min(1)
    .max(100_000)
    .regex(/^[A-Za-z0-9+/\s]+={0,2}\s*$/, 'must be base64'),
  labels: Labels.optional(),
  annotations: z
    .record(z.string().regex(/^(?:[a-z0-9.-]{1,253}\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/), z.string().max(10_000))
    .refine((annotations) => Object.keys(annotations).length <= 50, 'must have at most 50 annotations')
    .optional(),
  message: CommitMessage.optional(),
})

export type ManagedClusterInput = z.output<typeof ManagedClusterInput>

export const ManagedCluster = z.object({
  name: z.string(),
  /** URL of the API server, of the credentials or else of the file. */
  server: z.string().optional(),
  /** True if the namespace of the runtime has the Secret with the credentials. */
  hasCredentials: z.boolean(),
  /** Path of its file in the shared configuration repository; absent if the file does not exist. */
  file: z.string().optional(),
})
export type ManagedCluster = z.infer<typeof ManagedCluster>

export const ManagedClusterChange = z.object({ cluster: ManagedCluster, commit: RepositoryChange })
export type ManagedClusterChange = z.infer<typeof ManagedClusterChange>

/** `oci://registry.example.com/charts/gitops-runtime`. The last part is the name of the chart. */
const ChartUrl = z
  .string()
  .max(500)
  .regex(/^oci:\/\/[A-Za-z0-9.-]+(?::\d{1,5})?(?:\/[a-z0-9][a-z0-9._-]*)+$/, 'must have the form oci://HOST/PATH/NAME')

/** The chart of a runtime that Argo CD installs from the shared configuration repository. */
export const RuntimeChart = z.object({ chart: z.string(), version: z.string() })
export type RuntimeChart = z.infer<typeof RuntimeChart>

export const RuntimeChartInput = z.strictObject({
  /** Default: the one that the repository has. */
  chart: ChartUrl.optional(),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]{1,100})?$/, 'must be a version such as 1.2.3'),
  /** Values of the chart. They are in Git, so they must not have secrets. Default: those that the repository has. */
  values: z.record(z.string(), z.unknown()).optional(),
  message: CommitMessage.optional(),
})
export type RuntimeChartInput = z.output<typeof RuntimeChartInput>

export const RuntimeChartChange = z.object({ chart: RuntimeChart, commit: RepositoryChange })
export type RuntimeChartChange = z.infer<typeof RuntimeChartChange>

/** `https://charts.example.com/NAME` or `oci://HOST/PATH/NAME`. */
const HelmChartUrl = z
  .string()
  .max(500)
  .regex(
    /^(?:https|oci):\/\/[A-Za-z0-9.-]+(?::\d{1,5})?(?:\/[A-Za-z0-9][\w.-]*)+$/,
    'must have the form https://HOST/PATH/NAME or oci://HOST/PATH/NAME',
  )

/** Installs Argo Rollouts in a cluster of a runtime. */
export const ArgoRolloutsInput = z.strictObject({
  /** Namespace of the controller, which is created. Default, as for the other fields: what the repository has, or else that of the project of Argo Rollouts. */
  namespace: KubeName.optional(),
  chart: HelmChartUrl.optional(),
  version: z
    .string()
    .regex(/^v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]{1,100})?$/, 'must be a version such as 1.2.3')
    .optional(),
  /** Values of the chart. They are in Git, so they must not have secrets. */
  values: z.record(z.string(), z.unknown()).optional(),
  message: CommitMessage.optional(),
})
export type ArgoRolloutsInput = z.output<typeof ArgoRolloutsInput>

export const ArgoRolloutsChange = z.object({
  /** Name of the application of Argo CD that installs it. */
  application: z.string(),
  /** Path of its file in the shared configuration repository. */
  file: z.string(),
  chart: z.string(),
  version: z.string(),
  commit: RepositoryChange,
})
export type ArgoRolloutsChange = z.infer<typeof ArgoRolloutsChange>
