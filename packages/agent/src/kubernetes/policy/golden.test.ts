/** Objects that the server renders for the documented runtimes are allowed; each setting of the agent allows what it says, and no more. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KubeObject, type StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import {
  changed,
  objectOf,
  policyWith,
  protocolV1RefusalsOf,
  refusalsOf,
  startTask,
} from '../../../test/support/attempt-objects.ts'

const golden = join(import.meta.dirname, '../../../../manifests/src/golden')

/** Reads the objects of a golden file as a start task. */
function readGolden(name: string): StartTask {
  const { objects, disk } = JSON.parse(readFileSync(join(golden, `${name}.golden`), 'utf8')) as Pick<
    StartTask,
    'objects' | 'disk'
  >
  return { ...startTask(), objects: objects.map((object) => KubeObject.parse(object)), disk }
}

/** Settings that allow the runtime of the golden file with every field. */
const BUILDS = { key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }
const EVERY_SETTING = {
  SERVICE_ACCOUNTS: 'builder,daemon',
  PRIVILEGED_IMAGES: 'registry.example.com/dind:2',
  STORAGE_CLASSES: 'fast',
  PLACEMENTS: JSON.stringify([
    {
      nodeSelector: { pool: 'engines' },
      tolerations: [{ key: 'builds', operator: 'Exists' }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      schedulerName: 'other',
    },
    {
      nodeSelector: { pool: 'daemons' },
      tolerations: [{ key: 'spot', operator: 'Exists' }, BUILDS],
      affinity: { podAntiAffinity: {} },
      schedulerName: 'other',
    },
  ]),
  ALLOWED_SECRETS: 'team',
  ALLOWED_PULL_SECRETS: 'registry-login',
  ALLOWED_CLAIMS: 'team-cache',
  ALLOWED_LABELS: 'team,spotinst.io/*',
  ALLOWED_ANNOTATIONS: 'note',
}

test('allows the objects of a first attempt without any settings', () => {
  expect(refusalsOf(readGolden('first-attempt'), policyWith({}, ['windlass']))).toEqual([])
})

test('allows a runtime with every field if the settings allow its parts, by protocol v2 and v1', () => {
  const policy = policyWith(EVERY_SETTING, ['ci'])
  expect(refusalsOf(readGolden('runtime-settings'), policy)).toEqual([])
  expect(protocolV1RefusalsOf(readGolden('first-attempt-v1'), policy)).toEqual([])
})

/** Returns the paths of all mappings in a value. */
function mappingsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.entries(value).flatMap(([key, field]) => mappingsOf(field, [...path, key]))
  return Array.isArray(value) ? below : [path, ...below]
}

test('refuses an unknown field at any place of an object', () => {
  const policy = policyWith(EVERY_SETTING, ['ci'])
  for (const name of ['runtime-settings', 'first-attempt-v1']) {
    const task = readGolden(name)
    const roles =
      name === 'runtime-settings' ? (['secret', 'claim', 'dind', 'engine'] as const) : (['claim', 'dind', 'engine'] as const)
    for (const role of roles) {
      const paths = mappingsOf(objectOf(task.objects, role))
      expect(paths.length).toBeGreaterThan(3)
      for (const path of paths) {
        const hostile = changed(task, role, [...path, 'futureField'], 'x')
        const refusals =
          role === 'secret' || name === 'runtime-settings' ? refusalsOf(hostile, policy) : protocolV1RefusalsOf(hostile, policy)
        expect(refusals.length, `${name} ${role} ${path.join('.')}`).toBeGreaterThan(0)
      }
    }
  }
})

test.each(Object.keys(EVERY_SETTING))('refuses the runtime with every field without %s, and names the setting', (setting) => {
  const { [setting]: _, ...rest } = EVERY_SETTING as Record<string, string>
  const task = readGolden('runtime-settings')
  const refusals = refusalsOf(task, policyWith(rest, ['ci']))
  expect(refusals.length).toBeGreaterThan(0)
  for (const refusal of refusals) expect(refusal).toContain(`WINDLASS_AGENT_${setting} `)
})

test('allows later attempts, warm pairs, servers with a private CA, debug ports and secret stores', () => {
  const stores = [
    { folder: '/run/stores/a', resourceType: 'secret' as const, resourceName: 'vault' },
    { folder: '/run/stores/b', resourceType: 'configmap' as const, resourceName: 'settings' },
  ]
  const policy = policyWith({ ALLOWED_SECRETS: 'vault' })
  const metrics = { runtimeScheduler: { envVars: { METRICS_PROMETHEUS_ENABLED: 'true' } } }
  for (const input of [{ attempt: 4 }, { isWarm: true }, { serverCa: 'CA' }, { stores }, { resetVolume: true }])
    expect(refusalsOf(startTask(metrics, input), policy), JSON.stringify(input)).toEqual([])
  expect(refusalsOf(startTask({}, { stores }))).toEqual([expect.stringContaining('WINDLASS_AGENT_ALLOWED_SECRETS')])
  const protocolV1 = { protocol: 'v1' as const, serverCa: 'CA' }
  expect(protocolV1RefusalsOf(startTask({}, protocolV1))).toEqual([])
  expect(protocolV1RefusalsOf(startTask({}, { ...protocolV1, attempt: 3 }))).toEqual([])
})

const ROOTLESS = {
  podSecurityContext: { runAsUser: 1000, fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' },
  containerSecurityContext: { privileged: true, runAsUser: 1000, runAsGroup: 1000 },
  volumeMounts: { dind: { mountPath: '/home/rootless/.local/share/docker' } },
  initContainers: [
    {
      name: 'volume-permissions',
      image: 'alpine',
      command: ['chown', '-R', '1000:1000', '/home/rootless/.local/share/docker'],
      securityContext: { runAsUser: 0 },
      resources: {},
      volumeMounts: [{ name: 'dind', mountPath: '/home/rootless/.local/share/docker' }],
    },
  ],
}

test.each<[string, object]>([
  ['a daemon without root', { dockerDaemonScheduler: ROOTLESS }],
  [
    'variables of the pod and of ConfigMaps',
    {
      runtimeScheduler: {
        userEnvVars: [
          { name: 'ZONE', valueFrom: { configMapKeyRef: { name: 'zones', key: 'here' } } },
          { name: 'NODE_ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
        ],
      },
    },
  ],
  [
    'files of ConfigMaps in every step',
    {
      dockerDaemonScheduler: {
        userVolumes: { settings: { configMap: { name: 'maven-settings' } }, team: { configMap: { name: 'team' } } },
        userVolumeMounts: { settings: { mountPath: '/root/.m2' }, team: { mountPath: '/etc/team', readOnly: true } },
      },
    },
  ],
  [
    'a larger /dev/shm, and certificates of a registry',
    {
      dockerDaemonScheduler: {
        volumes: { shm: { emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } }, ca: { configMap: { name: 'registry-ca' } } },
        volumeMounts: {
          shm: { mountPath: '/dev/shm' },
          ca: { mountPath: '/etc/docker/certs.d/registry.local_5000', readOnly: true },
        },
      },
    },
  ],
  [
    'proxies and a private CA',
    {
      runtimeScheduler: { envVars: { HTTPS_PROXY: 'http://proxy:3128', NODE_EXTRA_CA_CERTS: '/etc/windlass/ca/ca.crt' } },
      dockerDaemonScheduler: {
        envVars: { HTTPS_PROXY: 'http://proxy:3128', SSL_CERT_DIR: '/etc/ssl/certs:/etc/windlass/ca' },
        volumes: { 'windlass-ca': { configMap: { name: 'cf-runtime-ca' } } },
        volumeMounts: { 'windlass-ca': { mountPath: '/etc/windlass/ca', readOnly: true } },
      },
    },
  ],
  [
    'the rules of the cleaner',
    {
      dockerDaemonScheduler: {
        envVars: {
          CLEAN_BUDGET_SECONDS: '20',
          CLEANER_DRY_RUN: 'true',
          CLEANER_AGENT_DISK_USAGE_THRESHOLD: '0.9',
          DISK_USAGE_THRESHOLD: '0.8',
          IMAGE_RETAIN_PERIOD: '1',
        },
        pvcs: { dind: { annotations: { 'codefresh.io/volume-retention': '7d' } } },
      },
    },
  ],
  ['a disk of the pipeline alone', { extends: ['system/default/hybrid/k8s_own_disks'] }],
])('allows what the documentation describes without any settings: %s', (_, written) => {
  expect(refusalsOf(startTask(written))).toEqual([])
  expect(protocolV1RefusalsOf(startTask(written, { protocol: 'v1' }))).toEqual([])
})

test('allows Secrets, claims, folders of nodes and additional volume types by name (R194, R195)', () => {
  const lent = policyWith({
    ALLOWED_SECRETS: 'team',
    ALLOWED_CLAIMS: 'cache',
    ALLOWED_HOST_PATHS: '/mnt/tools',
    ALLOWED_VOLUMES: 'nfs,csi',
  })
  const mounting = (source: object): StartTask =>
    startTask({ dockerDaemonScheduler: { userVolumes: { more: source }, userVolumeMounts: { more: { mountPath: '/more' } } } })
  const secretKeyRef = { name: 'team', key: 'token' }
  for (const task of [
    mounting({ secret: { secretName: 'team' } }),
    mounting({ persistentVolumeClaim: { claimName: 'cache', readOnly: true } }),
    mounting({ hostPath: { path: '/mnt/tools/node', type: 'Directory' } }),
    mounting({ nfs: { server: 'files', path: '/', readOnly: true } }),
    mounting({ csi: { driver: 'secrets.example.com', volumeAttributes: { class: 'team' } } }),
    startTask({ runtimeScheduler: { userEnvVars: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] } }),
  ])
    expect([refusalsOf(task, lent), refusalsOf(task)]).toEqual([[], [expect.stringContaining('WINDLASS_AGENT_ALLOWED_')]])
  for (const path of ['/mnt', '/mnt/tools-of-others', '/mnt/tools/../..', '/mnt/tools/../../etc'])
    expect(refusalsOf(mounting({ hostPath: { path } }), lent)).toEqual([
      expect.stringContaining('WINDLASS_AGENT_ALLOWED_HOST_PATHS'),
    ])
  const any = policyWith({ ALLOWED_SECRETS: '*' })
  expect(refusalsOf(mounting({ secret: { secretName: 'of-others' } }), any)).toEqual([])
})
