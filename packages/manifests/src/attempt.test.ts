import {
  BASE_LAYERS,
  completeSpec,
  DEFAULT_PARENT,
  layersOf,
  mergeAll,
  RuntimeLayerInput,
  type KubeObject,
  type RuntimeSpec,
} from '@windlass/protocol'
import { expect, test } from 'vitest'
import { renderAttempt } from './attempt.ts'
import type { AttemptInput } from './attempt-input.ts'

const certificates = { ca: 'CA', serverCert: 'SERVER', serverKey: 'SERVER-KEY', clientCert: 'CLIENT', clientKey: 'CLIENT-KEY' }

/** Returns the specification of a runtime over the system layers. */
function specOf(written: object): RuntimeSpec {
  const layer = { extends: [DEFAULT_PARENT], ...RuntimeLayerInput.parse(written) }
  const found = layersOf({ name: 'team/eu-west', layer }, (name) => BASE_LAYERS[name])
  if ('problem' in found) throw new Error(found.problem)
  return completeSpec(mergeAll(found.layers))
}

function input(changes: Partial<AttemptInput> = {}, spec: object = {}): AttemptInput {
  return {
    buildId: '65a1b2c3d4e5f60718293a4b',
    attempt: 1,
    runtime: { name: 'team/eu-west', spec: specOf(spec) },
    account: 'acme',
    pipelineId: '65a1b2c3d4e5f60718293a4c',
    projectId: '65a1b2c3d4e5f60718293a4d',
    trigger: 'manual',
    branch: 'feature/new parser',
    serverUrl: 'https://windlass.example.com',
    bootstrap: 'BOOTSTRAP-SECRET',
    certificates,
    now: 1_700_000_000_000,
    ...changes,
  }
}

function ofKind(objects: readonly KubeObject[], kind: string, app?: string): KubeObject {
  const found = objects.find((object) => object.kind === kind && (app === undefined || object.metadata.labels?.['app'] === app))
  if (found === undefined) throw new Error(`no ${kind}`)
  return found
}

test('renders the objects of a first attempt (R120)', async () => {
  await expect(JSON.stringify(renderAttempt(input()), null, 2)).toMatchFileSnapshot('golden/first-attempt.golden')
})

const EVERY_FIELD = {
  extends: ['system/default/hybrid/k8s'],
  runtimeScheduler: {
    type: 'KubernetesPod',
    image: 'registry.example.com/windlass:2',
    imagePullPolicy: 'Always',
    imagePullSecrets: 'registry-login',
    command: ['node', 'other.ts'],
    cluster: {
      clusterProvider: { accountId: 'a', selector: 'team-eu' },
      namespace: 'ci',
      serviceAccount: 'builder',
      nodeSelector: { pool: 'engines' },
    },
    resources: { requests: { cpu: '200m' }, limits: { cpu: null, memory: '1Gi' } },
    envVars: { HTTPS_PROXY: 'http://proxy:3128', no_proxy: '10.0.0.0/8', DEBUGGER_TIMEOUT: 1, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    userEnvVars: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'team', key: 'token' } } }],
    tolerations: [{ key: 'builds', operator: 'Exists' }],
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
    annotations: { note: 'engine', 'karpenter.sh/do-not-disrupt': null },
    labels: { team: 'eu', app: 'mine' },
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['10.0.0.53'] },
    schedulerName: 'other',
    terminationGracePeriodSeconds: 60,
    volumes: [{ name: 'extra', emptyDir: {} }],
    volumeMounts: [{ name: 'extra', mountPath: '/extra' }],
    internalInfra: false,
  },
  dockerDaemonScheduler: {
    type: 'DindPodPvc',
    dindImage: 'registry.example.com/dind:2',
    imagePullPolicy: 'Never',
    userAccess: false,
    envVars: { CLEAN_PERIOD_BUILDS: '7', HTTP_PROXY: 'http://proxy:3128' },
    cluster: { namespace: 'ci', serviceAccount: 'daemon', nodeSelector: { pool: 'daemons' } },
    defaultDindResources: { requests: '', limits: { memory: '4Gi' } },
    tolerations: { spot: { key: 'spot', operator: 'Exists' } },
    affinity: { podAntiAffinity: {} },
    annotations: { note: 'dind' },
    labels: { 'spotinst.io/restrict-scale-down': 'true' },
    schedulerName: 'other',
    dnsPolicy: 'Default',
    dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
    terminationGracePeriodSeconds: 120,
    initContainers: [{ name: 'own', image: 'busybox', command: ['chown', '-R', '1000', '/var/lib/docker'] }],
    userVolumes: { team: { name: 'team-cache', persistentVolumeClaim: { claimName: 'team-cache' } } },
    userVolumeMounts: { team: { name: 'team-cache', mountPath: '/cache', readOnly: true } },
    volumes: {
      shm: { emptyDir: { medium: 'Memory' } },
      'codefresh-certs-server': { secret: { secretName: 'codefresh-certs-server' } },
    },
    volumeMounts: { shm: { mountPath: '/dev/shm' }, 'codefresh-certs-server': { mountPath: '/etc/ssl/cf' } },
    pvc: [
      {
        name: 'dind',
        storageClassName: 'fast',
        volumeSize: '30Gi',
        reuseVolumeSelector: 'codefresh-app,io.codefresh.accountName,pipeline_id',
        reuseVolumeSortOrder: 'io.codefresh.branch_name',
        annotations: { 'codefresh.io/volume-retention': '7d' },
      },
    ],
  },
}

test('passes every setting of a runtime to the objects (R120, R062, R154, R181, R184, R185, R186, R187, R189, R190, R191, R192, R193, R255)', async () => {
  await expect(JSON.stringify(renderAttempt(input({}, EVERY_FIELD)), null, 2)).toMatchFileSnapshot(
    'golden/runtime-settings.golden',
  )
})

test('renders for protocol v1 a claim and two pods, the credential in the environment and the certificate of the namespace (R120)', async () => {
  const rendered = renderAttempt(input({ protocol: 'v1', serverCa: 'SERVER-CA' }, EVERY_FIELD))
  expect(rendered.objects.map(({ kind }) => kind)).toEqual(['PersistentVolumeClaim', 'Pod', 'Pod'])
  const text = JSON.stringify(rendered, null, 2)
  for (const secret of ['SERVER-KEY', 'CLIENT-KEY', Buffer.from('CLIENT-KEY').toString('base64')])
    expect(text).not.toContain(secret)
  await expect(text).toMatchFileSnapshot('golden/first-attempt-v1.golden')
})

test('renders a rootless daemon with its security contexts and its disk at the right path', () => {
  const dind = {
    podSecurityContext: { fsGroup: 1000 },
    containerSecurityContext: { privileged: true, runAsUser: 1000, runAsGroup: 1000 },
    volumeMounts: { dind: { mountPath: '/home/rootless/.local/share/docker' } },
  }
  const { objects } = renderAttempt(input({}, { dockerDaemonScheduler: dind }))
  const spec = ofKind(objects, 'Pod', 'dind')['spec']
  expect(spec).toMatchObject({
    securityContext: { fsGroup: 1000 },
    containers: [{ securityContext: { privileged: true, runAsUser: 1000, runAsGroup: 1000 } }],
  })
  expect(JSON.stringify(spec)).not.toContain('/var/lib/docker')
  expect(JSON.stringify(spec)).toContain('{"mountPath":"/home/rootless/.local/share/docker","name":"dind"}')
})

test('sets the requests of the daemon to its limits if configured', () => {
  const dockerDaemonScheduler = {
    requestsEqualLimits: true,
    defaultDindResources: { requests: { cpu: '400m', memory: '800Mi' }, limits: { cpu: '2', memory: '4Gi' } },
  }
  const { objects } = renderAttempt(input({}, { dockerDaemonScheduler }))
  const both = { cpu: '2', memory: '4Gi' }
  expect(ofKind(objects, 'Pod', 'dind')['spec']).toMatchObject({ containers: [{ resources: { requests: both, limits: both } }] })
})

test('requests 400m and 800Mi for the daemon by default and keeps autoscalers from evicting the pods (R079, R154)', () => {
  const { objects } = renderAttempt(input())
  expect(ofKind(objects, 'Pod', 'dind')['spec']).toMatchObject({
    containers: [{ resources: { requests: { cpu: '400m', memory: '800Mi' } } }],
  })
  for (const app of ['dind', 'runtime'])
    expect(ofKind(objects, 'Pod', app).metadata['annotations']).toMatchObject({
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
    })
})

test('places the builds of two runtimes by their node selectors (R080)', () => {
  const pools = ['ready', 'burst'].map((pool) => {
    const { objects } = renderAttempt(input({}, { runtimeScheduler: { cluster: { nodeSelector: { pool } } } }))
    return ['dind', 'runtime'].map((app) =>
      JSON.stringify(ofKind(objects, 'Pod', app)['spec']).includes(`"nodeSelector":{"pool":"${pool}"}`),
    )
  })
  expect(pools.flat()).toEqual([true, true, true, true])
})

test('passes keys of the cluster to the engine by reference, under names that cannot change its behavior (P182)', () => {
  const secretKeyRef = { name: 'team', key: 'token' }
  const userEnvVars = [
    { name: 'PLAIN', value: 'in the plan already' },
    { name: 'DOCKER_HOST', valueFrom: { secretKeyRef } },
    { name: 'ZONE', valueFrom: { configMapKeyRef: { name: 'zones', key: 'here' } } },
  ]
  const { objects } = renderAttempt(input({}, { runtimeScheduler: { userEnvVars } }))
  const pod = JSON.stringify(ofKind(objects, 'Pod', 'runtime').spec)
  expect(pod).toContain(JSON.stringify({ name: 'WINDLASS_USER_SECRET_DOCKER_HOST', valueFrom: { secretKeyRef } }))
  expect(pod).toContain('"name":"WINDLASS_USER_VARIABLE_ZONE"')
  expect(pod).not.toContain('PLAIN')
})

test('gives later attempts different names, so that objects of an older one are not mistaken for theirs', () => {
  const { objects } = renderAttempt(input({ attempt: 3 }))
  const id = '65a1b2c3d4e5f60718293a4b-retry-2'
  expect(objects.map(({ metadata }) => metadata.name)).toEqual([`engine-${id}`, `pvc-dind-${id}`, `dind-${id}`, `engine-${id}`])
  for (const { metadata } of objects) expect(metadata.labels?.['windlass.io/attempt']).toBe('3')
})

test('labels every object with account, pipeline, build and attempt as valid label values (R252)', () => {
  for (const { metadata } of renderAttempt(input()).objects) {
    expect(metadata.labels).toMatchObject({
      'io.codefresh.accountName': 'acme',
      pipeline_id: '65a1b2c3d4e5f60718293a4c',
      'io.codefresh.branch_name': 'feature-new-parser',
      'windlass.io/build': '65a1b2c3d4e5f60718293a4b',
      'windlass.io/runtime': 'team-eu-west',
    })
    for (const value of Object.values(metadata.labels ?? {}))
      expect(value).toMatch(/^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/)
  }
})

test('does not let labels of a runtime replace those used in selectors', () => {
  const { objects } = renderAttempt(input({}, { runtimeScheduler: { labels: { app: 'mine', 'windlass.io/build': 'x' } } }))
  expect(ofKind(objects, 'Pod', 'runtime').metadata.labels).toMatchObject({ 'windlass.io/build': '65a1b2c3d4e5f60718293a4b' })
})

test('stores credential and keys only in the Secret (R241)', () => {
  const { objects } = renderAttempt(input())
  const others = JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret'))
  for (const secret of ['BOOTSTRAP-SECRET', 'SERVER-KEY', 'CLIENT-KEY']) expect(others).not.toContain(secret)
  expect(JSON.stringify(ofKind(objects, 'Secret'))).toContain('BOOTSTRAP-SECRET')
})

test('keeps the engine pod within the restricted Pod Security Standard; only dind is privileged', () => {
  const { objects } = renderAttempt(input())
  expect(ofKind(objects, 'Pod', 'runtime')['spec']).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      { securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
    ],
  })
  expect(ofKind(objects, 'Pod', 'dind')['spec']).toMatchObject({
    automountServiceAccountToken: false,
    containers: [{ securityContext: { privileged: true } }],
  })
})

test('requests the disk by the keys of the runtime, and an empty one if the build asks for it', () => {
  expect(renderAttempt(input({ resetVolume: true })).disk).toMatchObject({
    sizeBytes: 16 * 2 ** 30,
    selector: ['codefresh-app', 'io.codefresh.accountName'],
    sortOrder: ['pipeline_id'],
    labels: { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme' },
    reset: true,
  })
})
