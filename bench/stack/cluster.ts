/** An installation on the one-node cluster, with a client of its API. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { nodeTransport } from '@windlass/kit'
import { createClient, type Client } from '@windlass/protocol'
import { eventually, startInstallation, type Installation } from '../../e2e/support/installation.ts'
import { MissingPartError } from '../row.ts'

export interface ClusterStack extends AsyncDisposable {
  readonly installation: Installation
  readonly namespace: string
  readonly client: Client
  /** Resolves when no pod is left in the namespace. */
  empty(): Promise<void>
}

/** Throws `MissingPartError` unless the cluster is up already: to build and start it takes minutes, which is not for a bench to do. */
export async function openClusterStack(): Promise<ClusterStack> {
  await promisify(execFile)('scripts/cluster', ['status']).catch(() => {
    throw new MissingPartError('no cluster is up (scripts/cluster up)')
  })
  const namespace = `bench-${process.pid}`
  const installation = await startInstallation(namespace)
  const config = await readFile(
    await installation.file('bench.txt', '').then((path) => path.replace('bench.txt', 'config.yaml')),
    'utf8',
  )
  const token = /apiKey: "?([^\s"]+)/.exec(config)?.[1]
  return {
    installation,
    namespace,
    client: createClient({
      url: installation.url,
      transport: nodeTransport({ maxSockets: 64 }),
      ...(token !== undefined && { token }),
    }),
    async empty() {
      await eventually('pods are gone', async () => {
        const pods = await installation.kubectl('get', 'pods', '--output', 'name')
        return pods.trim() === '' ? true : undefined
      })
    },
    [Symbol.asyncDispose]: () => installation.close(),
  }
}
