import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { neededRights } from './checks.ts'
import { requireRuntimeName } from './names.ts'
import { accessOf, domainOf, factValues, nameIn, readRuntimeValues, registerUrlIn } from './values.ts'

const NONE = { setValue: [] }

test('options go above the values of the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-values-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const values = join(folder, 'values.yaml')
  writeFileSync(values, 'global: { runtime: { name: prod, ingress: { className: traefik } } }\napp-proxy: { replicaCount: 2 }\n')
  const read = readRuntimeValues({
    values,
    setValue: [
      'networkPolicy.enabled=false',
      'app-proxy.config.logLevel=debug',
      'tunnel-client.replicaCount=2',
      'image.tag=2024',
    ],
    ingressHost: 'a.example.com',
  })
  expect(read).toEqual({
    global: { runtime: { name: 'prod', ingress: { className: 'traefik', enabled: true, hosts: ['a.example.com'] } } },
    'app-proxy': { replicaCount: 2, config: { logLevel: 'debug' } },
    networkPolicy: { enabled: false },
    'tunnel-client': { replicaCount: 2 },
    image: { tag: '2024' },
  })
  expect(nameIn(read)).toBe('prod')
  expect(readRuntimeValues(NONE)).toEqual({})
  expect(() => readRuntimeValues({ ...NONE, ingressClass: 'nginx' })).toThrow('--ingress-class needs --ingress-host.')
})

const runtime = (values: object): { readonly global: object } => ({ global: { runtime: values } })

test.each([
  [{}, { kind: 'tunnel', url: undefined, isChecked: false }],
  [
    runtime({ ingress: { enabled: true, hosts: ['a.example.com', 'b.example.com'] } }),
    { kind: 'ingress', url: 'https://a.example.com', isChecked: true },
  ],
  [
    runtime({ ingress: { enabled: true, hosts: ['a'], protocol: 'http', skipValidation: true } }),
    { kind: 'ingress', url: 'http://a', isChecked: false },
  ],
  [
    { ...runtime({ ingress: { enabled: true, hosts: [] } }), installer: { skipValidation: true } },
    { kind: 'ingress', url: undefined, isChecked: false },
  ],
  [
    runtime({ httpRoute: { enabled: true, hostnames: ['a.example.com'] } }),
    { kind: 'httproute', url: 'https://a.example.com', isChecked: true },
  ],
  [
    runtime({ httpRoute: { enabled: true, hostnames: ['a.example.com'], skipValidation: true } }),
    { kind: 'httproute', url: 'https://a.example.com', isChecked: false },
  ],
  [
    { ...runtime({ ingressUrl: 'https://mesh.example.com' }), 'tunnel-client': { enabled: false } },
    { kind: 'url', url: 'https://mesh.example.com', isChecked: false },
  ],
  [runtime({ ingressUrl: 'https://mesh.example.com' }), { kind: 'tunnel', url: undefined, isChecked: false }],
])('values %j are reached by %j', (values, access) => {
  expect(accessOf(values)).toEqual(access)
})

test('what an installation knows becomes values of the chart, without what it does not know', () => {
  const facts = { name: 'prod', serverUrl: 'https://ci.example.com', accountId: 'a'.repeat(24), url: undefined, ca: undefined }
  expect(factValues(facts)).toEqual({
    global: {
      codefresh: { url: 'https://ci.example.com', accountId: 'a'.repeat(24) },
      runtime: { name: 'prod', tokenSecret: 'codefresh-token' },
    },
  })
  const url = `https://${'a'.repeat(24)}-prod.tunnels.example.com`
  expect(factValues({ ...facts, url, ca: 'PEM' })).toMatchObject({
    global: { codefresh: { tls: { caCerts: { secret: { create: true, content: 'PEM' } } } } },
    'tunnel-client': { tunnelServer: { subdomainHost: 'tunnels.example.com' } },
  })
  expect(domainOf(`${url}:8443/`)).toBe('tunnels.example.com:8443')
  expect(registerUrlIn(factValues({ ...facts, url }))).toBe('https://register.tunnels.example.com')
  expect(registerUrlIn({ 'tunnel-client': { tunnelServer: { host: 'http://10.0.0.1:8090', subdomainHost: 'x' } } })).toBe(
    'http://10.0.0.1:8090',
  )
  expect(registerUrlIn({})).toBeUndefined()
})

test('a name that cannot be a part of a host is refused before anything is called', () => {
  for (const name of ['a', 'prod-2', 'a'.repeat(38)]) expect(requireRuntimeName(name)).toBe(name)
  for (const name of [undefined, '', 'Prod', '-a', 'a-', 'a.b', 'a'.repeat(39)])
    expect(() => requireRuntimeName(name)).toThrow(`"${name ?? ''}" is not the name of a GitOps runtime`)
})

test('the permissions name each object once, ingresses only for an Ingress, and what limits a hosted runtime only for one', () => {
  const rights = neededRights('gitops', { kind: 'tunnel', isHosted: false, operatesWorkflows: true })
  expect(new Set(rights.map((right) => JSON.stringify(right))).size).toBe(rights.length)
  expect(rights.every(({ namespace }) => namespace === 'gitops')).toBe(true)
  const more = neededRights('gitops', { kind: 'ingress', isHosted: false, operatesWorkflows: false }).filter(
    ({ resource }) => resource === 'ingresses',
  )
  expect(more.map(({ verb, group }) => `${verb} ${group}`)).toEqual([
    'create networking.k8s.io',
    'patch networking.k8s.io',
    'delete networking.k8s.io',
  ])
  const limits = ['resourcequotas', 'limitranges', 'appprojects']
  const limiting = (isHosted: boolean): string[] =>
    neededRights('gitops', { kind: 'tunnel', isHosted, operatesWorkflows: false })
      .filter(({ resource }) => limits.includes(resource))
      .map(({ verb, resource }) => `${verb} ${resource}`)
  expect(limiting(true)).toEqual(limits.flatMap((resource) => ['create', 'patch', 'delete'].map((verb) => `${verb} ${resource}`)))
  expect(limiting(false)).toEqual([])
})
