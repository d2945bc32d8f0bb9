/** Settings of the cleaner jobs, from `WINDLASS_CLEANER_*`; the names of the Codefresh cleaner are accepted too. */
import { readConfig, splitList } from '@windlass/kit'
import { LogLevel } from '@windlass/kit/settings'
import { z } from 'zod'

export const CleanerConfig = z.object({
  RETENTION_DAYS: z.coerce.number().positive().default(4).describe('Days after which an unused disk is removed.'),
  MOUNT_MIN: z.coerce
    .number()
    .int()
    .positive()
    .default(3)
    .describe('With `-m`: removes disks that were used more than a day ago by fewer builds than this.'),
  PROVISIONED_BY: z
    .string()
    .min(1)
    .default('codefresh.io/dind-volume-provisioner')
    .describe('Name of the provisioner whose disks are cleaned.'),
  NAMESPACES: z
    .string()
    .default('')
    .transform(splitList)
    .describe('With `leftovers`: namespaces of builds, separated by commas. Default: that of the kubeconfig or the pod.'),
  DRY_RUN: z
    .string()
    .default('')
    .transform((text) => !['', 'false', '0', 'no', 'off'].includes(text.toLowerCase()))
    .describe('Only log what would be removed.'),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
  LOG_LEVEL: LogLevel,
})
export type CleanerConfig = z.output<typeof CleanerConfig>

const CODEFRESH = ['RETENTION_DAYS', 'MOUNT_MIN', 'PROVISIONED_BY', 'DRY_RUN']
const PREFIX = 'WINDLASS_CLEANER_'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the settings; our names take precedence over those of the Codefresh cleaner. Throws `config-invalid` that names every wrong key.
 */
export function cleanerConfig(env: Environment = process.env): Readonly<CleanerConfig> {
  const codefresh = CODEFRESH.map((name) => [PREFIX + name, env[name]])
  const own = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value !== '')
  return readConfig(CleanerConfig, { ...Object.fromEntries(codefresh), ...Object.fromEntries(own) }, PREFIX)
}

/** The environment of the process, in which Kubernetes provides the address of its API. */
export function environment(): Environment {
  return process.env
}
