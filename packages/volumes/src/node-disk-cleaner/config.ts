/** Settings of the node disk cleaner, from `WINDLASS_LOCAL_MONITOR_*`; the names of the Codefresh monitor are accepted too. */
import { readConfig } from '@windlass/kit'
import { Port } from '@windlass/kit/settings'
import { z } from 'zod'

const seconds = z.coerce.number().nonnegative()
const percent = z.coerce.number().min(1).max(100)
const truth = z
  .string()
  .default('')
  .transform((text) => !['', 'false', '0', 'no', 'off'].includes(text.toLowerCase()))

export const NodeDiskCleanerConfig = z.object({
  NODE_NAME: z.string().min(1).describe('Name of the node it runs on.'),
  PARENT_DIR: z
    .string()
    .startsWith('/')
    .default('/var/lib/codefresh/dind-volumes')
    .transform((path) => path.replace(/\/+$/, ''))
    .describe('Folder of the disks, at the same path as on the node.'),
  DIR_PATTERN: z
    .string()
    .regex(/^[A-Za-z0-9._-]+\*$/, { error: 'must be a prefix followed by one star' })
    .default('vol-*')
    .describe('Pattern of the folders of disks in it.'),
  KB_THRESHOLD: percent.default(80).describe('Percentage of used space from which disks are removed.'),
  INODE_THRESHOLD: percent.default(80).describe('The same for inodes.'),
  KB_TARGET: percent.optional().describe('Percentage of used space below which removals stop. Default: KB_THRESHOLD.'),
  INODE_TARGET: percent.optional().describe('The same for inodes.'),
  GRACE_SECONDS: seconds.default(900).describe('Delay between marking and removing a folder without a volume, seconds.'),
  INTERVAL_SECONDS: seconds.default(60).describe('Interval between checks, seconds.'),
  LOG_DF_SECONDS: seconds
    .default(1800)
    .describe('Interval between log lines with the use of the file system, seconds; 0 for never.'),
  DRY_RUN: truth.describe('Only log what would be removed.'),
  DEBUG: truth.describe('Log every decision; SIGUSR1 turns it on and off.'),
  PORT: Port.default(9100).describe('Port for /metrics, /livez and /readyz.'),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
})
export type NodeDiskCleanerConfig = z.output<typeof NodeDiskCleanerConfig>

/** Names in the DaemonSet of the Codefresh monitor, and our names. */
const CODEFRESH: Readonly<Record<string, string>> = {
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

/** Reads the settings; our names take precedence over those of Codefresh. Throws `config-invalid` that names every wrong key. */
export function nodeDiskCleanerConfig(env: Environment = process.env): Readonly<NodeDiskCleanerConfig> {
  const codefresh = Object.entries(CODEFRESH).map(([theirs, ours]) => [PREFIX + ours, env[theirs]])
  const own = Object.entries(env).filter(([name, value]) => name.startsWith(PREFIX) && value !== '')
  return readConfig(NodeDiskCleanerConfig, { ...Object.fromEntries(codefresh), ...Object.fromEntries(own) }, PREFIX)
}

/** The environment of the process, in which Kubernetes provides the address of its API. */
export function environment(): Environment {
  return process.env
}
