/** The address at which engines call the server, on the real cluster: with a wrong advertised URL, and with an unreachable one. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import { pathOf, ROUTES } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ensureImages } from '../../support/images.ts'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'

const NAMESPACE = `reach-${process.pid}`
const Started = z.object({ id: z.string() })

let installation: Installation
let pipeline: string
let engine: object
/** A closed port of this machine. */
let deadUrl: string
beforeAll(async () => {
  const { WINDLASS_IMAGE: image = '' } = await ensureImages('windlass')
  engine = { image, cluster: { namespace: NAMESPACE } }
  installation = await startInstallation(NAMESPACE, {
    engine,
    // The address of a server that was started for one machine.
    serverEnv: { WINDLASS_SERVER_ADVERTISED_URL: 'http://127.0.0.1:1', WINDLASS_SERVER_ENGINE_SILENT_MS: '30000' },
  })
  const tools = installation.images['TOOLS_IMAGE'] ?? ''
  const commands = ['echo "hello by $WINDLASS_URL, links at $CF_URL"']
  pipeline = await installation.file(
    'hello.yml',
    JSON.stringify({ version: '1.0', steps: { hello: { image: tools, commands } } }),
  )
  const port = createServer()
  await once(port.listen(0), 'listening')
  const address = port.address()
  deadUrl = `http://${installation.cluster.host}:${typeof address === 'object' && address !== null ? address.port : 1}`
  port.close()
})
afterAll(() => installation?.close())

const show = (id: string): Promise<Build> => installation.client.builds.get(id)

test('with a wrong advertised address, engines use the address of their agent', async () => {
  const { code, stderr } = await installation.windlass('run', '-f', pipeline, '--output', 'json')
  expect(code, stderr).toBe(0)
  expect(stderr).toContain(`hello by ${installation.url}, links at http://127.0.0.1:1`)
})

test('an unreachable address is shown by the engine log and by the build, which ends after one retry', async () => {
  const runtime = {
    kind: 'runtime',
    metadata: { name: NAMESPACE },
    spec: {
      type: 'kubernetes',
      agent: 'one-node',
      isDefault: true,
      runtimeScheduler: { ...engine, serverUrl: deadUrl },
      dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
    },
  }
  const applied = await installation.windlass('apply', '-f', await installation.file('dead.yml', JSON.stringify(runtime)))
  expect(applied.code, applied.stderr).toBe(0)
  const { id } = Started.parse(JSON.parse((await installation.windlass('run', '-f', pipeline, '-d', '-o', 'json')).stdout))
  const message = `The server at ${deadUrl} cannot be reached: connection refused`
  await eventually(
    'the engine logs the cause',
    async () => {
      const log = await installation.kubectl('logs', `engine-${id}`).catch(() => '')
      return log.includes(message) ? true : undefined
    },
    120_000,
  )
  const waiting = await eventually(
    'the build shows the end of the log',
    async () => {
      const found = await show(id)
      return found.message?.includes(message) === true ? found : undefined
    },
    120_000,
  )
  expect(waiting).toMatchObject({ status: 'elected', reason: 'engine-silent' })
  expect(waiting.message).toContain(`The engine pod engine-${id} runs but has not called ${deadUrl}.`)
  const final = await eventually(
    'the build ends',
    async () => {
      const found = await show(id)
      return found.status === 'error' ? found : undefined
    },
    240_000,
  )
  expect(final).toMatchObject({ reason: 'engine-silent', attempt: 2 })
  const described = await installation.windlass('describe', 'build', id)
  expect(described.stdout).toContain(deadUrl)
})

test('doctor checks from a pod the address of engines, not its own', async () => {
  const { kubeconfig } = installation.cluster
  const { code, stdout } = await installation.windlass('doctor', '--runtime', NAMESPACE, '--kube-config-path', kubeconfig)
  expect(code, stdout).toBe(1)
  expect(stdout).toContain(`From a pod to ${deadUrl}, as engines connect`)
  expect(stdout).toMatch(/server {2}responds in \d+ ms/)
  expect(stdout).toContain(`server (from a pod)  ${deadUrl}${pathOf(ROUTES.server.status)} does not respond`)
})
