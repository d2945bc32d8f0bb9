import { fault, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import type { OutputPart } from '../docker/demux.ts'
import { passOn } from './pass-on.ts'

interface Daemon {
  /** HTTP status with which the daemon refuses to pause. */
  readonly refuses?: number
}

/** The output of a container in parts of one byte, and what its daemon was asked. */
function openContainer(text: string, { refuses }: Daemon = {}) {
  const calls: string[] = []
  const seen = { read: 0, calls, isClosed: false }
  async function* output(): AsyncGenerator<readonly OutputPart[]> {
    for (const char of text) {
      seen.read += 1
      yield [{ source: 1, bytes: Buffer.from(char) }]
    }
  }
  const docker = {
    async pauseContainer(id: string) {
      seen.calls.push(`pause ${id}`)
      if (refuses !== undefined) throw fault('docker-refused', { message: 'no', dockerStatus: refuses })
    },
    async unpauseContainer(id: string) {
      seen.calls.push(`unpause ${id}`)
    },
  }
  const attachment = { output: output(), input: process.stdout, close: () => void (seen.isClosed = true) }
  return { seen, docker, attachment }
}

/** Takes output, and blocks at one byte until it is released. */
function blockAt(wanted: string) {
  const [blocked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const taken: string[] = []
  const write = async (parts: readonly OutputPart[]): Promise<void> => {
    const text = parts.map(({ bytes }) => bytes.toString()).join('')
    if (text === wanted) {
      blocked.resolve()
      await release.promise
    }
    taken.push(text)
  }
  return { write, blocked: blocked.promise, release, text: () => taken.join('') }
}

const TEXT = 'abcdefgh'

test.each([
  { what: 'paused', refuses: undefined, calls: ['pause c1', 'unpause c1'] },
  { what: 'not able to be paused', refuses: 500, calls: ['pause c1'] },
])('reads no further than the answer of the daemon for a container that is $what', async ({ refuses, calls }) => {
  const { seen, docker, attachment } = openContainer(TEXT, refuses === undefined ? {} : { refuses })
  const { write, blocked, release, text } = blockAt('b')
  const over = passOn({ docker, clock: systemClock, id: 'c1', attachment, write })
  await blocked
  await expect.poll(() => seen.calls).toEqual(['pause c1'])
  expect(seen.read).toBeLessThan(TEXT.length)
  release.resolve()
  await over
  expect([text(), seen.calls, seen.isClosed]).toEqual([TEXT, calls, true])
})

test('reads all output of a container that has ended, and passes it on in order', async () => {
  const { seen, docker, attachment } = openContainer(TEXT, { refuses: 409 })
  const { write, blocked, release, text } = blockAt('b')
  const over = passOn({ docker, clock: systemClock, id: 'c1', attachment, write })
  await blocked
  await expect.poll(() => seen.read).toBe(TEXT.length)
  expect(text()).toBe('a')
  release.resolve()
  await over
  expect([text(), seen.calls]).toEqual([TEXT, ['pause c1']])
})

test('lets a paused container go on if its output cannot be taken', async () => {
  const { seen, docker, attachment } = openContainer(TEXT)
  const { write, blocked, release } = blockAt('b')
  const over = passOn({ docker, clock: systemClock, id: 'c1', attachment, write })
  over.catch(() => undefined)
  await blocked
  await expect.poll(() => seen.calls).toEqual(['pause c1'])
  release.reject(new Error('stopped'))
  await expect(over).rejects.toThrow('stopped')
  expect([seen.calls, seen.isClosed]).toEqual([['pause c1', 'unpause c1'], true])
})

test('pauses no container whose output is taken', async () => {
  const { seen, docker, attachment } = openContainer(TEXT)
  const { write, text } = blockAt('')
  await passOn({ docker, clock: systemClock, id: 'c1', attachment, write })
  expect([text(), seen.calls]).toEqual([TEXT, []])
})
