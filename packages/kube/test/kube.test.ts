/** The client against a real API server. Its pods name a scheduler that does not exist, so that none of them runs. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { silentLog, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCluster, type Cluster } from '../../../e2e/support/cluster.ts'
import { ALL_NAMESPACES, openKube, readKubeconfig, type Change, type Kube, type KubeObject } from '../src/index.ts'

const namespace = 'kube-test'
let cluster: Cluster
let line: Line
let kube: Kube

/** A connection to the API server that can be cut, as a load balancer does. */
interface Line {
  readonly port: number
  /** Resets every connection and returns their number. */
  cut(): number
  close(): void
}

async function openLine(target: URL): Promise<Line> {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    near.pipe(far).pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut() {
      const count = sockets.size
      for (const socket of sockets) socket.resetAndDestroy()
      return count
    },
    close: () => server.close(),
  }
}

beforeAll(async () => {
  cluster = await startCluster()
  const access = await readKubeconfig(cluster.kubeconfig)
  line = await openLine(new URL(access.server))
  kube = openKube({ access: { ...access, server: `https://127.0.0.1:${line.port}` }, log: silentLog })
  await kube.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, [])
  for (let i = 0; i < 2_000; i += 1) {
    if ((await kube.find({ kind: 'ServiceAccount', namespace, name: 'default' })) !== undefined) return
    await systemClock.sleep(50)
  }
})
afterAll(async () => {
  kube.close()
  line.close()
  await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
})

function pod(name: string, labels: Record<string, string>): KubeObject {
  const spec = { schedulerName: 'none', containers: [{ name: 'c', image: 'none' }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec }
}

test('accepts an existing object with the same labels', async () => {
  const first = await kube.apply(pod('twice', { owner: 'a' }), ['owner'])
  const second = await kube.apply(pod('twice', { owner: 'a' }), ['owner'])
  expect(second.metadata.uid).toBe(first.metadata.uid)
  await expect(kube.apply(pod('twice', { owner: 'b' }), ['owner'])).rejects.toMatchObject({ code: 'conflict' })
})

test('does not accept an existing object that is being deleted, and reports it as retriable', async () => {
  const leaving = pod('leaving', { owner: 'a' })
  await kube.apply({ ...leaving, metadata: { ...leaving.metadata, finalizers: ['test.windlass.io/hold'] } }, ['owner'])
  const ref = { kind: 'Pod', namespace, name: 'leaving' } as const
  await kube.delete(ref, { graceSeconds: 0 })
  try {
    await expect(kube.apply(leaving, ['owner'])).rejects.toMatchObject({ code: 'cluster-unreachable', retryable: true })
  } finally {
    await kube.patch(ref, { metadata: { finalizers: null } })
  }
})

test('accepts the deletion of a missing object, and deletes no successor if a uid is given', async () => {
  await kube.apply(pod('gone', {}), [])
  const ref = { kind: 'Pod', namespace, name: 'gone' } as const
  await expect(kube.delete(ref, { uid: '00000000-0000-0000-0000-000000000000' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await kube.delete(ref, { graceSeconds: 0 })).toBe(true)
  expect(await kube.delete(ref)).toBe(false)
  expect(await kube.find(ref)).toBeUndefined()
})

test('reports a conflict for a patch with an old resourceVersion', async () => {
  const { metadata } = await kube.apply(pod('patched', {}), [])
  const ref = { kind: 'Pod', namespace, name: 'patched' } as const
  const patch = (labels: object): Record<string, unknown> => ({ metadata: { resourceVersion: metadata.resourceVersion, labels } })
  await kube.patch(ref, patch({ a: '1' }))
  await expect(kube.patch(ref, patch({ a: '2' }))).rejects.toMatchObject({ code: 'conflict' })
})

test('reports a refusal with the message of the API server, not retriable', async () => {
  const bad = pod('Bad_Name', {})
  await expect(kube.apply(bad, [])).rejects.toMatchObject({
    code: 'cluster-refused',
    retryable: false,
    message: expect.stringContaining('Invalid value: "Bad_Name"'),
  })
})

test('reports a cluster that does not answer as retriable', async () => {
  const dead = openKube({ access: { server: 'https://127.0.0.1:1', insecure: true, namespace }, log: silentLog })
  await expect(dead.version()).rejects.toMatchObject({ code: 'cluster-unreachable', retryable: true })
})

test('yields existing, changed and deleted objects, and continues after the connection is cut', async () => {
  const stop = new AbortController()
  const changes: Change[] = []
  await kube.apply(pod('early', { watched: 'yes' }), [])
  const following = (async () => {
    for await (const change of kube.watch({ kind: 'Pod', namespace, labels: 'watched' }, { signal: stop.signal }))
      changes.push(change)
  })()
  const names = (type: 'set' | 'gone'): string[] =>
    changes.flatMap((change) => (change.type === type ? [change.object.metadata.name] : []))
  const until = async (is: () => boolean): Promise<void> => {
    for (let i = 0; i < 3_000 && !is(); i += 1) await systemClock.sleep(20)
    expect(is(), JSON.stringify(changes.map(({ type }) => type))).toBe(true)
  }
  await until(() => changes.some(({ type }) => type === 'synced'))
  expect(names('set')).toEqual(['early'])
  await kube.apply(pod('late', { watched: 'yes' }), [])
  await until(() => names('set').includes('late'))

  expect(line.cut()).toBeGreaterThan(0)
  await kube.apply(pod('later', { watched: 'yes' }), [])
  await kube.delete({ kind: 'Pod', namespace, name: 'early' }, { graceSeconds: 0 })
  await until(() => names('set').includes('later') && names('gone').includes('early'))
  stop.abort()
  await following
})

test('replaces kept connections that the server has closed', async () => {
  await kube.version()
  expect(line.cut()).toBeGreaterThan(0)
  await expect(kube.version()).resolves.toMatch(/^v1\./)
})

test('creates 200 pods over a few kept connections', async () => {
  line.cut()
  const names = Array.from({ length: 200 }, (_, i) => `many-${i}`)
  await Promise.all(names.map((name) => kube.apply(pod(name, {}), [])))
  const made = await kube.list({ kind: 'Pod', namespace })
  expect(made.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(names))
  // Both ends of each are counted.
  expect(line.cut() / 2).toBeLessThanOrEqual(32)
})

test('lists and watches metadata only, in all namespaces', async () => {
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'excerpt', namespace, labels: { excerpt: 'yes' } },
    stringData: { password: 'not for the wire' },
  }
  await kube.apply(secret, [])
  const selection = { kind: 'Secret', namespace: ALL_NAMESPACES, labels: 'excerpt=yes', content: 'metadata' } as const
  expect(await kube.list(selection)).toMatchObject([{ kind: 'Secret', metadata: { name: 'excerpt' } }])
  const watching = new AbortController()
  const seen: Change[] = []
  for await (const change of kube.watch(selection, { signal: watching.signal })) {
    seen.push(change)
    if (change.type === 'synced')
      await kube.patch({ kind: 'Secret', namespace, name: 'excerpt' }, { metadata: { labels: { more: 'yes' } } })
    if (seen.length === 3) watching.abort()
  }
  expect(seen.map(({ type }) => type)).toEqual(['set', 'synced', 'set'])
  expect(seen[2]).toMatchObject({ object: { kind: 'Secret', metadata: { labels: { more: 'yes' } } } })
  expect(JSON.stringify(seen)).not.toContain(Buffer.from('not for the wire').toString('base64'))
  await kube.delete({ kind: 'Secret', namespace, name: 'excerpt' })
  expect(await kube.list(selection)).toEqual([])
})

test('asks the cluster whether the user has a permission', async () => {
  expect(await kube.can({ verb: 'create', group: '', resource: 'pods', namespace })).toBe(true)
})
