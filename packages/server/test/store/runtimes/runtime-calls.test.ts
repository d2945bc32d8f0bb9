/** Calls at app-proxies in the store: how many failures, open calls and lost calls it takes, and rows that cannot be read. */
import { newId } from '@windlass/kit'
import { GITOPS_CALL_RESULTS, type GitopsCallEnd, type Role } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { beginRuntimeCall, endRuntimeCall, recordLostCalls } from '../../../src/gitops/calls.ts'
import { createGitopsToken } from '../../../src/gitops/runtimes.ts'
import { findGitopsRuntime } from '../../../src/store/runtimes/gitops.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const HOUR_MS = 3_600_000
const PATH = '/app-proxy/api/applications'

interface Runtime {
  readonly id: string
  /** Announces a call of a caller, who has a role. Returns its id. */
  begin(caller?: string, role?: Role): Promise<string>
  end(id: string, end: GitopsCallEnd): Promise<void>
  /** Announces `count` calls in one statement, each with this text instead of the call. */
  fill(count: number, call?: string): Promise<string[]>
  /** Counts its calls that have no end: those without a record, and those with one. */
  counts(): Promise<{ readonly open: number; readonly lost: number }>
}

async function addRuntime(app: App, name: string): Promise<Runtime> {
  const { token: runtimeToken } = await createGitopsToken(app, { runtime: name, by: 'mira' })
  const { id = '' } = (await findGitopsRuntime(app.store.query, app.accountId, name)) ?? {}
  return {
    id,
    async begin(caller = 'dan', role = 'developer') {
      const call = newId(app.clock.now())
      const actor = { kind: 'key', id: caller, accountId: app.accountId, name: caller, role } as const
      const runtimeCaller = { actor, caller: { kind: 'key', id: caller, name: caller }, runtime: name, address: '10.0.0.1' }
      const action = `POST ${PATH}`
      const start = { runtimeToken, id: call, right: 'change-gitops', action, path: PATH, requestId: call } as const
      await beginRuntimeCall(app, runtimeCaller, start)
      return call
    },
    end: (call, end) => endRuntimeCall(app, id, { id: call, end }),
    async fill(count, call = '{}') {
      const ids = Array.from({ length: count }, () => newId(app.clock.now()))
      const row = { account_id: app.accountId, runtime_id: id, call, begun_at: app.clock.now(), lost_at: null }
      await app.store.query
        .insertInto('gitops_call')
        .values(ids.map((one) => ({ ...row, id: one })))
        .execute()
      return ids
    },
    async counts() {
      const rows = await app.store.query.selectFrom('gitops_call').select('lost_at').where('runtime_id', '=', id).execute()
      const open = rows.filter((row) => row.lost_at === null).length
      return { open, lost: rows.length - open }
    },
  }
}

/** Results and codes of the records of a caller, oldest first. */
async function recordsOf(app: App, caller = 'dan'): Promise<string[]> {
  const select = app.store.query.selectFrom('audit').select(['result', 'code']).where('actor', '=', caller)
  return (await select.orderBy('seq').execute()).map(({ result, code }) => (code === null ? result : `${result} ${code}`))
}

describe.each(DATABASES)('calls at app-proxies on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('failures and refusals count for the limit of their caller, and what has changed something does not (O025)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const prod = await addRuntime(app, 'prod')
    const fail = async (end: GitopsCallEnd, caller = 'dan'): Promise<void> => prod.end(await prod.begin(caller), end)
    for (let count = 0; count < 21; count += 1) {
      await expect(prod.begin('dan', 'viewer')).rejects.toMatchObject({ code: 'forbidden' })
      await fail({ result: 'denied', code: 'forbidden' })
      await fail({ result: 'failed', code: 'git-conflict' })
    }
    expect(await recordsOf(app)).toHaveLength(60)
    expect(await prod.counts()).toEqual({ open: 0, lost: 0 })
    for (const result of GITOPS_CALL_RESULTS) await fail({ result })
    await fail({ result: 'failed', code: 'git-refused', hasEffect: true })
    expect((await recordsOf(app)).slice(60)).toEqual(['done', 'failed git-refused'])
    await fail({ result: 'failed', code: 'not-found' }, 'eve')
    expect(await recordsOf(app, 'eve')).toEqual(['failed not-found'])
    clock.advance(60_000)
    await fail({ result: 'failed', code: 'not-found' })
    expect((await recordsOf(app)).slice(62)).toEqual(['failed not-found'])
  })

  test('a runtime has 1,000 calls without an end at most, and lost ones make room, of which the newest are kept (O025)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const [prod, other] = [await addRuntime(app, 'prod'), await addRuntime(app, 'other')]
    const ids = await prod.fill(999)
    const last = await prod.begin()
    await expect(prod.begin()).rejects.toMatchObject({
      code: 'rate-limited',
      message: expect.stringContaining('1000 calls'),
      hint: expect.stringContaining('app-proxy'),
    })
    await other.begin()
    await prod.end(last, { result: 'done' })
    await prod.begin()
    await expect(prod.begin()).rejects.toMatchObject({ code: 'rate-limited' })
    // As the hours before have left them.
    await app.store.query.updateTable('gitops_call').set({ lost_at: 1 }).where('id', 'in', ids).execute()
    await prod.begin()
    clock.advance(HOUR_MS + 1)
    await recordLostCalls(app)
    expect(await prod.counts()).toEqual({ open: 0, lost: 1_000 })
    expect(await recordsOf(app)).toEqual(['done', ...Array.from({ length: 3 }, () => 'failed outcome-unknown')])
  })

  test('a call whose row cannot be read is set aside, and delays no other one (O025)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const prod = await addRuntime(app, 'prod')
    const broken = [...(await prod.fill(60, '{')), ...(await prod.fill(60, '{"action": 1}'))]
    clock.advance(1)
    const call = await prod.begin()
    clock.advance(HOUR_MS)
    await recordLostCalls(app)
    expect(await recordsOf(app)).toEqual([])
    expect(await prod.counts()).toEqual({ open: 1, lost: 120 })
    clock.advance(1)
    await recordLostCalls(app)
    expect(await recordsOf(app)).toEqual(['failed outcome-unknown'])
    // An app-proxy that repeats their ends can end too.
    for (const id of [...broken.slice(59, 61), call]) await prod.end(id, { result: 'done' })
    expect(await recordsOf(app)).toEqual(['failed outcome-unknown', 'done'])
    expect(await prod.counts()).toEqual({ open: 0, lost: 118 })
  })
})
