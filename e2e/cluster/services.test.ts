/** Services and compositions on the Docker daemon of a pod: a different version, a different network, an empty disk. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../support/installation.ts'

const NAMESPACE = `services-${process.pid}`
let installation: Installation
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
})
afterAll(() => installation?.close())

test('services and compositions run on the daemon of a pod (P066, P110, P115)', async () => {
  // This daemon has only the tools image.
  const tools = installation.images['TOOLS_IMAGE'] ?? ''
  const store = `{ image: '${tools}', command: ['sh', '-c', 'mkdir /www; echo begun > /www/index.html; exec busybox httpd -f -p 80 -h /www'] }`
  const file = await installation.file(
    'services.yml',
    `
version: '1.0'
services:
  composition: { store: ${store} }
  readiness: { image: '${tools}', commands: [wget -q -O- http://store/], periodSeconds: 1, failureThreshold: 60 }
steps:
  named: { image: '${tools}', commands: [wget -q -O- http://store/] }
  local:
    image: '${tools}'
    services:
      shared_host_network: true
      composition: { other: ${store.replaceAll('80', '81').replace('begun', 'second')} }
      readiness: { image: '${tools}', commands: ['wget -q -O- http://localhost:81/'], periodSeconds: 1, failureThreshold: 60 }
    commands: ['wget -q -O- http://localhost:81/']
  composed:
    type: composition
    composition: { services: { store: ${store} } }
    composition_candidates:
      test:
        image: '${tools}'
        volumes: ['./data:/data']
        depends_on: { store: { condition: service_started } }
        command: ['sh', '-c', 'touch /data/x; until wget -q -O- http://store/; do sleep 1; done']
  after: { image: '${tools}', commands: [ls data/x] }
`,
  )
  const { code, stdout, stderr } = await installation.windlass('run', '-f', file, '--output', 'json')
  expect(code, `${stdout}${stderr}\n${installation.agent.log()}`).toBe(0)
  expect(stderr).toContain('begun')
  expect(stderr).toContain('second')
  expect(stderr).toContain('test_1   | begun')
})
