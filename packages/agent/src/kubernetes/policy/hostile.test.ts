/** Objects that a server must not get into a cluster: each row of the tables in `test/hostile` is refused for its own reason. */
import type { StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { CLAIM_FIELDS, KINDS, METADATA, POD_METADATA, SECRET_FIELDS } from '../../../test/hostile/objects.ts'
import {
  CONTAINER_FIELDS,
  DAEMON_FIELDS,
  DAEMON_POD_FIELDS,
  POD_FIELDS,
  UNPRIVILEGED_FIELDS,
} from '../../../test/hostile/pods.ts'
import { rowsFor } from '../../../test/hostile/row.ts'
import { LENT_VOLUMES, VOLUMES, VOLUMES_OF_DAEMON, VOLUMES_OF_ENGINE } from '../../../test/hostile/volumes.ts'
import {
  BUILD,
  changed,
  objectOf,
  OTHER_BUILD,
  policyWith,
  protocolV1RefusalsOf,
  refusalsOf,
  startTask,
  type Role,
} from '../../../test/support/attempt-objects.ts'

/** Adds an init container to both pods. */
const INIT = [{ name: 'before', image: 'busybox', command: ['true'] }]
const WRITTEN = { runtimeScheduler: { initContainers: INIT }, dockerDaemonScheduler: { initContainers: INIT } }
const FAIR = startTask(WRITTEN)
const FAIR_V1 = startTask(WRITTEN, { protocol: 'v1' })

type Places = readonly (readonly [Role, string])[]
const PODS: Places = [
  ['engine', ''],
  ['dind', ''],
]
const SPECS: Places = [
  ['engine', 'spec'],
  ['dind', 'spec'],
]
const INITS: Places = [
  ['engine', 'spec.initContainers.0'],
  ['dind', 'spec.initContainers.0'],
]
const ENGINE: Places = [['engine', 'spec.containers.0']]
const DAEMON: Places = [['dind', 'spec.containers.0']]

function hostilePods(task: StartTask): ReturnType<typeof rowsFor> {
  return [
    ...rowsFor(task, SPECS, POD_FIELDS),
    ...rowsFor(task, [['dind', 'spec']], DAEMON_POD_FIELDS),
    ...rowsFor(
      task,
      [...ENGINE, ...DAEMON, ...INITS],
      CONTAINER_FIELDS.filter(([path]) => path !== 'ports'),
    ),
    ...rowsFor(
      task,
      [...ENGINE, ...DAEMON],
      CONTAINER_FIELDS.filter(([path]) => path === 'ports'),
    ),
    ...rowsFor(task, [...ENGINE, ...INITS], UNPRIVILEGED_FIELDS),
    ...rowsFor(task, DAEMON, DAEMON_FIELDS),
    ...rowsFor(task, PODS, POD_METADATA),
  ]
}

const EVERY: Places = [...PODS, ['claim', '']]
const HOSTILE = [
  ...hostilePods(FAIR),
  ...rowsFor(FAIR, PODS, VOLUMES),
  ...rowsFor(FAIR, [['engine', '']], VOLUMES_OF_ENGINE),
  ...rowsFor(FAIR, [['dind', '']], VOLUMES_OF_DAEMON),
  ...rowsFor(FAIR, [...EVERY, ['secret', '']], METADATA),
  ...rowsFor(FAIR, [['secret', '']], SECRET_FIELDS),
  ...rowsFor(FAIR, [['claim', '']], CLAIM_FIELDS),
]
const HOSTILE_V1 = [
  ...hostilePods(FAIR_V1),
  ...rowsFor(
    FAIR_V1,
    EVERY,
    METADATA.filter(([path]) => !path.includes('attempt')),
  ),
  ...rowsFor(FAIR_V1, [['claim', '']], CLAIM_FIELDS),
]

test('allows the objects that the tables change, unchanged', () => {
  expect(refusalsOf(FAIR)).toEqual([])
  expect(protocolV1RefusalsOf(FAIR_V1)).toEqual([])
  expect(HOSTILE.length).toBeGreaterThan(200)
})

for (const { task, title, refusal } of HOSTILE)
  test(`protocol v2 refuses ${title}`, () => {
    const refusals = refusalsOf(task).filter((each) => !isEcho(each))
    expect(refusals).toEqual([expect.stringContaining(refusal)])
    // The message says what to do, unless the value has the wrong type.
    expect(refusals[0]).toMatch(/WINDLASS_AGENT_|no setting of the agent|must |is missing|has |is not the name of/)
  })

/** Whether a refusal follows from another one: a namespace or class of one object alone is also reported for the other side. */
function isEcho(refusal: string): boolean {
  return /that of the first object|that of the claim is|but the claim has/.test(refusal)
}

for (const { task, title, refusal } of HOSTILE_V1)
  test(`protocol v1 refuses ${title}`, () => {
    expect(protocolV1RefusalsOf(task)).toEqual([expect.stringContaining(refusal)])
  })

test.each(KINDS)('refuses objects of %s, kind %s', (apiVersion, kind) => {
  const object = { apiVersion, kind, metadata: objectOf(FAIR.objects, 'engine').metadata }
  const task = { ...FAIR, objects: [...FAIR.objects, object] }
  expect(refusalsOf(task)).toEqual([expect.stringContaining(' kind: ')])
  expect(protocolV1RefusalsOf({ ...FAIR_V1, objects: [object] })).toEqual([expect.stringContaining(' kind: ')])
})

test('checks a volume whose type is allowed', () => {
  const policy = policyWith({ ALLOWED_VOLUMES: 'projected,csi,ephemeral,iscsi' })
  for (const { task, title, refusal } of rowsFor(FAIR, PODS, LENT_VOLUMES))
    expect(refusalsOf(task, policy), title).toEqual([expect.stringContaining(refusal)])
  const fair = { sources: [{ serviceAccountToken: { audience: 'sts.amazonaws.com', expirationSeconds: 3600, path: 'token' } }] }
  expect(refusalsOf(changed(FAIR, 'engine', ['spec', 'volumes'], [{ name: 'aws', projected: fair }]), policy)).toEqual([])
})

test('refuses Secrets of protocol v1, and an engine of v1 that mounts the certificate of the daemons', () => {
  expect(protocolV1RefusalsOf(FAIR)).toContainEqual(expect.stringContaining(`Secret/engine-${BUILD} metadata.name: `))
  const volumes = [{ name: 'more', secret: { secretName: 'codefresh-certs-server' } }]
  expect(protocolV1RefusalsOf(changed(FAIR_V1, 'engine', ['spec', 'volumes'], volumes))).toEqual([
    expect.stringContaining('spec.volumes[0].secret.secretName: '),
  ])
})

test('does not allow a Secret in another namespace than the one of its entry', () => {
  const policy = policyWith({ ALLOWED_SECRETS: 'ci/team' }, ['ci', 'prod'])
  const mounting = (namespace: string): StartTask =>
    startTask({
      runtimeScheduler: {
        cluster: { namespace },
        volumes: { team: { secret: { secretName: 'team' } } },
        volumeMounts: { team: { mountPath: '/team' } },
      },
    })
  expect(refusalsOf(mounting('ci'), policy)).toEqual([])
  expect(refusalsOf(mounting('prod'), policy)).toEqual([expect.stringContaining('secret.secretName: is "team"')])
  const split = changed(mounting('ci'), 'engine', ['metadata', 'namespace'], 'prod')
  expect(refusalsOf(split, policy)).toEqual([
    expect.stringContaining('secret.secretName: is "team"'),
    expect.stringContaining('metadata.namespace: is "prod", but that of the first object is "ci"'),
  ])
})

test('refuses an object that occurs twice, and a disk that differs from the claim', () => {
  const [secret] = FAIR.objects
  expect(refusalsOf({ ...FAIR, objects: [...FAIR.objects, ...(secret === undefined ? [] : [secret])] })).toEqual([
    expect.stringContaining('occurs twice'),
  ])
  const { disk } = FAIR
  if (disk === undefined) throw new Error('no disk')
  expect(refusalsOf({ ...FAIR, disk: { ...disk, storageClassName: 'of-others' } })).toEqual([
    expect.stringContaining('disk.storageClassName: '),
  ])
  expect(refusalsOf({ ...FAIR, disk: { ...disk, labels: { ...disk.labels, 'backend-volume-type': 'ebs' } } })).toEqual([
    expect.stringContaining('disk.labels["backend-volume-type"]: '),
  ])
})

test('refuses objects of another attempt', () => {
  const other = startTask({}, { buildId: OTHER_BUILD })
  expect(refusalsOf({ ...other, buildId: BUILD })).toHaveLength(4)
  expect(refusalsOf({ ...FAIR, attempt: 2 })).toHaveLength(4)
})

test('checks namespaces, kinds, builds and service accounts under a permissive policy', () => {
  const policy = policyWith({ POLICY: 'permissive' })
  const of = (role: Role, path: string, value: unknown): readonly string[] =>
    refusalsOf(changed(FAIR, role, path.split('.'), value), policy)
  expect(of('dind', 'spec.hostPID', true)).toEqual([])
  expect(of('claim', 'spec.volumeName', 'of-others')).toEqual([])
  expect(of('engine', 'spec.serviceAccountName', 'windlass-agent')).toEqual([
    expect.stringContaining('spec.serviceAccountName: '),
  ])
  expect(of('engine', 'spec.serviceAccount', 'windlass-agent')).toEqual([expect.stringContaining('spec.serviceAccount: ')])
  expect(of('engine', 'spec.serviceAccountName', undefined)).toEqual([expect.stringContaining('spec.serviceAccountName: ')])
  expect(of('dind', 'metadata.ownerReferences', [])).toEqual([expect.stringContaining('metadata.ownerReferences: ')])
  expect(of('dind', 'metadata.labels', {})).toEqual([expect.stringContaining('metadata.labels: ')])
  expect(of('secret', 'type', 'kubernetes.io/service-account-token')).toEqual([expect.stringContaining(' type: ')])
  expect(of('claim', 'metadata.namespace', 'kube-system')).toContainEqual(expect.stringContaining('metadata.namespace: '))
  expect(of('dind', 'kind', 'Deployment')).toEqual([expect.stringContaining(' kind: ')])
})

test('names at most twenty problems and the number of the others', () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`field${n}`, true]))
  const spec = { ...Object(objectOf(FAIR.objects, 'engine')['spec']), ...many }
  expect(refusalsOf(changed(FAIR, 'engine', ['spec'], spec))).toHaveLength(20)
})
