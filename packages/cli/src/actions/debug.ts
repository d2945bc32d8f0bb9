import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import {
  DEBUG_ACTIONS,
  terminalStream,
  type Client,
  type DebugAction,
  type DebugChange,
  type DebugState,
  type TerminalRecord,
} from '@windlass/protocol'
import { actOnHeld, changeDebug, getDebug, openTerminal } from '../api.ts'
import type { Invocation, Values } from '../command.ts'
import type { debugOptions } from '../commands/debug.ts'
import { parseBreaks } from '../debug/breaks.ts'
import { openKeyboard, watchSize } from '../debug/keyboard.ts'
import { KeySender, showOutput, type Shown } from '../debug/remote-terminal.ts'
import { EXIT } from '../exit-codes.ts'
import type { Printer } from '../printer.ts'
import { openSession } from '../session.ts'

type DebugOptions = Values<typeof debugOptions>
type Call = Invocation<DebugOptions>

/** `debug BUILD [STEP]`: sets where a build stops, says what is to become of a held step, or opens a terminal in it. */
export async function debugBuild(invocation: Call): Promise<number> {
  const { args, options, out, settings } = invocation
  const { client } = openSession(settings)
  const [id = '', step] = args
  const change = toChange(options)
  if (change !== undefined) await changeDebug(client, id, change)
  if (options.list) return list(await getDebug(client, id), invocation)
  if (options.replay !== undefined) return replay(client, { id, terminal: options.replay, out })
  const action = DEBUG_ACTIONS.find((name) => options[name])
  if (action !== undefined) return act(client, { id, step, action, out })
  if (change !== undefined && (options.off || options.detach)) return EXIT.success
  const record =
    options.attach === undefined
      ? await open(client, { id, step, invocation })
      : await find(client, { id, terminal: options.attach })
  if (record === undefined) return EXIT.success
  return sit(client, { id, record, invocation })
}

function toChange(options: DebugOptions): DebugChange | undefined {
  if (options.off) return { off: true }
  if (options.break.length === 0 && !options.onFailure && options.timeout === undefined && options.onTimeout === undefined)
    return undefined
  return {
    steps: parseBreaks(options.break),
    onFailure: options.onFailure,
    ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
    ...(options.onTimeout !== undefined && { onTimeout: options.onTimeout }),
  }
}

function list(state: DebugState, { options, out }: Call): number {
  if (options.output === 'json') {
    out.line(JSON.stringify(state, null, 2))
    return EXIT.success
  }
  if (state.settings === undefined) out.line('The build is not debugged.')
  for (const { step, phase } of state.held) out.line(`held  ${step}  ${phase}`)
  for (const { id, step, phase, openedBy, endedAt } of state.terminals)
    out.line(`terminal ${id}  ${step}  ${phase}  by ${openedBy}  ${endedAt === undefined ? 'open' : 'ended'}`)
  return EXIT.success
}

/** The recording; a stream of the build's log. */
async function replay(client: Client, { id, terminal, out }: { id: string; terminal: string; out: Printer }): Promise<number> {
  const path = `/v1/builds/${encodeURIComponent(id)}/log?stream=${encodeURIComponent(terminalStream(terminal))}`
  for await (const bytes of await client.bytes(path)) {
    out.stdout.write(bytes)
    await out.stdout.drained()
  }
  return EXIT.success
}

async function act(
  client: Client,
  { id, step, action, out }: { id: string; step: string | undefined; action: DebugAction; out: Printer },
): Promise<number> {
  const held = step ?? theOnly((await getDebug(client, id)).held.map((one) => one.step))
  await actOnHeld(client, id, { step: held, action })
  out.note(`${held}: ${action}`)
  return EXIT.success
}

function theOnly(steps: readonly string[]): string {
  const [first, ...more] = steps
  if (first !== undefined && more.length === 0) return first
  throw fault('not-held', {
    message: first === undefined ? 'The debugger holds no step of the build.' : `Several steps are held: ${steps.join(', ')}.`,
  })
}

const LOOK_MS = 500

/** Waits until the step is held, and opens a terminal in it; undefined when the build ended first. */
async function open(
  client: Client,
  { id, step, invocation }: { id: string; step: string | undefined; invocation: Call },
): Promise<TerminalRecord | undefined> {
  const { out, options } = invocation
  const { columns, rows } = process.stdout.isTTY ? process.stdout : { columns: 80, rows: 24 }
  const shape = { columns, rows, kind: invocation.settings.environment['TERM'] ?? 'xterm', step, command: options.command }
  for (let isTold = false; ; isTold = true) {
    try {
      return await openTerminal(client, id, shape)
    } catch (error) {
      if (isTold && isFault(error, 'build-final')) {
        out.note(error.message)
        return undefined
      }
      if (!isFault(error, 'not-held')) throw error
      const { held, settings } = await getDebug(client, id)
      if (held.length > 1 && step === undefined) throw error
      if (settings === undefined)
        throw fault('not-held', {
          message: 'The build is not debugged.',
          hint: 'Say where it stops: `windlass debug BUILD --break STEP:PHASE`, or `--on-failure`.',
        })
      if (!isTold) out.note('Waiting until a step is held; Ctrl-C leaves.')
    }
    await systemClock.sleep(LOOK_MS)
  }
}

async function find(client: Client, { id, terminal }: { id: string; terminal: string }): Promise<TerminalRecord> {
  const record = (await getDebug(client, id)).terminals.find((one) => one.id === terminal)
  if (record === undefined) throw fault('not-found', { message: `Build ${id} has no terminal ${terminal}.` })
  return record
}

/** Connects the terminal with this one until it ends (its exit code), or is left. */
async function sit(
  client: Client,
  { id, record, invocation }: { id: string; record: TerminalRecord; invocation: Call },
): Promise<number> {
  const { out, options } = invocation
  const over = new AbortController()
  const terminal = { client, buildId: id, record, signal: over.signal }
  const shown: Shown = { seq: 0 }
  const sender = new KeySender(terminal, shown)
  const isTyped = options.command === undefined || !process.stdin.isTTY
  if (isTyped && process.stdin.isTTY)
    out.note(`${record.step}, ${record.phase}: \`exit\` lets the step go on, Ctrl-P Ctrl-Q leaves it held.`)
  const keyboard = isTyped ? openKeyboard(process.stdin) : undefined
  watchSize(process.stdout, over.signal, (size) => sender.push(size))
  void (async () => {
    for await (const keys of keyboard?.keys ?? []) sender.push({ keys: keys.toString('base64') })
    if (keyboard?.hasLeft() !== true) return
    await sender.flushed()
    over.abort()
  })()
  try {
    const output = showOutput(terminal, shown)
    for (;;) {
      const { value, done } = await output.next()
      if (done !== true) {
        out.stdout.write(value)
        await out.stdout.drained()
        sender.acknowledge()
        continue
      }
      if (keyboard?.hasLeft() === true) {
        out.note(`\r\nThe step stays held. Go back with \`windlass debug ${id} --attach ${record.id}\`.`)
        return EXIT.success
      }
      if (value?.message !== undefined) throw fault('docker-refused', { message: value.message })
      return options.command === undefined ? EXIT.success : (value?.exitCode ?? EXIT.failed)
    }
  } finally {
    over.abort()
    keyboard?.[Symbol.dispose]()
  }
}
