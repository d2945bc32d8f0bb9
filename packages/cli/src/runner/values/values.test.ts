import { expect, test } from 'vitest'
import { checkInstallerValues } from './installer-values.ts'
import { mergeTrees, parseValuesFile, setValue, splitPair } from './read-values.ts'
import { listNoEffect, NO_EFFECT, toChartValues, type InstallFacts } from './chart-values.ts'
import { readTolerations, readWishes, type Wishes } from './wishes.ts'

const facts: InstallFacts = {
  url: 'https://windlass.example.com',
  namespace: 'builds',
  context: 'prod',
  agentName: 'prod_builds',
  runtimeName: 'prod/builds',
  tokenSecret: { name: 'runner', key: 'agent-codefresh-token' },
  parts: { agent: true, runtime: true, monitor: true },
}
const chartOf = (installer: unknown, more: Partial<InstallFacts> = {}): unknown =>
  toChartValues({ installer: checkInstallerValues(installer, 'values.yaml'), chart: {} }, { ...facts, ...more })

test('R018, R033, R035: a values file of the vendor becomes values of the chart', () => {
  const values = {
    DockerRegistry: 'registry.example.com',
    NodeSelector: 'role=runner,zone=a',
    Tolerations: [{ key: 'runner', operator: 'Exists' }],
    EnvVars: { HTTP_PROXY: 'http://proxy:3128', No_proxy: '10.0.0.0/8', TEAM: 'blue' },
    Image: { Name: 'windlass/windlass', Tag: '1.2.3' },
    Runner: { resources: { limits: { memory: '1Gi' } } },
    Storage: {
      Backend: 'ebs',
      AvailabilityZone: 'eu-west-1a',
      Encrypted: true,
      KmsKeyId: 'key',
      VolumeProvisioner: {
        NodeSelector: 'node-type=addons',
        ServiceAccount: { Annotations: { 'eks.amazonaws.com/role-arn': 'arn' } },
      },
    },
    Runtime: { NodeSelector: { pool: 'builds' }, tolerations: [{ key: 'builds' }], AdditionalEnvVars: { A: 'b' } },
    Monitor: { UseNamespaceWithRole: 'true', RbacEnabled: true },
    dockerDaemonScheduler: { userAccess: false },
  }
  const builds = { env: { A: 'b' }, nodeSelector: { pool: 'builds' } }
  expect(chartOf(values)).toEqual({
    global: {
      codefreshHost: 'https://windlass.example.com',
      context: 'prod',
      agentName: 'prod_builds',
      runtimeName: 'prod/builds',
      agentTokenSecretKeyRef: { name: 'runner', key: 'agent-codefresh-token' },
      imageRegistry: 'registry.example.com',
      proxy: { httpProxy: 'http://proxy:3128', noProxy: '10.0.0.0/8' },
      env: { TEAM: 'blue' },
    },
    image: { repository: 'windlass/windlass', tag: '1.2.3' },
    runner: {
      name: 'runner',
      resources: { limits: { memory: '1Gi' } },
      nodeSelector: { role: 'runner', zone: 'a' },
      tolerations: [{ key: 'runner', operator: 'Exists' }],
    },
    volumeProvisioner: {
      name: 'dind-volume-provisioner-runner',
      nodeSelector: { 'node-type': 'addons' },
      tolerations: [{ key: 'runner', operator: 'Exists' }],
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn' } },
      'dind-lv-monitor': { tolerations: [{ key: 'runner', operator: 'Exists' }] },
    },
    storage: { backend: 'ebs', ebs: { availabilityZone: 'eu-west-1a', encrypted: 'true', kmsKeyId: 'key' } },
    runtime: {
      patch: { enabled: false },
      engine: { ...builds, tolerations: [{ key: 'builds' }] },
      dind: {
        ...builds,
        tolerations: [{ key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }, { key: 'builds' }],
        userAccess: false,
      },
    },
    monitor: { enabled: true, rbac: { create: true, namespaced: true } },
  })
})

test('R032: a storage class of the cluster takes the place of the provisioner', () => {
  expect(chartOf({ StorageClass: 'fast' })).toMatchObject({
    volumeProvisioner: { enabled: false },
    runtime: { dind: { pvcs: { dind: { storageClassName: 'fast' } } } },
  })
})

test('C11 C12 C15: the layouts of GKE and AKS are those of the chart', () => {
  const wish = (...setValues: string[]): Wishes => readWishes({ setValue: setValues })
  expect(
    toChartValues(
      wish('Storage.Backend=gcedisk', 'Storage.AvailabilityZone=us-central1-a', 'Storage.GoogleServiceAccount={}'),
      facts,
    ),
  ).toMatchObject({
    storage: { backend: 'gcedisk', gcedisk: { availabilityZone: 'us-central1-a', serviceAccountJson: '{}' } },
  })
  expect(toChartValues(wish('Storage.Backend=azuredisk', 'Storage.VolumeProvisioner.MountAzureJson=true'), facts)).toMatchObject({
    storage: { backend: 'azuredisk', mountAzureJson: true },
  })
  expect(toChartValues(wish('Storage.LocalVolumeParentDir=/mnt/ssd'), facts)).toMatchObject({
    storage: { local: { volumeParentDir: '/mnt/ssd' } },
  })
})

test('values in the names of the chart go through, and win', () => {
  const wishes = readWishes({ setValue: ['runtime.dind.pvcs.dind.volumeSize=50Gi', 'runner.name=other'] })
  expect(toChartValues(wishes, facts)).toMatchObject({
    runner: { name: 'other' },
    runtime: { dind: { pvcs: { dind: { volumeSize: '50Gi' } } } },
  })
})

test('a key that nobody reads is told with the nearest one that exists', () => {
  const problems = (values: unknown): unknown => {
    try {
      checkInstallerValues(values, 'values.yaml')
      return undefined
    } catch (error) {
      return error instanceof Error && 'details' in error ? error.details : error
    }
  }
  expect(problems({ Storage: { Backand: 'ebs' }, Nothing: 1 })).toMatchObject({
    problems: expect.arrayContaining([
      expect.objectContaining({ path: 'Storage.Backand', message: 'There is no value Storage.Backand. Did you mean Backend?' }),
      expect.objectContaining({ path: 'Nothing' }),
    ]),
  })
  expect(problems({ NodeSelector: 'zone' })).toMatchObject({ problems: [expect.objectContaining({ path: 'NodeSelector' })] })
})

test('a value of the vendor that has no meaning here is told with the reason', () => {
  expect(listNoEffect(checkInstallerValues({ NewRelicLicense: 'x', Monitor: { Helm3: true } }, 'v'))).toEqual([
    `NewRelicLicense: ${NO_EFFECT['NewRelicLicense']}`,
    `Monitor.Helm3: ${NO_EFFECT['Monitor.Helm3']}`,
  ])
})

test('R019: --set-value splits at the first `=`, reads dots, and keeps `\\.` inside of a key', () => {
  expect(splitPair('a.b=c=d', '--set-value')).toEqual(['a.b', 'c=d'])
  expect(() => splitPair('nothing', '--set-value')).toThrow('NAME=VALUE')
  expect(setValue({ a: { x: 1 } }, 'a.b', true)).toEqual({ a: { x: 1, b: true } })
  expect(setValue({}, String.raw`Annotations.eks\.amazonaws\.com/role`, 'r')).toEqual({
    Annotations: { 'eks.amazonaws.com/role': 'r' },
  })
  expect(() => setValue({}, '__proto__.x', 1)).toThrow('not the name')
})

test('later values win, and mappings are merged', () => {
  expect(mergeTrees({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: 3 }, d: [2] })).toEqual({ a: { b: 3, c: 2 }, d: [2] })
  expect(() => parseValuesFile('- a', 'v.yaml')).toThrow('must be a mapping')
})

test('R023: tolerations are a list as JSON or YAML; anything else is refused', () => {
  expect(readTolerations('[{"key":"a"}]')).toEqual([{ key: 'a' }])
  for (const wrong of ['{}', 'x', '[1]', '[{']) expect(() => readTolerations(wrong)).toThrow('--tolerations')
})

test('R218: annotations of builds reach engine and Docker daemon', () => {
  const podAnnotations = { 'example.com/team': 'a=b' }
  expect(readWishes({ buildAnnotations: ['example.com/team=a=b'] }).chart).toEqual({
    runtime: { engine: { podAnnotations }, dind: { podAnnotations } },
  })
})
