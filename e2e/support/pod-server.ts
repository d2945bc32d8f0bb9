/** A server as a process that pods reach at the address of this machine on their bridge. */
import { join } from 'node:path'
import { CLUSTER_HOST } from './cluster.ts'
import { freePort, startService, type Service } from './process.ts'
import { NODE, NODE_OPTIONS, programFile } from './programs.ts'

export interface PodServer {
  readonly service: Service
  /** For this machine and for pods. */
  readonly url: string
}

/** Starts a server with its data in `<folder>/server`. `env`: further settings. */
export async function startPodServer(folder: string, env: Readonly<Record<string, string>> = {}): Promise<PodServer> {
  const port = await freePort()
  const url = `http://${CLUSTER_HOST}:${port}`
  const service = await startService({
    command: NODE,
    args: [...NODE_OPTIONS, programFile('server')],
    env: {
      WINDLASS_SERVER_DATA_DIR: join(folder, 'server'),
      WINDLASS_SERVER_PORT: String(port),
      WINDLASS_SERVER_ADVERTISED_URL: url,
      ...env,
    },
    // Without the bridge its address would lead to another machine.
    ready: async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true,
  })
  return { service, url }
}
