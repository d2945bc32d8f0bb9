import { expect, test } from 'vitest'
import { agentConfig } from './config.ts'

const needed = { CODEFRESH_TOKEN: 'secret', CODEFRESH_HOST: 'https://platform.example/base' }

test('reads the variables of the public agent (R236)', () => {
  const config = agentConfig({
    ...needed,
    AGENT_ID: 'one',
    CODEFRESH_IN_CLUSTER_RUNTIME: 'cluster/ns',
    VENONA_CONFIG_DIR: '/etc/secrets',
    TASK_PULLING_INTERVAL: '7',
    STATUS_REPORTING_INTERVAL: '11',
    WORKFLOW_CONCURRENCY: '5',
    WORKFLOW_BUFFER_SIZE: '9',
    K8S_CLIENT_QPS: '12.5',
    K8S_CLIENT_BURST: '25',
    FORCE_DELETE_PVC: 'true',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    RUNTIME_CHART_VERSION: '8.0.0',
    PORT: '8080',
    VERBOSE: 'true',
  })
  expect(config).toMatchObject({
    TOKEN: 'secret',
    SERVER_URL: 'https://platform.example/base',
    ID: 'one',
    RUNTIME: 'cluster/ns',
    CONFIG_DIR: '/etc/secrets',
    POLL_SECONDS: 7,
    HEARTBEAT_SECONDS: 11,
    WORKFLOWS: 5,
    BUFFER: 9,
    QPS: 12.5,
    BURST: 25,
    FORCE_DELETE_PVC: true,
    TLS_INSECURE: true,
    CHART_VERSION: '8.0.0',
    PORT: 8080,
    LOG_LEVEL: 'debug',
  })
})

test('has the defaults of the public agent: 3 s, 10 s, 50 workflows, 1000 batches, TLS verified', () => {
  expect(agentConfig(needed)).toMatchObject({
    POLL_SECONDS: 3,
    HEARTBEAT_SECONDS: 10,
    WORKFLOWS: 50,
    BUFFER: 1000,
    TLS_INSECURE: false,
    PROTOCOL: 'auto',
  })
})

test('prefers a flag to a variable, and our setting to that of the public agent', () => {
  const env = { ...needed, TASK_PULLING_INTERVAL: '7', AGENT_ID: 'theirs', WINDLASS_AGENT_ID: 'ours' }
  const args = ['start', '--task-pulling-interval', '4', '--verbose', '--newrelic-appname=x']
  expect(agentConfig(env, args)).toMatchObject({ POLL_SECONDS: 4, ID: 'ours', LOG_LEVEL: 'debug' })
})

test.each([
  ['TASK_PULLING_INTERVAL', '0'],
  ['STATUS_REPORTING_INTERVAL', '-1'],
  ['WORKFLOW_CONCURRENCY', '0'],
  ['WORKFLOW_BUFFER_SIZE', '-5'],
  ['K8S_CLIENT_QPS', '0'],
  ['K8S_CLIENT_BURST', 'many'],
])('throws for %s=%s with a message that names it', (name, value) => {
  expect(() => agentConfig({ ...needed, [name]: value })).toThrow(new RegExp(`${name}:`))
})

test('names a wrong flag as a flag and refuses an unknown one', () => {
  expect(() => agentConfig(needed, ['--k8s-client-burst', '0'])).toThrow('--k8s-client-burst:')
  expect(() => agentConfig(needed, ['--surprise', '1'])).toThrow('surprise')
})

test('has a strict policy without settings: the daemons of the project, nodes without taints or for builds, no other objects', () => {
  expect(agentConfig(needed)).toMatchObject({
    POLICY: 'strict',
    PRIVILEGED_IMAGES: ['windlass/dind', 'windlass/dind-rootless'],
    PLACEMENTS: [{}, { tolerations: [{ key: 'codefresh/dind', operator: 'Exists', effect: 'NoSchedule' }] }],
    STORAGE_CLASSES: ['dind-local-volumes-*'],
    ALLOWED_SECRETS: [],
    ALLOWED_LABELS: [],
    APP_PROXIES: [],
  })
})

test('shows an example for invalid placements', () => {
  for (const text of ['pool=builds', '{}', '[]', '[{"nodeName":"x"}]', '[{"nodeSelector":{"pool":1}}]'])
    expect(() => agentConfig({ ...needed, WINDLASS_AGENT_PLACEMENTS: text })).toThrow(
      /WINDLASS_AGENT_PLACEMENTS: must be a JSON list of placements such as \[\{"nodeSelector"/,
    )
})
