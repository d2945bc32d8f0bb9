/** Ends of jobs that something gets in the way of: stores that do not answer, a GitLab that does not take an end, a cluster that refuses removals. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { eventually } from '../support/installation.ts'
import type { FakeJob } from './support/fake-coordinator.ts'
import { record } from './support/fake-jobs.ts'
import { startFakeVault, type FakeVault } from './support/fake-vault.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'
import { touchInJob } from './support/touch-in-job.ts'

const JWT = 'header.id-token-of-the-job.signature'

let scene: RunnerScene
let vault: FakeVault
beforeAll(async () => {
  vault = await startFakeVault({ host: CLUSTER_HOST, jwt: JWT, secrets: { 'ops/data/db': { password: 'p4ss' } } })
  scene = await openRunnerScene(`gitlab-ends-${process.pid}`)
})
afterAll(async () => {
  await scene?.close()
  await vault?.[Symbol.asyncDispose]()
})

/** Ends when the file is there. It is never silent: a manager sends the state of a silent job, which would get the answer for its end. */
const UNTIL = ['echo started; until [ -e /tmp/go ]; do echo waiting; sleep 1; done']
const started = (job: FakeJob): Promise<true> =>
  eventually('the script runs', async () => (job.trace.includes('started') ? true : undefined))

/** Lets the script of the only pod of a namespace end. */
async function go(namespace = scene.namespace): Promise<void> {
  const [pod = ''] = await scene.names('pods', namespace)
  await touchInJob((...args) => scene.cluster.kubectl('--namespace', namespace, ...args), pod)
}

/** Final states that were sent for a job, also those that were refused. */
const endsOf = ({ payload }: FakeJob): number =>
  scene.coordinator.of('update').filter(({ path, json }) => path === `jobs/${payload.id}` && record(json)['state'] !== 'running')
    .length

const objects = async (): Promise<string[]> => [...(await scene.names('pods')), ...(await scene.names('secrets'))]
const nothingIsLeft = (): Promise<true> =>
  eventually('pods and secrets are gone', async () => ((await objects()).length === 0 ? true : undefined))

/** A job with a secret of a store that does not answer. Resolves when the store was asked. */
async function unprepared(): Promise<FakeJob> {
  vault.isSilent = true
  const before = vault.requests.length
  const server = {
    url: vault.url,
    namespace: '',
    auth: { name: 'jwt', path: 'gitlab', data: { role: 'ci', jwt: '$VAULT_ID_TOKEN' } },
  }
  const job = scene.enqueue(['echo "it is $DB"'], {
    variables: [{ key: 'VAULT_ID_TOKEN', value: JWT, masked: true }],
    secrets: { DB: { vault: { server, engine: { name: 'kv-v2', path: 'ops' }, path: 'db', field: 'password' }, file: false } },
  })
  await eventually('the store is asked', async () => (vault.requests.length > before ? true : undefined))
  return job
}

test('a job whose stores do not answer ends once, as interrupted, when its manager is terminated (G083, G095)', async () => {
  const manager = await scene.startManager({ name: 'terminated' })
  const job = await unprepared()
  manager.service.signal('SIGTERM')
  expect(await manager.service.ended()).toBe(0)
  expect(job.final, manager.service.log()).toMatchObject({ state: 'failed', failureReason: 'runner_interrupted' })
  expect([endsOf(job), job.violations, await objects()]).toEqual([1, [], []])
})

test('a job whose stores do not answer goes back to GitLab when the time of a manager that drains is over (G083, G095)', async () => {
  const manager = await scene.startManager({ name: 'drained' })
  const job = await unprepared()
  manager.service.signal('SIGQUIT')
  await eventually('no request is held', async () => (scene.coordinator.held === 0 ? true : undefined))
  manager.service.signal('SIGTERM')
  expect(await manager.service.ended()).toBe(0)
  // GitLab gives a job again that no manager says to run.
  expect([job.updates, await objects()]).toEqual([[], []])
  vault.isSilent = false
  scene.coordinator.requeue(job)
  const next = await scene.startManager({ name: 'next' })
  await scene.ended(job)
  expect(job.final, next.service.log()).toMatchObject({ state: 'success' })
  expect([endsOf(job), job.given.length]).toEqual([1, 2])
  expect(job.trace.toString()).toContain('it is [MASKED]')
  await nothingIsLeft()
  await next.service.stop('SIGKILL')
})

test('an end that GitLab does not take is tried again, and one that it refuses is not (G025)', async () => {
  const manager = await scene.startManager({ name: 'failing', runner: 'job_status_final_update_retry_limit = 0' })
  const job = scene.enqueue(UNTIL)
  await started(job)
  scene.coordinator.next('update', { status: 500 })
  await go()
  await scene.ended(job)
  expect(job.final, manager.service.log()).toMatchObject({ state: 'success' })
  expect(endsOf(job)).toBe(2)
  await nothingIsLeft()

  const refused = scene.enqueue(UNTIL)
  await started(refused)
  scene.coordinator.next('update', { status: 403, body: { message: '403 Forbidden' } })
  await go()
  await nothingIsLeft()
  expect([endsOf(refused), refused.final, refused.violations]).toEqual([1, undefined, []])
  await expect.poll(async () => (await fetch(`${manager.url}/debug/jobs/list`)).text()).toBe('')
  await manager.service.stop('SIGKILL')
})

/** Takes the right to delete some kinds of objects from a Role of the managers. Returns a function that gives it back. */
async function forbidDeletion(role: string, namespace: string, kinds: readonly string[]): Promise<() => Promise<unknown>> {
  const { rules }: { rules: { resources: string[]; verbs: string[] }[] } = JSON.parse(
    await scene.cluster.kubectl('--namespace', namespace, 'get', 'role', role, '--output', 'json'),
  )
  const patch = (next: object): Promise<unknown> =>
    scene.cluster.kubectl(
      '--namespace',
      namespace,
      'patch',
      'role',
      role,
      '--type',
      'merge',
      '--patch',
      JSON.stringify({ rules: next }),
    )
  await patch(
    rules.map((rule) =>
      rule.resources.some((kind) => kinds.includes(kind))
        ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'delete') }
        : rule,
    ),
  )
  const may = (kind: string): Promise<boolean> => scene.may('delete', kind, '--namespace', namespace)
  for (const kind of kinds) await eventually(`${kind} may not be deleted`, async () => ((await may(kind)) ? undefined : true))
  return () => patch(rules)
}

test('removals that the cluster refuses end: jobs are not followed again, take no place, and go when the rights are back (G077, G084)', async () => {
  const other = await scene.addNamespace('kept')
  const settings = { name: 'refused', concurrent: 2, kubernetes: 'namespace_overwrite_allowed = "-kept$"' }
  const manager = await scene.startManager(settings)
  const variables = [{ key: 'KUBERNETES_NAMESPACE_OVERWRITE', value: other, public: true }]
  const [elsewhere, here] = [scene.enqueue(UNTIL, { variables }), scene.enqueue(UNTIL)]
  await Promise.all([elsewhere, here].map(started))
  await forbidDeletion('windlass-gitlab-jobs', other, ['pods', 'secrets'])
  const allow = await forbidDeletion('windlass-gitlab-runner', scene.namespace, ['pods'])
  await Promise.all([go(other), go()])
  for (const job of [elsewhere, here]) expect((await scene.ended(job)).final).toMatchObject({ state: 'success' })
  await eventually('the record of the job elsewhere is gone', async () =>
    (await scene.names('secrets')).length === 1 ? true : undefined,
  )
  // Longer than two looks for jobs that no manager follows.
  await sleep(25_000)
  expect(await scene.names('pods', other)).toHaveLength(1)
  expect(await scene.names('pods')).toHaveLength(1)
  expect([elsewhere, here].map(endsOf)).toEqual([1, 1])
  expect(manager.service.log()).not.toContain('continues the job')
  expect(manager.service.log()).toContain('cannot remove all objects of a job that has ended')
  // Two jobs at once are still possible.
  const more = [scene.enqueue(UNTIL), scene.enqueue(UNTIL)]
  await Promise.all(more.map(started))
  await allow()
  for (const pod of await scene.names('pods')) await touchInJob(scene.kubectl, pod).catch(() => undefined)
  for (const job of more) await scene.ended(job)
  await nothingIsLeft()
  await manager.service.stop('SIGKILL')
})
