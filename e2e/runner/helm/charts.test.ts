/** What the charts render and refuse, whatever the cloud: names, rights, Pod Security, registries, secrets, values of cf-runtime. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { RuntimeInput } from '../../../packages/protocol/src/index.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { env, kinds, one, pod, pods, runtime, runtimes, unrestricted, valuesOf } from './render.ts'

const root = join(import.meta.dirname, '../../..')
const REFERENCE = { name: 'key', key: 'key' }
const GLOBAL = { codefreshHost: 'https://windlass.example.com/', codefreshTokenSecretKeyRef: REFERENCE, context: 'prod' }
/** Everything that can be turned on, with cloud disks. */
const ALL = {
  monitor: { enabled: true },
  ballast: { dind: { enabled: true }, engine: { enabled: true } },
  'event-exporter': { enabled: true, image: { repository: 'exporters/events', tag: '1' }, serviceMonitor: { enabled: true } },
  networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
  podDisruptionBudget: { enabled: true },
  serviceMonitor: { main: { enabled: true } },
  podMonitor: { main: { enabled: true }, runner: { enabled: true }, 'volume-provisioner': { enabled: true } },
  runtime: { patch: { cronjob: { enabled: true } } },
  storage: { backend: 'ebs-csi' },
  volumeProvisioner: { 'dind-volume-cleanup': { mounts: { enabled: true } } },
  extraResources: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-extra' } }],
}

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

const render = (...values: object[]): Promise<Rendered[]> => helm.template('windlass-runtime', { global: GLOBAL }, ...values)
const renderServer = (...values: object[]): Promise<Rendered[]> => helm.template('windlass', ...values)
const refusal = async (...values: object[]): Promise<string> =>
  render(...values).then(
    () => 'rendered',
    (error: unknown) => String(error),
  )
const named = (objects: readonly Rendered[], kind: string): string[] =>
  kinds(objects).flatMap((name) => (name.startsWith(`${kind}/`) ? [name.slice(kind.length + 1)] : []))

test('R059: both charts pass the linter, and a values file is checked against the schema', async () => {
  const values = await helm.values({ global: GLOBAL })
  for (const chart of ['windlass', 'windlass-runtime'])
    expect(await helm.run('lint', join(root, 'charts', chart), '--strict', '--values', values)).toContain('0 chart(s) failed')
  expect(await refusal({ runer: {} })).toContain("additional properties 'runer' not allowed")
  expect(await refusal({ storage: { backnd: 'local' } })).toContain('backnd')
  expect(await refusal({ storage: { backend: 'nfs' } })).toContain('backend')
  expect(await refusal({ runner: { replicasCount: 'two' } })).toContain('replicasCount')
  expect(await refusal({ global: { codefreshTokenSecretKeyRef: { name: 'x', key: null } } })).toContain(
    'codefreshTokenSecretKeyRef',
  )
  expect(await refusal({ global: { codefreshHost: 'windlass.example.com' } })).toContain('codefreshHost')
  expect(await refusal({ global: { context: '' } })).toContain('global.context is required')
})

test.each([
  { ebs: { volumeType: 'gp2', iops: 100 }, says: 'does nothing for gp2' },
  { ebs: { volumeType: 'gp3', iops: '2999' }, says: 'from 3000 to 16000' },
  { ebs: { volumeType: 'gp3', iops: 16_001 }, says: 'from 3000 to 16000' },
  { ebs: { volumeType: 'gp3', throughput: '124' }, says: 'from 125 to 1000' },
  { ebs: { volumeType: 'gp3', throughput: 1001 }, says: 'throughput' },
  { ebs: { volumeType: 'io1', throughput: 200 }, says: 'a setting of gp3' },
  { ebs: { volumeType: 'st1' }, says: 'volumeType' },
  { ebs: { availabilityZone: '' }, says: 'belong to one zone' },
  { ebs: { volumeType: 'gp3', iops: 'many' }, says: 'iops' },
])('R090: disks that AWS does not make are refused: $ebs', async ({ ebs, says }) => {
  expect(await refusal({ storage: { backend: 'ebs', ebs } })).toContain(says)
})

test('R081, R089: the class and its provisioner carry the name of the namespace; with hashedName a change makes another class', async () => {
  const objects = await render()
  expect(one(objects, 'StorageClass')).toMatchObject({
    metadata: { name: 'dind-local-volumes-runner-codefresh' },
    provisioner: 'codefresh.io/dind-volume-provisioner-runner-codefresh',
    volumeBindingMode: 'Immediate',
    parameters: { volumeBackend: 'local', volumeParentDir: '/var/lib/codefresh/dind-volumes' },
  })
  expect(runtime(objects).spec.dockerDaemonScheduler).toMatchObject({
    pvcs: { dind: { storageClassName: 'dind-local-volumes-runner-codefresh', volumeSize: '16Gi' } },
  })
  const hashed = await Promise.all(
    ['/a', '/b', '/a'].map((volumeParentDir) => render({ storage: { hashedName: true, local: { volumeParentDir } } })),
  )
  const [first, second, third] = hashed.map((list) => one(list, 'StorageClass').metadata.name)
  expect(first).toMatch(/^dind-local-volumes-runner-codefresh-[0-9a-f]{8}$/)
  expect(second).not.toBe(first)
  expect(third).toBe(first)
})

test('R045: names of agent and runtime come from context and namespace, so that two installations do not meet', async () => {
  const a = runtime(await render())
  const b = runtime(await render({ global: { context: 'staging' } }))
  expect(a).toMatchObject({ metadata: { name: 'prod/codefresh' }, spec: { agent: 'prod_codefresh' } })
  expect(b).toMatchObject({ metadata: { name: 'staging/codefresh' }, spec: { agent: 'staging_codefresh' } })
})

test('R003, R058: every pod is restricted but for those that the README names, and nothing mounts the socket of a node', async () => {
  const local = await render({ monitor: { enabled: true } })
  const cloud = await render(ALL)
  const server = await renderServer()
  const found = [...pods(local), ...pods(cloud), ...pods(server)].flatMap(({ name, spec }) =>
    unrestricted(spec).map((problem) => `${name} ${problem}`),
  )
  expect([...new Set(found)].toSorted()).toEqual([
    'DaemonSet/cf-runtime-lv-monitor hostPath /var/lib/codefresh/dind-volumes',
    'DaemonSet/cf-runtime-lv-monitor lv-monitor: capabilities DAC_OVERRIDE,FOWNER',
    'DaemonSet/cf-runtime-lv-monitor lv-monitor: is root',
    'DaemonSet/cf-runtime-lv-monitor lv-monitor: may be root',
  ])
  expect(pods(cloud).length).toBeGreaterThan(10)
  expect(JSON.stringify([local, cloud])).not.toMatch(
    /docker\.sock"?,"?(name|type|path)|containerd\.sock|"hostPath":\{"path":"\/var\/run/,
  )
})

const Rules = z.array(z.record(z.string(), z.array(z.string())))
/** Rules with sorted keys and lists, as text, so that they can be compared. */
function rules(list: unknown): string[] {
  const texts = Rules.parse(list).map((rule) => {
    const keys = Object.keys(rule).toSorted()
    return JSON.stringify(Object.fromEntries(keys.map((key) => [key, rule[key]?.toSorted()])))
  })
  return texts.toSorted()
}
function rulesOfFile(path: string, kind: string): string[] {
  const documents = parseAllDocuments(readFileSync(join(root, path), 'utf8')).map((document) => document.toJS())
  return rules(documents.find((object) => object.kind === kind)?.rules)
}

test('R058: agent and provisioner have the rules of their packages and no others; further rules come from the values', async () => {
  const objects = await render({ runner: { rbac: { rules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }] } } })
  const agent = rules(one(objects, 'Role', 'runner')['rules'])
  const own = rulesOfFile('packages/agent/rbac/role.yaml', 'Role')
  expect(agent).toEqual(expect.arrayContaining(own))
  // To keep its token, and what the values add.
  expect(agent.filter((rule) => !own.includes(rule))).toEqual([
    '{"apiGroups":[""],"resourceNames":["cf-runtime-runner"],"resources":["secrets"],"verbs":["get","patch"]}',
    '{"apiGroups":[""],"resources":["services"],"verbs":["list"]}',
    '{"apiGroups":["apps"],"resourceNames":["cf-runtime-runner"],"resources":["deployments"],"verbs":["get"]}',
  ])
  expect(rules(one(objects, 'ClusterRole', 'runner-codefresh')['rules'])).toEqual([
    '{"apiGroups":[""],"resources":["nodes"],"verbs":["get"]}',
  ])
  const provisioner = 'packages/volumes/rbac/provisioner.yaml'
  const cluster = one(objects, 'ClusterRole', 'volume-provisioner-codefresh')['rules']
  expect(rules(cluster)).toEqual(rulesOfFile(provisioner, 'ClusterRole'))
  expect(rules(one(objects, 'Role', 'volume-provisioner')['rules'])).toEqual(rulesOfFile(provisioner, 'Role'))
  const monitor = await render({ monitor: { enabled: true, rbac: { namespaced: false } } })
  expect(rules(one(monitor, 'ClusterRole', 'runtime-monitor-codefresh')['rules'])).toEqual(
    rulesOfFile('packages/monitor/rbac/role.yaml', 'ClusterRole'),
  )
})

test('the hooks may touch the Secrets that they are about, and nothing else', async () => {
  const objects = await render()
  expect(rules(one(objects, 'Role', '-cleanup')['rules'])).toEqual([
    '{"apiGroups":[""],"resourceNames":["cf-runtime-runner","codefresh-certs-server"],"resources":["secrets"],"verbs":["delete","get"]}',
  ])
  expect(named(objects, 'Role').filter((name) => name.includes('patch'))).toEqual([])
  expect(pod(objects, 'Job', 'runtime-patch')).toMatchObject({ automountServiceAccountToken: false })
  for (const kind of ['Role', 'ClusterRole'])
    for (const name of named(objects, kind)) expect(JSON.stringify(one(objects, kind, name)['rules'])).not.toContain('"*"')
})

test('R060: with references no Secret is rendered, and no secret stands in a pod or on a command line', async () => {
  const references = {
    global: { agentTokenSecretKeyRef: { name: 'agent', key: 'token' } },
    storage: { backend: 'ebs', ebs: { accessKeyIdSecretKeyRef: REFERENCE, secretAccessKeySecretKeyRef: REFERENCE } },
  }
  const objects = await render(references)
  expect(named(objects, 'Secret')).toEqual([])
  expect(env(pod(objects, 'Deployment', 'runner'))['WINDLASS_AGENT_TOKEN']).toEqual({
    secretKeyRef: { name: 'agent', key: 'token' },
  })
  const inline = await render({
    global: { codefreshTokenSecretKeyRef: null, codefreshToken: 'plain-user', agentToken: 'plain-agent' },
  })
  expect(JSON.stringify(pods(inline))).not.toMatch(/plain-user|plain-agent/)
  expect(named(inline, 'Secret').toSorted()).toEqual(['cf-runtime-given-agent', 'codefresh-user-token'])
  const server = await renderServer({ masterKey: { secretKeyRef: REFERENCE }, database: { urlSecretKeyRef: REFERENCE } })
  expect(named(server, 'Secret')).toEqual([])
})

test('R072, R052: a registry of the values stands before every image, those of builds included', async () => {
  const objects = await render(ALL, valuesOf('install-helm.md', 'registry'), {
    runtime: { dind: { volumePermissions: { enabled: true } } },
  })
  const images = pods(objects).flatMap(({ spec }) => [...spec.containers, ...spec.initContainers].map(({ image }) => image))
  const { runtimeScheduler: engine, dockerDaemonScheduler: dind } = runtime(objects).spec
  for (const image of [...images, engine['image'], dind['dindImage']])
    expect(image).toMatch(/^registry\.example\.com\/mirror\/[a-z/-]+:[\w.]+$/)
  for (const { spec } of pods(objects)) expect(spec['imagePullSecrets']).toEqual([{ name: 'registry-login' }])
  const digest = await render({ image: { digest: 'sha256:abc' }, runner: { image: { tag: '9' } } })
  expect(pod(digest, 'Deployment', 'runner').containers[0]?.image).toBe('windlass/windlass:9')
  expect(pod(digest, 'Deployment', 'volume-provisioner').containers[0]?.image).toBe('windlass/windlass@sha256:abc')
})

test('R061, R063: proxies and authorities reach every container, the engine and the daemon', async () => {
  const objects = await render({ ...ALL, ballast: {} }, valuesOf('install-helm.md', 'proxy'))
  const proxy = 'http://proxy.corp.example:3128'
  for (const { name, spec } of pods(objects)) {
    expect(env(spec), name).toMatchObject({
      HTTPS_PROXY: proxy,
      http_proxy: proxy,
      NODE_EXTRA_CA_CERTS: '/etc/windlass/ca/ca.crt',
    })
    expect(env(spec)['NO_PROXY'], name).toMatch(/\.corp\.example,localhost,127\.0\.0\.1,\.svc,.*\$\(KUBERNETES_SERVICE_HOST\)$/)
    expect(JSON.stringify(spec.volumes), name).toContain('corporate-ca')
  }
  const { runtimeScheduler: engine, dockerDaemonScheduler: dind } = runtime(objects).spec
  expect(engine['envVars']).toMatchObject({ HTTP_PROXY: proxy, NODE_EXTRA_CA_CERTS: '/etc/windlass/ca/ca.crt' })
  expect(dind['envVars']).toMatchObject({
    https_proxy: proxy,
    SSL_CERT_DIR: '/etc/ssl/certs:/etc/windlass/ca',
    CLEAN_DOCKER: 'true',
  })
  for (const scheduler of [engine, dind])
    expect(scheduler).toMatchObject({
      volumes: { 'windlass-ca': { configMap: { name: 'corporate-ca' } } },
      volumeMounts: { 'windlass-ca': { mountPath: '/etc/windlass/ca' } },
    })
})

test('R110, R115: cleaners: local disks have a monitor on each node, cloud disks have jobs in both modes', async () => {
  const local = await render()
  expect([named(local, 'DaemonSet'), named(local, 'CronJob')]).toEqual([
    ['cf-runtime-lv-monitor'],
    ['cf-runtime-dind-gencerts', 'cf-runtime-leftovers'],
  ])
  expect(pod(local, 'CronJob', '-leftovers').containers[0]).toMatchObject({ command: expect.arrayContaining(['leftovers']) })
  expect(rules(one(local, 'Role', '-leftovers')['rules'])).toEqual([
    '{"apiGroups":[""],"resources":["persistentvolumeclaims","pods"],"verbs":["delete","list"]}',
  ])
  const cloud = await render({
    storage: { backend: 'ebs' },
    volumeProvisioner: { 'dind-volume-cleanup': { mounts: { enabled: true }, successfulJobsHistory: 2 } },
  })
  expect(named(cloud, 'DaemonSet')).toEqual([])
  const cleanup = one(cloud, 'CronJob', '-volume-cleanup')
  expect(cleanup).toMatchObject({
    metadata: { labels: { app: 'dind-volume-cleanup', 'codefresh.io/application': 'pv-cleanup' } },
    spec: { schedule: '*/10 * * * *', concurrencyPolicy: 'Forbid', successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 },
  })
  const { provisioner } = one(cloud, 'StorageClass')
  expect(env(pod(cloud, 'CronJob', '-volume-cleanup'))['PROVISIONED_BY']).toBe(provisioner)
  expect(pod(cloud, 'CronJob', '-volume-cleanup-m').containers[0]).toMatchObject({ command: expect.arrayContaining(['-m']) })
  expect(one(cloud, 'CronJob', '-volume-cleanup-m')).toMatchObject({ spec: { schedule: '5,15,25,35,45,55 * * * 2-5' } })
})

test('R056: monitors of Prometheus, the exporter of events, policies, budgets and further objects are there when asked for', async () => {
  const bare = kinds(await render())
  for (const kind of ['ServiceMonitor', 'PodMonitor', 'NetworkPolicy', 'PodDisruptionBudget', 'PriorityClass'])
    expect(bare.filter((name) => name.startsWith(kind))).toEqual([])
  const objects = await render(ALL)
  expect(named(objects, 'PodMonitor').toSorted()).toEqual([
    'cf-runtime-engine',
    'cf-runtime-runner',
    'cf-runtime-volume-provisioner',
  ])
  expect(named(objects, 'ServiceMonitor').toSorted()).toEqual(['cf-runtime-dind', 'cf-runtime-event-exporter'])
  expect(one(objects, 'NetworkPolicy', 'dind')).toMatchObject({
    spec: {
      ingress: [
        { from: [{ podSelector: { matchLabels: { app: 'runtime' } } }], ports: [{ port: 1300 }] },
        { ports: [{ port: 9100 }, { port: 9323 }] },
      ],
    },
  })
  expect(named(objects, 'PodDisruptionBudget').toSorted()).toEqual(['cf-runtime-builds-dind', 'cf-runtime-builds-runtime'])
  expect(named(objects, 'ConfigMap')).toContain('cf-runtime-extra')
  expect(await refusal({ 'event-exporter': { enabled: true } })).toContain('event-exporter.image.repository is required')
})

test('R050: the patch can be turned off, reports by default and applies when told', async () => {
  const off = kinds(await render({ runtime: { patch: { enabled: false } } }))
  expect(off.filter((name) => name.includes('patch'))).toEqual([])
  const command = async (mode: string): Promise<unknown> =>
    pod(await render({ runtime: { patch: { cronjob: { enabled: true, mode } } } }), 'CronJob', 'runtime-patch').containers[0]
  expect(await command('report')).toMatchObject({ command: expect.arrayContaining(['diff-runtime']) })
  expect(await command('apply')).toMatchObject({ command: expect.arrayContaining(['apply-runtime']) })
  expect(await refusal({ global: { codefreshTokenSecretKeyRef: null } })).toContain('runtime.patch needs an API key')
})

test('one agent works at a time: an update ends the old one first, and further replicas are not made', async () => {
  const objects = await render({ runner: { replicasCount: 3 } })
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } }
  expect(one(objects, 'Deployment', 'runner')).toMatchObject({ spec: { replicas: 1, strategy } })
  expect(one(objects, 'Deployment', 'volume-provisioner')).toMatchObject({ spec: { strategy: { type: 'Recreate' } } })
})

test("what the values lend to builds is in the agent's policy", async () => {
  const objects = await render({
    runner: { policy: { secrets: ['mirror'], privilegedImages: ['windlass/dind'] } },
    runtime: {
      dind: {
        userVolumes: { npm: { secret: { secretName: 'npm' } }, share: { nfs: { server: 'x', path: '/' } } },
        volumes: { images: { hostPath: { path: '/images' } }, maven: { persistentVolumeClaim: { claimName: 'maven' } } },
      },
      engine: { userEnvVars: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'team', key: 'a' } } }] },
    },
  })
  expect(env(pod(objects, 'Deployment', 'runner'))).toMatchObject({
    WINDLASS_AGENT_POLICY: 'strict',
    WINDLASS_AGENT_ALLOWED_SECRETS: 'mirror,codefresh-certs-server,npm,team',
    WINDLASS_AGENT_ALLOWED_CLAIMS: 'maven',
    WINDLASS_AGENT_ALLOWED_HOST_PATHS: '/images',
    WINDLASS_AGENT_ALLOWED_VOLUMES: 'nfs',
    WINDLASS_AGENT_PRIVILEGED_IMAGES: 'windlass/dind',
    WINDLASS_AGENT_OWN_RUNTIMES: 'prod/codefresh',
  })
})

test.each(['production', 'agentless', 'first-steps'])('a values file of cf-runtime renders: %s', async (name) => {
  const values = parse(readFileSync(join(import.meta.dirname, 'cf-runtime', `${name}.yaml`), 'utf8'))
  const objects = await helm.template('windlass-runtime', values)
  const documents = runtimes(objects)
  for (const { metadata, spec } of documents) {
    const { type, agent, isDefault, ...rest } = spec
    const parsed = RuntimeInput.safeParse({ name: metadata.name, type, agent, isDefault, spec: rest })
    expect(parsed.error?.issues ?? [], metadata.name).toEqual([])
  }
  const images = JSON.stringify(pods(objects).map(({ spec }) => spec.containers.map(({ image }) => image)))
  expect(images).not.toContain('codefresh/')
  const text = `${documents.map((document) => JSON.stringify(document, null, 2)).join('\n')}\n`
  await expect(text).toMatchFileSnapshot(`cf-runtime/${name}.golden`)
})

test('R055: agentless runtimes have accounts and no agent; their names begin with system/ and differ', async () => {
  const values = parse(readFileSync(join(import.meta.dirname, 'cf-runtime/agentless.yaml'), 'utf8'))
  const objects = await helm.template('windlass-runtime', values)
  expect(kinds(objects)).not.toContain('Deployment/cf-runtime-runner')
  expect(
    runtimes(objects)
      .map(({ metadata }) => metadata.name)
      .toSorted(),
  ).toEqual(['system/large', 'system/prod', 'system/small'])
  expect(runtime(objects).spec).toMatchObject({
    systemHybrid: true,
    accounts: ['cfadmin', '5672d8deb6724b6e359adf62'],
    runtimeScheduler: { cluster: { inCluster: false, kubeconfigFilePath: '/etc/kubeconfig/prod', name: 'prod' } },
  })
  expect(await refusal({ runtime: { agent: false } })).toContain('begins with system/')
  expect(await refusal({ extraRuntimes: { a: { name: 'mine' } } })).toContain('must begin with system/')
})

test('the control plane: several servers need PostgreSQL and one volume; Ingress and TLS give the URL', async () => {
  const server = (values: object): Promise<string> => renderServer(values).then(() => 'rendered', String)
  expect(await server({ replicas: 2 })).toContain('several servers need PostgreSQL')
  expect(await server({ replicas: 2, database: { url: 'postgres://x' } })).toContain('several servers need one volume')
  const several = await renderServer({
    replicas: 2,
    database: { urlSecretKeyRef: REFERENCE },
    persistence: { accessModes: ['ReadWriteMany'] },
    ingress: { enabled: true, host: 'ci.example.com', tlsSecret: 'tls' },
  })
  expect(kinds(several)).toEqual(
    expect.arrayContaining(['Ingress/cf-runtime-windlass', 'PodDisruptionBudget/cf-runtime-windlass']),
  )
  expect(one(several, 'Deployment')).toMatchObject({ spec: { strategy: { type: 'RollingUpdate' } } })
  expect(env(pod(several, 'Deployment', ''))['WINDLASS_SERVER_ADVERTISED_URL']).toBe('https://ci.example.com')
  const single = await renderServer()
  expect(one(single, 'Deployment')).toMatchObject({ spec: { strategy: { type: 'Recreate' } } })
  expect(one(single, 'PersistentVolumeClaim').metadata).toMatchObject({ annotations: { 'helm.sh/resource-policy': 'keep' } })
})
