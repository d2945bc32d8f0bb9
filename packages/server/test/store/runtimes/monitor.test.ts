/** Reports of monitors: applied once, in order, from one monitor per cluster. */
import type { ObjectChange } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAgent, removeAgent } from '../../../src/agents/agents.ts'
import type { App } from '../../../src/app.ts'
import { registerMonitor, listShownMonitors, removeMonitor, takeObjects } from '../../../src/monitor/monitor.ts'
import { listObjects } from '../../../src/store/runtimes/cluster-objects.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const CLUSTER = 'prod'

function pod(name: string, restarts = 0): ObjectChange {
  return {
    change: 'set',
    kind: 'Pod',
    namespace: 'shop',
    name,
    uid: `uid-${name}`,
    labels: { app: 'shop' },
    summary: { restarts },
  }
}

async function agentOf(app: App, name: string): Promise<string> {
  return (await createAgent(app, { name, runtimes: [] })).id
}

const hello = (app: App, agentId: string, generation: string) =>
  registerMonitor(app, agentId, { cluster: CLUSTER, generation, version: '0' })

const send = (app: App, agentId: string, of: { generation: string; seq: number; changes: ObjectChange[] }) =>
  takeObjects(app, agentId, { cluster: CLUSTER, ...of })

const names = async (app: App): Promise<string[]> =>
  (await listObjects(app.store.query, { accountId: app.accountId, cluster: CLUSTER, limit: 100 })).map(({ name }) => name)

describe.each(DATABASES)('monitors on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('applies a batch once, rejects a gap and fences an older generation', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const agent = await agentOf(app, 'one')
    await hello(app, agent, 'generation-1')
    const first = { generation: 'generation-1', seq: 1, changes: [pod('a'), pod('b')] }
    expect(await send(app, agent, first)).toEqual({ seq: 1 })
    expect(await send(app, agent, { ...first, changes: [pod('never')] })).toEqual({ seq: 1 })
    await expect(send(app, agent, { ...first, seq: 3 })).rejects.toMatchObject({ code: 'conflict' })
    await send(app, agent, {
      ...first,
      seq: 2,
      changes: [{ change: 'gone', kind: 'Pod', namespace: 'shop', name: 'a' }, pod('b', 2)],
    })
    expect(await names(app)).toEqual(['b'])
    await hello(app, agent, 'generation-2')
    await expect(send(app, agent, { ...first, seq: 3 })).rejects.toMatchObject({ code: 'agent-fenced' })
  })

  test('deletes what a new generation did not report once its kind is complete, and keeps other kinds', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const agent = await agentOf(app, 'one')
    await hello(app, agent, 'generation-1')
    const service: ObjectChange = {
      change: 'set',
      kind: 'Service',
      namespace: 'shop',
      name: 'web',
      uid: 'u',
      labels: {},
      summary: {},
    }
    await send(app, agent, { generation: 'generation-1', seq: 1, changes: [pod('old'), pod('both'), service] })
    await hello(app, agent, 'generation-2')
    await send(app, agent, { generation: 'generation-2', seq: 1, changes: [pod('both'), pod('new')] })
    expect(await names(app)).toEqual(['both', 'new', 'old', 'web'])
    await send(app, agent, { generation: 'generation-2', seq: 2, changes: [{ change: 'synced', kind: 'Pod' }] })
    expect(await names(app)).toEqual(['both', 'new', 'web'])
  })

  test('accepts one monitor per cluster until it is silent, its agent is deleted, or it is removed', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const [one, two, three] = [await agentOf(app, 'one'), await agentOf(app, 'two'), await agentOf(app, 'three')]
    await hello(app, one, 'generation-1')
    await expect(hello(app, two, 'generation-2')).rejects.toMatchObject({ code: 'conflict' })
    clock.advance(180_001)
    expect(await listShownMonitors(app)).toMatchObject([{ cluster: CLUSTER, status: 'offline' }])
    await hello(app, two, 'generation-2')
    await removeAgent(app, 'two', { by: 'tester' })
    await hello(app, three, 'generation-3')
    await send(app, three, { generation: 'generation-3', seq: 1, changes: [pod('a')] })
    expect(await listShownMonitors(app)).toMatchObject([{ agentId: three, status: 'online', objects: 1 }])
    await removeMonitor(app, CLUSTER)
    expect(await names(app)).toEqual([])
    await expect(removeMonitor(app, CLUSTER)).rejects.toMatchObject({ code: 'not-found' })
  })
})
