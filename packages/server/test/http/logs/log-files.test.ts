/** The log files of a build, and reading them while they are merged. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { manualClock, sha256, systemClock } from '@windlass/kit'
import { FeedItem, FrameAck, MAX_FRAME_BYTES } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openLogStore } from '../../../src/logs/log-store.ts'
import type { Objects } from '../../../src/logs/objects/objects.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { record } from '../../support/rows-read.ts'

const LINES = 300
/** Time for which unreferenced files are kept. Milliseconds. */
const KEPT_MS = 86_400_000

function countFiles({ dataDir }: HttpScene): number {
  const entries = readdirSync(join(dataDir, 'logs'), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).length
}

async function* follow(scene: HttpScene, id: string, after = 0): AsyncGenerator<FeedItem> {
  for await (const { event, data } of scene.admin.events(`/v1/builds/${id}/follow`, { query: { after } }))
    if (event !== 'end') yield FeedItem.parse(JSON.parse(data))
}

function textOf(items: readonly FeedItem[]): string {
  return items.map((item) => (item.kind === 'log' ? Buffer.from(item.bytes, 'base64').toString() : '')).join('')
}

test('merges the files of a build that writes line by line without an effect on followers and readers', async () => {
  const clock = manualClock(systemClock.now())
  const advanceUntil = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) {
      clock.advance(10_000)
      await systemClock.sleep(10)
    }
  }
  await using scene = await openHttpScene({ clock })
  const { build, engine } = await scene.start()
  let text = ''
  for (let n = 0; n < LINES; n += 1) {
    await engine.log('step/hello', `line ${n}\n`)
    text += `line ${n}\n`
  }
  await engine.finish({ status: 'success' })
  expect(countFiles(scene)).toBe(LINES)
  const half: FeedItem[] = []
  for await (const item of follow(scene, build.id)) {
    half.push(item)
    if (half.length === LINES / 2) break
  }
  await advanceUntil(() => countFiles(scene) > LINES)
  clock.advance(KEPT_MS)
  await advanceUntil(() => countFiles(scene) === 1)
  const rest = await Array.fromAsync(follow(scene, build.id, half.at(-1)?.position))
  expect([...half, ...rest].map(({ position }) => position)).toEqual([...half, ...rest].map((_, index) => index + 1))
  expect(textOf([...half, ...rest])).toBe(text)
  const read = (query: Record<string, string | number>): Promise<string> =>
    scene.admin.text('GET', `/v1/builds/${build.id}/log`, { query })
  expect(await read({})).toBe(text)
  expect(await read({ stream: 'step/hello', offset: 700, limit: 50 })).toBe(text.slice(700, 750))
  expect(await read({ tail: 2 })).toBe(`line ${LINES - 2}\nline ${LINES - 1}\n`)
})

test('finds the last lines of all streams without listing the chunks from the start again', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const lines = Array.from({ length: 450 }, (_, n) => `line ${n}`.padEnd(2047, '.') + '\n')
  for (const line of lines) await engine.log('step/hello', line)
  let text = ''
  const asked = await record(async () => {
    text = await scene.admin.text('GET', `/v1/builds/${build.id}/log`, { query: { tail: 190 } })
  })
  expect(text).toBe(lines.slice(-190).join(''))
  const lists = asked.filter(({ text: statement }) => /from "chunk" .*"position" > \?/.test(statement))
  expect(lists.filter(({ parameters }) => parameters.includes(0))).toHaveLength(1)
})

test('limits the frames of an attempt that wait for a slow storage, without an effect on other attempts', async () => {
  await using scene = await openHttpScene()
  const keys = [await scene.start(), await scene.start()].map(({ build }) => ({ buildId: build.id, attempt: 1 }))
  const { store, clock, logs: whole } = scene.server.app
  const gate = Promise.withResolvers<void>()
  const put: Objects['put'] = async (name, parts) => gate.promise.then(() => whole.objects.put(name, parts))
  const logs = openLogStore(store, { objects: { ...whole.objects, put }, folder: whole.folder }, clock)
  const bytes = Buffer.alloc(MAX_FRAME_BYTES, 'x')
  const send = (attempt: number, n: number): Promise<unknown> => {
    const key = keys[attempt] ?? { buildId: '', attempt: 0 }
    return logs.append({ ...key, stream: `step/${n}`, offset: 0, at: 1, bytes, sha256: sha256(bytes) })
  }
  const waiting = Array.from({ length: 8 }, (_, n) => send(0, n))
  await expect(send(0, 8)).rejects.toMatchObject({ code: 'rate-limited', details: { retryAfter: 1 } })
  waiting.push(send(1, 0))
  gate.resolve()
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ end: bytes.length, isFollowed: false })))
  expect(await send(0, 8)).toMatchObject({ end: bytes.length })
})

test('writes no file for a frame that is stored or starts before the end of its stream', async () => {
  await using scene = await openHttpScene()
  const { build } = await scene.start()
  const send = (offset: number, text: string): Promise<unknown> => {
    const bytes = Buffer.from(text)
    const frame = { buildId: build.id, attempt: 1, stream: 'step/hello', offset, at: 1, bytes, sha256: sha256(bytes) }
    return scene.server.app.logs.append(frame)
  }
  expect(await send(0, 'hello ')).toMatchObject({ end: 6 })
  expect(await send(6, 'world')).toMatchObject({ end: 11 })
  for (const [offset, text] of [
    [0, 'hello '],
    [6, 'world'],
    [8, 'rld'],
  ] as const)
    expect(await send(offset, text)).toEqual({ end: 11, isFollowed: false })
  await expect(send(8, 'rld and more')).rejects.toMatchObject({ code: 'log-offset', details: { offset: 11 } })
  expect(countFiles(scene)).toBe(2)
})

test('an engine collects its output for longer while the build has no follower', async () => {
  await using scene = await openHttpScene({ logFlushMs: 700 })
  const { build, engine } = await scene.start()
  let offset = 0
  const send = async (): Promise<number | undefined> => {
    const body = Buffer.from('line\n')
    const headers = {
      'x-windlass-stream': 'step/hello',
      'x-windlass-offset': String(offset),
      'x-windlass-sha256': sha256(body),
      'x-windlass-at': '1',
    }
    const ack = await engine.client.call('POST', '/v1/engine/logs', FrameAck, { body, headers })
    ;({ offset } = ack)
    return ack.flushMs
  }
  expect(await send()).toBe(700)
  const following = follow(scene, build.id)
  await following.next()
  expect(await send()).toBe(100)
  await following.return(undefined)
})
