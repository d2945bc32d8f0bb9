/** Managers that are killed, replaced, drained and reconfigured while jobs run on a real Kubernetes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/installation.ts'
import { record } from './support/fake-jobs.ts'
import { openRunnerScene, type Manager, type RunnerScene } from './support/runner-scene.ts'
import { touchInJob } from './support/touch-in-job.ts'

let scene: RunnerScene
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-managers-${process.pid}`)
})
afterAll(() => scene?.close())

/** Prints numbered lines for some seconds. */
const COUNT = ['for n in $(seq 1 200); do echo "line $n"; sleep 0.05; done']

/** Numbers of the lines in the trace of `COUNT`. */
function counted(trace: Buffer): number[] {
  return [...trace.toString().matchAll(/ 01O line (\d+)\n/g)].map(([, n]) => Number(n))
}
const podsGone = (): Promise<true> =>
  eventually('the pods are gone', async () => ((await scene.names('pods')).length === 0 ? true : undefined))

const ALL = Array.from({ length: 200 }, (_, n) => n + 1)

/** Waits until the test calls `letGo`: a job that counts for some seconds can end before what it should outlast. */
const HOLD = 'until [ -e /tmp/go ]; do sleep 0.2; done'

/** Lets the scripts of all pods of a namespace continue. */
async function letGo(namespace = scene.namespace): Promise<void> {
  for (const pod of await scene.names('pods', namespace))
    await touchInJob((...args) => scene.cluster.kubectl('--namespace', namespace, ...args), pod)
}

/** Returns the value of a metric of a manager. */
async function metricOf({ url }: Manager, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]
}

test('the job of a manager that is killed goes on and ends with a whole trace after its restart (G084, G026)', async () => {
  const first = await scene.startManager({ name: 'first' })
  const job = scene.enqueue(COUNT)
  await eventually('the job runs', async () => (counted(job.trace).length > 20 ? true : undefined))
  await first.service.stop('SIGKILL')
  const restarted = await scene.startManager({ name: 'first' })
  await scene.ended(job)
  expect(job.final, restarted.service.log()).toMatchObject({ state: 'success' })
  expect(counted(job.trace)).toEqual(ALL)
  await podsGone()
  await restarted.service.stop('SIGKILL')
})

test('a job in a namespace that its variable chooses is continued by another manager; nothing of it stays, and no Lease of a dead manager (G077, G084)', async () => {
  const other = await scene.addNamespace('chosen')
  const settings = { kubernetes: 'namespace_overwrite_allowed = "-chosen$"' }
  const first = await scene.startManager({ name: 'chooser', ...settings })
  const variables = [{ key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: other, public: true }]
  const job = scene.enqueue([...COUNT, HOLD, ...COUNT], { variables })
  await eventually('the job runs', async () => (counted(job.trace).length > 20 ? true : undefined))
  expect(await scene.names('pods', other)).toHaveLength(1)
  expect(await scene.names('pods')).toEqual([])
  await first.service.stop('SIGKILL')
  // A new process that has never used the namespace.
  const second = await scene.startManager({ name: 'heir', ...settings })
  await letGo(other)
  await scene.ended(job)
  expect(job.final, second.service.log()).toMatchObject({ state: 'success' })
  expect(counted(job.trace)).toEqual([...ALL, ...ALL])
  // The manager of the test before died without a job.
  await eventually('nothing of the job and of dead managers is left', async () => {
    const elsewhere = await Promise.all(['pods', 'secrets', 'leases'].map((kind) => scene.names(kind, other)))
    const here = [...(await scene.names('pods')), ...(await scene.names('secrets'))]
    return elsewhere.flat().length + here.length === 0 && (await scene.names('leases')).length === 1 ? true : undefined
  })
  await second.service.stop('SIGKILL')
})

test('two managers with one system ID leave the live jobs of each other alone, and one continues those of the other when it dies (G105)', async () => {
  const systemId = 'r_aaaabbbbcccc'
  const settings = { systemId, concurrent: 1 }
  const first = await scene.startManager({ name: 'twin-one', ...settings })
  const script = [...COUNT, HOLD, ...COUNT]
  const jobs = [scene.enqueue(script)]
  await eventually('the first job runs', async () => (counted(jobs[0]?.trace ?? Buffer.alloc(0)).length > 5 ? true : undefined))
  const second = await scene.startManager({ name: 'twin-two', ...settings })
  jobs.push(scene.enqueue(script))
  await eventually('the second job runs', async () => (counted(jobs[1]?.trace ?? Buffer.alloc(0)).length > 5 ? true : undefined))
  // The second manager can have a job before it has a Lease.
  await eventually('both managers have a Lease', async () => {
    const leases = (await scene.names('leases')).filter((name) => name.includes(systemId.replace('_', '-')))
    return leases.length === 2 ? true : undefined
  })
  await eventually('both managers have seen each other twice', async () =>
    [first, second].every(({ service }) => service.log().includes('another process has the same system ID')) ? true : undefined,
  )
  for (const { service } of [first, second]) expect(service.log()).not.toContain('continues the job')
  await second.service.stop('SIGKILL')
  await letGo()
  for (const job of jobs) {
    await scene.ended(job)
    expect(job.final, first.service.log()).toMatchObject({ state: 'success' })
  }
  expect(counted(jobs[1]?.trace ?? Buffer.alloc(0))).toEqual([...ALL, ...ALL])
  expect(first.service.log().match(/continues the job/g)).toHaveLength(1)
  await podsGone()
  await first.service.stop('SIGKILL')
})

test('a manager that drains runs its job to the end and gets no more (G083, G089)', async () => {
  const manager = await scene.startManager({ name: 'drained' })
  const job = scene.enqueue(['echo started', HOLD])
  await eventually('the job runs', async () => (job.trace.includes('started') ? true : undefined))
  manager.service.signal('SIGQUIT')
  // A manager that has not heard the signal yet makes no request for a moment when the one before has been answered.
  await eventually('no request is made any more', async () => {
    if (!manager.service.log().includes('the manager asks for no more jobs')) return undefined
    const requests = await metricOf(manager, 'gitlab_runner_request_concurrency')
    return requests === '0' && scene.coordinator.held === 0 ? true : undefined
  })
  const later = scene.enqueue(['echo later'])
  await letGo()
  expect(await manager.service.ended()).toBe(0)
  expect(job.final).toMatchObject({ state: 'success' })
  expect(later.updates).toEqual([])
  const systemId = readFileSync(join(dirname(manager.configFile), '.runner_system_id'), 'utf8').trim()
  expect((await scene.names('leases')).join()).not.toContain(systemId.replace('_', '-'))
  // Takes the waiting job, so that the next test does not receive it.
  const next = await scene.startManager({ name: 'drained' })
  await scene.ended(later)
  // A manager that is killed before that leaves its pod to the next one.
  await podsGone()
  await next.service.stop('SIGKILL')
})

test('a manager that is terminated ends its jobs as interrupted (G083)', async () => {
  const manager = await scene.startManager({ name: 'terminated' })
  const job = scene.enqueue(['echo started; sleep 300'])
  await eventually('the job runs', async () => (job.trace.includes('started') ? true : undefined))
  manager.service.signal('SIGTERM')
  expect(await manager.service.ended()).toBe(0)
  expect(job.final).toMatchObject({ state: 'failed', failureReason: 'runner_interrupted' })
  await podsGone()
})

test('a job goes on while GitLab is away, and its trace arrives afterwards (G099)', async () => {
  const manager = await scene.startManager({ name: 'patient' })
  const job = scene.enqueue(COUNT)
  await eventually('the job runs', async () => (counted(job.trace).length > 5 ? true : undefined))
  await scene.coordinator.down()
  await eventually('the log has ended', async () => {
    const pods = await scene.kubectl(
      'get',
      'pods',
      '--output',
      'jsonpath={.items[*].status.containerStatuses[?(@.name=="build")].state.terminated.exitCode}',
    )
    return pods === '0' ? true : undefined
  })
  await scene.coordinator.up()
  await scene.ended(job)
  expect(job.final, manager.service.log()).toMatchObject({ state: 'success' })
  expect(counted(job.trace)).toEqual(ALL)
  await podsGone()
  await manager.service.stop('SIGKILL')
})

test('a change of the configuration counts at once, and a wrong one changes nothing (G016, G017, G090)', async () => {
  const manager = await scene.startManager({ name: 'changed', concurrent: 1 })
  const jobs = [1, 2].map(() => scene.enqueue(['echo started', HOLD]))
  await eventually('one job runs', async () => (jobs[0]?.trace.includes('started') === true ? true : undefined))
  expect(await metricOf(manager, 'gitlab_runner_concurrent')).toBe('1')
  expect(scene.coordinator.waiting).toBe(1)
  const text = readFileSync(manager.configFile, 'utf8')
  writeFileSync(manager.configFile, text.replace('concurrent = 1\n', 'concurrent = "many"\n'))
  manager.service.signal('SIGHUP')
  await eventually('the error is told', async () =>
    manager.service.log().includes('the configuration is not valid') ? true : undefined,
  )
  expect(await metricOf(manager, 'gitlab_runner_concurrent')).toBe('1')
  writeFileSync(manager.configFile, text.replace('concurrent = 1\n', 'concurrent = 2\n'))
  await eventually('both jobs run', async () => (jobs[1]?.trace.includes('started') === true ? true : undefined))
  expect(await (await fetch(`${manager.url}/debug/jobs/list`)).text()).toMatch(
    /id=\d+ project=demo\/app job=job-\d+ state=running/,
  )
  await letGo()
  for (const job of jobs) expect((await scene.ended(job)).final).toMatchObject({ state: 'success' })
  await podsGone()
  await manager.service.stop('SIGKILL')
})

test('a manager with another system ID serves the same runner, and one with a registration token is removed after its jobs (G100, G004)', async () => {
  const ids = (): unknown[] => scene.coordinator.of('request').map(({ json }) => record(json)['system_id'])
  const manager = await scene.startManager({ name: 'renewed' })
  const [first] = ids().slice(-1)
  await manager.service.stop('SIGKILL')
  writeFileSync(join(dirname(manager.configFile), '.runner_system_id'), 'r_0123456789ab\n')
  const again = await scene.startManager({ name: 'renewed' })
  expect(first).toMatch(/^[sr]_/)
  await eventually('the new ID asks for jobs', async () => (ids().at(-1) === 'r_0123456789ab' ? true : undefined))
  await again.service.stop('SIGKILL')

  const legacy = await scene.startManager({ name: 'legacy', token: 'legacyTokenOfARunner', words: ['--unregister'] })
  const job = scene.enqueue(['echo started; sleep 3'])
  await eventually('the job runs', async () => (job.trace.includes('started') ? true : undefined))
  legacy.service.signal('SIGQUIT')
  expect(await legacy.service.ended()).toBe(0)
  expect(job.final).toMatchObject({ state: 'success' })
  const removed = scene.coordinator.of('unregister').at(-1)
  const finished = scene.coordinator.of('update').at(-1)
  expect(removed?.at).toBeGreaterThanOrEqual(finished?.at ?? Number.POSITIVE_INFINITY)
})

test('without the right to watch pods each pod is read again, and jobs still end (G086)', async () => {
  const verbs = (list: readonly string[]): Promise<string> =>
    scene.kubectl(
      'patch',
      'role',
      'windlass-gitlab-runner',
      '--type',
      'json',
      '--patch',
      JSON.stringify([{ op: 'replace', path: '/rules/0/verbs', value: list }]),
    )
  const mayWatch = (): Promise<boolean> => scene.may('watch', 'pods', '--namespace', scene.namespace)
  await verbs(['create', 'get', 'delete'])
  try {
    await eventually('the right is gone', async () => ((await mayWatch()) ? undefined : true))
    const manager = await scene.startManager({ name: 'trimmed' })
    const job = await scene.ended(scene.enqueue(['echo here']))
    expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
    expect(manager.service.log()).toContain('may not list and watch pods')
    await manager.service.stop('SIGKILL')
  } finally {
    await verbs(['create', 'get', 'list', 'watch', 'delete'])
  }
})

test('each job has a namespace of its own if the runner is configured so, and it goes with its job (G077)', async () => {
  // The last test: these rights are in all namespaces.
  await scene.allowNamespaces()
  const settings = { name: 'spacious', kubernetes: 'namespace_per_job = true' }
  const manager = await scene.startManager(settings)
  // The variable has no effect: the job has a namespace already.
  const variables = [{ key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: 'kube-system', public: true }]
  const job = scene.enqueue([...COUNT, HOLD], { variables })
  const own = `ci-job-${job.payload.id}`
  await eventually('the job runs', async () => (counted(job.trace).length > 5 ? true : undefined))
  expect(await scene.names('pods', own)).toHaveLength(1)
  await manager.service.stop('SIGKILL')
  const again = await scene.startManager(settings)
  await letGo(own)
  await scene.ended(job)
  expect(job.final, again.service.log()).toMatchObject({ state: 'success' })
  expect(counted(job.trace)).toEqual(ALL)
  expect(job.trace.toString()).toContain(`Using Kubernetes namespace: ${own}`)
  const isGone = async (): Promise<boolean> =>
    !(await scene.names('namespaces')).includes(`namespace/${own}`) && (await scene.names('secrets')).length === 0
  await eventually('the namespace and the record are gone', async () => ((await isGone()) ? true : undefined))
  await again.service.stop('SIGKILL')
})
