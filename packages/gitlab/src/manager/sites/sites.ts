/** The sites of a manager: one for each namespace of its entries in each cluster. Entries with the same access share connections. */
import type { Clock, Logger } from '@windlass/kit'
import { openKube, type Kube } from '@windlass/kube'
import { accessKey, clusterAccess } from './access.ts'
import type { Entry } from '../entry.ts'
import { openSite, type FoundJob, type Site, type SiteOptions } from './site.ts'

export interface SitesOptions extends Pick<SiteOptions, 'instance' | 'host' | 'isFollowed' | 'onTaken' | 'accepts'> {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
  /** Continues a job. */
  readonly onFound: (site: Site, job: FoundJob) => void
}

export interface Sites {
  /** Returns the site of an entry. Throws faults of its cluster. */
  of(entry: Entry): Promise<Site>
  /** Forgets the cluster of an entry whose configuration has changed. */
  forget(entry: Entry): void
  /** Closes the sites. */
  close(): Promise<void>
  /** Ends the connections to all clusters. */
  disconnect(): void
}

/** Calls per second to the API of the cluster, and how many at once. */
const QPS = { qps: 50, burst: 100 }

interface Cluster {
  /** The same for entries that share its connections. */
  readonly key: string
  readonly kube: Kube
  /** Namespace of the records of jobs, and of their pods unless a job asks for another one. */
  readonly namespace: string
}

export function openSites({ env, clock, log, onFound, ...rest }: SitesOptions): Sites {
  const kubes = new Map<string, Kube>()
  const clusters = new Map<Entry, Promise<Cluster>>()
  const sites = new Map<string, Site>()

  /** Returns the cluster of an entry. Its access is read once: a kubeconfig may run a login command. A failure is tried again by the next call. */
  function clusterOf(entry: Entry): Promise<Cluster> {
    const known = clusters.get(entry)
    if (known !== undefined) return known
    const opened = openCluster(entry)
    clusters.set(entry, opened)
    opened.catch(() => clusters.delete(entry))
    return opened
  }

  async function openCluster({ runner }: Entry): Promise<Cluster> {
    const section = runner.kubernetes ?? {}
    const access = await clusterAccess(section, env)
    const key = accessKey(access, section)
    const kube = kubes.get(key) ?? openKube({ access, log, clock, ...QPS })
    kubes.set(key, kube)
    return { key, kube, namespace: section.namespace ?? access.namespace }
  }

  function open(kube: Kube, namespace: string): Site {
    const site: Site = openSite({ ...rest, kube, namespace, clock, log, onFound: (found) => onFound(site, found) })
    return site
  }

  return {
    async of(entry) {
      const { key: access, kube, namespace } = await clusterOf(entry)
      const key = `${access} ${namespace}`
      const site = sites.get(key) ?? open(kube, namespace)
      sites.set(key, site)
      return site
    },
    forget: (entry) => void clusters.delete(entry),
    async close() {
      const open = [...sites.values()]
      sites.clear()
      await Promise.all(open.map((site) => site.close()))
    },
    disconnect() {
      for (const kube of kubes.values()) kube.close()
    },
  }
}
