import { once } from 'node:events'
import http from 'node:http'
import { manualClock, type Logger } from '@windlass/kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openKube, type Change } from './index.ts'

/** An API server whose watches the test answers. Lists are empty, at version 1. */
let server: http.Server
let watches: { readonly resourceVersion: string; readonly answer: http.ServerResponse }[]
let onWatch: (answer: http.ServerResponse) => void
let logged: { readonly level: string; readonly message: string }[]

const stop = { controller: new AbortController() }

beforeEach(async () => {
  watches = []
  logged = []
  stop.controller = new AbortController()
  server = http.createServer((request, answer) => {
    const query = new URL(request.url ?? '/', 'http://x').searchParams
    if (query.get('watch') !== 'true') return answer.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }))
    watches.push({ resourceVersion: query.get('resourceVersion') ?? '', answer })
    answer.writeHead(200).flushHeaders()
    return onWatch(answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterEach(() => {
  stop.controller.abort()
  server.closeAllConnections()
  server.close()
})

/** Follows the pods of the server. The clock advances only by the pauses between watches, which end at once. */
function follow(): { readonly changes: Change[]; readonly pauses: number[]; readonly heard: () => number } {
  const note = (level: string) => (_: unknown, message: string) => void logged.push({ level, message })
  const log = { info: note('info'), warn: note('warn'), error: note('error'), debug: note('debug') } as unknown as Logger
  const pauses: number[] = []
  let heard = 0
  const clock = {
    ...manualClock(),
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted()
      pauses.push(ms)
      await new Promise(setImmediate)
    },
  }
  const { port } = server.address() as { port: number }
  const kube = openKube({ access: { server: `http://127.0.0.1:${port}`, insecure: false, namespace: 'default' }, log, clock })
  const changes: Change[] = []
  const options = { signal: stop.controller.signal, onHeard: () => (heard += 1) }
  void (async () => {
    for await (const change of kube.watch({ kind: 'Pod', namespace: 'default' }, options)) changes.push(change)
  })()
  return { changes, pauses, heard: () => heard }
}

function send(answer: http.ServerResponse, type: string, object: object): void {
  answer.write(`${JSON.stringify({ type, object })}\n`)
}
/** As Kubernetes 1.34 sends it. */
const bookmark = (resourceVersion: string): object => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { resourceVersion, creationTimestamp: null },
  spec: { containers: null },
  status: {},
})
const pod = (name: string, resourceVersion: string): object => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, namespace: 'default', uid: name, resourceVersion },
})

test('advances the version on a bookmark without a name and does not interrupt the watch', async () => {
  onWatch = (answer) => {
    if (watches.length > 1) return
    send(answer, 'BOOKMARK', bookmark('7'))
    send(answer, 'ADDED', pod('a', '8'))
    send(answer, 'BOOKMARK', bookmark('9'))
    answer.end()
  }
  const { changes, heard } = follow()
  // The list, two answers, three lines.
  await expect.poll(heard).toBe(6)
  expect(watches.map(({ resourceVersion }) => resourceVersion)).toEqual(['1', '9'])
  expect(changes.map(({ type }) => type)).toEqual(['synced', 'set'])
  expect(logged).toEqual([])
})

test('reopens a watch that breaks long after the last failure as fast as after the first', async () => {
  onWatch = (answer) => {
    if (watches.length > 6) return
    send(answer, 'ADDED', pod(`pod-${watches.length}`, String(watches.length)))
    setImmediate(() => answer.destroy())
  }
  const { pauses } = follow()
  await expect.poll(() => watches.length).toBe(7)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(200)
  expect(new Set(logged.map(({ level }) => level))).toEqual(new Set(['info']))
})

test('backs off if the API server accepts each watch and breaks it, and warns from the second failure on', async () => {
  onWatch = (answer) => (watches.length > 6 ? undefined : answer.destroy())
  const { pauses } = follow()
  await expect.poll(() => watches.length).toBe(7)
  expect(pauses).toHaveLength(6)
  expect(pauses.at(-1)).toBeGreaterThan(2000)
  expect(logged.map(({ level }) => level)).toEqual(['info', ...Array.from({ length: 5 }, () => 'warn')])
})

test('pauses if the API server ends each watch after a bookmark', async () => {
  onWatch = (answer) => {
    if (watches.length > 4) return
    send(answer, 'BOOKMARK', bookmark(String(watches.length)))
    answer.end()
  }
  const { pauses } = follow()
  await expect.poll(() => watches.length).toBe(5)
  expect(pauses).toHaveLength(4)
})

test('backs off if the API server ends each watch at once', async () => {
  onWatch = (answer) => (watches.length > 4 ? undefined : answer.end())
  const { pauses } = follow()
  await expect.poll(() => watches.length).toBe(5)
  expect(pauses.at(-1)).toBeGreaterThan(500)
})

test('lists again after an invalid line, and backs off while it is repeated', async () => {
  onWatch = (answer) => {
    if (watches.length > 6) return
    send(answer, 'ADDED', { kind: 'Pod', apiVersion: 'v1', metadata: { resourceVersion: '5' } })
    answer.end()
  }
  const { pauses, changes } = follow()
  await expect.poll(() => watches.length).toBe(7)
  expect(pauses.at(-1)).toBeGreaterThan(2000)
  expect(changes.filter(({ type }) => type === 'synced')).toHaveLength(7)
  expect(logged.map(({ level }) => level)).toEqual(['info', ...Array.from({ length: 5 }, () => 'warn')])
})
