/** What a build does on the Docker daemon, as the daemon itself records it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { newId } from '@windlass/kit'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runPipeline } from './support/run-pipeline.ts'

const Event = z.looseObject({
  Type: z.string(),
  Action: z.string(),
  Actor: z.looseObject({
    Attributes: z.looseObject({ 'windlass.io/step': z.string().optional(), exitCode: z.string().optional() }),
  }),
})

interface Recording extends AsyncDisposable {
  /** Returns the containers of steps that the daemon recorded so far: step, action, and exit code. */
  recorded(): string[]
}

/** Follows what the daemon records for a build. It keeps only the last 256 events of all builds, so they are read as they come. */
function record(buildId: string): Recording {
  const filters = ['--filter', `label=windlass.io/build=${buildId}`, '--filter', 'type=container']
  const words = ['events', '--since', (Date.now() / 1000).toFixed(3), ...filters, '--format', '{{json .}}']
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'docker', ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  return {
    recorded() {
      const events = text
        .split('\n')
        .slice(0, -1)
        .map((line) => Event.parse(JSON.parse(line)))
      return events.flatMap(({ Action, Actor: { Attributes } }) => {
        const step = Attributes['windlass.io/step']
        if (step === undefined || !['create', 'start', 'die', 'destroy'].includes(Action)) return []
        return [[step, Action, Attributes.exitCode ?? ''].join(' ').trim()]
      })
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await closed
    },
  }
}

test('turns the steps of a document into containers of the daemon, one after the other, and removes them (R124)', async () => {
  const buildId = newId(Date.now())
  await using recording = record(buildId)
  const { outcome } = await runPipeline(
    `
version: '1.0'
steps:
  first: {image: $SHELL, commands: [echo one]}
  second: {image: $SHELL, fail_fast: false, commands: [exit 3]}
  left_out: {image: $SHELL, when: {condition: {all: {never: 'false'}}}, commands: [echo never]}
  third: {image: $SHELL, commands: [echo three]}
`,
    { input: { buildId } },
  )
  expect(outcome).toEqual({ status: 'success' })
  const removed = (): string[] => recording.recorded().flatMap((line) => /^(\S+) destroy/.exec(line)?.[1] ?? [])
  await expect.poll(() => removed().toSorted()).toEqual(['first', 'second', 'third'])
  const recorded = recording.recorded()
  // A container may be created ahead of its step, but runs only in its turn.
  expect(recorded.filter((line) => / (start|die)/.test(line))).toEqual([
    'first start',
    'first die 0',
    'second start',
    'second die 3',
    'third start',
    'third die 0',
  ])
  for (const step of ['first', 'second', 'third'])
    expect(recorded.filter((line) => line === `${step} create` || line.startsWith(`${step} destroy`))).toHaveLength(2)
})
