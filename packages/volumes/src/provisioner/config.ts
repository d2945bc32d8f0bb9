/** Settings of the provisioner, from `WINDLASS_PROVISIONER_*`; the names of the Codefresh provisioner are accepted too. */
import { readConfig, splitList } from '@windlass/kit'
import { LogLevel, Port } from '@windlass/kit/settings'
import { z } from 'zod'

const count = z.coerce.number().int().positive()
const truth = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .default('false')
  .transform((text) => text === 'true')
const quantity = z.string().regex(/^[0-9.]+[A-Za-z]*$/, { error: 'must be a quantity such as 100m or 64Mi' })

export const ProvisionerConfig = z.object({
  NAME: z
    .string()
    .min(1)
    .optional()
    .describe(
      '`provisioner` of the storage classes that it serves. Default: `codefresh.io/dind-volume-provisioner-runner-<namespace>`.',
    ),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
  NAMESPACE: z
    .string()
    .optional()
    .describe('Namespace of its lease and helper pods. Default: that of the kubeconfig or the pod.'),
  THREADS: count.default(4).describe('Maximum number of claims processed at once.'),
  RESYNC_SECONDS: count.default(50).describe('Interval between checks of all claims and volumes, seconds.'),
  ORPHANS_SECONDS: count.default(600).describe('Interval between searches for cloud disks without a volume, seconds.'),
  LEASE_SECONDS: z.coerce
    .number()
    .int()
    .min(3)
    .default(15)
    .describe('Duration of the lease, after which another process takes over from one that died, seconds.'),
  QPS: z.coerce.number().positive().default(100).describe('Maximum number of calls to the Kubernetes API per second.'),
  BURST: count.default(200).describe('Maximum burst of calls to the Kubernetes API.'),
  PORT: Port.default(8080).describe('Port for /livez, /readyz and /metrics.'),
  LOG_LEVEL: LogLevel,
  HELPER_IMAGE: z
    .string()
    .default('windlass/windlass')
    .describe('Image of the helper pods, which create and remove folders on nodes; needs `install` and `rm`.'),
  REGISTRY: z.string().optional().describe('Registry that is prepended to the name of that image.'),
  HELPER_PULL_SECRETS: z.string().default('').transform(splitList).describe('Names of the image pull secrets of helper pods.'),
  HELPER_LIMIT_CPU: quantity.default('200m').describe('CPU limit of helper pods.'),
  HELPER_LIMIT_MEMORY: quantity.default('128Mi').describe('Memory limit of helper pods.'),
  HELPER_REQUESTS_CPU: quantity.default('10m').describe('CPU request of helper pods.'),
  HELPER_REQUESTS_MEMORY: quantity.default('16Mi').describe('Memory request of helper pods.'),
  ROOTLESS: truth.describe('Daemons run as user 1000, which then owns the folders of disks.'),
  PRIVILEGED_HELPER: truth.describe('Helper pods run privileged, which OpenShift requires.'),
  EC2_ENDPOINT: z.url().optional().describe('URL of the EC2 API. Default: that of the region.'),
})
export type ProvisionerConfig = z.infer<typeof ProvisionerConfig>

/** Names in the Deployment of the Codefresh provisioner, and our names. */
const CODEFRESH: Readonly<Record<string, string>> = {
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

/** Reads the settings; our names take precedence over those of Codefresh. Throws `config-invalid` that names every wrong key. */
export function provisionerConfig(env: Readonly<Record<string, string | undefined>> = process.env): Readonly<ProvisionerConfig> {
  const codefresh = Object.entries(CODEFRESH).map(([theirs, ours]) => [PREFIX + ours, env[theirs]])
  const own = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value !== '')
  return readConfig(ProvisionerConfig, { ...Object.fromEntries(codefresh), ...Object.fromEntries(own) }, PREFIX)
}

/** The environment of the process, with the credentials of clouds and the address of the Kubernetes API. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}
