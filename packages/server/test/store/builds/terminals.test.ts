/** Output of terminals on both databases: for several readers, for readers that come later, and its limits. */
import { manualClock, systemClock } from '@windlass/kit'
import { TerminalEnd, type TerminalRecord } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { retain } from '../../../src/retention.ts'
import { holdStep, serveTerminal, type FakeTerminal } from '../../support/fakes/fake-terminal.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

interface Opened {
  readonly build: string
  readonly record: TerminalRecord
  readonly shell: FakeTerminal
}

async function openTerminal(scene: HttpScene): Promise<Opened> {
  const { build, engine } = await scene.start({ debug: { steps: { hello: ['override'] } } })
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  await holdStep(engine, 'hello')
  const record = await scene.admin.debug.openTerminal(build.id, { columns: 80, rows: 24 })
  return { build: build.id, record, shell: serveTerminal(engine, record.id) }
}

/** Reads what there is, up to the end of the terminal or until the output contains `until`. */
async function read(
  { admin }: HttpScene,
  { build, record }: Opened,
  until?: string,
): Promise<{ text: string; seqs: number[]; end?: TerminalEnd }> {
  let text = ''
  const seqs: number[] = []
  for await (const { event, data, id } of admin.debug.followTerminal(build, record.id, { query: { after: 0 } })) {
    if (event === 'end') return { text, seqs, end: TerminalEnd.parse(JSON.parse(data)) }
    text += Buffer.from(data, 'base64').toString()
    seqs.push(Number(id))
    if (until !== undefined && text.includes(until)) break
  }
  return { text, seqs }
}

describe.each(DATABASES)('$name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('output that a reader has acknowledged is still there for another reader and after a reload (P160)', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const opened = await openTerminal(scene)
    await using shell = opened.shell
    for (const word of ['one ', 'two ', 'three.']) await shell.say(word)
    const first = await read(scene, opened, '.')
    expect(first).toEqual({ text: 'one two three.', seqs: [1, 2, 3] })
    await scene.admin.debug.sendInput(opened.build, opened.record.id, { seq: 1, parts: [], ackSeq: 3 })
    expect(await read(scene, opened, '.')).toEqual(first)
    expect((await scene.admin.debug.get(opened.build)).terminals).toMatchObject([{ outputSeq: 3, inputSeq: 0 }])
    await shell.end({ exitCode: 7 })
    expect(await read(scene, opened)).toEqual({ ...first, end: { exitCode: 7 } })
  })

  test('the latest output is kept: what a reader has acknowledged makes room, and unread output waits for its reader (P160)', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const opened = await openTerminal(scene)
    await using shell = opened.shell
    const page = 'x'.repeat(32_768)
    for (let n = 0; n < 6; n += 1) await shell.say(page)
    const waiting = shell.say(page)
    expect(await Promise.race([waiting.then(() => 'stored'), systemClock.sleep(700).then(() => 'waits')])).toBe('waits')
    await scene.admin.debug.sendInput(opened.build, opened.record.id, { seq: 1, parts: [], ackSeq: 6 })
    await waiting
    await shell.say('the last.')
    const { text, seqs } = await read(scene, opened, 'the last.')
    expect(text.length).toBeLessThan(7 * page.length)
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => 9 - seqs.length + index))
  })

  test('no more is kept of a terminal whose program wrote many small parts before', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const opened = await openTerminal(scene)
    await using shell = opened.shell
    // Several pages of parts, which together are as large as what is kept.
    const small = 264
    for (let n = 0; n < small; n += 1) await shell.say('x'.repeat(750))
    await scene.admin.debug.sendInput(opened.build, opened.record.id, { seq: 1, parts: [], ackSeq: small })
    for (let n = 0; n < 5; n += 1) await shell.say('y'.repeat(32_768))
    await shell.say('the last.')
    const { text } = await read(scene, opened, 'the last.')
    expect(text.length).toBeLessThan(235_000)
    expect(text.match(/y/g)).toHaveLength(5 * 32_768)
  })

  test('retention deletes the output of a terminal an hour after its end (P160)', async () => {
    const clock = manualClock(Date.now())
    await using scene = await openHttpScene({ ...(await database.fresh()), clock })
    const opened = await openTerminal(scene)
    await using shell = opened.shell
    await shell.say('gone soon')
    await shell.end()
    await retain(scene.server.app)
    expect(await read(scene, opened)).toMatchObject({ text: 'gone soon' })
    clock.advance(3_600_001)
    await retain(scene.server.app)
    expect(await read(scene, opened)).toMatchObject({ text: '', end: { exitCode: 0 } })
  })
})
