/**
 * A network whose only outbound connection is a proxy with a login, and a server behind it with a certificate of a private CA. The server
 * listens only on the loopback of this machine, and only the proxy can resolve its name.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '@windlass/kit'
import type { Transport } from '@windlass/protocol'
import { CLUSTER_HOST } from '../../support/cluster.ts'
import { freePort, runProgram } from '../../support/process.ts'

const SERVER_NAME = 'windlass.test'
const USER = 'runner'
export const PROXY_PASSWORD = 'proxy-p4ss word'

export interface GuardedNetwork extends AsyncDisposable {
  /** URL of the server for all clients. */
  readonly url: string
  /** Address on which the server listens. */
  readonly port: number
  readonly transport: Transport
  /** Files of the CA and of the server's certificate. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string }
  /** URL of the proxy with name and password, for processes and pods. */
  readonly proxyUrl: string
  /** Tunnels opened and refused so far, by client address. */
  readonly opened: readonly string[]
  readonly refused: readonly string[]
}

export async function openGuardedNetwork(): Promise<GuardedNetwork> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-guarded-'))
  const files = await makeCertificates(folder)
  const port = await freePort()
  const opened: string[] = []
  const refused: string[] = []
  const expected = `Basic ${Buffer.from(`${USER}:${PROXY_PASSWORD}`).toString('base64')}`
  const proxy = http.createServer((_request, response) => response.writeHead(403).end())
  proxy.on('connect', (request, client: net.Socket, head) => {
    client.on('error', () => undefined)
    const from = (client.remoteAddress ?? '').replace('::ffff:', '')
    if (request.headers['proxy-authorization'] !== expected) {
      refused.push(from)
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="drill"\r\n\r\n')
      return
    }
    if (request.url !== `${SERVER_NAME}:443`) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    opened.push(from)
    const server = net.connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      server.write(head)
      client.pipe(server).pipe(client)
    })
    server.on('error', () => client.destroy())
    client.on('close', () => server.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '0.0.0.0', resolve))
  const address = proxy.address()
  const proxyPort = typeof address === 'object' && address !== null ? address.port : 0
  const proxyUrl = `http://${USER}:${encodeURIComponent(PROXY_PASSWORD)}@${CLUSTER_HOST}:${proxyPort}`
  return {
    url: `https://${SERVER_NAME}`,
    port,
    transport: nodeTransport({ caFile: files.ca, maxSockets: 64, proxy: { https: proxyUrl, isDirect: () => false } }),
    files,
    proxyUrl,
    opened,
    refused,
    async [Symbol.asyncDispose]() {
      proxy.close()
      proxy.closeAllConnections()
      await rm(folder, { recursive: true })
    },
  }
}

async function makeCertificates(cwd: string): Promise<GuardedNetwork['files']> {
  const openssl = (...args: string[]): Promise<string> => runProgram('openssl', args, { cwd })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  await openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=a private CA')
  const named = ['-subj', `/CN=${SERVER_NAME}`, '-addext', `subjectAltName=DNS:${SERVER_NAME}`]
  await openssl('req', '-x509', ...key, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-keyout', 'key.pem', '-out', 'cert.pem', ...named)
  return { ca: join(cwd, 'ca.pem'), cert: join(cwd, 'cert.pem'), key: join(cwd, 'key.pem') }
}
