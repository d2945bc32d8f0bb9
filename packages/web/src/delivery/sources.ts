/** Where an application comes from and goes to, in words. */
import type { Application, ApplicationSource } from '@windlass/protocol'

/** Returns the repository without its protocol, and the path or chart in it. */
export function describeSource({ repo, path, chart }: ApplicationSource): string {
  const short = repo.replace(/^[a-z+]+:\/\//i, '').replace(/\.git$/, '')
  return [short, chart ?? path].filter((part) => part !== undefined && part !== '' && part !== '.').join(' ')
}

/** Returns a commit as Git shortens it, and other versions as they are. */
export function shortRevision(revision: string): string {
  return /^[0-9a-f]{40}$/.test(revision) ? revision.slice(0, 8) : revision
}

/** Returns the cluster and the namespace. */
export function describeDestination({ destination: { name, server, namespace } }: Pick<Application, 'destination'>): string {
  const cluster = name ?? (server === 'https://kubernetes.default.svc' ? 'in-cluster' : server)
  return [cluster, namespace].filter((part) => part !== undefined && part !== '').join(' / ')
}
