/** `windlass up` as a server for clusters, and `runner init` with URLs that clusters cannot reach. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../../e2e/support/process.ts'
import { openSandbox, type Sandbox } from '../support.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await openSandbox()
})
afterAll(() => sandbox[Symbol.asyncDispose]())

interface Server extends AsyncDisposable {
  readonly port: number
  readonly output: string
  /** Output of the start. */
  status(): Promise<{ advertisedUrl?: string | undefined }>
  stop(): Promise<void>
  start(...words: string[]): Promise<string>
}

async function startServer(name: string, ...words: string[]): Promise<Server> {
  const port = await freePort()
  const data = join(sandbox.folder, name)
  const start = async (...more: string[]): Promise<string> => {
    const { code, stdout, stderr } = await sandbox.run(['up', '--detach', '--port', String(port), '--data', data, ...more])
    expect(code, stderr).toBe(0)
    return stdout + stderr
  }
  const stop = async (): Promise<void> => void (await sandbox.run(['up', '--stop', '--data', data]))
  return {
    port,
    output: await start(...words),
    status: () => openClient({ url: `http://127.0.0.1:${port}`, transport: nodeTransport() }).server.status(),
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

test('prints the advertised URL, saves it for the next start, and removes it on request', async () => {
  await using server = await startServer('kept', '--host', '0.0.0.0', '--advertise', 'http://10.9.8.7:7400/')
  expect(server.output).toContain('Clusters reach the server at http://10.9.8.7:7400 (saved for the next start')
  expect(await server.status()).toMatchObject({ advertisedUrl: 'http://10.9.8.7:7400' })
  await server.stop()
  expect(await server.start('--host', '0.0.0.0')).toContain('Clusters reach the server at http://10.9.8.7:7400')
  const other = await sandbox.run([
    'up',
    '--detach',
    '--data',
    join(sandbox.folder, 'kept'),
    '--advertise',
    'http://10.9.8.8:7400',
  ])
  expect(other.code).toBe(1)
  expect(other.stderr).toContain('windlass up --stop')
  await server.stop()
  expect(await server.start('--host', '0.0.0.0', '--advertise', 'none')).toContain('has no advertised URL')
  expect(await server.status()).not.toHaveProperty('advertisedUrl')
})

test.each(['http://:secret@10.9.8.7', 'http://10.9.8.7/?', 'http://10.9.8.7/#', 'http://10.9.8.7/a\tb', '10.9.8.7:7400'])(
  '%j is not advertised',
  async (url) => {
    const { code, stderr } = await sandbox.run(['up', '--detach', '--data', join(sandbox.folder, 'refused'), '--advertise', url])
    expect(code).not.toBe(0)
    expect(stderr).toContain('is not the base URL of a server')
  },
)

test('without an advertised URL it lists the addresses of the machine and the command to advertise one', async () => {
  await using server = await startServer('bound', '--host', '0.0.0.0')
  expect(server.output).toContain('The server listens on 0.0.0.0 and has no advertised URL.')
  expect(server.output).toMatch(
    new RegExp(
      `windlass up --data \\S+ --detach --host 0\\.0\\.0\\.0 --port ${server.port} --advertise http://\\S+:${server.port}`,
    ),
  )
})

test('reports that a server on the loopback address is reachable only from this machine', async () => {
  await using server = await startServer('local')
  expect(server.output).toContain('The server is reachable only from this machine.')
  await server.stop()
  expect(await server.start('--advertise', 'https://ci.example.com')).toContain('It listens only on 127.0.0.1')
})

test.each(['10.0.0.5:7400', 'ftp://10.0.0.5', 'http://10.0.0.5/?a=b'])(
  '%s is refused as an address to advertise',
  async (url) => {
    const { code, stderr } = await sandbox.run(['up', '--detach', '--data', join(sandbox.folder, 'wrong'), '--advertise', url])
    expect(code).toBe(2)
    expect(stderr).toContain('is not the base URL of a server')
    expect(stderr).toContain('http://HOST:PORT')
  },
)

test('runner init rejects a loopback URL before any change, with the commands to fix it', async () => {
  await using server = await startServer('wizard')
  const { code, stderr } = await init(server)
  expect(code).toBe(2)
  expect(stderr).toContain(`http://127.0.0.1:${server.port} is a loopback address`)
  expect(stderr).toMatch(/windlass up --stop; windlass up --detach --host 0\.0\.0\.0 --port \d+ --advertise http:/)
  expect(stderr).toContain('(repeat --data and --postgres if it was started with them)')
})

test('runner init gives the cluster the URL that a local server advertises', async () => {
  await using server = await startServer('taught', '--host', '0.0.0.0', '--advertise', 'http://10.9.8.7:7400')
  const { stderr } = await init(server)
  expect(stderr).toContain('The cluster will use http://10.9.8.7:7400, which the server advertises')
})

/** Runs `runner init` with a kubeconfig of an unreachable cluster. */
async function init({ port }: Server): Promise<{ code: number | null; stderr: string }> {
  const kubeconfig = join(sandbox.folder, 'kubeconfig')
  const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } }
  const context = { name: 'c', context: { cluster: 'c', user: 'u' } }
  const config = {
    'current-context': 'c',
    contexts: [context],
    clusters: [cluster],
    users: [{ name: 'u', user: { token: 't' } }],
  }
  await writeFile(kubeconfig, JSON.stringify(config))
  const words = ['runner', 'init', '--yes', '--url', `http://127.0.0.1:${port}`, '--kube-namespace', 'n']
  return sandbox.run(words, { env: { KUBECONFIG: kubeconfig, WINDLASS_HELM: '/nowhere/helm' } })
}
