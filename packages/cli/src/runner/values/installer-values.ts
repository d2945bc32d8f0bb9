/**
 * The values file of the vendor's installer: every key it knows (runner specification 6.5), typed. A key that nobody reads is a mistake and is told.
 */
import { fault, type Problem } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import { z } from 'zod'

const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Yes = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
const TextMap = z.record(z.string(), Text)
const Anything = z.record(z.string(), z.unknown())
/** `k=v,k=v`, or a mapping. */
const Selector = z.union([TextMap, z.string().transform((text, context) => parsePairs(text, context))])
const Image = z.union([z.string(), z.strictObject({ Name: z.string().optional(), Tag: Text.optional() })])
const Tolerations = z.array(Anything)
const Accounts = z.strictObject({ Annotations: TextMap.optional() })
const Quantities = z.strictObject({ CPU: Text.optional(), Memory: Text.optional() })

const Storage = z.strictObject({
  Annotations: TextMap.optional(),
  Backend: z.enum(['local', 'ebs', 'ebs-csi', 'gcedisk', 'azuredisk', 'azuredisk-csi']).optional(),
  StorageClassName: z.string().optional(),
  CreateStorageClass: Yes.optional(),
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
      resources: Anything.optional(),
      MountAzureJson: Yes.optional(),
      ServiceAccount: Accounts.optional(),
      // Spelled as the vendor spells it.
      CreateDindVolDirResouces: z.strictObject({ Limits: Quantities.optional(), Requests: Quantities.optional() }).optional(),
    })
    .optional(),
  LocalVolumeMonitor: z.strictObject({ Image: Image.optional(), resources: Anything.optional() }).optional(),
  VolumeCleaner: z.strictObject({ Image: Image.optional() }).optional(),
})

export const InstallerValues = z.strictObject({
  CodefreshHost: z.string().optional(),
  Token: z.string().optional(),
  insecure: Yes.optional(),
  ConfigPath: z.string().optional(),
  Context: z.string().optional(),
  Namespace: z.string().optional(),
  InCluster: Yes.optional(),
  KubernetesHost: z.string().optional(),
  RuntimeEnvironmentName: z.string().optional(),
  RuntimeServiceAccount: z.string().optional(),
  SkipClusterTest: Yes.optional(),
  SkipClusterIntegration: Yes.optional(),
  ClusterId: z.string().optional(),
  EnvVars: TextMap.optional(),
  DockerRegistry: z.string().optional(),
  NewRelicLicense: z.string().optional(),
  GitProviderURL: z.string().optional(),
  CreateRbac: Yes.optional(),
  Logging: z.strictObject({ FirebaseHost: z.string().optional() }).optional(),
  NetworkTester: z.strictObject({ Image: Image.optional(), AdditionalEnvVars: TextMap.optional() }).optional(),
  Image: Image.optional(),
  Runner: z.strictObject({ resources: Anything.optional() }).optional(),
  AdditionalEnvVars: TextMap.optional(),
  NodeSelector: Selector.optional(),
  Tolerations: Tolerations.optional(),
  AgentToken: z.string().optional(),
  AgentId: z.string().optional(),
  StorageClass: z.string().optional(),
  Storage: Storage.optional(),
  Monitor: z
    .strictObject({
      Enabled: Yes.optional(),
      Image: Image.optional(),
      resources: Anything.optional(),
      AdditionalEnvVars: TextMap.optional(),
      Helm3: Yes.optional(),
      UseNamespaceWithRole: Yes.optional(),
      RbacEnabled: Yes.optional(),
      ServiceAccount: Accounts.optional(),
    })
    .optional(),
  AppProxy: z
    .strictObject({
      Image: Image.optional(),
      resources: Anything.optional(),
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
      ServiceAccount: Accounts.optional(),
    })
    .optional(),
  Runtime: z
    .strictObject({
      NodeSelector: Selector.optional(),
      tolerations: Tolerations.optional(),
      ServiceAccount: Accounts.optional(),
      AdditionalEnvVars: TextMap.optional(),
      resources: Anything.optional(),
      userVolumeMounts: Anything.optional(),
      userVolumes: Anything.optional(),
    })
    .optional(),
  dockerDaemonScheduler: z.strictObject({ userAccess: Yes.optional() }).optional(),
})
export type InstallerValues = z.infer<typeof InstallerValues>

/** Checks values that were merged from files and flags. Throws `document-invalid` with every key that nobody reads and every value of a wrong kind. */
export function checkInstallerValues(values: unknown, file: string): InstallerValues {
  const parsed = InstallerValues.safeParse(values)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.flatMap((issue) => problemsOf(issue, file))
  throw fault('document-invalid', {
    message: `${file} has values that the installer does not know.`,
    problems,
    hint: 'The keys are listed in docs/install-wizard.md.',
  })
}

function problemsOf(issue: z.core.$ZodIssue, file: string): Problem[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [{ file, path: path.join('.'), message: `${path.join('.')}: ${issue.message}` }]
  return issue.keys.map((key) => {
    const near = nearest(key, keysAt(InstallerValues, path))
    const full = [...path, key].join('.')
    return { file, path: full, message: `There is no value ${full}.${near === undefined ? '' : ` Did you mean ${near}?`}` }
  })
}

/** The keys that may stand at a place, to suggest one of them. */
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

/** `a=b,c=d` as a mapping; the first `=` of each part counts. */
function parsePairs(text: string, context: z.core.$RefinementCtx): Record<string, string> {
  const pairs = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const found: Record<string, string> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) context.addIssue({ code: 'custom', message: `'${pair}' is not of the form key=value`, input: text })
    else found[pair.slice(0, at)] = pair.slice(at + 1)
  }
  return found
}
