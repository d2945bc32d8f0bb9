/** Tests files that steps find on the shared volume but that are not kept there. */
import { newId } from '@windlass/kit'
import { afterAll, expect, test } from 'vitest'
import { listLeftovers } from '../support/list-leftovers.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

const volumeName = `windlass-test-${newId(Date.now())}`
afterAll(async () => (await testDocker()).removeVolume(volumeName))

const steps = (commands: string): string => `
version: '1.0'
steps:
  it: { image: $SHELL, fail_fast: false, commands: [${commands}] }
`

const kubeconfig = (name: string): string =>
  JSON.stringify({
    clusters: [{ name, cluster: { server: `https://${name}.example` } }],
    users: [{ name, user: { token: `token-of-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  })

test('provides a kubeconfig of the allowed clusters that the next build does not get (P181)', async () => {
  const clusters = [
    { context: 'prod', kubeconfig: kubeconfig('prod') },
    { context: 'other', kubeconfig: kubeconfig('other'), injected: false },
  ]
  const first = await runPipeline(steps(`'cat "$CF_KUBECONFIG_PATH"', 'touch /codefresh/volume/kept'`), {
    input: { volumeName, clusters },
  })
  expect(first.output('it')).toContain('https://prod.example')
  expect(first.output('it')).not.toContain('https://other.example')
  expect(first.output('it')).not.toContain('token-of-prod')
  expect(await listLeftovers(first.buildId)).toEqual([])

  const second = await runPipeline(
    steps(`'ls /codefresh/volume', 'ls -A /codefresh/volume/sensitive', 'echo "<$CF_KUBECONFIG_PATH>"'`),
    {
      input: { volumeName },
    },
  )
  expect(second.output('it')).toContain('kept')
  expect(second.output('it')).not.toContain('.kube')
  expect(second.output('it')).toContain('<>')
})

test('provides the event of a webhook only to the build that it started (P152)', async () => {
  const files = { 'event.json': '{"action":"opened"}', 'deep/er.txt': 'x' }
  const first = await runPipeline(steps(`'cat event.json deep/er.txt'`), { input: { volumeName, files } })
  expect(first.output('it')).toContain('{"action":"opened"}x')
  const second = await runPipeline(steps(`'cat event.json'`), { input: { volumeName } })
  expect(second.output('it')).not.toContain('opened')
  const third = await runPipeline(steps(`'cat event.json'`), { input: { volumeName, files: { 'event.json': 'again' } } })
  expect(third.output('it')).toContain('again')
})
