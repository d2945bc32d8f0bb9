import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFault } from '@windlass/kit'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { GLOBAL_KEYS, TOP_KEYS } from './chart-keys.ts'
import { checkInstallerValues } from './installer-values.ts'
import { mergeTrees, parseValuesFile, setValue, splitPair } from './read-values.ts'
import { listNoEffect, NO_EFFECT, toChartValues, type InstallFacts } from './chart-values.ts'
import { readTolerations, readInstallValues, type InstallValues } from './install-values.ts'

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

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../../../../..', path), 'utf8')

test('a value of the chart selects the rootless daemon (R053)', () => {
  const { chart } = readInstallValues({ setValue: ['runtime.dind.rootless.enabled=true'] })
  expect(chart).toEqual({ runtime: { dind: { rootless: { enabled: true } } } })
  expect(read('docs/runner/install-wizard.md')).toContain('--set-value runtime.dind.rootless.enabled=true')
})

test('the notes for old clusters give the AWS role to the account of engines instead of the default one (R224)', () => {
  const page = read('docs/runner/migrate.md')
  const [, pair = ''] = /`--set-value '([^']+)'`\. Builds no longer use the account `default`/.exec(page) ?? []
  const values = toChartValues(readInstallValues({ setValue: [pair] }), facts)
  expect(values).toMatchObject({ runtime: { serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'ARN' } } } })
  const [, account = ''] = /an annotation of the service account `(\S+)`/.exec(page) ?? []
  expect(parse(read('charts/windlass-runtime/values.yaml')).runtime.engine.serviceAccount).toBe(account)
  const [, role] = /kubectl create clusterrolebinding \S+ --clusterrole (\S+)/.exec(page) ?? []
  expect(role).toBe('cluster-admin')
})

test('converts a values file of the Codefresh installer to chart values (R018, R033, R035)', () => {
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

test('an existing storage class replaces the provisioner (R032)', () => {
  expect(chartOf({ StorageClass: 'fast' })).toMatchObject({
    volumeProvisioner: { enabled: false },
    runtime: { dind: { pvcs: { dind: { storageClassName: 'fast' } } } },
  })
})

test('maps the storage values of GKE and AKS to the chart (C11, C12, C15)', () => {
  const install = (...setValues: string[]): InstallValues => readInstallValues({ setValue: setValues })
  expect(
    toChartValues(
      install('Storage.Backend=gcedisk', 'Storage.AvailabilityZone=us-central1-a', 'Storage.GoogleServiceAccount={}'),
      facts,
    ),
  ).toMatchObject({
    storage: { backend: 'gcedisk', gcedisk: { availabilityZone: 'us-central1-a', serviceAccountJson: '{}' } },
  })
  expect(
    toChartValues(install('Storage.Backend=azuredisk', 'Storage.VolumeProvisioner.MountAzureJson=true'), facts),
  ).toMatchObject({
    storage: { backend: 'azuredisk', mountAzureJson: true },
  })
  expect(toChartValues(install('Storage.LocalVolumeParentDir=/mnt/ssd'), facts)).toMatchObject({
    storage: { local: { volumeParentDir: '/mnt/ssd' } },
  })
})

test('passes chart values through, and they take precedence', () => {
  const installValues = readInstallValues({ setValue: ['runtime.dind.pvcs.dind.volumeSize=50Gi', 'runner.name=other'] })
  expect(toChartValues(installValues, facts)).toMatchObject({
    runner: { name: 'other' },
    runtime: { dind: { pvcs: { dind: { volumeSize: '50Gi' } } } },
  })
})

test('rejects an unknown key under `global` with the nearest known key', () => {
  const messagesOf = (...setValue: string[]): unknown => {
    try {
      return readInstallValues({ setValue }).chart
    } catch (error) {
      return isFault(error, 'document-invalid') ? error.details.problems?.map(({ message }) => message) : error
    }
  }
  expect(messagesOf('global.image.tag=1.2.3', 'global.codefreshhost=https://ci.example.com', 'global.zone=a')).toEqual([
    'unknown value "global.image"; did you mean "image"?',
    'unknown value "global.codefreshhost"; did you mean "global.codefreshHost"?',
    'unknown value "global.zone"',
  ])
  expect(messagesOf('image.tag=1.2.3', 'global.imageRegistry=registry.example.com', 'global.proxy.noProxy=10.0.0.0/8')).toEqual({
    image: { tag: '1.2.3' },
    global: { imageRegistry: 'registry.example.com', proxy: { noProxy: '10.0.0.0/8' } },
  })
})

test('the known keys match the chart', () => {
  const chart = join(import.meta.dirname, '../../../../../charts/windlass-runtime/values.yaml')
  const values = parseValuesFile(readFileSync(chart, 'utf8'), chart)
  expect(Object.keys(values['global'] ?? {})).toEqual(GLOBAL_KEYS)
  expect(Object.keys(values)).toEqual(expect.arrayContaining([...TOP_KEYS]))
})

test('rejects an unknown key of the installer with the nearest known key', () => {
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
      expect.objectContaining({ path: 'Storage.Backand', message: 'unknown value "Storage.Backand"; did you mean "Backend"?' }),
      expect.objectContaining({ path: 'Nothing' }),
    ]),
  })
  expect(problems({ NodeSelector: 'zone' })).toMatchObject({ problems: [expect.objectContaining({ path: 'NodeSelector' })] })
})

test('reports Codefresh values that have no effect, with the reason', () => {
  expect(listNoEffect(checkInstallerValues({ NewRelicLicense: 'x', Monitor: { Helm3: true } }, 'v'))).toEqual([
    `NewRelicLicense: ${NO_EFFECT['NewRelicLicense']}`,
    `Monitor.Helm3: ${NO_EFFECT['Monitor.Helm3']}`,
  ])
})

test('--set-value splits at the first `=` and at dots, and keeps `\\.` within a key (R019)', () => {
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

test('accepts tolerations only as a JSON or YAML list (R023)', () => {
  expect(readTolerations('[{"key":"a"}]')).toEqual([{ key: 'a' }])
  for (const wrong of ['{}', 'x', '[1]', '[{']) expect(() => readTolerations(wrong)).toThrow('--tolerations')
})

test('applies build annotations to engine and Docker daemon (R218)', () => {
  const podAnnotations = { 'example.com/team': 'a=b' }
  expect(readInstallValues({ buildAnnotations: ['example.com/team=a=b'] }).chart).toEqual({
    runtime: { engine: { podAnnotations }, dind: { podAnnotations } },
  })
})
