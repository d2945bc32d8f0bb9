/** An app-proxy at a server, with an API server in memory. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport, proxyFrom, systemClock } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { pino } from 'pino'
import { startAppProxy, type AppProxy, type AppProxyOptions } from '../../src/index.ts'
import { NAMESPACE, startKubeApi, type KubeApi } from './kube-api.ts'

export const PAGE = 'https://ci.example.com'
/** Folder with the ends of calls, which stays. */
const ENDS = 'windlass-call-ends-prod'
export const STORE_IV = 'the random text of this test'

export interface Control {
  /** Base URL of the server. */
  readonly url: string
  readonly accountId: string
  /** A token of the runtime `prod`. */
  readonly runtimeToken: string
}

/** The fields of answers that tests read one by one. An answer has those of its route. */
export interface AnswerBody {
  readonly code: string
  readonly detail: string
  readonly items: readonly { readonly fullName: string; readonly registeredUsers: readonly string[] }[]
  readonly cursor: string
  readonly revision: string
  readonly url: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: AnswerBody
}

export interface Scene extends AsyncDisposable {
  readonly proxy: AppProxy
  readonly kube: KubeApi
  /** How the app-proxy reaches its server. */
  readonly server: AppProxyOptions['server']
  /** Lines that were logged, as text. */
  readonly lines: string[]
  /** Folder for repositories. */
  readonly workFolder: string
  /** Calls a path below `/app-proxy/api`. */
  call(
    method: string,
    path: string,
    options?: { token?: string; body?: object; headers?: Record<string, string> },
  ): Promise<Answer>
  /** Replaces the token of the runtime in its file. */
  writeToken(token: string): void
  /** Ends the app-proxy and starts another one with the same state. */
  restart(options?: Partial<AppProxyOptions>): Promise<void>
  /** Files and folders that were left behind. */
  leftovers(): string[]
  /** Files of the ends of calls that the server does not have yet. */
  waitingEnds(): string[]
}

export async function openScene(control: Control, given: Partial<AppProxyOptions> = {}): Promise<Scene> {
  await using opening = new AsyncDisposableStack()
  const kube = opening.use(await startKubeApi())
  const folder = mkdtempSync(join(tmpdir(), 'windlass-app-proxy-'))
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))
  const workFolder = given.workFolder ?? mkdtempSync(join(folder, 'work-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, `${control.runtimeToken}\n`)
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const server = { url: control.url, transport: nodeTransport({ proxy: proxyFrom({}), connectMs: 5_000 }) }
  const access = { server: kube.url, insecure: false, namespace: NAMESPACE }
  const start = (more: Partial<AppProxyOptions>): Promise<AppProxy> =>
    startAppProxy({
      port: 0,
      server,
      runtime: 'prod',
      accountId: control.accountId,
      tokenFile,
      storeIv: STORE_IV,
      origins: [PAGE],
      kube: openKube({ access, log }),
      namespace: NAMESPACE,
      proxy: proxyFrom({}),
      mayUseLoopback: true,
      workFolder,
      lingerMs: 0,
      environment: process.env,
      version: '1.2.3',
      clock: systemClock,
      log,
      ...given,
      ...more,
    })
  let proxy = await start({})
  opening.defer(() => proxy.close())
  const opened = opening.move()
  return {
    get proxy() {
      return proxy
    },
    kube,
    server,
    lines,
    workFolder,
    async call(method, path, { token, body, headers = {} } = {}) {
      const response = await fetch(`${proxy.url}/app-proxy/api${path}`, {
        method,
        headers: {
          ...(token !== undefined && { authorization: token }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
    },
    writeToken: (token) => writeFileSync(tokenFile, token),
    async restart(more = {}) {
      await proxy.close()
      proxy = await start(more)
    },
    leftovers: () => readdirSync(workFolder).filter((name) => name !== ENDS),
    waitingEnds: () => readdirSync(join(workFolder, ENDS)),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
