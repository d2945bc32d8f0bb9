/** The shape of the pods of jobs on a real Kubernetes: what the configuration sets, and what variables of a job may change. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ensureImages } from '../support/images.ts'
import { eventually } from '../support/installation.ts'
import type { FakeJob } from './support/fake-coordinator.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'
import { touchInJob } from './support/touch-in-job.ts'

const KUBERNETES = `
pod_labels_overwrite_allowed = "^team="
pod_annotations_overwrite_allowed = ".*"
cpu_request_overwrite_max_allowed = "500m"
memory_limit_overwrite_max_allowed = "1Gi"
node_selector_overwrite_allowed = "^kubernetes.io/os="
allowed_images = ["windlass.local/*:*"]
allowed_services = ["windlass.local/*:*"]
allowed_users = ["1234", "0"]
cap_add = ["SYS_PTRACE", "KILL"]
cap_drop = ["KILL", "CHOWN"]
dns_policy = "none"
[runners.kubernetes.node_selector]
"kubernetes.io/os" = "linux"
[runners.kubernetes.node_tolerations]
"dedicated=ci" = "NoSchedule"
"only-key" = "NoExecute"
[runners.kubernetes.pod_labels]
"stage" = "$CI_JOB_STAGE"
[runners.kubernetes.pod_annotations]
"note" = "of $CI_JOB_NAME"
[runners.kubernetes.dns_config]
nameservers = ["192.0.2.53"]
searches = ["jobs.test"]
[[runners.kubernetes.host_aliases]]
ip = "192.0.2.9"
hostnames = ["alias.test"]
[runners.kubernetes.container_lifecycle.post_start.exec]
command = ["sh", "-c", "echo started >/tmp/hook"]
[[runners.kubernetes.volumes.secret]]
name = "settings"
mount_path = "/settings"
read_only = true
[runners.kubernetes.volumes.secret.items]
"a" = "first.txt"
[[runners.kubernetes.volumes.config_map]]
name = "words"
mount_path = "/words"
[[runners.kubernetes.volumes.host_path]]
name = "host"
mount_path = "/of-the-node"
host_path = "/usr/share/zoneinfo"
read_only = true
[[runners.kubernetes.volumes.empty_dir]]
name = "fast"
mount_path = "/fast"
medium = "Memory"
`

let scene: RunnerScene
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-pods-${process.pid}`)
  const metadata = (name: string): object => ({ name, namespace: scene.namespace })
  await scene.cluster.apply(
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata('settings'), stringData: { a: 'from a secret' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('words'), data: { word: 'from a map' } },
  )
  await scene.startManager({ kubernetes: KUBERNETES })
})
afterAll(() => scene?.close())

const Pod = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()), annotations: z.record(z.string(), z.string()) }),
  spec: z.looseObject({ containers: z.array(z.looseObject({ name: z.string() })) }),
})

/** Runs a job until its script runs, and returns its pod. The job ends when `/tmp/go` exists. */
async function podOf(
  script: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ job: FakeJob; pod: z.infer<typeof Pod> }> {
  const job = scene.enqueue([...script, 'echo looked', 'until [ -e /tmp/go ]; do sleep 0.2; done'], more)
  await eventually('the script runs', async () => (job.trace.includes('looked') || job.final !== undefined ? true : undefined))
  const [name = ''] = await scene.names('pods')
  expect(name, job.trace.toString()).not.toBe('')
  const pod = Pod.parse(JSON.parse(await scene.kubectl('get', name, '--output', 'json')))
  await touchInJob(scene.kubectl, name)
  await scene.ended(job)
  await eventually('the pod is gone', async () => ((await scene.names('pods')).length === 0 ? true : undefined))
  return { job, pod }
}

const variables = (values: Readonly<Record<string, string>>): object[] =>
  Object.entries(values).map(([key, value]) => ({ key, value, public: true }))

test('labels, annotations, nodes, DNS, hooks, volumes and capabilities are those of the configuration (G060, G062, G064, G065, G067, G068)', async () => {
  const { job, pod } = await podOf(
    [
      'cat /settings/first.txt /words/word; echo',
      'test -e /of-the-node/UTC',
      'grep "/fast tmpfs" /proc/mounts',
      'grep 192.0.2.53 /etc/resolv.conf && grep jobs.test /etc/resolv.conf',
      'grep "192.0.2.9.*alias.test" /etc/hosts',
      'cat /tmp/hook',
    ],
    { variables: variables({ CI_JOB_STAGE: 'deploy now', CI_JOB_NAME: 'a job', CI_JOB_URL: 'https://gitlab.test/1' }) },
  )
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(pod.metadata.labels).toMatchObject({
    stage: 'deploy_now',
    'project.runner.gitlab.com/id': '5',
    'project.runner.gitlab.com/namespace': 'demo',
    'manager.runner.gitlab.com/id-short': 'abcdefghi',
  })
  expect(pod.metadata.annotations).toMatchObject({
    note: 'of a job',
    'job.runner.gitlab.com/id': String(job.payload.id),
    'job.runner.gitlab.com/url': 'https://gitlab.test/1',
    'job.runner.gitlab.com/timeout': '600s',
  })
  expect(pod.spec).toMatchObject({
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: expect.arrayContaining([
      expect.objectContaining({ key: 'dedicated', operator: 'Equal', value: 'ci', effect: 'NoSchedule' }),
      expect.objectContaining({ key: 'only-key', operator: 'Exists', effect: 'NoExecute' }),
    ]),
  })
  const build = pod.spec.containers.find(({ name }) => name === 'build')
  expect(build?.['securityContext']).toMatchObject({ capabilities: { add: ['SYS_PTRACE'], drop: ['KILL', 'CHOWN', 'NET_RAW'] } })
  expect(JSON.stringify(pod.spec)).not.toContain(job.payload.token)
})

test('variables of a job change what the configuration allows, and only that (G061, G063)', async () => {
  const { job, pod } = await podOf(['echo "I am $(id -u)"'], {
    image: { name: scene.image, executor_opts: { kubernetes: { user: '1234' } } },
    variables: variables({
      KUBERNETES_POD_LABELS_1: 'team=blue',
      KUBERNETES_CPU_REQUEST: '300m',
      KUBERNETES_MEMORY_LIMIT: '512Mi',
      KUBERNETES_SERVICE_ACCOUNT_OVERWRITE: 'admin',
    }),
  })
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(job.trace.toString()).toContain('I am 1234')
  expect(job.trace.toString()).toContain('"MemoryLimit" overwritten with "512Mi"')
  expect(pod.metadata.labels).toMatchObject({ team: 'blue' })
  expect(pod.spec.containers.find(({ name }) => name === 'build')?.['resources']).toEqual({
    limits: { memory: '512Mi' },
    requests: { cpu: '300m', memory: '512Mi' },
  })
  expect(pod.spec['serviceAccountName']).toBe('default')
})

test.each([
  {
    what: 'a label that does not match',
    more: { variables: variables({ KUBERNETES_POD_LABELS_1: 'owner=me' }) },
    says: 'does not match "^team="',
  },
  {
    what: 'too much memory',
    more: { variables: variables({ KUBERNETES_MEMORY_LIMIT: '4Gi' }) },
    says: 'which is higher than the limit "1Gi"',
  },
  {
    what: 'another node',
    more: { variables: variables({ KUBERNETES_NODE_SELECTOR_1: 'pool=prod' }) },
    says: 'does not match "^kubernetes.io/os="',
  },
  { what: 'an image', more: { image: { name: 'registry.test/x:1' } }, says: 'is not in the list of allowed images' },
  { what: 'a service', more: { services: [{ name: 'registry.test/db:1' }] }, says: 'is not in the list of allowed services' },
  {
    what: 'a user',
    more: { image: { name: 'windlass.local/debian:13', executor_opts: { kubernetes: { user: '99' } } } },
    says: 'is not in the list allowed_users',
  },
])('a job that asks for $what that is not allowed fails and says so (G061, G063, G072)', async ({ more, says }) => {
  const job = await scene.ended(scene.enqueue(['true'], more))
  expect(job.final).toMatchObject({ state: 'failed', failureReason: 'runner_configuration_error' })
  expect(job.trace.toString()).toContain(says)
  expect(await scene.names('pods')).toEqual([])
})

test('an image with nothing but busybox runs, and a debug trace shows each command (G055, G081)', async () => {
  const { SHELL_IMAGE: image = '' } = await ensureImages('shell')
  await scene.cluster.load(image)
  const job = await scene.ended(
    scene.enqueue(['cat greeting.txt', 'exit 3'], { image: { name: image }, variables: variables({ CI_DEBUG_TRACE: 'true' }) }),
  )
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'failed', exitCode: 3 })
  expect(job.trace.toString()).toContain('hello from the repository')
  expect(job.trace.toString()).toContain('+ cat greeting.txt')
  const patches = scene.coordinator.of('trace').filter(({ path }) => path.includes(String(job.payload.id)))
  expect(patches.map(({ query }) => query.get('debug_trace'))).toEqual(patches.map(() => 'true'))
})
