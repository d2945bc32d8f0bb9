/** The policy settings of the agent: `WINDLASS_AGENT_*`, and `policy` in the file of a runtime. */
import { parseJson, splitList } from '@windlass/kit'
import { z } from 'zod'
import type { AgentPolicy } from './agent-policy.ts'
import { DEFAULT_PLACEMENTS, Placement } from './placement.ts'

const list = z.string().transform(splitList)

const placements = z.string().transform((text, context): readonly Placement[] => {
  const parsed = z.array(Placement).min(1).safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  const where = parsed.error.issues[0]
  const detail = where === undefined ? '' : ` (${where.path.join('.')}: ${where.message})`
  context.addIssue(`must be a JSON list of placements such as [{"nodeSelector":{"pool":"builds"}}]${detail}`)
  return z.NEVER
})

export const PolicySettings = {
  SERVICE_ACCOUNTS: list.prefault('windlass-engine,windlass-dind').describe('Service accounts that pods of builds may run as.'),
  PRIVILEGED_IMAGES: list
    .prefault('windlass/dind,windlass/dind-rootless')
    .describe(
      'Images of the Docker daemon, which runs privileged: a repository, a reference with tag or digest, or a folder of repositories that ends with `/`.',
    ),
  PLACEMENTS: placements
    .prefault(JSON.stringify(DEFAULT_PLACEMENTS))
    .describe(
      'Allowed placements of pods: a JSON list of `nodeSelector`, `tolerations`, `affinity`, `priorityClassName` and `schedulerName`. A pod must match one entry as a whole.',
    ),
  STORAGE_CLASSES: list
    .prefault('dind-local-volumes-*')
    .describe('Storage classes of disks; `x*` matches every name that begins with `x`, here and in the lists below.'),
  ALLOWED_SECRETS: list
    .prefault('')
    .describe(
      'Secrets of the namespace that runtimes may mount or read variables from, in addition to those of the build; `*` for any, `namespace/name` for one namespace.',
    ),
  ALLOWED_PULL_SECRETS: list.prefault('').describe('Secrets that runtimes may use only for pulling images.'),
  ALLOWED_CLAIMS: list
    .prefault('')
    .describe('PersistentVolumeClaims that runtimes may mount, in addition to the disk; `*` for any.'),
  ALLOWED_HOST_PATHS: list.prefault('').describe('Paths of the nodes that runtimes may mount, including all paths below them.'),
  ALLOWED_VOLUMES: list
    .prefault('')
    .describe('Additional volume types that runtimes may mount, such as `nfs`, `csi` or `projected`.'),
  ALLOWED_LABELS: list.prefault('').describe('Additional label keys that runtimes may set on pods.'),
  ALLOWED_ANNOTATIONS: list
    .prefault('')
    .describe('Additional annotation keys that runtimes may set on pods and claims; those of autoscalers are always allowed.'),
  ALLOWED_RESOURCES: list
    .prefault('')
    .describe(
      'Resources that runtimes may request in addition to `cpu`, `memory` and `ephemeral-storage`, such as `nvidia.com/gpu`.',
    ),
  DAEMON_VARIABLES: list
    .prefault('')
    .describe(
      'Additional environment variables that runtimes may set on the Docker daemon; those of its cleaner, proxies and certificate authorities are always allowed.',
    ),
  POLICY: z
    .enum(['strict', 'permissive'])
    .default('strict')
    .describe(
      '`strict` compares whole objects with those of an attempt. `permissive` checks only namespaces, kinds, Secrets and service accounts; it is needed for a foreign platform that speaks protocol v1.',
    ),
} as const
export type PolicyConfig = { readonly [Key in keyof typeof PolicySettings]: z.output<(typeof PolicySettings)[Key]> }

/** Policy settings in the file of a runtime, by their names without the prefix. The settings of the agent apply where a file has none. */
export const PolicyOfRuntime = z.record(z.string(), z.string()).transform((given, context): Partial<PolicyConfig> => {
  const parsed = z.strictObject(PolicySettings).safeParse(given)
  if (parsed.success) return Object.fromEntries(Object.entries(parsed.data).filter(([key]) => Object.hasOwn(given, key)))
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path, message })
  return z.NEVER
})

/** Returns the policy of a cluster for builds in these namespaces. */
export function policyOf(config: PolicyConfig, namespaces: readonly string[]): AgentPolicy {
  return {
    namespaces,
    serviceAccounts: config.SERVICE_ACCOUNTS,
    privilegedImages: config.PRIVILEGED_IMAGES,
    placements: config.PLACEMENTS,
    storageClasses: config.STORAGE_CLASSES,
    secrets: config.ALLOWED_SECRETS,
    pullSecrets: config.ALLOWED_PULL_SECRETS,
    claims: config.ALLOWED_CLAIMS,
    hostPaths: config.ALLOWED_HOST_PATHS,
    volumeTypes: config.ALLOWED_VOLUMES,
    labels: config.ALLOWED_LABELS,
    annotations: config.ALLOWED_ANNOTATIONS,
    resources: config.ALLOWED_RESOURCES,
    daemonVariables: config.DAEMON_VARIABLES,
    isPermissive: config.POLICY === 'permissive',
  }
}
