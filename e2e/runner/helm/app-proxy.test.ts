/** The app-proxy of a Runner in the chart: what it renders and refuses, its rights, and its address in the runtime environment. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { appProxyNameOf, appProxyUrlOf } from '../../../packages/cli/src/runner/app-proxy/address.ts'
import { neededRights } from '../../../packages/cli/src/runner/acceptance/rights.ts'
import { VERSION } from '../../../packages/plan/src/version.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { BASE, env, kinds, one, pod, runtime, unrestricted, valuesOf } from './render.ts'
import { rightsOf, toText } from './rights.ts'

const root = join(import.meta.dirname, '../../..')
const NAME = 'cf-runtime-app-proxy'
const INGRESS = { enabled: true, ingress: { host: 'proxy.example.com' } }
const ROUTE = {
  enabled: true,
  httpRoute: { enabled: true, parentRefs: [{ name: 'public', sectionName: 'https' }], hostnames: ['proxy.example.com'] },
}

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

const render = (appProxy: object, more: object = {}): Promise<Rendered[]> =>
  helm.template('windlass-runtime', BASE, { appProxy }, more)
const refusal = (appProxy: object, more: object = {}): Promise<string> => render(appProxy, more).then(() => 'rendered', String)

test.each([
  { name: 'ingress', appProxy: INGRESS },
  { name: 'http-route', appProxy: ROUTE },
])('the chart renders the same objects with $name (R030, R057)', async ({ name, appProxy }) => {
  const own = (await render(appProxy)).filter(({ metadata }) => metadata.name === NAME)
  const text = own.map((object) => JSON.stringify(object, null, 2).replaceAll(VERSION, 'VERSION')).join('\n')
  await expect(`${text}\n`).toMatchFileSnapshot(`app-proxy/${name}.golden`)
})

test('without it nothing is rendered, and the runtime environment has no address', async () => {
  const objects = await render({})
  expect(kinds(objects).filter((kind) => kind.includes('app-proxy'))).toEqual([])
  expect(runtime(objects).spec).not.toHaveProperty('appProxy')
})

test('class, certificate, allowed addresses and path are those of the values, on the page for users too (R129, R130)', async () => {
  const annotations = { 'nginx.ingress.kubernetes.io/whitelist-source-range': '10.0.0.0/8' }
  const ingress = { host: 'proxy.example.com', class: 'nginx', tlsSecret: 'proxy-tls', pathPrefix: '/tools/git', annotations }
  const objects = await render({ enabled: true, ingress })
  expect(one(objects, 'Ingress')).toMatchObject({
    metadata: { annotations },
    spec: {
      ingressClassName: 'nginx',
      tls: [{ hosts: ['proxy.example.com'], secretName: 'proxy-tls' }],
      rules: [{ host: 'proxy.example.com', http: { paths: [{ path: '/tools/git', pathType: 'Prefix' }] } }],
    },
  })
  expect(env(pod(objects, 'Deployment', NAME))).toMatchObject({ WINDLASS_APP_PROXY_PATH_PREFIX: '/tools/git' })
  expect(runtime(objects).spec).toMatchObject({ appProxy: { externalIP: 'https://proxy.example.com/tools/git' } })
  const documented = await helm.template('windlass-runtime', BASE, valuesOf('app-proxy.md', 'ingress'))
  expect(one(documented, 'Ingress')['spec']).toMatchObject({ ingressClassName: 'nginx', tls: [{ secretName: 'proxy-tls' }] })
})

test('a gateway leads to it instead of an ingress controller, and its first host is the address (R057)', async () => {
  const objects = await render(ROUTE)
  expect(kinds(objects).filter((kind) => kind.startsWith('Ingress/'))).toEqual([])
  expect(one(objects, 'HTTPRoute')).toMatchObject({
    apiVersion: 'gateway.networking.k8s.io/v1',
    spec: {
      parentRefs: [{ name: 'public', sectionName: 'https' }],
      hostnames: ['proxy.example.com'],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/app-proxy' } }], backendRefs: [{ name: NAME, port: 80 }] }],
    },
  })
  expect(runtime(objects).spec).toMatchObject({ appProxy: { externalIP: 'https://proxy.example.com/app-proxy' } })
  const documented = await helm.template('windlass-runtime', BASE, valuesOf('app-proxy.md', 'gateway'))
  expect(kinds(documented)).toContain(`HTTPRoute/${NAME}`)
})

test.each([
  { why: 'no host', appProxy: { enabled: true }, says: 'appProxy.ingress.host is required' },
  { why: 'a scheme', appProxy: { enabled: true, ingress: { host: 'http://proxy.example.com' } }, says: 'host' },
  { why: 'a port', appProxy: { enabled: true, ingress: { host: 'proxy.example.com:80' } }, says: 'host' },
  {
    why: 'a relative path',
    appProxy: { enabled: true, ingress: { host: 'p.example.com', pathPrefix: 'x' } },
    says: 'pathPrefix',
  },
  { why: 'an unknown key', appProxy: { enabled: true, ingress: { hosts: ['x'] } }, says: "additional properties 'hosts'" },
  {
    why: 'no gateway',
    appProxy: { enabled: true, httpRoute: { enabled: true, hostnames: ['p.example.com'] } },
    says: 'appProxy.httpRoute.parentRefs is required',
  },
  {
    why: 'no host of a gateway',
    appProxy: { enabled: true, httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] } },
    says: 'appProxy.httpRoute.hostnames is required',
  },
  { why: 'both ways in', appProxy: { ...ROUTE, ...INGRESS }, says: 'exclude each other' },
])('refuses $why (R057, R131)', async ({ appProxy, says }) => {
  expect(await refusal(appProxy)).toContain(says)
})

test('it registers itself with the API key, or uses the token of a Secret; without both it is refused', async () => {
  const objects = await render(INGRESS)
  const spec = pod(objects, 'Deployment', NAME)
  expect(spec.initContainers.map(({ name }) => name)).toEqual(['register'])
  const given = await render({ ...INGRESS, tokenSecret: 'own' })
  expect(pod(given, 'Deployment', NAME).initContainers).toEqual([])
  expect(JSON.stringify(pod(given, 'Deployment', NAME))).toContain('{"name":"token","secret":{"secretName":"own"}}')
  const global = { codefreshTokenSecretKeyRef: null, agentTokenSecretKeyRef: { name: 'runner', key: 'token' } }
  const without = { global, runtime: { patch: { enabled: false }, gencerts: { enabled: false } } }
  expect(await refusal(INGRESS, without)).toContain('the app-proxy needs an API key to register itself')
})

test('its name and address are those that the command line computes', async () => {
  for (const name of ['prod/codefresh', 'Team_A@eu/Builds.x', '/', 'a'.repeat(80)]) {
    const objects = await render(INGRESS, { global: { runtimeName: name } })
    const { WINDLASS_APP_PROXY_RUNTIME: found } = env(pod(objects, 'Deployment', NAME))
    expect(found).toBe(appProxyNameOf(name))
    expect(found).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,36}[a-z0-9])?$/)
  }
  for (const appProxy of [INGRESS, ROUTE, { ...INGRESS, ingress: { host: 'p.example.com', pathPrefix: '/' } }])
    expect(runtime(await render(appProxy)).spec).toMatchObject({ appProxy: { externalIP: appProxyUrlOf({ appProxy }) } })
})

test('its pod is restricted, its rights are those of its package without Argo CD, and the installer checks them', async () => {
  const objects = await render(INGRESS)
  expect(unrestricted(pod(objects, 'Deployment', NAME))).toEqual([])
  const { rules } = parse(readFileSync(join(root, 'packages/app-proxy/rbac/role.yaml'), 'utf8'))
  expect(one(objects, 'Role', NAME)['rules']).toEqual(
    rules.filter(({ apiGroups }: { apiGroups: string[] }) => !apiGroups.includes('argoproj.io')),
  )
  const account = rightsOf(objects.filter(({ metadata }) => metadata.name === NAME))
  expect(toText(account)).toBe(
    `${NAME}\n  here: configmaps: create,delete,get,list,patch\n  here: secrets: create,delete,get,list,patch\n  elsewhere: nothing\n`,
  )
  const parts = { agent: false, runtime: false, provisioner: false, monitor: false }
  const names = (more: object): string[] => [
    ...new Set(neededRights({ namespace: 'n', parts: { ...parts, ...more } }).map(({ resource }) => resource)),
  ]
  expect(names({ proxyIngress: true })).toEqual([
    'deployments',
    'services',
    'serviceaccounts',
    'secrets',
    'configmaps',
    'roles',
    'rolebindings',
    'ingresses',
  ])
  expect(names({ proxyRoute: true })).toContain('httproutes')
})

test('values of cf-runtime render, and policies and budgets cover it', async () => {
  const image = { repository: 'codefresh/cf-app-proxy', tag: '0.1.4' }
  const more = {
    networkPolicy: { enabled: true, appProxyFrom: [{ namespaceSelector: {} }] },
    podDisruptionBudget: { enabled: true },
  }
  const cf = { ...INGRESS, image, replicasCount: 2, serviceAccount: { namespaced: true }, rbac: { namespaced: true } }
  const objects = await render(cf, more)
  expect(JSON.stringify(objects)).not.toContain('cf-app-proxy')
  expect(one(objects, 'NetworkPolicy', NAME)['spec']).toMatchObject({
    ingress: [{ ports: [{ port: 3000 }], from: [{ namespaceSelector: {} }] }],
  })
  expect(one(objects, 'PodDisruptionBudget', NAME)['spec']).toMatchObject({ minAvailable: 1 })
})

test('uninstalling the release removes it from the server, with its Git tokens', async () => {
  const objects = await render(INGRESS)
  expect(env(pod(objects, 'Job', 'cf-runtime-cleanup'))).toMatchObject({
    WINDLASS_IN_CLUSTER_APP_PROXY: appProxyNameOf('prod/codefresh'),
    WINDLASS_IN_CLUSTER_APP_PROXY_SECRET: `${NAME}-token`,
  })
  expect(JSON.stringify(one(objects, 'Role', 'cf-runtime-cleanup')['rules'])).toContain('["secrets","configmaps"]')
})
