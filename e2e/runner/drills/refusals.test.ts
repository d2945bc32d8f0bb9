/** What a cluster refuses for good: told in the cluster's own words within thirty seconds, and ended within thirty where waiting mends nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { eventually } from '../../support/installation.ts'
import { openStage, type Stage } from './stage.ts'

const TOLD_MS = 30_000
const ENDED_MS = 30_000
/** A registry may come back, so an image gets more time. */
const PULL_ENDED_MS = 120_000
/** The least that fits beside others. */
const SMALL = { requests: { cpu: '10m', memory: '32Mi' } }

let stage: Stage
let cluster: { namespace: string }
beforeAll(async () => {
  const agentEnv = { WINDLASS_AGENT_SERVICE_ACCOUNTS: 'windlass-engine,not-made' }
  stage = await openStage('drill-refusals', { agentEnv })
  cluster = { namespace: stage.installation.namespace }
})
afterAll(() => stage?.[Symbol.asyncDispose]())

async function addRuntime(name: string, spec: object): Promise<string> {
  const document = { kind: 'runtime', metadata: { name }, spec: { type: 'kubernetes', agent: 'one-node', ...spec } }
  const file = await stage.installation.file(`${name}.json`, JSON.stringify(document))
  const { code, stderr } = await stage.installation.windlass('apply', '-f', file)
  expect(code, stderr).toBe(0)
  return name
}

/** Waits for the reason (or the end) and then for the end; answers how long each took since the build was asked for. */
async function follow(id: string, isTold: (build: Build) => boolean): Promise<{ build: Build; toldMs: number; endedMs: number }> {
  const from = performance.now()
  const until = async (is: (build: Build) => boolean): Promise<Build> =>
    eventually(
      'the build says why',
      async () => {
        const build = await stage.look(id)
        return is(build) ? build : undefined
      },
      60_000,
    ).catch(async (error: unknown) => {
      throw new Error(JSON.stringify(await stage.look(id)), { cause: error })
    })
  await until((build) => isTold(build) || isFinalBuild(build.status))
  const toldMs = performance.now() - from
  const build = await until(({ status }) => isFinalBuild(status))
  return { build, toldMs, endedMs: performance.now() - from }
}

interface Refusal {
  readonly what: string
  readonly scheduler: object
  readonly daemon?: object
  readonly limits?: object
  readonly reason: string
  readonly words: RegExp
}

const KINDS: readonly Refusal[] = [
  {
    what: 'an engine image that no registry has',
    scheduler: { image: 'registry.invalid/no/engine:1' },
    limits: { pullMs: 5_000, retries: 0 },
    reason: 'pod-image-error',
    words: /registry\.invalid\/no\/engine:1/,
  },
  {
    what: 'a daemon image that no registry has',
    scheduler: {},
    daemon: { dindImage: 'registry.invalid/no/dind:1' },
    limits: { pullMs: 5_000, retries: 0 },
    reason: 'pod-image-error',
    words: /registry\.invalid\/no\/dind:1/,
  },
  {
    what: 'a name that is no name of an image',
    scheduler: { image: 'windlass.local/ENGINE:1' },
    limits: { retries: 0 },
    reason: 'pod-image-error',
    words: /InvalidImageName/,
  },
  {
    what: 'a service account that is not there',
    scheduler: { cluster: { serviceAccount: 'not-made' } },
    reason: 'pod-rejected',
    words: /serviceaccount "not-made" not found/i,
  },
  {
    what: 'requests above the limits',
    scheduler: { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
    reason: 'pod-rejected',
    words: /must be less than or equal to cpu limit/,
  },
  {
    what: 'an engine image without an engine',
    scheduler: { image: 'windlass.local/pause:1' },
    limits: { retries: 0 },
    reason: 'engine-lost',
    words: /executable file not found|no such file/,
  },
]

test.each(KINDS)('R-26: $what', async ({ what, scheduler, daemon, limits, reason, words }) => {
  const index = KINDS.findIndex((kind) => kind.what === what)
  const runtimeScheduler = {
    resources: SMALL,
    ...scheduler,
    cluster: { ...cluster, ...('cluster' in scheduler && typeof scheduler.cluster === 'object' ? scheduler.cluster : {}) },
  }
  const dockerDaemonScheduler = { defaultDindResources: SMALL, ...daemon }
  const runtime = await addRuntime(`refused-${index}`, { runtimeScheduler, dockerDaemonScheduler, ...(limits && { limits }) })
  const id = await stage.trigger(undefined, runtime)
  const { build, toldMs, endedMs } = await follow(id, (seen) => seen.reason === reason)
  stage.landed('refusal')
  expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason })
  expect(build.message).toMatch(words)
  expect(toldMs).toBeLessThan(TOLD_MS)
  expect(endedMs).toBeLessThan(reason === 'pod-image-error' ? PULL_ENDED_MS : ENDED_MS)
})

test('R-26: what an admission policy denies ends with the words of whoever wrote the policy', async () => {
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
    const probe = ['run', 'engine-probe', '--image=windlass.local/pause:1', '--dry-run=server']
    const isInForce = async (): Promise<true | undefined> =>
      installation.kubectl(...probe).then(
        () => undefined,
        () => true as const,
      )
    await eventually('the policy is in force', isInForce)
    const { build, endedMs } = await follow(await stage.trigger(), ({ reason }) => reason === 'pod-rejected')
    stage.landed('refusal')
    expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-rejected' })
    expect(build.message).toContain('the platform team allows no engines today')
    expect(endedMs).toBeLessThan(ENDED_MS)
  } finally {
    await installation.cluster.kubectl(
      'delete',
      'validatingadmissionpolicybinding,validatingadmissionpolicy',
      name,
      '--ignore-not-found',
    )
  }
})

test('R-26: what the pod security level of the namespace forbids ends with its words', async () => {
  const { kubectl, namespace, cluster: admin } = stage.installation
  const level = 'pod-security.kubernetes.io/enforce'
  try {
    await admin.kubectl('label', 'namespace', namespace, `${level}=restricted`)
    const { build, endedMs } = await follow(await stage.trigger(), ({ reason }) => reason === 'pod-rejected')
    stage.landed('refusal')
    expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-rejected' })
    expect(build.message).toMatch(/violates PodSecurity "restricted:latest".*privileged/)
    expect(endedMs).toBeLessThan(ENDED_MS)
  } finally {
    await kubectl('label', 'namespace', namespace, `${level}-`)
  }
})

test('R-26: what a limit range forbids ends with its words', async () => {
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
    const { build, endedMs } = await follow(await stage.trigger(), ({ reason }) => reason === 'pod-rejected')
    stage.landed('refusal')
    expect(build, JSON.stringify(build)).toMatchObject({ status: 'error', reason: 'pod-rejected' })
    expect(build.message).toMatch(/maximum memory usage per Container is 16Mi|must be less than or equal to memory limit/)
    expect(endedMs).toBeLessThan(ENDED_MS)
  } finally {
    await installation.kubectl('delete', 'limitrange', 'tight', '--ignore-not-found')
  }
})

test('R-26: a build that asks for more than any node has says so, and can be terminated', async () => {
  const resources = { requests: { cpu: '900', memory: '32Mi' } }
  const runtime = await addRuntime('refused-size', {
    runtimeScheduler: { cluster },
    dockerDaemonScheduler: { defaultDindResources: resources },
  })
  const id = await stage.trigger(undefined, runtime)
  const from = performance.now()
  const told = await eventually('it says that no node has room', async () => {
    const build = await stage.look(id)
    return build.reason === 'unschedulable' ? build : undefined
  })
  stage.landed('refusal')
  expect(performance.now() - from).toBeLessThan(TOLD_MS)
  expect(told.message).toMatch(/Insufficient cpu/)
  await stage.terminate(id)
  expect(await stage.finished(id)).toMatchObject({ status: 'terminated' })
})

test('R-26, R-27: nothing is left of what was refused, and every promise was kept', async () => {
  expect(await stage.check()).toEqual([])
})
