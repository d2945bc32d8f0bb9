/** Managers that are killed, replaced, drained and reconfigured while jobs run on a real Kubernetes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/installation.ts'
import { record } from './support/fake-jobs.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'

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
const ALL = Array.from({ length: 200 }, (_, n) => n + 1)

test('the jobs of a manager that is killed go on and end with whole traces: after its restart, and by another one (G084, G026)', async () => {
  const first = await scene.startManager({ name: 'first' })
  const job = scene.enqueue(COUNT)
  await eventually('the job runs', async () => (counted(job.trace).length > 20 ? true : undefined))
  await first.service.stop('SIGKILL')
  const restarted = await scene.startManager({ name: 'first' })
  await scene.ended(job)
  expect(job.final, restarted.service.log()).toMatchObject({ state: 'success' })
  expect(counted(job.trace)).toEqual(ALL)

  const other = scene.enqueue([...COUNT, ...COUNT])
  await eventually('the job runs', async () => (counted(other.trace).length > 20 ? true : undefined))
  await restarted.service.stop('SIGKILL')
  const second = await scene.startManager({ name: 'second' })
  await scene.ended(other)
  expect(other.final, second.service.log()).toMatchObject({ state: 'success' })
  expect(counted(other.trace)).toEqual([...ALL, ...ALL])
  await eventually('pods, secrets and the Lease of the first manager are gone', async () => {
    const left = [...(await scene.names('pods')), ...(await scene.names('secrets'))]
    return left.length === 0 && (await scene.names('leases')).length === 1 ? true : undefined
  })
  await second.service.stop('SIGKILL')
})

test('a manager that drains runs its job to the end and gets no more (G083, G089)', async () => {
  const manager = await scene.startManager({ name: 'drained' })
  const job = scene.enqueue(['echo started; sleep 4; echo slept'])
  await eventually('the job runs', async () => (job.trace.includes('started') ? true : undefined))
  manager.service.signal('SIGQUIT')
  await eventually('no request is held', async () => (scene.coordinator.held === 0 ? true : undefined))
  const later = scene.enqueue(['echo later'])
  expect(await manager.service.ended()).toBe(0)
  expect(job.final).toMatchObject({ state: 'success' })
  expect(later.updates).toEqual([])
  const systemId = readFileSync(join(dirname(manager.configFile), '.runner_system_id'), 'utf8').trim()
  expect((await scene.names('leases')).join()).not.toContain(systemId.replace('_', '-'))
  // Takes the waiting job, so that the next test does not receive it.
  const next = await scene.startManager({ name: 'drained' })
  await scene.ended(later)
  await next.service.stop('SIGKILL')
})

test('a manager that is terminated ends its jobs as interrupted (G083)', async () => {
  const manager = await scene.startManager({ name: 'terminated' })
  const job = scene.enqueue(['echo started; sleep 300'])
  await eventually('the job runs', async () => (job.trace.includes('started') ? true : undefined))
  manager.service.signal('SIGTERM')
  expect(await manager.service.ended()).toBe(0)
  expect(job.final).toMatchObject({ state: 'failed', failureReason: 'runner_interrupted' })
  await eventually('the pod is gone', async () => ((await scene.names('pods')).length === 0 ? true : undefined))
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
  await manager.service.stop('SIGKILL')
})

test('a change of the configuration counts at once, and a wrong one changes nothing (G016, G017, G090)', async () => {
  const manager = await scene.startManager({ name: 'changed', concurrent: 1 })
  const metric = async (name: string): Promise<string | undefined> => {
    const text = await (await fetch(`${manager.url}/metrics`)).text()
    return new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]
  }
  const jobs = [1, 2].map(() => scene.enqueue(['echo started; while [ ! -e /tmp/go ]; do sleep 0.2; done']))
  await eventually('one job runs', async () => (jobs[0]?.trace.includes('started') === true ? true : undefined))
  expect(await metric('gitlab_runner_concurrent')).toBe('1')
  expect(scene.coordinator.waiting).toBe(1)
  const text = readFileSync(manager.configFile, 'utf8')
  writeFileSync(manager.configFile, text.replace('concurrent = 1\n', 'concurrent = "many"\n'))
  manager.service.signal('SIGHUP')
  await eventually('the error is told', async () =>
    manager.service.log().includes('the configuration is not valid') ? true : undefined,
  )
  expect(await metric('gitlab_runner_concurrent')).toBe('1')
  writeFileSync(manager.configFile, text.replace('concurrent = 1\n', 'concurrent = 2\n'))
  await eventually('both jobs run', async () => (jobs[1]?.trace.includes('started') === true ? true : undefined))
  expect(await (await fetch(`${manager.url}/debug/jobs/list`)).text()).toMatch(
    /id=\d+ project=demo\/app job=job-\d+ state=running/,
  )
  for (const name of await scene.names('pods'))
    await scene.kubectl('exec', name, '--container', 'build', '--', 'touch', '/tmp/go')
  for (const job of jobs) expect((await scene.ended(job)).final).toMatchObject({ state: 'success' })
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
  await verbs(['create', 'get', 'delete'])
  try {
    const manager = await scene.startManager({ name: 'trimmed' })
    const job = await scene.ended(scene.enqueue(['echo here']))
    expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
    expect(manager.service.log()).toContain('may not list and watch pods')
    await manager.service.stop('SIGKILL')
  } finally {
    await verbs(['create', 'get', 'list', 'watch', 'delete'])
  }
})
