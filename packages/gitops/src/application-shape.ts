/** The fields of an Application of Argo CD (`argoproj.io/v1alpha1`) that a file in Git may have. A test on a real Argo CD holds them against its definition. */
import { z } from 'zod'

const text = z.string().optional()
const flag = z.boolean().optional()
const texts = z.array(z.string()).optional()
const named = z.record(z.string(), z.string()).optional()
const list = <T extends z.ZodType>(item: T) => z.array(item).optional()

const LABEL = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/
const VALUE = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

const Name = z.string().regex(NAME, 'must be a name of Kubernetes: lower-case letters, digits, - and ., at most 253')
const Namespace = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a namespace: lower-case letters, digits and -, at most 63')
/** What Argo CD clones is in the manifest, which is in Git, so it must not have a login. */
const RepoUrl = z
  .string()
  .min(1)
  .regex(/^[^\s\p{Cc}]+$/u, 'must be the URL of a repository')
  .refine(
    (url) => !/^[a-z][a-z0-9+.-]*:\/\/[^/@]*:[^/@]*@/i.test(url),
    'must not have a password: give Argo CD the login of the repository',
  )

const Jsonnet = z.strictObject({
  extVars: list(z.strictObject({ name: z.string(), value: z.string(), code: flag })),
  tlas: list(z.strictObject({ name: z.string(), value: z.string(), code: flag })),
  libs: texts,
})

const tools = {
  helm: z
    .strictObject({
      valueFiles: texts,
      parameters: list(z.strictObject({ name: text, value: text, forceString: flag })),
      releaseName: text,
      values: text,
      fileParameters: list(z.strictObject({ name: text, path: text })),
      version: text,
      passCredentials: flag,
      ignoreMissingValueFiles: flag,
      skipCrds: flag,
      valuesObject: z.record(z.string(), z.unknown()).optional(),
      namespace: text,
      kubeVersion: text,
      apiVersions: texts,
      skipTests: flag,
      skipSchemaValidation: flag,
    })
    .optional(),
  kustomize: z
    .strictObject({
      namePrefix: text,
      nameSuffix: text,
      images: texts,
      commonLabels: named,
      version: text,
      commonAnnotations: named,
      forceCommonLabels: flag,
      forceCommonAnnotations: flag,
      namespace: text,
      commonAnnotationsEnvsubst: flag,
      replicas: list(z.strictObject({ name: z.string(), count: z.union([z.int(), z.string()]) })),
      patches: list(
        z.strictObject({
          path: text,
          patch: text,
          target: z
            .strictObject({
              group: text,
              version: text,
              kind: text,
              name: text,
              namespace: text,
              annotationSelector: text,
              labelSelector: text,
            })
            .optional(),
          options: z.record(z.string(), z.boolean()).optional(),
        }),
      ),
      components: texts,
      ignoreMissingComponents: flag,
      labelWithoutSelector: flag,
      kubeVersion: text,
      apiVersions: texts,
      labelIncludeTemplates: flag,
    })
    .optional(),
  directory: z
    .strictObject({ recurse: flag, jsonnet: Jsonnet.optional(), exclude: text, include: text, disableExtensionFilter: flag })
    .optional(),
  plugin: z
    .strictObject({
      name: text,
      env: list(z.strictObject({ name: z.string(), value: z.string() })),
      parameters: list(z.strictObject({ name: text, string: text, map: named, array: texts })),
    })
    .optional(),
}

const Source = z.strictObject({
  repoURL: RepoUrl,
  path: text,
  targetRevision: text,
  tagPrefix: text,
  chart: text,
  ref: text,
  name: text,
  ...tools,
})

const Hydrator = z.strictObject({
  drySource: z.strictObject({ repoURL: RepoUrl, targetRevision: z.string(), path: z.string(), ...tools }),
  syncSource: z.strictObject({ repoURL: RepoUrl.optional(), targetBranch: z.string(), path: z.string() }),
  hydrateTo: z.strictObject({ targetBranch: z.string() }).optional(),
})

const SyncPolicy = z.strictObject({
  automated: z.strictObject({ prune: flag, selfHeal: flag, allowEmpty: flag, enabled: flag }).optional(),
  syncOptions: list(z.string().regex(/^[A-Za-z]+=\S+$/, 'must have the form NAME=VALUE')),
  retry: z
    .strictObject({
      limit: z.int().optional(),
      backoff: z.strictObject({ duration: text, factor: z.int().optional(), maxDuration: text }).optional(),
      refresh: flag,
    })
    .optional(),
  managedNamespaceMetadata: z.strictObject({ labels: named, annotations: named }).optional(),
})

const Spec = z.strictObject({
  project: Name,
  source: Source.optional(),
  sources: list(Source),
  sourceHydrator: Hydrator.optional(),
  destination: z.strictObject({ server: text, name: text, namespace: z.union([z.literal(''), Namespace]).optional() }),
  syncPolicy: SyncPolicy.optional(),
  ignoreDifferences: list(
    z.strictObject({
      group: text,
      kind: z.string(),
      name: text,
      namespace: text,
      jsonPointers: texts,
      jqPathExpressions: texts,
      managedFieldsManagers: texts,
    }),
  ),
  info: list(z.strictObject({ name: z.string(), value: z.string() })),
  revisionHistoryLimit: z.int().nonnegative().optional(),
})

export const ApplicationShape = z.strictObject({
  apiVersion: z.literal('argoproj.io/v1alpha1', 'must be argoproj.io/v1alpha1'),
  kind: z.literal('Application', 'must be Application'),
  metadata: z.strictObject({
    name: Name,
    namespace: Namespace.optional(),
    labels: z
      .record(z.string().regex(LABEL, 'must be the name of a label'), z.string().regex(VALUE, 'must be the value of a label'))
      .optional(),
    annotations: z.record(z.string().regex(LABEL, 'must be the name of an annotation'), z.string()).optional(),
    finalizers: texts,
  }),
  spec: Spec,
})
export type ApplicationShape = z.output<typeof ApplicationShape>

/** Returns the names of the fields that an object at a path may have; undefined if it may have any, or there is none. */
export function fieldsAt(path: readonly PropertyKey[]): string[] | undefined {
  let at: unknown = ApplicationShape
  for (const key of path) {
    const found = unwrapped(at)
    if (found instanceof z.ZodObject) at = found.shape[String(key)]
    else if (found instanceof z.ZodArray) at = found.element
    else return undefined
  }
  const found = unwrapped(at)
  return found instanceof z.ZodObject ? Object.keys(found.shape) : undefined
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema
}
