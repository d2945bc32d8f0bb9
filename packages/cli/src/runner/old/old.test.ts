import { expect, test } from 'vitest'
import { checkVenonaInstall } from '../../commands/venona/action.ts'
import { readOldSettings, renameStorageClass } from './migrate.ts'
import { OLD_KINDS, OLD_SELECTOR, toOldInstallation } from './to-helm.ts'

const deployment = (env: object[]): unknown => ({
  spec: {
    template: {
      spec: {
        nodeSelector: { pool: 'runner' },
        tolerations: [{ key: 'runner' }, { key: 'node.kubernetes.io/not-ready' }],
        containers: [{ name: 'venona', env }],
      },
    },
  },
})

test('keeps tolerations, selectors and variables of the old pods, except its internal ones (R222)', () => {
  const env = [
    { name: 'AGENT_ID', value: 'x' },
    { name: 'CODEFRESH_TOKEN', valueFrom: {} },
    { name: 'NO_PROXY', value: '.local' },
  ]
  expect(readOldSettings(deployment(env))).toEqual({
    tolerations: [{ key: 'runner' }],
    nodeSelector: { pool: 'runner' },
    env: { NO_PROXY: '.local' },
  })
})

test('replaces the storage class of the old provisioner, and keeps any other (R222)', () => {
  const spec = (storageClassName: string): object => ({
    dockerDaemonScheduler: { userAccess: true, pvcs: { dind: { storageClassName } } },
  })
  expect(renameStorageClass({ ...spec('dind-local-volumes-venona-cf') })).toEqual(spec('dind-local-volumes-runner-cf'))
  expect(renameStorageClass({ ...spec('fast-venona') })).toEqual(spec('fast-venona'))
})

test('converts a Codefresh installation to values with the same agent and token (R223)', () => {
  const env = [
    { name: 'AGENT_ID', value: 'abc' },
    { name: 'AGENT_NAME', value: 'prod' },
    { name: 'TEAM', value: 'blue' },
  ]
  expect(toOldInstallation(deployment(env), { key: 'codefresh.token', runtimeNames: ['prod/cf'] })).toEqual({
    agentId: 'abc',
    runtimeNames: ['prod/cf'],
    values: {
      global: { agentTokenSecretKeyRef: { name: 'runner', key: 'codefresh.token' }, agentName: 'prod', runtimeName: 'prod/cf' },
      runner: { tolerations: [{ key: 'runner' }], nodeSelector: { pool: 'runner' }, env: { TEAM: 'blue' } },
    },
  })
  expect(OLD_KINDS).not.toContain('Secret')
  expect(OLD_SELECTOR).toContain('dind-lv-monitor')
})

test('rejects conflicting flags of the old installer (R218)', () => {
  const none = {
    clusterName: undefined,
    runtimeEnvironment: undefined,
    skipRuntimeInstallation: undefined,
    onlyRuntimeEnvironment: undefined,
  }
  expect(() => checkVenonaInstall({ ...none, skipRuntimeInstallation: true, onlyRuntimeEnvironment: true })).toThrow(
    'cannot be combined',
  )
  expect(() => checkVenonaInstall({ ...none, skipRuntimeInstallation: true })).toThrow('needs --runtime-environment')
  expect(() => checkVenonaInstall({ ...none, clusterName: 'a-name-of-more-than-twenty' })).toThrow('20 characters')
  expect(() => checkVenonaInstall({ ...none, skipRuntimeInstallation: true, runtimeEnvironment: 'r' })).not.toThrow()
})
