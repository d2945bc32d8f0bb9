/** What a build does on the Docker daemon, as the daemon itself records it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runPipeline } from './support/run-pipeline.ts'

const run = promisify(execFile)
const Event = z.looseObject({
  Type: z.string(),
  Action: z.string(),
  Actor: z.looseObject({
    Attributes: z.looseObject({ 'windlass.io/step': z.string().optional(), exitCode: z.string().optional() }),
  }),
})

/** Returns the containers of steps that the daemon recorded for a build: step, action, and exit code. */
async function eventsOf(buildId: string, since: number): Promise<string[]> {
  const window = ['--since', (since / 1000).toFixed(3), '--until', (Date.now() / 1000).toFixed(3)]
  const filters = ['--filter', `label=windlass.io/build=${buildId}`, '--filter', 'type=container']
  const { stdout } = await run('docker', ['events', ...window, ...filters, '--format', '{{json .}}'])
  const events = stdout.split('\n').flatMap((line) => (line === '' ? [] : [Event.parse(JSON.parse(line))]))
  return events.flatMap(({ Action, Actor: { Attributes } }) => {
    const step = Attributes['windlass.io/step']
    if (step === undefined || !['create', 'start', 'die', 'destroy'].includes(Action)) return []
    return [[step, Action, Attributes.exitCode ?? ''].join(' ').trim()]
  })
}

test('turns the steps of a document into containers of the daemon, one after the other, and removes them (R124)', async () => {
  const since = Date.now()
  const { buildId, outcome } = await runPipeline(`
version: '1.0'
steps:
  first: {image: $SHELL, commands: [echo one]}
  second: {image: $SHELL, fail_fast: false, commands: [exit 3]}
  left_out: {image: $SHELL, when: {condition: {all: {never: 'false'}}}, commands: [echo never]}
  third: {image: $SHELL, commands: [echo three]}
`)
  expect(outcome).toEqual({ status: 'success' })
  const recorded = await eventsOf(buildId, since)
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
