/**
 * A GitOps runtime with Helm alone, on the real cluster: what the hook refuses, registration, an Ingress and an HTTPRoute of a real controller instead of the tunnel,
 * removal.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { join } from 'node:path'
import { addNamespace } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { callAsEverybody, HOSTS, openEdge, UNKNOWN_HOST, type Edge } from './edge.ts'
import { addressValues, openGitopsScene, serviceAddress, type GitopsScene } from './scene.ts'

const CHART = join(import.meta.dirname, '../../../charts/windlass-gitops-runtime')
const NAMESPACE = `gitops-helm-${process.pid}`
const RELEASE = 'runtime'
const ADDRESS = serviceAddress(1)
const LIST = '/app-proxy/api/git-integrations'
/** Program with the arguments URL and headers: prints the status of the answer, or 0 if there is none. */
const STATUS_OF = `const [url, headers] = process.argv.slice(1)
fetch(url, { headers: JSON.parse(headers), signal: AbortSignal.timeout(5000) }).then(({ status }) => console.log(status), () => console.log(0))`

let scene: GitopsScene
let edge: Edge
beforeAll(async () => {
  scene = await openGitopsScene()
  await addNamespace(scene.cluster, NAMESPACE)
  await scene.cluster.kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted')
  await addSecret('windlass-api-key', scene.apiKey)
  edge = await openEdge(scene, NAMESPACE)
})
afterAll(async () => {
  await edge?.[Symbol.asyncDispose]()
  if (scene === undefined) return
  await scene.helm.run('uninstall', RELEASE, '--namespace', NAMESPACE, '--no-hooks', '--ignore-not-found').catch(() => '')
  await scene.cluster.kubectl('delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s')
  await scene[Symbol.asyncDispose]()
})

const kubectl = (...args: string[]): Promise<string> => scene.cluster.kubectl('--namespace', NAMESPACE, ...args)

/** Asks from a pod of a deployment, in a process of its own: a kept connection would lead to where the address led when it was opened. */
async function statusFrom(deployment: string, url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return Number(await kubectl('exec', `deploy/${deployment}`, '--', 'node', '--eval', STATUS_OF, url, JSON.stringify(headers)))
}

/** Waits for the rules of a Service: they are in place shortly after its pods are ready, and until then its address leads out of the cluster. */
async function answers(url: string, from: string): Promise<void> {
  await eventually(`${url} answers`, async () => ((await statusFrom(from, url)) === 200 ? true : undefined))
}

async function addSecret(name: string, key: string): Promise<void> {
  const data = { key: Buffer.from(key).toString('base64') }
  await scene.cluster.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, data })
}

/** Installs with the key of a Secret. Only URL, account, name and key are required; the others are those of a cluster without DNS. */
async function install(...more: object[]): Promise<string> {
  const { url, accountId } = scene
  const userToken = { secretKeyRef: { name: 'windlass-api-key', key: 'key' } }
  const required = { global: { codefresh: { url, accountId, userToken }, runtime: { name: 'prod' } } }
  const files = await Promise.all([addressValues(scene, ADDRESS), required, ...more].map((values) => scene.helm.values(values)))
  const where = ['--namespace', NAMESPACE, ...files.flatMap((file) => ['--values', file]), '--wait', '--timeout', '300s']
  return scene.helm.run('upgrade', '--install', RELEASE, CHART, ...where)
}

/** Returns the log of the hook of an installation that must fail. */
async function refusal(...more: object[]): Promise<string> {
  const failure = await install(...more).then(() => 'installed', String)
  expect(failure).toMatch(/validate-values|BackoffLimitExceeded/)
  return kubectl('logs', 'jobs/validate-values')
}

const runtime = (values: object): object => ({ global: { runtime: values } })

test('the hook refuses a wrong key, a name in use, another account and a silent Ingress, its log says why, and the release can be removed (O003)', async () => {
  await addSecret('wrong', `${'0'.repeat(24)}.${'x'.repeat(40)}`)
  const wrong = { global: { codefresh: { userToken: { secretKeyRef: { name: 'wrong', key: 'key' } } } } }
  expect(await refusal(wrong)).toMatch(/✘ server: .*key/i)
  await scene.client.gitopsRuntimes.createToken('taken')
  expect(await refusal(runtime({ name: 'taken' }))).toContain('A GitOps runtime "taken" exists')
  expect(await refusal({ global: { codefresh: { accountId: 'f'.repeat(24) } } })).toContain(
    `but the API key belongs to the account ${scene.accountId}`,
  )
  const ingress = { enabled: true, hosts: [UNKNOWN_HOST] }
  expect(await refusal(runtime({ ingress }))).toContain(`https://${UNKNOWN_HOST} does not answer`)
  // Nothing was registered.
  expect((await scene.client.tunnels.list()).items.map(({ runtime: name }) => name)).toEqual(['taken'])
  expect(await kubectl('get', 'secrets', '--output', 'name')).not.toContain('codefresh-token')
  await scene.client.gitopsRuntimes.delete('taken')
  // The account of the app-proxy does not exist, and the Job of the refused installation stays for its log until now.
  await scene.helm.run('uninstall', RELEASE, '--namespace', NAMESPACE, '--wait', '--timeout', '120s')
  const left = await kubectl('get', 'jobs,roles,rolebindings,serviceaccounts', '--output', 'name')
  expect(left).toBe('serviceaccount/default')
})

test('the chart installs with a key, an account and a name: it registers the runtime and stores its token (O001, O004)', async () => {
  await install()
  expect(await scene.client.tunnels.get('prod')).toMatchObject({ status: 'online' })
  expect(await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')).toMatch(/"encryptionIV".*"token"/)
  // Before the first call: the router keeps its connections.
  await answers(`http://${ADDRESS}:3017/api/healthz`, 'codefresh-tunnel-client')
  expect(await scene.call('prod', LIST, { authorization: scene.apiKey })).toMatchObject({ status: 200 })
  // The hook and its rights are gone.
  expect(await kubectl('get', 'jobs,roles', '--output', 'name')).toBe(
    'role.rbac.authorization.k8s.io/cap-app-proxy\nrole.rbac.authorization.k8s.io/runtime-event-reporter',
  )
  const before = await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')
  await install()
  expect(await kubectl('get', 'secret', 'codefresh-token', '--output', 'jsonpath={.data}')).toBe(before)
})

/** Waits until the controller has the route of the runtime, and returns the URL that the namespace names. */
async function reached(host: string): Promise<string> {
  await eventually(`${host} answers`, async () =>
    (await edge.controller.call(host, '/app-proxy/api/healthz').catch(() => undefined))?.status === 200 ? true : undefined,
  )
  return kubectl('get', 'configmap', 'codefresh-cm', '--output', 'jsonpath={.data.ingressHost}')
}

/** What users list with the command, at the URL of the runtime. */
const listed = (url: string): Promise<string> =>
  edge.windlass('gitops', 'integration', 'list', 'prod', '--runtime-url', url, '--output', 'json')

test('behind a real ingress controller, commands, pages, events, WebSockets and webhooks reach the runtime at its first host, and no tunnel is open (O017)', async () => {
  await edge.controller.addCertificate(NAMESPACE, 'gitops-tls')
  const annotations = { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' }
  const ingress = { enabled: true, hosts: [...HOSTS], tls: [{ hosts: [...HOSTS], secretName: 'gitops-tls' }], annotations }
  // The hook asks the controller, which does not know the host yet.
  await install(edge.values, runtime({ ingress }))
  const url = await reached(HOSTS[0])
  expect(url).toBe(`https://${HOSTS[0]}`)
  await eventually('the tunnel is offline', async () =>
    (await scene.client.tunnels.get('prod')).status === 'offline' ? true : undefined,
  )
  expect(await kubectl('get', 'deployments', '--output', 'name')).toBe(
    'deployment.apps/cap-app-proxy\ndeployment.apps/internal-router',
  )
  expect(await kubectl('get', 'ingress', 'internal-router', '--output', 'jsonpath={.spec.ingressClassName}')).toBe('nginx')
  await callAsEverybody(edge, { host: HOSTS[0], namespace: NAMESPACE, scene })
  expect(await listed(url)).toBe('[]')
  // The controller sends callers without TLS to HTTPS, and serves every host.
  const plain = await edge.controller.call(HOSTS[0], LIST, { scheme: 'http' })
  expect([plain.status, plain.headers.location]).toEqual([308, `https://${HOSTS[0]}${LIST}`])
  expect((await edge.controller.call(HOSTS[1], LIST)).status).toBe(401)
})

test('behind a real Gateway, a route at one listener leads to the runtime, and the Ingress is gone (O018)', async () => {
  const httpRoute = { enabled: true, parentRefs: [edge.controller.listener], hostnames: [...HOSTS] }
  await install(edge.values, runtime({ httpRoute }))
  expect(await kubectl('get', 'ingresses', '--output', 'name')).toBe('')
  const conditions = 'jsonpath={range .status.parents[*].conditions[*]}{.type}={.status} {end}'
  await eventually('the Gateway serves the route', async () => {
    const status = (await kubectl('get', 'httproute', 'internal-router', '--output', conditions)).split(' ')
    return ['Accepted=True', 'ResolvedRefs=True'].every((one) => status.includes(one)) ? true : undefined
  })
  // The route names the listener for HTTPS only. The Ingress sent callers from HTTP to HTTPS.
  await eventually('the Ingress is not served', async () =>
    (await edge.controller.call(HOSTS[0], LIST, { scheme: 'http' })).status === 404 ? true : undefined,
  )
  const url = await reached(HOSTS[0])
  expect(url).toBe(`https://${HOSTS[0]}`)
  await callAsEverybody(edge, { host: HOSTS[0], namespace: NAMESPACE, scene })
  expect(await listed(url)).toBe('[]')
  expect((await edge.controller.call(HOSTS[1], LIST)).status).toBe(401)
})

test('helm uninstall removes the runtime from the server, and the token from the namespace (O078)', async () => {
  // The command leaves a release with another name to Helm.
  const elsewhere = await scene.windlass('gitops', 'uninstall', 'prod', '--kube-namespace', NAMESPACE, '--yes')
  expect([elsewhere.code, elsewhere.stderr]).toEqual([
    1,
    expect.stringContaining(`helm uninstall ${RELEASE} --namespace ${NAMESPACE}`),
  ])
  await scene.helm.run('uninstall', RELEASE, '--namespace', NAMESPACE, '--wait', '--timeout', '300s')
  expect((await scene.client.tunnels.list()).items).toEqual([])
  const left = await kubectl('get', 'secrets,roles,serviceaccounts,jobs', '--output', 'name')
  expect(left.split('\n').toSorted()).toEqual([
    'secret/gitops-tls',
    'secret/windlass-api-key',
    'secret/wrong',
    'serviceaccount/default',
  ])
})

test('values are checked before an installation without changing anything', async () => {
  const good = await scene.helm.values({
    ...addressValues(scene, ADDRESS),
    global: {
      codefresh: { url: scene.url, accountId: scene.accountId, userToken: { token: scene.apiKey } },
      runtime: { name: 'prod' },
    },
  })
  const passed = await scene.windlass('gitops', 'validate-values', '--values', good, '--kube-namespace', NAMESPACE)
  expect([passed.code, passed.stderr]).toEqual([
    0,
    '✓ chart: the values render 25 objects\n✓ server: the key "admin" may register GitOps runtimes\n✓ name: "prod" is free\n',
  ])
  const bad = await scene.windlass('gitops', 'validate-values', '--values', good, '--set-value', 'global.runtime.name=Prod')
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('✘ chart: Helm could not render the release')])
  // They exit with 0: the controller answers, and an answer is not required.
  const validate = ['gitops', 'validate-values', '--values', good, '--kube-namespace', NAMESPACE]
  await edge.windlass(...validate, '--ingress-host', HOSTS[0])
  await edge.windlass(...validate, '--ingress-host', UNKNOWN_HOST, '--set-value', 'global.runtime.ingress.skipValidation=true')
  const silent = ['--set-value', 'global.runtime.ingress.protocol=http', '--ingress-host', `${scene.cluster.host}:1`]
  const refused = await scene.windlass('gitops', 'validate-values', '--values', good, ...silent)
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`✘ ingress: http://${scene.cluster.host}:1 does not answer`),
  ])
  expect((await scene.client.tunnels.list()).items).toEqual([])
})
