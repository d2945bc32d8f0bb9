import { manualClock, silentLog } from '@windlass/kit'
import type { DiskFacts, DiskReport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openDiskReports } from './disk-reports.ts'

const EVERY_MS = 60_000

function disk(name: string, lastUsedAt = 0): DiskFacts {
  return { uid: name, name, state: 'warm', sizeBytes: 1, storageClass: 'disks', uses: 1, lastUsedAt }
}

/** Runs a reporter until `stop` is called; `pass` lets time pass until the next report is due. */
function openStory(found: () => readonly DiskFacts[], isWantedFirst = true) {
  const sent: DiskReport[] = []
  const clock = manualClock()
  const end = new AbortController()
  let isWanted = isWantedFirst
  let fails = 0
  const reporter = openDiskReports({
    disks: { list: async () => ({ disks: found(), failed: [] }), remove: async () => ({ outcome: 'gone', message: '' }) },
    server: {
      async reportDisks(body) {
        if (fails > 0) {
          fails -= 1
          throw new Error('no answer')
        }
        sent.push(structuredClone(body) as DiskReport)
        return {}
      },
    },
    epoch: () => 1,
    isWanted: () => isWanted,
    clock,
    log: silentLog,
    everyMs: EVERY_MS,
  })
  const ended = reporter.run(end.signal)
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  return {
    sent,
    reporter,
    settle,
    want: (is: boolean) => void (isWanted = is),
    fail: (times: number) => void (fails = times),
    async pass(ms = EVERY_MS * 1.2) {
      await settle()
      clock.advance(ms)
      await settle()
    },
    async stop() {
      end.abort()
      await ended
    },
  }
}

test('reports at once, then only what has changed, and repeats an unchanged report after ten minutes', async () => {
  let disks = [disk('a')]
  const story = openStory(() => disks)
  await story.settle()
  expect(story.sent.map(({ seq }) => seq)).toEqual([1])
  await story.pass()
  expect(story.sent).toHaveLength(1)
  disks = [disk('a'), disk('b')]
  await story.pass()
  expect(story.sent.at(-1)).toMatchObject({ seq: 2, total: 2, disks: [{ name: 'a' }, { name: 'b' }] })
  await story.pass(11 * 60_000)
  expect(story.sent).toHaveLength(3)
  await story.stop()
})

test('reports soon after a removal, and again after a failure', async () => {
  const story = openStory(() => [disk('a')])
  await story.settle()
  story.fail(1)
  story.reporter.reportSoon()
  await story.settle()
  expect(story.sent).toHaveLength(1)
  await story.pass(11 * 60_000)
  await story.pass()
  expect(story.sent).toHaveLength(2)
  await story.stop()
})

test('sends nothing to a server that does not take reports, until it does', async () => {
  const story = openStory(() => [disk('a')], false)
  await story.pass()
  await story.pass()
  expect(story.sent).toEqual([])
  story.want(true)
  await story.pass()
  expect(story.sent).toHaveLength(1)
  await story.stop()
})

test('leaves out the disks that were used longest ago, each disk once', async () => {
  const many = Array.from({ length: 2_010 }, (_, index) => disk(`d${String(index).padStart(4, '0')}`, index))
  const story = openStory(() => [...many, ...many.slice(-5)])
  await story.settle()
  const [report] = story.sent
  expect(report).toMatchObject({ total: 2_010 })
  expect(report?.disks).toHaveLength(2_000)
  expect(report?.disks[0]?.name).toBe('d0010')
  await story.stop()
})
