/** What the charts render and refuse, for any cloud: names, permissions, Pod Security, registries, secrets, values of cf-runtime. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { RuntimeInput } from '../../../packages/protocol/src/index.ts'
import { VERSION } from '../../../packages/plan/src/version.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { env, kinds, one, pod, pods, runtime, runtimes, unrestricted, valuesOf } from './render.ts'

const root = join(import.meta.dirname, '../../..')
const REFERENCE = { name: 'key', key: 'key' }
const GLOBAL = { codefreshHost: 'https://windlass.example.com/', codefreshTokenSecretKeyRef: REFERENCE, context: 'prod' }
/** All optional parts, with cloud disks. */
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

test('both charts pass the linter, and values are validated against the schema (R059)', async () => {
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
  { ebs: { volumeType: 'gp2', iops: 100 }, says: 'has no effect for gp2' },
  { ebs: { volumeType: 'gp3', iops: '2999' }, says: 'from 3000 to 16000' },
  { ebs: { volumeType: 'gp3', iops: 16_001 }, says: 'from 3000 to 16000' },
  { ebs: { volumeType: 'gp3', throughput: '124' }, says: 'from 125 to 1000' },
  { ebs: { volumeType: 'gp3', throughput: 1001 }, says: 'throughput' },
  { ebs: { volumeType: 'io1', throughput: 200 }, says: 'only for gp3' },
  { ebs: { volumeType: 'st1' }, says: 'volumeType' },
  { ebs: { availabilityZone: '' }, says: 'belong to one zone' },
  { ebs: { volumeType: 'gp3', iops: 'many' }, says: 'iops' },
])('refuses disks that AWS does not offer: $ebs (R090)', async ({ ebs, says }) => {
  expect(await refusal({ storage: { backend: 'ebs', ebs } })).toContain(says)
})

test('class and provisioner are named after the namespace; with hashedName a change creates another class (R081, R089)', async () => {
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

test('agent and runtime are named after context and namespace, so that two installations do not collide (R045)', async () => {
  const a = runtime(await render())
  const b = runtime(await render({ global: { context: 'staging' } }))
  expect(a).toMatchObject({ metadata: { name: 'prod/codefresh' }, spec: { agent: 'prod_codefresh' } })
  expect(b).toMatchObject({ metadata: { name: 'staging/codefresh' }, spec: { agent: 'staging_codefresh' } })
})

test('every pod is restricted except those in the README, and none mounts the socket of a node (R003, R058)', async () => {
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
/** Returns rules with sorted keys and lists, as text for comparison. */
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

test('agent and provisioner have only the rules of their packages and those of the values (R058)', async () => {
  const objects = await render({ runner: { rbac: { rules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }] } } })
  const agent = rules(one(objects, 'Role', 'runner')['rules'])
  const own = rulesOfFile('packages/agent/rbac/role.yaml', 'Role')
  expect(agent).toEqual(expect.arrayContaining(own))
  // For its token, and from the values.
  expect(agent.filter((rule) => !own.includes(rule))).toEqual([
    '{"apiGroups":[""],"resourceNames":["cf-runtime-runner"],"resources":["secrets"],"verbs":["get","patch"]}',
    '{"apiGroups":[""],"resources":["services"],"verbs":["list"]}',
    '{"apiGroups":["apps"],"resourceNames":["cf-runtime-runner"],"resources":["deployments"],"verbs":["get"]}',
  ])
  expect(rules(one(objects, 'ClusterRole', 'runner-codefresh')['rules'])).toEqual([
    '{"apiGroups":[""],"resources":["nodes"],"verbs":["get","list"]}',
    '{"apiGroups":[""],"resources":["persistentvolumes"],"verbs":["get","list","patch"]}',
    '{"apiGroups":["storage.k8s.io"],"resources":["storageclasses"],"verbs":["get"]}',
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

test('the hooks may access only their own Secrets', async () => {
  const objects = await render()
  expect(rules(one(objects, 'Role', '-cleanup')['rules'])).toEqual([
    '{"apiGroups":[""],"resourceNames":["cf-runtime-runner","codefresh-certs-server"],"resources":["secrets"],"verbs":["delete","get"]}',
  ])
  expect(named(objects, 'Role').filter((name) => name.includes('patch'))).toEqual([])
  expect(pod(objects, 'Job', 'runtime-patch')).toMatchObject({ automountServiceAccountToken: false })
  for (const kind of ['Role', 'ClusterRole'])
    for (const name of named(objects, kind)) expect(JSON.stringify(one(objects, kind, name)['rules'])).not.toContain('"*"')
})

test('with references the chart renders no Secret, and no secret is in a pod or on a command line (R060)', async () => {
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
  const server = await renderServer({
    masterKey: { secretKeyRef: REFERENCE },
    bootstrap: { codeSecretKeyRef: REFERENCE },
    database: { urlSecretKeyRef: REFERENCE },
  })
  expect(named(server, 'Secret')).toEqual([])
})

test('metrics of the server are served on a separate port if enabled', async () => {
  expect(JSON.stringify(pod(await renderServer(), 'Deployment', ''))).not.toContain('METRICS_PORT')
  const from = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }]
  const objects = await renderServer({ metrics: { enabled: true }, networkPolicy: { enabled: true, metricsFrom: from } })
  expect(env(pod(objects, 'Deployment', ''))).toMatchObject({ WINDLASS_SERVER_METRICS_PORT: '9090' })
  expect(one(objects, 'NetworkPolicy')['spec']).toMatchObject({
    ingress: [{ ports: [{ port: 8080 }] }, { ports: [{ port: 9090 }], from }],
  })
})

test('the code of the first admin is in a separate Secret, mounted as a file', async () => {
  const [own, again] = [await renderServer(), await renderServer()]
  const secret = one(own, 'Secret', '-bootstrap')
  const { code } = z.object({ code: z.base64().min(40) }).parse(secret['data'])
  expect(one(again, 'Secret', '-bootstrap')['data']).not.toEqual({ code })
  const { containers, volumes } = pod(own, 'Deployment', '')
  expect(containers[0]?.env).toContainEqual({
    name: 'WINDLASS_SERVER_BOOTSTRAP_CODE_FILE',
    value: '/etc/windlass/bootstrap/code',
  })
  expect(volumes).toContainEqual(
    expect.objectContaining({
      name: 'bootstrap',
      secret: { secretName: secret.metadata.name, items: [{ key: 'code', path: 'code' }] },
    }),
  )
})

test('a registry in the values is prepended to every image, including those of builds (R072, R052)', async () => {
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
  const own = await render({ image: { digest: 'sha256:abc' }, runner: { image: { digest: 'sha256:def' } } })
  expect(pod(own, 'Deployment', 'runner').containers[0]?.image).toBe('windlass/windlass@sha256:def')
})

test('proxies and CAs reach every container, the engine and the daemon (R061, R063)', async () => {
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

test('local disks have a monitor on each node, cloud disks have jobs in both modes (R110, R115)', async () => {
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

test('Prometheus monitors, the event exporter, policies, budgets and additional objects are rendered if enabled (R056)', async () => {
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

test('the patch can be turned off, reports by default and applies if configured (R050)', async () => {
  const off = kinds(await render({ runtime: { patch: { enabled: false } } }))
  expect(off.filter((name) => name.includes('patch'))).toEqual([])
  const command = async (mode: string): Promise<unknown> =>
    pod(await render({ runtime: { patch: { cronjob: { enabled: true, mode } } } }), 'CronJob', 'runtime-patch').containers[0]
  expect(await command('report')).toMatchObject({ command: expect.arrayContaining(['diff-runtime']) })
  expect(await command('apply')).toMatchObject({ command: expect.arrayContaining(['apply-runtime']) })
  expect(await refusal({ global: { codefreshTokenSecretKeyRef: null } })).toContain('runtime.patch requires an API key')
})

test('one agent works at a time: an update ends the old one first, and there are no other replicas', async () => {
  const objects = await render({ runner: { replicasCount: 3 } })
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } }
  expect(one(objects, 'Deployment', 'runner')).toMatchObject({ spec: { replicas: 1, strategy } })
  expect(one(objects, 'Deployment', 'volume-provisioner')).toMatchObject({ spec: { strategy: { type: 'Recreate' } } })
})

const DIND_TOLERATION = { key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }

/** Returns the placements that the agent of a release allows. */
async function placements(...values: object[]): Promise<unknown> {
  return JSON.parse(String(env(pod(await render(...values), 'Deployment', 'runner'))['WINDLASS_AGENT_PLACEMENTS']))
}

test("the agent's policy allows everything in the values", async () => {
  const objects = await render({
    global: { env: { TEAM: 'north' } },
    runner: {
      policy: { secrets: ['mirror'], pullSecrets: ['login'], privilegedImages: ['windlass/dind-rootless'], labels: ['cost'] },
    },
    runtime: {
      dind: {
        env: { DEBUG: '1' },
        podLabels: { team: 'north' },
        resources: { limits: { 'nvidia.com/gpu': '1' } },
        pvcs: { dind: { annotations: { 'codefresh.io/volume-retention': '7d' } } },
        userVolumes: { npm: { secret: { secretName: 'npm' } }, share: { nfs: { server: 'x', path: '/' } } },
        volumes: { images: { hostPath: { path: '/images' } }, maven: { persistentVolumeClaim: { claimName: 'maven' } } },
      },
      engine: { userEnvVars: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'team', key: 'a' } } }] },
    },
    extraRuntimes: { large: { name: 'system/large', dind: { pvcs: { dind: { storageClassName: 'large' } } } } },
  })
  const settings = env(pod(objects, 'Deployment', 'runner'))
  expect(settings).toMatchObject({
    WINDLASS_AGENT_POLICY: 'strict',
    WINDLASS_AGENT_SERVICE_ACCOUNTS: 'codefresh-dind,codefresh-engine',
    WINDLASS_AGENT_ALLOWED_SECRETS: 'mirror,npm,team',
    WINDLASS_AGENT_ALLOWED_PULL_SECRETS: 'login',
    WINDLASS_AGENT_ALLOWED_CLAIMS: 'maven',
    WINDLASS_AGENT_ALLOWED_HOST_PATHS: '/images',
    WINDLASS_AGENT_ALLOWED_VOLUMES: 'nfs',
    WINDLASS_AGENT_ALLOWED_LABELS: 'cost,team',
    WINDLASS_AGENT_ALLOWED_RESOURCES: 'nvidia.com/gpu',
    WINDLASS_AGENT_STORAGE_CLASSES: 'dind-local-volumes-runner-codefresh,large',
    WINDLASS_AGENT_PRIVILEGED_IMAGES: 'windlass/dind-rootless,windlass/dind',
    WINDLASS_AGENT_OWN_RUNTIMES: 'prod/codefresh',
  })
  expect(settings['WINDLASS_AGENT_ALLOWED_ANNOTATIONS']).toBe(
    'codefresh.io/volume-retention,cluster-autoscaler.kubernetes.io/safe-to-evict,karpenter.sh/do-not-disrupt',
  )
  expect(settings['WINDLASS_AGENT_DAEMON_VARIABLES']).toMatch(/^TEAM,CLEAN_DOCKER,.*,DEBUG,/)
  expect(settings).not.toHaveProperty('WINDLASS_AGENT_APP_PROXIES')
})

test('the agent allows the placements of the runtimes, each as a whole, and those of the policy', async () => {
  expect(await placements()).toEqual([{}, { tolerations: [DIND_TOLERATION] }])
  const pool = { pool: 'builds' }
  expect(await placements({ runtime: { engine: { nodeSelector: pool }, dind: { tolerations: [] } } })).toEqual([
    { nodeSelector: pool },
    { nodeSelector: pool, tolerations: [DIND_TOLERATION] },
  ])
  const spot = { key: 'spot', operator: 'Exists' }
  const own = {
    runner: { policy: { placements: [{ nodeSelector: { pool: 'own' } }] } },
    runtime: {
      dind: { nodeSelector: { pool: 'daemons' }, tolerations: [spot], affinity: { podAntiAffinity: {} }, schedulerName: 'other' },
    },
    extraRuntimes: { large: { name: 'system/large', engine: { nodeSelector: { pool: 'large' } } } },
  }
  const daemons = { tolerations: [spot], affinity: { podAntiAffinity: {} }, schedulerName: 'other' }
  expect(await placements(own)).toEqual([
    { nodeSelector: { pool: 'own' } },
    {},
    { nodeSelector: { pool: 'daemons' }, ...daemons },
    { nodeSelector: { pool: 'large' } },
  ])
})

test('the agent allows a daemon with a digest by its digest, others by their repository', async () => {
  const images = async (image: object): Promise<unknown> =>
    env(pod(await render({ runtime: { dind: { image } } }), 'Deployment', 'runner'))['WINDLASS_AGENT_PRIVILEGED_IMAGES']
  const digest = `sha256:${'a'.repeat(64)}`
  expect(await images({ registry: 'registry.example.com:5000' })).toBe('registry.example.com:5000/windlass/dind')
  expect(await images({ tag: '9' })).toBe('windlass/dind')
  expect(await images({ repository: 'ci/dind', digest })).toBe(`ci/dind@${digest}`)
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

test('agentless runtimes have accounts and no agent; their names begin with system/ and differ (R055)', async () => {
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
  expect(await refusal({ runtime: { agent: false } })).toContain('must begin with system/')
  expect(await refusal({ extraRuntimes: { a: { name: 'mine' } } })).toContain('must begin with system/')
})

test('several servers with logs in S3 and PostgreSQL need no volume', async () => {
  const logs = { url: 's3://logs/ci?region=eu-central-1' }
  const several = await renderServer({ replicas: 2, database: { urlSecretKeyRef: REFERENCE }, logs })
  expect(kinds(several).filter((name) => name.startsWith('PersistentVolumeClaim/'))).toEqual([])
  expect(env(pod(several, 'Deployment', ''))['WINDLASS_SERVER_LOGS_URL']).toBe(logs.url)
  expect(pod(several, 'Deployment', '')).toMatchObject({ volumes: expect.arrayContaining([{ name: 'data', emptyDir: {} }]) })
  // SQLite needs its volume.
  expect(kinds(await renderServer({ logs }))).toContain('PersistentVolumeClaim/cf-runtime-windlass')
})

test('several servers require PostgreSQL and a shared volume; Ingress and TLS determine the URL', async () => {
  const server = (values: object): Promise<string> => renderServer(values).then(() => 'rendered', String)
  expect(await server({ replicas: 2 })).toContain('requires PostgreSQL')
  expect(await server({ replicas: 2, database: { url: 'postgres://x' } })).toContain('requires a shared volume')
  expect(await server({ replicas: 2, database: { url: 'postgres://x' }, persistence: { enabled: false } })).toContain(
    'requires a shared volume',
  )
  const several = await renderServer({
    replicas: 2,
    database: { urlSecretKeyRef: REFERENCE },
    persistence: { accessModes: ['ReadWriteMany'] },
    ingress: { enabled: true, host: 'ci.example.com', tlsSecret: 'tls' },
  })
  expect(kinds(several)).toEqual(
    expect.arrayContaining(['Ingress/cf-runtime-windlass', 'PodDisruptionBudget/cf-runtime-windlass']),
  )
  expect(one(several, 'Deployment')).toMatchObject({
    spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
  })
  expect(env(pod(several, 'Deployment', ''))['WINDLASS_SERVER_ADVERTISED_URL']).toBe('https://ci.example.com')
  const single = await renderServer()
  expect(one(single, 'Deployment')).toMatchObject({ spec: { strategy: { type: 'Recreate' } } })
  expect(one(single, 'PersistentVolumeClaim').metadata).toMatchObject({ annotations: { 'helm.sh/resource-policy': 'keep' } })
})

test.each(['embedded', 'replicas'])('the chart of the server renders the same objects for %s.yaml', async (name) => {
  const values = parse(readFileSync(join(import.meta.dirname, 'server', `${name}.yaml`), 'utf8'))
  const objects = await renderServer(values)
  expect(named(objects, 'Secret')).toEqual([])
  const text = objects.map((object) => JSON.stringify(object, null, 2).replaceAll(VERSION, 'VERSION')).join('\n')
  await expect(`${text}\n`).toMatchFileSnapshot(`server/${name}.golden`)
})

test('the chart of the server refuses secrets as values, and accepts references to them', async () => {
  const server = (values: object): Promise<string> => renderServer(values).then(() => 'rendered', String)
  for (const key of ['MASTER_KEY', 'DATABASE_URL', 'BOOTSTRAP_CODE']) {
    expect(await server({ settings: { [key]: 'secret' } })).toContain(`settings.${key} is a secret`)
    expect(await server({ env: { [`WINDLASS_SERVER_${key}`]: 'secret' } })).toContain(`env.WINDLASS_SERVER_${key} is a secret`)
  }
  expect(await server({ env: { AWS_SECRET_ACCESS_KEY: 'secret' } })).toContain('env.AWS_SECRET_ACCESS_KEY is a secret')
  expect(await server({ env: { AWS_SECRET_ACCESS_KEY: { valueFrom: { secretKeyRef: REFERENCE } } } })).toBe('rendered')
  for (const url of ['postgres://me:secret@db/windlass', 'postgres://db/windlass?password=secret'])
    expect(await server({ database: { url } })).toContain('/database/url')
  expect(await server({ database: { url: 'postgres://me@db/windlass?sslmode=verify-full' } })).toBe('rendered')
})

test('a ServiceMonitor selects the Service of the metrics, and requires metrics', async () => {
  const enabled = { serviceMonitor: { enabled: true } }
  await expect(renderServer(enabled)).rejects.toThrow('serviceMonitor.enabled requires metrics.enabled')
  const objects = await renderServer({ ...enabled, metrics: { enabled: true } })
  const selector = z
    .object({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }) })
    .parse(one(objects, 'ServiceMonitor')['spec']).selector.matchLabels
  const labels = (name: string): object =>
    z.object({ labels: z.looseObject({}) }).parse(one(objects, 'Service', name).metadata).labels
  expect(labels('-metrics')).toMatchObject(selector)
  expect(labels('-windlass')).not.toMatchObject(selector)
})
