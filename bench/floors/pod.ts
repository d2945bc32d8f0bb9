/** The floor of a pod on the cluster: from its creation until its process has connected. */
import net from 'node:net'
import { silentLog } from '@windlass/kit'
import { openKube, readKubeconfig } from '@windlass/kube'
import { CLUSTER_HOST } from '../../e2e/support/cluster.ts'
import { sample, type Spread } from '../row.ts'

export interface PodFloor {
  readonly kubeconfig: string
  readonly namespace: string
  /** An image of the node that contains bash. */
  readonly image: string
}

/** Creates pods one after the other that only open a connection to this process. */
export async function podCallsHome({ kubeconfig, namespace, image }: PodFloor, n: number): Promise<Spread> {
  const kube = openKube({ access: await readKubeconfig(kubeconfig), log: silentLog })
  const { server, port, called } = await listen()
  try {
    return await sample(n, 1, async (round) => {
      const home = called()
      const startedAt = performance.now()
      const name = `floor-${round + 1}`
      await kube.apply(toPod({ name, namespace, image, port }), [])
      await home
      const took = performance.now() - startedAt
      await kube.delete({ kind: 'Pod', namespace, name }, { graceSeconds: 0 })
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      return took
    })
  } finally {
    server.close()
    kube.close()
  }
}

/**
 * Deletes running pods one after the other, with the same grace period of one second as daemons and engines. Returns the seconds until each is gone.
 */
export async function podGoes({ kubeconfig, namespace, image }: PodFloor, n: number): Promise<Spread> {
  const kube = openKube({ access: await readKubeconfig(kubeconfig), log: silentLog })
  const { server, port, called } = await listen()
  try {
    return await sample(n, 1, async (round) => {
      const home = called()
      const name = `gone-${round + 1}`
      const ref = { kind: 'Pod', namespace, name } as const
      await kube.apply(toPod({ name, namespace, image, port, thenSleeps: true }), [])
      await home
      const startedAt = performance.now()
      await kube.delete(ref, { graceSeconds: 1 })
      while ((await kube.find(ref)) !== undefined) await new Promise((resolve) => setTimeout(resolve, 20))
      return (performance.now() - startedAt) / 1_000
    })
  } finally {
    server.close()
    kube.close()
  }
}

async function listen(): Promise<{ server: net.Server; port: number; called: () => Promise<void> }> {
  let next = Promise.withResolvers<void>()
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end()
    next.resolve()
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const address = server.address()
  return {
    server,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    called() {
      next = Promise.withResolvers<void>()
      return next.promise
    },
  }
}

function toPod(pod: {
  name: string
  namespace: string
  image: string
  port: number
  thenSleeps?: boolean
}): Parameters<ReturnType<typeof openKube>['apply']>[0] {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, namespace: pod.namespace },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'home',
          image: pod.image,
          imagePullPolicy: 'Never',
          command: ['bash', '-c', `: </dev/tcp/${CLUSTER_HOST}/${pod.port}${pod.thenSleeps === true ? '; sleep 600' : ''}`],
        },
      ],
    },
  }
}
