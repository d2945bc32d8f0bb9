/** Settings of the monitor of local disks, from `WINDLASS_LOCAL_MONITOR_*`; the names of the original are accepted too (runner specification 5.6). */
import { readConfig } from '@windlass/kit'
import { z } from 'zod'

const seconds = z.coerce.number().nonnegative()
const percent = z.coerce.number().min(1).max(100)
const truth = z
  .string()
  .default('')
  .transform((text) => !['', 'false', '0', 'no', 'off'].includes(text.toLowerCase()))

export const LocalMonitorConfig = z.object({
  NODE_NAME: z.string().min(1).describe('Name of the node it runs on.'),
  PARENT_DIR: z
    .string()
    .startsWith('/')
    .default('/var/lib/codefresh/dind-volumes')
    .transform((path) => path.replace(/\/+$/, ''))
    .describe('Folder of the disks, under the same path as on the node.'),
  DIR_PATTERN: z
    .string()
    .regex(/^[A-Za-z0-9._-]+\*$/, { error: 'is a beginning of names followed by one star' })
    .default('vol-*')
    .describe('Which folders in it are disks.'),
  KB_THRESHOLD: percent.default(80).describe('Percent of the space in use from which on disks are removed.'),
  INODE_THRESHOLD: percent.default(80).describe('The same of inodes.'),
  KB_TARGET: percent.optional().describe('Disks are removed until less than this is in use; KB_THRESHOLD when absent.'),
  INODE_TARGET: percent.optional().describe('The same of inodes.'),
  GRACE_SECONDS: seconds.default(900).describe('How long a folder that no volume names stays after it was marked.'),
  INTERVAL_SECONDS: seconds.default(60).describe('How often it looks.'),
  LOG_DF_SECONDS: seconds.default(1800).describe('How often the use of the file system is logged; 0 for never.'),
  DRY_RUN: truth.describe('Only say what would be removed.'),
  DEBUG: truth.describe('Log every decision; SIGUSR1 turns it on and off.'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(9100).describe('Port for /metrics, /livez and /readyz.'),
  KUBECONFIG: z.string().optional().describe("Path of a kubeconfig; the pod's own service account when absent."),
})
export type LocalMonitorConfig = z.output<typeof LocalMonitorConfig>

/** Names that the original's DaemonSet sets, and what they are called here. */
const VENDOR: Readonly<Record<string, string>> = {
  NODE_NAME: 'NODE_NAME',
  VOLUME_PARENT_DIR: 'PARENT_DIR',
  VOLUME_DIR_PATTERN: 'DIR_PATTERN',
  KB_USAGE_THRESHOLD: 'KB_THRESHOLD',
  INODE_USAGE_THRESHOLD: 'INODE_THRESHOLD',
  DELETE_BY_RM_AFTER: 'GRACE_SECONDS',
  SLEEP_INTERVAL: 'INTERVAL_SECONDS',
  LOG_DF_EVERY: 'LOG_DF_SECONDS',
  DRY_RUN: 'DRY_RUN',
  DEBUG: 'DEBUG',
}
const PREFIX = 'WINDLASS_LOCAL_MONITOR_'

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings; our own names win over those of the original. Throws `config-invalid` that names every wrong key. */
export function localMonitorConfig(env: Environment = process.env): Readonly<LocalMonitorConfig> {
  const vendor = Object.entries(VENDOR).map(([theirs, ours]) => [PREFIX + ours, env[theirs]])
  const own = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value !== '')
  return readConfig(LocalMonitorConfig, { ...Object.fromEntries(vendor), ...Object.fromEntries(own) }, PREFIX)
}

/** Kubernetes leaves the address of its API there. */
export function environment(): Environment {
  return process.env
}
