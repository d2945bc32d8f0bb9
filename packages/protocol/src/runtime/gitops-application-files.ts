/**
 * Applications of Argo CD as files in the Git sources of a GitOps runtime. The app-proxy writes them with the Git token of the caller, and Argo CD applies them
 * (docs/development/adr/0138-applications-in-git.md).
 */
import { z } from 'zod'
import { ApplicationName, RuntimeApplicationDetails } from './gitops-applications.ts'
import { GitSourceName, CommitMessage, RepositoryChange } from './gitops-repository.ts'

/** Largest file with an application. Characters. */
export const MAX_APPLICATION_TEXT = 200_000
const MAX_LIST = 100

/** A text of a form. An empty one removes the field. What it may be is checked in the manifest. */
const Field = z.string().max(2_000)
const Named = z
  .record(z.string().min(1).max(400), z.string().max(20_000).nullable())
  .refine((values) => Object.keys(values).length <= MAX_LIST, `must have at most ${MAX_LIST} names`)

/** The fields of an application that a form has. What is absent stays as it is, and null removes a name. */
export const ApplicationFields = z.strictObject({
  project: Field.optional(),
  labels: Named.optional(),
  annotations: Named.optional(),
  /** Repository of Git, of Helm charts, or of OCI artifacts. */
  repo: Field.optional(),
  /** Folder in the repository. Setting it removes the chart. */
  path: Field.optional(),
  /** Chart of a Helm repository. Setting it removes the path. */
  chart: Field.optional(),
  /** Branch, tag or commit, or the version of a chart. */
  revision: Field.optional(),
  releaseName: Field.optional(),
  /** Files of Helm values. An empty list removes them. */
  valueFiles: z.array(z.string().min(1).max(1_024)).max(MAX_LIST).optional(),
  /** Parameters of Helm, by name. */
  parameters: Named.optional(),
  /** Parameters of Helm that are texts, also if they look like numbers. */
  stringParameters: Named.optional(),
  /** Apply the folders in the folder too. */
  recurse: z.boolean().optional(),
  /** Where it deploys to: the URL of a cluster, or its name at Argo CD. Setting one removes the other. */
  server: Field.optional(),
  cluster: Field.optional(),
  namespace: Field.optional(),
  sync: z.enum(['automatic', 'manual']).optional(),
  /** For automatic syncs: delete what Git does not have anymore, undo other changes, and delete everything if Git is empty. */
  prune: z.boolean().optional(),
  selfHeal: z.boolean().optional(),
  allowEmpty: z.boolean().optional(),
  /** Options of Argo CD, such as `CreateNamespace=true`. Others of the application stay. */
  syncOptions: z.array(z.string().min(1).max(200)).max(MAX_LIST).optional(),
  /** How often a failed sync is tried again; -1 without an end. */
  retryLimit: z.int().min(-1).max(1_000).optional(),
})
export type ApplicationFields = z.output<typeof ApplicationFields>

const Text = z
  .string()
  .min(1)
  .max(MAX_APPLICATION_TEXT, `must have at most ${MAX_APPLICATION_TEXT} characters`)
  .refine((text) => text.isWellFormed(), 'must be Unicode')

/** A full hash. */
const Revision = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'must be the full hash of a commit')

const common = {
  /** Default: the only one of the runtime, or for an edit the one that has the application. */
  gitSource: GitSourceName.optional(),
  message: CommitMessage.optional(),
  /** Answer what would change, and change nothing. */
  dryRun: z.boolean().default(false),
}

export const NewApplication = z
  .strictObject({
    name: ApplicationName,
    ...common,
    fields: ApplicationFields.optional(),
    /** The whole manifest, in YAML. */
    manifest: Text.optional(),
    /** Path of the new file in the folder of the Git source. Default: the name of the application with `.yaml`. */
    file: z.string().min(1).max(500).optional(),
  })
  .refine(({ fields, manifest }) => (fields === undefined) !== (manifest === undefined), 'must have either fields or manifest')
export type NewApplication = z.output<typeof NewApplication>

export const ApplicationEdit = z
  .strictObject({
    ...common,
    fields: ApplicationFields.optional(),
    /** The wanted manifest, in YAML. Only the fields that differ are written: comments and the order of the file stay. */
    manifest: Text.optional(),
    /** The wanted text of the document, with its comments. */
    text: Text.optional(),
    /** The commit that the caller has seen. Changes that came after it stay. Default: the one that the branch has now. */
    base: Revision.optional(),
  })
  .refine(
    ({ fields, manifest, text }) => [fields, manifest, text].filter((given) => given !== undefined).length === 1,
    'must have one of fields, manifest and text',
  )
export type ApplicationEdit = z.output<typeof ApplicationEdit>

export const ApplicationFileQuery = z.object({ gitSource: GitSourceName.optional() })

/** The file of an application in a Git source. */
export const ApplicationFile = z.object({
  name: z.string(),
  gitSource: z.string(),
  /** URL for git. */
  repository: z.string(),
  branch: z.string(),
  /** Path of the file in the repository. */
  file: z.string(),
  /** The commit that was read. */
  revision: z.string(),
  /** The document of the application. The file may have others. */
  text: z.string(),
})
export type ApplicationFile = z.infer<typeof ApplicationFile>

/** A commit of another person that changed the same file meanwhile. */
export const OtherChange = z.object({ revision: z.string(), author: z.string(), subject: z.string() })
export type OtherChange = z.infer<typeof OtherChange>

export const ApplicationChange = ApplicationFile.omit({ text: true }).extend({
  /** The whole file. Absent for a new one. */
  before: z.string().optional(),
  after: z.string(),
  /** Absent if nothing was to be changed: `dryRun`. */
  commit: RepositoryChange.optional(),
  /** Commits of others on top of which the change was made again. Their changes stay. */
  others: z.array(OtherChange),
  /** False if the cluster has no application for the Git source that could be refreshed. Argo CD finds the commit later, if at all. */
  isRefreshed: z.boolean(),
  /** Why the cluster was not asked. Argo CD finds the commit when it looks at Git next. */
  refreshProblem: z.string().optional(),
  /** False if it is in the namespace of a restricted Git source, and the runtime does not know the server of Argo CD, which reads it. */
  isVisible: z.boolean(),
})
export type ApplicationChange = z.infer<typeof ApplicationChange>

export const AppliedQuery = z.object({ gitSource: GitSourceName, revision: Revision })
export type AppliedQuery = z.output<typeof AppliedQuery>

/** How far Argo CD is with a commit that changed an application. */
export const AppliedApplication = z.object({
  /** `applied`: the cluster has the application of the commit, and it is synced unless that is left to people. */
  state: z.enum(['waiting', 'applied', 'failed']),
  /** What it waits for, or why it failed. */
  reason: z.string(),
  application: RuntimeApplicationDetails.optional(),
})
export type AppliedApplication = z.infer<typeof AppliedApplication>
