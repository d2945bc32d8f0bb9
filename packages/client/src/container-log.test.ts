import { fault } from '@windlass/kit'
import type { ContainerLog, LogLine } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { followContainerLog, openLogJoin, type LogEvent, type LogStart } from './container-log.ts'

const at = (time: string): string => `2027-01-15T09:00:${time}Z`
/** `05.1 text`, one for each line. */
const log = (...lines: readonly string[]): ContainerLog => ({
  items: lines.map((line): LogLine => ({
    pod: 'api',
    at: at(line.split(' ')[0] ?? ''),
    text: line.slice(line.indexOf(' ') + 1),
  })),
})
const textsOf = ({ lines, ...rest }: { readonly lines: readonly LogLine[] }): object => ({
  texts: lines.map(({ text }) => text),
  ...rest,
})

test('an answer that begins before the last line adds only what follows it', () => {
  const join = openLogJoin(log('01 a', '02.5 b'))
  expect(join.lastAt).toBe(at('02.5'))
  expect(textsOf(join.add(log('01 a', '02.5 b', '02.51 c', '03 d')))).toEqual({ texts: ['c', 'd'] })
  expect(textsOf(join.add(log('02.51 c', '03 d')))).toEqual({ texts: [] })
  expect(textsOf(join.add(log('03 d', '04 e')))).toEqual({ texts: ['e'] })
})

test('lines with one time are told apart by their number and their texts', () => {
  const join = openLogJoin(log('01 a', '02 same', '02 same'))
  expect(textsOf(join.add(log('02 same', '02 same', '02 same', '02 other')))).toEqual({ texts: ['same', 'other'] })
  expect(textsOf(join.add(log('02 same', '02 same', '02 same', '02 other', '02 last')))).toEqual({ texts: ['last'] })
})

test('a clock that goes back loses no line', () => {
  const join = openLogJoin(log('05 a'))
  expect(textsOf(join.add(log('05 a', '03 b', '04 c')))).toEqual({ texts: ['b', 'c'] })
  expect(textsOf(join.add(log('05 a', '03 b', '04 c', '04.5 d')))).toEqual({ texts: ['d'] })
})

test('a part says that lines may be missing if the last line is gone, and that they are if the answer is cut', () => {
  const join = openLogJoin(log('01 a', '02.123456789 b'))
  expect(textsOf(join.add(log('02.12 old', '02.2 c', '03 d')))).toEqual({ texts: ['c', 'd'], gap: 'unsure' })
  expect(textsOf(join.add({ ...log('08 h', '09 i'), isCut: true }))).toEqual({ texts: ['h', 'i'], gap: 'cut' })
  // Another line of the same time is not the last known one.
  expect(textsOf(join.add(log('09 other', '09.5 j')))).toEqual({ texts: ['j'], gap: 'unsure' })
})

test('times of any zone are compared', () => {
  const zoned = (time: string, text: string): LogLine => ({ pod: 'api', at: `2027-01-15T${time}`, text })
  const join = openLogJoin({ items: [zoned('10:00:01.5+01:00', 'a')] })
  expect(textsOf(join.add({ items: [zoned('09:00:01Z', 'old'), zoned('09:00:01.6Z', 'b')] }))).toEqual({
    texts: ['b'],
    gap: 'unsure',
  })
})

test('a broken connection is repeated, a wider answer is asked for before a gap is told, and a pod that is gone ends it', async () => {
  const asked: LogStart[] = []
  const answers: (ContainerLog | Error)[] = [
    log('01 a', '02 b'),
    fault('tunnel-broken'),
    // The clock of the runtime is behind.
    log('03 c'),
    log('01 a', '02 b', '03 c'),
    // The container is started again, and writes later.
    log(),
    log(),
    log(),
    log(),
    log('09 d'),
    log('09 d'),
    fault('argo-cd-refused', { message: 'Argo CD: pods "api" not found' }),
  ]
  const read = async (start: LogStart): Promise<ContainerLog> => {
    asked.push(start)
    const answer = answers.shift() ?? log()
    if (answer instanceof Error) throw answer
    return answer
  }
  const events: object[] = []
  const followed = followContainerLog(log('01 a'), { read, sleep: async () => undefined, signal: new AbortController().signal })
  const show = ({ kind, ...event }: LogEvent): object => ('lines' in event ? textsOf(event) : { kind })
  await expect(
    (async () => {
      for await (const event of followed) events.push(show(event))
    })(),
  ).rejects.toMatchObject({ code: 'argo-cd-refused' })
  expect(events).toEqual([
    { texts: ['a'] },
    { texts: ['b'] },
    { kind: 'away' },
    { texts: ['c'] },
    { kind: 'empty' },
    { texts: ['d'], gap: 'unsure' },
  ])
  const again = [at('03'), undefined]
  expect(asked.map(({ after }) => after)).toEqual([
    at('01'),
    at('02'),
    at('02'),
    undefined,
    ...again,
    ...again,
    ...again,
    at('09'),
  ])
})
