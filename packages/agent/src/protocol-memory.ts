/**
 * Remembers that a server has spoken protocol v2. Protocol v1 has no Secrets per attempt and weaker proofs, so a server must not be able to
 * choose it later. The record is kept in two places: a file in the state folder, and a Lease in the namespace of the agent, which outlives
 * the pod. It is a Lease because the Role of the agent already covers Leases. Both are named after the URL of the server, so another server
 * is asked again.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backoffMs, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'

export interface ProtocolMemoryOptions {
  readonly serverUrl: string
  readonly stateDir: string
  /** The cluster that the agent runs in; undefined outside of clusters. */
  readonly cluster: { readonly kube: Kube; readonly namespace: string } | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface ProtocolMemory {
  /** Retries while the cluster does not answer. Throws the reason of the signal. */
  hasSpokenV2(signal: AbortSignal): Promise<boolean>
  /** Never throws; logs a warning if nothing could be kept. */
  noteV2(): Promise<void>
}

export function openProtocolMemory({ serverUrl, stateDir, cluster, clock, log }: ProtocolMemoryOptions): ProtocolMemory {
  const id = createHash('sha256').update(serverUrl.replace(/\/+$/, '')).digest('hex').slice(0, 16)
  const name = `windlass-protocol-v2-${id}`
  const file = join(stateDir, name)
  const ref: ObjectRef | undefined = cluster && { kind: 'Lease', namespace: cluster.namespace, name }

  async function isInCluster(signal: AbortSignal): Promise<boolean> {
    if (cluster === undefined || ref === undefined) return false
    for (let failures = 1; ; failures += 1) {
      try {
        return (await cluster.kube.find(ref, signal)) !== undefined
      } catch (error) {
        signal.throwIfAborted()
        // An agent without the right to read Leases has not written one.
        if (isFault(error, 'cluster-refused')) return false
        log.warn({ err: error, lease: name }, 'cannot read from the cluster whether the server has spoken protocol v2')
        await clock.sleep(backoffMs({ baseMs: 500, maxMs: 10_000 }, failures), signal)
      }
    }
  }

  async function keepInCluster(): Promise<void> {
    if (cluster === undefined) throw new Error('the agent does not run in a cluster')
    const metadata = { name, namespace: cluster.namespace, annotations: { 'windlass.io/server': serverUrl } }
    try {
      await cluster.kube.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: { holderIdentity: 'v2' } })
    } catch (error) {
      if (!isFault(error, 'conflict')) throw error
    }
  }

  async function keepInFolder(): Promise<void> {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    writeFileSync(file, `${serverUrl}\n`)
  }

  return {
    hasSpokenV2: async (signal) => statSync(file, { throwIfNoEntry: false }) !== undefined || isInCluster(signal),
    async noteV2() {
      const kept = await Promise.allSettled([keepInFolder(), keepInCluster()])
      if (kept.some(({ status }) => status === 'fulfilled')) return
      log.warn(
        { reasons: kept.map((each) => (each.status === 'rejected' ? String(each.reason) : '')) },
        'cannot remember that the server speaks protocol v2; set WINDLASS_AGENT_PROTOCOL=v2',
      )
    },
  }
}
