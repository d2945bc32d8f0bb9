import { ContextInput, PipelineInput, RuntimeInput, type RuntimeLayer } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { readLimits, readSpec } from '../../../src/builds/schedule/limits.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { listRuntimeStores } from '../../../src/contexts/runtime-stores.ts'
import { createPipeline, showPipeline } from '../../../src/pipelines/pipelines.ts'
import { putBase, removeBase } from '../../../src/runtimes/base-layers.ts'
import { refreshRuntimes } from '../../../src/runtimes/layers.ts'
import { makeDefault, putRuntime, removeRuntime, type PutRuntime } from '../../../src/runtimes/runtimes.ts'
import { diffVersions, listVersions, showVersion } from '../../../src/runtimes/versions.ts'
import { findAttempt } from '../../../src/store/builds/attempts.ts'
import { findPipeline } from '../../../src/store/pipelines/pipelines.ts'
import { findRuntime, updateRuntime } from '../../../src/store/runtimes/runtimes.ts'
import { readStartPayload } from '../../../src/tasks/payload.ts'
import { findStartTask } from '../../../src/store/runtimes/tasks.ts'
import { HELLO, openScene, show, submit, sweep } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

async function put(app: App, name: string, spec: object, more: Partial<PutRuntime> & { isDefault?: boolean } = {}) {
  const { isDefault = false, ...rest } = more
  const input = RuntimeInput.parse({ name, agent: 'agent', isDefault, spec })
  return (await putRuntime(app, { name, input, changedBy: 'ada', ...rest })).runtime
}

async function specOf(app: App, name: string) {
  const row = await findRuntime(app.store.query, app.accountId, name)
  if (row === undefined) throw new Error(`no runtime ${name}`)
  return readSpec(row)
}

async function merged(app: App, name: string): Promise<RuntimeLayer> {
  return (await showVersion(app, name, { merged: true })).spec
}

describe.each(DATABASES)('runtimes on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('records every change as a version with author and description, and ignores changes without effect (R203)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'prod', { capacity: 1 })
    await put(app, 'prod', { capacity: 2, variables: { A: '1' } }, { description: 'more room' })
    expect(await put(app, 'prod', { capacity: 2, variables: { A: '1' } }, { changedBy: 'cron' })).toMatchObject({
      version: 2,
      changedBy: 'ada',
    })
    expect(await listVersions(app, 'prod')).toMatchObject([
      { version: 2, changedBy: 'ada', description: 'more room', current: true, spec: { capacity: 2 } },
      { version: 1, changedBy: 'ada', current: false, spec: { capacity: 1 } },
    ])
    expect(await diffVersions(app, 'prod', { from: 1, hidesOperatorFields: false })).toEqual({
      from: 1,
      to: 2,
      changes: [
        { path: 'capacity', from: 1, to: 2 },
        { path: 'variables.A', to: '1' },
      ],
    })
    expect(await showVersion(app, 'prod', { version: 1 })).toMatchObject({ version: 1, spec: { capacity: 1 } })
    await expect(showVersion(app, 'prod', { version: 9 })).rejects.toMatchObject({ code: 'not-found' })
  })

  test('rejects a change based on an older version', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'prod', { capacity: 1 })
    await put(app, 'prod', { capacity: 2 }, { ifMatch: '"1"', changedBy: 'bob' })
    await expect(put(app, 'prod', { capacity: 3 }, { ifMatch: '"1"' })).rejects.toMatchObject({
      code: 'conflict',
      message: 'Runtime "prod" was changed by bob. It is at version 2 now.',
    })
    expect((await specOf(app, 'prod')).capacity).toBe(2)
  })

  test('merges a runtime with what it extends and follows changes of its parents (R179)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'base', {
      extends: [],
      runtimeScheduler: { labels: { team: 'a', tier: 'x' } },
      nonComplete: true,
      variables: { A: '1' },
    })
    await put(app, 'child', { extends: ['system/default/hybrid/k8s', 'base'], runtimeScheduler: { labels: { tier: null } } })
    const child = await specOf(app, 'child')
    expect(child.runtimeScheduler.labels).toEqual({ team: 'a' })
    expect(child.dockerDaemonScheduler.defaultDindResources.limits).toEqual({ cpu: '2500m', memory: '4096Mi' })
    expect(child.nonComplete).toBeUndefined()
    await put(app, 'base', { extends: [], runtimeScheduler: { labels: { team: 'b' } }, nonComplete: true })
    expect((await specOf(app, 'child')).runtimeScheduler.labels).toEqual({ team: 'b' })
    expect(await merged(app, 'child')).toMatchObject({ extends: ['system/default/hybrid/k8s', 'base'] })
    const scene = await openScene(app)
    await expect(submit(scene, { runtime: 'base' })).rejects.toMatchObject({ code: 'runtime-unknown' })
    await expect(removeRuntime(app, 'base', { by: 'tester' })).rejects.toMatchObject({
      code: 'conflict',
      message: /"child" extends "base"/,
    })
  })

  test('reports unknown parents, cycles, mounts without volumes and several namespaces with their path', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const refused = async (name: string, spec: object): Promise<string> => {
      const error = await put(app, name, spec).then(
        () => new Error('was taken'),
        (cause: unknown) => cause,
      )
      return error instanceof Error ? error.message : ''
    }
    expect(await refused('a', { extends: ['nobody'] })).toBe('spec.extends: runtime "nobody" does not exist (a > nobody).')
    await put(app, 'a', {})
    await put(app, 'b', { extends: ['a'] })
    expect(await refused('a', { extends: ['b'] })).toContain('in a cycle: a > b > a')
    expect(await refused('c', { dockerDaemonScheduler: { userVolumeMounts: { x: { mountPath: '/x' } } } })).toBe(
      'spec.dockerDaemonScheduler.userVolumeMounts.x: volume "x" does not exist in userVolumes',
    )
    expect(await refused('c', { dockerDaemonScheduler: { cluster: { namespace: 'other' } } })).toContain(
      'the namespace of the engine',
    )
    expect(await refused('system/mine', {})).toContain('reserved for base layers')
  })

  test('removes the default runtime only by force and replaces it, also in pipelines (R072, R209)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'one', {})
    await put(app, 'two', {})
    await put(app, 'three', {})
    await makeDefault(app, 'three')
    await createPipeline(app, { input: PipelineInput.parse({ name: 'p', document: HELLO, runtime: 'three' }) })
    await expect(removeRuntime(app, 'three', { by: 'tester' })).rejects.toMatchObject({
      code: 'conflict',
      message: 'Runtime "three" is the default.',
    })
    await removeRuntime(app, 'three', { force: true, by: 'tester' })
    expect((await findRuntime(app.store.query, app.accountId, 'one'))?.is_default).toBe(1)
    const row = await findPipeline(app.store.query, app.accountId, 'p')
    expect(row === undefined ? undefined : (await showPipeline(app, undefined, row)).runtime).toBeUndefined()
    const scene = await openScene(app)
    expect(await show(app, (await submit(scene, { pipeline: 'p' })).id)).toMatchObject({ runtime: 'local' })
  })

  test('prefers the runtime of the run over that of the pipeline, and that over the default (R073, R074)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    for (const name of ['pinned', 'asked']) await put(held.app, name, {})
    await createPipeline(held.app, { input: PipelineInput.parse({ name: 'p', document: HELLO, runtime: 'pinned' }) })
    const runtimeOf = async (input: object): Promise<unknown> => (await show(held.app, (await submit(scene, input)).id)).runtime
    expect(await runtimeOf({})).toBe('local')
    expect(await runtimeOf({ pipeline: 'p' })).toBe('pinned')
    expect(await runtimeOf({ pipeline: 'p', runtime: 'asked' })).toBe('asked')
  })

  test('keeps the version of the runtime with which a build was elected (R075, R203)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app, { runtimeScheduler: { labels: { version: 'one' } } })
    const build = await submit(scene, { machine: { cpu: '2', disk: '40Gi' } })
    await elect(app)
    const input = RuntimeInput.parse({ name: 'local', type: 'fake', agent: 'agent', spec: {} })
    await putRuntime(app, { name: 'local', input, changedBy: 'bob' })
    const task = await findStartTask(app.store.query, { id: build.id, attempt: 1 })
    const { spec } = readStartPayload(task ?? { payload: '' })
    expect(spec.runtimeScheduler.labels).toEqual({ version: 'one' })
    expect(spec.dockerDaemonScheduler).toMatchObject({
      defaultDindResources: { requests: { cpu: '2' } },
      pvcs: { dind: { volumeSize: '40Gi' } },
    })
  })

  test('applies limits with Codefresh names (R183)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const workflowLimits = {
      MAXIMUM_ELECTED_STATE_AGE_ALLOWED: 2,
      MAXIMUM_RETRY_ATTEMPTS_ALLOWED: '1',
      TIME_INACTIVE_UNTIL_TERMINATION: 60,
      MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION: 90,
      MAXIMUM_TERMINATING_STATE_AGE_ALLOWED: 7,
    }
    const scene = await openScene(app, { runtimeScheduler: { workflowLimits } })
    const build = await submit(scene)
    await elect(app)
    const attempt = await findAttempt(app.store.query, build.id, 1)
    expect(readLimits(attempt ?? { limits: '{}' })).toMatchObject({
      electedMs: 2000,
      retries: 1,
      inactiveMs: 60_000,
      buildMs: 90_000,
      terminatingMs: 7000,
    })
    held.clock.advance(2500)
    await sweep(app, true)
    expect(await show(app, build.id)).toMatchObject({ status: 'error', reason: 'start-timeout' })
  })

  test('lets a platform admin replace a base layer and remove the replacement (R055)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'prod', {})
    const layer = { extends: ['system/default'], runtimeScheduler: { labels: { platform: 'own' } }, accounts: ['a'] }
    await putBase(app, { name: 'system/default/hybrid/k8s_low_limits', layer, changedBy: 'root' })
    expect((await specOf(app, 'prod')).runtimeScheduler.labels).toEqual({ platform: 'own' })
    await expect(putBase(app, { name: 'mine', layer: {}, changedBy: 'root' })).rejects.toMatchObject({ code: 'request-invalid' })
    await removeBase(app, 'system/default/hybrid/k8s_low_limits')
    expect((await specOf(app, 'prod')).runtimeScheduler.labels).toEqual({})
  })

  test('recomputes every runtime at the start of a server with other base layers', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'prod', { capacity: 4 })
    const row = await findRuntime(app.store.query, app.accountId, 'prod')
    await app.store.write((tx) => updateRuntime(tx, row?.id ?? '', { spec: '{}' }))
    expect((await specOf(app, 'prod')).capacity).toBeUndefined()
    await app.store.write((tx) => refreshRuntimes(tx, app.accountId))
    expect((await specOf(app, 'prod')).capacity).toBe(4)
  })

  test('mounts a secret store of the cluster only for builds of its runtime whose plan refers to it (R205)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const data = { resourceName: 'team', resourceType: 'configmap', runtime: 'prod' }
    await putContext(app, { input: ContextInput.parse({ name: 'keys', type: 'secret-store', data }), mustBeNew: true })
    const stores = (runtime: string, plan: string | null): Promise<unknown> =>
      listRuntimeStores(app, { query: app.store.query, runtime, plan })
    expect(await stores('prod', '{"x":"${{secrets.keys.a}}"}')).toEqual([
      {
        folder: expect.stringMatching(/^\/etc\/windlass\/stores\/[0-9a-f]{24}$/),
        resourceType: 'configmap',
        resourceName: 'team',
      },
    ])
    expect(await stores('prod', null)).toHaveLength(1)
    expect(await stores('other', '{"x":"${{secrets.keys.a}}"}')).toEqual([])
    expect(await stores('prod', '{"x":"${{secrets.others.a}}"}')).toEqual([])
    for (const wrong of [{ url: 'http://x' }, { resourceType: 'file' }, { resourceName: '../x' }]) {
      const input = ContextInput.parse({ name: 'wrong', type: 'secret-store', data: { ...data, ...wrong } })
      await expect(putContext(app, { input, mustBeNew: true })).rejects.toMatchObject({ code: 'request-invalid' })
    }
  })
})
