/** The GraphQL API of the server: what its fields show and change, and that each needs the rights of the routes behind it. */
import { statusCalls } from '@windlass/client/app-proxy'
import type { Method } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { argoApplication, COMMIT, event, openReporter } from '../../support/fakes/application-reporter.ts'
import { askGraphql, type GraphqlReply } from '../../support/graphql.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

type Ask = (query: string, variables?: Record<string, unknown>) => Promise<GraphqlReply>

const asker =
  ({ server }: HttpScene, token: string): Ask =>
  (query, variables) =>
    askGraphql(`${server.url}/2.0/api/graphql`, token, query, variables)

const CREATE = 'mutation C($a: RuntimeInstallationArgs!) { createRuntime(installationArgs: $a) { name newAccessToken } }'
const INSTALLATION = {
  runtimeName: 'prod',
  runtimeNamespace: 'argocd',
  cluster: 'https://kubernetes.default.svc',
  runtimeVersion: '0.1.72',
  componentNames: ['argo-cd'],
  ingressHost: 'https://gitops.example.com',
  ingressClass: '',
}

function labelled(name: string, entity: string, spec: object = {}): object {
  const app = argoApplication(name, { spec }) as { metadata: object }
  return { ...app, metadata: { ...app.metadata, labels: { 'codefresh.io/entity': entity } } }
}

test('a runtime is created, shown with what it has reported, given errors, and deleted, each with a record of the route', async () => {
  await using scene = await openHttpScene()
  const ask = asker(scene, scene.adminToken)
  const created = await ask(CREATE, { a: INSTALLATION })
  const { newAccessToken: token } = created.value as { newAccessToken: string }
  expect(created).toMatchObject({ status: 200, value: { name: 'prod' } })
  const again = await ask(CREATE, { a: INSTALLATION })
  expect(again).toMatchObject({ status: 200, value: undefined, code: 'conflict' })
  const show = `{ runtime(name: "prod") { metadata { name namespace account } ingressHost ingressClass installationStatus syncStatus
    healthStatus available managed managedClustersNum accessMode errors { level message } self { healthStatus } } }`
  expect((await ask(show)).value).toEqual({
    metadata: { name: 'prod', namespace: 'argocd', account: scene.server.app.accountId },
    ingressHost: 'https://gitops.example.com',
    ingressClass: null,
    installationStatus: 'IN_PROGRESS',
    syncStatus: 'UNKNOWN',
    healthStatus: null,
    available: false,
    managed: false,
    managedClustersNum: 0,
    accessMode: 'INGRESS',
    errors: [],
    self: null,
  })
  const errors = { runtime: 'prod', errors: [{ level: 'ERROR', message: 'no route to the forge' }] }
  const reported = await ask('mutation($a: ReportRuntimeErrorsArgs!) { reportRuntimeErrors(reportErrorsArgs: $a) }', {
    a: errors,
  })
  expect(reported.value).toBe(1)
  const now = Date.now()
  const chart = { source: { repoURL: 'oci://charts.test', chart: 'argo-cd', targetRevision: '9.4.17' } }
  await openReporter(
    scene,
    token,
  )({
    data: [
      event(argoApplication('prod', { health: 'Degraded', sync: 'OutOfSync' }), now),
      event(labelled('apps', 'git-source'), now),
      event(labelled('argo-cd', 'component', chart), now),
      event(argoApplication('far', { spec: { destination: { server: 'https://far.test:6443', namespace: 'shop' } } }), now),
    ],
  })
  expect((await ask(show)).value).toMatchObject({
    installationStatus: 'FAILED',
    syncStatus: 'OUT_OF_SYNC',
    healthStatus: 'DEGRADED',
    available: true,
    managedClustersNum: 2,
    errors: [{ level: 'ERROR', message: 'no route to the forge' }],
    self: { healthStatus: 'DEGRADED' },
  })
  const runtimes = '{ runtimes { edges { node { metadata { name } installationStatus } } pageInfo { hasNextPage } } }'
  expect((await ask(runtimes)).value).toEqual({
    edges: [{ node: { metadata: { name: 'prod' }, installationStatus: 'FAILED' } }],
    pageInfo: { hasNextPage: false },
  })
  const sources =
    'gitSources(runtime: "prod") { edges { node { metadata { name } self { path repoURL status { syncStatus healthStatus } } } } }'
  expect((await ask(`{ ${sources} }`)).value).toEqual({
    edges: [
      {
        node: {
          metadata: { name: 'apps' },
          self: {
            path: 'apps',
            repoURL: 'https://git.test/acme/shop.git',
            status: { syncStatus: 'SYNCED', healthStatus: 'HEALTHY' },
          },
        },
      },
    ],
  })
  const components =
    'components(runtime: "prod") { edges { node { metadata { name } version self { errors { ...on SyncError { title } } } } } }'
  expect((await ask(`{ ${components} }`)).value).toEqual({
    edges: [{ node: { metadata: { name: 'argo-cd' }, version: '9.4.17', self: { errors: [] } } }],
  })
  const clusters =
    'clusters(runtime: "prod", pagination: {after: ""}) { edges { node { metadata { name } server info { applicationsCount } } } }'
  expect((await ask(`{ ${clusters} }`)).value).toEqual({
    edges: [
      { node: { metadata: { name: 'https://far.test:6443' }, server: 'https://far.test:6443', info: { applicationsCount: 1 } } },
      { node: { metadata: { name: 'in-cluster' }, server: 'https://kubernetes.default.svc', info: { applicationsCount: 3 } } },
    ],
  })
  const { clusters: reportClusters } = statusCalls(scene.nobody.withToken(token))
  const own = { name: 'in-cluster', server: 'https://kubernetes.default.svc', version: 'v1.34.1', resources: 207 }
  const away = { state: 'failed', message: 'no route to host', at: now } as const
  const known = [
    { ...own, connection: { state: 'successful' as const } },
    { name: 'far', server: 'https://far.test:6443', connection: away },
  ]
  await reportClusters({ id: 'report-1', isLast: true, ageMs: 0, clusters: known })
  const info = 'info { connectionState { status message attemptedAt } serverVersion cacheInfo { resourcesCount apisCount } }'
  const states = [
    {
      connectionState: { status: 'Failed', message: 'no route to host', attemptedAt: new Date(now).toISOString() },
      serverVersion: null,
      cacheInfo: null,
    },
    {
      connectionState: { status: 'Successful', message: null, attemptedAt: null },
      serverVersion: 'v1.34.1',
      cacheInfo: { resourcesCount: 207, apisCount: null },
    },
  ]
  expect((await ask(`{ clusters { edges { node { ${info} } } } }`)).value).toEqual({
    edges: states.map((state) => ({ node: { info: state } })),
  })
  const managed = `{ runtime(name: "prod") { managedClusters { ${info} } } }`
  expect((await ask(managed)).value).toEqual({ managedClusters: states.map((state) => ({ info: state })) })
  const { store } = scene.server.app
  await store.write(({ query }) =>
    query
      .updateTable('gitops_cluster')
      .set({ reported_at: now - 300_001 })
      .execute(),
  )
  expect(
    (await ask('{ runtimes { edges { node { managedClusters { info { connectionState { status } } } } } } }')).value,
  ).toEqual({
    edges: [{ node: { managedClusters: states.map(() => ({ info: { connectionState: { status: 'Unknown' } } })) } }],
  })
  expect((await ask('{ limitsStatus { usage { clusters applications } limits { clusters } status } }')).value).toEqual({
    usage: { clusters: 2, applications: 4 },
    limits: null,
    status: true,
  })
  expect(await ask('mutation { deleteRuntime(name: "prod") }')).toMatchObject({ status: 200, value: 1 })
  expect(await ask(show)).toMatchObject({ status: 200, value: null, code: undefined })
  const actions = (await scene.admin.audit.list()).items.filter(({ action }) => action.includes('gitops-runtimes'))
  expect(actions.map(({ action, target, result }) => `${action} ${target} ${result}`).toReversed()).toEqual([
    'POST /v1/gitops-runtimes/{runtime}/tokens /v1/gitops-runtimes/prod/tokens done',
    'POST /v1/gitops-runtimes/{runtime}/tokens /v1/gitops-runtimes/prod/tokens failed',
    'PUT /v1/gitops-runtimes/{runtime}/errors /v1/gitops-runtimes/prod/errors done',
    'DELETE /v1/gitops-runtimes/{runtime} /v1/gitops-runtimes/prod done',
  ])
})

test('a list of labelled applications reads those of its page only, and a key asks for two lists at once', async () => {
  await using scene = await openHttpScene()
  const { store } = scene.server.app
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const now = Date.now()
  const sources = ['a', 'b', 'c', 'cc', 'd'].map((name) => event(labelled(name, 'git-source'), now))
  await openReporter(scene, token)({ data: [event(argoApplication('plain'), now), ...sources] })
  // Whoever reads one of the others fails.
  await store.write(({ query }) =>
    query.updateTable('gitops_application').set({ facts: 'unreadable' }).where('name', 'not in', ['b', 'c']).execute(),
  )
  const ask = asker(scene, scene.adminToken)
  const cursorOf = (name: string): string => Buffer.from(`prod/argocd/${name}`).toString('base64url')
  const list = `query($p: SlicePaginationArgs) { gitSources(pagination: $p) {
    edges { cursor node { metadata { name } } } pageInfo { startCursor endCursor hasNextPage hasPrevPage } } }`
  const [after, before] = [cursorOf('a'), cursorOf('cc')]
  for (const p of [
    { first: 2, after },
    { last: 2, before },
    { after, before },
  ])
    expect((await ask(list, { p })).value).toEqual({
      edges: ['b', 'c'].map((name) => ({ cursor: cursorOf(name), node: { metadata: { name } } })),
      pageInfo: { startCursor: cursorOf('b'), endCursor: cursorOf('c'), hasNextPage: true, hasPrevPage: true },
    })
  expect(await ask(list, { p: { after: cursorOf('plain') } })).toMatchObject({ code: 'request-invalid' })
  // Without a namespace, the name is looked for.
  expect(await ask(RELEASES, { f: { runtime: 'prod', name: 'c' } })).toMatchObject({ status: 200, code: undefined })

  // Both lists wait for the database, whose connection this has.
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const writing = store.write(async () => {
    begun.resolve()
    await over.promise
  })
  await begun.promise
  const three = [1, 2, 3].map(() => ask(list, { p: { first: 2, after } }))
  expect(await Promise.race(three)).toMatchObject({ status: 200, code: 'rate-limited' })
  over.resolve()
  await writing
  const codes = (await Promise.all(three)).map(({ code }) => code)
  expect(codes.filter((code) => code === undefined)).toHaveLength(2)
  expect(await ask(list, { p: { first: 2, after } })).toMatchObject({ code: undefined })
})

test('each field needs the right and the scope of the route behind it, and a token of a runtime has none of them', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const { token: runtime } = await admin.gitopsRuntimes.createToken('prod')
  const key = async (name: string, input: object): Promise<Ask> =>
    asker(scene, (await admin.keys.create({ name, role: 'admin', ...input })).token)
  const viewer = await key('viewer', { role: 'viewer' })
  const reader = await key('reader', { scopes: ['gitops:read'] })
  const builder = await key('builder', { scopes: ['build:write'] })
  const mutations = [
    ['mutation($a: RuntimeInstallationArgs!) { createRuntime(installationArgs: $a) { name } }', { a: INSTALLATION }],
    ['mutation { deleteRuntime(name: "prod") }'],
    ['mutation { reportRuntimeErrors(reportErrorsArgs: { runtime: "prod", errors: [] }) }'],
    ['mutation { suggestIscRepo(suggestedSharedConfigRepo: "https://git.test/a/b.git") }'],
    [
      'mutation { updateCsdpSettings(gitProvider: GITEA, gitApiUrl: "https://git.test/api/v1", sharedConfigRepo: "https://git.test/a/b.git") }',
    ],
  ] as const
  for (const [query, variables] of mutations) {
    expect([query, await viewer(query, variables)]).toMatchObject([query, { status: 403, code: 'forbidden' }])
    expect([query, await reader(query, variables)]).toMatchObject([query, { status: 403, code: 'scope-missing' }])
    expect([query, await asker(scene, runtime)(query, variables)]).toMatchObject([query, { status: 403, code: 'forbidden' }])
  }
  const reads = ['{ runtimes { edges { cursor } } }', '{ limitsStatus { status } }', '{ gitSources { edges { cursor } } }']
  for (const query of reads) {
    expect([query, await viewer(query)]).toMatchObject([query, { status: 200, code: undefined }])
    expect([query, await reader(query)]).toMatchObject([query, { status: 200, code: undefined }])
    expect([query, await builder(query)]).toMatchObject([query, { status: 403, code: 'scope-missing' }])
    expect([query, await asker(scene, runtime)(query)]).toMatchObject([query, { status: 403, code: 'forbidden' }])
  }
  expect(await builder('{ me { name isAdmin activeAccount { sharedConfigRepo } } }')).toMatchObject({ status: 200 })
  // The name of a call that was refused is that of the route.
  const denied = (await admin.audit.list()).items.filter(({ result }) => result === 'denied')
  expect(denied.some(({ action }) => action === 'DELETE /v1/gitops-runtimes/{runtime}')).toBe(true)
  const wrong = await fetch(`${scene.server.url}/2.0/api/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `${runtime}x` },
    body: '{"query":"{ me { id } }"}',
  })
  expect(wrong.status).toBe(401)
  const large = await fetch(`${scene.server.url}/2.0/api/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: scene.adminToken },
    body: JSON.stringify({ query: '{ me { id } }', variables: { a: 'x'.repeat(70_000) } }),
  })
  expect(large.status).toBe(413)
  expect(await viewer('{ runtimes { edges { node { secret } } } }')).toMatchObject({
    status: 400,
    code: 'request-invalid',
    message: 'Cannot query field "secret" on type "Runtime".',
  })
})

test('the account has one shared repository, and the first suggestion counts', async () => {
  await using scene = await openHttpScene()
  const ask = asker(scene, scene.adminToken)
  const suggest = 'mutation($r: String!) { suggestIscRepo(suggestedSharedConfigRepo: $r) }'
  expect((await ask(suggest, { r: 'https://git.test/acme/gitops.git' })).value).toBe('https://git.test/acme/gitops.git')
  expect((await ask(suggest, { r: 'https://git.test/other/gitops.git' })).value).toBe('https://git.test/acme/gitops.git')
  const update = `mutation($p: GitProviders!, $a: String!, $r: String!) { updateCsdpSettings(gitProvider: $p, gitApiUrl: $a, sharedConfigRepo: $r) }`
  const forge = { p: 'GITEA', a: 'https://git.test/api/v1' }
  expect(await ask(update, { ...forge, r: 'https://git.test/acme/gitops.git' })).toMatchObject({ status: 200, value: null })
  expect(await ask(update, { ...forge, r: 'https://git.test/other/gitops.git' })).toMatchObject({ code: 'conflict' })
  const me = await ask('{ me { name isAdmin activeAccount { gitProvider gitApiUrl sharedConfigRepo admins } id } }')
  expect(me.value).toMatchObject({
    isAdmin: true,
    activeAccount: {
      // Public clients have no word for Gitea.
      gitProvider: 'GITHUB',
      gitApiUrl: 'https://git.test/api/v1',
      sharedConfigRepo: 'https://git.test/acme/gitops.git',
    },
  })
})

const RELEASES = `query($f: GitopsReleaseFilterArgs, $p: SlicePaginationArgs, $s: GitopsReleaseSortArg) {
  gitopsReleases(filters: $f, pagination: $p, sort: $s) {
    edges { node { current argoHistoryId application { status { syncStatus healthStatus } } } } pageInfo { hasNextPage endCursor }
  }
}`

test('releases are the deployments of an application with the health that each had, and a runtime asks for its template', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  const report = openReporter(scene, token)
  const now = Date.now() - 60_000
  const deployed = (id: number): object => ({ id, revision: COMMIT, deployedAt: new Date(now + id * 1_000).toISOString() })
  const state = (version: number, ids: readonly number[], health: string): object =>
    argoApplication('shop', { version, health, status: { health: { status: health }, history: ids.map(deployed) } })
  const states = [
    [[0], 'Healthy'],
    // Only the history differs.
    [[0, 1], 'Healthy'],
    [[0, 1, 2], 'Progressing'],
    [[0, 1, 2], 'Degraded'],
  ] as const
  for (const [at, [ids, health]] of states.entries())
    await report({ data: event(state(at + 1, ids, health), now + 10_000 + at * 1_000) })
  const ask = asker(scene, scene.adminToken)
  const f = { runtime: 'prod', name: 'shop', namespace: 'argocd' }
  const node = (id: number, healthStatus: string, syncStatus: string): object => ({
    node: { current: syncStatus !== 'UNKNOWN', argoHistoryId: id, application: { status: { syncStatus, healthStatus } } },
  })
  const all = [node(2, 'DEGRADED', 'SYNCED'), node(1, 'HEALTHY', 'UNKNOWN'), node(0, 'HEALTHY', 'UNKNOWN')]
  expect(((await ask(RELEASES, { f, p: { first: 10 } })).value as { edges: unknown }).edges).toEqual(all)
  const first = (await ask(RELEASES, { f: { runtime: 'prod', name: 'shop' }, p: { first: 2 } })).value
  expect(first).toMatchObject({ edges: all.slice(0, 2), pageInfo: { hasNextPage: true } })
  const { pageInfo } = first as { pageInfo: { endCursor: string } }
  const second = (await ask(RELEASES, { f, p: { first: 2, after: pageInfo.endCursor } })).value
  expect(second).toMatchObject({ edges: all.slice(2), pageInfo: { hasNextPage: false } })
  const sorted = (
    await ask(RELEASES, { f: { ...f, startDate: new Date(now + 500).toISOString() }, s: { field: 'createdAt', order: 'asc' } })
  ).value
  expect(sorted).toMatchObject({ edges: [all[1], all[0]] })
  for (const [wrong, code] of [
    [{ runtime: 'prod' }, 'request-invalid'],
    [{ ...f, name: 'none' }, 'not-found'],
    [{ ...f, runtime: 'none' }, 'not-found'],
    [{ ...f, startDate: 'yesterday' }, 'request-invalid'],
  ] as const)
    expect([wrong, await ask(RELEASES, { f: wrong })]).toMatchObject([wrong, { code }])
  expect((await admin.applications.deployments('prod/argocd/shop')).items.map(({ id, health }) => [id, health])).toEqual([
    [2, 'degraded'],
    [1, 'healthy'],
    [0, 'healthy'],
  ])

  const template =
    'query($a: Object!) { promotionTemplateByRuntime(applicationMetadata: $a) { versionSource { file jsonPath } } }'
  const runtime = asker(scene, token)
  expect(await runtime(template, { a: f })).toMatchObject({ status: 200, value: { versionSource: null } })
  const versionSource = { file: 'Chart.yaml', jsonPath: '$.version' }
  await admin.products.put('shop', { applications: ['prod/argocd/shop'], promotionTemplate: { versionSource } })
  expect((await runtime(template, { a: f })).value).toEqual({ versionSource })
  expect((await ask(template, { a: f })).value).toEqual({ versionSource })
  const other = asker(scene, (await admin.gitopsRuntimes.createToken('other')).token)
  expect(await other(template, { a: f })).toMatchObject({ status: 403, code: 'forbidden' })
})

const ALL_ACTIONS = `query($i: AbacValidateAllActionsInput!) {
  abacValidateAllActions(input: $i) { entity validationResult { action enabled } }
}`

test('what the answer for buttons enables is what the same caller may do, and the rest is refused with 403 (O091)', async () => {
  await using scene = await openHttpScene()
  const { admin, server } = scene
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  await openReporter(scene, token)({ data: event(argoApplication('shop'), Date.now()) })
  const { accountId } = server.app
  const path = `/v1/applications/${encodeURIComponent('prod/argocd/shop')}`
  const calls: Readonly<Record<string, readonly [Method, string, object?]>> = {
    VIEW: ['GET', path],
    VIEW_POD_LOGS: ['GET', `${path}/logs`],
    REFRESH: ['POST', `${path}/refresh`, {}],
    SYNC: ['POST', `${path}/sync`, {}],
    TERMINATE_SYNC: ['POST', `${path}/terminate`],
    APP_ROLLBACK: ['POST', `${path}/rollback`, {}],
  }
  const entities = [JSON.stringify({ metadata: { name: 'shop' } })]
  const enabledFor = async (key: string, entityType: string, entity: readonly string[] = entities): Promise<string[]> => {
    const i = { accountId, entityType, entities: entity }
    const { value } = await askGraphql(`${server.url}/2.0/api/graphql`, key, ALL_ACTIONS, { i })
    const [result] = value as { entity: string; validationResult: { action: string; enabled: boolean }[] }[]
    expect(result?.entity).toBe(entity[0])
    return (result?.validationResult ?? []).flatMap(({ action, enabled }) => (enabled ? [action] : []))
  }
  const key = async (name: string, input: object): Promise<string> =>
    (await admin.keys.create({ name, role: 'admin', ...input })).token
  const viewing = ['VIEW', 'VIEW_POD_LOGS']
  const operating = ['REFRESH', 'SYNC', 'TERMINATE_SYNC', 'APP_ROLLBACK', 'DELETE_RESOURCE']
  const callers = [
    [await key('viewer', { role: 'viewer' }), viewing],
    [await key('reader', { scopes: ['gitops:read'] }), viewing],
    [await key('developer', { role: 'developer' }), [...viewing, ...operating]],
    [await key('builder', { scopes: ['build:write'] }), []],
  ] as const
  for (const [caller, enabled] of callers) {
    expect(await enabledFor(caller, 'gitopsApplications')).toEqual(enabled)
    for (const [action, [method, url, body]] of Object.entries(calls)) {
      const answer = await fetch(server.url + url, {
        method,
        headers: { authorization: caller, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      expect([action, answer.status === 403]).toEqual([action, !enabled.some((one) => one === action)])
    }
  }

  // Teams of environments.
  await admin.users.create({ name: 'dana', role: 'developer' })
  await admin.teams.create({ name: 'release' })
  const dana = await key('dana', { owner: 'dana' })
  await admin.environments.put('staging', { clusters: [{ namespaces: ['staging'] }] })
  await admin.environments.put('production', { clusters: [{ namespaces: ['shop'] }], promoters: ['release'] })
  expect(await enabledFor(dana, 'environments', ['staging'])).toEqual(['VIEW', 'PROMOTE_TO'])
  expect(await enabledFor(dana, 'environments', ['production'])).toEqual(['VIEW'])
  const one = `query($i: AbacValidateInput!) { abacValidate(input: $i) { isValid message } }`
  const i = { accountId, action: 'PROMOTE_TO', entityType: 'environments', entity: '{"name":"production"}' }
  const ask = asker(scene, dana)
  expect((await ask(one, { i })).value).toEqual({ isValid: false, message: expect.stringContaining('Only members of "release"') })
  await admin.teams.addMember('release', 'dana')
  expect((await ask(one, { i })).value).toEqual({ isValid: true, message: null })
  expect(await ask(one, { i: { ...i, accountId: 'f'.repeat(24) } })).toMatchObject({ status: 403, code: 'forbidden' })
  expect(await ask(one, { i: { ...i, teams: ['release'] } })).toMatchObject({ code: 'request-invalid' })
  expect(await ask(one, { i: { ...i, action: 'SYNC' } })).toMatchObject({ code: 'request-invalid' })
})
