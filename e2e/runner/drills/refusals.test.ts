/**
 * Permanent refusals of a cluster: reported with the message of the cluster, and ended by the first attempt if waiting does not help. The
 * bench measures how soon.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { ensureImages } from '../../support/images.ts'
import { eventually } from '../../support/installation.ts'
import { openStage, type Stage } from './stage.ts'

const { PAUSE_IMAGE = '' } = await ensureImages('pause')
/** The minimum that fits beside other pods. */
const SMALL = { requests: { cpu: '10m', memory: '32Mi' } }

let stage: Stage
let cluster: { namespace: string }
beforeAll(async () => {
  const agentEnv = {
    WINDLASS_AGENT_SERVICE_ACCOUNTS: 'windlass-engine,not-made',
    WINDLASS_AGENT_PRIVILEGED_IMAGES: 'windlass/dind,registry.invalid/no/dind:1',
  }
  stage = await openStage('drill-refusals', { agentEnv })
  cluster = { namespace: stage.installation.namespace }
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Waits for a state of a build and returns it. An error has the state that the build was in instead. */
async function until(what: string, id: string, is: (build: Build) => boolean, timeoutMs: number): Promise<Build> {
  const look = async (): Promise<Build | undefined> => {
    const build = await stage.look(id)
    return is(build) ? build : undefined
  }
  return eventually(what, look, timeoutMs).catch(async (error: unknown) => {
    throw new Error(`${what}: ${JSON.stringify(await stage.look(id))}`, { cause: error })
  })
}

/** Waits for the end of a build and returns it with its message. */
async function follow(id: string): Promise<Build> {
  return until('the build says why and ends', id, ({ status }) => isFinalBuild(status), 240_000)
}

interface Refusal {
  readonly what: string
  readonly scheduler: object
  readonly daemon?: object
  readonly limits?: object
  readonly reason: string
  readonly message: RegExp
}

const KINDS: readonly Refusal[] = [
  {
    what: 'an engine image that no registry has',
    scheduler: { image: 'registry.invalid/no/engine:1' },
    limits: { pullMs: 5_000, retries: 0 },
    reason: 'pod-image-error',
    message: /registry\.invalid\/no\/engine:1/,
  },
  {
    what: 'a daemon image that no registry has',
    scheduler: {},
    daemon: { dindImage: 'registry.invalid/no/dind:1' },
    limits: { pullMs: 5_000, retries: 0 },
    reason: 'pod-image-error',
    message: /registry\.invalid\/no\/dind:1/,
  },
  {
    what: 'an invalid image name',
    scheduler: { image: 'windlass.local/ENGINE:1' },
    limits: { retries: 0 },
    reason: 'pod-image-error',
    message: /InvalidImageName/,
  },
  {
    what: 'a missing service account',
    scheduler: { cluster: { serviceAccount: 'not-made' } },
    reason: 'pod-rejected',
    message: /serviceaccount "not-made" not found/i,
  },
  {
    what: 'requests above the limits',
    scheduler: { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
    reason: 'pod-rejected',
    message: /must be less than or equal to cpu limit/,
  },
  {
    what: 'an engine image without an engine',
    scheduler: { image: PAUSE_IMAGE },
    limits: { retries: 0 },
    reason: 'engine-lost',
    message: /executable file not found|no such file/,
  },
]

test.each(KINDS)('$what (R-26)', async ({ what, scheduler, daemon, limits, reason, message }) => {
  const index = KINDS.findIndex((kind) => kind.what === what)
  const runtimeScheduler = {
    resources: SMALL,
    ...scheduler,
    cluster: { ...cluster, ...('cluster' in scheduler && typeof scheduler.cluster === 'object' ? scheduler.cluster : {}) },
  }
  const dockerDaemonScheduler = { defaultDindResources: SMALL, ...daemon }
  const runtime = `refused-${index}`
  await stage.installation.putRuntime(runtime, { runtimeScheduler, dockerDaemonScheduler, ...(limits && { limits }) })
  const id = await stage.trigger(undefined, runtime)
  const build = await follow(id)
  stage.landed('refusal')
  expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason, attempt: 1 })
  expect(build.message).toMatch(message)
})

test('a denial by an admission policy ends the build with the message of the policy (R-26)', async () => {
  const { installation } = stage
  const name = installation.namespace
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
      },
      validations: [
        { expression: "!object.metadata.name.startsWith('engine-')", message: 'the platform team allows no engines today' },
      ],
    },
  }
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: {
      policyName: name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
    },
  }
  try {
    await installation.cluster.apply(policy, binding)
    const probe = ['run', 'engine-probe', `--image=${PAUSE_IMAGE}`, '--dry-run=server']
    const isInForce = async (): Promise<true | undefined> =>
      installation.kubectl(...probe).then(
        () => undefined,
        () => true as const,
      )
    await eventually('the policy is in force', isInForce)
    const build = await follow(await stage.trigger())
    stage.landed('refusal')
    expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-rejected', attempt: 1 })
    expect(build.message).toContain('the platform team allows no engines today')
  } finally {
    await installation.cluster.kubectl(
      'delete',
      'validatingadmissionpolicybinding,validatingadmissionpolicy',
      name,
      '--ignore-not-found',
    )
  }
})

test('a violation of the Pod Security level ends the build with its message (R-26)', async () => {
  const { kubectl, namespace, cluster: admin } = stage.installation
  const level = 'pod-security.kubernetes.io/enforce'
  try {
    await admin.kubectl('label', 'namespace', namespace, `${level}=restricted`)
    const build = await follow(await stage.trigger())
    stage.landed('refusal')
    expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-rejected', attempt: 1 })
    expect(build.message).toMatch(/violates PodSecurity "restricted:latest".*privileged/)
  } finally {
    await kubectl('label', 'namespace', namespace, `${level}-`)
  }
})

test('a violation of a limit range ends the build with its message (R-26)', async () => {
  const { installation } = stage
  const { namespace } = installation
  const max = { memory: '16Mi' }
  const range = {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'tight', namespace },
    spec: { limits: [{ type: 'Container', max, default: max, defaultRequest: max }] },
  }
  try {
    await installation.cluster.apply(range)
    const build = await follow(await stage.trigger())
    stage.landed('refusal')
    expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-rejected', attempt: 1 })
    expect(build.message).toMatch(/maximum memory usage per Container is 16Mi|must be less than or equal to memory limit/)
  } finally {
    await installation.kubectl('delete', 'limitrange', 'tight', '--ignore-not-found')
  }
})

test('a build that fits on no node shows this and can be terminated (R-26)', async () => {
  const resources = { requests: { cpu: '900', memory: '32Mi' } }
  const runtime = 'refused-size'
  await stage.installation.putRuntime(runtime, {
    runtimeScheduler: { cluster },
    dockerDaemonScheduler: { defaultDindResources: resources },
  })
  const id = await stage.trigger(undefined, runtime)
  const waiting = await until('it says that no node has room', id, ({ reason }) => reason === 'unschedulable', 180_000)
  stage.landed('refusal')
  expect(waiting.message).toMatch(/Insufficient cpu/)
  await stage.terminate(id)
  expect(await stage.finished(id)).toMatchObject({ status: 'terminated' })
})

test('refused builds leave no objects, and all invariants hold (R-26, R-27)', async () => {
  expect(await stage.check()).toEqual([])
})
