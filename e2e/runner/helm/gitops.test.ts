/** The chart of a GitOps runtime: what it renders and refuses, and which rights its pods have. */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { ARGO_SERVER_LABELS } from '../../../packages/cli/src/gitops/argo-cd.ts'
import { neededRights } from '../../../packages/cli/src/gitops/checks.ts'
import {
  accessOf,
  domainOf,
  factValues,
  isHostedIn,
  operatesWorkflows,
  reportsImages,
} from '../../../packages/cli/src/gitops/values.ts'
import { VERSION } from '../../../packages/plan/src/version.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { startRegistry } from '../../support/registry.ts'
import { env, kinds, one, pod, pods, unrestricted } from './render.ts'
import { rightsOf, toText } from './rights.ts'

const root = join(import.meta.dirname, '../../..')
const CASES = ['tunnel', 'ingress', 'gitops-runtime', 'hosted'] as const
const WAYS = {
  tunnel: { tunnel: 'https://register.tunnels.example.com' },
  ingress: { url: 'https://gitops.example.com' },
} as const

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

const valuesOf = (name: string): Record<string, unknown> =>
  z.record(z.string(), z.unknown()).parse(parse(readFileSync(join(import.meta.dirname, 'gitops', `${name}.yaml`), 'utf8')))
const render = (name: (typeof CASES)[number], ...values: object[]): Promise<Rendered[]> =>
  helm.template('windlass-gitops-runtime', valuesOf(name), ...values)
const refusal = (name: (typeof CASES)[number], ...values: object[]): Promise<string> =>
  render(name, ...values).then(() => 'rendered', String)
const runtime = (values: object): object => ({ global: { runtime: values } })
const annotationsOf = ({ metadata }: Rendered): Record<string, string> =>
  z.record(z.string(), z.string()).default({}).parse(metadata['annotations'])

test('the chart passes the linter', async () => {
  const values = await helm.values(valuesOf('tunnel'))
  const chart = join(root, 'charts/windlass-gitops-runtime')
  expect(await helm.run('lint', chart, '--strict', '--values', values)).toContain('0 chart(s) failed')
})

test.each(CASES)('the chart renders the same objects for %s.yaml', async (name) => {
  const objects = await render(name)
  const text = objects.map((object) => JSON.stringify(object, null, 2).replaceAll(VERSION, 'VERSION')).join('\n')
  await expect(`${text}\n`).toMatchFileSnapshot(`gitops/${name}.golden`)
})

test.each(CASES)(
  'every pod of %s.yaml is restricted, with a read-only root folder, limits and a memory request',
  async (name) => {
    const found = pods(await render(name))
    expect(found.length).toBeGreaterThan(1)
    for (const { name: owner, spec } of found) {
      expect([owner, ...unrestricted(spec)]).toEqual([owner])
      for (const container of spec.containers)
        expect(container).toMatchObject({
          image: expect.stringMatching(/^windlass\/windlass:/),
          securityContext: { readOnlyRootFilesystem: true },
          resources: { requests: { memory: expect.any(String) }, limits: { memory: expect.any(String) } },
        })
    }
  },
)

test('all objects are in the namespace of the release, so that a cluster can have several runtimes (O076)', async () => {
  for (const name of CASES)
    for (const { kind, metadata } of await render(name))
      expect([kind, metadata.name, metadata['namespace']]).toEqual([kind, metadata.name, 'codefresh'])
  const limited = await render('tunnel', runtime({ singleNamespace: true }))
  expect(env(pod(limited, 'Deployment', 'cap-app-proxy'))).toMatchObject({ WINDLASS_APP_PROXY_SINGLE_NAMESPACE: 'true' })
  expect(one(limited, 'ConfigMap')).toMatchObject({ data: { singleNamespace: 'true' } })
})

/** Returns the texts of a key anywhere below a value. */
function textsOf(key: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsOf(key, item))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === key && typeof inner === 'string' ? [inner] : textsOf(key, inner),
  )
}

test('with a registry of your own all images and the chart come from it, with every option on (O081)', async () => {
  await using registry = await startRegistry()
  const mirror = `${registry.domain}/mirror`
  const folder = await mkdtemp(join(tmpdir(), 'windlass-chart-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const version = '9.8.7'
  const source = join(root, 'charts/windlass-gitops-runtime')
  await helm.run('package', source, '--version', version, '--destination', folder)
  const archive = join(folder, `windlass-gitops-runtime-${version}.tgz`)
  await helm.run('push', archive, `oci://${registry.domain}/charts`, '--plain-http')
  const secret = { name: 'pull', key: 'k' }
  const all = {
    global: {
      imageRegistry: mirror,
      imagePullSecrets: ['pull'],
      integrations: { 'argo-cd': { server: { caSecretKeyRef: secret } } },
    },
    'app-proxy': { image: { registry: 'quay.io', tag: 'x' }, forgeCaSecretKeyRef: secret },
    'internal-router': { image: { registry: 'docker.io' } },
    'tunnel-client': { image: { registry: 'ghcr.io', repository: 'windlass/other' } },
  }
  const chart = `oci://${registry.domain}/charts/windlass-gitops-runtime`
  for (const name of CASES) {
    const files = await Promise.all([valuesOf(name), all].map((values) => helm.values(values)))
    const given = [join(source, 'values-ha.yaml'), ...files].flatMap((file) => ['--values', file])
    const text = await helm.run('template', 'runtime', chart, '--version', version, '--plain-http', '--namespace', 'x', ...given)
    const objects = parseAllDocuments(text).map((document): unknown => document.toJS())
    const images = textsOf('image', objects)
    expect(images.length).toBeGreaterThan(1)
    for (const image of images) expect(image).toMatch(new RegExp(`^${mirror}/windlass/(?:windlass|other):`))
    // No other registry is named anywhere.
    expect(text).not.toMatch(/(?:quay|docker|ghcr|gcr|registry\.k8s)\.io|ecr\.aws|oci:\/\//)
    expect(text).toContain(`windlass-gitops-runtime-${version}`)
  }
})

test('several pods are spread over nodes, roll without a gap, and one tunnel client waits for the place of the other (O077)', async () => {
  const ha = z
    .record(z.string(), z.unknown())
    .parse(parse(readFileSync(join(root, 'charts/windlass-gitops-runtime/values-ha.yaml'), 'utf8')))
  for (const [name, parts] of [
    ['tunnel', ['cap-app-proxy', 'codefresh-tunnel-client']],
    ['ingress', ['cap-app-proxy', 'internal-router']],
  ] as const) {
    const objects = await render(name, ha)
    for (const part of parts) {
      const matchLabels = { 'app.kubernetes.io/name': part, 'app.kubernetes.io/instance': 'cf-runtime' }
      expect(one(objects, 'Deployment', part)['spec']).toMatchObject({
        replicas: 2,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } },
        template: {
          spec: { topologySpreadConstraints: [{ whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels } }] },
        },
      })
      expect(one(objects, 'PodDisruptionBudget', part)['spec']).toMatchObject({ minAvailable: '50%', selector: { matchLabels } })
    }
  }
  expect(env(pod(await render('tunnel', ha), 'Deployment', 'codefresh-tunnel-client'))).toMatchObject({
    WINDLASS_TUNNEL_STANDBY: 'true',
  })
})

test('the server of Argo CD has the name, the port, the root path and the certificate of the values (O075)', async () => {
  const argo = (server: object): object => ({
    global: {
      integrations: { 'argo-cd': { server: { auth: { type: 'token', tokenSecretKeyRef: { name: 'argo' } }, ...server } } },
    },
  })
  const urlOf = async (server: object): Promise<unknown> =>
    env(pod(await render('tunnel', argo(server)), 'Deployment', 'cap-app-proxy'))['WINDLASS_APP_PROXY_ARGO_CD_URL']
  expect(await urlOf({})).toBe('http://argocd-server:80')
  expect(await urlOf({ svc: 'cd', port: 8080, rootpath: 'argo-cd/' })).toBe('http://cd:8080/argo-cd')
  expect(await urlOf({ port: 443, rootpath: '/cd' })).toBe('https://argocd-server:443/cd')
  const secured = await render('ingress', argo({ protocol: 'https', caSecretKeyRef: { name: 'argocd-secret', key: 'tls.crt' } }))
  const spec = pod(secured, 'Deployment', 'cap-app-proxy')
  expect(env(spec)).toMatchObject({
    WINDLASS_APP_PROXY_ARGO_CD_URL: 'https://argocd-server:443',
    WINDLASS_APP_PROXY_ARGO_CD_CA_PATH: '/etc/windlass/argo-cd-ca/ca.crt',
  })
  expect(spec.volumes).toContainEqual({
    name: 'argo-cd-ca',
    secret: { secretName: 'argocd-secret', items: [{ key: 'tls.crt', path: 'ca.crt' }] },
  })
  const hook = (objects: Rendered[]): Record<string, unknown> => env(pod(objects, 'Job', 'validate-values'))
  expect(hook(secured)).toMatchObject({
    WINDLASS_GITOPS_HOOK_ARGO_CD_SERVICE: 'argocd-server',
    WINDLASS_GITOPS_HOOK_ARGO_CD_PORT: '443',
    WINDLASS_GITOPS_HOOK_ARGO_CD_PROTOCOL: 'https',
    WINDLASS_GITOPS_HOOK_ARGO_CD_ROOT_PATH: '',
  })
  // Without a name it is found by its labels, as the command finds it.
  const found = hook(await render('ingress'))
  expect([found['WINDLASS_GITOPS_HOOK_ARGO_CD_LABELS'], found['WINDLASS_GITOPS_HOOK_ARGO_CD_SERVICE']]).toEqual([
    ARGO_SERVER_LABELS,
    undefined,
  ])
  const unchecked = hook(await render('ingress', { installer: { argoCdVersionCheck: { enabled: false } } }))
  expect(Object.keys(unchecked).filter((name) => name.includes('ARGO_CD'))).toEqual([])
})

test('in a tunnel nothing listens for other pods, and no object leads into the cluster', async () => {
  const objects = await render('tunnel')
  expect(kinds(objects).filter((name) => /^(Ingress|HTTPRoute)\//.test(name))).toEqual([])
  expect(kinds(objects).filter((name) => name.startsWith('Service/'))).toEqual(['Service/cap-app-proxy'])
  const spec = pod(objects, 'Deployment', 'codefresh-tunnel-client')
  const router = { ...spec, containers: spec.containers.filter(({ name }) => name === 'router') }
  expect(env(router)).toMatchObject({ WINDLASS_ROUTER_HOST: '127.0.0.1', WINDLASS_ROUTER_TRUSTED_PROXIES: '127.0.0.1' })
  expect(env(spec)).toMatchObject({
    WINDLASS_TUNNEL_SERVER_URL: WAYS.tunnel.tunnel,
    WINDLASS_TUNNEL_ROUTER_URL: 'http://127.0.0.1:8080',
  })
  expect(one(objects, 'NetworkPolicy', 'codefresh-tunnel-client')['spec']).toMatchObject({
    policyTypes: ['Ingress'],
    ingress: [],
  })
  const client = { 'app.kubernetes.io/name': 'codefresh-tunnel-client', 'app.kubernetes.io/instance': 'cf-runtime' }
  expect(one(objects, 'NetworkPolicy', 'cap-app-proxy')['spec']).toMatchObject({
    ingress: [{ from: [{ podSelector: { matchLabels: client } }], ports: [{ port: 8080 }] }],
  })
  expect(one(objects, 'Deployment', 'codefresh-tunnel-client')['spec']).toMatchObject({ strategy: { type: 'Recreate' } })
})

test('app-proxy and reporter have the rights of their packages and no other pod has any; credentials are references (O002)', async () => {
  const objects = await render('tunnel')
  const text = toText(rightsOf(objects))
  expect(text).toContain('codefresh-tunnel-client\n  here: nothing\n  elsewhere: nothing\n')
  const rules = parse(readFileSync(join(root, 'packages/app-proxy/rbac/role.yaml'), 'utf8'))
  expect(one(objects, 'Role', 'cap-app-proxy')['rules']).toEqual(rules.rules)
  const ofReporter = parse(readFileSync(join(root, 'packages/reporter/rbac/role.yaml'), 'utf8'))
  expect(one(objects, 'Role', 'runtime-event-reporter')['rules']).toEqual(ofReporter.rules)
  const read = ['applications.argoproj.io', 'replicasets.apps', 'rollouts.argoproj.io', 'workflows.argoproj.io']
  const lines = read.map((resource) => `  here: ${resource}: get,list,watch\n`)
  expect(text).toContain(`runtime-event-reporter\n${lines.join('')}  elsewhere: nothing\n`)
  const more = parse(readFileSync(join(root, 'packages/app-proxy/rbac/workflows-role.yaml'), 'utf8'))
  const operating = await render('tunnel', { 'app-proxy': { workflows: { enabled: true } } })
  expect(one(operating, 'Role', 'cap-app-proxy')['rules']).toEqual([...rules.rules, ...more.rules])
  expect(env(pod(operating, 'Deployment', 'cap-app-proxy'))).toMatchObject({ WINDLASS_APP_PROXY_WORKFLOWS: 'true' })
  expect(kinds(objects).filter((name) => name.startsWith('Secret/'))).toEqual([])
  expect(kinds(await render('ingress')).filter((name) => name.startsWith('Secret/'))).toEqual([])
  const inline = await render('gitops-runtime')
  expect(JSON.stringify(pods(inline))).not.toMatch(/inline-key|git-token/)
  // What a hook needs before the Secrets of the release exist is deleted after it.
  expect(one(inline, 'Secret', 'validate-values').metadata).toMatchObject({
    annotations: { 'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded' },
  })
  expect(
    await refusal('tunnel', { global: { codefresh: { userToken: { secretKeyRef: { name: 'codefresh-token', key: 'x' } } } } }),
  ).toContain('reserved for the token of the runtime')
})

test('the workflow that reports images has the limits of the values and the rights of its executor only', async () => {
  const config = { concurrencyCmName: 'limits', concurrencyCmKey: 'images', concurrency: 0, ttlActiveInSeconds: 60 }
  const given = { images: { gitEnrichment: { registry: 'quay.io', repository: 'codefreshplugins/git-info', tag: '1' } } }
  const more = { 'app-proxy': { 'image-enrichment': { config: { ...config, ...given }, serviceAccount: { create: false } } } }
  const [standard, changed] = await Promise.all([render('tunnel', REPORTING_IMAGES), render('tunnel', REPORTING_IMAGES, more)])
  expect(one(standard, 'WorkflowTemplate')['spec']).toMatchObject({
    serviceAccountName: 'codefresh-image-enrichment-sa',
    activeDeadlineSeconds: 900,
    ttlStrategy: { secondsAfterCompletion: 86_400 },
    podGC: { strategy: 'OnWorkflowCompletion' },
    synchronization: {
      semaphores: [{ configMapKeyRef: { name: 'workflow-synchronization-semaphores', key: 'imageReportExecutor' } }],
    },
    // Only a report that fails is a failure for the CI job.
    templates: expect.arrayContaining([
      expect.objectContaining({
        dag: {
          tasks: [
            { name: 'report', template: 'report' },
            ...['git-info', 'jira-info'].map((name) =>
              expect.objectContaining({ name, dependencies: ['report'], continueOn: { failed: true, error: true } }),
            ),
          ],
        },
      }),
    ]),
  })
  expect(one(standard, 'ConfigMap', 'workflow-synchronization-semaphores')).toMatchObject({ data: { imageReportExecutor: '10' } })
  expect(one(standard, 'Role', 'image-enrichment')['rules']).toEqual([
    { apiGroups: ['argoproj.io'], resources: ['workflowtaskresults'], verbs: ['create', 'patch'] },
  ])
  expect(env(pod(standard, 'Deployment', 'cap-app-proxy'))).toMatchObject({
    WINDLASS_APP_PROXY_IMAGE_REPORT_TEMPLATE: 'image-enrichment',
    WINDLASS_APP_PROXY_IMAGE_REPORT_HEARTBEAT_SECONDS: '5',
  })
  expect(one(changed, 'WorkflowTemplate')['spec']).toMatchObject({
    activeDeadlineSeconds: 60,
    synchronization: { semaphores: [{ configMapKeyRef: { name: 'limits', key: 'images' } }] },
  })
  expect(kinds(changed)).not.toContain('ConfigMap/limits')
  expect(kinds(changed)).not.toContain('ServiceAccount/codefresh-image-enrichment-sa')
  // Images of the original have other programs.
  for (const image of textsOf('image', one(changed, 'WorkflowTemplate'))) expect(image).toMatch(/^windlass\/windlass:/)
})

test('reporters divide the applications of their namespaces, and values of others have no effect, which the notes say', async () => {
  const reporting = {
    global: { 'event-reporters': { replicas: 3, pdb: { enabled: true } } },
    'event-reporters': {
      'runtime-event-reporter': {
        namespaces: ['argocd', 'cf-shop'],
        objectNamespaces: ['shop', 'argocd'],
        podLabels: { team: 'a' },
      },
    },
  }
  const objects = await render('tunnel', reporting)
  const spec = pod(objects, 'StatefulSet', 'runtime-event-reporter')
  expect(env(spec)).toMatchObject({
    WINDLASS_REPORTER_SHARDS: '3',
    WINDLASS_REPORTER_NAMESPACES: 'argocd,cf-shop',
    WINDLASS_REPORTER_OBJECT_NAMESPACES: 'shop,argocd',
    WINDLASS_REPORTER_SERVER_URL: 'https://windlass.example.com',
  })
  expect(one(objects, 'StatefulSet')['spec']).toMatchObject({
    replicas: 3,
    template: {
      metadata: { labels: { team: 'a' } },
      spec: { topologySpreadConstraints: [{ whenUnsatisfiable: 'ScheduleAnyway' }] },
    },
  })
  const roles = objects.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'runtime-event-reporter')
  expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['argocd', 'cf-shop', 'shop'])
  expect(kinds(objects)).toContain('PodDisruptionBudget/runtime-event-reporter')
  expect(one(objects, 'NetworkPolicy', 'runtime-event-reporter')['spec']).toMatchObject({ ingress: [] })
  expect(pods(await render('tunnel')).filter(({ name }) => name.startsWith('StatefulSet/'))).toHaveLength(1)
  const none = await render('tunnel', { 'event-reporters': { 'runtime-event-reporter': { enabled: false } } })
  expect(kinds(none).filter((name) => name.includes('event-reporter'))).toEqual([])
})

test('all parts have metrics, which a PodMonitor reads through the policies', async () => {
  const peers = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }]
  const objects = await render('tunnel', {
    podMonitor: { enabled: true, endpoint: { interval: '30s' } },
    networkPolicy: { metricsFrom: peers },
  })
  const { selector, podMetricsEndpoints } = Monitored.parse(one(objects, 'PodMonitor')['spec'])
  const ports = podMetricsEndpoints.map(({ port }) => port)
  expect(podMetricsEndpoints).toContainEqual({ port: 'metrics', interval: '30s' })
  const found = objects.flatMap((object) => {
    const { template } = WithPods.safeParse(object['spec']).data ?? {}
    if (template === undefined || !['Deployment', 'StatefulSet'].includes(object.kind)) return []
    for (const [label, value] of Object.entries(selector.matchLabels)) expect(template.metadata.labels[label]).toBe(value)
    return template.spec.containers.map((container) => ({
      container: container.name,
      ports: container.ports.filter(({ name }) => ports.includes(name)).map(({ containerPort }) => containerPort),
    }))
  })
  expect(found).toEqual([
    { container: 'app-proxy', ports: [9100] },
    { container: 'tunnel-client', ports: [8082] },
    { container: 'router', ports: [8081] },
    { container: 'reporter', ports: [9100] },
  ])
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map((policy) => JSON.stringify(policy['spec']))
  for (const port of [9100, 8082, 8081]) expect(policies.join()).toContain(`"port":${port}`)
  expect(kinds(await render('tunnel'))).not.toContain('PodMonitor/gitops-runtime')
})

const Monitored = z.object({
  selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
  podMetricsEndpoints: z.array(z.looseObject({ port: z.string() })),
})
const WithPods = z.looseObject({
  template: z.looseObject({
    metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
    spec: z.looseObject({
      containers: z.array(
        z.looseObject({
          name: z.string(),
          ports: z.array(z.looseObject({ name: z.string(), containerPort: z.number() })).default([]),
        }),
      ),
    }),
  }),
})

test.each([
  { why: 'no name', values: runtime({ name: '' }), says: 'global.runtime.name is required' },
  { why: 'a name that is not a label', values: runtime({ name: 'Prod_1' }), says: 'at most 38 lower-case letters' },
  { why: 'a name of 39 characters', values: runtime({ name: 'a'.repeat(39) }), says: 'at most 38 lower-case letters' },
  { why: 'no key and no token', values: runtime({ tokenSecret: '' }), says: 'an API key is required' },
  { why: 'no account', values: { global: { codefresh: { accountId: '' } } }, says: 'accountId is required' },
  { why: 'an account that is not an id', values: { global: { codefresh: { accountId: 'acme' } } }, says: 'accountId' },
  {
    why: 'no domain of the tunnels',
    values: { 'tunnel-client': { tunnelServer: { subdomainHost: '' } } },
    says: 'subdomainHost is required',
  },
  { why: 'no way in', values: { 'tunnel-client': { enabled: false } }, says: 'the runtime is not reachable' },
  { why: 'an Ingress without hosts', values: runtime({ ingress: { enabled: true } }), says: 'ingress.hosts is required' },
  { why: 'another protocol', values: runtime({ ingress: { protocol: 'tcp' } }), says: 'protocol' },
  {
    why: 'an HTTPRoute without gateways',
    values: runtime({ httpRoute: { enabled: true, hostnames: ['x.example.com'] } }),
    says: 'parentRefs is required',
  },
  {
    why: 'an HTTPRoute without hosts',
    values: runtime({ httpRoute: { enabled: true, parentRefs: [{ name: 'x' }] } }),
    says: 'hostnames is required',
  },
  {
    why: 'a hosted runtime without its networks',
    values: runtime({ codefreshHosted: true }),
    says: 'hosted.allowedNetworks is required',
  },
  {
    why: 'webhooks of other namespaces in a hosted runtime',
    values: {
      ...runtime({ codefreshHosted: true }),
      hosted: { allowedNetworks: ['10.1.0.0/24'] },
      'internal-router': { webhookNamespaces: ['other'] },
    },
    says: 'global.runtime.codefreshHosted limits the runtime to codefresh',
  },
  {
    why: 'image enrichment without workflows',
    values: { 'app-proxy': { 'image-enrichment': { enabled: true } } },
    says: 'image-enrichment.enabled needs app-proxy.workflows.enabled, and Argo Workflows',
  },
  {
    why: 'archived logs without keys of the bucket',
    values: { 'app-proxy': { workflows: { enabled: true } }, codefreshWorkflowLogStoreCM: { endpoint: 'minio:9000' } },
    says: 'codefreshWorkflowLogStoreCM.secretKeySecretKeyRef are required',
  },
  {
    why: 'Argo CD',
    values: { 'argo-cd': { enabled: true } },
    says: 'argo-cd.enabled is true, but this chart does not install it',
  },
  {
    why: 'an unknown way to sign in',
    values: { global: { integrations: { 'argo-cd': { server: { auth: { type: 'sso' } } } } } },
    says: 'must be password or token',
  },
  {
    why: 'an unknown protocol of Argo CD',
    values: { global: { integrations: { 'argo-cd': { server: { protocol: 'grpc' } } } } },
    says: 'must be http or https',
  },
  {
    why: 'webhooks of other namespaces in a runtime of one namespace',
    values: { ...runtime({ singleNamespace: true }), 'internal-router': { webhookNamespaces: ['codefresh', 'other'] } },
    says: 'global.runtime.singleNamespace limits the runtime to codefresh',
  },
  {
    why: 'applications of other namespaces in a runtime of one namespace',
    values: {
      ...runtime({ singleNamespace: true }),
      'event-reporters': { 'runtime-event-reporter': { namespaces: ['argocd'] } },
    },
    says: 'event-reporters.runtime-event-reporter.namespaces has argocd, but global.runtime.singleNamespace',
  },
  {
    why: 'rollouts of other namespaces in a runtime of one namespace',
    values: {
      ...runtime({ singleNamespace: true }),
      'event-reporters': { 'runtime-event-reporter': { objectNamespaces: ['shop'] } },
    },
    says: 'event-reporters.runtime-event-reporter.objectNamespaces has shop, but global.runtime.singleNamespace',
  },
  {
    why: 'applications of other namespaces in a hosted runtime',
    values: {
      ...runtime({ codefreshHosted: true }),
      hosted: { allowedNetworks: ['192.0.2.0/24'] },
      'event-reporters': { 'runtime-event-reporter': { namespaces: ['tenant-b'] } },
    },
    says: 'event-reporters.runtime-event-reporter.namespaces has tenant-b, but global.runtime.codefreshHosted',
  },
  { why: 'an unknown key', values: { 'tunel-client': {} }, says: "additional properties 'tunel-client' not allowed" },
])('refuses $why (O002)', async ({ values, says }) => {
  expect(await refusal('tunnel', values)).toContain(says)
})

test('without a tunnel the router has pods of its own, and Ingress or HTTPRoute lead to its paths only', async () => {
  const ingress = await render('ingress')
  expect(kinds(ingress)).not.toContain('Deployment/codefresh-tunnel-client')
  const [rule] = z
    .object({
      rules: z.array(z.object({ host: z.string(), http: z.object({ paths: z.array(z.looseObject({ path: z.string() })) }) })),
    })
    .parse(one(ingress, 'Ingress')['spec']).rules
  expect([rule?.host, rule?.http.paths.map(({ path }) => path)]).toEqual([
    'gitops.example.com',
    ['/app-proxy', '/webhooks', '/workflows'],
  ])
  const parentRefs = [{ name: 'public', namespace: 'gateways' }]
  const hostnames = ['gitops.example.com']
  const routed = await render('tunnel', runtime({ httpRoute: { enabled: true, parentRefs, hostnames } }))
  expect(one(routed, 'HTTPRoute')['spec']).toMatchObject({
    parentRefs,
    hostnames,
    rules: [{ backendRefs: [{ name: 'internal-router' }] }],
  })
  expect(one(routed, 'ConfigMap')).toMatchObject({ data: { ingressHost: 'https://gitops.example.com' } })
  // The hook tells the server the URL, and asks the host, unless the values say otherwise.
  const asked = (objects: Rendered[]): unknown[] => {
    const hook = env(pod(objects, 'Job', 'validate-values'))
    return ['ACCESS', 'URL', 'SKIP_VALIDATION'].map((name) => hook[`WINDLASS_GITOPS_HOOK_${name}`])
  }
  const byRoute = (values: object): object =>
    runtime({ ingress: { enabled: false }, httpRoute: { enabled: true, parentRefs, hostnames, ...values } })
  expect(asked(await render('ingress', byRoute({})))).toEqual(['httproute', 'https://gitops.example.com', undefined])
  for (const values of [byRoute({ skipValidation: true }), { ...byRoute({}), installer: { skipValidation: true } }])
    expect(asked(await render('ingress', values))).toEqual(['httproute', 'https://gitops.example.com', 'true'])
  const meshed = await render(
    'tunnel',
    { 'tunnel-client': { enabled: false } },
    runtime({ ingressUrl: 'https://mesh.example.com/' }),
  )
  expect(one(meshed, 'ConfigMap')).toMatchObject({ data: { ingressHost: 'https://mesh.example.com' } })
  const byUrl = [
    { 'tunnel-client': { enabled: false } },
    runtime({ ingress: { enabled: false }, ingressUrl: 'https://mesh.example.com/' }),
  ]
  expect(asked(await render('ingress', ...byUrl))).toEqual(['url', 'https://mesh.example.com', undefined])
})

test('the hook before a removal needs nothing of the release, whose installation may have been refused', async () => {
  for (const name of ['ingress', 'gitops-runtime'] as const) {
    const objects = await render(name)
    const weight = (kind: string): number => {
      const annotations = annotationsOf(one(objects, kind, 'delete-runtime-from-platform'))
      expect(annotations).toMatchObject({ 'helm.sh/hook': 'pre-delete' })
      return Number(annotations['helm.sh/hook-weight'])
    }
    const job = weight('Job')
    for (const kind of ['ServiceAccount', 'Role', 'RoleBinding']) expect(weight(kind)).toBeLessThan(job)
    const spec = pod(objects, 'Job', 'delete-runtime-from-platform')
    expect(spec).toMatchObject({ serviceAccountName: 'delete-runtime-from-platform' })
    const secrets = z.array(z.looseObject({ secret: z.object({ optional: z.boolean().default(false) }).optional() }))
    for (const { secret } of secrets.parse(spec['volumes'])) expect(secret?.optional ?? true).toBe(true)
  }
})

test('the command and the chart agree on how a runtime is reached', async () => {
  expect(accessOf(valuesOf('tunnel'))).toMatchObject({ kind: 'tunnel', url: undefined })
  expect(accessOf(valuesOf('ingress'))).toMatchObject({ kind: 'ingress', url: WAYS.ingress.url, isChecked: true })
  const url = 'https://65f0c1d2a3b4c5d6e7f80912-prod.tunnels.example.com:8443'
  expect(domainOf(url)).toBe('tunnels.example.com:8443')
  const facts = { name: 'prod', serverUrl: 'https://windlass.example.com', accountId: '65f0c1d2a3b4c5d6e7f80912', url, ca: 'PEM' }
  const objects = await helm.template('windlass-gitops-runtime', factValues(facts))
  expect(one(objects, 'ConfigMap')).toMatchObject({ data: { ingressHost: url, runtimeName: 'prod' } })
  expect(one(objects, 'Secret', 'codefresh-tls-certs')).toMatchObject({ stringData: { 'ca-bundle.crt': 'PEM' } })
  expect(kinds(objects).filter((name) => name.startsWith('Job/'))).toEqual([])
})

const Rules = z.array(
  z.looseObject({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
)

const REPORTING_IMAGES = { 'app-proxy': { workflows: { enabled: true }, 'image-enrichment': { enabled: true } } }

test.each([
  { name: 'tunnel', more: {} },
  { name: 'ingress', more: REPORTING_IMAGES },
  { name: 'hosted', more: {} },
] as const)('the command checks the permissions of all objects of $name before an installation', async ({ name, more }) => {
  const values = { ...valuesOf(name), ...more }
  const rights = neededRights('codefresh', {
    ...accessOf(values),
    isHosted: isHostedIn(values),
    operatesWorkflows: operatesWorkflows(values),
    reportsImages: reportsImages(values),
  })
  const isChecked = (verb: string, group: string, resource: string): boolean =>
    rights.some(
      (right) =>
        right.verb === verb &&
        right.group === group &&
        [right.resource, right.subresource].filter(Boolean).join('/') === resource,
    )
  // Hooks and disruption budgets are parts of an installation with Helm alone.
  const objects = (await render(name, more)).filter(
    (object) => object.kind !== 'PodDisruptionBudget' && annotationsOf(object)['helm.sh/hook'] === undefined,
  )
  for (const { apiVersion, kind, rules } of objects) {
    const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
    const plural = kind.endsWith('y')
      ? `${kind.toLowerCase().slice(0, -1)}ies`
      : `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`
    expect([plural, isChecked('create', group, plural)]).toEqual([plural, true])
    for (const rule of kind === 'Role' ? Rules.parse(rules) : [])
      for (const resource of rule.resources)
        for (const verb of rule.verbs)
          expect([resource, verb, isChecked(verb, rule.apiGroups[0] ?? '', resource)]).toEqual([resource, verb, true])
  }
})
