/**
 * The values file of the Codefresh installer, with all its keys and types. Unknown keys are rejected.
 */
import { splitList } from '@windlass/kit'
import { fault, type Problem } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import { z } from 'zod'

const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
const TextMap = z.record(z.string(), Text)
const AnyTree = z.record(z.string(), z.unknown())
/** `k=v,k=v`, or a mapping. */
const Selector = z.union([TextMap, z.string().transform((text, context) => parsePairs(text, context))])
const Image = z.union([z.string(), z.strictObject({ Name: z.string().optional(), Tag: Text.optional() })])
const Tolerations = z.array(AnyTree)
const ServiceAccount = z.strictObject({ Annotations: TextMap.optional() })
const Quantities = z.strictObject({ CPU: Text.optional(), Memory: Text.optional() })

const Storage = z.strictObject({
  Annotations: TextMap.optional(),
  Backend: z.enum(['local', 'ebs', 'ebs-csi', 'gcedisk', 'azuredisk', 'azuredisk-csi']).optional(),
  StorageClassName: z.string().optional(),
  CreateStorageClass: Flag.optional(),
  LocalVolumeParentDir: z.string().optional(),
  AvailabilityZone: z.string().optional(),
  VolumeType: z.string().optional(),
  FsType: z.string().optional(),
  Encrypted: Text.optional(),
  KmsKeyId: z.string().optional(),
  GoogleServiceAccount: z.string().optional(),
  AwsAccessKeyId: z.string().optional(),
  AwsSecretAccessKey: z.string().optional(),
  SkuName: z.string().optional(),
  CachingMode: z.string().optional(),
  AzureLocation: z.string().optional(),
  AzureResourceGroup: z.string().optional(),
  VolumeProvisioner: z
    .strictObject({
      Image: Image.optional(),
      NodeSelector: Selector.optional(),
      Tolerations: Tolerations.optional(),
      resources: AnyTree.optional(),
      MountAzureJson: Flag.optional(),
      ServiceAccount: ServiceAccount.optional(),
      // Codefresh spells it this way.
      CreateDindVolDirResouces: z.strictObject({ Limits: Quantities.optional(), Requests: Quantities.optional() }).optional(),
    })
    .optional(),
  LocalVolumeMonitor: z.strictObject({ Image: Image.optional(), resources: AnyTree.optional() }).optional(),
  VolumeCleaner: z.strictObject({ Image: Image.optional() }).optional(),
})

export const InstallerValues = z.strictObject({
  CodefreshHost: z.string().optional(),
  Token: z.string().optional(),
  insecure: Flag.optional(),
  ConfigPath: z.string().optional(),
  Context: z.string().optional(),
  Namespace: z.string().optional(),
  InCluster: Flag.optional(),
  KubernetesHost: z.string().optional(),
  RuntimeEnvironmentName: z.string().optional(),
  RuntimeServiceAccount: z.string().optional(),
  SkipClusterTest: Flag.optional(),
  SkipClusterIntegration: Flag.optional(),
  ClusterId: z.string().optional(),
  EnvVars: TextMap.optional(),
  DockerRegistry: z.string().optional(),
  NewRelicLicense: z.string().optional(),
  GitProviderURL: z.string().optional(),
  CreateRbac: Flag.optional(),
  Logging: z.strictObject({ FirebaseHost: z.string().optional() }).optional(),
  NetworkTester: z.strictObject({ Image: Image.optional(), AdditionalEnvVars: TextMap.optional() }).optional(),
  Image: Image.optional(),
  Runner: z.strictObject({ resources: AnyTree.optional() }).optional(),
  AdditionalEnvVars: TextMap.optional(),
  NodeSelector: Selector.optional(),
  Tolerations: Tolerations.optional(),
  AgentToken: z.string().optional(),
  AgentId: z.string().optional(),
  StorageClass: z.string().optional(),
  Storage: Storage.optional(),
  Monitor: z
    .strictObject({
      Enabled: Flag.optional(),
      Image: Image.optional(),
      resources: AnyTree.optional(),
      AdditionalEnvVars: TextMap.optional(),
      Helm3: Flag.optional(),
      UseNamespaceWithRole: Flag.optional(),
      RbacEnabled: Flag.optional(),
      ServiceAccount: ServiceAccount.optional(),
    })
    .optional(),
  AppProxy: z
    .strictObject({
      Image: Image.optional(),
      resources: AnyTree.optional(),
      AdditionalEnvVars: TextMap.optional(),
      Ingress: z
        .strictObject({
          Host: z.string().optional(),
          IngressClass: z.string().optional(),
          TLSSecret: z.string().optional(),
          PathPrefix: z.string().optional(),
          Annotations: TextMap.optional(),
        })
        .optional(),
      ServiceAccount: ServiceAccount.optional(),
    })
    .optional(),
  Runtime: z
    .strictObject({
      NodeSelector: Selector.optional(),
      tolerations: Tolerations.optional(),
      ServiceAccount: ServiceAccount.optional(),
      AdditionalEnvVars: TextMap.optional(),
      resources: AnyTree.optional(),
      userVolumeMounts: AnyTree.optional(),
      userVolumes: AnyTree.optional(),
    })
    .optional(),
  dockerDaemonScheduler: z.strictObject({ userAccess: Flag.optional() }).optional(),
})
export type InstallerValues = z.infer<typeof InstallerValues>

/** Checks values merged from files and flags. Throws `document-invalid` with all unknown keys and values of the wrong type. */
export function checkInstallerValues(values: unknown, file: string): InstallerValues {
  const parsed = InstallerValues.safeParse(values)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.flatMap((issue) => problemsOf(issue, file))
  throw fault('document-invalid', {
    message: `Unknown or invalid installer values in ${file}.`,
    problems,
    hint: 'See the keys in docs/runner/install-wizard.md.',
  })
}

function problemsOf(issue: z.core.$ZodIssue, file: string): Problem[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [{ file, path: path.join('.'), message: `${path.join('.')}: ${issue.message}` }]
  return issue.keys.map((key) => {
    const near = nearest(key, keysAt(InstallerValues, path))
    const full = [...path, key].join('.')
    return { file, path: full, message: `unknown value "${full}"${near === undefined ? '' : `; did you mean "${near}"?`}` }
  })
}

/** Returns the known keys at a path, for suggestions. */
function keysAt(shape: unknown, path: readonly string[]): string[] {
  let at: unknown = shape
  for (const key of path) at = unwrap(at) instanceof z.ZodObject ? shapeOf(at)[key] : undefined
  return Object.keys(shapeOf(at))
}

function shapeOf(shape: unknown): Readonly<Record<string, unknown>> {
  const object = unwrap(shape)
  return object instanceof z.ZodObject ? object.shape : {}
}

function unwrap(shape: unknown): unknown {
  return shape instanceof z.ZodOptional ? shape.unwrap() : shape
}

/** Parses `a=b,c=d` to a mapping. Each part is split at its first `=`. */
function parsePairs(text: string, context: z.core.$RefinementCtx): Record<string, string> {
  const pairs = splitList(text)
  const found: Record<string, string> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) context.addIssue({ code: 'custom', message: `"${pair}" is not in the form key=value`, input: text })
    else found[pair.slice(0, at)] = pair.slice(at + 1)
  }
  return found
}
