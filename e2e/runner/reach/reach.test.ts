/** The address at which engines call the server, on the real cluster: with a wrong advertised URL, and with an unreachable one. */
import { pathOf, ROUTES } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ensureImages } from '../../support/images.ts'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'
import { freePort } from '../../support/process.ts'

const NAMESPACE = `reach-${process.pid}`
const Started = z.object({ id: z.string() })

let installation: Installation
let pipeline: string
let engine: object
/** A port of this machine at which nothing listens. */
let deadUrl: string
beforeAll(async () => {
  const { WINDLASS_IMAGE: image = '' } = await ensureImages('windlass')
  engine = { image, cluster: { namespace: NAMESPACE } }
  installation = await startInstallation(NAMESPACE, {
    engine,
    serverEnv: {
      // The address of a server that was started for one machine.
      WINDLASS_SERVER_ADVERTISED_URL: 'http://127.0.0.1:1',
      // The agent reads the log of a silent engine after 15 s, in which one on a busy machine may write nothing, and again 30 s later.
      WINDLASS_SERVER_ENGINE_SILENT_MS: '60000',
    },
  })
  const tools = installation.images['TOOLS_IMAGE'] ?? ''
  const commands = ['echo "hello by $WINDLASS_URL, links at $CF_URL"']
  pipeline = await installation.file(
    'hello.yml',
    JSON.stringify({ version: '1.0', steps: { hello: { image: tools, commands } } }),
  )
  deadUrl = `http://${installation.cluster.host}:${await freePort()}`
})
afterAll(() => installation?.close())

const show = (id: string): Promise<Build> => installation.client.builds.get(id)

test('with a wrong advertised address, engines use the address of their agent', async () => {
  const { code, stderr } = await installation.windlass('run', '-f', pipeline, '--output', 'json')
  expect(code, stderr).toBe(0)
  expect(stderr).toContain(`hello by ${installation.url}, links at http://127.0.0.1:1`)
})

test('an unreachable address is shown by the engine log and by the build, which ends after one retry', async () => {
  await installation.putRuntime(NAMESPACE, {
    runtimeScheduler: { ...engine, serverUrl: deadUrl },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${NAMESPACE}` } } },
  })
  const { id } = Started.parse(JSON.parse((await installation.windlass('run', '-f', pipeline, '-d', '-o', 'json')).stdout))
  const message = `The server at ${deadUrl} cannot be reached: connection refused`
  await eventually(
    'the engine logs the cause',
    async () => {
      const pod = { kind: 'Pod', namespace: NAMESPACE, name: `engine-${id}` } as const
      const log = await installation.cluster.kube.logs(pod, { container: 'engine', tailLines: 1_000 }).catch(() => '')
      return log.includes(message) ? true : undefined
    },
    180_000,
  )
  const waiting = await eventually(
    'the build shows the end of the log',
    async () => {
      const found = await show(id)
      return found.message?.includes(message) === true ? found : undefined
    },
    180_000,
  )
  expect(waiting).toMatchObject({ status: 'elected', reason: 'engine-silent' })
  expect(waiting.message).toContain(`The engine pod engine-${id} runs but has not called ${deadUrl}.`)
  const final = await eventually(
    'the build ends',
    async () => {
      const found = await show(id)
      return found.status === 'error' ? found : undefined
    },
    360_000,
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
