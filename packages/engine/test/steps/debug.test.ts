import { defined } from '@windlass/kit'
import { expect, test } from 'vitest'
import type { DebugSettings } from '@windlass/protocol'
import type { DebugLink, HeldStep, Terminal } from '../../src/index.ts'
import { image } from '../support/images.ts'
import { runPipeline, type PipelineRun } from '../support/run-pipeline.ts'

const SHAPE = { columns: 100, rows: 30 }
let terminals = 0

function settings(steps: DebugSettings['steps'], more: Partial<DebugSettings> = {}): DebugSettings {
  return { steps, onFailure: false, timeoutMs: 60_000, ...more }
}

/** Returns a link that runs `work` for each held step, one at a time. */
function onEachHold(work: (held: HeldStep) => Promise<void>): { link: DebugLink; failures: unknown[]; phases: string[] } {
  const failures: unknown[] = []
  const phases: string[] = []
  return {
    failures,
    phases,
    link: {
      onHeld(held) {
        phases.push(`${held.step}:${held.phase}`)
        work(held).catch((error: unknown) => {
          failures.push(error)
          held.resume('fail')
        })
      },
    },
  }
}

/** Runs one command in the container of a held step and returns its output. */
async function look(held: HeldStep, command: string): Promise<string> {
  const terminal = await open(held, command)
  let text = ''
  for await (const bytes of terminal.output) text += bytes.toString()
  return text.replaceAll('\r', '')
}

function open(held: HeldStep, command?: string): Promise<Terminal> {
  terminals += 1
  return held.open(terminals.toString(16).padStart(24, '0'), { ...SHAPE, ...defined({ command }) })
}

function waits(run: PipelineRun): string[] {
  return run.events.flatMap((event) => (event.type === 'step.waiting' ? [`${event.step}:${event.phase}`] : []))
}

test('stops before, instead of and after a step, skips its commands and exports variables of the terminal (P160, R250)', async () => {
  const seen: Record<string, string> = {}
  const { link, failures } = onEachHold(async (held) => {
    if (held.phase === 'before') seen['before'] = await look(held, 'cf_export FROM_BEFORE=one; git --version; pwd; ls')
    if (held.phase === 'override') seen['override'] = await look(held, 'echo "$FROM_BEFORE $OWN"; cf_export FROM_OVERRIDE=two')
    if (held.phase === 'after') seen['after'] = await look(held, 'cat /codefresh/volume/left; cf_export FROM_AFTER=three')
    held.resume('continue')
  })
  const run = await runPipeline(
    `
version: '1.0'
steps:
  first: {image: $SHELL, commands: [echo kept > left]}
  held:
    image: $SHELL
    environment: [OWN=mine]
    commands: [echo never]
  last: {image: $SHELL, commands: ['echo "$FROM_BEFORE $FROM_OVERRIDE $FROM_AFTER"']}
`,
    { debug: link, input: { debug: settings({ held: ['before', 'override', 'after'] }) } },
  )
  expect(failures).toEqual([])
  expect(run.outcome).toEqual({ status: 'success' })
  expect(waits(run)).toEqual(['held:before', 'held:override', 'held:after'])
  expect(seen['before']).toMatch(/git version .*\n\/codefresh\/volume\n(.*\n)*.*left/)
  expect(seen['override']).toBe('one mine\n')
  expect(seen['after']).toBe('kept\n')
  expect(run.output('held')).toBe('')
  expect(run.output('last')).toBe('one two three\n')
  expect(run.log('held')).toContain('Held by the debugger before the step.')
})

test('holds a failed step in a container like its own and retries it on demand (P160)', async () => {
  let holds = 0
  const { link, failures } = onEachHold(async (held) => {
    holds += 1
    expect(held.phase).toBe('failure')
    expect(await look(held, 'echo "$WORD"; touch /codefresh/volume/mended')).toBe('from the step\n')
    held.resume('retry')
  })
  const run = await runPipeline(
    `
version: '1.0'
steps:
  flaky: {image: $SHELL, environment: [WORD=from the step], commands: ['echo "try $CF_CURRENT_ATTEMPT"', test -e mended]}
`,
    { debug: link, input: { debug: settings({}, { onFailure: true }) } },
  )
  expect(failures).toEqual([])
  expect(holds).toBe(1)
  expect(run.output('flaky')).toBe('try 1\ntry 2\n')
  expect(run.snapshot.steps['flaky']).toMatchObject({ status: 'success', try: 2 })
})

test('marks a step as failed from the debugger (P160)', async () => {
  const { link } = onEachHold(async (held) => held.resume('fail'))
  const run = await runPipeline("version: '1.0'\nsteps:\n  good: {image: $SHELL, commands: [echo fine]}\n", {
    debug: link,
    input: { debug: settings({ good: ['after'] }) },
  })
  expect(run.output('good')).toBe('fine\n')
  expect(run.snapshot.steps['good']).toMatchObject({ status: 'error', reason: 'debug-failed' })
  expect(run.outcome.status).toBe('error')
})

test('passes input, size and Ctrl-C to a terminal, masks secrets, and continues after exit (P160)', async () => {
  let shown = ''
  const { link, failures } = onEachHold(async (held) => {
    const terminal = await open(held)
    const reader = (async () => {
      for await (const bytes of terminal.output) shown += bytes.toString()
    })()
    const until = async (pattern: RegExp): Promise<void> => {
      for (let n = 0; !pattern.test(shown); n += 1) {
        if (n > 3_000) throw new Error(`never saw ${pattern} in ${shown}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    terminal.write(Buffer.from('stty size\r'))
    await until(/30 100/)
    await terminal.resize({ columns: 70, rows: 20 })
    terminal.write(Buffer.from('stty size\r'))
    await until(/20 70/)
    // The shell has finished its own line once the other program prints.
    terminal.write(Buffer.from("sh -c 'echo $((40 + 2)); sleep 100'\r"))
    await until(/42\r\n/)
    terminal.write(Buffer.from('\u0003'))
    terminal.write(Buffer.from('echo "password: $PASSWORD" and then\r'))
    await until(/\*\*\*\*\* and then/)
    terminal.write(Buffer.from('exit\r'))
    await reader
    expect(await terminal.ended).toBe(0)
  })
  const run = await runPipeline("version: '1.0'\nsteps:\n  held: {image: $SHELL, commands: [echo never]}\n", {
    debug: link,
    secrets: { PASSWORD: 'swordfish' },
    input: { debug: settings({ held: ['override'] }) },
  })
  expect(failures).toEqual([])
  expect(run.outcome).toEqual({ status: 'success' })
  expect(shown).not.toContain('swordfish')
  const streams = run.events.flatMap((event) => (event.type === 'attempt.finished' ? Object.keys(event.streams) : []))
  expect(streams.filter((name) => name.startsWith('terminal/'))).toHaveLength(1)
})

test('stops the build or continues the step when a hold times out (P160)', async () => {
  const text =
    "version: '1.0'\nsteps:\n  one: {image: $SHELL, commands: [echo one]}\n  two: {image: $SHELL, commands: [echo two]}\n"
  const stopped = await runPipeline(text, { input: { debug: settings({ one: ['before'] }, { timeoutMs: 300 }) } })
  expect(stopped.outcome).toMatchObject({ status: 'terminated', reason: 'debug-timeout' })
  expect(stopped.snapshot.steps['one']).toMatchObject({ status: 'terminated', reason: 'debug-timeout' })
  expect(stopped.snapshot.steps['two']).toMatchObject({ status: 'skipped' })
  const onTimeout = 'continue'
  const went = await runPipeline(text, { input: { debug: settings({ one: ['before'] }, { timeoutMs: 300, onTimeout }) } })
  expect(went.outcome).toEqual({ status: 'success' })
})

test('provides a shell in terminals of images without one (P160)', async () => {
  const seen: string[] = []
  const { link, failures } = onEachHold(async (held) => {
    seen.push(await look(held, 'echo $0 works'))
    held.resume('continue')
  })
  const run = await runPipeline(`version: '1.0'\nsteps:\n  bare: {image: '${image('pause')}'}\n`, {
    debug: link,
    input: { debug: settings({ bare: ['override'] }) },
  })
  expect(failures).toEqual([])
  expect(run.outcome).toEqual({ status: 'success' })
  expect(seen).toEqual(['sh works\n'])
})

test('ignores breakpoints of the document in ordinary runs and uses them in debug runs (P161)', async () => {
  const text = `
version: '1.0'
steps:
  one:
    image: $SHELL
    debug: {phases: {before: true, override: true, after: true}}
    commands: [echo one]
`
  const ordinary = await runPipeline(text)
  expect(ordinary.outcome).toEqual({ status: 'success' })
  expect(waits(ordinary)).toEqual([])
  expect(ordinary.output('one')).toBe('one\n')
  const { link, phases } = onEachHold(async (held) => held.resume('continue'))
  const debugged = await runPipeline(text, { debug: link, input: { debug: settings({}) } })
  expect(phases).toEqual(['one:before', 'one:override', 'one:after'])
  expect(debugged.output('one')).toBe('')
})
