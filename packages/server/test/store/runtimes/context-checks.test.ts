/** Checks of contexts: the request, what the agent gets and when it does not, and what becomes of the report. */
import { randomUUID } from 'node:crypto'
import { newId } from '@windlass/kit'
import {
  AccountSettings,
  CONTEXT_CHECKS_FEATURE,
  JOBS_FEATURE,
  PipelineInput,
  RuntimeInput,
  type AgentJob,
  type ContextCheckResult,
  type ContextInput,
} from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putAccountSettings } from '../../../src/account/settings.ts'
import { changeAgent, createAgent, removeAgent } from '../../../src/agents/agents.ts'
import { takeJobReport } from '../../../src/agents/jobs.ts'
import type { App } from '../../../src/app.ts'
import { checkContext, showContextChecks } from '../../../src/contexts/check-context.ts'
import { putContext, removeContext } from '../../../src/contexts/contexts.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { readRuntimeAccess } from '../../../src/runtimes/access.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { claim } from '../../../src/tasks/claim.ts'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { callOfAgents, openScene, PROTOCOL, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const signal = new AbortController().signal
/** A request that does not wait for the agent. */
const NOW = { runtime: undefined, by: 'mira', signal: AbortSignal.abort() }
const FEATURES = [JOBS_FEATURE, CONTEXT_CHECKS_FEATURE]
const PASSWORD = 'hunter2hunter2'
const REACHED = { outcome: 'reached', message: 'It answers.', identity: 'ci', tookMs: 7 } as const

async function openChecks(app: App, features: string[] = FEATURES): Promise<Scene> {
  const scene = await openScene(app)
  return { ...scene, ...(await greet(scene, features)) }
}

async function greet({ app, agentId }: Scene, features: string[]): Promise<Pick<Scene, 'epoch' | 'instance'>> {
  const instance = randomUUID()
  const { epoch } = await greetAgent(app, agentId, { ...PROTOCOL, features, executor: 'fake', instance, attempts: [] })
  return { epoch, instance }
}

async function addContext(app: App, name: string, type: ContextInput['type'], data: ContextInput['data']): Promise<void> {
  await putContext(app, { name, input: { name, type, isDefault: false, data }, mustBeNew: false, by: 'jo' })
}

const addRegistry = (app: App, name = 'images'): Promise<void> =>
  addContext(app, name, 'registry', { domain: 'registry.example.com', username: 'ci', password: PASSWORD })

async function jobsOf({ app, agentId, epoch }: Pick<Scene, 'app' | 'agentId' | 'epoch'>): Promise<readonly AgentJob[]> {
  return (await claim(app, agentId, { epoch, room: 10, waitMs: 0 }, signal)).jobs ?? []
}

async function answer({ app, agentId, epoch }: Scene, job: AgentJob | undefined, result?: ContextCheckResult): Promise<void> {
  const of = { epoch, jobId: job?.id ?? '', revision: job?.revision ?? 0 }
  const end = result === undefined ? { message: 'out of memory' } : { result: { kind: 'check-context', result } as const }
  await takeJobReport(app, agentId, { ...of, ...end })
}

describe.each(DATABASES)('checks of contexts on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('the credentials of a context are only in the job that the agent takes, and the result stays (E31)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openChecks(app)
    await addRegistry(app)
    const asked = await checkContext(app, 'images', NOW)
    expect(asked).toEqual({ runtime: 'local', agent: 'agent', state: 'running', requestedAt: clock.now(), requestedBy: 'mira' })
    clock.advance(1000)
    // A second request joins the first one.
    expect(await checkContext(app, 'images', { ...NOW, by: 'jo', runtime: 'local' })).toMatchObject({ requestedBy: 'mira' })
    const rows = [
      ...(await app.store.query.selectFrom('agent_job').selectAll().execute()),
      ...(await app.store.query.selectFrom('context_check').selectAll().execute()),
    ]
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toContain(PASSWORD)
    const jobs = await jobsOf(scene)
    expect(jobs).toEqual([
      {
        id: expect.any(String),
        revision: 1,
        kind: 'check-context',
        context: 'images',
        runtime: 'local',
        target: { type: 'registry', domain: 'registry.example.com', username: 'ci', password: PASSWORD },
      },
    ])
    await answer(scene, jobs[0], REACHED)
    const [check] = await showContextChecks(app, 'images')
    expect(check).toMatchObject({ state: 'done', result: { ...REACHED, at: clock.now(), isOutdated: false } })
    const stored = await app.store.query.selectFrom('context_check').selectAll().execute()
    expect(JSON.stringify(stored)).not.toContain(PASSWORD)
    // A caller who may not use the runtime neither starts a check on it nor sees one.
    const spec = { tags: ['gpu'] }
    const input = RuntimeInput.parse({ name: 'local', type: 'fake', agent: 'agent', isDefault: true, spec })
    await putRuntime(app, { name: 'local', input, changedBy: 'tester' })
    await putAccountSettings(app, AccountSettings.parse({ runtimeAccess: { gpu: [] } }))
    const { accountId, store } = app
    const kim = { kind: 'key', id: newId(clock.now()), accountId, name: 'kim', role: 'maintainer' } as const
    const access = await readRuntimeAccess(app, store.query, kim)
    expect(await showContextChecks(app, 'images', access)).toEqual([])
    await expect(checkContext(app, 'images', { ...NOW, access })).rejects.toMatchObject({ code: 'runtime-denied' })
  })

  test('a repeated report changes nothing, nor does one of an earlier request (E31)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openChecks(app)
    await addRegistry(app)
    await checkContext(app, 'images', NOW)
    const [first] = await jobsOf(scene)
    clock.advance(10 * 60_000)
    await callOfAgents(app)
    await checkContext(app, 'images', NOW)
    const [second] = await jobsOf(scene)
    expect(second?.id).not.toBe(first?.id)
    await answer(scene, first, { ...REACHED, identity: 'early' })
    expect(await showContextChecks(app, 'images')).toMatchObject([{ state: 'running' }])
    await answer(scene, second, REACHED)
    await answer(scene, second, { ...REACHED, identity: 'again' })
    expect(await showContextChecks(app, 'images')).toMatchObject([{ state: 'done', result: { identity: 'ci' } }])
    // The last result stays while a new check runs, and says that the context has changed.
    clock.advance(1000)
    await addRegistry(app)
    await checkContext(app, 'images', NOW)
    expect(await showContextChecks(app, 'images')).toMatchObject([
      { state: 'running', result: { identity: 'ci', isOutdated: true } },
    ])
  })

  test('a check of an agent that stops ends with a reason, and so does one that fails twice (E31)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openChecks(app)
    await addRegistry(app)
    await checkContext(app, 'images', NOW)
    expect(await jobsOf(scene)).toHaveLength(1)
    clock.advance(151_000)
    const [late] = await showContextChecks(app, 'images')
    expect(late).toMatchObject({ state: 'failed', message: expect.stringContaining('did not report the check within 150 s') })
    expect(await jobsOf(scene)).toEqual([])
    await callOfAgents(app)
    await checkContext(app, 'images', NOW)
    for (let turn = 0; turn < 2; turn += 1) {
      await answer(scene, (await jobsOf(scene))[0])
      clock.advance(20_000)
      await callOfAgents(app)
    }
    expect(await showContextChecks(app, 'images')).toMatchObject([{ state: 'failed', message: 'out of memory' }])
    await checkContext(app, 'images', NOW)
    await removeAgent(app, 'agent', { by: 'jo' })
    clock.advance(151_000)
    expect(await showContextChecks(app, 'images')).toMatchObject([{ state: 'failed', agent: 'agent' }])
  })

  test('at most twenty checks are in progress, and joining one of them is always possible (E31)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openChecks(app)
    for (let n = 0; n <= 20; n += 1) await addRegistry(app, `r${n}`)
    for (let n = 0; n < 20; n += 1) await checkContext(app, `r${n}`, NOW)
    await expect(checkContext(app, 'r20', NOW)).rejects.toMatchObject({ code: 'rate-limited' })
    expect(await checkContext(app, 'r0', NOW)).toMatchObject({ state: 'running' })
    clock.advance(151_000)
    await callOfAgents(app)
    expect(await checkContext(app, 'r20', NOW)).toMatchObject({ state: 'running' })
  })

  test('says why a context cannot be checked (E31)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openChecks(app)
    for (const type of ['config', 'secret', 'yaml', 'secret-yaml'] as const) {
      await addContext(app, type, type, { A: '1' })
      await expect(checkContext(app, type, NOW)).rejects.toMatchObject({
        code: 'context-not-checkable',
        message: expect.stringContaining(type),
      })
    }
    await addContext(app, 'team', 'secret-store', { resourceName: 'team', runtime: 'prod' })
    await expect(checkContext(app, 'team', { ...NOW, runtime: 'local' })).rejects.toMatchObject({
      code: 'context-of-other-runtime',
    })
    await expect(checkContext(app, 'team', NOW)).rejects.toMatchObject({ code: 'runtime-unknown' })
    await expect(checkContext(app, 'none', NOW)).rejects.toMatchObject({ code: 'not-found' })
    await addRegistry(app)
    await expect(checkContext(app, 'images', { ...NOW, runtime: 'none' })).rejects.toMatchObject({ code: 'runtime-unknown' })
    await greet(scene, [JOBS_FEATURE])
    await expect(checkContext(app, 'images', NOW)).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('Upgrade'),
    })
    clock.advance(10 * 60_000)
    await expect(checkContext(app, 'images', NOW)).rejects.toMatchObject({ code: 'agent-not-connected' })
    expect(await showContextChecks(app, 'images')).toEqual([])
  })

  test('an agent gets no credentials if it may not have them any more when it takes the job (E31)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    let scene = await openChecks(app)
    await addRegistry(app)
    // The runtime goes to another agent.
    await checkContext(app, 'images', NOW)
    await changeAgent(app, 'agent', { runtimes: [] }, 'jo')
    await createAgent(app, { name: 'other', runtimes: ['local'] })
    expect(await jobsOf(scene)).toEqual([])
    expect(await showContextChecks(app, 'images')).toMatchObject([
      { state: 'failed', message: 'Agent "agent" no longer serves the runtime "local".' },
    ])
    await changeAgent(app, 'agent', { runtimes: ['local'] }, 'jo')
    // The context becomes one for another runtime.
    await addContext(app, 'team', 'secret-store', { resourceName: 'team' })
    await checkContext(app, 'team', NOW)
    await addContext(app, 'team', 'secret-store', { resourceName: 'team', runtime: 'prod' })
    expect(await jobsOf(scene)).toEqual([])
    expect(await showContextChecks(app, 'team')).toMatchObject([
      { state: 'failed', message: expect.stringContaining('is only for the runtime "prod"') },
    ])
    // The process is replaced by one that does not know such jobs.
    await checkContext(app, 'images', NOW)
    scene = { ...scene, ...(await greet(scene, [JOBS_FEATURE])) }
    expect(await jobsOf(scene)).toEqual([])
    expect(await showContextChecks(app, 'images')).toMatchObject([{ state: 'failed' }])
    // The context is deleted.
    scene = { ...scene, ...(await greet(scene, FEATURES)) }
    await checkContext(app, 'images', NOW)
    await removeContext(app, 'images')
    expect(await jobsOf(scene)).toEqual([])
    await addRegistry(app)
    expect(await showContextChecks(app, 'images')).toEqual([])
  })

  test('an agent learns which keys of a store pipelines name, and no private key (E31)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openChecks(app)
    await addContext(app, 'vault', 'secret-store', { url: 'https://vault.example.com', token: 'hvs.token', path: 'team/app' })
    await addContext(app, 'vault.eu', 'secret-store', { url: 'https://vault.example.eu', token: 'hvs.other' })
    await addContext(app, 'shell', 'git', { url: 'git@git.example.com', sshPrivateKey: 'PRIVATE KEY' })
    const commands = [
      'echo ${{secrets.vault.TOKEN}} ${{ secrets.vault.team/other@PIN }} ${{secrets.vault.eu.x@Y}} ${{secrets.vault.TOKEN}}',
    ]
    const document = `version: '1.0'\nsteps:\n  one: {image: alpine, commands: ${JSON.stringify(commands)}}\n`
    await putPipeline(app, { input: PipelineInput.parse({ name: 'demo/app', document }), precondition: {} })
    const targetOf = async (name: string): Promise<unknown> => {
      await checkContext(app, name, NOW)
      const [job] = await jobsOf(scene)
      return job?.kind === 'check-context' ? job.target : job
    }
    expect(await targetOf('vault')).toEqual({
      type: 'secret-store',
      url: 'https://vault.example.com',
      mount: 'secret',
      token: 'hvs.token',
      path: 'team/app',
      keys: { 'team/app': ['TOKEN'], 'team/other': ['PIN'] },
    })
    expect(await targetOf('vault.eu')).toMatchObject({ keys: { x: ['Y'] } })
    expect(await targetOf('shell')).toEqual({ type: 'git', url: 'git@git.example.com', hasSshKey: true, hasKnownHosts: false })
  })
})
