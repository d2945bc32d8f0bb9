/**
 * A GitOps runtime behind a real ingress controller: names in the DNS of the cluster, services behind the router, and what every caller of a runtime must be able to
 * do. An HTTP server of this process is the Argo server and an event source of the runtime.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { WebSocket } from 'ws'
import { startService, type Service } from '../../../packages/tunnel/test/support/service.ts'
import { DNS_ADDRESS, startClusterDns } from '../../support/cluster-dns.ts'
import { startIngressController, type IngressController } from '../../support/ingress-controller.ts'
import { runProgram } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import type { GitopsScene } from './scene.ts'

const DOMAIN = 'windlass.test'
/** Hosts of the runtime. The first one is in its URL. */
export const HOSTS = [`gitops.${DOMAIN}`, `also.${DOMAIN}`] as const
/** A host without a DNS record. */
export const UNKNOWN_HOST = `none.${DOMAIN}`
const LIST = '/app-proxy/api/git-integrations'
const SIGNATURE = 'sha256=0123456789abcdef'

export interface Edge extends AsyncDisposable {
  readonly controller: IngressController
  /** The Argo server and the event source. */
  readonly behind: Service
  /** Values of the router: its services, and the controller as its trusted proxy. */
  readonly values: object
  /** Runs `windlass` where the hosts lead to the controller, and its CA is trusted. Throws with its errors if it fails. */
  windlass(...args: readonly string[]): Promise<string>
}

/** Puts a controller before the namespace of a runtime, which exists. */
export async function openEdge({ cluster, environment }: GitopsScene, namespace: string): Promise<Edge> {
  await using opening = new AsyncDisposableStack()
  const place = `${namespace}-edge`
  const behind = opening.use(await startService({ host: cluster.host }))
  const controller = opening.use(
    await startIngressController(cluster, {
      namespace: place,
      ingresses: namespace,
      routes: [namespace],
      classes: ['nginx'],
      hosts: HOSTS,
    }),
  )
  const events = await addEventSource({ cluster, namespace, behind })
  const dns = await startClusterDns(cluster, {
    namespace: place,
    clusterIP: DNS_ADDRESS,
    find(name) {
      if (HOSTS.some((host) => host === name)) return { address: controller.address }
      if (name === `github-eventsource-svc.${namespace}.svc.cluster.local`) return { address: events }
      return name.includes(`.${DOMAIN}`) ? 'absent' : 'silent'
    },
  })
  opening.defer(() => dns.close())
  const folder = await mkdtemp(join(tmpdir(), 'windlass-edge-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const [hosts, ca] = [join(folder, 'hosts'), join(folder, 'ca.pem')]
  await writeFile(hosts, `127.0.0.1 localhost\n${controller.address} ${HOSTS.join(' ')}\n`)
  await writeFile(ca, controller.ca)
  const opened = opening.move()
  return {
    controller,
    behind,
    values: {
      global: { codefresh: { tls: { caCerts: { secret: { create: true, content: controller.ca } } } } },
      'internal-router': { workflowsUrl: behind.url.origin, trustedProxies: [cluster.host] },
    },
    windlass(...args) {
      const seeing = ['--mount', 'sh', '-c', 'mount --bind "$1" /etc/hosts && shift && exec "$@"', 'sh', hosts]
      return runProgram('unshare', [...seeing, WINDLASS, ...args], { env: { ...environment, WINDLASS_CA_FILE: ca } })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

interface EventSource extends Pick<GitopsScene, 'cluster'> {
  readonly namespace: string
  readonly behind: Service
}

/** Creates the Service that Argo Events would create for the event source `github`. Returns its address. */
async function addEventSource({ cluster, namespace, behind }: EventSource): Promise<string> {
  const name = 'github-eventsource-svc'
  const metadata = { name, namespace }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: behind.port, protocol: 'TCP' }],
      endpoints: [{ addresses: [cluster.host], conditions: { ready: true } }],
    },
  )
  return cluster.kubectl('--namespace', namespace, 'get', 'service', name, '--output', 'jsonpath={.spec.clusterIP}')
}

interface Behind {
  readonly host: string
  readonly namespace: string
  readonly scene: GitopsScene
}

/** Does what callers do: pages of another origin, a stream of events, a WebSocket, and a webhook of a forge. */
export async function callAsEverybody(edge: Edge, { host, namespace, scene }: Behind): Promise<void> {
  const { controller } = edge
  const { origin } = new URL(scene.url)
  const asked = { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-access-token' }
  const preflight = await controller.call(host, LIST, { method: 'OPTIONS', headers: asked })
  expect([preflight.status, preflight.headers]).toEqual([
    204,
    expect.objectContaining({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': expect.stringContaining('x-access-token'),
    }),
  ])
  const page = await controller.call(host, LIST, { headers: { origin, 'x-access-token': scene.apiKey } })
  expect([page.status, page.headers['access-control-allow-origin'], JSON.parse(page.text)]).toEqual([200, origin, { items: [] }])
  const stranger = await controller.call(host, LIST, { headers: { origin: 'https://other.example' } })
  expect([stranger.status, stranger.headers['access-control-allow-origin']]).toEqual([401, undefined])
  // Only the paths of the router are served, and nothing of its own.
  for (const path of ['/', '/api/healthz', '/healthz', '/app-proxy-other'])
    expect([path, (await controller.call(host, path)).status]).toEqual([path, 404])
  await readEvents(edge, host)
  const body = JSON.stringify({ ref: 'refs/heads/main' })
  const headers = { 'content-type': 'application/json', 'x-github-event': 'push', 'x-hub-signature-256': SIGNATURE }
  const path = `/webhooks/${namespace}/github/echo`
  const hook = await controller.call(host, path, { method: 'POST', body, headers })
  expect(hook.status).toBe(200)
  expect(JSON.parse(hook.text)).toMatchObject({
    method: 'POST',
    target: path,
    body,
    headers: {
      'x-github-event': 'push',
      'x-hub-signature-256': SIGNATURE,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': host,
    },
  })
  expect((await controller.call(host, '/webhooks/kube-system/github/echo', { method: 'POST' })).status).toBe(404)
}

/** Reads a stream that does not end, and talks over a WebSocket. */
async function readEvents({ controller, behind }: Edge, host: string): Promise<void> {
  const stream = controller.begin(host, '/workflows/events')
  stream.end()
  const [events] = (await once(stream, 'response')) as [IncomingMessage]
  const arrived = once(events, 'data') as Promise<[Buffer]>
  behind.send('one')
  expect(String((await arrived)[0])).toBe('data: one\n\n')
  stream.destroy()
  const socket = new WebSocket(`wss://${controller.address}/workflows/ws`, {
    agent: new Agent({ ca: controller.ca, servername: host }),
    headers: { host },
  })
  const [hello] = (await once(socket, 'message')) as [Buffer]
  expect(String(hello)).toMatch(/^hello /)
  socket.send('ahoy')
  const [back] = (await once(socket, 'message')) as [Buffer]
  expect(String(back)).toBe('ahoy')
  socket.close()
  await once(socket, 'close')
}
