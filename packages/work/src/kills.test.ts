import { setImmediate as turn } from 'node:timers/promises'
import { silentLog } from '@windlass/kit'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { afterKill, hasty, openFolder, removeFolders } from '../test/support/folders.ts'
import { openWork, type Unit, type Work } from './work.ts'

afterAll(removeFolders)

/** The side that takes reports. */
class Receiver {
  /** Reports by key, without repeats. */
  readonly received = new Map<string, string[]>()
  /** Keys for which one process made two calls at the same time. */
  readonly overlaps: string[] = []

  take(key: string, report: string): void {
    const before = this.received.get(key) ?? []
    this.received.set(key, before)
    if (before.at(-1) !== report) before.push(report)
  }
}

test('brings each unit to one outcome, with its reports in order, whatever is lost and whenever the process is killed', async () => {
  const units = fc.array(
    fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), lane: fc.constantFrom('x', 'y', 'z') }),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  const kills = fc.array(fc.nat(30), { maxLength: 3 })
  const lost = fc.infiniteStream(fc.constantFrom('kept', 'kept', 'call', 'acknowledgement'))
  await fc.assert(
    fc.asyncProperty(units, kills, lost, async (list, turns, losses) => {
      const receiver = new Receiver()
      let dir = openFolder()
      const life = (): { work: Work<string, string>; kill(): void } => {
        let isAlive = true
        const inLane = new Set<string>()
        const ran = new Set<string>()
        const calls = new Set<string>()
        const die = (): Promise<never> => new Promise(() => undefined)
        const work = openWork<string, string>({
          dir,
          setting: 'DIR',
          encode: (task) => task,
          decode: String,
          decodeReport: String,
          clock: hasty,
          log: silentLog,
          limits: () => ({ concurrency: 2, buffer: 3 }),
          failure: (_, error) => `failed ${String(error)}`,
          isRefusal: () => false,
          async run({ lane, units: ofRun }, { report, finish }) {
            expect(inLane.has(lane)).toBe(false)
            inLane.add(lane)
            for (const unit of ofRun) {
              expect(ran.has(unit.key)).toBe(false)
              ran.add(unit.key)
              await report(unit, 'progress')
              await turn()
              if (!isAlive) await die()
              await finish(unit, 'done')
            }
            inLane.delete(lane)
          },
          async report(key, report) {
            if (!isAlive) await die()
            if (calls.has(key)) receiver.overlaps.push(key)
            calls.add(key)
            await turn()
            if (!isAlive) await die()
            calls.delete(key)
            const loss = losses.next().value
            if (loss === 'call') throw new Error('not sent')
            receiver.take(key, report)
            if (loss === 'acknowledgement') throw new Error('no answer')
            ran.delete(key)
          },
        })
        return { work, kill: () => void (isAlive = false) }
      }
      const accept = (work: Work<string, string>, wanted: readonly Unit<string>[]): Promise<void> =>
        work.accept(wanted.map((unit) => ({ group: '', lane: unit.task, units: [unit] })))
      const asked = [...new Map(list.map(({ key, lane }) => [key, { key, task: lane }])).values()]
      for (const patience of turns) {
        const { work, kill } = life()
        // Not awaited: the process is killed in the middle of it.
        void accept(work, work.unfinished)
        void accept(work, asked)
        for (let n = 0; n < patience; n += 1) await turn()
        kill()
        dir = afterKill(dir)
      }
      const { work } = life()
      await accept(work, work.unfinished)
      await accept(work, asked)
      await work.idle()
      await work.close()
      expect(receiver.overlaps).toEqual([])
      for (const { key } of asked) {
        const reports = receiver.received.get(key) ?? []
        expect(reports.at(-1)).toBe('done')
        // A unit whose whole life was acknowledged may be handed out and run again.
        expect(reports.every((report, n) => report === (n % 2 === 0 ? 'progress' : 'done'))).toBe(true)
      }
    }),
    { numRuns: 12 },
  )
})
