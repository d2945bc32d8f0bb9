/** Commands for the objects of applications and for the shared configuration repository, with an app-proxy that is played. */
import { once } from 'node:events'
import http from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { callWindlass } from '../windlass.ts'

type Answer = object | number

/** Plays an app-proxy. An answer is given once, the last one again and again; a number is the status of a refusal. */
async function playRuntime(answers: Readonly<Record<string, readonly Answer[]>>): Promise<{
  readonly run: (words: string) => ReturnType<typeof callWindlass>
  readonly asked: string[]
}> {
  const asked: string[] = []
  const left = new Map(Object.entries(answers).map(([part, all]) => [part, [...all]]))
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    const part = new URL(request.url ?? '/', 'http://runtime.test').pathname.replace('/app-proxy/api/applications/shop/', '')
    const all = left.get(part) ?? []
    const answer = all.length > 1 ? all.shift() : all[0]
    if (typeof answer === 'object')
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    const status = answer ?? 404
    const code = 'argo-cd-refused'
    const message = 'Argo CD: pods "api" not found'
    const problem = { type: `urn:windlass:fault:${code}`, title: message, status, detail: message, message, code }
    return response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const env = { NO_COLOR: '1', TZ: 'UTC', WINDLASS_URL: url, WINDLASS_API_KEY: 'key', WINDLASS_CONFIG: '/nowhere/config' }
  return { asked, run: (words) => callWindlass([...words.split(' '), '--runtime-url', url], env) }
}

const line = (second: string, text: string, more: object = {}): object => ({
  pod: 'api',
  at: `2027-01-15T09:00:${second}Z`,
  text,
  ...more,
})

test('the log of a pod is printed with its times, and what is cut says so', async () => {
  const { run, asked } = await playRuntime({
    logs: [{ items: [line('01', 'started'), line('02.5', 'long', { isCut: true })], isCut: true }],
  })
  expect(await run('gitops app logs prod shop shop/api -c main --since 300 --timestamps')).toEqual({
    code: 0,
    stdout: '2027-01-15T09:00:01Z started\n2027-01-15T09:00:02.5Z long … (the line is longer)\n',
    stderr: 'Only the last 2 lines are shown. See --tail.\n',
  })
  expect(asked).toEqual(['/app-proxy/api/applications/shop/logs?pod=api&namespace=shop&container=main&previous=false&since=300'])
  expect(await run('gitops app logs prod shop shop/api -f --previous')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('gets no new lines'),
  })
})

test('a log that is followed says where lines may be missing, and ends when Argo CD refuses it', async () => {
  const { run } = await playRuntime({
    logs: [{ items: [line('01', 'one')] }, { items: [line('08', 'again')] }, { items: [line('08', 'again')] }, 502],
  })
  expect(await run('gitops app logs prod shop shop/api -f')).toMatchObject({
    code: 1,
    stdout: 'one\nagain\n',
    stderr: expect.stringMatching(/^Lines may be missing here: .*\n.*pods "api" not found/),
  })
})

test('an object and its events are printed', async () => {
  const uid = '5d6f0c1e-8b1a-4b9e-9d43-0f6f2a1b3c4d'
  const node = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'api', uid, parents: [], info: [], images: [] }
  const { run, asked } = await playRuntime({
    tree: [{ items: [node, { ...node, name: 'web' }] }],
    resource: [{ manifest: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'api' } } }],
    events: [{ items: [{ type: 'Warning', reason: 'BackOff', message: 'Back-off pulling image', count: 7 }] }],
  })
  expect(await run('gitops app manifest prod shop Deployment/shop/api')).toMatchObject({
    code: 0,
    stdout: 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: api\n',
  })
  expect(asked.at(-1)).toBe('/app-proxy/api/applications/shop/resource?group=apps&kind=Deployment&namespace=shop&name=api')
  expect(await run('gitops app manifest prod shop Deployment/shop/*')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('2 objects: Deployment/shop/api, Deployment/shop/web'),
  })
  expect((await run('gitops app events prod shop Deployment/shop/api')).stdout).toBe(
    'AGE  TYPE     REASON   COUNT  MESSAGE\n     Warning  BackOff  7      Back-off pulling image\n',
  )
  expect(asked.at(-1)).toContain(`uid=${uid}`)
})

test('a runtime that is set up says so, also if it does not answer which credentials are missing', async () => {
  const repository = 'https://git.test/acme/gitops.git'
  const change = {
    configuration: {
      repository,
      branch: 'main',
      revision: '0123456789abcdef0123456789abcdef01234567',
      hasRuntime: true,
      isConfigurationRuntime: false,
      application: {},
    },
    commit: { revision: 'b', branch: 'main', url: 'https://git.test/c/b', isNew: true, isRebased: false },
  }
  const lost = { name: 'far', hasCredentials: false }
  const { run, asked } = await playRuntime({
    '/app-proxy/api/shared-configuration': [change],
    '/app-proxy/api/clusters': [404, { items: [lost, { ...lost, name: 'near', hasCredentials: true }] }],
  })
  const notes = [
    'Commit on main: https://git.test/c/b',
    `Repository: ${repository}`,
    'Create its application once: windlass gitops config application prod | kubectl apply -f -',
  ]
  expect(await run('gitops config set prod')).toEqual({
    code: 0,
    stdout: 'gitops-runtime/prod set up\n',
    stderr: [
      ...notes,
      'The runtime is set up, but it did not say whether credentials of clusters are missing: Argo CD: pods "api" not found',
      'List the clusters later: windlass gitops cluster list prod\n',
    ].join('\n'),
  })
  expect(asked).toEqual(['/app-proxy/api/shared-configuration', '/app-proxy/api/clusters'])
  expect((await run('gitops config set prod')).stderr).toBe(
    [...notes, 'Add the credentials of far again: windlass gitops cluster add prod --name far --context CONTEXT\n'].join('\n'),
  )
})
