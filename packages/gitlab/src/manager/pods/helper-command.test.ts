/** Commands in helpers that fail. The cluster is a function that returns exit codes. */
import { PassThrough } from 'node:stream'
import { systemClock, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { expect, test } from 'vitest'
import { keptLog } from '../../../../../e2e/gitlab/support/coordinator-pair.ts'
import { runInHelper, type HelperCommand } from './helper-command.ts'

interface Scene {
  readonly run: (more?: Pick<HelperCommand, 'tries'>) => Promise<boolean>
  readonly pauses: number[]
  /** Levels of the lines of the log. */
  readonly levels: () => string[]
  readonly over: AbortController
}

/** Opens a helper whose commands end with these codes, and then with the last one. */
function openScene(codes: readonly number[]): Scene {
  const pauses: number[] = []
  const log = keptLog()
  const over = new AbortController()
  let n = 0
  const exec: Kube['exec'] = async () => {
    const exit = Promise.resolve(codes[Math.min(n++, codes.length - 1)] ?? 0)
    return { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), exit, resize: () => undefined }
  }
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms) => {
      pauses.push(ms)
      if (pauses.length === 30) over.abort()
    },
  }
  const pod = { kind: 'Pod', namespace: 'ci', name: 'job' } as const
  const command = ['true']
  return {
    pauses,
    over,
    levels: () => log.lines.map(({ level }) => level),
    run: (more) =>
      runInHelper({ kube: { exec }, pod, command, what: 'test', jobId: 7, clock, log, signal: over.signal, ...more }),
  }
}

test('tries again until the command succeeds', async () => {
  const scene = openScene([1, 1, 0])
  expect(await scene.run()).toBe(true)
  expect(scene.pauses).toHaveLength(2)
  expect(scene.levels()).not.toContain('warn')
})

test('gives up after the last try, with growing pauses and a warning', async () => {
  const scene = openScene([1])
  expect(await scene.run({ tries: 5 })).toBe(false)
  const [first = 0, , , last = 0] = scene.pauses
  expect([scene.pauses.length, last > 3 * first]).toEqual([4, true])
  expect(scene.levels().filter((level) => level === 'warn')).toHaveLength(1)
})

test('without a number of tries it continues until the job has ended, and warns once', async () => {
  const scene = openScene([1])
  expect(await scene.run()).toBe(false)
  expect(scene.over.signal.aborted).toBe(true)
  expect(scene.levels().filter((level) => level === 'warn')).toHaveLength(1)
})
