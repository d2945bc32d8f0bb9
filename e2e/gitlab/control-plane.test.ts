/** A real manager on a real Kubernetes that reports its jobs to a real server. */
import { rmSync, writeFileSync } from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GitlabJob } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../../packages/server/src/index.ts'
import { openHttpScene, type HttpScene } from '../../packages/server/test/support/http-scene.ts'
import { eventually } from '../support/installation.ts'
import { freePort } from '../support/process.ts'
import { openRunnerScene, type Manager, type RunnerScene } from './support/runner-scene.ts'
import { touchInJob } from './support/touch-in-job.ts'

let runner: RunnerScene
let server: HttpScene
let folder: string
let dataDir: string
let manager: Manager
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'windlass-control-plane-'))
  dataDir = join(folder, 'data')
  // Reserved, because a later server listens on it again.
  server = await openHttpScene({ dataDir, port: await freePort() })
  runner = await openRunnerScene(`gitlab-reports-${process.pid}`)
  const { token } = await server.admin.keys.create({ name: 'manager', role: 'maintainer', scopes: ['gitlab-report:write'] })
  writeFileSync(join(folder, 'key'), `${token}\n`, { mode: 0o600 })
  manager = await startManager()
})
afterAll(async () => {
  await runner?.close()
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

function startManager(): Promise<Manager> {
  const words = ['--server-url', server.server.url, '--server-token-file', join(folder, 'key')]
  return runner.startManager({ name: 'reporting', concurrent: 2, words })
}

const jobOf = async (number: number): Promise<GitlabJob | undefined> =>
  (await server.admin.gitlabJobs.list()).items.find((job) => job.number === number)

async function reported(number: number, state: GitlabJob['state']): Promise<GitlabJob> {
  return eventually(`the server has job ${number} as ${state}`, async () => {
    const job = await jobOf(number)
    return job?.state === state ? job : undefined
  })
}

const SECRET = 'sesame-open-12345'
/** Prints a line, and ends when the file is there. */
const UNTIL = ['echo started; for n in $(seq 1 600); do [ -e /tmp/go ] && break; sleep 0.2; done']

test('the server shows a job from its pod to its end, without its variables and tokens (G104)', async () => {
  const variables = [
    { key: 'SECRET', value: SECRET, masked: true },
    { key: 'CI_JOB_URL', value: 'https://gitlab.example.com/demo/app/-/jobs/1001' },
  ]
  const job = runner.enqueue(UNTIL, { variables })
  const { id, token } = job.payload
  const running = await reported(id, 'running')
  const [pod] = await runner.names('pods')
  expect(running).toMatchObject({
    name: `job-${id}`,
    project: 'demo/app',
    stage: 'test',
    ref: 'main',
    runner: 'reporting',
    namespace: runner.namespace,
    url: 'https://gitlab.example.com/demo/app/-/jobs/1001',
    gitlab: runner.coordinator.url,
  })
  expect(`pod/${running.pod}`).toBe(pod)
  expect(running.startedAt).toBeGreaterThanOrEqual(running.receivedAt ?? Infinity)
  await touchInJob(runner.kubectl, running.pod ?? '')
  await runner.ended(job)
  expect(await reported(id, 'success')).toMatchObject({ id: running.id, endedAt: expect.any(Number) })

  const failing = runner.enqueue([`echo ${SECRET}; exit 3`], { variables })
  await runner.ended(failing)
  expect(await reported(failing.payload.id, 'failed')).toMatchObject({
    reason: 'script_failure',
    message: expect.stringContaining('exit code 3'),
  })
  const unpulled = runner.enqueue(['true'], { variables, image: { name: `127.0.0.1:9/${SECRET}/x:1` } })
  await runner.ended(unpulled)
  const refused = await reported(unpulled.payload.id, 'failed')
  expect(refused.message).toContain('[MASKED]')
  const stored = JSON.stringify(await server.server.app.store.query.selectFrom('gitlab_job').selectAll().execute())
  expect(stored).not.toContain(SECRET)
  expect(stored).not.toContain(token)
  expect(manager.service.log()).not.toContain(SECRET)
})

test('jobs run while the server is away, and it knows how they ended when it is back (G104)', async () => {
  const { url } = server.server
  const job = runner.enqueue(UNTIL)
  const { id } = job.payload
  const running = await reported(id, 'running')
  await server.server.close()
  await touchInJob(runner.kubectl, running.pod ?? '')
  await runner.ended(job)
  const during = await runner.ended(runner.enqueue(['echo during the outage']))
  const again = await startServer({ minFreeShare: 0, dataDir, port: Number(new URL(url).port) })
  try {
    expect(await reported(id, 'success')).toMatchObject({ id: running.id })
    expect(await reported(during.payload.id, 'success')).toMatchObject({ runner: 'reporting' })
    // A manager that stops tells the end of the jobs that it interrupts.
    const last = runner.enqueue(UNTIL)
    await reported(last.payload.id, 'running')
    manager.service.signal('SIGTERM')
    expect(await manager.service.ended()).toBe(0)
    expect(await jobOf(last.payload.id)).toMatchObject({ state: 'failed', reason: 'runner_interrupted' })
  } finally {
    await again.close()
  }
})
