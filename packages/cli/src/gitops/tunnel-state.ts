/** What became of the tunnel of a GitOps runtime that was installed. */
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Kube } from '@windlass/kube'

/** Time for the tunnel after its pod is ready. Milliseconds. */
const ONLINE_MS = 60_000
const POLL_MS = 500
const CLIENT = { labels: 'app.kubernetes.io/name=codefresh-tunnel-client', container: 'tunnel-client' } as const

/** Waits until the server sees the client of the tunnel. Throws `install-failed` after a minute. */
export async function requireOnline(client: ApiClient, name: string): Promise<void> {
  const end = systemClock.monotonic() + ONLINE_MS
  for (;;) {
    const { status } = await client.tunnels.get(name)
    if (status === 'online') return
    if (systemClock.monotonic() > end)
      throw fault('install-failed', {
        message: `The tunnel of the GitOps runtime "${name}" is ${status}.`,
        hint: 'See the log of its client: `kubectl logs deployment/codefresh-tunnel-client --container tunnel-client`.',
      })
    await systemClock.sleep(POLL_MS)
  }
}

/** Returns what the client wrote last, which says why it does not connect; nothing if it did not start. */
export async function lastLines(kube: Kube, namespace: string): Promise<string[]> {
  const [pod] = await kube.list({ kind: 'Pod', namespace, labels: CLIENT.labels })
  if (pod === undefined) return []
  const ref = { kind: 'Pod', namespace, name: pod.metadata.name } as const
  const text = await kube.logs(ref, { container: CLIENT.container, tailLines: 3 })
  return text.trim().split('\n')
}
