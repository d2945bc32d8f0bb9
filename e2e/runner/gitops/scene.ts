/** A server with tunnels, and the command line of its admin, beside the test cluster. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { parse } from 'yaml'
import { type Cluster, type PodRef, startCluster } from '../../support/cluster.ts'
import { codeFileOf } from '../../support/first-admin.ts'
import { type Helm, openHelm } from '../../support/helm.ts'
import { ensureImages } from '../../support/images.ts'
import { startPodServer } from '../../support/pod-server.ts'
import { freePort, runProgram } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'

const root = join(import.meta.dirname, '../../..')
/** Helm alone may wait 300 s. Shorter than the limit of a test, so that the output of a command that hangs is shown. Milliseconds. */
const COMMAND_MS = 540_000
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy']

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface GitopsScene extends AsyncDisposable {
  readonly cluster: Cluster
  readonly helm: Helm
  readonly client: ApiClient
  readonly apiKey: string
  /** Base URL of the server, also for pods. */
  readonly url: string
  /** URL that tunnel clients connect to. The cluster has no DNS, so it has the address of the node. */
  readonly registerUrl: string
  /** Domain of the tunnels. */
  readonly domain: string
  readonly accountId: string
  /** Values with the image of this run. */
  readonly image: { readonly repository: string; readonly tag: string }
  /** Variables with which commands run as the first admin: their settings, kubeconfig and Helm. */
  readonly environment: NodeJS.ProcessEnv
  /** Runs the `windlass` command as the first admin. */
  windlass(...args: readonly string[]): Promise<Finished>
  /** Calls a runtime through its tunnel, as callers do by its host. */
  call(runtime: string, path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

export async function openGitopsScene(): Promise<GitopsScene> {
  const images = await ensureImages('shell', 'debian', 'node', 'tools', 'windlass')
  const cluster = await startCluster()
  const reference = images['WINDLASS_IMAGE'] ?? ''
  await cluster.load(reference)
  const at = reference.lastIndexOf(':')
  const closing = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-gitops-'))
  closing.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  const helm = await openHelm(cluster.kubeconfig)
  closing.defer(() => helm.close())
  const tunnelPort = await freePort()
  const domain = 'tunnels.test'
  const { service: server, url } = await startPodServer(folder, {
    WINDLASS_SERVER_TUNNEL_DOMAIN: domain,
    WINDLASS_SERVER_TUNNEL_PORT: String(tunnelPort),
  })
  closing.defer(() => server.stop('SIGKILL'))
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    WINDLASS_CONFIG: join(folder, 'config.yaml'),
    WINDLASS_HELM: /HELM=(\S+)/.exec(await runProgram(join(root, 'scripts/helm/build'), []))?.[1] ?? '',
    KUBECONFIG: cluster.kubeconfig,
    HELM_CACHE_HOME: join(folder, 'helm'),
    HELM_CONFIG_HOME: join(folder, 'helm'),
    HELM_DATA_HOME: join(folder, 'helm'),
    NO_COLOR: '1',
  }
  for (const name of PROXIES) delete environment[name]
  const windlass = async (...args: readonly string[]): Promise<Finished> => {
    const child = spawn(WINDLASS, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'], timeout: COMMAND_MS })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
    const [code] = await once(child, 'close')
    return { code: typeof code === 'number' ? code : null, stdout, stderr }
  }
  const login = await windlass('auth', 'login', '--url', url, '--first-admin', '--code-file', codeFileOf(join(folder, 'server')))
  if (login.code !== 0) throw new Error(login.stderr)
  const apiKey = String(parse(await readFile(join(folder, 'config.yaml'), 'utf8')).contexts[0].apiKey)
  const client = openClient({ url, token: apiKey, transport: nodeTransport() })
  // The host of a runtime has the id of the account.
  const probe = await client.gitopsRuntimes.createToken('probe')
  await client.gitopsRuntimes.delete('probe')
  const accountId = new URL(probe.url ?? '').host.split('-')[0] ?? ''
  return {
    cluster,
    helm,
    client,
    apiKey,
    url,
    domain,
    accountId,
    registerUrl: `http://${cluster.host}:${tunnelPort}`,
    image: { repository: reference.slice(0, at), tag: reference.slice(at + 1) },
    environment,
    windlass,
    async call(runtime, path, headers = {}) {
      const host = `${accountId}-${runtime}.${domain}`
      const asked = http.request({ host: '127.0.0.1', port: tunnelPort, path, headers: { host, ...headers }, agent: false })
      asked.end()
      const [response] = (await once(asked, 'response')) as [http.IncomingMessage]
      const parts = await response.toArray()
      return { status: response.statusCode ?? 0, text: Buffer.concat(parts as Buffer[]).toString() }
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}

/** Returns values for a cluster without DNS: the app-proxy has a known address. */
export function addressValues({ image, registerUrl, domain }: GitopsScene, address: string): object {
  return {
    image,
    'app-proxy': { service: { clusterIP: address } },
    'internal-router': { env: { WINDLASS_ROUTER_APP_PROXY_URL: `http://${address}:3017` } },
    'tunnel-client': { tunnelServer: { host: registerUrl, subdomainHost: domain } },
  }
}

/** Returns an address of the Service network that other test files do not use. */
export function serviceAddress(number: number): string {
  return `10.96.${20 + (process.pid % 100)}.${1 + ((Math.floor(process.pid / 100) * 2 + number) % 250)}`
}

const ASK = `fetch(process.argv[1]).then((answer) => console.log(answer.status), (error) => console.log(error.cause?.code ?? error.message))`

/** Returns the status that a pod with Node.js gets from a URL, or the code of its failure. */
export function askFromPod({ exec }: Pick<Cluster, 'exec'>, pod: PodRef, url: string): Promise<string> {
  return exec(pod, 'node', '--eval', ASK, url)
}
