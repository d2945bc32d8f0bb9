/** Terminals of GitLab jobs in pods of a real Kubernetes: GitLab is a client that has only what the request for the job told it. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { eventually } from '../support/installation.ts'
import { freePort } from '../support/process.ts'
import type { FakeJob } from './support/fake-coordinator.ts'
import { openRunnerScene, type Manager, type ManagerSettings, type RunnerScene } from './support/runner-scene.ts'
import { mustOpenTerminal, openTerminal, type TerminalClient } from './support/terminal-client.ts'

let scene: RunnerScene
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-terminal-${process.pid}`)
})
afterAll(() => scene?.close())

const Body = z.object({
  session: z.object({ url: z.string(), certificate: z.string(), authorization: z.string() }),
  info: z.object({ features: z.record(z.string(), z.boolean()) }),
})

/** Starts a manager with a server of terminals. */
async function startManager(timeoutS: number, settings: ManagerSettings = {}): Promise<Manager> {
  const address = `127.0.0.1:${await freePort()}`
  // Tables may follow those of the runner.
  const kubernetes = `[session_server]\nlisten_address = "${address}"\nadvertise_address = "${address}"\nsession_timeout = ${timeoutS}\n`
  const manager = await scene.startManager({ ...settings, kubernetes })
  // Another one would take the next job.
  onTestFinished(() => manager.service.stop('SIGKILL'))
  return manager
}

/** Starts a job whose script waits for a file that its terminal can make, and resolves with its session when the pod runs. */
async function startJob(): Promise<{ readonly job: FakeJob; readonly session: z.infer<typeof Body>['session'] }> {
  const job = scene.enqueue(['echo started', 'until [ -e /tmp/go ]; do sleep 0.2; done', 'echo "the script has $(cat /tmp/go)"'])
  await eventually('the job runs', async () => (job.trace.toString().includes('started') ? true : undefined))
  const request = scene.coordinator.of('request').findLast(({ status }) => status === 201)
  const { session, info } = Body.parse(request?.json)
  expect(info.features).toMatchObject({ session: true, terminal: true, proxy: false })
  return { job, session }
}

const shows = (client: TerminalClient, text: string): Promise<true> =>
  eventually(`the terminal shows ${text}`, async () => (client.output.includes(text) ? true : undefined))
const traces = (job: FakeJob, text: string): Promise<true> =>
  eventually(`the log has "${text}"`, async () => (job.trace.toString().includes(text) ? true : undefined))

test('a user works in the pod of a job, which ends when the terminal is closed, and not before (G096)', async () => {
  const manager = await startManager(600)
  const { job, session } = await startJob()
  expect(await openTerminal(session, { token: 'wrong' })).toBe(401)
  const client = await mustOpenTerminal(session)
  // Quotes keep the echo of the terminal from being taken for the output.
  client.type('echo "in ""$PWD"\n')
  await shows(client, 'in /builds/demo/app\r\n')
  client.type('stty size; cat greeting.txt\n')
  await shows(client, '24 80\r\n')
  await shows(client, 'hello from the repository')
  expect(await openTerminal(session)).toBe(423)
  const metrics = await (await fetch(`${manager.url}/metrics`)).text()
  expect(metrics).toContain('\nwindlass_gitlab_terminals 1\n')

  client.type('echo ended > /tmp/go\n')
  await traces(job, 'the script has ended')
  await traces(job, 'A terminal is open. The job ends when it is closed, at the latest after 600 s.')
  expect(job.final).toBeUndefined()
  client.type('echo "still ""here"\n')
  await shows(client, 'still here')
  client.type('exit\n')
  expect(await client.closed).toBe(1_000)
  await scene.ended(job)
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(job.trace.toString()).toMatch(/The terminal is closed\.[\s\S]*Job succeeded/)
  await eventually('the session is gone', async () => ((await openTerminal(session)) === 404 ? true : undefined))
  expect(scene.log()).not.toContain(session.authorization)
})

test('a job waits for its terminal until session_timeout; the terminal is closed with the job (G096)', async () => {
  await startManager(2, { name: 'short' })
  const { job, session } = await startJob()
  const client = await mustOpenTerminal(session, { subprotocols: ['base64.terminal.gitlab.com'] })
  client.type('echo ended > /tmp/go\n')
  await scene.ended(job)
  expect(job.final).toMatchObject({ state: 'success' })
  expect(job.trace.toString()).toContain('The terminal was still open after 2 s, and is closed.')
  expect(await client.closed).toBe(1_000)
})

test('a browser that is closed ends its shell and the wait, and a user can come again (G096)', async () => {
  await startManager(600, { name: 'leaving' })
  const { job, session } = await startJob()
  const first = await mustOpenTerminal(session)
  first.type('echo "shell ""$$"; sleep 9000\n')
  await shows(first, 'shell ')
  const pid = await eventually('the number of the shell', async () => /shell (\d+)\r/.exec(first.output)?.[1])
  first.leave()
  const next = await eventually('the terminal opens again', async () => {
    const opened = await openTerminal(session)
    return typeof opened === 'number' ? undefined : opened
  })
  next.type(`while [ -e /proc/${pid} ]; do sleep 0.1; done; echo "the former shell ""is gone"\n`)
  await shows(next, 'the former shell is gone')
  next.type('echo ended > /tmp/go\n')
  await traces(job, 'A terminal is open')
  next.leave()
  await scene.ended(job)
  expect(job.final).toMatchObject({ state: 'success' })
})

test('managers that drain or die do not wait for terminals, and neither do those that continue their jobs (G083, G084, G096)', async () => {
  const first = await startManager(600, { name: 'ending' })
  const killed = await startJob()
  const lost = await mustOpenTerminal(killed.session)
  lost.type('echo ended > /tmp/go\n')
  await traces(killed.job, 'A terminal is open')
  await first.service.stop('SIGKILL')
  expect(await lost.closed).toBe(1_006)
  const second = await startManager(600, { name: 'ending' })
  await scene.ended(killed.job)
  expect(killed.job.final).toMatchObject({ state: 'success' })

  const drained = await startJob()
  const client = await mustOpenTerminal(drained.session)
  client.type('echo "at ""work"\n')
  await shows(client, 'at work')
  second.service.signal('SIGQUIT')
  await eventually('other terminals are refused', async () => {
    const opened = await openTerminal(drained.session)
    return opened === 503 ? true : undefined
  })
  client.type('echo ended > /tmp/go\n')
  await scene.ended(drained.job)
  expect(drained.job.final).toMatchObject({ state: 'success' })
  expect(await client.closed).toBe(1_000)
  expect(await second.service.ended()).toBe(0)
})
