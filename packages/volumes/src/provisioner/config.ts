/** Settings of the provisioner, from `WINDLASS_PROVISIONER_*`; the names of the original are accepted too. */
import { readConfig } from '@windlass/kit'
import { z } from 'zod'

const count = z.coerce.number().int().positive()
const truth = z
  .enum(['true', 'false'], { error: 'is true or false' })
  .default('false')
  .transform((text) => text === 'true')
const quantity = z.string().regex(/^[0-9.]+[A-Za-z]*$/, { error: 'is a quantity such as 100m or 64Mi' })

export const ProvisionerConfig = z.object({
  NAME: z
    .string()
    .min(1)
    .optional()
    .describe(
      '`provisioner` of the storage classes it serves; `codefresh.io/dind-volume-provisioner-runner-<namespace>` when absent.',
    ),
  KUBECONFIG: z.string().optional().describe("Path of a kubeconfig; the pod's own service account when absent."),
  NAMESPACE: z
    .string()
    .optional()
    .describe('Namespace of its lease and helper pods; that of the kubeconfig or the pod when absent.'),
  THREADS: count.default(4).describe('Claims that are worked on at a time.'),
  RESYNC_SECONDS: count.default(50).describe('How often every claim and volume is looked at again.'),
  ORPHANS_SECONDS: count.default(600).describe('How often disks of a cloud that no volume names are looked for.'),
  LEASE_SECONDS: z.coerce
    .number()
    .int()
    .min(3)
    .default(15)
    .describe('How long the lease of a process lasts that ended without a word.'),
  QPS: z.coerce.number().positive().default(100).describe('Calls to the Kubernetes API per second.'),
  BURST: count.default(200).describe('Calls that may be made at once after a pause.'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe('Port for /livez, /readyz and /metrics.'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Least severe lines that are logged.'),
  HELPER_IMAGE: z
    .string()
    .default('windlass/windlass')
    .describe('Image of the pods that make and remove folders on nodes; needs `install` and `rm`.'),
  REGISTRY: z.string().optional().describe('Registry before the name of that image.'),
  HELPER_PULL_SECRETS: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .describe('Names of image pull secrets of those pods.'),
  HELPER_LIMIT_CPU: quantity.default('200m').describe('CPU limit of those pods.'),
  HELPER_LIMIT_MEMORY: quantity.default('128Mi').describe('Memory limit of those pods.'),
  HELPER_REQUESTS_CPU: quantity.default('10m').describe('CPU request of those pods.'),
  HELPER_REQUESTS_MEMORY: quantity.default('16Mi').describe('Memory request of those pods.'),
  ROOTLESS: truth.describe('Daemons run as user 1000: folders of disks belong to it.'),
  PRIVILEGED_HELPER: truth.describe('Those pods run privileged, as OpenShift needs.'),
  EC2_ENDPOINT: z.url().optional().describe('URL of the EC2 API in place of the one of the region.'),
})
export type ProvisionerConfig = z.infer<typeof ProvisionerConfig>

/** Names that the original's Deployment sets, and what they are called here. */
const VENDOR: Readonly<Record<string, string>> = {
  PROVISIONER_NAME: 'NAME',
  THREADINESS: 'THREADS',
  DOCKER_REGISTRY: 'REGISTRY',
  CREATE_DIND_LIMIT_CPU: 'HELPER_LIMIT_CPU',
  CREATE_DIND_LIMIT_MEMORY: 'HELPER_LIMIT_MEMORY',
  CREATE_DIND_REQUESTS_CPU: 'HELPER_REQUESTS_CPU',
  CREATE_DIND_REQUESTS_MEMORY: 'HELPER_REQUESTS_MEMORY',
  IS_ROOTLESS: 'ROOTLESS',
  PRIVILEGED_CONTAINER: 'PRIVILEGED_HELPER',
}
const PREFIX = 'WINDLASS_PROVISIONER_'

/** Reads the settings; our own names win over those of the original. Throws `config-invalid` that names every wrong key. */
export function provisionerConfig(env: Readonly<Record<string, string | undefined>> = process.env): Readonly<ProvisionerConfig> {
  const vendor = Object.entries(VENDOR).map(([theirs, ours]) => [PREFIX + ours, env[theirs]])
  const own = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value !== '')
  return readConfig(ProvisionerConfig, { ...Object.fromEntries(vendor), ...Object.fromEntries(own) }, PREFIX)
}

/** Where clouds leave credentials, and Kubernetes the address of its API. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}
