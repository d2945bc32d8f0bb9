import { Context, Pipeline } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const kubeconfig = (server: string, user = 'token: secret-of-user'): string => `
apiVersion: v1
kind: Config
current-context: here
clusters: [{ name: c, cluster: { server: '${server}' } }]
users: [{ name: u, user: { ${user} } }]
contexts: [{ name: here, context: { cluster: c, user: u } }]
`

const add = (scene: HttpScene, name: string, text: string): Promise<Context> =>
  scene.admin.call('POST', '/v1/contexts', Context, { body: { name, type: 'kubernetes', data: { kubeconfig: text } } })

const document = (settings: string): string => `
kind: pipeline
metadata: { name: demo/app }
spec:
  ${settings}
  steps: { one: { image: alpine, commands: [echo one] } }
`

test('engines get the clusters of the account as JSON, and which of them are injected into steps (P181)', async () => {
  await using scene = await openHttpScene()
  const shown = await add(scene, 'prod', kubeconfig('https://prod'))
  expect(shown.data).toEqual({ kubeconfig: '*****' })
  await add(scene, 'stage', kubeconfig('https://stage'))
  const clustersOf = async (settings: string): Promise<object[]> => {
    await scene.admin.call('PUT', '/v1/pipelines/demo%2Fapp', Pipeline, {
      body: { name: 'demo/app', document: document(settings) },
    })
    const { engine } = await scene.start({ pipeline: 'demo/app', document: undefined })
    await engine.succeed()
    for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
    return (engine.claimed.clusters ?? []).map(({ context, injected, kubeconfig: text }) => {
      const { contexts, clusters } = JSON.parse(text)
      return { context, injected, name: contexts[0].name, server: clusters[0].cluster.server }
    })
  }
  const of = (context: string, injected: boolean): object => ({ context, injected, name: context, server: `https://${context}` })
  expect(await clustersOf('concurrency: 9')).toEqual([of('prod', true), of('stage', true)])
  expect(await clustersOf('clustersInfo: { injectAll: false, clusters: [stage] }')).toEqual([
    of('prod', false),
    of('stage', true),
  ])
  expect(await clustersOf('clustersInfo: { injectAll: false }')).toEqual([of('prod', false), of('stage', false)])
})

test('rejects a kubeconfig that refers to local files', async () => {
  await using scene = await openHttpScene()
  await expect(add(scene, 'prod', kubeconfig('https://prod', 'client-key: /home/me/key'))).rejects.toMatchObject({
    code: 'request-invalid',
    message: expect.stringContaining('--flatten'),
  })
})
