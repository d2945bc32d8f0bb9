/**
 * A real controller of Ingresses and of the Gateway API beside the test cluster: the pinned Traefik of `scripts/traefik`, as a process of the node. Its Service
 * has the ports 80 and 443, and the only Gateway has a listener for each of them.
 */
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { issueCertificates } from '@windlass/manifests'
import { addNamespace, type Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'
import { freePort, runProgram, startService } from './process.ts'

/** What Ingress classes name as their controller. Traefik reads the annotations of ingress-nginx. */
const INGRESS_CONTROLLER = 'k8s.io/ingress-nginx'
const GATEWAY_CONTROLLER = 'traefik.io/gateway-controller'
const CERTIFICATE_MS = 3_600_000
/** Kinds of the Gateway API that the controller watches. The definitions are of the whole cluster. */
const KINDS = ['backendtlspolicies', 'gatewayclasses', 'gateways', 'grpcroutes', 'httproutes', 'referencegrants', 'tlsroutes']
const DEFINITIONS = KINDS.map((kind) => `${kind}.gateway.networking.k8s.io`)

export interface ControllerOptions {
  /** Namespace of the Service and of the Gateway. It is created, and deleted at the end. */
  readonly namespace: string
  /** The one namespace of Ingresses. */
  readonly ingresses: string
  /** Namespaces of HTTPRoutes. */
  readonly routes: readonly string[]
  /** Names of Ingress classes. */
  readonly classes: readonly string[]
  /** Names in the certificate. */
  readonly hosts: readonly string[]
}

export interface CallInput {
  readonly scheme?: 'https' | 'http'
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Called {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

export interface IngressController extends AsyncDisposable {
  /** Cluster IP of its Service. */
  readonly address: string
  /** PEM of the CA of the certificate. */
  readonly ca: string
  /** Reference of a route to the listener for HTTPS of the Gateway. */
  readonly listener: { readonly name: string; readonly namespace: string; readonly sectionName: string }
  /** Puts the certificate into a Secret, for an Ingress. */
  addCertificate(namespace: string, name: string): Promise<void>
  /** Begins a call of a host. HTTPS by default, and only with a certificate of the CA. */
  begin(host: string, path: string, input?: CallInput): http.ClientRequest
  /** Calls a host and reads the answer. */
  call(host: string, path: string, input?: CallInput): Promise<Called>
  log(): string
}

/** Starts the controller, with the definitions of the Gateway API, classes, a Gateway, and a certificate for the hosts. */
export async function startIngressController(cluster: Cluster, options: ControllerOptions): Promise<IngressController> {
  const { namespace, ingresses, routes, hosts } = options
  const folder = await compiled()
  const pair = issueCertificates({ now: Date.now(), validMs: CERTIFICATE_MS, names: [...hosts] })
  const ports = { http: await freePort(), https: await freePort() }
  await using opening = new AsyncDisposableStack()
  opening.defer(() => remove(cluster, options))
  await cluster.kubectl('apply', '--server-side', '--force-conflicts', '--filename', `${folder}/crds`)
  // The command fails for a definition that has no conditions yet.
  await eventually('the Gateway API is defined', () =>
    cluster
      .kubectl(
        'wait',
        '--for=condition=established',
        '--timeout=60s',
        ...DEFINITIONS.map((name) => `customresourcedefinition/${name}`),
      )
      .catch(() => undefined),
  )
  await addNamespace(cluster, namespace)
  const addCertificate: IngressController['addCertificate'] = async (place, name) => {
    const data = { 'tls.crt': encode(pair.serverCert), 'tls.key': encode(pair.serverKey) }
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name, namespace: place },
      data,
    })
  }
  await addCertificate(namespace, 'edge')
  await cluster.apply(...objects(cluster, options, ports))
  const address = await cluster.kubectl(
    '--namespace',
    namespace,
    'get',
    'service',
    'edge',
    '--output',
    'jsonpath={.spec.clusterIP}',
  )
  const at = (port: number): string => `${cluster.host}:${port}`
  const service = await startService({
    command: `${folder}/traefik`,
    args: [
      `--entryPoints.web.address=${at(ports.http)}`,
      `--entryPoints.websecure.address=${at(ports.https)}`,
      '--providers.providersThrottleDuration=100ms',
      `--providers.kubernetesIngressNGINX.watchNamespace=${ingresses}`,
      '--providers.kubernetesIngressNGINX.httpEntryPoint=web',
      '--providers.kubernetesIngressNGINX.httpsEntryPoint=websecure',
      `--providers.kubernetesGateway.namespaces=${[namespace, ...routes].join(',')}`,
      `--providers.kubernetesGateway.statusAddress.ip=${address}`,
      '--ping=true',
      '--ping.entryPoint=web',
      '--log.level=INFO',
    ],
    env: { KUBECONFIG: cluster.kubeconfig },
    ready: async () => (await fetch(`http://${at(ports.http)}/ping`).catch(() => undefined))?.ok === true,
  })
  opening.defer(() => service.stop('SIGKILL'))
  const begin: IngressController['begin'] = (host, path, { scheme = 'https', method = 'GET', headers, body } = {}) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const to = { host: address, path, method, headers: { host, ...length, ...headers }, agent: false as const }
    return scheme === 'http'
      ? http.request({ ...to, port: 80 })
      : https.request({ ...to, port: 443, ca: pair.ca, servername: host })
  }
  const opened = opening.move()
  return {
    address,
    ca: pair.ca,
    listener: { name: 'edge', namespace, sectionName: 'https' },
    addCertificate,
    begin,
    async call(host, path, input) {
      const asked = begin(host, path, input)
      asked.end(input?.body)
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) }
    },
    log: () => service.log(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Returns the folder with the program and the definitions. */
async function compiled(): Promise<string> {
  const script = fileURLToPath(new URL('../../scripts/traefik/build', import.meta.url))
  const known = process.env['TRAEFIK'] ?? /TRAEFIK=(\S+)/.exec(await runProgram(script, []))?.[1]
  if (known === undefined) throw new Error('scripts/traefik/build named no folder')
  return known
}

function encode(pem: string): string {
  return Buffer.from(pem).toString('base64')
}

/** Listeners have the ports of the process: a Service leads to them. */
function objects(
  { host }: Pick<Cluster, 'host'>,
  { namespace, classes }: ControllerOptions,
  ports: { readonly http: number; readonly https: number },
): object[] {
  const metadata = { name: 'edge', namespace }
  const labels = { 'kubernetes.io/service-name': 'edge' }
  const open = { namespaces: { from: 'All' } }
  const gateway = 'gateway.networking.k8s.io/v1'
  return [
    ...classes.map((name) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name },
      spec: { controller: INGRESS_CONTROLLER },
    })),
    { apiVersion: gateway, kind: 'GatewayClass', metadata: { name: namespace }, spec: { controllerName: GATEWAY_CONTROLLER } },
    {
      apiVersion: gateway,
      kind: 'Gateway',
      metadata,
      spec: {
        gatewayClassName: namespace,
        listeners: [
          { name: 'http', port: ports.http, protocol: 'HTTP', allowedRoutes: open },
          {
            name: 'https',
            port: ports.https,
            protocol: 'HTTPS',
            tls: { mode: 'Terminate', certificateRefs: [{ name: 'edge' }] },
            allowedRoutes: open,
          },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: ['http', 'https'].map((name) => ({ name, port: name === 'http' ? 80 : 443, protocol: 'TCP' })) },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels },
      addressType: 'IPv4',
      ports: Object.entries(ports).map(([name, port]) => ({ name, port, protocol: 'TCP' })),
      endpoints: [{ addresses: [host], conditions: { ready: true } }],
    },
  ]
}

async function remove({ kubectl }: Cluster, { namespace, classes }: ControllerOptions): Promise<void> {
  await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait=false')
  await kubectl('delete', 'ingressclass', ...classes, '--ignore-not-found')
  await kubectl('delete', 'customresourcedefinitions', ...DEFINITIONS, '--ignore-not-found', '--timeout=60s')
}
