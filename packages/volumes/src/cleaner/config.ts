/** Settings of the cleaner jobs, from `WINDLASS_CLEANER_*`; the names of the original are accepted too (runner specification 5.7). */
import { readConfig } from '@windlass/kit'
import { z } from 'zod'

export const CleanerConfig = z.object({
  RETENTION_DAYS: z.coerce.number().positive().default(4).describe('How many days a disk may be unused.'),
  MOUNT_MIN: z.coerce
    .number()
    .int()
    .positive()
    .default(3)
    .describe('With `-m`: disks that were used more than a day ago by fewer builds than this go.'),
  PROVISIONED_BY: z
    .string()
    .min(1)
    .default('codefresh.io/dind-volume-provisioner')
    .describe('Only disks of the provisioner of this name are looked at.'),
  NAMESPACES: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .describe('With `leftovers`: namespaces of builds, with commas between them; that of the kubeconfig or the pod when absent.'),
  DRY_RUN: z
    .string()
    .default('')
    .transform((text) => !['', 'false', '0', 'no', 'off'].includes(text.toLowerCase()))
    .describe('Only say what would be removed.'),
  KUBECONFIG: z.string().optional().describe("Path of a kubeconfig; the pod's own service account when absent."),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Least severe lines that are logged.'),
})
export type CleanerConfig = z.output<typeof CleanerConfig>

const VENDOR = ['RETENTION_DAYS', 'MOUNT_MIN', 'PROVISIONED_BY', 'DRY_RUN']
const PREFIX = 'WINDLASS_CLEANER_'

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings; our own names win over those of the original. Throws `config-invalid` that names every wrong key. */
export function cleanerConfig(env: Environment = process.env): Readonly<CleanerConfig> {
  const vendor = VENDOR.map((name) => [PREFIX + name, env[name]])
  const own = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value !== '')
  return readConfig(CleanerConfig, { ...Object.fromEntries(vendor), ...Object.fromEntries(own) }, PREFIX)
}

/** Kubernetes leaves the address of its API there. */
export function environment(): Environment {
  return process.env
}
