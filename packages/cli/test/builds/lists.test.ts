/** Commands over many builds: filters, counts, the queue, approvals, search, actions, and plans of the server. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Build } from '@windlass/protocol'
import { HELLO, openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

const GATE = "version: '1.0'\nsteps:\n  gate: { type: pending-approval }\n  after: { image: alpine, commands: [echo] }\n"

let scene: HttpScene
let holder: Build
let waiting: Build
beforeAll(async () => {
  scene = await openHttpScene()
  await scene.admin.pipelines.put('shop/app', { name: 'shop/app', document: HELLO, concurrency: 1 })
  const git = { commitMessage: 'Fix the tax', commitAuthor: 'mira' }
  holder = (await scene.start({ pipeline: 'shop/app', document: undefined, branch: 'main', git })).build
  waiting = await scene.submit({ pipeline: 'shop/app', document: undefined, branch: 'next' })
  await vi.waitFor(async () => expect((await scene.admin.builds.get(waiting.id)).reason).toBe('pipeline-limit'), {
    timeout: 60_000,
  })
})
afterAll(() => scene[Symbol.asyncDispose]())

const run = (...words: string[]) => windlass(scene, words)

test('get builds has filters, and shows commits and waits in wide tables', async () => {
  const list = async (...filters: string[]) => (await run('get', 'builds', '-o', 'name', ...filters)).text.trim()
  expect(await list('-q', 'TAX', '--project', 'shop', '--since', '1h')).toBe(`build/${holder.id}`)
  expect(await list('--branch', 'main', '--branch', 'next', '--reason', 'pipeline-limit')).toBe(`build/${waiting.id}`)
  expect(await list('--number', `#${holder.number}`, '--initiator', 'admin')).toBe(`build/${holder.id}`)
  expect(await list('--until', '2020-01-01')).toBe('')
  const { text } = await run('get', 'builds', '-o', 'wide')
  expect(text).toMatch(/MESSAGE +STEPS +WAITS FOR/)
  expect(text).toContain('Fix the tax')
  expect(text).toContain(`next, behind #${holder.number}`)
  expect(await run('get', 'builds', '--since', 'soon')).toMatchObject({ code: 2, text: expect.stringContaining('is not a time') })
})

test('get builds --count-by counts', async () => {
  expect((await run('get', 'builds', '--count-by', 'branch', '--pipeline', 'shop/app')).text).toBe(
    'BRANCH  BUILDS\nmain    1\nnext    1\n',
  )
  expect(await run('get', 'pipelines', '--count-by', 'branch')).toMatchObject({ code: 2 })
})

test('get refuses filters that its kind does not have', async () => {
  expect((await run('get', 'pipelines', '--project', 'shop', '-q', 'app', '-o', 'name')).text).toBe('pipeline/shop/app\n')
  expect((await run('get', 'pipelines', '--project', 'other', '-o', 'name')).text).not.toContain('shop/app')
  for (const [kind = '', ...filter] of [
    ['deliveries', '--runtime', 'local'],
    ['pipelines', '--status', 'success'],
    ['contexts', '--project', 'shop'],
  ])
    expect(await run('get', kind, ...filter)).toMatchObject({
      code: 2,
      text: expect.stringContaining(`${filter[0]} does not apply to ${kind}.`),
    })
})

test('get queue and describe build show what holds a build', async () => {
  const { text } = await run('get', 'queue')
  expect(text).toMatch(new RegExp(`^1 .*pipeline-limit +1 of 1 by #${holder.number} .*#${waiting.number}$`, 'm'))
  const described = (await run('describe', 'build', waiting.id)).text
  expect(described).toMatch(new RegExp(`^Waits for: +next, behind #${holder.number}$`, 'm'))
  expect((await run('describe', 'build', holder.id)).text).toMatch(/^Author: +mira$/m)
})

test('get re --origins shows the layer of each value, also as JSON', async () => {
  const { text } = await run('get', 're', 'local', '--origins')
  expect(text).toMatch(/^PATH +VALUE +FROM\n/)
  expect(text).toMatch(/^runtimeScheduler\.resources\.limits\.cpu +"1000m" +system\/default$/m)
  expect(text).toMatch(/^extends +\["system\/default"\] +local$/m)
  const values: unknown = JSON.parse((await run('get', 're', 'local', '--origins', '-o', 'json')).text)
  expect(values).toContainEqual({ path: 'runtimeScheduler.resources.limits.cpu', value: '1000m', from: 'system/default' })
})

test('search finds builds and pipelines', async () => {
  expect((await run('search', `#${holder.number}`)).text).toContain(holder.id)
  expect((await run('search', 'shop')).text).toMatch(/^pipeline +shop\/app/m)
})

test('plan shows plans of the server', async () => {
  const planned = await run('plan', '--pipeline', 'shop/app', '-b', 'main')
  expect(planned.text).toMatch(/hello +freestyle/)
  expect(planned.text).toContain('It would wait at place 2: The pipeline runs 1 of at most 1 build. (1 of 1')
  const own = await run('plan', '--build', holder.id, '-o', 'json')
  expect(JSON.parse(own.text)).toMatchObject({ steps: [{ name: 'hello' }] })
  expect(await run('plan', '--build', holder.id, '-b', 'main')).toMatchObject({ code: 2 })
})

test('get approvals and get related list builds', async () => {
  expect((await run('get', 'approvals')).text).toContain('No step waits for approval.')
  const { build, engine } = await scene.start({ document: GATE })
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.event({ type: 'step.waiting', step: 'gate', reason: 'approval' })
  const { text } = await run('get', 'approvals')
  expect(text).toMatch(new RegExp(`^${build.id} .*gate.* yes +after$`, 'm'))
  expect((await run('get', 'approvals', '-o', 'name')).text).toBe(`build/${build.id} gate\n`)
  expect(await run('approve', `build/${build.id}`, 'gate')).toMatchObject({ code: 0 })
  expect((await run('get', 'related', waiting.id)).text).toContain('No related builds found.')
})

test('terminate and restart take several builds', async () => {
  const ids = [await scene.submit({ document: 'steps: 5' }), await scene.submit({ document: 'steps: 5' })].map(({ id }) => id)
  const again = await run('restart', ...ids)
  expect(again.code).toBe(0)
  for (const id of ids) expect(again.text).toMatch(new RegExp(`^build/${id} runs again as build/[0-9a-f]{24}$`, 'm'))
  expect(await run('restart', ...ids, '--from', 'one')).toMatchObject({ code: 2 })
  const stopped = await run('terminate', waiting.id, ids[0] ?? '')
  expect(stopped.code).toBe(1)
  expect(stopped.text).toContain(`build/${waiting.id} is being terminated`)
  expect(stopped.text).toContain(`build/${ids[0]}: The build has ended: error.`)
})

test('a build of a document has the name of its file in lists, and so has a build that repeats it', async () => {
  const first = await scene.submit({ document: HELLO, file: 'services/api/release.yml' })
  await scene.admin.builds.terminate(first.id)
  await vi.waitFor(async () => expect((await scene.admin.builds.get(first.id)).finishedAt).toBeDefined(), { timeout: 60_000 })
  const again = await scene.submit({ document: undefined, restartOf: first.id })
  for (const { id } of [first, again])
    expect((await run('get', 'builds', '--number', String((await scene.admin.builds.get(id)).number))).text).toContain(
      '(release.yml)',
    )
  expect((await run('describe', 'build', again.id)).text).toMatch(/File: +release\.yml/)
})
