/** The spool after a power cut of its machine: each file may end at any byte. What remains is a beginning of what was written, and the spool continues. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { manualClock } from '@windlass/kit'
import { openJournal, type Journal } from './journal.ts'

interface Word {
  readonly seq: number
  readonly at: number
  readonly word: string
}

const WORDS = ['one', 'two', 'three', 'four', 'five']
const TEXTS = { a: ['first ', 'second ', 'third'], b: ['only '] } as const
let folder: string

function open(dir: string): Promise<Journal<Word>> {
  return openJournal<Word>({ dir, clock: manualClock(1), limitBytes: 1e9, decode: (value) => value as Word })
}

async function readAll(journal: Journal<Word>, stream: string): Promise<string> {
  let text = ''
  for (let frame = await journal.readFrame(stream, 1e6); frame !== undefined; frame = await journal.readFrame(stream, 1e6)) {
    text += Buffer.from(frame.bytes).toString()
    expect(await journal.acknowledge(stream, frame.offset + frame.bytes.length)).toBe(true)
  }
  return text
}

/** Writes events and two streams, each record on its own. With `acked`, three events and six bytes are acknowledged. */
async function fill(dir: string, acked: boolean): Promise<void> {
  const journal = await open(dir)
  for (const word of WORDS) journal.append({ word })
  for (const [name, texts] of Object.entries(TEXTS)) {
    for (const text of texts) {
      await journal.stream(name).write(Buffer.from(text))
      await journal.flushed(name)
    }
  }
  if (acked) {
    journal.acknowledgeEvents(3)
    expect(await journal.acknowledge('a', 6)).toBe(true)
  }
  await journal.close()
}

beforeAll(() => {
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-cut-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each([{ acked: false }, { acked: true }])('with acknowledgements: $acked', ({ acked }) => {
  test('any file may end at any byte', async () => {
    const whole = join(folder, `whole-${acked}`)
    await fill(whole, acked)
    const files = readdirSync(whole, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(whole, name)).isFile())
    expect(files.toSorted()).toEqual([
      '0001/0000000000000000.seg',
      '0002/0000000000000000.seg',
      'acks.json',
      'events.log',
      'streams.log',
    ])
    let cuts = 0
    for (const file of files) {
      for (let size = 0; size <= statSync(join(whole, file)).size; size += 1) {
        const dir = join(folder, `cut-${acked}-${cuts++}`)
        cpSync(whole, dir, { recursive: true })
        truncateSync(join(dir, file), size)
        await continues(dir, `${file} with ${size} bytes`)
        rmSync(dir, { recursive: true })
      }
    }
    expect(cuts).toBeGreaterThan(300)
  })

  async function continues(dir: string, where: string): Promise<void> {
    const isSaved = ((): boolean => {
      try {
        return acked && JSON.parse(readFileSync(join(dir, 'acks.json'), 'utf8')) !== undefined
      } catch {
        return false
      }
    })()
    const journal = await open(dir)
    const known = journal.nextEvents(100)
    // An acknowledged event is not sent again, and its number is not used again.
    expect(
      known.map(({ word }) => word),
      where,
    ).toEqual(WORDS.slice(isSaved ? 3 : 0, Math.max(isSaved ? 3 : 0, journal.foundEvents)))
    expect(journal.append({ word: 'new' }).seq, where).toBe(Math.max(journal.foundEvents, isSaved ? 3 : 0) + 1)
    const isKnown = (name: string): boolean => journal.extent(name).bytes > 0
    for (const [name, texts] of Object.entries(TEXTS)) {
      const ackedBytes = journal.extent(name).acked
      const rest = isKnown(name) ? await readAll(journal, name) : ''
      expect(texts.join('').slice(ackedBytes), where).toSatisfy((text: string) => text.startsWith(rest))
    }
    // A further stream has only its own bytes, and a known one continues after what is left of it.
    for (const name of ['c', 'a']) {
      await journal.stream(name).write(Buffer.from('more'))
      await journal.flushed(name)
      expect(await readAll(journal, name), where).toBe('more')
    }
    await journal.close()
    const again = await open(dir)
    expect(again.nextEvents(100).at(-1)?.word, where).toBe('new')
    expect(again.isDrained(), where).toBe(false)
    await again.close()
  }
})

test('an event gets a new number if the receiver has more events than any file', async () => {
  const dir = join(folder, 'ahead')
  await fill(dir, true)
  truncateSync(join(dir, 'events.log'), 0)
  const journal = await open(dir)
  // The receiver has all five; acks.json knows of three.
  journal.acknowledgeEvents(5)
  expect(journal.append({ word: 'new' }).seq).toBe(6)
  expect(journal.nextEvents(100).map(({ word }) => word)).toEqual(['new'])
  await journal.close()
})

test('a stream ends where one of its earlier files ends', async () => {
  const dir = join(folder, 'segments')
  const journal = await open(dir)
  const block = Buffer.alloc(1024 * 1024)
  for (let n = 0; n < 20; n += 1) {
    await journal.stream('a').write(block.fill(n))
    await journal.flushed('a')
  }
  await journal.close()
  const [first = '', ...later] = readdirSync(join(dir, '0001')).toSorted()
  expect(later.length).toBeGreaterThan(0)
  truncateSync(join(dir, '0001', first), 3 * 1024 * 1024)
  const again = await open(dir)
  const { bytes } = again.extent('a')
  expect(bytes).toBeLessThanOrEqual(3 * 1024 * 1024)
  await again.stream('a').write(Buffer.from('more'))
  await again.flushed('a')
  let text = Buffer.alloc(0)
  for (let frame = await again.readFrame('a', 1e6); frame !== undefined; frame = await again.readFrame('a', 1e6)) {
    text = Buffer.concat([text, frame.bytes])
    await again.acknowledge('a', frame.offset + frame.bytes.length)
  }
  expect(text.length).toBe(bytes + 4)
  expect(text.subarray(-4).toString()).toBe('more')
  expect(again.isDrained()).toBe(true)
  await again.close()
})
