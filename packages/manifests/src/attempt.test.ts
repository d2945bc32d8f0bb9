import { RuntimeSpec, type KubeObject } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { renderAttempt, type AttemptInput } from './attempt.ts'

const certificates = { ca: 'CA', serverCert: 'SERVER', serverKey: 'SERVER-KEY', clientCert: 'CLIENT', clientKey: 'CLIENT-KEY' }

function input(changes: Partial<AttemptInput> = {}, spec: unknown = {}): AttemptInput {
  return {
    buildId: '65a1b2c3d4e5f60718293a4b',
    attempt: 1,
    runtime: { name: 'team/eu-west', spec: RuntimeSpec.parse(spec) },
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

test('R120: the objects of a first attempt are these', async () => {
  await expect(JSON.stringify(renderAttempt(input()), null, 2)).toMatchFileSnapshot('golden/first-attempt.golden')
})

test('R181, R184, R185, R187, R189, R191, R192, R193: the settings of a runtime reach the objects', async () => {
  const spec = {
    runtimeScheduler: {
      image: 'registry.example.com/windlass:2',
      imagePullPolicy: 'Always',
      cluster: { namespace: 'ci', serviceAccount: 'builder', nodeSelector: { pool: 'builds' } },
      resources: { requests: { cpu: '200m' }, limits: { memory: '1Gi' } },
      envVars: { HTTP_PROXY: 'http://proxy:3128' },
      tolerations: [{ key: 'builds', operator: 'Exists' }],
      labels: { team: 'eu', app: 'mine' },
      annotations: { note: 'engine' },
    },
    dockerDaemonScheduler: {
      dindImage: 'registry.example.com/dind:2',
      envVars: { CLEAN_PERIOD_BUILDS: '5' },
      defaultDindResources: { limits: { memory: '4Gi' } },
      annotations: { note: 'dind' },
      schedulerName: 'other',
      pvcs: { dind: { storageClassName: 'fast', volumeSize: '30Gi', annotations: { 'codefresh.io/volume-retention': '7d' } } },
    },
  }
  await expect(JSON.stringify(renderAttempt(input({}, spec)), null, 2)).toMatchFileSnapshot('golden/runtime-settings.golden')
})

test('P182: keys of the cluster reach the engine by reference, under names that cannot change what it does', () => {
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

test('later attempts have names of their own, so that nothing of an older one is taken for theirs', () => {
  const { objects } = renderAttempt(input({ attempt: 3 }))
  const id = '65a1b2c3d4e5f60718293a4b-retry-2'
  expect(objects.map(({ metadata }) => metadata.name)).toEqual([`engine-${id}`, `pvc-dind-${id}`, `dind-${id}`, `engine-${id}`])
  for (const { metadata } of objects) expect(metadata.labels?.['windlass.io/attempt']).toBe('3')
})

test('R252: every object carries account, pipeline, build and attempt as valid label values', () => {
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

test('labels of a runtime do not replace those that others select by', () => {
  const { objects } = renderAttempt(input({}, { runtimeScheduler: { labels: { app: 'mine', 'windlass.io/build': 'x' } } }))
  expect(ofKind(objects, 'Pod', 'runtime').metadata.labels).toMatchObject({ 'windlass.io/build': '65a1b2c3d4e5f60718293a4b' })
})

test('R241: credential and keys stand in the Secret and nowhere else', () => {
  const { objects } = renderAttempt(input())
  const others = JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret'))
  for (const secret of ['BOOTSTRAP-SECRET', 'SERVER-KEY', 'CLIENT-KEY']) expect(others).not.toContain(secret)
  expect(JSON.stringify(ofKind(objects, 'Secret'))).toContain('BOOTSTRAP-SECRET')
})

test('the engine pod keeps to the restricted Pod Security Standard; only dind is privileged', () => {
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

test('the disk is asked for by the keys of the runtime, and a fresh one when the build says so', () => {
  expect(renderAttempt(input({ resetVolume: true })).disk).toMatchObject({
    sizeBytes: 16 * 2 ** 30,
    selector: ['codefresh-app', 'io.codefresh.accountName'],
    sortOrder: ['pipeline_id'],
    labels: { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme' },
    reset: true,
  })
})
