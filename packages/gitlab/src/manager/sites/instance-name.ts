/**
 * The name of the process of a manager in the clusters of its jobs: its Lease and the Secrets of its jobs have it. Two processes can have one system ID, for example one
 * that drains and one that replaces it, and each must leave the jobs of the other alone.
 */
import { randomBytes } from 'node:crypto'

/** Returns the name of this process: the system ID and a random part. It is a value of a label. */
export function instanceName(systemId: string): string {
  return `${systemId}.${randomBytes(4).toString('hex')}`
}

/** Returns the system ID in the name of a process. */
export function systemIdOf(instance: string): string {
  return instance.split('.')[0] ?? ''
}
